#include "subscription.h"

#include <pthread.h>

#include <string.h>

#include "cmocka_all.h"
#include "paper_cupti.h"

#define FACTS "cupti.version: 130000\ncupti.library: /paper/libcupti.so\n"

static void test_subscriber_says_what_it_records(void **state)
{
	(void)state;
	paper_begin(130000);
	assert_true(vs_subscription_begin(&paper.library));
	assert_string_equal(paper_get_lines(), FACTS "cupti.events: recorded\n");
	vs_subscription_hand_over("a test");
	paper_begin(130000);
	paper.is_alone = true;
	assert_true(vs_subscription_begin(&paper.library));
	assert_string_equal(paper_get_lines(), FACTS "cupti.events: recorded, hooks off\n");
	vs_subscription_hand_over("a test");
}

static void test_another_subscriber_is_left_alone(void **state)
{
	(void)state;
	paper_begin(130000);
	paper.subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	assert_false(vs_subscription_begin(&paper.library));
	assert_non_null(strstr(paper_get_lines(), "said: without CUPTI: another tool has it"));
	assert_non_null(strstr(paper_get_lines(), "cupti.events: off: another tool has it"));
	vs_subscription_hand_over("a test");
	assert_int_equal(paper.nr_unsubscribes, 0);
	assert_int_equal(paper.nr_enabled, 0);
}

static void test_refusal_is_said_with_its_number(void **state)
{
	(void)state;
	paper_begin(130000);
	paper.subscribe_result = CUPTI_ERROR_NOT_INITIALIZED;
	assert_false(vs_subscription_begin(&paper.library));
	assert_non_null(strstr(paper_get_lines(), "/paper/libcupti.so refuses (15, "
						  "CUPTI_ERROR_NOT_INITIALIZED)"));
	paper_begin(130000);
	paper.subscribe_result = (CUptiResult)4711;
	assert_false(vs_subscription_begin(&paper.library));
	assert_non_null(strstr(paper_get_lines(), "refuses (4711, unknown)"));
}

static void test_half_a_subscription_is_given_back(void **state)
{
	(void)state;
	paper_begin(130000);
	paper.enable_result = CUPTI_ERROR_NOT_INITIALIZED;
	assert_false(vs_subscription_begin(&paper.library));
	assert_int_equal(paper.nr_unsubscribes, 1);
	assert_null(paper.callback);
	assert_null(strstr(paper_get_lines(), "recorded"));
}

static void test_hand_over_happens_once(void **state)
{
	(void)state;
	paper_begin(130000);
	assert_true(vs_subscription_begin(&paper.library));
	vs_subscription_hand_over("somebody comes");
	vs_subscription_hand_over("somebody else comes");
	assert_int_equal(paper.nr_unsubscribes, 1);
	assert_non_null(strstr(paper_get_lines(),
			       "said: somebody comes: calls past the hooks are not seen from here "
			       "on\ncupti.ended: somebody comes\n"));
	assert_null(strstr(paper_get_lines(), "somebody else"));
}

static void *hand_over(void *barrier)
{
	pthread_barrier_wait(barrier);
	vs_subscription_hand_over("a thread");
	return NULL;
}

static void test_hand_over_by_many_threads_is_one(void **state)
{
	pthread_barrier_t barrier;
	pthread_t threads[4];

	(void)state;
	pthread_barrier_init(&barrier, NULL, 4);
	paper_begin(130000);
	assert_true(vs_subscription_begin(&paper.library));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hand_over, &barrier), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(paper.nr_unsubscribes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subscriber_says_what_it_records),
		cmocka_unit_test(test_another_subscriber_is_left_alone),
		cmocka_unit_test(test_refusal_is_said_with_its_number),
		cmocka_unit_test(test_half_a_subscription_is_given_back),
		cmocka_unit_test(test_hand_over_happens_once),
		cmocka_unit_test(test_hand_over_by_many_threads_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
