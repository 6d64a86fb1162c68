/*
 * What a name means to programs of older releases where 13 means something else by it, or nothing
 * at all (release.h). Nothing is renamed here: a name is the one that the release exports.
 */
#define SG_RT_OLDER_FORMS
#include "runtime.h"

#include <string.h>

#include <cuda_profiler_api.h>

/* Managed memory: a place was a device's number, or cudaCpuDeviceId. */

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

/* Before devices were spoken of, it was the thread that had limits. */

SG_API cudaError_t cudaThreadExit(void)
{
	return cudaDeviceReset();
}

SG_API cudaError_t cudaThreadSynchronize(void)
{
	return cudaDeviceSynchronize();
}

SG_API cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return cudaDeviceSetLimit(limit, value);
}

SG_API cudaError_t cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit)
{
	return cudaDeviceGetLimit(pValue, limit);
}

SG_API cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	return cudaDeviceGetCacheConfig(pCacheConfig);
}

SG_API cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	return cudaDeviceSetCacheConfig(cacheConfig);
}

/* Every device of ours has doubles, and nothing is converted for such a one. */

SG_API cudaError_t cudaSetDoubleForDevice(double *d)
{
	return sg_rt_error_set(d ? cudaSuccess : cudaErrorInvalidValue);
}

SG_API cudaError_t cudaSetDoubleForHost(double *d)
{
	return sg_rt_error_set(d ? cudaSuccess : cudaErrorInvalidValue);
}

/* One kernel on several devices: the same one, alike on all, each in a stream of its own. */

static cudaError_t stream_device(cudaStream_t stream, CUcontext *context, int *device)
{
	cudaError_t error;

	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		return cudaErrorInvalidResourceHandle;
	error = SG_DRIVER(cuStreamGetCtx_v9020, stream, context);
	if (error)
		return error;
	error = SG_DRIVER(cuCtxPushCurrent_v4000, *context);
	if (error)
		return error;
	error = SG_DRIVER(cuCtxGetDevice_v2000, device);
	(void)SG_DRIVER(cuCtxPopCurrent_v4000, context);
	return error;
}

static bool is_same_size(const struct cudaLaunchParams *one, const struct cudaLaunchParams *other)
{
	return !memcmp(&one->gridDim, &other->gridDim, sizeof(one->gridDim)) &&
	       !memcmp(&one->blockDim, &other->blockDim, sizeof(one->blockDim)) &&
	       one->sharedMem == other->sharedMem;
}

static cudaError_t check_list(const struct cudaLaunchParams *list, unsigned count, unsigned flags)
{
	const unsigned known = cudaCooperativeLaunchMultiDeviceNoPreSync |
			       cudaCooperativeLaunchMultiDeviceNoPostSync;
	uint64_t seen = 0;

	if (!list || !count || (flags & ~known))
		return cudaErrorInvalidValue;
	for (unsigned i = 0; i < count; i++) {
		CUcontext context;
		cudaError_t error;
		int device;

		error = stream_device(list[i].stream, &context, &device);
		if (error)
			return error;
		if (list[i].func != list[0].func || !is_same_size(&list[i], &list[0]) ||
		    (seen & (UINT64_C(1) << (device & 63))))
			return cudaErrorInvalidValue;
		seen |= UINT64_C(1) << (device & 63);
	}
	return cudaSuccess;
}

static cudaError_t launch_on_all(struct cudaLaunchParams *list, unsigned count, unsigned flags)
{
	cudaError_t error = check_list(list, count, flags);

	for (unsigned i = 0; i < count && !error; i++) {
		CUcontext context;
		int device;

		error = stream_device(list[i].stream, &context, &device);
		if (!error)
			error = SG_DRIVER(cuCtxPushCurrent_v4000, context);
		if (error)
			break;
		error = cudaLaunchCooperativeKernel(list[i].func, list[i].gridDim, list[i].blockDim,
						    list[i].args, list[i].sharedMem,
						    list[i].stream);
		(void)SG_DRIVER(cuCtxPopCurrent_v4000, &context);
	}
	return error;
}

SG_API cudaError_t cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams *launchParamsList,
							  unsigned int numDevices,
							  unsigned int flags)
{
	return SG_IN_CONTEXT(launch_on_all(launchParamsList, numDevices, flags));
}

/* Semaphores of others: the parameters had no room for anything to come. */

static cudaError_t signal_one(cudaExternalSemaphore_t semaphore,
			      const struct cudaExternalSemaphoreSignalParams_v1 *given,
			      cudaStream_t stream)
{
	struct cudaExternalSemaphoreSignalParams params;

	memset(&params, 0, sizeof(params));
	params.params.fence.value = given->params.fence.value;
	params.params.nvSciSync.reserved = given->params.nvSciSync.reserved;
	params.params.keyedMutex.key = given->params.keyedMutex.key;
	params.flags = given->flags;
	return cudaSignalExternalSemaphoresAsync_v2(&semaphore, &params, 1, stream);
}

static cudaError_t wait_for_one(cudaExternalSemaphore_t semaphore,
				const struct cudaExternalSemaphoreWaitParams_v1 *given,
				cudaStream_t stream)
{
	struct cudaExternalSemaphoreWaitParams params;

	memset(&params, 0, sizeof(params));
	params.params.fence.value = given->params.fence.value;
	params.params.nvSciSync.reserved = given->params.nvSciSync.reserved;
	params.params.keyedMutex.key = given->params.keyedMutex.key;
	params.params.keyedMutex.timeoutMs = given->params.keyedMutex.timeoutMs;
	params.flags = given->flags;
	return cudaWaitExternalSemaphoresAsync_v2(&semaphore, &params, 1, stream);
}

SG_API cudaError_t
cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
				  const struct cudaExternalSemaphoreSignalParams_v1 *paramsArray,
				  unsigned int numExtSems, cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;

	if (numExtSems && (!extSemArray || !paramsArray))
		return sg_rt_error_set(cudaErrorInvalidValue);
	for (unsigned i = 0; i < numExtSems && !error; i++)
		error = signal_one(extSemArray[i], &paramsArray[i], stream);
	return error;
}

SG_API cudaError_t
cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
				const struct cudaExternalSemaphoreWaitParams_v1 *paramsArray,
				unsigned int numExtSems, cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;

	if (numExtSems && (!extSemArray || !paramsArray))
		return sg_rt_error_set(cudaErrorInvalidValue);
	for (unsigned i = 0; i < numExtSems && !error; i++)
		error = wait_for_one(extSemArray[i], &paramsArray[i], stream);
	return error;
}

#if CUDART_VERSION >= 12000

SG_API cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return cudaEventElapsedTime(ms, start, end);
}

#undef cudaGetDeviceProperties

/* For programs compiled by 11: they have room for its struct, which is how that of 12 begins. */
SG_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	struct cudaDeviceProp found;
	cudaError_t error;

	if (!prop)
		return sg_rt_error_set(cudaErrorInvalidValue);
	error = cudaGetDeviceProperties_v2(&found, device);
	if (!error)
		memcpy(prop, &found, SG_RT_PROPERTIES_SIZE_11);
	return error;
}

SG_API cudaError_t cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
					struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
					size_t numAttrs, size_t *failIdx, cudaStream_t stream)
{
	CUdeviceptr *to = (CUdeviceptr *)dsts, *from = (CUdeviceptr *)srcs;

	/* By default, no one of them failed. */
	if (failIdx)
		*failIdx = SIZE_MAX;
	return SG_IN_CONTEXT(SG_DRIVER(cuMemcpyBatchAsync_v12080, to, from, sizes, count,
				       (CUmemcpyAttributes *)attrs, attrsIdxs, numAttrs, failIdx,
				       stream));
}

SG_API cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
					  size_t *failIdx, unsigned long long flags,
					  cudaStream_t stream)
{
	if (failIdx)
		*failIdx = SIZE_MAX;
	return SG_IN_CONTEXT(SG_DRIVER(cuMemcpy3DBatchAsync_v12080, numOps,
				       (CUDA_MEMCPY3D_BATCH_OP *)opList, failIdx, flags, stream));
}

#else

/* There is no status to tell by it that a name does not exist. */
static cudaError_t entry_point(const char *symbol, void **function, unsigned long long flags)
{
	void *found = NULL;
	CUresult result;

	if (!symbol || !*symbol || !function || flags > cudaEnablePerThreadDefaultStream)
		return cudaErrorInvalidValue;
	result = sg_rt_load_symbol(symbol, &found, CUDART_VERSION, flags, NULL);
	if (result == CUDA_SUCCESS)
		*function = found;
	return sg_rt_error_from(result);
}

SG_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
					   unsigned long long flags)
{
	return SG_LOADED(entry_point(symbol, funcPtr, flags));
}

SG_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
						unsigned long long flags)
{
	if (flags == cudaEnableDefault)
		flags = cudaEnablePerThreadDefaultStream;
	return SG_LOADED(entry_point(symbol, funcPtr, flags));
}

/* For the profiler that a driver once had inside: there is none to be set up. */
SG_API cudaError_t cudaProfilerInitialize(const char *configFile, const char *outputFile,
					  cudaOutputMode_t outputMode)
{
	bool is_valid = configFile && outputFile &&
			(outputMode == cudaKeyValuePair || outputMode == cudaCSV);

	return SG_IN_CONTEXT(is_valid ? cudaSuccess : cudaErrorInvalidValue);
}

/* The last field came with 12; textures without it do not look across the edges of a cube. */
_Static_assert(offsetof(struct cudaTextureDesc_v2, seamlessCubemap) ==
		       sizeof(struct cudaTextureDesc),
	       "cudaTextureDesc is how cudaTextureDesc_v2 begins");

SG_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
					   const struct cudaResourceDesc *pResDesc,
					   const struct cudaTextureDesc *pTexDesc,
					   const struct cudaResourceViewDesc *pResViewDesc)
{
	struct cudaTextureDesc_v2 description = {0};

	if (pTexDesc)
		memcpy(&description, pTexDesc, sizeof(*pTexDesc));
	return cudaCreateTextureObject_v2(pTexObject, pResDesc, pTexDesc ? &description : NULL,
					  pResViewDesc);
}

SG_API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
						   cudaTextureObject_t texObject)
{
	struct cudaTextureDesc_v2 description = {0};
	cudaError_t error;

	if (!pTexDesc)
		return sg_rt_error_set(cudaErrorInvalidValue);
	error = cudaGetTextureObjectTextureDesc_v2(&description, texObject);
	if (!error)
		memcpy(pTexDesc, &description, sizeof(*pTexDesc));
	return error;
}

#endif
