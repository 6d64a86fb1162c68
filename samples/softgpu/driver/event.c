#include "event.h"

#include <time.h>

#include "capture.h"
#include "memory.h"
#include "object.h"
#include "stream.h"

#define VALID_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

CUresult sg_event_get(CUevent handle, struct sg_event **event)
{
	*event = sg_object_get(SG_OBJECT_EVENT, handle);
	return *event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void sg_event_record(struct sg_event *event)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	atomic_store_explicit(&event->recorded_ns,
			      (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + 1,
			      memory_order_release);
}

static CUresult get_event(CUevent handle, struct sg_event **event)
{
	CUresult result = sg_init_check();

	return result == CUDA_SUCCESS ? sg_event_get(handle, event) : result;
}

SG_API CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	struct sg_event first = {.flags = Flags};
	struct sg_event *event;
	CUresult result = sg_context_get_current(&first.context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!phEvent || (Flags & ~(unsigned)VALID_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	if ((Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	/* Complete from the start: another thread may be looking for events of its context. */
	event = sg_object_create_from(SG_OBJECT_EVENT, &first, sizeof(first));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*phEvent = (CUevent)(void *)event;
	return CUDA_SUCCESS;
}

SG_API CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	struct sg_event *event;
	struct sg_context *context;
	bool is_captured;
	CUresult result = sg_stream_get_context(hStream, NULL, &context);

	if (result == CUDA_SUCCESS)
		result = sg_event_get(hEvent, &event);
	if (result != CUDA_SUCCESS)
		return result;
	if (flags != CU_EVENT_RECORD_DEFAULT && flags != CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->context != context)
		return CUDA_ERROR_INVALID_HANDLE;
	result = sg_capture_record(hStream, hEvent, flags, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	/* The other flag is for captures. */
	if (flags != CU_EVENT_RECORD_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	sg_event_record(event);
	return CUDA_SUCCESS;
}

SG_API CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
	return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

/* An event that can be asked: not one of a capture, and no capture forbids it. */
static CUresult get_reached_event(CUevent handle, struct sg_event **event)
{
	CUresult result = get_event(handle, event);

	if (result == CUDA_SUCCESS)
		result = sg_capture_check_event(*event);
	return result == CUDA_SUCCESS ? sg_capture_refuse_unsafe() : result;
}

SG_API CUresult cuEventQuery(CUevent hEvent)
{
	struct sg_event *event;

	return get_reached_event(hEvent, &event);
}

SG_API CUresult cuEventSynchronize(CUevent hEvent)
{
	struct sg_event *event;
	CUresult result = get_reached_event(hEvent, &event);

	if (result == CUDA_SUCCESS)
		sg_memory_synchronize(event->context->device);
	return result;
}

static void destroy(struct sg_event *event)
{
	sg_capture_forget_event(event);
	if (event->key.id)
		sg_share_close(sg_init_get_card(), &event->key);
	sg_object_destroy(SG_OBJECT_EVENT, event);
}

SG_API CUresult cuEventDestroy_v2(CUevent hEvent)
{
	struct sg_event *event;
	CUresult result = get_event(hEvent, &event);

	if (result == CUDA_SUCCESS)
		destroy(event);
	return result;
}

SG_API CUresult cuEventDestroy(CUevent hEvent)
{
	return cuEventDestroy_v2(hEvent);
}

SG_API CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	struct sg_event *start, *end;
	uint64_t start_ns, end_ns;
	CUresult result = get_event(hStart, &start);

	if (result == CUDA_SUCCESS)
		result = sg_event_get(hEnd, &end);
	if (result != CUDA_SUCCESS)
		return result;
	if (!pMilliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (start->captured_in || end->captured_in)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) ||
	    start->context->device != end->context->device)
		return CUDA_ERROR_INVALID_HANDLE;
	start_ns = atomic_load_explicit(&start->recorded_ns, memory_order_acquire);
	end_ns = atomic_load_explicit(&end->recorded_ns, memory_order_acquire);
	if (!start_ns || !end_ns)
		return CUDA_ERROR_INVALID_HANDLE;
	/* Negative if they were recorded the other way round. */
	*pMilliseconds = (float)((double)(int64_t)(end_ns - start_ns) / 1e6);
	return CUDA_SUCCESS;
}

SG_API CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}

static void destroy_if_in(void *object, void *argument)
{
	struct sg_event *event = object;

	if (event->context == argument)
		destroy(event);
}

void sg_event_destroy_all(struct sg_context *context)
{
	sg_object_for_each(SG_OBJECT_EVENT, destroy_if_in, context);
}
