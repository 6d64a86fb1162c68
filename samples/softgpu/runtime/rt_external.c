/* Memory and semaphores of other APIs. */
#include "runtime.h"

_Static_assert((int)cudaExternalMemoryHandleTypeOpaqueFd ==
			       (int)CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD &&
		       cudaExternalMemoryDedicated == CUDA_EXTERNAL_MEMORY_DEDICATED,
	       "types and flags of memory have the same numbers");
_Static_assert((int)cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd ==
		       (int)CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
	       "types of semaphores have the same numbers");
_Static_assert(sizeof(struct cudaExternalSemaphoreSignalParams) ==
			       sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) &&
		       sizeof(struct cudaExternalSemaphoreWaitParams) ==
			       sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS),
	       "parameters of signal and wait are those of the driver");

static cudaError_t import_memory(cudaExternalMemory_t *memory,
				 const struct cudaExternalMemoryHandleDesc *desc)
{
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC theirs = {0};

	if (!memory || !desc)
		return cudaErrorInvalidValue;
	theirs.type = (CUexternalMemoryHandleType)desc->type;
	theirs.handle.win32.handle = desc->handle.win32.handle;
	theirs.handle.win32.name = desc->handle.win32.name;
	if (desc->type == cudaExternalMemoryHandleTypeOpaqueFd)
		theirs.handle.fd = desc->handle.fd;
	theirs.size = desc->size;
	theirs.flags = desc->flags;
	return SG_DRIVER(cuImportExternalMemory_v10000, (CUexternalMemory *)memory, &theirs);
}

static cudaError_t map_buffer(void **buffer, cudaExternalMemory_t memory,
			      const struct cudaExternalMemoryBufferDesc *desc)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC theirs = {0};
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!buffer || !desc)
		return cudaErrorInvalidValue;
	theirs.offset = desc->offset;
	theirs.size = desc->size;
	theirs.flags = desc->flags;
	error = SG_DRIVER(cuExternalMemoryGetMappedBuffer_v10000, &address,
			  (CUexternalMemory)memory, &theirs);
	if (!error)
		*buffer = (void *)address;
	return error;
}

static cudaError_t import_semaphore(cudaExternalSemaphore_t *semaphore,
				    const struct cudaExternalSemaphoreHandleDesc *desc)
{
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC theirs = {0};

	if (!semaphore || !desc)
		return cudaErrorInvalidValue;
	theirs.type = (CUexternalSemaphoreHandleType)desc->type;
	theirs.handle.fd = desc->handle.fd;
	theirs.flags = desc->flags;
	return SG_DRIVER(cuImportExternalSemaphore_v10000, (CUexternalSemaphore *)semaphore,
			 &theirs);
}

SG_API cudaError_t cudaImportExternalMemory(
	cudaExternalMemory_t *extMem_out, const struct cudaExternalMemoryHandleDesc *memHandleDesc)
{
	return SG_IN_CONTEXT(import_memory(extMem_out, memHandleDesc));
}

SG_API cudaError_t
cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
				  const struct cudaExternalMemoryBufferDesc *bufferDesc)
{
	return SG_IN_CONTEXT(map_buffer(devPtr, extMem, bufferDesc));
}

SG_API cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t extMem)
{
	return SG_IN_CONTEXT(SG_DRIVER(cuDestroyExternalMemory_v10000, (CUexternalMemory)extMem));
}

SG_API cudaError_t
cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
			    const struct cudaExternalSemaphoreHandleDesc *semHandleDesc)
{
	return SG_IN_CONTEXT(import_semaphore(extSem_out, semHandleDesc));
}

SG_API cudaError_t
cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
				  const struct cudaExternalSemaphoreSignalParams *paramsArray,
				  unsigned int numExtSems, cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(
		cuSignalExternalSemaphoresAsync_v10000, (const CUexternalSemaphore *)extSemArray,
		(const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *)paramsArray, numExtSems, stream));
}

SG_API cudaError_t
cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
				const struct cudaExternalSemaphoreWaitParams *paramsArray,
				unsigned int numExtSems, cudaStream_t stream)
{
	return SG_IN_CONTEXT(SG_DRIVER(
		cuWaitExternalSemaphoresAsync_v10000, (const CUexternalSemaphore *)extSemArray,
		(const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *)paramsArray, numExtSems, stream));
}

SG_API cudaError_t cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem)
{
	return SG_IN_CONTEXT(
		SG_DRIVER(cuDestroyExternalSemaphore_v10000, (CUexternalSemaphore)extSem));
}
