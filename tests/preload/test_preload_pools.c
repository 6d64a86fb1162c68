#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "handles.h"
#include "pools.h"

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
	assert_int_equal(vs_handles_add(&map, 0, 4), 0);
	assert_int_equal(vs_handles_find(&map, 0), 0);
}

static void test_a_full_map_refuses_new_handles_only(void **state)
{
	static struct vs_handles map;

	(void)state;
	for (uint32_t i = 1; i <= VS_HANDLES_SLOTS; i++)
		assert_int_equal(vs_handles_add(&map, i * 0x1000ull, i), i);
	assert_int_equal(vs_handles_add(&map, 7, 7), 0);
	assert_int_equal(vs_handles_find(&map, 7), 0);
	for (uint32_t i = 1; i <= VS_HANDLES_SLOTS; i++)
		assert_int_equal(vs_handles_find(&map, i * 0x1000ull), i);
}

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
		cmocka_unit_test(test_a_handle_keeps_its_number_until_it_is_forgotten),
		cmocka_unit_test(test_a_full_map_refuses_new_handles_only),
		cmocka_unit_test(test_a_pool_is_kept_with_its_name),
		cmocka_unit_test(test_a_number_that_is_no_pool_is_told),
		cmocka_unit_test(test_a_driver_pool_that_comes_back_is_another_one),
		cmocka_unit_test(test_beyond_the_last_pool_there_is_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
