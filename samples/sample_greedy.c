/*
 * Takes nearly everything at the start and needs little of it.
 */
#include "arena_pool.h"

static struct book device = {.name = "device"};
static struct pool pool;

static void *tensor(size_t size)
{
	return pool_alloc(&pool, size);
}

int main(void)
{
	size_t free_bytes, total, arena;
	void *kept[8];

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	arena = free_bytes / 10 * 9 / MIB * MIB;
	pool_init(&pool, "arena", "pool.arena", arena, arena, &device);
	for (int i = 0; i < 8; i++)
		kept[i] = tensor(32 * MIB);
	for (int step = 0; step < 20; step++) {
		void *scratch = tensor(48 * MIB);

		pool_free(&pool, scratch);
	}
	for (int i = 4; i < 8; i++)
		pool_free(&pool, kept[i]);
	printf("reserved=%zu\n", pool.reserved);
	book_print(&device);
	book_print(&pool.blocks);
	printf("ooms=0\n");
	return 0;
}
