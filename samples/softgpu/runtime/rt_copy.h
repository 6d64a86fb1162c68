#ifndef SG_RT_COPY_H
#define SG_RT_COPY_H

#include "runtime.h"

/* Whether a copy is waited for, and where it is queued if not. */
struct sg_rt_copy_how {
	bool async;
	cudaStream_t stream;
};

#pragma GCC visibility push(hidden)
extern const struct sg_rt_copy_how sg_rt_copy_now;

bool sg_rt_copy_is_kind(enum cudaMemcpyKind kind);

/* What the kind says of an end; with cudaMemcpyDefault the driver finds out by the address. */
CUmemorytype sg_rt_copy_source_type(enum cudaMemcpyKind kind);
CUmemorytype sg_rt_copy_target_type(enum cudaMemcpyKind kind);

/* cudaMemcpy and its like, in the current context. */
cudaError_t sg_rt_copy_linear(void *target, const void *source, size_t count,
			      enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how);
#pragma GCC visibility pop

#endif
