/*
 * Runs out although enough is free: a pool whose large blocks are freed, but whose small ones, kept
 * in between, cut the free memory into pieces.
 */
#include "arena_pool.h"

#define LARGE   (8 * MIB)
#define SMALL   (256 * KIB)
#define SEGMENT (132 * MIB) /* sixteen of each */
#define WANTED  (64 * MIB)

static struct book device = {.name = "device"};
static struct pool pool;
static void *large[POOL_MAX_BLOCKS];
static int nr_large;

/* A batch, and the small thing somebody keeps of it. */
static void process_batch(void)
{
	large[nr_large] = pool_alloc(&pool, LARGE);
	if (!large[nr_large++] || !pool_alloc(&pool, SMALL))
		exit(1);
}

static void *load_large_batch(void)
{
	return pool_alloc(&pool, WANTED);
}

int main(void)
{
	size_t free_bytes, total;

	CHECK(cudaMemGetInfo(&free_bytes, &total));
	pool_init(&pool, "tensors", "pool.tensors", SEGMENT, 0, &device);
	for (size_t left = free_bytes; left >= SEGMENT; left -= SEGMENT)
		for (int i = 0; i < 16; i++)
			process_batch();
	for (int i = 0; i < nr_large; i++)
		pool_free(&pool, large[i]);
	if (load_large_batch()) {
		fprintf(stderr, "that should not have fitted\n");
		return 1;
	}
	printf("wanted=%zu\n", WANTED);
	pool_print_holes(&pool);
	book_print(&device);
	book_print(&pool.blocks);
	printf("ooms=1\n");
	return 3;
}
