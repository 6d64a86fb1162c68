#ifndef SG_CONTEXT_H
#define SG_CONTEXT_H

#include "driver.h"

/*
 * Contexts. Each device has one primary context, which comes to life when it is retained; programs
 * may create more. The first context of a process on a device takes the context overhead from the
 * card, and the last one that goes gives it back. Destroying one frees the memory, streams, events
 * and modules that were made in it; resetting a primary one frees everything of its device.
 *
 * Each thread has a stack of contexts; the one on top is current. An entry keeps the number of its
 * context, so that a thread notices when another one destroyed it.
 */
struct sg_context {
	CUdevice device;
	bool is_primary;
	_Atomic bool is_active; /* primary: retained and not reset since */
	unsigned nr_retained;   /* primary; guarded by the context lock */
	unsigned flags;
	_Atomic unsigned long long id; /* never used again */
	size_t limits[CU_LIMIT_MAX];
	CUfunc_cache cache_config;
	CUsharedconfig shared_config;
};

/*
 * The calling thread's context: CUDA_SUCCESS, or CUDA_ERROR_NOT_INITIALIZED,
 * CUDA_ERROR_INVALID_CONTEXT (none is current), CUDA_ERROR_CONTEXT_IS_DESTROYED.
 */
SG_MUST_USE CUresult sg_context_get_current(struct sg_context **context);

/* A context by handle, the current one for NULL; errors as above. */
SG_MUST_USE CUresult sg_context_get(CUcontext handle, struct sg_context **context);

#endif
