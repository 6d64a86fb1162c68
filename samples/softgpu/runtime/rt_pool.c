/*
 * Stream-ordered allocation and memory pools. Runtime and driver share the handles, and their
 * structs have one layout, asserted here, so that lists pass through without a copy.
 */
#include "runtime.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps) &&
		       offsetof(struct cudaMemPoolProps, win32SecurityAttributes) ==
			       offsetof(CUmemPoolProps, win32SecurityAttributes),
	       "cudaMemPoolProps is CUmemPoolProps");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation),
	       "cudaMemLocation is CUmemLocation");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc),
	       "cudaMemAccessDesc is CUmemAccessDesc");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
	       "cudaMemPoolPtrExportData is CUmemPoolPtrExportData");
_Static_assert((int)cudaMemPoolAttrUsedMemHigh == (int)CU_MEMPOOL_ATTR_USED_MEM_HIGH,
	       "pool attributes have the same numbers");

/* Twins of per-thread default streams have the types of the plain functions. */
static cudaError_t allocate(PFN_cuMemAllocAsync_v11020 function, void **memory, size_t size,
			    cudaStream_t stream)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!memory)
		return cudaErrorInvalidValue;
	if (!function)
		return cudaErrorCallRequiresNewerDriver;
	error = sg_rt_error_from(function(&address, size, stream));
	if (!error)
		*memory = (void *)address;
	return error;
}

static cudaError_t allocate_from(PFN_cuMemAllocFromPoolAsync_v11020 function, void **memory,
				 size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!memory || !pool)
		return cudaErrorInvalidValue;
	if (!function)
		return cudaErrorCallRequiresNewerDriver;
	error = sg_rt_error_from(function(&address, size, pool, stream));
	if (!error)
		*memory = (void *)address;
	return error;
}

static cudaError_t release(PFN_cuMemFreeAsync_v11020 function, void *memory, cudaStream_t stream)
{
	if (!function)
		return cudaErrorCallRequiresNewerDriver;
	return sg_rt_error_from(function((CUdeviceptr)memory, stream));
}

SG_API cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	return SG_IN_CONTEXT(allocate(sg_rt_driver.cuMemAllocAsync_v11020, devPtr, size, hStream));
}

SG_API cudaError_t cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t hStream)
{
	return SG_IN_CONTEXT(
		allocate(sg_rt_driver.cuMemAllocAsync_v11020_ptsz, devPtr, size, hStream));
}

SG_API cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
					   cudaStream_t stream)
{
	return SG_IN_CONTEXT(allocate_from(sg_rt_driver.cuMemAllocFromPoolAsync_v11020, ptr, size,
					   memPool, stream));
}

SG_API cudaError_t cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, cudaMemPool_t memPool,
						cudaStream_t stream)
{
	return SG_IN_CONTEXT(allocate_from(sg_rt_driver.cuMemAllocFromPoolAsync_v11020_ptsz, ptr,
					   size, memPool, stream));
}

SG_API cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	return SG_IN_CONTEXT(release(sg_rt_driver.cuMemFreeAsync_v11020, devPtr, hStream));
}

SG_API cudaError_t cudaFreeAsync_ptsz(void *devPtr, cudaStream_t hStream)
{
	return SG_IN_CONTEXT(release(sg_rt_driver.cuMemFreeAsync_v11020_ptsz, devPtr, hStream));
}

SG_API cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool,
				     const struct cudaMemPoolProps *poolProps)
{
	const CUmemPoolProps *props = (const CUmemPoolProps *)poolProps;

	return SG_IN_CONTEXT(memPool && props ? SG_DRIVER(cuMemPoolCreate_v11020, memPool, props)
					      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	return SG_IN_CONTEXT(memPool ? SG_DRIVER(cuMemPoolDestroy_v11020, memPool)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	return SG_IN_CONTEXT(memPool ? SG_DRIVER(cuMemPoolTrimTo_v11020, memPool, minBytesToKeep)
				     : cudaErrorInvalidValue);
}

static bool attribute_is_valid(enum cudaMemPoolAttr attribute)
{
	return (int)attribute >= cudaMemPoolReuseFollowEventDependencies &&
	       attribute <= cudaMemPoolAttrUsedMemHigh;
}

static cudaError_t set_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	if (!pool || !value || !attribute_is_valid(attribute))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuMemPoolSetAttribute_v11020, pool, (CUmemPool_attribute)attribute, value);
}

static cudaError_t get_attribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	if (!pool || !value || !attribute_is_valid(attribute))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuMemPoolGetAttribute_v11020, pool, (CUmemPool_attribute)attribute, value);
}

SG_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
					   void *value)
{
	return SG_IN_CONTEXT(set_attribute(memPool, attr, value));
}

SG_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
					   void *value)
{
	return SG_IN_CONTEXT(get_attribute(memPool, attr, value));
}

static cudaError_t set_access(cudaMemPool_t pool, const struct cudaMemAccessDesc *list,
			      size_t count)
{
	if (!pool || (count && !list))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuMemPoolSetAccess_v11020, pool, (const CUmemAccessDesc *)list, count);
}

static cudaError_t get_access(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
			      struct cudaMemLocation *location)
{
	CUmemAccess_flags found = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	cudaError_t error;

	if (!flags || !pool || !location)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuMemPoolGetAccess_v11020, &found, pool, (CUmemLocation *)location);
	if (!error)
		*flags = (enum cudaMemAccessFlags)found;
	return error;
}

SG_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool,
					const struct cudaMemAccessDesc *descList, size_t count)
{
	return SG_IN_CONTEXT(set_access(memPool, descList, count));
}

SG_API cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
					struct cudaMemLocation *location)
{
	return SG_IN_CONTEXT(get_access(flags, memPool, location));
}

/* Pools of a device */

SG_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
	return SG_LOADED(memPool ? SG_DRIVER(cuDeviceGetDefaultMemPool_v11020, memPool, device)
				 : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
	return SG_LOADED(memPool ? SG_DRIVER(cuDeviceGetMemPool_v11020, memPool, device)
				 : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
	return SG_LOADED(memPool ? SG_DRIVER(cuDeviceSetMemPool_v11020, device, memPool)
				 : cudaErrorInvalidValue);
}

/* Pools of a location, since CUDA 13 */

SG_API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool,
					    struct cudaMemLocation *location,
					    enum cudaMemAllocationType type)
{
	CUmemLocation *place = (CUmemLocation *)location;

	return SG_IN_CONTEXT(memPool && place ? SG_DRIVER(cuMemGetDefaultMemPool_v13000, memPool,
							  place, (CUmemAllocationType)type)
					      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				     enum cudaMemAllocationType type)
{
	CUmemLocation *place = (CUmemLocation *)location;

	return SG_IN_CONTEXT(memPool && place ? SG_DRIVER(cuMemGetMemPool_v13000, memPool, place,
							  (CUmemAllocationType)type)
					      : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location,
				     enum cudaMemAllocationType type, cudaMemPool_t memPool)
{
	CUmemLocation *place = (CUmemLocation *)location;

	return SG_IN_CONTEXT(memPool && place ? SG_DRIVER(cuMemSetMemPool_v13000, place,
							  (CUmemAllocationType)type, memPool)
					      : cudaErrorInvalidValue);
}

/* Sharing pools between processes */

SG_API cudaError_t cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
						      enum cudaMemAllocationHandleType handleType,
						      unsigned int flags)
{
	CUmemAllocationHandleType type = (CUmemAllocationHandleType)handleType;

	return SG_IN_CONTEXT(shareableHandle && memPool
				     ? SG_DRIVER(cuMemPoolExportToShareableHandle_v11020,
						 shareableHandle, memPool, type, flags)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool,
							void *shareableHandle,
							enum cudaMemAllocationHandleType handleType,
							unsigned int flags)
{
	CUmemAllocationHandleType type = (CUmemAllocationHandleType)handleType;

	return SG_IN_CONTEXT(memPool ? SG_DRIVER(cuMemPoolImportFromShareableHandle_v11020, memPool,
						 shareableHandle, type, flags)
				     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr)
{
	CUmemPoolPtrExportData *data = (CUmemPoolPtrExportData *)exportData;

	return SG_IN_CONTEXT(
		data && ptr ? SG_DRIVER(cuMemPoolExportPointer_v11020, data, (CUdeviceptr)ptr)
			    : cudaErrorInvalidValue);
}

static cudaError_t import_pointer(void **memory, cudaMemPool_t pool,
				  struct cudaMemPoolPtrExportData *data)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!memory || !pool || !data)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuMemPoolImportPointer_v11020, &address, pool,
			  (CUmemPoolPtrExportData *)data);
	if (!error)
		*memory = (void *)address;
	return error;
}

SG_API cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
					    struct cudaMemPoolPtrExportData *exportData)
{
	return SG_IN_CONTEXT(import_pointer(ptr, memPool, exportData));
}
