#include "measure_fragmentation.h"

#include <math.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static const struct vs_worst_holes *get_worst(const struct vs_analysis *analysis)
{
	return vs_measure_fragmentation_get_worst(&analysis->fragmentation,
						  script_get_device(analysis->replay));
}

static const struct vs_hole_set *get_holes(const struct vs_analysis *analysis, size_t pool)
{
	return vs_measure_fragmentation_get_holes(&analysis->fragmentation,
						  analysis->replay->pools[pool]);
}

static void assert_holes(const struct vs_hole_set *holes, uint64_t nr_holes, uint64_t total,
			 uint64_t largest)
{
	assert_non_null(holes);
	assert_int_equal(holes->nr_holes, nr_holes);
	assert_int_equal(holes->total_bytes, total);
	assert_int_equal(vs_hole_set_get_largest(holes), largest);
}

static void test_worst_fragmentation_is_found_with_its_instant(void **state)
{
	const struct vs_worst_holes *worst;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE, 1000); /* full: no holes */
	script_block_free(&script, 1, BASE);
	script_step(&script, 3);
	script_block(&script, 1, BASE + 400, 200); /* 400 | 200 | 400: a half is outside */
	script_block_free(&script, 1, BASE + 400);
	script_block(&script, 1, BASE, 1000 - 8);
	script_block_free(&script, 1, BASE);
	script_analyse(&script, &analysis);
	worst = vs_measure_fragmentation_get_worst(&analysis.fragmentation,
						   script_get_device(analysis.replay));
	assert_non_null(worst->pool);
	assert_true(fabs(worst->share - 0.5) < 1e-9);
	assert_true(fabs(worst->scatter - (1 - sqrt(2 * 400. * 400) / 800)) < 1e-9);
	assert_int_equal(worst->total_bytes, 800);
	assert_int_equal(worst->largest_bytes, 400);
	assert_int_equal(worst->nr_holes, 2);
	assert_int_equal(worst->at.step, 3);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_tiny_holes_are_not_the_worst(void **state)
{
	const struct vs_worst_holes *worst;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE + 1, 500);
	script_block(&script, 1, BASE + 502, 497); /* two holes of one byte each */
	script_analyse(&script, &analysis);
	worst = vs_measure_fragmentation_get_worst(&analysis.fragmentation,
						   script_get_device(analysis.replay));
	assert_int_equal(worst->total_bytes, 500); /* after the first block: 1 and 499 */
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_worst_is_the_first_of_equal_instants(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	for (int i = 0; i < 3; i++) {
		script_block(&script, 1, BASE + 400, 200);
		script_block_free(&script, 1, BASE + 400);
	}
	script_analyse(&script, &analysis);
	assert_int_equal(get_worst(&analysis)->at.time_ns, 2000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_wholly_free_segment_has_no_hole(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 1000);
	script_block(&script, 1, BASE, 10);
	script_block(&script, 1, 2 * BASE + 990, 10);
	script_block_free(&script, 1, BASE);
	script_analyse(&script, &analysis);
	assert_holes(get_holes(&analysis, 0), 1, 990, 990);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_gap_between_two_segments_is_no_hole(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE + 5000, 100);
	script_block(&script, 1, BASE, 100);
	script_block(&script, 1, BASE + 5000, 100);
	script_analyse(&script, &analysis);
	assert_holes(get_holes(&analysis, 0), 0, 0, 0);
	assert_null(get_worst(&analysis)->pool);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_pools_of_host_memory_have_no_holes(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_PINNED, BASE, 1000);
	script_block(&script, 1, BASE + 100, 10);
	script_block(&script, 1, BASE + 500, 10);
	script_analyse(&script, &analysis);
	assert_null(get_worst(&analysis)->pool);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_holes_belong_to_the_pool_that_places_the_blocks(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "inner");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE, 600); /* 400 free behind it */
	script_block(&script, 2, BASE + 100, 50);
	script_block(&script, 2, BASE + 300, 50); /* 100, 150 and 250 around them */
	script_analyse(&script, &analysis);
	assert_holes(get_holes(&analysis, 0), 1, 400, 400);
	assert_holes(get_holes(&analysis, 1), 3, 500, 250);
	assert_string_equal(get_worst(&analysis)->pool->name, "inner");
	assert_true(fabs(get_worst(&analysis)->share - 0.5) < 1e-9);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_segment_that_grows_and_shrinks_changes_its_last_hole(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_reserve(&script, BASE, MIB);
	script_alloc(&script, VS_MEMORY_VMM, 7, 12288);
	script_map(&script, BASE, 4096, 7);
	script_block(&script, 1, BASE + 1000, 1000);
	script_map(&script, BASE + 4096, 4096, 7);
	script_analyse(&script, &analysis);
	assert_holes(get_holes(&analysis, 0), 2, 7192, 6192);
	vs_analysis_fini(&analysis);
	script_unmap(&script, BASE + 4096, 4096);
	script_analyse(&script, &analysis);
	assert_holes(get_holes(&analysis, 0), 2, 3096, 2096);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_sees_what_is_there_but_not_what_was_before(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE + 200, 200);
	script_block(&script, 1, BASE + 600, 200); /* 200, 200, 200: two thirds outside */
	script_block_free(&script, 1, BASE + 200); /* 600, 200: a quarter */
	script_set_time(&script, 2000000);
	script_step(&script, 1);
	script_block_free(&script, 1, BASE + 600);
	script_analyse_window(&script, &analysis, 1500000, UINT64_MAX);
	assert_true(fabs(get_worst(&analysis)->share - 0.25) < 1e-9);
	assert_int_equal(get_worst(&analysis)->total_bytes, 800);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_sees_the_holes_of_pools_that_nothing_happens_to(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "busy");
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE + 400, 200); /* from now on it rests */
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 1000);
	script_block(&script, 2, 2 * BASE, 1000);
	script_set_time(&script, 2000000);
	script_block_free(&script, 2, 2 * BASE);
	script_analyse_window(&script, &analysis, 1500000, UINT64_MAX);
	assert_non_null(get_worst(&analysis)->pool);
	assert_string_equal(get_worst(&analysis)->pool->name, "pool");
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_devices_that_were_never_seen_have_no_worst(void **state)
{
	const struct vs_replay_device device = {.index = 1000};
	const struct vs_replay_pool pool = {.index = 1000};
	struct vs_measure_fragmentation measure;

	(void)state;
	vs_measure_fragmentation_init(&measure);
	assert_null(vs_measure_fragmentation_get_worst(&measure, &device)->pool);
	assert_null(vs_measure_fragmentation_get_holes(&measure, &pool));
	vs_measure_fragmentation_fini(&measure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worst_fragmentation_is_found_with_its_instant),
		cmocka_unit_test(test_tiny_holes_are_not_the_worst),
		cmocka_unit_test(test_worst_is_the_first_of_equal_instants),
		cmocka_unit_test(test_wholly_free_segment_has_no_hole),
		cmocka_unit_test(test_gap_between_two_segments_is_no_hole),
		cmocka_unit_test(test_pools_of_host_memory_have_no_holes),
		cmocka_unit_test(test_holes_belong_to_the_pool_that_places_the_blocks),
		cmocka_unit_test(test_segment_that_grows_and_shrinks_changes_its_last_hole),
		cmocka_unit_test(test_window_sees_what_is_there_but_not_what_was_before),
		cmocka_unit_test(test_window_sees_the_holes_of_pools_that_nothing_happens_to),
		cmocka_unit_test(test_devices_that_were_never_seen_have_no_worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
