/*
 * What memory an address is.
 */
#include <string.h>

#include "graph_memory.h"
#include "memory.h"
#include "pool.h"
#include "vmm.h"

SG_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct sg_context *context;
	struct sg_block *block;
	CUresult result = sg_context_get_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	block = sg_memory_find(dptr);
	if (block && pbase)
		*pbase = block->node.base;
	if (block && psize)
		*psize = block->node.size;
	sg_memory_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/*
 * The block at an address, or what would be there while a graph runs: programs ask for memory of
 * a capture before it is launched. Locked.
 */
static struct sg_block *find_block(uint64_t address, struct sg_block *future)
{
	struct sg_block *block = sg_memory_find(address);

	if (block)
		return block;
	return sg_graph_memory_describe(address, future) ? future : NULL;
}

static bool is_on_host(const struct sg_block *block)
{
	return block->kind == SG_MEMORY_PINNED || block->kind == SG_MEMORY_REGISTERED ||
	       (block->kind != SG_MEMORY_MANAGED && block->device < 0);
}

/* The values an attribute can have, whatever its type; bytes are given out as that type. */
union value {
	CUcontext context;
	CUdeviceptr address;
	void *pointer;
	CUmemoryPool pool;
	size_t size;
	unsigned long long number;
	unsigned flags;
	int integer;
};

static size_t size_of(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return sizeof(int);
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return sizeof(unsigned long long);
	default:
		return 0; /* unknown, or tokens of hardware we do not simulate */
	}
}

/* What the device of the current context may do with the memory. Locked. */
static int get_access(const struct sg_block *block)
{
	struct sg_context *context;
	CUdevice device = block->device;

	if (sg_context_get_current(&context) == CUDA_SUCCESS)
		device = context->device;
	if (block->pool && device >= 0)
		return (int)sg_pool_get_access(block->pool, device);
	if (block->kind == SG_MEMORY_MAPPED && device >= 0)
		return block->access[device];
	return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

static unsigned get_handle_types(const struct sg_block *block)
{
	if (block->pool)
		return sg_pool_get_handle_types(block->pool);
	return block->physical ? sg_vmm_get_handle_types(block->physical) : 0;
}

/* The range the program was given: for mapped memory all of the reservation. Locked. */
static const struct sg_node *get_range(const struct sg_block *block)
{
	if (block->kind == SG_MEMORY_MAPPED)
		return sg_vmm_find_reservation(block->node.base);
	return &block->node;
}

/* What the attribute is for memory at the address. Locked. */
static CUresult get_value(const struct sg_block *block, uint64_t address,
			  CUpointer_attribute attribute, union value *value)
{
	bool is_host = is_on_host(block);

	memset(value, 0, sizeof(*value));
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		value->context = (CUcontext)(void *)block->context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		value->flags = is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		value->address = address;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_host && block->kind != SG_MEMORY_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		value->pointer = (void *)(uintptr_t)address;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		value->integer = block->kind == SG_MEMORY_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		value->integer = block->device < 0 ? 0 : block->device;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		value->integer = block->kind == SG_MEMORY_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		value->integer = 1;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		value->integer = block->has_sync_memops;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		value->number = block->id;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		/* of the physical memory: all mappings of it have the same */
		value->number = block->physical ? sg_vmm_get_handle(block->physical) : block->id;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		value->address = get_range(block)->base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		value->size = get_range(block)->size;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		value->address = block->node.base;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		value->size = block->node.size;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		value->integer = get_access(block);
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		value->number = get_handle_types(block);
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		value->pool = block->pool ? sg_pool_get_handle(block->pool) : NULL;
		break;
	default: /* no hardware behind it: zero */
		break;
	}
	return CUDA_SUCCESS;
}

/* The same for an address that is reserved and nothing more. Locked. */
static CUresult get_reserved_value(uint64_t address, CUpointer_attribute attribute,
				   union value *value)
{
	const struct sg_node *range = sg_vmm_find_reservation(address);

	memset(value, 0, sizeof(*value));
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		value->address = range->base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		value->size = range->size;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return CUDA_SUCCESS; /* it is not */
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct sg_block *block, future;
	union value value;
	size_t size = size_of(attribute);
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!data || !size)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = find_block(ptr, &future);
	result = block ? get_value(block, ptr, attribute, &value)
		       : get_reserved_value(ptr, attribute, &value);
	sg_memory_unlock();
	if (result == CUDA_SUCCESS)
		memcpy(data, &value, size);
	return result;
}

/*
 * Unlike the single question, this one has an answer for memory that CUDA does not know: zeros, and
 * -2 for the device.
 */
SG_API CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
				       void **data, CUdeviceptr ptr)
{
	struct sg_block *block, future;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!numAttributes || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < numAttributes; i++)
		if (!data[i] || !size_of(attributes[i]))
			return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = find_block(ptr, &future);
	for (unsigned i = 0; i < numAttributes; i++) {
		union value value;

		memset(&value, 0, sizeof(value));
		if (block && get_value(block, ptr, attributes[i], &value) != CUDA_SUCCESS)
			memset(&value, 0, sizeof(value));
		if (!block && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			value.integer = CU_DEVICE_INVALID;
		memcpy(data[i], &value, size_of(attributes[i]));
	}
	sg_memory_unlock();
	return CUDA_SUCCESS;
}

SG_API CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
				      CUdeviceptr ptr)
{
	struct sg_block *block;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = sg_memory_find(ptr);
	/* All copies are synchronous here: it changes nothing but what is read back. */
	if (block)
		block->has_sync_memops = *(const unsigned *)value != 0;
	sg_memory_unlock();
	return block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
