#include "tool_fixture.h"

#include <cupti_profiler_target.h>

/* Aligned like a handle, and nothing one may read. */
#define NOT_A_HANDLE ((void *)0x12340)

static void test_version_is_that_of_the_headers(void **state)
{
	uint32_t version;

	(void)state;
	assert_done(cuptiGetVersion(&version));
	assert_int_equal(version, CUPTI_API_VERSION);
	assert_cupti(cuptiGetVersion(NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

static void test_results_have_names(void **state)
{
	const char *text;

	(void)state;
	assert_done(cuptiGetResultString(CUPTI_SUCCESS, &text));
	assert_string_equal(text, "CUPTI_SUCCESS");
	assert_done(cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &text));
	assert_string_equal(text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
	assert_done(cuptiGetResultString(CUPTI_ERROR_UNKNOWN, &text));
	assert_string_equal(text, "CUPTI_ERROR_UNKNOWN");
	assert_cupti(cuptiGetResultString((CUptiResult)12345, &text),
		     CUPTI_ERROR_INVALID_PARAMETER);
	assert_string_equal(text, "<unknown>");
	assert_cupti(cuptiGetResultString(CUPTI_SUCCESS, NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

static void test_time_goes_on(void **state)
{
	uint64_t first, second;

	(void)state;
	assert_done(cuptiGetTimestamp(&first));
	assert_done(cuptiGetTimestamp(&second));
	assert_true(first > 0 && first <= second);
	assert_cupti(cuptiGetTimestamp(NULL), CUPTI_ERROR_INVALID_PARAMETER);
}

static void test_contexts_have_numbers_and_devices(void **state)
{
	CUcontext first, second;
	uint32_t first_id, second_id, device;

	(void)state;
	assert_ok(cuCtxGetCurrent(&first));
	assert_ok(cuDevicePrimaryCtxRetain(&second, 1));
	assert_done(cuptiGetContextId(first, &first_id));
	assert_done(cuptiGetContextId(second, &second_id));
	assert_int_not_equal(first_id, second_id);
	assert_done(cuptiGetDeviceId(second, &device));
	assert_int_equal(device, 1);
	assert_cupti(cuptiGetContextId(NULL, &first_id), CUPTI_ERROR_INVALID_CONTEXT);
	assert_cupti(cuptiGetContextId(NOT_A_HANDLE, &first_id), CUPTI_ERROR_INVALID_CONTEXT);
	assert_cupti(cuptiGetContextId(first, NULL), CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiGetDeviceId(NULL, &device), CUPTI_ERROR_INVALID_PARAMETER);
	assert_cupti(cuptiGetDeviceId(NOT_A_HANDLE, &device), CUPTI_ERROR_INVALID_DEVICE);
	assert_ok(cuDevicePrimaryCtxRelease(1));
}

static void test_streams_have_numbers_in_their_context(void **state)
{
	CUcontext context, other, current;
	CUstream stream;
	uint32_t id, default_id, per_thread_id, other_id;

	(void)state;
	assert_ok(cuCtxGetCurrent(&context));
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	assert_ok(cuStreamCreate(&stream, 0));
	assert_done(cuptiGetStreamId(context, stream, &id));
	assert_done(cuptiGetStreamId(context, NULL, &default_id));
	assert_done(cuptiGetStreamIdEx(context, NULL, 1, &per_thread_id));
	assert_done(cuptiGetStreamId(other, NULL, &other_id));
	assert_int_not_equal(id, default_id);
	assert_int_not_equal(default_id, per_thread_id);
	assert_int_not_equal(default_id, other_id);
	assert_cupti(cuptiGetStreamId(other, stream, &id), CUPTI_ERROR_INVALID_STREAM);
	assert_cupti(cuptiGetStreamId(context, NOT_A_HANDLE, &id), CUPTI_ERROR_INVALID_STREAM);
	assert_cupti(cuptiGetStreamId(context, stream, NULL), CUPTI_ERROR_INVALID_PARAMETER);
	/* Asking changed nothing. */
	assert_ok(cuCtxGetCurrent(&current));
	assert_ptr_equal(current, context);
	assert_ok(cuStreamDestroy(stream));
	assert_ok(cuDevicePrimaryCtxRelease(1));
}

static void test_devices_are_supported_and_count_no_events(void **state)
{
	CUpti_Profiler_DeviceSupported_Params params = {
		.structSize = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE};
	CUpti_DeviceVirtualizationMode mode;
	int is_supported = 0;

	(void)state;
	assert_done(cuptiDeviceSupported(0, &is_supported));
	assert_int_equal(is_supported, 1);
	assert_cupti(cuptiDeviceSupported(9, &is_supported), CUPTI_ERROR_INVALID_DEVICE);
	assert_done(cuptiDeviceVirtualizationMode(0, &mode));
	assert_int_equal(mode, CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE);
	assert_done(cuptiProfilerDeviceSupported(&params));
	assert_int_equal(params.isSupported, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_is_that_of_the_headers),
		cmocka_unit_test(test_results_have_names),
		cmocka_unit_test(test_time_goes_on),
		cmocka_unit_test(test_contexts_have_numbers_and_devices),
		cmocka_unit_test(test_streams_have_numbers_in_their_context),
		cmocka_unit_test(test_devices_are_supported_and_count_no_events),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
