#include "peak_curve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- The twin ------------------------------------------------------------------------------- */

struct twin {
	uint64_t *heights; /* in order of time, */
	size_t *at;        /* and where they are */
	size_t nr;
	uint64_t highest;
};

/*
 * Peaks of a curve, by looking at all of it: a height is one if the curve comes down from it by
 * `fall` before it gets higher, and had come up to it by as much since it was last below a peak.
 */
static void find_peaks(struct twin *twin, const uint64_t *curve, size_t nr)
{
	size_t i = 0, k, at;
	uint64_t lowest = 0, fall;

	*twin = (struct twin){calloc(nr, sizeof(uint64_t)), calloc(nr, sizeof(size_t)), 0, 0};
	for (k = 0; k < nr; k++)
		if (curve[k] > twin->highest)
			twin->highest = curve[k];
	fall = twin->highest / 16 + 1;
	while (i < nr) {
		/* The highest before the first fall from it. */
		at = i;
		for (k = i; k < nr && curve[at] < curve[k] + fall; k++)
			if (curve[k] > curve[at])
				at = k;
		if (curve[at]) {
			twin->at[twin->nr] = at;
			twin->heights[twin->nr++] = curve[at];
		}
		if (k == nr)
			break;
		/* Down to the lowest before the first rise from it. */
		lowest = curve[k];
		for (i = k; i < nr && curve[i] < lowest + fall; i++)
			if (curve[i] < lowest)
				lowest = curve[i];
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The first of those that are as high, at or behind a place. */
static size_t find_height(const struct twin *twin, uint64_t height)
{
	size_t i = 0;

	while (twin->heights[i] != height)
		i++;
	return twin->at[i];
}

static void check(struct vs_peak_curve *curve, const uint64_t *bytes, size_t nr)
{
	uint64_t below = 0, near = 0;
	struct twin twin;

	find_peaks(&twin, bytes, nr);
	for (size_t i = 0; i < twin.nr; i++) {
		if (twin.heights[i] * 100 >= twin.highest * 99)
			near++;
		else if (twin.heights[i] > below)
			below = twin.heights[i];
	}
	assert_int_equal(curve->nr_peaks, twin.nr);
	assert_int_equal(curve->highest, twin.highest);
	assert_int_equal(curve->nr_near, near);
	assert_int_equal(curve->below.bytes, below);
	if (below)
		assert_int_equal(curve->below.at.record, find_height(&twin, below));
	if (twin.nr)
		assert_int_equal(curve->top.at.record, find_height(&twin, twin.highest));
	qsort(twin.heights, twin.nr, sizeof(twin.heights[0]), compare);
	assert_int_equal(curve->second.bytes, twin.nr > 1 ? twin.heights[twin.nr - 2] : 0);
	if (twin.nr && twin.nr <= VS_PEAK_CURVE_HEIGHTS)
		assert_int_equal(vs_peak_curve_get_typical(curve), twin.heights[(twin.nr - 1) / 2]);
	free(twin.heights);
	free(twin.at);
}

static void follow(struct vs_peak_curve *curve, uint64_t highest, const uint64_t *bytes, size_t nr)
{
	vs_peak_curve_init(curve, highest);
	for (size_t i = 0; i < nr; i++) {
		struct vs_instant at = {.record = i};

		/* As measures do: what moves nothing need not be told. */
		if (vs_peak_curve_is_moved(curve, bytes[i]))
			assert_int_equal(vs_peak_curve_follow(curve, bytes[i], &at), 0);
	}
	assert_int_equal(vs_peak_curve_end(curve), 0);
}

static void try_curve(const uint64_t *bytes, size_t nr)
{
	struct vs_peak_curve curve;
	uint64_t highest = 0;

	for (size_t i = 0; i < nr; i++)
		if (bytes[i] > highest)
			highest = bytes[i];
	follow(&curve, 0, bytes, nr);
	assert_false(curve.is_lost);
	check(&curve, bytes, nr);
	vs_peak_curve_fini(&curve);
	follow(&curve, highest, bytes, nr);
	check(&curve, bytes, nr);
	vs_peak_curve_fini(&curve);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

#define NR_POINTS 200

/* Up and down in jumps of all sizes, and on the whole level, up, or down. */
static void test_random_curves_have_the_peaks_that_a_look_at_all_of_them_finds(void **state)
{
	uint64_t bytes[NR_POINTS];

	(void)state;
	for (unsigned int number = 1; number <= 20000; number++) {
		unsigned int seed = number, range = 1u << number % 12;
		uint64_t now = (uint64_t)rand_r(&seed) % 100;

		for (size_t i = 0; i < NR_POINTS; i++) {
			uint64_t jump = (uint64_t)rand_r(&seed) % range + number % 3;

			if (rand_r(&seed) % 2)
				now += jump;
			else
				now -= jump < now ? jump : now;
			bytes[i] = now;
		}
		try_curve(bytes, 1 + (size_t)rand_r(&seed) % NR_POINTS);
	}
}

/* More turns than are kept: small ones first, which a higher curve makes none. */
static void test_turns_are_left_out_when_the_curve_has_outgrown_them(void **state)
{
	size_t nr = VS_PEAK_CURVE_TURNS / 10 * 12;
	uint64_t *bytes = calloc(nr, sizeof(*bytes));

	(void)state;
	for (size_t i = 0; i < nr; i++)
		bytes[i] = (i % 2) * (i < nr * 2 / 3 ? 100 : 90000 + i % 99);
	bytes[nr / 3 * 2] = 100000;
	try_curve(bytes, nr);
	free(bytes);
}

static void test_many_peaks_below_the_first_are_counted_on_the_way(void **state)
{
	size_t nr = 5 * VS_PEAK_CURVE_TURNS;
	uint64_t *bytes = calloc(nr, sizeof(*bytes));
	struct vs_peak_curve curve;
	unsigned int seed = 3;

	(void)state;
	bytes[0] = 1000;
	for (size_t i = 1; i < nr; i++)
		bytes[i] =
			i % 2 ? (uint64_t)rand_r(&seed) % 500 : 500 + (uint64_t)rand_r(&seed) % 501;
	try_curve(bytes, nr);
	follow(&curve, 0, bytes, nr);
	assert_true(curve.turns_capacity <= VS_PEAK_CURVE_TURNS);
	vs_peak_curve_fini(&curve);
	free(bytes);
}

static void test_curve_that_gets_higher_after_very_many_peaks_has_to_be_followed_again(void **state)
{
	size_t nr = 3 * VS_PEAK_CURVE_TURNS;
	uint64_t *bytes = calloc(nr, sizeof(*bytes));
	struct vs_peak_curve curve;

	(void)state;
	for (size_t i = 0; i < nr; i++)
		bytes[i] = i % 2 ? 10 : 1000;
	bytes[nr - 2] = 1001;
	follow(&curve, 0, bytes, nr);
	assert_true(curve.is_lost);
	vs_peak_curve_fini(&curve);
	follow(&curve, 1001, bytes, nr);
	check(&curve, bytes, nr);
	vs_peak_curve_fini(&curve);
	free(bytes);
}

static void test_curve_that_never_rises_has_no_peak(void **state)
{
	uint64_t bytes[3] = {0, 0, 0};

	(void)state;
	try_curve(bytes, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_random_curves_have_the_peaks_that_a_look_at_all_of_them_finds),
		cmocka_unit_test(test_turns_are_left_out_when_the_curve_has_outgrown_them),
		cmocka_unit_test(test_many_peaks_below_the_first_are_counted_on_the_way),
		cmocka_unit_test(
			test_curve_that_gets_higher_after_very_many_peaks_has_to_be_followed_again),
		cmocka_unit_test(test_curve_that_never_rises_has_no_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
