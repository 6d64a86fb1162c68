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

/* For pointer attributes: the pool's handle, what it can be shared by, and who can use it. */
CUmemoryPool sg_pool_get_handle(const struct sg_pool *pool);
unsigned sg_pool_get_handle_types(const struct sg_pool *pool);
unsigned sg_pool_get_access(const struct sg_pool *pool, CUdevice device);

#endif
