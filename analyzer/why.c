#include "why.h"

#include <string.h>

/* Holes that are less than one part of so many of what their pool holds are no cause: no allocator
 * does without. */
#define LEAST_PART 20

/* How often the bytes in holes growing sites have to keep, if either would have been enough. */
#define RETENTION_TIMES 4
#define FILLED_TIMES    2 /* the same, where it is most of what the pool has */

/* A segment of at least one part of so many of the device was taken in advance. */
#define GRAB_PART 4

/* Where no request tells what was lacking: what could be given has to be this part of the device.
 */
#define END_PART 4

/* More than CUDA's context and the modules of one process ever take. */
#define LARGEST_CONTEXT ((uint64_t)3 << 29)

/* PyTorch serves requests up to this size from segments of their own. */
#define TORCH_SMALL   ((uint64_t)1 << 20)
#define TORCH_SEGMENT ((uint64_t)2 << 20)

/* NULL: it holds nothing. */
static const struct vs_address_pool *find_pool(const struct vs_address_map *map,
					       const struct vs_replay_pool *pool)
{
	size_t i;

	/* The pool belongs to another pass than the map: numbers are the same, pointers are not. */
	for (i = 0; i < map->nr_pools; i++)
		if (map->pools[i].pool->index == pool->index)
			return &map->pools[i];
	return NULL;
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What a context may take of a device of this size, if nobody said. */
static uint64_t get_context(uint64_t total)
{
	return total / 8 < LARGEST_CONTEXT ? total / 8 : LARGEST_CONTEXT;
}

static bool is_growing(const struct vs_retained *retained, const struct vs_account *account)
{
	size_t i;

	for (i = 0; i < retained->nr_growing; i++)
		if (retained->sites[i].account->index == account->index)
			return true;
	return false;
}

/* What growing sites have in the pool: no more can be had there without them. */
static uint64_t get_kept_in_pool(const struct vs_why *why, const struct vs_address_map *map,
				 const struct vs_retained *retained)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < map->nr_entries && why->pool && why->kept_bytes; i++) {
		const struct vs_item *item = map->entries[i].item;

		/* A block of a driver pool is an entry of its own, as segments are. */
		if (map->entries[i].type != VS_ADDRESS_HOLE && item->pool == why->pool->pool &&
		    is_growing(retained, item->account))
			bytes += item->size;
	}
	return bytes < why->kept_bytes ? bytes : why->kept_bytes;
}

/* Numbers of the device that every occasion has. */
static void gather_room(struct vs_why *why, const struct vs_address_map *map,
			const struct vs_reconcile *where)
{
	uint64_t taken = map->reserved_bytes - map->managed_bytes;

	why->cached_bytes = map->cached_bytes;
	why->releasable_bytes = map->releasable_bytes;
	why->is_room_known = why->is_free_known || where->is_free_known;
	why->room = subtract(why->total_size, map->reserved_bytes);
	if (why->is_room_known)
		why->room = why->is_free_known ? why->free_size : where->not_taken_bytes;
	if (why->is_free_known)
		why->outside_bytes = subtract(subtract(why->total_size, why->free_size), taken);
	else
		why->outside_bytes = where->outside_bytes + where->driver_rounding;
}

/* Numbers of the pool whose holes count, and of what is kept. */
static void gather_pool(struct vs_why *why, const struct vs_address_map *map,
			const struct vs_retained *retained)
{
	if (retained->growth.is_growing && !retained->is_start && !retained->may_be_pass)
		why->kept_bytes = retained->growth.kept_bytes;
	why->kept_in_pool = get_kept_in_pool(why, map, retained);
	if (why->pool) {
		why->hole_bytes = why->pool->holes.total_bytes;
		why->largest_hole = vs_hole_set_get_largest(&why->pool->holes);
	}
}

/* ---- Holes ---------------------------------------------------------------------------------- */

/*
 * Whether a request may be served from a hole in this item. PyTorch has segments of 2 MiB for small
 * requests and others for large ones; expandable ones are reservations of either sort, which is
 * not told.
 */
static bool is_usable(const struct vs_item *item, uint64_t requested)
{
	const struct vs_replay_pool *pool = item->owner;

	if (pool->owner != VS_POOL_FRAMEWORK || strncmp(pool->name, "PyTorch", 7) ||
	    item->kind == VS_MEMORY_VMM)
		return true;
	return (item->range.size == TORCH_SEGMENT) == (requested <= TORCH_SMALL);
}

static void find_usable(struct vs_why *why, const struct vs_address_map *map)
{
	size_t i;

	for (i = 0; i < map->nr_entries && why->pool; i++) {
		const struct vs_address_entry *entry = &map->entries[i];

		if (entry->type != VS_ADDRESS_HOLE || entry->is_releasable ||
		    entry->item->owner != why->pool->pool ||
		    !is_usable(entry->item, why->requested))
			continue;
		why->usable_bytes += entry->size;
		if (entry->size > why->usable_largest)
			why->usable_largest = entry->size;
	}
}

/* Free bytes in segments that are a large part of the device and in use, of pools other than the
 * one that failed: nobody else can have them. */
static void find_grabbed(struct vs_why *why, const struct vs_address_map *map,
			 const struct vs_replay_pool *failed)
{
	uint64_t unused, most = 0;
	size_t i;

	for (i = 0; i < map->nr_entries; i++) {
		const struct vs_item *item = map->entries[i].item;

		if (map->entries[i].type != VS_ADDRESS_SEGMENT || !item->owner ||
		    !item->blocks.nr_ranges || (failed && item->owner->index == failed->index) ||
		    item->range.size < why->total_size / GRAB_PART)
			continue;
		unused = subtract(item->range.size, item->block_bytes);
		why->grabbed_bytes += unused;
		if (unused > most) {
			most = unused;
			why->grab = item;
		}
	}
}

/* ---- What pools could give back ------------------------------------------------------------- */

/*
 * What driver pools were said to hold, beyond what there can be beside all else: those samples are
 * too old. Managed memory proves nothing, it may be on the host.
 */
static uint64_t get_stale(const struct vs_why *why, const struct vs_address_map *map)
{
	uint64_t taken = map->reserved_bytes - map->managed_bytes;

	if (!why->is_free_known || why->free_size > why->total_size)
		return 0;
	return subtract(taken, why->total_size - why->free_size);
}

/*
 * What pools hold and do not use. Not that of the driver pool that was asked: it tried that itself.
 * Returns how much that is.
 */
static uint64_t find_releasable(struct vs_why *why, const struct vs_replay_pool *asked,
				const struct vs_address_map *map)
{
	uint64_t unused = 0, own = 0, stale = get_stale(why, map);
	const struct vs_address_pool *driver_pool = NULL, *other = NULL;
	size_t i;

	for (i = 0; i < map->nr_pools; i++) {
		const struct vs_address_pool *pool = &map->pools[i], **most;

		if (!pool->releasable_bytes)
			continue;
		most = pool->pool->owner == VS_POOL_DRIVER ? &driver_pool : &other;
		if (pool->pool->owner == VS_POOL_DRIVER)
			unused += pool->releasable_bytes;
		if (asked && pool->pool->index == asked->index)
			own = pool->releasable_bytes;
		else if (!*most || pool->releasable_bytes > (*most)->releasable_bytes)
			*most = pool;
	}
	why->releasable_bytes = map->releasable_bytes - unused;
	unused -= own;
	why->releasable_bytes += subtract(unused, stale);
	if (unused <= stale)
		driver_pool = NULL;
	why->holder = other;
	if (driver_pool && (!other || driver_pool->releasable_bytes > other->releasable_bytes))
		why->holder = driver_pool;
	return own;
}

/* Without any of that, the pool with most in holes, but for the one that failed. */
static void find_holder(struct vs_why *why, const struct vs_address_map *map,
			const struct vs_replay_pool *failed)
{
	size_t i;

	for (i = 0; i < map->nr_pools && !why->releasable_bytes; i++) {
		const struct vs_address_pool *pool = &map->pools[i];

		if (failed && pool->pool->index == failed->index)
			continue;
		if (pool->holes.total_bytes > (why->holder ? why->holder->holes.total_bytes : 0))
			why->holder = pool;
	}
}

/* Where the holder took what it does not use. */
static void find_spare(struct vs_why *why, const struct vs_address_map *map)
{
	uint64_t unused, most = 0;
	size_t i;

	for (i = 0; i < map->nr_entries && why->holder; i++) {
		const struct vs_item *item = map->entries[i].item;

		if (map->entries[i].type != VS_ADDRESS_SEGMENT || item->owner != why->holder->pool)
			continue;
		unused = subtract(item->range.size, item->block_bytes);
		if (unused > most) {
			most = unused;
			why->spare = item;
		}
	}
}

/* ---- Guesses -------------------------------------------------------------------------------- */

static void guess(struct vs_why *why, enum vs_why_kind kind, uint64_t gives, uint64_t lacking,
		  bool may_hold)
{
	why->guesses[kind] = (struct vs_why_guess){
		.gives = gives, .lacking = lacking, .holds = may_hold && gives >= lacking};
}

/* What the device had left for sure: what nobody told may be less, by the context. */
static uint64_t get_sure_room(const struct vs_why *why)
{
	if (why->is_room_known)
		return why->room;
	return subtract(why->room, get_context(why->total_size));
}

/*
 * The driver pool that was asked, if it was made with a limit and may not grow by that much though
 * the device has room. What it has free itself it tried.
 */
static const struct vs_replay_pool *find_limited(const struct vs_why *why,
						 const struct vs_failure *failure,
						 const struct vs_address_map *map)
{
	const struct vs_replay_pool *pool = failure->driver_pool;
	const struct vs_address_pool *entry;
	uint64_t held;

	if (!pool || !pool->limit_size || !why->total_size || why->room < why->needed)
		return NULL;
	entry = find_pool(map, pool);
	held = entry ? entry->segment_bytes : 0;
	return why->requested > subtract(pool->limit_size, held) ? pool : NULL;
}

/* It is beyond its limit, or would not grow, though the device has room. */
static bool is_limited(const struct vs_why *why, const struct vs_failure_group *group)
{
	const struct vs_replay_pool *pool = group->pool;
	uint64_t held = why->pool ? why->pool->segment_bytes : 0;
	uint64_t used = why->pool && why->pool->block_bytes < held ? why->pool->block_bytes : held;

	if (why->limited)
		return true;
	if (!pool || !why->total_size)
		return false;
	/* A limit may be one on blocks or on segments: the smaller claim is enough. */
	if (pool->limit_size && why->room >= why->needed &&
	    (used > pool->limit_size || why->requested > pool->limit_size - used))
		return true;
	return why->usable_bytes < why->requested && get_sure_room(why) >= why->needed;
}

/* Holes of a pool that failed are its own; those of another count for who asks the driver. */
static bool may_be_fragmented(const struct vs_why *why, const struct vs_failure_group *group)
{
	if (!why->pool || why->usable_largest >= why->requested || why->pool->holes.nr_holes < 2)
		return false;
	if (!group->pool && why->room >= why->requested)
		return false;
	return why->usable_bytes >= why->pool->segment_bytes / LEAST_PART;
}

/* Of the guesses that hold, the one that gives most; equal ones in the order of the list. */
static enum vs_why_kind find_most(const struct vs_why *why, enum vs_why_kind but)
{
	enum vs_why_kind best = VS_WHY_UNKNOWN;
	int i;

	for (i = VS_WHY_UNKNOWN + 1; i < VS_NR_WHY; i++) {
		const struct vs_why_guess *each = &why->guesses[i];

		if (!each->holds || i == (int)but || i == VS_WHY_CAPACITY)
			continue;
		if (best == VS_WHY_UNKNOWN || each->gives > why->guesses[best].gives)
			best = (enum vs_why_kind)i;
	}
	return best;
}

/* The one that came nearest: with the largest part of what was lacking, at least `least` of it. */
static enum vs_why_kind find_nearest(const struct vs_why *why, double least)
{
	enum vs_why_kind best = VS_WHY_UNKNOWN;
	double part;
	int i;

	for (i = VS_WHY_UNKNOWN + 1; i < VS_NR_WHY; i++) {
		const struct vs_why_guess *each = &why->guesses[i];

		if ((int)why->kind == i || i == VS_WHY_CAPACITY || !each->lacking || !each->gives)
			continue;
		part = (double)each->gives / (double)each->lacking;
		if (part >= least) {
			least = part;
			best = (enum vs_why_kind)i;
		}
	}
	return best;
}

/* Another that holds, else one that explains half, else that the card is too small. */
static void find_runner_up(struct vs_why *why)
{
	why->runner_up = find_most(why, why->kind);
	if (why->runner_up == VS_WHY_UNKNOWN)
		why->runner_up = find_nearest(why, 0.5);
	if (why->runner_up == VS_WHY_UNKNOWN && why->kind != VS_WHY_CAPACITY &&
	    why->guesses[VS_WHY_CAPACITY].holds)
		why->runner_up = VS_WHY_CAPACITY;
	if (why->runner_up == VS_WHY_UNKNOWN)
		why->runner_up = find_nearest(why, 0);
}

/*
 * Holes of pools that are none for who asked: of other pools, if a pool failed; for who asks the
 * driver, large enough as they are, or the only one. What was taken in advance is apart.
 */
static uint64_t get_kept_holes(const struct vs_why *why, const struct vs_failure_group *group,
			       const struct vs_address_map *map)
{
	if (group->pool)
		return subtract(map->hole_bytes, why->hole_bytes + why->grabbed_bytes);
	if (!why->pool || (why->usable_largest < why->requested && why->pool->holes.nr_holes > 1))
		return 0;
	return subtract(why->hole_bytes, why->grabbed_bytes);
}

/* What others hold for sure: NVML has a list, and we are in it. */
static bool is_measured(const struct vs_reconcile *where)
{
	return where->outside.is_known && where->outside.has_list;
}

/* Memory that nobody measured and no context explains: who has it is not known. */
static uint64_t get_unexplained(const struct vs_why *why, const struct vs_reconcile *where)
{
	uint64_t explained = LARGEST_CONTEXT;

	if (where->outside.is_known)
		explained = where->outside.context_bytes + where->driver_rounding;
	if (is_measured(where))
		explained += where->outside.others_bytes;
	return subtract(why->outside_bytes, explained);
}

/* A higher limit would only be reached later. */
static bool is_leaking(const struct vs_why *why)
{
	return why->guesses[VS_WHY_RETENTION].holds && why->pool &&
	       why->kept_in_pool >= why->pool->block_bytes / 2;
}

/* So would the end of a pool without holes, which is mostly full of what is kept. */
static bool is_filled(const struct vs_why *why)
{
	return is_leaking(why) &&
	       why->kept_in_pool / FILLED_TIMES >= why->guesses[VS_WHY_FRAGMENTATION].gives;
}

static void decide(struct vs_why *why, const struct vs_failure_group *group, uint64_t unexplained)
{
	bool is_short = why->total_size && why->lacking > why->own_bytes;

	/* A large enough hole was there, of another stream perhaps: then it is not the card. */
	if (group->pool && why->pool && why->usable_largest >= why->requested)
		is_short = false;
	guess(why, VS_WHY_CAPACITY, why->lacking, why->lacking,
	      is_short && unexplained < why->lacking);
	why->kind = find_most(why, VS_WHY_UNKNOWN);
	/* What is kept stands between the holes, too: it has to be far more to be the cause itself,
	 * or most of what the pool has. */
	if (why->kind == VS_WHY_RETENTION && why->guesses[VS_WHY_FRAGMENTATION].holds &&
	    !is_filled(why) &&
	    why->guesses[VS_WHY_RETENTION].gives / RETENTION_TIMES <
		    why->guesses[VS_WHY_FRAGMENTATION].gives)
		why->kind = VS_WHY_FRAGMENTATION;
	if (why->guesses[VS_WHY_LIMIT].holds)
		why->kind = is_leaking(why) ? VS_WHY_RETENTION : VS_WHY_LIMIT;
	if (why->kind == VS_WHY_UNKNOWN && why->guesses[VS_WHY_CAPACITY].holds)
		why->kind = VS_WHY_CAPACITY;
	find_runner_up(why);
}

void vs_why_judge(struct vs_why *why, const struct vs_failure_group *group,
		  const struct vs_failure *failure, const struct vs_address_map *map,
		  const struct vs_retained *retained, const struct vs_reconcile *where)
{
	uint64_t lacking, device_lacks, unexplained, inside, held;
	bool is_sized, is_limit, is_split;

	memset(why, 0, sizeof(*why));
	why->occasion = VS_WHY_FAILURE;
	why->requested = failure->size;
	/* A pool takes more from the driver at a time than it is asked for. */
	why->needed = failure->driver_size > failure->size ? failure->driver_size : failure->size;
	why->is_free_known = failure->total_size;
	why->free_size = failure->free_size;
	why->total_size = failure->total_size ? failure->total_size : map->device->total_size;
	gather_room(why, map, where);
	why->limited = group->pool ? NULL : find_limited(why, failure, map);
	if (why->limited || group->pool)
		why->pool = find_pool(map, why->limited ? why->limited : group->pool);
	else
		why->pool = vs_address_map_get_worst(map);
	gather_pool(why, map, retained);
	find_usable(why, map);
	find_grabbed(why, map, group->pool);
	why->own_bytes = find_releasable(why, failure->driver_pool, map);
	find_holder(why, map, group->pool);
	find_spare(why, map);
	is_sized = why->total_size;
	device_lacks = subtract(why->needed, why->room);
	lacking = subtract(device_lacks, why->releasable_bytes);
	why->lacking = lacking;
	unexplained = get_unexplained(why, where);
	held = why->releasable_bytes;
	is_limit = is_limited(why, group);
	guess(why, VS_WHY_LIMIT, is_limit ? why->room : 0, why->needed, is_limit);
	/* A pool that could not grow has to find room in itself. */
	inside = is_limit || !lacking ? why->requested : lacking;
	is_split = may_be_fragmented(why, group);
	guess(why, VS_WHY_RETENTION, lacking && !is_limit ? why->kept_bytes : why->kept_in_pool,
	      inside, is_sized && (lacking || is_limit || (group->pool && is_split)));
	if (group->pool && why->requested < inside)
		inside = why->requested;
	guess(why, VS_WHY_FRAGMENTATION,
	      group->pool ? why->usable_bytes : subtract(why->usable_bytes, why->grabbed_bytes),
	      inside, is_split);
	held += get_kept_holes(why, group, map);
	guess(why, VS_WHY_POOL, held, device_lacks, is_sized && device_lacks);
	guess(why, VS_WHY_PREALLOCATION, why->grabbed_bytes, device_lacks,
	      is_sized && device_lacks);
	guess(why, VS_WHY_OTHER_PROCESS,
	      is_measured(where) ? where->outside.others_bytes : unexplained, lacking,
	      is_measured(where) && lacking);
	decide(why, group, unexplained);
	if (why->kind == VS_WHY_POOL)
		why->lacking = device_lacks;
	else if (why->kind == VS_WHY_LIMIT || why->kind == VS_WHY_UNKNOWN)
		why->lacking = 0;
}

/* What of a device is there for us: not contexts and others, as NVML said last. */
static uint64_t get_usable(const struct vs_replay_device *device)
{
	uint64_t total = device->total_size, outside = get_context(total);

	if (device->memory.is_known)
		outside = vs_memory_sample_get_outside(&device->memory, total);
	return subtract(total, outside);
}

void vs_why_judge_end(struct vs_why *why, enum vs_why_occasion occasion,
		      const struct vs_address_map *map, const struct vs_retained *retained,
		      const struct vs_reconcile *where)
{
	uint64_t part;

	memset(why, 0, sizeof(*why));
	why->occasion = occasion;
	why->pool = vs_address_map_get_worst(map);
	why->total_size = map->device->total_size;
	gather_room(why, map, where);
	gather_pool(why, map, retained);
	find_grabbed(why, map, NULL);
	find_releasable(why, NULL, map);
	part = why->total_size / END_PART;
	if (occasion == VS_WHY_GROWING) {
		guess(why, VS_WHY_RETENTION, why->kept_bytes, 0, true);
		why->kind = VS_WHY_RETENTION;
		return;
	}
	if (!vs_why_is_near_full(map->device, map->reserved_bytes))
		return;
	guess(why, VS_WHY_FRAGMENTATION, subtract(why->hole_bytes, why->grabbed_bytes), part, true);
	guess(why, VS_WHY_RETENTION, why->kept_bytes, part, true);
	guess(why, VS_WHY_POOL, subtract(why->releasable_bytes, why->grabbed_bytes), part, true);
	guess(why, VS_WHY_PREALLOCATION, why->grabbed_bytes, part, true);
	if (is_measured(where))
		guess(why, VS_WHY_OTHER_PROCESS, where->outside.others_bytes, part, true);
	guess(why, VS_WHY_CAPACITY, map->live_bytes, get_usable(map->device) / 2, true);
	why->kind = find_most(why, VS_WHY_UNKNOWN);
	if (why->kind == VS_WHY_UNKNOWN && why->guesses[VS_WHY_CAPACITY].holds)
		why->kind = VS_WHY_CAPACITY;
	find_runner_up(why);
}

bool vs_why_is_near_full(const struct vs_replay_device *device, uint64_t reserved)
{
	uint64_t usable = get_usable(device);

	return usable && (unsigned __int128)reserved * 20 >= (unsigned __int128)usable * 17;
}

const char *vs_why_get_name(enum vs_why_kind kind)
{
	static const char *const names[] = {
		[VS_WHY_UNKNOWN] = "unknown",
		[VS_WHY_FRAGMENTATION] = "fragmentation",
		[VS_WHY_CAPACITY] = "capacity",
		[VS_WHY_RETENTION] = "retention",
		[VS_WHY_POOL] = "pool",
		[VS_WHY_LIMIT] = "limit",
		[VS_WHY_OTHER_PROCESS] = "other-process",
		[VS_WHY_PREALLOCATION] = "preallocation",
	};

	return names[kind];
}

const char *vs_why_get_occasion(enum vs_why_occasion occasion)
{
	static const char *const names[] = {
		[VS_WHY_FAILURE] = "failure",
		[VS_WHY_KILLED] = "killed",
		[VS_WHY_NEAR_FULL] = "near-full",
		[VS_WHY_GROWING] = "growing",
	};

	return names[occasion];
}
