/*
 * A device this program was not compiled for (CMakeLists: SOFTGPU_CC=80): launches fail and say
 * why, every time, and all else works.
 */
#include "e2e_check.cuh"

__device__ int value;

static __global__ void work(int *data)
{
	data[0] = value;
}

static cudaError_t launch()
{
	work<<<1, 32>>>(nullptr);
	return cudaGetLastError();
}

int main()
{
	cudaFuncAttributes attributes;
	char text[8] = "";
	size_t size;
	void *data;

	EXPECT(launch() == cudaErrorNoKernelImageForDevice);
	EXPECT(launch() == cudaErrorNoKernelImageForDevice); /* the same place, once more */
	EXPECT_ERROR(cudaErrorNoKernelImageForDevice, cudaFuncGetAttributes(&attributes, work));
	EXPECT_ERROR(cudaErrorNoKernelImageForDevice, cudaGetSymbolSize(&size, value));
	CHECK(cudaMalloc(&data, 100));
	CHECK(cudaMemcpy(data, "memory", 7, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(text, data, 7, cudaMemcpyDeviceToHost));
	EXPECT(!strcmp(text, "memory"));
	CHECK(cudaFree(data));
	check_maps();
	return 0;
}
