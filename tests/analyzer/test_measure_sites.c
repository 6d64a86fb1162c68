#include "measure_sites.h"

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static const struct vs_site_totals *get_totals(const struct vs_analysis *analysis, uint32_t stack)
{
	return vs_measure_sites_get(&analysis->sites, script_get_account(analysis->replay, stack));
}

static void test_sites_sum_up_their_whole_life(void **state)
{
	const struct vs_site_totals *totals;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 90);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 5);
	script_analyse(&script, &analysis);
	totals = vs_measure_sites_get(&analysis.sites, script_get_account(analysis.replay, 1));
	assert_int_equal(totals->nr_allocs, 3);
	assert_int_equal(totals->bytes_allocated, 105);
	assert_int_equal(totals->peak_bytes, 100);
	assert_int_equal(totals->min_size, 5);
	assert_int_equal(totals->max_size, 90);
	assert_int_equal(script_get_account(analysis.replay, 1)->live_bytes, 95);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_times_are_those_of_the_first_and_the_last_allocation(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_set_time(&script, 5000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 0);
	script_set_time(&script, 9000);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 8);
	script_set_time(&script, 20000);
	script_free(&script, VS_MEMORY_DEVICE, 2 * BASE);
	script_analyse(&script, &analysis);
	assert_int_equal(get_totals(&analysis, 1)->first_ns, 5000);
	assert_int_equal(get_totals(&analysis, 1)->last_ns, 9000);
	assert_int_equal(get_totals(&analysis, 1)->min_size, 0);
	assert_int_equal(get_totals(&analysis, 1)->max_size, 8);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_segment_that_a_pool_divides_is_represented_by_its_blocks(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_set_stack(&script, 2);
	script_block(&script, 1, BASE, 30);
	script_analyse(&script, &analysis);
	assert_int_equal(get_totals(&analysis, 1)->nr_allocs, 0);
	assert_int_equal(get_totals(&analysis, 1)->bytes_allocated, 0);
	assert_int_equal(get_totals(&analysis, 2)->nr_allocs, 1);
	assert_int_equal(get_totals(&analysis, 2)->bytes_allocated, 30);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_free_that_failed_is_no_second_allocation(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	script_set_stack(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 1000);
	script_set_stack(&script, 3);
	script_block(&script, 1, 2 * BASE, 70);
	script_free(&script, VS_MEMORY_DEVICE, 2 * BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, 2 * BASE);
	script_analyse(&script, &analysis);
	assert_int_equal(get_totals(&analysis, 1)->nr_allocs, 1);
	assert_int_equal(get_totals(&analysis, 1)->bytes_allocated, 1000);
	assert_int_equal(get_totals(&analysis, 1)->last_ns, 1000);
	assert_int_equal(get_totals(&analysis, 3)->nr_allocs, 1);
	assert_int_equal(get_totals(&analysis, 3)->bytes_allocated, 70);
	assert_int_equal(script_get_account(analysis.replay, 3)->live_bytes, 70);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_counts_what_happens_in_it_on_top_of_what_is_there(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 500);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 40);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_set_time(&script, 2000000);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 7);
	script_analyse_window(&script, &analysis, 1500000, UINT64_MAX);
	assert_int_equal(get_totals(&analysis, 1)->nr_allocs, 1);
	assert_int_equal(get_totals(&analysis, 1)->bytes_allocated, 7);
	assert_int_equal(get_totals(&analysis, 1)->min_size, 7);
	assert_int_equal(get_totals(&analysis, 1)->peak_bytes, 47);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_peak_of_a_window_is_at_least_what_was_there_when_it_opened(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 40);
	script_set_time(&script, 2000000);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 7);
	script_analyse_window(&script, &analysis, 1500000, UINT64_MAX);
	assert_int_equal(get_totals(&analysis, 1)->peak_bytes, 40);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_site_that_did_nothing_has_totals_of_zero(void **state)
{
	const struct vs_account account = {.index = 1000};
	struct vs_measure_sites measure;

	(void)state;
	vs_measure_sites_init(&measure);
	assert_int_equal(vs_measure_sites_get(&measure, &account)->nr_allocs, 0);
	vs_measure_sites_fini(&measure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_sum_up_their_whole_life),
		cmocka_unit_test(test_times_are_those_of_the_first_and_the_last_allocation),
		cmocka_unit_test(test_segment_that_a_pool_divides_is_represented_by_its_blocks),
		cmocka_unit_test(test_free_that_failed_is_no_second_allocation),
		cmocka_unit_test(test_window_counts_what_happens_in_it_on_top_of_what_is_there),
		cmocka_unit_test(test_peak_of_a_window_is_at_least_what_was_there_when_it_opened),
		cmocka_unit_test(test_site_that_did_nothing_has_totals_of_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
