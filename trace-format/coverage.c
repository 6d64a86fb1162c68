#include "coverage.h"

#include <string.h>

#define TABLE_MASK (2 * VS_COVERAGE_MAX - 1)

void vs_coverage_clear(struct vs_coverage *coverage)
{
	memset(coverage->table, 0, sizeof(coverage->table));
	coverage->nr_ranges = 0;
}

/* Where the table has a ring, or should have it. */
static uint16_t *look_up(struct vs_coverage *coverage, uint32_t ring)
{
	uint32_t at = ring * 0x9e3779b1u >> 16 & TABLE_MASK;

	while (coverage->table[at] && coverage->ranges[coverage->table[at] - 1].ring != ring)
		at = (at + 1) & TABLE_MASK;
	return &coverage->table[at];
}

static bool is_next(const struct vs_coverage_range *range, uint32_t ring, uint64_t sequence)
{
	return range->ring == ring && range->first + range->count == sequence;
}

void vs_coverage_add_run(struct vs_coverage *coverage, uint32_t ring, uint64_t sequence,
			 uint32_t nr)
{
	uint16_t *known;

	/* A thread's records mostly come in runs. */
	if (coverage->nr_ranges && is_next(&coverage->ranges[coverage->last], ring, sequence)) {
		coverage->ranges[coverage->last].count += nr;
		return;
	}
	known = look_up(coverage, ring);
	if (*known && is_next(&coverage->ranges[*known - 1], ring, sequence)) {
		coverage->last = *known - 1u;
		coverage->ranges[coverage->last].count += nr;
		return;
	}
	/* New, or not where it should go on: that is for the reader to notice. */
	coverage->last = coverage->nr_ranges++;
	coverage->ranges[coverage->last] =
		(struct vs_coverage_range){.first = sequence, .ring = ring, .count = nr};
	*known = (uint16_t)coverage->nr_ranges;
}

void vs_coverage_add(struct vs_coverage *coverage, uint32_t ring, uint64_t sequence)
{
	vs_coverage_add_run(coverage, ring, sequence, 1);
}

void vs_coverage_add_all(struct vs_coverage *coverage, uint32_t ring, uint64_t end)
{
	uint64_t first = 0;

	/* A long one is said in parts: a count has 32 bits. */
	while (first < end && !vs_coverage_is_full(coverage)) {
		uint64_t count = end - first < UINT32_MAX ? end - first : UINT32_MAX;

		coverage->ranges[coverage->nr_ranges++] = (struct vs_coverage_range){
			.first = first, .ring = ring, .count = (uint32_t)count};
		first += count;
	}
}

uint8_t *vs_coverage_put(uint8_t *out, const struct vs_coverage *coverage)
{
	out = vs_wire_put_varint(out, coverage->nr_ranges);
	for (uint32_t i = 0; i < coverage->nr_ranges; i++) {
		const struct vs_coverage_range *range = &coverage->ranges[i];

		out = vs_wire_put_varint(out, range->ring);
		out = vs_wire_put_varint(out, range->first);
		out = vs_wire_put_varint(out, range->count);
	}
	return out;
}

struct vs_coverage_range vs_coverage_get(struct vs_wire *wire)
{
	struct vs_coverage_range range;

	range.ring = vs_wire_get_varint32(wire);
	range.first = vs_wire_get_varint(wire);
	range.count = vs_wire_get_varint32(wire);
	if (range.first > UINT64_MAX - range.count)
		wire->error = -VS_ERR_CORRUPT;
	return range;
}
