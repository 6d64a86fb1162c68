/* Changing executable graphs, node by node or all at once. */
#include <string.h>

#include "graph_exec.h"
#include "graph_params.h"

#define COPY(target, source)         \
	memcpy(&(target), &(source), \
	       sizeof(target) < sizeof(source) ? sizeof(target) : sizeof(source))

static CUresult change(CUgraphExec hGraphExec, CUgraphNode hNode, const CUgraphNodeParams *params)
{
	const struct sg_graph_exec *exec;
	struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	exec = sg_graph_exec_get(hGraphExec);
	node = exec ? sg_graph_exec_find(exec, hNode, (int)params->type) : NULL;
	result = node ? sg_graph_params_check(params) : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS &&
	    sg_graph_exec_compare(node, params) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = sg_graph_exec_change(node, params);
	sg_graph_unlock();
	return result;
}

/* As in graph_node_api.c: the versions of a structure begin alike. */
#define SG_GRAPH_EXEC_SET(function, member, TYPE, structure)                    \
	SG_API CUresult function(CUgraphExec hGraphExec, CUgraphNode hNode,     \
				 const structure *nodeParams)                   \
	{                                                                       \
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_##TYPE}; \
		CUresult result = sg_graph_require(nodeParams);                 \
                                                                                \
		if (result != CUDA_SUCCESS)                                     \
			return result;                                          \
		COPY(params.member, *nodeParams);                               \
		return change(hGraphExec, hNode, &params);                      \
	}

SG_GRAPH_EXEC_SET(cuGraphExecKernelNodeSetParams, kernel, KERNEL, CUDA_KERNEL_NODE_PARAMS_v1)
SG_GRAPH_EXEC_SET(cuGraphExecKernelNodeSetParams_v2, kernel, KERNEL, CUDA_KERNEL_NODE_PARAMS_v2)
SG_GRAPH_EXEC_SET(cuGraphExecHostNodeSetParams, host, HOST, CUDA_HOST_NODE_PARAMS)
SG_GRAPH_EXEC_SET(cuGraphExecExternalSemaphoresSignalNodeSetParams, extSemSignal, EXT_SEMAS_SIGNAL,
		  CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)
SG_GRAPH_EXEC_SET(cuGraphExecExternalSemaphoresWaitNodeSetParams, extSemWait, EXT_SEMAS_WAIT,
		  CUDA_EXT_SEM_WAIT_NODE_PARAMS)
SG_GRAPH_EXEC_SET(cuGraphExecBatchMemOpNodeSetParams, memOp, BATCH_MEM_OP,
		  CUDA_BATCH_MEM_OP_NODE_PARAMS)

SG_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					       const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	CUresult result = sg_graph_require(copyParams);

	if (result != CUDA_SUCCESS)
		return result;
	params.memcpy.copyParams = *copyParams;
	params.memcpy.copyCtx = ctx;
	return change(hGraphExec, hNode, &params);
}

SG_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					       const CUDA_MEMSET_NODE_PARAMS *memsetParams,
					       CUcontext ctx)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	CUresult result = sg_graph_require(memsetParams);

	if (result != CUDA_SUCCESS)
		return result;
	COPY(params.memset, *memsetParams);
	params.memset.ctx = ctx;
	return change(hGraphExec, hNode, &params);
}

SG_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
						   CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	params.eventRecord.event = event;
	return change(hGraphExec, hNode, &params);
}

SG_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
						 CUevent event)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	params.eventWait.event = event;
	return change(hGraphExec, hNode, &params);
}

SG_API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
						   CUgraph childGraph)
{
	CUgraphExecUpdateResultInfo_v1 info;
	const struct sg_graph_exec *exec;
	const struct sg_graph *child;
	struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	exec = sg_graph_exec_get(hGraphExec);
	node = exec ? sg_graph_exec_find(exec, hNode, CU_GRAPH_NODE_TYPE_GRAPH) : NULL;
	child = sg_graph_get(childGraph);
	result = node && child ? sg_graph_update(node->bodies[0], child, &info)
			       : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					 CUgraphNodeParams *nodeParams)
{
	CUresult result = sg_graph_require(nodeParams);

	if (result != CUDA_SUCCESS)
		return result;
	switch (nodeParams->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode,
							  nodeParams->graph.graph);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return change(hGraphExec, hNode, nodeParams);
	}
}

/* Only nodes that compute or move something can be left out. */
static struct sg_graph_node *find_switch(CUgraphExec hGraphExec, CUgraphNode hNode)
{
	const struct sg_graph_exec *exec = sg_graph_exec_get(hGraphExec);
	struct sg_graph_node *node = exec ? sg_graph_exec_find(exec, hNode, -1) : NULL;

	if (!node || (node->params.type != CU_GRAPH_NODE_TYPE_KERNEL &&
		      node->params.type != CU_GRAPH_NODE_TYPE_MEMSET &&
		      node->params.type != CU_GRAPH_NODE_TYPE_MEMCPY))
		return NULL;
	return node;
}

SG_API CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
				      unsigned int isEnabled)
{
	struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = find_switch(hGraphExec, hNode);
	if (node)
		node->is_disabled = !isEnabled;
	sg_graph_unlock();
	return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
				      unsigned int *isEnabled)
{
	const struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = isEnabled ? find_switch(hGraphExec, hNode) : NULL;
	if (node)
		*isEnabled = !node->is_disabled;
	sg_graph_unlock();
	return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
				     CUgraphExecUpdateResultInfo *resultInfo)
{
	CUgraphExecUpdateResultInfo_v1 info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	const struct sg_graph_exec *exec;
	const struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	exec = sg_graph_exec_get(hGraphExec);
	graph = sg_graph_get(hGraph);
	result = exec && graph && resultInfo ? sg_graph_update(exec->graph, graph, &info)
					     : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	if (resultInfo)
		*resultInfo = info;
	return result;
}

SG_API CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
				  CUgraphNode *hErrorNode_out,
				  CUgraphExecUpdateResult *updateResult_out)
{
	CUgraphExecUpdateResultInfo_v1 info;
	CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);

	if (hErrorNode_out)
		*hErrorNode_out = info.errorNode;
	if (updateResult_out)
		*updateResult_out = info.result;
	return result;
}
