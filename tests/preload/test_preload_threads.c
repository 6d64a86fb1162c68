#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "names.h"
#include "pools.h"
#include "stack_table.h"

/* What many threads do at once, for ThreadSanitizer and in earnest. */
#define NR_THREADS 4
#define NR_STACKS  2000u

static void run_threads(void *(*run)(void *))
{
	pthread_t threads[NR_THREADS];

	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)i), 0);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static uint32_t stack_numbers[NR_THREADS][NR_STACKS];

static void *intern_stacks(void *argument)
{
	uint32_t *numbers = stack_numbers[(uintptr_t)argument];

	for (uint32_t i = 0; i < NR_STACKS; i++) {
		uint64_t frames[3] = {i, 2 * i, 77};
		struct vs_stack stack = {.frames = frames, .nr_frames = 3};
		struct vs_stack_table_key key;

		numbers[i] = vs_stack_table_find(&key, &stack);
		if (numbers[i])
			continue;
		numbers[i] = stack.id = vs_stack_table_new_number();
		vs_stack_table_add(&key, &stack);
	}
	return NULL;
}

static void test_no_number_ever_means_two_stacks(void **state)
{
	static uint32_t meaning[NR_THREADS * NR_STACKS + 1];

	(void)state;
	assert_int_equal(vs_stack_table_init(), 0);
	run_threads(intern_stacks);
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		uint64_t frames[3] = {i, 2 * i, 77};
		struct vs_stack stack = {.frames = frames, .nr_frames = 3};
		struct vs_stack_table_key key;
		bool is_one_of_them = false;
		uint32_t found = vs_stack_table_find(&key, &stack);

		for (int thread = 0; thread < NR_THREADS; thread++) {
			uint32_t number = stack_numbers[thread][i];

			assert_in_range(number, 1, NR_THREADS * NR_STACKS);
			assert_true(meaning[number] == 0 || meaning[number] == i + 1);
			meaning[number] = i + 1;
			is_one_of_them |= number == found;
		}
		assert_true(is_one_of_them);
	}
}

static _Atomic uint32_t nr_wrong;

static void *use_names_and_pools(void *argument)
{
	char text[32];

	(void)argument;
	for (uint32_t i = 0; i < 1000; i++) {
		int size = snprintf(text, sizeof(text), "name %u", i);
		uint32_t number = vs_names_get(text);
		struct vs_text found = vs_names_text(number);
		struct vs_pool pool;

		if (found.size != (uint32_t)size || memcmp(found.bytes, text, found.size) != 0)
			nr_wrong++;
		vs_names_set_defined(number, 1);
		if (!vs_names_is_defined(number, 1))
			nr_wrong++;
		number = vs_pools_get_driver(0x1000 * (i % 100 + 1), 0);
		if (!vs_pools_get(number, &pool) || pool.handle != 0x1000 * (i % 100 + 1))
			nr_wrong++;
	}
	return NULL;
}

static void test_names_and_pools_mean_the_same_to_all_threads(void **state)
{
	(void)state;
	assert_int_equal(vs_names_init(), 0);
	run_threads(use_names_and_pools);
	assert_int_equal(nr_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_number_ever_means_two_stacks),
		cmocka_unit_test(test_names_and_pools_mean_the_same_to_all_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
