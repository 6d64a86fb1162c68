#ifndef VS_RECORDER_PAST_H
#define VS_RECORDER_PAST_H

#include "thread.h"

/*
 * Phases, steps and marks of a thread that were said before there was a log: with the times they
 * had, as the first of its ring. The own thread, inside the recorder.
 */

/* Ticks of the first of them; 0: there is none of this thread. */
uint64_t vs_recorder_past_get_first(struct vs_thread_state *self);

/* Says them, and ranges, which are everybody's. Returns how many were lost. */
uint32_t vs_recorder_past_say(struct vs_thread_state *self);

#endif
