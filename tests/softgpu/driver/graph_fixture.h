#ifndef SG_GRAPH_FIXTURE_H
#define SG_GRAPH_FIXTURE_H

/* What the tests of graphs and captures share: kernels, buffers, and graphs made in one line. */
#include "driver_fixture.h"

#define MIB  ((size_t)1 << 20)
#define PAGE (2 * MIB)

#define assert_invalid(call) assert_cuda(call, CUDA_ERROR_INVALID_VALUE)

static CUfunction fixture_kernel, fixture_other;
static CUstream fixture_stream;
static CUdeviceptr fixture_buffer; /* 1 MiB */

static inline int graph_setup(void **state)
{
	CUmodule module;

	return fixture_setup(state) || cuModuleLoadData(&module, fixture_ptx) ||
	       cuModuleGetFunction(&fixture_kernel, module, "kernel") ||
	       cuModuleGetFunction(&fixture_other, module, "other") ||
	       cuStreamCreate(&fixture_stream, CU_STREAM_NON_BLOCKING) ||
	       cuMemAlloc_v2(&fixture_buffer, MIB);
}

static inline CUgraph make_graph(void)
{
	CUgraph graph;

	assert_ok(cuGraphCreate(&graph, 0));
	return graph;
}

static inline CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

/* Launch once and forget the executable graph. */
static inline void launch_once(CUgraph graph)
{
	CUgraphExec exec = instantiate(graph);

	assert_ok(cuGraphLaunch(exec, fixture_stream));
	assert_ok(cuGraphExecDestroy(exec));
}

static inline size_t count_nodes(CUgraph graph)
{
	size_t nr_nodes = 0;

	assert_ok(cuGraphGetNodes(graph, NULL, &nr_nodes));
	return nr_nodes;
}

static inline CUgraphNodeType get_type(CUgraphNode node)
{
	CUgraphNodeType type;

	assert_ok(cuGraphNodeGetType(node, &type));
	return type;
}

static inline CUgraphNode add_empty(CUgraph graph, CUgraphNode after)
{
	CUgraphNode node;

	assert_ok(cuGraphAddEmptyNode(&node, graph, after ? &after : NULL, after ? 1 : 0));
	return node;
}

static inline void count_call(void *counter)
{
	++*(int *)counter;
}

static inline CUgraphNode add_host(CUgraph graph, CUgraphNode after, CUhostFn function, void *data)
{
	const CUDA_HOST_NODE_PARAMS params = {function, data};
	CUgraphNode node;

	assert_ok(cuGraphAddHostNode(&node, graph, after ? &after : NULL, after ? 1 : 0, &params));
	return node;
}

static inline CUDA_KERNEL_NODE_PARAMS_v2 describe_kernel(CUfunction function)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){.func = function,
					    .gridDimX = 2,
					    .gridDimY = 1,
					    .gridDimZ = 1,
					    .blockDimX = 32,
					    .blockDimY = 1,
					    .blockDimZ = 1};
}

static inline CUgraphNode add_kernel(CUgraph graph, CUgraphNode after)
{
	const CUDA_KERNEL_NODE_PARAMS_v2 params = describe_kernel(fixture_kernel);
	CUgraphNode node;

	assert_ok(cuGraphAddKernelNode_v2(&node, graph, after ? &after : NULL, after ? 1 : 0,
					  &params));
	return node;
}

static inline CUgraphNode add_fill(CUgraph graph, CUgraphNode after, CUdeviceptr target,
				   unsigned value, size_t size)
{
	const CUDA_MEMSET_NODE_PARAMS params = {
		.dst = target, .value = value, .elementSize = 1, .width = size, .height = 1};
	CUgraphNode node;

	assert_ok(cuGraphAddMemsetNode(&node, graph, after ? &after : NULL, after ? 1 : 0, &params,
				       NULL));
	return node;
}

static inline CUDA_MEM_ALLOC_NODE_PARAMS describe_alloc(size_t size)
{
	return (CUDA_MEM_ALLOC_NODE_PARAMS){
		.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}},
		.bytesize = size};
}

static inline CUgraphNode add_alloc(CUgraph graph, CUgraphNode after, size_t size,
				    CUdeviceptr *address)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = describe_alloc(size);
	CUgraphNode node;

	assert_ok(cuGraphAddMemAllocNode(&node, graph, after ? &after : NULL, after ? 1 : 0,
					 &params));
	*address = params.dptr;
	return node;
}

static inline CUgraphNode add_free(CUgraph graph, CUgraphNode after, CUdeviceptr address)
{
	CUgraphNode node;

	assert_ok(
		cuGraphAddMemFreeNode(&node, graph, after ? &after : NULL, after ? 1 : 0, address));
	return node;
}

/* Memory that is freed again at once; its address. */
static inline CUdeviceptr add_pair(CUgraph graph, size_t size)
{
	CUdeviceptr address;
	CUgraphNode node = add_alloc(graph, NULL, size, &address);

	add_free(graph, node, address);
	return address;
}

static inline unsigned char read_byte(CUdeviceptr address)
{
	unsigned char byte = 0;

	assert_ok(cuMemcpyDtoH_v2(&byte, address, 1));
	return byte;
}

#endif
