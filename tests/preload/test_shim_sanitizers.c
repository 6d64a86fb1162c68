#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/personality.h>

#include <cmocka.h>

#include "shim_run.h"

/*
 * Programs of strangers that have a sanitizer in them, with a shim that has none. Its runtime
 * interposes on half of libc, asks our dlsym for the other half before it is ready for anything,
 * and is gone from a thread before that one has ended.
 */

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

/* Sanitizers do not always find their place in a much randomised address space. */
static void stay_in_order(const struct shim_run *run)
{
	(void)run;
	personality(ADDR_NO_RANDOMIZE); /* where it is forbidden we take the chance */
}

static void check_host(struct shim_run *run, const char *host)
{
	struct shim_trace *trace;

	run->prepare = stay_in_order;
	SHIM_RUN(run, host, "blocks", "4", "1000");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 4000);
	assert_int_equal(trace->nr[VS_RECORD_THREAD], 5);
	free(trace);
}

static void test_a_program_with_address_sanitizer_is_recorded(void **state)
{
	check_host(*state, "host_events_address");
}

static void test_a_program_with_thread_sanitizer_is_recorded(void **state)
{
	/* It cannot see how the shim's threads agree, and would report what is no bug. */
	shim_run_add_env(*state, "TSAN_OPTIONS=report_bugs=0");
	check_host(*state, "host_events_thread");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_program_with_address_sanitizer_is_recorded),
		TEST(test_a_program_with_thread_sanitizer_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
