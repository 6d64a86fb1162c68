/* Blocks that pools place in segments, and in each other's blocks. */
#include "replay_items.h"

/* How deep pools may stand in each other: far more than anybody does. */
#define MAX_DEPTH 16

/* Most are about the same pool as the one before. */
static inline struct vs_replay_pool *get_pool(struct vs_replay *replay, uint32_t id)
{
	struct vs_replay_pool *pool = replay->last_pool;

	if (pool && pool->id == id)
		return pool;
	pool = vs_replay_get_pool(replay, id);
	if (pool)
		replay->last_pool = pool;
	return pool;
}

static bool holds(const struct vs_item *item, uint64_t base, uint64_t end)
{
	return item->range.base <= base && vs_range_end(&item->range) >= end;
}

static bool is_orphan(const struct vs_item *item)
{
	return vs_replay_is_pool_block(item) && !item->parent;
}

/* How far from where they were the neighbours are looked for. */
#define MOST_STEPS 8

/* From a block of the item below base, upwards. False: not so near. */
static bool go_up(struct vs_range *below, uint64_t base, struct vs_range **next)
{
	int i;

	*next = below;
	for (i = 0; i < MOST_STEPS; i++) {
		*next = (*next)->next;
		if (!*next || vs_range_end(*next) > base)
			return true;
	}
	return false;
}

/* From a block of the item above base, downwards. */
static bool go_down(struct vs_range *above, uint64_t base, struct vs_range **next)
{
	int i;

	*next = above;
	for (i = 0; i < MOST_STEPS; i++) {
		struct vs_range *before = (*next)->before;

		if (!before || vs_range_end(before) <= base)
			return true;
		*next = before;
	}
	return false;
}

/*
 * Where a block went its neighbours are known, or something near. (An item that is alive in this
 * tree says so by its parent; one that went has none.)
 */
struct vs_range *vs_replay_blocks_find_next(const struct vs_replay *replay,
					    const struct vs_item *item, uint64_t base)
{
	const struct vs_replay_gap *gap = vs_replay_items_get_gap(replay, base);
	struct vs_range *above = gap->next, *below = gap->before, *next;

	if (gap->base == base) {
		if (above && vs_replay_items_of(above)->parent == item && above->base > base &&
		    go_down(above, base, &next))
			return next;
		if (below && vs_replay_items_of(below)->parent == item &&
		    vs_range_end(below) <= base && go_up(below, base, &next))
			return next;
	}
	return vs_range_tree_find_from(&item->blocks, base);
}

/* The same of all regions. What is charged and has no parent is one, but handles and arrays. */
static bool is_region(const struct vs_range *range)
{
	const struct vs_item *item = (const struct vs_item *)(const void *)range;

	return item->is_charged && !item->parent && item->class != VS_ITEM_HANDLE &&
	       item->kind != VS_MEMORY_ARRAY;
}

struct vs_range *vs_replay_blocks_find_region(const struct vs_replay *replay, uint64_t base)
{
	const struct vs_replay_gap *gap = vs_replay_items_get_gap(replay, base);
	struct vs_range *above = gap->next, *below = gap->before, *next;

	if (gap->base == base) {
		if (above && is_region(above) && above->base > base && go_down(above, base, &next))
			return next;
		if (below && is_region(below) && vs_range_end(below) <= base &&
		    go_up(below, base, &next))
			return next;
	}
	return vs_range_tree_find_from(&replay->regions, base);
}

/*
 * The innermost thing that holds [base, end) and is not a block of the same pool; *next is the
 * first of its blocks that ends behind base, or NULL.
 */
static struct vs_item *find_parent(struct vs_replay *replay, uint32_t pool, uint64_t base,
				   uint64_t end, struct vs_range **next)
{
	struct vs_item *parent = NULL, *item = replay->last_parent;
	struct vs_range *range;
	int depth;

	if (!item || !holds(item, base, end)) {
		range = vs_range_tree_find(&replay->regions, base);
		item = range ? vs_replay_items_of(range) : NULL;
	}
	for (depth = 0; depth < MAX_DEPTH; depth++) {
		if (!item || !holds(item, base, end))
			break;
		if (vs_replay_is_pool_block(item) && item->pool->id == pool)
			break;
		parent = item;
		if (!depth)
			replay->last_parent = item;
		*next = range = vs_replay_blocks_find_next(replay, item, base);
		item = range && range->base <= base ? vs_replay_items_of(range) : NULL;
	}
	return parent;
}

/*
 * No known segment holds all of it. What lies in one is cut off: a segment is better known than a
 * block's size. Returns the end, or base if nothing remains.
 */
static uint64_t cut_orphan(const struct vs_replay *replay, uint64_t base, uint64_t end)
{
	struct vs_range *range = vs_range_tree_find_from(&replay->regions, base);

	while (range && is_orphan(vs_replay_items_of(range)))
		range = vs_range_tree_next(&replay->regions, range);
	if (!range || range->base >= end)
		return end;
	if (range->base > base)
		return range->base;
	return base;
}

/* birth->next: the first that is not below it. Then it is what comes behind it. */
static int clear_siblings(struct vs_replay *replay, struct vs_birth *birth, uint64_t end)
{
	struct vs_range *range;
	int err;

	while ((range = birth->next) && range->base < end) {
		birth->next = vs_range_tree_next(&birth->parent->blocks, range);
		err = vs_replay_items_close(replay, vs_replay_items_of(range), VS_CAUSE_OVERLAP,
					    NULL);
		if (err)
			return err;
	}
	birth->knows_next = true;
	return 0;
}

static int clear_orphans(struct vs_replay *replay, struct vs_birth *birth, uint64_t end)
{
	struct vs_range *range = vs_range_tree_find(&replay->regions, birth->address);

	replay->counters.nr_orphan_blocks++;
	end = cut_orphan(replay, birth->address, end);
	if (end == birth->address && range) {
		/* It begins in a segment and reaches beyond it. */
		birth->parent = vs_replay_items_of(range);
		birth->size = vs_range_end(range) - birth->address;
		birth->next = vs_range_tree_find_from(&birth->parent->blocks, birth->address);
		return clear_siblings(replay, birth, vs_range_end(range));
	}
	birth->size = birth->size ? end - birth->address : 0;
	return vs_replay_items_clear(replay, birth->address, end);
}

int vs_replay_blocks_alloc(struct vs_replay *replay, struct vs_replay_thread *thread,
			   const struct vs_block_alloc *alloc)
{
	struct vs_replay_pool *pool = get_pool(replay, alloc->pool);
	uint64_t base = alloc->address, size = alloc->size, end;
	struct vs_item *block;
	struct vs_birth birth;
	int err;

	thread->placed = 0;
	if (!pool || !base || base == UINT64_MAX)
		return 0;
	thread->placed = base;
	thread->placed_pool = pool;
	if (size > UINT64_MAX - base)
		size = UINT64_MAX - base;
	end = base + (size ? size : 1);
	birth = (struct vs_birth){.class = VS_ITEM_BLOCK,
				  .kind = VS_MEMORY_DEVICE,
				  .device = pool->device,
				  .address = base,
				  .size = size,
				  .stack = alloc->stack,
				  .pool = pool};
	birth.parent = find_parent(replay, pool->id, base, end, &birth.next);
	if (birth.parent)
		err = clear_siblings(replay, &birth, end);
	else
		err = clear_orphans(replay, &birth, end);
	if (err)
		return err;
	if (birth.parent) {
		birth.device = birth.parent->device;
		birth.kind = birth.parent->kind;
		err = vs_replay_items_adopt(replay, birth.parent, pool);
	}
	return err ? err : vs_replay_items_bear(replay, &birth, &block);
}

int vs_replay_blocks_adopt(struct vs_replay *replay, const struct vs_adopted *adopted)
{
	struct vs_replay_pool *pool = vs_replay_get_pool(replay, adopted->pool);
	struct vs_range *next;
	struct vs_item *parent;

	if (!pool || !adopted->address || adopted->address == UINT64_MAX)
		return 0;
	parent = find_parent(replay, pool->id, adopted->address, adopted->address + 1, &next);
	if (parent)
		return vs_replay_items_adopt(replay, parent, pool);
	return vs_replay_vmm_adopt_at(replay, adopted->address, pool);
}

static struct vs_item *find_block(const struct vs_replay *replay, uint32_t pool, uint64_t address)
{
	const struct vs_range_tree *tree = &replay->regions;
	struct vs_range *range;
	struct vs_item *item = vs_id_map_get(&replay->blocks_at, address);

	if (item && item->pool->id == pool)
		return item;
	/* A block of another pool may have taken its place there. */
	while ((range = vs_range_tree_find(tree, address))) {
		item = vs_replay_items_of(range);
		if (vs_replay_is_pool_block(item) && item->pool->id == pool &&
		    range->base == address)
			return item;
		tree = &item->blocks;
	}
	return NULL;
}

void vs_replay_blocks_explain(struct vs_replay *replay, struct vs_replay_thread *thread,
			      const struct vs_block_asked *asked)
{
	struct vs_item *block =
		thread->placed ? find_block(replay, thread->placed_pool->id, thread->placed) : NULL;

	thread->placed = 0;
	if (!block)
		return;
	block->run = asked->run;
	if (asked->size < block->size)
		block->slack_size = block->size - asked->size;
}

int vs_replay_blocks_free(struct vs_replay *replay, const struct vs_block_free *record)
{
	struct vs_replay_pool *pool = get_pool(replay, record->pool);
	struct vs_item *block = find_block(replay, record->pool, record->address);

	if (!pool || !record->address)
		return 0;
	if (block)
		return vs_replay_items_close(replay, block, VS_CAUSE_EVENT, NULL);
	replay->counters.nr_unmatched_frees++;
	return vs_replay_items_tell_free(replay, VS_CHANGE_UNMATCHED, VS_CAUSE_EVENT,
					 VS_MEMORY_DEVICE, pool, pool->device);
}

static int end_blocks(struct vs_replay *replay, struct vs_range_tree *tree,
		      const struct vs_replay_pool *pool)
{
	struct vs_range *range = vs_range_tree_first(tree);
	uint64_t next;
	int err = 0;

	while (range && !err) {
		struct vs_item *item = vs_replay_items_of(range);

		next = vs_range_end(range);
		if (vs_replay_is_pool_block(item) && item->pool == pool)
			err = vs_replay_items_close(replay, item, VS_CAUSE_IMPLICIT, NULL);
		else if (item->blocks.root)
			err = end_blocks(replay, &item->blocks, pool);
		range = vs_range_tree_find_from(tree, next);
	}
	return err;
}

int vs_replay_blocks_end_pool(struct vs_replay *replay, struct vs_replay_pool *pool)
{
	return pool->nr_blocks ? end_blocks(replay, &replay->regions, pool) : 0;
}
