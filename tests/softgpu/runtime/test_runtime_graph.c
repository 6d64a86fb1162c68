#include "runtime_check.h"

static cudaStream_t stream;
static char *buffer; /* 1 MiB */

static int begin(void **state)
{
	return reset_device(state) || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) ||
	       cudaMalloc((void **)&buffer, MIB) || cudaMemset(buffer, 0, MIB);
}

static void note_call(void *counter)
{
	++*(int *)counter;
}

static cudaGraph_t make_graph(void)
{
	cudaGraph_t graph;

	assert_success(cudaGraphCreate(&graph, 0));
	return graph;
}

static void launch_once(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	assert_success(cudaGraphInstantiate(&exec, graph, 0));
	assert_success(cudaGraphLaunch(exec, stream));
	assert_success(cudaGraphExecDestroy(exec));
}

static char read_byte(const char *address)
{
	char byte = 0;

	assert_success(cudaMemcpy(&byte, address, 1, cudaMemcpyDeviceToHost));
	return byte;
}

static void test_nodes_of_all_sorts_run(void **state)
{
	struct cudaMemsetParams fill = {buffer, 0, 7, 1, 16, 1};
	struct cudaHostNodeParams host;
	char bytes[4] = {1, 2, 3, 4};
	cudaGraph_t graph = make_graph(), child = make_graph(), inside;
	cudaGraphNode_t nodes[5];
	cudaEvent_t event, found;
	int calls = 0;

	(void)state;
	host = (struct cudaHostNodeParams){note_call, &calls};
	assert_success(cudaEventCreate(&event));
	assert_success(cudaGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill));
	assert_success(cudaGraphAddMemcpyNode1D(&nodes[1], graph, nodes, 1, buffer + 32, bytes, 4,
						cudaMemcpyHostToDevice));
	assert_success(cudaGraphAddEventRecordNode(&nodes[2], graph, &nodes[1], 1, event));
	assert_success(cudaGraphEventRecordNodeGetEvent(nodes[2], &found));
	assert_ptr_equal(found, event);
	assert_success(cudaGraphAddEventWaitNode(&nodes[3], graph, &nodes[2], 1, event));
	assert_success(cudaGraphAddHostNode(&nodes[4], child, NULL, 0, &host));
	assert_success(cudaGraphAddChildGraphNode(&nodes[4], graph, &nodes[3], 1, child));
	assert_success(cudaGraphChildGraphNodeGetGraph(nodes[4], &inside));
	assert_success(cudaGraphAddEmptyNode(&nodes[4], graph, &nodes[4], 1));
	launch_once(graph);
	assert_int_equal(read_byte(buffer + 15), 7);
	assert_int_equal(read_byte(buffer + 35), 4);
	assert_int_equal(calls, 1);
	assert_success(cudaEventQuery(event));
	assert_success(cudaGraphDestroy(graph));
	assert_success(cudaGraphDestroy(child));
	assert_success(cudaEventDestroy(event));
}

static void test_copies_can_be_read_and_changed(void **state)
{
	struct cudaMemcpy3DParms params;
	cudaGraph_t graph = make_graph();
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	char bytes[8] = "abcdefg";

	(void)state;
	assert_success(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, buffer, bytes, 4,
						cudaMemcpyHostToDevice));
	assert_success(cudaGraphMemcpyNodeGetParams(node, &params));
	assert_int_equal(params.kind, cudaMemcpyHostToDevice);
	assert_ptr_equal(params.srcPtr.ptr, bytes);
	assert_ptr_equal(params.dstPtr.ptr, buffer);
	assert_int_equal(params.extent.width, 4);
	params.srcPtr.ptr = bytes + 1;
	assert_success(cudaGraphMemcpyNodeSetParams(node, &params));
	assert_success(cudaGraphInstantiate(&exec, graph, 0));
	assert_success(cudaGraphLaunch(exec, stream));
	assert_int_equal(read_byte(buffer), 'b');
	assert_success(cudaGraphExecMemcpyNodeSetParams1D(exec, node, buffer, bytes + 2, 4,
							  cudaMemcpyHostToDevice));
	assert_success(cudaGraphLaunch(exec, stream));
	assert_int_equal(read_byte(buffer), 'c');
	assert_error(cudaGraphExecMemcpyNodeSetParams1D(exec, node, bytes, buffer, 4,
							cudaMemcpyDeviceToHost),
		     cudaErrorInvalidValue);
	assert_error(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, buffer, bytes, 4,
					      (enum cudaMemcpyKind)9),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, NULL), cudaErrorInvalidValue);
	assert_success(cudaGraphExecDestroy(exec));
	assert_success(cudaGraphDestroy(graph));
}

static void test_any_node_can_be_added_by_its_type(void **state)
{
	struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeMemcpy};
	cudaGraph_t graph = make_graph();
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t node;
	char bytes[2] = {9, 8};

	(void)state;
	params.memcpy.copyParams = (struct cudaMemcpy3DParms){.srcPtr = {bytes, 2, 2, 1},
							      .dstPtr = {buffer, 2, 2, 1},
							      .extent = {2, 1, 1},
							      .kind = cudaMemcpyDefault};
	assert_success(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	assert_success(
		cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	params = (struct cudaGraphNodeParams){.type = cudaGraphNodeTypeConditional};
	params.conditional.handle = handle;
	params.conditional.type = cudaGraphCondTypeIf;
	params.conditional.size = 1;
	assert_success(cudaGraphAddNode(&node, graph, &node, NULL, 1, &params));
	assert_non_null(params.conditional.phGraph_out);
	assert_success(cudaGraphAddMemcpyNode1D(&node, params.conditional.phGraph_out[0], NULL, 0,
						buffer + 64, bytes, 2, cudaMemcpyDefault));
	launch_once(graph);
	assert_int_equal(read_byte(buffer), 9);
	assert_int_equal(read_byte(buffer + 65), 8);
	assert_success(cudaGraphDestroy(graph));
}

static void test_captured_memory_is_that_of_graphs(void **state)
{
	enum cudaStreamCaptureStatus status;
	unsigned long long used = 9;
	size_t before = free_memory();
	cudaGraph_t graph;
	void *freed, *kept, *found;
	cudaGraphNode_t nodes[3];
	size_t number = 3;

	(void)state;
	assert_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	assert_success(cudaMallocAsync(&freed, 4 * MIB, stream));
	assert_success(cudaFreeAsync(freed, stream));
	assert_success(cudaMallocAsync(&kept, 4 * MIB, stream));
	assert_success(cudaStreamIsCapturing(stream, &status));
	assert_int_equal(status, cudaStreamCaptureStatusActive);
	assert_error(cudaMalloc(&found, MIB), cudaErrorStreamCaptureUnsupported);
	assert_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	assert_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	assert_success(cudaMallocAsync(&freed, 4 * MIB, stream));
	assert_success(cudaFreeAsync(freed, stream));
	assert_success(cudaMallocAsync(&kept, 4 * MIB, stream));
	assert_success(cudaStreamEndCapture(stream, &graph));
	assert_success(cudaGraphGetNodes(graph, nodes, &number));
	assert_int_equal(number, 3);
	assert_success(cudaGraphMemFreeNodeGetParams(nodes[1], &found));
	assert_ptr_equal(found, freed);
	assert_int_equal(free_memory(), before);
	launch_once(graph);
	assert_int_equal(free_memory(), before - 4 * MIB);
	assert_success(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
	assert_int_equal(used, 4 * MIB);
	assert_success(cudaMemset(kept, 1, 4 * MIB));
	assert_success(cudaFree(kept));
	assert_success(cudaDeviceGraphMemTrim(0));
	assert_int_equal(free_memory(), before);
	assert_success(cudaGraphDestroy(graph));
}

static void test_forked_streams_are_joined(void **state)
{
	const cudaGraphNode_t *tips;
	enum cudaStreamCaptureStatus status;
	cudaGraph_t graph, inside;
	cudaEvent_t fork, join;
	cudaStream_t other;
	unsigned long long id;
	size_t number;

	(void)state;
	assert_success(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	assert_success(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	assert_success(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	assert_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	assert_success(cudaEventRecord(fork, stream));
	assert_success(cudaStreamWaitEvent(other, fork, 0));
	assert_success(cudaMemsetAsync(buffer, 1, 16, other));
	assert_success(cudaMemsetAsync(buffer + 16, 2, 16, stream));
	assert_success(cudaEventRecord(join, other));
	assert_success(cudaStreamWaitEvent(stream, join, 0));
	assert_success(
		cudaStreamGetCaptureInfo(stream, &status, &id, &inside, &tips, NULL, &number));
	assert_int_equal(number, 2);
	assert_error(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
	assert_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	assert_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	assert_success(cudaEventRecord(fork, stream));
	assert_success(cudaStreamWaitEvent(other, fork, 0));
	assert_success(cudaMemsetAsync(buffer, 1, 16, other));
	assert_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
	assert_success(cudaEventDestroy(fork));
	assert_success(cudaEventDestroy(join));
	assert_success(cudaStreamDestroy(other));
}

static void test_update_and_switches_reach_the_executable_graph(void **state)
{
	struct cudaMemsetParams fill = {buffer, 0, 1, 1, 16, 1};
	cudaGraphExecUpdateResultInfo info;
	cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagUpload};
	cudaGraph_t graph = make_graph(), newer = make_graph();
	cudaGraphNode_t node, other;
	cudaGraphExec_t exec;
	unsigned is_enabled;
	unsigned long long flags;

	(void)state;
	assert_success(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
	fill.value = 2;
	assert_success(cudaGraphAddMemsetNode(&other, newer, NULL, 0, &fill));
	params.uploadStream = stream;
	assert_success(cudaGraphInstantiateWithParams(&exec, graph, &params));
	assert_int_equal(params.result_out, cudaGraphInstantiateSuccess);
	assert_success(cudaGraphExecGetFlags(exec, &flags));
	assert_int_equal(flags, cudaGraphInstantiateFlagUpload);
	assert_success(cudaGraphExecUpdate(exec, newer, &info));
	assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
	assert_success(cudaGraphNodeSetEnabled(exec, node, 0));
	assert_success(cudaGraphNodeGetEnabled(exec, node, &is_enabled));
	assert_int_equal(is_enabled, 0);
	assert_success(cudaMemset(buffer, 0, 16));
	assert_success(cudaGraphLaunch(exec, stream));
	assert_int_equal(read_byte(buffer), 0);
	assert_success(cudaGraphNodeSetEnabled(exec, node, 1));
	assert_success(cudaGraphLaunch(exec, stream));
	assert_int_equal(read_byte(buffer), 2);
	assert_success(cudaGraphAddEmptyNode(&other, newer, NULL, 0));
	assert_error(cudaGraphExecUpdate(exec, newer, &info), cudaErrorGraphExecUpdateFailure);
	assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
	assert_success(cudaGraphExecDestroy(exec));
	assert_success(cudaGraphDestroy(graph));
	assert_success(cudaGraphDestroy(newer));
}

static void test_user_objects_end_with_their_graph(void **state)
{
	cudaGraph_t graph = make_graph();
	cudaUserObject_t object;
	int ended = 0;

	(void)state;
	assert_success(cudaUserObjectCreate(&object, &ended, note_call, 1,
					    cudaUserObjectNoDestructorSync));
	assert_success(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
	assert_success(cudaUserObjectRetain(object, 1));
	assert_success(cudaUserObjectRelease(object, 1));
	assert_int_equal(ended, 0);
	assert_success(cudaGraphDestroy(graph));
	assert_int_equal(ended, 1);
	assert_error(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nodes_of_all_sorts_run),
		TEST(test_copies_can_be_read_and_changed),
		TEST(test_any_node_can_be_added_by_its_type),
		TEST(test_captured_memory_is_that_of_graphs),
		TEST(test_forked_streams_are_joined),
		TEST(test_update_and_switches_reach_the_executable_graph),
		TEST(test_user_objects_end_with_their_graph),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
