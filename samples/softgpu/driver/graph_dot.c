/* A graph as a drawing, in the language of Graphviz. */
#include <stdio.h>

#include "graph.h"
#include "kernel.h"

static const char *const type_names[] = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
	[CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
	[CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
	[CU_GRAPH_NODE_TYPE_HOST] = "HOST",
	[CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
	[CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT_WAIT",
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = "EXT_SEMAS_SIGNAL",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = "EXT_SEMAS_WAIT",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
	[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP",
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "CONDITIONAL",
};

static bool wants(unsigned flags, unsigned flag)
{
	return flags & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
}

static void put_details(FILE *file, const struct sg_graph_node *node, unsigned flags)
{
	const CUgraphNodeParams *p = &node->params;
	const struct sg_kernel *kernel;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel = sg_kernel_find(p->kernel.func ? (const void *)p->kernel.func
						       : (const void *)p->kernel.kern);
		fprintf(file, "\\n%s", kernel ? kernel->name : "(unloaded)");
		if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
			fprintf(file, "\\n<<<%u %u %u, %u %u %u, %u>>>", p->kernel.gridDimX,
				p->kernel.gridDimY, p->kernel.gridDimZ, p->kernel.blockDimX,
				p->kernel.blockDimY, p->kernel.blockDimZ, p->kernel.sharedMemBytes);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS))
			fprintf(file, "\\n%zu x %zu x %zu", p->memcpy.copyParams.WidthInBytes,
				p->memcpy.copyParams.Height, p->memcpy.copyParams.Depth);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS))
			fprintf(file, "\\n0x%llx: %zu x %zu of 0x%x", p->memset.dst,
				p->memset.width, p->memset.height, p->memset.value);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS))
			fprintf(file, "\\n0x%llx: %zu", p->alloc.dptr, p->alloc.bytesize);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS))
			fprintf(file, "\\n0x%llx", p->free.dptr);
		break;
	default:
		break;
	}
}

static void put_graph(FILE *file, const struct sg_graph *graph, unsigned flags)
{
	fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\"\n",
		(unsigned long long)graph->id, (unsigned long long)graph->id);
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		const struct sg_graph_node *node = graph->nodes[i];

		fprintf(file, "\"node_%llu\" [label=\"%zu %s", (unsigned long long)node->id, i,
			type_names[node->params.type]);
		if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
			fprintf(file, "\\n%p", (const void *)node);
		put_details(file, node, flags);
		fprintf(file, "\"]\n");
		for (unsigned b = 0; b < node->nr_bodies; b++)
			put_graph(file, node->bodies[b], flags);
		for (size_t e = 0; e < node->dependencies.nr_items; e++)
			fprintf(file, "\"node_%llu\" -> \"node_%llu\"\n",
				(unsigned long long)node->dependencies.items[e].node->id,
				(unsigned long long)node->id);
	}
	fprintf(file, "}\n");
}

SG_API CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	const struct sg_graph *graph;
	FILE *file;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	if (!graph || !path) {
		result = CUDA_ERROR_INVALID_VALUE;
		goto unlock;
	}
	file = fopen(path, "we");
	if (!file) {
		result = CUDA_ERROR_OPERATING_SYSTEM;
		goto unlock;
	}
	fprintf(file, "digraph dot {\n");
	put_graph(file, graph, flags);
	fprintf(file, "}\n");
	if (fclose(file) != 0)
		result = CUDA_ERROR_OPERATING_SYSTEM;
unlock:
	sg_graph_unlock();
	return result;
}
