/*
 * What a name means to programs of older releases where 13 means something else by it (release.h).
 * Not renamed here: a name is the one that the release exports.
 */
#define SG_RT_OLDER_FORMS
#include "runtime.h"

#if CUDART_VERSION < 13000

static cudaError_t prefetch(const void *memory, size_t size, int device, cudaStream_t stream)
{
	return SG_DRIVER(cuMemPrefetchAsync_v8000, (CUdeviceptr)memory, size, device, stream);
}

static cudaError_t advise(const void *memory, size_t size, enum cudaMemoryAdvise advice, int device)
{
	return SG_DRIVER(cuMemAdvise_v8000, (CUdeviceptr)memory, size, (CUmem_advise)advice,
			 device);
}

SG_API cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, int dstDevice,
					cudaStream_t stream)
{
	return SG_IN_CONTEXT(prefetch(devPtr, count, dstDevice, stream));
}

SG_API cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
				 int device)
{
	return SG_IN_CONTEXT(advise(devPtr, count, advice, device));
}

#endif
