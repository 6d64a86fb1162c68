/* Memory of the device and of the host: allocation, registration, how much is left. */
#include "runtime.h"

#define PITCH_ELEMENT 16 /* the largest element the driver aligns rows for */

static cudaError_t allocate(void **memory, size_t size)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!memory)
		return cudaErrorInvalidValue;
	if (!size) {
		*memory = NULL;
		return cudaSuccess;
	}
	error = SG_DRIVER(cuMemAlloc_v3020, &address, size);
	if (!error)
		*memory = (void *)address;
	return error;
}

static cudaError_t allocate_rows(void **memory, size_t *pitch, size_t width, size_t rows)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!width || !rows) {
		*memory = NULL;
		*pitch = 0;
		return cudaSuccess;
	}
	error = SG_DRIVER(cuMemAllocPitch_v3020, &address, pitch, width, rows, PITCH_ELEMENT);
	if (!error)
		*memory = (void *)address;
	return error;
}

static cudaError_t allocate_pitch(void **memory, size_t *pitch, size_t width, size_t height)
{
	if (!memory || !pitch)
		return cudaErrorInvalidValue;
	return allocate_rows(memory, pitch, width, height);
}

static cudaError_t allocate_3d(struct cudaPitchedPtr *memory, struct cudaExtent extent)
{
	struct cudaPitchedPtr made = {.xsize = extent.width, .ysize = extent.height};
	cudaError_t error;
	size_t rows;

	if (!memory)
		return cudaErrorInvalidValue;
	if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
		return cudaErrorMemoryAllocation;
	error = allocate_rows(&made.ptr, &made.pitch, extent.width, rows);
	if (!error)
		*memory = made;
	return error;
}

static cudaError_t allocate_managed(void **memory, size_t size, unsigned flags)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!memory || !size || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuMemAllocManaged_v6000, &address, size, flags);
	if (!error)
		*memory = (void *)address;
	return error;
}

static cudaError_t allocate_host(void **memory, size_t size, unsigned flags)
{
	const unsigned known =
		cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;

	if (!memory || (flags & ~known))
		return cudaErrorInvalidValue;
	if (!size) {
		*memory = NULL;
		return cudaSuccess;
	}
	return SG_DRIVER(cuMemHostAlloc_v2020, memory, size, flags);
}

static cudaError_t device_pointer(void **device, void *host, unsigned flags)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!device || !host || flags)
		return cudaErrorInvalidValue;
	error = SG_DRIVER(cuMemHostGetDevicePointer_v3020, &address, host, flags);
	if (!error)
		*device = (void *)address;
	return error;
}

SG_API cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	return SG_IN_CONTEXT(allocate(devPtr, size));
}

SG_API cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	return SG_IN_CONTEXT(allocate_pitch(devPtr, pitch, width, height));
}

SG_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	return SG_IN_CONTEXT(allocate_3d(pitchedDevPtr, extent));
}

SG_API cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	return SG_IN_CONTEXT(allocate_managed(devPtr, size, flags));
}

/* Programs call cudaFree(0) to get a context: that is why NULL enters one too. */
SG_API cudaError_t cudaFree(void *devPtr)
{
	CUdeviceptr address = (CUdeviceptr)devPtr;

	return SG_IN_CONTEXT(devPtr ? SG_DRIVER(cuMemFree_v3020, address) : cudaSuccess);
}

SG_API cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	return SG_IN_CONTEXT(allocate_host(pHost, size, flags));
}

SG_API cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	return SG_IN_CONTEXT(allocate_host(ptr, size, cudaHostAllocDefault));
}

SG_API cudaError_t cudaFreeHost(void *ptr)
{
	return SG_IN_CONTEXT(ptr ? SG_DRIVER(cuMemFreeHost_v2000, ptr) : cudaSuccess);
}

static cudaError_t register_host(void *memory, size_t size, unsigned flags)
{
	const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
			       cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

	if (!memory || !size || (flags & ~known))
		return cudaErrorInvalidValue;
	return SG_DRIVER(cuMemHostRegister_v6050, memory, size, flags);
}

SG_API cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	return SG_IN_CONTEXT(register_host(ptr, size, flags));
}

SG_API cudaError_t cudaHostUnregister(void *ptr)
{
	return SG_IN_CONTEXT(ptr ? SG_DRIVER(cuMemHostUnregister_v4000, ptr)
				 : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	return SG_IN_CONTEXT(device_pointer(pDevice, pHost, flags));
}

SG_API cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
	return SG_IN_CONTEXT(pFlags && pHost ? SG_DRIVER(cuMemHostGetFlags_v2030, pFlags, pHost)
					     : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	return SG_IN_CONTEXT(free && total ? SG_DRIVER(cuMemGetInfo_v3020, free, total)
					   : cudaErrorInvalidValue);
}
