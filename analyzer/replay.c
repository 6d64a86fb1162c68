#include "replay.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "replay_items.h"

/* Pools by number; behind all of those, one for each device: blocks whose pool was not named. */
#define UNNAMED_POOL (1ull << 32)

int vs_replay_create(struct vs_replay **out)
{
	struct vs_replay *replay = calloc(1, sizeof(*replay));
	int err;

	if (!replay)
		return -VS_ERR_NO_MEMORY;
	replay->gaps = calloc(VS_REPLAY_GAPS, sizeof(replay->gaps[0]));
	replay->vacant = malloc(VS_REPLAY_VACANT_MAX * sizeof(replay->vacant[0]));
	replay->born = calloc(VS_REPLAY_BORN, sizeof(replay->born[0]));
	err = replay->gaps && replay->vacant && replay->born
		      ? vs_definitions_init(&replay->definitions)
		      : -VS_ERR_NO_MEMORY;
	if (err) {
		free(replay->born);
		free(replay->vacant);
		free(replay->gaps);
		free(replay);
		return err;
	}
	replay->is_in_window = true;
	replay->lane = vs_replay_plain_add_unseen;
	*out = replay;
	return 0;
}

static void destroy_threads(struct vs_replay *replay)
{
	struct vs_replay_thread *thread;
	size_t slot = 0;

	while ((thread = vs_id_map_next(&replay->threads, &slot))) {
		free(thread->phases);
		free(thread);
	}
	vs_id_map_fini(&replay->threads);
	free(replay->in_phases);
	free(replay->ranges);
}

void vs_replay_destroy(struct vs_replay *replay)
{
	size_t i;

	if (!replay)
		return;
	destroy_threads(replay);
	vs_replay_vmm_fini(replay);
	vs_replay_items_fini(replay);
	for (i = 0; i < replay->nr_devices; i++) {
		free(replay->devices[i]->name);
		free(replay->devices[i]);
	}
	for (i = 0; i < replay->nr_pools; i++) {
		free(replay->pools[i]->name);
		free(replay->pools[i]);
	}
	for (i = replay->nr_slab_accounts; i < replay->nr_accounts; i++)
		free(replay->accounts[i]);
	free(replay->account_slab);
	free(replay->devices);
	free(replay->pools);
	free(replay->accounts);
	free(replay->noted);
	free(replay->by_stack);
	vs_id_map_fini(&replay->devices_by_ordinal);
	vs_id_map_fini(&replay->pools_by_id);
	vs_id_map_fini(&replay->accounts_by_key);
	vs_definitions_fini(&replay->definitions);
	free(replay);
}

static void listen(struct vs_listeners *listeners, struct vs_observer *observer)
{
	assert(listeners->nr < VS_OBSERVERS_MAX);
	listeners->observers[listeners->nr++] = observer;
}

void vs_replay_add_observer(struct vs_replay *replay, struct vs_observer *observer)
{
	struct vs_observer **at = &replay->observers;
	uint32_t i;

	while (*at)
		at = &(*at)->next;
	observer->next = NULL;
	*at = observer;
	vs_replay_settle(replay);
	replay->lane = vs_replay_plain_add_some; /* any other may not know of this one */
	for (i = 0; i < VS_NR_CHANGES && observer->on_change; i++)
		if (!observer->changes || (observer->changes & VS_WANTS(i)))
			listen(&replay->on_change[i], observer);
	for (i = 0; i < VS_NR_RECORDS && observer->on_record; i++)
		if (!observer->records || (observer->records & VS_WANTS(i)))
			listen(&replay->on_record[i], observer);
	if (observer->before_record)
		listen(&replay->before_record, observer);
	if (observer->on_block)
		listen(&replay->on_block, observer);
	else
		replay->has_no_blocks |= observer->on_change || observer->on_record;
}

void vs_replay_mute(struct vs_replay *replay)
{
	vs_replay_settle(replay);
	replay->observers = NULL;
	memset(replay->on_change, 0, sizeof(replay->on_change));
	memset(replay->on_record, 0, sizeof(replay->on_record));
	replay->before_record.nr = 0;
	replay->on_block.nr = 0;
	replay->has_no_blocks = false;
	replay->lane = vs_replay_plain_add_unseen;
}

/* ---- Definitions ---------------------------------------------------------------------------- */

static char *copy_text(const struct vs_text *text)
{
	char *copy = malloc((size_t)text->size + 1);

	if (!copy)
		return NULL;
	if (text->size)
		memcpy(copy, text->bytes, text->size);
	copy[text->size] = '\0';
	return copy;
}

static int define_device(struct vs_replay *replay, const struct vs_device *record)
{
	struct vs_replay_device *device;
	char *name;
	int err = vs_replay_items_get_device(replay, record->device, &device);

	if (err)
		return err;
	name = copy_text(&record->name);
	if (!name)
		return -VS_ERR_NO_MEMORY;
	free(device->name);
	device->name = name;
	device->total_size = record->total_size;
	device->compute_capability = record->compute_capability;
	device->is_simulated = record->is_simulated;
	device->is_defined = true;
	memcpy(device->uuid, record->uuid, sizeof(device->uuid));
	return 0;
}

static int insert_pool(struct vs_replay *replay, uint64_t key, struct vs_replay_pool *pool)
{
	int err = VS_GROW(replay->pools, replay->pools_capacity, replay->nr_pools + 1);

	if (!err)
		err = vs_id_map_put(&replay->pools_by_id, key, pool);
	if (err)
		return err;
	pool->index = (uint32_t)replay->nr_pools;
	replay->nr_dividing_pools += pool->owner != VS_POOL_DRIVER;
	replay->pools[replay->nr_pools++] = pool;
	return 0;
}

/* The driver's have no names. People have to tell them apart all the same. */
static char *make_pool_name(uint32_t number)
{
	char name[sizeof("stream-ordered 4294967295")] = "stream-ordered";

	if (number > 1)
		snprintf(name, sizeof(name), "stream-ordered %" PRIu32, number);
	return strdup(name);
}

static int create_pool(struct vs_replay *replay, uint64_t key, const struct vs_pool *record,
		       struct vs_replay_pool **out)
{
	struct vs_replay_pool *pool = calloc(1, sizeof(*pool));
	int err = -VS_ERR_NO_MEMORY;

	if (!pool)
		return err;
	pool->id = record->id;
	pool->owner = record->owner;
	pool->limit_size = record->limit_size;
	err = vs_replay_items_get_device(replay, record->device, &pool->device);
	if (err)
		goto free_pool;
	err = -VS_ERR_NO_MEMORY;
	pool->device->nr_driver_pools += pool->owner == VS_POOL_DRIVER;
	pool->name = pool->owner == VS_POOL_DRIVER && !record->name.size
			     ? make_pool_name(pool->device->nr_driver_pools)
			     : copy_text(&record->name);
	if (!pool->name)
		goto free_pool;
	err = insert_pool(replay, key, pool);
	if (err)
		goto free_name;
	*out = pool;
	return 0;

free_name:
	free(pool->name);
free_pool:
	free(pool);
	return err;
}

static int define_pool(struct vs_replay *replay, const struct vs_pool *record)
{
	struct vs_replay_pool *pool;

	if (vs_id_map_get(&replay->pools_by_id, record->id))
		return 0;
	return create_pool(replay, record->id, record, &pool);
}

/* What an adoption keeps of a pool. */
static struct vs_pool describe(const struct vs_replay_pool *pool)
{
	return (struct vs_pool){.id = pool->id,
				.owner = pool->owner,
				.device = pool->device->ordinal,
				.limit_size = pool->limit_size,
				.name = {pool->name, (uint32_t)strlen(pool->name)}};
}

static int expect_adopter(struct vs_replay *replay, uint64_t key, struct vs_replay_pool **pool)
{
	struct vs_pool adopter;

	*pool = replay->foreseen;
	replay->foreseen = NULL;
	if (!*pool)
		return 0;
	adopter = describe(*pool);
	return vs_adoption_add(replay->expected, key, &adopter);
}

int vs_replay_find_adopter(struct vs_replay *replay, uint64_t key, struct vs_replay_pool **pool)
{
	const struct vs_pool *adopter;

	if (replay->expected)
		return expect_adopter(replay, key, pool);
	adopter = replay->adopted ? vs_adoption_get(replay->adopted, key) : NULL;
	*pool = adopter ? vs_replay_get_pool(replay, adopter->id) : NULL;
	if (!adopter || *pool)
		return 0;
	return create_pool(replay, adopter->id, adopter, pool);
}

int vs_replay_note_adopter(struct vs_replay *replay, uint64_t key,
			   const struct vs_replay_pool *pool)
{
	const struct vs_pool *expected;
	struct vs_pool adopter;

	/* Asked with every block, and nearly always known already. */
	if (!replay->adopting || vs_adoption_get(replay->adopting, key))
		return 0;
	adopter = describe(pool);
	expected = replay->expected ? vs_adoption_get(replay->expected, key) : NULL;
	replay->is_misled |= replay->expected && (!expected || expected->id != adopter.id);
	return vs_adoption_add(replay->adopting, key, &adopter);
}

/* The pool of a stream-ordered allocation or a graph's. */
static int get_driver_pool(struct vs_replay *replay, const struct vs_alloc *alloc,
			   struct vs_replay_device *device, struct vs_replay_pool **pool)
{
	struct vs_pool unnamed = {.owner = VS_POOL_DRIVER, .device = device->ordinal};
	uint64_t key = UNNAMED_POOL | device->ordinal;

	if (alloc->pool != VS_NO_ID) {
		*pool = vs_replay_get_pool(replay, alloc->pool);
		if (*pool && (*pool)->owner == VS_POOL_DRIVER)
			return 0;
	}
	*pool = vs_id_map_get(&replay->pools_by_id, key);
	return *pool ? 0 : create_pool(replay, key, &unnamed, pool);
}

/* ---- Memory of the driver ------------------------------------------------------------------- */

/* Room for something new: what is there already was freed by an event that got lost. */
static int make_room(struct vs_replay *replay, const struct vs_birth *birth)
{
	uint64_t base = birth->address, size = birth->size ? birth->size : 1;
	struct vs_item *item = NULL;

	if (birth->class == VS_ITEM_HANDLE) {
		item = vs_id_map_get(&replay->handles, base);
		if (item && item->nr_mappings) {
			/* It lives on in its mappings: only its release was missed. */
			replay->counters.nr_overlaps++;
			item->is_released = true;
			vs_id_map_remove(&replay->handles, base);
			item = NULL;
		}
	} else if (birth->kind == VS_MEMORY_ARRAY) {
		item = vs_id_map_get(&replay->arrays, base);
	} else {
		return vs_replay_items_clear(replay, base,
					     size > UINT64_MAX - base ? UINT64_MAX : base + size);
	}
	return item ? vs_replay_items_close(replay, item, VS_CAUSE_OVERLAP, NULL) : 0;
}

static int apply_alloc(struct vs_replay *replay, const struct vs_alloc *alloc)
{
	struct vs_birth birth = {.class = VS_ITEM_SEGMENT,
				 .kind = alloc->kind,
				 .address = alloc->address,
				 .size = alloc->size,
				 .stack = alloc->stack,
				 .api = alloc->api,
				 .context = alloc->context};
	struct vs_item *item;
	int err;

	if ((unsigned int)alloc->kind >= VS_NR_MEMORY_KINDS)
		return 0;
	err = vs_replay_items_get_device(replay, alloc->device, &birth.device);
	if (err)
		return err;
	if (alloc->kind == VS_MEMORY_VMM)
		birth.class = VS_ITEM_HANDLE;
	if (alloc->kind == VS_MEMORY_ASYNC || alloc->kind == VS_MEMORY_GRAPH) {
		birth.class = VS_ITEM_BLOCK;
		err = get_driver_pool(replay, alloc, birth.device, &birth.pool);
	}
	if (!err)
		err = make_room(replay, &birth);
	return err ? err : vs_replay_items_bear(replay, &birth, &item);
}

static struct vs_item *find_freed(const struct vs_replay *replay, const struct vs_free *free)
{
	struct vs_item *item;

	/* Handles and arrays have numbers of their own; in the address space, the address decides.
	 */
	if (free->kind == VS_MEMORY_VMM)
		return vs_id_map_get(&replay->handles, free->address);
	if (free->kind == VS_MEMORY_ARRAY)
		return vs_id_map_get(&replay->arrays, free->address);
	item = vs_id_map_get(&replay->regions_at, free->address);
	return item && !item->reservation ? item : NULL;
}

static int apply_release(struct vs_replay *replay, struct vs_replay_thread *thread,
			 struct vs_item *handle)
{
	int err = vs_replay_items_tell(replay, VS_CHANGE_RELEASED, VS_CAUSE_EVENT, handle);

	if (err)
		return err;
	vs_id_map_remove(&replay->handles, handle->range.base);
	handle->is_released = true;
	if (!handle->nr_mappings)
		return vs_replay_items_close(replay, handle, VS_CAUSE_EVENT, &thread->freed);
	thread->released = handle;
	return 0;
}

static int apply_free(struct vs_replay *replay, struct vs_replay_thread *thread,
		      const struct vs_free *free)
{
	struct vs_item *item;

	if (!free->address || (unsigned int)free->kind >= VS_NR_MEMORY_KINDS)
		return 0;
	item = find_freed(replay, free);
	thread->has_freed = true;
	thread->freed_kind = item ? item->kind : free->kind;
	thread->freed_device = item ? item->device : NULL;
	thread->freed_pool = item ? item->pool : NULL;
	if (item && item->class == VS_ITEM_HANDLE)
		return apply_release(replay, thread, item);
	if (item)
		return vs_replay_items_close(replay, item, VS_CAUSE_EVENT, &thread->freed);
	replay->counters.nr_unmatched_frees++;
	return vs_replay_items_tell_free(replay, VS_CHANGE_UNMATCHED, VS_CAUSE_EVENT, free->kind,
					 NULL, NULL);
}

/* Whether the place of a freed item is still free. */
static bool is_vacant(const struct vs_replay *replay, const struct vs_item *item)
{
	struct vs_range *range;

	if (item->class == VS_ITEM_HANDLE)
		return !vs_id_map_get(&replay->handles, item->range.base);
	if (item->kind == VS_MEMORY_ARRAY)
		return !vs_id_map_get(&replay->arrays, item->range.base);
	range = vs_range_tree_find_from(&replay->regions, item->range.base);
	return !range || range->base >= vs_range_end(&item->range);
}

static int apply_free_failed(struct vs_replay *replay, struct vs_replay_thread *thread,
			     const struct vs_free_failed *failed)
{
	struct vs_item *item = thread->freed, *released = thread->released;
	enum vs_memory_kind kind = thread->has_freed ? thread->freed_kind : failed->kind;
	enum vs_change_cause cause = thread->has_freed ? VS_CAUSE_RESTORED : VS_CAUSE_EVENT;
	struct vs_replay_device *device = thread->has_freed ? thread->freed_device : NULL;
	struct vs_replay_pool *pool = thread->has_freed ? thread->freed_pool : NULL;
	int err = 0;

	if ((unsigned int)kind >= VS_NR_MEMORY_KINDS)
		return 0;
	/* Nothing was known there, and nothing had to be: no event is missing. */
	if (thread->has_freed && !thread->freed_device)
		replay->counters.nr_unmatched_frees--;
	thread->freed = NULL;
	thread->released = NULL;
	thread->has_freed = false;
	if (item && is_vacant(replay, item)) {
		item->is_released = false;
		err = vs_replay_items_restore(replay, item);
	} else if (item) {
		replay->counters.nr_overlaps++;
		vs_replay_items_destroy(replay, item);
	} else if (released && is_vacant(replay, released)) {
		released->is_released = false;
		err = vs_id_map_put(&replay->handles, released->range.base, released);
	}
	if (err)
		return err;
	return vs_replay_items_tell_free(replay, VS_CHANGE_UNFREED, cause, kind, pool, device);
}

/* ---- What goes with a context --------------------------------------------------------------- */

static bool dies_with(const struct vs_item *item, const struct vs_context *context)
{
	if (context->change == VS_CONTEXT_RESET)
		return item->device->ordinal == context->device;
	if (!context->context || item->context != context->context)
		return false;
	return item->kind == VS_MEMORY_DEVICE || item->kind == VS_MEMORY_MANAGED ||
	       item->kind == VS_MEMORY_PINNED || item->kind == VS_MEMORY_REGISTERED ||
	       item->kind == VS_MEMORY_ARRAY;
}

static int end_regions(struct vs_replay *replay, const struct vs_context *context)
{
	struct vs_range *range = vs_range_tree_first(&replay->regions);
	int err = 0;

	while (range && !err) {
		struct vs_item *item = vs_replay_items_of(range);
		uint64_t next = vs_range_end(range);

		if (dies_with(item, context) && item->reservation)
			err = vs_replay_vmm_unmap(replay, range->base, range->size,
						  VS_CAUSE_IMPLICIT);
		else if (dies_with(item, context))
			err = vs_replay_items_close(replay, item, VS_CAUSE_IMPLICIT, NULL);
		range = vs_range_tree_find_from(&replay->regions, next);
	}
	return err;
}

static int end_mapped(struct vs_replay *replay, struct vs_id_map *map,
		      const struct vs_context *context)
{
	struct vs_item **doomed = NULL, *item;
	size_t nr_doomed = 0, capacity = 0, slot = 0, i;
	int err = 0;

	while (!err && (item = vs_id_map_next(map, &slot))) {
		if (!dies_with(item, context))
			continue;
		err = VS_GROW(doomed, capacity, nr_doomed + 1);
		if (!err)
			doomed[nr_doomed++] = item;
	}
	for (i = 0; i < nr_doomed && !err; i++)
		err = vs_replay_items_close(replay, doomed[i], VS_CAUSE_IMPLICIT, NULL);
	free(doomed);
	return err;
}

static int apply_context(struct vs_replay *replay, const struct vs_context *context)
{
	size_t i;
	int err;

	if (context->change == VS_CONTEXT_CREATED)
		return 0;
	err = end_regions(replay, context);
	if (!err)
		err = end_mapped(replay, &replay->arrays, context);
	if (!err && context->change == VS_CONTEXT_RESET)
		err = end_mapped(replay, &replay->handles, context);
	for (i = 0; i < replay->nr_pools && context->change == VS_CONTEXT_RESET; i++) {
		struct vs_replay_pool *pool = replay->pools[i];

		if (pool->owner == VS_POOL_DRIVER && pool->device->ordinal == context->device)
			vs_replay_items_set_driver_pool(pool, pool->block_bytes, 0);
	}
	return err;
}

/* ---- Pools, phases, steps ------------------------------------------------------------------- */

static void apply_pool_state(struct vs_replay *replay, const struct vs_pool_state *state)
{
	struct vs_replay_pool *pool = vs_replay_get_pool(replay, state->pool);

	if (!pool || pool->owner != VS_POOL_DRIVER)
		return;
	pool->is_sampled = true;
	vs_replay_items_set_driver_pool(pool, pool->block_bytes, state->reserved_size);
}

static int apply_pool_end(struct vs_replay *replay, uint32_t id)
{
	struct vs_replay_pool *pool = vs_replay_get_pool(replay, id);

	if (!pool)
		return 0;
	pool->is_ended = true;
	if (pool->owner != VS_POOL_DRIVER)
		return vs_replay_blocks_end_pool(replay, pool);
	/* cuMemPoolDestroy: what is still allocated stays until it is freed; the rest goes. */
	vs_replay_items_set_driver_pool(pool, pool->block_bytes, 0);
	return 0;
}

static int push_phase(struct vs_replay *replay, struct vs_replay_thread *thread, uint32_t name)
{
	int err = VS_GROW(thread->phases, thread->phases_capacity, thread->nr_phases + 1);

	if (err)
		return err;
	if (!thread->nr_phases) {
		err = VS_GROW(replay->in_phases, replay->in_phases_capacity,
			      replay->nr_in_phases + 1);
		if (err)
			return err;
		replay->in_phases[replay->nr_in_phases++] = thread;
	}
	thread->phases[thread->nr_phases++] = name;
	thread->last_push = ++replay->nr_phases;
	replay->phase_epoch++;
	return 0;
}

static void pop_phase(struct vs_replay *replay, struct vs_replay_thread *thread)
{
	size_t i = 0;

	replay->phase_epoch++;
	if (!thread->nr_phases || --thread->nr_phases)
		return;
	while (replay->in_phases[i] != thread)
		i++;
	replay->in_phases[i] = replay->in_phases[--replay->nr_in_phases];
}

static int start_range(struct vs_replay *replay, const struct vs_range_start *start)
{
	int err = VS_GROW(replay->ranges, replay->ranges_capacity, replay->nr_ranges + 1);

	replay->phase_epoch++;
	if (!err)
		replay->ranges[replay->nr_ranges++] =
			(struct vs_replay_range){start->id, start->name};
	return err;
}

static void end_range(struct vs_replay *replay, uint64_t id)
{
	size_t i = replay->nr_ranges;

	replay->phase_epoch++;
	while (i > 0 && replay->ranges[i - 1].id != id)
		i--;
	if (!i)
		return;
	memmove(&replay->ranges[i - 1], &replay->ranges[i],
		(replay->nr_ranges - i) * sizeof(replay->ranges[0]));
	replay->nr_ranges--;
}

static void note_failure(struct vs_replay *replay, const struct vs_alloc_failed *failed)
{
	struct vs_replay_device *device = vs_replay_get_device(replay, failed->device);

	if (!device || !failed->total_size)
		return;
	device->known_free = failed->free_size;
	device->known_total = failed->total_size;
}

/* ---- One record ----------------------------------------------------------------------------- */

static int open_window(struct vs_replay *replay)
{
	struct vs_observer *observer;
	int err = 0;

	replay->is_in_window = true;
	for (observer = replay->observers; observer && !err; observer = observer->next)
		if (observer->on_window)
			err = observer->on_window(observer, replay);
	return err;
}

/* NVML's word makes no device: one that is not there has no memory of ours. */
static struct vs_replay_device *find_sampled(const struct vs_replay *replay, uint32_t ordinal)
{
	return ordinal == VS_NO_DEVICE ? NULL : vs_replay_get_device(replay, ordinal);
}

/* About events that were counted. */
static void note_source(struct vs_replay *replay, const struct vs_seen_by *seen_by)
{
	if (seen_by->source == VS_SEEN_BY_CUPTI)
		replay->counters.nr_seen_by_cupti += seen_by->nr_events;
}

/* Records that do not happen to the program: definitions, and what is only told. */
static int define(struct vs_replay *replay, const struct vs_record *record)
{
	struct vs_replay_device *device;

	switch (record->type) {
	case VS_RECORD_DEVICE:
		return define_device(replay, &record->device);
	case VS_RECORD_POOL:
		return define_pool(replay, &record->pool);
	case VS_RECORD_LOST:
		replay->counters.nr_lost += record->lost.nr_events;
		return 0;
	case VS_RECORD_SEEN_BY:
		note_source(replay, &record->seen_by);
		return 0;
	case VS_RECORD_MEMORY_INFO:
		device = find_sampled(replay, record->memory_info.device);
		if (device)
			vs_memory_sample_set(&device->memory, record,
					     vs_replay_get_reserved(device));
		return 0;
	case VS_RECORD_MEMORY_OWN:
		device = find_sampled(replay, record->memory_own.device);
		if (device)
			vs_memory_sample_set_own(&device->memory, &record->memory_own);
		return 0;
	case VS_RECORD_MEMORY_HOLDER:
		device = find_sampled(replay, record->memory_holder.device);
		if (device)
			vs_memory_sample_add_holder(&device->memory, &record->memory_holder);
		return 0;
	default:
		replay->phase_epoch += record->type == VS_RECORD_NAME;
		/* It has a site from now on. */
		if (record->type == VS_RECORD_STACK && record->stack.id < replay->by_stack_capacity)
			replay->by_stack[record->stack.id] = NULL;
		return vs_definitions_add(&replay->definitions, record);
	}
}

static int apply(struct vs_replay *replay, struct vs_replay_thread *thread,
		 const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_ALLOC:
		return apply_alloc(replay, &record->alloc);
	case VS_RECORD_FREE:
		return apply_free(replay, thread, &record->free);
	case VS_RECORD_FREE_FAILED:
		return apply_free_failed(replay, thread, &record->free_failed);
	case VS_RECORD_ALLOC_FAILED:
		note_failure(replay, &record->alloc_failed);
		return 0;
	case VS_RECORD_RESERVE:
		return vs_replay_vmm_reserve(replay, &record->reserve);
	case VS_RECORD_UNRESERVE:
		return vs_replay_vmm_unreserve(replay, &record->reserve);
	case VS_RECORD_MAP:
		return vs_replay_vmm_map(replay, &record->map);
	case VS_RECORD_UNMAP:
		return vs_replay_vmm_apply_unmap(replay, &record->map);
	case VS_RECORD_CONTEXT:
		return apply_context(replay, &record->context);
	case VS_RECORD_POOL_STATE:
		apply_pool_state(replay, &record->pool_state);
		return 0;
	case VS_RECORD_POOL_END:
		return apply_pool_end(replay, record->pool_end.pool);
	case VS_RECORD_BLOCK_ALLOC:
		return vs_replay_blocks_alloc(replay, thread, &record->block_alloc);
	case VS_RECORD_BLOCK_ASKED:
		vs_replay_blocks_explain(replay, thread, &record->block_asked);
		return 0;
	case VS_RECORD_BLOCK_FREE:
		return vs_replay_blocks_free(replay, &record->block_free);
	case VS_RECORD_ADOPTED:
		return vs_replay_blocks_adopt(replay, &record->adopted);
	case VS_RECORD_PHASE_PUSH:
		return push_phase(replay, thread, record->phase_push.name);
	case VS_RECORD_PHASE_POP:
		pop_phase(replay, thread);
		return 0;
	case VS_RECORD_RANGE_START:
		return start_range(replay, &record->range_start);
	case VS_RECORD_RANGE_END:
		end_range(replay, record->range_end.id);
		return 0;
	case VS_RECORD_STEP:
		replay->nr_steps++;
		replay->step_number = record->step.number;
		return 0;
	default:
		return 0;
	}
}

static int add_event(struct vs_replay *replay, const struct vs_record *record)
{
	struct vs_replay_thread *thread;
	int err = vs_replay_items_get_thread(replay, record->thread, &thread);

	if (err)
		return err;
	if (!replay->is_in_window && record->time_ns >= replay->from_ns)
		err = open_window(replay);
	if (!err)
		err = vs_replay_items_tell_before(replay, record);
	if (err)
		return err;
	/* Threads' clocks are read a little before their records get their places. */
	if (record->time_ns > replay->now_ns)
		replay->now_ns = record->time_ns;
	if (!replay->counters.nr_events++)
		replay->first_ns = record->time_ns;
	replay->counters.nr_driver_events += vs_record_is_of_driver(record->type);
	if (record->type != VS_RECORD_FREE_FAILED)
		vs_replay_items_forget_freed(replay, thread);
	return apply(replay, thread, record);
}

int vs_replay_add(struct vs_replay *replay, const struct vs_record *record)
{
	uint32_t type = record->type < VS_NR_RECORDS ? record->type : VS_NR_RECORDS - 1;
	const struct vs_listeners *listeners = &replay->on_record[type];
	uint32_t i;
	int err;

	vs_replay_settle(replay);
	replay->counters.nr_records++;
	err = vs_replay_plain_add(replay, record);
	if (err)
		return err < 0 ? err : 0;
	err = vs_replay_is_event(record) ? add_event(replay, record) : define(replay, record);
	for (i = 0; i < listeners->nr && !err; i++)
		err = listeners->observers[i]->on_record(listeners->observers[i], replay, record);
	return err;
}

void vs_replay_settle(struct vs_replay *replay)
{
	if (replay->nr_vacant)
		vs_replay_plain_settle(replay);
}

int vs_replay_end(struct vs_replay *replay)
{
	struct vs_observer *observer;
	int err = 0;

	vs_replay_settle(replay);
	/* Nothing happened in it; what was there before is there all the same. */
	if (!replay->is_in_window && replay->from_ns)
		err = open_window(replay);
	for (observer = replay->observers; observer && !err; observer = observer->next)
		if (observer->on_end)
			err = observer->on_end(observer, replay);
	return err;
}

/* ---- Questions ------------------------------------------------------------------------------ */

uint64_t vs_replay_get_held(const struct vs_replay_pool *pool)
{
	return pool->sampled_reserved > pool->block_bytes ? pool->sampled_reserved
							  : pool->block_bytes;
}

struct vs_replay_device *vs_replay_get_device(const struct vs_replay *replay, uint32_t ordinal)
{
	if (ordinal == VS_NO_DEVICE)
		return replay->nr_devices ? replay->devices[0] : NULL;
	return vs_id_map_get(&replay->devices_by_ordinal, ordinal);
}

struct vs_replay_pool *vs_replay_get_pool(const struct vs_replay *replay, uint32_t id)
{
	return vs_id_map_get(&replay->pools_by_id, id);
}

struct vs_replay_pool *vs_replay_get_driver_pool(const struct vs_replay *replay,
						 const struct vs_alloc_failed *failed)
{
	struct vs_replay_pool *pool = NULL;

	if (failed->kind == VS_MEMORY_ASYNC && failed->pool != VS_NO_ID)
		pool = vs_replay_get_pool(replay, failed->pool);
	return pool && pool->owner == VS_POOL_DRIVER ? pool : NULL;
}

const struct vs_replay_thread *vs_replay_get_phase_thread(const struct vs_replay *replay,
							  uint32_t id)
{
	const struct vs_replay_thread *thread = vs_id_map_get(&replay->threads, id);
	const struct vs_replay_thread *last = NULL;
	size_t i;

	if (thread && thread->nr_phases)
		return thread;
	for (i = 0; i < replay->nr_in_phases; i++)
		if (!last || replay->in_phases[i]->last_push > last->last_push)
			last = replay->in_phases[i];
	return last;
}

const char *vs_replay_get_phase(const struct vs_replay *replay, uint32_t id)
{
	const struct vs_replay_thread *thread = vs_replay_get_phase_thread(replay, id);
	uint32_t name;

	if (thread)
		name = thread->phases[thread->nr_phases - 1];
	else if (replay->nr_ranges)
		name = replay->ranges[replay->nr_ranges - 1].name;
	else
		return NULL;
	return vs_definitions_get_name(&replay->definitions, name);
}
