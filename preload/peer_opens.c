#include "peer_opens.h"

#include <stdatomic.h>
#include <stddef.h>

#define NR_SLOTS  4096 /* a power of two */
#define MAX_STEPS 64

/* A slot belongs to its address for good; addresses come again. Where none is free, what is opened
 * twice is recorded twice, and the analyzer finds that it lies over itself. */
static struct slot {
	_Atomic uint64_t address;
	_Atomic uint32_t nr_opens;
} slots[NR_SLOTS];

/* The slot of an address; with `take` a free one if there is none yet. */
static struct slot *find(uint64_t address, bool take)
{
	uint64_t first = address * 0x9e3779b97f4a7c15u >> 40;

	for (unsigned i = 0; i < MAX_STEPS; i++) {
		struct slot *slot = &slots[(first + i) % NR_SLOTS];
		uint64_t seen = atomic_load(&slot->address);

		if (!seen && take)
			(void)atomic_compare_exchange_strong(&slot->address, &seen, address);
		if (seen == address || (!seen && take))
			return slot;
		if (!seen)
			return NULL;
	}
	return NULL;
}

bool vs_peer_opens_add(uint64_t address)
{
	struct slot *slot = address ? find(address, true) : NULL;

	return slot && atomic_fetch_add(&slot->nr_opens, 1) > 0;
}

bool vs_peer_opens_take(uint64_t address)
{
	struct slot *slot = address ? find(address, false) : NULL;
	uint32_t count = slot ? atomic_load(&slot->nr_opens) : 0;

	while (count > 0)
		if (atomic_compare_exchange_weak(&slot->nr_opens, &count, count - 1))
			return count > 1;
	return false;
}

void vs_peer_opens_forget(void)
{
	for (size_t i = 0; i < NR_SLOTS; i++)
		if (atomic_load_explicit(&slots[i].nr_opens, memory_order_relaxed))
			atomic_store(&slots[i].nr_opens, 0);
}
