#ifndef VS_REPLAY_PLAIN_H
#define VS_REPLAY_PLAIN_H

/*
 * Blocks of pools as they nearly always come and go: in a segment that is known to be divided, over
 * nothing else, from a site that has been seen; and memory of the driver that no pool divides. All
 * that is done here is what replay_blocks.c and replay_items.c would do, without asking what else
 * it could be. First it is made sure that it is such a case, and that changes nothing.
 *
 * It is a header so that those who are told can be part of it: replay_plain.c, for any observers,
 * and measure_lane.c, for those that an analysis has.
 */
#include <string.h>

#include "replay_items.h"

/*
 * Who is told, by functions that the compiler knows: before it, and after (vs_observer.on_block).
 * The second returns 1, or a negative error, as the first does, that ends the replay.
 */
struct vs_replay_plain_told {
	int (*before)(const struct vs_replay *replay, const struct vs_record *record);
	int (*block)(const struct vs_replay *replay, struct vs_item *item,
		     const struct vs_record *record, bool is_birth);
	bool is_lazy; /* nobody of them looks at regions: what goes may stay there, vacant */
	/* Once for many in a row, which bring no new account, pool or device. A negative error. */
	int (*begin)(const struct vs_replay *replay);
};

/* ---- Every event ---------------------------------------------------------------------------- */

/* The thread of the record, or NULL: it is not that simple. */
static inline __attribute__((always_inline)) struct vs_replay_thread *vs_replay_plain_get_thread(
	struct vs_replay *replay, const struct vs_record *record)
{
	struct vs_replay_thread *thread = replay->last_thread;

	if (__builtin_expect(!thread || thread->id != record->thread, 0)) {
		thread = vs_id_map_get(&replay->threads, record->thread);
		if (!thread)
			return NULL;
		replay->last_thread = thread;
	}
	return thread;
}

/* Whether any record can be plain. No plain record changes that. */
static inline bool vs_replay_plain_is_possible(const struct vs_replay *replay)
{
	return !replay->has_no_blocks && replay->is_in_window && replay->counters.nr_events;
}

static inline __attribute__((always_inline)) int vs_replay_plain_begin(
	struct vs_replay *replay, struct vs_replay_thread *thread, const struct vs_record *record,
	const struct vs_replay_plain_told *told)
{
	int err = told->before(replay, record);

	if (record->time_ns > replay->now_ns)
		replay->now_ns = record->time_ns;
	replay->counters.nr_events++;
	if (thread->has_freed)
		vs_replay_items_forget_freed(replay, thread);
	return err;
}

/* ---- Birth ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) bool vs_replay_plain_holds(const struct vs_item *item,
									uint64_t base, uint64_t end)
{
	return item->range.base <= base && vs_range_end(&item->range) >= end;
}

/* The segment around [base, end), or NULL: it has to be searched for. */
static inline __attribute__((always_inline)) struct vs_item *vs_replay_plain_find_segment(
	const struct vs_replay *replay, uint64_t base, uint64_t end)
{
	const struct vs_replay_gap *gap;
	struct vs_item *item = replay->last_parent;

	if (item && vs_replay_plain_holds(item, base, end))
		return item;
	gap = vs_replay_items_get_gap(replay, base);
	item = gap->base == base ? gap->parent : NULL;
	/* It may be gone, and even be something else by now. */
	if (!item || !vs_replay_plain_holds(item, base, end) ||
	    vs_id_map_get(&replay->regions_at, item->range.base) != item)
		return NULL;
	return item;
}

/* Whether the next item to be born will be divided by a pool: then it is not plain. */
static inline __attribute__((always_inline)) bool vs_replay_plain_is_adopted(
	const struct vs_replay *replay)
{
	if (replay->expected)
		return replay->foreseen;
	return replay->adopted && vs_adoption_get(replay->adopted, replay->last_id + 1);
}

/* What is needed for it is there: an item, and room for its address in a map. */
static inline struct vs_item *vs_replay_plain_take_item(struct vs_replay *replay,
							struct vs_id_map *map, uint64_t base)
{
	struct vs_item *item = replay->spare_items;

	if (!item || !vs_id_map_has_room(map))
		return NULL;
	replay->spare_items = item->next_held;
	vs_id_map_put_quickly(map, base, item);
	return item;
}

/* The first that ends behind base, of an item's blocks, or of the regions (NULL); or NULL. Mostly
 * what was there before has the same neighbours. */
static inline struct vs_range *vs_replay_plain_find_next(const struct vs_replay *replay,
							 const struct vs_item *parent,
							 uint64_t base)
{
	const struct vs_replay_gap *gap = vs_replay_items_get_gap(replay, base);
	struct vs_range *above = gap->next;

	if (parent && gap->base == base && above && vs_replay_items_of(above)->parent == parent &&
	    above->base > base && (!above->before || vs_range_end(above->before) <= base))
		return above;
	return parent ? vs_replay_blocks_find_next(replay, parent, base)
		      : vs_replay_blocks_find_region(replay, base);
}

static inline __attribute__((always_inline)) void vs_replay_plain_fill(struct vs_item *item,
								       struct vs_replay *replay,
								       uint64_t base, uint64_t size,
								       struct vs_account *account)
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

/* The same for what is vacant: most of it is as it was, or has been undone. */
static inline __attribute__((always_inline)) void vs_replay_plain_fill_again(
	struct vs_item *item, struct vs_replay *replay, uint64_t size, struct vs_account *account)
{
	item->range.size = item->size = size;
	item->id = ++replay->last_id;
	item->birth_ns = replay->now_ns;
	item->birth_step = replay->nr_steps;
	item->is_charged = true;
	item->vacancy = VS_VACANCY_LISTED;
	item->made_in = 0;
	item->charge_epoch = 0;
	item->account = account;
	item->device = account->device;
}

/* sign: 1 at birth, -1 at death. */
static inline __attribute__((always_inline)) void vs_replay_plain_charge(const struct vs_item *item,
									 uint64_t sign)
{
	item->account->live_bytes += sign * item->size;
	item->account->live_count += sign;
	item->device->live_bytes += sign * item->size;
	item->device->live_count += sign;
}

static inline __attribute__((always_inline)) void vs_replay_plain_count_block(
	const struct vs_item *item, uint64_t sign)
{
	item->pool->nr_blocks += sign;
	item->pool->block_bytes += sign * item->size;
	item->parent->block_bytes += sign * item->size;
	vs_replay_plain_charge(item, sign);
}

static inline __attribute__((always_inline)) struct vs_account *vs_replay_plain_get_account(
	const struct vs_replay *replay, uint32_t stack)
{
	struct vs_account *account = vs_replay_get_noted(replay, stack);

	return account && account->domain == VS_DOMAIN_DEVICE ? account : NULL;
}

static inline __attribute__((always_inline)) int vs_replay_plain_add_block(
	struct vs_replay *replay, const struct vs_record *record,
	const struct vs_replay_plain_told *told)
{
	const struct vs_block_alloc *alloc = &record->block_alloc;
	uint64_t base = alloc->address, end = base + alloc->size;
	struct vs_replay_thread *thread = vs_replay_plain_get_thread(replay, record);
	struct vs_replay_pool *pool = replay->last_pool;
	struct vs_item *parent, *item;
	struct vs_account *account;
	struct vs_range *next;
	int err;

	if (!thread || !pool || pool->id != alloc->pool || pool->owner == VS_POOL_DRIVER || !base ||
	    end <= base || vs_replay_plain_is_adopted(replay))
		return 0;
	parent = vs_replay_plain_find_segment(replay, base, end);
	if (!parent || !parent->is_noted || parent->class != VS_ITEM_SEGMENT ||
	    vs_replay_get_domain(parent->kind) != VS_DOMAIN_DEVICE)
		return 0;
	account = vs_replay_plain_get_account(replay, alloc->stack);
	if (!account || account->device != parent->device)
		return 0;
	next = vs_replay_plain_find_next(replay, parent, base);
	if (next && next->base < end)
		return 0;
	item = vs_replay_plain_take_item(replay, &replay->blocks_at, base);
	if (!item)
		return 0;
	err = vs_replay_plain_begin(replay, thread, record, told);
	thread->placed = base;
	thread->placed_pool = pool;
	replay->last_parent = parent;
	vs_replay_plain_fill(item, replay, base, alloc->size, account);
	item->class = VS_ITEM_BLOCK;
	item->kind = parent->kind;
	item->pool = pool;
	item->parent = parent;
	vs_range_tree_insert_before(&parent->blocks, &item->range, next);
	replay->born[record->birth] = item;
	vs_replay_plain_count_block(item, 1);
	return err ? err : told->block(replay, item, record, true);
}

/* Whether something vacant can be used again: by this thread, for what ends there. */
static inline __attribute__((always_inline)) bool vs_replay_plain_is_free(
	const struct vs_item *item, const struct vs_replay_thread *thread, uint64_t end)
{
	const struct vs_range *next = item->range.next;

	return (item->vacancy & VS_VACANCY_EMPTY) &&
	       ((item->vacancy & VS_VACANCY_FORGOTTEN) || thread->freed == item) &&
	       /* Mostly it is as large as before: then nobody has to look at what is behind it. */
	       (end <= vs_range_end(&item->range) || !next || next->base >= end);
}

/*
 * An item at base that is in the regions; *next is what it has to be put in front of, unless it is
 * there already (is_there). NULL: it is not that simple.
 */
static inline __attribute__((always_inline)) struct vs_item *vs_replay_plain_place_segment(
	struct vs_replay *replay, const struct vs_replay_thread *thread, uint64_t base,
	uint64_t end, struct vs_item *hint, struct vs_range **next, bool *is_there)
{
	struct vs_item *item = hint;

	if (replay->nr_vacant) {
		if (!item || item->range.base != base || !(item->vacancy & VS_VACANCY_EMPTY))
			item = vs_id_map_get(&replay->regions_at, base);
		*is_there = item;
		if (item)
			return vs_replay_plain_is_free(item, thread, end) ? item : NULL;
	}
	*is_there = false;
	*next = vs_replay_plain_find_next(replay, NULL, base);
	if (*next && (*next)->base < end)
		return NULL;
	/* There would be room after settling, again and again, and never enough. */
	if (replay->nr_vacant &&
	    (!replay->spare_items || !vs_id_map_has_room(&replay->regions_at)) &&
	    vs_replay_items_make_room(replay, &replay->regions_at))
		return NULL;
	return vs_replay_plain_take_item(replay, &replay->regions_at, base);
}

static inline __attribute__((always_inline)) int vs_replay_plain_add_segment(
	struct vs_replay *replay, const struct vs_record *record, struct vs_item *hint,
	const struct vs_replay_plain_told *told)
{
	const struct vs_alloc *alloc = &record->alloc;
	uint64_t base = alloc->address, end = base + alloc->size;
	struct vs_replay_thread *thread = vs_replay_plain_get_thread(replay, record);
	struct vs_account *account = vs_replay_plain_get_account(replay, alloc->stack);
	struct vs_range *next = NULL;
	struct vs_item *item;
	bool is_there;
	int err;

	if (!thread || !account || account->device->ordinal != alloc->device ||
	    (alloc->kind != VS_MEMORY_DEVICE && alloc->kind != VS_MEMORY_MANAGED) || end <= base ||
	    end == UINT64_MAX || vs_replay_plain_is_adopted(replay))
		return 0;
	item = vs_replay_plain_place_segment(replay, thread, base, end, hint, &next, &is_there);
	if (!item)
		return 0;
	err = vs_replay_plain_begin(replay, thread, record, told);
	replay->counters.nr_driver_events++;
	if (is_there)
		vs_replay_plain_fill_again(item, replay, alloc->size, account);
	else
		vs_replay_plain_fill(item, replay, base, alloc->size, account);
	item->class = VS_ITEM_SEGMENT;
	item->kind = alloc->kind;
	item->api = alloc->api;
	item->context = alloc->context;
	if (account->api == VS_NO_ID)
		account->api = alloc->api;
	if (!is_there)
		vs_range_tree_insert_before(&replay->regions, &item->range, next);
	replay->born[record->birth] = item;
	item->device->segment_bytes += item->size;
	vs_replay_plain_charge(item, 1);
	return err ? err : told->block(replay, item, record, true);
}

/* ---- Death ---------------------------------------------------------------------------------- */

/* Out of its map and its tree, where its neighbours are remembered. */
static inline __attribute__((always_inline)) void vs_replay_plain_take_out(
	struct vs_replay *replay, struct vs_item *item, struct vs_id_map *map,
	struct vs_range_tree *tree)
{
	uint64_t base = item->range.base;

	item->is_charged = false;
	vs_id_map_remove_value(map, base, item);
	*vs_replay_items_get_gap(replay, base) =
		(struct vs_replay_gap){base, item->range.before, item->range.next, item->parent};
	vs_range_tree_remove(tree, &item->range);
}

static inline __attribute__((always_inline)) struct vs_item *vs_replay_plain_find_block(
	const struct vs_replay *replay, const struct vs_block_free *free, struct vs_item *hint)
{
	struct vs_item *item = hint;

	if (!vs_replay_blocks_is_at(item, free->pool, free->address))
		item = vs_id_map_get(&replay->blocks_at, free->address);
	if (!item || item->pool->id != free->pool || !item->is_charged || !item->parent ||
	    item->owner || item->blocks.root || item->account->domain != VS_DOMAIN_DEVICE)
		return NULL;
	return item;
}

static inline __attribute__((always_inline)) int vs_replay_plain_remove_block(
	struct vs_replay *replay, const struct vs_record *record, struct vs_item *hint,
	const struct vs_replay_plain_told *told)
{
	const struct vs_block_free *free = &record->block_free;
	struct vs_replay_thread *thread = vs_replay_plain_get_thread(replay, record);
	struct vs_item *item =
		free->address && thread ? vs_replay_plain_find_block(replay, free, hint) : NULL;
	int err;

	if (!item)
		return 0;
	err = vs_replay_plain_begin(replay, thread, record, told);
	vs_replay_plain_take_out(replay, item, &replay->blocks_at, &item->parent->blocks);
	vs_replay_plain_count_block(item, UINT64_MAX);
	if (!err)
		err = told->block(replay, item, record, false);
	vs_replay_items_put_back(replay, item); /* one that was held had an end of its own */
	return err;
}

static inline __attribute__((always_inline)) struct vs_item *vs_replay_plain_find_freed(
	const struct vs_replay *replay, const struct vs_free *free, struct vs_item *hint)
{
	struct vs_item *item = hint;

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

/* Stays where it is, as nobody's: until its address is given out again, or to the end of the lane.
 */
static inline __attribute__((always_inline)) void vs_replay_plain_vacate(struct vs_replay *replay,
									 struct vs_item *item)
{
	if (replay->nr_vacant == VS_REPLAY_VACANT_MAX)
		vs_replay_plain_settle(replay);
	if (!item->vacancy)
		replay->vacant[replay->nr_vacant++] = item;
	item->vacancy = VS_VACANCY_LISTED | VS_VACANCY_EMPTY;
	item->is_charged = false;
}

/* It is kept, for its free may yet turn out to have failed. */
static inline __attribute__((always_inline)) int vs_replay_plain_remove_segment(
	struct vs_replay *replay, const struct vs_record *record, struct vs_item *hint,
	const struct vs_replay_plain_told *told)
{
	const struct vs_free *free = &record->free;
	struct vs_replay_thread *thread = vs_replay_plain_get_thread(replay, record);
	struct vs_item *item =
		free->address && thread ? vs_replay_plain_find_freed(replay, free, hint) : NULL;
	int err;

	if (!item)
		return 0;
	err = vs_replay_plain_begin(replay, thread, record, told);
	replay->counters.nr_driver_events++;
	if (replay->last_parent == item)
		replay->last_parent = NULL;
	if (told->is_lazy)
		vs_replay_plain_vacate(replay, item);
	else
		vs_replay_plain_take_out(replay, item, &replay->regions_at, &replay->regions);
	item->device->segment_bytes -= item->size;
	vs_replay_plain_charge(item, UINT64_MAX);
	thread->has_freed = true;
	thread->freed = item;
	thread->freed_kind = item->kind;
	thread->freed_device = item->device;
	thread->freed_pool = NULL;
	return err ? err : told->block(replay, item, record, false);
}

/*
 * 1: done; 0: it is another case, or another record, and nothing has changed. hint: what a free may
 * be about, or what is vacant where memory is given; gone, perhaps; NULL.
 */
static inline __attribute__((always_inline)) int vs_replay_plain_take(
	struct vs_replay *replay, const struct vs_record *record, struct vs_item *hint,
	const struct vs_replay_plain_told *told)
{
	switch (record->type) {
	case VS_RECORD_BLOCK_ALLOC:
		return vs_replay_plain_add_block(replay, record, told);
	case VS_RECORD_BLOCK_FREE:
		return vs_replay_plain_remove_block(replay, record, hint, told);
	case VS_RECORD_ALLOC:
		return vs_replay_plain_add_segment(replay, record, hint, told);
	case VS_RECORD_FREE:
		return vs_replay_plain_remove_segment(replay, record, hint, told);
	default:
		return 0;
	}
}

/* ---- Many in a row -------------------------------------------------------------------------- */

/* So many records before its turn, what a record is about is fetched; first where to look. */
#define VS_REPLAY_PLAIN_FAR    32
#define VS_REPLAY_PLAIN_NEAR   VS_REPLAY_AHEAD
#define VS_REPLAY_PLAIN_NEARER 8

/* Below so many blocks all of it is near anyway. For tests to set. */
extern size_t vs_replay_plain_many;

static inline bool vs_replay_plain_is_of_pool(const struct vs_record *record)
{
	return record->type == VS_RECORD_BLOCK_ALLOC || record->type == VS_RECORD_BLOCK_FREE;
}

static inline void vs_replay_plain_expect_far(const struct vs_replay *replay,
					      const struct vs_record *record, bool is_lazy)
{
	/* Where it is told what it is about, nobody looks at a table; unless it is put there. */
	if (record->before && is_lazy && !vs_replay_plain_is_of_pool(record)) {
		__builtin_prefetch(&replay->born[record->before]);
		if (record->type == VS_RECORD_ALLOC)
			vs_replay_fetch_account(replay, record->alloc.stack);
		return;
	}
	switch (record->type) {
	case VS_RECORD_BLOCK_ALLOC:
		vs_replay_fetch_account(replay, record->block_alloc.stack);
		vs_id_map_fetch(&replay->blocks_at, record->block_alloc.address);
		__builtin_prefetch(vs_replay_items_get_gap(replay, record->block_alloc.address));
		break;
	case VS_RECORD_BLOCK_FREE:
		vs_id_map_fetch(&replay->blocks_at, record->block_free.address);
		break;
	case VS_RECORD_ALLOC:
		vs_replay_fetch_account(replay, record->alloc.stack);
		vs_id_map_fetch(&replay->regions_at, record->alloc.address);
		if (!replay->nr_vacant)
			__builtin_prefetch(vs_replay_items_get_gap(replay, record->alloc.address));
		break;
	case VS_RECORD_FREE:
		vs_id_map_fetch(&replay->regions_at, record->free.address);
		break;
	default:
		break;
	}
}

/* What a free will be about, with all lines that it takes up. */
static inline struct vs_item *vs_replay_plain_fetch_item(const struct vs_replay *replay,
							 const struct vs_record *record,
							 const struct vs_id_map *map,
							 uint64_t address)
{
	struct vs_item *item =
		record->before ? replay->born[record->before] : vs_id_map_get(map, address);

	if (item) {
		__builtin_prefetch(item);
		__builtin_prefetch((const char *)item + 64);
		__builtin_prefetch((const char *)item + 128);
	}
	return item;
}

/* Where it will be charged, and what will be beside it. */
static inline struct vs_item *vs_replay_plain_fetch_birth(const struct vs_replay *replay,
							  uint32_t stack, uint64_t address)
{
	const struct vs_replay_gap *gap = vs_replay_items_get_gap(replay, address);

	__builtin_prefetch(vs_replay_get_noted(replay, stack));
	__builtin_prefetch(gap->before);
	__builtin_prefetch(gap->next);
	return NULL;
}

/* The same for memory of the driver: what is vacant there, if it is. */
static inline struct vs_item *vs_replay_plain_fetch_segment(const struct vs_replay *replay,
							    const struct vs_record *record)
{
	const struct vs_alloc *alloc = &record->alloc;

	if (!replay->nr_vacant)
		return vs_replay_plain_fetch_birth(replay, alloc->stack, alloc->address);
	__builtin_prefetch(vs_replay_get_noted(replay, alloc->stack));
	return vs_replay_plain_fetch_item(replay, record, &replay->regions_at, alloc->address);
}

static inline struct vs_item *vs_replay_plain_expect_near(const struct vs_replay *replay,
							  const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_BLOCK_FREE:
		return vs_replay_plain_fetch_item(replay, record, &replay->blocks_at,
						  record->block_free.address);
	case VS_RECORD_FREE:
		return vs_replay_plain_fetch_item(replay, record, &replay->regions_at,
						  record->free.address);
	case VS_RECORD_BLOCK_ALLOC:
		return vs_replay_plain_fetch_birth(replay, record->block_alloc.stack,
						   record->block_alloc.address);
	case VS_RECORD_ALLOC:
		return vs_replay_plain_fetch_segment(replay, record);
	default:
		return NULL;
	}
}

/* In three steps, as one thing leads to the other. Changes nothing but hints. */
static inline void vs_replay_plain_expect(struct vs_replay *replay, const struct vs_record *records,
					  uint32_t i, uint32_t nr, bool is_lazy)
{
	const struct vs_item *hint;

	if (i + VS_REPLAY_PLAIN_FAR < nr)
		vs_replay_plain_expect_far(replay, &records[i + VS_REPLAY_PLAIN_FAR], is_lazy);
	replay->hints[i % VS_REPLAY_AHEAD] =
		i + VS_REPLAY_PLAIN_NEAR < nr
			? vs_replay_plain_expect_near(replay, &records[i + VS_REPLAY_PLAIN_NEAR])
			: NULL;
	hint = replay->hints[(i + VS_REPLAY_PLAIN_NEARER) % VS_REPLAY_AHEAD];
	if (!hint)
		return;
	__builtin_prefetch(hint->account);
	/* What stays where it is leaves its neighbours alone. */
	if (is_lazy && !hint->parent)
		return;
	__builtin_prefetch(hint->range.next);
	__builtin_prefetch(hint->range.before);
	__builtin_prefetch(hint->range.parent);
}

/* vs_replay.lane. */
static inline __attribute__((always_inline)) int vs_replay_plain_run(
	struct vs_replay *replay, const struct vs_record *records, uint32_t first, uint32_t nr,
	const struct vs_replay_plain_told *told)
{
	bool is_many =
		replay->blocks_at.nr_used + replay->regions_at.nr_used >= vs_replay_plain_many;
	bool is_guessing = replay->expected && replay->nr_dividing_pools;
	struct vs_item *hint = NULL;
	uint32_t i;
	int ret = told->begin ? told->begin(replay) : 0;

	if (ret || !vs_replay_plain_is_possible(replay))
		return ret;
	ret = 1;
	if (!first)
		memset(replay->hints, 0, sizeof(replay->hints));
	for (i = first; i < nr; i++) {
		if (is_many) {
			hint = replay->hints[i % VS_REPLAY_AHEAD];
			vs_replay_plain_expect(replay, records, i, nr, told->is_lazy);
		}
		/* By now it is there, even if it was born a moment ago. */
		if (records[i].before)
			hint = replay->born[records[i].before];
		else if (!is_many)
			hint = NULL;
		/* Who adopts it has to be looked for first. */
		if (is_guessing && records[i].type == VS_RECORD_ALLOC)
			break;
		replay->counters.nr_records++;
		ret = vs_replay_plain_take(replay, &records[i], hint, told);
		if (ret <= 0)
			break;
	}
	replay->counters.nr_records -= !ret;
	return ret < 0 ? ret : (int)(i - first);
}

#endif
