/*
 * Memory is full, but not used: the driver's own pool was told to keep all that is freed, and
 * whoever does not ask that pool gets none.
 */
#include <stdint.h>

#include "sample.h"

#define BATCH (128 * MIB)

static struct book device = {.name = "device"}, async = {.name = "async"};

static void *tensor(size_t size)
{
	void *memory = NULL;

	CHECK(cudaMallocAsync(&memory, size, NULL));
	book_alloc(&async, size);
	return memory;
}

/* A warm-up with far more than all that follows. */
static void warm_up(size_t bytes)
{
	static void *batches[64];
	int nr = 0;

	for (; nr < 64 && bytes >= BATCH; bytes -= BATCH)
		batches[nr++] = tensor(BATCH);
	while (nr > 0) {
		CHECK(cudaFreeAsync(batches[--nr], NULL));
		book_free(&async, BATCH);
	}
	CHECK(cudaStreamSynchronize(NULL)); /* a pool with a threshold would give it back here */
}

static void *library_workspace(size_t size)
{
	return device_alloc(&device, size);
}

int main(void)
{
	uint64_t keep = UINT64_MAX, reserved;
	size_t free_bytes, total, wanted;
	cudaMemPool_t pool;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	warm_up(free_bytes / 5 * 4);
	tensor(64 * MIB); /* all that serving needs */
	wanted = free_bytes / 2 / MIB * MIB;
	if (library_workspace(wanted)) {
		fprintf(stderr, "that should not have fitted\n");
		return 1;
	}
	CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	printf("wanted=%zu\nreserved=%llu\n", wanted, (unsigned long long)reserved);
	printf("used=%zu\nunused=%llu\n", async.live, (unsigned long long)reserved - async.live);
	book_print(&device);
	book_print(&async);
	async.name = "pool.stream-ordered"; /* all of it was that pool's */
	book_print(&async);
	printf("ooms=1\n");
	return 3;
}
