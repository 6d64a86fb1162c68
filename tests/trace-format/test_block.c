#include <string.h>

#include "block.h"
#include "cmocka_all.h"
#include "crc32.h"
#include "wire.h"

static const struct vs_block_header sample = {
	.kind = VS_BLOCK_EVENTS,
	.flags = VS_BLOCK_ZLIB,
	.stored_size = 0x00020304,
	.raw_size = 0x00ffeedd,
	.nr_records = 77,
	.payload_crc = 0xdeadbeef,
	.first_time_ns = 0x1122334455667788,
	.last_time_ns = 0x99aabbccddeeff00,
};

static void test_block_header_stands_where_the_document_says(void **state)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	static const uint8_t expected[44] = {
		'V',  'B',  'L',  'K',  5,    0,    1,    0,    4,    3,    2,
		0,    0xdd, 0xee, 0xff, 0,    77,   0,    0,    0,    0xef, 0xbe,
		0xad, 0xde, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00,
		0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0,    0,    0,    0,
	};
	struct vs_wire in;

	(void)state;
	vs_block_put_header(bytes, &sample);
	assert_memory_equal(bytes, expected, sizeof(expected));
	vs_wire_init(&in, bytes + 44, 4);
	assert_int_equal(vs_wire_get_le32(&in), vs_crc32_add(0, expected, sizeof(expected)));
}

static void test_block_header_comes_back_and_no_bit_can_change(void **state)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	struct vs_block_header found;

	(void)state;
	vs_block_put_header(bytes, &sample);
	assert_int_equal(vs_block_get_header(bytes, &found), 0);
	assert_int_equal(found.kind, sample.kind);
	assert_int_equal(found.flags, sample.flags);
	assert_int_equal(found.stored_size, sample.stored_size);
	assert_int_equal(found.raw_size, sample.raw_size);
	assert_int_equal(found.nr_records, sample.nr_records);
	assert_int_equal(found.payload_crc, sample.payload_crc);
	assert_true(found.first_time_ns == sample.first_time_ns);
	assert_true(found.last_time_ns == sample.last_time_ns);
	for (uint32_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(vs_block_get_header(bytes, &found), -VS_ERR_CORRUPT);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* Bytes 40 to 43 are 0 today. */
static void test_block_header_of_a_later_writer_is_good(void **state)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	struct vs_block_header found;

	(void)state;
	vs_block_put_header(bytes, &sample);
	bytes[41] = 7;
	vs_wire_put_le32(bytes + 44, vs_crc32_add(0, bytes, 44));
	assert_int_equal(vs_block_get_header(bytes, &found), 0);
	assert_int_equal(found.nr_records, sample.nr_records);
}

static void test_block_that_claims_too_much_is_corrupt(void **state)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];
	struct vs_block_header header = {0}, found;

	(void)state;
	header.stored_size = VS_FORMAT_PAYLOAD_MAX + 1;
	vs_block_put_header(bytes, &header);
	assert_int_equal(vs_block_get_header(bytes, &found), -VS_ERR_CORRUPT);
	header.stored_size = 0;
	header.raw_size = VS_FORMAT_PAYLOAD_MAX + 1;
	vs_block_put_header(bytes, &header);
	assert_int_equal(vs_block_get_header(bytes, &found), -VS_ERR_CORRUPT);
	header.raw_size = VS_FORMAT_PAYLOAD_MAX;
	vs_block_put_header(bytes, &header);
	assert_int_equal(vs_block_get_header(bytes, &found), 0);
}

static void test_file_header_tells_its_errors_apart(void **state)
{
	uint8_t bytes[VS_FORMAT_HEADER_SIZE];

	(void)state;
	vs_block_put_file_header(bytes);
	assert_memory_equal(bytes, "VSCOPE\r\n\1\0\0\0", 12);
	assert_int_equal(vs_block_get_file_header(bytes, sizeof(bytes)), 0);
	assert_int_equal(vs_block_get_file_header(bytes, 0), -VS_ERR_EMPTY);
	for (size_t cut = 1; cut < sizeof(bytes); cut++)
		assert_int_equal(vs_block_get_file_header(bytes, cut), -VS_ERR_TRUNCATED);
	assert_int_equal(vs_block_get_file_header((const uint8_t *)"V?", 2), -VS_ERR_NOT_A_TRACE);
	bytes[8] = 2;
	assert_int_equal(vs_block_get_file_header(bytes, sizeof(bytes)), -VS_ERR_CORRUPT);
	vs_wire_put_le32(bytes + 12, vs_crc32_add(0, bytes, 12));
	assert_int_equal(vs_block_get_file_header(bytes, sizeof(bytes)), -VS_ERR_NEWER);
	bytes[8] = 0;
	vs_wire_put_le32(bytes + 12, vs_crc32_add(0, bytes, 12));
	assert_int_equal(vs_block_get_file_header(bytes, sizeof(bytes)), -VS_ERR_PROVISIONAL);
	bytes[7] = '\r'; /* what a transfer as text makes of it */
	assert_int_equal(vs_block_get_file_header(bytes, sizeof(bytes)), -VS_ERR_NOT_A_TRACE);
}

static void test_end_comes_back_and_a_short_one_is_corrupt(void **state)
{
	const struct vs_block_end end = {
		.nr_events = UINT64_MAX, .nr_lost = 5, .how = VS_END_FOLDED};
	uint8_t bytes[VS_FORMAT_END_SIZE + 4] = {0};
	struct vs_block_end found;

	(void)state;
	vs_block_put_end(bytes, &end);
	assert_int_equal(vs_block_get_end(bytes, VS_FORMAT_END_SIZE, &found), 0);
	assert_true(found.nr_events == UINT64_MAX);
	assert_int_equal(found.nr_lost, 5);
	assert_int_equal(found.how, VS_END_FOLDED);
	/* A later version may have more to say. */
	assert_int_equal(vs_block_get_end(bytes, sizeof(bytes), &found), 0);
	for (size_t cut = 0; cut < VS_FORMAT_END_SIZE; cut++)
		assert_int_equal(vs_block_get_end(bytes, cut, &found), -VS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_header_stands_where_the_document_says),
		cmocka_unit_test(test_block_header_comes_back_and_no_bit_can_change),
		cmocka_unit_test(test_block_header_of_a_later_writer_is_good),
		cmocka_unit_test(test_block_that_claims_too_much_is_corrupt),
		cmocka_unit_test(test_file_header_tells_its_errors_apart),
		cmocka_unit_test(test_end_comes_back_and_a_short_one_is_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
