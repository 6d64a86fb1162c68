/* Memory nodes of graphs, read from graphs that a test makes of a few structs. */
#include "graphs.h"

#include <errno.h>
#include <pthread.h>

#include "captures.h"
#include "device_facts.h"
#include "event_lines.h"
#include "hooks_cmocka.h"
#include "paper_table.h"

#define MAX_NODES 8
#define EXEC(n)   ((CUgraphExec)(uintptr_t)(n))

struct graph;

struct node {
	CUgraphNodeType type;
	uint64_t address;
	size_t size; /* of an allocation; 0: its parameters cannot be read */
	int device;  /* negative: not on a device */
	struct graph *child;
};

struct graph {
	size_t nr_nodes;
	struct node nodes[MAX_NODES];
};

#define ALLOC(at, bytes, on)                                                            \
	{                                                                               \
		.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .address = (at), .size = (bytes), \
		.device = (on)                                                          \
	}
#define FREE(at)                                                     \
	{                                                            \
		.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = (at) \
	}
#define CHILD(graph)                                               \
	{                                                          \
		.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = (graph) \
	}
#define KERNEL                                    \
	{                                         \
		.type = CU_GRAPH_NODE_TYPE_KERNEL \
	}

static struct vs_real real;
static struct vs_call call;
static _Atomic unsigned nr_questions;
static bool is_growing; /* graphs, by a node each time they are read: another thread adds them */

static CUresult get_nodes(CUgraph handle, CUgraphNode *nodes, size_t *nr_nodes)
{
	struct graph *graph = (struct graph *)handle;

	nr_questions++;
	if (!nodes || *nr_nodes > graph->nr_nodes)
		*nr_nodes = graph->nr_nodes;
	for (size_t i = 0; nodes && i < *nr_nodes; i++)
		nodes[i] = (CUgraphNode)(void *)&graph->nodes[i];
	if (nodes && is_growing)
		graph->nr_nodes++;
	return CUDA_SUCCESS;
}

static CUresult get_type(CUgraphNode handle, CUgraphNodeType *type)
{
	*type = ((struct node *)(void *)handle)->type;
	return CUDA_SUCCESS;
}

static CUresult get_alloc(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	const struct node *node = (const struct node *)(const void *)handle;

	if (!node->size)
		return CUDA_ERROR_INVALID_VALUE;
	params->dptr = node->address;
	params->bytesize = node->size;
	params->poolProps.location.type =
		node->device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
	params->poolProps.location.id = node->device < 0 ? 1 : node->device;
	return CUDA_SUCCESS;
}

static CUresult get_free(CUgraphNode handle, CUdeviceptr *address)
{
	*address = ((struct node *)(void *)handle)->address;
	return *address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_child(CUgraphNode handle, CUgraph *graph)
{
	*graph = (CUgraph)(void *)((struct node *)(void *)handle)->child;
	return CUDA_SUCCESS;
}

static int start(void **state)
{
	(void)state;
	vs_paper_table_init(&real);
	real.cuGraphGetNodes = get_nodes;
	real.cuGraphNodeGetType = get_type;
	real.cuGraphMemAllocNodeGetParams = get_alloc;
	real.cuGraphMemFreeNodeGetParams = get_free;
	real.cuGraphChildGraphNodeGetGraph = get_child;
	call = vs_paper_table_call(&real);
	vs_device_facts_define(&real, 0);
	vs_device_facts_define(&real, 1);
	nr_questions = 0;
	vs_event_lines_skip();
	return 0;
}

static void instantiate(uintptr_t exec, struct graph *graph)
{
	CUgraphExec handle = EXEC(exec);

	vs_graphs_note_instantiate(&call, CUDA_SUCCESS, &handle, (CUgraph)(void *)graph, 0);
}

static void launch(uintptr_t exec, CUresult result)
{
	vs_graphs_note_launch(&call, EXEC(exec));
	vs_graphs_note_launched(&call, result, EXEC(exec));
}

static void destroy(uintptr_t exec)
{
	vs_graphs_note_destroy(&call, EXEC(exec));
}

static struct graph simple = {1, {ALLOC(0x1000, 10, 0)}};

/* Must be the first: programs without such nodes never pay for them. */
static void test_no_graph_is_looked_at_before_memory_is_expected(void **state)
{
	(void)state;
	instantiate(0x10, &simple);
	launch(0x10, CUDA_SUCCESS);
	destroy(0x10);
	assert_int_equal(nr_questions, 0);
	vs_event_lines_expect_none();
	vs_graphs_expect_memory();
}

static void test_every_launch_counts(void **state)
{
	struct graph graph = {3, {ALLOC(0x1000, 10, 0), KERNEL, FREE(0x1000)}};

	(void)state;
	instantiate(0x20, &graph);
	vs_event_lines_expect_none();
	for (int i = 0; i < 3; i++) {
		launch(0x20, CUDA_SUCCESS);
		vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
		vs_event_lines_expect("free graph 1000 ?");
		vs_event_lines_expect_none();
	}
	destroy(0x20);
	launch(0x20, CUDA_SUCCESS);
	vs_event_lines_expect_none();
}

static void test_devices_of_nodes_may_differ(void **state)
{
	struct graph graph = {3,
			      {ALLOC(0x1000, 10, 0), ALLOC(0x2000, 20, 1), ALLOC(0x3000, 30, -1)}};

	(void)state;
	instantiate(0x30, &graph);
	launch(0x30, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	vs_event_lines_expect("alloc graph 1 2000 20 pool=0 context=0 ?");
	vs_event_lines_expect("alloc graph -1 3000 30 pool=0 context=0 ?");
	vs_event_lines_expect_none();
	destroy(0x30);
}

/* Somebody may get the address while the launch still runs, so it is given back before. */
static void test_memory_from_elsewhere_is_freed_before_the_launch(void **state)
{
	struct graph graph = {.nr_nodes = 3,
			      .nodes = {FREE(0x9000), ALLOC(0x1000, 10, 0), FREE(0x1000)}};

	(void)state;
	instantiate(0x40, &graph);
	vs_graphs_note_launch(&call, EXEC(0x40));
	vs_event_lines_expect("free graph 9000 ?");
	vs_event_lines_expect_none();
	vs_graphs_note_launched(&call, CUDA_SUCCESS, EXEC(0x40));
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	vs_event_lines_expect("free graph 1000 ?");
	vs_event_lines_expect_none();
	destroy(0x40);
}

static void test_launch_that_fails_takes_its_frees_back(void **state)
{
	struct graph graph = {.nr_nodes = 3,
			      .nodes = {FREE(0x9000), ALLOC(0x1000, 10, 0), FREE(0x1000)}};

	(void)state;
	instantiate(0x50, &graph);
	launch(0x50, CUDA_ERROR_INVALID_VALUE);
	vs_event_lines_expect("free graph 9000 ?");
	vs_event_lines_expect("unfree graph 9000 1");
	vs_event_lines_expect_none();
	destroy(0x50);
}

static void test_launch_without_enough_memory_is_a_failed_request(void **state)
{
	struct graph graph = {2, {ALLOC(0x1000, 10, 0), FREE(0x1000)}};

	(void)state;
	instantiate(0x60, &graph);
	launch(0x60, CUDA_ERROR_OUT_OF_MEMORY);
	vs_event_lines_expect("fail graph 0 10 2 1/2 pool=0 ?");
	vs_event_lines_expect_none();
	destroy(0x60);
}

static void instantiate_auto_free(uintptr_t exec, struct graph *graph)
{
	CUgraphExec handle = EXEC(exec);

	vs_graphs_note_instantiate(&call, CUDA_SUCCESS, &handle, (CUgraph)(void *)graph,
				   CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
}

static void test_graph_that_frees_for_itself_does_so_before_its_next_launch(void **state)
{
	struct graph graph = {.nr_nodes = 3,
			      .nodes = {ALLOC(0x1000, 10, 0), FREE(0x1000), ALLOC(0x1000, 5, 0)}};

	(void)state;
	instantiate_auto_free(0x62, &graph);
	for (int i = 0; i < 3; i++) {
		vs_graphs_note_launch(&call, EXEC(0x62));
		if (i)
			vs_event_lines_expect("free graph 1000 ?");
		vs_event_lines_expect_none();
		vs_graphs_note_launched(&call, CUDA_SUCCESS, EXEC(0x62));
		vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
		vs_event_lines_expect("free graph 1000 ?");
		vs_event_lines_expect("alloc graph 0 1000 5 pool=0 context=0 ?");
	}
	/* a launch that fails has freed nothing */
	launch(0x62, CUDA_ERROR_INVALID_VALUE);
	vs_event_lines_expect("free graph 1000 ?");
	vs_event_lines_expect("unfree graph 1000 1");
	vs_graphs_note_launch(&call, EXEC(0x62));
	vs_event_lines_expect("free graph 1000 ?");
	vs_event_lines_expect_none();
	destroy(0x62);
}

static void test_what_others_freed_is_not_freed_again_by_the_launch(void **state)
{
	struct graph graph = {1, {ALLOC(0x5000, 10, 0)}};
	struct graph freeing = {1, {FREE(0x5000)}};

	(void)state;
	instantiate_auto_free(0x64, &graph);
	instantiate(0x66, &freeing);
	launch(0x64, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 5000 10 pool=0 context=0 ?");
	vs_graphs_note_free_result(CUDA_ERROR_INVALID_VALUE, 0x5000);
	vs_graphs_note_free_result(CUDA_SUCCESS, 0x5000);
	launch(0x64, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 5000 10 pool=0 context=0 ?");
	launch(0x66, CUDA_SUCCESS);
	vs_event_lines_expect("free graph 5000 ?");
	launch(0x64, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 5000 10 pool=0 context=0 ?");
	vs_event_lines_expect_none();
	vs_graphs_note_freed(0x5000);
	destroy(0x64);
	destroy(0x66);
}

static void test_child_graphs_count_with_their_parent(void **state)
{
	struct graph innermost = {1, {ALLOC(0x3000, 30, 0)}};
	struct graph inner = {2, {ALLOC(0x2000, 20, 0), CHILD(&innermost)}};
	struct graph outer = {
		.nr_nodes = 4,
		.nodes = {ALLOC(0x1000, 10, 0), CHILD(&inner), FREE(0x2000), FREE(0x3000)}};

	(void)state;
	instantiate(0x70, &outer);
	launch(0x70, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	vs_event_lines_expect("alloc graph 0 2000 20 pool=0 context=0 ?");
	vs_event_lines_expect("alloc graph 0 3000 30 pool=0 context=0 ?");
	vs_event_lines_expect("free graph 2000 ?");
	vs_event_lines_expect("free graph 3000 ?");
	vs_event_lines_expect_none();
	destroy(0x70);
}

/* No driver has such a graph; a broken answer must not be followed for ever. */
static void test_graph_that_contains_itself_comes_to_an_end(void **state)
{
	struct graph graph = {2, {ALLOC(0x1000, 10, 0), CHILD(&graph)}};

	(void)state;
	instantiate(0x80, &graph);
	launch(0x80, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	vs_event_lines_skip();
	destroy(0x80);
}

static void test_graph_without_memory_is_nothing(void **state)
{
	struct graph graph = {2, {KERNEL, KERNEL}}, empty = {0};

	(void)state;
	instantiate(0x90, &graph);
	instantiate(0xa0, &empty);
	launch(0x90, CUDA_SUCCESS);
	launch(0xa0, CUDA_ERROR_OUT_OF_MEMORY);
	destroy(0x90);
	destroy(0xa0);
	vs_event_lines_expect_none();
}

static void test_node_that_cannot_be_read_is_left_out(void **state)
{
	struct graph graph = {4,
			      {ALLOC(0x2000, 0, 0), FREE(0), ALLOC(0x1000, 10, 0), FREE(0x2000)}};

	(void)state;
	instantiate(0xb0, &graph);
	launch(0xb0, CUDA_SUCCESS);
	vs_event_lines_expect("free graph 2000 ?");
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	vs_event_lines_expect_none();
	destroy(0xb0);
}

/* Not allowed, but no reason to write beyond what was counted. */
static void test_graph_that_grows_while_it_is_read_is_cut(void **state)
{
	struct graph graph = {.nr_nodes = 2};

	(void)state;
	for (unsigned i = 0; i < MAX_NODES; i++)
		graph.nodes[i] = (struct node)ALLOC(0x1000 * (i + 1), 10, 0);
	is_growing = true;
	instantiate(0xb8, &graph);
	is_growing = false;
	launch(0xb8, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	vs_event_lines_expect("alloc graph 0 2000 10 pool=0 context=0 ?");
	vs_event_lines_expect_none();
	destroy(0xb8);
}

/* Far apart, so that some of them meet on their way through the table. */
static uintptr_t far_apart(uintptr_t i)
{
	return 0x1000 * i * i;
}

static void test_many_graphs_are_told_apart(void **state)
{
	(void)state;
	for (uintptr_t i = 1; i <= 300; i++) {
		struct graph graph = {1, {ALLOC(0x1000, i, 0)}};

		instantiate(far_apart(i), &graph);
	}
	for (uintptr_t i = 300; i > 0; i--) {
		launch(far_apart(i), CUDA_SUCCESS);
		vs_event_lines_expect("alloc graph 0 1000 %lu pool=0 context=0 ?",
				      (unsigned long)i);
		destroy(far_apart(i));
	}
	vs_event_lines_expect_none();
}

static void test_handle_that_comes_again_is_another_graph(void **state)
{
	struct graph other = {1, {ALLOC(0x5000, 50, 1)}};

	(void)state;
	instantiate(0xc0, &simple);
	destroy(0xc0);
	instantiate(0xc0, &other);
	launch(0xc0, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 1 5000 50 pool=0 context=0 ?");
	vs_event_lines_expect_none();
	destroy(0xc0);
}

/* A reset ends graphs without a word about each of them. */
static void test_handle_that_comes_again_without_an_end_is_another_graph(void **state)
{
	struct graph other = {1, {ALLOC(0x5000, 50, 1)}}, without = {1, {KERNEL}};

	(void)state;
	instantiate(0xd0, &simple);
	instantiate(0xd0, &other);
	launch(0xd0, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 1 5000 50 pool=0 context=0 ?");
	vs_event_lines_expect_none();
	instantiate(0xd0, &without);
	launch(0xd0, CUDA_SUCCESS);
	vs_event_lines_expect_none();
	destroy(0xd0);
}

static void test_unknown_handles_are_ignored(void **state)
{
	(void)state;
	launch(0xe0, CUDA_SUCCESS);
	launch(0, CUDA_SUCCESS);
	destroy(0xe0);
	destroy(0);
	vs_event_lines_expect_none();
}

static void test_instantiation_that_failed_is_not_read(void **state)
{
	CUgraphExec exec = EXEC(0xf0);

	(void)state;
	vs_graphs_note_instantiate(&call, CUDA_ERROR_OUT_OF_MEMORY, &exec, (CUgraph)(void *)&simple,
				   0);
	call.is_recording = false;
	vs_graphs_note_instantiate(&call, CUDA_SUCCESS, &exec, (CUgraph)(void *)&simple, 0);
	call.is_recording = true;
	launch(0xf0, CUDA_SUCCESS);
	assert_int_equal(nr_questions, 0);
	vs_event_lines_expect_none();
}

static void test_driver_without_the_questions_has_no_such_nodes(void **state)
{
	(void)state;
	real.cuGraphMemAllocNodeGetParams = NULL;
	real.cuGraphMemFreeNodeGetParams = NULL;
	real.cuGraphChildGraphNodeGetGraph = NULL;
	instantiate(0x110, &simple);
	launch(0x110, CUDA_SUCCESS);
	real.cuGraphGetNodes = NULL;
	instantiate(0x120, &simple);
	launch(0x120, CUDA_SUCCESS);
	real.cuGraphGetNodes = get_nodes;
	real.cuGraphNodeGetType = NULL;
	instantiate(0x130, &simple);
	launch(0x130, CUDA_SUCCESS);
	vs_event_lines_expect_none();
}

static void test_errno_is_kept(void **state)
{
	struct graph graph = {2, {FREE(0x9000), ALLOC(0x1000, 10, 0)}};

	(void)state;
	vs_event_lines_spoil_errno(1);
	errno = ENOTTY;
	instantiate(0x140, &graph);
	assert_int_equal(errno, ENOTTY);
	launch(0x140, CUDA_SUCCESS);
	assert_int_equal(errno, ENOTTY);
	launch(0x140, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(errno, ENOTTY);
	destroy(0x140);
	assert_int_equal(errno, ENOTTY);
	vs_event_lines_spoil_errno(0);
}

/* ---- Threads: each makes, launches and destroys graphs of its own ---- */

static void *use_graphs(void *argument)
{
	uintptr_t first = 0x100000 * ((uintptr_t)argument + 1);
	struct vs_call own = vs_paper_table_call(&real);
	uint64_t before = own.self->nr_events;

	for (uintptr_t i = 0; i < 500; i++) {
		CUgraphExec exec = EXEC(first + 0x10 * (i % 50));

		vs_graphs_note_instantiate(&own, CUDA_SUCCESS, &exec, (CUgraph)(void *)&simple, 0);
		vs_graphs_note_launch(&own, exec);
		vs_graphs_note_launched(&own, CUDA_SUCCESS, exec);
		vs_graphs_note_destroy(&own, exec);
	}
	return (void *)(uintptr_t)(own.self->nr_events - before);
}

static void test_threads_count_each_of_their_launches(void **state)
{
	pthread_t threads[4];
	void *nr_events;

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_graphs, (void *)i), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &nr_events), 0);
		assert_int_equal((uintptr_t)nr_events, 500);
	}
}

/* Last: more graphs alive at once than there is room for. */
static void test_without_room_graphs_are_not_counted_and_others_are(void **state)
{
	(void)state;
	for (uintptr_t exec = 0x1000000; exec < 0x1010000; exec += 0x10)
		instantiate(exec, &simple);
	launch(0x1000000, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	launch(0x100fff0, CUDA_SUCCESS);
	vs_event_lines_expect_none();
	for (uintptr_t exec = 0x1000000; exec < 0x1010000; exec += 0x10)
		destroy(exec);
	instantiate(0x100fff0, &simple);
	launch(0x100fff0, CUDA_SUCCESS);
	vs_event_lines_expect("alloc graph 0 1000 10 pool=0 context=0 ?");
	destroy(0x100fff0);
}

#define TEST(test) cmocka_unit_test_setup(test, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_graph_is_looked_at_before_memory_is_expected),
		TEST(test_every_launch_counts),
		TEST(test_devices_of_nodes_may_differ),
		TEST(test_memory_from_elsewhere_is_freed_before_the_launch),
		TEST(test_launch_that_fails_takes_its_frees_back),
		TEST(test_launch_without_enough_memory_is_a_failed_request),
		TEST(test_graph_that_frees_for_itself_does_so_before_its_next_launch),
		TEST(test_what_others_freed_is_not_freed_again_by_the_launch),
		TEST(test_child_graphs_count_with_their_parent),
		TEST(test_graph_that_contains_itself_comes_to_an_end),
		TEST(test_graph_without_memory_is_nothing),
		TEST(test_node_that_cannot_be_read_is_left_out),
		TEST(test_graph_that_grows_while_it_is_read_is_cut),
		TEST(test_many_graphs_are_told_apart),
		TEST(test_handle_that_comes_again_is_another_graph),
		TEST(test_handle_that_comes_again_without_an_end_is_another_graph),
		TEST(test_unknown_handles_are_ignored),
		TEST(test_instantiation_that_failed_is_not_read),
		TEST(test_driver_without_the_questions_has_no_such_nodes),
		TEST(test_errno_is_kept),
		TEST(test_threads_count_each_of_their_launches),
		TEST(test_without_room_graphs_are_not_counted_and_others_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
