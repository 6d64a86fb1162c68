#include "phase_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_group(const char *name, const char *group)
{
	char text[VS_PHASE_NAME_MAX];

	assert_int_equal(vs_phase_name_group(name, text), group != NULL);
	if (group)
		assert_string_equal(text, group);
}

static void test_numbers_of_things_that_are_counted_are_no_part_of_the_name(void **state)
{
	(void)state;
	assert_group("step 17", "step #");
	assert_group("Iteration_5", "Iteration_#");
	assert_group("train step=12", "train step=#");
	assert_group("epoch3", "epoch#");
	assert_group("ProfilerStep 4", NULL);
	assert_group("Step #4", "Step ##");
}

static void test_other_numbers_are(void **state)
{
	char name[VS_PHASE_NAME_MAX + 10] = "step ";

	(void)state;
	assert_group("layer1", NULL);
	assert_group("conv 2", NULL);
	assert_group("step", NULL);
	assert_group("step 4 of 5 layers", NULL);
	assert_group("17", NULL);
	assert_group("", NULL);
	memset(name + 5, ' ', sizeof(name) - 7);
	name[sizeof(name) - 2] = '1';
	name[sizeof(name) - 1] = '\0';
	assert_group(name, NULL); /* too long to be one */
}

static void test_epochs_are_marks_of_that_name(void **state)
{
	uint64_t number = 0;

	(void)state;
	assert_true(vs_phase_name_is_epoch("epoch 3", &number));
	assert_int_equal(number, 3);
	assert_true(vs_phase_name_is_epoch("Epoch=18446744073709551615", &number));
	assert_true(number == UINT64_MAX);
	assert_false(vs_phase_name_is_epoch("epoch 18446744073709551616", &number));
	assert_false(vs_phase_name_is_epoch("epoch", &number));
	assert_false(vs_phase_name_is_epoch("last epoch 3", &number));
	assert_false(vs_phase_name_is_epoch("epochs 3", &number));
	assert_false(vs_phase_name_is_epoch("3", &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_of_things_that_are_counted_are_no_part_of_the_name),
		cmocka_unit_test(test_other_numbers_are),
		cmocka_unit_test(test_epochs_are_marks_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
