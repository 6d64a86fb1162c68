/*
 * A program that takes its arena first, and only then tells whose it is: 1 GiB, of which it uses
 * two blocks of 64 MiB, one after the other.
 */
#include "sample.h"
#include "vramscope.h"

int main(void)
{
	char *arena;
	void *plain;
	vs_pool pool;

	CHECK(cudaMalloc((void **)&arena, GIB));
	CHECK(cudaMalloc(&plain, MIB));
	pool = vs_pool_create("arena", 0, GIB);
	for (size_t i = 0; i < 2; i++) {
		vs_pool_alloc(pool, arena + i * 64 * MIB, 64 * MIB);
		vs_pool_free(pool, arena + i * 64 * MIB);
	}
	return 0;
}
