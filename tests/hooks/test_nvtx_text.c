#include "nvtx_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct vs_nvtx_text text;

static const char *name_of(const char *domain, const char *message)
{
	vs_nvtx_text_begin(&text, domain);
	vs_nvtx_text_add(&text, message);
	return vs_nvtx_text_end(&text);
}

static const char *name_of_wide(const wchar_t *message)
{
	vs_nvtx_text_begin(&text, NULL);
	vs_nvtx_text_add_wide(&text, message);
	return vs_nvtx_text_end(&text);
}

static void test_a_domain_stands_before_the_message(void **state)
{
	(void)state;
	assert_string_equal(name_of(NULL, "forward"), "forward");
	assert_string_equal(name_of("NCCL", "all reduce"), "NCCL: all reduce");
}

static void test_what_has_no_message_is_unnamed(void **state)
{
	(void)state;
	assert_string_equal(name_of(NULL, NULL), "unnamed");
	assert_string_equal(name_of(NULL, ""), "unnamed");
	assert_string_equal(name_of("NCCL", NULL), "NCCL: unnamed");
	assert_string_equal(name_of_wide(NULL), "unnamed");
}

static void test_wide_characters_become_utf_8(void **state)
{
	static const wchar_t wrong[] = {0xd800, 0x110000, 0};

	(void)state;
	assert_string_equal(name_of_wide(L"a\u00fc\u20ac\U0001f600"), "a\u00fc\u20ac\U0001f600");
	assert_string_equal(name_of_wide(wrong), "\ufffd\ufffd");
}

static void test_long_ones_are_cut_and_wide_characters_are_not(void **state)
{
	char message[VS_NAMES_TEXT_MAX + 20];
	wchar_t wide[VS_NAMES_TEXT_MAX + 20];
	size_t i;

	(void)state;
	memset(message, 'x', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	assert_int_equal(strlen(name_of("domain", message)), VS_NAMES_TEXT_MAX);
	/* 240 is no multiple of 7: a, and then 4 bytes each. */
	wide[0] = 'a';
	for (i = 1; i < VS_NAMES_TEXT_MAX; i++)
		wide[i] = 0x1f600;
	wide[i] = 0;
	assert_int_equal(strlen(name_of_wide(wide)), 1 + (VS_NAMES_TEXT_MAX - 1) / 4 * 4);
}

static void test_the_numbers_of_emit_nvtx_are_left_out(void **state)
{
	(void)state;
	assert_string_equal(name_of(NULL, "aten::mul, seq = 12"), "aten::mul");
	assert_string_equal(name_of(NULL, "aten::mul, seq = 12, op_id = 3, sizes = [[2]]"),
			    "aten::mul");
	assert_string_equal(name_of(NULL, "aten::mul, op_id = 3"), "aten::mul");
	assert_string_equal(name_of(NULL, "a, sequel"), "a, sequel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_domain_stands_before_the_message),
		cmocka_unit_test(test_what_has_no_message_is_unnamed),
		cmocka_unit_test(test_wide_characters_become_utf_8),
		cmocka_unit_test(test_long_ones_are_cut_and_wide_characters_are_not),
		cmocka_unit_test(test_the_numbers_of_emit_nvtx_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
