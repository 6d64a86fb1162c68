#ifndef VS_PYTHON_H
#define VS_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python_layout.h"
#include "unwind.h"

/*
 * The Python frames of the calling thread, read from its own thread state: without the GIL, which
 * an allocator's hook must not take, without a call into the interpreter but one that reads a
 * thread-local variable, and without memory. A thread's chain of frames is changed by that thread
 * alone, and frames hold on to their code.
 *
 * The offsets are those of the release; whether they hold is seen from the objects themselves
 * before they are trusted (vs_python_check), and again for every code object that is new
 * (python_code.h). Where they do not, Python frames are left out from then on, with one line.
 */

/* A frame: a code object by its address, and how far it is. */
struct vs_python_frame {
	uintptr_t code;       /* 0: the evaluator has left it, but has not returned yet */
	uint32_t instruction; /* in units of two bytes; UINT32_MAX: not begun */
	bool ends_call;       /* the outermost one of a call of the evaluator */
};

/* Frames of a stack that are kept, the innermost ones. */
#define VS_PYTHON_MAX_FRAMES 256

/* What is known of the interpreter. Written once, then read by any thread. */
struct vs_python {
	struct vs_python_layout layout;
	void *(*get_thread_state)(void);
	int (*is_ending)(void); /* NULL: it cannot be asked */
	uintptr_t code_type;
	uintptr_t text_type;
	uintptr_t bytes_type;
	uintptr_t evaluator; /* the function, in C, that executes frames */
	uintptr_t evaluator_size;
};

extern struct vs_python vs_python;
extern atomic_bool vs_python_is_ready;

/*
 * Looks for an interpreter, if none is known and libraries were loaded since it last looked. Takes
 * the loader's lock for that time, like dlsym: not while an event is recorded. Any thread; one at a
 * time looks, others go on without.
 */
void vs_python_find(void);

/*
 * Checks an interpreter that was found against the frames of this thread, if it has some: from then
 * on it is ready. Rare: when a stack is new. No lock. Any thread.
 */
void vs_python_check(void);

/* No Python from now on, with the reason on stderr. Any thread. */
void vs_python_give_up(const char *reason);

/* Switched off for good, and the child of a fork that looked. One thread. */
void vs_python_init(bool is_off);
void vs_python_begin_in_child(void);

/*
 * Where this thread is in its innermost frame. While it is in one call of a function in C that does
 * not call Python, all its frames are the same, and so is this.
 */
struct vs_python_place {
	uintptr_t frame; /* 0: none */
	uintptr_t code;
	uint64_t position;
};

static inline bool vs_python_is_same_place(const struct vs_python_place *a,
					   const struct vs_python_place *b)
{
	return a->frame == b->frame && a->code == b->code && a->position == b->position;
}

/* False: it has no frames. */
bool vs_python_get_place(struct vs_python_place *place);

/*
 * The frames of this thread, from its innermost one on. Carefully: the same path as before if and
 * only if the stack of Python is the same. *is_passing: some of its code is made at run time, and
 * may be gone soon (up to 3.11, under a name that is no file's).
 *
 * Otherwise the names of files are not looked at, which the cache has to fetch from all over. That
 * is the same path if nothing is passing, and one that means nothing if anything is: so it may be
 * looked for among paths that were recalled carefully, and must not become one of them.
 */
struct vs_unwind_path vs_python_recall(const struct vs_python_place *place);
struct vs_unwind_path vs_python_recall_carefully(const struct vs_python_place *place,
						 bool *is_passing);

/* The innermost frames, at most max; returns how many. *is_deep: there are more. */
uint32_t vs_python_walk(struct vs_python_frame *frames, uint32_t max, bool *is_deep);

/* Whether a return address lies in the evaluator. */
static inline bool vs_python_is_evaluator(uint64_t address)
{
	return address - 1 - vs_python.evaluator < vs_python.evaluator_size;
}

#endif
