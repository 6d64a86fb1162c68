#ifndef SG_IPC_H
#define SG_IPC_H

#include "memory.h"

/*
 * Handles of 64 bytes by which processes of one card share memory and events (cuIpc*), and pools
 * their allocations (cuMemPoolExportPointer).
 *
 * A handle says which thing of which card; all else is on the card (share.h), so that a handle that
 * was made up or damaged leads nowhere. Two entries are behind memory: that of the pages, which
 * everybody holds who has them, and that of the allocation, which its owner alone holds until it
 * frees it. So a handle of memory that was freed, or whose process is gone, is known as such,
 * though the pages may live on.
 */
struct sg_ipc_handle {
	char magic[8];
	uint64_t card;
	struct sg_share_key thing;
	unsigned char unused[32];
};

/* What a handle is of; one of another sort is refused. */
enum sg_ipc_sort {
	SG_IPC_MEMORY,
	SG_IPC_EVENT,
	SG_IPC_POOL_POINTER,
};

/* A handle of that sort for an entry of the card. */
struct sg_ipc_handle sg_ipc_make_handle(enum sg_ipc_sort sort, const struct sg_share_key *key);

/*
 * What a handle is of. CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE (no handle of that sort),
 * CUDA_ERROR_MAP_FAILED (one of another card), CUDA_ERROR_INVALID_HANDLE (the thing is gone).
 */
SG_MUST_USE CUresult sg_ipc_find(const struct sg_ipc_handle *handle, enum sg_ipc_sort sort,
				 struct sg_share *share);

/*
 * Let other processes know a block by its key, as one of the pool (id 0: none). Its run must be
 * shared. False if the card has no room for it. Memory lock held.
 */
bool sg_ipc_name_block(struct sg_block *block, uint64_t pool);

/* The block goes away: no handle of it can be opened any more. Memory lock held. */
void sg_ipc_forget(struct sg_block *block);

#endif
