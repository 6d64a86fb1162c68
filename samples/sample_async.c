/*
 * Stream-ordered memory: what is freed stays in the driver's pool until it is trimmed or the pool
 * holds more than its threshold at a synchronisation.
 */
#include <stdint.h>

#include "sample.h"

#define TENSOR (8 * MIB)

static struct book async = {.name = "async"};

static void *tensor(cudaStream_t stream)
{
	void *memory = NULL;

	CHECK(cudaMallocAsync(&memory, TENSOR, stream));
	book_alloc(&async, TENSOR);
	return memory;
}

int main(void)
{
	uint64_t keep = UINT64_MAX, reserved;
	void *tensors[16];
	cudaMemPool_t pool;
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	for (int step = 0; step < 10; step++) {
		for (int i = 0; i < 16; i++)
			tensors[i] = tensor(stream);
		for (int i = 0; i < 16; i++) {
			CHECK(cudaFreeAsync(tensors[i], stream));
			book_free(&async, TENSOR);
		}
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	printf("reserved_after_steps=%llu\n", (unsigned long long)reserved);
	tensor(stream);
	CHECK(cudaMemPoolTrimTo(pool, 0));
	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	printf("reserved_after_trim=%llu\n", (unsigned long long)reserved);
	CHECK(cudaStreamDestroy(stream));
	book_print(&async);
	printf("ooms=0\n");
	return 0;
}
