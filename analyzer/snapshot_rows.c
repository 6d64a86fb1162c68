#include "snapshot_rows.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "replay_items.h"
#include "snapshot_layout.h"

/* So many items before its turn, an item is fetched. */
#define AHEAD 12

/* On the way from a replay to rows. The first thing that fails is kept. */
struct gatherer {
	const struct vs_replay *replay;
	struct vs_snapshot_rows *rows;
	const struct vs_snapshot_rows *last;
	size_t at; /* in those: all before it are before the latest item, too */
	struct vs_id_map *handles;
	int error;
};

static void note(struct gatherer *gatherer, int err)
{
	if (!gatherer->error)
		gatherer->error = err;
}

static uint32_t get_ref(const struct vs_replay_pool *pool)
{
	return pool ? pool->index + 1u : 0;
}

static uint16_t get_shape(const struct vs_item *item)
{
	return (uint16_t)((unsigned int)item->class |
			  (unsigned int)item->kind << VS_SNAPSHOT_KIND_SHIFT |
			  (item->is_released ? VS_SNAPSHOT_RELEASED : 0u));
}

/* What never changes in the life of an item. */
static void set_birth(struct vs_snapshot_row *row, const struct vs_item *item)
{
	*row = (struct vs_snapshot_row){
		.id = item->id,
		.birth_ns = item->birth_ns,
		.birth_step = item->birth_step,
		.account = item->account->index,
		.pool = get_ref(item->pool),
		.api = item->api,
		.context = item->context,
	};
}

static bool is_before(const struct vs_snapshot_row *row, const struct vs_item *item,
		      enum vs_snapshot_part part, uint8_t depth)
{
	if (row->part != part)
		return row->part < part;
	return row->base < item->range.base ||
	       (row->base == item->range.base && row->depth < depth);
}

/* What the last list has of the item, or NULL. Most items were there, and in the same order. */
static const struct vs_snapshot_row *find_last(struct gatherer *gatherer,
					       const struct vs_item *item,
					       enum vs_snapshot_part part, uint8_t depth)
{
	const struct vs_snapshot_rows *last = gatherer->last;
	size_t at = gatherer->at;

	while (at < last->nr && is_before(&last->rows[at], item, part, depth))
		at++;
	gatherer->at = at;
	/* Those that come next are all over the memory. */
	if (at + AHEAD < last->nr) {
		const char *soon = (const char *)last->items[at + AHEAD];

		__builtin_prefetch(soon);
		__builtin_prefetch(soon + 64);
		__builtin_prefetch(soon + 128);
	}
	if (at < last->nr && last->items[at] == item && last->rows[at].id == item->id)
		return &last->rows[at];
	return NULL;
}

static void add_row(struct gatherer *gatherer, const struct vs_item *item,
		    enum vs_snapshot_part part, uint8_t depth)
{
	struct vs_snapshot_rows *rows = gatherer->rows;
	const struct vs_snapshot_row *last;
	struct vs_snapshot_row *row;

	note(gatherer, VS_GROW(rows->rows, rows->capacity, rows->nr + 1));
	note(gatherer, VS_GROW(rows->items, rows->items_capacity, rows->nr + 1));
	if (gatherer->error)
		return;
	row = &rows->rows[rows->nr];
	rows->items[rows->nr++] = item;
	last = find_last(gatherer, item, part, depth);
	if (last)
		*row = *last;
	else
		set_birth(row, item);
	row->base = item->range.base;
	row->size = item->size;
	row->slack_size = item->slack_size;
	row->run = item->run;
	row->owner = get_ref(item->owner);
	row->shape = get_shape(item);
	row->part = (uint8_t)part;
	row->depth = depth;
}

/* ---- Things with numbers instead of addresses ------------------------------------------------ */

static int compare_numbers(const void *a, const void *b)
{
	const struct vs_snapshot_row *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* From the row `first` on. */
static void sort_numbered(struct gatherer *gatherer, size_t first)
{
	struct vs_snapshot_rows *rows = gatherer->rows;

	if (first == rows->nr)
		return;
	qsort(rows->rows + first, rows->nr - first, sizeof(rows->rows[0]), compare_numbers);
	/* Which is whose is not known any more, and they are few. */
	memset(rows->items + first, 0, (rows->nr - first) * sizeof(rows->items[0]));
}

static void gather_map(struct gatherer *gatherer, const struct vs_id_map *map,
		       enum vs_snapshot_part part)
{
	size_t slot = 0;
	const struct vs_item *item;

	while ((item = vs_id_map_next(map, &slot)))
		add_row(gatherer, item, part, 0);
}

/* Those that only mappings keep alive are in no map. */
static void gather_released(struct gatherer *gatherer)
{
	const struct vs_range_tree *tree = &gatherer->replay->mappings;
	const struct vs_range *range;

	for (range = vs_range_tree_first(tree); range && !gatherer->error;
	     range = vs_range_tree_next(tree, range)) {
		struct vs_item *handle =
			((const struct vs_mapping *)(const void *)range)->handle; /* first member */

		if (!handle || !handle->is_released || vs_id_map_get(gatherer->handles, handle->id))
			continue;
		add_row(gatherer, handle, VS_SNAPSHOT_HANDLES, 0);
		note(gatherer, vs_id_map_put(gatherer->handles, handle->id, handle));
	}
}

static void gather_handles(struct gatherer *gatherer)
{
	const struct vs_snapshot_rows *rows = gatherer->rows;
	size_t i;

	gather_released(gatherer);
	gather_map(gatherer, &gatherer->replay->handles, VS_SNAPSHOT_HANDLES);
	sort_numbered(gatherer, 0);
	for (i = 0; i < rows->nr; i++)
		note(gatherer, vs_id_map_put(gatherer->handles, rows->rows[i].id,
					     (void *)(uintptr_t)(i + 1)));
}

/* ---- Things with addresses ------------------------------------------------------------------ */

/* How deep blocks stand in each other is bounded by the replay. */
static void gather_tree(struct gatherer *gatherer, const struct vs_range_tree *tree, uint8_t depth)
{
	const struct vs_range *range;

	for (range = vs_range_tree_first(tree); range && !gatherer->error;
	     range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = (const struct vs_item *)(const void *)range;

		add_row(gatherer, item, VS_SNAPSHOT_REGIONS, depth);
		if (item->blocks.root)
			gather_tree(gatherer, &item->blocks, (uint8_t)(depth + 1));
	}
}

/* What was in something freed: the highest first, as it was taken out from the lowest on. */
static void gather_held(struct gatherer *gatherer, const struct vs_item *parent, uint8_t depth)
{
	const struct vs_item *item;

	add_row(gatherer, parent, VS_SNAPSHOT_FREED, depth);
	for (item = parent->held; item && !gatherer->error; item = item->next_held)
		gather_held(gatherer, item, (uint8_t)(depth + 1));
}

void vs_snapshot_rows_fini(struct vs_snapshot_rows *rows)
{
	free(rows->rows);
	free(rows->items);
	*rows = (struct vs_snapshot_rows){0};
}

int vs_snapshot_rows_gather(struct vs_snapshot_rows *rows, const struct vs_snapshot_rows *last,
			    const struct vs_replay *replay,
			    const struct vs_replay_thread *const *threads, size_t nr_threads,
			    struct vs_id_map *handles)
{
	struct gatherer gatherer = {
		.replay = replay, .rows = rows, .last = last, .handles = handles};
	size_t i;

	rows->nr = 0;
	gather_handles(&gatherer);
	i = rows->nr;
	gather_map(&gatherer, &replay->arrays, VS_SNAPSHOT_ARRAYS);
	sort_numbered(&gatherer, i);
	gather_tree(&gatherer, &replay->regions, 0);
	for (i = 0; i < nr_threads; i++)
		if (threads[i]->freed)
			gather_held(&gatherer, threads[i]->freed, 0);
	return gatherer.error;
}
