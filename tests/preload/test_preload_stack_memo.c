#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stack_memo.h"

static struct vs_stack_memo *memo;

static int begin(void **state)
{
	(void)state;
	memo = calloc(1, sizeof(*memo));
	return memo ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(memo);
	return 0;
}

/* Different ones of the same set. */
static struct vs_unwind_path make_path(uint64_t a, uint64_t b)
{
	return (struct vs_unwind_path){.a = UINT64_C(0x7770000000000000) + a, .b = b};
}

static void test_what_was_added_is_found(void **state)
{
	struct vs_unwind_path path = make_path(1, 2);

	(void)state;
	assert_int_equal(vs_stack_memo_find(memo, &path, 9), VS_NO_ID);
	vs_stack_memo_add(memo, &path, 9, 4711);
	assert_int_equal(vs_stack_memo_find(memo, &path, 9), 4711);
}

static void test_half_a_path_is_another_path(void **state)
{
	struct vs_unwind_path path = make_path(1, 2), other_a = make_path(3, 2),
			      other_b = make_path(1, 3);

	(void)state;
	vs_stack_memo_add(memo, &path, 9, 4711);
	assert_int_equal(vs_stack_memo_find(memo, &other_a, 9), VS_NO_ID);
	assert_int_equal(vs_stack_memo_find(memo, &other_b, 9), VS_NO_ID);
}

static void test_a_number_of_another_era_means_nothing(void **state)
{
	struct vs_unwind_path path = make_path(1, 2);

	(void)state;
	vs_stack_memo_add(memo, &path, 9, 4711);
	assert_int_equal(vs_stack_memo_find(memo, &path, 10), VS_NO_ID);
	vs_stack_memo_add(memo, &path, 10, 4712);
	assert_int_equal(vs_stack_memo_find(memo, &path, 10), 4712);
}

static void test_the_oldest_of_a_set_goes(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= VS_STACK_MEMO_NR_WAYS + 1; i++) {
		struct vs_unwind_path path = make_path(i, i);

		vs_stack_memo_add(memo, &path, 9, 100 + i);
	}
	for (uint32_t i = 1; i <= VS_STACK_MEMO_NR_WAYS + 1; i++) {
		struct vs_unwind_path path = make_path(i, i);

		assert_int_equal(vs_stack_memo_find(memo, &path, 9), i == 1 ? VS_NO_ID : 100 + i);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_added_is_found),
		TEST(test_half_a_path_is_another_path),
		TEST(test_a_number_of_another_era_means_nothing),
		TEST(test_the_oldest_of_a_set_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
