#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack_memo.h"

static struct vs_stack_memo *memo;

static int begin(void **state)
{
	(void)state;
	memo = aligned_alloc(64, sizeof(*memo));
	if (memo)
		memset(memo, 0, sizeof(*memo));
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

/* Numbers without a pattern, as paths are. */
static struct vs_unwind_path make_random(uint32_t number)
{
	struct vs_unwind_path path = {.a = number * UINT64_C(0x9e3779b97f4a7c15), .b = number};

	path.a = (path.a ^ path.a >> 29) * UINT64_C(0xd6e8feb86659fd93);
	path.a ^= path.a >> 32;
	path.a *= UINT64_C(0x9e3779b97f4a7c15);
	return path;
}

static void test_few_lie_on_one_page_and_many_are_remembered_as_well(void **state)
{
	uint32_t nr_known = 0;

	(void)state;
	for (uint32_t i = 1; i <= 100; i++) {
		struct vs_unwind_path path = make_random(i);

		vs_stack_memo_add(memo, &path, 9, i);
	}
	assert_true(memo->growth <= 1);
	for (uint32_t i = 101; i <= 10000; i++) {
		struct vs_unwind_path path = make_random(i);

		vs_stack_memo_add(memo, &path, 9, i);
	}
	assert_true(memo->growth >= 5);
	for (uint32_t i = 1; i <= 10000; i++) {
		struct vs_unwind_path path = make_random(i);
		uint32_t number = vs_stack_memo_find(memo, &path, 9);

		assert_true(number == i || number == VS_NO_ID);
		nr_known += number == i;
	}
	assert_in_range(nr_known, 8500, 10000);
}

#define NR_FRAMES 20u

static struct vs_unwind_path path_of(const uint64_t *frames, uint32_t nr, bool is_deep, bool is_cut)
{
	struct vs_stack stack = {
		.nr_frames = nr, .frames = frames, .is_deep = is_deep, .is_cut = is_cut};
	struct vs_unwind_path path;

	vs_stack_memo_get_path(&stack, &path);
	return path;
}

static void assert_differ(const struct vs_unwind_path *a, const struct vs_unwind_path *b)
{
	assert_int_not_equal(a->a, b->a);
	assert_int_not_equal(a->b, b->b);
}

static void test_every_frame_is_in_both_halves_of_a_path(void **state)
{
	uint64_t frames[NR_FRAMES];

	(void)state;
	for (uint32_t i = 0; i < NR_FRAMES; i++)
		frames[i] = 0x400000 + 16 * i;
	for (uint32_t nr = 1; nr <= NR_FRAMES; nr++) {
		struct vs_unwind_path path = path_of(frames, nr, false, false);
		struct vs_unwind_path same = path_of(frames, nr, false, false);

		assert_memory_equal(&path, &same, sizeof(path));
		for (uint32_t i = 0; i < nr; i++) {
			struct vs_unwind_path other;

			frames[i] ^= 1;
			other = path_of(frames, nr, false, false);
			frames[i] ^= 1;
			assert_differ(&path, &other);
		}
	}
}

static void test_order_length_and_marks_make_another_path(void **state)
{
	static const uint64_t frames[] = {1, 2, 3, 4, 5, 6, 7, 8};
	static const uint64_t swapped[] = {5, 2, 3, 4, 1, 6, 7, 8};
	static const uint64_t zeros[NR_FRAMES];
	struct vs_unwind_path path = path_of(frames, 8, false, false),
			      others[] = {
				      path_of(swapped, 8, false, false),
				      path_of(frames, 7, false, false),
				      path_of(frames, 8, true, false),
				      path_of(frames, 8, false, true),
			      };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_differ(&path, &others[i]);
	for (uint32_t nr = 1; nr < NR_FRAMES; nr++) {
		struct vs_unwind_path shorter = path_of(zeros, nr, false, false);
		struct vs_unwind_path longer = path_of(zeros, nr + 1, false, false);

		assert_differ(&shorter, &longer);
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
		TEST(test_few_lie_on_one_page_and_many_are_remembered_as_well),
		TEST(test_every_frame_is_in_both_halves_of_a_path),
		TEST(test_order_length_and_marks_make_another_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
