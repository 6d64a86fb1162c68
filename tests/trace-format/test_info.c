#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "info.h"
#include "info_list.h"

static void test_arguments_of_any_bytes_come_back(void **state)
{
	static const char *const arguments[] = {
		"python", "", "a\nb", "c\\nd", "\\", "\n", "\n\\\n", "\xff\x01 \"'", "end",
	};
	const size_t nr = sizeof(arguments) / sizeof(arguments[0]);
	char value[256], found[64];
	const char *next = value;
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < nr; i++)
		size += vs_info_put_argument(value + size, sizeof(value) - size, arguments[i]);
	assert_int_equal(strlen(value), size);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(vs_info_get_argument(&next, found, sizeof(found)), 1);
		assert_string_equal(found, arguments[i]);
	}
	assert_int_equal(vs_info_get_argument(&next, found, sizeof(found)), 0);
}

static void test_argument_that_does_not_fit_is_left_out_whole(void **state)
{
	char value[6] = "?????";

	(void)state;
	assert_int_equal(vs_info_put_argument(value, 5, "abcd"), 0);
	assert_int_equal(value[0], '?');
	assert_int_equal(vs_info_put_argument(value, 6, "abcd"), 5);
	assert_string_equal(value, "abcd\n");
}

static void test_argument_is_cut_to_its_place(void **state)
{
	const char *next = "abcdef\nxyz\n";
	char found[4];

	(void)state;
	assert_int_equal(vs_info_get_argument(&next, found, sizeof(found)), 1);
	assert_string_equal(found, "abc");
	assert_int_equal(vs_info_get_argument(&next, found, sizeof(found)), 1);
	assert_string_equal(found, "xyz");
}

static void test_command_cut_in_the_middle_can_be_read(void **state)
{
	const char *next = "abc\\";
	char found[16];

	(void)state;
	assert_int_equal(vs_info_get_argument(&next, found, sizeof(found)), 1);
	assert_string_equal(found, "abc\\");
	assert_int_equal(vs_info_get_argument(&next, found, sizeof(found)), 0);
}

static void test_identity_is_32_digits(void **state)
{
	const unsigned char identity[16] = {0, 0x1f, 0xa0, [15] = 0xff};
	char text[33];

	(void)state;
	vs_info_put_identity(text, identity);
	assert_string_equal(text, "001fa0000000000000000000000000ff");
}

static void test_list_finds_what_was_added(void **state)
{
	struct vs_info_list list = {0};

	(void)state;
	assert_null(vs_info_list_get(&list, "a"));
	assert_int_equal(vs_info_list_add(&list, (const uint8_t *)"\1a\2xy\2bb\0", 9), 0);
	assert_int_equal(vs_info_list_add(&list, (const uint8_t *)"\1c\1z\1a\1!", 8), 0);
	assert_string_equal(vs_info_list_get(&list, "a"), "xy");
	assert_string_equal(vs_info_list_get(&list, "bb"), "");
	assert_string_equal(vs_info_list_get(&list, "c"), "z");
	assert_null(vs_info_list_get(&list, "xy"));
	vs_info_list_fini(&list);
}

static void test_list_keeps_what_stands_before_the_damage(void **state)
{
	static const char *const damaged[] = {"\1a\1x\1b\5y", "\1a\1x\1b", "\1a\1x\2b\0\1y"};
	static const size_t sizes[] = {8, 6, 9};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct vs_info_list list = {0};
		uint8_t *copy = malloc(sizes[i]);

		assert_non_null(copy);
		memcpy(copy, damaged[i], sizes[i]);
		assert_int_equal(vs_info_list_add(&list, copy, sizes[i]), -VS_ERR_CORRUPT);
		assert_string_equal(vs_info_list_get(&list, "a"), "x");
		assert_null(vs_info_list_get(&list, "b"));
		vs_info_list_fini(&list);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_of_any_bytes_come_back),
		cmocka_unit_test(test_argument_that_does_not_fit_is_left_out_whole),
		cmocka_unit_test(test_argument_is_cut_to_its_place),
		cmocka_unit_test(test_command_cut_in_the_middle_can_be_read),
		cmocka_unit_test(test_identity_is_32_digits),
		cmocka_unit_test(test_list_finds_what_was_added),
		cmocka_unit_test(test_list_keeps_what_stands_before_the_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
