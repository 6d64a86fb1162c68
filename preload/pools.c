#include "pools.h"

#include <stdatomic.h>
#include <string.h>

#include "handles.h"

/* Written by the thread that took the number; is_set (release) lets others read it. */
struct row {
	_Atomic uint32_t defined_in;
	atomic_bool is_set;
	struct vs_pool pool;
	char name[VS_POOLS_NAME_MAX];
};

static struct row rows[VS_POOLS_MAX];
static _Atomic uint32_t last_number;
static struct vs_handles driver_pools;

static struct row *find_row(uint32_t number)
{
	if (number == VS_NO_ID || number > VS_POOLS_MAX ||
	    !atomic_load_explicit(&rows[number - 1].is_set, memory_order_acquire))
		return NULL;
	return &rows[number - 1];
}

uint32_t vs_pools_add(const struct vs_pool *pool)
{
	uint32_t number = atomic_load_explicit(&last_number, memory_order_relaxed);
	struct row *row;

	do {
		if (number >= VS_POOLS_MAX)
			return VS_NO_ID;
	} while (!atomic_compare_exchange_weak_explicit(
		&last_number, &number, number + 1, memory_order_relaxed, memory_order_relaxed));
	row = &rows[number];
	row->pool = *pool;
	row->pool.id = number + 1;
	if (row->pool.name.size > sizeof(row->name))
		row->pool.name.size = sizeof(row->name);
	if (row->pool.name.size)
		memcpy(row->name, pool->name.bytes, row->pool.name.size);
	row->pool.name.bytes = row->name;
	atomic_store_explicit(&row->is_set, true, memory_order_release);
	return number + 1;
}

bool vs_pools_get(uint32_t number, struct vs_pool *pool)
{
	const struct row *row = find_row(number);

	if (!row)
		return false;
	*pool = row->pool;
	return true;
}

uint32_t vs_pools_create_driver(uint64_t handle, uint32_t device, uint64_t limit_size)
{
	struct vs_pool pool = {.owner = VS_POOL_DRIVER,
			       .device = device,
			       .limit_size = limit_size,
			       .handle = handle};
	uint32_t number = vs_handles_find(&driver_pools, handle);

	if (number || !handle)
		return number;
	/* When two threads come here at once, one of the two numbers is never used. */
	number = vs_pools_add(&pool);
	return number ? vs_handles_add(&driver_pools, handle, number) : VS_NO_ID;
}

uint32_t vs_pools_get_driver(uint64_t handle, uint32_t device)
{
	return vs_pools_create_driver(handle, device, 0);
}

uint32_t vs_pools_forget_driver(uint64_t handle)
{
	return vs_handles_forget(&driver_pools, handle);
}

bool vs_pools_is_defined(uint32_t number, uint32_t recording)
{
	const struct row *row = find_row(number);

	return row && atomic_load_explicit(&row->defined_in, memory_order_acquire) == recording;
}

void vs_pools_set_defined(uint32_t number, uint32_t recording)
{
	struct row *row = find_row(number);

	if (row)
		atomic_store_explicit(&row->defined_in, recording, memory_order_release);
}
