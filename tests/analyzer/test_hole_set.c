#include "hole_set.h"

#include <math.h>

#include "script.h"

static void assert_close(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9);
}

static void test_nothing_free_is_no_fragmentation(void **state)
{
	struct vs_hole_set set = {0};

	(void)state;
	assert_close(vs_hole_set_get_share(&set), 0);
	assert_close(vs_hole_set_get_scatter(&set), 0);
	assert_int_equal(vs_hole_set_get_largest(&set), 0);
	assert_int_equal(vs_hole_set_add(&set, 0), 0);
	vs_hole_set_remove(&set, 0);
	assert_int_equal(set.nr_holes, 0);
}

static void test_measures_of_three_holes_by_hand(void **state)
{
	struct vs_hole_set set = {0};

	(void)state;
	assert_int_equal(vs_hole_set_add(&set, 60), 0);
	assert_int_equal(vs_hole_set_add(&set, 20), 0);
	assert_int_equal(vs_hole_set_add(&set, 20), 0);
	assert_int_equal(set.total_bytes, 100);
	assert_int_equal(set.nr_holes, 3);
	assert_close(vs_hole_set_get_share(&set), 0.4);
	assert_close(vs_hole_set_get_scatter(&set), 1 - sqrt(3600 + 400 + 400) / 100);
	assert_int_equal(vs_hole_set_get_below(&set, 20), 0);
	assert_int_equal(vs_hole_set_get_below(&set, 21), 40);
	assert_int_equal(vs_hole_set_get_below(&set, 61), 100);
	vs_hole_set_fini(&set);
}

static void test_one_hole_is_not_fragmented(void **state)
{
	struct vs_hole_set set = {0};

	(void)state;
	assert_int_equal(vs_hole_set_add(&set, 7 * GIB), 0);
	assert_close(vs_hole_set_get_share(&set), 0);
	assert_close(vs_hole_set_get_scatter(&set), 0);
	vs_hole_set_fini(&set);
}

static void test_removed_holes_leave_no_trace_even_when_huge(void **state)
{
	struct vs_hole_set set = {0};
	uint64_t i;

	(void)state;
	/* Sums of floating point numbers would not come back to these. */
	assert_int_equal(vs_hole_set_add(&set, 3), 0);
	for (i = 0; i < 1000; i++)
		assert_int_equal(vs_hole_set_add(&set, 80 * GIB + i), 0);
	for (i = 0; i < 1000; i++)
		vs_hole_set_remove(&set, 80 * GIB + i);
	assert_true(set.squares == 9);
	assert_int_equal(set.total_bytes, 3);
	assert_int_equal(vs_hole_set_get_largest(&set), 3);
	vs_hole_set_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_free_is_no_fragmentation),
		cmocka_unit_test(test_measures_of_three_holes_by_hand),
		cmocka_unit_test(test_one_hole_is_not_fragmented),
		cmocka_unit_test(test_removed_holes_leave_no_trace_even_when_huge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
