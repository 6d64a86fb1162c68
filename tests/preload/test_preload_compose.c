#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compose.h"

static void test_pieces_and_numbers_are_put_together(void **state)
{
	struct vs_compose text;
	char bytes[64];

	(void)state;
	vs_compose_init(&text, bytes, sizeof(bytes));
	vs_compose_add(&text, "a");
	vs_compose_add_number(&text, 0);
	vs_compose_add_bytes(&text, "bcd", 2);
	vs_compose_add_number(&text, UINT64_MAX);
	assert_string_equal(bytes, "a0bc18446744073709551615");
	assert_int_equal(text.size, strlen(bytes));
	assert_false(text.is_cut);
}

static void test_what_does_not_fit_is_cut_and_remembered(void **state)
{
	struct vs_compose text;
	char bytes[8];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	vs_compose_init(&text, bytes, 5);
	vs_compose_add(&text, "abcd");
	assert_false(text.is_cut);
	vs_compose_add_number(&text, 7);
	assert_true(text.is_cut);
	assert_string_equal(bytes, "abcd");
	assert_int_equal(bytes[5], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_and_numbers_are_put_together),
		cmocka_unit_test(test_what_does_not_fit_is_cut_and_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
