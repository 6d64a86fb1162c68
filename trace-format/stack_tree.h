#ifndef VS_STACK_TREE_H
#define VS_STACK_TREE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The stacks of a trace as a tree, from the writer's side: docs/trace-format.md, section 3.3. A
 * node is a frame below (called by) another one; stacks that share their outer frames share nodes.
 * Here is only what it takes to find a node again: memory of its own (mmap), which grows by
 * doubling up to a limit. One thread.
 */
struct vs_stack_tree {
	struct vs_stack_tree_entry *entries; /* open addressing; NULL: none yet, or no memory */
	uint32_t capacity;                   /* a power of two, or 0 */
	uint32_t nr_used;
	uint32_t next_node;
};

/* next_node: what the first new node is called; 1 in a new trace. Takes no memory yet. */
void vs_stack_tree_init(struct vs_stack_tree *tree, uint32_t next_node);
void vs_stack_tree_fini(struct vs_stack_tree *tree);

/* The node of an address below a parent (0: outermost), or 0 if it is not known. */
uint32_t vs_stack_tree_find(const struct vs_stack_tree *tree, uint32_t parent, uint64_t address);

/*
 * A new node. It is remembered unless there is no memory for that: then the same frame becomes
 * another node the next time, and the trace a little larger.
 */
uint32_t vs_stack_tree_add(struct vs_stack_tree *tree, uint32_t parent, uint64_t address);

#endif
