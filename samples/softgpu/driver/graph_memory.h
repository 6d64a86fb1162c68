#ifndef SG_GRAPH_MEMORY_H
#define SG_GRAPH_MEMORY_H

#include "graph.h"
#include "memory.h"

/*
 * Memory nodes. A graph gets addresses when an allocation node is added: in regions of whole pages
 * which are its own for as long as it, its executable graph or memory it allocated is there.
 * An address whose free node comes before the new node is used again.
 *
 * Addresses cost nothing. Each device has a graph pool: pages that are charged to the card when
 * a launch needs more than the pool has, and stay until they are trimmed. During a launch all
 * regions of the graph have pages; afterwards those with something unfreed in them. Graphs that do
 * not run at the same time thus share pages, as on a card.
 *
 * Guarded by the memory lock, which these functions take; adding nodes wants the graph lock, too.
 */
struct sg_graph_region;

struct sg_graph_allocation {
	struct sg_node node; /* in its memory's tree until a node of its own graph frees it */
	uint64_t address;
	uint64_t size;
	struct sg_graph_memory *memory;
	struct sg_graph_region *region;
	bool is_freed_inside;  /* by a node of its own graph */
	bool is_freed_outside; /* by a node of another graph */
	bool is_live;          /* a launch allocated it, and nothing freed it yet */
	struct sg_graph_allocation *next;
};

/* With one owner; NULL when memory is out. */
struct sg_graph_memory *sg_graph_memory_create(void);
void sg_graph_memory_retain(struct sg_graph_memory *memory);
void sg_graph_memory_release(struct sg_graph_memory *memory);

/*
 * An address for an allocation node. Nodes with that memory_mark come before it.
 * CUDA_ERROR_OUT_OF_MEMORY when addresses are out.
 */
SG_MUST_USE CUresult sg_graph_memory_add(struct sg_graph_memory *memory, CUdevice device,
					 uint64_t size, uint64_t mark,
					 struct sg_graph_allocation **allocation);

/*
 * What a free node in a graph with `memory` frees: the allocation of a node, that no other node
 * frees. CUDA_ERROR_INVALID_VALUE if there is none at the address.
 */
SG_MUST_USE CUresult sg_graph_memory_find(struct sg_graph_memory *memory, uint64_t address,
					  struct sg_graph_allocation **allocation);
/*
 * That node was made. Memory of another graph gets the node as an owner: sg_graph_memory_release
 * when it goes.
 */
void sg_graph_memory_note_free(struct sg_graph_memory *memory,
			       struct sg_graph_allocation *allocation,
			       const struct sg_graph_node *node);

/* One executable graph at a time: false if there is one. */
bool sg_graph_memory_claim(struct sg_graph_memory *memory);
void sg_graph_memory_unclaim(struct sg_graph_memory *memory);

/*
 * Pages for all regions, before a launch: CUDA_ERROR_OUT_OF_MEMORY. What an earlier launch left
 * allocated is freed if `is_auto_free`, else CUDA_ERROR_INVALID_VALUE. Each one that succeeds is
 * ended by sg_graph_memory_end, after which only live allocations hold pages.
 */
SG_MUST_USE CUresult sg_graph_memory_begin(struct sg_graph_memory *memory, bool is_auto_free);
void sg_graph_memory_end(struct sg_graph_memory *memory);

/* See to it that the pool has the pages a launch would need. CUDA_ERROR_OUT_OF_MEMORY. */
SG_MUST_USE CUresult sg_graph_memory_upload(struct sg_graph_memory *memory);

/* What the nodes do. CUDA_ERROR_INVALID_VALUE if it is live already, or not live. */
SG_MUST_USE CUresult sg_graph_memory_allocate(struct sg_graph_allocation *allocation);
SG_MUST_USE CUresult sg_graph_memory_free(struct sg_graph_allocation *allocation);

/* Any thread. */
bool sg_graph_memory_is_live(const struct sg_graph_allocation *allocation);

/* A block that a graph allocated is freed; it is the caller's to remove. Memory lock held. */
void sg_graph_memory_give(struct sg_block *block);

/*
 * The block that a node allocates at an address and its graph does not free, as far as it can be
 * told without its being there. False if none does. Memory lock held.
 */
bool sg_graph_memory_describe(uint64_t address, struct sg_block *block);

/* All blocks of the device are gone: give back all pages of its pool. Memory lock held. */
void sg_graph_memory_reset(CUdevice device);

#endif
