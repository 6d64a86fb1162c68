#include "tool_fixture.h"

static CUpti_SubscriberHandle subscriber;
static unsigned nr_callbacks;
static bool goes; /* the callback unsubscribes */

static void count(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		  const void *data)
{
	(void)domain;
	(void)cbid;
	(void)data;
	assert_ptr_equal(userdata, &nr_callbacks);
	nr_callbacks++;
	if (goes)
		assert_done(cuptiUnsubscribe(subscriber));
}

static int subscribe(void **state)
{
	(void)state;
	nr_callbacks = 0;
	goes = false;
	return (int)cuptiSubscribe(&subscriber, count, &nr_callbacks);
}

static int unsubscribe(void **state)
{
	(void)state;
	return (int)cuptiFinalize();
}

static void allocate_and_free(void)
{
	CUdeviceptr address;

	assert_ok(cuMemAlloc(&address, 1000));
	assert_ok(cuMemFree(address));
}

static void test_nothing_is_told_until_it_is_enabled(void **state)
{
	(void)state;
	allocate_and_free();
	assert_int_equal(nr_callbacks, 0);
}

static void test_one_function_is_enabled_and_disabled_by_number(void **state)
{
	uint32_t is_on = 7;

	(void)state;
	assert_done(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 2); /* its beginning and its end */
	assert_done(cuptiGetCallbackState(&is_on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					  CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
	assert_int_equal(is_on, 1);
	assert_done(cuptiGetCallbackState(&is_on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					  CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2));
	assert_int_equal(is_on, 0);
	assert_done(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 2);
}

static void test_domain_is_enabled_as_a_whole_and_then_by_number(void **state)
{
	(void)state;
	assert_done(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	assert_done(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 2);
	assert_done(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 2);
	assert_done(cuptiEnableAllDomains(1, subscriber));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 6);
	assert_done(cuptiEnableAllDomains(0, subscriber));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 6);
}

static void test_only_one_can_subscribe(void **state)
{
	CUpti_SubscriberHandle second = NULL, old = subscriber;

	(void)state;
	assert_cupti(cuptiSubscribe(&second, count, NULL),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_null(second);
	assert_cupti(cuptiGetLastError(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_cupti(cuptiGetLastError(), CUPTI_SUCCESS);
	assert_done(cuptiUnsubscribe(subscriber));
	assert_done(cuptiSubscribe(&second, count, &nr_callbacks));
	assert_ptr_not_equal(second, old);
	assert_done(cuptiUnsubscribe(second));
}

static void test_subscription_begins_with_nothing_enabled(void **state)
{
	(void)state;
	assert_done(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	assert_done(cuptiUnsubscribe(subscriber));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 0);
	assert_done(cuptiSubscribe(&subscriber, count, &nr_callbacks));
	allocate_and_free();
	assert_int_equal(nr_callbacks, 0);
}

static void test_callback_may_unsubscribe_itself(void **state)
{
	(void)state;
	assert_done(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	goes = true;
	allocate_and_free();
	assert_int_equal(nr_callbacks, 1);
}

static void test_wrong_arguments_are_errors(void **state)
{
	CUpti_SubscriberHandle wrong = (CUpti_SubscriberHandle)(void *)&nr_callbacks;
	CUpti_CallbackDomain *table;
	uint32_t is_on;
	size_t count_of;

	(void)state;
#define WRONG(call) assert_cupti(call, CUPTI_ERROR_INVALID_PARAMETER)
	WRONG(cuptiSubscribe(NULL, count, NULL));
	WRONG(cuptiUnsubscribe(NULL));
	WRONG(cuptiUnsubscribe(wrong));
	WRONG(cuptiEnableCallback(1, wrong, CUPTI_CB_DOMAIN_DRIVER_API, 1));
	WRONG(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_INVALID, 1));
	WRONG(cuptiEnableCallback(1, subscriber, (CUpti_CallbackDomain)99, 1));
	WRONG(cuptiEnableCallback(1, subscriber, (CUpti_CallbackDomain)-1, 1));
	WRONG(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 0));
	WRONG(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				  CUPTI_DRIVER_TRACE_CBID_SIZE));
	WRONG(cuptiEnableDomain(1, subscriber, (CUpti_CallbackDomain)99));
	WRONG(cuptiEnableDomain(1, NULL, CUPTI_CB_DOMAIN_DRIVER_API));
	WRONG(cuptiEnableAllDomains(1, wrong));
	WRONG(cuptiGetCallbackState(NULL, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 1));
	WRONG(cuptiGetCallbackState(&is_on, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE, 3));
	WRONG(cuptiSupportedDomains(NULL, &table));
	WRONG(cuptiSupportedDomains(&count_of, NULL));
	assert_done(cuptiSupportedDomains(&count_of, &table));
	assert_true(count_of >= 4);
	assert_int_equal(table[0], CUPTI_CB_DOMAIN_DRIVER_API);
	assert_done(cuptiUnsubscribe(subscriber));
	WRONG(cuptiUnsubscribe(subscriber));
	WRONG(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
}

static void test_second_subscriber_is_told_the_name_of_the_first(void **state)
{
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
	char old[64] = "";
	CUpti_SubscriberParams first = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
					.subscriberName = "first"};
	CUpti_SubscriberParams second = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
					 .subscriberName = "second",
					 .oldSubscriberName = old,
					 .oldSubscriberSize = sizeof(old)};
	CUpti_SubscriberHandle other;

	(void)state;
	assert_done(cuptiUnsubscribe(subscriber));
	assert_done(cuptiSubscribe_v2(&subscriber, count, &nr_callbacks, &first));
	assert_cupti(cuptiSubscribe_v2(&other, count, NULL, &second),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_string_equal(old, "first");
	second.structSize = 1;
	assert_cupti(cuptiSubscribe_v2(&other, count, NULL, &second),
		     CUPTI_ERROR_INVALID_PARAMETER);
#else
	(void)state; /* this release has no names for subscribers */
#endif
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, subscribe, unsubscribe)
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_is_told_until_it_is_enabled),
		CASE(test_one_function_is_enabled_and_disabled_by_number),
		CASE(test_domain_is_enabled_as_a_whole_and_then_by_number),
		CASE(test_only_one_can_subscribe),
		CASE(test_subscription_begins_with_nothing_enabled),
		CASE(test_callback_may_unsubscribe_itself),
		CASE(test_wrong_arguments_are_errors),
		CASE(test_second_subscriber_is_told_the_name_of_the_first),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
