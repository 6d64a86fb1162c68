/*
 * Memory that graphs allocate: nodes made by hand and by capture, freed in the graph, behind it, by
 * another graph, and by the next launch. It counts when a graph is launched, not when it is made.
 */
#include "sample.h"

#define WORKSPACE (24 * MIB)
#define RESULT    (8 * MIB)
#define SCRATCH   (3 * MIB)
#define CACHE     (5 * MIB)

static struct book graph = {.name = "graph"};

static cudaGraphExec_t instantiate(cudaGraph_t made, unsigned long long flags)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, made, flags));
	CHECK(cudaGraphDestroy(made));
	return exec;
}

static cudaGraphNode_t add_alloc(cudaGraph_t made, cudaGraphNode_t after, size_t size,
				 void **address)
{
	struct cudaMemAllocNodeParams params = {
		.poolProps = {.allocType = cudaMemAllocationTypePinned,
			      .location = {.type = cudaMemLocationTypeDevice, .id = 0}},
		.bytesize = size};
	cudaGraphNode_t node;

	CHECK(cudaGraphAddMemAllocNode(&node, made, after ? &after : NULL, after ? 1 : 0, &params));
	*address = params.dptr;
	return node;
}

/* A workspace that is freed in the graph, and a result that is not. */
static cudaGraphExec_t build_step(void **result)
{
	struct cudaMemsetParams fill = {.elementSize = 1, .width = WORKSPACE, .height = 1};
	cudaGraphNode_t node, next;
	cudaGraph_t made;
	void *workspace;

	CHECK(cudaGraphCreate(&made, 0));
	node = add_alloc(made, NULL, WORKSPACE, &workspace);
	fill.dst = workspace;
	CHECK(cudaGraphAddMemsetNode(&next, made, &node, 1, &fill));
	node = add_alloc(made, next, RESULT, result);
	CHECK(cudaGraphAddMemFreeNode(&next, made, &node, 1, workspace));
	return instantiate(made, 0);
}

static void launch_step(cudaGraphExec_t step, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(step, stream));
	book_alloc(&graph, WORKSPACE);
	book_alloc(&graph, RESULT);
	book_free(&graph, WORKSPACE);
}

/* The result of each launch is freed behind it, in both ways there are. */
static void run_steps(cudaStream_t stream)
{
	void *result;
	cudaGraphExec_t step = build_step(&result);

	for (int i = 0; i < 6; i++) {
		launch_step(step, stream);
		CHECK(cudaMemsetAsync(result, 0, RESULT, stream));
		if (i % 2)
			CHECK(cudaFreeAsync(result, stream));
		else
			CHECK(cudaFree(result));
		book_free(&graph, RESULT);
	}
	CHECK(cudaGraphExecDestroy(step));
}

/* Two pieces of scratch memory, as a library that knows nothing of graphs would take them. */
static cudaGraphExec_t capture_library(cudaStream_t stream)
{
	void *first, *second;
	cudaGraph_t made;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMallocAsync(&first, SCRATCH, stream));
	CHECK(cudaMemsetAsync(first, 0, SCRATCH, stream));
	CHECK(cudaFreeAsync(first, stream));
	CHECK(cudaMallocAsync(&second, SCRATCH, stream));
	CHECK(cudaFreeAsync(second, stream));
	CHECK(cudaStreamEndCapture(stream, &made));
	return instantiate(made, 0);
}

static void run_library(cudaStream_t stream)
{
	cudaGraphExec_t library = capture_library(stream);

	for (int i = 0; i < 4; i++) {
		CHECK(cudaGraphLaunch(library, stream));
		for (int k = 0; k < 2; k++) {
			book_alloc(&graph, SCRATCH);
			book_free(&graph, SCRATCH);
		}
	}
	CHECK(cudaGraphExecDestroy(library));
}

/* One graph allocates, another frees. */
static void run_pair(cudaStream_t stream)
{
	cudaGraph_t made, freeing;
	cudaGraphExec_t producer, consumer;
	cudaGraphNode_t node;
	void *result;

	CHECK(cudaGraphCreate(&made, 0));
	CHECK(cudaGraphCreate(&freeing, 0));
	add_alloc(made, NULL, RESULT, &result);
	CHECK(cudaGraphAddMemFreeNode(&node, freeing, NULL, 0, result));
	producer = instantiate(made, 0);
	consumer = instantiate(freeing, 0);
	for (int i = 0; i < 3; i++) {
		CHECK(cudaGraphLaunch(producer, stream));
		book_alloc(&graph, RESULT);
		CHECK(cudaGraphLaunch(consumer, stream));
		book_free(&graph, RESULT);
	}
	CHECK(cudaGraphExecDestroy(producer));
	CHECK(cudaGraphExecDestroy(consumer));
}

/* A graph that frees what its last launch left; what the last one of all left stays. */
static void run_cache(cudaStream_t stream)
{
	cudaGraph_t made;
	cudaGraphExec_t cache;
	void *memory;

	CHECK(cudaGraphCreate(&made, 0));
	add_alloc(made, NULL, CACHE, &memory);
	cache = instantiate(made, cudaGraphInstantiateFlagAutoFreeOnLaunch);
	for (int i = 0; i < 5; i++) {
		CHECK(cudaGraphLaunch(cache, stream));
		if (i && i != 3)
			book_free(&graph, CACHE);
		book_alloc(&graph, CACHE);
		/* One is freed in time: there is nothing to free at the next launch. */
		if (i == 2) {
			CHECK(cudaFree(memory));
			book_free(&graph, CACHE);
		}
	}
	CHECK(cudaGraphExecDestroy(cache));
}

/* Too much: the launch fails, and nothing of it has happened. */
static void run_huge(cudaStream_t stream)
{
	cudaGraph_t made;
	cudaGraphExec_t huge;
	void *memory;

	CHECK(cudaGraphCreate(&made, 0));
	add_alloc(made, NULL, 64 * GIB, &memory);
	huge = instantiate(made, 0);
	if (cudaGraphLaunch(huge, stream) == cudaErrorMemoryAllocation)
		book_failed(&graph);
	cudaGetLastError(); /* seen */
	CHECK(cudaGraphExecDestroy(huge));
}

int main(void)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	run_steps(stream);
	run_library(stream);
	run_pair(stream);
	run_cache(stream);
	run_huge(stream);
	CHECK(cudaStreamDestroy(stream));
	book_print(&graph);
	printf("ooms=1\n");
	printf("wanted=%zu\n", 64 * GIB);
	return 0;
}
