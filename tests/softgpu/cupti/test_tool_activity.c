#include "record_sink.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static void synchronise(int times)
{
	for (int i = 0; i < times; i++)
		assert_ok(cuCtxSynchronize());
}

static void test_calls_get_records_with_times_and_result(void **state)
{
	const CUpti_ActivityAPI *record;
	uint64_t before, after;

	(void)state;
	assert_done(cuptiGetTimestamp(&before));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(1);
	assert_int_equal(cuMemFree(4711), CUDA_ERROR_INVALID_VALUE);
	assert_done(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(1);
	assert_int_equal(sink.nr_completed, 0);
	assert_done(cuptiActivityFlushAll(0));
	assert_done(cuptiGetTimestamp(&after));
	assert_int_equal(sink.nr_records, 2);
	record = sink_get(0, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(record->cbid, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
	assert_true(before <= record->start && record->start <= record->end &&
		    record->end <= after);
	assert_int_equal(record->processId, getpid());
	assert_int_equal(record->threadId, (uint32_t)(uintptr_t)pthread_self());
	assert_int_equal(record->returnValue, CUDA_SUCCESS);
	record = sink_get(1, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(record->returnValue, CUDA_ERROR_INVALID_VALUE);
}

static void test_thread_is_named_as_asked(void **state)
{
	const CUpti_ActivityAPI *record;
	CUpti_ActivityThreadIdType type;

	(void)state;
	assert_done(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	assert_done(cuptiGetThreadIdType(&type));
	assert_int_equal(type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(1);
	assert_done(cuptiActivityFlushAll(0));
	record = sink_get(0, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(record->threadId, syscall(SYS_gettid));
	assert_done(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT));
	assert_cupti(cuptiSetThreadIdType((CUpti_ActivityThreadIdType)9),
		     CUPTI_ERROR_NOT_SUPPORTED);
	assert_cupti(cuptiGetThreadIdType(NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

static void test_kernels_can_be_asked_for_and_give_no_records(void **state)
{
	CUfunction function;
	CUmodule module;

	(void)state;
	assert_ok(cuModuleLoadData(&module, fixture_ptx));
	assert_ok(cuModuleGetFunction(&function, module, "kernel"));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD));
	assert_ok(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_done(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	assert_int_equal(sink.nr_requested, 0);
	assert_int_equal(sink.nr_records, 0);
	assert_ok(cuModuleUnload(module));
}

/* Kineto flushes only if it was asked for a buffer. */
static void test_buffer_is_asked_for_with_the_first_record(void **state)
{
	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_int_equal(sink.nr_requested, 0);
	synchronise(3);
	assert_int_equal(sink.nr_requested, 1);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(sink.nr_requested, 1);
	assert_int_equal(sink.nr_completed, 1);
	assert_int_equal(sink.nr_records, 3);
}

static void test_buffer_comes_back_though_nothing_is_in_it(void **state)
{
	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(1);
	assert_done(cuptiActivityFlushAll(0));
	synchronise(1); /* asks for another one */
	assert_int_equal(sink.nr_requested, 2);
	assert_int_equal(sink.nr_completed, 1);
	assert_done(cuptiFinalize());
	assert_int_equal(sink.nr_completed, 2);
}

static void test_small_buffers_are_filled_one_after_the_other(void **state)
{
	(void)state;
	sink.buffer_size = sizeof(CUpti_ActivityAPI) * 2 + 8;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(5);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(sink.nr_records, 5);
	assert_int_equal(sink.nr_requested, 3);
	assert_int_equal(sink.nr_completed, 3);
}

static void test_buffer_gets_no_more_records_than_it_may_have(void **state)
{
	(void)state;
	sink.max_records = 1;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(3);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(sink.nr_records, 3);
	assert_int_equal(sink.nr_completed, 3);
}

static void test_records_without_a_buffer_are_counted_as_dropped(void **state)
{
	size_t dropped = 0;

	(void)state;
	sink.buffer_size = 0;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(3);
	assert_done(cuptiActivityFlushAll(0));
	sink.buffer_size = sizeof(CUpti_ActivityAPI) - 8; /* too small for one */
	synchronise(1);
	assert_done(cuptiActivityFlushAll(0));
	assert_done(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	assert_int_equal(dropped, 4);
	assert_done(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	assert_int_equal(dropped, 0);
	assert_int_equal(sink.nr_records, 0);
	assert_cupti(cuptiActivityGetNumDroppedRecords(NULL, 0, NULL),
		     CUPTI_ERROR_INVALID_PARAMETER);
}

static unsigned nr_delivered;

static void count_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			   size_t valid_size)
{
	(void)context;
	(void)stream;
	(void)size;
	nr_delivered += (unsigned)(valid_size / sizeof(CUpti_ActivityAPI));
	/* The program's function may call both. */
	assert_ok(cuCtxSynchronize());
	assert_done(cuptiActivityFlushAll(0));
	free(buffer);
}

static void test_many_records_are_delivered_unasked(void **state)
{
	(void)state;
	nr_delivered = 0;
	assert_done(cuptiActivityRegisterCallbacks(sink_request, count_complete));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	synchronise(5000);
	assert_true(nr_delivered > 1000);
	assert_done(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	/* Once for what is left, once for what the delivery itself called. */
	assert_done(cuptiActivityFlushAll(0));
	assert_done(cuptiActivityFlushAll(0));
	assert_true(nr_delivered >= 5000);
}

static void test_single_functions_are_switched_where_the_release_can(void **state)
{
#if CUPTI_API_VERSION >= 26 /* 12.8 */
	(void)state;
	assert_done(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 1));
	synchronise(2);
	assert_int_equal(cuMemFree(4711), CUDA_ERROR_INVALID_VALUE);
	assert_done(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, 0));
	synchronise(2);
	assert_done(cuptiActivityFlushAll(0));
	assert_int_equal(sink.nr_records, 2);
	assert_cupti(cuptiActivityEnableRuntimeApi(0, 1), CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_SIZE, 1),
		     CUPTI_ERROR_INVALID_PARAMETER);
#else
	(void)state;
#endif
}

static void test_kind_that_does_not_exist_is_an_error(void **state)
{
	(void)state;
	assert_cupti(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
	assert_cupti(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT), CUPTI_ERROR_INVALID_KIND);
	assert_cupti(cuptiActivityDisable((CUpti_ActivityKind)-1), CUPTI_ERROR_INVALID_KIND);
	assert_cupti(cuptiActivityEnableContext(NULL, CUPTI_ACTIVITY_KIND_KERNEL),
		     CUPTI_ERROR_INVALID_PARAMETER);
}

static void test_flush_wants_somebody_to_take_the_records(void **state)
{
	(void)state;
	assert_done(cuptiFinalize());
	assert_cupti(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
	assert_cupti(cuptiActivityRegisterCallbacks(NULL, sink_complete),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiActivityRegisterCallbacks(sink_request, NULL),
		     CUPTI_ERROR_INVALID_PARAMETER);
}

static void test_walk_over_a_buffer_ends_where_it_ends(void **state)
{
	_Alignas(8) uint8_t buffer[256] = {0};
	CUpti_ActivityAPI *first = (void *)buffer;
	CUpti_Activity *record = NULL;

	(void)state;
	first->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
	assert_cupti(cuptiActivityGetNextRecord(buffer, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
	assert_done(cuptiActivityGetNextRecord(buffer, sizeof(*first), &record));
	assert_ptr_equal(record, buffer);
	assert_cupti(cuptiActivityGetNextRecord(buffer, sizeof(*first), &record),
		     CUPTI_ERROR_MAX_LIMIT_REACHED);
	/* What follows is of no kind. */
	assert_cupti(cuptiActivityGetNextRecord(buffer, sizeof(*first) + 8, &record),
		     CUPTI_ERROR_INVALID_KIND);
	assert_cupti(cuptiActivityGetNextRecord(NULL, 8, &record), CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiActivityGetNextRecord(buffer, 8, NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, sink_setup, sink_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_calls_get_records_with_times_and_result),
		CASE(test_thread_is_named_as_asked),
		CASE(test_kernels_can_be_asked_for_and_give_no_records),
		CASE(test_buffer_is_asked_for_with_the_first_record),
		CASE(test_buffer_comes_back_though_nothing_is_in_it),
		CASE(test_small_buffers_are_filled_one_after_the_other),
		CASE(test_buffer_gets_no_more_records_than_it_may_have),
		CASE(test_records_without_a_buffer_are_counted_as_dropped),
		CASE(test_many_records_are_delivered_unasked),
		CASE(test_single_functions_are_switched_where_the_release_can),
		CASE(test_kind_that_does_not_exist_is_an_error),
		CASE(test_flush_wants_somebody_to_take_the_records),
		CASE(test_walk_over_a_buffer_ends_where_it_ends),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
