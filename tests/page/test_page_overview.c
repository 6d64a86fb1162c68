#include "page_overview.h"

#include "script.h"

#define COLUMNS VS_PAGE_OVERVIEW_COLUMNS

/* 512 columns of 10 ns, one site that is told apart. */
static void init_overview(struct vs_page_overview *overview)
{
	*overview = (struct vs_page_overview){.to_ns = UINT64_C(10) * COLUMNS, .nr_sites = 1};
	overview->sites[0] = 7;
}

static void test_column_has_the_most_that_was_in_it(void **state)
{
	struct vs_page_overview overview;

	(void)state;
	init_overview(&overview);
	vs_page_overview_charge(&overview, 7, 100, true);
	vs_page_overview_add(&overview, 12, 100, 500);
	vs_page_overview_charge(&overview, 8, 50, true);
	vs_page_overview_add(&overview, 14, 150, 400);
	vs_page_overview_charge(&overview, 7, 100, false);
	vs_page_overview_add(&overview, 16, 50, 400);
	vs_page_overview_finish(&overview);
	assert_int_equal(overview.columns[0].live, 0);
	assert_int_equal(overview.columns[1].live, 150);
	assert_int_equal(overview.columns[1].reserved, 500);
	assert_int_equal(overview.columns[1].groups[0], 100);
	assert_int_equal(overview.columns[1].groups[VS_PAGE_OVERVIEW_SITES], 50);
	/* What stays is there to the end. */
	assert_int_equal(overview.columns[2].live, 50);
	assert_int_equal(overview.columns[COLUMNS - 1].live, 50);
	assert_int_equal(overview.columns[COLUMNS - 1].groups[0], 0);
	assert_int_equal(overview.columns[COLUMNS - 1].reserved, 400);
}

static void test_level_of_before_is_at_the_beginning_of_a_column(void **state)
{
	struct vs_page_overview overview;

	(void)state;
	init_overview(&overview);
	vs_page_overview_charge(&overview, 7, 100, true);
	vs_page_overview_add(&overview, 5, 100, 100);
	vs_page_overview_charge(&overview, 7, 100, false);
	vs_page_overview_add(&overview, 25, 0, 0);
	vs_page_overview_finish(&overview);
	assert_int_equal(overview.columns[1].groups[0], 100);
	/* It went in the middle of this one. */
	assert_int_equal(overview.columns[2].live, 100);
	assert_int_equal(overview.columns[2].groups[0], 100);
	assert_int_equal(overview.columns[3].live, 0);
}

static void test_last_event_is_in_the_last_column(void **state)
{
	struct vs_page_overview overview;

	(void)state;
	init_overview(&overview);
	vs_page_overview_charge(&overview, 7, 9, true);
	vs_page_overview_add(&overview, overview.to_ns, 9, 9);
	vs_page_overview_finish(&overview);
	assert_int_equal(overview.columns[COLUMNS - 1].live, 9);
	assert_int_equal(overview.columns[COLUMNS - 2].live, 0);
}

static void test_window_begins_a_little_before_the_first_event(void **state)
{
	struct vs_page_overview overview;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 2);
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, MIB, MIB);
	script_set_time(&script, 1100000);
	script_free(&script, VS_MEMORY_DEVICE, MIB);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_page_overview_init(&overview, &analysis, script_get_device(analysis.replay)), 0);
	assert_int_equal(overview.to_ns, analysis.duration_ns);
	assert_int_equal(overview.from_ns,
			 analysis.replay->first_ns -
				 (analysis.duration_ns - analysis.replay->first_ns) / 50);
	assert_int_equal(overview.nr_sites, 1);
	assert_int_equal(overview.sites[0], script_get_account(analysis.replay, 2)->site->index);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_column_has_the_most_that_was_in_it),
		cmocka_unit_test(test_level_of_before_is_at_the_beginning_of_a_column),
		cmocka_unit_test(test_last_event_is_in_the_last_column),
		cmocka_unit_test(test_window_begins_a_little_before_the_first_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
