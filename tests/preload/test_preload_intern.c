#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "intern.h"

#define NR 1000

static int set_up(void **state)
{
	static struct vs_intern table;

	*state = &table;
	return vs_intern_init(&table, NR, 1 << 20);
}

static int tear_down(void **state)
{
	vs_intern_fini(*state);
	return 0;
}

static void test_what_was_added_is_found_and_nothing_else(void **state)
{
	struct vs_intern *table = *state;
	char text[32];

	for (uint32_t i = 1; i <= NR; i++) {
		int size = snprintf(text, sizeof(text), "entry %u", i);
		uint64_t hash = vs_intern_hash(text, (size_t)size, 0);

		assert_int_equal(vs_intern_find(table, hash, text, (size_t)size), 0);
		assert_non_null(vs_intern_add(table, hash, text, (size_t)size, i));
	}
	for (uint32_t i = 1; i <= NR; i++) {
		int size = snprintf(text, sizeof(text), "entry %u", i);
		uint64_t hash = vs_intern_hash(text, (size_t)size, 0);

		assert_int_equal(vs_intern_find(table, hash, text, (size_t)size), i);
	}
}

static void test_equal_hashes_are_told_apart_by_their_bytes(void **state)
{
	struct vs_intern *table = *state;

	vs_intern_add(table, 42, "one", 3, 1);
	vs_intern_add(table, 42, "two", 3, 2);
	vs_intern_add(table, 42, "twoo", 4, 3);
	assert_int_equal(vs_intern_find(table, 42, "two", 3), 2);
	assert_int_equal(vs_intern_find(table, 42, "one", 3), 1);
	assert_int_equal(vs_intern_find(table, 42, "twoo", 4), 3);
	assert_int_equal(vs_intern_find(table, 42, "six", 3), 0);
}

static void test_a_table_full_of_one_hash_still_answers(void **state)
{
	struct vs_intern *table = *state;

	for (uint32_t i = 1; i <= NR; i++)
		assert_non_null(vs_intern_add(table, 0, &i, sizeof(i), i));
	for (uint32_t i = 1; i <= NR; i++)
		assert_int_equal(vs_intern_find(table, 0, &i, sizeof(i)), i);
}

static void test_a_full_table_refuses_and_keeps_what_it_has(void **state)
{
	struct vs_intern *table = *state;

	for (uint32_t i = 1; i <= NR; i++)
		assert_non_null(vs_intern_add(table, vs_intern_hash(&i, 4, 0), &i, sizeof(i), i));
	assert_null(vs_intern_add(table, 1, "more", 4, NR + 1));
	for (uint32_t i = 1; i <= NR; i++)
		assert_int_equal(vs_intern_find(table, vs_intern_hash(&i, 4, 0), &i, 4), i);
}

static void test_an_arena_that_is_used_up_refuses(void **state)
{
	static const char large[1 << 19];
	struct vs_intern *table = *state;

	assert_non_null(vs_intern_add(table, 1, large, sizeof(large), 1));
	assert_null(vs_intern_add(table, 2, large, sizeof(large), 2));
	assert_non_null(vs_intern_add(table, 3, "small", 5, 3));
}

static void test_a_cleared_table_is_empty_and_usable(void **state)
{
	struct vs_intern *table = *state;

	vs_intern_add(table, 1, "one", 3, 1);
	vs_intern_clear(table);
	assert_int_equal(vs_intern_find(table, 1, "one", 3), 0);
	vs_intern_add(table, 1, "one", 3, 9);
	assert_int_equal(vs_intern_find(table, 1, "one", 3), 9);
}

static void test_every_byte_the_size_and_the_seed_change_the_hash(void **state)
{
	unsigned char bytes[33] = {0};
	uint64_t hash = vs_intern_hash(bytes, sizeof(bytes), 0);

	(void)state;
	assert_true(vs_intern_hash(bytes, sizeof(bytes), 1) != hash);
	assert_true(vs_intern_hash(bytes, sizeof(bytes) - 1, 0) != hash);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		assert_true(vs_intern_hash(bytes, sizeof(bytes), 0) != hash);
		bytes[i] = 0;
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_added_is_found_and_nothing_else),
		TEST(test_equal_hashes_are_told_apart_by_their_bytes),
		TEST(test_a_table_full_of_one_hash_still_answers),
		TEST(test_a_full_table_refuses_and_keeps_what_it_has),
		TEST(test_an_arena_that_is_used_up_refuses),
		TEST(test_a_cleared_table_is_empty_and_usable),
		TEST(test_every_byte_the_size_and_the_seed_change_the_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
