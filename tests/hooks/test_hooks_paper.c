/*
 * Hooks whose functions softgpu does not have yet, on a driver that only answers (paper_driver.c),
 * which is also older than some and odd in other ways. Preloaded, and linked with that driver.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "cuda_headers.h"
#include "event_lines.h"
#include "hooks_cmocka.h"

#pragma weak cuMemPoolCreate

static int skip_events(void **state)
{
	(void)state;
	vs_event_lines_skip();
	return 0;
}

/* Must be the first: device 0 is defined once. */
static void test_driver_that_cannot_tell_names_nothing_and_is_not_simulated(void **state)
{
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuMemAlloc_v2(&a, 16), CUDA_SUCCESS);
	vs_event_lines_expect("device 0  0 0 0 00");
	vs_event_lines_expect("alloc device 0 1010 16 pool=0 context=1 cuMemAlloc_v2");
	vs_event_lines_expect_none();
}

static void test_function_that_the_driver_lacks_is_not_found(void **state)
{
	CUmemoryPool pool;

	(void)state;
	/* Asked by name, it is not there, as without us; a weak reference finds our wrapper. */
	assert_null(dlsym(RTLD_DEFAULT, "cuMemPoolCreate"));
	assert_int_equal(cuMemPoolCreate(&pool, NULL), CUDA_ERROR_NOT_FOUND);
	vs_event_lines_expect_none();
}

static void test_arrays_have_the_size_of_their_shape(void **state)
{
	CUDA_ARRAY_DESCRIPTOR flat = {
		.Width = 10, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
	CUDA_ARRAY3D_DESCRIPTOR cube = {.Width = 4,
					.Height = 4,
					.Depth = 4,
					.Format = CU_AD_FORMAT_UNSIGNED_INT8,
					.NumChannels = 1};
	CUmipmappedArray levels;
	CUarray array;

	(void)state;
	assert_int_equal(cuArrayCreate_v2(&array, &flat), CUDA_SUCCESS);
	vs_event_lines_expect("alloc array 0 a1 320 pool=0 context=1 cuArrayCreate_v2");
	assert_int_equal(cuArrayDestroy(array), CUDA_SUCCESS);
	vs_event_lines_expect("free array a1 cuArrayDestroy");
	assert_int_equal(cuArrayDestroy((CUarray)0x5), CUDA_ERROR_INVALID_HANDLE);
	vs_event_lines_expect("free array 5 cuArrayDestroy");
	vs_event_lines_expect("unfree array 5 400");
	assert_int_equal(cuArray3DCreate_v2(&array, &cube), CUDA_SUCCESS);
	vs_event_lines_expect("alloc array 0 a1 64 pool=0 context=1 cuArray3DCreate_v2");
	assert_int_equal(cuArrayCreate_v2(&array, NULL), CUDA_ERROR_INVALID_VALUE);
	vs_event_lines_skip();
	assert_int_equal(cuMipmappedArrayCreate(&levels, &cube, 3), CUDA_SUCCESS);
	vs_event_lines_expect("alloc array 0 a1 73 pool=0 context=1 cuMipmappedArrayCreate");
	assert_int_equal(cuMipmappedArrayDestroy(levels), CUDA_SUCCESS);
	vs_event_lines_expect("free array a1 cuMipmappedArrayDestroy");
	vs_event_lines_expect_none();
}

static void test_memory_of_another_process_has_the_size_the_driver_tells(void **state)
{
	CUipcMemHandle handle = {{0}};
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuIpcOpenMemHandle_v2(&a, handle, 1), CUDA_SUCCESS);
	vs_event_lines_expect("alloc ipc 0 9000 4096 pool=0 context=1 cuIpcOpenMemHandle_v2");
	assert_int_equal(cuIpcCloseMemHandle(a), CUDA_SUCCESS);
	vs_event_lines_expect("free ipc 9000 cuIpcCloseMemHandle");
	vs_event_lines_expect_none();
}

static void test_memory_that_is_opened_once_more_is_the_same_memory(void **state)
{
	CUipcMemHandle handle = {{0}};
	CUdeviceptr a;

	(void)state;
	assert_int_equal(cuIpcOpenMemHandle_v2(&a, handle, 1), CUDA_SUCCESS);
	vs_event_lines_skip();
	assert_int_equal(cuIpcOpenMemHandle_v2(&a, handle, 1), CUDA_SUCCESS);
	assert_int_equal(cuIpcCloseMemHandle(a), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	assert_int_equal(cuIpcCloseMemHandle(a), CUDA_SUCCESS);
	vs_event_lines_expect("free ipc 9000 cuIpcCloseMemHandle");
	vs_event_lines_expect_none();
}

static void test_what_is_captured_counts_at_each_launch(void **state)
{
	CUgraphExec exec;
	CUdeviceptr a;
	CUgraph graph;

	(void)state;
	assert_int_equal(cuMemAllocAsync(&a, 0x100, NULL), CUDA_SUCCESS);
	vs_event_lines_expect("alloc async 0 2100 256 pool=0 context=0 cuMemAllocAsync");
	assert_int_equal(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	assert_int_equal(cuMemAllocAsync(&a, 64, NULL), CUDA_SUCCESS);
	assert_int_equal(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
	assert_int_equal(cuStreamEndCapture(NULL, &graph), CUDA_SUCCESS);
	assert_int_equal(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
	vs_event_lines_expect_none();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_SUCCESS);
		vs_event_lines_expect("free graph 2100 cuGraphLaunch");
		vs_event_lines_expect("alloc graph 0 7000 70 pool=0 context=0 cuGraphLaunch");
		vs_event_lines_expect("free graph 7000 cuGraphLaunch");
		vs_event_lines_expect("alloc graph 0 8000 80 pool=0 context=0 cuGraphLaunch");
		vs_event_lines_expect_none();
	}
	assert_int_equal(cuGraphExecDestroy(exec), CUDA_SUCCESS);
	assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_SUCCESS);
	vs_event_lines_expect_none();
}

/* paper_driver.c traps when it is asked about memory then. */
static void test_driver_is_not_asked_while_a_stream_captures(void **state)
{
	CUdeviceptr a;
	CUgraph graph;

	(void)state;
	assert_int_equal(cuMemAllocManaged(&a, 5, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	vs_event_lines_expect("fail managed 0 5 900 1/2 pool=0 cuMemAllocManaged");
	assert_int_equal(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	assert_int_not_equal(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
			     CUDA_SUCCESS);
	assert_int_equal(cuMemAllocManaged(&a, 5, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	vs_event_lines_expect("fail managed 0 5 900 0/0 pool=0 cuMemAllocManaged");
	assert_int_equal(cuStreamEndCapture(NULL, &graph), CUDA_SUCCESS);
	assert_int_equal(cuMemAllocManaged(&a, 5, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	vs_event_lines_expect("fail managed 0 5 900 1/2 pool=0 cuMemAllocManaged");
}

static bool is_hooked(const char *name, int version)
{
	void *function = NULL;
	Dl_info info;

	assert_int_equal(cuGetProcAddress_v2(name, &function, version, 0, NULL), CUDA_SUCCESS);
	assert_non_null(function);
	assert_int_not_equal(dladdr(function, &info), 0);
	return strstr(info.dli_fname, "hooks_printing") != NULL;
}

static void test_unknown_address_is_hooked_only_if_its_abi_is_beyond_doubt(void **state)
{
	unsigned long before = vs_event_lines_get_nr_unsure();

	(void)state;
	assert_true(is_hooked("cuMemAlloc", 3020));
	assert_true(is_hooked("cuMemAlloc", CUDA_VERSION));
	assert_int_equal(vs_event_lines_get_nr_unsure(), before);
	/* A later CUDA may have another one; and this name has changed its meaning once. */
	assert_false(is_hooked("cuMemAlloc", CUDA_VERSION + 1000));
	assert_true(is_hooked("cuGraphInstantiate", 11040));
	assert_false(is_hooked("cuGraphInstantiate", 12000));
	assert_int_equal(vs_event_lines_get_nr_unsure(), before + 2);
	/* Older than what we hook: not ours, and no doubt about it. */
	assert_false(is_hooked("cuMemAlloc", 3010));
	assert_int_equal(vs_event_lines_get_nr_unsure(), before + 2);
}

#define EVENT_TEST(test) cmocka_unit_test_setup(test, skip_events)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_driver_that_cannot_tell_names_nothing_and_is_not_simulated),
		EVENT_TEST(test_function_that_the_driver_lacks_is_not_found),
		EVENT_TEST(test_arrays_have_the_size_of_their_shape),
		EVENT_TEST(test_memory_of_another_process_has_the_size_the_driver_tells),
		EVENT_TEST(test_memory_that_is_opened_once_more_is_the_same_memory),
		EVENT_TEST(test_what_is_captured_counts_at_each_launch),
		EVENT_TEST(test_driver_is_not_asked_while_a_stream_captures),
		EVENT_TEST(test_unknown_address_is_hooked_only_if_its_abi_is_beyond_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
