/* A tool that is injected into a program sees its calls; the program knows nothing of it. */
#include <dlfcn.h>

#include "tool_fixture.h"

#include <cuda_runtime_api.h>

static void test_injected_tool_sees_calls_of_both_libraries(void **state)
{
	unsigned *driver_counts, *runtime_counts;
	void *memory, *tool;

	(void)state;
	/* cuInit, where it is injected, is inside of this one. */
	assert_int_equal(cudaMalloc(&memory, 1000), cudaSuccess);
	tool = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(tool);
	driver_counts = dlsym(tool, "injected_counts");
	runtime_counts = dlsym(tool, "injected_runtime_counts");
	assert_non_null(driver_counts);
	assert_non_null(runtime_counts);
	assert_int_equal(driver_counts[CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2], 1);
	assert_int_equal(driver_counts[CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2], 0);
	assert_int_equal(cudaFree(memory), cudaSuccess);
	assert_int_equal(driver_counts[CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2], 1);
	assert_int_equal(runtime_counts[CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_injected_tool_sees_calls_of_both_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
