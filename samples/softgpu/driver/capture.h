#ifndef SG_CAPTURE_H
#define SG_CAPTURE_H

#include "event.h"
#include "graph.h"
#include "stream.h"

/*
 * Stream capture. While a stream captures, what is put on it becomes nodes of a graph instead of
 * being done. A capture begins in one stream; other streams join it by waiting for an event that
 * was recorded in it, and must be waited for before it ends.
 *
 * A call that cannot be captured, or that could not be repeated with the graph, fails and
 * invalidates the captures that forbid it. All functions may be called by any thread; without any
 * capture in the process they cost a load.
 */

/* Whether any stream of the process captures. */
bool sg_capture_has_any(void);

/*
 * A call puts work on a stream: the work becomes a node (*is_captured; params gets what adding a
 * node gives), or is to be done now. Errors: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
 * CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (the default stream while a stream captures that waits for
 * it), and what adding the node gives.
 */
SG_MUST_USE CUresult sg_capture_enqueue(CUstream stream, CUgraphNodeParams *params,
					bool *is_captured);

/* The same for a launch with attributes, which become those of the node. */
SG_MUST_USE CUresult sg_capture_enqueue_launch(const CUlaunchConfig *config, CUfunction function,
					       void **extra, bool is_cooperative,
					       bool *is_captured);

/* The same for a graph, which becomes a child. */
SG_MUST_USE CUresult sg_capture_enqueue_graph(CUstream stream, struct sg_graph *graph,
					      bool *is_captured);

/* Whether the stream captures, for calls that behave differently. */
bool sg_capture_is_on(CUstream stream);

/* Work that cannot be a node: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if the stream captures. */
SG_MUST_USE CUresult sg_capture_refuse(CUstream stream);

/* The same for all streams of a context, which is waited for. */
SG_MUST_USE CUresult sg_capture_refuse_context(const struct sg_context *context);

/* A call that captures do not see, such as an allocation: the same, unless the modes allow it. */
SG_MUST_USE CUresult sg_capture_refuse_unsafe(void);

/* A copy that waits and uses the default stream: both of the above. */
SG_MUST_USE CUresult sg_capture_refuse_synchronous(void);

/* An event is recorded, or waited for by a stream. */
SG_MUST_USE CUresult sg_capture_record(CUstream stream, CUevent event, unsigned flags,
				       bool *is_captured);
SG_MUST_USE CUresult sg_capture_wait(CUstream stream, CUevent event, unsigned flags,
				     bool *is_captured);

/* CUDA_ERROR_CAPTURED_EVENT if it was last recorded in a capture. */
SG_MUST_USE CUresult sg_capture_check_event(const struct sg_event *event);

/* These go away, and what they captured with them. */
void sg_capture_forget_event(const struct sg_event *event);
void sg_capture_forget_stream(const struct sg_stream *stream);
void sg_capture_forget_context(const struct sg_context *context);

#endif
