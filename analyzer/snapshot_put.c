/* The order of everything here is that of docs/trace-format.md, section 9.4. */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "number_column.h"
#include "replay_items.h"
#include "snapshot_layout.h"
#include "snapshot_rows.h"

/* Whoever adds to one of these learns here that snapshots must have it, too, or make it anew. */
#define SIZE_OF(name, bytes)                                                \
	_Static_assert(sizeof(void *) != 8 || sizeof(struct name) == bytes, \
		       "struct " #name " has changed: what is in snapshots?")
SIZE_OF(vs_replay, 11272);
SIZE_OF(vs_replay_counters, 64);
SIZE_OF(vs_replay_device, 416);
SIZE_OF(vs_memory_sample, 304);
SIZE_OF(vs_replay_pool, 88);
SIZE_OF(vs_replay_thread, 104);
SIZE_OF(vs_account, 48);
SIZE_OF(vs_reservation, 80);
SIZE_OF(vs_mapping, 80);
SIZE_OF(vs_item, 256);

/* What has to be known of a snapshot to tell the next one. */
struct past {
	struct vs_snapshot_rows rows;
	struct vs_snapshot_origin origin;
	uint32_t *apis; /* of its accounts */
	size_t nr_accounts;
	size_t apis_capacity;
	struct vs_pack virtual; /* its reservations and mappings */
};

struct vs_snapshot_memory {
	bool has_last;
	struct past last;
	struct past next; /* of the one that was just put */
};

struct gatherer {
	const struct vs_replay *replay;
	struct vs_pack *out;
	const struct vs_replay_thread **threads; /* by id */
	size_t nr_threads;
	struct vs_id_map handles; /* id -> 1 + its place; they are the first rows */
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

static uint64_t put_pool(const struct vs_replay_pool *pool)
{
	return pool ? pool->index + 1ull : 0;
}

static uint64_t get_handle(const struct gatherer *gatherer, const struct vs_item *handle)
{
	return handle ? (uintptr_t)vs_id_map_get(&gatherer->handles, handle->id) : 0;
}

/* Room for a column; NULL is noted. */
static uint64_t *make_column(struct gatherer *gatherer, size_t nr)
{
	uint64_t *numbers = gatherer->out->error ? NULL : calloc(nr + 1, sizeof(*numbers));

	if (!numbers)
		note(gatherer, -VS_ERR_NO_MEMORY);
	return numbers;
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

/* ---- Accounts ------------------------------------------------------------------------------- */

/* Those from the account `first` on. */
static void put_accounts(struct gatherer *gatherer, size_t first)
{
	struct vs_account *const *accounts = gatherer->replay->accounts + first;
	size_t nr = gatherer->replay->nr_accounts - first, i;
	uint64_t *numbers = make_column(gatherer, nr);
	uint64_t site = first ? accounts[-1]->site->index : 0;

	if (!numbers)
		return;
	put(gatherer, nr);
	/* Sites are defined right before they are first used: mostly this is 1. */
	for (i = 0; i < nr; i++) {
		numbers[i] = accounts[i]->site->index - site;
		site = accounts[i]->site->index;
	}
	vs_number_column_put(gatherer->out, VS_NUMBERS_SIGNED, numbers, nr);
	for (i = 0; i < nr; i++)
		numbers[i] =
			(uint64_t)accounts[i]->device->index * VS_NR_DOMAINS + accounts[i]->domain;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	for (i = 0; i < nr; i++)
		numbers[i] = accounts[i]->api;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	free(numbers);
}

static void put_account_sums(struct gatherer *gatherer)
{
	struct vs_account *const *accounts = gatherer->replay->accounts;
	size_t nr = gatherer->replay->nr_accounts, i;
	uint64_t *numbers = make_column(gatherer, nr);

	if (!numbers)
		return;
	for (i = 0; i < nr; i++)
		numbers[i] = accounts[i]->live_bytes;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	for (i = 0; i < nr; i++)
		numbers[i] = accounts[i]->live_count;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	free(numbers);
}

/* Accounts that were there, and have learnt which function they come from. */
static void put_changed_apis(struct gatherer *gatherer, const struct past *last)
{
	struct vs_account *const *accounts = gatherer->replay->accounts;
	uint64_t *which = make_column(gatherer, last->nr_accounts);
	size_t nr = 0, i;

	if (!which)
		return;
	for (i = 0; i < last->nr_accounts; i++)
		if (accounts[i]->api != last->apis[i])
			which[nr++] = i;
	put(gatherer, nr);
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, which, nr);
	for (i = 0; i < nr; i++)
		which[i] = accounts[which[i]]->api;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, which, nr);
	free(which);
}

static void remember_accounts(struct gatherer *gatherer, struct past *next)
{
	const struct vs_replay *replay = gatherer->replay;
	size_t i;

	note(gatherer, VS_GROW(next->apis, next->apis_capacity, replay->nr_accounts));
	if (gatherer->out->error)
		return;
	next->nr_accounts = replay->nr_accounts;
	for (i = 0; i < replay->nr_accounts; i++)
		next->apis[i] = replay->accounts[i]->api;
}

/* ---- Virtual memory ------------------------------------------------------------------------- */

/* Addresses, each from the end of the one before, and sizes. */
static void put_ranges_of(struct gatherer *gatherer, const struct vs_range_tree *tree,
			  uint64_t *numbers)
{
	const struct vs_range *range;
	uint64_t from = 0;
	size_t nr = 0;

	put(gatherer, tree->nr_ranges);
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		numbers[nr++] = range->base - from;
		from = vs_range_end(range);
	}
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	nr = 0;
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range))
		numbers[nr++] = range->size;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
}

static const struct vs_reservation *reservation_of(const struct vs_range *range)
{
	return (const struct vs_reservation *)(const void *)range; /* its first member */
}

static void put_reservations(struct gatherer *gatherer)
{
	const struct vs_range_tree *tree = &gatherer->replay->reservations;
	uint64_t *numbers = make_column(gatherer, tree->nr_ranges);
	const struct vs_range *range;
	size_t nr = 0;

	if (!numbers)
		return;
	put_ranges_of(gatherer, tree, numbers);
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range))
		numbers[nr++] = reservation_of(range)->id;
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	nr = 0;
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range))
		numbers[nr++] = put_pool(reservation_of(range)->owner);
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	free(numbers);
}

static void put_mappings(struct gatherer *gatherer)
{
	const struct vs_range_tree *tree = &gatherer->replay->mappings;
	uint64_t *numbers = make_column(gatherer, tree->nr_ranges);
	const struct vs_range *range;
	size_t nr = 0;

	if (!numbers)
		return;
	put_ranges_of(gatherer, tree, numbers);
	for (range = vs_range_tree_first(tree); range; range = vs_range_tree_next(tree, range)) {
		const struct vs_mapping *mapping =
			(const struct vs_mapping *)(const void *)range; /* its first member */

		numbers[nr++] = get_handle(gatherer, mapping->handle) << 1 | mapping->is_owned;
	}
	vs_number_column_put(gatherer->out, VS_NUMBERS_PLAIN, numbers, nr);
	free(numbers);
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

static void put_threads(struct gatherer *gatherer, bool is_alive)
{
	uint32_t last = 0;
	size_t i, k;

	put(gatherer, gatherer->nr_threads);
	for (i = 0; i < gatherer->nr_threads; i++) {
		const struct vs_replay_thread *thread = gatherer->threads[i];
		bool has_freed = thread->has_freed && is_alive;

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

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Where the following bytes go until end_part. */
static struct vs_pack *begin_part(struct gatherer *gatherer, struct vs_pack *part)
{
	struct vs_pack *out = gatherer->out;

	part->size = 0;
	part->error = out->error;
	gatherer->out = part;
	return out;
}

static void end_part(struct gatherer *gatherer, struct vs_pack *out)
{
	const struct vs_pack *part = gatherer->out;

	gatherer->out = out;
	note(gatherer, part->error);
	vs_pack_put_varint(out, part->size);
	vs_pack_put_bytes(out, part->bytes, part->size);
}

static void put_state(struct gatherer *gatherer, bool is_alive)
{
	struct vs_pack part = {0}, *out = begin_part(gatherer, &part);

	put_numbers(gatherer);
	put_devices(gatherer);
	put_pools(gatherer);
	if (!part.error)
		put_threads(gatherer, is_alive);
	if (!part.error)
		put_ranges(gatherer);
	end_part(gatherer, out);
	vs_pack_fini(&part);
}

static void put_all_accounts(struct gatherer *gatherer, const struct past *last)
{
	struct vs_pack part = {0}, *out = begin_part(gatherer, &part);

	put_accounts(gatherer, last ? last->nr_accounts : 0);
	if (last)
		put_changed_apis(gatherer, last);
	else
		put(gatherer, 0);
	end_part(gatherer, out);
	vs_pack_fini(&part);
}

/* It seldom changes. */
static void put_virtual(struct gatherer *gatherer, const struct past *last, struct past *next)
{
	struct vs_pack *part = &next->virtual, *out = begin_part(gatherer, part);
	bool is_same;

	put_reservations(gatherer);
	put_mappings(gatherer);
	is_same = last && part->size == last->virtual.size &&
		  !memcmp(part->bytes, last->virtual.bytes, part->size);
	if (!is_same) {
		end_part(gatherer, out);
		return;
	}
	gatherer->out = out;
	note(gatherer, part->error);
	put(gatherer, 0);
}

/* ---- Snapshots ------------------------------------------------------------------------------ */

static void fini_past(struct past *past)
{
	vs_snapshot_rows_fini(&past->rows);
	free(past->apis);
	vs_pack_fini(&past->virtual);
}

int vs_snapshot_memory_create(struct vs_snapshot_memory **memory)
{
	*memory = calloc(1, sizeof(**memory));
	return *memory ? 0 : -VS_ERR_NO_MEMORY;
}

void vs_snapshot_memory_destroy(struct vs_snapshot_memory *memory)
{
	if (!memory)
		return;
	fini_past(&memory->last);
	fini_past(&memory->next);
	free(memory);
}

void vs_snapshot_memory_keep(struct vs_snapshot_memory *memory)
{
	struct past last = memory->last;

	memory->last = memory->next;
	memory->next = last;
	memory->has_last = true;
}

size_t vs_snapshot_memory_count(const struct vs_snapshot_memory *memory)
{
	return memory->last.rows.nr;
}

size_t vs_snapshot_put(struct vs_pack *pack, const struct vs_replay *replay,
		       struct vs_snapshot_memory *memory, bool is_whole)
{
	static const struct past nothing;
	struct gatherer gatherer = {.replay = replay, .out = pack};
	const struct past *last = memory->has_last && !is_whole ? &memory->last : NULL;
	struct past *next = &memory->next;
	size_t nr = 0;

	gather_threads(&gatherer);
	if (!pack->error)
		note(&gatherer, vs_snapshot_rows_gather(&next->rows, &memory->last.rows, replay,
							gatherer.threads, gatherer.nr_threads,
							&gatherer.handles));
	next->origin =
		(struct vs_snapshot_origin){replay->last_id, replay->now_ns, replay->nr_steps};
	remember_accounts(&gatherer, next);
	put_state(&gatherer, true);
	put_all_accounts(&gatherer, last);
	put_virtual(&gatherer, last, next);
	if (!pack->error)
		nr = vs_snapshot_change_put(pack, last ? &last->rows : &nothing.rows, &next->rows,
					    last ? &last->origin : &nothing.origin);
	free(gatherer.threads);
	vs_id_map_fini(&gatherer.handles);
	return nr;
}

void vs_snapshot_put_sums(struct vs_pack *pack, const struct vs_replay *replay)
{
	struct gatherer gatherer = {.replay = replay, .out = pack};

	gather_threads(&gatherer);
	put_state(&gatherer, false);
	put_accounts(&gatherer, 0);
	put_account_sums(&gatherer);
	free(gatherer.threads);
}
