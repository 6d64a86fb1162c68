#include "reconcile.h"

#include <string.h>

/* What the driver rounds up, if its pages are what they are taken for; else nothing. */
static struct vs_memory_rounding get_rounding(const struct vs_address_map *map)
{
	const struct vs_memory_sample *sample = &map->device->memory;

	/* That many pages cannot have been there: then they are not of this size. */
	if (sample->is_known &&
	    (!vs_memory_sample_has_room(sample, map->sampled_page_slack) ||
	     map->sampled_page_slack >
		     vs_memory_sample_get_outside(sample, map->device->total_size)))
		return (struct vs_memory_rounding){0};
	return (struct vs_memory_rounding){.sampled_bytes = map->sampled_page_slack,
					   .bytes = map->page_slack};
}

/* Bytes that are outside our books, rounding in them, and not free; false: not known. */
static bool get_outside(const struct vs_address_map *map, uint64_t rest, uint64_t free_size,
			uint64_t total_size, const struct vs_memory_rounding *rounding,
			uint64_t *outside)
{
	const struct vs_memory_sample *sample = &map->device->memory;

	if (total_size)
		*outside = rest > free_size ? rest - free_size : 0;
	else if (sample->is_known)
		*outside = vs_memory_sample_get_outside(sample, map->device->total_size) -
			   rounding->sampled_bytes + rounding->bytes;
	else
		return false;
	*outside = *outside < rest ? *outside : rest;
	return true;
}

void vs_reconcile_find(struct vs_reconcile *where, const struct vs_address_map *map,
		       const struct vs_memory_sample *after, uint64_t free_size,
		       uint64_t total_size)
{
	struct vs_memory_rounding rounding = get_rounding(map);
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
	where->is_free_known =
		get_outside(map, rest, free_size, total_size, &rounding, &where->outside_bytes);
	if (!where->is_free_known) {
		where->not_seen_bytes = rest;
		return;
	}
	where->not_taken_bytes = rest - where->outside_bytes;
	if (rounding.bytes > where->outside_bytes)
		rounding = (struct vs_memory_rounding){0};
	where->driver_rounding = rounding.bytes;
	where->rounding_bytes += where->driver_rounding;
	where->outside_bytes -= where->driver_rounding;
	vs_memory_sample_split(&map->device->memory, after, where->outside_bytes, &rounding,
			       &where->outside);
}
