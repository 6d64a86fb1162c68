#include "context.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "array.h"
#include "call_tool.h"
#include "memory.h"
#include "module.h"
#include "object.h"
#include "peer.h"
#include "reference.h"
#include "stream.h"
#include "texture.h"

#define STACK_DEPTH 64

struct entry {
	struct sg_context *context;
	unsigned long long id;
};

/* The thread's contexts; nobody else looks at them. */
static _Thread_local struct {
	struct entry entries[STACK_DEPTH];
	int depth;
} stack;

/* Guards primaries[] and the counts in them. Never held while memory is freed by another thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sg_context *primaries[SG_MAX_DEVICES];
static _Atomic unsigned long long next_id = 1;

static CUcontext to_handle(struct sg_context *context)
{
	return (CUcontext)(void *)context;
}

/* A context that may be used, or NULL. */
static struct sg_context *from_handle(CUcontext handle)
{
	struct sg_context *context = sg_object_get(SG_OBJECT_CONTEXT, handle);

	return context && context->is_active ? context : NULL;
}

CUresult sg_context_get_current(struct sg_context **context)
{
	CUresult result = sg_init_check();
	const struct entry *top;

	if (result != CUDA_SUCCESS)
		return result;
	if (stack.depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	top = &stack.entries[stack.depth - 1];
	*context = from_handle(to_handle(top->context));
	if (!*context || (*context)->id != top->id)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return CUDA_SUCCESS;
}

CUresult sg_context_get(CUcontext handle, struct sg_context **context)
{
	CUresult result;

	if (!handle)
		return sg_context_get_current(context);
	result = sg_init_check();
	if (result != CUDA_SUCCESS)
		return result;
	*context = from_handle(handle);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult push(struct sg_context *context)
{
	if (stack.depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack.entries[stack.depth++] = (struct entry){context, context->id};
	return CUDA_SUCCESS;
}

static bool are_flags_valid(unsigned flags)
{
	unsigned schedule = flags & CU_CTX_SCHED_MASK;

	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return false;
	/* One way to wait at most. */
	return (schedule & (schedule - 1)) == 0;
}

static void set_defaults(struct sg_context *context)
{
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
	context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	context->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
}

/* Take the overhead and let the context be used. */
static CUresult activate(struct sg_context *context)
{
	CUresult result = sg_memory_charge_context(context->device);

	if (result != CUDA_SUCCESS)
		return result;
	set_defaults(context);
	context->id = atomic_fetch_add(&next_id, 1);
	context->is_active = true;
	return CUDA_SUCCESS;
}

/* Free what was made in it. Afterwards nobody can use it. */
static void deactivate(struct sg_context *context)
{
	context->is_active = false;
	sg_module_destroy_all(context);
	sg_stream_destroy_all(context);
	sg_reference_destroy_all(context);
	sg_texture_destroy_all(context);
	sg_array_destroy_all(context);
	sg_peer_forget(context);
	sg_memory_free_context(context);
	sg_memory_uncharge_context(context->device);
}

static CUresult create(CUcontext *pctx, unsigned flags, CUdevice dev)
{
	struct sg_context *context;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pctx || !are_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (stack.depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context = sg_object_create(SG_OBJECT_CONTEXT, sizeof(*context));
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context->device = dev;
	context->flags = flags;
	result = activate(context);
	if (result != CUDA_SUCCESS) {
		sg_object_destroy(SG_OBJECT_CONTEXT, context);
		return result;
	}
	*pctx = to_handle(context);
	result = push(context);
	sg_call_tool_report(SG_CALLS_CONTEXT_CREATED, context, NULL);
	return result;
}

SG_API CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx, flags, dev);
}

SG_API CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx, flags, dev);
}

SG_API CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
			       unsigned int flags, CUdevice dev)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (numParams < 0 || (numParams && !paramsArray))
		return CUDA_ERROR_INVALID_VALUE;
	/* Parts of a device can be had only under MPS. */
	return numParams ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(pctx, flags, dev);
}

SG_API CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
			       unsigned int flags, CUdevice dev)
{
	if (ctxCreateParams && ctxCreateParams->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (ctxCreateParams)
		return cuCtxCreate_v3(pctx, ctxCreateParams->execAffinityParams,
				      ctxCreateParams->numExecAffinityParams, flags, dev);
	return create(pctx, flags, dev);
}

SG_API CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	struct sg_context *context;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	context = from_handle(ctx);
	if (!context || context->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	sg_call_tool_report_going(context);
	if (stack.depth && stack.entries[stack.depth - 1].context == context)
		stack.depth--;
	deactivate(context);
	sg_object_destroy(SG_OBJECT_CONTEXT, context);
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxDestroy(CUcontext ctx)
{
	return cuCtxDestroy_v2(ctx);
}

SG_API CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	struct sg_context *context;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	context = from_handle(ctx);
	return context ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

SG_API CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return cuCtxPushCurrent_v2(ctx);
}

SG_API CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (stack.depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack.depth--;
	if (pctx)
		*pctx = to_handle(stack.entries[stack.depth].context);
	return CUDA_SUCCESS;
}

SG_API CUresult cuCtxPopCurrent(CUcontext *pctx)
{
	return cuCtxPopCurrent_v2(pctx);
}

SG_API CUresult cuCtxSetCurrent(CUcontext ctx)
{
	struct sg_context *context;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	context = ctx ? from_handle(ctx) : NULL;
	if (ctx && !context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth)
		stack.depth--;
	return context ? push(context) : CUDA_SUCCESS;
}

SG_API CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = stack.depth ? to_handle(stack.entries[stack.depth - 1].context) : NULL;
	return CUDA_SUCCESS;
}

/* The primary context of a device, made but not active. Lock held. */
static struct sg_context *get_primary(CUdevice device)
{
	struct sg_context *context = primaries[device];

	if (context)
		return context;
	context = sg_object_create(SG_OBJECT_CONTEXT, sizeof(*context));
	if (!context)
		return NULL;
	context->device = device;
	context->is_primary = true;
	primaries[device] = context;
	return context;
}

SG_API CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct sg_context *context;
	bool is_new = false;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	context = get_primary(dev);
	if (!context) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (!context->is_active) {
		result = activate(context);
		is_new = result == CUDA_SUCCESS;
	}
	if (result == CUDA_SUCCESS) {
		context->nr_retained++;
		*pctx = to_handle(context);
	}
	pthread_mutex_unlock(&lock);
	if (is_new)
		sg_call_tool_report(SG_CALLS_CONTEXT_CREATED, context, NULL);
	return result;
}

/*
 * Tell a tool that a primary context goes, before it does and without the lock. Should another
 * thread retain it in between, the tool was told too much.
 */
static void report_primary_going(CUdevice device, unsigned nr_holders)
{
	struct sg_context *context;
	bool goes;

	pthread_mutex_lock(&lock);
	context = primaries[device];
	goes = context && context->is_active && context->nr_retained <= nr_holders;
	pthread_mutex_unlock(&lock);
	if (goes)
		sg_call_tool_report_going(context);
}

SG_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct sg_context *context;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	report_primary_going(dev, 1);
	pthread_mutex_lock(&lock);
	context = primaries[dev];
	if (!context || context->nr_retained == 0)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (--context->nr_retained == 0 && context->is_active)
		deactivate(context);
	pthread_mutex_unlock(&lock);
	return result;
}

SG_API CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return cuDevicePrimaryCtxRelease_v2(dev);
}

SG_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct sg_context *context;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	report_primary_going(dev, UINT_MAX);
	pthread_mutex_lock(&lock);
	context = primaries[dev];
	/* Who retained it still has to release it, though it is no longer active. */
	if (context && context->is_active) {
		deactivate(context);
		context->flags = 0;
	}
	sg_memory_free_device(dev);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

SG_API CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	return cuDevicePrimaryCtxReset_v2(dev);
}

SG_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct sg_context *context;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!are_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	context = get_primary(dev);
	if (context)
		context->flags = flags;
	else
		result = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&lock);
	return result;
}

SG_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

SG_API CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct sg_context *context;
	CUresult result = sg_init_check_device(dev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	context = primaries[dev];
	*flags = context ? context->flags : 0;
	*active = context && context->is_active;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}
