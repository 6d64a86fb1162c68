#ifndef SG_POOL_H
#define SG_POOL_H

#include "memory.h"

/*
 * Stream-ordered pools. A pool takes pages from the device (or the host) in pieces of 32 MiB where
 * it can, and hands out blocks of them in units of 512 bytes, lowest address first. A block that is
 * freed is reusable at once, because no work is ever outstanding. Pages stay in the pool until it
 * is synchronised or trimmed: then pieces that are wholly free go back while the pool holds more
 * than its threshold.
 *
 * All functions here want the memory lock held, but sg_pool_is_releasable.
 */

/* Free the memory of a block of a pool; the block itself is the caller's to remove. */
void sg_pool_give(struct sg_block *block);

/* Whether any pool of the device may have something to give back. Any thread, no lock. */
bool sg_pool_is_releasable(CUdevice device);
void sg_pool_release_excess(CUdevice device);

/* All blocks of the device are gone: give every page back. */
void sg_pool_reset(CUdevice device);

/*
 * For sharing. An imported pool (sg_pool_import) is one of another process: it hands out nothing,
 * but lets allocations of its be opened (sg_pool_open). The key of a pool is what other processes
 * know it by; id 0: they do not yet.
 */
struct sg_pool *sg_pool_get(CUmemoryPool handle);
struct sg_pool *sg_pool_import(const struct sg_share_key *key, CUdevice device);
bool sg_pool_is_imported(const struct sg_pool *pool);
struct sg_share_key *sg_pool_get_key(struct sg_pool *pool);
CUdevice sg_pool_get_device(const struct sg_pool *pool);

/* A block at an offset of pages that were opened; the run is the block's then. NULL: no memory. */
struct sg_block *sg_pool_open(struct sg_pool *pool, struct sg_run *run, uint64_t offset,
			      uint64_t size);

/* For pointer attributes: the pool's handle, what it can be shared by, and who can use it. */
CUmemoryPool sg_pool_get_handle(const struct sg_pool *pool);
unsigned sg_pool_get_handle_types(const struct sg_pool *pool);
unsigned sg_pool_get_access(const struct sg_pool *pool, CUdevice device);

#endif
