#ifndef VS_STACK_H
#define VS_STACK_H

#include "loaded_object.h"
#include "thread.h"

/*
 * The call stack of the outermost hook. Which unwinder does it is nobody else's business: our own
 * (unwind.h) as a rule, which takes no lock; libunwind where code is described in a way that is
 * beyond ours, or the processor is one we have no rules for.
 */

/*
 * own_start to own_end: where the shim itself lies; its frames belong to no stack. depth: the most
 * frames kept. Once, after vs_private_library_open().
 */
void vs_stack_init(uintptr_t own_start, uintptr_t own_end, uint32_t depth);

/*
 * Fills in *stack but for its id; frames lie in self's scratch memory until the next capture. The
 * innermost frames are kept. is_deep: there are more than the depth; is_cut: code that nobody
 * describes is in the way. Without an unwinder the stack is empty. The own thread, inside the
 * recorder.
 */
void vs_stack_capture(struct vs_thread_state *self, struct vs_stack *stack);

/*
 * Which stack vs_stack_capture() would find, if this thread has learned it before: the same path as
 * then, the same stack; any other path means nothing. False: it has to be captured. Learn: the path
 * that is recalled next will mean the stack; false: it cannot. The own thread, inside the recorder.
 */
bool vs_stack_recall(struct vs_thread_state *self, struct vs_unwind_path *path);
bool vs_stack_learn(struct vs_thread_state *self);

/*
 * Hear: the stack, if it is the one that came next last time; otherwise NULL. Confirm: it was
 * recalled, and its path means a stack, so it will be heard next time; what is kept of it, or NULL.
 * The own thread, inside the recorder.
 */
static inline struct vs_unwind_echo *vs_stack_hear(struct vs_thread_state *self)
{
	return vs_unwind_hear(&self->scratch->unwind, self->base.frame);
}

struct vs_unwind_echo *vs_stack_confirm(struct vs_thread_state *self,
					const struct vs_unwind_path *path);

/*
 * What vs_stack_recall() will need is fetched into the cache meanwhile. frame: of the hook, whose
 * outermost it is. Keep: it was just recalled as this path, and is to be fetched next time. The own
 * thread.
 */
void vs_stack_expect(const void *frame);
void vs_stack_keep(struct vs_thread_state *self, const struct vs_unwind_path *path);

/*
 * The child of a fork: another thread of the parent may have held libunwind's lock, which then
 * nobody here will ever release. Before the first capture.
 */
void vs_stack_begin_in_child(void);

/*
 * From now on nothing is done that takes a lock: stacks that need libunwind are cut. One thread: a
 * child that libc knows nothing of, instead of the above.
 */
void vs_stack_do_without(void);

/*
 * A library whose frames are not the program's where they are the innermost ones: told_calls.h. It
 * stays loaded. At most eight; one thread at a time.
 */
void vs_stack_hide(const struct vs_loaded_object *object);

/* Some code was unloaded. Any thread. */
void vs_stack_forget_code(void);

#endif
