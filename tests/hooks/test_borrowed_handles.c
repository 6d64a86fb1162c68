#include "borrowed_handles.h"

#include <pthread.h>

#include "hooks_cmocka.h"

static void test_each_borrowing_covers_one_release(void **state)
{
	(void)state;
	assert_false(vs_borrowed_handles_take(7));
	vs_borrowed_handles_add(7);
	vs_borrowed_handles_add(7);
	assert_false(vs_borrowed_handles_take(8));
	assert_true(vs_borrowed_handles_take(7));
	assert_true(vs_borrowed_handles_take(7));
	assert_false(vs_borrowed_handles_take(7));
}

static void test_many_handles_are_told_apart(void **state)
{
	(void)state;
	for (uint64_t h = 1000; h < 2000; h++)
		vs_borrowed_handles_add(h);
	for (uint64_t h = 1000; h < 2000; h++) {
		assert_true(vs_borrowed_handles_take(h));
		assert_false(vs_borrowed_handles_take(h));
	}
}

static void test_more_handles_than_there_is_room_for_do_no_harm(void **state)
{
	(void)state;
	for (uint64_t h = 1; h <= 20000; h++)
		vs_borrowed_handles_add(h << 21);
	assert_true(vs_borrowed_handles_take((uint64_t)1 << 21));
}

static void *borrow_and_release(void *argument)
{
	uintptr_t missed = 0;

	(void)argument;
	for (unsigned i = 0; i < 2000; i++) {
		vs_borrowed_handles_add(500 + i % 50);
		missed += !vs_borrowed_handles_take(500 + i % 50);
	}
	return (void *)missed;
}

static void test_threads_lose_no_reference(void **state)
{
	pthread_t threads[4];
	void *missed;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, borrow_and_release, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &missed), 0);
		assert_null(missed);
	}
	for (unsigned i = 0; i < 50; i++)
		assert_false(vs_borrowed_handles_take(500 + i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_borrowing_covers_one_release),
		cmocka_unit_test(test_many_handles_are_told_apart),
		cmocka_unit_test(test_threads_lose_no_reference),
		cmocka_unit_test(test_more_handles_than_there_is_room_for_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
