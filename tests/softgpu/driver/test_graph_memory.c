#include "graph_fixture.h"

static size_t get_free(void)
{
	size_t free, total;

	assert_ok(cuMemGetInfo_v2(&free, &total));
	return free;
}

static uint64_t get(CUgraphMem_attribute attribute)
{
	cuuint64_t value = 0;

	assert_ok(cuDeviceGetGraphMemAttribute(0, attribute, &value));
	return value;
}

#define USED     get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT)
#define RESERVED get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT)

/* Each test leaves the pool empty, and takes nothing from the card in the end. */
static size_t free_before;

static int begin(void **state)
{
	(void)state;
	free_before = get_free();
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuDeviceGraphMemTrim(0));
	assert_int_equal(USED, 0);
	assert_int_equal(RESERVED, 0);
	assert_int_equal(get_free(), free_before);
	return 0;
}

static void test_address_is_fixed_when_the_node_is_added(void **state)
{
	CUgraph graph = make_graph();
	CUDA_MEM_ALLOC_NODE_PARAMS params;
	CUdeviceptr address, freed;
	CUgraphNode alloc = add_alloc(graph, NULL, 5 * MIB, &address), node;

	(void)state;
	assert_int_not_equal(address, 0);
	assert_ok(cuGraphMemAllocNodeGetParams(alloc, &params));
	assert_int_equal(params.dptr, address);
	assert_int_equal(params.bytesize, 5 * MIB);
	node = add_free(graph, alloc, address);
	assert_ok(cuGraphMemFreeNodeGetParams(node, &freed));
	assert_int_equal(freed, address);
	/* no memory yet */
	assert_invalid(cuMemsetD8_v2(address, 1, 1));
	assert_int_equal(get_free(), free_before);
	assert_ok(cuGraphDestroy(graph));
}

static void test_address_is_one_of_the_device_before_it_is_allocated(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr address, base;
	unsigned type = 0;
	int ordinal = 9;

	(void)state;
	add_alloc(graph, NULL, MIB, &address);
	assert_ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 5));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
	assert_int_equal(ordinal, 0);
	assert_ok(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 5));
	assert_int_equal(base, address);
	assert_invalid(
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + MIB));
	assert_ok(cuGraphDestroy(graph));
	assert_invalid(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
}

static void test_addresses_of_a_destroyed_graph_are_used_again(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr address = add_pair(graph, 64 * MIB), again;

	(void)state;
	assert_ok(cuGraphDestroy(graph));
	graph = make_graph();
	again = add_pair(graph, 64 * MIB);
	assert_int_equal(again, address);
	assert_ok(cuGraphDestroy(graph));
}

static void test_launch_charges_and_trim_gives_back(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr address;
	CUgraphNode node = add_alloc(graph, NULL, 5 * MIB, &address);
	CUgraphExec exec;

	(void)state;
	add_free(graph, add_fill(graph, node, address, 1, 5 * MIB), address);
	exec = instantiate(graph);
	assert_int_equal(RESERVED, 0);
	for (int i = 0; i < 3; i++) {
		assert_ok(cuGraphLaunch(exec, fixture_stream));
		assert_int_equal(RESERVED, 6 * MIB);
		assert_int_equal(USED, 0);
		assert_int_equal(get_free(), free_before - 6 * MIB);
	}
	assert_int_equal(get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 6 * MIB);
	/* freed inside: nobody else's to free */
	assert_invalid(cuMemFree_v2(address));
	assert_ok(cuGraphExecDestroy(exec));
	assert_int_equal(RESERVED, 6 * MIB);
	assert_ok(cuGraphDestroy(graph));
}

static void test_graphs_share_pages_and_not_addresses(void **state)
{
	CUgraph graphs[4];
	CUdeviceptr addresses[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		graphs[i] = make_graph();
		addresses[i] = add_pair(graphs[i], 64 * MIB);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(addresses[k], addresses[i]);
	}
	for (int i = 0; i < 4; i++) {
		launch_once(graphs[i]);
		assert_int_equal(RESERVED, 64 * MIB);
	}
	for (int i = 0; i < 4; i++)
		assert_ok(cuGraphDestroy(graphs[i]));
}

static void test_address_freed_before_is_used_again(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr first, second, third, beside;
	CUgraphNode node = add_alloc(graph, NULL, 64 * MIB, &first);

	(void)state;
	node = add_free(graph, node, first);
	/* not after the free: it may run at the same time */
	add_alloc(graph, NULL, 64 * MIB, &beside);
	assert_int_not_equal(beside, first);
	node = add_alloc(graph, node, 16 * MIB, &second);
	assert_int_equal(second, first);
	add_alloc(graph, node, 48 * MIB, &third);
	assert_int_equal(third, first + 16 * MIB);
	launch_once(graph);
	assert_int_equal(RESERVED, 128 * MIB);
	assert_ok(cuMemFree_v2(second));
	assert_ok(cuMemFree_v2(third));
	assert_ok(cuMemFreeAsync(beside, NULL));
	assert_ok(cuGraphDestroy(graph));
}

static void test_branches_do_not_use_each_others_addresses(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr left, right, again, behind;
	CUgraphNode start = add_empty(graph, NULL), ends[2], join;

	(void)state;
	ends[0] = add_alloc(graph, start, 4 * MIB, &left);
	ends[0] = add_free(graph, ends[0], left);
	ends[0] = add_alloc(graph, ends[0], 4 * MIB, &again);
	assert_int_equal(again, left);
	ends[0] = add_free(graph, ends[0], again);
	ends[1] = add_alloc(graph, start, 4 * MIB, &right);
	assert_int_not_equal(right, left);
	ends[1] = add_free(graph, ends[1], right);
	ends[1] = add_alloc(graph, ends[1], 4 * MIB, &again);
	assert_int_equal(again, right);
	ends[1] = add_free(graph, ends[1], again);
	ends[0] = add_alloc(graph, ends[0], 4 * MIB, &again);
	assert_int_equal(again, left);
	ends[0] = add_free(graph, ends[0], again);
	/* behind both everything is free */
	assert_ok(cuGraphAddEmptyNode(&join, graph, ends, 2));
	add_alloc(graph, join, 4 * MIB, &again);
	assert_true(again == left || again == right);
	add_alloc(graph, join, 4 * MIB, &behind);
	assert_true(behind == left + right - again);
	launch_once(graph);
	assert_int_equal(RESERVED, 8 * MIB);
	assert_ok(cuMemFree_v2(again));
	assert_ok(cuMemFree_v2(behind));
	assert_ok(cuGraphDestroy(graph));
}

static void test_small_allocations_share_a_page(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr first, second;
	CUgraphNode node = add_alloc(graph, NULL, 1, &first);

	(void)state;
	add_alloc(graph, node, 1, &second);
	assert_int_equal(second, first + 512);
	launch_once(graph);
	assert_int_equal(USED, PAGE);
	assert_ok(cuMemFree_v2(first));
	assert_int_equal(USED, PAGE);
	assert_ok(cuMemFree_v2(second));
	assert_int_equal(USED, 0);
	assert_ok(cuGraphDestroy(graph));
}

static void test_unfreed_memory_lives_on_until_freed_outside(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr address;
	CUgraphExec exec;

	(void)state;
	add_alloc(graph, NULL, 4 * MIB, &address);
	exec = instantiate(graph);
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_int_equal(USED, 4 * MIB);
	assert_ok(cuMemsetD8_v2(address, 3, 4 * MIB));
	assert_int_equal(read_byte(address + 4 * MIB - 1), 3);
	/* live: neither trimmed nor allocated again */
	assert_ok(cuDeviceGraphMemTrim(0));
	assert_int_equal(RESERVED, 4 * MIB);
	assert_invalid(cuGraphLaunch(exec, fixture_stream));
	assert_ok(cuMemFreeAsync(address, fixture_stream));
	assert_invalid(cuMemFree_v2(address));
	assert_int_equal(USED, 0);
	assert_ok(cuGraphLaunch(exec, fixture_stream));
	/* it outlives what allocated it */
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuMemsetD8_v2(address, 1, 1));
	assert_int_equal(USED, 4 * MIB);
	assert_ok(cuMemFree_v2(address));
}

static void test_auto_free_frees_at_the_next_launch(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr address;
	CUgraphExec exec;

	(void)state;
	add_alloc(graph, NULL, 4 * MIB, &address);
	assert_ok(cuGraphInstantiateWithFlags(&exec, graph,
					      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	for (int i = 0; i < 3; i++) {
		assert_ok(cuGraphLaunch(exec, fixture_stream));
		assert_int_equal(USED, 4 * MIB);
	}
	assert_ok(cuMemFree_v2(address));
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_another_graph_can_free(void **state)
{
	CUgraph graph = make_graph(), other = make_graph();
	CUdeviceptr address;
	CUgraphNode alloc = add_alloc(graph, NULL, 4 * MIB, &address), node;
	CUgraphExec freeing;

	(void)state;
	add_free(other, NULL, address);
	/* in one graph only */
	assert_invalid(cuGraphAddMemFreeNode(&node, graph, &alloc, 1, address));
	freeing = instantiate(other);
	assert_invalid(cuGraphLaunch(freeing, fixture_stream));
	launch_once(graph);
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphLaunch(freeing, fixture_stream));
	assert_int_equal(USED, 0);
	assert_invalid(cuGraphLaunch(freeing, fixture_stream));
	assert_ok(cuGraphExecDestroy(freeing));
	assert_ok(cuGraphDestroy(other));
}

static void test_graph_with_memory_stays_as_it_is(void **state)
{
	CUgraph graph = make_graph(), copy;
	CUdeviceptr address;
	CUgraphNode alloc = add_alloc(graph, NULL, MIB, &address);
	CUgraphNode node = add_free(graph, alloc, address), other;
	CUgraphExec exec = instantiate(graph), second;

	(void)state;
	assert_invalid(cuGraphAddMemFreeNode(&other, graph, &alloc, 1, address));
	assert_invalid(cuGraphAddMemFreeNode(&other, graph, NULL, 0, address + 512));
	assert_invalid(cuGraphAddMemFreeNode(&other, graph, NULL, 0, fixture_buffer));
	assert_invalid(cuGraphDestroyNode(node));
	assert_invalid(cuGraphRemoveDependencies(graph, &alloc, &node, 1));
	assert_cuda(cuGraphClone(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
	/* one executable graph at a time */
	assert_invalid(cuGraphInstantiateWithFlags(&second, graph, 0));
	assert_ok(cuGraphExecDestroy(exec));
	exec = instantiate(graph);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_bad_parameters_of_allocations_are_refused(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = describe_alloc(0);
	CUgraph graph = make_graph();
	CUgraphNode node;

	(void)state;
	assert_invalid(cuGraphAddMemAllocNode(&node, graph, NULL, 0, NULL));
	assert_invalid(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	params = describe_alloc(MIB);
	params.poolProps.location.id = 77;
	assert_invalid(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	params = describe_alloc(MIB);
	params.poolProps.location.type = CU_MEM_LOCATION_TYPE_HOST;
	assert_invalid(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	params = describe_alloc(SIZE_MAX);
	assert_cuda(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params),
		    CUDA_ERROR_OUT_OF_MEMORY);
	assert_invalid(cuGraphAddMemFreeNode(&node, graph, NULL, 0, fixture_buffer));
	/* it has no memory nodes, so it may change */
	assert_ok(cuGraphDestroyNode(add_empty(graph, NULL)));
	assert_ok(cuGraphDestroy(graph));
}

static void test_launch_without_room_changes_nothing(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr first, second;
	CUgraphNode node = add_alloc(graph, NULL, 64 * MIB, &first);
	CUgraphExec exec;
	int calls = 0;

	(void)state;
	add_alloc(graph, node, (size_t)1 << 40, &second);
	add_host(graph, NULL, count_call, &calls);
	exec = instantiate(graph);
	assert_cuda(cuGraphLaunch(exec, fixture_stream), CUDA_ERROR_OUT_OF_MEMORY);
	assert_cuda(cuGraphUpload(exec, fixture_stream), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(calls, 0);
	assert_int_equal(USED, 0);
	assert_int_equal(get_free(), free_before);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_upload_takes_the_pages_early(void **state)
{
	CUgraph graph = make_graph();
	CUdeviceptr address;
	CUgraphExec exec;

	(void)state;
	add_alloc(graph, NULL, 4 * MIB, &address);
	exec = instantiate(graph);
	assert_ok(cuGraphUpload(exec, fixture_stream));
	assert_int_equal(RESERVED, 4 * MIB);
	assert_int_equal(USED, 0);
	assert_ok(cuGraphExecDestroy(exec));
	assert_ok(cuGraphDestroy(graph));
}

static void test_high_marks_can_be_set_back(void **state)
{
	cuuint64_t zero = 0, one = 1, value;
	CUgraph graph = make_graph();
	CUdeviceptr address;

	(void)state;
	add_alloc(graph, NULL, 8 * MIB, &address);
	launch_once(graph);
	assert_ok(cuMemFree_v2(address));
	assert_int_equal(get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) >= 8 * MIB, 1);
	assert_invalid(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &one));
	assert_invalid(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
	assert_ok(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
	assert_int_equal(get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
	assert_ok(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
	assert_int_equal(get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 8 * MIB);
	assert_invalid(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)9, &value));
	assert_cuda(cuDeviceGetGraphMemAttribute(77, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value),
		    CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceGraphMemTrim(77), CUDA_ERROR_INVALID_DEVICE);
	assert_ok(cuGraphDestroy(graph));
}

static void test_reset_gives_back_what_graphs_hold(void **state)
{
	CUcontext second, mine;
	CUdeviceptr address;
	CUgraph graph = make_graph();
	CUDA_MEM_ALLOC_NODE_PARAMS params = describe_alloc(4 * MIB);
	cuuint64_t used;
	CUgraphNode node;

	(void)state;
	params.poolProps.location.id = 1;
	assert_ok(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	address = params.dptr;
	assert_ok(cuDevicePrimaryCtxRetain(&second, 1));
	mine = fixture_exchange_context(second);
	launch_once(graph);
	assert_ok(cuMemsetD8_v2(address, 1, 1));
	assert_ok(cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 4 * MIB);
	fixture_exchange_context(mine);
	assert_ok(cuDevicePrimaryCtxReset_v2(1));
	assert_ok(cuDeviceGetGraphMemAttribute(1, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	assert_invalid(cuMemFree_v2(address));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuDevicePrimaryCtxRelease_v2(1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_address_is_fixed_when_the_node_is_added),
		TEST(test_address_is_one_of_the_device_before_it_is_allocated),
		TEST(test_addresses_of_a_destroyed_graph_are_used_again),
		TEST(test_launch_charges_and_trim_gives_back),
		TEST(test_graphs_share_pages_and_not_addresses),
		TEST(test_address_freed_before_is_used_again),
		TEST(test_branches_do_not_use_each_others_addresses),
		TEST(test_small_allocations_share_a_page),
		TEST(test_unfreed_memory_lives_on_until_freed_outside),
		TEST(test_auto_free_frees_at_the_next_launch),
		TEST(test_another_graph_can_free),
		TEST(test_graph_with_memory_stays_as_it_is),
		TEST(test_bad_parameters_of_allocations_are_refused),
		TEST(test_launch_without_room_changes_nothing),
		TEST(test_upload_takes_the_pages_early),
		TEST(test_high_marks_can_be_set_back),
		TEST(test_reset_gives_back_what_graphs_hold),
	};

	return cmocka_run_group_tests(tests, graph_setup, fixture_teardown);
}
