#include "replay.h"

#include "address_map.h"
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

static void test_segments_of_all_kinds_on_the_device_are_live_and_reserved(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 100);
	script_alloc(&script, VS_MEMORY_MANAGED, 0x20000, 20);
	script_alloc(&script, VS_MEMORY_ARRAY, 0x10000, 3); /* a number, not an address */
	script_alloc(&script, VS_MEMORY_PINNED, 0x30000, 1000);
	script_alloc(&script, VS_MEMORY_REGISTERED, 0x40000, 1000);
	script_alloc(&script, VS_MEMORY_IPC, 0x50000, 1000);
	replay = script_replay(&script);
	assert_bytes(replay, 123, 123);
	assert_int_equal(replay->counters.nr_overlaps, 0);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_address_decides_what_a_free_frees(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_MANAGED, 0x10000, 100);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x20000, 100);
	script_free(&script, VS_MEMORY_DEVICE, 0x10000);
	script_free(&script, VS_MEMORY_DEVICE, 0x20001); /* inside: no start of anything */
	script_free(&script, VS_MEMORY_DEVICE, 0);
	replay = script_replay(&script);
	assert_bytes(replay, 100, 100);
	assert_int_equal(replay->counters.nr_unmatched_frees, 1);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_free_that_failed_did_not_happen(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 4096);
	script_block(&script, 1, 0x10000, 100);
	script_block(&script, 1, 0x10800, 50);
	script_free(&script, VS_MEMORY_DEVICE, 0x10000);
	script_set_thread(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x90000, 7);
	script_set_thread(&script, 1);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x10000);
	script_block_free(&script, 1, 0x10800);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 107, 4103);
	assert_int_equal(analysis.replay->counters.nr_unmatched_frees, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_free_of_something_unknown_that_failed_is_no_repair(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_free(&script, VS_MEMORY_DEVICE, 0x10000);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x10000);
	replay = script_replay(&script);
	assert_int_equal(replay->counters.nr_unmatched_frees, 0);
	vs_replay_destroy(replay);
	script_free(&script, VS_MEMORY_PINNED, 0x20000);
	replay = script_replay(&script);
	assert_int_equal(replay->counters.nr_unmatched_frees, 1);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_failed_free_whose_place_was_taken_stays_freed(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 4096);
	script_free(&script, VS_MEMORY_DEVICE, 0x10000);
	script_set_thread(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10800, 16);
	script_set_thread(&script, 1);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x10000);
	replay = script_replay(&script);
	assert_bytes(replay, 16, 16);
	assert_int_equal(replay->counters.nr_overlaps, 1);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_overlap_closes_the_older_one_and_is_counted(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 0x1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x11000, 0x1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10800, 0x1000); /* over both */
	script_alloc(&script, VS_MEMORY_ARRAY, 5, 10);
	script_alloc(&script, VS_MEMORY_ARRAY, 5, 20);
	replay = script_replay(&script);
	assert_bytes(replay, 0x1000 + 20, 0x1000 + 20);
	assert_int_equal(replay->counters.nr_overlaps, 3);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_driver_pool_reserves_what_was_sampled_or_more(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc_async(&script, 3, 0x100000, 1000);
	replay = script_replay(&script);
	assert_bytes(replay, 1000, 1000);
	vs_replay_destroy(replay);
	script_pool_state(&script, 3, 4096);
	script_alloc_async(&script, 3, 0x200000, 2000);
	replay = script_replay(&script);
	assert_bytes(replay, 3000, 4096);
	vs_replay_destroy(replay);
	script_free(&script, VS_MEMORY_ASYNC, 0x100000);
	script_free(&script, VS_MEMORY_DEVICE, 0x200000);
	replay = script_replay(&script);
	assert_bytes(replay, 0, 4096);
	vs_replay_destroy(replay);
	script_pool_state(&script, 3, 0);
	replay = script_replay(&script);
	assert_bytes(replay, 0, 0);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_driver_pools_of_a_device_are_numbered_for_want_of_names(void **state)
{
	static const char *const names[] = {"stream-ordered", "stream-ordered", "stream-ordered 2",
					    "named", "stream-ordered 4"};
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, GIB);
	script_device(&script, 1, GIB);
	script_pool(&script, 1, VS_POOL_DRIVER, 0, 0, "");
	script_pool(&script, 2, VS_POOL_DRIVER, 1, 0, "");
	script_pool(&script, 3, VS_POOL_DRIVER, 0, 0, "");
	script_pool(&script, 4, VS_POOL_DRIVER, 0, 0, "named");
	script_alloc_async(&script, 0, 0x100000, 1000); /* of a pool that was not named */
	replay = script_replay(&script);
	assert_int_equal(replay->nr_pools, 5);
	for (size_t i = 0; i < replay->nr_pools; i++)
		assert_string_equal(replay->pools[i]->name, names[i]);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_blocks_of_a_driver_pool_outlive_its_end(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc_async(&script, 3, 0x100000, 1000);
	script_pool_state(&script, 3, 4096);
	script_pool_end(&script, 3);
	replay = script_replay(&script);
	assert_bytes(replay, 1000, 1000);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_context_takes_its_memory_but_not_async_and_vmm(void **state)
{
	struct vs_analysis analysis;
	const struct vs_replay_device *device;
	struct script script;

	(void)state;
	setup(&script);
	script_set_context(&script, 7);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 1);
	script_alloc(&script, VS_MEMORY_MANAGED, 0x20000, 2);
	script_alloc(&script, VS_MEMORY_ARRAY, 0x30000, 4);
	script_alloc(&script, VS_MEMORY_PINNED, 0x40000, 8);
	script_alloc(&script, VS_MEMORY_VMM, 0x99, 16);
	script_alloc_async(&script, 3, 0x50000, 32);
	script_set_context(&script, 8);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x60000, 64);
	script_end_context(&script, VS_CONTEXT_DESTROYED, 7, 0);
	script_analyse(&script, &analysis);
	device = script_get_device(analysis.replay);
	assert_bytes(analysis.replay, 96, 112); /* the handle is not mapped: reserved, not live */
	assert_int_equal(vs_measure_counts_get_kind(&analysis.counts, device, VS_MEMORY_DEVICE)
				 ->implicit_frees,
			 1);
	assert_int_equal(vs_measure_counts_get_kind(&analysis.counts, device, VS_MEMORY_PINNED)
				 ->implicit_frees,
			 1);
	assert_int_equal(
		vs_measure_counts_get_kind(&analysis.counts, device, VS_MEMORY_VMM)->implicit_frees,
		0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_reset_takes_everything_of_the_device(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_device(&script, 1, 8 * GIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 1);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x20000, 2);
	script_alloc(&script, VS_MEMORY_VMM, 0x99, 4096);
	script_reserve(&script, 0x100000, 0x10000);
	script_map(&script, 0x100000, 4096, 0x99);
	script_alloc_async(&script, 3, 0x50000, 32);
	script_pool_state(&script, 3, 64);
	script_end_context(&script, VS_CONTEXT_RESET, 0, 0);
	script_analyse(&script, &analysis);
	assert_bytes(analysis.replay, 0, 0);
	assert_int_equal(vs_replay_get_device(analysis.replay, 1)->live_bytes, 2);
	assert_int_equal(vs_measure_counts_get_kind(&analysis.counts,
						    script_get_device(analysis.replay),
						    VS_MEMORY_VMM)
				 ->implicit_frees,
			 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_phase_is_the_threads_own_or_the_one_pushed_last(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	setup(&script);
	script_name(&script, 1, "step");
	script_name(&script, 2, "forward");
	script_name(&script, 3, "load");
	script_push(&script, 1);
	script_push(&script, 2);
	replay = script_replay(&script);
	assert_string_equal(vs_replay_get_phase(replay, 1), "forward");
	assert_string_equal(vs_replay_get_phase(replay, 9), "forward");
	vs_replay_destroy(replay);
	script_set_thread(&script, 2);
	script_push(&script, 3);
	replay = script_replay(&script);
	assert_string_equal(vs_replay_get_phase(replay, 1), "forward");
	assert_string_equal(vs_replay_get_phase(replay, 9), "load");
	vs_replay_destroy(replay);
	script_pop(&script);
	script_pop(&script); /* one too many */
	replay = script_replay(&script);
	/* The thread that opened one last has none; the other still has. */
	assert_string_equal(vs_replay_get_phase(replay, 2), "forward");
	vs_replay_destroy(replay);
	script_add(&script, (struct vs_record){.type = VS_RECORD_RANGE_START,
					       .range_start = {.name = 3, .id = 7}});
	script_set_thread(&script, 1);
	script_pop(&script);
	replay = script_replay(&script);
	assert_string_equal(vs_replay_get_phase(replay, 2), "step");
	vs_replay_destroy(replay);
	script_pop(&script);
	replay = script_replay(&script);
	assert_string_equal(vs_replay_get_phase(replay, 2), "load"); /* the range */
	vs_replay_destroy(replay);
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_RANGE_END, .range_end = {.id = 8}});
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_RANGE_END, .range_end = {.id = 7}});
	replay = script_replay(&script);
	assert_null(vs_replay_get_phase(replay, 2));
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_a_free_may_fail_behind_a_word_about_its_source(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 1 << 30);
	script_alloc(&script, VS_MEMORY_DEVICE, 4096, 512);
	script_free(&script, VS_MEMORY_DEVICE, 4096);
	script_add(&script,
		   (struct vs_record){.type = VS_RECORD_SEEN_BY, .seen_by = {VS_SEEN_BY_CUPTI, 1}});
	script_free_failed(&script, VS_MEMORY_DEVICE, 4096);
	replay = script_replay(&script);
	assert_int_equal(replay->counters.nr_events, 3);
	assert_int_equal(replay->counters.nr_driver_events, 3);
	assert_int_equal(replay->counters.nr_seen_by_cupti, 1);
	assert_int_equal(replay->devices[0]->live_bytes, 512);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_nonsense_in_a_trace_does_no_harm(void **state)
{
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, UINT64_MAX, UINT64_MAX);
	script_alloc(&script, VS_MEMORY_DEVICE, UINT64_MAX - 1, UINT64_MAX);
	script_alloc(&script, (enum vs_memory_kind)200, 4096, 1);
	script_alloc(&script, VS_MEMORY_DEVICE, 8192, 0);
	script_block(&script, 99, 4096, 1);
	script_block_fail(&script, 99, 1);
	script_pool(&script, 1, VS_POOL_PROGRAM, VS_NO_DEVICE, 0, "p");
	script_block(&script, 1, 4096, UINT64_MAX);
	script_block(&script, 1, UINT64_MAX, 5);
	script_reserve(&script, UINT64_MAX, UINT64_MAX);
	script_reserve(&script, 1, UINT64_MAX);
	script_map(&script, UINT64_MAX, 10, 1);
	script_map(&script, 0x100000, UINT64_MAX, 1);
	script_unmap(&script, 0, UINT64_MAX);
	script_free_failed(&script, (enum vs_memory_kind)200, 4096);
	script_end_context(&script, VS_CONTEXT_RESET, 0, 4000000000);
	replay = script_replay(&script);
	vs_replay_destroy(replay);
	script_fini(&script);
}

static void test_what_a_block_was_asked_for_belongs_to_the_one_before(void **state)
{
	struct vs_record asked = {.type = VS_RECORD_BLOCK_ASKED, .block_asked = {90, 5}};
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 10000);
	script_pool(&script, 1, VS_POOL_FRAMEWORK, 0, 0, "pool");
	script_alloc(&script, VS_MEMORY_DEVICE, 0x1000, 1000);
	script_add(&script, asked); /* behind no block */
	script_block(&script, 1, 0x1000, 100);
	script_set_thread(&script, 2);
	script_add(&script, asked); /* another thread's */
	script_set_thread(&script, 1);
	script_add(&script, asked);
	script_block(&script, 1, 0x1100, 200);
	asked.block_asked.size = 300; /* more than the block: cannot be */
	script_add(&script, asked);
	asked.block_asked.size = 10; /* it was said */
	script_add(&script, asked);
	script_block(&script, 1, 0x1200, 50);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(map.pools[0].block_bytes, 350);
	assert_int_equal(map.pools[0].slack_bytes, 10);
	assert_int_equal(map.pools[0].nr_runs, 1);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_block_was_asked_for_belongs_to_the_one_before),
		cmocka_unit_test(test_segments_of_all_kinds_on_the_device_are_live_and_reserved),
		cmocka_unit_test(test_address_decides_what_a_free_frees),
		cmocka_unit_test(test_free_that_failed_did_not_happen),
		cmocka_unit_test(test_free_of_something_unknown_that_failed_is_no_repair),
		cmocka_unit_test(test_failed_free_whose_place_was_taken_stays_freed),
		cmocka_unit_test(test_overlap_closes_the_older_one_and_is_counted),
		cmocka_unit_test(test_driver_pool_reserves_what_was_sampled_or_more),
		cmocka_unit_test(test_driver_pools_of_a_device_are_numbered_for_want_of_names),
		cmocka_unit_test(test_blocks_of_a_driver_pool_outlive_its_end),
		cmocka_unit_test(test_context_takes_its_memory_but_not_async_and_vmm),
		cmocka_unit_test(test_reset_takes_everything_of_the_device),
		cmocka_unit_test(test_phase_is_the_threads_own_or_the_one_pushed_last),
		cmocka_unit_test(test_a_free_may_fail_behind_a_word_about_its_source),
		cmocka_unit_test(test_nonsense_in_a_trace_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
