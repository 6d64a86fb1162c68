#include "measure_peaks.h"

#include <stdlib.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static void observe(struct script *script, struct vs_analysis *analysis,
		    struct vs_measure_peaks *peaks, struct vs_replay **replay)
{
	const struct vs_peak *peak;

	script_analyse(script, analysis);
	peak = &vs_measure_peak_get(&analysis->peak, script_get_device(analysis->replay))->live;
	vs_measure_peaks_init(peaks, 0, peak->bytes, peak->at.record);
	assert_int_equal(vs_analysis_observe(analysis, &peaks->observer, replay), 0);
}

static void end(struct script *script, struct vs_analysis *analysis, struct vs_measure_peaks *peaks,
		struct vs_replay *replay)
{
	vs_replay_destroy(replay);
	vs_measure_peaks_fini(peaks);
	vs_analysis_fini(analysis);
	script_fini(script);
}

/* One allocation up to a height and down again, in a phase of that name. */
static void rise(struct script *script, uint64_t height, uint32_t phase)
{
	script_push(script, phase);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, height);
	script_free(script, VS_MEMORY_DEVICE, BASE);
	script_pop(script);
}

static void test_equal_peaks_are_one_story(void **state)
{
	struct vs_measure_peaks peaks;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (int i = 0; i < 10; i++)
		rise(&script, 990 + (uint64_t)i, i == 3 ? 1 : 2);
	rise(&script, 1000, 2);
	rise(&script, 989, 1);
	rise(&script, 500, 1);
	observe(&script, &analysis, &peaks, &replay);
	assert_int_equal(peaks.nr_peaks, 13);
	assert_int_equal(peaks.nr_near, 11); /* 990 is 99 hundredths, 989 is less */
	assert_int_equal(peaks.nr_near_phases, 2);
	assert_string_equal(peaks.near[0].name, "backward");
	assert_int_equal(peaks.near[0].count, 10);
	assert_string_equal(peaks.near[1].name, "forward");
	assert_int_equal(peaks.second, 999);
	assert_int_equal(peaks.below, 989);
	assert_int_equal(vs_measure_peaks_get_typical(&peaks), 994);
	end(&script, &analysis, &peaks, replay);
}

static void test_small_ups_and_downs_are_no_peaks(void **state)
{
	struct vs_measure_peaks peaks;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 9 * BASE, 1000);
	for (int i = 0; i < 5; i++)
		rise(&script, 60, 1); /* a sixteenth of 1060 is 66 */
	observe(&script, &analysis, &peaks, &replay);
	assert_int_equal(peaks.nr_peaks, 1);
	assert_int_equal(peaks.second, 0);
	end(&script, &analysis, &peaks, replay);
}

static void test_pools_have_peaks_of_their_own(void **state)
{
	struct vs_measure_peaks peaks;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_pool(&script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 400);
	script_block(&script, 1, BASE, 300);
	script_block_free(&script, 1, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 200);
	script_block(&script, 1, 2 * BASE, 50);
	script_alloc_async(&script, 2, 3 * BASE, 70);
	script_pool_state(&script, 2, 128);
	observe(&script, &analysis, &peaks, &replay);
	assert_int_equal(peaks.pools[0].live_bytes, 300);
	assert_int_equal(peaks.pools[0].held_bytes, 600);
	assert_true(peaks.pools[0].held_at.time_ns > peaks.pools[0].live_at.time_ns);
	assert_int_equal(peaks.pools[1].live_bytes, 70);
	assert_int_equal(peaks.pools[1].held_bytes, 128);
	end(&script, &analysis, &peaks, replay);
}

static void test_memory_of_the_peak_is_told_by_the_phases_it_was_made_in(void **state)
{
	struct vs_measure_peaks peaks;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	script_push(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 500);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 7);
	script_free(&script, VS_MEMORY_DEVICE, 3 * BASE);
	script_pop(&script);
	script_push(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 4 * BASE, 100); /* the peak: 610 */
	script_free(&script, VS_MEMORY_DEVICE, 4 * BASE);
	script_pop(&script);
	observe(&script, &analysis, &peaks, &replay);
	assert_int_equal(peaks.nr_made, 3);
	assert_string_equal(peaks.made[0].name, "forward");
	assert_int_equal(peaks.made[0].bytes, 500);
	assert_string_equal(peaks.made[1].name, "backward");
	assert_int_equal(peaks.made[1].bytes, 100);
	assert_null(peaks.made[2].name);
	assert_int_equal(peaks.made[2].bytes, 10);
	end(&script, &analysis, &peaks, replay);
}

/* ---- The twin ------------------------------------------------------------------------------- */

#define NR_SLOTS  8
#define NR_EVENTS 120

/*
 * Peaks of a curve, by looking at all of it: a height is one if the curve comes down from it by
 * `fall` before it gets higher, and had come up to it by as much since it was last below a peak.
 */
static size_t find_peaks(const uint64_t *curve, size_t nr, uint64_t fall, uint64_t *heights)
{
	size_t nr_heights = 0, i = 0, k, at;
	uint64_t lowest = 0;

	while (i < nr) {
		/* The highest before the first fall from it. */
		at = i;
		for (k = i; k < nr && curve[at] < curve[k] + fall; k++)
			if (curve[k] > curve[at])
				at = k;
		if (curve[at])
			heights[nr_heights++] = curve[at];
		if (k == nr)
			break;
		/* Down to the lowest before the first rise from it. */
		lowest = curve[k];
		for (i = k; i < nr && curve[i] < lowest + fall; i++)
			if (curve[i] < lowest)
				lowest = curve[i];
	}
	return nr_heights;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void try_seed(unsigned int seed)
{
	uint64_t sizes[NR_SLOTS] = {0}, curve[NR_EVENTS], heights[NR_EVENTS], highest = 0, live = 0;
	struct vs_measure_peaks peaks;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;
	size_t nr;

	script_init_usual(&script);
	for (size_t i = 0; i < NR_EVENTS; i++) {
		uint64_t slot = (uint64_t)rand_r(&seed) % NR_SLOTS;

		if (sizes[slot]) {
			script_free(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE);
			live -= sizes[slot];
			sizes[slot] = 0;
		} else {
			sizes[slot] = 1 + (uint64_t)rand_r(&seed) % 100;
			script_alloc(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE, sizes[slot]);
			live += sizes[slot];
		}
		curve[i] = live;
		if (live > highest)
			highest = live;
	}
	observe(&script, &analysis, &peaks, &replay);
	nr = find_peaks(curve, NR_EVENTS, highest / 16 + 1, heights);
	assert_int_equal(peaks.nr_peaks, nr);
	qsort(heights, nr, sizeof(heights[0]), compare);
	assert_int_equal(vs_measure_peaks_get_typical(&peaks), heights[(nr - 1) / 2]);
	assert_int_equal(heights[nr - 1], highest);
	assert_int_equal(peaks.second, nr > 1 ? heights[nr - 2] : 0);
	end(&script, &analysis, &peaks, replay);
}

static void test_random_curves_have_the_peaks_that_a_look_at_all_of_them_finds(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 2000; seed++)
		try_seed(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_peaks_are_one_story),
		cmocka_unit_test(test_small_ups_and_downs_are_no_peaks),
		cmocka_unit_test(test_pools_have_peaks_of_their_own),
		cmocka_unit_test(test_memory_of_the_peak_is_told_by_the_phases_it_was_made_in),
		cmocka_unit_test(
			test_random_curves_have_the_peaks_that_a_look_at_all_of_them_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
