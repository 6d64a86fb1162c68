#include "cause.h"

#include <string.h>

static const struct vs_address_pool *find_pool(const struct vs_failure_group *group,
					       const struct vs_address_map *map)
{
	size_t i;

	/* The group belongs to another pass than the map: numbers are the same, pointers are not.
	 */
	for (i = 0; i < map->nr_pools && group->pool; i++)
		if (map->pools[i].pool->index == group->pool->index)
			return &map->pools[i];
	return group->pool ? NULL : vs_address_map_get_worst(map);
}

/* What the device has left, as the driver told; without its word, an upper bound. */
static uint64_t get_room(const struct vs_cause *cause, const struct vs_address_map *map)
{
	if (cause->is_free_known)
		return cause->free_size;
	return cause->total_size > map->reserved_bytes ? cause->total_size - map->reserved_bytes
						       : 0;
}

/*
 * What driver pools were said to hold, beyond what there can be beside all else: those samples are
 * too old. Managed memory proves nothing, it may be on the host.
 */
static uint64_t get_stale(const struct vs_cause *cause, const struct vs_address_map *map)
{
	uint64_t taken = map->reserved_bytes - map->managed_bytes;

	if (!cause->is_free_known || cause->free_size > cause->total_size)
		return 0;
	return taken > cause->total_size - cause->free_size
		       ? taken - (cause->total_size - cause->free_size)
		       : 0;
}

/*
 * What pools hold and do not use. Not that of the driver pool that was asked: it tried that itself.
 * Returns how much that is.
 */
static uint64_t find_releasable(struct vs_cause *cause, const struct vs_failure *failure,
				const struct vs_address_map *map)
{
	uint64_t unused = 0, own = 0, stale = get_stale(cause, map);
	size_t i;

	for (i = 0; i < map->nr_pools; i++) {
		const struct vs_address_pool *pool = &map->pools[i];

		if (pool->pool->owner != VS_POOL_DRIVER || !pool->releasable_bytes)
			continue;
		unused += pool->releasable_bytes;
		if (failure->driver_pool && pool->pool->index == failure->driver_pool->index)
			own = pool->releasable_bytes;
		else if (!cause->driver_pool ||
			 pool->releasable_bytes > cause->driver_pool->releasable_bytes)
			cause->driver_pool = pool;
	}
	cause->releasable_bytes = map->releasable_bytes - unused;
	unused -= own;
	cause->releasable_bytes += unused > stale ? unused - stale : 0;
	if (unused <= stale)
		cause->driver_pool = NULL;
	return own;
}

static bool is_over_limit(const struct vs_failure_group *group, const struct vs_cause *cause)
{
	uint64_t used = cause->pool ? cause->pool->segment_bytes : 0;

	/* A limit may be one on blocks or on segments: the smaller claim is enough. */
	if (cause->pool && cause->pool->block_bytes < used)
		used = cause->pool->block_bytes;
	if (!group->pool || !group->pool->limit_size)
		return false;
	return used > group->pool->limit_size || cause->requested > group->pool->limit_size - used;
}

/* It may not take another segment of that size. */
static bool is_at_limit(const struct vs_failure_group *group, const struct vs_cause *cause)
{
	uint64_t held = cause->pool ? cause->pool->segment_bytes : 0;

	if (!group->pool || !group->pool->limit_size)
		return false;
	return held > group->pool->limit_size || cause->requested > group->pool->limit_size - held;
}

/* All that others could have given is too little; own: what the pool that was asked has besides. */
static void judge_lack(struct vs_cause *cause, uint64_t lacking, uint64_t own,
		       const struct vs_retained *retained)
{
	if (retained->growth.is_growing && retained->growth.kept_bytes >= lacking)
		cause->kind = VS_CAUSE_RETENTION;
	else if (own < lacking)
		cause->kind = VS_CAUSE_CAPACITY;
	else
		return; /* it had enough, in pieces that nobody knows */
	cause->lacking = lacking;
}

void vs_cause_find(struct vs_cause *cause, const struct vs_failure_group *group,
		   const struct vs_failure *failure, const struct vs_address_map *map,
		   const struct vs_retained *retained)
{
	uint64_t room, all, own;

	memset(cause, 0, sizeof(*cause));
	cause->pool = find_pool(group, map);
	cause->requested = failure->size;
	cause->is_free_known = failure->total_size;
	cause->free_size = failure->free_size;
	cause->total_size = failure->total_size ? failure->total_size : map->device->total_size;
	cause->cached_bytes = map->cached_bytes;
	if (cause->pool) {
		cause->hole_bytes = cause->pool->holes.total_bytes;
		cause->largest_hole = vs_hole_set_get_largest(&cause->pool->holes);
	}
	room = get_room(cause, map);
	own = find_releasable(cause, failure, map);
	all = room + cause->releasable_bytes;
	/* A pool takes more from the driver at a time than it is asked for. */
	cause->needed = failure->driver_size > failure->size ? failure->driver_size : failure->size;
	/* A pool that reports a failure could not grow, whatever room the device has. */
	if (is_over_limit(group, cause)) {
		cause->kind = VS_CAUSE_LIMIT;
	} else if (cause->hole_bytes >= failure->size && cause->largest_hole < failure->size &&
		   (group->pool || room < failure->size)) {
		cause->kind = VS_CAUSE_FRAGMENTATION;
	} else if (group->pool && cause->hole_bytes < failure->size && cause->total_size &&
		   (is_at_limit(group, cause) || room >= cause->needed)) {
		cause->kind = VS_CAUSE_LIMIT;
	} else if (cause->total_size && all < cause->needed) {
		judge_lack(cause, cause->needed - all, own, retained);
	} else if (cause->total_size && room < cause->needed) {
		cause->lacking = cause->needed - room;
		cause->kind = VS_CAUSE_POOL;
	}
}

const char *vs_cause_name(enum vs_cause_kind kind)
{
	static const char *const names[] = {
		[VS_CAUSE_UNKNOWN] = "unknown",   [VS_CAUSE_FRAGMENTATION] = "fragmentation",
		[VS_CAUSE_LIMIT] = "limit",       [VS_CAUSE_RETENTION] = "retention",
		[VS_CAUSE_CAPACITY] = "capacity", [VS_CAUSE_POOL] = "pool",
	};

	return names[kind];
}
