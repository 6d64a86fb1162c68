#include "check_gather.h"

#include <string.h>

#include "script.h"

/* Thread 1 and 2, a module with a stack, a name, a pool, a device: nothing is missing. */
static void setup(struct script *script)
{
	static const uint64_t frames[] = {0x401000, 0x402000};

	script_init(script);
	for (uint32_t id = 1; id <= 2; id++)
		script_add(script, (struct vs_record){.type = VS_RECORD_THREAD,
						      .thread_name = {.id = id, .tid = 100 + id}});
	script_device(script, 0, GIB);
	script_module(script, 1, 0x400000, 0x500000, "/program");
	script_stack(script, 1, frames, 2);
	script_name(script, 1, "cudaMalloc");
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_set_stack(script, 1);
}

static struct vs_check_facts gather(struct script *script)
{
	const struct vs_check_input input = {.source = script->source};
	struct vs_check_facts facts = {0};

	script->next = 0;
	assert_int_equal(vs_check_gather_records(&facts, &input), 0);
	return facts;
}

/* Of all that is counted here. */
static void expect_nothing(struct vs_check_facts facts)
{
	const size_t first = offsetof(struct vs_check_facts, nr_earlier);
	const struct vs_check_facts none = {0};

	assert_memory_equal((char *)&facts + first, (const char *)&none + first,
			    sizeof(facts) - first);
}

static void test_good_records_give_no_facts(void **state)
{
	struct vs_check_facts facts;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 0x1000);
	script_set_thread(&script, 2);
	script_block(&script, 1, 0x10000, 0x100);
	script_block_free(&script, 1, 0x10000);
	script_push(&script, 1);
	script_pop(&script);
	script_set_thread(&script, 1);
	script_free(&script, VS_MEMORY_DEVICE, 0x10000);
	facts = gather(&script);
	expect_nothing(facts);
	assert_int_equal(facts.counters.nr_events, 6);
	script_fini(&script);
}

static void test_state_of_the_reader_is_left_alone(void **state)
{
	struct vs_check_facts facts = {.state = {.nr_lost = 12}, .nr_earlier = 5};
	struct script script;

	(void)state;
	setup(&script);
	assert_int_equal(
		vs_check_gather_records(&facts, &(struct vs_check_input){.source = script.source}),
		0);
	assert_int_equal(facts.state.nr_lost, 12);
	assert_int_equal(facts.nr_earlier, 0);
	script_fini(&script);
}

static void test_no_records_at_all_are_no_fault(void **state)
{
	struct script script;

	(void)state;
	script_init(&script);
	expect_nothing(gather(&script));
	script_fini(&script);
}

static void test_times_may_stand_still_but_not_go_back(void **state)
{
	struct vs_check_facts facts;
	struct script script;

	(void)state;
	setup(&script);
	script_set_time(&script, 5000);
	script_step(&script, 1);
	script_set_time(&script, 5000);
	script_step(&script, 2);
	expect_nothing(gather(&script));
	/* Before the other thread, not before its own. */
	script_set_thread(&script, 2);
	script_set_time(&script, 4000);
	script_step(&script, 3);
	facts = gather(&script);
	assert_int_equal(facts.nr_earlier, 1);
	assert_int_equal(facts.nr_earlier_in_thread, 0);
	/* Before its own as well; and what went back is measured by the latest. */
	script_set_time(&script, 3000);
	script_step(&script, 4);
	script_set_time(&script, 4500);
	script_step(&script, 5);
	facts = gather(&script);
	assert_int_equal(facts.nr_earlier, 3);
	assert_int_equal(facts.nr_earlier_in_thread, 1);
	script_fini(&script);
}

static size_t nr_in_snapshot; /* records from the start on */

static bool is_in_snapshot(void *context)
{
	return ((struct script *)context)->next <= nr_in_snapshot;
}

static void test_snapshot_is_in_no_order_but_before_what_follows(void **state)
{
	struct vs_check_input input = {.is_in_snapshot = is_in_snapshot};
	struct vs_check_facts facts = {0};
	struct script script;

	(void)state;
	setup(&script);
	script_set_time(&script, 5000);
	script_step(&script, 1);
	script_set_time(&script, 3000);
	script_step(&script, 2);
	nr_in_snapshot = script.nr_records;
	script_set_time(&script, 5000);
	script_step(&script, 3);
	input.source = script.source;
	assert_int_equal(vs_check_gather_records(&facts, &input), 0);
	assert_int_equal(facts.nr_earlier, 0);
	script_set_time(&script, 4000);
	script_step(&script, 4);
	script.next = 0;
	assert_int_equal(vs_check_gather_records(&facts, &input), 0);
	assert_int_equal(facts.nr_earlier, 1);
	script_fini(&script);
}

/* LOST and MODULE_END have their place in the order, too. */
static void test_order_of_every_event_counts(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_set_time(&script, 5000);
	script_step(&script, 1);
	script_set_time(&script, 4000);
	script_add(&script, (struct vs_record){.type = VS_RECORD_LOST, .lost = {1}});
	script_set_time(&script, 4000);
	script_add(&script, (struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {1}});
	assert_int_equal(gather(&script).nr_earlier, 2);
	script_fini(&script);
}

/* Counts the uses of what is not defined in one record of each kind that can use it. */
static void expect_undefined(struct vs_record record, enum vs_check_reference reference,
			     uint64_t count)
{
	struct vs_check_facts facts, wanted = {0};
	struct script script;

	setup(&script);
	script_add(&script, record);
	facts = gather(&script);
	wanted.nr_undefined[reference] = count;
	if (memcmp(facts.nr_undefined, wanted.nr_undefined, sizeof(wanted.nr_undefined)) != 0)
		fail_msg("record type %d, reference %d: %llu", record.type, reference,
			 (unsigned long long)facts.nr_undefined[reference]);
	script_fini(&script);
}

static void test_undefined_stacks_are_counted_wherever_they_are_used(void **state)
{
	static const struct vs_record records[] = {
		{.type = VS_RECORD_ALLOC, .alloc = {.address = 0x10000, .size = 1, .stack = 9}},
		{.type = VS_RECORD_FREE, .free = {.address = 0x10000, .stack = 9}},
		{.type = VS_RECORD_ALLOC_FAILED, .alloc_failed = {.size = 1, .stack = 9}},
		{.type = VS_RECORD_BLOCK_ALLOC, .block_alloc = {1, 0x10000, 1, 9}},
		{.type = VS_RECORD_BLOCK_FREE, .block_free = {1, 0x10000, 9}},
		{.type = VS_RECORD_BLOCK_FAILED, .block_failed = {1, 1, 9}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		expect_undefined(records[i], VS_CHECK_STACK, 1);
}

static void test_undefined_names_are_counted_wherever_they_are_used(void **state)
{
	static const struct vs_record records[] = {
		{.type = VS_RECORD_ALLOC, .alloc = {.address = 0x10000, .size = 1, .api = 9}},
		{.type = VS_RECORD_FREE, .free = {.address = 0x10000, .api = 9}},
		{.type = VS_RECORD_ALLOC_FAILED, .alloc_failed = {.size = 1, .api = 9}},
		{.type = VS_RECORD_PHASE_PUSH, .phase_push = {9}},
		{.type = VS_RECORD_PHASE_PUSH, .phase_push = {VS_NO_ID}},
		{.type = VS_RECORD_MARK, .mark = {9}},
		{.type = VS_RECORD_BLOCK_FAILED_TEXT, .block_failed_text = {1, 9}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		expect_undefined(records[i], VS_CHECK_NAME, 1);
}

static void test_undefined_pools_are_counted_wherever_they_are_used(void **state)
{
	static const struct vs_record records[] = {
		{.type = VS_RECORD_ALLOC,
		 .alloc = {.kind = VS_MEMORY_ASYNC, .address = 0x10000, .size = 1, .pool = 9}},
		{.type = VS_RECORD_ALLOC_FAILED, .alloc_failed = {.size = 1, .pool = 9}},
		{.type = VS_RECORD_POOL_STATE, .pool_state = {9, 1, 1}},
		{.type = VS_RECORD_POOL_END, .pool_end = {9}},
		{.type = VS_RECORD_BLOCK_ALLOC, .block_alloc = {9, 0x10000, 1, 1}},
		{.type = VS_RECORD_BLOCK_FREE, .block_free = {9, 0x10000, 1}},
		{.type = VS_RECORD_BLOCK_FAILED, .block_failed = {9, 1, 1}},
		{.type = VS_RECORD_BLOCK_FAILED_TEXT, .block_failed_text = {9, 1}},
		{.type = VS_RECORD_BLOCK_ALLOC, .block_alloc = {VS_NO_ID, 0x10000, 1, 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		expect_undefined(records[i], VS_CHECK_POOL, 1);
}

static void test_undefined_modules_and_threads_are_counted(void **state)
{
	struct vs_check_facts facts;
	struct script script;

	(void)state;
	expect_undefined((struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {9}},
			 VS_CHECK_MODULE, 1);
	expect_undefined((struct vs_record){.type = VS_RECORD_MODULE_END, .module_end = {1}},
			 VS_CHECK_MODULE, 0);
	setup(&script);
	script_set_thread(&script, 3);
	script_step(&script, 1);
	script_set_thread(&script, 0);
	script_step(&script, 2);
	facts = gather(&script);
	assert_int_equal(facts.nr_undefined[VS_CHECK_THREAD], 2);
	script_fini(&script);
}

static void test_definition_that_comes_too_late_was_missing(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_push(&script, 2);
	script_name(&script, 2, "late");
	script_push(&script, 2);
	assert_int_equal(gather(&script).nr_undefined[VS_CHECK_NAME], 1);
	script_fini(&script);
}

static void test_devices_without_a_description_are_counted_once(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x10000, 0x1000);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x20000, 0x1000);
	assert_int_equal(gather(&script).nr_undescribed_devices, 1);
	script_fini(&script);
}

static void test_stacks_are_counted_once_however_often_they_are_defined(void **state)
{
	static const uint64_t inside[] = {0x403000}, outside[] = {0x401000, 0x900000};
	struct vs_check_facts facts;
	struct script script;

	(void)state;
	setup(&script);
	for (int i = 0; i < 2; i++) {
		script_stack(&script, 2, outside, 2);
		script_add(&script, (struct vs_record){.type = VS_RECORD_STACK,
						       .stack = {3, inside, 1, .is_cut = true}});
		script_add(&script, (struct vs_record){.type = VS_RECORD_STACK,
						       .stack = {4, outside, 1, .is_deep = true}});
	}
	facts = gather(&script);
	assert_int_equal(facts.nr_foreign_stacks, 1);
	assert_int_equal(facts.nr_short_stacks, 2);
	script_fini(&script);
}

static void test_frames_of_python_are_in_no_module_and_not_foreign(void **state)
{
	const uint64_t frames[] = {vs_frame_make_python(1, 2), 0x403000,
				   vs_frame_make_link(VS_LINK_BACKWARD)};
	struct script script;

	(void)state;
	setup(&script);
	script_stack(&script, 2, frames, 3);
	assert_int_equal(gather(&script).nr_foreign_stacks, 0);
	script_fini(&script);
}

static void test_frees_of_unknown_addresses_are_counted_unless_they_failed(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_free(&script, VS_MEMORY_DEVICE, 0x5000);
	assert_int_equal(gather(&script).nr_unknown_frees, 1);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x5000);
	assert_int_equal(gather(&script).nr_unknown_frees, 0);
	/* A failure of another thread says nothing about this one's. */
	script_free(&script, VS_MEMORY_DEVICE, 0x6000);
	script_set_thread(&script, 2);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x6000);
	assert_int_equal(gather(&script).nr_unknown_frees, 1);
	/* Nor one after something else. */
	script_set_thread(&script, 1);
	script_step(&script, 1);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x6000);
	assert_int_equal(gather(&script).nr_unknown_frees, 1);
	script_block_free(&script, 1, 0x7000);
	script_free(&script, VS_MEMORY_DEVICE, 0);
	assert_int_equal(gather(&script).nr_unknown_frees, 2);
	script_fini(&script);
}

/* A failed free of something known is no fault of anybody's but the program's. */
static void test_failed_free_of_something_known_is_not_counted(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 0x1000);
	script_free(&script, VS_MEMORY_DEVICE, 0x10000);
	script_free_failed(&script, VS_MEMORY_DEVICE, 0x10000);
	expect_nothing(gather(&script));
	script_fini(&script);
}

static void test_repairs_of_the_replay_are_in_the_counters(void **state)
{
	struct vs_check_facts facts;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 0x1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 0x1000);
	script_block(&script, 1, 0x90000, 0x100);
	facts = gather(&script);
	assert_int_equal(facts.counters.nr_overlaps, 1);
	assert_int_equal(facts.counters.nr_orphan_blocks, 1);
	script_fini(&script);
}

static int fail_at_once(void *context, struct vs_record *record)
{
	(void)context;
	(void)record;
	return -VS_ERR_IO;
}

static void test_error_of_the_source_leaves_the_facts_alone(void **state)
{
	const struct vs_check_input input = {.source = {.next = fail_at_once}};
	struct vs_check_facts facts = {.nr_earlier = 5};

	(void)state;
	assert_int_equal(vs_check_gather_records(&facts, &input), -VS_ERR_IO);
	assert_int_equal(facts.nr_earlier, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_records_give_no_facts),
		cmocka_unit_test(test_state_of_the_reader_is_left_alone),
		cmocka_unit_test(test_no_records_at_all_are_no_fault),
		cmocka_unit_test(test_times_may_stand_still_but_not_go_back),
		cmocka_unit_test(test_snapshot_is_in_no_order_but_before_what_follows),
		cmocka_unit_test(test_order_of_every_event_counts),
		cmocka_unit_test(test_undefined_stacks_are_counted_wherever_they_are_used),
		cmocka_unit_test(test_undefined_names_are_counted_wherever_they_are_used),
		cmocka_unit_test(test_undefined_pools_are_counted_wherever_they_are_used),
		cmocka_unit_test(test_undefined_modules_and_threads_are_counted),
		cmocka_unit_test(test_definition_that_comes_too_late_was_missing),
		cmocka_unit_test(test_devices_without_a_description_are_counted_once),
		cmocka_unit_test(test_stacks_are_counted_once_however_often_they_are_defined),
		cmocka_unit_test(test_frames_of_python_are_in_no_module_and_not_foreign),
		cmocka_unit_test(test_frees_of_unknown_addresses_are_counted_unless_they_failed),
		cmocka_unit_test(test_failed_free_of_something_known_is_not_counted),
		cmocka_unit_test(test_repairs_of_the_replay_are_in_the_counters),
		cmocka_unit_test(test_error_of_the_source_leaves_the_facts_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
