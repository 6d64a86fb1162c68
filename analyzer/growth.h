#ifndef VS_GROWTH_H
#define VS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*
 * Whether the bytes alive at one boundary after the other keep growing. What is given back later is
 * not kept, so the floor counts: the least that is alive at this and all later boundaries.
 * docs/analyses.md, "Retained".
 */
struct vs_growth {
	bool is_growing;
	uint64_t rate;       /* bytes a step: the median of the differences since the onset */
	size_t onset;        /* boundary at which the first growth was seen; >= 1 */
	size_t nr_steps;     /* from there to the last boundary, in units of stride */
	size_t nr_grown;     /* of these, with a higher floor than the one before */
	size_t stride;       /* steps taken together: more than 1 for growth only now and then */
	uint64_t kept_bytes; /* floor at the end less floor before the onset */
};

/* values: bytes at each of nr_values boundaries. */
VS_MUST_CHECK int vs_growth_find(struct vs_growth *growth, const uint64_t *values,
				 size_t nr_values);

/*
 * Whether it grew over three boundaries or more and then stayed as it was, for a quarter of all
 * boundaries at least. *since: the first of those.
 */
bool vs_growth_find_level(const uint64_t *values, size_t nr_values, size_t *since);

#endif
