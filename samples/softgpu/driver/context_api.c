/*
 * What a program asks of, or sets on, the context it has.
 */
#include "capture.h"
#include "context.h"
#include "device_attribute.h"
#include "memory.h"

#define MAX_SYNC_DEPTH 24 /* the deepest that kernels can launch kernels */

SG_API CUresult cuCtxGetDevice(CUdevice *device)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct sg_context *context;
	CUresult result = sg_context_get(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = context->flags;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxSetFlags(unsigned int flags)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	context->flags = flags;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	struct sg_context *context;
	CUresult result = sg_context_get(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result == CUDA_ERROR_INVALID_CONTEXT && ctx ? CUDA_ERROR_CONTEXT_IS_DESTROYED
								   : result;
	if (!ctxId)
		return CUDA_ERROR_INVALID_VALUE;
	*ctxId = context->id;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxSynchronize(void)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_capture_refuse_context(context);
	if (result == CUDA_SUCCESS)
		sg_memory_synchronize(context->device);
	return result;
}

SG_API CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	struct sg_context *context;
	CUresult result = sg_context_get(ctx, &context);

	if (result == CUDA_SUCCESS)
		result = sg_capture_refuse_context(context);
	if (result == CUDA_SUCCESS)
		sg_memory_synchronize(context->device);
	return result;
}

/* Kernels of 9.0 and later cannot wait for the kernels they launch. */
static bool has_sync_depth(void)
{
	return sg_config_get()->profile.cc < 90;
}

static bool is_settable(CUlimit limit)
{
	switch (limit) {
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
		return has_sync_depth();
	case CU_LIMIT_STACK_SIZE:
	case CU_LIMIT_PRINTF_FIFO_SIZE:
	case CU_LIMIT_MALLOC_HEAP_SIZE:
	case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
		return true;
	default:
		return false;
	}
}

SG_API CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	size_t most = (size_t)sg_config_get()->profile.l2_size * 3 / 4;
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_settable(limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if ((limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128) ||
	    (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && value > MAX_SYNC_DEPTH))
		return CUDA_ERROR_INVALID_VALUE;
	/* The real driver, too, is free to give less than was asked for. */
	if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE && value > most)
		value = most;
	context->limits[limit] = value;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pvalue)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)limit >= CU_LIMIT_MAX ||
	    (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH && !has_sync_depth()))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*pvalue = context->limits[limit];
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pconfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pconfig = context->cache_config;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	context->cache_config = config;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pConfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pConfig = context->shared_config;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	if (config == CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE)
		config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	context->shared_config = config;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct sg_context *context;
	CUresult result = sg_context_get(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 3020; /* the ABI of all contexts made by functions of 3.2 and later */
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (leastPriority)
		*leastPriority = SG_LEAST_STREAM_PRIORITY;
	if (greatestPriority)
		*greatestPriority = SG_GREATEST_STREAM_PRIORITY;
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxResetPersistingL2Cache(void)
{
	struct sg_context *context;

	return sg_context_get_current(&context);
}
