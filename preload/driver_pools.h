#ifndef VS_DRIVER_POOLS_H
#define VS_DRIVER_POOLS_H

#include <stdatomic.h>

#include "hooks.h"

/*
 * Bytes that the driver's stream-ordered pools hold. The driver tells nobody when that changes, so
 * it is asked where it can have changed, and a record is written if it has. Never while a stream
 * captures. Any thread.
 */

/* A pool that the calling thread has just used: it exists. */
void vs_driver_pools_sample(struct vs_call *call, uint64_t pool, uint32_t device);

/* Set for good as soon as any device's default pool is known. */
extern atomic_bool vs_driver_pools_have_default;

/* Whether the next one may have something to do. */
static inline bool vs_driver_pools_has_default(void)
{
	return atomic_load_explicit(&vs_driver_pools_have_default, memory_order_relaxed);
}

/*
 * A device's default pool, if memory was ever taken from it. Only the default one: it is never
 * destroyed, while any other might be, by another thread, as we ask.
 */
void vs_driver_pools_sample_default(struct vs_call *call, uint32_t device);

/* What a pool holds was found out otherwise, and late: nothing of one that calls tell of. */
void vs_driver_pools_note(struct vs_call *call, uint64_t pool, uint32_t device,
			  uint64_t reserved_size, uint64_t used_size);

/* A pool is gone; its handle may come again. */
void vs_driver_pools_forget(uint64_t pool);

#endif
