/*
 * The first CUDA program of everybody, with its memory counted.
 */
#include "sample.h"

__global__ void add(const float *a, const float *b, float *sum, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] = a[i] + b[i];
}

int main()
{
	const int n = 1 << 20;
	struct book device = {"device"}, pinned = {"pinned"}, managed = {"managed"};
	size_t size = n * sizeof(float);
	float *a = (float *)device_alloc(&device, size), *b = (float *)device_alloc(&device, size);
	float *host, *sum;

	CHECK(cudaMallocHost((void **)&host, size));
	book_alloc(&pinned, size);
	CHECK(cudaMallocManaged((void **)&sum, size));
	book_alloc(&managed, size);
	for (int i = 0; i < n; i++)
		host[i] = (float)i;
	CHECK(cudaMemcpy(a, host, size, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(b, host, size, cudaMemcpyHostToDevice));
	add<<<n / 256, 256>>>(a, b, sum, n);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	device_free(&device, a, size);
	device_free(&device, b, size);
	CHECK(cudaFreeHost(host));
	book_free(&pinned, size);
	CHECK(cudaFree(sum));
	book_free(&managed, size);
	book_print(&device);
	book_print(&pinned);
	book_print(&managed);
	printf("ooms=0\n");
	return 0;
}
