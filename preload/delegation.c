#include "delegation.h"

#include "record.h"

/* Its owner is the thread that took its bit in `taken`. */
struct call {
	_Atomic uint32_t serial; /* odd while it is filled in */
	_Atomic int link;        /* enum vs_frame_link */
	_Atomic uint32_t nr_frames;
	_Atomic uint64_t hash; /* never 0 */
	_Atomic uint64_t frames[VS_PYTHON_MAX_FRAMES];
};

static struct call calls[VS_DELEGATION_MAX];
static _Atomic uint64_t taken;
_Atomic uint64_t vs_delegation_active;

/* Calls that found no room. */
static _Atomic uint32_t nr_without;

#define UNCERTAIN UINT64_MAX

static uint32_t take_place(void)
{
	uint64_t bits = atomic_load_explicit(&taken, memory_order_relaxed);

	while (bits != UINT64_MAX) {
		uint32_t i = (uint32_t)__builtin_ctzll(~bits);

		if (atomic_compare_exchange_weak_explicit(&taken, &bits, bits | UINT64_C(1) << i,
							  memory_order_acquire,
							  memory_order_relaxed))
			return i;
	}
	return VS_DELEGATION_NONE;
}

uint64_t vs_delegation_hash(const uint64_t *frames, uint32_t nr_frames)
{
	uint64_t hash = nr_frames;

	for (uint32_t i = 0; i < nr_frames; i++)
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
	return hash ? hash : 1;
}

vs_delegation vs_delegation_begin(enum vs_frame_link link, const uint64_t *frames,
				  uint32_t nr_frames, uint64_t hash, bool is_nested)
{
	uint32_t i = take_place();
	struct call *call = &calls[i < VS_DELEGATION_MAX ? i : 0];
	uint32_t serial;

	if (i == VS_DELEGATION_NONE) {
		atomic_fetch_add_explicit(&nr_without, 1, memory_order_relaxed);
		return VS_DELEGATION_NONE;
	}
	/* Nobody else writes here. Each store behind that of the odd serial: no fence, of which
	 * ThreadSanitizer knows nothing. */
	serial = atomic_load_explicit(&call->serial, memory_order_relaxed);
	atomic_store_explicit(&call->serial, serial + 1, memory_order_relaxed);
	atomic_store_explicit(&call->nr_frames, nr_frames, memory_order_release);
	atomic_store_explicit(&call->link, (int)link, memory_order_release);
	atomic_store_explicit(&call->hash, hash, memory_order_release);
	for (uint32_t k = 0; k < nr_frames; k++)
		atomic_store_explicit(&call->frames[k], frames[k], memory_order_release);
	atomic_store_explicit(&call->serial, serial + 2, memory_order_release);
	if (!is_nested)
		atomic_fetch_or_explicit(&vs_delegation_active, UINT64_C(1) << i,
					 memory_order_release);
	return i;
}

void vs_delegation_end(vs_delegation call)
{
	if (call == VS_DELEGATION_NONE) {
		atomic_fetch_sub_explicit(&nr_without, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_and_explicit(&vs_delegation_active, ~(UINT64_C(1) << call),
				  memory_order_relaxed);
	atomic_fetch_and_explicit(&taken, ~(UINT64_C(1) << call), memory_order_release);
}

void vs_delegation_clear(void)
{
	atomic_store_explicit(&vs_delegation_active, 0, memory_order_relaxed);
	atomic_store_explicit(&taken, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_without, 0, memory_order_relaxed);
}

/* The call that work is done for, or NULL: there is none, or it is one of several. */
static struct call *get_only(uint64_t active)
{
	if (!active || (active & (active - 1)) ||
	    atomic_load_explicit(&nr_without, memory_order_relaxed))
		return NULL;
	return &calls[__builtin_ctzll(active)];
}

uint64_t vs_delegation_recall_active(struct vs_unwind_path *path, uint64_t active)
{
	struct call *call = get_only(active);
	uint64_t hash = call ? atomic_load_explicit(&call->hash, memory_order_relaxed) : UNCERTAIN;

	path->a = (path->a ^ hash) * UINT64_C(0xd6e8feb86659fd93);
	path->b = (path->b ^ hash << 1) * UINT64_C(0x9e3779b97f4a7c15);
	return hash;
}

/* False: it was another call's by the time it was read. */
static bool copy_frames(struct call *call, uint64_t *frames, uint32_t max, uint32_t *nr,
			uint64_t *hash)
{
	uint32_t serial = atomic_load_explicit(&call->serial, memory_order_acquire);
	uint32_t nr_frames = atomic_load_explicit(&call->nr_frames, memory_order_acquire);

	*nr = nr_frames < max ? nr_frames : max;
	*hash = atomic_load_explicit(&call->hash, memory_order_acquire);
	for (uint32_t i = 0; i < *nr; i++)
		frames[i] = atomic_load_explicit(&call->frames[i], memory_order_acquire);
	return !(serial & 1) && atomic_load_explicit(&call->serial, memory_order_relaxed) == serial;
}

/* What the first of them is a call of. */
static enum vs_frame_link get_link(uint64_t active)
{
	return (enum vs_frame_link)atomic_load_explicit(&calls[__builtin_ctzll(active)].link,
							memory_order_acquire);
}

uint32_t vs_delegation_get(uint64_t *frames, uint32_t max, uint64_t *which)
{
	uint64_t active = atomic_load_explicit(&vs_delegation_active, memory_order_acquire);
	struct call *call = get_only(active);
	uint32_t nr = 0;

	*which = 0;
	if (!active || max < 2)
		return 0;
	if (!call || !copy_frames(call, frames + 1, max - 1, &nr, which)) {
		*which = UNCERTAIN;
		frames[0] = vs_frame_make_link(get_link(active) == VS_LINK_EXECUTE
						       ? VS_LINK_EXECUTE_SEVERAL
						       : VS_LINK_SEVERAL);
		return 1;
	}
	frames[0] = vs_frame_make_link(get_link(active));
	return nr ? nr + 1 : 0;
}
