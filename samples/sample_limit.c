/*
 * A pool with a limit of its own runs out while the device has plenty: no CUDA call fails.
 */
#include "arena_pool.h"

#define LIMIT  (512 * MIB)
#define TENSOR (64 * MIB)

static struct book device = {.name = "device"};
static struct pool pool;

static void *tensor(void)
{
	return pool_alloc(&pool, TENSOR);
}

int main(void)
{
	pool_init(&pool, "limited", "pool.limited", TENSOR, LIMIT, &device);
	while (tensor())
		;
	printf("wanted=%zu\nlimit=%zu\n", TENSOR, LIMIT);
	book_print(&device);
	book_print(&pool.blocks);
	printf("ooms=1\n");
	return 3;
}
