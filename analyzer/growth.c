#include "growth.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_GROWN 3 /* fewer are chance */

/* floor[i]: the least of values[i...]; both may be the same array. */
static void get_floor(uint64_t *floor, const uint64_t *values, size_t nr_values)
{
	size_t i;

	for (i = nr_values; i-- > 0;) {
		floor[i] = values[i];
		if (i + 1 < nr_values && floor[i + 1] < floor[i])
			floor[i] = floor[i + 1];
	}
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median of the differences from `onset` on; the lower one of two. */
static int64_t get_median(int64_t *scratch, const uint64_t *values, size_t onset, size_t nr_values)
{
	size_t i, nr = nr_values - onset;

	for (i = 0; i < nr; i++)
		scratch[i] = (int64_t)(values[onset + i] - values[onset + i - 1]);
	qsort(scratch, nr, sizeof(scratch[0]), compare);
	return scratch[(nr - 1) / 2];
}

/*
 * The stretch of growth that reaches to the end: backwards from the last step that grew, over gaps
 * of up to an eighth of all steps. False if it has stopped, or is too thin.
 */
static bool find_stretch(struct vs_growth *growth, const uint64_t *floor, size_t nr_values)
{
	size_t gap = (nr_values - 1) / 8 > 2 ? (nr_values - 1) / 8 : 2, i, last = nr_values - 1;

	memset(growth, 0, sizeof(*growth));
	for (i = nr_values - 1; i >= 1; i--) {
		if (floor[i] == floor[i - 1])
			continue;
		if (last - i > gap)
			break;
		last = i;
		growth->onset = i;
		growth->nr_grown++;
	}
	if (growth->nr_grown < LEAST_GROWN)
		return false;
	growth->nr_steps = nr_values - growth->onset;
	growth->kept_bytes = floor[nr_values - 1] - floor[growth->onset - 1];
	return growth->nr_grown * 2 >= growth->nr_steps;
}

/* The deepest fall from any boundary to a later one, apart from the first eighth: warming up. */
static uint64_t get_fall(const uint64_t *values, size_t nr_values)
{
	uint64_t highest = 0, fall = 0;
	size_t i;

	for (i = nr_values / 8; i < nr_values; i++) {
		if (values[i] > highest)
			highest = values[i];
		if (highest - values[i] > fall)
			fall = highest - values[i];
	}
	return fall;
}

/* scratch and floor have room for nr_values; fall: of all boundaries, not only those picked. */
static void look(struct vs_growth *growth, const uint64_t *values, int64_t *scratch,
		 uint64_t *floor, size_t nr_values, size_t stride, uint64_t fall)
{
	int64_t median;

	get_floor(floor, values, nr_values);
	growth->is_growing = find_stretch(growth, floor, nr_values);
	if (!growth->is_growing)
		return;
	median = get_median(scratch, values, growth->onset, nr_values);
	/* Of a site that goes up and down, the latest way up proves nothing. And growth in longer
	 * stretches is believed only if it is the rule. */
	if (median <= 0 || (stride > 1 && growth->nr_grown * 4 < growth->nr_steps * 3) ||
	    growth->kept_bytes <= fall) {
		growth->is_growing = false;
		return;
	}
	growth->rate = (uint64_t)median / stride;
	growth->onset *= stride;
	growth->stride = stride;
}

/*
 * The least at a boundary and those before it, up to the one taken before: of boundaries that are
 * phases, some are in the middle of a step, and what is alive there is not kept.
 */
static uint64_t get_least(const uint64_t *values, size_t at, size_t stride)
{
	uint64_t least = values[at];
	size_t i;

	for (i = 1; i < stride && i <= at; i++)
		if (values[at - i] < least)
			least = values[at - i];
	return least;
}

int vs_growth_find(struct vs_growth *growth, const uint64_t *values, size_t nr_values)
{
	uint64_t *picked, *floor;
	int64_t *scratch;
	size_t stride, i, nr;

	memset(growth, 0, sizeof(*growth));
	if (nr_values <= LEAST_GROWN)
		return 0;
	picked = calloc(nr_values, 3 * sizeof(*picked));
	if (!picked)
		return -VS_ERR_NO_MEMORY;
	floor = picked + nr_values;
	scratch = (int64_t *)(floor + nr_values);
	for (stride = 1; !growth->is_growing; stride *= 2) {
		/* The last boundary always counts: steps are grouped backwards from it. */
		nr = (nr_values - 1) / stride + 1;
		if (nr <= LEAST_GROWN || (stride > 1 && nr < 6))
			break;
		for (i = 0; i < nr; i++)
			picked[i] =
				get_least(values, (nr_values - 1) % stride + i * stride, stride);
		look(growth, picked, scratch, floor, nr, stride, get_fall(values, nr_values));
		if (growth->is_growing)
			growth->onset += (nr_values - 1) % stride;
	}
	free(picked);
	return 0;
}

bool vs_growth_find_level(const uint64_t *values, size_t nr_values, size_t *since)
{
	uint64_t level = nr_values ? values[nr_values - 1] : 0, highest = 0;
	size_t i, nr_grown = 0;

	*since = nr_values;
	while (*since > 0 && values[*since - 1] == level)
		--*since;
	/* New heights on the way there; what came and went in between does not matter. */
	for (i = 0; i <= *since && i < nr_values; i++) {
		if (values[i] > highest) {
			highest = values[i];
			nr_grown++;
		}
	}
	return level && highest == level && nr_grown >= LEAST_GROWN &&
	       (nr_values - *since) * 4 >= nr_values && nr_values - *since > LEAST_GROWN;
}
