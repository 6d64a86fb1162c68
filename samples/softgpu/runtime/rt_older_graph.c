/* Graphs and capture as 11 and 12 have them: rt_older.c for these. Edges carried no data then. */
#define SG_RT_OLDER_FORMS
#include "runtime.h"

static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				unsigned long long *id, cudaGraph_t *graph,
				const cudaGraphNode_t **nodes, size_t *nr_nodes)
{
	CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t number = 0;
	cudaError_t error;

	if (!status)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuStreamGetCaptureInfo_v11030, stream, &found, &number, graph, nodes,
			  nr_nodes);
	if (error)
		return error;
	*status = (enum cudaStreamCaptureStatus)found;
	if (id)
		*id = number;
	return cudaSuccess;
}

SG_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
					    enum cudaStreamCaptureStatus *captureStatus_out,
					    unsigned long long *id_out)
{
	return SG_IN_CONTEXT(capture_info(stream, captureStatus_out, id_out, NULL, NULL, NULL));
}

SG_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					       enum cudaStreamCaptureStatus *captureStatus_out,
					       unsigned long long *id_out, cudaGraph_t *graph_out,
					       const cudaGraphNode_t **dependencies_out,
					       size_t *numDependencies_out)
{
	return SG_IN_CONTEXT(capture_info(stream, captureStatus_out, id_out, graph_out,
					  dependencies_out, numDependencies_out));
}

SG_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						       cudaGraphNode_t *dependencies,
						       size_t numDependencies, unsigned int flags)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamUpdateCaptureDependencies_v11030, stream,
				       dependencies, numDependencies, flags));
}

SG_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					    const cudaGraphNode_t *to, size_t numDependencies)
{
	return SG_LOADED(
		SG_DRIVER(cuGraphAddDependencies_v12030, graph, from, to, NULL, numDependencies));
}

SG_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					       const cudaGraphNode_t *to, size_t numDependencies)
{
	return SG_LOADED(
		SG_DRIVER(cuGraphRemoveDependencies_v10000, graph, from, to, numDependencies));
}

SG_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				     size_t *numEdges)
{
	return SG_LOADED(SG_DRIVER(cuGraphGetEdges_v10000, graph, from, to, numEdges));
}

SG_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
						cudaGraphNode_t *pDependencies,
						size_t *pNumDependencies)
{
	return SG_LOADED(SG_DRIVER(cuGraphNodeGetDependencies_v10000, node, pDependencies,
				   pNumDependencies));
}

SG_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
						  cudaGraphNode_t *pDependentNodes,
						  size_t *pNumDependentNodes)
{
	return SG_LOADED(SG_DRIVER(cuGraphNodeGetDependentNodes_v10000, node, pDependentNodes,
				   pNumDependentNodes));
}

#if CUDART_VERSION >= 12000

SG_API cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				    const cudaGraphNode_t *pDependencies, size_t numDependencies,
				    struct cudaGraphNodeParams *nodeParams)
{
	return cudaGraphAddNode_v2(pGraphNode, graph, pDependencies, NULL, numDependencies,
				   nodeParams);
}

#else

SG_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					cudaGraphNode_t *pErrorNode, char *pLogBuffer,
					size_t bufferSize)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuGraphInstantiate_v11000, pGraphExec, graph, pErrorNode,
				       pLogBuffer, bufferSize));
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
			  enum cudaGraphExecUpdateResult *result)
{
	CUgraphExecUpdateResult found = CU_GRAPH_EXEC_UPDATE_ERROR;
	cudaError_t error;

	if (!result)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuGraphExecUpdate_v10020, exec, graph, error_node, &found);
	*result = (enum cudaGraphExecUpdateResult)found;
	return error;
}

SG_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				       cudaGraphNode_t *hErrorNode_out,
				       enum cudaGraphExecUpdateResult *updateResult_out)
{
	return SG_IN_CONTEXT(update(hGraphExec, hGraph, hErrorNode_out, updateResult_out));
}

#endif
