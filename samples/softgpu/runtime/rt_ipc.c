/* Memory and events between processes. Runtime and driver have the same handles. */
#include "runtime.h"

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle) &&
		       sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle),
	       "handles are the same bytes");
_Static_assert(cudaIpcMemLazyEnablePeerAccess == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS,
	       "flags have the same numbers");

/* Handles go by value, and the two types are not one. */
static cudaError_t open_memory(void **memory, const cudaIpcMemHandle_t *handle, unsigned flags)
{
	CUdeviceptr address = 0;
	CUipcMemHandle theirs;
	cudaError_t error;

	if (!memory)
		return cudaErrorInvalidValue;
	__builtin_memcpy(&theirs, handle, sizeof(theirs));
	if (sg_rt_driver.cuIpcOpenMemHandle_v11000)
		error = SG_DRIVER(cuIpcOpenMemHandle_v11000, &address, theirs, flags);
	else
		error = SG_DRIVER(cuIpcOpenMemHandle_v4010, &address, theirs, flags);
	if (!error)
		*memory = (void *)address;
	return error;
}

static cudaError_t open_event(cudaEvent_t *event, const cudaIpcEventHandle_t *handle)
{
	CUipcEventHandle theirs;

	if (!event)
		return cudaErrorInvalidValue;
	__builtin_memcpy(&theirs, handle, sizeof(theirs));
	return SG_DRIVER(cuIpcOpenEventHandle_v4010, event, theirs);
}

SG_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
	return SG_IN_CONTEXT(handle && devPtr
				     ? SG_DRIVER(cuIpcGetMemHandle_v4010, (CUipcMemHandle *)handle,
						 (CUdeviceptr)devPtr)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle,
					unsigned int flags)
{
	return SG_IN_CONTEXT(open_memory(devPtr, &handle, flags));
}

SG_API cudaError_t cudaIpcCloseMemHandle(void *devPtr)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuIpcCloseMemHandle_v4010, (CUdeviceptr)devPtr));
}

SG_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	return SG_IN_CONTEXT(
		handle ? SG_DRIVER(cuIpcGetEventHandle_v4010, (CUipcEventHandle *)handle, event)
		       : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	return SG_IN_CONTEXT(open_event(event, &handle));
}
