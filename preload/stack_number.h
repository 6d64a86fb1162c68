#ifndef VS_STACK_NUMBER_H
#define VS_STACK_NUMBER_H

#include "thread.h"

/*
 * The stack of an event as a number, whose definition is in the log: captured by stack.h, with the
 * frames of Python in their places, and those of another thread that this one works for. A stack
 * that was seen before is recognised by its fingerprint. All of it on the own thread, inside the
 * recorder.
 */

/* The stack of the outermost hook; captured once for all events of it. VS_NO_ID: not known. */
uint32_t vs_stack_number_get(struct vs_thread *thread);

/*
 * The same for a stack that was seen before: thread->stack is its number, or VS_NO_ID if there is
 * none to be had, and nothing is written to the log. False: vs_stack_number_learn() is due.
 */
bool vs_stack_number_recall(struct vs_thread *thread);
void vs_stack_number_learn(struct vs_thread *thread);

/* vs_python_recall_carefully(), of which the thread remembers that it has to be careful. */
struct vs_unwind_path vs_stack_number_recall_python(struct vs_thread_scratch *scratch,
						    const struct vs_python_place *place);

/*
 * The frames of Python of this thread, as a stack has them, into the scratch memory's python.words;
 * their code is defined. Returns how many. *is_deep: there are more.
 */
uint32_t vs_stack_number_get_python(struct vs_thread_state *self, bool *is_deep);

#endif
