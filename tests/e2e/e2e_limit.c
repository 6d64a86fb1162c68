/*
 * A program that does far more than a small trace holds, and knows what it has in the end.
 *
 *	e2e_limit ROUNDS HOW
 *
 * A pool with segments, of which some stand empty from time to time, and memory that comes directly
 * and from the driver's pool; in phases and steps. Then the bytes that are live on stdout, and the
 * end: return, kill, or wait (for the end of stdin, then return).
 */
#include <signal.h>
#include <unistd.h>

#include "sample.h"
#include "vramscope.h"

#define NR_SEGMENTS  16u
#define NR_BLOCKS    64u /* places in a segment */
#define SEGMENT_SIZE (2 * MIB)
#define BLOCK_SIZE   (SEGMENT_SIZE / NR_BLOCKS)
#define NR_PIECES    32u

static struct {
	char *base;
	size_t blocks[NR_BLOCKS]; /* sizes; 0: free */
} segments[NR_SEGMENTS];

static struct {
	void *memory;
	size_t size;
	int is_async;
} pieces[NR_PIECES];

static uint32_t state = 1;

/* The same in every run. */
static uint32_t draw(uint32_t limit)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % limit;
}

static void change_block(vs_pool pool)
{
	/* The upper half is used now and then only: memory that the pool keeps, and is empty. */
	uint32_t i = draw(64) ? draw(NR_SEGMENTS / 2) : draw(NR_SEGMENTS);
	uint32_t k = draw(NR_BLOCKS);
	char *place = segments[i].base + k * BLOCK_SIZE;
	size_t *size = &segments[i].blocks[k];

	if (*size) {
		vs_pool_free(pool, place);
		*size = 0;
	} else {
		*size = 512 * (1 + draw(BLOCK_SIZE / 512));
		vs_pool_alloc(pool, place, *size);
		if (i >= NR_SEGMENTS / 2) {
			vs_pool_free(pool, place);
			*size = 0;
		}
	}
}

static void change_piece(void)
{
	uint32_t i = draw(NR_PIECES);

	if (pieces[i].memory && pieces[i].is_async) {
		CHECK(cudaFreeAsync(pieces[i].memory, NULL));
		pieces[i].memory = NULL;
	} else if (pieces[i].memory) {
		CHECK(cudaFree(pieces[i].memory));
		pieces[i].memory = NULL;
	} else {
		pieces[i].is_async = draw(2) == 0;
		pieces[i].size = 4096 * (1 + draw(64));
		if (pieces[i].is_async)
			CHECK(cudaMallocAsync(&pieces[i].memory, pieces[i].size, NULL));
		else
			CHECK(cudaMalloc(&pieces[i].memory, pieces[i].size));
	}
}

static size_t get_live(void)
{
	size_t live = 0;

	for (uint32_t i = 0; i < NR_SEGMENTS; i++)
		for (uint32_t k = 0; k < NR_BLOCKS; k++)
			live += segments[i].blocks[k];
	for (uint32_t i = 0; i < NR_PIECES; i++)
		live += pieces[i].memory ? pieces[i].size : 0;
	return live;
}

int main(int argc, char **argv)
{
	vs_pool pool;
	char byte;

	if (argc != 3)
		return 2;
	pool = vs_pool_create("work", 0, 0);
	for (uint32_t i = 0; i < NR_SEGMENTS; i++)
		CHECK(cudaMalloc((void **)&segments[i].base, SEGMENT_SIZE));
	vs_phase_push("all");
	for (long round = 0, end = atol(argv[1]); round < end; round++) {
		vs_step((uint64_t)round);
		vs_phase_push("round");
		for (int i = 0; i < 200; i++)
			change_block(pool);
		change_piece();
		vs_phase_pop();
		/* Not faster than the disk, for those who read what is there. */
		if (!strcmp(argv[2], "wait") && round % 20 == 0)
			usleep(4000);
	}
	printf("live %zu\n", get_live());
	fflush(stdout);
	if (!strcmp(argv[2], "kill"))
		kill(getpid(), SIGKILL);
	while (!strcmp(argv[2], "wait") && read(0, &byte, 1) > 0)
		;
	return 0;
}
