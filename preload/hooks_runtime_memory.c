/*
 * Memory of the runtime. The driver's hooks inside these calls record; these give the names people
 * know, and speak for themselves only where the driver's were not reached.
 */
#include "hooks.h"

VS_API cudaError_t CUDARTAPI cudaMalloc(void **devPtr, size_t size)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMalloc, devPtr, size);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_DEVICE, error ? NULL : *devPtr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocPitch(void **devPtr, size_t *pitch, size_t width,
					     size_t height)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocPitch);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMallocPitch, devPtr, pitch, width, height);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_DEVICE, error ? NULL : *devPtr,
				    error ? 0 : *pitch * height);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr,
					  struct cudaExtent extent)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMalloc3D);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMalloc3D, pitchedDevPtr, extent);

	vs_hooks_note_runtime_alloc(
		&call, error, VS_MEMORY_DEVICE, error ? NULL : pitchedDevPtr->ptr,
		error ? 0 : pitchedDevPtr->pitch * extent.height * extent.depth);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocManaged);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMallocManaged, devPtr, size, flags);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_MANAGED, error ? NULL : *devPtr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaFree(void *devPtr)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaFree);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaFree, devPtr);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_DEVICE, devPtr);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocHost(void **ptr, size_t size)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocHost);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMallocHost, ptr, size);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_PINNED, error ? NULL : *ptr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaHostAlloc);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaHostAlloc, pHost, size, flags);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_PINNED, error ? NULL : *pHost, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaFreeHost(void *ptr)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaFreeHost);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaFreeHost, ptr);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_PINNED, ptr);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaHostRegister);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaHostRegister, ptr, size, flags);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_REGISTERED, ptr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaHostUnregister(void *ptr)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaHostUnregister);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaHostUnregister, ptr);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_REGISTERED, ptr);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle,
						  unsigned int flags)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaIpcOpenMemHandle);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaIpcOpenMemHandle, devPtr, handle, flags);

	/* Its size is not known up here. */
	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_IPC, error ? NULL : *devPtr, 0);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaIpcCloseMemHandle(void *devPtr)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaIpcCloseMemHandle);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaIpcCloseMemHandle, devPtr);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_IPC, devPtr);
	return vs_hooks_leave_runtime(&call, error);
}

/* The driver's hooks see the reset itself. */
VS_API cudaError_t CUDARTAPI cudaDeviceReset(void)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaDeviceReset);

	return vs_hooks_leave_runtime(&call, VS_CALL_RUNTIME(&call, cudaDeviceReset));
}
