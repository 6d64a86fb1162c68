#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "call_memo.h"

static struct vs_call_memo *memo;
static uint64_t frames[VS_CALL_MEMO_MAX_FRAMES + 1];

static int begin(void **state)
{
	(void)state;
	memo = calloc(1, sizeof(*memo));
	for (uint32_t i = 0; i < VS_CALL_MEMO_MAX_FRAMES + 1; i++)
		frames[i] = 1000 + i;
	return memo ? 0 : -1;
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
	const struct vs_call_memo_entry *found;

	(void)state;
	assert_null(vs_call_memo_find(memo, &path, 1));
	vs_call_memo_add(memo, &path, 1, frames, 3, 77);
	found = vs_call_memo_find(memo, &path, 1);
	assert_non_null(found);
	assert_int_equal(found->nr_frames, 3);
	assert_int_equal(found->hash, 77);
	assert_memory_equal(found->frames, frames, 3 * sizeof(frames[0]));
}

static void test_half_a_path_or_another_era_is_not_it(void **state)
{
	struct vs_unwind_path path = make_path(1, 2), other_a = make_path(3, 2),
			      other_b = make_path(1, 3);

	(void)state;
	vs_call_memo_add(memo, &path, 1, frames, 3, 77);
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

		vs_call_memo_add(memo, &path, 1, frames + i % 50, 3, i);
	}
	/* In their order, and in another one. */
	for (uint32_t i = 0; i < 3 * VS_CALL_MEMO_NR_ENTRIES; i++) {
		uint32_t number = (i < 1000 ? i : i * 7) % VS_CALL_MEMO_NR_ENTRIES;
		struct vs_unwind_path path = make_path(number, number);
		const struct vs_call_memo_entry *found = vs_call_memo_find(memo, &path, 1);

		assert_non_null(found);
		assert_int_equal(found->hash, number);
		assert_int_equal(found->frames[0], frames[number % 50]);
	}
}

static void test_when_it_is_full_it_begins_anew(void **state)
{
	uint32_t nr_found = 0;

	(void)state;
	for (uint32_t i = 0; i < 5 * VS_CALL_MEMO_NR_ENTRIES + 3; i++) {
		struct vs_unwind_path path = make_path(i, i);

		vs_call_memo_add(memo, &path, 1, frames, 3, i);
		assert_int_equal(vs_call_memo_find(memo, &path, 1)->hash, i);
	}
	for (uint32_t i = 0; i < 5 * VS_CALL_MEMO_NR_ENTRIES; i++) {
		struct vs_unwind_path path = make_path(i, i);
		const struct vs_call_memo_entry *found = vs_call_memo_find(memo, &path, 1);

		/* What nothing was put over yet may still be met. */
		assert_true(!found || found->hash == i);
		nr_found += found != NULL;
	}
	assert_in_range(nr_found, 0, VS_CALL_MEMO_NR_ENTRIES);
}

static void test_more_frames_than_it_has_room_for_are_not_kept(void **state)
{
	struct vs_unwind_path path = make_path(1, 2);

	(void)state;
	vs_call_memo_add(memo, &path, 1, frames, VS_CALL_MEMO_MAX_FRAMES + 1, 77);
	assert_null(vs_call_memo_find(memo, &path, 1));
	vs_call_memo_add(memo, &path, 1, frames, VS_CALL_MEMO_MAX_FRAMES, 77);
	assert_int_equal(vs_call_memo_find(memo, &path, 1)->frames[VS_CALL_MEMO_MAX_FRAMES - 1],
			 frames[VS_CALL_MEMO_MAX_FRAMES - 1]);
}

/* Until the end of an entry nobody finds it. */
static void test_half_an_entry_is_none(void **state)
{
	struct vs_unwind_path path = make_path(1, 2);

	(void)state;
	vs_call_memo_add(memo, &path, 1, frames, 3, 77);
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
		TEST(test_more_frames_than_it_has_room_for_are_not_kept),
		TEST(test_half_an_entry_is_none),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
