#include "e2e_modules.cuh"

static __device__ char state[777];
__managed__ int managed_state;

static __global__ void work(char *data)
{
	data[0] = state[0];
}

void e2e_modules_use_right()
{
	char host[777];
	size_t size;

	CHECK(cudaGetSymbolSize(&size, state));
	EXPECT(size == sizeof(state));
	memset(host, 'r', sizeof(host));
	CHECK(cudaMemcpyToSymbol(state, host, sizeof(host)));
	managed_state++;
	work<<<1, 1>>>(nullptr);
	CHECK(cudaGetLastError());
	launcher<100>::run();
}
