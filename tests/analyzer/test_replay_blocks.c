/* Blocks that pools place: replay_blocks.c */
#include "script.h"

static void setup(struct script *script)
{
	script_init(script);
	script_device(script, 0, 8 * GIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_pool(script, 2, VS_POOL_PROGRAM, 0, 0, "inner");
	script_pool(script, 3, VS_POOL_DRIVER, 0, 0, "");
}

static void assert_bytes(const struct vs_replay *replay, uint64_t live, uint64_t reserved)
{
	const struct vs_replay_device *device = script_get_device(replay);

	assert_int_equal(device->live_bytes, live);
	assert_int_equal(vs_replay_get_reserved(device), reserved);
}

static void test_segment_belongs_to_its_pool_from_birth(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 1000000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x900000, 50);
	script_block(&script, 1, 0x100000, 300);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 350, 1000050);
	/* With a single pass the segment would have been live for a moment. */
	assert_int_equal(
		vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay))->live.bytes,
		350);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* A program takes its arena, describes its pool, and places blocks: in this order. */
static void test_segment_belongs_to_a_pool_that_is_described_later(void **state)
{
	const struct vs_replay_pool *pool;
	struct vs_instant born = {0};
	struct vs_analysis analysis;
	struct vs_replay *then;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 8 * GIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 1000000);
	born.record = script.nr_records;
	script_alloc(&script, VS_MEMORY_DEVICE, 0x900000, 50);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "unused");
	script_pool(&script, 2, VS_POOL_FRAMEWORK, 0, 77, "late");
	script_block(&script, 2, 0x100000, 300);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 350, 1000050);
	assert_int_equal(
		vs_measure_peak_get(&analysis.peak, script_get_device(analysis.replay))->live.bytes,
		350);
	/* It is the one that the trace describes, and there is no other. */
	assert_int_equal(analysis.replay->nr_pools, 2);
	pool = vs_replay_get_pool(analysis.replay, 2);
	assert_string_equal(pool->name, "late");
	assert_int_equal(pool->owner, VS_POOL_FRAMEWORK);
	assert_int_equal(pool->limit_size, 77);
	assert_int_equal(pool->segment_bytes, 1000000);
	assert_int_equal(vs_analysis_go_to(&analysis, &born, &then), 0);
	assert_bytes(then, 0, 1000000);
	assert_int_equal(vs_replay_get_pool(then, 2)->index, pool->index);
	vs_replay_destroy(then);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_pool_without_device_described_later_is_where_it_would_have_been(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 1, GIB);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x100000, 1000);
	script_device(&script, 0, GIB);
	script_pool(&script, 1, VS_POOL_PROGRAM, VS_NO_DEVICE, 0, "late"); /* the first device's */
	script_block(&script, 1, 0x100000, 300);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_replay_get_pool(analysis.replay, 1)->device->ordinal, 0);
	assert_int_equal(vs_replay_get_device(analysis.replay, 1)->live_bytes, 300);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_blocks_go_with_their_segment(void **state)
{
	struct vs_analysis analysis;
	const struct vs_counts *counts;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 1000);
	script_block(&script, 1, 0x100000, 300);
	script_block(&script, 1, 0x100200, 300);
	script_block_free(&script, 1, 0x100000);
	script_free(&script, VS_MEMORY_DEVICE, 0x100000);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0, 0);
	counts = vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[0]);
	assert_int_equal(counts->allocs, 2);
	assert_int_equal(counts->frees, 1);
	assert_int_equal(counts->implicit_frees, 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_is_freed_by_its_own_pool_at_its_start_only(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	script_block(&script, 1, 0x100000, 100);
	script_block_free(&script, 2, 0x100000); /* another pool's name for it */
	script_block_free(&script, 1, 0x100001); /* in the middle */
	script_block_free(&script, 1, 0x900000); /* nowhere */
	script_block_free(&script, 99, 0x100000);
	script_block_free(&script, 1, 0); /* nothing at all, which is allowed */
	replay = script_replay(&script);
	assert_bytes(replay, 100, 0x1000);
	assert_int_equal(replay->counters.nr_unmatched_frees, 3);
	vs_replay_destroy(replay);
	script_block_free(&script, 1, 0x100000);
	replay = script_replay(&script);
	assert_bytes(replay, 0, 0x1000);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_block_without_pool_or_address_is_ignored(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 99, 0x100000, 10);
	script_block(&script, 1, 0, 10);
	script_block(&script, 1, UINT64_MAX, 10);
	replay = script_replay(&script);
	assert_bytes(replay, 0, 0);
	assert_int_equal(replay->counters.nr_orphan_blocks, 0);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_block_in_host_memory_is_the_hosts(void **state)
{
	const struct vs_account *account;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_PINNED, 0x100000, 0x1000);
	script_set_stack(&script, 2);
	script_block(&script, 1, 0x100000, 100);
	script_analyse(&script, &analysis);
	account = script_get_account(analysis.replay, 2);
	assert_int_equal(account->domain, VS_DOMAIN_HOST);
	assert_int_equal(account->live_bytes, 100);
	assert_bytes(analysis.replay, 0, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_is_on_the_device_of_its_segment(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_device(&script, 1, 8 * GIB);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	script_block(&script, 1, 0x100000, 100); /* of a pool that said device 0 */
	script_analyse(&script, &analysis);
	assert_int_equal(vs_replay_get_device(analysis.replay, 1)->live_bytes, 100);
	assert_bytes(analysis.replay, 0, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_of_nothing_is_there_and_can_be_freed(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	script_block(&script, 1, 0x100000, 0);
	script_block(&script, 1, 0x100100, 8);
	replay = script_replay(&script);
	assert_bytes(replay, 8, 0x1000);
	assert_int_equal(replay->pools[0]->nr_blocks, 2);
	vs_replay_destroy(replay);
	script_block_free(&script, 1, 0x100000);
	replay = script_replay(&script);
	assert_int_equal(replay->pools[0]->nr_blocks, 1);
	assert_int_equal(replay->counters.nr_unmatched_frees, 0);
	vs_replay_destroy(replay);
	script_fini(&script);
}

/* ---- Pools in each other -------------------------------------------------------------------- */

static void test_pool_inside_a_block_of_another_pool_counts_once(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x10000);
	script_block(&script, 1, 0x100000, 0x8000); /* divided by the inner pool */
	script_block(&script, 1, 0x108000, 0x100);
	script_block(&script, 2, 0x100000, 0x200); /* starts where the outer one starts */
	script_block(&script, 2, 0x101000, 0x300);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x600, 0x10000);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 0);
	assert_int_equal(analysis.replay->pools[0]->block_bytes, 0x8100);
	assert_int_equal(analysis.replay->pools[1]->block_bytes, 0x500);
	assert_int_equal(analysis.replay->pools[1]->segment_bytes, 0x8000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_free_of_an_outer_block_takes_the_inner_ones(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x10000);
	script_block(&script, 1, 0x100000, 0x8000);
	script_block(&script, 2, 0x100000, 0x200);
	script_block_free(&script, 1, 0x100000);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0, 0x10000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_pool_on_top_of_a_driver_pool_counts_once(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc_async(&script, 3, 0x100000, 0x1000);
	script_block(&script, 1, 0x100000, 0x100);
	script_block(&script, 1, 0x100400, 0x200);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x300, 0x1000);
	assert_int_equal(analysis.replay->pools[0]->segment_bytes, 0x1000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_blocks_nested_without_end_do_no_harm(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	for (uint32_t i = 1; i <= 100; i++) {
		script_pool(&script, i, VS_POOL_PROGRAM, 0, 0, "pool");
		script_block(&script, i, 0x100000, 0x1000 - i);
	}
	script_analyse(&script, &analysis);
	/* Whatever stays, it is not counted twice. */
	assert_in_range(script_get_device(analysis.replay)->live_bytes, 1, 0x1000);
	assert_int_equal(vs_replay_get_reserved(script_get_device(analysis.replay)), 0x1000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* ---- Lost events ---------------------------------------------------------------------------- */

static void test_overlapping_block_of_the_same_pool_closes_the_older(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x10000);
	script_block(&script, 1, 0x100000, 0x1000);
	script_block(&script, 1, 0x100800, 0x100);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x100, 0x10000);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_over_several_older_ones_closes_them_all(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x10000);
	for (uint64_t i = 0; i < 4; i++)
		script_block(&script, 1, 0x100000 + i * 0x1000, 0x1000);
	script_block(&script, 1, 0x100800, 0x2000); /* over the first three */
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x3000, 0x10000);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 3);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_outside_any_segment_counts_for_itself(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	script_block(&script, 1, 0x500000, 100);
	script_block(&script, 1, 0x100f00, 0x200); /* reaches beyond the segment: cut */
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 100 + 0x100, 100 + 0x1000);
	assert_int_equal(analysis.replay->counters.nr_orphan_blocks, 2);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_that_reaches_into_a_segment_ends_where_that_begins(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	script_block(&script, 1, 0xffe00, 0x1000);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x200 + 0x1000, 0x200 + 0x1000);
	assert_int_equal(analysis.replay->counters.nr_orphan_blocks, 1);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_blocks_outside_any_segment_make_room_for_each_other(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 0x100);
	script_block(&script, 1, 0x100200, 0x100);
	script_block(&script, 1, 0x100080, 0x200); /* over both */
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x200, 0x200);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 2);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_segment_over_a_block_outside_any_closes_it(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100100, 0x100);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x1000);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0x1000, 0x1000);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 1);
	assert_int_equal(analysis.replay->pools[0]->nr_blocks, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* ---- End of a pool -------------------------------------------------------------------------- */

static void test_end_of_a_pool_frees_its_blocks_implicitly(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 0x10000);
	script_block(&script, 1, 0x100000, 0x8000);
	script_block(&script, 2, 0x100000, 0x200);
	script_block(&script, 2, 0x100400, 0x200);
	script_pool_end(&script, 2);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_measure_counts_get_pool(&analysis.counts, analysis.replay->pools[1])
				 ->implicit_frees,
			 2);
	/* The outer block stays one that another pool divides. */
	assert_bytes(analysis.replay, 0, 0x10000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_end_of_a_pool_leaves_the_blocks_of_others(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	for (uint64_t i = 1; i <= 3; i++) {
		script_alloc(&script, VS_MEMORY_DEVICE, i * 0x100000, 0x1000);
		script_block(&script, 1, i * 0x100000, 0x10);
		script_block(&script, 1, i * 0x100000 + 0x100, 0x80);
		script_block(&script, 2, i * 0x100000 + 0x110, 0x20); /* in the one before */
	}
	script_block(&script, 1, 0x900000, 0x40); /* in no segment */
	script_pool_end(&script, 1);
	script_pool_end(&script, 1);
	script_analyse(&script, &analysis);
	/* What was in its blocks goes with them. */
	assert_bytes(analysis.replay, 0, 0x3000);
	assert_int_equal(analysis.replay->pools[0]->nr_blocks, 0);
	assert_int_equal(analysis.replay->pools[1]->nr_blocks, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segment_belongs_to_its_pool_from_birth),
		cmocka_unit_test(test_segment_belongs_to_a_pool_that_is_described_later),
		cmocka_unit_test(
			test_pool_without_device_described_later_is_where_it_would_have_been),
		cmocka_unit_test(test_blocks_go_with_their_segment),
		cmocka_unit_test(test_block_is_freed_by_its_own_pool_at_its_start_only),
		cmocka_unit_test(test_block_without_pool_or_address_is_ignored),
		cmocka_unit_test(test_block_in_host_memory_is_the_hosts),
		cmocka_unit_test(test_block_is_on_the_device_of_its_segment),
		cmocka_unit_test(test_block_of_nothing_is_there_and_can_be_freed),
		cmocka_unit_test(test_pool_inside_a_block_of_another_pool_counts_once),
		cmocka_unit_test(test_free_of_an_outer_block_takes_the_inner_ones),
		cmocka_unit_test(test_pool_on_top_of_a_driver_pool_counts_once),
		cmocka_unit_test(test_blocks_nested_without_end_do_no_harm),
		cmocka_unit_test(test_overlapping_block_of_the_same_pool_closes_the_older),
		cmocka_unit_test(test_block_over_several_older_ones_closes_them_all),
		cmocka_unit_test(test_block_outside_any_segment_counts_for_itself),
		cmocka_unit_test(test_block_that_reaches_into_a_segment_ends_where_that_begins),
		cmocka_unit_test(test_blocks_outside_any_segment_make_room_for_each_other),
		cmocka_unit_test(test_segment_over_a_block_outside_any_closes_it),
		cmocka_unit_test(test_end_of_a_pool_frees_its_blocks_implicitly),
		cmocka_unit_test(test_end_of_a_pool_leaves_the_blocks_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
