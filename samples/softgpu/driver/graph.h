#ifndef SG_GRAPH_H
#define SG_GRAPH_H

#include "driver.h"

/*
 * Graphs: nodes and the edges between them. An executable graph holds a graph of its own, a copy
 * made when it was instantiated.
 *
 * One lock guards all graphs, captures and user objects of the process. It is taken before the
 * memory lock and never while that is held. Functions here want it held unless they say otherwise.
 * Host functions and destructors of user objects run with no lock held: sg_graph_unlock runs
 * the destructors that became due. A launch reads its executable graph without the lock: that
 * nobody changes or destroys it meanwhile is the program's duty, as it is with CUDA.
 */
struct sg_graph;
struct sg_graph_node;
struct sg_graph_memory;
struct sg_graph_allocation;
struct sg_user_object;
struct sg_context;

struct sg_graph_edge {
	struct sg_graph_node *node; /* at the other end */
	CUgraphEdgeData data;
};

struct sg_graph_edges {
	struct sg_graph_edge *items;
	size_t nr_items, capacity;
};

/* Settings of a kernel node; those not set have no bit. */
struct sg_graph_attributes {
	uint32_t is_set;
	CUlaunchAttributeValue values[CU_LAUNCH_ATTRIBUTE_MAX];
};

/* A condition that kernels would set, by CUgraphConditionalHandle. Its graph owns it. */
struct sg_graph_condition {
	unsigned default_value;
	unsigned flags;
	struct sg_graph_condition *next;
};

struct sg_graph_node {
	struct sg_graph *graph;
	uint64_t id;        /* rises with creation, never used again */
	uint64_t origin_id; /* of the node this is a copy of, 0: none */
	/* What it does. What pointers in it point to belongs to the node, but for arguments of
	 * kernels, whose number and sizes nobody told us: they are given back as they came. */
	CUgraphNodeParams params;
	struct sg_graph_edges dependencies, dependents;
	/* The graph of a child node, the bodies of a conditional one. */
	struct sg_graph **bodies;
	unsigned nr_bodies;
	struct sg_graph_condition condition;    /* of a conditional node: a copy */
	struct sg_graph_attributes *attributes; /* kernel; NULL: none set */
	struct sg_graph_allocation *allocation; /* memory nodes: what they allocate or free */
	bool is_disabled;                       /* in an executable graph */
	uint64_t mark;                          /* see sg_graph_mark_ancestors */
	uint64_t memory_mark;                   /* the same, for allocations alone */
	size_t index;                           /* scratch: place in its graph */
};

struct sg_graph_reference {
	struct sg_user_object *object;
	uint64_t count;
};

struct sg_graph {
	uint64_t id;
	struct sg_graph_node **nodes; /* in order of creation, so ids rise */
	size_t nr_nodes, capacity;
	struct sg_graph_node **order;   /* to run them in, if that is another; executable graphs */
	struct sg_graph_node *owner;    /* the node it is a body of, NULL: the program's own */
	struct sg_graph_memory *memory; /* of its memory nodes, NULL: it has none */
	/* What comes before this node, and it, have this memory_mark; NULL: it is not known. */
	struct sg_graph_node *marked_tip;
	uint64_t tip_mark;
	struct sg_graph_reference *references;
	size_t nr_references;
	struct sg_graph_condition *conditions;
	unsigned nr_captures; /* that go on into it */
	bool is_executable;   /* inside an executable graph: no handle of the program's */
};

void sg_graph_lock(void);
void sg_graph_unlock(void);

/* How most calls begin: the driver is initialised, and an argument is there. No lock. */
SG_MUST_USE CUresult sg_graph_require(const void *argument);

/* By handle of the program; NULL if it is none. */
struct sg_graph *sg_graph_get(CUgraph handle);
struct sg_graph_node *sg_graph_get_node(CUgraphNode handle);
struct sg_graph_condition *sg_graph_get_condition(CUgraphConditionalHandle handle);

CUgraph sg_graph_to_handle(struct sg_graph *graph);
CUgraphNode sg_graph_to_node_handle(struct sg_graph_node *node);

/* NULL when memory is out. */
struct sg_graph *sg_graph_create(void);
void sg_graph_destroy(struct sg_graph *graph);

/*
 * Add a node behind others: edges of which `node` is of this graph, none twice. data may be NULL.
 * What params names is checked and copied; memory gets its address, bodies their graphs, and
 * params is told of them. CUDA_ERROR_INVALID_VALUE and what checking the parameters gives.
 */
SG_MUST_USE CUresult sg_graph_add_node(struct sg_graph *graph, const CUgraphNode *dependencies,
				       const CUgraphEdgeData *data, size_t nr_dependencies,
				       CUgraphNodeParams *params, struct sg_graph_node **node);

/* Take a node out of its graph, with its edges. */
void sg_graph_remove_node(struct sg_graph_node *node);

SG_MUST_USE CUresult sg_graph_add_edge(struct sg_graph_node *from, struct sg_graph_node *to,
				       const CUgraphEdgeData *data);
/* CUDA_ERROR_INVALID_VALUE if there is no edge with that data (NULL: zeros). */
SG_MUST_USE CUresult sg_graph_remove_edge(struct sg_graph_node *from, struct sg_graph_node *to,
					  const CUgraphEdgeData *data);

/* Add to a list that is no edge in a graph yet. */
SG_MUST_USE CUresult sg_graph_append_edge(struct sg_graph_edges *edges, struct sg_graph_node *node,
					  const CUgraphEdgeData *data);

void sg_graph_free_edges(struct sg_graph_edges *edges);

/* Whether data says no more than "after". */
bool sg_graph_is_plain_edge(const CUgraphEdgeData *data);

/* Give all nodes on which these depend, and these themselves, the same new mark; returns it. */
uint64_t sg_graph_mark_ancestors(const struct sg_graph_edges *edges);

/*
 * A copy, whose nodes know their originals. is_executable: for an executable graph, which may have
 * memory and conditional nodes and shares the memory with its original; others may not:
 * CUDA_ERROR_NOT_SUPPORTED.
 */
SG_MUST_USE CUresult sg_graph_clone(struct sg_graph *graph, bool is_executable,
				    struct sg_graph **clone);

/* Whether it has nodes of one of these types (bits), its bodies included. */
bool sg_graph_has_types(const struct sg_graph *graph, unsigned types);
#define SG_GRAPH_MEMORY_TYPES \
	(1u << CU_GRAPH_NODE_TYPE_MEM_ALLOC | 1u << CU_GRAPH_NODE_TYPE_MEM_FREE)

/* The copy of a node with that id, bodies included, or NULL. */
struct sg_graph_node *sg_graph_find_copy(const struct sg_graph *graph, uint64_t origin_id);

/*
 * Find an order in which each node comes after what it depends on: that of creation where it is
 * one, else graph->order. False if there is none, and *cyclic is a node of a circle (NULL: memory
 * is out). Once for a graph that does not change any more.
 */
bool sg_graph_sort(struct sg_graph *graph, struct sg_graph_node **cyclic);

/* User objects held by the graph. */
SG_MUST_USE CUresult sg_graph_hold(struct sg_graph *graph, struct sg_user_object *object,
				   uint64_t count);
SG_MUST_USE CUresult sg_graph_let_go(struct sg_graph *graph, struct sg_user_object *object,
				     uint64_t count);

#endif
