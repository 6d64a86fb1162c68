/* One library used by many threads in two contexts, while a third context comes and goes. */
#include "driver_fixture.h"

#include <pthread.h>

#define NR_THREADS 8
#define NR_ROUNDS  200

static CUlibrary library;
static CUkernel kernel;
static CUcontext contexts[2];

struct seen {
	int device;
	CUfunction function;
	CUdeviceptr counter;
	const char *error;
};

static const char *use_library(struct seen *seen)
{
	CUfunction function;
	CUdeviceptr counter;
	CUkernel again;
	unsigned value = 0;
	int shared;

	if (cuLibraryGetKernel(&again, library, "kernel") || again != kernel)
		return "another kernel";
	if (cuKernelGetFunction(&function, kernel) ||
	    (seen->function && function != seen->function))
		return "another function";
	if (cuLibraryGetGlobal(&counter, NULL, library, "counter") ||
	    (seen->counter && counter != seen->counter))
		return "another variable";
	if (cuMemcpyDtoH_v2(&value, counter, sizeof(value)) || value != 42)
		return "another value";
	if (cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000, kernel,
				 seen->device) ||
	    cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			       function) ||
	    shared != 50000)
		return "another setting";
	if (cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 50000, NULL, NULL, NULL) ||
	    cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
		return "no launch";
	seen->function = function;
	seen->counter = counter;
	return NULL;
}

static void *use_library_often(void *argument)
{
	struct seen *seen = argument;

	if (cuCtxSetCurrent(contexts[seen->device]))
		seen->error = "no context";
	for (int i = 0; i < NR_ROUNDS && !seen->error; i++)
		seen->error = use_library(seen);
	return NULL;
}

static void *come_and_go(void *argument)
{
	struct seen *seen = argument;
	CUcontext context;

	for (int i = 0; i < NR_ROUNDS / 10 && !seen->error; i++) {
		if (cuCtxCreate_v2(&context, 0, 0))
			seen->error = "no new context";
		seen->function = NULL;
		seen->counter = 0;
		if (!seen->error)
			seen->error = use_library(seen);
		if (cuCtxDestroy_v2(context))
			seen->error = "context not destroyed";
	}
	return NULL;
}

static void test_all_threads_of_a_context_get_the_same(void **state)
{
	pthread_t threads[NR_THREADS + 1];
	struct seen seen[NR_THREADS + 1] = {0};

	(void)state;
	for (int i = 0; i < NR_THREADS; i++) {
		seen[i].device = i % 2;
		assert_int_equal(pthread_create(&threads[i], NULL, use_library_often, &seen[i]), 0);
	}
	assert_int_equal(pthread_create(&threads[NR_THREADS], NULL, come_and_go, &seen[NR_THREADS]),
			 0);
	for (int i = 0; i <= NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i <= NR_THREADS; i++)
		if (seen[i].error)
			fail_msg("thread %d: %s", i, seen[i].error);
	for (int i = 2; i < NR_THREADS; i++) {
		assert_ptr_equal(seen[i].function, seen[i % 2].function);
		assert_int_equal(seen[i].counter, seen[i % 2].counter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_threads_of_a_context_get_the_same),
	};

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&contexts[0], 0) ||
	    cuDevicePrimaryCtxRetain(&contexts[1], 1) ||
	    cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, NULL, NULL, 0) ||
	    cuLibraryGetKernel(&kernel, library, "kernel"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
