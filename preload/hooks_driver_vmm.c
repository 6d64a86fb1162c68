/*
 * Virtual memory management of the driver: addresses, physical memory by handle, and what is mapped
 * where. Physical memory belongs to no context.
 */
#include "hooks.h"

#include <errno.h>

#include "borrowed_handles.h"
#include "captured_memory.h"

static inline void after_cuMemAddressReserve(struct vs_call *call, CUresult result,
					     const cuMemAddressReserve_params *args)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS) {
		vs_captured_memory_add(*args->ptr, args->size);
		vs_recorder_add_reserve(call->self, *args->ptr, args->size);
	}
	errno = error_number;
}
VS_DRIVER_HOOK_AFTER(cuMemAddressReserve,
		     (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr,
		      unsigned long long flags),
		     ptr, size, alignment, addr, flags)

static inline void before_cuMemAddressFree(struct vs_call *call,
					   const cuMemAddressFree_params *args)
{
	int error_number = errno;

	if (call->is_recording) {
		vs_captured_memory_remove(args->ptr);
		vs_recorder_add_unreserve(call->self, args->ptr, args->size);
	}
	errno = error_number;
}
static inline void after_cuMemAddressFree(struct vs_call *call, CUresult result,
					  const cuMemAddressFree_params *args)
{
	int error_number = errno;

	/* It is still there. */
	if (call->is_recording && result != CUDA_SUCCESS)
		vs_recorder_add_reserve(call->self, args->ptr, args->size);
	errno = error_number;
}
VS_DRIVER_HOOK(cuMemAddressFree, (CUdeviceptr ptr, size_t size), ptr, size)

static inline void after_cuMemCreate(struct vs_call *call, CUresult result,
				     const cuMemCreate_params *args)
{
	const CUmemAllocationProp *prop = args->prop;
	uint32_t device = VS_NO_DEVICE;

	/* Other places are host memory; their id means a NUMA node or nothing. */
	if (prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0)
		device = (uint32_t)prop->location.id;
	vs_hooks_note_alloc_on(call, result, VS_MEMORY_VMM, device, result ? 0 : *args->handle,
			       args->size, 0);
}
VS_DRIVER_HOOK_AFTER(cuMemCreate,
		     (CUmemGenericAllocationHandle * handle, size_t size,
		      const CUmemAllocationProp *prop, unsigned long long flags),
		     handle, size, prop, flags)

static inline void before_cuMemRelease(struct vs_call *call, const cuMemRelease_params *args)
{
	call->is_borrowed = call->is_recording && vs_borrowed_handles_take(args->handle);
	if (!call->is_borrowed)
		vs_hooks_note_free(call, VS_MEMORY_VMM, args->handle);
}
static inline void after_cuMemRelease(struct vs_call *call, CUresult result,
				      const cuMemRelease_params *args)
{
	if (!call->is_borrowed)
		vs_hooks_note_free_result(call, result, VS_MEMORY_VMM, args->handle);
	else if (result != CUDA_SUCCESS)
		vs_borrowed_handles_add(args->handle);
}
VS_DRIVER_HOOK(cuMemRelease, (CUmemGenericAllocationHandle handle), handle)

static inline void after_cuMemMap(struct vs_call *call, CUresult result,
				  const cuMemMap_params *args)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS)
		vs_recorder_add_map(call->self, args->ptr, args->size, args->handle, args->offset);
	errno = error_number;
}
VS_DRIVER_HOOK_AFTER(cuMemMap,
		     (CUdeviceptr ptr, size_t size, size_t offset,
		      CUmemGenericAllocationHandle handle, unsigned long long flags),
		     ptr, size, offset, handle, flags)

/* An unmap that was said did not happen: what is at the address is still there, if anything was. */
static void take_back_unmap(struct vs_call *call, CUdeviceptr ptr, size_t size)
{
	const struct vs_real *real = call->real;
	CUmemGenericAllocationHandle handle = 0;

	if (!real->cuMemRetainAllocationHandle || !real->cuMemRelease ||
	    real->cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)ptr) != CUDA_SUCCESS)
		return;
	vs_recorder_add_map(call->self, ptr, size, handle, 0);
	(void)real->cuMemRelease(handle);
}

static inline void before_cuMemUnmap(struct vs_call *call, const cuMemUnmap_params *args)
{
	int error_number = errno;

	/* Before the call: it may free the memory of a handle that was released. */
	if (call->is_recording)
		vs_recorder_add_unmap(call->self, args->ptr, args->size);
	errno = error_number;
}
static inline void after_cuMemUnmap(struct vs_call *call, CUresult result,
				    const cuMemUnmap_params *args)
{
	int error_number = errno;

	if (call->is_recording && result != CUDA_SUCCESS)
		take_back_unmap(call, args->ptr, args->size);
	errno = error_number;
}
VS_DRIVER_HOOK(cuMemUnmap, (CUdeviceptr ptr, size_t size), ptr, size)

static inline void after_cuMemRetainAllocationHandle(struct vs_call *call, CUresult result,
						     const cuMemRetainAllocationHandle_params *args)
{
	if (call->is_recording && result == CUDA_SUCCESS)
		vs_borrowed_handles_add(*args->handle);
}
VS_DRIVER_HOOK_AFTER(cuMemRetainAllocationHandle,
		     (CUmemGenericAllocationHandle * handle, void *addr), handle, addr)

static inline void after_cuMemImportFromShareableHandle(
	struct vs_call *call, CUresult result, const cuMemImportFromShareableHandle_params *args)
{
	if (call->is_recording && result == CUDA_SUCCESS)
		vs_borrowed_handles_add(*args->handle);
}
VS_DRIVER_HOOK_AFTER(cuMemImportFromShareableHandle,
		     (CUmemGenericAllocationHandle * handle, void *osHandle,
		      CUmemAllocationHandleType shHandleType),
		     handle, osHandle, shHandleType)
