#include "cmocka_all.h"
#include "wire.h"

static const uint64_t numbers[] = {
	0,          1,          127,        128,        16383,          16384,
	UINT32_MAX, 1ull << 32, 1ull << 62, 1ull << 63, UINT64_MAX - 1, UINT64_MAX,
};
#define NR_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static void test_fixed_width_numbers_are_little_endian(void **state)
{
	uint8_t bytes[14], *end;
	struct vs_wire in;

	(void)state;
	end = vs_wire_put_le16(bytes, 0x0102);
	end = vs_wire_put_le32(end, 0x03040506);
	end = vs_wire_put_le64(end, 0x0708090a0b0c0d0e);
	assert_ptr_equal(end, bytes + sizeof(bytes));
	assert_memory_equal(bytes, "\2\1\6\5\4\3\x0e\x0d\x0c\x0b\x0a\x09\x08\x07", sizeof(bytes));
	vs_wire_init(&in, bytes, sizeof(bytes));
	assert_int_equal(vs_wire_get_le16(&in), 0x0102);
	assert_int_equal(vs_wire_get_le32(&in), 0x03040506);
	assert_int_equal(vs_wire_get_le64(&in), 0x0708090a0b0c0d0e);
	assert_int_equal(in.error, 0);
	assert_int_equal(vs_wire_left(&in), 0);
}

static void test_varint_is_leb128(void **state)
{
	uint8_t bytes[VS_WIRE_VARINT_MAX];

	(void)state;
	assert_int_equal(vs_wire_put_varint(bytes, 300) - bytes, 2);
	assert_memory_equal(bytes, "\xac\x02", 2);
	assert_int_equal(vs_wire_put_varint(bytes, UINT64_MAX) - bytes, VS_WIRE_VARINT_MAX);
	assert_memory_equal(bytes, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}

static void test_varint_comes_back_and_is_cut_at_every_byte(void **state)
{
	uint8_t bytes[VS_WIRE_VARINT_MAX];
	struct vs_wire in;

	(void)state;
	for (size_t i = 0; i < NR_NUMBERS; i++) {
		size_t size = (size_t)(vs_wire_put_varint(bytes, numbers[i]) - bytes);

		vs_wire_init(&in, bytes, size);
		assert_true(vs_wire_get_varint(&in) == numbers[i]);
		assert_int_equal(in.error, 0);
		assert_int_equal(vs_wire_left(&in), 0);
		for (size_t cut = 0; cut < size; cut++) {
			vs_wire_init(&in, bytes, cut);
			assert_int_equal(vs_wire_get_varint(&in), 0);
			assert_int_equal(in.error, -VS_ERR_TRUNCATED);
		}
	}
}

static void test_varint_of_more_than_64_bits_is_corrupt(void **state)
{
	struct vs_wire in;

	(void)state;
	vs_wire_init(&in, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	assert_int_equal(vs_wire_get_varint(&in), 0);
	assert_int_equal(in.error, -VS_ERR_CORRUPT);
	vs_wire_init(&in, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
	assert_int_equal(vs_wire_get_varint(&in), 0);
	assert_int_equal(in.error, -VS_ERR_CORRUPT);
}

static void test_varint_of_more_than_32_bits_is_corrupt_where_32_are_meant(void **state)
{
	uint8_t bytes[VS_WIRE_VARINT_MAX];
	struct vs_wire in;

	(void)state;
	vs_wire_init(&in, bytes, (size_t)(vs_wire_put_varint(bytes, UINT32_MAX) - bytes));
	assert_true(vs_wire_get_varint32(&in) == UINT32_MAX);
	assert_int_equal(in.error, 0);
	vs_wire_init(&in, bytes, (size_t)(vs_wire_put_varint(bytes, 1ull << 32) - bytes));
	assert_int_equal(vs_wire_get_varint32(&in), 0);
	assert_int_equal(in.error, -VS_ERR_CORRUPT);
}

static void test_first_error_stays(void **state)
{
	struct vs_wire in;

	(void)state;
	vs_wire_init(&in, "\1\2", 2);
	assert_null(vs_wire_get_bytes(&in, UINT64_MAX));
	assert_int_equal(in.error, -VS_ERR_TRUNCATED);
	assert_null(vs_wire_get_bytes(&in, 1));
	assert_int_equal(vs_wire_get_varint(&in), 0);
	assert_int_equal(vs_wire_get_le16(&in), 0);
}

static void test_signs_fold_so_that_small_stays_small(void **state)
{
	(void)state;
	assert_int_equal(vs_wire_fold_sign(0), 0);
	assert_int_equal(vs_wire_fold_sign((uint64_t)-1), 1);
	assert_int_equal(vs_wire_fold_sign(1), 2);
	assert_int_equal(vs_wire_fold_sign((uint64_t)-2), 3);
	for (size_t i = 0; i < NR_NUMBERS; i++)
		assert_true(vs_wire_unfold_sign(vs_wire_fold_sign(numbers[i])) == numbers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_width_numbers_are_little_endian),
		cmocka_unit_test(test_varint_is_leb128),
		cmocka_unit_test(test_varint_comes_back_and_is_cut_at_every_byte),
		cmocka_unit_test(test_varint_of_more_than_64_bits_is_corrupt),
		cmocka_unit_test(test_varint_of_more_than_32_bits_is_corrupt_where_32_are_meant),
		cmocka_unit_test(test_first_error_stays),
		cmocka_unit_test(test_signs_fold_so_that_small_stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
