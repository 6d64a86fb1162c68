/* Changes to executable graphs: which are possible, and making them. */
#include <string.h>

#include "graph_exec.h"
#include "graph_params.h"
#include "kernel.h"

static CUgraphExecUpdateResult compare_kernels(const CUgraphNodeParams *before,
					       const CUgraphNodeParams *after)
{
	struct sg_context *old, *new;

	/* The owning context of the function cannot change. */
	if (sg_graph_params_get_context(before, &old) != CUDA_SUCCESS ||
	    sg_graph_params_get_context(after, &new) != CUDA_SUCCESS || old != new)
		return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static bool is_line(const CUDA_MEMCPY3D *copy)
{
	return copy->Height == 1 && copy->Depth == 1;
}

static CUgraphExecUpdateResult compare_copies(const CUDA_MEMCPY3D *before,
					      const CUDA_MEMCPY3D *after)
{
	/* Memory types stay; so does the shape of what has more than one dimension. */
	if (before->srcMemoryType != after->srcMemoryType ||
	    before->dstMemoryType != after->dstMemoryType || is_line(before) != is_line(after))
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	if (!is_line(before) && (before->WidthInBytes != after->WidthInBytes ||
				 before->Height != after->Height || before->Depth != after->Depth))
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare_fills(const CUDA_MEMSET_NODE_PARAMS_v2 *before,
					     const CUDA_MEMSET_NODE_PARAMS_v2 *after)
{
	if (before->height != after->height ||
	    (before->height > 1 &&
	     (before->width != after->width || before->pitch != after->pitch ||
	      before->elementSize != after->elementSize)))
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult equal_or(bool is_equal, CUgraphExecUpdateResult otherwise)
{
	return is_equal ? CU_GRAPH_EXEC_UPDATE_SUCCESS : otherwise;
}

CUgraphExecUpdateResult sg_graph_exec_compare(const struct sg_graph_node *node,
					      const CUgraphNodeParams *params)
{
	const CUgraphNodeParams *before = &node->params;
	const CUgraphExecUpdateResult changed = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;

	if (before->type != params->type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return compare_kernels(before, params);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return compare_copies(&before->memcpy.copyParams, &params->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return compare_fills(&before->memset, &params->memset);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
		return equal_or(before->extSemSignal.numExtSems == params->extSemSignal.numExtSems,
				changed);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return equal_or(before->extSemWait.numExtSems == params->extSemWait.numExtSems,
				changed);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return equal_or(before->memOp.count == params->memOp.count, changed);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return equal_or(before->conditional.type == params->conditional.type &&
					before->conditional.size == params->conditional.size,
				changed);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return equal_or(before->alloc.dptr == params->alloc.dptr,
				CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return equal_or(before->free.dptr == params->free.dptr,
				CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
	default:
		return CU_GRAPH_EXEC_UPDATE_SUCCESS;
	}
}

CUresult sg_graph_exec_change(struct sg_graph_node *node, const CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_SUCCESS; /* nothing of it can be another */
	default:
		return sg_graph_params_set(node, params);
	}
}

static CUgraphExecUpdateResult fail(CUgraphExecUpdateResultInfo_v1 *info,
				    CUgraphExecUpdateResult result, struct sg_graph_node *node,
				    struct sg_graph_node *from)
{
	info->result = result;
	info->errorNode = sg_graph_to_node_handle(node);
	info->errorFromNode = sg_graph_to_node_handle(from);
	return result;
}

static CUgraphExecUpdateResult compare_graphs(const struct sg_graph *executable,
					      const struct sg_graph *graph,
					      CUgraphExecUpdateResultInfo_v1 *info);

/* Dependencies are paired by their order. Indices are set. */
static CUgraphExecUpdateResult compare_edges(const struct sg_graph_node *before,
					     struct sg_graph_node *after,
					     CUgraphExecUpdateResultInfo_v1 *info)
{
	const CUgraphExecUpdateResult changed = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;

	if (before->dependencies.nr_items != after->dependencies.nr_items)
		return fail(info, changed, after, NULL);
	for (size_t i = 0; i < before->dependencies.nr_items; i++) {
		const struct sg_graph_edge *old = &before->dependencies.items[i];
		const struct sg_graph_edge *new = &after->dependencies.items[i];

		if (old->node->index != new->node->index ||
		    memcmp(&old->data, &new->data, sizeof(old->data)) != 0)
			return fail(info, changed, after, new->node);
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static bool is_cooperative(const struct sg_graph_node *node)
{
	const struct sg_graph_attributes *attributes = node->attributes;

	return attributes && (attributes->is_set & 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE) &&
	       attributes->values[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative;
}

static CUgraphExecUpdateResult compare_nodes(const struct sg_graph_node *before,
					     struct sg_graph_node *after,
					     CUgraphExecUpdateResultInfo_v1 *info)
{
	CUgraphExecUpdateResult result = sg_graph_exec_compare(before, &after->params);

	if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS &&
	    is_cooperative(before) != is_cooperative(after))
		result = CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
	if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		return fail(info, result, after, NULL);
	for (unsigned i = 0; i < before->nr_bodies && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++)
		result = compare_graphs(before->bodies[i], after->bodies[i], info);
	return result;
}

static void set_indices(const struct sg_graph *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++)
		graph->nodes[i]->index = i;
}

static CUgraphExecUpdateResult compare_graphs(const struct sg_graph *executable,
					      const struct sg_graph *graph,
					      CUgraphExecUpdateResultInfo_v1 *info)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	if (executable->nr_nodes != graph->nr_nodes)
		return fail(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
	set_indices(executable);
	set_indices(graph);
	for (size_t i = 0; i < graph->nr_nodes && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++)
		result = compare_edges(executable->nodes[i], graph->nodes[i], info);
	for (size_t i = 0; i < graph->nr_nodes && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++)
		result = compare_nodes(executable->nodes[i], graph->nodes[i], info);
	return result;
}

static CUresult apply(struct sg_graph *executable, const struct sg_graph *graph)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->nr_nodes && result == CUDA_SUCCESS; i++) {
		struct sg_graph_node *before = executable->nodes[i];

		result = sg_graph_exec_change(before, &graph->nodes[i]->params);
		before->condition = graph->nodes[i]->condition;
		for (unsigned b = 0; b < before->nr_bodies && result == CUDA_SUCCESS; b++)
			result = apply(before->bodies[b], graph->nodes[i]->bodies[b]);
	}
	return result;
}

CUresult sg_graph_update(struct sg_graph *executable, const struct sg_graph *graph,
			 CUgraphExecUpdateResultInfo_v1 *info)
{
	CUresult result;

	*info = (CUgraphExecUpdateResultInfo_v1){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
	if (compare_graphs(executable, graph, info) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	result = apply(executable, graph);
	if (result != CUDA_SUCCESS)
		info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
	return result;
}
