#include "capture.h"

#include <stdlib.h>

#include "capture_state.h"
#include "kernel.h"

/* Modes are looked at by the thread itself alone. */
static _Thread_local CUstreamCaptureMode mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

static CUresult invalidate(struct sg_capture *capture, CUresult result)
{
	capture->is_invalid = true;
	return result;
}

/*
 * The capture state work on a stream meets: *stream is NULL if it is to be done now. Graph lock
 * held.
 */
static CUresult meet(CUstream handle, struct sg_capture_stream **stream)
{
	struct sg_capture *implicit = sg_capture_state_find_implicit(handle);

	*stream = NULL;
	if (implicit)
		return invalidate(implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	*stream = sg_capture_state_find(handle);
	if (*stream && (*stream)->capture->is_invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return CUDA_SUCCESS;
}

/* Add a node behind the tips of a stream; it is then the only tip. */
static CUresult add_node(struct sg_capture_stream *stream, CUgraphNodeParams *params,
			 struct sg_graph_node **node)
{
	CUresult result = sg_capture_state_flatten(stream);

	if (result == CUDA_SUCCESS)
		result = sg_graph_add_node(stream->capture->graph, stream->tip_nodes,
					   stream->tip_data, stream->tips.nr_items, params, node);
	if (result != CUDA_SUCCESS)
		return invalidate(stream->capture, result);
	stream->tips.nr_items = 0;
	result = sg_graph_append_edge(&stream->tips, *node, NULL);
	return result == CUDA_SUCCESS ? result : invalidate(stream->capture, result);
}

/* Nothing to be done is no node. */
static bool is_nothing(const CUgraphNodeParams *params)
{
	const CUDA_MEMCPY3D *copy = &params->memcpy.copyParams;

	if (params->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		return !copy->WidthInBytes || !copy->Height || !copy->Depth;
	return params->type == CU_GRAPH_NODE_TYPE_MEMSET &&
	       (!params->memset.width || !params->memset.height);
}

CUresult sg_capture_enqueue(CUstream stream, CUgraphNodeParams *params, bool *is_captured)
{
	struct sg_capture_stream *found;
	struct sg_graph_node *node;
	CUresult result;

	*is_captured = false;
	if (!sg_capture_has_any())
		return CUDA_SUCCESS;
	sg_graph_lock();
	result = meet(stream, &found);
	if (result == CUDA_SUCCESS && found) {
		*is_captured = true;
		if (!is_nothing(params))
			result = add_node(found, params, &node);
	}
	sg_graph_unlock();
	return result;
}

/* ---- Launches ---- */

static CUresult keep_attributes(struct sg_graph_node *node, const CUlaunchConfig *config,
				bool is_cooperative)
{
	struct sg_graph_attributes *kept;

	if (!config->numAttrs && !is_cooperative)
		return CUDA_SUCCESS;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		kept->values[config->attrs[i].id] = config->attrs[i].value;
		kept->is_set |= 1u << config->attrs[i].id;
	}
	if (is_cooperative) {
		kept->values[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 1;
		kept->is_set |= 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	}
	node->attributes = kept;
	return CUDA_SUCCESS;
}

/* A launch that need not wait for the end of the kernel before it says so in its edges. */
static void loosen_tips(struct sg_capture_stream *stream, const CUlaunchConfig *config)
{
	bool is_loose = false;

	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
			is_loose = config->attrs[i].value.programmaticStreamSerializationAllowed;
	for (size_t i = 0; is_loose && i < stream->tips.nr_items; i++) {
		struct sg_graph_edge *tip = &stream->tips.items[i];

		if (tip->node->params.type == CU_GRAPH_NODE_TYPE_KERNEL)
			tip->data = (CUgraphEdgeData){
				.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
				.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
	}
}

/* Events that a launch records are in the capture, too. */
static CUresult record_events(struct sg_capture_stream *stream, struct sg_graph_node *node,
			      const CUlaunchConfig *config)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < config->numAttrs && result == CUDA_SUCCESS; i++) {
		const CUlaunchAttribute *attribute = &config->attrs[i];
		struct sg_graph_edge tip = {node, {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC}};
		const struct sg_graph_edges tips = {&tip, 1, 1};
		struct sg_event *event;
		CUevent handle;

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
			handle = attribute->value.programmaticEvent.event;
			tip.data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
		} else if (attribute->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
			handle = attribute->value.launchCompletionEvent.event;
			tip.data.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
		} else {
			continue;
		}
		if (sg_event_get(handle, &event) != CUDA_SUCCESS)
			continue; /* the launch has checked it */
		event->captured_in = stream->capture->id;
		result = sg_capture_state_set_event(stream->capture, event, &tips);
	}
	return result;
}

static CUresult add_launch(struct sg_capture_stream *stream, const CUlaunchConfig *config,
			   CUfunction function, void **extra, bool is_cooperative)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	struct sg_graph_node *node;
	CUresult result;

	params.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){
		.func = function,
		.gridDimX = config->gridDimX,
		.gridDimY = config->gridDimY,
		.gridDimZ = config->gridDimZ,
		.blockDimX = config->blockDimX,
		.blockDimY = config->blockDimY,
		.blockDimZ = config->blockDimZ,
		.sharedMemBytes = config->sharedMemBytes,
		.extra = extra,
		.ctx = (CUcontext)(uintptr_t)stream->context,
	};
	loosen_tips(stream, config);
	result = add_node(stream, &params, &node);
	if (result == CUDA_SUCCESS)
		result = keep_attributes(node, config, is_cooperative);
	if (result == CUDA_SUCCESS)
		result = record_events(stream, node, config);
	return result;
}

CUresult sg_capture_enqueue_launch(const CUlaunchConfig *config, CUfunction function, void **extra,
				   bool is_cooperative, bool *is_captured)
{
	struct sg_capture_stream *found;
	CUresult result;

	*is_captured = false;
	if (!sg_capture_has_any())
		return CUDA_SUCCESS;
	sg_graph_lock();
	result = meet(config->hStream, &found);
	if (result == CUDA_SUCCESS && found) {
		*is_captured = true;
		/* The arguments are gone when the launch returns; see graph.h. */
		result = add_launch(found, config, function, extra, is_cooperative);
	}
	sg_graph_unlock();
	return result;
}

CUresult sg_capture_enqueue_graph(CUstream stream, struct sg_graph *graph, bool *is_captured)
{
	struct sg_capture_stream *found;
	struct sg_graph *copy = NULL;
	struct sg_graph_node *node;
	CUresult result;

	*is_captured = false;
	if (!sg_capture_has_any())
		return CUDA_SUCCESS;
	sg_graph_lock();
	result = meet(stream, &found);
	if (result == CUDA_SUCCESS && found) {
		*is_captured = true;
		result = sg_graph_clone(graph, false, &copy);
		if (result == CUDA_ERROR_NOT_SUPPORTED)
			result = invalidate(found->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	if (copy) {
		CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

		params.graph.graph = sg_graph_to_handle(copy);
		params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
		result = add_node(found, &params, &node);
		if (result != CUDA_SUCCESS && !copy->owner)
			sg_graph_destroy(copy);
	}
	sg_graph_unlock();
	return result;
}

/* ---- What cannot be captured ---- */

bool sg_capture_is_on(CUstream stream)
{
	bool is_on;

	if (!sg_capture_has_any())
		return false;
	sg_graph_lock();
	is_on = sg_capture_state_find(stream);
	sg_graph_unlock();
	return is_on;
}

CUresult sg_capture_refuse(CUstream stream)
{
	struct sg_capture_stream *found;
	CUresult result;

	if (!sg_capture_has_any())
		return CUDA_SUCCESS;
	sg_graph_lock();
	result = meet(stream, &found);
	if (result == CUDA_SUCCESS && found)
		result = invalidate(found->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	sg_graph_unlock();
	return result;
}

CUresult sg_capture_refuse_context(const struct sg_context *context)
{
	CUresult result = CUDA_SUCCESS;

	if (!sg_capture_has_any())
		return CUDA_SUCCESS;
	sg_graph_lock();
	for (struct sg_capture *c = sg_capture_state_get_first(); c; c = c->next)
		for (const struct sg_capture_stream *s = c->streams; s; s = s->next)
			if (s->context == context)
				result = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	sg_graph_unlock();
	return result;
}

/* Whether a capture forbids unsafe calls to this thread; cuThreadExchangeStreamCaptureMode. */
static bool forbids(const struct sg_capture *capture)
{
	if (mode_of_thread == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (capture->thread == sg_capture_state_get_thread())
		return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return mode_of_thread == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sg_capture_refuse_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;

	if (!sg_capture_has_any())
		return CUDA_SUCCESS;
	sg_graph_lock();
	for (struct sg_capture *c = sg_capture_state_get_first(); c; c = c->next)
		if (forbids(c))
			result = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	sg_graph_unlock();
	return result;
}

CUresult sg_capture_refuse_synchronous(void)
{
	CUresult result = sg_capture_refuse(CU_STREAM_LEGACY);

	return result == CUDA_SUCCESS ? sg_capture_refuse_unsafe() : result;
}

SG_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUresult result = sg_init_check();
	CUstreamCaptureMode previous = mode_of_thread;

	if (result != CUDA_SUCCESS)
		return result;
	if (!mode || (int)*mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
	    *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	mode_of_thread = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}

/* ---- Events ---- */

CUresult sg_capture_record(CUstream stream, CUevent event, unsigned flags, bool *is_captured)
{
	struct sg_capture_stream *found;
	struct sg_event *recorded;
	CUresult result = sg_event_get(event, &recorded);

	*is_captured = false;
	if (result != CUDA_SUCCESS)
		return result;
	if (!sg_capture_has_any()) {
		recorded->captured_in = 0;
		return CUDA_SUCCESS;
	}
	sg_graph_lock();
	result = meet(stream, &found);
	if (result == CUDA_SUCCESS && found) {
		*is_captured = true;
		if (flags == CU_EVENT_RECORD_EXTERNAL) {
			CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};
			struct sg_graph_node *node;

			params.eventRecord.event = event;
			result = add_node(found, &params, &node);
		} else {
			recorded->captured_in = found->capture->id;
			result = sg_capture_state_set_event(found->capture, recorded, &found->tips);
		}
	} else if (result == CUDA_SUCCESS) {
		recorded->captured_in = 0;
		sg_capture_state_drop_event(recorded);
	}
	sg_graph_unlock();
	return result;
}

/* A stream waits for an event of a capture. */
static CUresult join(CUstream handle, struct sg_capture_stream *stream, struct sg_capture *capture,
		     const struct sg_capture_event *event)
{
	if (capture->is_invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream && stream->capture != capture) {
		invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
		return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (!stream && (!handle || handle == CU_STREAM_LEGACY))
		return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	if (!stream)
		stream = sg_capture_state_join(capture, handle);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return sg_capture_state_add_tips(stream, &event->tips);
}

static CUresult add_wait(struct sg_capture_stream *stream, CUevent event, unsigned flags)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};
	struct sg_graph_node *node;
	struct sg_event *waited;

	if (flags == CU_EVENT_WAIT_EXTERNAL) {
		params.eventWait.event = event;
		return add_node(stream, &params, &node);
	}
	/* Nothing to wait for is no dependency. */
	if (sg_event_get(event, &waited) == CUDA_SUCCESS && !waited->captured_in &&
	    !atomic_load_explicit(&waited->recorded_ns, memory_order_acquire))
		return CUDA_SUCCESS;
	return invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

CUresult sg_capture_wait(CUstream stream, CUevent event, unsigned flags, bool *is_captured)
{
	struct sg_capture_event *recorded;
	struct sg_capture_stream *found;
	struct sg_capture *capture;
	struct sg_event *waited;
	CUresult result = sg_event_get(event, &waited);

	*is_captured = false;
	if (result != CUDA_SUCCESS)
		return result;
	if (!sg_capture_has_any())
		return sg_capture_check_event(waited);
	sg_graph_lock();
	result = meet(stream, &found);
	recorded = sg_capture_state_find_event(waited, &capture);
	if (result == CUDA_SUCCESS && recorded && flags != CU_EVENT_WAIT_EXTERNAL) {
		*is_captured = true;
		result = join(stream, found, capture, recorded);
	} else if (result == CUDA_SUCCESS && found) {
		*is_captured = true;
		result = add_wait(found, event, flags);
	} else if (result == CUDA_SUCCESS) {
		result = sg_capture_check_event(waited);
	}
	sg_graph_unlock();
	return result;
}

CUresult sg_capture_check_event(const struct sg_event *event)
{
	return event->captured_in ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

/* ---- Ends ---- */

void sg_capture_forget_event(const struct sg_event *event)
{
	if (!sg_capture_has_any())
		return;
	sg_graph_lock();
	sg_capture_state_drop_event(event);
	sg_graph_unlock();
}

/* Its work must still be joined; nobody can put more on it. */
static void forget(struct sg_capture_stream *stream)
{
	struct sg_capture *capture = stream->capture;

	if (capture->origin == stream) {
		sg_capture_state_end(capture);
		return;
	}
	stream->stream = NULL;
	stream->context = NULL;
	stream->thread = 0;
	stream->is_blocking = false;
}

void sg_capture_forget_stream(const struct sg_stream *stream)
{
	struct sg_capture_stream *found;

	if (!sg_capture_has_any())
		return;
	sg_graph_lock();
	found = sg_capture_state_find((CUstream)(uintptr_t)stream);
	if (found)
		forget(found);
	sg_graph_unlock();
}

static struct sg_capture_stream *find_in_context(const struct sg_context *context)
{
	for (struct sg_capture *c = sg_capture_state_get_first(); c; c = c->next)
		for (struct sg_capture_stream *s = c->streams; s; s = s->next)
			if (s->context == context)
				return s;
	return NULL;
}

void sg_capture_forget_context(const struct sg_context *context)
{
	struct sg_capture_stream *found;

	if (!sg_capture_has_any())
		return;
	sg_graph_lock();
	for (found = find_in_context(context); found; found = find_in_context(context))
		forget(found);
	sg_graph_unlock();
}
