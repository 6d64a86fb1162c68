#include "large_heap.h"

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)
#define PIECE_SIZE ((size_t)32 << 20) /* the most that malloc takes as a threshold */
#define NR_PIECES  4                  /* what is not used costs nothing */

void vs_large_heap_prepare(void)
{
	static bool is_prepared;
	void *pieces[NR_PIECES];
	size_t i;

	if (is_prepared)
		return;
	is_prepared = true;
	/* All threads use it. What is that large stays in the heap, and what is freed stays there,
	 * too. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, PIECE_SIZE);
	mallopt(M_TRIM_THRESHOLD, 2 * NR_PIECES * PIECE_SIZE);
	for (i = 0; i < NR_PIECES; i++) {
		uintptr_t start;

		pieces[i] = malloc(PIECE_SIZE - LARGE_PAGE);
		start = ((uintptr_t)pieces[i] + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
		if (pieces[i])
			(void)madvise((void *)start, PIECE_SIZE - 2 * LARGE_PAGE, MADV_HUGEPAGE);
	}
	for (i = 0; i < NR_PIECES; i++)
		free(pieces[i]);
}
