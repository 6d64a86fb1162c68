#include "handles.h"

#include <pthread.h>

#include "hooks_cmocka.h"

static void test_a_handle_keeps_its_number_until_it_is_forgotten(void **state)
{
	static struct vs_handles map;

	(void)state;
	assert_int_equal(vs_handles_find(&map, 0x1000), 0);
	assert_int_equal(vs_handles_add(&map, 0x1000, 1), 1);
	assert_int_equal(vs_handles_add(&map, 0x1000, 2), 1);
	assert_int_equal(vs_handles_find(&map, 0x1000), 1);
	assert_int_equal(vs_handles_forget(&map, 0x1000), 1);
	assert_int_equal(vs_handles_forget(&map, 0x1000), 0);
	assert_int_equal(vs_handles_find(&map, 0x1000), 0);
	assert_int_equal(vs_handles_add(&map, 0x1000, 3), 3);
}

static void test_no_handle_is_none(void **state)
{
	static struct vs_handles map;

	(void)state;
	assert_int_equal(vs_handles_add(&map, 0, 4), 0);
	assert_int_equal(vs_handles_find(&map, 0), 0);
	assert_int_equal(vs_handles_forget(&map, 0), 0);
	assert_int_equal(vs_handles_forget(&map, 0x1000), 0);
}

static void test_a_full_map_refuses_new_handles_only(void **state)
{
	static struct vs_handles map;

	(void)state;
	for (uint32_t i = 1; i <= VS_HANDLES_SLOTS; i++)
		assert_int_equal(vs_handles_add(&map, i * 0x1000ull, i), i);
	assert_int_equal(vs_handles_add(&map, 7, 7), 0);
	assert_int_equal(vs_handles_find(&map, 7), 0);
	assert_int_equal(vs_handles_forget(&map, 7), 0);
	for (uint32_t i = 1; i <= VS_HANDLES_SLOTS; i++)
		assert_int_equal(vs_handles_find(&map, i * 0x1000ull), i);
	/* One that comes again has its place. */
	assert_int_equal(vs_handles_forget(&map, 0x5000), 5);
	assert_int_equal(vs_handles_add(&map, 7, 7), 0);
	assert_int_equal(vs_handles_add(&map, 0x5000, 9), 9);
}

/* Others may lie behind it on their way through the slots. */
static void test_forgetting_a_handle_hides_no_other(void **state)
{
	static struct vs_handles map;

	(void)state;
	for (uint32_t i = 1; i <= 2000; i++)
		assert_int_equal(vs_handles_add(&map, i * 0x200ull, i), i);
	for (uint32_t i = 1; i <= 2000; i += 2)
		assert_int_equal(vs_handles_forget(&map, i * 0x200ull), i);
	for (uint32_t i = 1; i <= 2000; i++)
		assert_int_equal(vs_handles_find(&map, i * 0x200ull), i % 2 ? 0 : i);
}

static void test_a_handle_may_come_and_go_for_ever(void **state)
{
	static struct vs_handles map;

	(void)state;
	for (uint32_t i = 1; i <= 3 * VS_HANDLES_SLOTS; i++) {
		assert_int_equal(vs_handles_add(&map, 0x1000, i), i);
		assert_int_equal(vs_handles_forget(&map, 0x1000), i);
	}
	assert_int_equal(vs_handles_add(&map, 0x2000, 1), 1);
}

/* ---- Threads: all number the same handles, each as it likes ---- */

#define NR_THREADS 4
#define NR_HANDLES 1000

static struct vs_handles shared;
static uint32_t got[NR_THREADS][NR_HANDLES];

static void *add_all(void *argument)
{
	uint32_t thread = (uint32_t)(uintptr_t)argument;

	for (uint32_t i = 0; i < NR_HANDLES; i++)
		got[thread][i] =
			vs_handles_add(&shared, (i + 1) * 0x10ull, 1 + thread + NR_THREADS * i);
	return NULL;
}

static void test_threads_agree_on_each_number(void **state)
{
	pthread_t threads[NR_THREADS];

	(void)state;
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_all, (void *)i), 0);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (uint32_t i = 0; i < NR_HANDLES; i++) {
		uint32_t number = vs_handles_find(&shared, (i + 1) * 0x10ull);

		assert_int_equal((number - 1) / NR_THREADS, i);
		for (int j = 0; j < NR_THREADS; j++)
			assert_int_equal(got[j][i], number);
	}
}

static void *forget_all(void *argument)
{
	uintptr_t nr_forgotten = 0;

	(void)argument;
	for (uint32_t i = 0; i < NR_HANDLES; i++)
		nr_forgotten += vs_handles_forget(&shared, (i + 1) * 0x10ull) != 0;
	return (void *)nr_forgotten;
}

static void test_only_one_thread_ends_a_number(void **state)
{
	pthread_t threads[NR_THREADS];
	uintptr_t nr_forgotten = 0;
	void *nr;

	(void)state;
	for (uint32_t i = 0; i < NR_HANDLES; i++)
		(void)vs_handles_add(&shared, (i + 1) * 0x10ull, i + 1);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, forget_all, NULL), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &nr), 0);
		nr_forgotten += (uintptr_t)nr;
	}
	assert_int_equal(nr_forgotten, NR_HANDLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_handle_keeps_its_number_until_it_is_forgotten),
		cmocka_unit_test(test_no_handle_is_none),
		cmocka_unit_test(test_a_full_map_refuses_new_handles_only),
		cmocka_unit_test(test_forgetting_a_handle_hides_no_other),
		cmocka_unit_test(test_a_handle_may_come_and_go_for_ever),
		cmocka_unit_test(test_threads_agree_on_each_number),
		cmocka_unit_test(test_only_one_thread_ends_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
