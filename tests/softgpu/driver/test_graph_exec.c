#include "graph_fixture.h"

static char order[32];
static size_t order_length;

static void note(void *letter)
{
	order[order_length++] = *(const char *)letter;
	order[order_length] = '\0';
}

static void test_nodes_run_after_what_they_depend_on(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNode c = add_host(graph, NULL, note, "c"), a = add_host(graph, NULL, note, "a");
	CUgraphNode b = add_host(graph, a, note, "b");

	(void)state;
	order_length = 0;
	assert_ok(cuGraphAddDependencies(graph, &b, &c, 1));
	launch_once(graph);
	assert_string_equal(order, "abc");
	assert_ok(cuGraphDestroy(graph));
}

static void test_circle_cannot_be_instantiated(void **state)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
	CUgraph graph = make_graph();
	CUgraphNode a = add_empty(graph, NULL), b = add_empty(graph, a);
	CUgraphExec exec;

	(void)state;
	assert_ok(cuGraphAddDependencies(graph, &b, &a, 1));
	assert_invalid(cuGraphInstantiateWithParams(&exec, graph, &params));
	assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
	assert_true(params.hErrNode_out == a || params.hErrNode_out == b);
	assert_ok(cuGraphDestroy(graph));
}

static void test_executable_graph_outlives_its_graph(void **state)
{
	CUgraph graph = make_graph();
	CUgraphExec exec;
	int calls = 0;

	(void)state;
	add_host(graph, NULL, count_call, &calls);
	exec = instantiate(graph);
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphUpload(exec, fixture_stream));
	assert_int_equal(calls, 0);
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_ok(cuGraphLaunch(exec, NULL));
	assert_int_equal(calls, 2);
	assert_ok(cuGraphExecDestroy(exec));
	assert_invalid(cuGraphLaunch(exec, NULL));
}

static void test_all_ways_to_instantiate_work(void **state)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
	CUgraph graph = make_graph();
	CUgraphNode error_node;
	CUgraphExec exec;
	cuuint64_t flags;
	char text[8] = "text";

	(void)state;
	add_kernel(graph, NULL);
	assert_ok(cuGraphInstantiate(&exec, graph, &error_node, text, sizeof(text)));
	assert_null(error_node);
	assert_string_equal(text, "");
	assert_ok(cuGraphExecDestroy(exec));
	params.hUploadStream = fixture_stream;
	assert_ok(cuGraphInstantiateWithParams(&exec, graph, &params));
	assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	assert_ok(cuGraphExecGetFlags(exec, &flags));
	assert_int_equal(flags, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphInstantiateWithFlags(&exec, graph,
					      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
	assert_ok(cuGraphExecDestroy(exec));
	add_empty(graph, NULL);
	assert_cuda(cuGraphInstantiateWithFlags(&exec, graph,
						CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
		    CUDA_ERROR_NOT_SUPPORTED);
	assert_ok(cuGraphDestroy(graph));
}

static void test_fills_and_copies_move_bytes(void **state)
{
	const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				    .srcDevice = fixture_buffer,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = fixture_buffer + 4096,
				    .WidthInBytes = 16,
				    .Height = 1,
				    .Depth = 1};
	CUgraph graph = make_graph();
	CUgraphNode fill = add_fill(graph, NULL, fixture_buffer, 0x5a, 16), node;

	(void)state;
	assert_ok(cuGraphAddMemcpyNode(&node, graph, &fill, 1, &copy, NULL));
	assert_ok(cuMemsetD8_v2(fixture_buffer, 0, 8192));
	launch_once(graph);
	assert_int_equal(read_byte(fixture_buffer), 0x5a);
	assert_int_equal(read_byte(fixture_buffer + 4096 + 15), 0x5a);
	assert_int_equal(read_byte(fixture_buffer + 4096 + 16), 0);
	assert_ok(cuGraphDestroy(graph));
}

static void test_words_are_written(void **state)
{
	CUstreamBatchMemOpParams operation = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32};
	CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &operation};
	CUgraph graph = make_graph();
	CUgraphNode node;

	(void)state;
	operation.writeValue.address = fixture_buffer;
	operation.writeValue.value = 0x77;
	assert_ok(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params));
	operation.writeValue.value = 0x11; /* the node has a copy */
	assert_ok(cuGraphBatchMemOpNodeGetParams(node, &params));
	assert_int_equal(params.paramArray[0].writeValue.value, 0x77);
	launch_once(graph);
	assert_int_equal(read_byte(fixture_buffer), 0x77);
	assert_ok(cuGraphDestroy(graph));
}

static void test_events_are_recorded_at_launch(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNode record, wait;
	CUevent event, other, found;
	float time;

	(void)state;
	assert_ok(cuEventCreate(&event, 0));
	assert_ok(cuEventCreate(&other, 0));
	assert_ok(cuGraphAddEventRecordNode(&record, graph, NULL, 0, event));
	assert_ok(cuGraphAddEventWaitNode(&wait, graph, &record, 1, event));
	assert_invalid(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, NOT_A_HANDLE));
	assert_ok(cuEventRecord(other, NULL));
	assert_cuda(cuEventElapsedTime(&time, other, event), CUDA_ERROR_INVALID_HANDLE);
	launch_once(graph);
	assert_ok(cuEventElapsedTime(&time, other, event));
	assert_ok(cuGraphEventRecordNodeSetEvent(record, other));
	assert_ok(cuGraphEventRecordNodeGetEvent(record, &found));
	assert_ptr_equal(found, other);
	assert_ok(cuGraphEventWaitNodeGetEvent(wait, &found));
	assert_ptr_equal(found, event);
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuEventDestroy_v2(event));
	assert_ok(cuEventDestroy_v2(other));
}

static void test_parameters_can_be_read_and_changed(void **state)
{
	CUDA_KERNEL_NODE_PARAMS_v2 kernel = describe_kernel(fixture_other), found;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUgraph graph = make_graph();
	CUgraphNode node = add_kernel(graph, NULL), memset_node;

	(void)state;
	assert_ok(cuGraphKernelNodeGetParams_v2(node, &found));
	assert_ptr_equal(found.func, fixture_kernel);
	kernel.gridDimX = 7;
	assert_ok(cuGraphKernelNodeSetParams_v2(node, &kernel));
	assert_ok(cuGraphKernelNodeGetParams_v2(node, &found));
	assert_ptr_equal(found.func, fixture_other);
	assert_int_equal(found.gridDimX, 7);
	kernel.blockDimX = 0;
	assert_invalid(cuGraphKernelNodeSetParams_v2(node, &kernel));
	memset_node = add_fill(graph, NULL, fixture_buffer, 1, 8);
	assert_ok(cuGraphMemsetNodeGetParams(memset_node, &fill));
	assert_int_equal(fill.width, 8);
	fill.elementSize = 3;
	assert_invalid(cuGraphMemsetNodeSetParams(memset_node, &fill));
	assert_invalid(cuGraphMemsetNodeGetParams(node, &fill));
	assert_ok(cuGraphDestroy(graph));
}

static void test_packed_arguments_belong_to_the_node(void **state)
{
	CUdeviceptr argument = fixture_buffer;
	size_t size = sizeof(argument);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &argument, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};
	CUDA_KERNEL_NODE_PARAMS_v2 params = describe_kernel(fixture_kernel);
	CUgraph graph = make_graph();
	CUgraphNode node;

	(void)state;
	params.extra = extra;
	assert_ok(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	argument = 0;
	size = 0;
	assert_ok(cuGraphKernelNodeGetParams_v2(node, &params));
	assert_int_equal(*(CUdeviceptr *)params.extra[1], fixture_buffer);
	assert_int_equal(*(size_t *)params.extra[3], sizeof(argument));
	assert_ok(cuGraphDestroy(graph));
}

static void test_kernel_attributes_are_kept_and_copied(void **state)
{
	CUkernelNodeAttrValue value = {.priority = -1}, found;
	CUgraph graph = make_graph();
	CUgraphNode node = add_kernel(graph, NULL), other = add_kernel(graph, NULL);

	(void)state;
	assert_ok(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	assert_ok(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &found));
	assert_int_equal(found.priority, 0);
	assert_ok(cuGraphKernelNodeCopyAttributes(other, node));
	assert_ok(cuGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &found));
	assert_int_equal(found.priority, -1);
	assert_invalid(cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)99, &value));
	assert_invalid(
		cuGraphKernelNodeGetAttribute(NOT_A_HANDLE, CU_LAUNCH_ATTRIBUTE_PRIORITY, &found));
	assert_ok(cuGraphDestroy(graph));
}

static void test_executable_nodes_change_alone(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNode fill = add_fill(graph, NULL, fixture_buffer, 1, 8), late;
	CUgraphExec exec = instantiate(graph);
	CUDA_MEMSET_NODE_PARAMS params;

	(void)state;
	assert_ok(cuGraphMemsetNodeGetParams(fill, &params));
	params.value = 9;
	assert_ok(cuGraphExecMemsetNodeSetParams(exec, fill, &params, NULL));
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_int_equal(read_byte(fixture_buffer), 9);
	launch_once(graph);
	assert_int_equal(read_byte(fixture_buffer), 1);
	params.height = 2;
	params.pitch = 512;
	assert_invalid(cuGraphExecMemsetNodeSetParams(exec, fill, &params, NULL));
	late = add_fill(graph, NULL, fixture_buffer, 1, 8);
	params.height = 1;
	assert_invalid(cuGraphExecMemsetNodeSetParams(exec, late, &params, NULL));
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_disabled_nodes_do_nothing(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNode fill = add_fill(graph, NULL, fixture_buffer, 3, 8), host;
	CUgraphExec exec;
	unsigned is_enabled = 9;
	int calls = 0;

	(void)state;
	host = add_host(graph, NULL, count_call, &calls);
	exec = instantiate(graph);
	assert_ok(cuMemsetD8_v2(fixture_buffer, 0, 8));
	assert_ok(cuGraphNodeSetEnabled(exec, fill, 0));
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_int_equal(read_byte(fixture_buffer), 0);
	assert_ok(cuGraphNodeGetEnabled(exec, fill, &is_enabled));
	assert_int_equal(is_enabled, 0);
	assert_ok(cuGraphNodeSetEnabled(exec, fill, 1));
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_int_equal(read_byte(fixture_buffer), 3);
	assert_invalid(cuGraphNodeSetEnabled(exec, host, 0));
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_update_takes_the_parameters_of_a_graph_of_the_same_shape(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = make_graph(), newer = make_graph();
	CUgraphExec exec;

	(void)state;
	add_fill(graph, add_kernel(graph, NULL), fixture_buffer, 1, 8);
	add_fill(newer, add_kernel(newer, NULL), fixture_buffer, 2, 8);
	exec = instantiate(graph);
	assert_ok(cuGraphExecUpdate_v2(exec, newer, &info));
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_int_equal(read_byte(fixture_buffer), 2);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphDestroy(newer));
}

static void test_update_tells_what_differs(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = make_graph(), newer = make_graph();
	CUgraphNode first = add_kernel(graph, NULL), node, error_node;
	CUgraphExecUpdateResult update;
	CUgraphExec exec;

	(void)state;
	add_fill(graph, first, fixture_buffer, 1, 8);
	exec = instantiate(graph);
	first = add_kernel(newer, NULL);
	assert_cuda(cuGraphExecUpdate_v2(exec, newer, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_null(info.errorNode);
	node = add_fill(newer, NULL, fixture_buffer, 1, 8);
	assert_cuda(cuGraphExecUpdate_v2(exec, newer, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_ptr_equal(info.errorNode, node);
	assert_ok(cuGraphDestroyNode(node));
	node = add_kernel(newer, first);
	assert_cuda(cuGraphExecUpdate(exec, newer, &error_node, &update),
		    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(update, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	assert_ptr_equal(error_node, node);
	assert_invalid(cuGraphExecUpdate_v2(exec, NOT_A_HANDLE, &info));
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphDestroy(newer));
}

static void test_update_compares_which_nodes_are_depended_on(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = make_graph(), newer = make_graph();
	CUgraphNode first = add_empty(graph, NULL), second, last;
	CUgraphExec exec;

	(void)state;
	add_empty(graph, NULL);
	add_empty(graph, first);
	exec = instantiate(graph);
	add_empty(newer, NULL);
	second = add_empty(newer, NULL);
	last = add_empty(newer, second);
	assert_cuda(cuGraphExecUpdate_v2(exec, newer, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_ptr_equal(info.errorNode, last);
	assert_ptr_equal(info.errorFromNode, second);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphDestroy(newer));
}

static void test_child_of_an_executable_graph_can_be_replaced(void **state)
{
	CUgraph graph = make_graph(), child = make_graph(), other = make_graph();
	CUgraphNode node;
	CUgraphExec exec;

	(void)state;
	add_fill(child, NULL, fixture_buffer, 4, 8);
	add_fill(other, NULL, fixture_buffer, 5, 8);
	assert_ok(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	exec = instantiate(graph);
	assert_ok(cuGraphExecChildGraphNodeSetParams(exec, node, other));
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_int_equal(read_byte(fixture_buffer), 5);
	add_empty(other, NULL);
	assert_invalid(cuGraphExecChildGraphNodeSetParams(exec, node, other));
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphDestroy(child));
	assert_ok(cuGraphDestroy(other));
}

static void test_conditions_choose_bodies_by_their_first_value(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphConditionalHandle handle, unset;
	CUgraphNode node;

	(void)state;
	assert_ok(cuGraphConditionalHandleCreate(&handle, graph, NULL, 1,
						 CU_GRAPH_COND_ASSIGN_DEFAULT));
	assert_ok(cuGraphConditionalHandleCreate(&unset, graph, NULL, 1, 0));
	params.conditional.handle = handle;
	params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
	params.conditional.size = 2;
	assert_invalid(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	params.conditional.size = 1;
	assert_ok(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	/* a loop goes round once: no kernel ends it */
	add_fill(params.conditional.phGraph_out[0], NULL, fixture_buffer, 6, 8);
	params.conditional.handle = unset;
	params.conditional.type = CU_GRAPH_COND_TYPE_IF;
	params.conditional.size = 2;
	assert_ok(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	add_fill(params.conditional.phGraph_out[0], NULL, fixture_buffer + 1, 7, 1);
	add_fill(params.conditional.phGraph_out[1], NULL, fixture_buffer + 2, 8, 1);
	params.conditional.handle = 0;
	assert_invalid(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	launch_once(graph);
	assert_int_equal(read_byte(fixture_buffer), 6);
	assert_int_equal(read_byte(fixture_buffer + 1), 6);
	assert_int_equal(read_byte(fixture_buffer + 2), 8);
	assert_ok(cuGraphDestroy(graph));
}

static void test_semaphore_nodes_are_kept(void **state)
{
	CUexternalSemaphore semaphore = NOT_A_HANDLE;
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {.params.fence.value = 3};
	CUDA_EXT_SEM_SIGNAL_NODE_PARAMS params = {&semaphore, &signal, 1}, found;
	CUgraph graph = make_graph(), clone;
	CUgraphNode node, copy;

	(void)state;
	assert_ok(cuGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, &params));
	signal.params.fence.value = 4;
	assert_ok(cuGraphClone(&clone, graph));
	assert_ok(cuGraphNodeFindInClone(&copy, node, clone));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphExternalSemaphoresSignalNodeGetParams(copy, &found));
	assert_int_equal(found.paramsArray[0].params.fence.value, 3);
	assert_ptr_equal(found.extSemArray[0], semaphore);
	launch_once(clone);
	assert_ok(cuGraphDestroy(clone));
}

static void test_user_object_ends_with_its_last_holder(void **state)
{
	CUgraph graph = make_graph(), clone;
	CUuserObject object;
	CUgraphExec exec;
	int ended = 0;

	(void)state;
	assert_invalid(cuUserObjectCreate(&object, &ended, count_call, 1, 0));
	assert_ok(cuUserObjectCreate(&object, &ended, count_call, 1,
				     CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	assert_ok(cuUserObjectRetain(object, 2));
	assert_ok(cuUserObjectRelease(object, 2));
	assert_ok(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	assert_invalid(cuGraphReleaseUserObject(graph, object, 2));
	exec = instantiate(graph);
	assert_ok(cuGraphClone(&clone, graph));
	assert_ok(cuGraphDestroy(graph));
	assert_int_equal(ended, 0);
	assert_ok(cuGraphReleaseUserObject(clone, object, 1));
	assert_ok(cuGraphDestroy(clone));
	assert_int_equal(ended, 0);
	assert_ok(cuGraphExecDestroy(exec));
	assert_int_equal(ended, 1);
	assert_invalid(cuUserObjectRetain(object, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes_run_after_what_they_depend_on),
		cmocka_unit_test(test_circle_cannot_be_instantiated),
		cmocka_unit_test(test_executable_graph_outlives_its_graph),
		cmocka_unit_test(test_all_ways_to_instantiate_work),
		cmocka_unit_test(test_fills_and_copies_move_bytes),
		cmocka_unit_test(test_words_are_written),
		cmocka_unit_test(test_events_are_recorded_at_launch),
		cmocka_unit_test(test_parameters_can_be_read_and_changed),
		cmocka_unit_test(test_packed_arguments_belong_to_the_node),
		cmocka_unit_test(test_kernel_attributes_are_kept_and_copied),
		cmocka_unit_test(test_executable_nodes_change_alone),
		cmocka_unit_test(test_disabled_nodes_do_nothing),
		cmocka_unit_test(test_update_takes_the_parameters_of_a_graph_of_the_same_shape),
		cmocka_unit_test(test_update_tells_what_differs),
		cmocka_unit_test(test_update_compares_which_nodes_are_depended_on),
		cmocka_unit_test(test_child_of_an_executable_graph_can_be_replaced),
		cmocka_unit_test(test_conditions_choose_bodies_by_their_first_value),
		cmocka_unit_test(test_semaphore_nodes_are_kept),
		cmocka_unit_test(test_user_object_ends_with_its_last_holder),
	};

	return cmocka_run_group_tests(tests, graph_setup, fixture_teardown);
}
