#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "run_jax.h"
#include "scratch.h"

static const struct vs_command command = {.name = "run", .usage = "", .summary = ""};

/* What is said on stderr. */
static const char *set_up(const char *allocator, int status)
{
	int got;

	vs_capture_begin(STDERR_FILENO);
	got = vs_run_jax_set_up(&command, allocator);
	assert_int_equal(got, status);
	return vs_capture_end();
}

static int enter(void **state)
{
	int err = vs_scratch_enter(state);

	unsetenv("XLA_PYTHON_CLIENT_ALLOCATOR");
	unsetenv("XLA_PYTHON_CLIENT_PREALLOCATE");
	return err;
}

static void test_each_buffer_is_to_be_seen_unless_told_otherwise(void **state)
{
	(void)state;
	assert_string_equal(set_up("", 0), "");
	assert_string_equal(getenv("XLA_PYTHON_CLIENT_ALLOCATOR"), "cuda_async");
	assert_string_equal(getenv("XLA_PYTHON_CLIENT_PREALLOCATE"), "false");
	assert_string_equal(getenv("VRAMSCOPE_JAX_ALLOCATOR"), "cuda_async");
}

static void test_another_allocator_pre_allocates_as_it_does(void **state)
{
	(void)state;
	assert_string_equal(set_up("bfc", 0), "");
	assert_string_equal(getenv("XLA_PYTHON_CLIENT_ALLOCATOR"), "bfc");
	assert_null(getenv("XLA_PYTHON_CLIENT_PREALLOCATE"));
	assert_string_equal(getenv("VRAMSCOPE_JAX_ALLOCATOR"), "bfc");
}

static void test_what_the_user_has_set_is_replaced_aloud(void **state)
{
	(void)state;
	setenv("XLA_PYTHON_CLIENT_ALLOCATOR", "platform", 1);
	assert_string_equal(set_up("cuda_async", 0),
			    "vramscope: --jax-allocator: XLA_PYTHON_CLIENT_ALLOCATOR=platform is "
			    "replaced by cuda_async\n");
	assert_string_equal(getenv("XLA_PYTHON_CLIENT_ALLOCATOR"), "cuda_async");
	assert_string_equal(set_up("cuda_async", 0), "");
}

static void test_pre_allocation_of_the_user_stays(void **state)
{
	(void)state;
	setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true", 1);
	set_up("", 0);
	assert_string_equal(getenv("XLA_PYTHON_CLIENT_PREALLOCATE"), "true");
}

static void test_what_jax_does_not_know_is_refused(void **state)
{
	(void)state;
	assert_non_null(strstr(set_up("jemalloc", VS_EXIT_USAGE),
			       "--jax-allocator: 'jemalloc' is none of cuda_async, platform, bfc, "
			       "vmm, default"));
	assert_null(getenv("XLA_PYTHON_CLIENT_ALLOCATOR"));
	assert_null(getenv("VRAMSCOPE_JAX_ALLOCATOR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_each_buffer_is_to_be_seen_unless_told_otherwise, enter,
			vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_another_allocator_pre_allocates_as_it_does,
						enter, vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_what_the_user_has_set_is_replaced_aloud, enter,
						vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_pre_allocation_of_the_user_stays, enter,
						vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_what_jax_does_not_know_is_refused, enter,
						vs_scratch_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
