#include "snapshot_items.h"

#include <stdlib.h>

#include "pack.h"
#include "replay_items.h"
#include "snapshot_layout.h"

/* Deeper than any replay lets blocks stand in each other. */
#define MAX_DEPTH 32

void vs_snapshot_items_fini(struct vs_snapshot_items *items)
{
	free(items->items);
	free(items->nr_children);
	free(items->handles);
	free(items->freed);
	free(items->mapped);
	*items = (struct vs_snapshot_items){0};
}

static void fail(struct vs_wire *in)
{
	if (!in->error)
		in->error = -VS_ERR_CORRUPT;
}

/* The next number, which must be below a limit. */
static uint64_t get_below(struct vs_wire *in, uint64_t limit)
{
	uint64_t value = vs_wire_get_varint(in);

	if (value < limit)
		return value;
	fail(in);
	return 0;
}

/* The next number, added to another one. */
static uint64_t get_behind(struct vs_wire *in, uint64_t from)
{
	uint64_t value;

	if (__builtin_add_overflow(from, vs_wire_get_varint(in), &value))
		fail(in);
	return value;
}

struct vs_replay_pool *vs_snapshot_items_get_pool(struct vs_wire *in,
						  const struct vs_replay *replay)
{
	uint64_t number = get_below(in, replay->nr_pools + 1);

	return number ? replay->pools[number - 1] : NULL;
}

/* ---- Columns -------------------------------------------------------------------------------- */

/* Items are the replay's, also if nothing comes of them. */
static int make_room(struct vs_snapshot_items *items, struct vs_replay *replay)
{
	size_t i;
	int err = 0;

	items->items = calloc(items->nr_items + 1, sizeof(items->items[0]));
	items->nr_children = calloc(items->nr_items + 1, sizeof(items->nr_children[0]));
	items->handles = calloc(items->nr_handles + 1, sizeof(items->handles[0]));
	items->freed = calloc(items->nr_freed + 1, sizeof(items->freed[0]));
	if (!items->items || !items->nr_children || !items->handles || !items->freed)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < items->nr_items && !err; i++)
		err = vs_replay_items_make(replay, &items->items[i]);
	return err;
}

/* No sum of them is more than there are. */
static int get_counts(struct vs_snapshot_items *items, struct vs_wire *in, struct vs_replay *replay)
{
	size_t left;

	items->nr_items = left = vs_pack_get_count(in);
	items->nr_handles = get_below(in, left + 1);
	left -= items->nr_handles;
	items->nr_arrays = get_below(in, left + 1);
	left -= items->nr_arrays;
	items->nr_regions = get_below(in, left + 1);
	left -= items->nr_regions;
	items->nr_freed = get_below(in, left + 1);
	return in->error ? in->error : make_room(items, replay);
}

static void get_shape(struct vs_wire *in, struct vs_item *item)
{
	uint64_t shape = get_below(in, (uint64_t)VS_NR_MEMORY_KINDS << VS_SNAPSHOT_KIND_SHIFT);

	item->class = (enum vs_item_class)(shape & VS_SNAPSHOT_CLASS_MASK);
	item->kind = (enum vs_memory_kind)(shape >> VS_SNAPSHOT_KIND_SHIFT);
	item->is_released = shape & VS_SNAPSHOT_RELEASED;
	if (item->class > VS_ITEM_HANDLE || (item->is_released && item->class != VS_ITEM_HANDLE))
		fail(in);
}

/* A site's memory is of one device and one domain, so the item's is, too. */
static void get_account(struct vs_wire *in, struct vs_item *item, const struct vs_replay *replay)
{
	uint64_t number = get_below(in, replay->nr_accounts);

	if (in->error)
		return;
	item->account = replay->accounts[number];
	item->device = item->account->device;
	if (item->account->domain != vs_replay_get_domain(item->kind))
		fail(in);
}

/* Gaps are kept in range.base until it is known what they are from. */
static void get_columns(struct vs_snapshot_items *items, struct vs_wire *in,
			const struct vs_replay *replay)
{
	struct vs_item **all = items->items;
	size_t nr = items->nr_items, i;

	for (i = 0; i < nr; i++)
		items->nr_children[i] = vs_wire_get_varint32(in);
	for (i = 0; i < nr; i++)
		all[i]->range.base = vs_wire_get_varint(in);
	for (i = 0; i < nr; i++)
		all[i]->size = vs_wire_get_varint(in);
	for (i = 0; i < nr; i++)
		get_shape(in, all[i]);
	for (i = 0; i < nr; i++)
		get_account(in, all[i], replay);
	for (i = 0; i < nr; i++)
		all[i]->pool = vs_snapshot_items_get_pool(in, replay);
	for (i = 0; i < nr; i++)
		all[i]->owner = vs_snapshot_items_get_pool(in, replay);
	for (i = 0; i < nr; i++)
		all[i]->api = vs_wire_get_varint32(in);
	for (i = 0; i < nr; i++)
		all[i]->context = vs_wire_get_varint32(in);
	/* What is in a pool is a block. */
	for (i = 0; i < nr && !in->error; i++)
		if ((all[i]->class == VS_ITEM_BLOCK) != (all[i]->pool != NULL))
			fail(in);
}

/* by_id: the items from the oldest to the youngest. */
static void get_births(struct vs_snapshot_items *items, struct vs_wire *in,
		       const struct vs_replay *replay, struct vs_item **by_id)
{
	uint64_t unit = vs_wire_get_varint(in), id = 0, time_ns = 0, step = 0, run = 0;
	uint64_t units;
	size_t nr = items->nr_items, i;

	for (i = 0; i < nr && !in->error; i++) {
		by_id[i]->id = get_behind(in, id);
		if (by_id[i]->id == id)
			fail(in);
		id = by_id[i]->id;
	}
	for (i = 0; i < nr && !in->error; i++) {
		units = vs_wire_get_varint(in);
		if (__builtin_mul_overflow(units, unit, &units) ||
		    __builtin_add_overflow(time_ns, units, &time_ns))
			fail(in);
		by_id[i]->birth_ns = time_ns;
	}
	for (i = 0; i < nr && !in->error; i++)
		step = by_id[i]->birth_step = get_behind(in, step);
	for (i = 0; i < nr && !in->error; i++) {
		by_id[i]->slack_size = vs_wire_get_varint(in);
		run = by_id[i]->run = run + vs_wire_unfold_sign(vs_wire_get_varint(in));
		if (by_id[i]->slack_size > by_id[i]->size)
			fail(in);
	}
	if (id > replay->last_id || time_ns > replay->now_ns || step > replay->nr_steps)
		fail(in);
}

static int get_ranks(struct vs_snapshot_items *items, struct vs_wire *in,
		     const struct vs_replay *replay)
{
	struct vs_item **by_id = calloc(items->nr_items + 1, sizeof(by_id[0]));
	size_t i;

	if (!by_id)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < items->nr_items && !in->error; i++) {
		uint64_t rank = get_below(in, items->nr_items);

		if (by_id[rank])
			fail(in);
		by_id[rank] = items->items[i];
	}
	if (!in->error)
		get_births(items, in, replay, by_id);
	free(by_id);
	return in->error;
}

/* ---- Addresses ------------------------------------------------------------------------------ */

/* Where the next item is looked for, in all of them. */
struct walk {
	struct vs_snapshot_items *items;
	size_t next;
	int error;
};

static struct vs_item *step(struct walk *walk)
{
	if (walk->next < walk->items->nr_items)
		return walk->items->items[walk->next++];
	walk->error = -VS_ERR_CORRUPT;
	return NULL;
}

/* base: below the end of all addresses. */
static void set_range(struct walk *walk, struct vs_item *item, uint64_t base)
{
	if (base == UINT64_MAX)
		walk->error = -VS_ERR_CORRUPT;
	item->range.base = base;
	item->range.size = vs_replay_items_get_extent(base, item->size);
}

static void set_base(struct walk *walk, struct vs_item *item, uint64_t from)
{
	uint64_t base;

	if (__builtin_add_overflow(from, item->range.base, &base))
		base = UINT64_MAX;
	set_range(walk, item, base);
}

/* Handles, then arrays: they have numbers, and nothing is in them. */
static void number_items(struct walk *walk, size_t nr, enum vs_item_class class,
			 enum vs_memory_kind kind)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < nr && !walk->error; i++) {
		struct vs_item *item = step(walk);

		set_base(walk, item, last);
		/* Only a released handle's number may be there again. */
		if (item->class != class || item->kind != kind ||
		    walk->items->nr_children[walk->next - 1] ||
		    (i && class == VS_ITEM_SEGMENT && item->range.base == last))
			walk->error = -VS_ERR_CORRUPT;
		last = item->range.base;
	}
}

static void place_children(struct walk *walk, struct vs_item *parent, uint32_t nr, int depth)
{
	uint64_t from = parent->range.base, end = vs_range_end(&parent->range);
	uint32_t i;

	if (nr && depth == MAX_DEPTH)
		walk->error = -VS_ERR_CORRUPT;
	for (i = 0; i < nr && !walk->error; i++) {
		struct vs_item *item = step(walk);

		if (!item)
			return;
		set_base(walk, item, from);
		if (walk->error || item->class != VS_ITEM_BLOCK || item->range.base >= end ||
		    vs_range_end(&item->range) > end) {
			walk->error = -VS_ERR_CORRUPT;
			return;
		}
		item->parent = parent;
		from = vs_range_end(&item->range);
		place_children(walk, item, walk->items->nr_children[walk->next - 1], depth + 1);
	}
}

static bool is_array(const struct vs_item *item)
{
	return item->class == VS_ITEM_SEGMENT && item->kind == VS_MEMORY_ARRAY;
}

static bool is_mapped(const struct vs_item *item)
{
	return item->class == VS_ITEM_SEGMENT && item->kind == VS_MEMORY_VMM;
}

static void place_regions(struct walk *walk)
{
	uint64_t from = 0;
	size_t i;

	for (i = 0; i < walk->items->nr_regions && !walk->error; i++) {
		struct vs_item *item = step(walk);

		if (!item)
			return;
		set_base(walk, item, from);
		if (item->class == VS_ITEM_HANDLE || is_array(item))
			walk->error = -VS_ERR_CORRUPT;
		if (walk->error)
			return;
		from = vs_range_end(&item->range);
		place_children(walk, item, walk->items->nr_children[walk->next - 1], 0);
	}
}

/* Those that were in something freed are in a list, the highest first. */
static void hold_children(struct walk *walk, struct vs_item *parent, uint32_t nr, int depth)
{
	uint64_t to = vs_range_end(&parent->range);
	struct vs_item **link = &parent->held;
	uint32_t i;

	if (nr && depth == MAX_DEPTH)
		walk->error = -VS_ERR_CORRUPT;
	for (i = 0; i < nr && !walk->error; i++) {
		struct vs_item *item = step(walk);
		uint64_t extent, room = to - parent->range.base;

		if (!item)
			return;
		/* Not beyond the end of all addresses: it is in something that is not. */
		extent = item->size ? item->size : 1;
		if (item->class != VS_ITEM_BLOCK || item->range.base > room ||
		    extent > room - item->range.base) {
			walk->error = -VS_ERR_CORRUPT;
			return;
		}
		set_range(walk, item, to - item->range.base - extent);
		item->parent = parent;
		to = item->range.base;
		*link = item;
		link = &item->next_held;
		hold_children(walk, item, walk->items->nr_children[walk->next - 1], depth + 1);
	}
}

static void hold_freed(struct walk *walk)
{
	size_t i;

	for (i = 0; i < walk->items->nr_freed && !walk->error; i++) {
		struct vs_item *item = step(walk);
		uint32_t nr_children;

		if (!item)
			return;
		nr_children = walk->items->nr_children[walk->next - 1];
		set_base(walk, item, 0);
		if (is_mapped(item) || (item->pool && vs_replay_is_pool_block(item)) ||
		    (nr_children && (item->class == VS_ITEM_HANDLE || is_array(item))))
			walk->error = -VS_ERR_CORRUPT;
		walk->items->freed[i] = walk->next - 1;
		hold_children(walk, item, walk->error ? 0 : nr_children, 0);
	}
}

static int find_addresses(struct vs_snapshot_items *items)
{
	struct walk walk = {.items = items};

	number_items(&walk, items->nr_handles, VS_ITEM_HANDLE, VS_MEMORY_VMM);
	number_items(&walk, items->nr_arrays, VS_ITEM_SEGMENT, VS_MEMORY_ARRAY);
	place_regions(&walk);
	hold_freed(&walk);
	if (!walk.error && walk.next != items->nr_items)
		walk.error = -VS_ERR_CORRUPT;
	return walk.error;
}

/* ---- Virtual memory ------------------------------------------------------------------------- */

/* A range behind another one. */
static void get_range(struct vs_wire *in, struct vs_range *range, uint64_t from)
{
	range->base = get_behind(in, from);
	range->size = vs_wire_get_varint(in);
	if (!range->size || range->size > UINT64_MAX - range->base)
		fail(in);
}

static int get_reservations(struct vs_wire *in, struct vs_replay *replay)
{
	size_t nr = vs_pack_get_count(in), i;
	uint64_t from = 0;

	for (i = 0; i < nr && !in->error; i++) {
		struct vs_reservation *reservation = calloc(1, sizeof(*reservation));

		if (!reservation)
			return -VS_ERR_NO_MEMORY;
		get_range(in, &reservation->range, from);
		reservation->id = vs_wire_get_varint(in);
		reservation->owner = vs_snapshot_items_get_pool(in, replay);
		if (!reservation->id || reservation->id > replay->last_reservation_id)
			fail(in);
		if (in->error) {
			free(reservation);
			break;
		}
		from = vs_range_end(&reservation->range);
		vs_range_tree_insert(&replay->reservations, &reservation->range);
	}
	return in->error;
}

/* Which handle a mapping is of is noted beside it: the handles are not in the replay yet. */
static int get_mappings(struct vs_snapshot_items *items, struct vs_wire *in,
			struct vs_replay *replay)
{
	size_t nr = vs_pack_get_count(in);
	uint64_t from = 0;

	items->mapped = calloc(nr + 1, sizeof(items->mapped[0]));
	if (!items->mapped)
		return -VS_ERR_NO_MEMORY;
	for (; items->nr_mapped < nr && !in->error; items->nr_mapped++) {
		struct vs_mapping *mapping = calloc(1, sizeof(*mapping));

		if (!mapping)
			return -VS_ERR_NO_MEMORY;
		get_range(in, &mapping->range, from);
		items->mapped[items->nr_mapped] = get_below(in, (items->nr_handles + 1) * 2);
		mapping->is_owned = items->mapped[items->nr_mapped] & 1;
		if (in->error) {
			free(mapping);
			break;
		}
		from = vs_range_end(&mapping->range);
		vs_range_tree_insert(&replay->mappings, &mapping->range);
	}
	return in->error;
}

static void count_mappings(struct vs_snapshot_items *items)
{
	size_t i;

	for (i = 0; i < items->nr_mapped; i++) {
		uint64_t handle = items->mapped[i] >> 1;

		if (!handle)
			continue;
		items->items[handle - 1]->nr_mappings++;
		items->items[handle - 1]->nr_owned_mappings += items->mapped[i] & 1;
	}
}

/* A segment is made of mappings without a gap, and lies in a reservation. */
static int check_segment(struct vs_item *segment, const struct vs_replay *replay,
			 const struct vs_range **mapping)
{
	struct vs_range *reserved = vs_range_tree_find(&replay->reservations, segment->range.base);
	uint64_t from = segment->range.base, end = vs_range_end(&segment->range);

	if (!reserved || vs_range_end(reserved) < end)
		return -VS_ERR_CORRUPT;
	segment->reservation = (struct vs_reservation *)(void *)reserved; /* its first member */
	while (from < end) {
		if (!*mapping || (*mapping)->base != from || vs_range_end(*mapping) > end)
			return -VS_ERR_CORRUPT;
		from = vs_range_end(*mapping);
		*mapping = vs_range_tree_next(&replay->mappings, *mapping);
	}
	return 0;
}

static int check_mapped(struct vs_snapshot_items *items, const struct vs_replay *replay)
{
	const struct vs_range *mapping = vs_range_tree_first(&replay->mappings);
	size_t i, first = items->nr_handles + items->nr_arrays;
	int err = 0;

	for (i = 0; i < items->nr_handles; i++)
		if (items->items[i]->is_released && !items->items[i]->nr_mappings)
			return -VS_ERR_CORRUPT;
	for (i = first; i < items->nr_items && !err; i++) {
		struct vs_item *item = items->items[i];

		if (!item->parent && is_mapped(item))
			err = check_segment(item, replay, &mapping);
	}
	return !err && mapping ? -VS_ERR_CORRUPT : err;
}

/* ---- Into the replay ------------------------------------------------------------------------ */

/* One that only mappings keep alive is in no map; until they have it, it stays here. */
static int bear_released(struct vs_replay *replay, struct vs_item **item)
{
	uint64_t number = (*item)->range.base;
	int err = vs_replay_items_restore(replay, *item);

	/* If it never got there, it is gone. */
	*item = vs_id_map_remove(&replay->handles, number);
	return err;
}

static int bear_handles(struct vs_snapshot_items *items, struct vs_replay *replay)
{
	size_t i;
	int err = 0;

	for (i = 0; i < items->nr_handles; i++)
		items->handles[i] = items->items[i];
	for (i = 0; i < items->nr_handles && !err; i++)
		if (items->handles[i]->is_released)
			err = bear_released(replay, &items->items[i]);
	for (i = 0; i < items->nr_handles && !err; i++) {
		struct vs_item *handle = items->handles[i];

		if (handle->is_released)
			continue;
		if (vs_id_map_get(&replay->handles, handle->range.base))
			return -VS_ERR_CORRUPT;
		items->items[i] = NULL;
		err = vs_replay_items_restore(replay, handle);
	}
	return err;
}

static void attach_mappings(struct vs_snapshot_items *items, struct vs_replay *replay)
{
	struct vs_range *range = vs_range_tree_first(&replay->mappings);
	size_t i;

	for (i = 0; i < items->nr_mapped; i++) {
		uint64_t handle = items->mapped[i] >> 1;
		struct vs_mapping *mapping = (struct vs_mapping *)(void *)range;

		if (handle) {
			mapping->handle = items->handles[handle - 1];
			items->items[handle - 1] = NULL;
		}
		range = vs_range_tree_next(&replay->mappings, range);
	}
}

/* Freed ones are not alive: they stay here. */
static int bear_items(struct vs_snapshot_items *items, struct vs_replay *replay)
{
	size_t end = items->nr_freed ? items->freed[0] : items->nr_items, i;
	int err = bear_handles(items, replay);

	if (err)
		return err;
	attach_mappings(items, replay);
	for (i = items->nr_handles; i < end && !err; i++) {
		struct vs_item *item = items->items[i];

		items->items[i] = NULL;
		err = vs_replay_items_restore(replay, item);
	}
	return err;
}

int vs_snapshot_items_get(struct vs_snapshot_items *items, struct vs_wire *in,
			  struct vs_replay *replay)
{
	int err = get_counts(items, in, replay);

	if (err)
		return err;
	get_columns(items, in, replay);
	err = in->error ? in->error : get_ranks(items, in, replay);
	if (!err)
		err = find_addresses(items);
	if (!err)
		err = get_reservations(in, replay);
	if (!err)
		err = get_mappings(items, in, replay);
	if (err)
		return err;
	count_mappings(items);
	err = check_mapped(items, replay);
	return err ? err : bear_items(items, replay);
}

/* The replay has the item at *next, or will, and all that was in it. */
static void hand_over(struct vs_snapshot_items *items, size_t *next)
{
	uint32_t nr_children = items->nr_children[*next], i;

	items->items[(*next)++] = NULL;
	for (i = 0; i < nr_children; i++)
		hand_over(items, next);
}

struct vs_item *vs_snapshot_items_take_freed(struct vs_snapshot_items *items)
{
	struct vs_item *item;
	size_t next;

	if (items->nr_taken == items->nr_freed)
		return NULL;
	next = items->freed[items->nr_taken++];
	item = items->items[next];
	hand_over(items, &next);
	return item;
}
