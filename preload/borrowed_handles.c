#include "borrowed_handles.h"

#include <stdatomic.h>
#include <stddef.h>

#define NR_SLOTS  4096 /* a power of two */
#define MAX_STEPS 64

/* A slot belongs to its handle for good; handles are few and come again. Where none is free the
 * release is recorded, and the analyzer finds a free of what is not there. */
static struct slot {
	_Atomic uint64_t handle;
	_Atomic uint32_t nr_references;
} slots[NR_SLOTS];

/* The slot of a handle; with `take` a free one if there is none yet. */
static struct slot *find(uint64_t handle, bool take)
{
	uint64_t first = handle * 0x9e3779b97f4a7c15u >> 40;

	for (unsigned i = 0; i < MAX_STEPS; i++) {
		struct slot *slot = &slots[(first + i) % NR_SLOTS];
		uint64_t seen = atomic_load(&slot->handle);

		if (!seen && take)
			(void)atomic_compare_exchange_strong(&slot->handle, &seen, handle);
		if (seen == handle || (!seen && take))
			return slot;
		if (!seen)
			return NULL;
	}
	return NULL;
}

void vs_borrowed_handles_add(uint64_t handle)
{
	struct slot *slot = handle ? find(handle, true) : NULL;

	if (slot)
		atomic_fetch_add(&slot->nr_references, 1);
}

bool vs_borrowed_handles_take(uint64_t handle)
{
	struct slot *slot = handle ? find(handle, false) : NULL;
	uint32_t count = slot ? atomic_load(&slot->nr_references) : 0;

	while (count > 0)
		if (atomic_compare_exchange_weak(&slot->nr_references, &count, count - 1))
			return true;
	return false;
}
