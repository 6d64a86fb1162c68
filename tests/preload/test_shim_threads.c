#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim_run.h"

#define NAMES_MAX 4

/* ThreadSanitizer takes its time. */
#define NR_SHORT (SHIM_IS_THREAD_SANITIZED ? "1000" : "10000")

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

/* The only trace: whole, and each event with what it needs. */
static struct shim_trace *read_sound(const struct shim_run *run)
{
	struct shim_trace *trace = shim_run_read(run, NULL);

	assert_true(trace->is_complete);
	assert_false(trace->is_damaged);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr_unplaced, 0);
	return trace;
}

/* Blocks 1 to nr, once each. */
static void assert_each_once(const struct shim_trace *trace, unsigned long nr)
{
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], nr);
	for (unsigned long i = 1; i <= nr && i < SHIM_NR_EVENTS; i++)
		assert_int_equal(trace->seen[0][i], 1);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static void test_thousands_of_short_threads_are_recorded(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "short", NR_SHORT);
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr_lost, 0);
	assert_each_once(trace, strtoul(NR_SHORT, NULL, 10));
	/* The first one made the pool. */
	assert_int_equal(trace->nr[VS_RECORD_THREAD], strtoul(NR_SHORT, NULL, 10) + 1);
	free(trace);
}

static void test_what_destructors_of_threads_say_is_there(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "late", "100");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr_lost, 0);
	assert_each_once(trace, 2 * 100);
	/* Its ring was closed: it gets another one. */
	assert_int_equal(trace->nr[VS_RECORD_THREAD], 2 * 100 + 1);
	free(trace);
}

static void test_hundreds_of_threads_at_once_are_recorded(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "waves");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr_lost, 0);
	assert_each_once(trace, 25 * 200 * 2);
	assert_int_equal(trace->nr[VS_RECORD_THREAD], 25 * 200 + 1);
	free(trace);
}

static void test_a_log_too_small_for_so_many_threads_counts_what_it_cannot_hold(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	shim_run_add_env(run, "VRAMSCOPE_LOG_SIZE=1000000");
	SHIM_RUN(run, "host_threads", "waves");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_true(trace->nr_lost > 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr_lost, 25 * 200 * 2);
	free(trace);
}

static void test_64_threads_that_do_nothing_else_lose_nothing(void **state)
{
	const char *nr = SHIM_IS_THREAD_SANITIZED ? "500" : "5000";
	unsigned long rounds = strtoul(nr, NULL, 10);
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "stress", "64", nr);
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 64 * rounds);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FREE], 64 * rounds);
	assert_int_equal(trace->nr[VS_RECORD_STEP], 64 * rounds / 100);
	free(trace);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void test_what_was_said_before_exit_is_there_although_threads_go_on(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;
	unsigned long nr[4];

	SHIM_RUN(run, "host_threads", "outlive");
	shim_run_assert_fine(run);
	assert_int_equal(sscanf(run->out, "%lu %lu %lu %lu", &nr[0], &nr[1], &nr[2], &nr[3]), 4);
	trace = shim_run_read(run, NULL);
	assert_false(trace->is_damaged);
	assert_false(trace->is_out_of_order);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	for (unsigned thread = 0; thread < 4; thread++)
		for (unsigned long i = 1; i < SHIM_NR_EVENTS; i++)
			assert_in_range(trace->seen[thread][i], i <= nr[thread] ? 1 : 0, 1);
	free(trace);
}

static void test_what_atexit_and_destructors_say_is_there(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "farewell");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr[VS_RECORD_STEP], 4);
	assert_int_equal(trace->steps, 0x1234);
	free(trace);
}

/* ---- Interruptions --------------------------------------------------------------------------- */

static void test_a_handler_that_interrupts_us_loses_what_it_says_and_nothing_else(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;
	unsigned long nr_handled;
	char *rest;

	SHIM_RUN(run, "host_threads", "signals");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr_lost,
			 strtoul(run->out, &rest, 10));
	nr_handled = strtoul(rest, NULL, 10);
	assert_in_range(nr_handled, 3000, ULONG_MAX);
	assert_in_range(trace->nr_lost, 0, nr_handled);
	free(trace);
}

static void test_threads_that_stand_still_hold_nobody_up(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "standstill");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr_lost,
			 strtoul(run->out, NULL, 10));
	assert_int_equal(trace->nr_lost, 0);
	free(trace);
}

static void test_a_free_that_takes_its_time_holds_nobody_up_and_comes_first(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_threads", "slow-free");
	shim_run_assert_fine(run);
	trace = read_sound(run);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr[VS_RECORD_ALLOC], 1);
	assert_int_equal(trace->nr[VS_RECORD_FREE], 1);
	assert_int_equal(trace->nr_blocks_before_free, 0);
	assert_each_once(trace, strtoul(run->out, NULL, 10));
	free(trace);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_thousands_of_short_threads_are_recorded),
		TEST(test_what_destructors_of_threads_say_is_there),
		TEST(test_hundreds_of_threads_at_once_are_recorded),
		TEST(test_a_log_too_small_for_so_many_threads_counts_what_it_cannot_hold),
		TEST(test_64_threads_that_do_nothing_else_lose_nothing),
		TEST(test_what_was_said_before_exit_is_there_although_threads_go_on),
		TEST(test_what_atexit_and_destructors_say_is_there),
		TEST(test_a_handler_that_interrupts_us_loses_what_it_says_and_nothing_else),
		TEST(test_threads_that_stand_still_hold_nobody_up),
		TEST(test_a_free_that_takes_its_time_holds_nobody_up_and_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
