#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "element_types.h"

static void test_numbers_are_those_of_tensorflow(void **state)
{
	(void)state;
	assert_string_equal(vs_element_types_get_name(1), "float32");
	assert_string_equal(vs_element_types_get_name(14), "bfloat16");
	assert_string_equal(vs_element_types_get_name(19), "float16");
}

static void test_a_reference_has_the_name_of_its_type(void **state)
{
	(void)state;
	assert_string_equal(vs_element_types_get_name(109), "int64");
}

static void test_what_is_not_known_has_no_name(void **state)
{
	(void)state;
	assert_null(vs_element_types_get_name(0));
	assert_null(vs_element_types_get_name(34));
	assert_null(vs_element_types_get_name(100));
	assert_null(vs_element_types_get_name(255));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_those_of_tensorflow),
		cmocka_unit_test(test_a_reference_has_the_name_of_its_type),
		cmocka_unit_test(test_what_is_not_known_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
