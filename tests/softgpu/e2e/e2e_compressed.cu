/*
 * Device code that is stored compressed: names and sizes are known all the same, initial values are
 * not and read as zero.
 */
#include "e2e_check.cuh"

__device__ int counts[5000] = {1, 2, 3};
__constant__ double factor = 0.5;

static __global__ void work(double *data)
{
	data[0] = counts[0] * factor;
}

int main()
{
	static int host[5000];
	cudaFuncAttributes attributes;
	double value = 2.5;
	size_t size;

	CHECK(cudaGetSymbolSize(&size, counts));
	EXPECT(size == sizeof(counts));
	CHECK(cudaMemcpyFromSymbol(host, counts, sizeof(host)));
	for (int i = 0; i < 5000; i++)
		EXPECT(host[i] == 0);
	CHECK(cudaMemcpyToSymbol(factor, &value, sizeof(value)));
	value = 0;
	CHECK(cudaMemcpyFromSymbol(&value, factor, sizeof(value)));
	EXPECT(value == 2.5);
	CHECK(cudaFuncGetAttributes(&attributes, work));
	EXPECT(attributes.binaryVersion == E2E_ARCH);
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
	check_maps();
	return 0;
}
