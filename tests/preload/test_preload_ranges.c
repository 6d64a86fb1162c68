#include "ranges.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NR_THREADS 4
#define NR_TURNS   20000

static struct vs_clock_instant at(uint64_t ns)
{
	return (struct vs_clock_instant){.ns = ns};
}

static int set_up(void **state)
{
	(void)state;
	vs_ranges_clear();
	return 0;
}

static void test_a_range_comes_back_as_it_was_put_in(void **state)
{
	uint64_t id = vs_ranges_new_id(), taken;
	struct vs_clock_instant when;
	uint32_t name;

	(void)state;
	assert_true(vs_ranges_add(id, 7, at(100)));
	assert_true(vs_ranges_take(&taken, &name, &when));
	assert_int_equal(taken, id);
	assert_int_equal(name, 7);
	assert_int_equal(when.ns, 100);
	assert_false(vs_ranges_take(&taken, &name, &when));
	assert_false(vs_ranges_remove(id));
}

static void test_one_that_ended_is_not_there_any_more(void **state)
{
	uint64_t first = vs_ranges_new_id(), second = vs_ranges_new_id(), taken;
	struct vs_clock_instant when;
	uint32_t name;

	(void)state;
	assert_true(vs_ranges_add(first, 1, at(1)));
	assert_true(vs_ranges_add(second, 2, at(2)));
	assert_true(vs_ranges_remove(first));
	assert_false(vs_ranges_remove(first));
	assert_true(vs_ranges_take(&taken, &name, &when));
	assert_int_equal(taken, second);
}

static void test_what_finds_no_room_is_refused(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < VS_RANGES_MAX; i++)
		assert_true(vs_ranges_add(vs_ranges_new_id(), i, at(i)));
	assert_false(vs_ranges_add(vs_ranges_new_id(), i, at(i)));
}

static void test_a_number_that_is_none_ends_nothing(void **state)
{
	(void)state;
	assert_true(vs_ranges_add(vs_ranges_new_id(), 1, at(1)));
	assert_false(vs_ranges_remove(0));
	assert_false(vs_ranges_remove(UINT64_MAX));
}

static void *come_and_go(void *nr_wrong)
{
	for (int i = 0; i < NR_TURNS; i++) {
		uint64_t id = vs_ranges_new_id();

		if (!vs_ranges_add(id, (uint32_t)id, at(id)) || !vs_ranges_remove(id))
			++*(int *)nr_wrong;
	}
	return NULL;
}

static void test_threads_do_not_disturb_each_other(void **state)
{
	pthread_t threads[NR_THREADS];
	int nr_wrong[NR_THREADS] = {0};
	uint64_t taken;
	struct vs_clock_instant when;
	uint32_t name;

	(void)state;
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &nr_wrong[i]), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(nr_wrong[i], 0);
	}
	assert_false(vs_ranges_take(&taken, &name, &when));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_a_range_comes_back_as_it_was_put_in),
		TEST(test_one_that_ended_is_not_there_any_more),
		TEST(test_what_finds_no_room_is_refused),
		TEST(test_a_number_that_is_none_ends_nothing),
		TEST(test_threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
