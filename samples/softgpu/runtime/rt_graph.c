/* Graphs as a whole: making, asking, instantiating, updating, launching; user objects. */
#include "rt_graph.h"

SG_API cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphCreate_v10000, pGraph, flags));
}

SG_API cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphDestroy_v10000, graph));
}

SG_API cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphClone_v10000, pGraphClone, originalGraph));
}

SG_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
					    cudaGraph_t clonedGraph)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphNodeFindInClone_v10000, pNode, originalNode, clonedGraph));
}

SG_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	/* The numbers are the same. */
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphNodeGetType_v10000, node, (CUgraphNodeType *)pType));
}

SG_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphGetNodes_v10000, graph, nodes, numNodes));
}

SG_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
					 size_t *pNumRootNodes)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphGetRootNodes_v10000, graph, pRootNodes, pNumRootNodes));
}

SG_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				     cudaGraphEdgeData *edgeData, size_t *numEdges)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphGetEdges_v12030, graph, from, to,
				       (CUgraphEdgeData *)edgeData, numEdges));
}

SG_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
						cudaGraphNode_t *pDependencies,
						cudaGraphEdgeData *edgeData,
						size_t *pNumDependencies)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphNodeGetDependencies_v12030, node, pDependencies,
				       (CUgraphEdgeData *)edgeData, pNumDependencies));
}

SG_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
						  cudaGraphNode_t *pDependentNodes,
						  cudaGraphEdgeData *edgeData,
						  size_t *pNumDependentNodes)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphNodeGetDependentNodes_v12030, node, pDependentNodes,
				       (CUgraphEdgeData *)edgeData, pNumDependentNodes));
}

SG_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					    const cudaGraphNode_t *to,
					    const cudaGraphEdgeData *edgeData,
					    size_t numDependencies)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphAddDependencies_v12030, graph, from, to,
				       (const CUgraphEdgeData *)edgeData, numDependencies));
}

SG_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					       const cudaGraphNode_t *to,
					       const cudaGraphEdgeData *edgeData,
					       size_t numDependencies)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphRemoveDependencies_v12030, graph, from, to,
				       (const CUgraphEdgeData *)edgeData, numDependencies));
}

SG_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphDestroyNode_v10000, node));
}

SG_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphDebugDotPrint_v11030, graph, path, flags));
}

static cudaError_t create_condition(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
				    unsigned value, unsigned flags)
{
	CUgraphConditionalHandle made = 0;
	CUcontext context;
	cudaError_t error;

	if (!handle)
		return cudaErrorInvalidValue;
	error = sg_rt_graph_context(&context);
	if (!error)
		error = SG_DRIVER(cuGraphConditionalHandleCreate_v12030, &made, graph, context,
				  value, flags);
	if (!error)
		*handle = made;
	return error;
}

SG_API cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out,
						    cudaGraph_t graph,
						    unsigned int defaultLaunchValue,
						    unsigned int flags)
{
	return SG_IN_CONTEXT(create_condition(pHandle_out, graph, defaultLaunchValue, flags));
}

/* ---- Executable graphs ---- */

SG_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					unsigned long long flags)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphInstantiateWithFlags_v11040, pGraphExec, graph, flags));
}

SG_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
						 unsigned long long flags)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphInstantiateWithFlags_v11040, pGraphExec, graph, flags));
}

SG_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
						  cudaGraphInstantiateParams *instantiateParams)
{
	_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
		       "layout");

	return SG_IN_CONTEXT(SG_DRIVER(cuGraphInstantiateWithParams_v12000, pGraphExec, graph,
				       (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)instantiateParams));
}

static cudaError_t get_flags(cudaGraphExec_t exec, unsigned long long *flags)
{
	cuuint64_t found = 0;
	cudaError_t error;

	if (!flags)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuGraphExecGetFlags_v12000, exec, &found);
	if (!error)
		*flags = found;
	return error;
}

SG_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
	return SG_IN_CONTEXT(get_flags(graphExec, flags));
}

SG_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				       cudaGraphExecUpdateResultInfo *resultInfo)
{
	_Static_assert(sizeof(*resultInfo) == sizeof(CUgraphExecUpdateResultInfo), "layout");

	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExecUpdate_v12000, hGraphExec, hGraph,
				       (CUgraphExecUpdateResultInfo *)(void *)resultInfo));
}

SG_API cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphUpload_v11010, graphExec, stream));
}

SG_API cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphLaunch_v10000, graphExec, stream));
}

SG_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphExecDestroy_v10000, graphExec));
}

/* ---- Memory of graphs ---- */

SG_API cudaError_t cudaDeviceGraphMemTrim(int device)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuDeviceGraphMemTrim_v11040, device));
}

SG_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
						  void *value)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuDeviceGetGraphMemAttribute_v11040, device,
				       (CUgraphMem_attribute)attr, value));
}

SG_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
						  void *value)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuDeviceSetGraphMemAttribute_v11040, device,
				       (CUgraphMem_attribute)attr, value));
}

/* ---- User objects ---- */

SG_API cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr,
					cudaHostFn_t destroy, unsigned int initialRefcount,
					unsigned int flags)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuUserObjectCreate_v11030, object_out, ptr, destroy,
				       initialRefcount, flags));
}

SG_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuUserObjectRetain_v11030, object, count));
}

SG_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuUserObjectRelease_v11030, object, count));
}

SG_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
					     unsigned int count, unsigned int flags)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuGraphRetainUserObject_v11030, graph, object, count, flags));
}

SG_API cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
					      unsigned int count)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphReleaseUserObject_v11030, graph, object, count));
}
