/* Synchronous memory of the driver: device, managed, pinned, registered, and that of other
 * processes. */
#include "hooks.h"

#include <errno.h>

#include "device_facts.h"
#include "driver_pools.h"
#include "graphs.h"
#include "hot.h"
#include "peer_opens.h"

static inline void after_cuMemAlloc_v2(struct vs_call *call, CUresult result,
				       const cuMemAlloc_v2_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_DEVICE, result ? 0 : *args->dptr,
			    args->bytesize);
}
VS_FLAT VS_API CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize);
VS_DRIVER_HOOK_AFTER(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), dptr, bytesize)

/* Bytes of a pitched allocation: as many rows of the pitch; of the width while there is no pitch.
 */
static uint64_t get_pitched_size(uint64_t pitch, uint64_t height)
{
	uint64_t size;

	return __builtin_mul_overflow(pitch, height, &size) ? UINT64_MAX : size;
}

static inline void after_cuMemAllocPitch_v2(struct vs_call *call, CUresult result,
					    const cuMemAllocPitch_v2_params *args)
{
	vs_hooks_note_alloc(
		call, result, VS_MEMORY_DEVICE, result ? 0 : *args->dptr,
		get_pitched_size(result ? args->WidthInBytes : *args->pPitch, args->Height));
}
VS_DRIVER_HOOK_AFTER(cuMemAllocPitch_v2,
		     (CUdeviceptr * dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
		      unsigned int ElementSizeBytes),
		     dptr, pPitch, WidthInBytes, Height, ElementSizeBytes)

static inline void after_cuMemAllocManaged(struct vs_call *call, CUresult result,
					   const cuMemAllocManaged_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_MANAGED, result ? 0 : *args->dptr,
			    args->bytesize);
}
VS_DRIVER_HOOK_AFTER(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags),
		     dptr, bytesize, flags)

/* The default pool of the current device. Keeps errno. */
static VS_COLD void sample_current(struct vs_call *call)
{
	int error_number = errno;

	vs_driver_pools_sample_default(call, vs_device_facts_get_current(call->real));
	errno = error_number;
}

/* Takes memory of all kinds but host memory, that of pools included. */
static inline void before_cuMemFree_v2(struct vs_call *call, const cuMemFree_v2_params *args)
{
	vs_hooks_note_free(call, VS_MEMORY_DEVICE, args->dptr);
}
static inline void after_cuMemFree_v2(struct vs_call *call, CUresult result,
				      const cuMemFree_v2_params *args)
{
	vs_hooks_note_free_result(call, result, VS_MEMORY_DEVICE, args->dptr);
	vs_graphs_note_free_result(result, args->dptr);
	/* It waits for all work of the device: a pool may let go of memory meanwhile. */
	if (call->is_recording && args->dptr && vs_driver_pools_has_default())
		sample_current(call);
}
VS_FLAT VS_API CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr);
VS_DRIVER_HOOK(cuMemFree_v2, (CUdeviceptr dptr), dptr)

/* ---- Host memory ---- */

static inline void after_cuMemHostAlloc(struct vs_call *call, CUresult result,
					const cuMemHostAlloc_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_PINNED, result ? 0 : (uintptr_t)*args->pp,
			    args->bytesize);
}
VS_DRIVER_HOOK_AFTER(cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags), pp, bytesize,
		     Flags)

static inline void after_cuMemAllocHost_v2(struct vs_call *call, CUresult result,
					   const cuMemAllocHost_v2_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_PINNED, result ? 0 : (uintptr_t)*args->pp,
			    args->bytesize);
}
VS_DRIVER_HOOK_AFTER(cuMemAllocHost_v2, (void **pp, size_t bytesize), pp, bytesize)

static inline void before_cuMemFreeHost(struct vs_call *call, const cuMemFreeHost_params *args)
{
	vs_hooks_note_free(call, VS_MEMORY_PINNED, (uintptr_t)args->p);
}
static inline void after_cuMemFreeHost(struct vs_call *call, CUresult result,
				       const cuMemFreeHost_params *args)
{
	vs_hooks_note_free_result(call, result, VS_MEMORY_PINNED, (uintptr_t)args->p);
}
VS_DRIVER_HOOK(cuMemFreeHost, (void *p), p)

static inline void after_cuMemHostRegister(struct vs_call *call, CUresult result,
					   const cuMemHostRegister_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_REGISTERED, (uintptr_t)args->p, args->bytesize);
}
VS_DRIVER_HOOK_AFTER(cuMemHostRegister, (void *p, size_t bytesize, unsigned int Flags), p, bytesize,
		     Flags)

static inline void after_cuMemHostRegister_v2(struct vs_call *call, CUresult result,
					      const cuMemHostRegister_v2_params *args)
{
	vs_hooks_note_alloc(call, result, VS_MEMORY_REGISTERED, (uintptr_t)args->p, args->bytesize);
}
VS_DRIVER_HOOK_AFTER(cuMemHostRegister_v2, (void *p, size_t bytesize, unsigned int Flags), p,
		     bytesize, Flags)

static inline void before_cuMemHostUnregister(struct vs_call *call,
					      const cuMemHostUnregister_params *args)
{
	vs_hooks_note_free(call, VS_MEMORY_REGISTERED, (uintptr_t)args->p);
}
static inline void after_cuMemHostUnregister(struct vs_call *call, CUresult result,
					     const cuMemHostUnregister_params *args)
{
	vs_hooks_note_free_result(call, result, VS_MEMORY_REGISTERED, (uintptr_t)args->p);
}
VS_DRIVER_HOOK(cuMemHostUnregister, (void *p), p)

/* ---- Memory of another process ---- */

/* The handle does not tell its size; the driver does once it is open. */
static void note_open(struct vs_call *call, CUresult result, const CUdeviceptr *pdptr)
{
	int error_number = errno;
	size_t size = 0;

	if (call->is_recording && result == CUDA_SUCCESS && vs_peer_opens_add(*pdptr))
		goto restore_errno; /* once more: nothing has changed */
	if (call->is_recording && result == CUDA_SUCCESS && call->real->cuMemGetAddressRange_v2 &&
	    call->real->cuMemGetAddressRange_v2(NULL, &size, *pdptr) != CUDA_SUCCESS)
		size = 0;
	vs_hooks_note_alloc(call, result, VS_MEMORY_IPC, result ? 0 : *pdptr, size);
restore_errno:
	errno = error_number;
}

static inline void after_cuIpcOpenMemHandle(struct vs_call *call, CUresult result,
					    const cuIpcOpenMemHandle_params *args)
{
	note_open(call, result, args->pdptr);
}
VS_DRIVER_HOOK_AFTER(cuIpcOpenMemHandle,
		     (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags), pdptr,
		     handle, Flags)

static inline void after_cuIpcOpenMemHandle_v2(struct vs_call *call, CUresult result,
					       const cuIpcOpenMemHandle_v2_params *args)
{
	note_open(call, result, args->pdptr);
}
VS_DRIVER_HOOK_AFTER(cuIpcOpenMemHandle_v2,
		     (CUdeviceptr * pdptr, CUipcMemHandle handle, unsigned int Flags), pdptr,
		     handle, Flags)

static inline void before_cuIpcCloseMemHandle(struct vs_call *call,
					      const cuIpcCloseMemHandle_params *args)
{
	call->is_borrowed = call->is_recording && vs_peer_opens_take(args->dptr);
	if (!call->is_borrowed)
		vs_hooks_note_free(call, VS_MEMORY_IPC, args->dptr);
}
static inline void after_cuIpcCloseMemHandle(struct vs_call *call, CUresult result,
					     const cuIpcCloseMemHandle_params *args)
{
	if (!call->is_borrowed)
		vs_hooks_note_free_result(call, result, VS_MEMORY_IPC, args->dptr);
	else if (result != CUDA_SUCCESS)
		(void)vs_peer_opens_add(args->dptr);
}
VS_DRIVER_HOOK(cuIpcCloseMemHandle, (CUdeviceptr dptr), dptr)
