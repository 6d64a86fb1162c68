/*
 * Stream-ordered memory, pools and graphs of the runtime: hooks_runtime_memory.c says how runtime
 * and driver share the work.
 */
#include "hooks.h"

VS_API cudaError_t CUDARTAPI cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocAsync);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMallocAsync, devPtr, size, hStream);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_ASYNC, error ? NULL : *devPtr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocAsync_ptsz(void **devPtr, size_t size, cudaStream_t hStream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocAsync_ptsz);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaMallocAsync_ptsz, devPtr, size, hStream);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_ASYNC, error ? NULL : *devPtr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
						     cudaStream_t stream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocFromPoolAsync);
	cudaError_t error =
		VS_CALL_RUNTIME(&call, cudaMallocFromPoolAsync, ptr, size, memPool, stream);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_ASYNC, error ? NULL : *ptr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size,
							  cudaMemPool_t memPool,
							  cudaStream_t stream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMallocFromPoolAsync_ptsz);
	cudaError_t error =
		VS_CALL_RUNTIME(&call, cudaMallocFromPoolAsync_ptsz, ptr, size, memPool, stream);

	vs_hooks_note_runtime_alloc(&call, error, VS_MEMORY_ASYNC, error ? NULL : *ptr, size);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaFreeAsync);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaFreeAsync, devPtr, hStream);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_ASYNC, devPtr);
	return vs_hooks_leave_runtime(&call, error);
}

VS_API cudaError_t CUDARTAPI cudaFreeAsync_ptsz(void *devPtr, cudaStream_t hStream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaFreeAsync_ptsz);
	cudaError_t error = VS_CALL_RUNTIME(&call, cudaFreeAsync_ptsz, devPtr, hStream);

	vs_hooks_note_runtime_free(&call, error, VS_MEMORY_ASYNC, devPtr);
	return vs_hooks_leave_runtime(&call, error);
}

/* These only give their name to what the driver's hooks record. */

VS_API cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t *memPool,
					       const struct cudaMemPoolProps *poolProps)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMemPoolCreate);

	return vs_hooks_leave_runtime(
		&call, VS_CALL_RUNTIME(&call, cudaMemPoolCreate, memPool, poolProps));
}

VS_API cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMemPoolDestroy);

	return vs_hooks_leave_runtime(&call, VS_CALL_RUNTIME(&call, cudaMemPoolDestroy, memPool));
}

VS_API cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMemPoolTrimTo);

	return vs_hooks_leave_runtime(
		&call, VS_CALL_RUNTIME(&call, cudaMemPoolTrimTo, memPool, minBytesToKeep));
}

VS_API cudaError_t CUDARTAPI cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
						      struct cudaMemPoolPtrExportData *exportData)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaMemPoolImportPointer);

	return vs_hooks_leave_runtime(
		&call, VS_CALL_RUNTIME(&call, cudaMemPoolImportPointer, ptr, memPool, exportData));
}

VS_API cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaGraphLaunch);

	return vs_hooks_leave_runtime(&call,
				      VS_CALL_RUNTIME(&call, cudaGraphLaunch, graphExec, stream));
}

VS_API cudaError_t CUDARTAPI cudaGraphLaunch_ptsz(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	struct vs_runtime_call call = VS_ENTER_RUNTIME(cudaGraphLaunch_ptsz);

	return vs_hooks_leave_runtime(
		&call, VS_CALL_RUNTIME(&call, cudaGraphLaunch_ptsz, graphExec, stream));
}
