/* Threads call, one subscribes and unsubscribes: callbacks come in pairs, and none comes late. */
#include "tool_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#define NR_THREADS       4
#define NR_SUBSCRIPTIONS 200

static _Atomic bool is_over;
static _Atomic unsigned nr_failures; /* cmocka's asserts are for one thread */

/* One subscription. Freed when it has ended: a late callback would touch freed memory. */
struct subscription {
	_Atomic unsigned nr_enters, nr_exits;
	_Atomic bool is_ended;
};

static void note(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		 const void *data)
{
	struct subscription *subscription = userdata;
	const CUpti_CallbackData *call = data;

	(void)cbid;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return;
	if (subscription->is_ended)
		nr_failures++;
	if (call->callbackSite == CUPTI_API_ENTER) {
		*call->correlationData = call->correlationId;
		subscription->nr_enters++;
		return;
	}
	if (*call->correlationData != call->correlationId)
		nr_failures++;
	subscription->nr_exits++;
}

static void *call_often(void *argument)
{
	CUcontext context;
	CUdeviceptr address;
	CUstream stream;

	(void)argument;
	if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		nr_failures++;
	while (!is_over) {
		if (cuMemAlloc(&address, 4096) || cuMemFree(address) ||
		    cuStreamCreate(&stream, 0) || cuStreamSynchronize(stream) ||
		    cuStreamDestroy(stream))
			nr_failures++;
	}
	return NULL;
}

static void subscribe_once(unsigned *nr_seen)
{
	struct subscription *subscription = calloc(1, sizeof(*subscription));
	CUpti_SubscriberHandle subscriber, second;
	CUdeviceptr address;

	assert_non_null(subscription);
	assert_done(cuptiSubscribe(&subscriber, note, subscription));
	assert_cupti(cuptiSubscribe(&second, note, NULL),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_done(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	assert_done(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	assert_ok(cuMemAlloc(&address, 1));
	assert_ok(cuMemFree(address));
	assert_done(cuptiUnsubscribe(subscriber));
	subscription->is_ended = true;
	/* Calls that were under way have no end here; an end without a beginning there is not. */
	assert_true(subscription->nr_exits <= subscription->nr_enters);
	assert_true(subscription->nr_enters - subscription->nr_exits <= NR_THREADS);
	assert_true(subscription->nr_exits >= 2);
	*nr_seen += subscription->nr_exits;
	free(subscription);
}

static void test_callbacks_end_with_the_subscription(void **state)
{
	pthread_t threads[NR_THREADS];
	unsigned nr_seen = 0;

	(void)state;
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
	for (int i = 0; i < NR_SUBSCRIPTIONS; i++)
		subscribe_once(&nr_seen);
	is_over = true;
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(nr_failures, 0);
	assert_true(nr_seen >= 2 * NR_SUBSCRIPTIONS);
}

static _Atomic size_t nr_bytes;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 4096;
	*max_records = 0;
	*buffer = aligned_alloc(8, *size);
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
		     size_t valid_size)
{
	(void)context;
	(void)stream;
	(void)size;
	nr_bytes += valid_size;
	free(buffer);
}

static void *allocate(void *argument)
{
	CUcontext context;
	CUdeviceptr address;

	(void)argument;
	if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		nr_failures++;
	for (int i = 0; i < 1000; i++)
		if (cuMemAlloc(&address, 4096) || cuMemFree(address))
			nr_failures++;
	return NULL;
}

static void test_no_record_is_lost_between_threads(void **state)
{
	pthread_t threads[NR_THREADS];

	(void)state;
	assert_done(cuptiActivityRegisterCallbacks(request, complete));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY));
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, allocate, NULL), 0);
	for (int i = 0; i < 20; i++)
		assert_done(cuptiActivityFlushAll(0));
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(nr_bytes, NR_THREADS * 1000 * sizeof(CUpti_ActivityMemory));
	assert_int_equal(nr_failures, 0);
	assert_done(cuptiFinalize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callbacks_end_with_the_subscription),
		cmocka_unit_test(test_no_record_is_lost_between_threads),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
