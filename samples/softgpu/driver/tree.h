#ifndef SG_TREE_H
#define SG_TREE_H

#include <stdint.h>

/*
 * A balanced tree of address ranges that do not overlap, by address. Nodes are embedded in what
 * they index; the tree owns nothing. Each node knows the largest range below it, which gives first
 * fit by address in logarithmic time. The caller brings the lock.
 */
struct sg_node {
	uint64_t base;
	uint64_t size;
	uint64_t max_size; /* largest size in this subtree */
	struct sg_node *child[2];
	int height;
};

struct sg_tree {
	struct sg_node *root;
};

/* base and size are set by the caller and must not overlap a range that is in. */
void sg_tree_insert(struct sg_tree *tree, struct sg_node *node);
void sg_tree_remove(struct sg_tree *tree, struct sg_node *node);

/*
 * Change the range of a node that is in. The new range must lie in the gap between its neighbours,
 * so that the order stays.
 */
void sg_tree_resize(struct sg_tree *tree, struct sg_node *node, uint64_t base, uint64_t size);

/* The range that holds the address, or NULL. */
struct sg_node *sg_tree_find(const struct sg_tree *tree, uint64_t address);

/* The first range that ends behind the address (holds it or lies above it), or NULL. */
struct sg_node *sg_tree_find_from(const struct sg_tree *tree, uint64_t address);

/* The lowest, or the highest, range of at least that size, or NULL. */
struct sg_node *sg_tree_first_fit(const struct sg_tree *tree, uint64_t size);
struct sg_node *sg_tree_last_fit(const struct sg_tree *tree, uint64_t size);

#endif
