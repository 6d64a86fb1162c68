#ifndef VS_DELEGATION_H
#define VS_DELEGATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "python.h"
#include "record.h"

/*
 * Work that other threads do for the one that asked for it. PyTorch's backward() hands its graph to
 * threads that have no Python frames of their own, and waits for them: what these allocate was
 * asked for by the line that called it. While a call is under way, its Python frames stand in a
 * table that everybody can read; no thread ever reads another thread's state.
 *
 * A thread takes a place in the table, and keeps it: it may make a call for every operation, and to
 * take one each time would make it wait for all that it has stored. What stands there is where the
 * frames were kept when they were first seen, so that a call is one store, and its end another one.
 * Which call a worker works for is known if there is one; of several it is one of them.
 *
 * Lock-free. A call that has no place, or whose frames found no room, makes all others uncertain.
 */
#define VS_DELEGATION_MAX 256

/* A place by number, VS_DELEGATION_NONE: there was none. */
typedef uint32_t vs_delegation;
#define VS_DELEGATION_NONE UINT32_MAX

/* A place for the calls of this thread, one at a time; until it is given back. */
vs_delegation vs_delegation_take(void);
void vs_delegation_give_back(vs_delegation place);

/* Makes room for frames. -VS_ERR_NO_MEMORY: all calls are uncertain. Once. */
VS_MUST_CHECK int vs_delegation_init(void);

/* What is to be known of a call, until vs_delegation_clear(): its frames as a stack has them. */
struct vs_delegation_call {
	uint32_t link; /* VS_LINK_BACKWARD or VS_LINK_EXECUTE */
	uint32_t nr_frames;
	uint64_t frames[];
};

/* Keeps that, unless it is kept already. At most VS_PYTHON_MAX_FRAMES. Any thread. */
const struct vs_delegation_call *vs_delegation_keep(enum vs_frame_link link, const uint64_t *frames,
						    uint32_t nr_frames);

/*
 * The calling thread, whose place it is, has this done by others. is_nested: it is itself such a
 * worker, and the call is part of another one.
 */
void vs_delegation_begin(vs_delegation place, const struct vs_delegation_call *call,
			 bool is_nested);
void vs_delegation_end(vs_delegation place);

/* No call is under way, no place is taken: a new recording, or the child of a fork. One thread. */
void vs_delegation_clear(void);

/* So many places have ever been taken: there are no calls in the others. */
extern _Atomic uint32_t vs_delegation_nr_places;

/* Whether any call is under way that is not nested. Any thread. */
bool vs_delegation_is_any(void);

/*
 * Mixes the calls under way into *path, if there are any. Returns a number for what they are: 0 for
 * none. Any thread.
 */
uint64_t vs_delegation_recall_places(struct vs_unwind_path *path);

static inline uint64_t vs_delegation_recall(struct vs_unwind_path *path)
{
	return atomic_load_explicit(&vs_delegation_nr_places, memory_order_relaxed)
		       ? vs_delegation_recall_places(path)
		       : 0;
}

/*
 * What stands outside of the frames of a worker: a marker, and the frames of the call if it is
 * certain. Writes at most max; returns how many, 0 if no call is under way. *which: what calls
 * these are, as a number that vs_delegation_recall gives for them. Any thread.
 */
uint32_t vs_delegation_get(uint64_t *frames, uint32_t max, uint64_t *which);

#endif
