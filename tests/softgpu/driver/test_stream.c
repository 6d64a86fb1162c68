#include "driver_fixture.h"

static CUstream create(void)
{
	CUstream stream;

	assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static void test_creation_checks_its_arguments(void **state)
{
	CUcontext mine;
	CUstream stream;

	(void)state;
	assert_cuda(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamCreateWithPriority(&stream, 0x80000000u, 0), CUDA_ERROR_INVALID_VALUE);
	mine = fixture_exchange_context(NULL);
	assert_cuda(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
	fixture_exchange_context(mine);
}

static void test_priority_is_clamped_to_the_range(void **state)
{
	int least, greatest, priority;
	CUstream stream;

	(void)state;
	assert_ok(cuCtxGetStreamPriorityRange(&least, &greatest));
	assert_true(greatest < least);
	for (int wanted = greatest - 2; wanted <= least + 2; wanted++) {
		assert_ok(cuStreamCreateWithPriority(&stream, 0, wanted));
		assert_ok(cuStreamGetPriority(stream, &priority));
		assert_int_equal(priority, wanted < greatest ? greatest
					   : wanted > least  ? least
							     : wanted);
		assert_ok(cuStreamDestroy_v2(stream));
	}
}

static void test_stream_tells_what_it_was_made_with(void **state)
{
	CUstream stream = create(), plain;
	unsigned flags = 9;
	CUdevice device = 9;
	CUcontext context, expected;
	CUgreenCtx green = (CUgreenCtx)NOT_A_HANDLE;

	(void)state;
	assert_ok(cuStreamCreate(&plain, CU_STREAM_DEFAULT));
	assert_ok(cuStreamGetFlags(stream, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	assert_ok(cuStreamGetFlags(plain, &flags));
	assert_int_equal(flags, CU_STREAM_DEFAULT);
	assert_ok(cuStreamGetDevice(stream, &device));
	assert_int_equal(device, 0);
	assert_ok(cuCtxGetCurrent(&expected));
	assert_ok(cuStreamGetCtx(stream, &context));
	assert_ptr_equal(context, expected);
	assert_ok(cuStreamGetCtx_v2(stream, &context, &green));
	assert_ptr_equal(context, expected);
	assert_null(green);
	assert_ok(cuStreamDestroy_v2(stream));
	assert_ok(cuStreamDestroy_v2(plain));
}

static void test_ids_are_unique(void **state)
{
	CUstream first = create(), second = create();
	unsigned long long ids[4];

	(void)state;
	assert_ok(cuStreamGetId(first, &ids[0]));
	assert_ok(cuStreamGetId(second, &ids[1]));
	assert_ok(cuStreamGetId(NULL, &ids[2]));
	assert_ok(cuStreamGetId(CU_STREAM_PER_THREAD, &ids[3]));
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			assert_true(ids[i] != ids[j]);
	assert_ok(cuStreamDestroy_v2(first));
	first = create();
	assert_ok(cuStreamGetId(first, &ids[3]));
	assert_true(ids[3] != ids[0]);
	assert_ok(cuStreamDestroy_v2(first));
	assert_ok(cuStreamDestroy_v2(second));
}

static void test_contexts_own_streams_are_always_there(void **state)
{
	static const CUstream own[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
	CUcontext context, expected;
	int priority;

	(void)state;
	assert_ok(cuCtxGetCurrent(&expected));
	for (int i = 0; i < 3; i++) {
		assert_ok(cuStreamQuery(own[i]));
		assert_ok(cuStreamSynchronize(own[i]));
		assert_ok(cuStreamGetPriority(own[i], &priority));
		assert_int_equal(priority, 0);
		assert_ok(cuStreamGetCtx(own[i], &context));
		assert_ptr_equal(context, expected);
		assert_cuda(cuStreamDestroy_v2(own[i]), CUDA_ERROR_INVALID_HANDLE);
	}
}

static void test_contexts_own_streams_need_a_context(void **state)
{
	CUstream stream = create();
	CUcontext context, mine = fixture_exchange_context(NULL);

	(void)state;
	assert_cuda(cuStreamQuery(NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_cuda(cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_CONTEXT);
	assert_cuda(cuStreamGetCtx(NULL, &context), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuStreamGetCtx(stream, &context)); /* this one knows its own */
	assert_ptr_equal(context, mine);
	fixture_exchange_context(mine);
	assert_ok(cuStreamDestroy(stream));
}

static void test_unknown_streams_are_invalid_handles_everywhere(void **state)
{
	CUstream gone = create(), bad[2];
	CUstreamCaptureStatus status;
	CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_AUTO};
	unsigned long long id;
	unsigned flags;
	int priority;
	CUdevice device;
	CUcontext context;

	(void)state;
	assert_ok(cuStreamDestroy_v2(gone));
	bad[0] = gone;
	bad[1] = NOT_A_HANDLE;
	for (int i = 0; i < 2; i++) {
		assert_cuda(cuStreamDestroy_v2(bad[i]), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamDestroy(bad[i]), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamQuery(bad[i]), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamSynchronize(bad[i]), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamGetId(bad[i], &id), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamGetFlags(bad[i], &flags), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamGetPriority(bad[i], &priority), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamGetDevice(bad[i], &device), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamGetCtx(bad[i], &context), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamIsCapturing(bad[i], &status), CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamGetAttribute(bad[i], CU_STREAM_ATTRIBUTE_PRIORITY, &value),
			    CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamSetAttribute(bad[i], CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY,
						 &value),
			    CUDA_ERROR_INVALID_HANDLE);
		assert_cuda(cuStreamCopyAttributes(bad[i], NULL), CUDA_ERROR_INVALID_VALUE);
	}
}

static void test_missing_outputs_are_invalid_values(void **state)
{
	CUstream stream = create();

	(void)state;
	assert_cuda(cuStreamGetId(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetFlags(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetPriority(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetDevice(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetCtx(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamIsCapturing(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetCaptureInfo(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuStreamDestroy_v2(stream));
}

static void test_waiting_for_an_event_checks_event_and_flags(void **state)
{
	CUstream stream = create();
	CUevent event;

	(void)state;
	assert_ok(cuEventCreate(&event, 0));
	assert_ok(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
	assert_cuda(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWaitEvent(stream, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuStreamWaitEvent(NOT_A_HANDLE, event, 0), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuEventDestroy_v2(event));
	assert_ok(cuStreamDestroy_v2(stream));
}

struct call {
	CUstream stream;
	CUresult status;
	int count;
};

static void callback(CUstream stream, CUresult status, void *data)
{
	struct call *call = data;

	call->stream = stream;
	call->status = status;
	call->count++;
}

static void host_function(void *data)
{
	++*(int *)data;
}

static void test_callbacks_have_run_when_the_call_returns(void **state)
{
	CUstream stream = create();
	struct call call = {.status = CUDA_ERROR_UNKNOWN};
	int count = 0;

	(void)state;
	assert_ok(cuStreamAddCallback(stream, callback, &call, 0));
	assert_int_equal(call.count, 1);
	assert_ptr_equal(call.stream, stream);
	assert_int_equal(call.status, CUDA_SUCCESS);
	assert_ok(cuLaunchHostFunc(stream, host_function, &count));
	assert_ok(cuLaunchHostFunc(NULL, host_function, &count));
	assert_int_equal(count, 2);
	assert_cuda(cuStreamAddCallback(stream, NULL, &call, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamAddCallback(stream, callback, &call, 1), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamAddCallback(NOT_A_HANDLE, callback, &call, 0),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLaunchHostFunc(NOT_A_HANDLE, host_function, &count),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(call.count + count, 3);
	assert_ok(cuStreamDestroy_v2(stream));
}

static void test_no_stream_is_capturing(void **state)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	cuuint64_t id;

	(void)state;
	assert_ok(cuStreamIsCapturing(NULL, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	assert_ok(cuStreamGetCaptureInfo(CU_STREAM_PER_THREAD, &status, &id));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	assert_ok(cuStreamGetCaptureInfo_v2(NULL, &status, NULL, NULL, NULL, NULL));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	assert_ok(cuStreamGetCaptureInfo_v3(NULL, &status, NULL, NULL, NULL, NULL, NULL));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static void test_capture_mode_of_the_thread_is_exchanged(void **state)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)state;
	assert_ok(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	assert_ok(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	mode = (CUstreamCaptureMode)3;
	assert_cuda(cuThreadExchangeStreamCaptureMode(&mode), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuThreadExchangeStreamCaptureMode(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_attributes_are_kept_and_copied(void **state)
{
	CUstream from = create(), to = create();
	CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_YIELD};

	(void)state;
	assert_ok(cuStreamSetAttribute(from, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	value.priority = -3;
	assert_ok(cuStreamSetAttribute(from, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
	value.accessPolicyWindow = (CUaccessPolicyWindow){
		.num_bytes = 4096,
		.hitRatio = 0.5f,
		.hitProp = CU_ACCESS_PROPERTY_PERSISTING,
		.missProp = CU_ACCESS_PROPERTY_STREAMING,
	};
	assert_ok(cuStreamSetAttribute(from, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
	assert_ok(cuStreamCopyAttributes(to, from));
	memset(&value, 0, sizeof(value));
	assert_ok(cuStreamGetAttribute(to, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	assert_int_equal(value.syncPolicy, CU_SYNC_POLICY_YIELD);
	assert_ok(cuStreamGetAttribute(to, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
	assert_int_equal(value.priority, -3);
	assert_ok(cuStreamGetAttribute(to, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
	assert_int_equal(value.accessPolicyWindow.num_bytes, 4096);
	assert_ok(cuStreamDestroy_v2(from));
	assert_ok(cuStreamDestroy_v2(to));
}

static void test_bad_attributes_are_invalid_values(void **state)
{
	CUstreamAttrValue value = {0};

	(void)state;
	assert_cuda(cuStreamSetAttribute(NULL, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
		    CUDA_ERROR_INVALID_VALUE); /* 0 is no policy */
	value.priority = 1;
	assert_cuda(cuStreamSetAttribute(NULL, CU_STREAM_ATTRIBUTE_PRIORITY, &value),
		    CUDA_ERROR_INVALID_VALUE);
	value.accessPolicyWindow.hitRatio = 2;
	assert_cuda(cuStreamSetAttribute(NULL, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamSetAttribute(NULL, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
		    CUDA_ERROR_INVALID_VALUE); /* not of streams */
	assert_cuda(cuStreamSetAttribute(NULL, CU_STREAM_ATTRIBUTE_PRIORITY, NULL),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetAttribute(NULL, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamGetAttribute(NULL, CU_STREAM_ATTRIBUTE_PRIORITY, NULL),
		    CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuStreamGetAttribute(NULL, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	assert_int_equal(value.syncPolicy, CU_SYNC_POLICY_AUTO);
}

static void test_only_managed_memory_is_attached(void **state)
{
	CUstream stream = create();
	CUdeviceptr managed, device;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemAlloc_v2(&device, 4096));
	assert_ok(cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
	assert_ok(cuStreamAttachMemAsync(NULL, managed, 4096, CU_MEM_ATTACH_HOST));
	assert_cuda(cuStreamAttachMemAsync(stream, managed, 64, CU_MEM_ATTACH_GLOBAL),
		    CUDA_ERROR_INVALID_VALUE); /* a part of it */
	assert_cuda(cuStreamAttachMemAsync(stream, managed, 0, 3), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamAttachMemAsync(stream, managed, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_SINGLE),
		    CUDA_ERROR_INVALID_VALUE); /* the NULL stream is not one stream */
	assert_cuda(cuStreamAttachMemAsync(stream, device, 0, CU_MEM_ATTACH_GLOBAL),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamAttachMemAsync(stream, 0, 0, CU_MEM_ATTACH_GLOBAL),
		    CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuMemFree_v2(managed));
	assert_ok(cuMemFree_v2(device));
	assert_ok(cuStreamDestroy_v2(stream));
}

static void test_words_are_written_in_stream_order(void **state)
{
	CUstream stream = create();
	CUdeviceptr memory;
	uint64_t words[2] = {0, 0};
	CUstreamBatchMemOpParams batch[2] = {
		{.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .value64 = 7}},
		{.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64, .value64 = 7}},
	};

	(void)state;
	assert_ok(cuMemAlloc_v2(&memory, sizeof(words)));
	assert_ok(cuMemsetD8_v2(memory, 0, sizeof(words)));
	assert_ok(cuStreamWriteValue64_v2(stream, memory, 0x123456789abcdef0u, 0));
	assert_ok(cuStreamWriteValue32_v2(stream, memory + 12, 5, 1));
	assert_ok(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
	assert_true(words[0] == 0x123456789abcdef0u);
	assert_true(words[1] == (uint64_t)5 << 32);
	/* Nobody has written that yet, and the call comes back all the same. */
	assert_ok(cuStreamWaitValue32_v2(stream, memory, 99, CU_STREAM_WAIT_VALUE_EQ));
	assert_ok(cuStreamWaitValue64_v2(NULL, memory, 99, CU_STREAM_WAIT_VALUE_NOR));
	batch[0].writeValue.address = batch[1].waitValue.address = memory + 8;
	assert_ok(cuStreamBatchMemOp_v2(stream, 2, batch, 0));
	assert_ok(cuMemcpyDtoH_v2(words, memory, sizeof(words)));
	assert_true(words[1] == 7);
	assert_ok(cuMemFree_v2(memory));
	assert_ok(cuStreamDestroy_v2(stream));
}

static void test_bad_words_are_invalid_values(void **state)
{
	CUstreamBatchMemOpParams operation = {.operation = (CUstreamBatchMemOpType)77};
	CUdeviceptr memory;

	(void)state;
	assert_ok(cuMemAlloc_v2(&memory, 64));
	assert_cuda(cuStreamWriteValue64_v2(NULL, memory + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWriteValue32_v2(NULL, memory + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWriteValue32_v2(NULL, memory, 0, 2), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWriteValue32_v2(NULL, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWriteValue32_v2(NOT_A_HANDLE, memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWaitValue32_v2(NULL, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWaitValue32_v2(NULL, memory, 0, 4), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamWaitValue32_v2(NULL, memory, 0, CU_STREAM_WAIT_VALUE_FLUSH),
		    CUDA_ERROR_NOT_SUPPORTED);
	assert_cuda(cuStreamBatchMemOp_v2(NULL, 1, &operation, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamBatchMemOp_v2(NULL, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuStreamBatchMemOp_v2(NULL, 256, &operation, 0), CUDA_ERROR_INVALID_VALUE);
	operation.operation = CU_STREAM_MEM_OP_BARRIER;
	assert_ok(cuStreamBatchMemOp_v2(NULL, 1, &operation, 0));
	assert_cuda(cuStreamBatchMemOp_v2(NULL, 1, &operation, 1), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuMemFree_v2(memory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_creation_checks_its_arguments),
		cmocka_unit_test(test_priority_is_clamped_to_the_range),
		cmocka_unit_test(test_stream_tells_what_it_was_made_with),
		cmocka_unit_test(test_ids_are_unique),
		cmocka_unit_test(test_contexts_own_streams_are_always_there),
		cmocka_unit_test(test_contexts_own_streams_need_a_context),
		cmocka_unit_test(test_unknown_streams_are_invalid_handles_everywhere),
		cmocka_unit_test(test_missing_outputs_are_invalid_values),
		cmocka_unit_test(test_waiting_for_an_event_checks_event_and_flags),
		cmocka_unit_test(test_callbacks_have_run_when_the_call_returns),
		cmocka_unit_test(test_no_stream_is_capturing),
		cmocka_unit_test(test_capture_mode_of_the_thread_is_exchanged),
		cmocka_unit_test(test_attributes_are_kept_and_copied),
		cmocka_unit_test(test_bad_attributes_are_invalid_values),
		cmocka_unit_test(test_only_managed_memory_is_attached),
		cmocka_unit_test(test_words_are_written_in_stream_order),
		cmocka_unit_test(test_bad_words_are_invalid_values),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
