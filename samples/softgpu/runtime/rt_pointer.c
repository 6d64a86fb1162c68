/* What a pointer points to, and where managed memory should be. */
#include "runtime.h"

#include <string.h>

_Static_assert((int)cudaMemoryTypeHost == (int)CU_MEMORYTYPE_HOST &&
		       (int)cudaMemoryTypeDevice == (int)CU_MEMORYTYPE_DEVICE,
	       "memory types have the same numbers");

static enum cudaMemoryType type_of(unsigned type, unsigned is_managed)
{
	if (is_managed)
		return cudaMemoryTypeManaged;
	return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE
		       ? (enum cudaMemoryType)type
		       : cudaMemoryTypeUnregistered;
}

static cudaError_t describe(struct cudaPointerAttributes *attributes, const void *pointer)
{
	CUpointer_attribute names[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	unsigned type = 0, is_managed = 0;
	int device = cudaInvalidDeviceId;
	void *host = NULL;
	CUdeviceptr address = 0;
	void *values[] = {&type, &is_managed, &device, &address, &host};
	cudaError_t error;

	if (!attributes)
		return cudaErrorInvalidValue;
	/* This call, unlike its singular, answers zeros for a pointer that is no CUDA memory. */
	error = SG_DRIVER(cuPointerGetAttributes_v7000, sizeof(names) / sizeof(names[0]), names,
			  values, (CUdeviceptr)pointer);
	if (error)
		return error;
	memset(attributes, 0, sizeof(*attributes));
	attributes->type = type_of(type, is_managed);
	if (attributes->type == cudaMemoryTypeUnregistered) {
		attributes->device = cudaInvalidDeviceId;
		attributes->hostPointer = (void *)(uintptr_t)pointer;
		return cudaSuccess;
	}
	attributes->device = device;
	attributes->devicePointer = (void *)address;
	attributes->hostPointer = host;
	return cudaSuccess;
}

SG_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
					    const void *ptr)
{
	return SG_IN_CONTEXT(describe(attributes, ptr));
}

/* A location by value, in the driver's type. */
static CUmemLocation place(struct cudaMemLocation location)
{
	return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

SG_API cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count,
					struct cudaMemLocation location, unsigned int flags,
					cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuMemPrefetchAsync_v12020, (CUdeviceptr)devPtr, count,
				       place(location), flags, stream));
}

SG_API cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
				 struct cudaMemLocation location)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuMemAdvise_v12020, (CUdeviceptr)devPtr, count,
				       (CUmem_advise)advice, place(location)));
}

SG_API cudaError_t cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
					     struct cudaMemLocation *prefetchLocs,
					     size_t *prefetchLocIdxs, size_t numPrefetchLocs,
					     unsigned long long flags, cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuMemPrefetchBatchAsync_v13000, (CUdeviceptr *)dptrs, sizes,
				       count, (CUmemLocation *)prefetchLocs, prefetchLocIdxs,
				       numPrefetchLocs, flags, stream));
}

SG_API cudaError_t cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
					    unsigned long long flags, cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuMemDiscardBatchAsync_v13000, (CUdeviceptr *)dptrs, sizes,
				       count, flags, stream));
}

SG_API cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
						       struct cudaMemLocation *prefetchLocs,
						       size_t *prefetchLocIdxs,
						       size_t numPrefetchLocs,
						       unsigned long long flags,
						       cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(
		cuMemDiscardAndPrefetchBatchAsync_v13000, (CUdeviceptr *)dptrs, sizes, count,
		(CUmemLocation *)prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream));
}

SG_API cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize,
					    enum cudaMemRangeAttribute attribute,
					    const void *devPtr, size_t count)
{
	CUmem_range_attribute name = (CUmem_range_attribute)attribute;

	return SG_IN_CONTEXT(data ? SG_DRIVER(cuMemRangeGetAttribute_v8000, data, dataSize, name,
					      (CUdeviceptr)devPtr, count)
				  : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
					     enum cudaMemRangeAttribute *attributes,
					     size_t numAttributes, const void *devPtr, size_t count)
{
	CUmem_range_attribute *names = (CUmem_range_attribute *)attributes;

	return SG_IN_CONTEXT(data && dataSizes && names
				     ? SG_DRIVER(cuMemRangeGetAttributes_v8000, data, dataSizes,
						 names, numAttributes, (CUdeviceptr)devPtr, count)
				     : cudaErrorInvalidValue);
}
