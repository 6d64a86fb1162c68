/* Captures as the program asks for them; capture.c has what other calls do to them. */
#include "capture_state.h"

/* Behind these nodes of the graph, none twice. */
static CUresult read_tips(const struct sg_graph *graph, const CUgraphNode *nodes,
			  const CUgraphEdgeData *data, size_t nr_nodes, struct sg_graph_edges *tips)
{
	CUresult result = CUDA_SUCCESS;

	if (nr_nodes && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < nr_nodes && result == CUDA_SUCCESS; i++) {
		struct sg_graph_node *node = sg_graph_get_node(nodes[i]);

		for (size_t t = 0; t < tips->nr_items; t++)
			if (tips->items[t].node == node)
				node = NULL;
		result = node && node->graph == graph
				 ? sg_graph_append_edge(tips, node, data ? &data[i] : NULL)
				 : CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

static bool is_mode(CUstreamCaptureMode mode)
{
	return mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
	       mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
	       mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

static CUresult check_begin(CUstream stream, CUstreamCaptureMode mode)
{
	CUresult result = sg_stream_get_context(stream, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!is_mode(mode))
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream || stream == CU_STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUstreamCaptureMode mode, bool is_default)
{
	struct sg_capture *capture;
	struct sg_graph *graph;
	CUresult result = check_begin(stream, mode);

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	if (sg_capture_state_find(stream)) {
		result = CUDA_ERROR_ILLEGAL_STATE;
		goto unlock;
	}
	graph = sg_graph_create();
	capture = graph ? sg_capture_state_begin(stream, graph, true, mode) : NULL;
	if (capture)
		capture->origin->is_default = is_default;
	else
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (graph && !capture)
		sg_graph_destroy(graph);
unlock:
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	return begin(hStream, mode, false);
}

/*
 * In programs whose default stream is the thread's own, that one can capture. Their other calls
 * are not told apart from those of programs with the usual one, so they are remembered by this.
 */
SG_API CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	return begin(hStream ? hStream : CU_STREAM_PER_THREAD, mode, !hStream);
}

SG_API CUresult cuStreamBeginCapture(CUstream hStream)
{
	return cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

SG_API CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
					    const CUgraphNode *dependencies,
					    const CUgraphEdgeData *dependencyData,
					    size_t numDependencies, CUstreamCaptureMode mode)
{
	struct sg_graph_edges tips = {0};
	struct sg_capture *capture;
	struct sg_graph *graph;
	CUresult result = check_begin(hStream, mode);

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	if (!graph)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (sg_capture_state_find(hStream))
		result = CUDA_ERROR_ILLEGAL_STATE;
	else
		result = read_tips(graph, dependencies, dependencyData, numDependencies, &tips);
	if (result == CUDA_SUCCESS) {
		capture = sg_capture_state_begin(hStream, graph, false, mode);
		if (capture)
			capture->origin->tips = tips;
		else
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result != CUDA_SUCCESS)
		sg_graph_free_edges(&tips);
	sg_graph_unlock();
	return result;
}

/* Whether a capture ends well. */
static CUresult judge(const struct sg_capture *capture)
{
	if (capture->is_invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return sg_capture_state_is_joined(capture) ? CUDA_SUCCESS
						   : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

SG_API CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	struct sg_capture_stream *stream;
	struct sg_capture *capture;
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	stream = sg_capture_state_find(hStream);
	capture = stream ? stream->capture : NULL;
	if (!capture) {
		result = CUDA_ERROR_ILLEGAL_STATE;
	} else if (!phGraph) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else if (capture->origin != stream) {
		capture->is_invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	} else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		   capture->thread != sg_capture_state_get_thread()) {
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	} else {
		result = judge(capture);
		*phGraph = NULL;
		if (result == CUDA_SUCCESS) {
			*phGraph = sg_graph_to_handle(capture->graph);
			capture->owns_graph = false;
		}
		sg_capture_state_end(capture);
	}
	sg_graph_unlock();
	return result;
}

/* The default stream of the context cannot be used, not even asked, while it would have to wait. */
static CUresult find_state(CUstream handle, const void *status, struct sg_capture_stream **stream)
{
	CUresult result = sg_stream_get_context(handle, NULL, NULL);

	*stream = NULL;
	if (result != CUDA_SUCCESS)
		return result;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_capture_state_find_implicit(handle))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*stream = sg_capture_state_find(handle);
	return CUDA_SUCCESS;
}

static CUstreamCaptureStatus get_status(const struct sg_capture_stream *stream)
{
	if (!stream)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Allocators ask before every allocation: without captures nothing is locked. */
static CUresult answer_none(CUstream handle, CUstreamCaptureStatus *status)
{
	CUresult result = sg_stream_get_context(handle, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	struct sg_capture_stream *stream;
	CUresult result;

	if (!sg_capture_has_any())
		return answer_none(hStream, captureStatus);
	sg_graph_lock();
	result = find_state(hStream, captureStatus, &stream);
	if (result == CUDA_SUCCESS)
		*captureStatus = get_status(stream);
	sg_graph_unlock();
	return result;
}

static bool has_plain_tips(const struct sg_capture_stream *stream)
{
	for (size_t i = 0; i < stream->tips.nr_items; i++)
		if (!sg_graph_is_plain_edge(&stream->tips.items[i].data))
			return false;
	return true;
}

static CUresult tell_tips(struct sg_capture_stream *stream, const CUgraphNode **nodes,
			  const CUgraphEdgeData **data, size_t *nr_nodes)
{
	CUresult result = sg_capture_state_flatten(stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (nodes && !data && !has_plain_tips(stream))
		return CUDA_ERROR_LOSSY_QUERY;
	if (nodes)
		*nodes = stream->tip_nodes;
	if (data)
		*data = stream->tip_data;
	if (nr_nodes)
		*nr_nodes = stream->tips.nr_items;
	return CUDA_SUCCESS;
}

SG_API CUresult cuStreamGetCaptureInfo_v3(CUstream hStream,
					  CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out, CUgraph *graph_out,
					  const CUgraphNode **dependencies_out,
					  const CUgraphEdgeData **edgeData_out,
					  size_t *numDependencies_out)
{
	struct sg_capture_stream *stream;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (edgeData_out && !dependencies_out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_capture_has_any())
		return answer_none(hStream, captureStatus_out);
	sg_graph_lock();
	result = find_state(hStream, captureStatus_out, &stream);
	if (result == CUDA_SUCCESS && get_status(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		result = tell_tips(stream, dependencies_out, edgeData_out, numDependencies_out);
		if (result == CUDA_SUCCESS && id_out)
			*id_out = stream->capture->id;
		if (result == CUDA_SUCCESS && graph_out)
			*graph_out = sg_graph_to_handle(stream->capture->graph);
	}
	if (result == CUDA_SUCCESS)
		*captureStatus_out = get_status(stream);
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuStreamGetCaptureInfo_v2(CUstream hStream,
					  CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out, CUgraph *graph_out,
					  const CUgraphNode **dependencies_out,
					  size_t *numDependencies_out)
{
	return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out,
					 dependencies_out, NULL, numDependencies_out);
}

SG_API CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
				       cuuint64_t *id_out)
{
	return cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL,
					 NULL);
}

static CUresult update_tips(struct sg_capture_stream *stream, const struct sg_graph_edges *tips,
			    unsigned flags)
{
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		stream->tips.nr_items = 0;
	return sg_capture_state_add_tips(stream, tips);
}

SG_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
						     const CUgraphEdgeData *dependencyData,
						     size_t numDependencies, unsigned int flags)
{
	struct sg_graph_edges tips = {0};
	struct sg_capture_stream *stream;
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);

	if (result != CUDA_SUCCESS)
		return result;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	stream = sg_capture_state_find(hStream);
	if (!stream)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (stream->capture->is_invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else
		result = read_tips(stream->capture->graph, dependencies, dependencyData,
				   numDependencies, &tips);
	if (result == CUDA_SUCCESS)
		result = update_tips(stream, &tips, flags);
	sg_graph_free_edges(&tips);
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
						  size_t numDependencies, unsigned int flags)
{
	return cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies,
						    flags);
}
