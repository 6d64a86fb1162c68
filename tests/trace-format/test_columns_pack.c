#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "columns_pack.h"

#define SIZE_MOST (1u << 17)

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Exactly as long as the bytes, so that a sanitizer sees a step too far. */
static uint8_t *get_memory(size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	assert_non_null(bytes);
	return bytes;
}

/* Packs, unpacks, compares. Returns the bytes it took. */
static size_t expect_back(const uint8_t *column, size_t size)
{
	uint8_t *out = get_memory(size), *found = get_memory(size), *packed;
	size_t stored = vs_columns_pack_put(out, column, size);

	assert_true(stored <= size);
	packed = get_memory(stored);
	if (stored)
		memcpy(packed, out, stored);
	if (stored == size) {
		if (size)
			assert_memory_equal(packed, column, size);
	} else {
		assert_int_equal(vs_columns_pack_get(found, size, packed, stored), 0);
		assert_memory_equal(found, column, size);
	}
	free(out);
	free(found);
	free(packed);
	return stored;
}

/* ---- Both ways ---------------------------------------------------------------------------- */

static void test_columns_of_any_size_come_back(void **state)
{
	uint8_t column[600] = {0};
	uint64_t random = 1;

	(void)state;
	for (size_t size = 0; size <= sizeof(column); size++) {
		for (size_t i = 0; i < size; i++)
			column[i] = draw(&random) % 8 ? 3 : (uint8_t)draw(&random);
		expect_back(column, size);
	}
}

/* From one byte alone over all shades to all of them alike. */
static void test_columns_of_any_bytes_come_back(void **state)
{
	uint8_t *column = get_memory(SIZE_MOST);
	uint64_t random = 2;

	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		size_t size = draw(&random) % (round < 190 ? 5000 : SIZE_MOST);
		uint32_t first = (uint32_t)draw(&random) % 256;
		uint32_t nr = 1 + (uint32_t)draw(&random) % 256;
		uint32_t skew = 1 + (uint32_t)draw(&random) % 5;

		for (size_t i = 0; i < size; i++) {
			uint64_t byte = draw(&random) % nr;

			for (uint32_t k = 1; k < skew; k++)
				byte = draw(&random) % (byte + 1);
			column[i] = (uint8_t)(first + byte);
		}
		expect_back(column, size);
	}
	free(column);
}

static void test_byte_that_occurs_once_comes_back(void **state)
{
	uint8_t *column = get_memory(SIZE_MOST);

	(void)state;
	memset(column, 7, SIZE_MOST);
	for (size_t at = 0; at < 4; at++) {
		column[at] = 200;
		assert_true(expect_back(column, SIZE_MOST) < 600);
		column[at] = 7;
		column[SIZE_MOST - 1 - at] = 0;
		assert_true(expect_back(column, SIZE_MOST) < 600);
		column[SIZE_MOST - 1 - at] = 7;
	}
	free(column);
}

/* ---- Sizes -------------------------------------------------------------------------------- */

/* Such have a way of their own: many in a row, a few others anywhere, in front and at the end. */
static void test_columns_of_nearly_one_byte_come_back(void **state)
{
	uint8_t *column = get_memory(SIZE_MOST);
	uint64_t random = 7;

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		size_t size = 32 + draw(&random) % (round < 290 ? 5000 : SIZE_MOST - 32);
		uint64_t one_in = 2ull << round % 14;
		uint8_t usual = (uint8_t)draw(&random);

		for (size_t i = 0; i < size; i++)
			column[i] = draw(&random) % one_in ? usual : (uint8_t)draw(&random);
		column[round % 2 ? 0 : size - 1] ^= round % 3 == 0;
		expect_back(column, size);
	}
	free(column);
}

static void test_column_of_one_byte_takes_two(void **state)
{
	uint8_t column[1000];

	(void)state;
	memset(column, 0xff, sizeof(column));
	assert_int_equal(expect_back(column, sizeof(column)), 2);
}

static void test_random_bytes_are_left_as_they_are(void **state)
{
	uint8_t column[10000];
	uint64_t random = 3;

	(void)state;
	for (size_t i = 0; i < sizeof(column); i++)
		column[i] = (uint8_t)draw(&random);
	assert_int_equal(expect_back(column, sizeof(column)), sizeof(column));
}

/* 50 values alike have log2(50) = 5.644 bits each, two values 9 : 1 have 0.469. */
static void test_columns_come_close_to_their_entropy(void **state)
{
	uint8_t *column = get_memory(65536);
	uint64_t random = 4;

	(void)state;
	for (size_t i = 0; i < 65536; i++)
		column[i] = (uint8_t)(draw(&random) % 50);
	assert_in_range(expect_back(column, 65536), 46000, 46700);
	for (size_t i = 0; i < 65536; i++)
		column[i] = draw(&random) % 10 == 0;
	assert_in_range(expect_back(column, 65536), 3700, 3950);
	free(column);
}

/* ---- The very bytes ----------------------------------------------------------------------- */

/* 3 of 4 bytes are 5: frequencies 3072 and 1024. */
static void test_packed_column_is_these_bytes(void **state)
{
	static const uint8_t head[] = {5, 1, 0x80, 0x18, 0x80, 0x08};
	uint8_t column[64], out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(column); i++)
		column[i] = i % 4 == 3 ? 6 : 5;
	assert_in_range(vs_columns_pack_put(out, column, sizeof(column)), 22, 40);
	assert_memory_equal(out, head, sizeof(head));
}

/* Worked out by hand: both bytes half of the time, and every state 65536 at the end. */
static void test_unpacking_follows_the_document(void **state)
{
	static const uint8_t good[] = {
		8,    1,    0x80, 0x10, 0x80, 0x10, /* 8 and 9, 2048 each */
		0x00, 0x08, 0x02, 0x00,             /* 2^17 + 2048: 9, then 2048 * 32 = 65536 */
		0x00, 0x00, 0x02, 0x00,             /* 2^17: 8, then 65536 */
		0x00, 0x08, 0x02, 0x00,             /* 9 */
		0x00, 0x00, 0x02, 0x00,             /* 8 */
	};
	uint8_t bad[sizeof(good)], found[4];

	(void)state;
	assert_int_equal(vs_columns_pack_get(found, 4, good, sizeof(good)), 0);
	assert_memory_equal(found, "\x09\x08\x09\x08", 4);
	memcpy(bad, good, sizeof(good));
	bad[8] = 8; /* 2^19 + 2048: 9 as well, but then 2048 * 128 is no end */
	assert_int_equal(vs_columns_pack_get(found, 4, bad, sizeof(bad)), -VS_ERR_CORRUPT);
}

/* ---- Damage ------------------------------------------------------------------------------- */

static void test_packed_column_cut_anywhere_is_corrupt(void **state)
{
	uint8_t column[400], out[400], found[400];
	uint64_t random = 5;
	size_t stored;

	(void)state;
	for (size_t i = 0; i < sizeof(column); i++)
		column[i] = (uint8_t)(draw(&random) % 5);
	stored = vs_columns_pack_put(out, column, sizeof(column));
	assert_true(stored < sizeof(column));
	for (size_t cut = 0; cut < stored; cut++) {
		uint8_t *packed = get_memory(cut);

		if (cut)
			memcpy(packed, out, cut);
		assert_int_equal(vs_columns_pack_get(found, sizeof(found), packed, cut),
				 -VS_ERR_CORRUPT);
		free(packed);
	}
}

static void test_packed_column_with_more_behind_it_is_corrupt(void **state)
{
	uint8_t column[100], out[101], found[100];

	(void)state;
	memset(column, 1, sizeof(column));
	out[vs_columns_pack_put(out, column, sizeof(column))] = 0;
	assert_int_equal(vs_columns_pack_get(found, sizeof(found), out, 3), -VS_ERR_CORRUPT);
}

static void test_wrong_frequencies_are_corrupt(void **state)
{
	static const uint8_t wrong[][30] = {
		{0, 1, 0x80, 0x10, 0xff, 0x0f},                  /* 4095 in all */
		{0, 1, 0x80, 0x10, 0x81, 0x10},                  /* 4097 */
		{0, 1, 0x80, 0x20, 0x00},                        /* 4096 of one */
		{0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x0}, /* more than 32 bits */
		{255, 1, 0x80, 0x10, 0x80, 0x10},                /* the second is no byte */
	};
	uint8_t found[40];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			vs_columns_pack_get(found, sizeof(found), wrong[i], sizeof(wrong[i])),
			-VS_ERR_CORRUPT);
}

static void test_any_bytes_are_a_column_or_corrupt(void **state)
{
	uint64_t random = 6;
	uint8_t found[300];

	(void)state;
	for (uint32_t round = 0; round < 20000; round++) {
		size_t size = draw(&random) % 60;
		uint8_t *packed = get_memory(size);
		int err;

		for (size_t i = 0; i < size; i++)
			packed[i] = (uint8_t)(draw(&random) >> draw(&random) % 8);
		/* Often enough a table that is right. */
		if (size > 6 && round % 2)
			memcpy(packed + 1, "\x01\x80\x10\x80\x10", 5);
		err = vs_columns_pack_get(found, draw(&random) % sizeof(found), packed, size);
		assert_true(err == 0 || err == -VS_ERR_CORRUPT);
		free(packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_of_any_size_come_back),
		cmocka_unit_test(test_columns_of_any_bytes_come_back),
		cmocka_unit_test(test_byte_that_occurs_once_comes_back),
		cmocka_unit_test(test_columns_of_nearly_one_byte_come_back),
		cmocka_unit_test(test_column_of_one_byte_takes_two),
		cmocka_unit_test(test_random_bytes_are_left_as_they_are),
		cmocka_unit_test(test_columns_come_close_to_their_entropy),
		cmocka_unit_test(test_packed_column_is_these_bytes),
		cmocka_unit_test(test_unpacking_follows_the_document),
		cmocka_unit_test(test_packed_column_cut_anywhere_is_corrupt),
		cmocka_unit_test(test_packed_column_with_more_behind_it_is_corrupt),
		cmocka_unit_test(test_wrong_frequencies_are_corrupt),
		cmocka_unit_test(test_any_bytes_are_a_column_or_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
