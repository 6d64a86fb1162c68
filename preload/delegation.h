#ifndef VS_DELEGATION_H
#define VS_DELEGATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python.h"
#include "record.h"

/*
 * Work that other threads do for the one that asked for it. PyTorch's backward() hands its graph to
 * threads that have no Python frames of their own, and waits for them: what these allocate was
 * asked for by the line that called it. While a call is under way, its Python frames stand in a
 * table that everybody can read; no thread ever reads another thread's state.
 *
 * Which call a worker works for is known if there is one; of several it is one of them.
 *
 * Lock-free. A call that finds no room is counted, and makes all others uncertain.
 */
#define VS_DELEGATION_MAX 64

/* A call by number, VS_DELEGATION_NONE: it had no room. */
typedef uint32_t vs_delegation;
#define VS_DELEGATION_NONE UINT32_MAX

/* Frames as a number, which is never 0. Any thread. */
uint64_t vs_delegation_hash(const uint64_t *frames, uint32_t nr_frames);

/*
 * The calling thread has this done by others. frames: as a stack has them, at most
 * VS_PYTHON_MAX_FRAMES; hash: theirs. link: VS_LINK_BACKWARD or VS_LINK_EXECUTE. is_nested: it is
 * itself such a worker, and the call is part of another one.
 */
vs_delegation vs_delegation_begin(enum vs_frame_link link, const uint64_t *frames,
				  uint32_t nr_frames, uint64_t hash, bool is_nested);
void vs_delegation_end(vs_delegation call);

/* No call is under way: a new recording, or the child of a fork. One thread. */
void vs_delegation_clear(void);

/* Calls under way that are not nested: a bit for each; all bits: it cannot be told. */
extern _Atomic uint64_t vs_delegation_active;

/*
 * Mixes the calls under way into *path, if there are any. Returns a number for what they are: 0 for
 * none. Any thread.
 */
uint64_t vs_delegation_recall_active(struct vs_unwind_path *path, uint64_t active);

static inline uint64_t vs_delegation_recall(struct vs_unwind_path *path)
{
	uint64_t active = atomic_load_explicit(&vs_delegation_active, memory_order_acquire);

	return __builtin_expect(active != 0, 0) ? vs_delegation_recall_active(path, active) : 0;
}

/*
 * What stands outside of the frames of a worker: a marker, and the frames of the call if it is
 * certain. Writes at most max; returns how many, 0 if no call is under way. *which: what calls
 * these are, as a number that vs_delegation_recall gives for them. Any thread.
 */
uint32_t vs_delegation_get(uint64_t *frames, uint32_t max, uint64_t *which);

#endif
