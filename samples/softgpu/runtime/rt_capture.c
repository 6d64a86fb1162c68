/* Capturing what is put on a stream into a graph. */
#include "runtime.h"

SG_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuStreamBeginCapture_v10010, stream, (CUstreamCaptureMode)mode));
}

/* The only call to which it matters that stream 0 is the thread's own. */
SG_API cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuStreamBeginCapture_v10010_ptsz, stream, (CUstreamCaptureMode)mode));
}

SG_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
						 const cudaGraphNode_t *dependencies,
						 const cudaGraphEdgeData *dependencyData,
						 size_t numDependencies,
						 enum cudaStreamCaptureMode mode)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamBeginCaptureToGraph_v12030, stream, graph,
				       dependencies, (const CUgraphEdgeData *)dependencyData,
				       numDependencies, (CUstreamCaptureMode)mode));
}

SG_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamEndCapture_v10000, stream, pGraph));
}

SG_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						       cudaGraphNode_t *dependencies,
						       const cudaGraphEdgeData *dependencyData,
						       size_t numDependencies, unsigned int flags)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamUpdateCaptureDependencies_v12030, stream,
				       dependencies, (const CUgraphEdgeData *)dependencyData,
				       numDependencies, flags));
}

static cudaError_t is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
	cudaError_t error;

	if (!status)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuStreamIsCapturing_v10000, stream, &found);
	if (!error)
		*status = (enum cudaStreamCaptureStatus)found;
	return error;
}

static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
				unsigned long long *id, cudaGraph_t *graph,
				const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
				size_t *nr_nodes)
{
	_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "layout");
	CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t number = 0;
	cudaError_t error;

	if (!status)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuStreamGetCaptureInfo_v12030, stream, &found, &number, graph, nodes,
			  (const CUgraphEdgeData **)edges, nr_nodes);
	if (!error) {
		*status = (enum cudaStreamCaptureStatus)found;
		if (id)
			*id = number;
	}
	return error;
}

SG_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
					 enum cudaStreamCaptureStatus *pCaptureStatus)
{
	return SG_IN_CONTEXT(is_capturing(stream, pCaptureStatus));
}

SG_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
					    enum cudaStreamCaptureStatus *captureStatus_out,
					    unsigned long long *id_out, cudaGraph_t *graph_out,
					    const cudaGraphNode_t **dependencies_out,
					    const cudaGraphEdgeData **edgeData_out,
					    size_t *numDependencies_out)
{
	return SG_IN_CONTEXT(capture_info(stream, captureStatus_out, id_out, graph_out,
					  dependencies_out, edgeData_out, numDependencies_out));
}

static cudaError_t exchange_mode(enum cudaStreamCaptureMode *mode)
{
	CUstreamCaptureMode before;
	cudaError_t error;

	if (!mode)
		return cudaErrorInvalidValue;
	before = (CUstreamCaptureMode)*mode;
	error = SG_DRIVER(cuThreadExchangeStreamCaptureMode_v10010, &before);
	if (!error)
		*mode = (enum cudaStreamCaptureMode)before;
	return error;
}

SG_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return SG_LOADED(exchange_mode(mode));
}
