#include "measure_fragmentation.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* Holes count if they are at least one part of so many of what their pool holds. */
#define LEAST_PART 20

static struct vs_measure_fragmentation *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_fragmentation *)(void *)observer; /* its first member */
}

static int make_room(struct vs_measure_fragmentation *measure, const struct vs_replay *replay)
{
	int err = VS_GROW(measure->pools, measure->pools_capacity, replay->nr_pools);

	return err ? err : VS_GROW(measure->devices, measure->devices_capacity, replay->nr_devices);
}

/* The free bytes to the left and right of a block that is in, up to its neighbours or the ends. */
static void get_gaps(const struct vs_item *block, uint64_t *left, uint64_t *right)
{
	const struct vs_item *parent = block->parent;
	const struct vs_range *below, *above;

	below = vs_range_tree_before(&block->range);
	above = vs_range_tree_next(&parent->blocks, &block->range);
	*left = block->range.base - (below ? vs_range_end(below) : parent->range.base);
	*right = (above ? above->base : vs_range_end(&parent->range)) - vs_range_end(&block->range);
}

/* The holes beside a block that is in (is_birth) or was, and the one that they are without it; 0:
 * there is none, because it is or was the only one. */
struct beside {
	uint64_t left, right, whole;
};

static struct beside get_beside(const struct vs_item *block, bool is_only)
{
	struct beside beside;

	get_gaps(block, &beside.left, &beside.right);
	beside.whole = is_only ? 0 : beside.left + block->range.size + beside.right;
	return beside;
}

/*
 * A block comes or goes. A segment without blocks can be given back: it has no hole. With the first
 * block its rest becomes one or two, with the last one they go.
 */
static int change_block(struct vs_hole_set *holes, const struct beside *beside, bool is_birth)
{
	int err = 0;

	if (is_birth) {
		vs_hole_set_remove(holes, beside->whole);
		err = vs_hole_set_add(holes, beside->left);
		return err ? err : vs_hole_set_add(holes, beside->right);
	}
	vs_hole_set_remove(holes, beside->left);
	vs_hole_set_remove(holes, beside->right);
	return vs_hole_set_add(holes, beside->whole);
}

/* All holes of a segment at once: before and after it changes its shape. */
static int change_segment(struct vs_hole_set *holes, const struct vs_item *segment, bool is_in)
{
	struct vs_range *range = vs_range_tree_first(&segment->blocks);
	uint64_t free_from = segment->range.base;
	int err = 0;

	if (!range)
		return 0;
	for (; range && !err; range = vs_range_tree_next(&segment->blocks, range)) {
		if (is_in)
			err = vs_hole_set_add(holes, range->base - free_from);
		else
			vs_hole_set_remove(holes, range->base - free_from);
		free_from = vs_range_end(range);
	}
	if (err)
		return err;
	if (is_in)
		return vs_hole_set_add(holes, vs_range_end(&segment->range) - free_from);
	vs_hole_set_remove(holes, vs_range_end(&segment->range) - free_from);
	return 0;
}

/* Whether the segment that it is, or is in, is one that counts. */
static bool is_counted(const struct vs_measure_fragmentation *measure, const struct vs_item *item)
{
	while (item->parent)
		item = item->parent;
	return measure->limit - item->range.base < item->range.size;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_fragmentation *measure = measure_of(observer);
	const struct vs_item *item = change->item;
	const struct vs_replay_pool *pool;
	struct vs_hole_set *holes;
	struct beside beside;
	int err;

	if (!item || vs_replay_get_domain(item->kind) != VS_DOMAIN_DEVICE)
		return 0;
	pool = item->parent ? item->parent->owner : item->owner;
	if (!pool || (measure->is_limited && !is_counted(measure, item)))
		return 0;
	err = make_room(measure, replay);
	if (err)
		return err;
	holes = &measure->pools[pool->index];
	measure->changed = pool;
	measure->is_changed = true;
	if (item->parent && (change->type == VS_CHANGE_BORN || change->type == VS_CHANGE_DYING)) {
		beside = get_beside(item, item->parent->blocks.nr_ranges == 1);
		return change_block(holes, &beside, change->type == VS_CHANGE_BORN);
	}
	if (change->type == VS_CHANGE_WILL_RESIZE)
		return change_segment(holes, item, false);
	if (change->type == VS_CHANGE_RESIZED)
		return change_segment(holes, item, true);
	return 0;
}

static void keep_worst(struct vs_measure_fragmentation *measure, const struct vs_replay *replay,
		       const struct vs_replay_pool *pool, uint32_t thread)
{
	const struct vs_hole_set *holes = &measure->pools[pool->index];
	struct vs_worst_holes *worst = &measure->devices[pool->device->index];
	uint64_t largest = vs_hole_set_get_largest(holes);

	/* Two tiny holes are no trouble, whatever their share. */
	if (holes->total_bytes < pool->segment_bytes / LEAST_PART)
		return;
	if (vs_hole_set_get_share(holes) <= worst->share)
		return;
	*worst = (struct vs_worst_holes){.pool = pool,
					 .at = vs_instant_now(replay, thread),
					 .total_bytes = holes->total_bytes,
					 .largest_bytes = largest,
					 .nr_holes = holes->nr_holes,
					 .share = vs_hole_set_get_share(holes),
					 .scatter = vs_hole_set_get_scatter(holes)};
}

static int on_block(struct vs_observer *observer, const struct vs_replay *replay,
		    struct vs_item *block, const struct vs_record *record)
{
	struct vs_measure_fragmentation *measure = measure_of(observer);
	const struct vs_replay_pool *pool = block->parent ? block->parent->owner : NULL;
	bool is_birth = vs_replay_is_birth(record);
	struct beside beside;
	int err = 0;

	if (!pool)
		return 0;
	beside = get_beside(block, block->parent->blocks.nr_ranges == is_birth);
	if (pool->index >= measure->pools_capacity ||
	    pool->device->index >= measure->devices_capacity)
		err = make_room(measure, replay);
	if (!err)
		err = change_block(&measure->pools[pool->index], &beside, is_birth);
	if (!err)
		keep_worst(measure, replay, pool, record->thread);
	return err;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_measure_fragmentation *measure = measure_of(observer);

	if (!measure->is_changed || !replay->is_in_window)
		return 0;
	measure->is_changed = false;
	keep_worst(measure, replay, measure->changed, record->thread);
	return 0;
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_fragmentation *measure = measure_of(observer);
	size_t i;
	int err = make_room(measure, replay);

	for (i = 0; i < replay->nr_pools && !err; i++)
		keep_worst(measure, replay, replay->pools[i], 0);
	return err;
}

void vs_measure_fragmentation_init(struct vs_measure_fragmentation *measure)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.changes = VS_WANTS(VS_CHANGE_BORN) | VS_WANTS(VS_CHANGE_DYING) |
				    VS_WANTS(VS_CHANGE_WILL_RESIZE) | VS_WANTS(VS_CHANGE_RESIZED);
	measure->observer.on_record = on_record;
	measure->observer.on_block = on_block;
	measure->observer.on_window = on_window;
}

void vs_measure_fragmentation_limit(struct vs_measure_fragmentation *measure, uint64_t address)
{
	measure->is_limited = true;
	measure->limit = address;
}

void vs_measure_fragmentation_fini(struct vs_measure_fragmentation *measure)
{
	size_t i;

	for (i = 0; i < measure->pools_capacity; i++)
		vs_hole_set_fini(&measure->pools[i]);
	free(measure->pools);
	free(measure->devices);
}

const struct vs_worst_holes *vs_measure_fragmentation_get_worst(
	const struct vs_measure_fragmentation *measure, const struct vs_replay_device *device)
{
	static const struct vs_worst_holes none;

	return device->index < measure->devices_capacity ? &measure->devices[device->index] : &none;
}

const struct vs_hole_set *vs_measure_fragmentation_get_holes(
	const struct vs_measure_fragmentation *measure, const struct vs_replay_pool *pool)
{
	return pool->index < measure->pools_capacity ? &measure->pools[pool->index] : NULL;
}
