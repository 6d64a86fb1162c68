#ifndef VS_UNWIND_MEMORY_H
#define VS_UNWIND_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Memory that a walk may load from. A rule may be wrong, a saved register may hold anything, and a
 * stack may be one that we know nothing of (a coroutine's, a signal handler's): whatever is loaded
 * is inside a window, and what is inside a window can be loaded.
 *
 * The thread's own stack is found out once, and stays; it is only looked at again when the stack
 * has grown. Any other stack may be gone by the next capture: its pages are asked about each time.
 */

/* A word may be loaded at any address from start on, size of them. Empty while size is 0. */
struct vs_unwind_window {
	uintptr_t start;
	uintptr_t size;
};

/* The thread's own stack. All zero at first. Only its own thread touches it. */
struct vs_unwind_own_stack {
	struct vs_unwind_window window;
	uintptr_t barrier; /* what lies below this is not part of it */
};

static inline bool vs_unwind_memory_has(const struct vs_unwind_window *window, uintptr_t address)
{
	return address - window->start < window->size;
}

/*
 * Other stacks' words are nobody's variables: sanitizers must not look at them. For the functions
 * that load, and those they are inlined into.
 */
#define VS_UNWIND_UNWATCHED __attribute__((no_sanitize("address", "thread")))

/* From a window that has it. */
VS_UNWIND_UNWATCHED static inline uint64_t vs_unwind_memory_load(uintptr_t address)
{
	/* Any alignment, any type. */
	struct word {
		uint64_t value;
	} __attribute__((packed, may_alias));

	return ((const struct word *)address)->value;
}

/*
 * Makes *window one that has address; what it was before, in this walk, may be kept as a part.
 * False: nothing can be loaded there. Takes no lock; system calls, if the address is not on the
 * thread's own stack or that has grown. Keeps errno. Async-signal-safe.
 */
bool vs_unwind_memory_open(struct vs_unwind_own_stack *own, struct vs_unwind_window *window,
			   uintptr_t address);

/* Whether size bytes can be read right now. Keeps errno. Async-signal-safe. */
bool vs_unwind_memory_is_readable(uintptr_t address, uintptr_t size);

#endif
