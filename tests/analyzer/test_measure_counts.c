#include "measure_counts.h"

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static const struct vs_counts *get_kind(const struct vs_analysis *analysis,
					enum vs_memory_kind kind)
{
	return vs_measure_counts_get_kind(&analysis->counts, script_get_device(analysis->replay),
					  kind);
}

static void test_counts_are_what_the_program_asked_for(void **state)
{
	struct vs_analysis analysis;
	const struct vs_counts *counts;
	struct vs_counts sum;
	struct script script;

	(void)state;
	script_init_usual(&script);
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

static void test_free_that_failed_is_no_free_and_no_second_allocation(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	script_analyse(&script, &analysis);
	counts = get_kind(&analysis, VS_MEMORY_DEVICE);
	assert_int_equal(counts->allocs, 1);
	assert_int_equal(counts->bytes_allocated, 100);
	assert_int_equal(counts->frees, 0);
	assert_int_equal(counts->failed_frees, 1);
	assert_int_equal(counts->peak_bytes, 100);
	assert_int_equal(counts->live_at_end_count, 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_blocks_of_a_segment_whose_free_failed_were_not_freed(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 10);
	script_block(&script, 1, BASE + 50, 20);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_free_failed(&script, VS_MEMORY_DEVICE, BASE);
	script_block_free(&script, 1, BASE);
	script_analyse(&script, &analysis);
	counts = vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[0]);
	assert_int_equal(counts->allocs, 2);
	assert_int_equal(counts->frees, 1);
	assert_int_equal(counts->implicit_frees, 0);
	assert_int_equal(counts->live_at_end_count, 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_what_made_room_for_something_new_was_freed_by_nobody(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE + 50, 20); /* the free was lost */
	script_analyse(&script, &analysis);
	counts = get_kind(&analysis, VS_MEMORY_DEVICE);
	assert_int_equal(counts->allocs, 2);
	assert_int_equal(counts->frees, 0);
	assert_int_equal(counts->implicit_frees, 0);
	assert_int_equal(counts->live_at_end_count, 1);
	assert_int_equal(counts->live_at_end_bytes, 20);
	assert_int_equal(counts->peak_bytes, 100);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_virtual_memory_counts_by_its_handles(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_reserve(&script, BASE, MIB);
	script_alloc(&script, VS_MEMORY_VMM, 7, 4096);
	script_alloc(&script, VS_MEMORY_VMM, 8, 4096);
	script_map(&script, BASE, 4096, 7);
	script_map(&script, BASE + 4096, 4096, 8); /* one segment now, and no allocation */
	script_free(&script, VS_MEMORY_VMM, 7);    /* lives on: it is mapped */
	script_free(&script, VS_MEMORY_VMM, 8);
	script_unmap(&script, BASE + 4096, 4096);
	script_analyse(&script, &analysis);
	counts = get_kind(&analysis, VS_MEMORY_VMM);
	assert_int_equal(counts->allocs, 2);
	assert_int_equal(counts->frees, 2);
	assert_int_equal(counts->implicit_frees, 0);
	assert_int_equal(counts->peak_bytes, 8192);
	assert_int_equal(counts->live_at_end_count, 1);
	assert_int_equal(counts->live_at_end_bytes, 4096);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_each_kind_has_its_peak_at_its_own_time(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_alloc(&script, VS_MEMORY_MANAGED, BASE, 70);
	script_alloc(&script, VS_MEMORY_ARRAY, 3, 5);
	script_analyse(&script, &analysis);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_DEVICE)->peak_bytes, 100);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_MANAGED)->peak_bytes, 70);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_ARRAY)->peak_bytes, 5);
	/* Those do not add up to anything that ever was. */
	assert_int_equal(vs_measure_counts_sum(&analysis.counts, script_get_device(analysis.replay))
				 .peak_bytes,
			 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_failures_count_for_their_kind_pool_and_device(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_device(&script, 1, MIB);
	script_fail_error(&script, VS_MEMORY_MANAGED, 5, 2);
	script_fail_error(&script, VS_MEMORY_PINNED, 5, 1); /* whatever the error */
	script_fail_error(&script, (enum vs_memory_kind)200, 5, 2);
	script_block_fail(&script, 1, 5);
	script_block_fail(&script, 99, 5); /* a pool nobody described */
	script_analyse(&script, &analysis);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_MANAGED)->failed_allocs, 1);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_PINNED)->failed_allocs, 1);
	assert_int_equal(vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[0])
				 ->failed_allocs,
			 1);
	assert_int_equal(vs_measure_counts_sum(&analysis.counts, script_get_device(analysis.replay))
				 .failed_allocs,
			 1);
	assert_int_equal(
		vs_measure_counts_sum(&analysis.counts, vs_replay_get_device(analysis.replay, 1))
			.failed_allocs,
		0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_blocks_count_for_their_pool_alone(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	script_block(&script, 1, BASE, 10);
	script_block(&script, 1, BASE + 100, 20);
	script_block_free(&script, 1, BASE);
	script_block_free(&script, 1, BASE + 500); /* nothing is there */
	script_block(&script, 1, BASE + 200, 5);
	script_pool_end(&script, 1);
	script_analyse(&script, &analysis);
	counts = vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[0]);
	assert_int_equal(counts->allocs, 3);
	assert_int_equal(counts->frees, 2);
	assert_int_equal(counts->implicit_frees, 2);
	assert_int_equal(counts->bytes_allocated, 35);
	assert_int_equal(counts->peak_bytes, 30);
	assert_int_equal(counts->live_at_end_count, 0);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_DEVICE)->allocs, 1);
	assert_int_equal(get_kind(&analysis, VS_MEMORY_DEVICE)->frees, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* The program asked CUDA for it, and a pool gave it. */
static void test_what_a_driver_pool_gave_counts_for_its_kind_and_for_the_pool(void **state)
{
	const struct vs_counts *counts[2];
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_pool(&script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&script, 2, BASE, 10);
	script_alloc_async(&script, 2, 2 * BASE, 20);
	script_alloc_async(&script, 2, 3 * BASE, 5);
	script_free(&script, VS_MEMORY_ASYNC, BASE);
	script_free(&script, VS_MEMORY_DEVICE, 2 * BASE); /* the address decides */
	script_free_failed(&script, VS_MEMORY_DEVICE, 2 * BASE);
	script_fail_async(&script, 2, 100, 50, 1000);
	script_analyse(&script, &analysis);
	counts[0] = get_kind(&analysis, VS_MEMORY_ASYNC);
	counts[1] = vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(counts[i]->allocs, 3);
		assert_int_equal(counts[i]->frees, 1);
		assert_int_equal(counts[i]->failed_frees, 1);
		assert_int_equal(counts[i]->failed_allocs, 1);
		assert_int_equal(counts[i]->bytes_allocated, 35);
		assert_int_equal(counts[i]->peak_bytes, 35);
		assert_int_equal(counts[i]->live_at_end_count, 2);
		assert_int_equal(counts[i]->live_at_end_bytes, 25);
	}
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_window_counts_only_what_happened_in_it(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_set_time(&script, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 500);
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 40);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_fail(&script, 5, 0, 0);
	script_set_time(&script, 2000000);
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 2);
	script_free(&script, VS_MEMORY_DEVICE, 2 * BASE);
	script_set_time(&script, 3000000);
	script_alloc(&script, VS_MEMORY_DEVICE, 4 * BASE, 1000);
	script_analyse_window(&script, &analysis, 1500000, 2500000);
	counts = get_kind(&analysis, VS_MEMORY_DEVICE);
	assert_int_equal(counts->allocs, 1);
	assert_int_equal(counts->bytes_allocated, 2);
	assert_int_equal(counts->frees, 1);
	assert_int_equal(counts->failed_allocs, 0);
	assert_int_equal(counts->peak_bytes, 42); /* what was there when it opened, and more */
	assert_int_equal(counts->live_at_end_bytes, 2);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_who_was_never_seen_has_counts_of_zero(void **state)
{
	const struct vs_replay_device device = {.index = 1000};
	const struct vs_replay_pool pool = {.index = 1000};
	struct vs_measure_counts measure;

	(void)state;
	vs_measure_counts_init(&measure);
	assert_int_equal(vs_measure_counts_get_kind(&measure, &device, VS_MEMORY_VMM)->allocs, 0);
	assert_int_equal(vs_measure_counts_get_pool(&measure, &pool)->allocs, 0);
	assert_int_equal(vs_measure_counts_sum(&measure, &device).live_at_end_bytes, 0);
	vs_measure_counts_fini(&measure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_are_what_the_program_asked_for),
		cmocka_unit_test(test_free_that_failed_is_no_free_and_no_second_allocation),
		cmocka_unit_test(test_blocks_of_a_segment_whose_free_failed_were_not_freed),
		cmocka_unit_test(test_what_made_room_for_something_new_was_freed_by_nobody),
		cmocka_unit_test(test_virtual_memory_counts_by_its_handles),
		cmocka_unit_test(test_each_kind_has_its_peak_at_its_own_time),
		cmocka_unit_test(test_failures_count_for_their_kind_pool_and_device),
		cmocka_unit_test(test_blocks_count_for_their_pool_alone),
		cmocka_unit_test(test_what_a_driver_pool_gave_counts_for_its_kind_and_for_the_pool),
		cmocka_unit_test(test_window_counts_only_what_happened_in_it),
		cmocka_unit_test(test_who_was_never_seen_has_counts_of_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
