#ifndef VS_THREAD_CALLS_H
#define VS_THREAD_CALLS_H

#include "record.h"
#include "thread.h"

/*
 * The calls of a thread that others do the work of (delegation.h), outermost first. One that an
 * exception passed through is over when its thread begins another. The own thread.
 */

/* Inside the recorder. frame: of the hook. VS_DELEGATION_NONE: there is nothing to tell workers. */
uint32_t vs_thread_calls_begin(struct vs_thread_state *self, enum vs_frame_link link,
			       const void *frame);
void vs_thread_calls_end(struct vs_thread_state *self, uint32_t call);

#endif
