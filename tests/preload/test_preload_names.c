#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "names.h"

static int init(void **state)
{
	(void)state;
	return vs_names_init();
}

static void test_equal_texts_have_one_number_and_others_another(void **state)
{
	char copy[] = "cudaMalloc";
	uint32_t number = vs_names_get("cudaMalloc");

	(void)state;
	assert_int_not_equal(number, VS_NO_ID);
	assert_int_equal(vs_names_get(copy), number);
	copy[0] = 'C';
	assert_int_not_equal(vs_names_get(copy), number);
	assert_int_equal(vs_names_text(number).size, 10);
	assert_memory_equal(vs_names_text(number).bytes, "cudaMalloc", 10);
}

static void test_an_empty_name_is_a_name(void **state)
{
	uint32_t number = vs_names_get("");

	(void)state;
	assert_int_not_equal(number, VS_NO_ID);
	assert_int_equal(vs_names_get(""), number);
	assert_int_equal(vs_names_text(number).size, 0);
}

static void test_a_long_name_is_cut(void **state)
{
	char text[1000];
	uint32_t number;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	number = vs_names_get(text);
	assert_int_equal(vs_names_text(number).size, VS_NAMES_TEXT_MAX);
	text[VS_NAMES_TEXT_MAX] = '\0';
	assert_int_equal(vs_names_get(text), number);
}

static void test_a_number_that_is_taken_is_nobody_elses(void **state)
{
	uint32_t number = vs_names_take_number();

	(void)state;
	assert_int_not_equal(number, VS_NO_ID);
	assert_int_not_equal(vs_names_take_number(), number);
	assert_int_not_equal(vs_names_get("something new"), number);
}

static void test_a_definition_belongs_to_one_recording(void **state)
{
	uint32_t number = vs_names_get("defined");

	(void)state;
	assert_false(vs_names_is_defined(number, 1));
	vs_names_set_defined(number, 1);
	assert_true(vs_names_is_defined(number, 1));
	assert_false(vs_names_is_defined(number, 2));
}

static void test_whoever_leaves_room_finds_what_is_there_and_adds_nothing(void **state)
{
	uint32_t number = vs_names_get("there already");

	(void)state;
	assert_true(vs_names_is_given(number));
	assert_false(vs_names_is_given(VS_NO_ID));
	assert_false(vs_names_is_given(VS_NAMES_MAX));
	assert_int_equal(vs_names_get_below("there already", 0), number);
	assert_int_equal(vs_names_get_below("not yet", number), VS_NO_ID);
	assert_int_equal(vs_names_get_below("not yet", number + 1), number + 1);
}

static void test_a_full_table_has_no_number_left_and_keeps_the_others(void **state)
{
	uint32_t first = vs_names_get("name 0");
	char text[32];

	(void)state;
	for (uint32_t i = 0; i < VS_NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		vs_names_get(text);
	}
	assert_int_equal(vs_names_get("one more"), VS_NO_ID);
	assert_int_equal(vs_names_get("name 0"), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_texts_have_one_number_and_others_another),
		cmocka_unit_test(test_an_empty_name_is_a_name),
		cmocka_unit_test(test_a_long_name_is_cut),
		cmocka_unit_test(test_a_number_that_is_taken_is_nobody_elses),
		cmocka_unit_test(test_a_definition_belongs_to_one_recording),
		cmocka_unit_test(test_whoever_leaves_room_finds_what_is_there_and_adds_nothing),
		cmocka_unit_test(test_a_full_table_has_no_number_left_and_keeps_the_others),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
