#include "driver_pools.h"

#include <stdatomic.h>

#include "captures.h"
#include "hot.h"

#define NR_POOLS    128 /* a power of two */
#define MAX_DEVICES 64

/* What each pool held when it was last asked. Entries are taken once and never given back; without
 * a free one every answer counts as a change. */
static struct pool {
	_Atomic uint64_t handle;
	_Atomic uint64_t reserved_size;
	atomic_bool is_asked; /* by vs_driver_pools_sample() */
} pools[NR_POOLS];

/* 0: nobody has used it yet. */
static _Atomic uint64_t default_pools[MAX_DEVICES];
VS_HOT_DATA atomic_bool vs_driver_pools_have_default;

static struct pool *get_pool(uint64_t handle)
{
	uint64_t first = (handle >> 4) * 0x9e3779b97f4a7c15u >> 32;

	for (unsigned i = 0; i < NR_POOLS; i++) {
		struct pool *pool = &pools[(first + i) % NR_POOLS];
		uint64_t seen = atomic_load_explicit(&pool->handle, memory_order_relaxed);

		if (seen == handle ||
		    (!seen && atomic_compare_exchange_strong(&pool->handle, &seen, handle)) ||
		    seen == handle)
			return pool;
	}
	return NULL;
}

static uint64_t get_attribute(const struct vs_real *real, uint64_t pool, CUmemPool_attribute what)
{
	cuuint64_t value = 0;

	if (real->cuMemPoolGetAttribute((CUmemoryPool)(uintptr_t)pool, what, &value) !=
	    CUDA_SUCCESS)
		return UINT64_MAX;
	return value;
}

static void sample(struct vs_call *call, uint64_t handle, uint32_t device)
{
	struct pool *pool = get_pool(handle);
	uint64_t reserved_size, used_size;

	if (!call->real->cuMemPoolGetAttribute || vs_captures_has_any())
		return;
	if (pool)
		atomic_store_explicit(&pool->is_asked, true, memory_order_relaxed);
	reserved_size = get_attribute(call->real, handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
	if (reserved_size == UINT64_MAX ||
	    (pool && atomic_exchange(&pool->reserved_size, reserved_size) == reserved_size))
		return;
	used_size = get_attribute(call->real, handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
	if (used_size != UINT64_MAX)
		vs_recorder_add_pool_state(call->self, vs_recorder_driver_pool(handle, device),
					   reserved_size, used_size);
}

/* Remember a device's default pool at the first use of any pool there. */
static void learn_default(const struct vs_real *real, uint32_t device)
{
	CUmemoryPool pool = NULL;

	if (device >= MAX_DEVICES || atomic_load(&default_pools[device]) ||
	    !real->cuDeviceGetDefaultMemPool ||
	    real->cuDeviceGetDefaultMemPool(&pool, (CUdevice)device) != CUDA_SUCCESS)
		return;
	atomic_store(&default_pools[device], (uintptr_t)pool);
	atomic_store(&vs_driver_pools_have_default, true);
}

void vs_driver_pools_sample(struct vs_call *call, uint64_t pool, uint32_t device)
{
	if (!call->is_recording || !pool || vs_captures_has_any())
		return;
	learn_default(call->real, device);
	sample(call, pool, device);
}

VS_COLD void vs_driver_pools_sample_default(struct vs_call *call, uint32_t device)
{
	uint64_t pool = device < MAX_DEVICES ? atomic_load(&default_pools[device]) : 0;
	struct pool *known = pool ? get_pool(pool) : NULL;

	if (!call->is_recording || !known || !atomic_load(&known->reserved_size))
		return;
	sample(call, pool, device);
}

void vs_driver_pools_note(struct vs_call *call, uint64_t handle, uint32_t device,
			  uint64_t reserved_size, uint64_t used_size)
{
	struct pool *pool = get_pool(handle);

	if (!call->is_recording || !pool || atomic_load(&pool->is_asked) ||
	    (atomic_exchange(&pool->reserved_size, reserved_size) == reserved_size))
		return;
	vs_recorder_add_pool_state(call->self, vs_recorder_driver_pool(handle, device),
				   reserved_size, used_size);
}

void vs_driver_pools_forget(uint64_t pool)
{
	struct pool *known = get_pool(pool);

	if (known)
		atomic_store(&known->reserved_size, 0);
}
