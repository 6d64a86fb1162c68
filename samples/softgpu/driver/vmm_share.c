/*
 * Physical memory between processes: descriptors of what cuMemCreate made to be shared.
 */
#include "sharing.h"
#include "vmm.h"

#include <string.h>

#define HOST_PAGE 4096

static bool is_known_type(CUmemAllocationHandleType type)
{
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	       type == CU_MEM_HANDLE_TYPE_WIN32 || type == CU_MEM_HANDLE_TYPE_WIN32_KMT ||
	       type == CU_MEM_HANDLE_TYPE_FABRIC;
}

SG_API CUresult cuMemExportToShareableHandle(void *shareableHandle,
					     CUmemGenericAllocationHandle handle,
					     CUmemAllocationHandleType handleType,
					     unsigned long long flags)
{
	struct sg_physical *physical;
	int fd = -1;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!shareableHandle || flags || !is_known_type(handleType))
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	physical = sg_vmm_get_physical(handle);
	if (physical && (sg_vmm_get_handle_types(physical) & (unsigned)handleType))
		fd = sg_share_export(sg_init_get_card(), &sg_vmm_get_run(physical)->sharing->key);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_memory_unlock();
	if (result != CUDA_SUCCESS)
		return result;
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM; /* no descriptor left */
	memcpy(shareableHandle, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

/* Locked. */
static CUresult import_memory(const struct sg_share_key *key, const struct sg_share *share,
			      CUmemGenericAllocationHandle *handle)
{
	CUdevice device = share->device < 0 ? -1 : sg_sharing_find_device(share->device, 0);
	struct sg_physical *physical;
	struct sg_run *run;
	CUresult result;

	run = sg_sharing_open_run(sg_memory_get_space(SG_MEMORY_MAPPED, device), key, &result);
	if (!run)
		return result;
	physical = sg_vmm_adopt(run, device);
	if (!physical) {
		sg_space_give_run(run);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = sg_vmm_get_handle(physical);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
					       CUmemAllocationHandleType shHandleType)
{
	struct sg_card *card;
	struct sg_share_key key;
	struct sg_share share;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || !is_known_type(shHandleType))
		return CUDA_ERROR_INVALID_VALUE;
	if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	card = sg_init_get_card();
	/* Held meanwhile: somebody may close the descriptor in another thread. */
	if (sg_share_identify(card, (int)(intptr_t)osHandle, &key) < 0 ||
	    key.kind != SG_SHARE_MEMORY || sg_share_open(card, &key, &share) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	result = import_memory(&key, &share, handle);
	sg_memory_unlock();
	sg_share_close(card, &key);
	return result;
}

/* dma-buf is for other hardware, of which there is none: CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED. */
SG_API CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
					      CUmemRangeHandleType handleType,
					      unsigned long long flags)
{
	struct sg_block *block;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || !size || dptr % HOST_PAGE || size % HOST_PAGE ||
	    handleType != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
	    (flags & ~(unsigned long long)CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE))
		return CUDA_ERROR_INVALID_VALUE;
	sg_memory_lock();
	block = sg_memory_find(dptr);
	sg_memory_unlock();
	return block ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}
