/*
 * The synchronous calls that make and free memory: device, pitched, managed, pinned, registered.
 *
 * They all are unsafe while a stream captures: the graph could not repeat them.
 */
#include "capture.h"
#include "memory.h"

#define PITCH_UNIT 512

SG_API CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct sg_context *context;
	uint64_t capacity, used;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	/* Either may be left out. */
	sg_card_get_usage(sg_init_get_card(), sg_init_get_index(context->device), &capacity, &used);
	if (free)
		*free = used < capacity ? capacity - used : 0;
	if (total)
		*total = capacity;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || !bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	return sg_memory_alloc(SG_MEMORY_DEVICE, context, bytesize, 0, dptr);
}

SG_API CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
				   size_t Height, unsigned int ElementSizeBytes)
{
	struct sg_context *context;
	size_t pitch, size;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || !pPitch || !WidthInBytes || !Height ||
	    (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (WidthInBytes > SIZE_MAX - PITCH_UNIT)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pitch = (WidthInBytes + PITCH_UNIT - 1) & ~(size_t)(PITCH_UNIT - 1);
	if (__builtin_mul_overflow(pitch, Height, &size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sg_capture_refuse_unsafe();
	if (result == CUDA_SUCCESS)
		result = sg_memory_alloc(SG_MEMORY_DEVICE, context, size, 0, dptr);
	if (result == CUDA_SUCCESS)
		*pPitch = pitch;
	return result;
}

SG_API CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	return sg_memory_alloc(SG_MEMORY_MANAGED, context, bytesize, flags, dptr);
}

SG_API CUresult cuMemFree_v2(CUdeviceptr dptr)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	/* Freeing nothing is no error, as with free(). */
	if (!dptr)
		return CUDA_SUCCESS;
	result = sg_capture_refuse_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	return sg_memory_free(dptr,
			      SG_MEMORY_IS(SG_MEMORY_DEVICE) | SG_MEMORY_IS(SG_MEMORY_MANAGED) |
				      SG_MEMORY_IS(SG_MEMORY_POOL) | SG_MEMORY_IS(SG_MEMORY_GRAPH) |
				      SG_MEMORY_IS(SG_MEMORY_EXTERNAL));
}

SG_API CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
			       CU_MEMHOSTALLOC_WRITECOMBINED;
	struct sg_context *context;
	CUdeviceptr address;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pp || !bytesize || (Flags & ~known))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse_unsafe();
	if (result == CUDA_SUCCESS)
		result = sg_memory_alloc(SG_MEMORY_PINNED, context, bytesize, Flags, &address);
	if (result == CUDA_SUCCESS)
		*pp = (void *)(uintptr_t)address;
	return result;
}

SG_API CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	/* With unified addressing all pinned memory is portable and mapped. */
	return cuMemHostAlloc(pp, bytesize, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
}

SG_API CUresult cuMemFreeHost(void *p)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!p)
		return CUDA_SUCCESS;
	result = sg_capture_refuse_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	return sg_memory_free((uintptr_t)p, SG_MEMORY_IS(SG_MEMORY_PINNED));
}

/* Locked. */
static CUresult register_range(struct sg_context *context, uint64_t address, uint64_t size,
			       unsigned flags)
{
	struct sg_block *block = sg_memory_find_from(address);

	if (block && block->node.base < address + size)
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	block = sg_memory_create_block();
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->node.base = address;
	block->node.size = size;
	block->kind = SG_MEMORY_REGISTERED;
	block->device = context->device;
	block->flags = flags;
	block->context = context;
	sg_memory_insert(block);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
			       CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
	struct sg_context *context;
	uint64_t end;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!p || !bytesize || (Flags & ~known) ||
	    __builtin_add_overflow((uintptr_t)p, bytesize, &end))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	result = register_range(context, (uintptr_t)p, bytesize, Flags);
	sg_memory_unlock();
	return result;
}

SG_API CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	return cuMemHostRegister_v2(p, bytesize, Flags);
}

SG_API CUresult cuMemHostUnregister(void *p)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_refuse_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	result = sg_memory_free((uintptr_t)p, SG_MEMORY_IS(SG_MEMORY_REGISTERED));
	return result == CUDA_SUCCESS ? result : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

/* Pinned or registered memory at an address. Locked. */
static struct sg_block *find_host(const void *p)
{
	struct sg_block *block = sg_memory_find((uintptr_t)p);

	if (!block || (block->kind != SG_MEMORY_PINNED && block->kind != SG_MEMORY_REGISTERED))
		return NULL;
	return block;
}

SG_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	struct sg_context *context;
	struct sg_block *block;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pdptr || !p || Flags)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = find_host(p);
	sg_memory_unlock();
	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	/* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: the same address on both sides. */
	*pdptr = (uintptr_t)p;
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct sg_context *context;
	struct sg_block *block;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pFlags || !p)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = find_host(p);
	if (block)
		*pFlags = block->flags;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}
