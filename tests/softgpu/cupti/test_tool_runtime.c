/*
 * End to end: a program subscribes before its first call of CUDA, uses the runtime, and compares
 * what it was told with what it called.
 */
#include "tool_fixture.h"

#include <cuda_runtime_api.h>

#include "cupti_records.h"

#define MAX_EVENTS 4096

struct event {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId cbid;
	CUpti_ApiCallbackSite site;
	const char *name;
	const char *kernel;
	CUcontext context;
	uint32_t id;
	uint64_t params[6];
	int result;
};

static struct event events[MAX_EVENTS];
static unsigned nr_events;
static CUpti_SubscriberHandle subscriber;

static void note(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		 const void *data)
{
	const CUpti_CallbackData *call = data;
	struct event *event = &events[nr_events];

	(void)userdata;
	if (!strncmp(call->functionName, "cuGetProcAddress", strlen("cuGetProcAddress")))
		return; /* hundreds, when the runtime begins */
	if (++nr_events == MAX_EVENTS)
		abort();
	*event = (struct event){domain,
				cbid,
				call->callbackSite,
				call->functionName,
				call->symbolName,
				call->context,
				call->correlationId,
				{0},
				0};
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
	    cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020)
		memcpy(event->params, call->functionParams, sizeof(cudaMalloc_v3020_params));
	if (call->callbackSite == CUPTI_API_EXIT)
		event->result = *(const int *)call->functionReturnValue;
}

static int subscribe(void **state)
{
	(void)state;
	return cuptiSubscribe(&subscriber, note, NULL) ||
	       cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) ||
	       cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
}

static int unsubscribe(void **state)
{
	(void)state;
	return (int)cuptiUnsubscribe(subscriber);
}

/* The next event of the runtime from *at on; *at is then behind it. */
static const struct event *next_of_runtime(unsigned *at)
{
	while (*at < nr_events && events[*at].domain != CUPTI_CB_DOMAIN_RUNTIME_API)
		(*at)++;
	assert_true(*at < nr_events);
	return &events[(*at)++];
}

struct call {
	CUpti_CallbackId cbid;
	const char *name;
	int result;
};

#define CALL(name, version, result)                                         \
	{                                                                   \
		CUPTI_RUNTIME_TRACE_CBID_##name##_v##version, #name, result \
	}

static void assert_calls(const struct call *calls, size_t nr_calls)
{
	unsigned at = 0;

	for (size_t i = 0; i < nr_calls; i++) {
		const struct event *enter = next_of_runtime(&at), *leave = next_of_runtime(&at);

		assert_string_equal(enter->name, calls[i].name);
		assert_int_equal(enter->cbid, calls[i].cbid);
		assert_int_equal(enter->site, CUPTI_API_ENTER);
		assert_string_equal(leave->name, calls[i].name);
		assert_int_equal(leave->cbid, calls[i].cbid);
		assert_int_equal(leave->site, CUPTI_API_EXIT);
		assert_int_equal(leave->id, enter->id);
		assert_int_equal(leave->result, calls[i].result);
	}
	while (at < nr_events)
		assert_int_equal(events[at++].domain, CUPTI_CB_DOMAIN_DRIVER_API);
}

/* Every call of the driver is whole, inside of one of the runtime, and has its number. */
static void assert_nested(void)
{
	const struct event *outer = NULL, *inner = NULL;

	for (unsigned i = 0; i < nr_events; i++) {
		const struct event *event = &events[i];
		bool is_enter = event->site == CUPTI_API_ENTER;

		if (event->domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
			assert_null(inner);
			assert_int_equal(is_enter, !outer);
			outer = is_enter ? event : NULL;
			continue;
		}
		assert_non_null(outer);
		assert_int_equal(is_enter, !inner);
		assert_int_equal(event->id, outer->id);
		inner = is_enter ? event : NULL;
	}
	assert_null(outer);
}

static bool has_inside(const char *runtime_name, CUpti_CallbackId driver_cbid)
{
	bool is_inside = false;

	for (unsigned i = 0; i < nr_events; i++) {
		if (events[i].domain == CUPTI_CB_DOMAIN_RUNTIME_API)
			is_inside = !strcmp(events[i].name, runtime_name);
		else if (is_inside && events[i].cbid == driver_cbid)
			return true;
	}
	return false;
}

static void test_callbacks_are_the_calls_the_program_made(void **state)
{
	static const struct call expected[] = {
		CALL(cudaGetDeviceCount, 3020, 0),
		CALL(cudaMalloc, 3020, 0),
		CALL(cudaMemset, 3020, 0),
		CALL(cudaStreamCreate, 3020, 0),
		CALL(cudaMallocAsync, 11020, 0),
		CALL(cudaMemcpyAsync, 3020, 0),
		CALL(cudaStreamSynchronize, 3020, 0),
		CALL(cudaFreeAsync, 11020, 0),
		CALL(cudaStreamDestroy, 5050, 0),
		CALL(cudaMallocManaged, 6000, 0),
		CALL(cudaFree, 3020, 0),
		CALL(cudaFree, 3020, 0),
		CALL(cudaFree, 3020, cudaErrorInvalidValue),
		CALL(cudaGetLastError, 3020, 1),
		CALL(cudaDeviceSynchronize, 3020, 0),
	};
	void *memory, *managed, *other;
	cudaStream_t stream;
	int count;

	(void)state;
	assert_int_equal(cudaGetDeviceCount(&count), cudaSuccess);
	assert_int_equal(cudaMalloc(&memory, 1 << 20), cudaSuccess);
	assert_int_equal(cudaMemset(memory, 0, 100), cudaSuccess);
	assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
	assert_int_equal(cudaMallocAsync(&other, 4096, stream), cudaSuccess);
	assert_int_equal(cudaMemcpyAsync(other, memory, 100, cudaMemcpyDefault, stream),
			 cudaSuccess);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	assert_int_equal(cudaFreeAsync(other, stream), cudaSuccess);
	assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
	assert_int_equal(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal), cudaSuccess);
	assert_int_equal(cudaFree(managed), cudaSuccess);
	assert_int_equal(cudaFree(memory), cudaSuccess);
	assert_int_equal(cudaFree(memory), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
	assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
	assert_calls(expected, LENGTH(expected));
	assert_nested();
	assert_true(has_inside("cudaGetDeviceCount", CUPTI_DRIVER_TRACE_CBID_cuInit));
	assert_true(has_inside("cudaMalloc", CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
	assert_true(has_inside("cudaMallocAsync", CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync));
	assert_true(has_inside("cudaFreeAsync", CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync));
	assert_true(has_inside("cudaMallocManaged", CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged));
	assert_true(has_inside("cudaFree", CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2));
}

static void test_context_is_there_when_the_first_call_that_needs_one_returns(void **state)
{
	unsigned at = 0;
	const struct event *event;

	(void)state; /* goes on from the test before */
	event = next_of_runtime(&at);
	assert_null(event->context); /* cudaGetDeviceCount needs none */
	event = next_of_runtime(&at);
	assert_null(event->context);
	event = next_of_runtime(&at);
	assert_null(event->context); /* cudaMalloc begins */
	event = next_of_runtime(&at);
	assert_non_null(event->context);
}

static void test_parameters_have_the_shape_of_the_header(void **state)
{
	const cudaMalloc_v3020_params *params;
	unsigned at = 0;
	void *memory;

	(void)state;
	nr_events = 0;
	assert_int_equal(cudaMalloc(&memory, 777), cudaSuccess);
	params = (const void *)next_of_runtime(&at)->params;
	assert_ptr_equal(params->devPtr, &memory);
	assert_int_equal(params->size, 777);
	assert_int_equal(cudaFree(memory), cudaSuccess);
}

static unsigned nr_runtime, nr_driver;
static uint32_t memory_id, runtime_id;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 65536;
	*max_records = 0;
	*buffer = aligned_alloc(8, *size);
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
		     size_t valid_size)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
			nr_runtime++;
			runtime_id =
				((const CUpti_ActivityAPI *)(const void *)record)->correlationId;
		} else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
			nr_driver++;
		} else {
			memory_id = ((const SG_CUPTI_RECORD_MEMORY2 *)(const void *)record)
					    ->correlationId;
		}
	}
	free(buffer);
}

static void test_memory_record_has_the_number_of_the_runtimes_call(void **state)
{
	void *memory;

	(void)state;
	assert_done(cuptiActivityRegisterCallbacks(request, complete));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
	assert_int_equal(cudaMalloc(&memory, 777), cudaSuccess);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(nr_runtime, 1);
	assert_int_not_equal(memory_id, 0);
	assert_int_equal(memory_id, runtime_id);
	/* The driver's calls inside are part of it, unless nobody asked for it. */
	assert_int_equal(nr_driver, 0);
	assert_done(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	assert_int_equal(cudaFree(memory), cudaSuccess);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(nr_runtime, 1);
	assert_true(nr_driver > 0);
	assert_done(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_done(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callbacks_are_the_calls_the_program_made),
		cmocka_unit_test(test_context_is_there_when_the_first_call_that_needs_one_returns),
		cmocka_unit_test(test_parameters_have_the_shape_of_the_header),
		cmocka_unit_test(test_memory_record_has_the_number_of_the_runtimes_call),
	};

	return cmocka_run_group_tests(tests, subscribe, unsubscribe);
}
