#include "python_lines.h"

#include <string.h>

#include "script.h"

#define NOT_BEGUN UINT32_MAX

static uint32_t find(uint32_t version, const uint8_t *table, size_t size, uint32_t instruction)
{
	return vs_python_lines_find(version, 10, table, size, instruction);
}

static void test_pairs_of_3_8_add_up(void **state)
{
	/* Bytes of code, lines: 4 bytes of line 10, then 11, 2 bytes later 9, 300 bytes later 11.
	 */
	static const uint8_t table[] = {4, 1, 2, 0xfe, 255, 0, 45, 2};

	(void)state;
	assert_int_equal(find(0x0308, table, sizeof(table), 0), 10);
	assert_int_equal(find(0x0308, table, sizeof(table), 1), 10);
	assert_int_equal(find(0x0309, table, sizeof(table), 2), 11);
	assert_int_equal(find(0x0309, table, sizeof(table), 3), 9);
	assert_int_equal(find(0x0308, table, sizeof(table), 152), 9);
	assert_int_equal(find(0x0308, table, sizeof(table), 153), 11);
	/* The last line goes on to the end of the code. */
	assert_int_equal(find(0x0308, table, sizeof(table), 100000), 11);
}

static void test_ranges_of_3_10_say_their_line_or_none(void **state)
{
	static const uint8_t table[] = {4, 0, 2, 1, 2, 0x80, 4, 0xff};

	(void)state;
	assert_int_equal(find(0x030a, table, sizeof(table), 1), 10);
	assert_int_equal(find(0x030a, table, sizeof(table), 2), 11);
	assert_int_equal(find(0x030a, table, sizeof(table), 3), 0);
	assert_int_equal(find(0x030a, table, sizeof(table), 4), 10);
	assert_int_equal(find(0x030a, table, sizeof(table), 6), 0);
}

static void test_entries_since_3_11_are_of_all_kinds(void **state)
{
	static const uint8_t table[] = {
		0x80 | 0 << 3 | 0,  0x12,              /* short: 1 instruction of the line */
		0x80 | 11 << 3 | 1, 3,        4,       /* one line further, 2 instructions */
		0x80 | 13 << 3 | 0, 0x40 | 8, 3,       /* no columns, +100: 200 = 8 + 3 * 64 */
		0x80 | 15 << 3 | 2,                    /* none, 3 instructions */
		0x80 | 14 << 3 | 7, 5,        0, 1, 2, /* long, -2, 8 instructions */
		0x80 | 12 << 3 | 0, 1,        1,       /* two lines further */
	};

	(void)state;
	assert_int_equal(find(0x030b, table, sizeof(table), 0), 10);
	assert_int_equal(find(0x030c, table, sizeof(table), 1), 11);
	assert_int_equal(find(0x030c, table, sizeof(table), 2), 11);
	assert_int_equal(find(0x030d, table, sizeof(table), 3), 111);
	assert_int_equal(find(0x030d, table, sizeof(table), 4), 0);
	assert_int_equal(find(0x030d, table, sizeof(table), 6), 0);
	assert_int_equal(find(0x030e, table, sizeof(table), 7), 109);
	assert_int_equal(find(0x030e, table, sizeof(table), 14), 109);
	assert_int_equal(find(0x030e, table, sizeof(table), 15), 111);
	assert_int_equal(find(0x030e, table, sizeof(table), 16), 0);
}

static void test_code_that_has_not_begun_is_at_its_first_line(void **state)
{
	static const uint8_t table[] = {0xf8};

	(void)state;
	for (uint32_t version = 0x0308; version <= 0x030e; version++) {
		assert_int_equal(find(version, table, sizeof(table), NOT_BEGUN), 10);
		assert_int_equal(find(version, NULL, 0, 5), 10); /* nor has it a table */
	}
}

static void test_lines_out_of_range_are_none(void **state)
{
	static const uint8_t back[] = {0, 0x81};
	static const uint8_t far_back[] = {0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
					   0x7f, 0x7f, 0x7f, 0x7f, 0x3f};

	(void)state;
	assert_int_equal(find(0x0308, back, sizeof(back), 0), 0);
	assert_int_equal(find(0x030b, far_back, sizeof(far_back), 0), 0);
}

static void test_a_table_that_is_cut_ends_where_it_ends(void **state)
{
	static const uint8_t table[] = {0xf0, 0x7f, 0x7f};

	(void)state;
	assert_int_equal(find(0x030a, table, 1, 0), 0);
	assert_int_equal(find(0x0308, table, 1, 0), 10);
	for (size_t size = 1; size <= sizeof(table); size++)
		find(0x030b, table, size, 0); /* no more than that it ends */
	assert_int_equal(find(0x030b, table, sizeof(table), 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_of_3_8_add_up),
		cmocka_unit_test(test_ranges_of_3_10_say_their_line_or_none),
		cmocka_unit_test(test_entries_since_3_11_are_of_all_kinds),
		cmocka_unit_test(test_code_that_has_not_begun_is_at_its_first_line),
		cmocka_unit_test(test_lines_out_of_range_are_none),
		cmocka_unit_test(test_a_table_that_is_cut_ends_where_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
