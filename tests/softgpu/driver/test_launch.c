#include "driver_fixture.h"

static CUmodule module;
static CUfunction function;
static CUlibrary library;
static CUkernel kernel;

static int setup(void **state)
{
	return fixture_setup(state) || cuModuleLoadData(&module, fixture_ptx) ||
	       cuModuleGetFunction(&function, module, "kernel") ||
	       cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, NULL, NULL, 0) ||
	       cuLibraryGetKernel(&kernel, library, "kernel");
}

static int teardown(void **state)
{
	return cuModuleUnload(module) || cuLibraryUnload(library) || fixture_teardown(state);
}

static CUresult launch(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared)
{
	return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, NULL, NULL, NULL);
}

static CUresult launch_with(CUlaunchAttribute *attribute)
{
	CUlaunchConfig config = {
		.gridDimX = 16,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 128,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = attribute,
		.numAttrs = 1,
	};

	return cuLaunchKernelEx(&config, function, NULL, NULL);
}

static void test_sane_launches_succeed_and_write_nothing(void **state)
{
	CUdeviceptr counter;
	CUstream stream;
	unsigned value = 0;
	void *parameter = &counter, *parameters[] = {&parameter};

	(void)state;
	assert_ok(launch(1, 1, 1, 1, 1, 1, 0));
	assert_ok(launch(0x7fffffff, 65535, 65535, 1024, 1, 1, 0));
	assert_ok(launch(1, 1, 1, 1, 16, 64, 49152));
	assert_ok(cuStreamCreate(&stream, 0));
	assert_ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
	assert_ok(
		cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, NULL));
	assert_ok(cuStreamDestroy_v2(stream));
	assert_ok(cuModuleGetGlobal_v2(&counter, NULL, module, "counter"));
	assert_ok(cuMemcpyDtoH_v2(&value, counter, sizeof(value)));
	assert_int_equal(value, 42);
}

static void test_empty_and_oversized_shapes_are_invalid_values(void **state)
{
	(void)state;
	assert_cuda(launch(0, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 0, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 0, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 0, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 1, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 1, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(0x80000000u, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 65536, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(launch(1, 1, 1, 64, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

static void test_dynamic_shared_memory_must_be_opted_into(void **state)
{
	(void)state;
	assert_cuda(launch(1, 1, 1, 1, 1, 1, 49153), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				     200000));
	assert_ok(launch(1, 1, 1, 1, 1, 1, 200000));
	assert_cuda(launch(1, 1, 1, 1, 1, 1, 200001), CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				     49152));
}

static void test_bad_handles_are_invalid_handles(void **state)
{
	(void)state;
	assert_cuda(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLaunchKernel(NOT_A_HANDLE, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		    CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(
		cuLaunchKernel((CUfunction)(void *)module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		CUDA_ERROR_INVALID_HANDLE);
	assert_cuda(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NOT_A_HANDLE, NULL, NULL),
		    CUDA_ERROR_INVALID_HANDLE);
}

static void test_parameters_come_one_way_only(void **state)
{
	char buffer[8];
	size_t size = sizeof(buffer);
	void *params[] = {buffer};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	void *only_size[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	void *unknown[] = {(void *)77, buffer, CU_LAUNCH_PARAM_END};
	void *empty[] = {CU_LAUNCH_PARAM_END};

	(void)state;
#define LAUNCH(p, e) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, p, e)
	assert_ok(LAUNCH(params, NULL));
	assert_ok(LAUNCH(NULL, extra));
	assert_ok(LAUNCH(NULL, empty));
	assert_cuda(LAUNCH(params, extra), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(LAUNCH(NULL, only_size), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(LAUNCH(NULL, unknown), CUDA_ERROR_INVALID_VALUE);
#undef LAUNCH
}

static void test_function_runs_only_in_its_own_context(void **state)
{
	CUcontext other, mine;
	CUstream stream;

	(void)state;
	assert_ok(cuDevicePrimaryCtxRetain(&other, 1));
	mine = fixture_exchange_context(other);
	assert_ok(cuStreamCreate(&stream, 0));
	assert_cuda(launch(1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
	fixture_exchange_context(mine);
	assert_cuda(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL),
		    CUDA_ERROR_INVALID_HANDLE);
	/* A kernel without a context follows the stream. */
	assert_ok(cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL,
				 NULL));
	assert_ok(
		cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
}

static void test_no_launch_without_a_context(void **state)
{
	CUcontext mine = fixture_exchange_context(NULL);

	(void)state;
	assert_cuda(launch(1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
	fixture_exchange_context(mine);
}

static void test_cooperative_grid_must_fit_on_the_device(void **state)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
				       .value.cooperative = 1};
	CUlaunchConfig config = {
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1024,
		.blockDimY = 1,
		.blockDimZ = 1,
		.attrs = &attribute,
		.numAttrs = 1,
	};
	int per_sm, sms;
	unsigned most;

	(void)state;
	assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, function, 1024, 0));
	assert_ok(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	most = (unsigned)(per_sm * sms);
	assert_ok(cuLaunchCooperativeKernel(function, most, 1, 1, 1024, 1, 1, 0, NULL, NULL));
	assert_cuda(cuLaunchCooperativeKernel(function, most + 1, 1, 1, 1024, 1, 1, 0, NULL, NULL),
		    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	config.gridDimX = most;
	assert_ok(cuLaunchKernelEx(&config, function, NULL, NULL));
	config.gridDimX = most + 1;
	assert_cuda(cuLaunchKernelEx(&config, function, NULL, NULL),
		    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	attribute.value.cooperative = 0;
	assert_ok(cuLaunchKernelEx(&config, function, NULL, NULL));
}

static void test_clusters_must_divide_the_grid_and_fit(void **state)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				       .value.clusterDim = {8, 1, 1}};

	(void)state;
	assert_ok(launch_with(&attribute));
	attribute.value.clusterDim.x = 3;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_VALUE);
	attribute.value.clusterDim.x = 0;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_VALUE);
	attribute.value.clusterDim.x = 16;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	attribute.value.clusterDim.x = 0x80000000u;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	assert_ok(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
				     1));
	attribute.value.clusterDim.x = 16;
	assert_ok(launch_with(&attribute));
	assert_ok(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
				     0));
}

static void test_launch_attributes_are_taken_or_refused(void **state)
{
	CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, NULL, NULL, 1};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_IGNORE};

	(void)state;
	assert_ok(launch_with(&attribute));
	attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
	assert_ok(launch_with(&attribute));
	attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
	assert_ok(launch_with(&attribute));
	attribute.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_VALUE);
	attribute.id = CU_LAUNCH_ATTRIBUTE_MAX;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLaunchKernelEx(&config, function, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuLaunchKernelEx(NULL, function, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_launch_records_the_event_it_is_given(void **state)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT};
	CUevent timed, untimed;

	(void)state;
	assert_ok(cuEventCreate(&timed, CU_EVENT_DEFAULT));
	assert_ok(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	attribute.value.launchCompletionEvent.event = untimed;
	assert_ok(launch_with(&attribute));
	attribute.value.launchCompletionEvent.event = timed;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_VALUE);
	attribute.value.launchCompletionEvent.event = NULL;
	assert_cuda(launch_with(&attribute), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuEventDestroy_v2(timed));
	assert_ok(cuEventDestroy_v2(untimed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sane_launches_succeed_and_write_nothing),
		cmocka_unit_test(test_empty_and_oversized_shapes_are_invalid_values),
		cmocka_unit_test(test_dynamic_shared_memory_must_be_opted_into),
		cmocka_unit_test(test_bad_handles_are_invalid_handles),
		cmocka_unit_test(test_parameters_come_one_way_only),
		cmocka_unit_test(test_function_runs_only_in_its_own_context),
		cmocka_unit_test(test_no_launch_without_a_context),
		cmocka_unit_test(test_cooperative_grid_must_fit_on_the_device),
		cmocka_unit_test(test_clusters_must_divide_the_grid_and_fit),
		cmocka_unit_test(test_launch_attributes_are_taken_or_refused),
		cmocka_unit_test(test_launch_records_the_event_it_is_given),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
