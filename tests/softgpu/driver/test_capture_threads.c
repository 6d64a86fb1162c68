#include "graph_fixture.h"

#include <pthread.h>

/* What another thread is asked to do while this one waits for it. */
struct errand {
	CUresult (*run)(struct errand *errand);
	CUstream stream;
	CUstreamCaptureMode mode;
	CUgraph graph;
	CUresult result;
};

static void *go(void *argument)
{
	struct errand *errand = argument;
	CUcontext context;

	errand->result = cuDevicePrimaryCtxRetain(&context, 0);
	if (errand->result == CUDA_SUCCESS)
		errand->result = cuCtxSetCurrent(context);
	if (errand->result == CUDA_SUCCESS)
		errand->result = errand->run(errand);
	(void)cuDevicePrimaryCtxRelease_v2(0);
	return NULL;
}

static CUresult elsewhere(struct errand *errand)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, go, errand), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return errand->result;
}

static CUresult allocate(struct errand *errand)
{
	CUresult result = cuThreadExchangeStreamCaptureMode(&errand->mode);
	CUdeviceptr address;

	if (result == CUDA_SUCCESS)
		result = cuMemAlloc_v2(&address, MIB);
	return result == CUDA_SUCCESS ? cuMemFree_v2(address) : result;
}

static CUresult end_capture(struct errand *errand)
{
	return cuStreamEndCapture(errand->stream, &errand->graph);
}

static CUresult put_kernel(struct errand *errand)
{
	return cuLaunchKernel(fixture_other, 1, 1, 1, 32, 1, 1, 0, errand->stream, NULL, NULL);
}

static void test_global_captures_forbid_other_threads_to_allocate(void **state)
{
	struct errand errand = {.run = allocate, .mode = CU_STREAM_CAPTURE_MODE_GLOBAL};
	CUgraph graph;

	(void)state;
	assert_ok(cuStreamBeginCapture_v2(fixture_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	errand.mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
	assert_ok(elsewhere(&errand));
	errand.mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	assert_cuda(elsewhere(&errand), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_cuda(cuStreamEndCapture(fixture_stream, &graph),
		    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_ok(cuStreamBeginCapture_v2(fixture_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	errand.mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	assert_ok(elsewhere(&errand));
	assert_ok(cuStreamEndCapture(fixture_stream, &graph));
	assert_ok(cuGraphDestroy(graph));
}

static void test_only_relaxed_captures_end_in_another_thread(void **state)
{
	struct errand errand = {.run = end_capture, .stream = fixture_stream};
	CUgraph graph;

	(void)state;
	assert_ok(cuStreamBeginCapture_v2(fixture_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	assert_cuda(elsewhere(&errand), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	assert_ok(cuStreamEndCapture(fixture_stream, &graph));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuStreamBeginCapture_v2(fixture_stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_ok(elsewhere(&errand));
	assert_ok(cuGraphDestroy(errand.graph));
}

static void test_another_thread_can_put_work_on_a_capturing_stream(void **state)
{
	struct errand errand = {.run = put_kernel, .stream = fixture_stream};
	CUgraph graph;

	(void)state;
	assert_ok(cuStreamBeginCapture_v2(fixture_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	assert_ok(elsewhere(&errand));
	assert_ok(cuStreamEndCapture(fixture_stream, &graph));
	assert_int_equal(count_nodes(graph), 1);
	assert_ok(cuGraphDestroy(graph));
}

/* Each thread captures, launches and frees for itself; the books must be even afterwards. */
static CUresult churn(struct errand *errand)
{
	CUstream stream;
	CUdeviceptr address, kept;
	CUresult result = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	CUgraphExec exec;
	CUgraph graph;

	(void)errand;
	for (int i = 0; i < 50 && result == CUDA_SUCCESS; i++) {
		result = cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
		if (result == CUDA_SUCCESS)
			result = cuMemAllocAsync(&address, 3 * MIB, stream);
		if (result == CUDA_SUCCESS)
			result = cuMemAllocAsync(&kept, MIB, stream);
		if (result == CUDA_SUCCESS)
			result = cuMemFreeAsync(address, stream);
		if (result == CUDA_SUCCESS)
			result = cuStreamEndCapture(stream, &graph);
		if (result == CUDA_SUCCESS)
			result = cuGraphInstantiateWithFlags(&exec, graph, 0);
		if (result == CUDA_SUCCESS)
			result = cuGraphLaunch(exec, stream);
		if (result == CUDA_SUCCESS)
			result = cuGraphDestroy(graph);
		if (result == CUDA_SUCCESS)
			result = cuMemFreeAsync(kept, stream);
		if (result == CUDA_SUCCESS)
			result = cuGraphExecDestroy(exec);
	}
	(void)cuStreamDestroy_v2(stream);
	return result;
}

static void test_threads_with_graphs_of_their_own_do_not_meet(void **state)
{
	struct errand errands[4];
	pthread_t threads[4];
	cuuint64_t used, reserved;
	size_t before, after, total;

	(void)state;
	assert_ok(cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < 4; i++) {
		errands[i] = (struct errand){.run = churn};
		assert_int_equal(pthread_create(&threads[i], NULL, go, &errands[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_ok(errands[i].result);
	}
	assert_ok(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	assert_ok(
		cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved));
	assert_true(reserved >= 4 * MIB && reserved <= 32 * MIB);
	assert_ok(cuDeviceGraphMemTrim(0));
	assert_ok(cuMemGetInfo_v2(&after, &total));
	assert_int_equal(after, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_global_captures_forbid_other_threads_to_allocate),
		cmocka_unit_test(test_only_relaxed_captures_end_in_another_thread),
		cmocka_unit_test(test_another_thread_can_put_work_on_a_capturing_stream),
		cmocka_unit_test(test_threads_with_graphs_of_their_own_do_not_meet),
	};

	return cmocka_run_group_tests(tests, graph_setup, fixture_teardown);
}
