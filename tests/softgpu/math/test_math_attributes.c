#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math_attributes.h"

static void test_what_is_set_is_read_back(void **state)
{
	struct sg_math_attributes attributes = {0};
	const struct sg_math_attribute *found;
	int64_t values[] = {1, 2, 3};

	(void)state;
	assert_null(sg_math_attributes_get(&attributes, 7));
	assert_int_equal(sg_math_attributes_set(&attributes, 7, 3, 3, values, sizeof(values)), 0);
	found = sg_math_attributes_get(&attributes, 7);
	assert_non_null(found);
	assert_int_equal(found->type, 3);
	assert_int_equal(found->count, 3);
	assert_memory_equal(found->bytes, values, sizeof(values));
	sg_math_attributes_clear(&attributes);
	assert_null(sg_math_attributes_get(&attributes, 7));
}

static void test_setting_again_replaces(void **state)
{
	struct sg_math_attributes attributes = {0};

	(void)state;
	assert_int_equal(sg_math_attributes_set(&attributes, 1, 0, 1, "a", 1), 0);
	assert_int_equal(sg_math_attributes_set(&attributes, 1, 0, 2, "bc", 2), 0);
	assert_int_equal(attributes.nr, 1);
	assert_memory_equal(sg_math_attributes_get(&attributes, 1)->bytes, "bc", 2);
	sg_math_attributes_clear(&attributes);
}

static void test_empty_attribute_is_there(void **state)
{
	struct sg_math_attributes attributes = {0};

	(void)state;
	assert_int_equal(sg_math_attributes_set(&attributes, 1, 0, 0, NULL, 0), 0);
	assert_int_equal(sg_math_attributes_get(&attributes, 1)->count, 0);
	sg_math_attributes_clear(&attributes);
}

static void test_copy_is_independent(void **state)
{
	struct sg_math_attributes from = {0}, to = {0};

	(void)state;
	assert_int_equal(sg_math_attributes_set(&from, 1, 0, 1, "a", 1), 0);
	assert_int_equal(sg_math_attributes_copy(&to, &from), 0);
	sg_math_attributes_clear(&from);
	assert_memory_equal(sg_math_attributes_get(&to, 1)->bytes, "a", 1);
	sg_math_attributes_clear(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_set_is_read_back),
		cmocka_unit_test(test_setting_again_replaces),
		cmocka_unit_test(test_empty_attribute_is_there),
		cmocka_unit_test(test_copy_is_independent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
