/* The library by itself, loaded as frameworks load it: over no driver, a strange one, and ours. */
#include <dlfcn.h>
#include <stdio.h>

#include "tool_fixture.h"

typedef CUptiResult (*subscribe_function)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
typedef CUptiResult (*unsubscribe_function)(CUpti_SubscriberHandle);
typedef CUptiResult (*enable_function)(CUpti_ActivityKind);
typedef CUptiResult (*plain_function)(void);

static void *load(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	assert_non_null(handle);
	return handle;
}

static void ignore(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		   const void *data)
{
	(void)userdata;
	(void)domain;
	(void)cbid;
	(void)data;
}

static void test_without_softgpu_there_is_nothing_to_watch(void **state)
{
	void *handle = load(SG_CUPTI_FIRST);
	subscribe_function subscribe = (subscribe_function)dlsym(handle, "cuptiSubscribe");
	enable_function enable = (enable_function)dlsym(handle, "cuptiActivityEnable");
	CUpti_SubscriberHandle subscriber;

	(void)state;
	assert_cupti(subscribe(&subscriber, ignore, NULL), CUPTI_ERROR_NOT_INITIALIZED);
	assert_cupti(enable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_ERROR_NOT_INITIALIZED);
}

static void test_two_releases_in_one_process_share_the_one_subscriber(void **state)
{
	void *first = load(SG_CUPTI_FIRST), *second = load(SG_CUPTI_SECOND);
	subscribe_function subscribe_first = (subscribe_function)dlsym(first, "cuptiSubscribe");
	subscribe_function subscribe_second = (subscribe_function)dlsym(second, "cuptiSubscribe");
	unsubscribe_function unsubscribe = (unsubscribe_function)dlsym(first, "cuptiUnsubscribe");
	enable_function enable = (enable_function)dlsym(second, "cuptiActivityEnable");
	plain_function finalize = (plain_function)dlsym(second, "cuptiFinalize");
	CUpti_SubscriberHandle subscriber, other;

	(void)state;
	assert_done(subscribe_first(&subscriber, ignore, NULL));
	assert_cupti(subscribe_second(&other, ignore, NULL),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_cupti(enable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_ERROR_NOT_COMPATIBLE);
	assert_done(unsubscribe(subscriber));
	assert_done(subscribe_second(&other, ignore, NULL));
	assert_cupti(subscribe_first(&subscriber, ignore, NULL),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_done(finalize());
	assert_done(subscribe_first(&subscriber, ignore, NULL));
	assert_done(unsubscribe(subscriber));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest over_ours[] = {
		cmocka_unit_test(test_two_releases_in_one_process_share_the_one_subscriber),
	};
	const struct CMUnitTest over_another[] = {
		cmocka_unit_test(test_without_softgpu_there_is_nothing_to_watch),
	};

	if (argc > 1 && !strcmp(argv[1], "another"))
		return cmocka_run_group_tests(over_another, NULL, NULL);
	return cmocka_run_group_tests(over_ours, NULL, NULL);
}
