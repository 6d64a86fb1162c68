/*
 * Blocks of pools as they nearly always come and go: in a segment that is known to be divided, over
 * nothing else, from a site that has been seen; and memory of the driver that no pool divides. All
 * that is done here is what replay_blocks.c and replay_items.c would do, without asking what else
 * it could be. First it is made sure that it is such a case, and that changes nothing.
 */
#include "replay_items.h"

/* ---- Every event ---------------------------------------------------------------------------- */

/* The thread of the record, or NULL: it is not that simple. */
static inline struct vs_replay_thread *get_thread(const struct vs_replay *replay,
						  const struct vs_record *record)
{
	struct vs_replay_thread *thread = replay->last_thread;

	if (!thread || thread->id != record->thread || replay->has_no_blocks ||
	    !replay->is_in_window || !replay->counters.nr_events)
		return NULL;
	return thread;
}

static inline int begin(struct vs_replay *replay, struct vs_replay_thread *thread,
			const struct vs_record *record)
{
	int err = vs_replay_items_tell_before(replay, record);

	if (record->time_ns > replay->now_ns)
		replay->now_ns = record->time_ns;
	replay->counters.nr_events++;
	if (thread->has_freed)
		vs_replay_items_forget_freed(replay, thread);
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

/* What is needed for it is there: an item, and room for its address in a map. */
static inline struct vs_item *take_item(struct vs_replay *replay, struct vs_id_map *map,
					uint64_t base)
{
	struct vs_item *item = replay->spare_items;

	if (!item)
		return NULL;
	replay->spare_items = item->next_held;
	if (!vs_id_map_put(map, base, item))
		return item;
	item->next_held = replay->spare_items;
	replay->spare_items = item;
	return NULL;
}

static inline void fill(struct vs_item *item, struct vs_replay *replay, uint64_t base,
			uint64_t size, struct vs_account *account)
{
	vs_replay_items_wipe(item);
	item->range.base = base;
	item->range.size = item->size = size;
	item->id = ++replay->last_id;
	item->birth_ns = replay->now_ns;
	item->birth_step = replay->nr_steps;
	item->is_charged = true;
	item->account = account;
	item->device = account->device;
}

/* sign: 1 at birth, -1 at death. */
static inline void charge(const struct vs_item *item, uint64_t sign)
{
	item->account->live_bytes += sign * item->size;
	item->account->live_count += sign;
	item->device->live_bytes += sign * item->size;
	item->device->live_count += sign;
}

static inline void count_block(const struct vs_item *item, uint64_t sign)
{
	item->pool->nr_blocks += sign;
	item->pool->block_bytes += sign * item->size;
	item->parent->block_bytes += sign * item->size;
	charge(item, sign);
}

static inline struct vs_account *get_account(const struct vs_replay *replay, uint32_t stack)
{
	struct vs_account *account = vs_replay_get_noted(replay, stack);

	return account && account->domain == VS_DOMAIN_DEVICE ? account : NULL;
}

static inline int add_block(struct vs_replay *replay, const struct vs_record *record)
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
	if (!parent || !parent->is_noted || parent->class != VS_ITEM_SEGMENT ||
	    vs_replay_get_domain(parent->kind) != VS_DOMAIN_DEVICE)
		return 0;
	account = get_account(replay, alloc->stack);
	if (!account || account->device != parent->device)
		return 0;
	next = vs_replay_blocks_find_next(replay, parent, base);
	if (next && next->base < end)
		return 0;
	item = take_item(replay, &replay->blocks_at, base);
	if (!item)
		return 0;
	err = begin(replay, thread, record);
	thread->placed = base;
	thread->placed_pool = pool;
	replay->last_parent = parent;
	fill(item, replay, base, alloc->size, account);
	item->class = VS_ITEM_BLOCK;
	item->kind = parent->kind;
	item->pool = pool;
	item->parent = parent;
	vs_range_tree_insert_before(&parent->blocks, &item->range, next);
	count_block(item, 1);
	return err ? err : tell(replay, item, record);
}

static inline int add_segment(struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_alloc *alloc = &record->alloc;
	uint64_t base = alloc->address, end = base + alloc->size;
	struct vs_replay_thread *thread = get_thread(replay, record);
	struct vs_account *account = get_account(replay, alloc->stack);
	struct vs_range *next;
	struct vs_item *item;
	int err;

	if (!thread || !account || account->device->ordinal != alloc->device ||
	    (alloc->kind != VS_MEMORY_DEVICE && alloc->kind != VS_MEMORY_MANAGED) || end <= base ||
	    end == UINT64_MAX || is_adopted(replay))
		return 0;
	next = vs_replay_blocks_find_region(replay, base);
	if (next && next->base < end)
		return 0;
	item = take_item(replay, &replay->regions_at, base);
	if (!item)
		return 0;
	err = begin(replay, thread, record);
	replay->counters.nr_driver_events++;
	fill(item, replay, base, alloc->size, account);
	item->class = VS_ITEM_SEGMENT;
	item->kind = alloc->kind;
	item->api = alloc->api;
	item->context = alloc->context;
	if (account->api == VS_NO_ID)
		account->api = alloc->api;
	vs_range_tree_insert_before(&replay->regions, &item->range, next);
	item->device->segment_bytes += item->size;
	charge(item, 1);
	return err ? err : tell(replay, item, record);
}

/* ---- Death ---------------------------------------------------------------------------------- */

/* Out of its map and its tree, where its neighbours are remembered. */
static inline void take_out(struct vs_replay *replay, struct vs_item *item, struct vs_id_map *map,
			    struct vs_range_tree *tree)
{
	uint64_t base = item->range.base;

	item->is_charged = false;
	vs_id_map_remove_value(map, base, item);
	*vs_replay_items_get_gap(replay, base) =
		(struct vs_replay_gap){base, item->range.before, item->range.next, item->parent};
	vs_range_tree_remove(tree, &item->range);
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

static inline int remove_block(struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_block_free *free = &record->block_free;
	struct vs_replay_thread *thread = get_thread(replay, record);
	struct vs_item *item = free->address && thread ? find_block(replay, free) : NULL;
	int err;

	if (!item)
		return 0;
	err = begin(replay, thread, record);
	take_out(replay, item, &replay->blocks_at, &item->parent->blocks);
	count_block(item, UINT64_MAX);
	if (!err)
		err = tell(replay, item, record);
	vs_replay_items_destroy(replay, item);
	return err;
}

static inline struct vs_item *find_freed(const struct vs_replay *replay, const struct vs_free *free)
{
	struct vs_item *item = replay->hint;

	if (free->kind == VS_MEMORY_VMM || free->kind == VS_MEMORY_ARRAY ||
	    (unsigned int)free->kind >= VS_NR_MEMORY_KINDS)
		return NULL;
	/* There is one at an address: if that one is alive, what follows makes sure of the rest. */
	if (!item || !item->is_charged || item->range.base != free->address || item->parent)
		item = vs_id_map_get(&replay->regions_at, free->address);
	if (!item || item->class != VS_ITEM_SEGMENT || !item->is_charged || item->parent ||
	    item->reservation || item->owner || item->blocks.root ||
	    (item->kind != VS_MEMORY_DEVICE && item->kind != VS_MEMORY_MANAGED))
		return NULL;
	return item;
}

/* It is kept, for its free may yet turn out to have failed. */
static inline int remove_segment(struct vs_replay *replay, const struct vs_record *record)
{
	const struct vs_free *free = &record->free;
	struct vs_replay_thread *thread = get_thread(replay, record);
	struct vs_item *item = free->address && thread ? find_freed(replay, free) : NULL;
	int err;

	if (!item)
		return 0;
	err = begin(replay, thread, record);
	replay->counters.nr_driver_events++;
	if (replay->last_parent == item)
		replay->last_parent = NULL;
	take_out(replay, item, &replay->regions_at, &replay->regions);
	item->device->segment_bytes -= item->size;
	charge(item, UINT64_MAX);
	thread->has_freed = true;
	thread->freed = item;
	thread->freed_kind = item->kind;
	thread->freed_device = item->device;
	thread->freed_pool = NULL;
	return err ? err : tell(replay, item, record);
}

int vs_replay_plain_add(struct vs_replay *replay, const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_BLOCK_ALLOC:
		return add_block(replay, record);
	case VS_RECORD_BLOCK_FREE:
		return remove_block(replay, record);
	case VS_RECORD_ALLOC:
		return add_segment(replay, record);
	case VS_RECORD_FREE:
		return remove_segment(replay, record);
	default:
		return 0;
	}
}
