/*
 * Virtual memory management of the driver: addresses, physical memory by handle, and what is mapped
 * where. Physical memory belongs to no context.
 */
#include "hooks.h"

#include <errno.h>

#include "borrowed_handles.h"
#include "captured_memory.h"

VS_API CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
					    CUdeviceptr addr, unsigned long long flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAddressReserve);
	CUresult result =
		VS_CALL_DRIVER(&call, cuMemAddressReserve, ptr, size, alignment, addr, flags);
	int error_number = errno;

	if (call.is_recording && result == CUDA_SUCCESS) {
		vs_captured_memory_add(*ptr, size);
		vs_recorder_add_reserve(call.self, *ptr, size);
	}
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAddressFree);
	int error_number = errno;
	CUresult result;

	if (call.is_recording) {
		vs_captured_memory_remove(ptr);
		vs_recorder_add_unreserve(call.self, ptr, size);
	}
	errno = error_number;
	result = VS_CALL_DRIVER(&call, cuMemAddressFree, ptr, size);
	error_number = errno;
	/* It is still there. */
	if (call.is_recording && result != CUDA_SUCCESS)
		vs_recorder_add_reserve(call.self, ptr, size);
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
				    const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemCreate);
	CUresult result = VS_CALL_DRIVER(&call, cuMemCreate, handle, size, prop, flags);
	uint32_t device = VS_NO_DEVICE;

	/* Other places are host memory; their id means a NUMA node or nothing. */
	if (prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= 0)
		device = (uint32_t)prop->location.id;
	vs_hooks_note_alloc_on(&call, result, VS_MEMORY_VMM, device, result ? 0 : *handle, size, 0);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemRelease);
	bool is_borrowed = call.is_recording && vs_borrowed_handles_take(handle);
	CUresult result;

	if (!is_borrowed)
		vs_hooks_note_free(&call, VS_MEMORY_VMM, handle);
	result = VS_CALL_DRIVER(&call, cuMemRelease, handle);
	if (!is_borrowed)
		vs_hooks_note_free_result(&call, result, VS_MEMORY_VMM, handle);
	else if (result != CUDA_SUCCESS)
		vs_borrowed_handles_add(handle);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
				 CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemMap);
	CUresult result = VS_CALL_DRIVER(&call, cuMemMap, ptr, size, offset, handle, flags);
	int error_number = errno;

	if (call.is_recording && result == CUDA_SUCCESS)
		vs_recorder_add_map(call.self, ptr, size, handle, offset);
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}

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

VS_API CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemUnmap);
	int error_number = errno;
	CUresult result;

	/* Before the call: it may free the memory of a handle that was released. */
	if (call.is_recording)
		vs_recorder_add_unmap(call.self, ptr, size);
	errno = error_number;
	result = VS_CALL_DRIVER(&call, cuMemUnmap, ptr, size);
	error_number = errno;
	if (call.is_recording && result != CUDA_SUCCESS)
		take_back_unmap(&call, ptr, size);
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle,
						    void *addr)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemRetainAllocationHandle);
	CUresult result = VS_CALL_DRIVER(&call, cuMemRetainAllocationHandle, handle, addr);

	if (call.is_recording && result == CUDA_SUCCESS)
		vs_borrowed_handles_add(*handle);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
						       void *osHandle,
						       CUmemAllocationHandleType shHandleType)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemImportFromShareableHandle);
	CUresult result = VS_CALL_DRIVER(&call, cuMemImportFromShareableHandle, handle, osHandle,
					 shHandleType);

	if (call.is_recording && result == CUDA_SUCCESS)
		vs_borrowed_handles_add(*handle);
	return vs_hooks_leave_driver(&call, result);
}
