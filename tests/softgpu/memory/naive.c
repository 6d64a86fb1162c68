#include "naive.h"

#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

size_t sg_naive_get_free(const struct sg_naive *naive)
{
	size_t used = naive->overhead;

	for (int i = 0; i < naive->nr_regions; i++)
		used += naive->regions[i].charged;
	for (int i = 0; i < NAIVE_MAX_PHYSICAL; i++)
		if (naive->physical[i].nr_references || naive->physical[i].nr_mappings)
			used += naive->physical[i].size;
	assert_true(used <= naive->capacity);
	return naive->capacity - used;
}

bool sg_naive_charge(struct sg_naive *naive, size_t size)
{
	size_t room = sg_naive_get_free(naive), managed = 0, missing;

	if (size <= room)
		return true;
	for (int i = 0; i < naive->nr_regions; i++)
		if (naive->regions[i].kind == NAIVE_MANAGED)
			managed += naive->regions[i].charged;
	if (size > room + managed)
		return false;
	missing = size - room;
	for (int i = naive->nr_regions - 1; i >= 0 && missing; i--) {
		size_t part = naive->regions[i].charged;

		if (naive->regions[i].kind != NAIVE_MANAGED)
			continue;
		if (part > missing)
			part = missing;
		naive->regions[i].charged -= part;
		missing -= part;
	}
	return true;
}

static bool is_in(const struct sg_naive_block *block, const struct sg_naive_region *region)
{
	return block->kind == region->kind && block->address >= region->base &&
	       block->address < region->base + region->size;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct sg_naive_block *const *first = a, *const *second = b;

	return (*first)->address < (*second)->address ? -1 : 1;
}

/* Whether a region has so many bytes in one stretch that no block holds. */
static bool has_gap(const struct sg_naive *naive, const struct sg_naive_region *region, size_t size)
{
	const struct sg_naive_block *inside[NAIVE_MAX] = {NULL};
	CUdeviceptr at = region->base;
	size_t nr = 0;

	for (int i = 0; i < naive->nr_blocks; i++)
		if (is_in(&naive->blocks[i], region))
			inside[nr++] = &naive->blocks[i];
	qsort(inside, nr, sizeof(inside[0]), compare_blocks);
	for (size_t i = 0; i < nr; i++) {
		if (inside[i]->address - at >= size)
			return true;
		at = inside[i]->address + round_up(inside[i]->size, UNIT);
	}
	return region->base + region->size - at >= size;
}

static bool is_shared_by(const struct sg_naive_region *region, enum sg_naive_kind kind, int pool)
{
	return region->kind == kind && region->is_shared && region->pool == pool;
}

static bool has_any_gap(const struct sg_naive *naive, enum sg_naive_kind kind, int pool,
			size_t size)
{
	for (int i = 0; i < naive->nr_regions; i++)
		if (is_shared_by(&naive->regions[i], kind, pool) &&
		    has_gap(naive, &naive->regions[i], size))
			return true;
	return false;
}

uint64_t sg_naive_get_used(const struct sg_naive *naive, int pool)
{
	uint64_t used = 0;

	for (int i = 0; i < naive->nr_blocks; i++)
		if (naive->blocks[i].kind == NAIVE_POOL && naive->blocks[i].pool == pool)
			used += round_up(naive->blocks[i].size, UNIT);
	return used;
}

uint64_t sg_naive_get_reserved(const struct sg_naive *naive, int pool)
{
	uint64_t reserved = 0;

	for (int i = 0; i < naive->nr_regions; i++)
		if (is_shared_by(&naive->regions[i], NAIVE_POOL, pool))
			reserved += naive->regions[i].size;
	return reserved;
}

static bool is_empty(const struct sg_naive *naive, const struct sg_naive_region *region)
{
	for (int i = 0; i < naive->nr_blocks; i++)
		if (is_in(&naive->blocks[i], region))
			return false;
	return true;
}

static void remove_region(struct sg_naive *naive, int i)
{
	/* the order stays: it says which was taken last */
	naive->nr_regions--;
	memmove(&naive->regions[i], &naive->regions[i + 1],
		(size_t)(naive->nr_regions - i) * sizeof(naive->regions[0]));
}

void sg_naive_trim(struct sg_naive *naive, int pool, uint64_t keep)
{
	CUdeviceptr at = 0;

	for (;;) {
		int lowest = -1;

		for (int i = 0; i < naive->nr_regions; i++) {
			const struct sg_naive_region *region = &naive->regions[i];

			if (is_shared_by(region, NAIVE_POOL, pool) && region->base >= at &&
			    (lowest < 0 || region->base < naive->regions[lowest].base))
				lowest = i;
		}
		if (lowest < 0)
			return;
		at = naive->regions[lowest].base + 1;
		if (is_empty(naive, &naive->regions[lowest]) &&
		    sg_naive_get_reserved(naive, pool) - naive->regions[lowest].size >= keep)
			remove_region(naive, lowest);
	}
}

/* The size of a new piece, 0 if there can be none. */
static size_t take_piece(struct sg_naive *naive, int pool, size_t size)
{
	size_t most = naive->pools[pool].max_size ? naive->pools[pool].max_size : SIZE_MAX;
	size_t room = most - sg_naive_get_reserved(naive, pool);
	size_t piece = round_up(size, NAIVE_PIECE);

	if (piece <= room && sg_naive_charge(naive, piece))
		return piece;
	piece = round_up(size, PAGE);
	return piece <= room && sg_naive_charge(naive, piece) ? piece : 0;
}

static CUresult plan_pool(struct sg_naive *naive, int pool, size_t size, struct sg_naive_plan *plan)
{
	size = round_up(size, UNIT);
	if (has_any_gap(naive, NAIVE_POOL, pool, size))
		return CUDA_SUCCESS;
	plan->new_size = take_piece(naive, pool, size);
	if (!plan->new_size) {
		sg_naive_trim(naive, pool, 0);
		plan->new_size = take_piece(naive, pool, size);
	}
	plan->charged = plan->new_size;
	return plan->new_size ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sg_naive_plan(struct sg_naive *naive, enum sg_naive_kind kind, int pool, size_t size,
		       struct sg_naive_plan *plan)
{
	size_t room;

	*plan = (struct sg_naive_plan){.block = {.kind = kind, .pool = pool, .size = size}};
	/* Sizes a device can have; rounding anything larger might wrap. */
	if (size > (size_t)1 << 45)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (kind == NAIVE_PINNED || kind == NAIVE_REGISTERED)
		return CUDA_SUCCESS;
	if (kind == NAIVE_POOL)
		return plan_pool(naive, pool, size, plan);
	if (size <= PAGE / 2 && has_any_gap(naive, kind, pool, round_up(size, UNIT)))
		return CUDA_SUCCESS;
	plan->new_size = round_up(size, PAGE);
	if (kind == NAIVE_MANAGED) {
		room = sg_naive_get_free(naive);
		plan->charged = plan->new_size < room ? plan->new_size : room;
		return CUDA_SUCCESS;
	}
	plan->charged = plan->new_size;
	return sg_naive_charge(naive, plan->new_size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool sg_naive_is_overlapping(const struct sg_naive *naive, CUdeviceptr address, size_t size)
{
	for (int i = 0; i < naive->nr_blocks; i++) {
		const struct sg_naive_block *block = &naive->blocks[i];

		if (address < block->address + block->size && block->address < address + size)
			return true;
	}
	return false;
}

static void add_region(struct sg_naive *naive, const struct sg_naive_plan *plan,
		       CUdeviceptr address)
{
	enum sg_naive_kind kind = plan->block.kind;

	/* whatever is new begins at a page, and so does its first block */
	assert_int_equal(address % PAGE, 0);
	assert_true(naive->nr_regions < NAIVE_MAX);
	naive->regions[naive->nr_regions++] = (struct sg_naive_region){
		.kind = kind,
		.is_shared = kind == NAIVE_POOL || plan->block.size <= PAGE / 2,
		.pool = plan->block.pool,
		.base = address,
		.size = plan->new_size,
		.charged = plan->charged,
	};
}

/* Fails the test unless the block lies in a region that it may share. */
static void check_region(const struct sg_naive *naive, const struct sg_naive_block *block)
{
	for (int i = 0; i < naive->nr_regions; i++) {
		const struct sg_naive_region *region = &naive->regions[i];

		if (is_in(block, region)) {
			assert_true(is_shared_by(region, block->kind, block->pool));
			assert_true(block->address + block->size <= region->base + region->size);
			return;
		}
	}
	fail_msg("a block that should share a page is in none");
}

struct sg_naive_block *sg_naive_place(struct sg_naive *naive, const struct sg_naive_plan *plan,
				      CUdeviceptr address)
{
	struct sg_naive_block *block;
	struct sg_naive_pool *pool = &naive->pools[plan->block.pool];

	assert_true(naive->nr_blocks < NAIVE_MAX);
	if (plan->block.kind != NAIVE_REGISTERED)
		assert_int_equal(address % UNIT, 0);
	assert_false(sg_naive_is_overlapping(naive, address, plan->block.size));
	if (plan->new_size)
		add_region(naive, plan, address);
	block = &naive->blocks[naive->nr_blocks];
	*block = plan->block;
	block->address = address;
	if (block->kind == NAIVE_DEVICE || block->kind == NAIVE_MANAGED ||
	    block->kind == NAIVE_POOL) {
		if (!plan->new_size)
			check_region(naive, block);
	}
	naive->nr_blocks++;
	if (block->kind == NAIVE_POOL) {
		uint64_t used = sg_naive_get_used(naive, block->pool);
		uint64_t reserved = sg_naive_get_reserved(naive, block->pool);

		pool->used_high = used > pool->used_high ? used : pool->used_high;
		pool->reserved_high =
			reserved > pool->reserved_high ? reserved : pool->reserved_high;
	}
	return block;
}

struct sg_naive_block *sg_naive_find(struct sg_naive *naive, CUdeviceptr address)
{
	for (int i = 0; i < naive->nr_blocks; i++)
		if (address >= naive->blocks[i].address &&
		    address < naive->blocks[i].address + naive->blocks[i].size)
			return &naive->blocks[i];
	return NULL;
}

static void end_pool_if_done(struct sg_naive *naive, int pool)
{
	if (!naive->pools[pool].is_destroyed || sg_naive_get_used(naive, pool))
		return;
	sg_naive_trim(naive, pool, 0);
	naive->pools[pool] = (struct sg_naive_pool){0};
}

void sg_naive_free(struct sg_naive *naive, struct sg_naive_block *block)
{
	struct sg_naive_block gone = *block;

	*block = naive->blocks[--naive->nr_blocks];
	if (gone.kind == NAIVE_POOL) {
		end_pool_if_done(naive, gone.pool);
		return;
	}
	for (int i = 0; i < naive->nr_regions; i++) {
		if (is_in(&gone, &naive->regions[i]) && is_empty(naive, &naive->regions[i])) {
			remove_region(naive, i);
			return;
		}
	}
}

void sg_naive_free_context(struct sg_naive *naive, int context)
{
	for (int i = naive->nr_blocks - 1; i >= 0; i--)
		if (naive->blocks[i].kind != NAIVE_POOL && naive->blocks[i].context == context)
			sg_naive_free(naive, &naive->blocks[i]);
}

void sg_naive_synchronize(struct sg_naive *naive)
{
	for (int pool = 0; pool < NAIVE_MAX_POOLS; pool++)
		if (naive->pools[pool].is_used &&
		    sg_naive_get_reserved(naive, pool) > naive->pools[pool].threshold)
			sg_naive_trim(naive, pool, naive->pools[pool].threshold);
}

void sg_naive_destroy_pool(struct sg_naive *naive, int pool)
{
	naive->pools[pool].is_destroyed = true;
	end_pool_if_done(naive, pool);
}

void sg_naive_reset(struct sg_naive *naive)
{
	for (int i = naive->nr_blocks - 1; i >= 0; i--)
		if (naive->blocks[i].kind == NAIVE_POOL)
			sg_naive_free(naive, &naive->blocks[i]);
	for (int pool = 0; pool < NAIVE_MAX_POOLS; pool++) {
		sg_naive_trim(naive, pool, 0);
		naive->pools[pool].used_high = 0;
		naive->pools[pool].reserved_high = 0;
	}
	naive->pools[0].threshold = 0;
	memset(naive->physical, 0, sizeof(naive->physical));
}
