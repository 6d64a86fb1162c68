#ifndef VS_STACK_H
#define VS_STACK_H

#include "thread.h"

/*
 * The call stack of the outermost hook. Which unwinder does it is nobody else's business.
 */

/*
 * own_start to own_end: where the shim itself lies; its frames belong to no stack. depth: the most
 * frames kept. Once, after vs_private_library_open().
 */
void vs_stack_init(uintptr_t own_start, uintptr_t own_end, uint32_t depth);

/*
 * Fills in *stack but for its id; frames lie in self's scratch memory until the next capture.
 * Without an unwinder the stack is empty. The own thread, inside the recorder.
 */
void vs_stack_capture(struct vs_thread_state *self, struct vs_stack *stack);

/*
 * The child of a fork: another thread of the parent may have held the unwinder's lock, which then
 * nobody here will ever release. Before the first capture.
 */
void vs_stack_begin_in_child(void);

/* From now on all stacks are empty. One thread: a child that may take no lock. */
void vs_stack_do_without(void);

/* Some code was unloaded. Any thread. */
void vs_stack_forget_code(void);

#endif
