#ifndef SG_GRAPH_EXEC_H
#define SG_GRAPH_EXEC_H

#include "graph.h"

/*
 * Executable graphs. Launching one does at once what its nodes say, each after those it depends
 * on. The graph lock is held for everything but the launch.
 */
struct sg_graph_exec {
	struct sg_graph *graph; /* its own: a copy */
	cuuint64_t flags;
};

struct sg_graph_exec *sg_graph_exec_get(CUgraphExec handle);

/*
 * The node of an executable graph that stands for a node of the graph it was made from: of that
 * type, or of any if it is negative. NULL if there is none.
 */
struct sg_graph_node *sg_graph_exec_find(const struct sg_graph_exec *exec, CUgraphNode handle,
					 int type);

/*
 * Whether an executable node can change to other parameters of its type; as a value, because the
 * caller decides whether that is an error of the call or of an update.
 */
CUgraphExecUpdateResult sg_graph_exec_compare(const struct sg_graph_node *node,
					      const CUgraphNodeParams *params);

/* Give it these; they were checked and compared. CUDA_ERROR_OUT_OF_MEMORY. */
SG_MUST_USE CUresult sg_graph_exec_change(struct sg_graph_node *node,
					  const CUgraphNodeParams *params);

/*
 * Update the nodes of an executable graph from another graph of the same shape; all or none.
 * CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, and *info says why.
 */
SG_MUST_USE CUresult sg_graph_update(struct sg_graph *executable, const struct sg_graph *graph,
				     CUgraphExecUpdateResultInfo_v1 *info);

#endif
