#ifndef SG_STREAM_H
#define SG_STREAM_H

#include "context.h"

struct sg_stream {
	struct sg_context *context;
	unsigned flags;
	int priority;
	unsigned long long id;
	CUsynchronizationPolicy sync_policy;
	/* Attributes that are kept and read back and have no other effect. */
	CUaccessPolicyWindow access_policy;
	CUlaunchMemSyncDomainMap domain_map;
	CUlaunchMemSyncDomain domain;
	unsigned nvlink_scheduling;
};

/*
 * Resolve a stream argument, in a call that already has its context: NULL, CU_STREAM_LEGACY and
 * CU_STREAM_PER_THREAD stand for the context's own (*stream is set to NULL); an unknown handle is
 * CUDA_ERROR_INVALID_HANDLE. stream may be NULL if the caller only wants the check.
 */
SG_MUST_USE CUresult sg_stream_get(CUstream handle, struct sg_stream **stream);

/*
 * The same with the context it is in, for calls that take it from the stream: the stream's own, or
 * the current one for the streams that every context has. context may be NULL.
 */
SG_MUST_USE CUresult sg_stream_get_context(CUstream handle, struct sg_stream **stream,
					   struct sg_context **context);

/* Destroy the streams and events of a context that goes away. */
void sg_stream_destroy_all(struct sg_context *context);

#endif
