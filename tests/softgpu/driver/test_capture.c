#include "graph_fixture.h"

#define RELAXED CU_STREAM_CAPTURE_MODE_RELAXED
#define GLOBAL  CU_STREAM_CAPTURE_MODE_GLOBAL

static CUstream create(unsigned flags)
{
	CUstream stream;

	assert_ok(cuStreamCreate(&stream, flags));
	return stream;
}

static void begin(CUstream stream)
{
	assert_ok(cuStreamBeginCapture_v2(stream, GLOBAL));
}

static CUgraph end(CUstream stream)
{
	CUgraph graph;

	assert_ok(cuStreamEndCapture(stream, &graph));
	assert_non_null(graph);
	return graph;
}

/* It is over, and gave no graph. */
static void end_with(CUstream stream, CUresult expected)
{
	CUgraph graph = NOT_A_HANDLE;
	CUstreamCaptureStatus status;

	assert_cuda(cuStreamEndCapture(stream, &graph), expected);
	assert_null(graph);
	assert_ok(cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

static CUresult launch(CUstream stream)
{
	return cuLaunchKernel(fixture_other, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static CUgraphNodeType type_at(CUgraph graph, size_t index)
{
	CUgraphNode nodes[16];
	size_t room = 16;

	assert_ok(cuGraphGetNodes(graph, nodes, &room));
	assert_true(index < room);
	return get_type(nodes[index]);
}

static size_t count_edges(CUgraph graph)
{
	size_t number = 0;

	assert_ok(cuGraphGetEdges(graph, NULL, NULL, &number));
	return number;
}

static void test_calls_become_nodes_and_are_not_done(void **state)
{
	CUstream stream = fixture_stream;
	int calls = 0;
	unsigned char bytes[4] = {1, 2, 3, 4};
	CUgraph graph;

	(void)state;
	assert_ok(cuMemsetD8_v2(fixture_buffer, 0, 64));
	begin(stream);
	assert_ok(launch(stream));
	assert_ok(cuMemsetD8Async(fixture_buffer, 9, 16, stream));
	assert_ok(cuMemcpyHtoDAsync_v2(fixture_buffer + 16, bytes, sizeof(bytes), stream));
	assert_ok(cuLaunchHostFunc(stream, count_call, &calls));
	assert_ok(cuStreamWriteValue32_v2(stream, fixture_buffer + 32, 5, 0));
	assert_ok(cuMemcpyDtoDAsync_v2(fixture_buffer, fixture_buffer + 64, 0, stream));
	graph = end(stream);
	assert_int_equal(calls, 0);
	assert_int_equal(read_byte(fixture_buffer), 0);
	assert_int_equal(count_nodes(graph), 5);
	assert_int_equal(count_edges(graph), 4);
	assert_int_equal(type_at(graph, 0), CU_GRAPH_NODE_TYPE_KERNEL);
	assert_int_equal(type_at(graph, 1), CU_GRAPH_NODE_TYPE_MEMSET);
	assert_int_equal(type_at(graph, 2), CU_GRAPH_NODE_TYPE_MEMCPY);
	assert_int_equal(type_at(graph, 3), CU_GRAPH_NODE_TYPE_HOST);
	assert_int_equal(type_at(graph, 4), CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
	launch_once(graph);
	launch_once(graph);
	assert_int_equal(calls, 2);
	assert_int_equal(read_byte(fixture_buffer), 9);
	assert_int_equal(read_byte(fixture_buffer + 19), 4);
	assert_int_equal(read_byte(fixture_buffer + 32), 5);
	assert_ok(cuGraphDestroy(graph));
}

static void test_rectangles_are_captured(void **state)
{
	unsigned char rows[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
	const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
				    .srcHost = rows,
				    .srcPitch = 4,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = fixture_buffer,
				    .dstPitch = 512,
				    .WidthInBytes = 2,
				    .Height = 2};
	CUgraph graph;

	(void)state;
	begin(fixture_stream);
	assert_ok(cuMemcpy2DAsync_v2(&copy, fixture_stream));
	assert_ok(cuMemsetD2D16Async(fixture_buffer + 8, 512, 0x0909, 1, 2, fixture_stream));
	graph = end(fixture_stream);
	launch_once(graph);
	assert_int_equal(read_byte(fixture_buffer + 513), 6);
	assert_int_equal(read_byte(fixture_buffer + 520), 9);
	assert_ok(cuGraphDestroy(graph));
}

static void test_copies_between_peers_and_arrays_are_captured_or_refused(void **state)
{
	unsigned char bytes[4] = {4, 3, 2, 1};
	const CUDA_MEMCPY3D_PEER copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
					 .srcHost = bytes,
					 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
					 .dstDevice = fixture_buffer,
					 .WidthInBytes = 4,
					 .Height = 1,
					 .Depth = 1};
	const CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUarray array;
	CUgraph graph;

	(void)state;
	assert_ok(cuArrayCreate_v2(&array, &shape));
	assert_ok(cuMemsetD8_v2(fixture_buffer, 0, 4));
	begin(fixture_stream);
	assert_ok(cuMemcpy3DPeerAsync(&copy, fixture_stream));
	graph = end(fixture_stream);
	assert_int_equal(type_at(graph, 0), CU_GRAPH_NODE_TYPE_MEMCPY);
	assert_int_equal(read_byte(fixture_buffer), 0);
	launch_once(graph);
	assert_int_equal(read_byte(fixture_buffer), 4);
	assert_ok(cuGraphDestroy(graph));
	begin(fixture_stream);
	assert_cuda(cuMemcpyHtoAAsync_v2(array, 0, bytes, 4, fixture_stream),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_ok(cuArrayDestroy(array));
}

static void test_memory_of_a_capture_comes_from_nodes(void **state)
{
	CUdeviceptr kept, freed, outside;
	cuuint64_t used;
	CUgraph graph;

	(void)state;
	assert_ok(cuMemAllocAsync(&outside, MIB, NULL));
	begin(fixture_stream);
	assert_ok(cuMemAllocAsync(&freed, 3 * MIB, fixture_stream));
	assert_ok(cuMemsetD8Async(freed, 1, 3 * MIB, fixture_stream));
	assert_ok(cuMemFreeAsync(freed, fixture_stream));
	assert_ok(cuMemAllocAsync(&kept, 2 * MIB, fixture_stream));
	assert_int_equal(kept, freed);
	graph = end(fixture_stream);
	assert_invalid(cuMemsetD8_v2(kept, 1, 1));
	launch_once(graph);
	assert_ok(cuMemsetD8_v2(kept, 1, 2 * MIB));
	assert_ok(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 4 * MIB);
	assert_ok(cuMemFreeAsync(kept, fixture_stream));
	assert_ok(cuGraphDestroy(graph));
	/* memory that no node allocated cannot be freed by one */
	begin(fixture_stream);
	assert_invalid(cuMemFreeAsync(outside, fixture_stream));
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_ok(cuMemFreeAsync(outside, NULL));
	assert_ok(cuDeviceGraphMemTrim(0));
}

static void test_events_fork_and_join_streams(void **state)
{
	CUstream other = create(CU_STREAM_NON_BLOCKING);
	CUstreamCaptureStatus status;
	CUevent fork, join;
	CUgraph graph;

	(void)state;
	assert_ok(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	assert_ok(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	begin(fixture_stream);
	assert_ok(launch(fixture_stream));
	assert_ok(cuEventRecord(fork, fixture_stream));
	assert_ok(cuStreamWaitEvent(other, fork, 0));
	assert_ok(cuStreamIsCapturing(other, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_ok(launch(other));
	assert_ok(launch(fixture_stream));
	assert_ok(cuEventRecord(join, other));
	assert_ok(cuStreamWaitEvent(fixture_stream, join, 0));
	assert_ok(launch(fixture_stream));
	/* events of a capture cannot be asked */
	assert_cuda(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
	assert_cuda(cuEventSynchronize(join), CUDA_ERROR_CAPTURED_EVENT);
	graph = end(fixture_stream);
	assert_int_equal(count_nodes(graph), 4);
	assert_int_equal(count_edges(graph), 4);
	assert_ok(cuStreamIsCapturing(other, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
	assert_cuda(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
	assert_ok(cuEventRecord(join, fixture_stream));
	assert_ok(cuEventQuery(join));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuEventDestroy_v2(fork));
	assert_ok(cuEventDestroy_v2(join));
	assert_ok(cuStreamDestroy_v2(other));
}

static void test_fork_that_is_not_joined_is_an_error(void **state)
{
	CUstream other = create(CU_STREAM_NON_BLOCKING);
	CUgraph graph = NULL;
	CUevent fork;

	(void)state;
	assert_ok(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	begin(fixture_stream);
	assert_ok(cuEventRecord(fork, fixture_stream));
	assert_ok(cuStreamWaitEvent(other, fork, 0));
	assert_ok(launch(other));
	assert_cuda(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(fixture_stream);
	assert_ok(cuEventRecord(fork, fixture_stream));
	assert_ok(cuStreamWaitEvent(other, fork, 0));
	assert_ok(launch(other));
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	/* also if the stream is gone by then */
	begin(fixture_stream);
	assert_ok(cuEventRecord(fork, fixture_stream));
	assert_ok(cuStreamWaitEvent(other, fork, 0));
	assert_ok(launch(other));
	assert_ok(cuStreamDestroy_v2(other));
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	assert_ok(cuEventDestroy_v2(fork));
}

static void test_dependencies_do_not_cross_the_border(void **state)
{
	CUstream other = create(CU_STREAM_NON_BLOCKING);
	CUevent before, unused;
	CUgraph graph;

	(void)state;
	assert_ok(cuEventCreate(&before, 0));
	assert_ok(cuEventCreate(&unused, 0));
	assert_ok(cuEventRecord(before, other));
	begin(fixture_stream);
	assert_ok(cuStreamWaitEvent(fixture_stream, unused, 0));
	assert_cuda(cuStreamWaitEvent(fixture_stream, before, 0),
		    CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	assert_cuda(launch(fixture_stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	/* but they may be nodes */
	begin(fixture_stream);
	assert_ok(cuStreamWaitEvent(fixture_stream, before, CU_EVENT_WAIT_EXTERNAL));
	assert_ok(cuEventRecordWithFlags(before, fixture_stream, CU_EVENT_RECORD_EXTERNAL));
	graph = end(fixture_stream);
	assert_int_equal(type_at(graph, 0), CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	assert_int_equal(type_at(graph, 1), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	assert_invalid(cuStreamWaitEvent(other, before, CU_EVENT_WAIT_EXTERNAL));
	assert_invalid(cuEventRecordWithFlags(before, other, CU_EVENT_RECORD_EXTERNAL));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuEventDestroy_v2(before));
	assert_ok(cuEventDestroy_v2(unused));
	assert_ok(cuStreamDestroy_v2(other));
}

static void test_captures_do_not_merge(void **state)
{
	CUstream other = create(CU_STREAM_NON_BLOCKING);
	CUevent event;

	(void)state;
	assert_ok(cuEventCreate(&event, 0));
	begin(fixture_stream);
	begin(other);
	assert_ok(cuEventRecord(event, fixture_stream));
	assert_cuda(cuStreamWaitEvent(other, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end_with(other, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_ok(cuEventDestroy_v2(event));
	assert_ok(cuStreamDestroy_v2(other));
}

static void test_default_stream_must_not_wait_for_a_capture(void **state)
{
	CUstream blocking = create(CU_STREAM_DEFAULT);
	CUstreamCaptureStatus status;

	(void)state;
	begin(blocking);
	assert_cuda(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_ok(cuStreamIsCapturing(blocking, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_cuda(launch(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_ok(cuStreamIsCapturing(blocking, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	end_with(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	/* one that does not wait for it leaves it alone */
	begin(fixture_stream);
	assert_ok(launch(NULL));
	assert_ok(cuGraphDestroy(end(fixture_stream)));
	assert_cuda(cuStreamBeginCapture_v2(NULL, GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_ok(cuStreamDestroy_v2(blocking));
}

static void expect_unsupported(CUresult result)
{
	assert_cuda(result, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(fixture_stream);
}

static void ignore_callback(CUstream stream, CUresult status, void *data)
{
	(void)stream, (void)status, (void)data;
}

static void test_what_cannot_be_captured_invalidates(void **state)
{
	CUdeviceptr address;
	CUevent event;
	void *host;
	char byte;

	(void)state;
	assert_ok(cuEventCreate(&event, 0));
	begin(fixture_stream);
	expect_unsupported(cuStreamSynchronize(fixture_stream));
	expect_unsupported(cuStreamQuery(fixture_stream));
	expect_unsupported(cuCtxSynchronize());
	expect_unsupported(cuStreamAddCallback(fixture_stream, ignore_callback, NULL, 0));
	expect_unsupported(cuMemAlloc_v2(&address, MIB));
	expect_unsupported(cuMemFree_v2(fixture_buffer));
	expect_unsupported(cuMemHostAlloc(&host, MIB, 0));
	expect_unsupported(cuMemcpyDtoH_v2(&byte, fixture_buffer, 1));
	expect_unsupported(cuEventQuery(event));
	assert_ok(cuGraphDestroy(end(fixture_stream)));
	assert_ok(cuEventDestroy_v2(event));
}

static void test_relaxed_threads_and_captures_may_allocate(void **state)
{
	CUstreamCaptureMode mode = RELAXED;
	CUdeviceptr address;

	(void)state;
	begin(fixture_stream);
	assert_ok(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, GLOBAL);
	assert_ok(cuMemAlloc_v2(&address, MIB));
	assert_ok(cuMemFree_v2(address));
	assert_ok(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, RELAXED);
	assert_ok(cuGraphDestroy(end(fixture_stream)));
	assert_ok(cuStreamBeginCapture_v2(fixture_stream, RELAXED));
	assert_ok(cuMemAlloc_v2(&address, MIB));
	assert_ok(cuMemFree_v2(address));
	assert_ok(cuGraphDestroy(end(fixture_stream)));
}

static void test_state_errors_have_their_codes(void **state)
{
	CUgraph graph;

	(void)state;
	assert_cuda(cuStreamEndCapture(fixture_stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
	assert_invalid(cuStreamBeginCapture_v2(fixture_stream, (CUstreamCaptureMode)5));
	assert_cuda(cuStreamBeginCapture_v2(NOT_A_HANDLE, GLOBAL), CUDA_ERROR_INVALID_HANDLE);
	begin(fixture_stream);
	assert_cuda(cuStreamBeginCapture_v2(fixture_stream, GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
	assert_invalid(cuStreamEndCapture(fixture_stream, NULL));
	assert_ok(cuGraphDestroy(end(fixture_stream)));
	assert_cuda(cuStreamUpdateCaptureDependencies(fixture_stream, NULL, 0, 0),
		    CUDA_ERROR_ILLEGAL_STATE);
}

static void test_info_tells_graph_and_tips(void **state)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *tips;
	cuuint64_t first_id, id;
	CUgraphNode nodes[2], mine;
	CUgraph inside, graph;
	size_t number = 9;

	(void)state;
	begin(fixture_stream);
	assert_ok(cuStreamGetCaptureInfo_v2(fixture_stream, &status, &first_id, &inside, &tips,
					    &number));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_int_equal(number, 0);
	assert_ok(launch(fixture_stream));
	assert_ok(cuStreamGetCaptureInfo_v3(fixture_stream, &status, &id, &inside, &tips, NULL,
					    &number));
	assert_int_equal(id, first_id);
	assert_int_equal(number, 1);
	assert_int_equal(get_type(tips[0]), CU_GRAPH_NODE_TYPE_KERNEL);
	/* a node of one's own in between */
	mine = add_empty(inside, tips[0]);
	assert_ok(cuStreamUpdateCaptureDependencies(fixture_stream, &mine, 1,
						    CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	assert_ok(launch(fixture_stream));
	assert_invalid(cuGraphDestroy(inside));
	assert_invalid(cuGraphDestroyNode(mine));
	graph = end(fixture_stream);
	assert_ptr_equal(graph, inside);
	number = 2;
	assert_ok(cuGraphNodeGetDependentNodes(mine, nodes, &number));
	assert_int_equal(number, 1);
	begin(fixture_stream);
	assert_ok(cuStreamGetCaptureInfo(fixture_stream, &status, &id));
	assert_int_not_equal(id, first_id);
	assert_ok(cuGraphDestroy(end(fixture_stream)));
	assert_ok(cuGraphDestroy(graph));
}

static void test_capture_goes_on_in_a_graph_that_is_there(void **state)
{
	CUgraph graph = make_graph(), found;
	CUgraphNode node = add_empty(graph, NULL);
	CUgraphExec exec;
	size_t number;

	(void)state;
	assert_invalid(
		cuStreamBeginCaptureToGraph(fixture_stream, NOT_A_HANDLE, NULL, NULL, 0, GLOBAL));
	assert_ok(cuStreamBeginCaptureToGraph(fixture_stream, graph, &node, NULL, 1, GLOBAL));
	assert_ok(launch(fixture_stream));
	assert_invalid(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_ok(cuStreamEndCapture(fixture_stream, &found));
	assert_ptr_equal(found, graph);
	assert_int_equal(count_nodes(graph), 2);
	assert_ok(cuGraphNodeGetDependentNodes(node, NULL, &number));
	assert_int_equal(number, 1);
	/* an invalid capture leaves the graph to the program */
	assert_ok(cuStreamBeginCaptureToGraph(fixture_stream, graph, NULL, NULL, 0, GLOBAL));
	assert_cuda(cuStreamQuery(fixture_stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	launch_once(graph);
	assert_ok(cuGraphDestroy(graph));
}

static void test_launched_graph_is_captured_as_a_child(void **state)
{
	CUgraph graph = make_graph(), outer;
	CUgraphExec exec;
	CUdeviceptr address;
	int calls = 0;

	(void)state;
	add_host(graph, NULL, count_call, &calls);
	exec = instantiate(graph);
	begin(fixture_stream);
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	outer = end(fixture_stream);
	assert_int_equal(calls, 0);
	assert_int_equal(type_at(outer, 0), CU_GRAPH_NODE_TYPE_GRAPH);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
	launch_once(outer);
	assert_int_equal(calls, 1);
	assert_ok(cuGraphDestroy(outer));
	/* memory cannot be copied */
	graph = make_graph();
	add_alloc(graph, NULL, MIB, &address);
	exec = instantiate(graph);
	begin(fixture_stream);
	assert_cuda(cuGraphLaunch(exec, fixture_stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_with(fixture_stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_launch_attributes_become_those_of_the_node(void **state)
{
	CUlaunchAttribute attributes[] = {
		{.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		 .value.programmaticStreamSerializationAllowed = 1},
		{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = -2},
	};
	const CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, fixture_stream, attributes, 2};
	CUkernelNodeAttrValue value;
	CUgraphNode nodes[2], from, to;
	CUgraphEdgeData data;
	size_t number = 2;
	CUgraph graph;

	(void)state;
	begin(fixture_stream);
	assert_ok(launch(fixture_stream));
	assert_ok(cuLaunchKernelEx(&config, fixture_other, NULL, NULL));
	graph = end(fixture_stream);
	assert_ok(cuGraphGetNodes(graph, nodes, &number));
	assert_ok(cuGraphKernelNodeGetAttribute(nodes[1], CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	assert_int_equal(value.priority, -2);
	number = 1;
	assert_ok(cuGraphGetEdges_v2(graph, &from, &to, &data, &number));
	assert_int_equal(data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
	assert_ok(cuGraphDestroy(graph));
}

static void test_arguments_of_a_captured_kernel_can_be_looked_at(void **state)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	CUdeviceptr other = 1;
	CUgraphNode node;
	size_t one = 1;
	CUgraph graph;

	(void)state;
	begin(fixture_stream);
	assert_ok(launch(fixture_stream));
	graph = end(fixture_stream);
	assert_ok(cuGraphGetNodes(graph, &node, &one));
	assert_ok(cuGraphKernelNodeGetParams_v2(node, &params));
	assert_non_null(params.kernelParams);
	assert_int_equal(*(uint64_t *)params.kernelParams[1], 0);
	params.kernelParams[1] = &other;
	assert_ok(cuGraphKernelNodeSetParams_v2(node, &params));
	launch_once(graph);
	assert_ok(cuGraphDestroy(graph));
}

static void test_capture_ends_with_its_stream_and_its_context(void **state)
{
	CUstream stream = create(CU_STREAM_NON_BLOCKING);
	CUcontext context, mine;
	CUdeviceptr address;

	(void)state;
	begin(stream);
	assert_ok(launch(stream));
	assert_ok(cuStreamDestroy_v2(stream));
	/* nothing forbids it any more */
	assert_ok(cuMemAlloc_v2(&address, MIB));
	assert_ok(cuMemFree_v2(address));
	assert_ok(cuCtxGetCurrent(&mine));
	assert_ok(cuCtxCreate_v2(&context, 0, 0));
	stream = create(CU_STREAM_NON_BLOCKING);
	begin(stream);
	assert_ok(cuCtxDestroy_v2(context));
	assert_ok(cuMemAlloc_v2(&address, MIB));
	assert_ok(cuMemFree_v2(address));
}

static void test_own_stream_of_the_thread_captures(void **state)
{
	CUstreamCaptureStatus status;
	CUgraph graph;

	(void)state;
	assert_ok(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, GLOBAL));
	assert_ok(launch(CU_STREAM_PER_THREAD));
	assert_ok(cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	graph = end(CU_STREAM_PER_THREAD);
	assert_int_equal(count_nodes(graph), 1);
	assert_ok(cuGraphDestroy(graph));
}

static void test_own_stream_of_the_thread_may_be_the_default_one(void **state)
{
	CUgraph graph;

	(void)state;
	assert_ok(cuStreamBeginCapture_v2_ptsz(NULL, GLOBAL));
	assert_ok(launch(NULL));
	assert_ok(cuMemsetD8Async(fixture_buffer, 1, 1, CU_STREAM_PER_THREAD));
	graph = end(NULL);
	assert_int_equal(count_nodes(graph), 2);
	assert_int_equal(count_edges(graph), 1);
	assert_ok(cuGraphDestroy(graph));
	assert_ok(launch(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_become_nodes_and_are_not_done),
		cmocka_unit_test(test_rectangles_are_captured),
		cmocka_unit_test(test_copies_between_peers_and_arrays_are_captured_or_refused),
		cmocka_unit_test(test_memory_of_a_capture_comes_from_nodes),
		cmocka_unit_test(test_events_fork_and_join_streams),
		cmocka_unit_test(test_fork_that_is_not_joined_is_an_error),
		cmocka_unit_test(test_dependencies_do_not_cross_the_border),
		cmocka_unit_test(test_captures_do_not_merge),
		cmocka_unit_test(test_default_stream_must_not_wait_for_a_capture),
		cmocka_unit_test(test_what_cannot_be_captured_invalidates),
		cmocka_unit_test(test_relaxed_threads_and_captures_may_allocate),
		cmocka_unit_test(test_state_errors_have_their_codes),
		cmocka_unit_test(test_info_tells_graph_and_tips),
		cmocka_unit_test(test_capture_goes_on_in_a_graph_that_is_there),
		cmocka_unit_test(test_launched_graph_is_captured_as_a_child),
		cmocka_unit_test(test_launch_attributes_become_those_of_the_node),
		cmocka_unit_test(test_arguments_of_a_captured_kernel_can_be_looked_at),
		cmocka_unit_test(test_capture_ends_with_its_stream_and_its_context),
		cmocka_unit_test(test_own_stream_of_the_thread_captures),
		cmocka_unit_test(test_own_stream_of_the_thread_may_be_the_default_one),
	};

	return cmocka_run_group_tests(tests, graph_setup, fixture_teardown);
}
