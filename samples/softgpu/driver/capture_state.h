#ifndef SG_CAPTURE_STATE_H
#define SG_CAPTURE_STATE_H

#include "capture.h"

/*
 * The captures that go on: which streams and events are in them and how far they are. Everything is
 * guarded by the graph lock, which all functions want held.
 */
struct sg_capture;

/* A stream in a capture. The per-thread stream has no object: it is known by thread and context. */
struct sg_capture_stream {
	struct sg_capture *capture;
	const struct sg_stream *stream; /* NULL: the thread's own, or gone */
	const struct sg_context *context;
	unsigned thread; /* whose own stream it is, 0: nobody's */
	bool is_blocking;
	bool is_default; /* stream 0 is this one to its thread; see cuStreamBeginCapture_v2_ptsz */
	struct sg_graph_edges tips; /* what the next node comes after */
	/* The same as arrays, for who asks; made anew each time. */
	CUgraphNode *tip_nodes;
	CUgraphEdgeData *tip_data;
	struct sg_capture_stream *next;
};

struct sg_capture_event {
	const struct sg_event *event;
	struct sg_graph_edges tips; /* what who waits for it comes after */
	struct sg_capture_event *next;
};

struct sg_capture {
	uint64_t id; /* never used again */
	struct sg_graph *graph;
	bool owns_graph; /* until it ends well */
	CUstreamCaptureMode mode;
	unsigned thread; /* that began it */
	bool is_invalid;
	struct sg_capture_stream *origin; /* in the list, too */
	struct sg_capture_stream *streams;
	struct sg_capture_event *events;
	struct sg_capture *next;
};

/* A number for the calling thread, from 1. Any thread, no lock. */
unsigned sg_capture_state_get_thread(void);

struct sg_capture *sg_capture_state_get_first(void);

/* The capture a stream is in, or NULL. */
struct sg_capture_stream *sg_capture_state_find(CUstream handle);

/* A capture that such work on the default stream would have to wait for, or NULL. */
struct sg_capture *sg_capture_state_find_implicit(CUstream handle);

/* A capture of a stream into a graph, behind nothing yet. NULL when memory is out. */
struct sg_capture *sg_capture_state_begin(CUstream handle, struct sg_graph *graph, bool owns_graph,
					  CUstreamCaptureMode mode);
/* All its streams are free again; its graph goes if it is its own. */
void sg_capture_state_end(struct sg_capture *capture);

/* A stream that is in no capture joins one. NULL when memory is out. */
struct sg_capture_stream *sg_capture_state_join(struct sg_capture *capture, CUstream handle);

/* Add to the tips of a stream, but for those that are there. */
SG_MUST_USE CUresult sg_capture_state_add_tips(struct sg_capture_stream *stream,
					       const struct sg_graph_edges *tips);

/* tip_nodes and tip_data as tips are now. CUDA_ERROR_OUT_OF_MEMORY. */
SG_MUST_USE CUresult sg_capture_state_flatten(struct sg_capture_stream *stream);

/* An event is recorded behind that, in no other capture any more; or in none. */
SG_MUST_USE CUresult sg_capture_state_set_event(struct sg_capture *capture,
						const struct sg_event *event,
						const struct sg_graph_edges *tips);
void sg_capture_state_drop_event(const struct sg_event *event);
struct sg_capture_event *sg_capture_state_find_event(const struct sg_event *event,
						     struct sg_capture **capture);

/* Whether everything that was captured in other streams comes before the origin's tips. */
bool sg_capture_state_is_joined(const struct sg_capture *capture);

#endif
