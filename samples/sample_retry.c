/*
 * Fails, frees its cache, tries again and succeeds, as allocators of frameworks do: no
 * out-of-memory.
 */
#include "arena_pool.h"

#define SEGMENT (128 * MIB)

static struct book device = {.name = "device"};
static struct pool pool;

static void *alloc_with_retry(size_t size)
{
	void *memory = device_alloc(&device, size);

	if (memory)
		return memory;
	pool_empty_cache(&pool);
	return device_alloc(&device, size);
}

int main(void)
{
	static void *blocks[POOL_MAX_SEGMENTS];
	size_t free_bytes, total;
	int nr = 0;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	pool_init(&pool, "cache", "pool.cache", SEGMENT, 0, &device);
	for (size_t left = free_bytes; left >= SEGMENT && nr < POOL_MAX_SEGMENTS; left -= SEGMENT)
		blocks[nr++] = pool_alloc(&pool, SEGMENT);
	for (int i = 0; i < nr; i++)
		pool_free(&pool, blocks[i]);
	if (!alloc_with_retry(free_bytes / 2 / MIB * MIB)) {
		fprintf(stderr, "that should have fitted\n");
		return 1;
	}
	book_print(&device);
	book_print(&pool.blocks);
	printf("ooms=0\nrecovered=1\n");
	return 0;
}
