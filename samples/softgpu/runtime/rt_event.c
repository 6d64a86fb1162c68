/* Events. */
#include "runtime.h"

_Static_assert(cudaEventBlockingSync == CU_EVENT_BLOCKING_SYNC &&
		       cudaEventDisableTiming == CU_EVENT_DISABLE_TIMING &&
		       cudaEventInterprocess == CU_EVENT_INTERPROCESS,
	       "event flags have the same numbers");

static cudaError_t create(cudaEvent_t *event, unsigned flags)
{
	const unsigned known =
		cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

	if (!event || (flags & ~known))
		return cudaErrorInvalidValue;
	/* An event for other processes cannot measure time. */
	if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuEventCreate_v2000, event, flags);
}

static cudaError_t elapsed_time(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	if (!ms)
		return cudaErrorInvalidValue;
	if (!start || !end)
		return cudaErrorInvalidResourceHandle;
	if (sg_rt_driver.cuEventElapsedTime_v12080)
		return SG_DRIVER(cuEventElapsedTime_v12080, ms, start, end);
	return SG_DRIVER(cuEventElapsedTime_v2000, ms, start, end);
}

static cudaError_t record_with_flags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	if (!event)
		return cudaErrorInvalidResourceHandle;
	if (flags & ~(unsigned)cudaEventRecordExternal)
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuEventRecordWithFlags_v11010, event, stream, flags);
}

SG_API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return SG_IN_CONTEXT(create(event, cudaEventDefault));
}

SG_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return SG_IN_CONTEXT(create(event, flags));
}

SG_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return SG_IN_CONTEXT(event ? SG_DRIVER(cuEventRecord_v2000, event, stream)
				   : cudaErrorInvalidResourceHandle);
}

SG_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
					    unsigned int flags)
{
	return SG_IN_CONTEXT(record_with_flags(event, stream, flags));
}

SG_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return SG_IN_CONTEXT(event ? SG_DRIVER(cuEventQuery_v2000, event)
				   : cudaErrorInvalidResourceHandle);
}

SG_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return SG_IN_CONTEXT(event ? SG_DRIVER(cuEventSynchronize_v2000, event)
				   : cudaErrorInvalidResourceHandle);
}

SG_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return SG_IN_CONTEXT(event ? SG_DRIVER(cuEventDestroy_v4000, event)
				   : cudaErrorInvalidResourceHandle);
}

SG_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return SG_IN_CONTEXT(elapsed_time(ms, start, end));
}
