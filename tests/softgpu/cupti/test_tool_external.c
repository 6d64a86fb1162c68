#include "record_sink.h"

#include <pthread.h>

#define CUSTOM CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
#define OTHER  CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1

static void test_numbers_come_back_in_reverse_and_then_there_are_none(void **state)
{
	uint64_t id = 0;

	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		assert_done(cuptiActivityPushExternalCorrelationId(CUSTOM, i));
	for (uint64_t i = 100; i >= 1; i--) {
		assert_done(cuptiActivityPopExternalCorrelationId(CUSTOM, &id));
		assert_int_equal(id, i);
	}
	assert_cupti(cuptiActivityPopExternalCorrelationId(CUSTOM, &id), CUPTI_ERROR_QUEUE_EMPTY);
	assert_int_equal(id, 1);
}

static void test_kinds_do_not_meet(void **state)
{
	uint64_t id;

	(void)state;
	assert_done(cuptiActivityPushExternalCorrelationId(CUSTOM, 1));
	assert_cupti(cuptiActivityPopExternalCorrelationId(OTHER, &id), CUPTI_ERROR_QUEUE_EMPTY);
	assert_done(cuptiActivityPopExternalCorrelationId(CUSTOM, NULL));
	assert_cupti(
		cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
		CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(
		cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_SIZE, &id),
		CUPTI_ERROR_INVALID_PARAMETER);
}

static void *push_in_thread(void *argument)
{
	(void)argument;
	return (void *)(uintptr_t)cuptiActivityPushExternalCorrelationId(CUSTOM, 77);
}

static void test_threads_do_not_meet(void **state)
{
	pthread_t thread;
	uint64_t id;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, push_in_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	assert_cupti(cuptiActivityPopExternalCorrelationId(CUSTOM, &id), CUPTI_ERROR_QUEUE_EMPTY);
}

static void test_record_joins_a_call_to_the_last_number_pushed(void **state)
{
	const CUpti_ActivityExternalCorrelation *joined;
	const CUpti_ActivityAPI *call;

	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_ok(cuCtxSynchronize());
	assert_done(cuptiActivityPushExternalCorrelationId(CUSTOM, 11));
	assert_done(cuptiActivityPushExternalCorrelationId(CUSTOM, 22));
	assert_ok(cuCtxSynchronize());
	assert_done(cuptiActivityPopExternalCorrelationId(CUSTOM, NULL));
	assert_done(cuptiActivityPopExternalCorrelationId(CUSTOM, NULL));
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(sink.nr_records, 3);
	joined = sink_get(1, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	call = sink_get(2, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(joined->externalKind, CUSTOM);
	assert_int_equal(joined->externalId, 22);
	assert_int_equal(joined->correlationId, call->correlationId);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, sink_setup, sink_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_numbers_come_back_in_reverse_and_then_there_are_none),
		CASE(test_kinds_do_not_meet),
		CASE(test_threads_do_not_meet),
		CASE(test_record_joins_a_call_to_the_last_number_pushed),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
