#include "stream.h"

#include <stdatomic.h>

#include "call_tool.h"
#include "capture.h"
#include "device_attribute.h"
#include "event.h"
#include "memory.h"
#include "object.h"

/*
 * Streams never have anything outstanding, so most of this is about answering like streams that
 * are idle.
 *
 * Host functions and callbacks run inside the call that submits them, as its last act and with
 * no lock held. The real driver runs them in a thread of its own. A program notices only if it
 * holds a lock across the submission that its function wants too: that waits for itself here.
 */

static bool is_special(CUstream handle)
{
	return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

CUresult sg_stream_get(CUstream handle, struct sg_stream **stream)
{
	struct sg_stream *found = NULL;

	if (!is_special(handle)) {
		found = sg_object_get(SG_OBJECT_STREAM, handle);
		if (!found)
			return CUDA_ERROR_INVALID_HANDLE;
	}
	if (stream)
		*stream = found;
	return CUDA_SUCCESS;
}

CUresult sg_stream_get_context(CUstream handle, struct sg_stream **stream,
			       struct sg_context **context)
{
	struct sg_stream *found;
	struct sg_context *its_context;
	CUresult result = sg_init_check();

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(handle, &found);
	if (result != CUDA_SUCCESS)
		return result;
	if (found) {
		its_context = found->context;
	} else {
		result = sg_context_get_current(&its_context);
		if (result != CUDA_SUCCESS)
			return result;
	}
	if (stream)
		*stream = found;
	if (context)
		*context = its_context;
	return CUDA_SUCCESS;
}

/* Every id is given once. The lowest two bits tell which of a context's own streams it is. */
static unsigned long long next_id(void)
{
	static _Atomic unsigned long long last;

	return atomic_fetch_add(&last, 1) + 1;
}

static int clamp_priority(int priority)
{
	if (priority > SG_LEAST_STREAM_PRIORITY)
		return SG_LEAST_STREAM_PRIORITY;
	return priority < SG_GREATEST_STREAM_PRIORITY ? SG_GREATEST_STREAM_PRIORITY : priority;
}

SG_API CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	struct sg_stream first = {
		.flags = flags,
		.priority = clamp_priority(priority),
		.sync_policy = CU_SYNC_POLICY_AUTO,
		.domain_map.remote = 1, /* as the documentation of the attribute has it */
	};
	struct sg_stream *stream;
	CUresult result = sg_context_get_current(&first.context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!phStream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	first.id = next_id() << 2;
	/* Complete from the start: another thread may be looking for streams of its context. */
	stream = sg_object_create_from(SG_OBJECT_STREAM, &first, sizeof(first));
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*phStream = (CUstream)(void *)stream;
	sg_call_tool_report(SG_CALLS_STREAM_CREATED, stream->context, stream);
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return cuStreamCreateWithPriority(phStream, Flags, 0);
}

SG_API CUresult cuStreamDestroy_v2(CUstream hStream)
{
	struct sg_stream *stream;
	CUresult result = sg_init_check();

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(hStream, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE; /* a context's own go with it */
	sg_capture_forget_stream(stream);
	sg_call_tool_report(SG_CALLS_STREAM_GOING, stream->context, stream);
	sg_object_destroy(SG_OBJECT_STREAM, stream);
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamDestroy(CUstream hStream)
{
	return cuStreamDestroy_v2(hStream);
}

SG_API CUresult cuStreamQuery(CUstream hStream)
{
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);

	return result == CUDA_SUCCESS ? sg_capture_refuse(hStream) : result;
}

SG_API CUresult cuStreamSynchronize(CUstream hStream)
{
	struct sg_context *context;
	CUresult result = sg_stream_get_context(hStream, NULL, &context);

	if (result == CUDA_SUCCESS)
		result = sg_capture_refuse(hStream);
	if (result == CUDA_SUCCESS)
		sg_memory_synchronize(context->device);
	return result;
}

SG_API CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);
	bool is_captured;

	if (result != CUDA_SUCCESS)
		return result;
	if (Flags != CU_EVENT_WAIT_DEFAULT && Flags != CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_wait(hStream, hEvent, Flags, &is_captured);
	/* The other flag is for captures. */
	return result == CUDA_SUCCESS && !is_captured && Flags ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
				    unsigned int flags)
{
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse(hStream);
	if (result == CUDA_SUCCESS)
		callback(hStream, CUDA_SUCCESS, userData);
	return result;
}

SG_API CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST};
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);
	bool is_captured;

	if (result != CUDA_SUCCESS)
		return result;
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	params.host = (CUDA_HOST_NODE_PARAMS_v2){fn, userData};
	result = sg_capture_enqueue(hStream, &params, &is_captured);
	if (result == CUDA_SUCCESS && !is_captured)
		fn(userData);
	return result;
}

SG_API CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
				       unsigned int flags)
{
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);
	unsigned is_managed = 0;
	size_t size = 0;

	if (result != CUDA_SUCCESS)
		return result;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	    flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_MEM_ATTACH_SINGLE && (!hStream || hStream == CU_STREAM_LEGACY))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse(hStream);
	if (result != CUDA_SUCCESS)
		return result;
	/* Only managed memory: pageable memory cannot be reached by the device. */
	if (cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, dptr) !=
		    CUDA_SUCCESS ||
	    !is_managed)
		return CUDA_ERROR_INVALID_VALUE;
	if (!length)
		return CUDA_SUCCESS;
	/* All of it or nothing. */
	if (cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, dptr) != CUDA_SUCCESS ||
	    length != size)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetPriority(CUstream hStream, int *priority)
{
	struct sg_stream *stream;
	CUresult result = sg_stream_get_context(hStream, &stream, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	*priority = stream ? stream->priority : 0;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
	struct sg_stream *stream;
	CUresult result = sg_stream_get_context(hStream, &stream, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = stream ? stream->flags : CU_STREAM_DEFAULT;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
	struct sg_stream *stream;
	struct sg_context *context;
	CUresult result = sg_stream_get_context(hStream, &stream, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!streamId)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream)
		*streamId = stream->id;
	else if (hStream == CU_STREAM_PER_THREAD)
		*streamId = context->id << 2 | 2;
	else
		*streamId = context->id << 2 | 1;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
	struct sg_context *context;
	CUresult result = sg_stream_get_context(hStream, NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
	struct sg_context *context;
	CUresult result = sg_stream_get_context(hStream, NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)(void *)context;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	CUresult result = cuStreamGetCtx(hStream, pCtx);

	if (result == CUDA_SUCCESS && pGreenCtx)
		*pGreenCtx = NULL; /* there are none */
	return result;
}

SG_API CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!phCtx)
		return CUDA_ERROR_INVALID_VALUE;
	*phCtx = NULL;
	return CUDA_SUCCESS;
}

static void destroy_if_in(void *object, void *argument)
{
	struct sg_stream *stream = object;

	if (stream->context == argument)
		sg_object_destroy(SG_OBJECT_STREAM, stream);
}

void sg_stream_destroy_all(struct sg_context *context)
{
	sg_capture_forget_context(context);
	sg_object_for_each(SG_OBJECT_STREAM, destroy_if_in, context);
	sg_event_destroy_all(context);
}
