#include "snapshot_items.h"

#include <stdlib.h>

#include "number_column.h"
#include "pack.h"
#include "replay_items.h"
#include "snapshot_layout.h"

/* No more reservations and mappings than so many for each byte that tells of them. */
#define MOST_FOR_A_BYTE 4096

/* So many items before its turn, what an item is about is fetched. */
#define AHEAD 12

void vs_snapshot_items_fini(struct vs_snapshot_items *items)
{
	free(items->items);
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

struct vs_replay_pool *vs_snapshot_items_get_pool(struct vs_wire *in,
						  const struct vs_replay *replay)
{
	uint64_t number = vs_wire_get_varint(in);

	if (number <= replay->nr_pools)
		return number ? replay->pools[number - 1] : NULL;
	fail(in);
	return NULL;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static const struct vs_snapshot_row *get_row(const struct vs_snapshot_chain *chain, size_t i)
{
	return &chain->items.rows[chain->items.order[i]];
}

/* How many there are of each part, which stand one behind the other. */
static int count_rows(struct vs_snapshot_items *items, const struct vs_snapshot_chain *chain)
{
	uint8_t part = VS_SNAPSHOT_HANDLES;
	size_t i;

	items->nr_items = chain->items.nr;
	for (i = 0; i < items->nr_items; i++) {
		const struct vs_snapshot_row *row = get_row(chain, i);

		if (row->part < part || (row->depth && row->part < VS_SNAPSHOT_REGIONS))
			return -VS_ERR_CORRUPT;
		part = row->part;
		items->nr_handles += part == VS_SNAPSHOT_HANDLES;
		items->nr_arrays += part == VS_SNAPSHOT_ARRAYS;
		items->nr_alive += part != VS_SNAPSHOT_FREED;
		items->nr_freed += part == VS_SNAPSHOT_FREED && !row->depth;
	}
	return 0;
}

/* Items are the replay's, also if nothing comes of them. */
static int make_room(struct vs_snapshot_items *items, struct vs_replay *replay)
{
	size_t i;
	int err = vs_replay_items_reserve(replay, items->nr_items);

	items->items = calloc(items->nr_items + 1, sizeof(items->items[0]));
	items->handles = calloc(items->nr_handles + 1, sizeof(items->handles[0]));
	items->freed = calloc(items->nr_freed + 1, sizeof(items->freed[0]));
	if (!items->items || !items->handles || !items->freed)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < items->nr_items && !err; i++)
		err = vs_replay_items_make(replay, &items->items[i]);
	return err;
}

static bool is_right(const struct vs_snapshot_row *row, const struct vs_replay *replay)
{
	uint32_t class = row->shape & VS_SNAPSHOT_CLASS_MASK;
	uint32_t kind = (uint32_t)row->shape >> VS_SNAPSHOT_KIND_SHIFT;

	/* What is in a pool is a block; what a site asks for is of one domain. */
	return class <= VS_ITEM_HANDLE && kind < VS_NR_MEMORY_KINDS &&
	       (!(row->shape & VS_SNAPSHOT_RELEASED) || class == VS_ITEM_HANDLE) &&
	       row->account < replay->nr_accounts &&
	       replay->accounts[row->account]->domain ==
		       vs_replay_get_domain((enum vs_memory_kind)kind) &&
	       row->pool <= replay->nr_pools && row->owner <= replay->nr_pools &&
	       (class == VS_ITEM_BLOCK) == (row->pool != 0) && row->base != UINT64_MAX &&
	       row->slack_size <= row->size && row->id && row->id <= replay->last_id &&
	       row->birth_ns <= replay->now_ns && row->birth_step <= replay->nr_steps;
}

static struct vs_replay_pool *find_pool(const struct vs_replay *replay, uint32_t ref)
{
	return ref ? replay->pools[ref - 1] : NULL;
}

static void set_item(struct vs_item *item, const struct vs_snapshot_row *row,
		     const struct vs_replay *replay)
{
	item->range.base = row->base;
	item->range.size = vs_replay_items_get_extent(row->base, row->size);
	item->id = row->id;
	item->size = row->size;
	item->slack_size = row->slack_size;
	item->run = row->run;
	item->birth_ns = row->birth_ns;
	item->birth_step = row->birth_step;
	item->class = (enum vs_item_class)(row->shape & VS_SNAPSHOT_CLASS_MASK);
	item->kind = (enum vs_memory_kind)(row->shape >> VS_SNAPSHOT_KIND_SHIFT);
	item->is_released = row->shape & VS_SNAPSHOT_RELEASED;
	item->api = row->api;
	item->context = row->context;
	item->account = replay->accounts[row->account];
	item->device = item->account->device;
	item->pool = find_pool(replay, row->pool);
	item->owner = find_pool(replay, row->owner);
}

static int set_items(struct vs_snapshot_items *items, const struct vs_snapshot_chain *chain,
		     const struct vs_replay *replay)
{
	size_t i;

	for (i = 0; i < items->nr_items; i++) {
		const struct vs_snapshot_row *row = get_row(chain, i);

		/* They are in no order. */
		if (i + AHEAD < items->nr_items)
			__builtin_prefetch(get_row(chain, i + AHEAD));
		if (!is_right(row, replay))
			return -VS_ERR_CORRUPT;
		set_item(items->items[i], row, replay);
	}
	return 0;
}

/* ---- Addresses ------------------------------------------------------------------------------ */

/* The latest item of each depth, and where the next one of it may begin, or has to end. */
struct nesting {
	struct vs_item *items[VS_SNAPSHOT_MAX_DEPTH + 2];
	uint64_t bounds[VS_SNAPSHOT_MAX_DEPTH + 2];
	struct vs_item **links[VS_SNAPSHOT_MAX_DEPTH + 2];
	size_t depth; /* of the next item, at most */
};

/* Handles, then arrays: they have numbers, and nothing is in them. */
static bool are_numbered(struct vs_item *const *items, size_t nr, enum vs_item_class class,
			 enum vs_memory_kind kind)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (items[i]->class != class || items[i]->kind != kind)
			return false;
		/* Only a released handle's number may be there again. */
		if (i && (items[i]->range.base < items[i - 1]->range.base ||
			  (class == VS_ITEM_SEGMENT &&
			   items[i]->range.base == items[i - 1]->range.base)))
			return false;
	}
	return true;
}

static bool is_array(const struct vs_item *item)
{
	return item->class == VS_ITEM_SEGMENT && item->kind == VS_MEMORY_ARRAY;
}

static bool is_mapped(const struct vs_item *item)
{
	return item->class == VS_ITEM_SEGMENT && item->kind == VS_MEMORY_VMM;
}

/* One that is alive, at its depth. */
static bool place_region(struct nesting *nesting, struct vs_item *item, size_t depth)
{
	uint64_t end = vs_range_end(&item->range);

	if (depth > nesting->depth || item->range.base < nesting->bounds[depth])
		return false;
	if (!depth && (item->class == VS_ITEM_HANDLE || is_array(item)))
		return false;
	if (depth) {
		item->parent = nesting->items[depth - 1];
		if (item->class != VS_ITEM_BLOCK || end > vs_range_end(&item->parent->range))
			return false;
	}
	nesting->items[depth] = item;
	nesting->bounds[depth] = end;
	nesting->bounds[depth + 1] = item->range.base;
	nesting->depth = depth + 1;
	return true;
}

/* What was in something freed is in a list, the highest first. */
static bool hold_freed(struct nesting *nesting, struct vs_item *item, size_t depth, bool has_held)
{
	if (depth > nesting->depth)
		return false;
	if (!depth && (is_mapped(item) || (item->pool && vs_replay_is_pool_block(item)) ||
		       (has_held && (item->class == VS_ITEM_HANDLE || is_array(item)))))
		return false;
	if (depth) {
		item->parent = nesting->items[depth - 1];
		if (item->class != VS_ITEM_BLOCK || item->range.base < item->parent->range.base ||
		    vs_range_end(&item->range) > nesting->bounds[depth])
			return false;
		*nesting->links[depth] = item;
		nesting->links[depth] = &item->next_held;
		nesting->bounds[depth] = item->range.base;
	}
	nesting->items[depth] = item;
	nesting->bounds[depth + 1] = vs_range_end(&item->range);
	nesting->links[depth + 1] = &item->held;
	nesting->depth = depth + 1;
	return true;
}

static int find_addresses(struct vs_snapshot_items *items, const struct vs_snapshot_chain *chain)
{
	size_t i = items->nr_handles + items->nr_arrays, nr_freed = 0;
	struct nesting nesting = {0};

	if (!are_numbered(items->items, items->nr_handles, VS_ITEM_HANDLE, VS_MEMORY_VMM) ||
	    !are_numbered(items->items + items->nr_handles, items->nr_arrays, VS_ITEM_SEGMENT,
			  VS_MEMORY_ARRAY))
		return -VS_ERR_CORRUPT;
	for (; i < items->nr_alive; i++)
		if (!place_region(&nesting, items->items[i], get_row(chain, i)->depth))
			return -VS_ERR_CORRUPT;
	nesting.depth = 0;
	for (; i < items->nr_items; i++) {
		size_t depth = get_row(chain, i)->depth;
		bool has_held = i + 1 < items->nr_items && get_row(chain, i + 1)->depth > depth;

		if (!hold_freed(&nesting, items->items[i], depth, has_held))
			return -VS_ERR_CORRUPT;
		if (!depth)
			items->freed[nr_freed++] = i;
	}
	return 0;
}

/* ---- Virtual memory ------------------------------------------------------------------------- */

/* How many there are, and the columns of each; the caller's to free. */
struct ranges {
	size_t nr;
	uint64_t *numbers; /* one column behind the other */
};

static struct ranges get_ranges(struct vs_wire *in, size_t nr_columns)
{
	size_t left = vs_wire_left(in), column;
	uint64_t nr = vs_wire_get_varint(in);
	struct ranges ranges = {0};

	if (nr / MOST_FOR_A_BYTE > left)
		fail(in);
	if (in->error)
		return ranges;
	ranges.numbers = calloc(nr * nr_columns + 1, sizeof(ranges.numbers[0]));
	if (!ranges.numbers) {
		in->error = -VS_ERR_NO_MEMORY;
		return ranges;
	}
	ranges.nr = nr;
	for (column = 0; column < nr_columns; column++)
		vs_number_column_get(in, VS_NUMBERS_PLAIN, ranges.numbers + column * nr, nr);
	return ranges;
}

/* Address and size of one behind another one that ends at *from. */
static void set_range(struct vs_wire *in, struct vs_range *range, const struct ranges *ranges,
		      size_t i, uint64_t *from)
{
	range->size = ranges->numbers[ranges->nr + i];
	if (__builtin_add_overflow(*from, ranges->numbers[i], &range->base) || !range->size ||
	    range->size > UINT64_MAX - range->base) {
		fail(in);
		return;
	}
	*from = vs_range_end(range);
}

static int get_reservations(struct vs_wire *in, struct vs_replay *replay)
{
	struct ranges ranges = get_ranges(in, 4);
	uint64_t from = 0;
	size_t i;

	for (i = 0; i < ranges.nr && !in->error; i++) {
		struct vs_reservation *reservation = calloc(1, sizeof(*reservation));
		uint64_t owner = ranges.numbers[3 * ranges.nr + i];

		if (!reservation) {
			in->error = -VS_ERR_NO_MEMORY;
			break;
		}
		set_range(in, &reservation->range, &ranges, i, &from);
		reservation->id = ranges.numbers[2 * ranges.nr + i];
		if (!reservation->id || reservation->id > replay->last_reservation_id ||
		    owner > replay->nr_pools)
			fail(in);
		if (in->error) {
			free(reservation);
			break;
		}
		reservation->owner = find_pool(replay, (uint32_t)owner);
		vs_range_tree_insert_before(&replay->reservations, &reservation->range, NULL);
	}
	free(ranges.numbers);
	return in->error;
}

/* Which handle a mapping is of is noted beside it: the handles are not in the replay yet. */
static int get_mappings(struct vs_snapshot_items *items, struct vs_wire *in,
			struct vs_replay *replay)
{
	struct ranges ranges = get_ranges(in, 3);
	uint64_t from = 0;

	items->mapped = calloc(ranges.nr + 1, sizeof(items->mapped[0]));
	if (!items->mapped && !in->error)
		in->error = -VS_ERR_NO_MEMORY;
	for (; items->nr_mapped < ranges.nr && !in->error; items->nr_mapped++) {
		struct vs_mapping *mapping = calloc(1, sizeof(*mapping));
		uint64_t mapped = ranges.numbers[2 * ranges.nr + items->nr_mapped];

		if (!mapping) {
			in->error = -VS_ERR_NO_MEMORY;
			break;
		}
		set_range(in, &mapping->range, &ranges, items->nr_mapped, &from);
		if (mapped >= (items->nr_handles + 1) * 2)
			fail(in);
		if (in->error) {
			free(mapping);
			break;
		}
		items->mapped[items->nr_mapped] = mapped;
		mapping->is_owned = mapped & 1;
		vs_range_tree_insert_before(&replay->mappings, &mapping->range, NULL);
	}
	free(ranges.numbers);
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
	size_t i;
	int err = bear_handles(items, replay);

	if (err)
		return err;
	attach_mappings(items, replay);
	if (vs_id_map_reserve(&replay->blocks_at, items->nr_alive))
		return -VS_ERR_NO_MEMORY;
	for (i = items->nr_handles; i < items->nr_alive && !err; i++) {
		struct vs_item *item = items->items[i];

		/* Where they are charged and where they will be found is all over the place. */
		if (i + AHEAD < items->nr_alive) {
			__builtin_prefetch(items->items[i + AHEAD]->account, 1);
			vs_id_map_fetch(&replay->blocks_at, items->items[i + AHEAD]->range.base);
		}
		items->items[i] = NULL;
		err = vs_replay_items_restore_last(replay, item);
	}
	return err;
}

int vs_snapshot_items_get(struct vs_snapshot_items *items, const struct vs_snapshot_chain *chain,
			  struct vs_replay *replay)
{
	struct vs_wire in = chain->virtual;
	int err = count_rows(items, chain);

	if (!err)
		err = make_room(items, replay);
	if (!err)
		err = set_items(items, chain, replay);
	if (!err)
		err = find_addresses(items, chain);
	if (!err)
		err = get_reservations(&in, replay);
	if (!err)
		err = get_mappings(items, &in, replay);
	if (!err && vs_wire_left(&in))
		err = -VS_ERR_CORRUPT;
	if (err)
		return err;
	count_mappings(items);
	err = check_mapped(items, replay);
	return err ? err : bear_items(items, replay);
}

struct vs_item *vs_snapshot_items_take_freed(struct vs_snapshot_items *items)
{
	struct vs_item *item;
	size_t next;

	if (items->nr_taken == items->nr_freed)
		return NULL;
	next = items->freed[items->nr_taken++];
	item = items->items[next];
	/* The replay has it, or will, and all that was in it. */
	items->items[next] = NULL;
	return item;
}
