/* The order of everything here is that of docs/trace-format.md, section 9.4. */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "number_column.h"
#include "replay_items.h"
#include "snapshot_chain.h"
#include "snapshot_items.h"
#include "snapshot_layout.h"

/* The sums of a device or a pool, which must come out again when all that lives has been born. */
#define NR_DEVICE_SUMS 5
#define NR_POOL_SUMS   3

struct device_sums {
	uint64_t numbers[NR_DEVICE_SUMS];
};

struct pool_sums {
	uint64_t numbers[NR_POOL_SUMS];
};

struct taker {
	struct vs_replay *replay;
	const struct vs_snapshot_chain *chain;
	struct vs_wire in; /* its state */
	bool is_alive;     /* not only sums */
	struct device_sums *devices;
	struct pool_sums *pools;
	struct vs_snapshot_items items;
};

static uint64_t get(struct taker *taker)
{
	return vs_wire_get_varint(&taker->in);
}

static uint32_t get32(struct taker *taker)
{
	return vs_wire_get_varint32(&taker->in);
}

static int fail(struct taker *taker)
{
	if (!taker->in.error)
		taker->in.error = -VS_ERR_CORRUPT;
	return taker->in.error;
}

/* The next number, which must be below a limit. */
static uint64_t get_below(struct taker *taker, uint64_t limit)
{
	uint64_t value = get(taker);

	if (value < limit)
		return value;
	fail(taker);
	return 0;
}

/* ---- What is there before anything lives ---------------------------------------------------- */

static void set_numbers(struct taker *taker)
{
	struct vs_replay *replay = taker->replay;
	const uint64_t *numbers = taker->chain->numbers;

	replay->counters = (struct vs_replay_counters){
		.nr_records = numbers[VS_SNAPSHOT_NR_RECORDS],
		.nr_events = numbers[VS_SNAPSHOT_NR_EVENTS],
		.nr_lost = numbers[VS_SNAPSHOT_NR_LOST],
		.nr_overlaps = numbers[VS_SNAPSHOT_NR_OVERLAPS],
		.nr_orphan_blocks = numbers[VS_SNAPSHOT_NR_ORPHAN_BLOCKS],
		.nr_unmatched_frees = numbers[VS_SNAPSHOT_NR_UNMATCHED_FREES],
		.nr_driver_events = numbers[VS_SNAPSHOT_NR_DRIVER_EVENTS],
		.nr_seen_by_cupti = numbers[VS_SNAPSHOT_NR_SEEN_BY_CUPTI],
	};
	replay->last_id = numbers[VS_SNAPSHOT_LAST_ID];
	replay->last_reservation_id = numbers[VS_SNAPSHOT_LAST_RESERVATION_ID];
	replay->first_ns = numbers[VS_SNAPSHOT_FIRST_NS];
	replay->now_ns = numbers[VS_SNAPSHOT_NOW_NS];
	replay->nr_steps = numbers[VS_SNAPSHOT_NR_STEPS];
	replay->step_number = numbers[VS_SNAPSHOT_STEP_NUMBER];
	replay->nr_phases = numbers[VS_SNAPSHOT_NR_PHASES];
}

/* 0 or -VS_ERR_NO_MEMORY; what is wrong with the text stays in the wire. */
static int get_name(struct taker *taker, char **name)
{
	const char *text = vs_pack_get_text(&taker->in);

	if (!text)
		return 0;
	*name = strdup(text);
	return *name ? 0 : -VS_ERR_NO_MEMORY;
}

static void get_memory(struct taker *taker, uint32_t ordinal, struct vs_memory_sample *sample)
{
	uint32_t i;

	sample->is_known = get_below(taker, 2);
	if (!sample->is_known)
		return;
	sample->time_ns = get(taker);
	sample->booked_bytes = get(taker);
	sample->info.device = ordinal;
	sample->info.flags = get32(taker);
	sample->info.total_size = get(taker);
	sample->info.free_size = get(taker);
	sample->info.used_size = get(taker);
	sample->info.reserved_size = get(taker);
	sample->own.flags = get32(taker);
	sample->own.nr_others = get32(taker);
	sample->own.own_size = get(taker);
	sample->own.others_size = get(taker);
	sample->own.context_size = get(taker);
	sample->nr_holders = (uint32_t)get_below(taker, VS_MEMORY_HOLDERS_MAX + 1);
	for (i = 0; i < sample->nr_holders; i++) {
		sample->holders[i].device = ordinal;
		sample->holders[i].pid = get32(taker);
		sample->holders[i].name = get32(taker);
		sample->holders[i].size = get(taker);
	}
}

static int get_device(struct taker *taker, size_t index)
{
	struct vs_replay_device *device;
	uint32_t ordinal = get32(taker);
	const uint8_t *uuid;
	uint64_t flags;
	size_t i;
	int err;

	if (taker->in.error || ordinal == VS_NO_DEVICE)
		return fail(taker);
	err = vs_replay_items_get_device(taker->replay, ordinal, &device);
	if (err)
		return err;
	if (device->index != index)
		return fail(taker);
	flags = get_below(taker, 4);
	device->is_defined = flags & VS_SNAPSHOT_DEFINED;
	device->is_simulated = flags & VS_SNAPSHOT_SIMULATED;
	device->compute_capability = get32(taker);
	uuid = vs_wire_get_bytes(&taker->in, sizeof(device->uuid));
	if (uuid)
		memcpy(device->uuid, uuid, sizeof(device->uuid));
	err = get_name(taker, &device->name);
	device->total_size = get(taker);
	device->known_free = get(taker);
	device->known_total = get(taker);
	get_memory(taker, ordinal, &device->memory);
	for (i = 0; i < NR_DEVICE_SUMS; i++)
		taker->devices[index].numbers[i] = get(taker);
	return err ? err : taker->in.error;
}

static int get_devices(struct taker *taker)
{
	size_t nr = vs_pack_get_count(&taker->in), i;
	int err = taker->in.error;

	taker->devices = calloc(nr + 1, sizeof(taker->devices[0]));
	if (!taker->devices)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < nr && !err; i++)
		err = get_device(taker, i);
	return err;
}

/* There is one. */
static struct vs_replay_device *find_device(const struct vs_replay *replay, uint64_t index)
{
	size_t i = 0;

	while (replay->devices[i]->index != index)
		i++;
	return replay->devices[i];
}

static void get_pool(struct taker *taker, struct vs_replay_pool *pool, struct pool_sums *sums)
{
	uint64_t flags, sampled;
	size_t i;

	flags = get_below(taker, 4);
	pool->is_ended = flags & VS_SNAPSHOT_ENDED;
	pool->is_sampled = flags & VS_SNAPSHOT_SAMPLED;
	sampled = get(taker);
	if (pool->owner == VS_POOL_DRIVER)
		vs_replay_items_set_driver_pool(pool, 0, sampled);
	else if (sampled)
		fail(taker);
	for (i = 0; i < NR_POOL_SUMS; i++)
		sums->numbers[i] = get(taker);
}

/* The pool is the replay's as soon as it is in its list. */
static int insert_pool(struct vs_replay *replay, struct vs_replay_pool *pool)
{
	int err = VS_GROW(replay->pools, replay->pools_capacity, replay->nr_pools + 1);

	if (err) {
		free(pool);
		return err;
	}
	pool->index = (uint32_t)replay->nr_pools;
	replay->pools[replay->nr_pools++] = pool;
	return 0;
}

static int create_pool(struct taker *taker, size_t index)
{
	struct vs_replay *replay = taker->replay;
	struct vs_replay_pool *pool = calloc(1, sizeof(*pool));
	uint64_t key = get(taker), device;
	int err;

	if (!pool)
		return -VS_ERR_NO_MEMORY;
	err = insert_pool(replay, pool);
	if (err)
		return err;
	pool->id = get32(taker);
	pool->owner = (enum vs_pool_owner)get_below(taker, VS_POOL_FRAMEWORK + 1);
	device = get_below(taker, replay->nr_devices);
	pool->limit_size = get(taker);
	err = get_name(taker, &pool->name);
	if (err || !pool->name || taker->in.error || vs_id_map_get(&replay->pools_by_id, key))
		return err ? err : fail(taker);
	pool->device = find_device(replay, device);
	pool->device->nr_driver_pools += pool->owner == VS_POOL_DRIVER;
	replay->nr_dividing_pools += pool->owner != VS_POOL_DRIVER;
	err = vs_id_map_put(&replay->pools_by_id, key, pool);
	if (err)
		return err;
	get_pool(taker, pool, &taker->pools[index]);
	return taker->in.error;
}

static int get_pools(struct taker *taker)
{
	size_t nr = vs_pack_get_count(&taker->in), i;
	int err = taker->in.error;

	taker->pools = calloc(nr + 1, sizeof(taker->pools[0]));
	if (!taker->pools)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < nr && !err; i++)
		err = create_pool(taker, i);
	return err;
}

/*
 * None may be there twice. Where each has a site of its own, that is seen at once, and the site
 * will find it (vs_replay.noted): a table of all takes long to make, and the replay may never ask
 * it.
 */
static int note_accounts(struct taker *taker)
{
	struct vs_replay *replay = taker->replay;
	bool is_shared = false;
	size_t i;
	int err = VS_GROW(replay->noted, replay->noted_capacity, replay->definitions.nr_sites + 1);

	for (i = 0; i < replay->nr_accounts && !err; i++) {
		struct vs_account **noted = &replay->noted[replay->accounts[i]->site->index];

		is_shared |= *noted != NULL;
		*noted = replay->accounts[i];
	}
	if (err || !is_shared)
		return err;
	err = vs_replay_items_key_accounts(replay);
	return !err && replay->accounts_by_key.nr_used != replay->nr_accounts ? fail(taker) : err;
}

static int get_accounts(struct taker *taker)
{
	const struct vs_snapshot_chain *chain = taker->chain;
	struct vs_replay *replay = taker->replay;
	struct vs_account *account;
	size_t i;
	int err = vs_replay_items_reserve_accounts(replay, chain->nr_accounts);

	for (i = 0; i < chain->nr_accounts && !err; i++) {
		const struct vs_snapshot_account *said = &chain->accounts[i];

		if (said->site >= replay->definitions.nr_sites ||
		    said->place >= replay->nr_devices * VS_NR_DOMAINS)
			return fail(taker);
		err = vs_replay_items_add_account(replay,
						  find_device(replay, said->place / VS_NR_DOMAINS),
						  (enum vs_domain)(said->place % VS_NR_DOMAINS),
						  replay->definitions.sites[said->site], &account);
		if (!err)
			account->api = said->api;
	}
	/* Of sums nobody goes on. */
	return err || !taker->is_alive ? err : note_accounts(taker);
}

static int get_account_sums(struct taker *taker)
{
	struct vs_account **accounts = taker->replay->accounts;
	size_t nr = taker->replay->nr_accounts, i;
	struct vs_wire in = taker->chain->sums;
	uint64_t *numbers = calloc(nr + 1, sizeof(*numbers));

	if (!numbers)
		return -VS_ERR_NO_MEMORY;
	vs_number_column_get(&in, VS_NUMBERS_PLAIN, numbers, nr);
	for (i = 0; i < nr; i++)
		accounts[i]->live_bytes = numbers[i];
	vs_number_column_get(&in, VS_NUMBERS_PLAIN, numbers, nr);
	for (i = 0; i < nr; i++)
		accounts[i]->live_count = numbers[i];
	free(numbers);
	return !in.error && vs_wire_left(&in) ? fail(taker) : in.error;
}

/* ---- Threads -------------------------------------------------------------------------------- */

static int get_freed(struct taker *taker, struct vs_replay_thread *thread)
{
	uint64_t device, handle;

	thread->has_freed = true;
	thread->freed_kind = (enum vs_memory_kind)get_below(taker, VS_NR_MEMORY_KINDS);
	device = get_below(taker, taker->replay->nr_devices + 1);
	if (device)
		thread->freed_device = find_device(taker->replay, device - 1);
	thread->freed_pool = vs_snapshot_items_get_pool(&taker->in, taker->replay);
	handle = get_below(taker, taker->items.nr_handles + 1);
	if (handle) {
		thread->released = taker->items.handles[handle - 1];
		if (!thread->released->is_released)
			fail(taker);
	}
	if (get_below(taker, 2)) {
		thread->freed = vs_snapshot_items_take_freed(&taker->items);
		if (!thread->freed || thread->released)
			fail(taker);
	}
	return taker->in.error;
}

/* The block that the thread's next record may explain. */
static int get_placed(struct taker *taker, struct vs_replay_thread *thread)
{
	thread->placed = get(taker);
	if (!thread->placed)
		return taker->in.error;
	thread->placed_pool = vs_snapshot_items_get_pool(&taker->in, taker->replay);
	return thread->placed_pool ? taker->in.error : fail(taker);
}

static int get_phases(struct taker *taker, struct vs_replay_thread *thread)
{
	size_t nr = vs_pack_get_count(&taker->in);
	int err = VS_GROW(thread->phases, thread->phases_capacity, nr);

	for (; thread->nr_phases < nr && !err; thread->nr_phases++)
		thread->phases[thread->nr_phases] = get32(taker);
	return err ? err : taker->in.error;
}

/* A thread that has phases open stands in a list of the replay's. */
static int get_in_phases(struct taker *taker, struct vs_replay_thread *thread)
{
	struct vs_replay *replay = taker->replay;
	int err = get_phases(taker, thread);

	if (err || !thread->nr_phases)
		return err;
	thread->last_push = get(taker);
	if (!taker->in.error && thread->last_push > replay->nr_phases)
		return fail(taker);
	err = VS_GROW(replay->in_phases, replay->in_phases_capacity, replay->nr_in_phases + 1);
	if (!err)
		replay->in_phases[replay->nr_in_phases++] = thread;
	return err ? err : taker->in.error;
}

static int get_ranges(struct taker *taker)
{
	struct vs_replay *replay = taker->replay;
	size_t nr = vs_pack_get_count(&taker->in);
	int err = VS_GROW(replay->ranges, replay->ranges_capacity, nr);

	for (; replay->nr_ranges < nr && !err; replay->nr_ranges++) {
		replay->ranges[replay->nr_ranges].id = get(taker);
		replay->ranges[replay->nr_ranges].name = get32(taker);
	}
	return err ? err : taker->in.error;
}

static int get_threads(struct taker *taker)
{
	size_t nr = vs_pack_get_count(&taker->in), i;
	struct vs_replay_thread *thread;
	uint64_t id = 0;
	int err = taker->in.error;

	for (i = 0; i < nr && !err; i++) {
		uint64_t difference = get_below(taker, UINT32_MAX + 1ull);

		id += difference;
		if (taker->in.error || id > UINT32_MAX || (i && !difference))
			return fail(taker);
		err = vs_replay_items_get_thread(taker->replay, (uint32_t)id, &thread);
		if (!err)
			err = get_in_phases(taker, thread);
		if (!err)
			err = get_placed(taker, thread);
		if (!err && get_below(taker, taker->is_alive ? 2 : 1))
			err = get_freed(taker, thread);
	}
	if (!err && taker->items.nr_taken != taker->items.nr_freed)
		return fail(taker);
	return err ? err : taker->in.error;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static void list_device(struct vs_replay_device *device, uint64_t *list[NR_DEVICE_SUMS])
{
	list[0] = &device->live_bytes;
	list[1] = &device->live_count;
	list[2] = &device->segment_bytes;
	list[3] = &device->handle_bytes;
	list[4] = &device->driver_pool_bytes;
}

static void list_pool(struct vs_replay_pool *pool, uint64_t *list[NR_POOL_SUMS])
{
	list[0] = &pool->block_bytes;
	list[1] = &pool->nr_blocks;
	list[2] = &pool->segment_bytes;
}

/* Sets the sums, or looks whether they have come out. */
static bool settle_sums(bool is_alive, uint64_t *const *list, const uint64_t *numbers, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!is_alive)
			*list[i] = numbers[i];
		else if (*list[i] != numbers[i])
			return false;
	}
	return true;
}

static int get_sums(struct taker *taker)
{
	const struct vs_replay *replay = taker->replay;
	uint64_t *in_device[NR_DEVICE_SUMS], *in_pool[NR_POOL_SUMS];
	bool is_right = true;
	size_t i;

	for (i = 0; i < replay->nr_devices && is_right; i++) {
		struct vs_replay_device *device = replay->devices[i];

		list_device(device, in_device);
		is_right = settle_sums(taker->is_alive, in_device,
				       taker->devices[device->index].numbers, NR_DEVICE_SUMS);
	}
	for (i = 0; i < replay->nr_pools && is_right; i++) {
		list_pool(replay->pools[i], in_pool);
		is_right = settle_sums(taker->is_alive, in_pool, taker->pools[i].numbers,
				       NR_POOL_SUMS);
	}
	return is_right ? 0 : fail(taker);
}

static int get_all(struct taker *taker)
{
	int err;

	set_numbers(taker);
	err = get_devices(taker);
	if (!err)
		err = get_pools(taker);
	if (!err)
		err = get_accounts(taker);
	if (!err)
		err = taker->is_alive
			      ? vs_snapshot_items_get(&taker->items, taker->chain, taker->replay)
			      : get_account_sums(taker);
	if (!err)
		err = get_threads(taker);
	if (!err)
		err = get_ranges(taker);
	if (!err && vs_wire_left(&taker->in))
		err = fail(taker);
	return err ? err : get_sums(taker);
}

static int get_state(struct vs_replay *replay, const struct vs_snapshot_chain *chain, bool is_alive)
{
	struct taker taker = {
		.replay = replay, .chain = chain, .in = chain->state, .is_alive = is_alive};
	int err = get_all(&taker);

	vs_snapshot_items_fini(&taker.items);
	free(taker.devices);
	free(taker.pools);
	return err;
}

int vs_snapshot_get(struct vs_replay *replay, const struct vs_snapshot_chain *chain)
{
	return chain->has_begun ? get_state(replay, chain, true) : -VS_ERR_INVALID;
}

int vs_snapshot_prepare(struct vs_replay *replay, size_t nr_items)
{
	return vs_replay_items_reserve(replay, nr_items);
}

int vs_snapshot_get_sums(struct vs_replay *replay, const void *bytes, size_t size)
{
	struct vs_snapshot_chain *chain;
	int err = vs_snapshot_chain_create(&chain);

	if (err)
		return err;
	err = vs_snapshot_chain_add_sums(chain, bytes, size);
	if (!err)
		err = get_state(replay, chain, false);
	vs_snapshot_chain_destroy(chain);
	return err;
}
