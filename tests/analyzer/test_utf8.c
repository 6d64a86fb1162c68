#include "utf8.h"

#include <string.h>

#include "script.h"

static void test_well_formed_characters_have_one_to_four_bytes(void **state)
{
	(void)state;
	assert_int_equal(vs_utf8_get_size("a\u00e4"), 1);
	assert_int_equal(vs_utf8_get_size("\x7f"), 1);
	assert_int_equal(vs_utf8_get_size("\xc2\x80"), 2);
	assert_int_equal(vs_utf8_get_size("\u07ff"), 2);
	assert_int_equal(vs_utf8_get_size("\u0800"), 3);
	assert_int_equal(vs_utf8_get_size("\ud7ff"), 3);
	assert_int_equal(vs_utf8_get_size("\ue000"), 3);
	assert_int_equal(vs_utf8_get_size("\uffff"), 3);
	assert_int_equal(vs_utf8_get_size("\U00010000"), 4);
	assert_int_equal(vs_utf8_get_size("\U0010ffff"), 4);
}

static void test_end_of_the_text_is_no_character(void **state)
{
	(void)state;
	assert_int_equal(vs_utf8_get_size(""), 0);
}

static void test_what_is_not_well_formed_is_no_character(void **state)
{
	static const char *const texts[] = {
		"\x80",
		"\xbf",
		"\xc3",
		"\xc3z",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe2\x82",
		"\xe2\x82z",
		"\xe0\x9f\xbf", /* 0x7ff in three bytes */
		"\xed\xa0\x80", /* a surrogate */
		"\xed\xbf\xbf",
		"\xf0\x9f\x98",
		"\xf0\x8f\xbf\xbf", /* 0xffff in four */
		"\xf4\x90\x80\x80", /* 0x110000 */
		"\xf5\x80\x80\x80",
		"\xfe",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(vs_utf8_get_size(texts[i]), 0);
}

static bool is_shown(const char *text)
{
	return vs_utf8_is_shown(text, strlen(text));
}

static void test_control_characters_and_those_of_direction_are_not_shown(void **state)
{
	static const char *const hidden[] = {"\x01",     "\n",       "\033",      "\x7f",
					     "\xc2\x80", "\xc2\x9b", "\u061c",    "\u200e",
					     "\u202a",   "\u202e",   "\u2028",    "\u2066",
					     "\u2069",   "\ufeff",   "\U000e0041"};
	static const char *const shown[] = {" ",      "~",      "\u00a0", "\u00e4",
					    "\u202f", "\u2026", "\u6e08", "\U0001f600"};

	(void)state;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		assert_false(is_shown(hidden[i]));
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		assert_true(is_shown(shown[i]));
}

static size_t get_columns(const char *text)
{
	return vs_utf8_get_columns(text, strlen(text));
}

static void test_east_asian_characters_and_emoji_take_two_columns(void **state)
{
	static const char *const wide[] = {"\u1100",     "\u2705",    "\u3042", "\u30ab",
					   "\u6e08",     "\ud55c",    "\uff21", "\u3000",
					   "\U0001f600", "\U00020000"};
	/* Among them all that we draw with ourselves. */
	static const char *const narrow[] = {"a",      "\u00e4", "\u00b7", "\u202f", "\u2026",
					     "\u2502", "\u2581", "\u2588", "\u03bb", "\uff76"};

	(void)state;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		assert_int_equal(get_columns(wide[i]), 2);
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
		assert_int_equal(get_columns(narrow[i]), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_well_formed_characters_have_one_to_four_bytes),
		cmocka_unit_test(test_end_of_the_text_is_no_character),
		cmocka_unit_test(test_what_is_not_well_formed_is_no_character),
		cmocka_unit_test(test_control_characters_and_those_of_direction_are_not_shown),
		cmocka_unit_test(test_east_asian_characters_and_emoji_take_two_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
