#include "id_map.h"

#include <stdlib.h>

#include "script.h"

static void test_map_keeps_what_was_put_under_any_number(void **state)
{
	static const uint64_t ids[] = {0, 1, 2, UINT64_MAX, 1ull << 32, 0x7f0000000000, 4096};
	struct vs_id_map map = {0};
	int values[7];
	size_t i;

	(void)state;
	assert_null(vs_id_map_get(&map, 0));
	for (i = 0; i < 7; i++)
		assert_int_equal(vs_id_map_put(&map, ids[i], &values[i]), 0);
	for (i = 0; i < 7; i++)
		assert_ptr_equal(vs_id_map_get(&map, ids[i]), &values[i]);
	assert_null(vs_id_map_get(&map, 3));
	assert_int_equal(map.nr_used, 7);
	vs_id_map_fini(&map);
}

static void test_put_replaces_an_earlier_value(void **state)
{
	struct vs_id_map map = {0};
	int a, b;

	(void)state;
	assert_int_equal(vs_id_map_put(&map, 5, &a), 0);
	assert_int_equal(vs_id_map_put(&map, 5, &b), 0);
	assert_ptr_equal(vs_id_map_get(&map, 5), &b);
	assert_int_equal(map.nr_used, 1);
	vs_id_map_fini(&map);
}

/* Removing moves others up: all of them must still be found. */
static void test_remove_leaves_all_others_findable(void **state)
{
	enum {
		NR = 3000
	};
	struct vs_id_map map = {0};
	static int values[NR];
	unsigned int seed = 7;
	size_t i, slot = 0, nr = 0;

	(void)state;
	for (i = 0; i < NR; i++)
		assert_int_equal(vs_id_map_put(&map, i * 512, &values[i]), 0);
	for (i = 0; i < NR; i++)
		if (rand_r(&seed) % 3)
			values[i] = vs_id_map_remove(&map, i * 512) == &values[i];
	for (i = 0; i < NR; i++)
		assert_ptr_equal(vs_id_map_get(&map, i * 512), values[i] ? NULL : &values[i]);
	assert_null(vs_id_map_remove(&map, 513));
	while (vs_id_map_next(&map, &slot))
		nr++;
	assert_int_equal(nr, map.nr_used);
	vs_id_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_keeps_what_was_put_under_any_number),
		cmocka_unit_test(test_put_replaces_an_earlier_value),
		cmocka_unit_test(test_remove_leaves_all_others_findable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
