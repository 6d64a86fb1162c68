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

static inline void before_cuMemAllocAsync(struct vs_call *call, const cuMemAllocAsync_params *args)
{
	look_for_capture(call, args->hStream, false);
}
static inline void after_cuMemAllocAsync(struct vs_call *call, CUresult result,
					 const cuMemAllocAsync_params *args)
{
	note_alloc(call, result, args->dptr, args->bytesize, NULL, args->hStream);
}
VS_DRIVER_HOOK(cuMemAllocAsync, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream), dptr,
	       bytesize, hStream)

static inline void before_cuMemAllocAsync_ptsz(struct vs_call *call,
					       const cuMemAllocAsync_ptsz_params *args)
{
	look_for_capture(call, args->hStream, true);
}
static inline void after_cuMemAllocAsync_ptsz(struct vs_call *call, CUresult result,
					      const cuMemAllocAsync_ptsz_params *args)
{
	note_alloc(call, result, args->dptr, args->bytesize, NULL, args->hStream);
}
VS_DRIVER_HOOK(cuMemAllocAsync_ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream), dptr,
	       bytesize, hStream)

static inline void before_cuMemAllocFromPoolAsync(struct vs_call *call,
						  const cuMemAllocFromPoolAsync_params *args)
{
	look_for_capture(call, args->hStream, false);
}
static inline void after_cuMemAllocFromPoolAsync(struct vs_call *call, CUresult result,
						 const cuMemAllocFromPoolAsync_params *args)
{
	note_alloc(call, result, args->dptr, args->bytesize, args->pool, args->hStream);
}
VS_DRIVER_HOOK(cuMemAllocFromPoolAsync,
	       (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), dptr,
	       bytesize, pool, hStream)

static inline void before_cuMemAllocFromPoolAsync_ptsz(
	struct vs_call *call, const cuMemAllocFromPoolAsync_ptsz_params *args)
{
	look_for_capture(call, args->hStream, true);
}
static inline void after_cuMemAllocFromPoolAsync_ptsz(
	struct vs_call *call, CUresult result, const cuMemAllocFromPoolAsync_ptsz_params *args)
{
	note_alloc(call, result, args->dptr, args->bytesize, args->pool, args->hStream);
}
VS_DRIVER_HOOK(cuMemAllocFromPoolAsync_ptsz,
	       (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), dptr,
	       bytesize, pool, hStream)

static inline void before_cuMemFreeAsync(struct vs_call *call, const cuMemFreeAsync_params *args)
{
	look_for_capture(call, args->hStream, false);
	note_free(call, args->dptr);
}
static inline void after_cuMemFreeAsync(struct vs_call *call, CUresult result,
					const cuMemFreeAsync_params *args)
{
	note_free_result(call, result, args->dptr);
}
VS_DRIVER_HOOK(cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), dptr, hStream)

static inline void before_cuMemFreeAsync_ptsz(struct vs_call *call,
					      const cuMemFreeAsync_ptsz_params *args)
{
	look_for_capture(call, args->hStream, true);
	note_free(call, args->dptr);
}
static inline void after_cuMemFreeAsync_ptsz(struct vs_call *call, CUresult result,
					     const cuMemFreeAsync_ptsz_params *args)
{
	note_free_result(call, result, args->dptr);
}
VS_DRIVER_HOOK(cuMemFreeAsync_ptsz, (CUdeviceptr dptr, CUstream hStream), dptr, hStream)

/* ---- Pools ---- */

static uint32_t get_device_of(const CUmemPoolProps *props)
{
	return props->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? (uint32_t)props->location.id
								   : VS_NO_DEVICE;
}

static inline void after_cuMemPoolCreate(struct vs_call *call, CUresult result,
					 const cuMemPoolCreate_params *args)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS) {
		vs_device_facts_define(call->real, get_device_of(args->poolProps));
		/* Drivers before 12.2 know no limit: those bytes had to be zero. */
		(void)vs_recorder_create_driver_pool((uintptr_t)*args->pool,
						     get_device_of(args->poolProps),
						     args->poolProps->maxSize);
	}
	errno = error_number;
}
VS_DRIVER_HOOK_AFTER(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *poolProps), pool,
		     poolProps)

/* Said after the call: what is allocated from the pool stays, so no address comes free by it. */
static inline void after_cuMemPoolDestroy(struct vs_call *call, CUresult result,
					  const cuMemPoolDestroy_params *args)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS) {
		vs_driver_pools_forget((uintptr_t)args->pool);
		vs_recorder_end_driver_pool(call->self, (uintptr_t)args->pool);
	}
	errno = error_number;
}
VS_DRIVER_HOOK_AFTER(cuMemPoolDestroy, (CUmemoryPool pool), pool)

static void note_pool_change(struct vs_call *call, CUresult result, CUmemoryPool pool)
{
	int error_number = errno;

	if (call->is_recording && result == CUDA_SUCCESS)
		vs_driver_pools_sample(call, (uintptr_t)pool,
				       vs_device_facts_get_current(call->real));
	errno = error_number;
}

static inline void after_cuMemPoolTrimTo(struct vs_call *call, CUresult result,
					 const cuMemPoolTrimTo_params *args)
{
	note_pool_change(call, result, args->pool);
}
VS_DRIVER_HOOK_AFTER(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), pool,
		     minBytesToKeep)

static inline void after_cuMemPoolSetAttribute(struct vs_call *call, CUresult result,
					       const cuMemPoolSetAttribute_params *args)
{
	note_pool_change(call, result, args->pool);
}
VS_DRIVER_HOOK_AFTER(cuMemPoolSetAttribute,
		     (CUmemoryPool pool, CUmemPool_attribute attr, void *value), pool, attr, value)

/* The pool of another process: not counted as one of ours; what is imported from it is. */
static inline void after_cuMemPoolImportFromShareableHandle(
	struct vs_call *call, CUresult result,
	const cuMemPoolImportFromShareableHandle_params *args)
{
	(void)call;
	(void)result;
	(void)args;
}
VS_DRIVER_HOOK_AFTER(cuMemPoolImportFromShareableHandle,
		     (CUmemoryPool * pool_out, void *handle, CUmemAllocationHandleType handleType,
		      unsigned long long flags),
		     pool_out, handle, handleType, flags)

static inline void after_cuMemPoolImportPointer(struct vs_call *call, CUresult result,
						const cuMemPoolImportPointer_params *args)
{
	int error_number = errno;
	size_t size = 0;

	if (call->is_recording && result == CUDA_SUCCESS && call->real->cuMemGetAddressRange_v2 &&
	    call->real->cuMemGetAddressRange_v2(NULL, &size, *args->ptr_out) != CUDA_SUCCESS)
		size = 0;
	vs_hooks_note_alloc(call, result, VS_MEMORY_IPC, result ? 0 : *args->ptr_out, size);
	errno = error_number;
}
VS_DRIVER_HOOK_AFTER(cuMemPoolImportPointer,
		     (CUdeviceptr * ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *shareData),
		     ptr_out, pool, shareData)
