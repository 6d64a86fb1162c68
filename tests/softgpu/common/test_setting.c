#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "config.h"
#include "setting.h"

static uint64_t parse(const char *text)
{
	uint64_t size = 0;

	assert_int_equal(sg_setting_parse_size(text, &size), 0);
	return size;
}

static void assert_no_size(const char *text)
{
	uint64_t size = 77;

	assert_int_equal(sg_setting_parse_size(text, &size), -1);
	assert_int_equal(size, 77); /* untouched */
}

static void test_sizes_are_understood(void **state)
{
	(void)state;
	assert_int_equal(parse("0"), 0);
	assert_int_equal(parse("4096"), 4096);
	assert_int_equal(parse("4096B"), 4096);
	assert_int_equal(parse("3k"), 3 * SG_KIB);
	assert_int_equal(parse("512M"), 512 * SG_MIB);
	assert_int_equal(parse("512MB"), 512 * SG_MIB);
	assert_int_equal(parse("8g"), 8 * SG_GIB);
	assert_int_equal(parse("80GiB"), 80 * SG_GIB);
	assert_int_equal(parse("2T"), 2048 * SG_GIB);
	assert_int_equal(parse("1.5G"), 1536 * SG_MIB);
	assert_int_equal(parse("0.25gib"), 256 * SG_MIB);
	assert_int_equal(parse("9007199254740993"), 9007199254740993); /* not through a double */
}

static void test_what_is_no_size_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"-1",
		"+1",
		"G",
		".",
		"1.2.3",
		"0x10",
		"1e3",
		"inf",
		"nan",
		"8 G",
		"8Q",
		"8GiBB",
		"8Gib ",
		"4ib",
		"99999999T",
		"1,5G",
		"9223372036854775808",
		"18446744073709551617",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_no_size(texts[i]);
	assert_no_size(NULL);
}

static void test_variable_that_is_not_set_is_the_fallback(void **state)
{
	(void)state;
	unsetenv("SOFTGPU_X");
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 1, 9), 5);
	assert_int_equal(sg_setting_read_size("SOFTGPU_X", 55, 1, 99), 55);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 1, "one two"), 1);
	setenv("SOFTGPU_X", "", 1);
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 1, 9), 5);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 1, "one two"), 1);
}

static void test_limits_are_inclusive(void **state)
{
	(void)state;
	setenv("SOFTGPU_X", "9", 1);
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 1, 9), 9);
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 9, 20), 9);
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 1, 8), 5);
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 12, 10, 20), 12);
	assert_int_equal(sg_setting_read_size("SOFTGPU_X", 5, 9, 9), 9);
	assert_int_equal(sg_setting_read_size("SOFTGPU_X", 5, 1, 8), 5);
	assert_int_equal(sg_setting_read_size("SOFTGPU_X", 12, 10, 20), 12);
}

static void test_numbers_may_be_hexadecimal(void **state)
{
	(void)state;
	setenv("SOFTGPU_X", "0x2330", 1);
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 0, 65535), 0x2330);
	setenv("SOFTGPU_X", "010", 1); /* but not octal */
	assert_int_equal(sg_setting_read_int("SOFTGPU_X", 5, 0, 65535), 10);
}

static void test_words_are_compared_whole(void **state)
{
	(void)state;
	setenv("SOFTGPU_X", "one", 1);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 7, "one two three"), 0);
	setenv("SOFTGPU_X", "three", 1);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 7, "one two three"), 2);
	setenv("SOFTGPU_X", "thre", 1);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 7, "one two three"), 7);
	setenv("SOFTGPU_X", "one two", 1);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 7, "one two three"), 7);
	setenv("SOFTGPU_X", "threes", 1);
	assert_int_equal(sg_setting_read_word("SOFTGPU_X", 7, "one two three"), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_understood),
		cmocka_unit_test(test_what_is_no_size_is_refused),
		cmocka_unit_test(test_variable_that_is_not_set_is_the_fallback),
		cmocka_unit_test(test_limits_are_inclusive),
		cmocka_unit_test(test_numbers_may_be_hexadecimal),
		cmocka_unit_test(test_words_are_compared_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
