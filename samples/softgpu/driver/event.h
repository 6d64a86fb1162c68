#ifndef SG_EVENT_H
#define SG_EVENT_H

#include <stdatomic.h>

#include "context.h"
#include "share.h"

struct sg_event {
	struct sg_context *context;
	unsigned flags;
	_Atomic uint64_t recorded_ns; /* CLOCK_MONOTONIC, 0: never recorded */
	/* What other processes know it by; id 0: they do not. Guarded by the memory lock. */
	struct sg_share_key key;
	_Atomic uint64_t captured_in; /* number of the capture it was last recorded in, 0: none */
};

/* CUDA_ERROR_INVALID_HANDLE, or the event. */
SG_MUST_USE CUresult sg_event_get(CUevent handle, struct sg_event **event);

/* All work before it is finished already, so recording takes the time and nothing else. */
void sg_event_record(struct sg_event *event);

void sg_event_destroy_all(struct sg_context *context);

#endif
