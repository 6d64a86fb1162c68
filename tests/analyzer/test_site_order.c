#include "site_order.h"

#include <stdlib.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

/*
 * By stack: 1 took 500 and gave it back, 2 has 30 in three pieces, 3 has 30 in one, 4 has pinned
 * memory; 2 has some on device 1, too.
 */
static void make_sites(struct script *script)
{
	script_init_usual(script);
	script_device(script, 1, MIB);
	script_set_stack(script, 3);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 30);
	script_set_stack(script, 2);
	for (uint64_t i = 0; i < 3; i++)
		script_alloc(script, VS_MEMORY_DEVICE, (2 + i) * BASE, 10);
	script_alloc_on(script, 1, VS_MEMORY_DEVICE, 20 * BASE, 77);
	script_set_stack(script, 4);
	script_alloc(script, VS_MEMORY_PINNED, 30 * BASE, 1000);
	script_set_stack(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, 10 * BASE, 500);
	script_free(script, VS_MEMORY_DEVICE, 10 * BASE);
}

static void assert_row(const struct vs_analysis *analysis, const struct vs_site_row *row,
		       uint32_t stack, uint64_t bytes, uint64_t count)
{
	assert_ptr_equal(row->account, script_get_account(analysis->replay, stack));
	assert_int_equal(row->bytes, bytes);
	assert_int_equal(row->count, count);
}

static void test_live_rows_are_by_bytes_and_then_by_count(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	size_t nr;

	(void)state;
	make_sites(&script);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_live(analysis.replay, script_get_device(analysis.replay), &rows, &nr),
		0);
	assert_int_equal(nr, 2); /* neither the host nor what was given back nor device 1 */
	assert_row(&analysis, &rows[0], 2, 30, 3);
	assert_row(&analysis, &rows[1], 3, 30, 1);
	free(rows);
	assert_int_equal(vs_site_order_live(analysis.replay,
					    vs_replay_get_device(analysis.replay, 1), &rows, &nr),
			 0);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].bytes, 77);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_peak_rows_are_those_of_the_peak(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	size_t nr;

	(void)state;
	make_sites(&script);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_peak(&analysis, script_get_device(analysis.replay), &rows, &nr), 0);
	assert_int_equal(nr, 3);
	assert_row(&analysis, &rows[0], 1, 500, 1);
	assert_row(&analysis, &rows[1], 2, 30, 3);
	assert_row(&analysis, &rows[2], 3, 30, 1);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_total_rows_have_all_domains(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	size_t nr;

	(void)state;
	make_sites(&script);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_total(&analysis, script_get_device(analysis.replay), &rows, &nr), 0);
	assert_int_equal(nr, 4);
	assert_row(&analysis, &rows[0], 4, 1000, 1);
	assert_row(&analysis, &rows[1], 1, 500, 1);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_equal_rows_stay_in_the_order_of_their_appearance(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	size_t nr;

	(void)state;
	script_init_usual(&script);
	for (uint32_t stack = 4; stack > 0; stack--) {
		script_set_stack(&script, stack);
		script_alloc(&script, VS_MEMORY_DEVICE, stack * BASE, 8);
	}
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_live(analysis.replay, script_get_device(analysis.replay), &rows, &nr),
		0);
	assert_int_equal(nr, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_row(&analysis, &rows[i], 4 - i, 8, 1);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_allocation_of_nothing_is_a_row(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	size_t nr;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 0);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_total(&analysis, script_get_device(analysis.replay), &rows, &nr), 0);
	assert_int_equal(nr, 1);
	assert_row(&analysis, &rows[0], 1, 0, 1);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_trace_without_memory_has_no_rows(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	size_t nr = 5;

	(void)state;
	script_init_usual(&script);
	script_step(&script, 1);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_peak(&analysis, script_get_device(analysis.replay), &rows, &nr), 0);
	assert_int_equal(nr, 0);
	assert_non_null(rows);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_rows_are_by_bytes_and_then_by_count),
		cmocka_unit_test(test_peak_rows_are_those_of_the_peak),
		cmocka_unit_test(test_total_rows_have_all_domains),
		cmocka_unit_test(test_equal_rows_stay_in_the_order_of_their_appearance),
		cmocka_unit_test(test_allocation_of_nothing_is_a_row),
		cmocka_unit_test(test_trace_without_memory_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
