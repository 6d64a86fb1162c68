#include "graph_fixture.h"

#include <stdio.h>
#include <unistd.h>

static void test_graph_has_the_nodes_it_was_given(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNode first = add_empty(graph, NULL), second = add_empty(graph, first);
	CUgraphNode nodes[3] = {NOT_A_HANDLE, NOT_A_HANDLE, NOT_A_HANDLE};
	size_t room = 3;

	(void)state;
	assert_int_equal(count_nodes(graph), 2);
	assert_ok(cuGraphGetNodes(graph, nodes, &room));
	assert_int_equal(room, 2);
	assert_ptr_equal(nodes[0], first);
	assert_ptr_equal(nodes[1], second);
	assert_null(nodes[2]);
	room = 1;
	assert_ok(cuGraphGetRootNodes(graph, nodes, &room));
	assert_int_equal(room, 1);
	assert_ptr_equal(nodes[0], first);
	assert_int_equal(get_type(second), CU_GRAPH_NODE_TYPE_EMPTY);
	assert_ok(cuGraphDestroy(graph));
}

static void test_handles_that_are_none_are_refused(void **state)
{
	CUgraph graph = make_graph(), none = NOT_A_HANDLE;
	CUgraphNode node = add_empty(graph, NULL), other;
	CUgraphNodeType type;
	CUgraphExec exec;
	size_t number;

	(void)state;
	assert_invalid(cuGraphCreate(NULL, 0));
	assert_invalid(cuGraphCreate(&none, 1));
	assert_invalid(cuGraphDestroy(NOT_A_HANDLE));
	assert_invalid(cuGraphGetNodes(NOT_A_HANDLE, NULL, &number));
	assert_invalid(cuGraphGetNodes(graph, NULL, NULL));
	assert_invalid(cuGraphNodeGetType(NOT_A_HANDLE, &type));
	assert_invalid(cuGraphInstantiateWithFlags(&exec, NOT_A_HANDLE, 0));
	assert_invalid(cuGraphInstantiateWithFlags(&exec, graph, 1u << 20));
	assert_invalid(cuGraphInstantiateWithFlags(NULL, graph, 0));
	assert_invalid(cuGraphLaunch(NOT_A_HANDLE, fixture_stream));
	assert_invalid(cuGraphExecDestroy(NOT_A_HANDLE));
	assert_invalid(cuGraphAddEmptyNode(&other, graph, NULL, 1));
	assert_ok(cuGraphDestroy(graph));
	/* destroyed with its nodes */
	assert_invalid(cuGraphDestroy(graph));
	assert_invalid(cuGraphNodeGetType(node, &type));
	assert_invalid(cuGraphDestroyNode(node));
}

static void test_dependencies_are_of_the_same_graph_and_not_twice(void **state)
{
	CUgraph graph = make_graph(), elsewhere = make_graph();
	CUgraphNode first = add_empty(graph, NULL), foreign = add_empty(elsewhere, NULL), node;
	CUgraphNode twice[2] = {first, first};

	(void)state;
	assert_invalid(cuGraphAddEmptyNode(&node, graph, &foreign, 1));
	assert_invalid(cuGraphAddEmptyNode(&node, graph, twice, 2));
	assert_int_equal(count_nodes(graph), 1);
	assert_invalid(cuGraphAddDependencies(graph, &first, &foreign, 1));
	assert_invalid(cuGraphAddDependencies(graph, &first, &first, 1));
	node = add_empty(graph, first);
	assert_invalid(cuGraphAddDependencies(graph, &first, &node, 1));
	assert_ok(cuGraphRemoveDependencies(graph, &first, &node, 1));
	assert_invalid(cuGraphRemoveDependencies(graph, &first, &node, 1));
	assert_ok(cuGraphAddDependencies(graph, &node, &first, 1));
	assert_ok(cuGraphDestroy(graph));
	assert_ok(cuGraphDestroy(elsewhere));
}

static void test_edges_can_be_asked_from_both_ends(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNode a = add_empty(graph, NULL), b = add_empty(graph, a), c = add_empty(graph, a);
	CUgraphNode from[4], to[4];
	size_t number = 4;

	(void)state;
	assert_ok(cuGraphAddDependencies(graph, &b, &c, 1));
	assert_ok(cuGraphGetEdges(graph, from, to, &number));
	assert_int_equal(number, 3);
	assert_ptr_equal(from[0], a);
	assert_ptr_equal(to[0], b);
	assert_null(from[3]);
	assert_null(to[3]);
	number = 4;
	assert_ok(cuGraphNodeGetDependencies(c, from, &number));
	assert_int_equal(number, 2);
	assert_ptr_equal(from[0], a);
	assert_ptr_equal(from[1], b);
	assert_ok(cuGraphNodeGetDependentNodes(a, NULL, &number));
	assert_int_equal(number, 2);
	assert_ok(cuGraphDestroyNode(b));
	number = 4;
	assert_ok(cuGraphGetEdges(graph, NULL, NULL, &number));
	assert_int_equal(number, 1);
	assert_ok(cuGraphDestroy(graph));
}

static void test_edge_data_is_kept_and_not_lost_silently(void **state)
{
	const CUgraphEdgeData early = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
				       .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
	const CUgraphEdgeData strange = {.to_port = 7};
	CUgraph graph = make_graph();
	CUgraphNode first = add_kernel(graph, NULL), second = add_kernel(graph, NULL), from, to;
	CUgraphNode empty = add_empty(graph, NULL);
	CUgraphEdgeData data;
	size_t number = 1;

	(void)state;
	assert_invalid(cuGraphAddDependencies_v2(graph, &first, &second, &strange, 1));
	assert_invalid(cuGraphAddDependencies_v2(graph, &empty, &second, &early, 1));
	assert_ok(cuGraphAddDependencies_v2(graph, &first, &second, &early, 1));
	assert_cuda(cuGraphGetEdges(graph, &from, &to, &number), CUDA_ERROR_LOSSY_QUERY);
	assert_cuda(cuGraphNodeGetDependencies(second, &from, &number), CUDA_ERROR_LOSSY_QUERY);
	assert_ok(cuGraphGetEdges_v2(graph, &from, &to, &data, &number));
	assert_memory_equal(&data, &early, sizeof(data));
	/* the data is part of which edge it is */
	assert_invalid(cuGraphRemoveDependencies(graph, &first, &second, 1));
	assert_ok(cuGraphRemoveDependencies_v2(graph, &first, &second, &early, 1));
	assert_ok(cuGraphDestroy(graph));
}

static void test_clone_is_independent_and_knows_its_originals(void **state)
{
	CUgraph graph = make_graph(), clone;
	CUgraphNode first = add_kernel(graph, NULL), second = add_empty(graph, first), late, found;
	CUgraphNode dependency;
	size_t number = 1;

	(void)state;
	assert_ok(cuGraphClone(&clone, graph));
	late = add_empty(graph, NULL);
	assert_int_equal(count_nodes(clone), 2);
	assert_ok(cuGraphNodeFindInClone(&found, second, clone));
	assert_int_equal(get_type(found), CU_GRAPH_NODE_TYPE_EMPTY);
	assert_ok(cuGraphNodeGetDependencies(found, &dependency, &number));
	assert_ok(cuGraphNodeFindInClone(&found, first, clone));
	assert_ptr_equal(found, dependency);
	assert_invalid(cuGraphNodeFindInClone(&found, late, clone));
	assert_invalid(cuGraphNodeFindInClone(&found, first, graph));
	assert_ok(cuGraphDestroy(graph));
	assert_int_equal(get_type(dependency), CU_GRAPH_NODE_TYPE_KERNEL);
	assert_ok(cuGraphDestroy(clone));
}

static void test_child_graph_is_a_copy_that_belongs_to_its_node(void **state)
{
	CUgraph graph = make_graph(), child = make_graph(), inside;
	CUgraphNode node;
	int calls = 0;

	(void)state;
	add_host(child, NULL, count_call, &calls);
	assert_ok(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	add_host(child, NULL, count_call, &calls);
	assert_ok(cuGraphChildGraphNodeGetGraph(node, &inside));
	assert_ptr_not_equal(inside, child);
	assert_int_equal(count_nodes(inside), 1);
	assert_invalid(cuGraphDestroy(inside));
	assert_ok(cuGraphDestroy(child));
	launch_once(graph);
	assert_int_equal(calls, 1);
	assert_ok(cuGraphDestroy(graph));
	assert_invalid(cuGraphDestroy(inside));
}

static void test_child_graph_can_be_moved_into_its_node(void **state)
{
	CUgraph graph = make_graph(), child = make_graph(), inside;
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUgraphNode node;

	(void)state;
	/* memory nodes cannot be copied, only moved */
	add_pair(child, MIB);
	params.graph.graph = child;
	assert_cuda(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params),
		    CUDA_ERROR_NOT_SUPPORTED);
	params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	assert_ok(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	assert_ok(cuGraphChildGraphNodeGetGraph(node, &inside));
	assert_ptr_equal(inside, child);
	assert_invalid(cuGraphDestroy(child));
	launch_once(graph);
	assert_ok(cuGraphDestroy(graph));
}

static void test_graph_cannot_be_moved_into_itself(void **state)
{
	CUgraph graph = make_graph();
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUgraphNode node;

	(void)state;
	params.graph.graph = graph;
	params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	assert_invalid(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
	assert_ok(cuGraphDestroy(graph));
}

static void test_dot_print_names_nodes_and_edges(void **state)
{
	char path[] = "/tmp/softgpu-dot-XXXXXX", text[4096] = "";
	CUgraph graph = make_graph();
	int fd = mkstemp(path);
	FILE *file;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	add_empty(graph, add_kernel(graph, NULL));
	assert_ok(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	file = fopen(path, "re");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	unlink(path);
	assert_non_null(strstr(text, "digraph"));
	assert_non_null(strstr(text, "KERNEL"));
	assert_non_null(strstr(text, "kernel"));
	assert_non_null(strstr(text, "->"));
	assert_cuda(cuGraphDebugDotPrint(graph, "/nonexistent/x", 0), CUDA_ERROR_OPERATING_SYSTEM);
	assert_invalid(cuGraphDebugDotPrint(graph, NULL, 0));
	assert_ok(cuGraphDestroy(graph));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graph_has_the_nodes_it_was_given),
		cmocka_unit_test(test_handles_that_are_none_are_refused),
		cmocka_unit_test(test_dependencies_are_of_the_same_graph_and_not_twice),
		cmocka_unit_test(test_edges_can_be_asked_from_both_ends),
		cmocka_unit_test(test_edge_data_is_kept_and_not_lost_silently),
		cmocka_unit_test(test_clone_is_independent_and_knows_its_originals),
		cmocka_unit_test(test_child_graph_is_a_copy_that_belongs_to_its_node),
		cmocka_unit_test(test_child_graph_can_be_moved_into_its_node),
		cmocka_unit_test(test_graph_cannot_be_moved_into_itself),
		cmocka_unit_test(test_dot_print_names_nodes_and_edges),
	};

	return cmocka_run_group_tests(tests, graph_setup, fixture_teardown);
}
