#include "tool_fixture.h"

#define MAX_SEEN 64

/* A callback, copied: its data is gone when it returns. */
struct seen {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId cbid;
	CUpti_CallbackData data;
	CUpti_ResourceData resource;
	CUpti_SynchronizeData sync;
	uint64_t params[8];
	int result;
	uint64_t correlation_data;
};

static CUpti_SubscriberHandle subscriber;
static struct seen seen[MAX_SEEN];
static unsigned nr_seen;
static bool calls_back; /* the callback calls CUDA itself */

static void note_call(struct seen *entry, const CUpti_CallbackData *data)
{
	entry->data = *data;
	if (entry->cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2)
		memcpy(entry->params, data->functionParams, sizeof(cuMemAlloc_v2_params));
	if (data->callbackSite == CUPTI_API_EXIT)
		entry->result = *(const int *)data->functionReturnValue;
	else
		*data->correlationData = 1000 + data->correlationId;
	entry->correlation_data = *data->correlationData;
}

static void note(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		 const void *data)
{
	struct seen *entry = &seen[nr_seen++];
	size_t free_bytes, total;

	(void)userdata;
	assert_true(nr_seen <= MAX_SEEN);
	*entry = (struct seen){.domain = domain, .cbid = cbid};
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		note_call(entry, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		entry->resource = *(const CUpti_ResourceData *)data;
	else if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE)
		entry->sync = *(const CUpti_SynchronizeData *)data;
	if (calls_back)
		assert_ok(cuMemGetInfo(&free_bytes, &total));
}

static int subscribe(void **state)
{
	(void)state;
	nr_seen = 0;
	calls_back = false;
	return (int)cuptiSubscribe(&subscriber, note, NULL);
}

static int unsubscribe(void **state)
{
	(void)state;
	return (int)cuptiUnsubscribe(subscriber);
}

static void enable(CUpti_CallbackDomain domain)
{
	assert_done(cuptiEnableDomain(1, subscriber, domain));
}

static void test_call_is_told_before_and_after_with_all_that_belongs_to_it(void **state)
{
	const cuMemAlloc_v2_params *params = (const void *)seen[0].params;
	CUdeviceptr address;
	CUcontext context;
	uint32_t id;

	(void)state;
	assert_ok(cuCtxGetCurrent(&context));
	assert_done(cuptiGetContextId(context, &id));
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	assert_ok(cuMemAlloc(&address, 12345));
	assert_int_equal(nr_seen, 2);
	assert_int_equal(seen[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	assert_int_equal(seen[1].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	assert_int_equal(seen[0].data.callbackSite, CUPTI_API_ENTER);
	assert_int_equal(seen[1].data.callbackSite, CUPTI_API_EXIT);
	assert_string_equal(seen[0].data.functionName, "cuMemAlloc_v2");
	assert_ptr_equal(params->dptr, &address);
	assert_int_equal(params->bytesize, 12345);
	assert_ptr_equal(seen[1].data.functionParams, seen[0].data.functionParams);
	assert_int_equal(seen[1].result, CUDA_SUCCESS);
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(seen[i].data.context, context);
		assert_int_equal(seen[i].data.contextUid, id);
		assert_null(seen[i].data.symbolName);
	}
	assert_ok(cuMemFree(address));
}

static void test_correlation_joins_beginning_and_end_and_nothing_else(void **state)
{
	CUdeviceptr address;

	(void)state;
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	assert_ok(cuMemAlloc(&address, 1));
	assert_ok(cuMemFree(address));
	assert_int_equal(nr_seen, 4);
	assert_int_equal(seen[0].data.correlationId, seen[1].data.correlationId);
	assert_int_equal(seen[2].data.correlationId, seen[3].data.correlationId);
	assert_int_not_equal(seen[0].data.correlationId, seen[2].data.correlationId);
	assert_int_equal(seen[1].correlation_data, 1000 + seen[0].data.correlationId);
	assert_int_equal(seen[3].correlation_data, 1000 + seen[2].data.correlationId);
}

static void test_failure_comes_with_its_code(void **state)
{
	(void)state;
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	assert_int_equal(cuMemFree(4711), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(nr_seen, 2);
	assert_int_equal(seen[1].result, CUDA_ERROR_INVALID_VALUE);
}

static void test_what_a_callback_calls_is_not_told(void **state)
{
	(void)state;
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	calls_back = true;
	assert_ok(cuCtxSynchronize());
	calls_back = false;
	assert_int_equal(nr_seen, 2);
}

static CUpti_SubscriberHandle late;

static void change_subscriber(void *userdata)
{
	(void)userdata;
	assert_done(cuptiUnsubscribe(subscriber));
	assert_done(cuptiSubscribe(&late, note, NULL));
	assert_done(cuptiEnableDomain(1, late, CUPTI_CB_DOMAIN_DRIVER_API));
}

/* A host function runs inside the call that submits it. */
static void test_only_who_saw_a_call_begin_sees_it_end(void **state)
{
	(void)state;
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	assert_ok(cuLaunchHostFunc(NULL, change_subscriber, NULL));
	assert_int_equal(nr_seen, 1);
	assert_int_equal(seen[0].data.callbackSite, CUPTI_API_ENTER);
	subscriber = late;
}

static void test_function_without_arguments_has_none(void **state)
{
	(void)state;
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	assert_ok(cuCtxSynchronize());
	assert_null(seen[0].data.functionParams);
}

static void test_launch_has_the_name_of_its_kernel(void **state)
{
	CUfunction function;
	CUmodule module;

	(void)state;
	assert_ok(cuModuleLoadData(&module, fixture_ptx));
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	enable(CUPTI_CB_DOMAIN_DRIVER_API);
	assert_ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(nr_seen, 2);
	assert_string_equal(seen[0].data.symbolName, "kernel");
	assert_string_equal(seen[1].data.symbolName, "kernel");
	assert_done(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	assert_ok(cuModuleUnload(module));
}

/* What is there when the callback comes: tools ask for its number then. */
static uint32_t id_when_told;

static void ask_id(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		   const void *data)
{
	const CUpti_ResourceData *resource = data;

	(void)userdata;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
	    cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
		assert_done(cuptiGetStreamId(resource->context, resource->resourceHandle.stream,
					     &id_when_told));
}

static void test_contexts_streams_and_modules_are_told_when_they_come_and_go(void **state)
{
	static const uint32_t expected[] = {
		CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		CUPTI_CBID_RESOURCE_STREAM_CREATED,
		CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
		CUPTI_CBID_RESOURCE_MODULE_LOADED,
		CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
		CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
	};
	CUcontext primary, context;
	CUstream stream;
	CUmodule module;

	(void)state;
	assert_ok(cuCtxGetCurrent(&primary));
	assert_ok(cuDevicePrimaryCtxRelease(0)); /* all it had; it goes */
	enable(CUPTI_CB_DOMAIN_RESOURCE);
	assert_ok(cuDevicePrimaryCtxRetain(&context, 0));
	assert_ok(cuCtxSetCurrent(context));
	assert_ok(cuStreamCreate(&stream, 0));
	assert_ok(cuStreamDestroy(stream));
	assert_ok(cuModuleLoadData(&module, fixture_ptx));
	assert_ok(cuModuleUnload(module));
	assert_ok(cuDevicePrimaryCtxRelease(0));
	assert_int_equal(nr_seen, LENGTH(expected));
	for (unsigned i = 0; i < nr_seen; i++) {
		assert_int_equal(seen[i].domain, CUPTI_CB_DOMAIN_RESOURCE);
		assert_int_equal(seen[i].cbid, expected[i]);
		assert_ptr_equal(seen[i].resource.context, context);
	}
	assert_ptr_equal(seen[1].resource.resourceHandle.stream, stream);
	assert_ptr_equal(seen[2].resource.resourceHandle.stream, stream);
	assert_int_equal(fixture_setup(NULL), 0);
}

static void test_stream_is_still_there_when_it_is_told_to_go(void **state)
{
	CUstream stream;
	uint32_t id;

	(void)state;
	assert_done(cuptiUnsubscribe(subscriber));
	assert_done(cuptiSubscribe(&subscriber, ask_id, NULL));
	enable(CUPTI_CB_DOMAIN_RESOURCE);
	assert_ok(cuStreamCreate(&stream, 0));
	assert_done(cuptiGetStreamId(NULL, stream, &id));
	assert_ok(cuStreamDestroy(stream));
	assert_int_equal(id_when_told, id);
}

static void test_synchronisation_is_told(void **state)
{
	CUcontext context;
	CUstream stream;

	(void)state;
	assert_ok(cuCtxGetCurrent(&context));
	assert_ok(cuStreamCreate(&stream, 0));
	enable(CUPTI_CB_DOMAIN_SYNCHRONIZE);
	assert_ok(cuStreamSynchronize(stream));
	assert_ok(cuCtxSynchronize());
	assert_int_equal(nr_seen, 2);
	assert_int_equal(seen[0].cbid, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
	assert_ptr_equal(seen[0].sync.stream, stream);
	assert_ptr_equal(seen[0].sync.context, context);
	assert_int_equal(seen[1].cbid, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
	assert_ptr_equal(seen[1].sync.context, context);
	assert_ok(cuStreamDestroy(stream));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, subscribe, unsubscribe)
	const struct CMUnitTest tests[] = {
		CASE(test_call_is_told_before_and_after_with_all_that_belongs_to_it),
		CASE(test_correlation_joins_beginning_and_end_and_nothing_else),
		CASE(test_failure_comes_with_its_code),
		CASE(test_what_a_callback_calls_is_not_told),
		CASE(test_only_who_saw_a_call_begin_sees_it_end),
		CASE(test_function_without_arguments_has_none),
		CASE(test_launch_has_the_name_of_its_kernel),
		CASE(test_contexts_streams_and_modules_are_told_when_they_come_and_go),
		CASE(test_stream_is_still_there_when_it_is_told_to_go),
		CASE(test_synchronisation_is_told),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
