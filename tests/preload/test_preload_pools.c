#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pools.h"

static void test_a_pool_is_kept_with_its_name(void **state)
{
	char name[] = "mine";
	struct vs_pool pool = {.owner = VS_POOL_PROGRAM,
			       .device = 3,
			       .limit_size = 100,
			       .name = {.bytes = name, .size = 4}};
	struct vs_pool kept;
	uint32_t number = vs_pools_add(&pool);

	(void)state;
	name[0] = 'X';
	assert_true(vs_pools_get(number, &kept));
	assert_int_equal(kept.id, number);
	assert_int_equal(kept.device, 3);
	assert_int_equal(kept.limit_size, 100);
	assert_int_equal(kept.name.size, 4);
	assert_memory_equal(kept.name.bytes, "mine", 4);
	assert_false(vs_pools_is_defined(number, 1));
	vs_pools_set_defined(number, 1);
	assert_true(vs_pools_is_defined(number, 1));
	assert_false(vs_pools_is_defined(number, 2));
}

static void test_a_long_name_is_cut(void **state)
{
	char name[2 * VS_POOLS_NAME_MAX];
	struct vs_pool pool = {.owner = VS_POOL_PROGRAM,
			       .name = {.bytes = name, .size = sizeof(name)}};
	struct vs_pool kept;

	(void)state;
	memset(name, 'x', sizeof(name));
	assert_true(vs_pools_get(vs_pools_add(&pool), &kept));
	assert_int_equal(kept.name.size, VS_POOLS_NAME_MAX);
	assert_memory_equal(kept.name.bytes, name, VS_POOLS_NAME_MAX);
	pool.name.size = 0;
	assert_true(vs_pools_get(vs_pools_add(&pool), &kept));
	assert_int_equal(kept.name.size, 0);
}

static void test_a_number_that_is_no_pool_is_told(void **state)
{
	struct vs_pool kept;

	(void)state;
	assert_false(vs_pools_get(VS_NO_ID, &kept));
	assert_false(vs_pools_get(4000, &kept));
	assert_false(vs_pools_get(UINT32_MAX, &kept));
	assert_false(vs_pools_is_defined(UINT32_MAX, 1));
	vs_pools_set_defined(UINT32_MAX, 1);
}

static void test_a_driver_pool_that_comes_back_is_another_one(void **state)
{
	uint32_t first = vs_pools_get_driver(0xabc000, 1);
	struct vs_pool kept;

	(void)state;
	assert_int_not_equal(first, VS_NO_ID);
	assert_int_equal(vs_pools_get_driver(0xabc000, 1), first);
	assert_true(vs_pools_get(first, &kept));
	assert_int_equal(kept.owner, VS_POOL_DRIVER);
	assert_int_equal(kept.handle, 0xabc000);
	assert_int_equal(vs_pools_forget_driver(0xabc000), first);
	assert_int_equal(vs_pools_forget_driver(0xabc000), VS_NO_ID);
	assert_int_not_equal(vs_pools_get_driver(0xabc000, 1), first);
	assert_int_equal(vs_pools_get_driver(0, 1), VS_NO_ID);
}

#define NR_THREADS 4
#define NR_HANDLES 200

static uint32_t got[NR_THREADS][NR_HANDLES];

static void *get_all(void *argument)
{
	uint32_t *numbers = got[(uintptr_t)argument];

	for (uint32_t i = 0; i < NR_HANDLES; i++) {
		numbers[i] = vs_pools_get_driver(0x500000 + 0x100 * i, i);
		vs_pools_set_defined(numbers[i], 3);
	}
	return NULL;
}

static void test_threads_agree_on_the_number_of_a_driver_pool(void **state)
{
	pthread_t threads[NR_THREADS];
	struct vs_pool kept;

	(void)state;
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_all, (void *)i), 0);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (uint32_t i = 0; i < NR_HANDLES; i++) {
		for (int j = 1; j < NR_THREADS; j++)
			assert_int_equal(got[j][i], got[0][i]);
		assert_true(vs_pools_get(got[0][i], &kept));
		assert_int_equal(kept.handle, 0x500000 + 0x100 * i);
		assert_int_equal(kept.device, i);
		assert_true(vs_pools_is_defined(got[0][i], 3));
	}
}

static void test_beyond_the_last_pool_there_is_no_number(void **state)
{
	struct vs_pool pool = {.owner = VS_POOL_PROGRAM}, kept;
	uint32_t number, last = VS_NO_ID;

	(void)state;
	while ((number = vs_pools_add(&pool)) != VS_NO_ID)
		last = number;
	assert_int_equal(last, VS_POOLS_MAX);
	assert_true(vs_pools_get(VS_POOLS_MAX, &kept));
	assert_int_equal(vs_pools_get_driver(0xdef000, 1), VS_NO_ID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pool_is_kept_with_its_name),
		cmocka_unit_test(test_a_long_name_is_cut),
		cmocka_unit_test(test_a_number_that_is_no_pool_is_told),
		cmocka_unit_test(test_a_driver_pool_that_comes_back_is_another_one),
		cmocka_unit_test(test_threads_agree_on_the_number_of_a_driver_pool),
		cmocka_unit_test(test_beyond_the_last_pool_there_is_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
