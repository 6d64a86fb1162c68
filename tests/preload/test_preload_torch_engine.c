#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "torch_engine.h"

/* Code from 0x1000 to 0x1100 is the engine's call, from 0x2000 to 0x2080 the worker's main. */
static const uint64_t as_worker[] = {0x500, 0x2010, 0x600};
static const uint64_t as_caller[] = {0x500, 0x1010, 0x600};
static const uint64_t nested_in_worker[] = {0x500, 0x1010, 0x700, 0x2010, 0x600};
static const uint64_t worker_in_call[] = {0x500, 0x2010, 0x1010, 0x600};

static void test_nobody_is_a_worker_of_an_unknown_engine(void **state)
{
	(void)state;
	assert_false(vs_torch_engine_is_worker(as_worker, 3));
	assert_false(vs_torch_engine_is_worker((const uint64_t[]){0, 1}, 2));
	assert_true(vs_torch_engine_count_calls(as_caller, 3) == UINT32_MAX);
}

static void test_the_outermost_frame_in_the_engine_decides(void **state)
{
	(void)state;
	vs_torch_engine_set(0x1000, 0x100, 0x2000, 0x80);
	assert_true(vs_torch_engine_is_worker(as_worker, 3));
	assert_false(vs_torch_engine_is_worker(as_caller, 3));
	assert_true(vs_torch_engine_is_worker(nested_in_worker, 5));
	assert_false(vs_torch_engine_is_worker(worker_in_call, 4));
	assert_false(vs_torch_engine_is_worker(as_worker, 0));
}

static void test_a_return_address_may_lie_right_behind_its_function(void **state)
{
	(void)state;
	vs_torch_engine_set(0x1000, 0x100, 0x2000, 0x80);
	assert_true(vs_torch_engine_is_worker((const uint64_t[]){0x2080}, 1));
	assert_false(vs_torch_engine_is_worker((const uint64_t[]){0x2081}, 1));
	assert_true(vs_torch_engine_is_worker((const uint64_t[]){0x2001}, 1));
	assert_false(vs_torch_engine_is_worker((const uint64_t[]){0x2000}, 1));
}

static void test_calls_in_a_stack_are_counted(void **state)
{
	(void)state;
	vs_torch_engine_set(0x1000, 0x100, 0x2000, 0x80);
	assert_int_equal(vs_torch_engine_count_calls(as_caller, 3), 1);
	assert_int_equal(vs_torch_engine_count_calls(as_worker, 3), 0);
	assert_int_equal(
		vs_torch_engine_count_calls((const uint64_t[]){0x1010, 0x5, 0x1100, 0x1101}, 4), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_is_a_worker_of_an_unknown_engine),
		cmocka_unit_test(test_the_outermost_frame_in_the_engine_decides),
		cmocka_unit_test(test_a_return_address_may_lie_right_behind_its_function),
		cmocka_unit_test(test_calls_in_a_stack_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
