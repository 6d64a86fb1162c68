/*
 * Memory and semaphores of other APIs. There is no graphics on this card, so the only memory a
 * descriptor can stand for is that of cuMemExportToShareableHandle, and no descriptor is a
 * semaphore.
 */
#include "external.h"

#include <unistd.h>

#include "memory.h"
#include "object.h"
#include "sharing.h"
#include "stream.h"

/* Guarded by the memory lock. */
struct sg_external {
	struct sg_run *run;
	CUdevice device;
	uint64_t size; /* as the program has said */
};

static struct sg_external *get_external(CUexternalMemory handle)
{
	return sg_object_get(SG_OBJECT_EXTERNAL, handle);
}

/* Locked. */
static CUresult import_memory(const struct sg_share_key *key, const struct sg_share *share,
			      uint64_t size, CUexternalMemory *out)
{
	struct sg_external first = {.device = sg_sharing_find_device(share->device, 0),
				    .size = size};
	struct sg_external *external;
	CUresult result;

	first.run = sg_sharing_open_run(sg_memory_get_space(SG_MEMORY_DEVICE, first.device), key,
					&result);
	if (!first.run)
		return result;
	external = sg_object_create_from(SG_OBJECT_EXTERNAL, &first, sizeof(first));
	if (!external) {
		sg_space_give_run(first.run);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (CUexternalMemory)(void *)external;
	return CUDA_SUCCESS;
}

SG_API CUresult cuImportExternalMemory(CUexternalMemory *extMem_out,
				       const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
	struct sg_card *card;
	struct sg_share_key key;
	struct sg_share share;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!extMem_out || !memHandleDesc || !memHandleDesc->size ||
	    (memHandleDesc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED) ||
	    (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD &&
	     memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD))
		return CUDA_ERROR_INVALID_VALUE;
	card = sg_init_get_card();
	if (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
	    sg_share_identify(card, memHandleDesc->handle.fd, &key) < 0 ||
	    key.kind != SG_SHARE_MEMORY || sg_share_open(card, &key, &share) < 0)
		return CUDA_ERROR_INVALID_HANDLE;
	if (share.device < 0 || memHandleDesc->size > share.size) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		sg_memory_lock();
		result = import_memory(&key, &share, memHandleDesc->size, extMem_out);
		sg_memory_unlock();
	}
	sg_share_close(card, &key);
	/* "Ownership of the file descriptor is transferred to the CUDA driver" */
	if (result == CUDA_SUCCESS)
		close(memHandleDesc->handle.fd);
	return result;
}

/* Locked. Buffers of it have the pages as well, and keep them. */
static void destroy_external(struct sg_external *external)
{
	sg_space_give_run(external->run);
	sg_object_destroy(SG_OBJECT_EXTERNAL, external);
}

static void destroy_if_of(void *object, void *device)
{
	struct sg_external *external = object;

	if (external->device == *(CUdevice *)device)
		destroy_external(external);
}

void sg_external_reset(CUdevice device)
{
	sg_object_for_each(SG_OBJECT_EXTERNAL, destroy_if_of, &device);
}

SG_API CUresult cuDestroyExternalMemory(CUexternalMemory extMem)
{
	struct sg_external *external;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	external = get_external(extMem);
	if (external)
		destroy_external(external);
	else
		result = CUDA_ERROR_INVALID_HANDLE;
	sg_memory_unlock();
	return result;
}

/* Locked. Buffers that overlap would need several blocks at one address: they are refused. */
static CUresult map_buffer(const struct sg_external *external, struct sg_context *context,
			   const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc, CUdeviceptr *address)
{
	struct sg_run *run = external->run;
	uint64_t base = run->pages->node.base + desc->offset, end;
	struct sg_block *block;
	CUresult result;

	if (!desc->size || desc->flags || __builtin_add_overflow(desc->offset, desc->size, &end) ||
	    end > external->size)
		return CUDA_ERROR_INVALID_VALUE;
	block = sg_memory_find_from(base);
	if (block && block->node.base < base + desc->size)
		return CUDA_ERROR_INVALID_VALUE;
	block = sg_memory_create_block();
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->node.base = base;
	block->node.size = desc->size;
	block->kind = SG_MEMORY_EXTERNAL;
	block->device = external->device;
	block->context = context;
	/* One user more of what is open here. */
	block->run = sg_sharing_open_run(run->space, &run->sharing->key, &result);
	sg_memory_insert(block);
	*address = base;
	return CUDA_SUCCESS;
}

SG_API CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
						const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
	struct sg_external *external;
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!devPtr || !bufferDesc)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	external = get_external(extMem);
	result = external ? map_buffer(external, context, bufferDesc, devPtr)
			  : CUDA_ERROR_INVALID_HANDLE;
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuImportExternalSemaphore(CUexternalSemaphore *extSem_out,
					  const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!extSem_out || !semHandleDesc || semHandleDesc->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (semHandleDesc->type) {
	case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD:
		return CUDA_ERROR_INVALID_HANDLE;
	case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD:
		/* CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED */
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

SG_API CUresult cuDestroyExternalSemaphore(CUexternalSemaphore extSem)
{
	CUresult result = sg_init_check();

	(void)extSem;
	return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE : result;
}

/* There is no semaphore that the array could name. */
static CUresult use_semaphores(const void *semaphores, const void *parameters, unsigned nr,
			       CUstream stream)
{
	CUresult result = sg_init_check();

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(stream, NULL);
	if (result != CUDA_SUCCESS)
		return result;
	if (!semaphores || !parameters || !nr)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_INVALID_HANDLE;
}

SG_API CUresult
cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
				const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
				unsigned int numExtSems, CUstream stream)
{
	return use_semaphores(extSemArray, paramsArray, numExtSems, stream);
}

SG_API CUresult
cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
			      const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
			      unsigned int numExtSems, CUstream stream)
{
	return use_semaphores(extSemArray, paramsArray, numExtSems, stream);
}
