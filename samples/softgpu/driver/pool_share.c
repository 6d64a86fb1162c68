/*
 * Pools between processes: a descriptor of the pool, and 64 bytes for each allocation of it.
 */
#include <string.h>

#include "ipc.h"
#include "pool.h"
#include "sharing.h"

_Static_assert(sizeof(struct sg_ipc_handle) <= sizeof(CUmemPoolPtrExportData),
	       "export data is opaque bytes");

/* Fabric is for several machines, the others are for Windows. */
static CUresult check_type(CUmemAllocationHandleType type, unsigned long long flags)
{
	if (flags || type == CU_MEM_HANDLE_TYPE_NONE)
		return CUDA_ERROR_INVALID_VALUE;
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_SUCCESS
								: CUDA_ERROR_NOT_SUPPORTED;
}

/* Give the pool a name that others can know it by. Locked. */
static CUresult name_pool(struct sg_pool *pool)
{
	struct sg_share share = {.device = sg_init_get_index(sg_pool_get_device(pool))};
	struct sg_share_key *key = sg_pool_get_key(pool);

	if (!key->id && sg_share_create(sg_init_get_card(), SG_SHARE_POOL, &share, key) < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

/* A pool of this process that was made to be shared. */
static bool is_shareable(const struct sg_pool *pool)
{
	return pool && !sg_pool_is_imported(pool) && sg_pool_get_handle_types(pool);
}

SG_API CUresult cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
						 CUmemAllocationHandleType handleType,
						 unsigned long long flags)
{
	struct sg_pool *shared;
	int fd = -1;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle_out)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_type(handleType, flags);
	if (result != CUDA_SUCCESS)
		return result;
	sg_memory_lock();
	shared = sg_pool_get(pool);
	result = is_shareable(shared) ? name_pool(shared) : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		fd = sg_share_export(sg_init_get_card(), sg_pool_get_key(shared));
	sg_memory_unlock();
	if (result != CUDA_SUCCESS)
		return result;
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM; /* no descriptor left */
	memcpy(handle_out, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
						   CUmemAllocationHandleType handleType,
						   unsigned long long flags)
{
	struct sg_pool *pool;
	struct sg_card *card;
	struct sg_share_key key;
	struct sg_share share;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pool_out)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_type(handleType, flags);
	if (result != CUDA_SUCCESS)
		return result;
	card = sg_init_get_card();
	if (sg_share_identify(card, (int)(intptr_t)handle, &key) < 0 || key.kind != SG_SHARE_POOL ||
	    sg_share_open(card, &key, &share) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	pool = sg_pool_import(&key, sg_sharing_find_device(share.device, 0));
	sg_memory_unlock();
	if (!pool) {
		sg_share_close(card, &key);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*pool_out = sg_pool_get_handle(pool);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
	struct sg_ipc_handle handle;
	struct sg_block *block;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!shareData_out)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = sg_memory_find(ptr);
	if (block && block->node.base == ptr && is_shareable(block->pool))
		result = name_pool(block->pool);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && !sg_ipc_name_block(block, sg_pool_get_key(block->pool)->id))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		handle = sg_ipc_make_handle(SG_IPC_POOL_POINTER, &block->key);
	sg_memory_unlock();
	if (result == CUDA_SUCCESS) {
		memset(shareData_out, 0, sizeof(*shareData_out));
		memcpy(shareData_out, &handle, sizeof(handle));
	}
	return result;
}

/* Locked. */
static CUresult import_pointer(struct sg_pool *pool, const struct sg_share *share,
			       CUdeviceptr *address)
{
	struct sg_block *block;
	struct sg_run *run;
	uint64_t base;
	CUresult result;

	run = sg_sharing_open_run(sg_memory_get_space(SG_MEMORY_POOL, sg_pool_get_device(pool)),
				  &share->pages, &result);
	if (!run) /* the documentation has no other word for memory that is gone */
		return result == CUDA_ERROR_OUT_OF_MEMORY ? result : CUDA_ERROR_INVALID_VALUE;
	base = run->pages->node.base + share->offset;
	block = sg_memory_find_from(base);
	if (block && block->node.base < base + share->length) {
		result = CUDA_ERROR_INVALID_VALUE; /* imported already, or this process's own */
	} else if (sg_pool_open(pool, run, share->offset, share->length)) {
		*address = base;
		return CUDA_SUCCESS;
	} else {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	sg_space_give_run(run);
	return result;
}

SG_API CUresult cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
				       CUmemPoolPtrExportData *shareData)
{
	struct sg_ipc_handle handle;
	struct sg_pool *imported;
	struct sg_share share;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ptr_out || !shareData)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&handle, shareData, sizeof(handle));
	if (sg_ipc_find(&handle, SG_IPC_POOL_POINTER, &share) != CUDA_SUCCESS || !share.pool)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	imported = sg_pool_get(pool);
	if (imported && sg_pool_is_imported(imported) &&
	    sg_pool_get_key(imported)->id == share.pool)
		result = import_pointer(imported, &share, ptr_out);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	return result;
}
