/* What this library is, what time it is, which number a thing has. */
#include "tool.h"

#include <time.h>

#include <cupti_profiler_target.h>

static _Atomic(CUpti_TimestampCallbackFunc) own_clock;

uint64_t sg_tool_query_time(void)
{
	CUpti_TimestampCallbackFunc clock_of_program = atomic_load(&own_clock);
	struct timespec time;

	if (clock_of_program)
		return clock_of_program();
	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp);
SG_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	if (!funcTimestamp)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	atomic_store(&own_clock, funcTimestamp);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*timestamp = sg_tool_query_time();
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

static const char *find_result(CUptiResult result)
{
	switch (result) {
#define SG_DRIVER_ID(cbid, name)
#define SG_RUNTIME_ID(cbid, name, function, version)
#define SG_RESULT(name) \
	case name:      \
		return #name;
#include "cupti_tables.inc"
#undef SG_DRIVER_ID
#undef SG_RUNTIME_ID
#undef SG_RESULT
	default:
		return NULL;
	}
}

SG_API CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	const char *found = find_result(result);

	if (!str)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*str = found ? found : "<unknown>";
	return sg_tool_link_return(found ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str);
SG_API CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
	return cuptiGetResultString(result, str);
}

/* Everything as before the first call; it may all begin again. */
SG_API CUptiResult cuptiFinalize(void)
{
	sg_tool_subscriber_drop();
	sg_tool_activity_drop();
	return CUPTI_SUCCESS;
}

uint32_t sg_tool_query_context_id(CUcontext context)
{
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();
	unsigned long long id;

	if (!context || !driver || driver->get_context_id(context, &id) != CUDA_SUCCESS)
		return 0;
	return (uint32_t)id;
}

/* Some questions are about the current context: ask while this one is. */
static bool ask_device(CUcontext context, uint32_t *device)
{
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();
	CUdevice found;
	bool is_known;

	if (!context || !driver || driver->push_current(context) != CUDA_SUCCESS)
		return false;
	is_known = driver->get_device(&found) == CUDA_SUCCESS;
	(void)driver->pop_current(NULL);
	if (is_known)
		*device = (uint32_t)found;
	return is_known;
}

uint32_t sg_tool_query_device(CUcontext context)
{
	uint32_t device = 0;

	return ask_device(context, &device) ? device : 0;
}

static bool ask_stream(CUcontext context, CUstream stream, uint32_t *stream_id)
{
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();
	unsigned long long id;
	CUcontext owner = NULL;
	bool is_known;

	if (!context || !driver || driver->push_current(context) != CUDA_SUCCESS)
		return false;
	is_known = driver->get_stream_context(stream, &owner) == CUDA_SUCCESS && owner == context &&
		   driver->get_stream_id(stream, &id) == CUDA_SUCCESS;
	(void)driver->pop_current(NULL);
	if (is_known)
		*stream_id = (uint32_t)id;
	return is_known;
}

uint32_t sg_tool_query_stream_id(CUcontext context, CUstream stream)
{
	uint32_t id;

	return ask_stream(context, stream, &id) ? id : CUPTI_INVALID_STREAM_ID;
}

SG_API CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	uint32_t id;

	if (!contextId)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (!sg_tool_link_get_driver())
		return sg_tool_link_return(CUPTI_ERROR_NOT_INITIALIZED);
	id = sg_tool_query_context_id(context);
	if (!id)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_CONTEXT);
	*contextId = id;
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	if (!context || !deviceId)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (!sg_tool_link_get_driver())
		return sg_tool_link_return(CUPTI_ERROR_NOT_INITIALIZED);
	return sg_tool_link_return(ask_device(context, deviceId) ? CUPTI_SUCCESS
								 : CUPTI_ERROR_INVALID_DEVICE);
}

SG_API CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
				      uint32_t *streamId)
{
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();

	if (!streamId)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	if (!driver)
		return sg_tool_link_return(CUPTI_ERROR_NOT_INITIALIZED);
	if (!stream && perThreadStream)
		stream = CU_STREAM_PER_THREAD;
	if (!context && driver->get_stream_context(stream, &context) != CUDA_SUCCESS)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_STREAM);
	return sg_tool_link_return(
		ask_stream(context, stream, streamId) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM);
}

SG_API CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

/* Graphs have no numbers in the driver; no two that live have the same handle. */
static CUptiResult number_of(const void *handle, uint32_t *id)
{
	if (!handle || !id)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*id = (uint32_t)((uintptr_t)handle >> 4);
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	return number_of(graph, pId);
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId);
SG_API CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	return number_of(graphExec, pId);
}

SG_API CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	if (!node || !nodeId)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*nodeId = (uintptr_t)node;
	return CUPTI_SUCCESS;
}

SG_API CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
	if (!support)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*support = major > 0 && minor >= 0;
	return CUPTI_SUCCESS;
}

static CUptiResult check_device(CUdevice device, const void *output)
{
	const struct sg_tool_driver *driver = sg_tool_link_get_driver();
	int count;

	if (!output)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!driver || driver->count_devices(&count) != CUDA_SUCCESS)
		return CUPTI_ERROR_NOT_INITIALIZED;
	return device >= 0 && device < count ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_DEVICE;
}

SG_API CUptiResult cuptiDeviceSupported(CUdevice dev, int *support)
{
	CUptiResult result = check_device(dev, support);

	if (result == CUPTI_SUCCESS)
		*support = 1;
	return sg_tool_link_return(result);
}

SG_API CUptiResult cuptiDeviceVirtualizationMode(CUdevice dev, CUpti_DeviceVirtualizationMode *mode)
{
	CUptiResult result = check_device(dev, mode);

	if (result == CUPTI_SUCCESS)
		*mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
	return sg_tool_link_return(result);
}

SG_API CUptiResult cuptiGetAutoBoostState(CUcontext context, CUpti_ActivityAutoBoostState *state)
{
	if (!context || !state)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	*state = (CUpti_ActivityAutoBoostState){0};
	return CUPTI_SUCCESS;
}

/* Asked before anything is counted: the clean way to say that nothing can be. */
SG_API CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *pParams)
{
	if (!pParams || pParams->structSize < CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE)
		return sg_tool_link_return(CUPTI_ERROR_INVALID_PARAMETER);
	pParams->isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
	return CUPTI_SUCCESS;
}
