#include "peer_opens.h"

#include <pthread.h>

#include "hooks_cmocka.h"

static void test_only_the_first_opening_and_the_last_closing_count(void **state)
{
	(void)state;
	assert_false(vs_peer_opens_take(0x7000));
	assert_false(vs_peer_opens_add(0x7000));
	assert_true(vs_peer_opens_add(0x7000));
	assert_false(vs_peer_opens_add(0x8000));
	assert_true(vs_peer_opens_take(0x7000));
	assert_false(vs_peer_opens_take(0x7000));
	assert_false(vs_peer_opens_take(0x8000));
	assert_false(vs_peer_opens_add(0x7000));
	assert_false(vs_peer_opens_take(0x7000));
}

static void test_what_goes_with_its_context_is_opened_anew(void **state)
{
	(void)state;
	assert_false(vs_peer_opens_add(0x7000));
	assert_true(vs_peer_opens_add(0x7000));
	vs_peer_opens_forget();
	assert_false(vs_peer_opens_add(0x7000));
	assert_false(vs_peer_opens_take(0x7000));
}

static void *open_and_close(void *argument)
{
	uintptr_t missed = 0;

	(void)argument;
	for (unsigned i = 0; i < 2000; i++) {
		missed += !vs_peer_opens_add(0x500 + i % 50);
		missed += !vs_peer_opens_take(0x500 + i % 50);
	}
	return (void *)missed;
}

static void test_threads_lose_no_opening(void **state)
{
	pthread_t threads[4];
	void *missed;

	(void)state;
	for (uint64_t i = 0; i < 50; i++)
		assert_false(vs_peer_opens_add(0x500 + i));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &missed), 0);
		assert_null(missed);
	}
	for (uint64_t i = 0; i < 50; i++)
		assert_false(vs_peer_opens_take(0x500 + i));
}

static void test_more_than_there_is_room_for_does_no_harm(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 20000; i++)
		(void)vs_peer_opens_add(i << 21);
	assert_false(vs_peer_opens_take((uint64_t)1 << 21));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_first_opening_and_the_last_closing_count),
		cmocka_unit_test(test_what_goes_with_its_context_is_opened_anew),
		cmocka_unit_test(test_threads_lose_no_opening),
		cmocka_unit_test(test_more_than_there_is_room_for_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
