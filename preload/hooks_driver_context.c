/* Contexts of the driver. */
#include "hooks.h"

#include "contexts.h"

VS_API CUresult CUDAAPI cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuCtxCreate);
	CUresult result;

	vs_contexts_note_creating(&call, dev);
	result = VS_CALL_DRIVER(&call, cuCtxCreate, pctx, flags, dev);

	vs_contexts_note_create(&call, result, result ? NULL : *pctx, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuCtxCreate_v2);
	CUresult result;

	vs_contexts_note_creating(&call, dev);
	result = VS_CALL_DRIVER(&call, cuCtxCreate_v2, pctx, flags, dev);

	vs_contexts_note_create(&call, result, result ? NULL : *pctx, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray,
				       int numParams, unsigned int flags, CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuCtxCreate_v3);
	CUresult result;

	vs_contexts_note_creating(&call, dev);
	result = VS_CALL_DRIVER(&call, cuCtxCreate_v3, pctx, paramsArray, numParams, flags, dev);

	vs_contexts_note_create(&call, result, result ? NULL : *pctx, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
				       unsigned int flags, CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuCtxCreate_v4);
	CUresult result;

	vs_contexts_note_creating(&call, dev);
	result = VS_CALL_DRIVER(&call, cuCtxCreate_v4, pctx, ctxCreateParams, flags, dev);

	vs_contexts_note_create(&call, result, result ? NULL : *pctx, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuCtxDestroy(CUcontext ctx)
{
	struct vs_call call = VS_ENTER_DRIVER(cuCtxDestroy);

	vs_contexts_note_destroy(&call, ctx);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuCtxDestroy, ctx));
}

VS_API CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
	struct vs_call call = VS_ENTER_DRIVER(cuCtxDestroy_v2);

	vs_contexts_note_destroy(&call, ctx);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuCtxDestroy_v2, ctx));
}

VS_API CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuDevicePrimaryCtxRetain);
	CUresult result;

	vs_contexts_note_retaining(&call, dev);
	result = VS_CALL_DRIVER(&call, cuDevicePrimaryCtxRetain, pctx, dev);

	vs_contexts_note_retain(&call, result, result ? NULL : *pctx, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuDevicePrimaryCtxRelease);
	CUresult result = VS_CALL_DRIVER(&call, cuDevicePrimaryCtxRelease, dev);

	vs_contexts_note_release(&call, result, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuDevicePrimaryCtxRelease_v2);
	CUresult result = VS_CALL_DRIVER(&call, cuDevicePrimaryCtxRelease_v2, dev);

	vs_contexts_note_release(&call, result, dev);
	return vs_hooks_leave_driver(&call, result);
}

VS_API CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuDevicePrimaryCtxReset);

	vs_contexts_note_reset(&call, dev);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuDevicePrimaryCtxReset, dev));
}

VS_API CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct vs_call call = VS_ENTER_DRIVER(cuDevicePrimaryCtxReset_v2);

	vs_contexts_note_reset(&call, dev);
	return vs_hooks_leave_driver(&call, VS_CALL_DRIVER(&call, cuDevicePrimaryCtxReset_v2, dev));
}
