#ifndef VS_LONG_TRACE_H
#define VS_LONG_TRACE_H

#include <stdint.h>

/*
 * Writes a trace of a training of about so many events, the same in every run: weights that stay,
 * activations that come in the forward and go in the backward pass, temporaries, an optimizer's
 * state from the first step on, a block in every eighth step that is never freed, pinned memory of
 * a second thread, phases and steps; a pool that takes segments from the driver as it needs them.
 * 1,100 events a step, 360 sites, about 3,000 blocks alive. -1: it cannot be written.
 */
int long_trace_write(const char *path, uint64_t nr_events);

/* The same in blocks of so many events. */
int long_trace_write_finely(const char *path, uint64_t nr_events, uint64_t flush);

#endif
