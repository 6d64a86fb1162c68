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

void vs_cause_find(struct vs_cause *cause, const struct vs_failure_group *group,
		   const struct vs_failure *failure, const struct vs_address_map *map,
		   const struct vs_retained *retained)
{
	uint64_t room, all;

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
	all = room + map->releasable_bytes;
	/* A pool that reports a failure could not grow, whatever room the device has. */
	if (is_over_limit(group, cause)) {
		cause->kind = VS_CAUSE_LIMIT;
	} else if (cause->hole_bytes >= failure->size && cause->largest_hole < failure->size &&
		   (group->pool || room < failure->size)) {
		cause->kind = VS_CAUSE_FRAGMENTATION;
	} else if (group->pool && cause->hole_bytes < failure->size && cause->total_size &&
		   (is_at_limit(group, cause) || room >= failure->size)) {
		cause->kind = VS_CAUSE_LIMIT;
	} else if (cause->total_size && all < failure->size) {
		cause->lacking = failure->size - all;
		cause->kind =
			retained->growth.is_growing && retained->growth.kept_bytes >= cause->lacking
				? VS_CAUSE_RETENTION
				: VS_CAUSE_CAPACITY;
	} else if (cause->total_size && room < failure->size) {
		cause->lacking = failure->size - room;
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
