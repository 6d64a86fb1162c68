#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call_memo.h"

static struct vs_call_memo *memo;

/* What it is is nobody's business here, where it lies is. */
static const struct vs_delegation_call *get_call(uint32_t number)
{
	static const char places[5 * VS_CALL_MEMO_NR_ENTRIES + 3];

	return (const void *)&places[number];
}

static int begin(void **state)
{
	(void)state;
	memo = aligned_alloc(64, (sizeof(*memo) + 63) / 64 * 64);
	if (!memo)
		return -1;
	memset(memo, 0, sizeof(*memo));
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(memo);
	return 0;
}

static struct vs_unwind_path make_path(uint64_t a, uint64_t b)
{
	return (struct vs_unwind_path){.a = UINT64_C(0x7770000000000000) + a, .b = b};
}

static void test_what_was_added_is_found(void **state)
{
	struct vs_unwind_path path = make_path(1, 2);

	(void)state;
	assert_null(vs_call_memo_find(memo, &path, 1));
	vs_call_memo_add(memo, &path, 1, get_call(77));
	assert_ptr_equal(vs_call_memo_find(memo, &path, 1), get_call(77));
}

static void test_half_a_path_or_another_era_is_not_it(void **state)
{
	struct vs_unwind_path path = make_path(1, 2), other_a = make_path(3, 2),
			      other_b = make_path(1, 3);

	(void)state;
	vs_call_memo_add(memo, &path, 1, get_call(77));
	assert_null(vs_call_memo_find(memo, &other_a, 1));
	assert_null(vs_call_memo_find(memo, &other_b, 1));
	assert_null(vs_call_memo_find(memo, &path, 2));
	assert_non_null(vs_call_memo_find(memo, &path, 1));
}

static void test_paths_of_the_same_place_do_not_push_one_another_out(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < VS_CALL_MEMO_NR_ENTRIES; i++) {
		struct vs_unwind_path path = make_path(i, i);

		vs_call_memo_add(memo, &path, 1, get_call(i));
	}
	/* In their order, and in another one. */
	for (uint32_t i = 0; i < 3 * VS_CALL_MEMO_NR_ENTRIES; i++) {
		uint32_t number = (i < 1000 ? i : i * 7) % VS_CALL_MEMO_NR_ENTRIES;
		struct vs_unwind_path path = make_path(number, number);

		assert_ptr_equal(vs_call_memo_find(memo, &path, 1), get_call(number));
	}
}

static void test_when_it_is_full_it_begins_anew(void **state)
{
	uint32_t nr_found = 0;

	(void)state;
	for (uint32_t i = 0; i < 5 * VS_CALL_MEMO_NR_ENTRIES + 3; i++) {
		struct vs_unwind_path path = make_path(i, i);

		vs_call_memo_add(memo, &path, 1, get_call(i));
		assert_ptr_equal(vs_call_memo_find(memo, &path, 1), get_call(i));
	}
	for (uint32_t i = 0; i < 5 * VS_CALL_MEMO_NR_ENTRIES; i++) {
		struct vs_unwind_path path = make_path(i, i);
		const struct vs_delegation_call *found = vs_call_memo_find(memo, &path, 1);

		/* What nothing was put over yet may still be met. */
		assert_true(!found || found == get_call(i));
		nr_found += found != NULL;
	}
	assert_in_range(nr_found, 0, VS_CALL_MEMO_NR_ENTRIES);
}

/* Until the end of an entry nobody finds it. */
static void test_half_an_entry_is_none(void **state)
{
	struct vs_unwind_path path = make_path(1, 2);

	(void)state;
	vs_call_memo_add(memo, &path, 1, get_call(77));
	memo->entries[0].era = 0; /* as whoever jumps away leaves it */
	assert_null(vs_call_memo_find(memo, &path, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_what_was_added_is_found),
		TEST(test_half_a_path_or_another_era_is_not_it),
		TEST(test_paths_of_the_same_place_do_not_push_one_another_out),
		TEST(test_when_it_is_full_it_begins_anew),
		TEST(test_half_an_entry_is_none),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
