/* measure_peak.c, measure_counts.c, measure_sites.c, measure_fragmentation.c, measure_retained.c */
#include <math.h>
#include <stdlib.h>

#include "script.h"
#include "site_order.h"

#define BASE ((uint64_t)0x10000000)

static const uint64_t frames[][1] = {{0x100}, {0x200}, {0x300}, {0x400}};

static void setup(struct script *script)
{
	script_init(script);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	for (uint32_t i = 0; i < 4; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_name(script, 1, "forward");
	script_name(script, 2, "backward");
}

static void test_peak_knows_who_was_live_then_and_not_later(void **state)
{
	const struct vs_peak_device *peaks;
	struct vs_peak_account at_peak;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_step(&script, 7);
	script_push(&script, 2);
	script_set_stack(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_set_stack(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 50);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 5); /* the peak: 155 */
	script_pop(&script);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_set_stack(&script, 3);
	script_alloc(&script, VS_MEMORY_DEVICE, 4 * BASE, 99);
	script_analyse(&script, &analysis);
	peaks = vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay));
	assert_int_equal(peaks->live.bytes, 155);
	assert_int_equal(peaks->live.count, 3);
	assert_int_equal(peaks->live.at.step, 7);
	assert_string_equal(peaks->live.at.phase, "backward");
	at_peak =
		vs_measure_peak_get_account(&analysis.peak, script_get_account(analysis.replay, 1));
	assert_int_equal(at_peak.bytes, 100);
	at_peak =
		vs_measure_peak_get_account(&analysis.peak, script_get_account(analysis.replay, 2));
	assert_int_equal(at_peak.bytes, 55);
	assert_int_equal(at_peak.count, 2);
	at_peak =
		vs_measure_peak_get_account(&analysis.peak, script_get_account(analysis.replay, 3));
	assert_int_equal(at_peak.bytes, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_sites_at_the_peak_add_up_to_it_whatever_happens(void **state)
{
	struct vs_analysis analysis;
	struct vs_site_row *rows;
	struct script script;
	unsigned int seed = 11;
	bool is_live[64] = {false};
	uint64_t sum = 0;
	size_t nr, i;

	(void)state;
	setup(&script);
	for (i = 0; i < 5000; i++) {
		unsigned int slot = (unsigned int)rand_r(&seed) % 64;

		script_set_stack(&script, 1 + slot % 4);
		if (is_live[slot])
			script_free(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE);
		else
			script_alloc(&script, VS_MEMORY_DEVICE, (slot + 1) * BASE,
				     (uint64_t)rand_r(&seed) % 1000);
		is_live[slot] = !is_live[slot];
	}
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_site_order_peak(&analysis, script_get_device(analysis.replay), &rows, &nr), 0);
	for (i = 0; i < nr; i++)
		sum += rows[i].bytes;
	assert_int_equal(nr, 4);
	assert_int_equal(sum,
			 vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay))
				 ->live.bytes);
	assert_true(rows[0].bytes >= rows[3].bytes);
	free(rows);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_reserved_peak_is_the_fullest_of_equal_ones(void **state)
{
	const struct vs_peak_device *peaks;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000); /* all the pool ever takes */
	script_block(&script, 1, BASE, 10);
	script_block(&script, 1, BASE + 500, 300);
	script_block_free(&script, 1, BASE);
	script_analyse(&script, &analysis);
	peaks = vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay));
	assert_int_equal(peaks->reserved.bytes, 1000);
	assert_int_equal(peaks->reserved.other, 310);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_shows_only_what_is_in_it(void **state)
{
	struct vs_analysis analysis;
	const struct vs_counts *counts;
	struct script script;

	(void)state;
	setup(&script);
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 500);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 40);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_set_time(&script, 2000000);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 2);
	script_set_time(&script, 3000000);
	script_alloc(&script, VS_MEMORY_DEVICE, 4 * BASE, 1000);
	script_analyse_window(&script, &analysis, 1500000, 2500000);
	counts = vs_measure_counts_get_kind(&analysis.counts, script_get_device(analysis.replay),
					    VS_MEMORY_DEVICE);
	assert_int_equal(
		vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay))->live.bytes,
		42);
	assert_int_equal(counts->allocs, 1);
	assert_int_equal(counts->frees, 0);
	assert_int_equal(counts->peak_bytes, 42);
	assert_int_equal(counts->live_at_end_bytes, 42);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_counts_are_what_the_program_asked_for(void **state)
{
	struct vs_analysis analysis;
	const struct vs_counts *counts;
	struct vs_counts sum;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 10); /* nothing of CUDA's */
	script_alloc(&script, VS_MEMORY_PINNED, 2 * BASE, 30);
	script_alloc(&script, VS_MEMORY_MANAGED, 3 * BASE, 7);
	script_free(&script, VS_MEMORY_DEVICE, 3 * BASE);
	script_free(&script, VS_MEMORY_DEVICE, 9 * BASE); /* nobody knows it */
	script_free_failed(&script, VS_MEMORY_DEVICE, 9 * BASE);
	script_fail(&script, 5, 0, 0);
	script_analyse(&script, &analysis);
	counts = vs_measure_counts_get_kind(&analysis.counts, script_get_device(analysis.replay),
					    VS_MEMORY_DEVICE);
	assert_int_equal(counts->allocs, 1);
	assert_int_equal(counts->frees, 0);
	assert_int_equal(counts->failed_frees, 1);
	assert_int_equal(counts->failed_allocs, 1);
	assert_int_equal(counts->live_at_end_bytes, 100);
	sum = vs_measure_counts_sum(&analysis.counts, script_get_device(analysis.replay));
	assert_int_equal(sum.allocs, 2); /* pinned memory is not the device's */
	assert_int_equal(sum.frees, 1);
	assert_int_equal(sum.bytes_allocated, 107);
	counts = vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[0]);
	assert_int_equal(counts->allocs, 1);
	assert_int_equal(counts->bytes_allocated, 10);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_sites_sum_up_their_whole_life(void **state)
{
	const struct vs_site_totals *totals;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
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

static void test_worst_fragmentation_is_found_with_its_instant(void **state)
{
	const struct vs_worst_holes *worst;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
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
	setup(&script);
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

/* Weights in step 0, activations that come and go, one small block kept in every step from 5 on. */
static void make_training(struct script *script, int nr_steps)
{
	unsigned int seed = 9;

	setup(script);
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

static void test_without_steps_the_ends_of_outer_phases_are_boundaries(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
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
	setup(&script);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peak_knows_who_was_live_then_and_not_later),
		cmocka_unit_test(test_sites_at_the_peak_add_up_to_it_whatever_happens),
		cmocka_unit_test(test_reserved_peak_is_the_fullest_of_equal_ones),
		cmocka_unit_test(test_window_shows_only_what_is_in_it),
		cmocka_unit_test(test_counts_are_what_the_program_asked_for),
		cmocka_unit_test(test_sites_sum_up_their_whole_life),
		cmocka_unit_test(test_worst_fragmentation_is_found_with_its_instant),
		cmocka_unit_test(test_tiny_holes_are_not_the_worst),
		cmocka_unit_test(test_retained_names_the_site_that_keeps_a_block_a_step),
		cmocka_unit_test(test_long_runs_keep_a_bounded_number_of_boundaries),
		cmocka_unit_test(test_without_steps_the_ends_of_outer_phases_are_boundaries),
		cmocka_unit_test(test_without_phases_equal_intervals_are_boundaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
