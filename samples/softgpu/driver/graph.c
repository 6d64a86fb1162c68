#include "graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph_memory.h"
#include "graph_params.h"
#include "object.h"
#include "user_object.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by the lock. */
static uint64_t last_id;
static uint64_t last_mark;

void sg_graph_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sg_graph_unlock(void)
{
	struct sg_user_object *ended = sg_user_object_take_ended();

	pthread_mutex_unlock(&lock);
	sg_user_object_bury(ended);
}

CUresult sg_graph_require(const void *argument)
{
	CUresult result = sg_init_check();

	return result == CUDA_SUCCESS && !argument ? CUDA_ERROR_INVALID_VALUE : result;
}

struct sg_graph *sg_graph_get(CUgraph handle)
{
	struct sg_graph *graph = sg_object_get(SG_OBJECT_GRAPH, handle);

	return graph && !graph->is_executable ? graph : NULL;
}

struct sg_graph_node *sg_graph_get_node(CUgraphNode handle)
{
	struct sg_graph_node *node = sg_object_get(SG_OBJECT_GRAPH_NODE, handle);

	return node && !node->graph->is_executable ? node : NULL;
}

struct sg_graph_condition *sg_graph_get_condition(CUgraphConditionalHandle handle)
{
	return sg_object_get(SG_OBJECT_CONDITION, (const void *)(uintptr_t)handle);
}

CUgraph sg_graph_to_handle(struct sg_graph *graph)
{
	return (CUgraph)(void *)graph;
}

CUgraphNode sg_graph_to_node_handle(struct sg_graph_node *node)
{
	return (CUgraphNode)(void *)node;
}

struct sg_graph *sg_graph_create(void)
{
	struct sg_graph *graph = sg_object_create(SG_OBJECT_GRAPH, sizeof(*graph));

	if (graph)
		graph->id = ++last_id;
	return graph;
}

/* ---- Edges ---- */

bool sg_graph_is_plain_edge(const CUgraphEdgeData *data)
{
	return !data->from_port && !data->to_port && !data->type;
}

CUresult sg_graph_append_edge(struct sg_graph_edges *edges, struct sg_graph_node *node,
			      const CUgraphEdgeData *data)
{
	if (edges->nr_items == edges->capacity) {
		size_t capacity = edges->capacity ? 2 * edges->capacity : 2;
		struct sg_graph_edge *items = realloc(edges->items, capacity * sizeof(*items));

		if (!items)
			return CUDA_ERROR_OUT_OF_MEMORY;
		edges->items = items;
		edges->capacity = capacity;
	}
	edges->items[edges->nr_items] = (struct sg_graph_edge){.node = node};
	if (data)
		edges->items[edges->nr_items].data = *data;
	edges->nr_items++;
	return CUDA_SUCCESS;
}

void sg_graph_free_edges(struct sg_graph_edges *edges)
{
	free(edges->items);
	*edges = (struct sg_graph_edges){0};
}

static struct sg_graph_edge *find_edge(const struct sg_graph_edges *edges,
				       const struct sg_graph_node *node)
{
	for (size_t i = 0; i < edges->nr_items; i++)
		if (edges->items[i].node == node)
			return &edges->items[i];
	return NULL;
}

static void cut_edge(struct sg_graph_edges *edges, const struct sg_graph_node *node)
{
	struct sg_graph_edge *edge = find_edge(edges, node);

	if (!edge)
		return;
	edges->nr_items--;
	memmove(edge, edge + 1, (size_t)(&edges->items[edges->nr_items] - edge) * sizeof(*edge));
}

/* Ports and types are for kernels that start before others have ended. */
static bool is_edge_allowed(const struct sg_graph_node *from, const struct sg_graph_node *to,
			    const CUgraphEdgeData *data)
{
	static const unsigned char zeros[sizeof(data->reserved)];

	if (memcmp(data->reserved, zeros, sizeof(zeros)) || data->to_port ||
	    data->from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER ||
	    data->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
		return false;
	if (sg_graph_is_plain_edge(data))
		return true;
	return from->params.type == CU_GRAPH_NODE_TYPE_KERNEL &&
	       (data->type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
		to->params.type == CU_GRAPH_NODE_TYPE_KERNEL);
}

CUresult sg_graph_add_edge(struct sg_graph_node *from, struct sg_graph_node *to,
			   const CUgraphEdgeData *data)
{
	CUresult result;

	if (from == to || from->graph != to->graph || find_edge(&to->dependencies, from) ||
	    (data && !is_edge_allowed(from, to, data)))
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_graph_append_edge(&to->dependencies, from, data);
	if (result != CUDA_SUCCESS)
		return result;
	result = sg_graph_append_edge(&from->dependents, to, data);
	if (result != CUDA_SUCCESS)
		to->dependencies.nr_items--;
	return result;
}

CUresult sg_graph_remove_edge(struct sg_graph_node *from, struct sg_graph_node *to,
			      const CUgraphEdgeData *data)
{
	const CUgraphEdgeData plain = {0};
	const struct sg_graph_edge *edge = find_edge(&to->dependencies, from);

	if (!edge || memcmp(&edge->data, data ? data : &plain, sizeof(plain)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	cut_edge(&to->dependencies, from);
	cut_edge(&from->dependents, to);
	return CUDA_SUCCESS;
}

uint64_t sg_graph_mark_ancestors(const struct sg_graph_edges *edges)
{
	struct sg_graph_edges stack = {0};
	uint64_t mark = ++last_mark;

	for (size_t i = 0; i < edges->nr_items; i++) {
		struct sg_graph_node *node = edges->items[i].node;

		if (node->mark == mark)
			continue;
		node->mark = mark;
		/* Without memory for the stack fewer are marked: those nobody then knows of. */
		if (sg_graph_append_edge(&stack, node, NULL) != CUDA_SUCCESS)
			break;
	}
	while (stack.nr_items) {
		const struct sg_graph_node *node = stack.items[--stack.nr_items].node;

		for (size_t i = 0; i < node->dependencies.nr_items; i++) {
			struct sg_graph_node *before = node->dependencies.items[i].node;

			if (before->mark == mark)
				continue;
			before->mark = mark;
			if (sg_graph_append_edge(&stack, before, NULL) != CUDA_SUCCESS)
				break;
		}
	}
	sg_graph_free_edges(&stack);
	return mark;
}

/* ---- Nodes ---- */

static void destroy_node(struct sg_graph_node *node)
{
	const struct sg_graph_allocation *allocation = node->allocation;

	for (unsigned i = 0; i < node->nr_bodies; i++)
		if (node->bodies[i])
			sg_graph_destroy(node->bodies[i]);
	free(node->bodies);
	sg_graph_params_free(node);
	if (allocation && allocation->memory != node->graph->memory)
		sg_graph_memory_release(allocation->memory);
	free(node->attributes);
	sg_graph_free_edges(&node->dependencies);
	sg_graph_free_edges(&node->dependents);
	sg_object_destroy(SG_OBJECT_GRAPH_NODE, node);
}

/* A node without edges, not yet in its graph. */
static struct sg_graph_node *create_node(struct sg_graph *graph, CUgraphNodeType type)
{
	const struct sg_graph_node first = {.graph = graph, .params.type = type, .id = last_id + 1};
	struct sg_graph_node *node;

	if (graph->nr_nodes == graph->capacity) {
		size_t capacity = graph->capacity ? 2 * graph->capacity : 8;
		struct sg_graph_node **nodes =
			realloc(graph->nodes, capacity * sizeof(struct sg_graph_node *));

		if (!nodes)
			return NULL;
		graph->nodes = nodes;
		graph->capacity = capacity;
	}
	node = sg_object_create_from(SG_OBJECT_GRAPH_NODE, &first, sizeof(first));
	if (node)
		last_id++;
	return node;
}

static CUresult add_edges(struct sg_graph_node *node, const CUgraphNode *dependencies,
			  const CUgraphEdgeData *data, size_t nr_dependencies)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < nr_dependencies && result == CUDA_SUCCESS; i++) {
		struct sg_graph_node *from = sg_graph_get_node(dependencies[i]);

		result = from ? sg_graph_add_edge(from, node, data ? &data[i] : NULL)
			      : CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

static void cut_edges(struct sg_graph_node *node)
{
	for (size_t i = 0; i < node->dependencies.nr_items; i++)
		cut_edge(&node->dependencies.items[i].node->dependents, node);
	for (size_t i = 0; i < node->dependents.nr_items; i++)
		cut_edge(&node->dependents.items[i].node->dependencies, node);
}

static CUresult make_bodies(struct sg_graph_node *node, unsigned nr_bodies)
{
	node->bodies = calloc(nr_bodies, sizeof(struct sg_graph *));
	if (!node->bodies)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->nr_bodies = nr_bodies;
	return CUDA_SUCCESS;
}

static CUresult make_conditional(struct sg_graph_node *node, CUgraphNodeParams *params)
{
	CUresult result = make_bodies(node, params->conditional.size);

	if (result != CUDA_SUCCESS)
		return result;
	for (unsigned i = 0; i < node->nr_bodies; i++) {
		node->bodies[i] = sg_graph_create();
		if (!node->bodies[i])
			return CUDA_ERROR_OUT_OF_MEMORY;
		node->bodies[i]->owner = node;
	}
	node->condition = *sg_graph_get_condition(params->conditional.handle);
	/* A handle is the address of what it stands for. */
	node->params.conditional.phGraph_out = (CUgraph *)(void *)node->bodies;
	params->conditional.phGraph_out = node->params.conditional.phGraph_out;
	return CUDA_SUCCESS;
}

static bool is_inside(const struct sg_graph *graph, const struct sg_graph *other)
{
	while (graph && graph != other)
		graph = graph->owner ? graph->owner->graph : NULL;
	return graph;
}

static CUresult make_child(struct sg_graph_node *node, const CUgraphNodeParams *params)
{
	struct sg_graph *child = sg_graph_get(params->graph.graph);
	bool is_moved = params->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	CUresult result;

	if (!child ||
	    (is_moved && (child->owner || child->nr_captures || is_inside(node->graph, child))))
		return CUDA_ERROR_INVALID_VALUE;
	result = make_bodies(node, 1);
	if (result != CUDA_SUCCESS)
		return result;
	if (is_moved)
		node->bodies[0] = child;
	else
		result = sg_graph_clone(child, false, &node->bodies[0]);
	if (result != CUDA_SUCCESS)
		return result;
	node->bodies[0]->owner = node;
	node->params.graph.graph = sg_graph_to_handle(node->bodies[0]);
	return CUDA_SUCCESS;
}

static CUresult get_memory(struct sg_graph *graph)
{
	if (!graph->memory)
		graph->memory = sg_graph_memory_create();
	return graph->memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Mark what was not marked yet among these and what they depend on. Whether the tip was met. */
static bool spread_mark(const struct sg_graph_edges *edges, const struct sg_graph_node *tip,
			uint64_t mark)
{
	struct sg_graph_edges stack = {0};
	bool has_met = false;

	for (const struct sg_graph_edges *next = edges; next;) {
		for (size_t i = 0; i < next->nr_items; i++) {
			struct sg_graph_node *before = next->items[i].node;

			has_met |= before == tip;
			if (before->memory_mark == mark)
				continue;
			before->memory_mark = mark;
			/* What is left out has addresses that are not used again, that is all. */
			if (sg_graph_append_edge(&stack, before, NULL) != CUDA_SUCCESS)
				break;
		}
		next = stack.nr_items ? &stack.items[--stack.nr_items].node->dependencies : NULL;
	}
	sg_graph_free_edges(&stack);
	return has_met;
}

/*
 * Mark what comes before a new node. Most nodes come one after the other, so what was marked for
 * the last one is part of it and is not gone through again.
 */
static uint64_t mark_before(struct sg_graph_node *node)
{
	struct sg_graph *graph = node->graph;
	const struct sg_graph_edges *edges = &node->dependencies;

	if (!graph->marked_tip || !spread_mark(edges, graph->marked_tip, graph->tip_mark)) {
		graph->tip_mark = ++last_mark;
		spread_mark(edges, NULL, graph->tip_mark);
	}
	graph->marked_tip = edges->nr_items == 1 ? edges->items[0].node : NULL;
	return graph->tip_mark;
}

static CUresult make_allocation(struct sg_graph_node *node, CUgraphNodeParams *params)
{
	CUresult result = get_memory(node->graph);

	if (result != CUDA_SUCCESS)
		return result;
	result = sg_graph_memory_add(node->graph->memory, params->alloc.poolProps.location.id,
				     params->alloc.bytesize, mark_before(node), &node->allocation);
	if (result == CUDA_SUCCESS) {
		node->params.alloc.dptr = node->allocation->address;
		params->alloc.dptr = node->allocation->address;
	}
	return result;
}

static CUresult make_free(struct sg_graph_node *node, const CUgraphNodeParams *params)
{
	struct sg_graph_allocation *allocation;
	CUresult result = get_memory(node->graph);

	if (result == CUDA_SUCCESS)
		result = sg_graph_memory_find(node->graph->memory, params->free.dptr, &allocation);
	if (result != CUDA_SUCCESS)
		return result;
	node->allocation = allocation;
	sg_graph_memory_note_free(node->graph->memory, allocation, node);
	return CUDA_SUCCESS;
}

/* A graph that gets no such node after all stays one without memory. */
static CUresult make_memory(struct sg_graph_node *node, CUgraphNodeParams *params)
{
	struct sg_graph *graph = node->graph;
	bool had_memory = graph->memory;
	CUresult result = params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
				  ? make_allocation(node, params)
				  : make_free(node, params);

	if (result != CUDA_SUCCESS && !had_memory) {
		sg_graph_memory_release(graph->memory);
		graph->memory = NULL;
	}
	return result;
}

/* What a node has beyond its parameters. Last: only memory that is out undoes it. */
static CUresult make_extras(struct sg_graph_node *node, CUgraphNodeParams *params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return make_child(node, params);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return make_conditional(node, params);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return make_memory(node, params);
	default:
		return CUDA_SUCCESS;
	}
}

CUresult sg_graph_add_node(struct sg_graph *graph, const CUgraphNode *dependencies,
			   const CUgraphEdgeData *data, size_t nr_dependencies,
			   CUgraphNodeParams *params, struct sg_graph_node **node)
{
	struct sg_graph_node *made;
	CUresult result;

	if (nr_dependencies && !dependencies)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_graph_params_check(params);
	if (result != CUDA_SUCCESS)
		return result;
	made = create_node(graph, params->type);
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = add_edges(made, dependencies, data, nr_dependencies);
	if (result == CUDA_SUCCESS)
		result = sg_graph_params_set(made, params);
	if (result == CUDA_SUCCESS)
		result = make_extras(made, params);
	if (result != CUDA_SUCCESS) {
		cut_edges(made);
		destroy_node(made);
		return result;
	}
	graph->nodes[graph->nr_nodes++] = made;
	*node = made;
	return CUDA_SUCCESS;
}

void sg_graph_remove_node(struct sg_graph_node *node)
{
	struct sg_graph *graph = node->graph;
	size_t place = 0;

	while (graph->nodes[place] != node)
		place++;
	graph->nr_nodes--;
	memmove(&graph->nodes[place], &graph->nodes[place + 1],
		(graph->nr_nodes - place) * sizeof(struct sg_graph_node *));
	cut_edges(node);
	destroy_node(node);
}

void sg_graph_destroy(struct sg_graph *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++)
		destroy_node(graph->nodes[i]);
	free(graph->nodes);
	free(graph->order);
	sg_graph_memory_release(graph->memory);
	for (size_t i = 0; i < graph->nr_references; i++)
		if (sg_user_object_release(graph->references[i].object,
					   graph->references[i].count) != CUDA_SUCCESS)
			break; /* a program that releases what is not its own */
	free(graph->references);
	while (graph->conditions) {
		struct sg_graph_condition *condition = graph->conditions;

		graph->conditions = condition->next;
		sg_object_destroy(SG_OBJECT_CONDITION, condition);
	}
	sg_object_destroy(SG_OBJECT_GRAPH, graph);
}

/* ---- User objects ---- */

static struct sg_graph_reference *find_reference(const struct sg_graph *graph,
						 const struct sg_user_object *object)
{
	for (size_t i = 0; i < graph->nr_references; i++)
		if (graph->references[i].object == object)
			return &graph->references[i];
	return NULL;
}

CUresult sg_graph_hold(struct sg_graph *graph, struct sg_user_object *object, uint64_t count)
{
	struct sg_graph_reference *reference = find_reference(graph, object);

	if (!reference) {
		reference =
			realloc(graph->references, (graph->nr_references + 1) * sizeof(*reference));
		if (!reference)
			return CUDA_ERROR_OUT_OF_MEMORY;
		graph->references = reference;
		reference += graph->nr_references++;
		*reference = (struct sg_graph_reference){.object = object};
	}
	reference->count += count;
	sg_user_object_retain(object, count);
	return CUDA_SUCCESS;
}

CUresult sg_graph_let_go(struct sg_graph *graph, struct sg_user_object *object, uint64_t count)
{
	struct sg_graph_reference *reference = find_reference(graph, object);

	if (!reference || reference->count < count)
		return CUDA_ERROR_INVALID_VALUE;
	reference->count -= count;
	if (!reference->count)
		*reference = graph->references[--graph->nr_references];
	return sg_user_object_release(object, count);
}

bool sg_graph_has_types(const struct sg_graph *graph, unsigned types)
{
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		const struct sg_graph_node *node = graph->nodes[i];

		if (types & 1u << node->params.type)
			return true;
		for (unsigned b = 0; b < node->nr_bodies; b++)
			if (sg_graph_has_types(node->bodies[b], types))
				return true;
	}
	return false;
}

/* ---- Copies ---- */

static CUresult clone_bodies(const struct sg_graph_node *from, struct sg_graph_node *to,
			     bool is_executable)
{
	CUresult result = from->nr_bodies ? make_bodies(to, from->nr_bodies) : CUDA_SUCCESS;

	for (unsigned i = 0; i < from->nr_bodies && result == CUDA_SUCCESS; i++) {
		result = sg_graph_clone(from->bodies[i], is_executable, &to->bodies[i]);
		if (result == CUDA_SUCCESS)
			to->bodies[i]->owner = to;
	}
	if (result != CUDA_SUCCESS)
		return result;
	if (from->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
		to->params.graph.graph = sg_graph_to_handle(to->bodies[0]);
	else if (from->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		to->params.conditional.phGraph_out = (CUgraph *)(void *)to->bodies;
	return CUDA_SUCCESS;
}

static CUresult clone_node(struct sg_graph_node *from, struct sg_graph *graph, bool is_executable)
{
	struct sg_graph_node *to = create_node(graph, from->params.type);
	CUresult result;

	if (!to)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph->nodes[graph->nr_nodes++] = to;
	to->origin_id = from->id;
	result = sg_graph_params_set(to, &from->params);
	if (result == CUDA_SUCCESS)
		result = clone_bodies(from, to, is_executable);
	if (result != CUDA_SUCCESS)
		return result;
	if (from->attributes) {
		to->attributes = malloc(sizeof(*to->attributes));
		if (!to->attributes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		*to->attributes = *from->attributes;
	}
	to->condition = from->condition;
	to->allocation = from->allocation;
	if (to->allocation && to->allocation->memory != graph->memory)
		sg_graph_memory_retain(to->allocation->memory);
	return CUDA_SUCCESS;
}

/* The nodes are there, in the same order. */
static CUresult clone_edges(const struct sg_graph *from, struct sg_graph *to)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < from->nr_nodes; i++)
		from->nodes[i]->index = i;
	for (size_t i = 0; i < from->nr_nodes; i++) {
		const struct sg_graph_edges *edges = &from->nodes[i]->dependencies;

		for (size_t e = 0; e < edges->nr_items && result == CUDA_SUCCESS; e++)
			result = sg_graph_append_edge(&to->nodes[i]->dependencies,
						      to->nodes[edges->items[e].node->index],
						      &edges->items[e].data);
		edges = &from->nodes[i]->dependents;
		for (size_t e = 0; e < edges->nr_items && result == CUDA_SUCCESS; e++)
			result = sg_graph_append_edge(&to->nodes[i]->dependents,
						      to->nodes[edges->items[e].node->index],
						      &edges->items[e].data);
	}
	return result;
}

CUresult sg_graph_clone(struct sg_graph *graph, bool is_executable, struct sg_graph **clone)
{
	const unsigned refused = SG_GRAPH_MEMORY_TYPES | 1u << CU_GRAPH_NODE_TYPE_CONDITIONAL;
	CUresult result = CUDA_SUCCESS;
	struct sg_graph *made;

	if (!is_executable && sg_graph_has_types(graph, refused))
		return CUDA_ERROR_NOT_SUPPORTED;
	made = sg_graph_create();
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->is_executable = is_executable;
	if (is_executable && graph->memory) {
		made->memory = graph->memory;
		sg_graph_memory_retain(made->memory);
	}
	for (size_t i = 0; i < graph->nr_nodes && result == CUDA_SUCCESS; i++)
		result = clone_node(graph->nodes[i], made, is_executable);
	if (result == CUDA_SUCCESS)
		result = clone_edges(graph, made);
	for (size_t i = 0; i < graph->nr_references && result == CUDA_SUCCESS; i++)
		result = sg_graph_hold(made, graph->references[i].object,
				       graph->references[i].count);
	if (result == CUDA_SUCCESS)
		*clone = made;
	else
		sg_graph_destroy(made);
	return result;
}

/* Copies were made in the order of their originals; nodes added later have none. */
static struct sg_graph_node *search_copy(const struct sg_graph *graph, uint64_t origin_id)
{
	size_t low = 0, high = graph->nr_nodes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t found = graph->nodes[middle]->origin_id;

		if (found && found < origin_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < graph->nr_nodes && graph->nodes[low]->origin_id == origin_id
		       ? graph->nodes[low]
		       : NULL;
}

struct sg_graph_node *sg_graph_find_copy(const struct sg_graph *graph, uint64_t origin_id)
{
	struct sg_graph_node *found = search_copy(graph, origin_id);

	for (size_t i = 0; i < graph->nr_nodes && !found; i++) {
		const struct sg_graph_node *node = graph->nodes[i];

		for (unsigned b = 0; b < node->nr_bodies && !found; b++)
			found = sg_graph_find_copy(node->bodies[b], origin_id);
	}
	return found;
}

/* ---- Order ---- */

static bool is_sorted(const struct sg_graph *graph)
{
	for (size_t i = 0; i < graph->nr_nodes; i++)
		graph->nodes[i]->index = i;
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		const struct sg_graph_edges *edges = &graph->nodes[i]->dependencies;

		for (size_t e = 0; e < edges->nr_items; e++)
			if (edges->items[e].node->index > i)
				return false;
	}
	return true;
}

bool sg_graph_sort(struct sg_graph *graph, struct sg_graph_node **cyclic)
{
	struct sg_graph_node **sorted;
	size_t nr_sorted = 0;

	*cyclic = NULL;
	if (is_sorted(graph))
		return true;
	sorted = malloc(graph->nr_nodes * sizeof(struct sg_graph_node *));
	if (!sorted)
		return false;
	/* index: how many it still waits for. Whoever waits for none is next. */
	for (size_t i = 0; i < graph->nr_nodes; i++) {
		graph->nodes[i]->index = graph->nodes[i]->dependencies.nr_items;
		if (!graph->nodes[i]->index)
			sorted[nr_sorted++] = graph->nodes[i];
	}
	for (size_t i = 0; i < nr_sorted; i++) {
		const struct sg_graph_edges *edges = &sorted[i]->dependents;

		for (size_t e = 0; e < edges->nr_items; e++)
			if (--edges->items[e].node->index == 0)
				sorted[nr_sorted++] = edges->items[e].node;
	}
	for (size_t i = 0; i < graph->nr_nodes && nr_sorted < graph->nr_nodes; i++)
		if (graph->nodes[i]->index)
			*cyclic = graph->nodes[i];
	if (nr_sorted < graph->nr_nodes) {
		free(sorted);
		return false;
	}
	graph->order = sorted;
	return true;
}
