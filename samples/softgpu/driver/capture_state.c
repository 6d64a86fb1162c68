#include "capture_state.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "object.h"

/* Guarded by the graph lock. */
static struct sg_capture *captures;
static uint64_t last_id;

/* For who only asks whether there are any: written under the lock, read without. */
static _Atomic unsigned nr_captures;

bool sg_capture_has_any(void)
{
	return atomic_load_explicit(&nr_captures, memory_order_acquire) != 0;
}

unsigned sg_capture_state_get_thread(void)
{
	static _Atomic unsigned last;
	static _Thread_local unsigned mine;

	if (!mine)
		mine = atomic_fetch_add(&last, 1) + 1;
	return mine;
}

struct sg_capture *sg_capture_state_get_first(void)
{
	return captures;
}

static bool is_legacy(CUstream handle)
{
	return !handle || handle == CU_STREAM_LEGACY;
}

static bool is_that_stream(const struct sg_capture_stream *stream, CUstream handle,
			   const struct sg_context *current)
{
	if (handle == CU_STREAM_PER_THREAD || (!handle && stream->is_default))
		return stream->thread == sg_capture_state_get_thread() &&
		       stream->context == current;
	return stream->stream && (const void *)stream->stream == (const void *)handle;
}

struct sg_capture_stream *sg_capture_state_find(CUstream handle)
{
	struct sg_context *current = NULL;

	if ((!handle || handle == CU_STREAM_PER_THREAD) &&
	    sg_context_get_current(&current) != CUDA_SUCCESS)
		return NULL;
	for (const struct sg_capture *c = captures; c; c = c->next)
		for (struct sg_capture_stream *s = c->streams; s; s = s->next)
			if (is_that_stream(s, handle, current))
				return s;
	return NULL;
}

struct sg_capture *sg_capture_state_find_implicit(CUstream handle)
{
	struct sg_context *current;

	if (!is_legacy(handle) || sg_context_get_current(&current) != CUDA_SUCCESS ||
	    sg_capture_state_find(handle))
		return NULL;
	for (struct sg_capture *c = captures; c; c = c->next)
		for (const struct sg_capture_stream *s = c->streams; s; s = s->next)
			if (s->is_blocking && s->context == current)
				return c;
	return NULL;
}

struct sg_capture_stream *sg_capture_state_join(struct sg_capture *capture, CUstream handle)
{
	struct sg_stream *object;
	struct sg_context *context;
	struct sg_capture_stream *stream;

	if (sg_stream_get_context(handle, &object, &context) != CUDA_SUCCESS)
		return NULL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->capture = capture;
	stream->stream = object;
	stream->context = context;
	stream->thread = object ? 0 : sg_capture_state_get_thread();
	stream->is_blocking = !object || !(object->flags & CU_STREAM_NON_BLOCKING);
	stream->next = capture->streams;
	capture->streams = stream;
	return stream;
}

struct sg_capture *sg_capture_state_begin(CUstream handle, struct sg_graph *graph, bool owns_graph,
					  CUstreamCaptureMode mode)
{
	struct sg_capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return NULL;
	capture->origin = sg_capture_state_join(capture, handle);
	if (!capture->origin) {
		free(capture);
		return NULL;
	}
	capture->id = ++last_id;
	capture->graph = graph;
	capture->owns_graph = owns_graph;
	capture->mode = mode;
	capture->thread = sg_capture_state_get_thread();
	capture->next = captures;
	captures = capture;
	graph->nr_captures++;
	atomic_fetch_add_explicit(&nr_captures, 1, memory_order_release);
	return capture;
}

void sg_capture_state_end(struct sg_capture *capture)
{
	struct sg_capture **link = &captures;

	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	atomic_fetch_sub_explicit(&nr_captures, 1, memory_order_release);
	while (capture->streams) {
		struct sg_capture_stream *stream = capture->streams;

		capture->streams = stream->next;
		sg_graph_free_edges(&stream->tips);
		free(stream->tip_nodes);
		free(stream->tip_data);
		free(stream);
	}
	while (capture->events) {
		struct sg_capture_event *event = capture->events;

		capture->events = event->next;
		sg_graph_free_edges(&event->tips);
		free(event);
	}
	capture->graph->nr_captures--;
	if (capture->owns_graph)
		sg_graph_destroy(capture->graph);
	free(capture);
}

CUresult sg_capture_state_add_tips(struct sg_capture_stream *stream,
				   const struct sg_graph_edges *tips)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < tips->nr_items && result == CUDA_SUCCESS; i++) {
		size_t known = 0;

		while (known < stream->tips.nr_items &&
		       stream->tips.items[known].node != tips->items[i].node)
			known++;
		if (known == stream->tips.nr_items)
			result = sg_graph_append_edge(&stream->tips, tips->items[i].node,
						      &tips->items[i].data);
	}
	return result;
}

CUresult sg_capture_state_flatten(struct sg_capture_stream *stream)
{
	size_t nr_tips = stream->tips.nr_items;
	CUgraphNode *nodes = realloc(stream->tip_nodes, (nr_tips + 1) * sizeof(CUgraphNode));
	CUgraphEdgeData *data;

	if (!nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->tip_nodes = nodes;
	data = realloc(stream->tip_data, (nr_tips + 1) * sizeof(*data));
	if (!data)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->tip_data = data;
	for (size_t i = 0; i < nr_tips; i++) {
		nodes[i] = sg_graph_to_node_handle(stream->tips.items[i].node);
		data[i] = stream->tips.items[i].data;
	}
	return CUDA_SUCCESS;
}

static void drop_event(struct sg_capture *capture, const struct sg_event *event)
{
	for (struct sg_capture_event **link = &capture->events; *link; link = &(*link)->next) {
		struct sg_capture_event *found = *link;

		if (found->event != event)
			continue;
		*link = found->next;
		sg_graph_free_edges(&found->tips);
		free(found);
		return;
	}
}

void sg_capture_state_drop_event(const struct sg_event *event)
{
	for (struct sg_capture *c = captures; c; c = c->next)
		drop_event(c, event);
}

CUresult sg_capture_state_set_event(struct sg_capture *capture, const struct sg_event *event,
				    const struct sg_graph_edges *tips)
{
	struct sg_capture_event *recorded;
	CUresult result = CUDA_SUCCESS;

	sg_capture_state_drop_event(event);
	recorded = calloc(1, sizeof(*recorded));
	if (!recorded)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < tips->nr_items && result == CUDA_SUCCESS; i++)
		result = sg_graph_append_edge(&recorded->tips, tips->items[i].node,
					      &tips->items[i].data);
	if (result != CUDA_SUCCESS) {
		sg_graph_free_edges(&recorded->tips);
		free(recorded);
		return result;
	}
	recorded->event = event;
	recorded->next = capture->events;
	capture->events = recorded;
	return CUDA_SUCCESS;
}

struct sg_capture_event *sg_capture_state_find_event(const struct sg_event *event,
						     struct sg_capture **capture)
{
	for (struct sg_capture *c = captures; c; c = c->next)
		for (struct sg_capture_event *e = c->events; e; e = e->next)
			if (e->event == event) {
				*capture = c;
				return e;
			}
	return NULL;
}

bool sg_capture_state_is_joined(const struct sg_capture *capture)
{
	uint64_t mark = sg_graph_mark_ancestors(&capture->origin->tips);

	for (const struct sg_capture_stream *s = capture->streams; s; s = s->next)
		for (size_t i = 0; i < s->tips.nr_items; i++)
			if (s->tips.items[i].node->mark != mark)
				return false;
	return true;
}
