/* Stream-ordered memory of the driver and the pools it comes from. */
#include "hooks.h"

#include <errno.h>

#include "captures.h"
#include "device_facts.h"
#include "driver_pools.h"
#include "graphs.h"

/* Which pool and device an asynchronous allocation came from; the driver knows, the arguments do
 * not. */
static void get_origin(const struct vs_real *real, CUdeviceptr address, uint64_t *pool,
		       uint32_t *device)
{
	CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
					    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	CUmemoryPool handle = NULL;
	int ordinal = -1;
	void *values[] = {&handle, &ordinal};

	if (!real->cuPointerGetAttributes ||
	    real->cuPointerGetAttributes(2, attributes, values, address) != CUDA_SUCCESS)
		return;
	if (handle)
		*pool = (uintptr_t)handle;
	if (ordinal >= 0)
		*device = (uint32_t)ordinal;
}

/* The pool a request on a device would have been served from. */
static uint64_t get_pool_of_device(const struct vs_real *real, uint32_t device)
{
	CUmemoryPool pool = NULL;

	if (device == VS_NO_DEVICE || vs_captures_has_any() || !real->cuDeviceGetMemPool ||
	    real->cuDeviceGetMemPool(&pool, (CUdevice)device) != CUDA_SUCCESS)
		return 0;
	return (uintptr_t)pool;
}

static void note_alloc(struct vs_call *call, CUresult result, const CUdeviceptr *dptr, size_t size,
		       CUmemoryPool from, CUstream stream)
{
	int error_number = errno;
	uint64_t pool = (uintptr_t)from;
	uint32_t device;

	if (!call->is_recording)
		return;
	if (call->is_capturing) {
		/* A node of a graph; it counts when that is launched. */
		vs_graphs_expect_memory();
		return;
	}
	device = vs_device_facts_get_of_stream(call->real, stream);
	if (result != CUDA_SUCCESS && !pool)
		pool = get_pool_of_device(call->real, device);
	else if (result == CUDA_SUCCESS && !vs_captures_has_any())
		get_origin(call->real, *dptr, &pool, &device);
	vs_hooks_note_alloc_on(call, result, VS_MEMORY_ASYNC, device, result ? 0 : *dptr, size,
			       pool);
	if (result == CUDA_SUCCESS)
		vs_driver_pools_sample(call, pool, device);
	errno = error_number;
}

/* Before the real call: whether it will be done, or become a node. */
static void look_for_capture(struct vs_call *call, CUstream stream, bool per_thread)
{
	int error_number = errno;

	if (call->is_recording)
		call->is_capturing = vs_captures_is_capturing(call->real, stream, per_thread);
	errno = error_number;
}

static void note_free(struct vs_call *call, CUdeviceptr dptr)
{
	if (call->is_capturing)
		vs_graphs_expect_memory();
	else
		vs_hooks_note_free(call, VS_MEMORY_ASYNC, dptr);
}

static void note_free_result(struct vs_call *call, CUresult result, CUdeviceptr dptr)
{
	/* A free never changes what a pool holds: memory goes back when a stream is waited for. */
	if (call->is_capturing)
		return;
	vs_hooks_note_free_result(call, result, VS_MEMORY_ASYNC, dptr);
	vs_graphs_note_free_result(result, dptr);
}

VS_API CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocAsync);
	CUresult result;

	look_for_capture(&call, hStream, false);
	result = VS_CALL_DRIVER(&call, cuMemAllocAsync, dptr, bytesize, hStream);
	note_alloc(&call, result, dptr, bytesize, NULL, hStream);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocAsync_ptsz);
	CUresult result;

	look_for_capture(&call, hStream, true);
	result = VS_CALL_DRIVER(&call, cuMemAllocAsync_ptsz, dptr, bytesize, hStream);
	note_alloc(&call, result, dptr, bytesize, NULL, hStream);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize,
						CUmemoryPool pool, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocFromPoolAsync);
	CUresult result;

	look_for_capture(&call, hStream, false);
	result = VS_CALL_DRIVER(&call, cuMemAllocFromPoolAsync, dptr, bytesize, pool, hStream);
	note_alloc(&call, result, dptr, bytesize, pool, hStream);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize,
						     CUmemoryPool pool, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemAllocFromPoolAsync_ptsz);
	CUresult result;

	look_for_capture(&call, hStream, true);
	result = VS_CALL_DRIVER(&call, cuMemAllocFromPoolAsync_ptsz, dptr, bytesize, pool, hStream);
	note_alloc(&call, result, dptr, bytesize, pool, hStream);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFreeAsync);
	CUresult result;

	look_for_capture(&call, hStream, false);
	note_free(&call, dptr);
	result = VS_CALL_DRIVER(&call, cuMemFreeAsync, dptr, hStream);
	note_free_result(&call, result, dptr);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemFreeAsync_ptsz);
	CUresult result;

	look_for_capture(&call, hStream, true);
	note_free(&call, dptr);
	result = VS_CALL_DRIVER(&call, cuMemFreeAsync_ptsz, dptr, hStream);
	note_free_result(&call, result, dptr);
	return vs_hooks_leave_driver(&call, result);
}

/* ---- Pools ---- */

static uint32_t get_device_of(const CUmemPoolProps *props)
{
	return props->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? (uint32_t)props->location.id
								   : VS_NO_DEVICE;
}

VS_API CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemPoolCreate);
	CUresult result = VS_CALL_DRIVER(&call, cuMemPoolCreate, pool, poolProps);
	int error_number = errno;

	if (call.is_recording && result == CUDA_SUCCESS) {
		vs_device_facts_define(call.real, get_device_of(poolProps));
		(void)vs_recorder_driver_pool((uintptr_t)*pool, get_device_of(poolProps));
	}
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}

/* Said after the call: what is allocated from the pool stays, so no address comes free by it. */
VS_API CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemPoolDestroy);
	CUresult result = VS_CALL_DRIVER(&call, cuMemPoolDestroy, pool);
	int error_number = errno;

	if (call.is_recording && result == CUDA_SUCCESS) {
		vs_driver_pools_forget((uintptr_t)pool);
		vs_recorder_end_driver_pool(call.self, (uintptr_t)pool);
	}
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}

static void note_pool_change(struct vs_call *call, CUresult result, CUmemoryPool pool)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS)
		vs_driver_pools_sample(call, (uintptr_t)pool,
				       vs_device_facts_get_current(call->real));
	errno = error_number;
}

VS_API CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemPoolTrimTo);
	CUresult result = VS_CALL_DRIVER(&call, cuMemPoolTrimTo, pool, minBytesToKeep);

	note_pool_change(&call, result, pool);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr,
					      void *value)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemPoolSetAttribute);
	CUresult result = VS_CALL_DRIVER(&call, cuMemPoolSetAttribute, pool, attr, value);

	note_pool_change(&call, result, pool);
	return vs_hooks_leave_driver(&call, result);
}

/* The pool of another process: not counted as one of ours; what is imported from it is. */
VS_API CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
							   CUmemAllocationHandleType handleType,
							   unsigned long long flags)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemPoolImportFromShareableHandle);
	CUresult result = VS_CALL_DRIVER(&call, cuMemPoolImportFromShareableHandle, pool_out,
					 handle, handleType, flags);

	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
					       CUmemPoolPtrExportData *shareData)
{
	struct vs_call call = VS_ENTER_DRIVER(cuMemPoolImportPointer);
	CUresult result = VS_CALL_DRIVER(&call, cuMemPoolImportPointer, ptr_out, pool, shareData);
	int error_number = errno;
	size_t size = 0;

	if (call.is_recording && result == CUDA_SUCCESS && call.real->cuMemGetAddressRange_v2 &&
	    call.real->cuMemGetAddressRange_v2(NULL, &size, *ptr_out) != CUDA_SUCCESS)
		size = 0;
	vs_hooks_note_alloc(&call, result, VS_MEMORY_IPC, result ? 0 : *ptr_out, size);
	errno = error_number;
	return vs_hooks_leave_driver(&call, result);
}
