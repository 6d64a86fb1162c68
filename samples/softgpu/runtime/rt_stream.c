/* Streams. */
#include "runtime.h"

_Static_assert(cudaStreamNonBlocking == CU_STREAM_NON_BLOCKING, "stream flags are the same");
_Static_assert(sizeof(cudaStreamAttrValue) == sizeof(CUstreamAttrValue),
	       "attribute values have one layout");
_Static_assert((int)cudaStreamCaptureStatusInvalidated == (int)CU_STREAM_CAPTURE_STATUS_INVALIDATED,
	       "capture states have the same numbers");

static cudaError_t create(cudaStream_t *stream, unsigned flags)
{
	if (!stream || (flags & ~(unsigned)cudaStreamNonBlocking))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuStreamCreate_v2000, stream, flags);
}

static cudaError_t create_with_priority(cudaStream_t *stream, unsigned flags, int priority)
{
	if (!stream || (flags & ~(unsigned)cudaStreamNonBlocking))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuStreamCreateWithPriority_v5050, stream, flags, priority);
}

/* The default streams are nobody's to destroy. */
static cudaError_t destroy(cudaStream_t stream)
{
	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		return cudaErrorInvalidResourceHandle;
	return SG_DRIVER(cuStreamDestroy_v4000, stream);
}

SG_API cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
	return SG_IN_CONTEXT(create(pStream, cudaStreamDefault));
}

SG_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	return SG_IN_CONTEXT(create(pStream, flags));
}

SG_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
						int priority)
{
	return SG_IN_CONTEXT(create_with_priority(pStream, flags, priority));
}

SG_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return SG_IN_CONTEXT(destroy(stream));
}

SG_API cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
	return SG_IN_CONTEXT(priority ? SG_DRIVER(cuStreamGetPriority_v5050, hStream, priority)
				      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
	return SG_IN_CONTEXT(flags ? SG_DRIVER(cuStreamGetFlags_v5050, hStream, flags)
				   : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
	return SG_IN_CONTEXT(streamId ? SG_DRIVER(cuStreamGetId_v12000, hStream, streamId)
				      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
	return SG_IN_CONTEXT(device ? SG_DRIVER(cuStreamGetDevice_v12080, hStream, device)
				    : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamQuery_v2000, stream));
}

SG_API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamSynchronize_v2000, stream));
}

SG_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return SG_IN_CONTEXT(event ? SG_DRIVER(cuStreamWaitEvent_v3020, stream, event, flags)
				   : cudaErrorInvalidResourceHandle);
}

static cudaError_t add_callback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
				unsigned flags)
{
	if (!callback || flags)
		return cudaErrorInvalidValue;
	/* The types differ in the enumeration of the status alone, whose numbers are shared. */
	return SG_DRIVER(cuStreamAddCallback_v5000, stream,
			 (CUstreamCallback)(void (*)(void))callback, data, flags);
}

SG_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
					 void *userData, unsigned int flags)
{
	return SG_IN_CONTEXT(add_callback(stream, callback, userData, flags));
}

SG_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
	return SG_IN_CONTEXT(fn ? SG_DRIVER(cuLaunchHostFunc_v10000, stream, fn, userData)
				: cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
					    unsigned int flags)
{
	CUdeviceptr address = (CUdeviceptr)devPtr;

	return SG_IN_CONTEXT(
		devPtr ? SG_DRIVER(cuStreamAttachMemAsync_v6000, stream, address, length, flags)
		       : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuStreamCopyAttributes_v11000, dst, src));
}

SG_API cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
					  cudaStreamAttrValue *value_out)
{
	CUstreamAttrValue *value = (CUstreamAttrValue *)value_out;

	return SG_IN_CONTEXT(
		value ? SG_DRIVER(cuStreamGetAttribute_v11000, hStream, (CUstreamAttrID)attr, value)
		      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
					  const cudaStreamAttrValue *value)
{
	const CUstreamAttrValue *given = (const CUstreamAttrValue *)value;

	return SG_IN_CONTEXT(
		given ? SG_DRIVER(cuStreamSetAttribute_v11000, hStream, (CUstreamAttrID)attr, given)
		      : cudaErrorInvalidValue);
}
