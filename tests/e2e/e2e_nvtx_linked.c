/* A program of the time when NVTX was a library: declares and links it. */
#include <stdint.h>
#include <stdio.h>

#include <cuda_runtime_api.h>

int nvtxRangePushA(const char *message);
int nvtxRangePop(void);
void nvtxMarkA(const char *message);
uint64_t nvtxRangeStartA(const char *message);
void nvtxRangeEnd(uint64_t id);

int main(void)
{
	void *memory;
	uint64_t range;

	nvtxMarkA("epoch 7");
	range = nvtxRangeStartA("range");
	printf("%d", nvtxRangePushA("linked"));
	printf(" %d", nvtxRangePushA("inner"));
	if (cudaMalloc(&memory, 1 << 20) != cudaSuccess)
		return 3;
	printf(" %d", nvtxRangePop());
	printf(" %d\n", nvtxRangePop());
	nvtxRangeEnd(range);
	return 0;
}
