/* PyTorch's pool in the whole recorder: the model of PyTorch runs with libvramscope.so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

static void test_everything_reported_is_recorded_and_heard(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_torch", MODEL_TORCH "/torch");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "6 heard, out of memory at 7\n");
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr[VS_RECORD_POOL], 1);
	assert_int_equal(trace->nr[VS_RECORD_FACT], 4);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 2);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FREE], 1);
	assert_int_equal(trace->nr[VS_RECORD_POOL_STATE], 1); /* the rest follows */
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FAILED], 1);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FAILED_TEXT], 1);
	free(trace);
}

static void test_the_program_hears_the_same_as_without_us(void **state)
{
	struct shim_run *run = *state;
	char with[sizeof(run->out)];

	SHIM_RUN(run, "host_torch", MODEL_TORCH "/torch");
	memcpy(with, run->out, sizeof(with));
	run->is_plain = true;
	SHIM_RUN(run, "host_torch", MODEL_TORCH "/torch");
	assert_string_equal(run->out, with);
	run->is_plain = false;
}

static void test_no_pools_leaves_no_trace(void **state)
{
	struct shim_run *run = *state;
	char names[1][NAME_MAX + 1];

	shim_run_add_env(run, "VRAMSCOPE_NO_POOLS=1");
	SHIM_RUN(run, "host_torch", MODEL_TORCH "/torch");
	shim_run_assert_fine(run);
	assert_int_equal(shim_run_list(run, ".vscope", names, 1), 0);
}

static void test_an_unknown_release_is_left_alone_with_one_line(void **state)
{
	struct shim_run *run = *state;
	char names[1][NAME_MAX + 1];

	SHIM_RUN(run, "host_torch", MODEL_TORCH "/torch-2.16");
	shim_run_assert_one_line(run, "this release of PyTorch is not known");
	assert_int_equal(shim_run_list(run, ".vscope", names, 1), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_everything_reported_is_recorded_and_heard),
		TEST(test_the_program_hears_the_same_as_without_us),
		TEST(test_no_pools_leaves_no_trace),
		TEST(test_an_unknown_release_is_left_alone_with_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
