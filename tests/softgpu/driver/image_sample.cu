// What test_image_nvcc.c looks for in the images that nvcc makes of this.
__device__ int counter = 42;
__device__ float table[16];
__constant__ float coefficient[8] = {1, 2, 3};
__managed__ int managed = 5;
static __device__ int hidden = 9;

static __device__ __noinline__ int helper(int x)
{
	return x * hidden;
}

extern "C" __global__ void first(int *out)
{
	__shared__ int local[100];

	local[threadIdx.x] = counter + managed;
	__syncthreads();
	*out = local[5] + helper(*out);
}

template <class T> __global__ void second(T *out)
{
	*out = T(table[threadIdx.x] * coefficient[threadIdx.x & 7]);
}

template __global__ void second<float>(float *);
