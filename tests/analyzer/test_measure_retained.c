#include "measure_retained.h"

#include <stdlib.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static void sum(struct vs_retained *retained, const struct vs_analysis *analysis)
{
	assert_int_equal(vs_measure_retained_sum(retained, &analysis->retained, analysis->replay,
						 script_get_device(analysis->replay)),
			 0);
}

/* Weights in step 0, activations that come and go, one small block kept in every step from 5 on. */
static void make_training(struct script *script, int nr_steps)
{
	unsigned int seed = 9;

	script_init_usual(script);
	for (int step = 0; step < nr_steps; step++) {
		uint64_t size = 10 * MIB + (uint64_t)rand_r(&seed) % MIB;

		script_step(script, (uint64_t)step);
		script_set_stack(script, 1);
		if (step == 0)
			script_alloc(script, VS_MEMORY_DEVICE, BASE, 200 * MIB);
		script_set_stack(script, 2);
		script_alloc(script, VS_MEMORY_DEVICE, 100 * BASE, size);
		script_set_stack(script, 3);
		if (step >= 5)
			script_alloc(script, VS_MEMORY_DEVICE, (200 + (uint64_t)step) * BASE, MIB);
		script_set_stack(script, 4); /* double buffer: alive at boundaries, never growing */
		if (step)
			script_free(script, VS_MEMORY_DEVICE,
				    (2 + (uint64_t)(step - 1) % 2) * BASE);
		script_alloc(script, VS_MEMORY_DEVICE, (2 + (uint64_t)step % 2) * BASE,
			     MIB + (uint64_t)rand_r(&seed) % (2 * MIB));
		script_free(script, VS_MEMORY_DEVICE, 100 * BASE);
	}
}

static void test_retained_names_the_site_that_keeps_a_block_a_step(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	make_training(&script, 60);
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.retained.unit, VS_BOUNDARY_STEPS);
	assert_int_equal(vs_measure_retained_sum(&retained, &analysis.retained, analysis.replay,
						 script_get_device(analysis.replay)),
			 0);
	assert_int_equal(retained.nr_growing, 1);
	assert_ptr_equal(retained.sites[0].account, script_get_account(analysis.replay, 3));
	assert_int_equal(retained.sites[0].growth.rate, MIB);
	assert_int_equal(retained.sites[0].since, 5);
	assert_int_equal(retained.sites[0].growth.nr_grown, 54);
	assert_int_equal(retained.sites[0].growth.nr_steps, 54);
	assert_int_equal(retained.growth.rate, MIB);
	/* What does not grow stands behind, weights first; activations are not there at all. */
	assert_ptr_equal(retained.sites[1].account, script_get_account(analysis.replay, 1));
	assert_int_equal(retained.sites[1].constant_bytes, 200 * MIB);
	assert_int_equal(retained.nr_sites, 3);
	assert_true(retained.has_forecast);
	assert_int_equal(retained.steps_to_full, (1000 * MIB - retained.last_live) / MIB);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_long_runs_keep_a_bounded_number_of_boundaries(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	make_training(&script, 3000);
	script_analyse(&script, &analysis);
	assert_in_range(analysis.retained.nr_boundaries, VS_RETAINED_MAX / 2, VS_RETAINED_MAX);
	assert_int_equal(analysis.retained.stride, 8);
	assert_int_equal(analysis.retained.boundaries[10].number, 80);
	assert_int_equal(vs_measure_retained_sum(&retained, &analysis.retained, analysis.replay,
						 script_get_device(analysis.replay)),
			 0);
	assert_int_equal(retained.nr_growing, 1);
	assert_int_equal(retained.sites[0].growth.rate, MIB);
	assert_int_equal(retained.sites[0].last_bytes, (2992 - 5) * MIB);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* Against a model that remembers the live bytes of every step. */
static void test_values_are_the_live_bytes_at_each_boundary_kept(void **state)
{
	enum {
		NR_STEPS = 2500
	};
	static uint64_t model[NR_STEPS];
	static uint64_t values[VS_RETAINED_MAX];
	struct vs_analysis analysis;
	struct script script;
	unsigned int seed = 5;
	uint64_t sizes[16] = {0}, live = 0;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	for (uint64_t step = 0; step < NR_STEPS; step++) {
		unsigned int slot = (unsigned int)rand_r(&seed) % 16;

		model[step] = live; /* a boundary is the start of a step */
		script_step(&script, step);
		if (rand_r(&seed) % 3 == 0)
			continue;
		live -= sizes[slot];
		if (sizes[slot])
			script_free(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE);
		sizes[slot] = sizes[slot] ? 0 : 1 + (uint64_t)rand_r(&seed) % 1000;
		live += sizes[slot];
		if (sizes[slot])
			script_alloc(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE, sizes[slot]);
	}
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.retained.stride, 8);
	vs_measure_retained_get_values(&analysis.retained, script_get_account(analysis.replay, 1),
				       false, values);
	for (uint32_t i = 0; i < analysis.retained.nr_boundaries; i++) {
		assert_int_equal(analysis.retained.boundaries[i].number, 8 * i);
		assert_int_equal(values[i], model[8 * i]);
	}
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* Without a pattern, and never the same twice in a row. */
static uint64_t get_level(uint64_t account, uint64_t boundary)
{
	return (boundary * 7 + account * 13) % 1009 * 2 + boundary % 2 + 1;
}

static void check_levels(const struct vs_measure_retained *measure,
			 const struct vs_account *account)
{
	uint64_t values[VS_RETAINED_MAX];

	vs_measure_retained_get_values(measure, account, false, values);
	for (uint32_t i = 0; i < measure->nr_boundaries; i++)
		assert_int_equal(values[i],
				 get_level(account->index, measure->boundaries[i].number));
}

static void test_many_sites_that_always_change_keep_fewer_boundaries(void **state)
{
	enum {
		NR_ACCOUNTS = 4000,
		NR_BOUNDARIES = 700
	};
	struct vs_measure_retained *measure = calloc(1, sizeof(*measure));
	struct vs_account *accounts = calloc(NR_ACCOUNTS, sizeof(*accounts));
	struct vs_account **pointers = calloc(NR_ACCOUNTS, sizeof(*pointers));
	static struct vs_replay replay;
	struct vs_item item = {.size = 0};

	(void)state;
	assert_true(measure && accounts && pointers);
	replay.accounts = pointers;
	replay.nr_accounts = NR_ACCOUNTS;
	vs_measure_retained_init(measure, VS_BOUNDARY_DERIVED, 0, 0);
	for (uint64_t boundary = 0; boundary < NR_BOUNDARIES; boundary++) {
		for (uint32_t i = 0; i < NR_ACCOUNTS; i++) {
			accounts[i].index = i;
			accounts[i].live_bytes = get_level(i, boundary);
			pointers[i] = item.account = &accounts[i];
			assert_int_equal(vs_measure_retained_note(measure, &replay, &item, true),
					 0);
		}
		assert_int_equal(vs_measure_retained_add_boundary(measure, &replay, boundary), 0);
		/* What one boundary adds may go beyond it. */
		assert_true(measure->nr_levels <= VS_RETAINED_LEVELS + 4 * NR_ACCOUNTS);
	}
	assert_true(measure->nr_boundaries >= VS_RETAINED_LEAST);
	assert_true(measure->stride > 2); /* 2 is enough for so many boundaries of few sites */
	for (uint32_t i = 0; i < NR_ACCOUNTS; i++)
		check_levels(measure, &accounts[i]);
	vs_measure_retained_fini(measure);
	free(measure);
	free(accounts);
	free(pointers);
}

static void test_levels_that_no_card_has_are_cut(void **state)
{
	struct vs_measure_retained *measure = calloc(1, sizeof(*measure));
	struct vs_account account = {.live_bytes = UINT64_MAX}, *pointer = &account;
	static struct vs_replay replay;
	struct vs_item item = {.account = &account};
	uint64_t value;

	(void)state;
	assert_non_null(measure);
	replay.accounts = &pointer;
	replay.nr_accounts = 1;
	vs_measure_retained_init(measure, VS_BOUNDARY_DERIVED, 0, 0);
	assert_int_equal(vs_measure_retained_note(measure, &replay, &item, true), 0);
	assert_int_equal(vs_measure_retained_add_boundary(measure, &replay, 0), 0);
	vs_measure_retained_get_values(measure, &account, false, &value);
	assert_int_equal(value, VS_LEVEL_MOST);
	vs_measure_retained_fini(measure);
	free(measure);
}

static void test_account_that_never_changed_has_values_of_zero(void **state)
{
	const struct vs_account account = {.index = 1000};
	struct vs_measure_retained *measure = calloc(1, sizeof(*measure));
	uint64_t values[] = {1, 2, 3};

	(void)state;
	assert_non_null(measure);
	vs_measure_retained_init(measure, VS_BOUNDARY_STEPS, 0, 0);
	measure->nr_boundaries = 3;
	vs_measure_retained_get_values(measure, &account, false, values);
	assert_int_equal(values[0] | values[1] | values[2], 0);
	vs_measure_retained_fini(measure);
	free(measure);
}

static void test_without_steps_the_ends_of_outer_phases_are_boundaries(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (int i = 0; i < 6; i++) {
		script_push(&script, 1);
		script_push(&script, 2);
		script_alloc(&script, VS_MEMORY_DEVICE, (uint64_t)(i + 1) * BASE, 100);
		script_pop(&script);
		script_pop(&script);
	}
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.retained.unit, VS_BOUNDARY_PHASES);
	assert_int_equal(analysis.retained.nr_boundaries, 6);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_without_phases_equal_intervals_are_boundaries(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (int i = 0; i < 170; i++)
		script_alloc(&script, VS_MEMORY_DEVICE, (uint64_t)(i + 1) * BASE, 100);
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.retained.unit, VS_BOUNDARY_INTERVALS);
	assert_int_equal(analysis.retained.nr_boundaries, VS_RETAINED_INTERVALS);
	assert_int_equal(vs_measure_retained_sum(&retained, &analysis.retained, analysis.replay,
						 script_get_device(analysis.replay)),
			 0);
	assert_int_equal(retained.nr_growing, 1);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_interval_in_which_much_was_taken_once_is_no_growth(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (uint64_t i = 0; i < 100; i++) {
		script_set_time(&script, 1000000 * (i + 1));
		if (i < 80) { /* nothing stays */
			script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
			script_free(&script, VS_MEMORY_DEVICE, BASE);
		} else { /* too short to be believed */
			script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 100);
		}
	}
	script_analyse(&script, &analysis);
	sum(&retained, &analysis);
	assert_int_equal(retained.nr_boundaries, VS_RETAINED_INTERVALS);
	assert_int_equal(retained.nr_growing, 0);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_has_only_the_boundaries_in_it(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;
	uint64_t values[VS_RETAINED_MAX];

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 1);
	for (uint64_t i = 0; i < 20; i++) {
		script_set_time(&script, 1000000 * (i + 1));
		script_step(&script, 100 + i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 10);
	}
	script_analyse_window(&script, &analysis, 10500000, 15500000);
	sum(&retained, &analysis);
	assert_int_equal(retained.nr_boundaries, 5);
	assert_int_equal(analysis.retained.boundaries[0].number, 110);
	vs_measure_retained_get_values(&analysis.retained, script_get_account(analysis.replay, 1),
				       false, values);
	assert_int_equal(values[0], 100); /* what came before the window is there */
	assert_int_equal(values[4], 140);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_other_devices_and_the_host_are_left_out(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_device(&script, 1, GIB);
	for (uint64_t i = 0; i < 30; i++) {
		script_step(&script, i);
		script_set_stack(&script, 1);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 10);
		script_set_stack(&script, 2);
		script_alloc_on(&script, 1, VS_MEMORY_DEVICE, (i + 100) * BASE, 1000);
		script_set_stack(&script, 3);
		script_alloc(&script, VS_MEMORY_PINNED, (i + 200) * BASE, 1000);
	}
	script_analyse(&script, &analysis);
	sum(&retained, &analysis);
	assert_int_equal(retained.nr_sites, 1);
	assert_int_equal(retained.growth.rate, 10);
	assert_int_equal(retained.last_live, 290);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_growing_sites_come_first_and_the_fastest_of_them(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (uint64_t i = 0; i < 30; i++) {
		script_step(&script, i);
		script_set_stack(&script, 1);
		if (!i)
			script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100 * MIB);
		script_set_stack(&script, 2);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 100) * BASE, 10);
		script_set_stack(&script, 3);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 200) * BASE, 20);
	}
	script_analyse(&script, &analysis);
	sum(&retained, &analysis);
	assert_int_equal(retained.nr_sites, 3);
	assert_int_equal(retained.nr_growing, 2);
	assert_ptr_equal(retained.sites[0].account, script_get_account(analysis.replay, 3));
	assert_ptr_equal(retained.sites[1].account, script_get_account(analysis.replay, 2));
	assert_ptr_equal(retained.sites[2].account, script_get_account(analysis.replay, 1));
	assert_int_equal(retained.growth.rate, 30); /* of both together */
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void assert_forecast(uint64_t total_size, bool has_forecast, uint64_t steps)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	script_init(&script);
	script_device(&script, 0, total_size);
	for (uint64_t i = 0; i < 30; i++) {
		script_set_time(&script, 1000000 * (i + 1));
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 10);
	}
	script_analyse(&script, &analysis);
	sum(&retained, &analysis);
	assert_int_equal(retained.nr_growing, 1);
	assert_int_equal(retained.has_forecast, has_forecast);
	assert_int_equal(retained.steps_to_full, steps);
	assert_int_equal(retained.time_to_full_ns, steps * 1000000);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_forecast_needs_a_known_size_and_room(void **state)
{
	(void)state;
	assert_forecast(1290, true, 100); /* 290 live at the last boundary */
	assert_forecast(0, false, 0);
	assert_forecast(290, false, 0); /* managed memory can be more than there is */
	assert_forecast(100, false, 0);
}

static void test_trace_without_boundaries_has_nothing_to_say(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	script_analyse(&script, &analysis);
	sum(&retained, &analysis);
	assert_int_equal(retained.nr_boundaries, 0);
	assert_int_equal(retained.nr_sites, 0);
	assert_false(retained.growth.is_growing);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retained_names_the_site_that_keeps_a_block_a_step),
		cmocka_unit_test(test_long_runs_keep_a_bounded_number_of_boundaries),
		cmocka_unit_test(test_values_are_the_live_bytes_at_each_boundary_kept),
		cmocka_unit_test(test_many_sites_that_always_change_keep_fewer_boundaries),
		cmocka_unit_test(test_levels_that_no_card_has_are_cut),
		cmocka_unit_test(test_account_that_never_changed_has_values_of_zero),
		cmocka_unit_test(test_without_steps_the_ends_of_outer_phases_are_boundaries),
		cmocka_unit_test(test_without_phases_equal_intervals_are_boundaries),
		cmocka_unit_test(test_interval_in_which_much_was_taken_once_is_no_growth),
		cmocka_unit_test(test_window_has_only_the_boundaries_in_it),
		cmocka_unit_test(test_other_devices_and_the_host_are_left_out),
		cmocka_unit_test(test_growing_sites_come_first_and_the_fastest_of_them),
		cmocka_unit_test(test_forecast_needs_a_known_size_and_room),
		cmocka_unit_test(test_trace_without_boundaries_has_nothing_to_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
