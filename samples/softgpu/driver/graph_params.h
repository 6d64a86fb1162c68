#ifndef SG_GRAPH_PARAMS_H
#define SG_GRAPH_PARAMS_H

#include "graph.h"

/*
 * What a node does: checked, copied and freed by type. The graph lock is held.
 */

/*
 * Whether a node may have these parameters, as far as that can be told before it runs: addresses
 * of memory may be of memory that comes to life only when the graph is launched.
 * CUDA_ERROR_INVALID_VALUE, for kernels what launching would give.
 */
SG_MUST_USE CUresult sg_graph_params_check(const CUgraphNodeParams *params);

/*
 * Give a node parameters that were checked, in place of those it has, if any; what they point to is
 * copied. Bodies, memory and conditions are not touched. CUDA_ERROR_OUT_OF_MEMORY.
 */
SG_MUST_USE CUresult sg_graph_params_set(struct sg_graph_node *node,
					 const CUgraphNodeParams *params);

/* Free what the parameters of a node that goes away point to. */
void sg_graph_params_free(struct sg_graph_node *node);

/* The context a node runs in: the one named, else the kernel's own, else the current one. */
SG_MUST_USE CUresult sg_graph_params_get_context(const CUgraphNodeParams *params,
						 struct sg_context **context);

#endif
