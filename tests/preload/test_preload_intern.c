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

static void test_what_was_added_stays_where_it_lies(void **state)
{
	struct vs_intern *table = *state;
	const void *one = vs_intern_add(table, 42, "one", 3, 1);
	const void *two = vs_intern_add(table, 42, "two", 3, 2);

	assert_memory_equal(one, "one", 3);
	assert_ptr_equal(vs_intern_find_kept(table, 42, "one", 3), one);
	assert_ptr_equal(vs_intern_find_kept(table, 42, "two", 3), two);
	assert_null(vs_intern_find_kept(table, 42, "six", 3));
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

/* The upper half is all that is compared of two entries before their bytes. */
static void assert_unlike(uint64_t a, uint64_t b)
{
	assert_int_not_equal(a >> 32, b >> 32);
}

/* Lanes of 32 bytes, words, and the rest: every mixture of them. */
static void test_every_bit_the_size_and_the_seed_change_the_hash_at_all_sizes(void **state)
{
	unsigned char bytes[100];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 37);
	for (size_t size = 0; size < sizeof(bytes); size++) {
		uint64_t hash = vs_intern_hash(bytes, size, 0);

		assert_unlike(vs_intern_hash(bytes, size + 1, 0), hash);
		for (unsigned bit = 0; bit < 64; bit++)
			assert_unlike(vs_intern_hash(bytes, size, UINT64_C(1) << bit), hash);
		for (size_t bit = 0; bit < 8 * size; bit++) {
			bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
			assert_unlike(vs_intern_hash(bytes, size, 0), hash);
			bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		}
	}
}

/* Stacks are the same few addresses in many orders. */
static void test_the_order_of_words_changes_the_hash(void **state)
{
	uint64_t words[12];
	uint64_t hash;

	(void)state;
	for (uint64_t i = 0; i < 12; i++)
		words[i] = UINT64_C(0x7f0000001000) + i;
	hash = vs_intern_hash(words, sizeof(words), 0);
	for (unsigned a = 0; a < 12; a++) {
		for (unsigned b = a + 1; b < 12; b++) {
			uint64_t word = words[a];

			words[a] = words[b];
			words[b] = word;
			assert_unlike(vs_intern_hash(words, sizeof(words), 0), hash);
			words[b] = words[a];
			words[a] = word;
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_added_is_found_and_nothing_else),
		TEST(test_equal_hashes_are_told_apart_by_their_bytes),
		TEST(test_what_was_added_stays_where_it_lies),
		TEST(test_a_table_full_of_one_hash_still_answers),
		TEST(test_a_full_table_refuses_and_keeps_what_it_has),
		TEST(test_an_arena_that_is_used_up_refuses),
		TEST(test_a_cleared_table_is_empty_and_usable),
		TEST(test_every_bit_the_size_and_the_seed_change_the_hash_at_all_sizes),
		TEST(test_the_order_of_words_changes_the_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
