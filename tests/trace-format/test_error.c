#include <limits.h>

#include "cmocka_all.h"
#include "error.h"

static void test_error_has_a_text_with_either_sign(void **state)
{
	(void)state;
	assert_string_equal(vs_error_text(VS_ERR_EMPTY), "is empty");
	assert_string_equal(vs_error_text(-VS_ERR_EMPTY), "is empty");
	assert_string_equal(vs_error_text(VS_OK), "no error");
}

static void test_number_that_is_no_error_has_a_text_too(void **state)
{
	(void)state;
	assert_string_equal(vs_error_text(INT_MIN), "unknown error");
	assert_string_equal(vs_error_text(INT_MAX), "unknown error");
	assert_string_equal(vs_error_text(-1000), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_has_a_text_with_either_sign),
		cmocka_unit_test(test_number_that_is_no_error_has_a_text_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
