#include "ring_ends.h"

#include <stdlib.h>
#include <string.h>

#include "coverage.h"

struct vs_ring_ends_entry {
	uint64_t end; /* 0: free */
	uint32_t ring;
};

void vs_ring_ends_fini(struct vs_ring_ends *ends)
{
	free(ends->entries);
}

void vs_ring_ends_clear(struct vs_ring_ends *ends)
{
	if (ends->capacity)
		memset(ends->entries, 0, ends->capacity * sizeof(ends->entries[0]));
	ends->nr_used = 0;
}

/* The place of a ring, or the free one where it belongs. There always is a free one. */
static struct vs_ring_ends_entry *look_up(const struct vs_ring_ends *ends, uint32_t ring)
{
	size_t mask = ends->capacity - 1;
	size_t at = ring * 0x9e3779b97f4a7c15 >> 32 & mask;

	while (ends->entries[at].end && ends->entries[at].ring != ring)
		at = (at + 1) & mask;
	return &ends->entries[at];
}

uint64_t vs_ring_ends_get(const struct vs_ring_ends *ends, uint32_t ring)
{
	return ends->capacity ? look_up(ends, ring)->end : 0;
}

static int grow(struct vs_ring_ends *ends)
{
	struct vs_ring_ends larger = {
		.capacity = ends->capacity ? 2 * ends->capacity : 64,
		.nr_used = ends->nr_used,
	};

	larger.entries = calloc(larger.capacity, sizeof(larger.entries[0]));
	if (!larger.entries)
		return -VS_ERR_NO_MEMORY;
	for (size_t i = 0; i < ends->capacity; i++)
		if (ends->entries[i].end)
			*look_up(&larger, ends->entries[i].ring) = ends->entries[i];
	free(ends->entries);
	*ends = larger;
	return 0;
}

int vs_ring_ends_raise(struct vs_ring_ends *ends, uint32_t ring, uint64_t end)
{
	struct vs_ring_ends_entry *entry;

	if (!end)
		return 0;
	if (ends->nr_used >= ends->capacity / 4 * 3) {
		int err = grow(ends);

		if (err)
			return err;
	}
	entry = look_up(ends, ring);
	if (!entry->end)
		ends->nr_used++;
	entry->ring = ring;
	if (end > entry->end)
		entry->end = end;
	return 0;
}

int vs_ring_ends_take(struct vs_ring_ends *ends, struct vs_wire *wire,
		      struct vs_ring_ends_change *change)
{
	uint64_t nr_ranges = vs_wire_get_varint(wire);
	struct vs_ring_ends_change found = {.is_known = nr_ranges > 0};

	for (uint64_t i = 0; i < nr_ranges && !wire->error; i++) {
		struct vs_coverage_range range = vs_coverage_get(wire);
		uint64_t before = vs_ring_ends_get(ends, range.ring);
		int err;

		if (wire->error)
			break;
		found.nr_records += range.count;
		found.is_known = found.is_known && range.first + range.count <= before;
		found.has_gap = found.has_gap || range.first > before;
		err = vs_ring_ends_raise(ends, range.ring, range.first + range.count);
		if (err)
			return err;
	}
	if (wire->error)
		return -VS_ERR_CORRUPT;
	*change = found;
	return 0;
}
