/* Synchronous memory of the driver: device, managed, pinned, registered, and that of other
 * processes. */
#include "hooks.h"

#include <errno.h>

#include "device_facts.h"
#include "driver_pools.h"
#include "graphs.h"

VS_API CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAlloc_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuMemAlloc_v2, dptr, bytesize);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_DEVICE, result ? 0 : *dptr, bytesize);
	return vs_hooks_leave_driver(&call, result);
}

/* Bytes of a pitched allocation: as many rows of the pitch; of the width while there is no pitch.
 */
static uint64_t get_pitched_size(uint64_t pitch, uint64_t height)
{
	uint64_t size;

	return __builtin_mul_overflow(pitch, height, &size) ? UINT64_MAX : size;
}

VS_API CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
					   size_t Height, unsigned int ElementSizeBytes)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocPitch_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuMemAllocPitch_v2, dptr, pPitch, WidthInBytes,
					 Height, ElementSizeBytes);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_DEVICE, result ? 0 : *dptr,
			    get_pitched_size(result ? WidthInBytes : *pPitch, Height));
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocManaged);
	CUresult result = VS_CALL_DRIVER(&call, cuMemAllocManaged, dptr, bytesize, flags);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_MANAGED, result ? 0 : *dptr, bytesize);
	return vs_hooks_leave_driver(&call, result);
}

/* The default pool of the current device. Keeps errno. */
static __attribute__((noinline)) void sample_current(struct vs_call *call)
{
	int error_number = errno;

	vs_driver_pools_sample_default(call, vs_device_facts_get_current(call->real));
	errno = error_number;
}

/* Takes memory of all kinds but host memory, that of pools included. */
VS_API CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFree_v2);
	CUresult result;

	vs_hooks_note_free(&call, VS_MEMORY_DEVICE, dptr);
	result = VS_CALL_DRIVER(&call, cuMemFree_v2, dptr);
	vs_hooks_note_free_result(&call, result, VS_MEMORY_DEVICE, dptr);
	vs_graphs_note_free_result(result, dptr);
	/* It waits for all work of the device: a pool may let go of memory meanwhile. */
	if (call.is_recording && dptr && vs_driver_pools_has_default())
		sample_current(&call);
	return vs_hooks_leave_driver(&call, result);
}

/* ---- Host memory ---- */

VS_API CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemHostAlloc);
	CUresult result = VS_CALL_DRIVER(&call, cuMemHostAlloc, pp, bytesize, Flags);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_PINNED, result ? 0 : (uintptr_t)*pp, bytesize);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocHost_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuMemAllocHost_v2, pp, bytesize);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_PINNED, result ? 0 : (uintptr_t)*pp, bytesize);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemFreeHost(void *p)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFreeHost);
	CUresult result;

	vs_hooks_note_free(&call, VS_MEMORY_PINNED, (uintptr_t)p);
	result = VS_CALL_DRIVER(&call, cuMemFreeHost, p);
	vs_hooks_note_free_result(&call, result, VS_MEMORY_PINNED, (uintptr_t)p);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemHostRegister);
	CUresult result = VS_CALL_DRIVER(&call, cuMemHostRegister, p, bytesize, Flags);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_REGISTERED, (uintptr_t)p, bytesize);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemHostRegister_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuMemHostRegister_v2, p, bytesize, Flags);

	vs_hooks_note_alloc(&call, result, VS_MEMORY_REGISTERED, (uintptr_t)p, bytesize);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemHostUnregister(void *p)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemHostUnregister);
	CUresult result;

	vs_hooks_note_free(&call, VS_MEMORY_REGISTERED, (uintptr_t)p);
	result = VS_CALL_DRIVER(&call, cuMemHostUnregister, p);
	vs_hooks_note_free_result(&call, result, VS_MEMORY_REGISTERED, (uintptr_t)p);
	return vs_hooks_leave_driver(&call, result);
}

/* ---- Memory of another process ---- */

/* The handle does not tell its size; the driver does once it is open. */
static void note_open(struct vs_call *call, CUresult result, const CUdeviceptr *pdptr)
{
	int error_number = errno;
	size_t size = 0;

	if (call->is_recording && result == CUDA_SUCCESS && call->real->cuMemGetAddressRange_v2 &&
	    call->real->cuMemGetAddressRange_v2(NULL, &size, *pdptr) != CUDA_SUCCESS)
		size = 0;
	vs_hooks_note_alloc(call, result, VS_MEMORY_IPC, result ? 0 : *pdptr, size);
	errno = error_number;
}

VS_API CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle,
					   unsigned int Flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuIpcOpenMemHandle);
	CUresult result = VS_CALL_DRIVER(&call, cuIpcOpenMemHandle, pdptr, handle, Flags);

	note_open(&call, result, pdptr);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
					      unsigned int Flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuIpcOpenMemHandle_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuIpcOpenMemHandle_v2, pdptr, handle, Flags);

	note_open(&call, result, pdptr);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	struct vs_call call = VS_ENTER_DRIVER(cuIpcCloseMemHandle);
	CUresult result;

	vs_hooks_note_free(&call, VS_MEMORY_IPC, dptr);
	result = VS_CALL_DRIVER(&call, cuIpcCloseMemHandle, dptr);
	vs_hooks_note_free_result(&call, result, VS_MEMORY_IPC, dptr);
	return vs_hooks_leave_driver(&call, result);
}
