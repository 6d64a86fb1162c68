#ifndef VS_GRAPHS_H
#define VS_GRAPHS_H

#include <stdatomic.h>

#include "hooks.h"

/*
 * Memory nodes of graphs. What a graph allocates and frees is read from it when it is instantiated,
 * however the nodes came into it (added, captured, cloned, in a child graph), and counts at each
 * launch.
 *
 * A launch is written down as: frees of memory from elsewhere, and of what the last launch left if
 * the graph frees that for itself (AUTO_FREE_ON_LAUNCH), before the call; then, after it, the
 * graph's own allocations and frees in the order its nodes were made. Any thread; errno is kept.
 */

/* From now on graphs may have such nodes. Until then none is looked at. */
void vs_graphs_expect_memory(void);

/* flags: those of CUgraphInstantiate_flags. */
void vs_graphs_note_instantiate(struct vs_call *call, CUresult result, const CUgraphExec *exec,
				CUgraph graph, unsigned long long flags);
/* Before the call. */
void vs_graphs_note_destroy(struct vs_call *call, CUgraphExec exec);

void vs_graphs_note_launch(struct vs_call *call, CUgraphExec exec);
void vs_graphs_note_launched(struct vs_call *call, CUresult result, CUgraphExec exec);

/* Memory was freed that a graph may have left to be freed by its next launch. */
void vs_graphs_note_freed(uint64_t address);

/* How many such addresses there are; written by graphs.c alone. */
extern _Atomic unsigned vs_graphs_nr_left;

/* After a free of memory of any sort; next to nothing where no graph has left any. */
static inline void vs_graphs_note_free_result(CUresult result, uint64_t address)
{
	if (__builtin_expect(atomic_load_explicit(&vs_graphs_nr_left, memory_order_relaxed) != 0,
			     0) &&
	    result == CUDA_SUCCESS)
		vs_graphs_note_freed(address);
}

#endif
