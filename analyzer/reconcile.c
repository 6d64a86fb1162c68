#include "reconcile.h"

#include <string.h>

/* Bytes that are outside our books and not free; false: not known. At most `rest`. */
static bool get_outside(const struct vs_address_map *map, uint64_t rest, uint64_t free_size,
			uint64_t total_size, uint64_t *outside)
{
	const struct vs_memory_sample *sample = &map->device->memory;

	if (total_size)
		*outside = rest > free_size ? rest - free_size : 0;
	else if (sample->is_known)
		*outside = vs_memory_sample_get_outside(sample, map->device->total_size);
	else
		return false;
	*outside = *outside < rest ? *outside : rest;
	return true;
}

void vs_reconcile_find(struct vs_reconcile *where, const struct vs_address_map *map,
		       const struct vs_memory_sample *after, uint64_t free_size,
		       uint64_t total_size)
{
	uint64_t rest;

	memset(where, 0, sizeof(*where));
	where->total_bytes = total_size ? total_size : map->device->total_size;
	where->live_bytes = map->live_bytes - map->slack_bytes;
	where->rounding_bytes = map->slack_bytes;
	where->unasked_bytes = map->unasked_bytes;
	where->hole_bytes = map->hole_bytes;
	where->cached_bytes = map->cached_bytes;
	where->releasable_bytes = map->releasable_bytes < map->cached_bytes ? map->releasable_bytes
									    : map->cached_bytes;
	where->unmapped_bytes = where->cached_bytes - where->releasable_bytes;
	if (map->reserved_bytes > where->total_bytes) {
		where->excess_bytes = map->reserved_bytes - where->total_bytes;
		return;
	}
	rest = where->total_bytes - map->reserved_bytes;
	where->is_free_known = get_outside(map, rest, free_size, total_size, &where->outside_bytes);
	if (!where->is_free_known) {
		where->not_seen_bytes = rest;
		return;
	}
	where->not_taken_bytes = rest - where->outside_bytes;
	/* That many pages cannot be there: then they are not of this size. */
	if (map->page_slack <= where->outside_bytes)
		where->driver_rounding = map->page_slack;
	where->rounding_bytes += where->driver_rounding;
	where->outside_bytes -= where->driver_rounding;
	vs_memory_sample_split(&map->device->memory, after, where->outside_bytes,
			       where->driver_rounding, &where->outside);
}
