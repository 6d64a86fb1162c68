#include "caching_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS    65536
#define NONE          UINT32_MAX
#define GRANULARITY   512u
#define SMALL_MOST    (1u << 20) /* what counts as small */
#define SMALL_SEGMENT (2u << 20)
#define LARGE_SEGMENT (20u << 20)
#define LARGE_MOST    (10u << 20) /* larger ones have a segment of their own */

struct block {
	uint64_t address, size;
	uint32_t left, right; /* neighbours in the segment */
	bool is_free;
};

/* Free blocks, by size, then by address. */
struct holes {
	uint32_t sorted[MAX_BLOCKS];
	uint32_t nr;
};

static struct block blocks[MAX_BLOCKS];
static uint32_t unused[MAX_BLOCKS], nr_unused;
static struct holes small_holes, large_holes;
static uint64_t next_segment;
static vs_caching_pool_segment tell_segment;

/* ---- Holes -------------------------------------------------------------------------------- */

static bool is_below(const struct block *block, uint64_t size, uint64_t address)
{
	return block->size != size ? block->size < size : block->address < address;
}

/* Place of the first hole that is not below. */
static uint32_t find_hole(const struct holes *holes, uint64_t size, uint64_t address)
{
	uint32_t low = 0, high = holes->nr;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (is_below(&blocks[holes->sorted[middle]], size, address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_hole(struct holes *holes, uint32_t index)
{
	uint32_t at = find_hole(holes, blocks[index].size, blocks[index].address);

	memmove(&holes->sorted[at + 1], &holes->sorted[at],
		(holes->nr - at) * sizeof(holes->sorted[0]));
	holes->sorted[at] = index;
	holes->nr++;
	blocks[index].is_free = true;
}

static void remove_hole(struct holes *holes, uint32_t index)
{
	uint32_t at = find_hole(holes, blocks[index].size, blocks[index].address);

	holes->nr--;
	memmove(&holes->sorted[at], &holes->sorted[at + 1],
		(holes->nr - at) * sizeof(holes->sorted[0]));
	blocks[index].is_free = false;
}

/* ---- Blocks ------------------------------------------------------------------------------- */

static uint32_t add_block(struct block block)
{
	uint32_t index;

	if (!nr_unused) {
		fprintf(stderr, "caching_pool: more than %d blocks\n", MAX_BLOCKS);
		exit(1);
	}
	index = unused[--nr_unused];
	blocks[index] = block;
	return index;
}

static void add_segment(struct holes *holes, uint64_t size)
{
	uint64_t address = next_segment;

	if (holes == &small_holes)
		size = SMALL_SEGMENT;
	else if (size < LARGE_MOST)
		size = LARGE_SEGMENT;
	else
		size = (size + SMALL_SEGMENT - 1) / SMALL_SEGMENT * SMALL_SEGMENT;
	next_segment += size;
	add_hole(holes, add_block((struct block){address, size, NONE, NONE, true}));
	tell_segment(address, size);
}

/* What is too much becomes a hole, if it is worth it. */
static void split(struct holes *holes, uint32_t index, uint64_t size)
{
	struct block *block = &blocks[index];
	uint32_t rest;

	if (block->size - size < (holes == &small_holes ? GRANULARITY : SMALL_MOST + 1))
		return;
	rest = add_block((struct block){block->address + size, block->size - size, index,
					block->right, true});
	if (block->right != NONE)
		blocks[block->right].left = rest;
	block->right = rest;
	block->size = size;
	add_hole(holes, rest);
}

static void join_left(struct holes *holes, uint32_t index)
{
	uint32_t left = blocks[index].left;

	if (left == NONE || !blocks[left].is_free)
		return;
	remove_hole(holes, left);
	blocks[index].address = blocks[left].address;
	blocks[index].size += blocks[left].size;
	blocks[index].left = blocks[left].left;
	if (blocks[index].left != NONE)
		blocks[blocks[index].left].right = index;
	unused[nr_unused++] = left;
}

static void join_right(struct holes *holes, uint32_t index)
{
	uint32_t right = blocks[index].right;

	if (right == NONE || !blocks[right].is_free)
		return;
	remove_hole(holes, right);
	blocks[index].size += blocks[right].size;
	blocks[index].right = blocks[right].right;
	if (blocks[index].right != NONE)
		blocks[blocks[index].right].left = index;
	unused[nr_unused++] = right;
}

/* ---- The pool ----------------------------------------------------------------------------- */

void vs_caching_pool_reset(uint64_t address, vs_caching_pool_segment on_segment)
{
	next_segment = address;
	tell_segment = on_segment;
	small_holes.nr = 0;
	large_holes.nr = 0;
	for (nr_unused = 0; nr_unused < MAX_BLOCKS; nr_unused++)
		unused[nr_unused] = nr_unused;
}

struct vs_caching_pool_block vs_caching_pool_take(uint64_t size)
{
	struct holes *holes = size <= SMALL_MOST ? &small_holes : &large_holes;
	uint32_t at, index;

	size = (size + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
	at = find_hole(holes, size, 0);
	if (at == holes->nr) {
		add_segment(holes, size);
		at = find_hole(holes, size, 0);
	}
	index = holes->sorted[at];
	remove_hole(holes, index);
	split(holes, index, size);
	return (struct vs_caching_pool_block){
		.address = blocks[index].address,
		.size = blocks[index].size,
		.index = index,
		.is_small = holes == &small_holes,
	};
}

void vs_caching_pool_give_back(const struct vs_caching_pool_block *block)
{
	struct holes *holes = block->is_small ? &small_holes : &large_holes;

	join_left(holes, block->index);
	join_right(holes, block->index);
	add_hole(holes, block->index);
}
