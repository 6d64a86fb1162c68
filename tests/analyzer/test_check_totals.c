/* What a framework says it holds, against what the records give. Through the pass of check. */
#include "check_totals.h"

#include <string.h>

#include "check_gather.h"
#include "script.h"

/* A segment of 1 MiB, in which pool 1 of a framework has a block; a second one of 2 MiB. */
static void setup(struct script *script)
{
	script_init(script);
	script_device(script, 0, GIB);
	script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	script_pool(script, 2, VS_POOL_FRAMEWORK, 0, 0, "PyTorch, private");
	script_pool(script, 3, VS_POOL_PROGRAM, 0, 0, "mine");
	script_alloc(script, VS_MEMORY_DEVICE, 0x100000, MIB);
	script_alloc(script, VS_MEMORY_DEVICE, 0x400000, 2 * MIB);
}

static void say(struct script *script, uint64_t used, uint64_t reserved)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_POOL_STATE,
					      .pool_state = {1, reserved, used}});
}

static bool is_snapshot;

static bool is_in_snapshot(void *context)
{
	(void)context;
	return is_snapshot;
}

static struct vs_check_facts gather(struct script *script)
{
	const struct vs_check_input input = {script->source, is_in_snapshot};
	struct vs_check_facts facts = {0};

	script->next = 0;
	assert_int_equal(vs_check_gather_records(&facts, &input), 0);
	script_fini(script);
	return facts;
}

static void expect(struct script *script, uint64_t nr_other, uint64_t nr_late)
{
	struct vs_check_facts facts = gather(script);

	assert_int_equal(facts.nr_other_totals, nr_other);
	assert_int_equal(facts.nr_late_totals, nr_late);
}

static void test_totals_that_are_ours_differ_nowhere(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 512, MIB);
	script_block(&script, 1, 0x100200, 1024);
	script_block(&script, 1, 0x400000, MIB);
	say(&script, 512 + 1024 + MIB, 3 * MIB);
	script_block_free(&script, 1, 0x100000);
	script_block_fail(&script, 1, GIB);
	script_block_free(&script, 1, 0x400000);
	say(&script, 1024, 3 * MIB);
	expect(&script, 0, 0);
}

static void test_totals_are_of_all_pools_of_the_framework(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 512, MIB);
	script_block(&script, 2, 0x400000, 1024);
	say(&script, 1536, 3 * MIB);
	script_block(&script, 3, 0x400800, 4096); /* not the framework's */
	script_block_free(&script, 2, 0x400000);
	expect(&script, 0, 0);
}

static void test_every_event_whose_totals_are_others_counts(void **state)
{
	struct vs_check_facts facts;
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 512, MIB);
	script_block(&script, 1, 0x100200, 512);
	say(&script, 2048, MIB);                 /* 1024 more than there are */
	script_block(&script, 1, 0x100400, 512); /* and still */
	script_block_free(&script, 1, 0x100400);
	say(&script, 1024, MIB); /* as it should be */
	facts = gather(&script);
	assert_int_equal(facts.nr_other_totals, 2);
	assert_non_null(strstr(facts.other_totals,
			       "it says 2048 allocated and 1048576 reserved, the trace has 1024 "
			       "and 1048576"));
}

static void test_reserved_bytes_are_compared_as_well(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 512, MIB);
	script_block(&script, 1, 0x400000, 512); /* grew by 2 MiB, and does not say so */
	expect(&script, 1, 0);
}

static void test_memory_given_back_between_events_is_no_difference(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 512, MIB);
	script_block(&script, 1, 0x400000, 512);
	say(&script, 1024, 3 * MIB);
	script_block_free(&script, 1, 0x400000);
	script_free(&script, VS_MEMORY_DEVICE, 0x400000); /* empty_cache: reports nothing */
	script_block(&script, 1, 0x100200, 512);
	say(&script, 1024, MIB);
	expect(&script, 0, 0);
}

static void test_without_a_state_nothing_is_compared(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	script_block_free(&script, 1, 0x100000);
	expect(&script, 0, 0);
}

static void test_a_framework_that_was_there_before_is_not_compared(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 5 * MIB, 8 * MIB);
	script_block(&script, 1, 0x100200, 512);
	say(&script, 5 * MIB + 512, 10 * MIB);
	expect(&script, 0, 1);
}

static void test_states_in_a_snapshot_are_of_the_past(void **state)
{
	struct script script;

	(void)state;
	is_snapshot = true;
	setup(&script);
	script_block(&script, 1, 0x100000, 512);
	say(&script, 77, 88);
	expect(&script, 0, 0);
	is_snapshot = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals_that_are_ours_differ_nowhere),
		cmocka_unit_test(test_totals_are_of_all_pools_of_the_framework),
		cmocka_unit_test(test_every_event_whose_totals_are_others_counts),
		cmocka_unit_test(test_reserved_bytes_are_compared_as_well),
		cmocka_unit_test(test_memory_given_back_between_events_is_no_difference),
		cmocka_unit_test(test_without_a_state_nothing_is_compared),
		cmocka_unit_test(test_a_framework_that_was_there_before_is_not_compared),
		cmocka_unit_test(test_states_in_a_snapshot_are_of_the_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
