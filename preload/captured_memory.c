#include "captured_memory.h"

#include <stdatomic.h>

#include "captures.h"
#include "hot.h"

/*
 * start: 0 is free, TAKEN is being filled in; else the range is valid. Whoever takes a slot stores
 * the size before the start (release).
 */
#define TAKEN 1u

static struct range {
	_Atomic uint64_t start;
	_Atomic uint64_t size;
} ranges[VS_CAPTURED_MEMORY_MAX];

VS_HOT_DATA static _Atomic uint32_t nr_used; /* slots from here on were never taken */

static void raise_used(uint32_t nr)
{
	uint32_t before = atomic_load_explicit(&nr_used, memory_order_relaxed);

	while (before < nr &&
	       !atomic_compare_exchange_weak_explicit(&nr_used, &before, nr, memory_order_release,
						      memory_order_relaxed))
		;
}

static VS_COLD void add(uint64_t address, uint64_t size)
{
	uint64_t none;

	if (address <= TAKEN)
		return;
	for (uint32_t i = 0; i < VS_CAPTURED_MEMORY_MAX; i++) {
		none = 0;
		if (!atomic_compare_exchange_strong_explicit(&ranges[i].start, &none, TAKEN,
							     memory_order_acquire,
							     memory_order_relaxed))
			continue;
		atomic_store_explicit(&ranges[i].size, size, memory_order_relaxed);
		atomic_store_explicit(&ranges[i].start, address, memory_order_release);
		raise_used(i + 1);
		return;
	}
}

void vs_captured_memory_add(uint64_t address, uint64_t size)
{
	if (__builtin_expect(vs_captures_has_any(), 0))
		add(address, size);
}

static VS_COLD void remove_range(uint64_t address, uint32_t nr)
{
	if (address <= TAKEN)
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (atomic_load_explicit(&ranges[i].start, memory_order_relaxed) == address)
			atomic_store_explicit(&ranges[i].start, 0, memory_order_release);
}

void vs_captured_memory_remove(uint64_t address)
{
	uint32_t nr = atomic_load_explicit(&nr_used, memory_order_acquire);

	if (__builtin_expect(nr != 0, 0))
		remove_range(address, nr);
}

static VS_COLD bool has(uint64_t address, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t start = atomic_load_explicit(&ranges[i].start, memory_order_acquire);

		if (start > TAKEN && address >= start &&
		    address - start < atomic_load_explicit(&ranges[i].size, memory_order_relaxed))
			return true;
	}
	return false;
}

bool vs_captured_memory_has(uint64_t address)
{
	uint32_t nr = atomic_load_explicit(&nr_used, memory_order_acquire);

	return __builtin_expect(nr != 0, 0) && has(address, nr);
}
