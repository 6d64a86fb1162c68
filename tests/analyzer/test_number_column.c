#include "number_column.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

#define MOST 3000

static uint64_t numbers[MOST], found[MOST];

/* Puts and gets, with something behind it that must not be touched. Returns the bytes. */
static size_t try_numbers(enum vs_number_kind kind, size_t nr)
{
	struct vs_pack pack = {0};
	struct vs_wire in;
	bool has_any = false;
	size_t size, i;

	vs_number_column_put(&pack, kind, numbers, nr);
	size = pack.size;
	vs_pack_put_varint(&pack, 77);
	assert_int_equal(pack.error, 0);
	memset(found, 0xaa, sizeof(found));
	vs_wire_init(&in, pack.bytes, pack.size);
	for (i = 0; i < nr; i++)
		has_any |= numbers[i] != 0;
	assert_int_equal(vs_number_column_get(&in, kind, found, nr), has_any);
	assert_int_equal(vs_wire_get_varint(&in), 77);
	assert_int_equal(in.error, 0);
	assert_memory_equal(found, numbers, nr * sizeof(numbers[0]));
	vs_pack_fini(&pack);
	return size;
}

static uint64_t draw(unsigned int *seed)
{
	uint64_t number = (uint64_t)rand_r(seed) << 62 ^ (uint64_t)rand_r(seed) << 31 ^
			  (uint64_t)rand_r(seed);

	return number >> rand_r(seed) % 64;
}

static void test_all_numbers_come_back(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 400; round++) {
		size_t nr = (size_t)rand_r(&seed) % (round % 8 ? 100 : MOST);
		uint64_t unit = round % 3 ? 1 : draw(&seed) % 5000, mask = draw(&seed);

		for (size_t i = 0; i < nr; i++)
			numbers[i] = (draw(&seed) & mask) * unit;
		try_numbers(VS_NUMBERS_PLAIN, nr);
		try_numbers(VS_NUMBERS_SIGNED, nr);
	}
}

static void test_edges_of_64_bits_come_back(void **state)
{
	static const uint64_t edges[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)1 << 63};

	(void)state;
	for (size_t i = 0; i < 3125; i++) {
		size_t k = i;

		for (size_t j = 0; j < 5; j++, k /= 5)
			numbers[j] = edges[k % 5];
		try_numbers(VS_NUMBERS_PLAIN, 5);
		try_numbers(VS_NUMBERS_SIGNED, 5);
	}
}

static void test_what_numbers_have_in_common_takes_no_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < MOST; i++)
		numbers[i] = 123456789;
	assert_true(try_numbers(VS_NUMBERS_PLAIN, MOST) < 12);
	for (size_t i = 0; i < MOST; i++)
		numbers[i] = (i % 2 ? 7 : 0 - (uint64_t)7) * 1000;
	assert_true(try_numbers(VS_NUMBERS_SIGNED, MOST) < MOST / 8 + 40);
	assert_int_equal(try_numbers(VS_NUMBERS_PLAIN, 0), 0);
}

static void test_cut_or_changed_bytes_never_harm(void **state)
{
	struct vs_pack pack = {0};
	unsigned int seed = 5;
	struct vs_wire in;

	(void)state;
	for (size_t i = 0; i < 200; i++)
		numbers[i] = draw(&seed) % 1000;
	vs_number_column_put(&pack, VS_NUMBERS_PLAIN, numbers, 200);
	for (size_t size = 0; size < pack.size; size++) {
		uint8_t *exact = malloc(size + !size);

		if (size)
			memcpy(exact, pack.bytes, size);
		vs_wire_init(&in, exact, size);
		vs_number_column_get(&in, VS_NUMBERS_PLAIN, found, 200);
		assert_true(in.error < 0);
		free(exact);
	}
	for (size_t i = 0; i < pack.size; i++) {
		for (int value = 0; value < 256; value++) {
			uint8_t kept = pack.bytes[i];

			pack.bytes[i] = (uint8_t)value;
			vs_wire_init(&in, pack.bytes, pack.size);
			vs_number_column_get(&in, VS_NUMBERS_SIGNED, found, 200);
			pack.bytes[i] = kept;
		}
	}
	vs_pack_fini(&pack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_numbers_come_back),
		cmocka_unit_test(test_edges_of_64_bits_come_back),
		cmocka_unit_test(test_what_numbers_have_in_common_takes_no_room),
		cmocka_unit_test(test_cut_or_changed_bytes_never_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
