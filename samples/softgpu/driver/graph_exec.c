#include "graph_exec.h"

#include "capture.h"
#include "copy.h"
#include "event.h"
#include "fill.h"
#include "graph_memory.h"
#include "graph_params.h"
#include "object.h"
#include "stream.h"
#include "stream_value.h"

#define KNOWN_FLAGS                                                                             \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
	 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |                                            \
	 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

/* What a graph that kernels launch may consist of. */
#define DEVICE_TYPES                                                         \
	(1u << CU_GRAPH_NODE_TYPE_KERNEL | 1u << CU_GRAPH_NODE_TYPE_MEMCPY | \
	 1u << CU_GRAPH_NODE_TYPE_MEMSET | 1u << CU_GRAPH_NODE_TYPE_GRAPH)

struct sg_graph_exec *sg_graph_exec_get(CUgraphExec handle)
{
	return sg_object_get(SG_OBJECT_GRAPH_EXEC, handle);
}

struct sg_graph_node *sg_graph_exec_find(const struct sg_graph_exec *exec, CUgraphNode handle,
					 int type)
{
	const struct sg_graph_node *node = sg_graph_get_node(handle);
	struct sg_graph_node *found = node ? sg_graph_find_copy(exec->graph, node->id) : NULL;

	return found && (type < 0 || (int)found->params.type == type) ? found : NULL;
}

/* ---- Memory of a graph and the graphs inside it ---- */

typedef CUresult (*memory_visit)(struct sg_graph_memory *memory, bool argument);

/*
 * Visit the memory of each; stop at the first that fails. *nr_visited counts those that did not, so
 * that a second round can undo them: it visits no more than *limit.
 */
static CUresult visit_memory(const struct sg_graph *graph, memory_visit visit, bool argument,
			     size_t *nr_visited, size_t limit)
{
	CUresult result = CUDA_SUCCESS;

	if (graph->memory && *nr_visited < limit) {
		result = visit(graph->memory, argument);
		*nr_visited += result == CUDA_SUCCESS;
	}
	for (size_t i = 0; i < graph->nr_nodes && result == CUDA_SUCCESS; i++)
		for (unsigned b = 0; b < graph->nodes[i]->nr_bodies && result == CUDA_SUCCESS; b++)
			result = visit_memory(graph->nodes[i]->bodies[b], visit, argument,
					      nr_visited, limit);
	return result;
}

static CUresult visit_claim(struct sg_graph_memory *memory, bool argument)
{
	(void)argument;
	return sg_graph_memory_claim(memory) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult visit_unclaim(struct sg_graph_memory *memory, bool argument)
{
	(void)argument;
	sg_graph_memory_unclaim(memory);
	return CUDA_SUCCESS;
}

static CUresult visit_upload(struct sg_graph_memory *memory, bool argument)
{
	(void)argument;
	return sg_graph_memory_upload(memory);
}

static CUresult visit_end(struct sg_graph_memory *memory, bool argument)
{
	(void)argument;
	sg_graph_memory_end(memory);
	return CUDA_SUCCESS;
}

/* All or none; undo is what takes one of them back. */
static CUresult visit_all(const struct sg_graph *graph, memory_visit visit, bool argument,
			  memory_visit undo)
{
	size_t nr_done = 0, nr_undone = 0;
	CUresult result = visit_memory(graph, visit, argument, &nr_done, SIZE_MAX);

	if (result != CUDA_SUCCESS && undo &&
	    visit_memory(graph, undo, argument, &nr_undone, nr_done) != CUDA_SUCCESS)
		return CUDA_ERROR_UNKNOWN; /* undoing does not fail */
	return result;
}

/* ---- Instantiation ---- */

static struct sg_graph_node *find_undevisable(const struct sg_graph *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		struct sg_graph_node *node = graph->nodes[i];
		struct sg_graph_node *inner = NULL;

		if (!(DEVICE_TYPES & 1u << node->params.type))
			return node;
		for (unsigned b = 0; b < node->nr_bodies && !inner; b++)
			inner = find_undevisable(node->bodies[b]);
		if (inner)
			return inner;
	}
	return NULL;
}

/* An order for it and the graphs inside it. */
static bool sort_all(struct sg_graph *graph, struct sg_graph_node **cyclic)
{
	bool is_sorted = sg_graph_sort(graph, cyclic);

	for (size_t i = 0; i < graph->nr_nodes && is_sorted; i++)
		for (unsigned b = 0; b < graph->nodes[i]->nr_bodies && is_sorted; b++)
			is_sorted = sort_all(graph->nodes[i]->bodies[b], cyclic);
	return is_sorted;
}

static bool is_captured_into(const struct sg_graph *graph)
{
	if (graph->nr_captures)
		return true;
	for (size_t i = 0; i < graph->nr_nodes; i++)
		for (unsigned b = 0; b < graph->nodes[i]->nr_bodies; b++)
			if (is_captured_into(graph->nodes[i]->bodies[b]))
				return true;
	return false;
}

static CUresult check_flags(const struct sg_graph *graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	const struct sg_graph_node *node;

	if ((params->flags & ~(cuuint64_t)KNOWN_FLAGS) || is_captured_into(graph))
		return CUDA_ERROR_INVALID_VALUE;
	if (!(params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
		return CUDA_SUCCESS;
	if ((params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) || !graph->nr_nodes)
		return CUDA_ERROR_INVALID_VALUE;
	node = find_undevisable(graph);
	if (!node)
		return CUDA_SUCCESS;
	params->result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
	params->hErrNode_out = (CUgraphNode)(uintptr_t)node;
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* The original of the node that is part of a circle. */
static CUgraphNode find_original(const struct sg_graph *graph, const struct sg_graph_node *copy)
{
	for (size_t i = 0; copy && i < graph->nr_nodes; i++)
		if (graph->nodes[i]->id == copy->origin_id)
			return sg_graph_to_node_handle(graph->nodes[i]);
	return NULL;
}

static CUresult make_exec(struct sg_graph *graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
			  struct sg_graph_exec **exec)
{
	struct sg_graph_exec first = {.flags = params->flags};
	struct sg_graph_node *cyclic;
	CUresult result = sg_graph_clone(graph, true, &first.graph);

	if (result != CUDA_SUCCESS)
		return result;
	if (!sort_all(first.graph, &cyclic)) {
		params->result_out = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
		params->hErrNode_out = find_original(graph, cyclic);
		result = CUDA_ERROR_INVALID_VALUE;
		goto destroy_graph;
	}
	/* Memory has one executable graph at a time. */
	result = visit_all(first.graph, visit_claim, false, visit_unclaim);
	if (result != CUDA_SUCCESS)
		goto destroy_graph;
	*exec = sg_object_create_from(SG_OBJECT_GRAPH_EXEC, &first, sizeof(first));
	if (*exec)
		return CUDA_SUCCESS;
	result = visit_all(first.graph, visit_unclaim, false, NULL);
	if (result == CUDA_SUCCESS)
		result = CUDA_ERROR_OUT_OF_MEMORY;
destroy_graph:
	sg_graph_destroy(first.graph);
	return result;
}

static CUresult instantiate(CUgraphExec *handle, CUgraph hGraph,
			    CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	struct sg_graph_exec *exec;
	struct sg_graph *graph;
	CUresult result;

	params->hErrNode_out = NULL;
	params->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	result = graph ? check_flags(graph, params) : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = make_exec(graph, params, &exec);
	sg_graph_unlock();
	if (result != CUDA_SUCCESS)
		return result;
	*handle = (CUgraphExec)(void *)exec;
	params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
					    unsigned long long flags)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = flags};
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	/* There is no stream to upload in. */
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		return CUDA_ERROR_INVALID_VALUE;
	return instantiate(phGraphExec, hGraph, &params);
}

SG_API CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
					     CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!instantiateParams)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate(phGraphExec, hGraph, instantiateParams);
	if (result != CUDA_SUCCESS ||
	    !(instantiateParams->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD))
		return result;
	result = cuGraphUpload(*phGraphExec, instantiateParams->hUploadStream);
	if (result != CUDA_SUCCESS) {
		instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
		(void)cuGraphExecDestroy(*phGraphExec);
	}
	return result;
}

SG_API CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
				      CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	result = instantiate(phGraphExec, hGraph, &params);
	if (phErrorNode)
		*phErrorNode = params.hErrNode_out;
	if (logBuffer && bufferSize)
		*logBuffer = '\0';
	return result;
}

SG_API CUresult cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
				   CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
	return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

SG_API CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	struct sg_graph_exec *exec;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	exec = sg_graph_exec_get(hGraphExec);
	if (exec) {
		result = visit_all(exec->graph, visit_unclaim, false, NULL);
		sg_graph_destroy(exec->graph);
		sg_object_destroy(SG_OBJECT_GRAPH_EXEC, exec);
	} else {
		result = CUDA_ERROR_INVALID_VALUE;
	}
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	const struct sg_graph_exec *exec;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	exec = sg_graph_exec_get(hGraphExec);
	if (!exec || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

/* ---- Launch ---- */

static CUresult run_graph(const struct sg_graph *graph);

/*
 * Kernels would set the condition, and none runs: it is what it is at the beginning. A loop whose
 * condition holds goes round once, as nobody could end it.
 */
static CUresult run_conditional(const struct sg_graph_node *node)
{
	const CUDA_CONDITIONAL_NODE_PARAMS *params = &node->params.conditional;
	unsigned value = 0;

	if (node->condition.flags & CU_GRAPH_COND_ASSIGN_DEFAULT)
		value = node->condition.default_value;
	switch (params->type) {
	case CU_GRAPH_COND_TYPE_IF:
		value = !value;
		break;
	case CU_GRAPH_COND_TYPE_WHILE:
		value = value ? 0 : 1;
		break;
	case CU_GRAPH_COND_TYPE_SWITCH:
		break;
	}
	return value < node->nr_bodies ? run_graph(node->bodies[value]) : CUDA_SUCCESS;
}

static CUresult run_record(CUevent handle)
{
	struct sg_event *event;
	CUresult result = sg_event_get(handle, &event);

	if (result == CUDA_SUCCESS)
		sg_event_record(event);
	return result;
}

static CUresult run_node(const struct sg_graph_node *node)
{
	const CUgraphNodeParams *params = &node->params;

	if (node->is_disabled)
		return CUDA_SUCCESS;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sg_copy_run(&params->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sg_fill_run(&params->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		params->host.fn(params->host.userData);
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return run_graph(node->bodies[0]);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return run_record(params->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return sg_graph_memory_allocate(node->allocation);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return sg_graph_memory_free(node->allocation);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return sg_stream_value_run(params->memOp.paramArray, params->memOp.count);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return run_conditional(node);
	default:
		/* Kernels compute nothing; all that could be waited for has happened. */
		return CUDA_SUCCESS;
	}
}

static CUresult run_graph(const struct sg_graph *graph)
{
	struct sg_graph_node *const *nodes = graph->order ? graph->order : graph->nodes;
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->nr_nodes && result == CUDA_SUCCESS; i++)
		result = run_node(nodes[i]);
	return result;
}

/* Memory of other graphs that this one frees must be there, before anything is done. */
static CUresult check_frees(const struct sg_graph *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		const struct sg_graph_node *node = graph->nodes[i];

		if (node->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE &&
		    !node->allocation->is_freed_inside &&
		    !sg_graph_memory_is_live(node->allocation))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult launch(const struct sg_graph_exec *exec)
{
	bool is_auto_free = exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	CUresult result = check_frees(exec->graph), ended;

	if (result == CUDA_SUCCESS)
		result = visit_all(exec->graph, sg_graph_memory_begin, is_auto_free, visit_end);
	if (result != CUDA_SUCCESS)
		return result;
	result = run_graph(exec->graph);
	ended = visit_all(exec->graph, visit_end, false, NULL);
	return result == CUDA_SUCCESS ? ended : result;
}

SG_API CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	const struct sg_graph_exec *exec;
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);
	bool is_captured;

	if (result != CUDA_SUCCESS)
		return result;
	exec = sg_graph_exec_get(hGraphExec);
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_capture_enqueue_graph(hStream, exec->graph, &is_captured);
	return result != CUDA_SUCCESS || is_captured ? result : launch(exec);
}

SG_API CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
	const struct sg_graph_exec *exec;
	CUresult result = sg_stream_get_context(hStream, NULL, NULL);

	if (result == CUDA_SUCCESS)
		result = sg_capture_refuse(hStream);
	if (result != CUDA_SUCCESS)
		return result;
	exec = sg_graph_exec_get(hGraphExec);
	return exec ? visit_all(exec->graph, visit_upload, false, NULL) : CUDA_ERROR_INVALID_VALUE;
}
