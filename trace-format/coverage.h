#ifndef VS_COVERAGE_H
#define VS_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "wire.h"

/*
 * Which records of the log a block stands for: docs/trace-format.md, section 3.4. This is how a
 * reader knows which of the log's records are in the trace already.
 */
struct vs_coverage_range {
	uint64_t first; /* sequence: first <= s < first + count */
	uint32_t ring;
	uint32_t count;
};

#define VS_COVERAGE_MAX 8192u /* ranges in one block */

/* What a writer has so far. One thread. {0} is empty. */
struct vs_coverage {
	uint32_t nr_ranges;
	uint32_t last;                       /* where the last record went */
	uint16_t table[2 * VS_COVERAGE_MAX]; /* by ring: 1 + its newest range; 0: free */
	struct vs_coverage_range ranges[VS_COVERAGE_MAX];
};

/* A record, or some in a row (not 0); not while vs_coverage_is_full(). */
void vs_coverage_add(struct vs_coverage *coverage, uint32_t ring, uint64_t sequence);
void vs_coverage_add_run(struct vs_coverage *coverage, uint32_t ring, uint64_t sequence,
			 uint32_t nr);

/* All records of a ring from the first to `end` - 1. Not mixed with vs_coverage_add. */
void vs_coverage_add_all(struct vs_coverage *coverage, uint32_t ring, uint64_t end);
void vs_coverage_clear(struct vs_coverage *coverage);

/* No room for a ring that is not there yet. */
static inline bool vs_coverage_is_full(const struct vs_coverage *coverage)
{
	return coverage->nr_ranges == VS_COVERAGE_MAX;
}

/* Writes at most VS_COVERAGE_BOUND bytes; returns the place behind. */
#define VS_COVERAGE_BOUND (3u * VS_WIRE_VARINT_MAX * (VS_COVERAGE_MAX + 1))
uint8_t *vs_coverage_put(uint8_t *out, const struct vs_coverage *coverage);

/* Reading: the number of ranges is a varint, then they come one by one; errors stay in wire. */
struct vs_coverage_range vs_coverage_get(struct vs_wire *wire);

#endif
