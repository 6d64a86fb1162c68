/* The order of everything here is that of docs/trace-format.md, section 9.4. */
#include <stdlib.h>

#include "grow.h"
#include "replay_items.h"
#include "snapshot.h"
#include "snapshot_layout.h"

/* Whoever adds to one of these learns here that snapshots must have it, too, or make it anew. */
#define SIZE_OF(name, bytes)                                                \
	_Static_assert(sizeof(void *) != 8 || sizeof(struct name) == bytes, \
		       "struct " #name " has changed: what is in snapshots?")
SIZE_OF(vs_replay, 11024);
SIZE_OF(vs_replay_counters, 64);
SIZE_OF(vs_replay_device, 416);
SIZE_OF(vs_memory_sample, 304);
SIZE_OF(vs_replay_pool, 88);
SIZE_OF(vs_replay_thread, 104);
SIZE_OF(vs_account, 48);
SIZE_OF(vs_reservation, 80);
SIZE_OF(vs_mapping, 80);
SIZE_OF(vs_item, 256);

/* An item on its way into the columns. */
struct entry {
	const struct vs_item *item;
	uint64_t gap; /* between it and what is before it */
	uint32_t nr_children;
	uint32_t rank; /* in the order of ids */
};

struct gatherer {
	const struct vs_replay *replay;
	struct vs_pack *out;
	const struct vs_replay_thread **threads; /* by id */
	size_t nr_threads;
	struct entry *entries;
	size_t nr_entries;
	size_t entries_capacity;
	struct vs_id_map handles; /* id -> 1 + its place; they are the first entries */
	size_t nr_handles;
};

/* The first thing that fails is kept: see struct vs_pack. */
static void note(struct gatherer *gatherer, int err)
{
	if (!gatherer->out->error)
		gatherer->out->error = err;
}

static void put(struct gatherer *gatherer, uint64_t value)
{
	vs_pack_put_varint(gatherer->out, value);
}

/* ---- What is there before anything lives ---------------------------------------------------- */

static void put_numbers(struct gatherer *gatherer)
{
	const struct vs_replay *replay = gatherer->replay;
	const struct vs_replay_counters *counters = &replay->counters;

	put(gatherer, counters->nr_records);
	put(gatherer, counters->nr_events);
	put(gatherer, counters->nr_lost);
	put(gatherer, counters->nr_overlaps);
	put(gatherer, counters->nr_orphan_blocks);
	put(gatherer, counters->nr_unmatched_frees);
	put(gatherer, counters->nr_driver_events);
	put(gatherer, counters->nr_seen_by_cupti);
	put(gatherer, replay->last_id);
	put(gatherer, replay->last_reservation_id);
	put(gatherer, replay->first_ns);
	put(gatherer, replay->now_ns);
	put(gatherer, replay->nr_steps);
	put(gatherer, replay->step_number);
	put(gatherer, replay->nr_phases);
}

static void put_memory(struct gatherer *gatherer, const struct vs_memory_sample *sample)
{
	uint32_t i;

	put(gatherer, sample->is_known);
	if (!sample->is_known)
		return;
	put(gatherer, sample->time_ns);
	put(gatherer, sample->booked_bytes);
	put(gatherer, sample->info.flags);
	put(gatherer, sample->info.total_size);
	put(gatherer, sample->info.free_size);
	put(gatherer, sample->info.used_size);
	put(gatherer, sample->info.reserved_size);
	put(gatherer, sample->own.flags);
	put(gatherer, sample->own.nr_others);
	put(gatherer, sample->own.own_size);
	put(gatherer, sample->own.others_size);
	put(gatherer, sample->own.context_size);
	put(gatherer, sample->nr_holders);
	for (i = 0; i < sample->nr_holders; i++) {
		put(gatherer, sample->holders[i].pid);
		put(gatherer, sample->holders[i].name);
		put(gatherer, sample->holders[i].size);
	}
}

static void put_device(struct gatherer *gatherer, const struct vs_replay_device *device)
{
	put(gatherer, device->ordinal);
	put(gatherer, (device->is_defined ? VS_SNAPSHOT_DEFINED : 0u) |
			      (device->is_simulated ? VS_SNAPSHOT_SIMULATED : 0u));
	put(gatherer, device->compute_capability);
	vs_pack_put_bytes(gatherer->out, device->uuid, sizeof(device->uuid));
	vs_pack_put_text(gatherer->out, device->name);
	put(gatherer, device->total_size);
	put(gatherer, device->known_free);
	put(gatherer, device->known_total);
	put_memory(gatherer, &device->memory);
	put(gatherer, device->live_bytes);
	put(gatherer, device->live_count);
	put(gatherer, device->segment_bytes);
	put(gatherer, device->handle_bytes);
	put(gatherer, device->driver_pool_bytes);
}

/* In the order of their index, not of their ordinals. */
static void put_devices(struct gatherer *gatherer)
{
	const struct vs_replay *replay = gatherer->replay;
	size_t index, i;

	put(gatherer, replay->nr_devices);
	for (index = 0; index < replay->nr_devices; index++)
		for (i = 0; i < replay->nr_devices; i++)
			if (replay->devices[i]->index == index)
				put_device(gatherer, replay->devices[i]);
}

static uint64_t find_key(const struct vs_id_map *map, const void *value)
{
	size_t i = 0;

	while (map->slots[i].value != value)
		i++;
	return map->slots[i].id;
}

static void put_pools(struct gatherer *gatherer)
{
	const struct vs_replay *replay = gatherer->replay;
	size_t i;

	put(gatherer, replay->nr_pools);
	for (i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		put(gatherer, find_key(&replay->pools_by_id, pool));
		put(gatherer, pool->id);
		put(gatherer, pool->owner);
		put(gatherer, pool->device->index);
		put(gatherer, pool->limit_size);
		vs_pack_put_text(gatherer->out, pool->name);
		put(gatherer, (pool->is_ended ? VS_SNAPSHOT_ENDED : 0u) |
				      (pool->is_sampled ? VS_SNAPSHOT_SAMPLED : 0u));
		put(gatherer, pool->sampled_reserved);
		put(gatherer, pool->block_bytes);
		put(gatherer, pool->nr_blocks);
		put(gatherer, pool->segment_bytes);
	}
}

static void put_accounts(struct gatherer *gatherer, bool with_sums)
{
	struct vs_account *const *accounts = gatherer->replay->accounts;
	size_t nr = gatherer->replay->nr_accounts, i;
	uint64_t site = 0;

	put(gatherer, nr);
	/* Sites are defined right before they are first used: mostly this is 1. */
	for (i = 0; i < nr; i++) {
		put(gatherer, vs_wire_fold_sign(accounts[i]->site->index - site));
		site = accounts[i]->site->index;
	}
	for (i = 0; i < nr; i++)
		put(gatherer,
		    (uint64_t)accounts[i]->device->index * VS_NR_DOMAINS + accounts[i]->domain);
	for (i = 0; i < nr; i++)
		put(gatherer, accounts[i]->api);
	for (i = 0; i < nr && with_sums; i++) {
		put(gatherer, accounts[i]->live_bytes);
		put(gatherer, accounts[i]->live_count);
	}
}

/* ---- What is alive -------------------------------------------------------------------------- */

static struct entry *add_entry(struct gatherer *gatherer, const struct vs_item *item)
{
	note(gatherer,
	     VS_GROW(gatherer->entries, gatherer->entries_capacity, gatherer->nr_entries + 1));
	if (gatherer->out->error)
		return NULL;
	gatherer->entries[gatherer->nr_entries] = (struct entry){.item = item};
	return &gatherer->entries[gatherer->nr_entries++];
}

static int compare_numbers(const void *a, const void *b)
{
	const struct vs_item *x = ((const struct entry *)a)->item;
	const struct vs_item *y = ((const struct entry *)b)->item;

	if (x->range.base != y->range.base)
		return x->range.base < y->range.base ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Things with a number instead of an address, from the entry `first` on. */
static void sort_numbered(struct gatherer *gatherer, size_t first)
{
	uint64_t last = 0;
	size_t i;

	if (first == gatherer->nr_entries)
		return;
	qsort(gatherer->entries + first, gatherer->nr_entries - first, sizeof(struct entry),
	      compare_numbers);
	for (i = first; i < gatherer->nr_entries; i++) {
		gatherer->entries[i].gap = gatherer->entries[i].item->range.base - last;
		last = gatherer->entries[i].item->range.base;
	}
}

static void gather_map(struct gatherer *gatherer, const struct vs_id_map *map)
{
	size_t first = gatherer->nr_entries, slot = 0;
	const struct vs_item *item;

	while ((item = vs_id_map_next(map, &slot)))
		add_entry(gatherer, item);
	sort_numbered(gatherer, first);
}

static const struct vs_mapping *mapping_of(const struct vs_range *range)
{
	return (const struct vs_mapping *)(const void *)range; /* its first member */
}

/* Those that only mappings keep alive are in no map. */
static void gather_released(struct gatherer *gatherer)
{
	const struct vs_range_tree *tree = &gatherer->replay->mappings;
	const struct vs_range *range;

	for (range = vs_range_tree_first(tree); range && !gatherer->out->error;
	     range = vs_range_tree_next(tree, range)) {
		struct vs_item *handle = mapping_of(range)->handle;

		if (!handle || !handle->is_released ||
		    vs_id_map_get(&gatherer->handles, handle->id))
			continue;
		add_entry(gatherer, handle);
		note(gatherer, vs_id_map_put(&gatherer->handles, handle->id, handle));
	}
}

static void gather_handles(struct gatherer *gatherer)
{
	const struct vs_item *item;
	size_t slot = 0, i;

	gather_released(gatherer);
	while ((item = vs_id_map_next(&gatherer->replay->handles, &slot)))
		add_entry(gatherer, item);
	sort_numbered(gatherer, 0);
	gatherer->nr_handles = gatherer->nr_entries;
	for (i = 0; i < gatherer->nr_entries; i++)
		note(gatherer, vs_id_map_put(&gatherer->handles, gatherer->entries[i].item->id,
					     (void *)(uintptr_t)(i + 1)));
}

static uint64_t get_handle(const struct gatherer *gatherer, const struct vs_item *handle)
{
	return handle ? (uintptr_t)vs_id_map_get(&gatherer->handles, handle->id) : 0;
}

/* How deep blocks stand in each other is bounded by the replay. */
static void gather_tree(struct gatherer *gatherer, const struct vs_range_tree *tree, uint64_t from)
{
	const struct vs_range *range;

	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		const struct vs_item *item = (const struct vs_item *)(const void *)range;
		struct entry *entry = add_entry(gatherer, item);

		if (!entry)
			return;
		entry->gap = range->base - from;
		entry->nr_children = (uint32_t)item->blocks.nr_ranges;
		gather_tree(gatherer, &item->blocks, range->base);
		from = vs_range_end(range);
	}
}

/* What was in something freed: the highest first, as it was taken out from the lowest on. */
static void gather_held(struct gatherer *gatherer, const struct vs_item *parent, size_t entry)
{
	uint64_t to = vs_range_end(&parent->range);
	const struct vs_item *item;

	for (item = parent->held; item && !gatherer->out->error; item = item->next_held) {
		struct entry *held = add_entry(gatherer, item);

		if (!held)
			return;
		held->gap = to - vs_range_end(&item->range);
		to = item->range.base;
		gatherer->entries[entry].nr_children++;
		gather_held(gatherer, item, gatherer->nr_entries - 1);
	}
}

/* Returns how many there are. */
static size_t gather_freed(struct gatherer *gatherer)
{
	size_t nr = 0, i;

	for (i = 0; i < gatherer->nr_threads; i++) {
		const struct vs_item *freed = gatherer->threads[i]->freed;
		struct entry *entry = freed ? add_entry(gatherer, freed) : NULL;

		if (!entry)
			continue;
		entry->gap = freed->range.base;
		gather_held(gatherer, freed, gatherer->nr_entries - 1);
		nr++;
	}
	return nr;
}

static uint64_t put_pool(const struct vs_replay_pool *pool)
{
	return pool ? pool->index + 1ull : 0;
}

static uint64_t put_shape(const struct vs_item *item)
{
	return (uint64_t)item->class | (uint64_t)item->kind << VS_SNAPSHOT_KIND_SHIFT |
	       (item->is_released ? VS_SNAPSHOT_RELEASED : 0u);
}

/* One column after the other: what is alike stands together, and hardly takes room. */
static void put_columns(struct gatherer *gatherer)
{
	const struct entry *entries = gatherer->entries;
	size_t nr = gatherer->nr_entries, i;

	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].nr_children);
	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].gap);
	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].item->size);
	for (i = 0; i < nr; i++)
		put(gatherer, put_shape(entries[i].item));
	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].item->account->index);
	for (i = 0; i < nr; i++)
		put(gatherer, put_pool(entries[i].item->pool));
	for (i = 0; i < nr; i++)
		put(gatherer, put_pool(entries[i].item->owner));
	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].item->api);
	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].item->context);
	for (i = 0; i < nr; i++)
		put(gatherer, entries[i].rank);
}

static int compare_ids(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	return x->item->id < y->item->id ? -1 : x->item->id > y->item->id;
}

static uint64_t get_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Births, from the oldest to the youngest. Most times are multiples of the trace's unit. */
static void put_births(struct gatherer *gatherer, struct entry *const *by_id)
{
	uint64_t unit = 0, last_id = 0, last_ns = 0, last_step = 0, last_run = 0;
	size_t nr = gatherer->nr_entries, i;

	for (i = 0; i < nr; i++)
		unit = get_common_divisor(unit, by_id[i]->item->birth_ns);
	unit = unit ? unit : 1;
	put(gatherer, unit);
	for (i = 0; i < nr; i++) {
		put(gatherer, by_id[i]->item->id - last_id);
		last_id = by_id[i]->item->id;
	}
	for (i = 0; i < nr; i++) {
		put(gatherer, (by_id[i]->item->birth_ns - last_ns) / unit);
		last_ns = by_id[i]->item->birth_ns;
	}
	for (i = 0; i < nr; i++) {
		put(gatherer, by_id[i]->item->birth_step - last_step);
		last_step = by_id[i]->item->birth_step;
	}
	for (i = 0; i < nr; i++) {
		put(gatherer, by_id[i]->item->slack_size);
		put(gatherer, vs_wire_fold_sign(by_id[i]->item->run - last_run));
		last_run = by_id[i]->item->run;
	}
}

static void put_entries(struct gatherer *gatherer)
{
	struct entry **by_id = calloc(gatherer->nr_entries + 1, sizeof(*by_id));
	size_t i;

	if (!by_id) {
		note(gatherer, -VS_ERR_NO_MEMORY);
		return;
	}
	for (i = 0; i < gatherer->nr_entries; i++)
		by_id[i] = &gatherer->entries[i];
	qsort(by_id, gatherer->nr_entries, sizeof(by_id[0]), compare_ids);
	for (i = 0; i < gatherer->nr_entries; i++)
		by_id[i]->rank = (uint32_t)i;
	put_columns(gatherer);
	put_births(gatherer, by_id);
	free(by_id);
}

static void put_items(struct gatherer *gatherer)
{
	size_t nr_freed;

	gather_handles(gatherer);
	gather_map(gatherer, &gatherer->replay->arrays);
	gather_tree(gatherer, &gatherer->replay->regions, 0);
	nr_freed = gather_freed(gatherer);
	if (gatherer->out->error)
		return;
	put(gatherer, gatherer->nr_entries);
	put(gatherer, gatherer->nr_handles);
	put(gatherer, gatherer->replay->arrays.nr_used);
	put(gatherer, gatherer->replay->regions.nr_ranges);
	put(gatherer, nr_freed);
	put_entries(gatherer);
}

static void put_reservations(struct gatherer *gatherer)
{
	const struct vs_range_tree *tree = &gatherer->replay->reservations;
	const struct vs_range *range;
	uint64_t from = 0;

	put(gatherer, tree->nr_ranges);
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		const struct vs_reservation *reservation =
			(const struct vs_reservation *)(const void *)range; /* its first member */

		put(gatherer, range->base - from);
		put(gatherer, range->size);
		put(gatherer, reservation->id);
		put(gatherer, put_pool(reservation->owner));
		from = vs_range_end(range);
	}
}

static void put_mappings(struct gatherer *gatherer)
{
	const struct vs_range_tree *tree = &gatherer->replay->mappings;
	const struct vs_range *range;
	uint64_t from = 0;

	put(gatherer, tree->nr_ranges);
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		put(gatherer, range->base - from);
		put(gatherer, range->size);
		put(gatherer, get_handle(gatherer, mapping_of(range)->handle) << 1 |
				      mapping_of(range)->is_owned);
		from = vs_range_end(range);
	}
}

/* ---- Threads -------------------------------------------------------------------------------- */

static int compare_threads(const void *a, const void *b)
{
	const struct vs_replay_thread *x = *(const struct vs_replay_thread *const *)a;
	const struct vs_replay_thread *y = *(const struct vs_replay_thread *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void gather_threads(struct gatherer *gatherer)
{
	const struct vs_id_map *map = &gatherer->replay->threads;
	const struct vs_replay_thread *thread;
	size_t slot = 0;

	gatherer->threads = calloc(map->nr_used + 1, sizeof(gatherer->threads[0]));
	if (!gatherer->threads) {
		note(gatherer, -VS_ERR_NO_MEMORY);
		return;
	}
	while ((thread = vs_id_map_next(map, &slot)))
		gatherer->threads[gatherer->nr_threads++] = thread;
	qsort(gatherer->threads, gatherer->nr_threads, sizeof(gatherer->threads[0]),
	      compare_threads);
}

/* The free that the thread's next record may say has failed. */
static void put_freed(struct gatherer *gatherer, const struct vs_replay_thread *thread)
{
	put(gatherer, thread->freed_kind);
	put(gatherer, thread->freed_device ? thread->freed_device->index + 1ull : 0);
	put(gatherer, put_pool(thread->freed_pool));
	put(gatherer, get_handle(gatherer, thread->released));
	put(gatherer, thread->freed != NULL);
}

static void put_threads(struct gatherer *gatherer, enum vs_snapshot_kind kind)
{
	uint32_t last = 0;
	size_t i, k;

	put(gatherer, gatherer->nr_threads);
	for (i = 0; i < gatherer->nr_threads; i++) {
		const struct vs_replay_thread *thread = gatherer->threads[i];
		bool has_freed = thread->has_freed && kind == VS_SNAPSHOT_WHOLE;

		put(gatherer, thread->id - last);
		last = thread->id;
		put(gatherer, thread->nr_phases);
		for (k = 0; k < thread->nr_phases; k++)
			put(gatherer, thread->phases[k]);
		if (thread->nr_phases)
			put(gatherer, thread->last_push);
		put(gatherer, thread->placed);
		if (thread->placed)
			put(gatherer, put_pool(thread->placed_pool));
		put(gatherer, has_freed);
		if (has_freed)
			put_freed(gatherer, thread);
	}
}

static void put_ranges(struct gatherer *gatherer)
{
	const struct vs_replay *replay = gatherer->replay;
	size_t i;

	put(gatherer, replay->nr_ranges);
	for (i = 0; i < replay->nr_ranges; i++) {
		put(gatherer, replay->ranges[i].id);
		put(gatherer, replay->ranges[i].name);
	}
}

void vs_snapshot_put(struct vs_pack *pack, const struct vs_replay *replay,
		     enum vs_snapshot_kind kind)
{
	struct gatherer gatherer = {.replay = replay, .out = pack};

	gather_threads(&gatherer);
	put_numbers(&gatherer);
	put_devices(&gatherer);
	put_pools(&gatherer);
	put_accounts(&gatherer, kind == VS_SNAPSHOT_SUMS);
	if (kind == VS_SNAPSHOT_WHOLE) {
		put_items(&gatherer);
		put_reservations(&gatherer);
		put_mappings(&gatherer);
	}
	if (!pack->error)
		put_threads(&gatherer, kind);
	if (!pack->error)
		put_ranges(&gatherer);
	free(gatherer.threads);
	free(gatherer.entries);
	vs_id_map_fini(&gatherer.handles);
}
