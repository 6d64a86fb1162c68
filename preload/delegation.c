#include "delegation.h"

#include <string.h>

#include "hot.h"
#include "intern.h"
#include "record.h"

/* Calls that are under way, by place, but for nested ones: next to each other, because all of them
 * are looked at for an event. Only the thread that took a place writes there. */
static _Atomic(const struct vs_delegation_call *) calls[VS_DELEGATION_MAX];
static atomic_bool is_taken[VS_DELEGATION_MAX];
VS_HOT_DATA _Atomic uint32_t vs_delegation_nr_places;

/* Calls that have no place. */
static _Atomic uint32_t nr_without;

#define UNCERTAIN UINT64_MAX

/* All calls that there ever were, by what is to be known of them. */
#define MAX_KEPT   32768u
#define KEPT_BYTES (16u << 20)

static struct vs_intern kept;

/* Calls for which there was no room. */
static const struct vs_delegation_call unknown_backward = {.link = VS_LINK_BACKWARD};
static const struct vs_delegation_call unknown_execute = {.link = VS_LINK_EXECUTE};

int vs_delegation_init(void)
{
	return vs_intern_init(&kept, MAX_KEPT, KEPT_BYTES);
}

/* ---- Places ---------------------------------------------------------------------------------- */

vs_delegation vs_delegation_take(void)
{
	for (uint32_t i = 0; i < VS_DELEGATION_MAX; i++) {
		uint32_t nr = atomic_load_explicit(&vs_delegation_nr_places, memory_order_relaxed);

		if (atomic_load_explicit(&is_taken[i], memory_order_relaxed) ||
		    atomic_exchange_explicit(&is_taken[i], true, memory_order_acquire))
			continue;
		while (nr < i + 1 && !atomic_compare_exchange_weak_explicit(
					     &vs_delegation_nr_places, &nr, i + 1,
					     memory_order_relaxed, memory_order_relaxed))
			;
		return i;
	}
	return VS_DELEGATION_NONE;
}

void vs_delegation_give_back(vs_delegation place)
{
	if (place == VS_DELEGATION_NONE)
		return;
	atomic_store_explicit(&calls[place], NULL, memory_order_relaxed);
	atomic_store_explicit(&is_taken[place], false, memory_order_release);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

const struct vs_delegation_call *vs_delegation_keep(enum vs_frame_link link, const uint64_t *frames,
						    uint32_t nr_frames)
{
	const struct vs_delegation_call head = {.link = (uint32_t)link, .nr_frames = nr_frames};
	uint64_t wanted[1 + VS_PYTHON_MAX_FRAMES];
	size_t size = sizeof(head) + nr_frames * sizeof(*frames);
	const struct vs_delegation_call *call;
	uint64_t hash;

	_Static_assert(sizeof(head) == sizeof(wanted[0]), "frames follow at once");
	memcpy(wanted, &head, sizeof(head));
	if (nr_frames)
		memcpy(wanted + 1, frames, nr_frames * sizeof(*frames));
	hash = vs_intern_hash(wanted, size, 0);
	call = vs_intern_find_kept(&kept, hash, wanted, size);
	if (!call)
		call = vs_intern_add(&kept, hash, wanted, size, 1);
	if (!call)
		call = link == VS_LINK_EXECUTE ? &unknown_execute : &unknown_backward;
	return call;
}

VS_HOT void vs_delegation_begin(vs_delegation place, const struct vs_delegation_call *call,
				bool is_nested)
{
	if (place == VS_DELEGATION_NONE)
		atomic_fetch_add_explicit(&nr_without, 1, memory_order_relaxed);
	else if (!is_nested)
		atomic_store_explicit(&calls[place], call, memory_order_release);
}

VS_HOT void vs_delegation_end(vs_delegation place)
{
	if (place == VS_DELEGATION_NONE)
		atomic_fetch_sub_explicit(&nr_without, 1, memory_order_relaxed);
	else
		atomic_store_explicit(&calls[place], NULL, memory_order_release);
}

void vs_delegation_clear(void)
{
	for (uint32_t i = 0; i < VS_DELEGATION_MAX; i++) {
		atomic_store_explicit(&calls[i], NULL, memory_order_relaxed);
		atomic_store_explicit(&is_taken[i], false, memory_order_relaxed);
	}
	atomic_store_explicit(&vs_delegation_nr_places, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_without, 0, memory_order_relaxed);
	vs_intern_clear(&kept);
}

/* ---- For whom a worker works ----------------------------------------------------------------- */

/* The calls under way: how many (2: several, or it is not known which), and the first of them. */
VS_HOT static unsigned find_active(const struct vs_delegation_call **first)
{
	uint32_t nr_places = atomic_load_explicit(&vs_delegation_nr_places, memory_order_relaxed);
	unsigned nr = 0;

	*first = NULL;
	for (uint32_t i = 0; i < nr_places && nr < 2; i++) {
		const struct vs_delegation_call *call =
			atomic_load_explicit(&calls[i], memory_order_acquire);

		if (call && nr++ == 0)
			*first = call;
	}
	if (nr && (atomic_load_explicit(&nr_without, memory_order_relaxed) ||
		   *first == &unknown_execute || *first == &unknown_backward))
		nr = 2;
	return nr;
}

bool vs_delegation_is_any(void)
{
	const struct vs_delegation_call *first;

	return find_active(&first) != 0;
}

VS_HOT uint64_t vs_delegation_recall_places(struct vs_unwind_path *path)
{
	const struct vs_delegation_call *only;
	unsigned nr = find_active(&only);
	uint64_t which;

	if (!nr)
		return 0;
	/* Where it is kept tells it from all others. */
	which = nr == 1 ? (uintptr_t)only : UNCERTAIN;
	path->a = (path->a ^ which) * UINT64_C(0xd6e8feb86659fd93);
	path->b = (path->b ^ which << 1) * UINT64_C(0x9e3779b97f4a7c15);
	return which;
}

uint32_t vs_delegation_get(uint64_t *frames, uint32_t max, uint64_t *which)
{
	const struct vs_delegation_call *first;
	unsigned nr_calls = find_active(&first);
	uint32_t nr;

	*which = 0;
	if (!nr_calls || max < 2)
		return 0;
	if (nr_calls > 1) {
		*which = UNCERTAIN;
		frames[0] = vs_frame_make_link(
			first->link == VS_LINK_EXECUTE ? VS_LINK_EXECUTE_SEVERAL : VS_LINK_SEVERAL);
		return 1;
	}
	*which = (uintptr_t)first;
	if (!first->nr_frames)
		return 0;
	nr = first->nr_frames < max - 1 ? first->nr_frames : max - 1;
	frames[0] = vs_frame_make_link((enum vs_frame_link)first->link);
	memcpy(frames + 1, first->frames, nr * sizeof(*frames));
	return nr + 1;
}
