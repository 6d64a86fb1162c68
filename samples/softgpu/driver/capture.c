#include "stream.h"

/*
 * Stream capture is not there yet. What asks about it gets the answer of a stream that is not
 * capturing, because allocators ask before every allocation.
 */
static _Thread_local CUstreamCaptureMode mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

SG_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUresult result = sg_init_check();
	CUstreamCaptureMode previous = mode_of_thread;

	if (result != CUDA_SUCCESS)
		return result;
	if (!mode || (int)*mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
	    *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	mode_of_thread = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}

static CUresult answer_none(CUstream handle, CUstreamCaptureStatus *status)
{
	CUresult result = sg_stream_get_context(handle, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	return answer_none(hStream, captureStatus);
}

/* The other outputs of these are defined only while a capture is going on. */
SG_API CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
				       cuuint64_t *id_out)
{
	(void)id_out;
	return answer_none(hStream, captureStatus_out);
}

SG_API CUresult cuStreamGetCaptureInfo_v2(CUstream hStream,
					  CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out, CUgraph *graph_out,
					  const CUgraphNode **dependencies_out,
					  size_t *numDependencies_out)
{
	(void)id_out, (void)graph_out, (void)dependencies_out, (void)numDependencies_out;
	return answer_none(hStream, captureStatus_out);
}

SG_API CUresult cuStreamGetCaptureInfo_v3(CUstream hStream,
					  CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out, CUgraph *graph_out,
					  const CUgraphNode **dependencies_out,
					  const CUgraphEdgeData **edgeData_out,
					  size_t *numDependencies_out)
{
	(void)id_out, (void)graph_out, (void)dependencies_out, (void)edgeData_out,
		(void)numDependencies_out;
	return answer_none(hStream, captureStatus_out);
}
