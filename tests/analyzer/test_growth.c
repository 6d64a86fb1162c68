#include "growth.h"

#include <stdlib.h>

#include "script.h"

static struct vs_growth find(const uint64_t *values, size_t nr)
{
	struct vs_growth growth;

	assert_int_equal(vs_growth_find(&growth, values, nr), 0);
	return growth;
}

static void test_one_block_a_step_grows_by_its_size(void **state)
{
	uint64_t values[100];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		values[i] = 5000 + (i < 20 ? 0 : 12 * (i - 20));
	assert_true(find(values, 100).is_growing);
	assert_int_equal(find(values, 100).rate, 12);
	assert_int_equal(find(values, 100).onset, 21);
	assert_int_equal(find(values, 100).nr_grown, 79);
	assert_int_equal(find(values, 100).nr_steps, 79);
	assert_int_equal(find(values, 100).kept_bytes, 79 * 12);
}

static void test_steps_that_keep_nothing_are_counted(void **state)
{
	uint64_t values[100], bytes = 0;

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		bytes += i % 50 == 30 ? 0 : 12;
		values[i] = bytes;
	}
	assert_true(find(values, 100).is_growing);
	assert_int_equal(find(values, 100).rate, 12);
	assert_int_equal(find(values, 100).nr_steps, 99);
	assert_int_equal(find(values, 100).nr_grown, 97);
}

static void test_constant_memory_does_not_grow(void **state)
{
	uint64_t values[50];

	(void)state;
	for (size_t i = 0; i < 50; i++)
		values[i] = i ? 4 * GIB : 0; /* allocated in the first step, then kept */
	assert_false(find(values, 50).is_growing);
}

static void test_growth_that_stopped_is_not_growth(void **state)
{
	uint64_t values[100];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		values[i] = 10 * (i < 40 ? i : 40);
	assert_false(find(values, 100).is_growing);
}

static void test_what_is_given_back_is_not_kept(void **state)
{
	uint64_t values[100];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		values[i] = 1000 * (i % 10); /* rises, and falls to nothing */
	assert_false(find(values, 100).is_growing);
}

static void test_growth_is_found_under_noise(void **state)
{
	unsigned int seed = 3;
	uint64_t values[200];

	(void)state;
	for (size_t i = 0; i < 200; i++)
		values[i] = 100 * i + (uint64_t)rand_r(&seed) % 60;
	assert_true(find(values, 200).is_growing);
	assert_in_range(find(values, 200).rate, 85, 115);
}

static void test_noise_alone_is_hardly_ever_growth(void **state)
{
	unsigned int seed = 5;
	uint64_t values[60];
	int nr_wrong = 0;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		for (size_t i = 0; i < 60; i++)
			values[i] = (uint64_t)rand_r(&seed) % 1000;
		nr_wrong += find(values, 60).is_growing;
	}
	assert_in_range(nr_wrong, 0, 20);
}

static void test_growth_now_and_then_is_found_in_longer_strides(void **state)
{
	uint64_t values[200];

	(void)state;
	for (size_t i = 0; i < 200; i++)
		values[i] = 1600 * (i / 10);
	assert_true(find(values, 200).is_growing);
	assert_true(find(values, 200).stride > 1);
	assert_in_range(find(values, 200).rate, 100, 200);
}

static void test_a_few_boundaries_say_nothing(void **state)
{
	static const uint64_t values[] = {0, 10, 20};

	(void)state;
	for (size_t nr = 0; nr <= 3; nr++)
		assert_false(find(values, nr).is_growing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_block_a_step_grows_by_its_size),
		cmocka_unit_test(test_steps_that_keep_nothing_are_counted),
		cmocka_unit_test(test_constant_memory_does_not_grow),
		cmocka_unit_test(test_growth_that_stopped_is_not_growth),
		cmocka_unit_test(test_what_is_given_back_is_not_kept),
		cmocka_unit_test(test_growth_is_found_under_noise),
		cmocka_unit_test(test_noise_alone_is_hardly_ever_growth),
		cmocka_unit_test(test_growth_now_and_then_is_found_in_longer_strides),
		cmocka_unit_test(test_a_few_boundaries_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
