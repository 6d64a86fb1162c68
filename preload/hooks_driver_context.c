/* Contexts of the driver. */
#include "hooks.h"

#include "contexts.h"

static inline void before_cuCtxCreate(struct vs_call *call, const cuCtxCreate_params *args)
{
	vs_contexts_note_creating(call, args->dev);
}

static inline void after_cuCtxCreate(struct vs_call *call, CUresult result,
				     const cuCtxCreate_params *args)
{
	vs_contexts_note_create(call, result, result ? NULL : *args->pctx, args->dev);
}
VS_DRIVER_HOOK(cuCtxCreate, (CUcontext * pctx, unsigned int flags, CUdevice dev), pctx, flags, dev)

static inline void before_cuCtxCreate_v2(struct vs_call *call, const cuCtxCreate_v2_params *args)
{
	vs_contexts_note_creating(call, args->dev);
}

static inline void after_cuCtxCreate_v2(struct vs_call *call, CUresult result,
					const cuCtxCreate_v2_params *args)
{
	vs_contexts_note_create(call, result, result ? NULL : *args->pctx, args->dev);
}
VS_DRIVER_HOOK(cuCtxCreate_v2, (CUcontext * pctx, unsigned int flags, CUdevice dev), pctx, flags,
	       dev)

static inline void before_cuCtxCreate_v3(struct vs_call *call, const cuCtxCreate_v3_params *args)
{
	vs_contexts_note_creating(call, args->dev);
}

static inline void after_cuCtxCreate_v3(struct vs_call *call, CUresult result,
					const cuCtxCreate_v3_params *args)
{
	vs_contexts_note_create(call, result, result ? NULL : *args->pctx, args->dev);
}
VS_DRIVER_HOOK(cuCtxCreate_v3,
	       (CUcontext * pctx, CUexecAffinityParam *paramsArray, int numParams,
		unsigned int flags, CUdevice dev),
	       pctx, paramsArray, numParams, flags, dev)

static inline void before_cuCtxCreate_v4(struct vs_call *call, const cuCtxCreate_v4_params *args)
{
	vs_contexts_note_creating(call, args->dev);
}

static inline void after_cuCtxCreate_v4(struct vs_call *call, CUresult result,
					const cuCtxCreate_v4_params *args)
{
	vs_contexts_note_create(call, result, result ? NULL : *args->pctx, args->dev);
}
VS_DRIVER_HOOK(cuCtxCreate_v4,
	       (CUcontext * pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
		CUdevice dev),
	       pctx, ctxCreateParams, flags, dev)

static inline void before_cuCtxDestroy(struct vs_call *call, const cuCtxDestroy_params *args)
{
	vs_contexts_note_destroy(call, args->ctx);
}
VS_DRIVER_HOOK_BEFORE(cuCtxDestroy, (CUcontext ctx), ctx)

static inline void before_cuCtxDestroy_v2(struct vs_call *call, const cuCtxDestroy_v2_params *args)
{
	vs_contexts_note_destroy(call, args->ctx);
}
VS_DRIVER_HOOK_BEFORE(cuCtxDestroy_v2, (CUcontext ctx), ctx)

static inline void before_cuDevicePrimaryCtxRetain(struct vs_call *call,
						   const cuDevicePrimaryCtxRetain_params *args)
{
	vs_contexts_note_retaining(call, args->dev);
}

static inline void after_cuDevicePrimaryCtxRetain(struct vs_call *call, CUresult result,
						  const cuDevicePrimaryCtxRetain_params *args)
{
	vs_contexts_note_retain(call, result, result ? NULL : *args->pctx, args->dev);
}
VS_DRIVER_HOOK(cuDevicePrimaryCtxRetain, (CUcontext * pctx, CUdevice dev), pctx, dev)

static inline void after_cuDevicePrimaryCtxRelease(struct vs_call *call, CUresult result,
						   const cuDevicePrimaryCtxRelease_params *args)
{
	vs_contexts_note_release(call, result, args->dev);
}
VS_DRIVER_HOOK_AFTER(cuDevicePrimaryCtxRelease, (CUdevice dev), dev)

static inline void after_cuDevicePrimaryCtxRelease_v2(
	struct vs_call *call, CUresult result, const cuDevicePrimaryCtxRelease_v2_params *args)
{
	vs_contexts_note_release(call, result, args->dev);
}
VS_DRIVER_HOOK_AFTER(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), dev)

static inline void before_cuDevicePrimaryCtxReset(struct vs_call *call,
						  const cuDevicePrimaryCtxReset_params *args)
{
	vs_contexts_note_reset(call, args->dev);
}
VS_DRIVER_HOOK_BEFORE(cuDevicePrimaryCtxReset, (CUdevice dev), dev)

static inline void before_cuDevicePrimaryCtxReset_v2(struct vs_call *call,
						     const cuDevicePrimaryCtxReset_v2_params *args)
{
	vs_contexts_note_reset(call, args->dev);
}
VS_DRIVER_HOOK_BEFORE(cuDevicePrimaryCtxReset_v2, (CUdevice dev), dev)
