/* Streams and events. */
#include "runtime_check.h"

static char nonsense[4096]; /* an address that is no handle */

static void test_streams_have_what_they_were_created_with(void **state)
{
	int least, greatest, priority = 99;
	cudaStream_t stream, other;
	unsigned flags = 99;

	(void)state;
	assert_success(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	assert_success(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
	assert_success(cudaStreamCreate(&other));
	assert_success(cudaStreamGetFlags(stream, &flags));
	assert_int_equal(flags, cudaStreamNonBlocking);
	assert_success(cudaStreamGetPriority(stream, &priority));
	assert_int_equal(priority, greatest);
	assert_success(cudaStreamGetFlags(other, &flags));
	assert_int_equal(flags, cudaStreamDefault);
	assert_success(cudaStreamDestroy(stream));
	assert_success(cudaStreamDestroy(other));
}

#if CUDART_VERSION >= 12000
static void test_streams_differ_in_their_numbers(void **state)
{
	unsigned long long id = 0, other_id = 0;
	cudaStream_t stream, other;
	int device = -1;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaStreamCreate(&other));
	assert_success(cudaStreamGetId(stream, &id));
	assert_success(cudaStreamGetId(other, &other_id));
	assert_true(id != other_id);
	assert_success(cudaStreamGetDevice(stream, &device));
	assert_int_equal(device, 0);
	assert_error(cudaStreamGetId(NULL, NULL), cudaErrorInvalidValue);
	assert_error(cudaStreamGetDevice(NULL, NULL), cudaErrorInvalidValue);
	assert_success(cudaStreamDestroy(stream));
	assert_success(cudaStreamDestroy(other));
}
#endif

static void test_default_streams_can_be_used_and_not_destroyed(void **state)
{
	(void)state;
	assert_success(cudaStreamSynchronize(NULL));
	assert_success(cudaStreamSynchronize(cudaStreamLegacy));
	assert_success(cudaStreamSynchronize(cudaStreamPerThread));
	assert_success(cudaStreamQuery(NULL));
	assert_error(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
}

static void test_bad_stream_arguments_have_their_codes(void **state)
{
	cudaStream_t stream, bad = (cudaStream_t)nonsense;
	int priority;

	(void)state;
	assert_error(cudaStreamCreate(NULL), cudaErrorInvalidValue);
	assert_error(cudaStreamCreateWithFlags(&stream, 0x40), cudaErrorInvalidValue);
	assert_error(cudaStreamCreateWithPriority(NULL, 0, 0), cudaErrorInvalidValue);
	assert_error(cudaStreamSynchronize(bad), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamQuery(bad), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamDestroy(bad), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamGetPriority(bad, &priority), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamGetPriority(NULL, NULL), cudaErrorInvalidValue);
	assert_error(cudaStreamGetFlags(NULL, NULL), cudaErrorInvalidValue);
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaStreamDestroy(stream));
	assert_error(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

static void CUDART_CB note_status(cudaStream_t stream, cudaError_t status, void *data)
{
	(void)stream;
	*(cudaError_t *)data = status;
}

static void CUDART_CB note_call(void *data)
{
	*(int *)data += 1;
}

static void test_callbacks_run_before_the_stream_is_done(void **state)
{
	cudaError_t status = cudaErrorUnknown;
	cudaStream_t stream;
	int calls = 0;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaStreamAddCallback(stream, note_status, &status, 0));
	assert_success(cudaLaunchHostFunc(stream, note_call, &calls));
	assert_success(cudaLaunchHostFunc(stream, note_call, &calls));
	assert_success(cudaStreamSynchronize(stream));
	assert_int_equal(status, cudaSuccess);
	assert_int_equal(calls, 2);
	assert_error(cudaStreamAddCallback(stream, NULL, NULL, 0), cudaErrorInvalidValue);
	assert_error(cudaStreamAddCallback(stream, note_status, NULL, 5), cudaErrorInvalidValue);
	assert_error(cudaLaunchHostFunc(stream, NULL, NULL), cudaErrorInvalidValue);
	assert_success(cudaStreamDestroy(stream));
}

static void test_a_stream_that_does_not_capture_says_so(void **state)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	unsigned long long id;

	(void)state;
	assert_success(cudaStreamIsCapturing(NULL, &status));
	assert_int_equal(status, cudaStreamCaptureStatusNone);
	status = cudaStreamCaptureStatusActive;
#if CUDART_VERSION >= 13000
	assert_success(cudaStreamGetCaptureInfo(NULL, &status, &id, NULL, NULL, NULL, NULL));
#elif CUDART_VERSION >= 12000
	assert_success(cudaStreamGetCaptureInfo(NULL, &status, &id, NULL, NULL, NULL));
#else
	assert_success(cudaStreamGetCaptureInfo(NULL, &status, &id));
#endif
	assert_int_equal(status, cudaStreamCaptureStatusNone);
	assert_error(cudaStreamIsCapturing(NULL, NULL), cudaErrorInvalidValue);
	assert_success(cudaThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, cudaStreamCaptureModeGlobal);
	assert_success(cudaThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, cudaStreamCaptureModeRelaxed);
	assert_error(cudaThreadExchangeStreamCaptureMode(NULL), cudaErrorInvalidValue);
	mode = (enum cudaStreamCaptureMode)9;
	assert_error(cudaThreadExchangeStreamCaptureMode(&mode), cudaErrorInvalidValue);
}

static void test_events_measure_time_that_passes(void **state)
{
	cudaEvent_t start, end;
	float ms = -1;

	(void)state;
	assert_success(cudaEventCreate(&start));
	assert_success(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
	assert_success(cudaEventRecord(start, NULL));
	assert_success(cudaEventRecordWithFlags(end, NULL, cudaEventRecordDefault));
	assert_success(cudaEventSynchronize(end));
	assert_success(cudaEventQuery(end));
	assert_success(cudaEventElapsedTime(&ms, start, end));
	assert_true(ms >= 0);
	assert_error(cudaEventElapsedTime(NULL, start, end), cudaErrorInvalidValue);
	assert_success(cudaEventDestroy(start));
	assert_success(cudaEventDestroy(end));
}

static void test_events_that_cannot_measure_time_refuse_to(void **state)
{
	cudaEvent_t silent, fresh, timed;
	float ms;

	(void)state;
	assert_success(cudaEventCreateWithFlags(&silent, cudaEventDisableTiming));
	assert_success(cudaEventCreate(&fresh));
	assert_success(cudaEventCreate(&timed));
	assert_success(cudaEventRecord(silent, NULL));
	assert_success(cudaEventRecord(timed, NULL));
	assert_error(cudaEventElapsedTime(&ms, silent, timed), cudaErrorInvalidResourceHandle);
	assert_error(cudaEventElapsedTime(&ms, timed, fresh), cudaErrorInvalidResourceHandle);
	assert_success(cudaEventDestroy(silent));
	assert_success(cudaEventDestroy(fresh));
	assert_success(cudaEventDestroy(timed));
}

static void test_bad_event_arguments_have_their_codes(void **state)
{
	cudaEvent_t event, bad = (cudaEvent_t)nonsense;

	(void)state;
	assert_error(cudaEventCreate(NULL), cudaErrorInvalidValue);
	assert_error(cudaEventCreateWithFlags(&event, 0x80), cudaErrorInvalidValue);
	assert_error(cudaEventCreateWithFlags(&event, cudaEventInterprocess),
		     cudaErrorInvalidValue);
	assert_error(cudaEventRecord(NULL, NULL), cudaErrorInvalidResourceHandle);
	assert_error(cudaEventRecord(bad, NULL), cudaErrorInvalidResourceHandle);
	assert_error(cudaEventQuery(NULL), cudaErrorInvalidResourceHandle);
	assert_error(cudaEventSynchronize(bad), cudaErrorInvalidResourceHandle);
	assert_error(cudaEventDestroy(NULL), cudaErrorInvalidResourceHandle);
	assert_error(cudaEventDestroy(bad), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamWaitEvent(NULL, NULL, 0), cudaErrorInvalidResourceHandle);
	assert_error(cudaStreamWaitEvent(NULL, bad, 0), cudaErrorInvalidResourceHandle);
	assert_success(cudaEventCreate(&event));
	assert_error(cudaEventRecordWithFlags(event, NULL, 0x70), cudaErrorInvalidValue);
	assert_success(
		cudaStreamWaitEvent(NULL, event, 0)); /* never recorded: nothing to wait for */
	assert_success(cudaEventQuery(event));
	assert_success(cudaEventDestroy(event));
}

static void test_stream_attributes_can_be_set_and_copied(void **state)
{
	cudaStreamAttrValue value = {0}, read_back;
	cudaStream_t stream, other;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaStreamCreate(&other));
	value.syncPolicy = cudaSyncPolicySpin;
	assert_success(
		cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
	assert_success(cudaStreamCopyAttributes(other, stream));
	assert_success(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy,
					      &read_back));
	assert_int_equal(read_back.syncPolicy, cudaSyncPolicySpin);
	assert_error(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, NULL),
		     cudaErrorInvalidValue);
	assert_success(cudaStreamDestroy(stream));
	assert_success(cudaStreamDestroy(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_have_what_they_were_created_with),
#if CUDART_VERSION >= 12000
		cmocka_unit_test(test_streams_differ_in_their_numbers),
#endif
		cmocka_unit_test(test_default_streams_can_be_used_and_not_destroyed),
		cmocka_unit_test(test_bad_stream_arguments_have_their_codes),
		cmocka_unit_test(test_callbacks_run_before_the_stream_is_done),
		cmocka_unit_test(test_a_stream_that_does_not_capture_says_so),
		cmocka_unit_test(test_events_measure_time_that_passes),
		cmocka_unit_test(test_events_that_cannot_measure_time_refuse_to),
		cmocka_unit_test(test_bad_event_arguments_have_their_codes),
		cmocka_unit_test(test_stream_attributes_can_be_set_and_copied),
	};

	return cmocka_run_group_tests(tests, reset_device, NULL);
}
