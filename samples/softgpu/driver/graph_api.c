/* Graphs as a whole: making and destroying them, their nodes and the edges between them. */
#include "graph.h"

#include "context.h"
#include "object.h"

SG_API CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!phGraph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_create();
	sg_graph_unlock();
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*phGraph = sg_graph_to_handle(graph);
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphDestroy(CUgraph hGraph)
{
	struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	/* One inside a node goes with the node. */
	if (graph && !graph->owner && !graph->nr_captures)
		sg_graph_destroy(graph);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	struct sg_graph *graph, *clone;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!phGraphClone)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_get(originalGraph);
	result = graph ? sg_graph_clone(graph, false, &clone) : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*phGraphClone = sg_graph_to_handle(clone);
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
				       CUgraph hClonedGraph)
{
	struct sg_graph_node *original, *found = NULL;
	const struct sg_graph *clone;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	original = sg_graph_get_node(hOriginalNode);
	clone = sg_graph_get(hClonedGraph);
	if (phNode && original && clone)
		found = sg_graph_find_copy(clone, original->id);
	if (found)
		*phNode = sg_graph_to_node_handle(found);
	sg_graph_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SG_API CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	const struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = sg_graph_get_node(hNode);
	if (node && type)
		*type = node->params.type;
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

/* ---- Lists: the number alone, or as many as there is room for, the rest NULL ---- */

struct answer {
	CUgraphNode *nodes;
	CUgraphNode *others; /* the far ends, of edges */
	CUgraphEdgeData *data;
	size_t room;
	size_t nr_items;
	bool is_lossy; /* there is data nobody has room for */
};

static void put(struct answer *answer, struct sg_graph_node *node, struct sg_graph_node *other,
		const CUgraphEdgeData *data)
{
	size_t place = answer->nr_items++;

	if (data && !answer->data && !sg_graph_is_plain_edge(data))
		answer->is_lossy = true;
	if (!answer->nodes || place >= answer->room)
		return;
	answer->nodes[place] = sg_graph_to_node_handle(node);
	if (answer->others)
		answer->others[place] = sg_graph_to_node_handle(other);
	if (answer->data && data)
		answer->data[place] = *data;
}

static CUresult finish(const struct answer *answer, size_t *nr_items)
{
	size_t given = answer->nr_items;

	if (answer->nodes && answer->is_lossy)
		return CUDA_ERROR_LOSSY_QUERY;
	if (answer->nodes && given > answer->room)
		given = answer->room;
	for (size_t i = given; answer->nodes && i < answer->room; i++) {
		answer->nodes[i] = NULL;
		if (answer->others)
			answer->others[i] = NULL;
	}
	*nr_items = given;
	return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *nodes, size_t *nr_nodes, bool only_roots)
{
	struct answer answer = {.nodes = nodes, .room = nr_nodes ? *nr_nodes : 0};
	const struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	graph = sg_graph_get(handle);
	for (size_t i = 0; graph && i < graph->nr_nodes; i++)
		if (!only_roots || !graph->nodes[i]->dependencies.nr_items)
			put(&answer, graph->nodes[i], NULL, NULL);
	result = graph && nr_nodes ? finish(&answer, nr_nodes) : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	return list_nodes(hGraph, nodes, numNodes, false);
}

SG_API CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	return list_nodes(hGraph, rootNodes, numRootNodes, true);
}

SG_API CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
				   CUgraphEdgeData *edgeData, size_t *numEdges)
{
	struct answer answer = {
		.nodes = from, .others = to, .data = edgeData, .room = numEdges ? *numEdges : 0};
	const struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (!from != !to || (edgeData && !from))
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	for (size_t i = 0; graph && i < graph->nr_nodes; i++) {
		const struct sg_graph_edges *edges = &graph->nodes[i]->dependencies;

		for (size_t e = 0; e < edges->nr_items; e++)
			put(&answer, edges->items[e].node, graph->nodes[i], &edges->items[e].data);
	}
	result = graph && numEdges ? finish(&answer, numEdges) : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
				size_t *numEdges)
{
	return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult list_neighbours(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *data,
				size_t *nr_nodes, bool are_dependents)
{
	struct answer answer = {.nodes = nodes, .data = data, .room = nr_nodes ? *nr_nodes : 0};
	const struct sg_graph_edges *edges = NULL;
	const struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (data && !nodes)
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	node = sg_graph_get_node(handle);
	if (node)
		edges = are_dependents ? &node->dependents : &node->dependencies;
	for (size_t i = 0; edges && i < edges->nr_items; i++)
		put(&answer, edges->items[i].node, NULL, &edges->items[i].data);
	result = node && nr_nodes ? finish(&answer, nr_nodes) : CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
					      CUgraphEdgeData *edgeData, size_t *numDependencies)
{
	return list_neighbours(hNode, dependencies, edgeData, numDependencies, false);
}

SG_API CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
					   size_t *numDependencies)
{
	return list_neighbours(hNode, dependencies, NULL, numDependencies, false);
}

SG_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
						CUgraphEdgeData *edgeData,
						size_t *numDependentNodes)
{
	return list_neighbours(hNode, dependentNodes, edgeData, numDependentNodes, true);
}

SG_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
					     size_t *numDependentNodes)
{
	return list_neighbours(hNode, dependentNodes, NULL, numDependentNodes, true);
}

/* ---- Edges ---- */

static CUresult find_ends(const struct sg_graph *graph, CUgraphNode from, CUgraphNode to,
			  struct sg_graph_node **source, struct sg_graph_node **target)
{
	*source = sg_graph_get_node(from);
	*target = sg_graph_get_node(to);
	if (!*source || !*target || (*source)->graph != graph || (*target)->graph != graph)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SG_API CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
					  const CUgraphNode *to, const CUgraphEdgeData *edgeData,
					  size_t numDependencies)
{
	struct sg_graph_node *source, *target;
	const struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (numDependencies && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	if (!graph)
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numDependencies && result == CUDA_SUCCESS; i++) {
		result = find_ends(graph, from[i], to[i], &source, &target);
		if (result == CUDA_SUCCESS)
			result = sg_graph_add_edge(source, target, edgeData ? &edgeData[i] : NULL);
	}
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
				       const CUgraphNode *to, size_t numDependencies)
{
	return cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

SG_API CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
					     const CUgraphNode *to, const CUgraphEdgeData *edgeData,
					     size_t numDependencies)
{
	struct sg_graph_node *source, *target;
	const struct sg_graph *graph;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	if (numDependencies && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	/* Addresses are used again because one node comes before another. */
	if (!graph || (numDependencies && graph->memory))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numDependencies && result == CUDA_SUCCESS; i++) {
		result = find_ends(graph, from[i], to[i], &source, &target);
		if (result == CUDA_SUCCESS)
			result = sg_graph_remove_edge(source, target,
						      edgeData ? &edgeData[i] : NULL);
	}
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
					  const CUgraphNode *to, size_t numDependencies)
{
	return cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

SG_API CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
	struct sg_graph_node *node;
	CUresult result = sg_init_check();

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	node = sg_graph_get_node(hNode);
	if (node && !node->graph->memory && !node->graph->nr_captures)
		sg_graph_remove_node(node);
	else
		result = CUDA_ERROR_INVALID_VALUE;
	sg_graph_unlock();
	return result;
}

SG_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out,
					       CUgraph hGraph, CUcontext ctx,
					       unsigned int defaultLaunchValue, unsigned int flags)
{
	struct sg_graph_condition *condition = NULL;
	struct sg_context *context;
	struct sg_graph *graph;
	CUresult result = sg_context_get(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result;
	sg_graph_lock();
	graph = sg_graph_get(hGraph);
	if (!pHandle_out || !graph || (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)) {
		result = CUDA_ERROR_INVALID_VALUE;
		goto unlock;
	}
	condition = sg_object_create(SG_OBJECT_CONDITION, sizeof(*condition));
	if (!condition) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
		goto unlock;
	}
	condition->default_value = defaultLaunchValue;
	condition->flags = flags;
	condition->next = graph->conditions;
	graph->conditions = condition;
	*pHandle_out = (CUgraphConditionalHandle)(uintptr_t)condition;
unlock:
	sg_graph_unlock();
	return result;
}
