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

/* cuMemAddressFree is said before it is called; RESERVE behind it says that it failed. */
static void test_addresses_stay_reserved_while_something_is_mapped(void **state)
{
	static const uint64_t both[][2] = {{0, 2}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_map(&script, BASE, PAGE, 1);
	script_unreserve(&script, BASE, 64 * PAGE);
	script_reserve(&script, BASE, 64 * PAGE);
	script_unreserve(&script, BASE + 8 * PAGE, PAGE); /* never a part of it */
	script_reserve(&script, BASE + 8 * PAGE, PAGE);
	script_map(&script, BASE + PAGE, PAGE, 2);
	replay = script_replay(&script);
	assert_segments(replay, both, 1);
	assert_bytes(replay, 2 * PAGE, 2 * PAGE);
	assert_int_equal(replay->counters.nr_overlaps, 0);
	vs_replay_destroy(replay);
	script_unmap(&script, BASE, 2 * PAGE);
	script_unreserve(&script, BASE, 64 * PAGE);
	replay = script_replay(&script);
	assert_null(replay->reservations.root);
	assert_bytes(replay, 0, 2 * PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_mapping_of_an_unknown_handle_is_a_segment_without_bytes(void **state)
{
	static const uint64_t one[][2] = {{0, 1}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_map(&script, BASE, PAGE, 99); /* its creation was not seen */
	replay = script_replay(&script);
	assert_segments(replay, one, 1);
	assert_bytes(replay, 0, 0);
	vs_replay_destroy(replay);
	script_unmap(&script, BASE, PAGE);
	replay = script_replay(&script);
	assert_segments(replay, NULL, 0);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_mapping_where_nobody_reserved_is_taken_as_it_is(void **state)
{
	static const uint64_t apart[][2] = {{100, 1}, {101, 1}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_map(&script, BASE + 100 * PAGE, PAGE, 1);
	script_map(&script, BASE + 101 * PAGE, PAGE, 2);
	replay = script_replay(&script);
	assert_segments(replay, apart, 2); /* a reservation of its own for each */
	assert_bytes(replay, 2 * PAGE, 2 * PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_pages_of_two_devices_are_two_segments(void **state)
{
	static const uint64_t apart[][2] = {{0, 1}, {1, 1}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_device(&script, 1, 8 * GIB);
	script_alloc_on(&script, 1, VS_MEMORY_VMM, 50, PAGE);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + PAGE, PAGE, 50);
	replay = script_replay(&script);
	assert_segments(replay, apart, 2);
	assert_bytes(replay, PAGE, PAGE);
	assert_int_equal(vs_replay_get_device(replay, 1)->live_bytes, PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_no_mapping_ends_in_part(void **state)
{
	static const uint64_t all[][2] = {{0, 5}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_alloc(&script, VS_MEMORY_VMM, 9, 4 * PAGE);
	script_map(&script, BASE, 4 * PAGE, 9);
	script_map(&script, BASE + 4 * PAGE, PAGE, 1);
	script_free(&script, VS_MEMORY_VMM, 9);
	/* cuMemUnmap refuses each, and what is at the address is said again. */
	script_unmap(&script, BASE + PAGE, PAGE);
	script_map(&script, BASE + PAGE, PAGE, 9);
	script_unmap(&script, BASE + 3 * PAGE, 2 * PAGE);
	script_map(&script, BASE + 3 * PAGE, 2 * PAGE, 9);
	script_unmap(&script, BASE, PAGE / 2);
	script_map(&script, BASE, PAGE / 2, 9);
	script_unmap(&script, BASE + 4 * PAGE, 0);
	script_map(&script, BASE + 4 * PAGE, 0, 1);
	replay = script_replay(&script);
	assert_segments(replay, all, 1);
	assert_bytes(replay, 5 * PAGE, 5 * PAGE);
	assert_int_equal(replay->counters.nr_overlaps, 0);
	vs_replay_destroy(replay);
	script_unmap(&script, BASE, 5 * PAGE);
	replay = script_replay(&script);
	assert_segments(replay, NULL, 0);
	assert_bytes(replay, 0, PAGE);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_handle_in_a_pools_reservation_is_not_live_wherever_else_it_is(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_reserve(&script, BASE + 1000 * PAGE, 64 * PAGE);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + 1000 * PAGE, PAGE, 1); /* the same pages, once more */
	script_block(&script, 1, BASE, 100);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 100, PAGE);
	vs_analysis_fini(&analysis);
	script_block_free(&script, 1, BASE);
	script_unmap(&script, BASE, PAGE);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, PAGE, PAGE); /* now nobody divides it */
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_reservation_belongs_to_a_pool_that_is_described_later(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 2);
	script_map(&script, BASE, PAGE, 1);
	script_map(&script, BASE + PAGE, PAGE, 2);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "late");
	script_block(&script, 2, BASE, 100);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 100, 2 * PAGE);
	assert_int_equal(
		vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay))->live.bytes,
		100);
	assert_int_equal(vs_replay_get_pool(analysis.replay, 2)->segment_bytes, 2 * PAGE);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_reservation_over_a_reservation_replaces_it(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_map(&script, BASE, PAGE, 1);
	script_reserve(&script, BASE - PAGE, 4 * PAGE); /* the end of the first one was lost */
	replay = script_replay(&script);
	assert_segments(replay, NULL, 0);
	assert_bytes(replay, 0, PAGE);
	assert_int_equal(replay->reservations.nr_ranges, 1);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_segment_of_cuda_malloc_makes_room_for_a_mapping(void **state)
{
	static const uint64_t one[][2] = {{0, 1}};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE + 100, 1000);
	script_map(&script, BASE, PAGE, 1);
	replay = script_replay(&script);
	assert_segments(replay, one, 1);
	assert_bytes(replay, PAGE, PAGE);
	assert_int_equal(replay->counters.nr_overlaps, 1);
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
		cmocka_unit_test(test_addresses_stay_reserved_while_something_is_mapped),
		cmocka_unit_test(test_mapping_of_an_unknown_handle_is_a_segment_without_bytes),
		cmocka_unit_test(test_mapping_where_nobody_reserved_is_taken_as_it_is),
		cmocka_unit_test(test_pages_of_two_devices_are_two_segments),
		cmocka_unit_test(test_no_mapping_ends_in_part),
		cmocka_unit_test(
			test_handle_in_a_pools_reservation_is_not_live_wherever_else_it_is),
		cmocka_unit_test(test_reservation_belongs_to_a_pool_that_is_described_later),
		cmocka_unit_test(test_reservation_over_a_reservation_replaces_it),
		cmocka_unit_test(test_segment_of_cuda_malloc_makes_room_for_a_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
