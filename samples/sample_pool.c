/*
 * Memory is full, but not used: a pool keeps what it once needed, and a library beside it gets
 * none.
 */
#include "arena_pool.h"

#define SEGMENT (256 * MIB)

static struct book device = {.name = "device"};
static struct pool pool;

/* A warm-up with a batch far larger than all that follow. */
static void warm_up(size_t bytes)
{
	static void *blocks[64];
	int nr = 0;

	for (; nr < 64 && bytes >= SEGMENT; bytes -= SEGMENT)
		blocks[nr++] = pool_alloc(&pool, SEGMENT);
	while (nr > 0)
		pool_free(&pool, blocks[--nr]);
}

static void *library_workspace(size_t size)
{
	return device_alloc(&device, size);
}

int main(void)
{
	size_t free_bytes, total, wanted;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	pool_init(&pool, "cache", "pool.cache", SEGMENT, 0, &device);
	warm_up(free_bytes / 5 * 4);
	if (!pool_alloc(&pool, 64 * MIB)) /* all that training needs */
		return 1;
	wanted = free_bytes / 2 / MIB * MIB;
	if (library_workspace(wanted)) {
		fprintf(stderr, "that should not have fitted\n");
		return 1;
	}
	printf("wanted=%zu\nreserved=%zu\n", wanted, pool.reserved);
	book_print(&device);
	book_print(&pool.blocks);
	printf("ooms=1\n");
	return 3;
}
