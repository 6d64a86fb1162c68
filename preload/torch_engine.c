#include "torch_engine.h"

#include <stdatomic.h>

#include "hot.h"

struct range {
	_Atomic uintptr_t start;
	_Atomic uintptr_t size;
};

VS_HOT_DATA static struct range call_range;
static struct range worker_range;

static void set_range(struct range *range, uintptr_t start, uintptr_t size)
{
	atomic_store_explicit(&range->start, start, memory_order_relaxed);
	atomic_store_explicit(&range->size, size, memory_order_release);
}

void vs_torch_engine_set(uintptr_t call, uintptr_t call_size, uintptr_t worker,
			 uintptr_t worker_size)
{
	set_range(&call_range, call, call_size);
	set_range(&worker_range, worker, worker_size);
}

static bool has(const struct range *range, uint64_t address)
{
	uintptr_t size = atomic_load_explicit(&range->size, memory_order_acquire);

	/* A return address may be the first one behind its function. */
	return address - 1 - atomic_load_explicit(&range->start, memory_order_relaxed) < size;
}

bool vs_torch_engine_is_worker(const uint64_t *frames, uint32_t nr_frames)
{
	while (nr_frames-- > 0) {
		if (has(&worker_range, frames[nr_frames]))
			return true;
		if (has(&call_range, frames[nr_frames]))
			return false;
	}
	return false;
}

uint32_t vs_torch_engine_count_calls(const uint64_t *frames, uint32_t nr_frames)
{
	uint32_t nr = 0;

	if (!atomic_load_explicit(&call_range.size, memory_order_relaxed))
		return UINT32_MAX;
	for (uint32_t i = 0; i < nr_frames; i++)
		nr += has(&call_range, frames[i]);
	return nr;
}
