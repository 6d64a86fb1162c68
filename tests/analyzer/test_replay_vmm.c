#include "script.h"

#define PAGE (2 * MIB)
#define BASE ((uint64_t)0x700000000)

static void setup(struct script *script, int nr_handles)
{
	script_init(script);
	script_device(script, 0, 8 * GIB);
	script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "expandable");
	script_reserve(script, BASE, 64 * PAGE);
	for (int i = 1; i <= nr_handles; i++)
		script_alloc(script, VS_MEMORY_VMM, (uint64_t)i, PAGE);
}

static void assert_bytes(const struct vs_replay *replay, uint64_t live, uint64_t reserved)
{
	const struct vs_replay_device *device = script_get_device(replay);

	assert_int_equal(device->live_bytes, live);
	assert_int_equal(vs_replay_get_reserved(device), reserved);
}

/* The segments by address, as base and size in pages. */
static void assert_segments(const struct vs_replay *replay, const uint64_t (*pages)[2], size_t nr)
{
	struct vs_range *range = vs_range_tree_first(&replay->regions);

	for (size_t i = 0; i < nr; i++) {
		assert_non_null(range);
		assert_int_equal(range->base, BASE + pages[i][0] * PAGE);
		assert_int_equal(range->size, pages[i][1] * PAGE);
		range = vs_range_tree_next(&replay->regions, range);
	}
	assert_null(range);
}

static void test_adjacent_pages_are_one_segment_that_grows(void **state)
{
	static const uint64_t two[][2] = {{0, 1}, {2, 1}};
	static const uint64_t joined[][2] = {{0, 3}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 3);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + 2 * PAGE, PAGE, 2);
	replay = script_replay(&script);
	assert_segments(replay, two, 2);
	assert_bytes(replay, 2 * PAGE, 3 * PAGE); /* the third is not mapped: reserved only */
	vs_replay_destroy(replay);
	script_map(&script, BASE + PAGE, PAGE, 3);
	replay = script_replay(&script);
	assert_segments(replay, joined, 1);
	assert_bytes(replay, 3 * PAGE, 3 * PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_unmapping_in_the_middle_splits_a_segment(void **state)
{
	static const uint64_t split[][2] = {{0, 1}, {2, 2}};
	static const uint64_t shrunk[][2] = {{2, 1}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 4);
	for (uint64_t i = 0; i < 4; i++)
		script_map(&script, BASE + i * PAGE, PAGE, i + 1);
	script_unmap(&script, BASE + PAGE, PAGE);
	replay = script_replay(&script);
	assert_segments(replay, split, 2);
	vs_replay_destroy(replay);
	script_unmap(&script, BASE + 3 * PAGE, PAGE);
	script_unmap(&script, BASE, PAGE);
	replay = script_replay(&script);
	assert_segments(replay, shrunk, 1);
	assert_bytes(replay, PAGE, 4 * PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_segments_of_two_reservations_stay_apart(void **state)
{
	static const uint64_t apart[][2] = {{63, 1}, {64, 1}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_reserve(&script, BASE + 64 * PAGE, 4 * PAGE);
	script_map(&script, BASE + 63 * PAGE, PAGE, 1);
	script_map(&script, BASE + 64 * PAGE, PAGE, 2);
	replay = script_replay(&script);
	assert_segments(replay, apart, 2);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_handle_is_charged_once_however_often_mapped(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + 8 * PAGE, PAGE, 1);
	replay = script_replay(&script);
	assert_bytes(replay, PAGE, PAGE);
	vs_replay_destroy(replay);
	script_unmap(&script, BASE, PAGE);
	replay = script_replay(&script);
	assert_bytes(replay, PAGE, PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_released_handle_lives_until_its_last_mapping_goes(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_map(&script, BASE, PAGE, 1);
	script_free(&script, VS_MEMORY_VMM, 1);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, PAGE, PAGE);
	counts = vs_measure_counts_get_kind(&analysis.counts, script_get_device(analysis.replay),
					    VS_MEMORY_VMM);
	assert_int_equal(counts->allocs, 1);
	assert_int_equal(counts->frees, 1);
	assert_int_equal(counts->live_at_end_bytes, PAGE);
	vs_analysis_fini(&analysis);
	script_alloc(&script, VS_MEMORY_VMM, 1, PAGE); /* the number is used again */
	script_unmap(&script, BASE, PAGE);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0, PAGE);
	counts = vs_measure_counts_get_kind(&analysis.counts, script_get_device(analysis.replay),
					    VS_MEMORY_VMM);
	assert_int_equal(counts->frees, 1);
	assert_int_equal(counts->peak_bytes, 2 * PAGE);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_release_that_failed_is_taken_back(void **state)
{
	const struct vs_counts *counts;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_map(&script, BASE, PAGE, 1);
	script_free(&script, VS_MEMORY_VMM, 1);
	script_free_failed(&script, VS_MEMORY_VMM, 1);
	script_free(&script, VS_MEMORY_VMM, 2);
	script_free_failed(&script, VS_MEMORY_VMM, 2);
	script_unmap(&script, BASE, PAGE);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0, 2 * PAGE);
	counts = vs_measure_counts_get_kind(&analysis.counts, script_get_device(analysis.replay),
					    VS_MEMORY_VMM);
	assert_int_equal(counts->frees, 0);
	assert_int_equal(counts->failed_frees, 2);
	assert_int_equal(counts->live_at_end_count, 2);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_blocks_move_with_their_pages_when_segments_merge_and_split(void **state)
{
	const struct vs_hole_set *holes;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 3);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + 2 * PAGE, PAGE, 2);
	script_block(&script, 1, BASE, MIB);
	script_block(&script, 1, BASE + 2 * PAGE, MIB);
	script_map(&script, BASE + PAGE, PAGE, 3);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 2 * MIB, 3 * PAGE);
	holes = vs_measure_fragmentation_get_holes(&analysis.fragmentation,
						   analysis.replay->pools[0]);
	assert_int_equal(holes->nr_holes, 2); /* 3 MiB between them, 1 MiB behind */
	assert_int_equal(vs_hole_set_get_largest(holes), 3 * MIB);
	vs_analysis_fini(&analysis);
	script_unmap(&script, BASE + PAGE, PAGE);
	script_block_free(&script, 1, BASE + 2 * PAGE);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, MIB, 3 * PAGE);
	assert_int_equal(analysis.replay->counters.nr_unmatched_frees, 0);
	holes = vs_measure_fragmentation_get_holes(&analysis.fragmentation,
						   analysis.replay->pools[0]);
	assert_int_equal(holes->nr_holes, 1); /* behind the first; the other segment is all free */
	assert_int_equal(holes->total_bytes, MIB);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_over_two_pages_goes_when_one_is_unmapped(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + PAGE, PAGE, 2);
	script_block(&script, 1, BASE + MIB, 2 * MIB);
	script_unmap(&script, BASE + PAGE, PAGE);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0, 2 * PAGE);
	assert_int_equal(vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[0])
				 ->implicit_frees,
			 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_mapping_over_a_mapping_replaces_it(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE, PAGE, 2);
	replay = script_replay(&script);
	assert_bytes(replay, PAGE, 2 * PAGE);
	assert_int_equal(replay->counters.nr_overlaps, 1);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_unreserving_unmaps_what_is_left(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_map(&script, BASE, PAGE, 1);
	script_unreserve(&script, BASE, 64 * PAGE);
	replay = script_replay(&script);
	assert_bytes(replay, 0, PAGE);
	assert_null(replay->regions.root);
	vs_replay_destroy(replay);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adjacent_pages_are_one_segment_that_grows),
		cmocka_unit_test(test_unmapping_in_the_middle_splits_a_segment),
		cmocka_unit_test(test_segments_of_two_reservations_stay_apart),
		cmocka_unit_test(test_handle_is_charged_once_however_often_mapped),
		cmocka_unit_test(test_released_handle_lives_until_its_last_mapping_goes),
		cmocka_unit_test(test_release_that_failed_is_taken_back),
		cmocka_unit_test(test_blocks_move_with_their_pages_when_segments_merge_and_split),
		cmocka_unit_test(test_block_over_two_pages_goes_when_one_is_unmapped),
		cmocka_unit_test(test_mapping_over_a_mapping_replaces_it),
		cmocka_unit_test(test_unreserving_unmaps_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
