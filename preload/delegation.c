#include "delegation.h"

#include "hot.h"
#include "record.h"

/* Its owner is the thread that took it, and the only one that writes to it. */
struct place {
	atomic_bool is_taken;
	_Atomic uint32_t serial; /* odd while it is filled in */
	_Atomic int link;        /* enum vs_frame_link */
	_Atomic uint32_t nr_frames;
	_Atomic uint64_t hash; /* never 0 */
	_Atomic uint64_t frames[VS_PYTHON_MAX_FRAMES];
};

static struct place places[VS_DELEGATION_MAX];

/* Of the place of the same number: a call is under way, and not a nested one. Next to each other,
 * because all of them are looked at for an event. */
static atomic_bool is_active[VS_DELEGATION_MAX];
VS_HOT_DATA _Atomic uint32_t vs_delegation_nr_places;

/* Calls that have no place. */
static _Atomic uint32_t nr_without;

#define UNCERTAIN UINT64_MAX

vs_delegation vs_delegation_take(void)
{
	for (uint32_t i = 0; i < VS_DELEGATION_MAX; i++) {
		uint32_t nr = atomic_load_explicit(&vs_delegation_nr_places, memory_order_relaxed);

		if (atomic_load_explicit(&places[i].is_taken, memory_order_relaxed) ||
		    atomic_exchange_explicit(&places[i].is_taken, true, memory_order_acquire))
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
	atomic_store_explicit(&is_active[place], false, memory_order_relaxed);
	atomic_store_explicit(&places[place].is_taken, false, memory_order_release);
}

uint64_t vs_delegation_hash(const uint64_t *frames, uint32_t nr_frames)
{
	uint64_t hash = nr_frames;

	for (uint32_t i = 0; i < nr_frames; i++)
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
	return hash ? hash : 1;
}

VS_HOT void vs_delegation_begin(vs_delegation number, enum vs_frame_link link,
				const uint64_t *frames, uint32_t nr_frames, uint64_t hash,
				bool is_nested)
{
	struct place *place = &places[number < VS_DELEGATION_MAX ? number : 0];
	uint32_t serial;

	if (number == VS_DELEGATION_NONE) {
		atomic_fetch_add_explicit(&nr_without, 1, memory_order_relaxed);
		return;
	}
	/* Each store behind that of the odd serial: no fence, of which ThreadSanitizer knows
	 * nothing. */
	serial = atomic_load_explicit(&place->serial, memory_order_relaxed);
	atomic_store_explicit(&place->serial, serial + 1, memory_order_relaxed);
	atomic_store_explicit(&place->nr_frames, nr_frames, memory_order_release);
	atomic_store_explicit(&place->link, (int)link, memory_order_release);
	atomic_store_explicit(&place->hash, hash, memory_order_release);
	for (uint32_t k = 0; k < nr_frames; k++)
		atomic_store_explicit(&place->frames[k], frames[k], memory_order_release);
	atomic_store_explicit(&place->serial, serial + 2, memory_order_release);
	atomic_store_explicit(&is_active[number], !is_nested, memory_order_release);
}

VS_HOT void vs_delegation_end(vs_delegation number)
{
	if (number == VS_DELEGATION_NONE)
		atomic_fetch_sub_explicit(&nr_without, 1, memory_order_relaxed);
	else
		atomic_store_explicit(&is_active[number], false, memory_order_release);
}

void vs_delegation_clear(void)
{
	for (uint32_t i = 0; i < VS_DELEGATION_MAX; i++) {
		atomic_store_explicit(&is_active[i], false, memory_order_relaxed);
		atomic_store_explicit(&places[i].is_taken, false, memory_order_relaxed);
	}
	atomic_store_explicit(&vs_delegation_nr_places, 0, memory_order_relaxed);
	atomic_store_explicit(&nr_without, 0, memory_order_relaxed);
}

/* The calls under way: how many (2: several), and the first of them. */
VS_HOT static unsigned find_active(struct place **first)
{
	uint32_t nr_places = atomic_load_explicit(&vs_delegation_nr_places, memory_order_relaxed);
	unsigned nr = 0;

	*first = NULL;
	for (uint32_t i = 0; i < nr_places && nr < 2; i++) {
		if (!atomic_load_explicit(&is_active[i], memory_order_acquire))
			continue;
		if (nr++ == 0)
			*first = &places[i];
	}
	if (nr && atomic_load_explicit(&nr_without, memory_order_relaxed))
		nr = 2;
	return nr;
}

bool vs_delegation_is_any(void)
{
	struct place *first;

	return find_active(&first) != 0;
}

VS_HOT uint64_t vs_delegation_recall_places(struct vs_unwind_path *path)
{
	struct place *only;
	unsigned nr = find_active(&only);
	uint64_t hash;

	if (!nr)
		return 0;
	hash = nr == 1 ? atomic_load_explicit(&only->hash, memory_order_relaxed) : UNCERTAIN;
	path->a = (path->a ^ hash) * UINT64_C(0xd6e8feb86659fd93);
	path->b = (path->b ^ hash << 1) * UINT64_C(0x9e3779b97f4a7c15);
	return hash;
}

/* False: it was another call's by the time it was read. */
static bool copy_frames(struct place *call, uint64_t *frames, uint32_t max, uint32_t *nr,
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

uint32_t vs_delegation_get(uint64_t *frames, uint32_t max, uint64_t *which)
{
	struct place *first;
	unsigned nr_calls = find_active(&first);
	enum vs_frame_link link;
	uint32_t nr = 0;

	*which = 0;
	if (!nr_calls || max < 2)
		return 0;
	link = (enum vs_frame_link)atomic_load_explicit(&first->link, memory_order_acquire);
	if (nr_calls > 1 || !copy_frames(first, frames + 1, max - 1, &nr, which)) {
		*which = UNCERTAIN;
		frames[0] = vs_frame_make_link(link == VS_LINK_EXECUTE ? VS_LINK_EXECUTE_SEVERAL
								       : VS_LINK_SEVERAL);
		return 1;
	}
	frames[0] = vs_frame_make_link(link);
	return nr ? nr + 1 : 0;
}
