#include "driver_fixture.h"

static CUevent create(unsigned flags)
{
	CUevent event;

	assert_ok(cuEventCreate(&event, flags));
	return event;
}

static void test_creation_checks_its_flags(void **state)
{
	CUevent event;

	(void)state;
	assert_cuda(cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuEventCreate(&event, 8), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	assert_ok(cuEventDestroy_v2(event));
}

static void test_event_that_was_never_recorded_is_complete(void **state)
{
	CUevent event = create(CU_EVENT_DEFAULT);

	(void)state;
	assert_ok(cuEventQuery(event));
	assert_ok(cuEventSynchronize(event));
	assert_ok(cuEventDestroy_v2(event));
}

static void test_destroyed_event_is_no_handle(void **state)
{
	CUevent event = create(CU_EVENT_DEFAULT);
	float time;

	(void)state;
	assert_ok(cuEventDestroy(event));
	assert_cuda(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventSynchronize(event), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventElapsedTime_v2(&time, event, event), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuStreamWaitEvent(NULL, event, 0), CUDA_ERROR_INVALID_HANDLE);
}

static void test_things_that_are_no_events_are_invalid_handles(void **state)
{
	CUstream stream;

	(void)state;
	assert_ok(cuStreamCreate(&stream, 0));
	assert_cuda(cuEventQuery(NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventQuery(NOT_A_HANDLE), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventQuery((CUevent)(void *)stream), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventRecord(NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuStreamDestroy_v2(stream));
}

static void test_elapsed_time_goes_forward_and_backward(void **state)
{
	CUevent start = create(CU_EVENT_DEFAULT), end = create(CU_EVENT_BLOCKING_SYNC);
	float forward = -1, backward = 1, newer = -1, same = -1;

	(void)state;
	assert_ok(cuEventRecord(start, NULL));
	assert_ok(cuEventRecord(end, CU_STREAM_PER_THREAD));
	assert_ok(cuEventElapsedTime_v2(&forward, start, end));
	assert_true(forward >= 0);
	assert_ok(cuEventElapsedTime(&backward, end, start));
	assert_true(backward == -forward);
	assert_ok(cuEventElapsedTime(&same, end, end));
	assert_true(same == 0);
	assert_ok(cuEventRecordWithFlags(end, NULL, CU_EVENT_RECORD_DEFAULT));
	assert_ok(cuEventElapsedTime_v2(&newer, start, end));
	assert_true(newer >= forward);
	assert_ok(cuEventDestroy_v2(start));
	assert_ok(cuEventDestroy_v2(end));
}

static void test_elapsed_time_needs_both_recorded_and_timed(void **state)
{
	CUevent recorded = create(0), fresh = create(0), untimed = create(CU_EVENT_DISABLE_TIMING);
	float time = 3;

	(void)state;
	assert_ok(cuEventRecord(recorded, NULL));
	assert_ok(cuEventRecord(untimed, NULL));
	assert_cuda(cuEventElapsedTime_v2(&time, recorded, fresh), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventElapsedTime_v2(&time, fresh, recorded), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventElapsedTime_v2(&time, recorded, untimed), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventElapsedTime_v2(&time, untimed, recorded), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventElapsedTime_v2(&time, recorded, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventElapsedTime_v2(NULL, recorded, recorded), CUDA_ERROR_INVALID_VALUE);
	assert_true(time == 3); /* untouched */
	assert_ok(cuEventDestroy_v2(recorded));
	assert_ok(cuEventDestroy_v2(fresh));
	assert_ok(cuEventDestroy_v2(untimed));
}

static void test_record_flag_for_captures_is_invalid_outside(void **state)
{
	CUevent event = create(0);

	(void)state;
	assert_cuda(cuEventRecordWithFlags(event, NULL, CU_EVENT_RECORD_EXTERNAL),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuEventRecord(event, NOT_A_HANDLE), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuEventDestroy_v2(event));
}

static void test_event_and_stream_must_be_of_one_context(void **state)
{
	CUevent event = create(0);
	CUcontext other, mine;
	CUstream stream;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	mine = fixture_exchange_context(other);
	assert_ok(cuStreamCreate(&stream, 0));
	assert_cuda(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuStreamWaitEvent(stream, event, 0)); /* this may cross devices */
	assert_ok(cuEventQuery(event));                 /* and so may this */
	fixture_exchange_context(mine);
	assert_ok(cuEventRecord(event, NULL));
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
	assert_cuda(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuEventDestroy_v2(event));
}

static void test_events_go_with_their_context(void **state)
{
	CUcontext context, mine;
	CUevent event;

	(void)state;
	assert_ok(cuCtxGetCurrent(&mine));
	assert_ok(cuCtxCreate_v2(&context, 0, 0));
	event = create(0);
	assert_ok(cuCtxDestroy_v2(context));
	assert_cuda(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuCtxSetCurrent(mine));
}

static void test_no_event_without_a_context(void **state)
{
	CUcontext mine = fixture_exchange_context(NULL);
	CUevent event;

	(void)state;
	assert_cuda(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
	fixture_exchange_context(mine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_creation_checks_its_flags),
		cmocka_unit_test(test_event_that_was_never_recorded_is_complete),
		cmocka_unit_test(test_destroyed_event_is_no_handle),
		cmocka_unit_test(test_things_that_are_no_events_are_invalid_handles),
		cmocka_unit_test(test_elapsed_time_goes_forward_and_backward),
		cmocka_unit_test(test_elapsed_time_needs_both_recorded_and_timed),
		cmocka_unit_test(test_record_flag_for_captures_is_invalid_outside),
		cmocka_unit_test(test_event_and_stream_must_be_of_one_context),
		cmocka_unit_test(test_events_go_with_their_context),
		cmocka_unit_test(test_no_event_without_a_context),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
