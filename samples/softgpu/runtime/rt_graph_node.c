/* Nodes by type: adding them, and reading and changing what they do. */
#include "rt_graph.h"

/* ---- Any node ---- */

static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph,
			    const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *data,
			    size_t nr_dependencies, struct cudaGraphNodeParams *given)
{
	CUgraphNodeParams params;
	cudaError_t error = sg_rt_graph_node(given, &params);

	if (!error)
		error = SG_DRIVER(cuGraphAddNode_v12030, node, graph, dependencies,
				  (const CUgraphEdgeData *)data, nr_dependencies, &params);
	if (!error)
		sg_rt_graph_node_back(&params, given);
	return error;
}

SG_API cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				    const cudaGraphNode_t *pDependencies,
				    const cudaGraphEdgeData *dependencyData, size_t numDependencies,
				    struct cudaGraphNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(add_node(pGraphNode, graph, pDependencies, dependencyData,
				      numDependencies, nodeParams));
}

static cudaError_t set_node(cudaGraphNode_t node, const struct cudaGraphNodeParams *given)
{
	CUgraphNodeParams params;
	cudaError_t error = sg_rt_graph_node(given, &params);

	return error ? error : SG_DRIVER(cuGraphNodeSetParams_v12020, node, &params);
}

SG_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
					  struct cudaGraphNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(set_node(node, nodeParams));
}

static cudaError_t set_exec_node(cudaGraphExec_t exec, cudaGraphNode_t node,
				 const struct cudaGraphNodeParams *given)
{
	CUgraphNodeParams params;
	cudaError_t error = sg_rt_graph_node(given, &params);

	return error ? error : SG_DRIVER(cuGraphExecNodeSetParams_v12020, exec, node, &params);
}

SG_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
					      struct cudaGraphNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(set_exec_node(graphExec, node, nodeParams));
}

SG_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
					   unsigned int isEnabled)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphNodeSetEnabled_v11060, hGraphExec, hNode, isEnabled));
}

SG_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
					   unsigned int *isEnabled)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphNodeGetEnabled_v11060, hGraphExec, hNode, isEnabled));
}

/* ---- Kernels ---- */

static cudaError_t add_kernel(cudaGraphNode_t *node, cudaGraph_t graph,
			      const cudaGraphNode_t *dependencies, size_t nr_dependencies,
			      const struct cudaKernelNodeParams *given)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	cudaError_t error = sg_rt_graph_kernel(given, &params);

	return error ? error
		     : SG_DRIVER(cuGraphAddKernelNode_v12000, node, graph, dependencies,
				 nr_dependencies, &params);
}

SG_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					  const cudaGraphNode_t *pDependencies,
					  size_t numDependencies,
					  const struct cudaKernelNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(
		add_kernel(pGraphNode, graph, pDependencies, numDependencies, pNodeParams));
}

static cudaError_t get_kernel(cudaGraphNode_t node, struct cudaKernelNodeParams *given)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	cudaError_t error;

	if (!given)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuGraphKernelNodeGetParams_v12000, node, &params);
	if (!error)
		sg_rt_graph_kernel_back(&params, given);
	return error;
}

SG_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
						struct cudaKernelNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(get_kernel(node, pNodeParams));
}

static cudaError_t set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
			      const struct cudaKernelNodeParams *given)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	cudaError_t error = sg_rt_graph_kernel(given, &params);

	if (error)
		return error;
	return exec ? SG_DRIVER(cuGraphExecKernelNodeSetParams_v12000, exec, node, &params)
		    : SG_DRIVER(cuGraphKernelNodeSetParams_v12000, node, &params);
}

SG_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
						const struct cudaKernelNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(set_kernel(NULL, node, pNodeParams));
}

SG_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec,
						    cudaGraphNode_t node,
						    const struct cudaKernelNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(hGraphExec ? set_kernel(hGraphExec, node, pNodeParams)
					: cudaErrorInvalidValue);
}

SG_API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphKernelNodeCopyAttributes_v11000, hDst, hSrc));
}

SG_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
						   cudaKernelNodeAttrValue *value_out)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphKernelNodeGetAttribute_v11000, hNode,
				       (CUkernelNodeAttrID)attr,
				       (CUkernelNodeAttrValue *)value_out));
}

SG_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
						   const cudaKernelNodeAttrValue *value)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphKernelNodeSetAttribute_v11000, hNode,
				       (CUkernelNodeAttrID)attr,
				       (const CUkernelNodeAttrValue *)value));
}

/* ---- Host functions, children, nothing ---- */

SG_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					const cudaGraphNode_t *pDependencies,
					size_t numDependencies,
					const struct cudaHostNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddHostNode_v10000, pGraphNode, graph, pDependencies,
				       numDependencies,
				       (const CUDA_HOST_NODE_PARAMS *)(const void *)pNodeParams));
}

SG_API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node,
					      struct cudaHostNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphHostNodeGetParams_v10000, node,
				       (CUDA_HOST_NODE_PARAMS *)(void *)pNodeParams));
}

SG_API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
					      const struct cudaHostNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphHostNodeSetParams_v10000, node,
				       (const CUDA_HOST_NODE_PARAMS *)(const void *)pNodeParams));
}

SG_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						  const struct cudaHostNodeParams *pNodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExecHostNodeSetParams_v10020, hGraphExec, node,
				       (const CUDA_HOST_NODE_PARAMS *)(const void *)pNodeParams));
}

SG_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					      const cudaGraphNode_t *pDependencies,
					      size_t numDependencies, cudaGraph_t childGraph)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddChildGraphNode_v10000, pGraphNode, graph,
				       pDependencies, numDependencies, childGraph));
}

SG_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphChildGraphNodeGetGraph_v10000, node, pGraph));
}

SG_API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
							cudaGraphNode_t node,
							cudaGraph_t childGraph)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphExecChildGraphNodeSetParams_v11010, hGraphExec, node, childGraph));
}

SG_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					 const cudaGraphNode_t *pDependencies,
					 size_t numDependencies)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddEmptyNode_v10000, pGraphNode, graph, pDependencies,
				       numDependencies));
}

/* ---- Events ---- */

SG_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					       const cudaGraphNode_t *pDependencies,
					       size_t numDependencies, cudaEvent_t event)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddEventRecordNode_v11010, pGraphNode, graph,
				       pDependencies, numDependencies, event));
}

SG_API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphEventRecordNodeGetEvent_v11010, node, event_out));
}

SG_API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphEventRecordNodeSetEvent_v11010, node, event));
}

SG_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec,
							cudaGraphNode_t hNode, cudaEvent_t event)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphExecEventRecordNodeSetEvent_v11010, hGraphExec, hNode, event));
}

SG_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					     const cudaGraphNode_t *pDependencies,
					     size_t numDependencies, cudaEvent_t event)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddEventWaitNode_v11010, pGraphNode, graph,
				       pDependencies, numDependencies, event));
}

SG_API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphEventWaitNodeGetEvent_v11010, node, event_out));
}

SG_API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphEventWaitNodeSetEvent_v11010, node, event));
}

SG_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec,
						      cudaGraphNode_t hNode, cudaEvent_t event)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphExecEventWaitNodeSetEvent_v11010, hGraphExec, hNode, event));
}

/* ---- External semaphores: the structures are laid out alike ---- */

#define SIGNAL(params) ((CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *)(void *)(uintptr_t)(params))
#define WAIT(params)   ((CUDA_EXT_SEM_WAIT_NODE_PARAMS *)(void *)(uintptr_t)(params))

SG_API cudaError_t cudaGraphAddExternalSemaphoresSignalNode(
	cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	size_t numDependencies, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddExternalSemaphoresSignalNode_v11020, pGraphNode,
				       graph, pDependencies, numDependencies, SIGNAL(nodeParams)));
}

SG_API cudaError_t cudaGraphExternalSemaphoresSignalNodeGetParams(
	cudaGraphNode_t hNode, struct cudaExternalSemaphoreSignalNodeParams *params_out)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExternalSemaphoresSignalNodeGetParams_v11020, hNode,
				       SIGNAL(params_out)));
}

SG_API cudaError_t cudaGraphExternalSemaphoresSignalNodeSetParams(
	cudaGraphNode_t hNode, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExternalSemaphoresSignalNodeSetParams_v11020, hNode,
				       SIGNAL(nodeParams)));
}

SG_API cudaError_t cudaGraphExecExternalSemaphoresSignalNodeSetParams(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
	const struct cudaExternalSemaphoreSignalNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExecExternalSemaphoresSignalNodeSetParams_v11020,
				       hGraphExec, hNode, SIGNAL(nodeParams)));
}

SG_API cudaError_t cudaGraphAddExternalSemaphoresWaitNode(
	cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	size_t numDependencies, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddExternalSemaphoresWaitNode_v11020, pGraphNode,
				       graph, pDependencies, numDependencies, WAIT(nodeParams)));
}

SG_API cudaError_t cudaGraphExternalSemaphoresWaitNodeGetParams(
	cudaGraphNode_t hNode, struct cudaExternalSemaphoreWaitNodeParams *params_out)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExternalSemaphoresWaitNodeGetParams_v11020, hNode,
				       WAIT(params_out)));
}

SG_API cudaError_t cudaGraphExternalSemaphoresWaitNodeSetParams(
	cudaGraphNode_t hNode, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExternalSemaphoresWaitNodeSetParams_v11020, hNode,
				       WAIT(nodeParams)));
}

SG_API cudaError_t cudaGraphExecExternalSemaphoresWaitNodeSetParams(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
	const struct cudaExternalSemaphoreWaitNodeParams *nodeParams)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExecExternalSemaphoresWaitNodeSetParams_v11020,
				       hGraphExec, hNode, WAIT(nodeParams)));
}
