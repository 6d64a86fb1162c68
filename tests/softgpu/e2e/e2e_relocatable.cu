/* Device code linked from two units (nvcc -rdc=true): one variable, seen from both. */
#include "e2e_check.cuh"

extern __device__ int common[64];
__device__ int twice(int value);
cudaError_t e2e_relocatable_read(int *host, size_t size);

static __global__ void work(int *data)
{
	data[0] = twice(common[0]);
}

int main()
{
	int host[64], back[64] = {};
	size_t size;

	for (int i = 0; i < 64; i++)
		host[i] = i * i;
	CHECK(cudaGetSymbolSize(&size, common));
	EXPECT(size == sizeof(common));
	CHECK(cudaMemcpyToSymbol(common, host, sizeof(host)));
	CHECK(e2e_relocatable_read(back, sizeof(back)));
	EXPECT(!memcmp(host, back, sizeof(host)));
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	check_maps();
	return 0;
}
