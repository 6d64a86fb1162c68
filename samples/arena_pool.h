#ifndef VS_ARENA_POOL_H
#define VS_ARENA_POOL_H

/*
 * A pool such as programs write for themselves: it takes segments from cudaMalloc, hands out blocks
 * of them, first fit, and keeps what is freed. vramscope.h tells a profiler about the blocks;
 * without one these calls do nothing.
 */
#include "sample.h"
#include "vramscope.h"

#define POOL_MAX_BLOCKS   4096
#define POOL_MAX_SEGMENTS 64

/* A stretch of a segment, used or free, in the order of addresses within the segment. */
struct pool_block {
	char *address;
	size_t size;
	int segment;
	int is_used;
};

struct pool {
	const char *name;
	size_t segment_size; /* what it takes from cudaMalloc at a time, at least */
	size_t limit;        /* 0: none */
	struct book *segments;
	struct book blocks;
	struct pool_block list[POOL_MAX_BLOCKS];
	int nr_blocks;
	int nr_segments;
	size_t reserved;
	vs_pool described;
};

static inline void pool_init(struct pool *pool, const char *name, const char *book_name,
			     size_t segment_size, size_t limit, struct book *segments)
{
	memset(pool, 0, sizeof(*pool));
	pool->name = name;
	pool->blocks.name = book_name;
	pool->segment_size = segment_size;
	pool->limit = limit;
	pool->segments = segments;
	pool->described = vs_pool_create(name, 0, limit);
}

static inline void pool_insert(struct pool *pool, int at, struct pool_block block)
{
	if (pool->nr_blocks == POOL_MAX_BLOCKS) {
		fprintf(stderr, "the sample's pool has too many blocks\n");
		exit(1);
	}
	memmove(&pool->list[at + 1], &pool->list[at],
		(size_t)(pool->nr_blocks - at) * sizeof(pool->list[0]));
	pool->list[at] = block;
	pool->nr_blocks++;
}

static inline void pool_remove(struct pool *pool, int at)
{
	pool->nr_blocks--;
	memmove(&pool->list[at], &pool->list[at + 1],
		(size_t)(pool->nr_blocks - at) * sizeof(pool->list[0]));
}

/* A new segment, if the limit and the device allow it. */
static inline int pool_grow(struct pool *pool, size_t size)
{
	char *memory;

	if (size < pool->segment_size)
		size = pool->segment_size;
	if (pool->limit && pool->reserved + size > pool->limit)
		return 0;
	memory = device_alloc(pool->segments, size);
	if (!memory)
		return 0;
	pool->reserved += size;
	pool_insert(pool, pool->nr_blocks,
		    (struct pool_block){memory, size, pool->nr_segments++, 0});
	return 1;
}

static inline char *pool_take(struct pool *pool, size_t size)
{
	for (int i = 0; i < pool->nr_blocks; i++) {
		struct pool_block *block = &pool->list[i];

		if (block->is_used || block->size < size)
			continue;
		if (block->size > size) {
			pool_insert(pool, i + 1,
				    (struct pool_block){block->address + size, block->size - size,
							block->segment, 0});
			block = &pool->list[i];
			block->size = size;
		}
		block->is_used = 1;
		return block->address;
	}
	return NULL;
}

/* NULL: out of memory, and said so to the profiler. */
static inline void *pool_alloc(struct pool *pool, size_t size)
{
	char *address = pool_take(pool, size);

	if (!address && pool_grow(pool, size))
		address = pool_take(pool, size);
	if (!address) {
		book_failed(&pool->blocks);
		vs_pool_oom(pool->described, size);
		return NULL;
	}
	book_alloc(&pool->blocks, size);
	vs_pool_alloc(pool->described, address, size);
	return address;
}

static inline void pool_free(struct pool *pool, void *address)
{
	int i = 0;

	while (i < pool->nr_blocks && pool->list[i].address != (char *)address)
		i++;
	vs_pool_free(pool->described, address);
	book_free(&pool->blocks, pool->list[i].size);
	pool->list[i].is_used = 0;
	if (i + 1 < pool->nr_blocks && !pool->list[i + 1].is_used &&
	    pool->list[i + 1].segment == pool->list[i].segment) {
		pool->list[i].size += pool->list[i + 1].size;
		pool_remove(pool, i + 1);
	}
	if (i > 0 && !pool->list[i - 1].is_used &&
	    pool->list[i - 1].segment == pool->list[i].segment) {
		pool->list[i - 1].size += pool->list[i].size;
		pool_remove(pool, i);
	}
}

/* Give segments back to CUDA that hold nothing. Returns how many went. */
static inline int pool_empty_cache(struct pool *pool)
{
	int nr = 0;

	for (int i = 0; i < pool->nr_blocks;) {
		struct pool_block *block = &pool->list[i];
		int is_whole =
			!block->is_used &&
			(i == 0 || pool->list[i - 1].segment != block->segment) &&
			(i + 1 == pool->nr_blocks || pool->list[i + 1].segment != block->segment);

		if (!is_whole) {
			i++;
			continue;
		}
		device_free(pool->segments, block->address, block->size);
		pool->reserved -= block->size;
		pool_remove(pool, i);
		nr++;
	}
	return nr;
}

/* Free bytes in segments that something is still in: total, largest piece and number of pieces. */
static inline void pool_print_holes(const struct pool *pool)
{
	size_t total = 0, largest = 0;
	int nr = 0;

	for (int i = 0; i < pool->nr_blocks; i++) {
		const struct pool_block *block = &pool->list[i];
		int is_whole =
			(i == 0 || pool->list[i - 1].segment != block->segment) &&
			(i + 1 == pool->nr_blocks || pool->list[i + 1].segment != block->segment);

		if (block->is_used || is_whole)
			continue;
		total += block->size;
		nr++;
		if (block->size > largest)
			largest = block->size;
	}
	printf("hole_bytes=%zu\nlargest_hole_bytes=%zu\nholes=%d\n", total, largest, nr);
}

#endif
