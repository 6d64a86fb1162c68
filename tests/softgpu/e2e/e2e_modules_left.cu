#include "e2e_modules.cuh"

static __device__ double state[3] = {1, 2, 3};

static __global__ void work(double *data)
{
	data[0] = state[0];
}

void e2e_modules_use_left()
{
	double host[3] = {};
	size_t size;

	CHECK(cudaGetSymbolSize(&size, state));
	EXPECT(size == sizeof(state));
	CHECK(cudaMemcpyFromSymbol(host, state, sizeof(host)));
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
	launcher<150>::run();
}
