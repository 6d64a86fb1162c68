/*
 * Blocks of pools as they nearly always come and go: in a segment that is known to be divided, over
 * nothing else, from a site that has been seen. All that is done here is what replay_blocks.c and
 * replay_items.c would do, without asking what else it could be. First it is made sure that it is
 * such a case, and that changes nothing.
 */
#include <string.h>

#include "replay_items.h"

/* ---- Every event ---------------------------------------------------------------------------- */

/* The thread of the record, or NULL: it is not that simple. */
static inline struct vs_replay_thread *get_thread(const struct vs_replay *replay,
						  const struct vs_record *record)
{
	struct vs_replay_thread *thread = replay->last_thread;

	if (!thread || thread->id != record->thread || thread->has_freed || thread->freed ||
	    replay->has_no_blocks || !replay->is_in_window || !replay->counters.nr_events)
		return NULL;
	return thread;
}

static inline int begin(struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_listeners *listeners = &replay->before_record;
	uint32_t i;
	int err = 0;

	for (i = 0; i < listeners->nr && !err; i++)
		err = listeners->observers[i]->before_record(listeners->observers[i], replay,
							     record);
	if (record->time_ns > replay->now_ns)
		replay->now_ns = record->time_ns;
	replay->counters.nr_events++;
	return err;
}

static inline int tell(const struct vs_replay *replay, struct vs_item *block,
		       const struct vs_record *record)
{
	const struct vs_listeners *listeners = &replay->on_block;
	uint32_t i;
	int err = 0;

	for (i = 0; i < listeners->nr && !err; i++)
		err = listeners->observers[i]->on_block(listeners->observers[i], replay, block,
							record);
	return err ? err : 1;
}

/* ---- Birth ---------------------------------------------------------------------------------- */

static inline bool holds(const struct vs_item *item, uint64_t base, uint64_t end)
{
	return item->range.base <= base && vs_range_end(&item->range) >= end;
}

/* The segment around [base, end), or NULL: it has to be searched for. */
static inline struct vs_item *find_segment(const struct vs_replay *replay, uint64_t base,
					   uint64_t end)
{
	const struct vs_replay_gap *gap;
	struct vs_item *item = replay->last_parent;

	if (item && holds(item, base, end))
		return item;
	gap = vs_replay_items_get_gap(replay, base);
	item = gap->base == base ? gap->parent : NULL;
	/* It may be gone, and even be something else by now. */
	if (!item || !holds(item, base, end) ||
	    vs_id_map_get(&replay->regions_at, item->range.base) != item)
		return NULL;
	return item;
}

/* Whether the next item to be born will be divided by a pool: then it is not plain. */
static inline bool is_adopted(const struct vs_replay *replay)
{
	if (replay->expected)
		return replay->foreseen;
	return replay->adopted && vs_adoption_get(replay->adopted, replay->last_id + 1);
}

/* What is needed for it is there: an item, and room for its address. */
static inline struct vs_item *take_item(struct vs_replay *replay, uint64_t base)
{
	struct vs_item *item = replay->spare_items;

	if (!item)
		return NULL;
	replay->spare_items = item->next_held;
	if (!vs_id_map_put(&replay->blocks_at, base, item))
		return item;
	item->next_held = replay->spare_items;
	replay->spare_items = item;
	return NULL;
}

static inline void fill(struct vs_item *item, const struct vs_replay *replay,
			const struct vs_block_alloc *alloc)
{
	memset((char *)item + sizeof(item->range), 0, sizeof(*item) - sizeof(item->range));
	item->range.base = alloc->address;
	item->range.size = item->size = alloc->size;
	item->id = replay->last_id;
	item->birth_ns = replay->now_ns;
	item->birth_step = replay->nr_steps;
	item->class = VS_ITEM_BLOCK;
	item->is_charged = true;
	item->pool = replay->last_pool;
}

static inline void count_birth(struct vs_item *item)
{
	item->pool->nr_blocks++;
	item->pool->block_bytes += item->size;
	item->parent->block_bytes += item->size;
	item->account->live_bytes += item->size;
	item->account->live_count++;
	item->device->live_bytes += item->size;
	item->device->live_count++;
}

int vs_replay_plain_alloc(struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_block_alloc *alloc = &record->block_alloc;
	uint64_t base = alloc->address, end = base + alloc->size;
	struct vs_replay_thread *thread = get_thread(replay, record);
	struct vs_replay_pool *pool = replay->last_pool;
	struct vs_item *parent, *item;
	struct vs_account *account;
	struct vs_range *next;
	int err;

	if (!thread || !pool || pool->id != alloc->pool || pool->owner == VS_POOL_DRIVER || !base ||
	    end <= base || is_adopted(replay))
		return 0;
	parent = find_segment(replay, base, end);
	if (!parent || !parent->is_noted || parent->class != VS_ITEM_SEGMENT)
		return 0;
	account = vs_definitions_get_site(&replay->definitions, alloc->stack)->account;
	if (!account || account->device != parent->device || account->domain != VS_DOMAIN_DEVICE ||
	    vs_replay_get_domain(parent->kind) != VS_DOMAIN_DEVICE)
		return 0;
	next = vs_replay_blocks_find_next(replay, parent, base);
	if (next && next->base < end)
		return 0;
	item = take_item(replay, base);
	if (!item)
		return 0;
	err = begin(replay, record);
	thread->placed = base;
	thread->placed_pool = pool;
	replay->last_parent = parent;
	replay->last_id++;
	fill(item, replay, alloc);
	item->kind = parent->kind;
	item->account = account;
	item->device = parent->device;
	item->parent = parent;
	vs_range_tree_insert_before(&parent->blocks, &item->range, next);
	count_birth(item);
	return err ? err : tell(replay, item, record);
}

/* ---- Death ---------------------------------------------------------------------------------- */

static inline void count_death(struct vs_item *item)
{
	item->pool->nr_blocks--;
	item->pool->block_bytes -= item->size;
	item->parent->block_bytes -= item->size;
	item->account->live_bytes -= item->size;
	item->account->live_count--;
	item->device->live_bytes -= item->size;
	item->device->live_count--;
}

static inline struct vs_item *find_block(const struct vs_replay *replay,
					 const struct vs_block_free *free)
{
	struct vs_item *item = replay->hint;

	if (!vs_replay_blocks_is_at(item, free->pool, free->address))
		item = vs_id_map_get(&replay->blocks_at, free->address);
	if (!item || item->pool->id != free->pool || !item->is_charged || !item->parent ||
	    item->owner || item->blocks.root || item->account->domain != VS_DOMAIN_DEVICE)
		return NULL;
	return item;
}

int vs_replay_plain_free(struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_block_free *free = &record->block_free;
	struct vs_item *item;
	int err;

	if (!free->address || !get_thread(replay, record))
		return 0;
	item = find_block(replay, free);
	if (!item)
		return 0;
	err = begin(replay, record);
	item->is_charged = false;
	count_death(item);
	vs_id_map_remove_value(&replay->blocks_at, free->address, item);
	*vs_replay_items_get_gap(replay, free->address) = (struct vs_replay_gap){
		free->address, item->range.before, item->range.next, item->parent};
	vs_range_tree_remove(&item->parent->blocks, &item->range);
	if (!err)
		err = tell(replay, item, record);
	vs_replay_items_destroy(replay, item);
	return err;
}
