#include "handles.h"

static uint32_t first_slot(uint64_t handle)
{
	return (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The handle's slot; UINT32_MAX if it has none. */
static uint32_t find_slot(const struct vs_handles *map, uint64_t handle)
{
	for (uint32_t i = 0; handle && i < VS_HANDLES_SLOTS; i++) {
		uint32_t at = (first_slot(handle) + i) & (VS_HANDLES_SLOTS - 1);
		uint64_t key = atomic_load_explicit(&map->slots[at].key, memory_order_relaxed);

		if (key == handle)
			return at;
		if (!key)
			break;
	}
	return UINT32_MAX;
}

static uint32_t make_slot(struct vs_handles *map, uint64_t handle)
{
	for (uint32_t i = 0; handle && i < VS_HANDLES_SLOTS; i++) {
		uint32_t at = (first_slot(handle) + i) & (VS_HANDLES_SLOTS - 1);
		uint64_t key = 0;

		if (atomic_compare_exchange_strong_explicit(&map->slots[at].key, &key, handle,
							    memory_order_relaxed,
							    memory_order_relaxed) ||
		    key == handle)
			return at;
	}
	return UINT32_MAX;
}

uint32_t vs_handles_find(const struct vs_handles *map, uint64_t handle)
{
	uint32_t at = find_slot(map, handle);

	/* Acquire: whatever was prepared for the number is there. */
	return at == UINT32_MAX
		       ? 0
		       : atomic_load_explicit(&map->slots[at].number, memory_order_acquire);
}

uint32_t vs_handles_add(struct vs_handles *map, uint64_t handle, uint32_t number)
{
	uint32_t at = make_slot(map, handle);
	uint32_t before = 0;

	if (at == UINT32_MAX)
		return 0;
	if (atomic_compare_exchange_strong_explicit(&map->slots[at].number, &before, number,
						    memory_order_acq_rel, memory_order_acquire))
		return number;
	return before;
}

uint32_t vs_handles_forget(struct vs_handles *map, uint64_t handle)
{
	uint32_t at = find_slot(map, handle);

	return at == UINT32_MAX
		       ? 0
		       : atomic_exchange_explicit(&map->slots[at].number, 0, memory_order_acq_rel);
}
