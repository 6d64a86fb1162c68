#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim_run.h"

static int set_up(void **state)
{
	static struct shim_run run;

	shim_run_init(&run);
	*state = &run;
	return 0;
}

static int tear_down(void **state)
{
	shim_run_fini(*state);
	return 0;
}

static void test_one_of_everything_is_in_the_trace_once(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_events", "all");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "profiled\n");
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_false(trace->used_log);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr[VS_RECORD_THREAD], 1);
	assert_int_equal(trace->nr[VS_RECORD_POOL], 1);
	assert_int_equal(trace->nr[VS_RECORD_NAME], 3); /* start, outer, inner */
	assert_int_equal(trace->nr[VS_RECORD_MARK], 2);
	assert_int_equal(trace->nr[VS_RECORD_STEP], 1);
	assert_int_equal(trace->nr[VS_RECORD_PHASE_PUSH], 2);
	assert_int_equal(trace->nr[VS_RECORD_PHASE_POP], 2);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 1);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FREE], 1);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FAILED], 1);
	assert_int_equal(trace->nr[VS_RECORD_POOL_END], 1);
	assert_non_null(strstr(trace->info_command, "host_events\nall\n"));
	free(trace);
}

static void test_without_the_shim_the_header_does_nothing(void **state)
{
	struct shim_run *run = *state;
	char names[1][NAME_MAX + 1];

	run->is_plain = true;
	SHIM_RUN(run, "host_events", "all");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "not profiled\n");
	assert_int_equal(shim_run_list(run, ".vscope", names, 1), 0);
}

static void test_without_an_event_there_is_no_file(void **state)
{
	struct shim_run *run = *state;
	char names[4][NAME_MAX + 1];

	shim_run_add_env(run, "VRAMSCOPE_INDEX=index");
	SHIM_RUN(run, "host_events", "nothing");
	shim_run_assert_fine(run);
	assert_int_equal(shim_run_list(run, "", names, 4), 2); /* . and .. */
}

static void test_no_pools_leaves_out_blocks_and_phases_alone_make_no_file(void **state)
{
	struct shim_run *run = *state;
	char names[4][NAME_MAX + 1];

	shim_run_add_env(run, "VRAMSCOPE_NO_POOLS=1");
	SHIM_RUN(run, "host_events", "all");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "not profiled\n");
	assert_int_equal(shim_run_list(run, "", names, 4), 2); /* . and .. */
}

static void test_events_of_many_threads_arrive_once_and_in_order(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_events", "blocks", "4", "20000");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 80000);
	assert_int_equal(trace->nr[VS_RECORD_THREAD], 5); /* main made the pool */
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_false(trace->is_out_of_order);
	for (int thread = 0; thread < 4; thread++)
		for (int i = 1; i <= 20000; i++)
			assert_int_equal(trace->seen[thread][i], 1);
	assert_true(trace->nr[VS_RECORD_STACK] >= 1 && trace->nr[VS_RECORD_STACK] <= 4);
	free(trace);
}

static void test_what_a_small_ring_cannot_hold_is_counted(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	shim_run_add_env(run, "VRAMSCOPE_LOG_SIZE=1");
	SHIM_RUN(run, "host_events", "blocks", "4", "20000");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr_undefined, 0);
	/* The end of the pool may be among the lost. */
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr[VS_RECORD_POOL_END] +
				 trace->nr_lost,
			 80001);
	assert_true(trace->nr_told <= trace->nr_lost);
	free(trace);
}

static void test_no_stacks_leaves_stacks_and_modules_out(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	shim_run_add_env(run, "VRAMSCOPE_NO_STACKS=1");
	SHIM_RUN(run, "host_events", "blocks", "1", "10");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 10);
	assert_int_equal(trace->nr_empty, 10);
	assert_int_equal(trace->nr[VS_RECORD_STACK], 0);
	assert_int_equal(trace->nr[VS_RECORD_MODULE], 0);
	free(trace);
}

static void test_stacks_deeper_than_a_trace_takes_are_kept(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_events", "deep", "3000");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->max_frames, 128);
	assert_int_equal(trace->nr[VS_RECORD_STACK], 1);
	assert_int_equal(trace->nr_empty, 0);
	free(trace);
}

/* Whether the three plugins did lie at the same place. */
static bool run_plugins(struct shim_run *run)
{
	char a[PATH_MAX], b[PATH_MAX];
	void *where[3];

	snprintf(a, sizeof(a), "%s/host_plugin_a.so", getenv("VS_TEST_HOSTS"));
	snprintf(b, sizeof(b), "%s/host_plugin_b.so", getenv("VS_TEST_HOSTS"));
	SHIM_RUN(run, "host_events", "plugins", a, b);
	shim_run_assert_fine(run);
	assert_int_equal(
		sscanf(run->out, "%*s %p\n%*s %p\n%*s %p", &where[0], &where[1], &where[2]), 3);
	return where[0] == where[1] && where[1] == where[2];
}

static void test_an_unloaded_library_ends_and_its_stacks_are_not_reused(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;
	int nr_tries = 1;

	/* If they did not, it shows nothing: some other thread has mapped something meanwhile. */
	for (; !run_plugins(run) && nr_tries < 50; nr_tries++) {
		shim_run_fini(run);
		shim_run_init(run);
	}
	assert_true(nr_tries < 50);
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 6);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr[VS_RECORD_MODULE_END], 3);
	/* The host, libc, and three times a plugin; two calls in each of its three lives. */
	assert_int_equal(trace->nr[VS_RECORD_MODULE], 5);
	assert_int_equal(trace->nr[VS_RECORD_STACK], 6);
	assert_int_equal(trace->stack_of_block, 6);
	/* All the way to _start, whatever was unwound before. */
	assert_int_equal(trace->min_frames, trace->max_frames);
	assert_true(trace->max_frames >= 5);
	free(trace);
}

static void test_a_thread_that_jumps_out_of_the_recorder_goes_on_recording(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_events", "jumps");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->nr[VS_RECORD_STEP], 1000);
	assert_int_equal(trace->nr_undefined, 0);
	assert_false(trace->is_damaged);
	free(trace);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_one_of_everything_is_in_the_trace_once),
		TEST(test_without_the_shim_the_header_does_nothing),
		TEST(test_without_an_event_there_is_no_file),
		TEST(test_no_pools_leaves_out_blocks_and_phases_alone_make_no_file),
		TEST(test_events_of_many_threads_arrive_once_and_in_order),
		TEST(test_what_a_small_ring_cannot_hold_is_counted),
		TEST(test_no_stacks_leaves_stacks_and_modules_out),
		TEST(test_stacks_deeper_than_a_trace_takes_are_kept),
		TEST(test_an_unloaded_library_ends_and_its_stacks_are_not_reused),
		TEST(test_a_thread_that_jumps_out_of_the_recorder_goes_on_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
