/* How many blocks fit, what a kernel needs, and a launch that wants all of them at once. */
#include <cooperative_groups.h>

#include "e2e_check.cuh"

static __global__ void __launch_bounds__(256) reduce(const float *in, float *out, int n)
{
	__shared__ float part[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	if (threadIdx.x == 0)
		out[blockIdx.x] = part[0];
}

static __global__ void together(int *data)
{
	cooperative_groups::this_grid().sync();
	data[blockIdx.x] = 1;
}

static __global__ void dynamic(int *data)
{
	extern __shared__ int room[];

	room[threadIdx.x] = 1;
	data[threadIdx.x] = room[0];
}

static void check_attributes()
{
	cudaFuncAttributes attributes;

	CHECK(cudaFuncGetAttributes(&attributes, reduce));
	EXPECT(attributes.maxThreadsPerBlock > 0 && attributes.maxThreadsPerBlock <= 1024);
	EXPECT(attributes.numRegs > 0);
	/* What is in the program, not what the device could run. */
	EXPECT(attributes.binaryVersion == E2E_ARCH && attributes.ptxVersion == E2E_ARCH);
	CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   100 << 10));
	CHECK(cudaFuncGetAttributes(&attributes, dynamic));
	EXPECT(attributes.maxDynamicSharedSizeBytes == 100 << 10);
	EXPECT_ERROR(cudaErrorInvalidValue,
		     cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize,
					  1 << 30));
	CHECK(cudaFuncSetCacheConfig(reduce, cudaFuncCachePreferShared));
}

static void check_occupancy()
{
	int by_size = 0, large = 0, grid = 0, block = 0;
	size_t room = 0;

	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&by_size, reduce, 128, 0));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&large, reduce, 128, 40 << 10));
	EXPECT(by_size > 0 && large > 0 && large < by_size); /* shared memory is the limit there */
	CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, reduce, 0, 0));
	EXPECT(grid > 0 && block > 0 && block % 32 == 0);
	CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, reduce, 2, 128));
	EXPECT(room > 0);
}

static void check_cooperative()
{
	cudaDeviceProp properties;
	int blocks = 0, *data;
	void *arguments[] = {&data};

	CHECK(cudaGetDeviceProperties(&properties, 0));
	EXPECT(properties.cooperativeLaunch == 1);
	CHECK(cudaMalloc(&data, 1 << 20));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, together, 128, 0));
	blocks *= properties.multiProcessorCount;
	CHECK(cudaLaunchCooperativeKernel(together, dim3(blocks), dim3(128), arguments));
	CHECK(cudaDeviceSynchronize());
	/* One block more cannot be there at the same time. */
	EXPECT_ERROR(cudaErrorCooperativeLaunchTooLarge,
		     cudaLaunchCooperativeKernel(together, dim3(blocks + 1), dim3(128), arguments));
	CHECK(cudaFree(data));
}

static void check_launch_with_attributes()
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};
	float *in = nullptr, *out = nullptr;

	CHECK(cudaMalloc(&in, 4096));
	CHECK(cudaMalloc(&out, 4096));
	attribute.id = cudaLaunchAttributePriority;
	attribute.val.priority = 0;
	config.gridDim = dim3(4);
	config.blockDim = dim3(256);
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&config, reduce, (const float *)in, out, 1024));
	dynamic<<<1, 32, 100 << 10>>>((int *)out);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

int main()
{
	check_attributes();
	check_occupancy();
	check_cooperative();
	check_launch_with_attributes();
	check_maps();
	return 0;
}
