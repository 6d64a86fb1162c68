#ifndef VS_GRAPHS_H
#define VS_GRAPHS_H

#include "hooks.h"

/*
 * Memory nodes of graphs. What a graph allocates and frees is read from it when it is instantiated,
 * however the nodes came into it (added, captured, cloned, in a child graph), and counts at each
 * launch.
 *
 * A launch is written down as: frees of memory from elsewhere, before the call; then, after it, the
 * graph's own allocations and frees in the order its nodes were made. A graph that frees for itself
 * at its next launch (AUTO_FREE_ON_LAUNCH) is seen to allocate an address that is still live: the
 * analyzer's rule for that case applies. Any thread; errno is kept.
 */

/* From now on graphs may have such nodes. Until then none is looked at. */
void vs_graphs_expect_memory(void);

void vs_graphs_note_instantiate(struct vs_call *call, CUresult result, const CUgraphExec *exec,
				CUgraph graph);
/* Before the call. */
void vs_graphs_note_destroy(struct vs_call *call, CUgraphExec exec);

void vs_graphs_note_launch(struct vs_call *call, CUgraphExec exec);
void vs_graphs_note_launched(struct vs_call *call, CUresult result, CUgraphExec exec);

#endif
