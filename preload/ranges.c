#include "ranges.h"

#include <stdatomic.h>

#define BUSY UINT64_MAX /* somebody fills or empties the place */

/* Whoever moves `id` to BUSY owns the rest until it moves it on. */
static struct place {
	_Atomic uint64_t id; /* 0: empty */
	uint32_t name;
	struct vs_clock_instant at;
} places[VS_RANGES_MAX];

static _Atomic uint32_t nr_taken;
static _Atomic uint64_t last_id;

uint64_t vs_ranges_new_id(void)
{
	return atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
}

static bool claim(struct place *place, uint64_t id)
{
	return atomic_load_explicit(&place->id, memory_order_relaxed) == id &&
	       atomic_compare_exchange_strong_explicit(&place->id, &id, BUSY, memory_order_acquire,
						       memory_order_relaxed);
}

bool vs_ranges_add(uint64_t id, uint32_t name, struct vs_clock_instant at)
{
	for (uint32_t i = 0; i < VS_RANGES_MAX; i++) {
		if (!claim(&places[i], 0))
			continue;
		places[i].name = name;
		places[i].at = at;
		atomic_fetch_add_explicit(&nr_taken, 1, memory_order_relaxed);
		atomic_store_explicit(&places[i].id, id, memory_order_release);
		return true;
	}
	return false;
}

static void give_back(struct place *place)
{
	atomic_fetch_sub_explicit(&nr_taken, 1, memory_order_relaxed);
	atomic_store_explicit(&place->id, 0, memory_order_release);
}

bool vs_ranges_remove(uint64_t id)
{
	if (!id || id == BUSY || !atomic_load_explicit(&nr_taken, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < VS_RANGES_MAX; i++) {
		if (claim(&places[i], id)) {
			give_back(&places[i]);
			return true;
		}
	}
	return false;
}

bool vs_ranges_take(uint64_t *id, uint32_t *name, struct vs_clock_instant *at)
{
	if (!atomic_load_explicit(&nr_taken, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < VS_RANGES_MAX; i++) {
		uint64_t found = atomic_load_explicit(&places[i].id, memory_order_relaxed);

		if (!found || found == BUSY || !claim(&places[i], found))
			continue;
		*id = found;
		*name = places[i].name;
		*at = places[i].at;
		give_back(&places[i]);
		return true;
	}
	return false;
}

void vs_ranges_clear(void)
{
	for (uint32_t i = 0; i < VS_RANGES_MAX; i++)
		atomic_store_explicit(&places[i].id, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_taken, 0, memory_order_relaxed);
}
