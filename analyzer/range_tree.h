#ifndef VS_RANGE_TREE_H
#define VS_RANGE_TREE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A balanced tree of address ranges that do not overlap, by address. Nodes are embedded in what
 * they index; the tree owns nothing. Each knows its neighbours, so going on from one costs nothing.
 * A node fills a cache line: a search reads one for each level.
 *
 * Each has a number that is as good as random, and none has a lower one than those below it: then
 * the tree is as if all had been inserted in a random order, about twice as deep as it could be at
 * best. Nobody has to be asked how deep things are: a new one goes up, and one that is taken out
 * goes down, by less than two levels on average, and nothing beside the way is looked at.
 */
struct vs_range {
	uint64_t base;
	uint64_t size; /* at least 1; base + size does not wrap */
	struct vs_range *child[2];
	struct vs_range *parent; /* NULL: the root */
	struct vs_range *next;   /* by address; NULL: the last */
	struct vs_range *before;
	uint32_t priority;
};

struct vs_range_tree {
	struct vs_range *root;
	size_t nr_ranges;
};

static inline uint64_t vs_range_end(const struct vs_range *range)
{
	return range->base + range->size;
}

/* base and size are set by the caller and overlap no range that is in. */
void vs_range_tree_insert(struct vs_range_tree *tree, struct vs_range *range);

/* The same for those who know the next range already; NULL: it is the last. */
void vs_range_tree_insert_before(struct vs_range_tree *tree, struct vs_range *range,
				 struct vs_range *next);
void vs_range_tree_remove(struct vs_range_tree *tree, struct vs_range *range);

/* The range that holds the address, or NULL. */
struct vs_range *vs_range_tree_find(const struct vs_range_tree *tree, uint64_t address);

/* The first range that ends behind the address (holds it or lies above it), or NULL. */
struct vs_range *vs_range_tree_find_from(const struct vs_range_tree *tree, uint64_t address);

/* The last range that starts below the address, or NULL. */
struct vs_range *vs_range_tree_find_below(const struct vs_range_tree *tree, uint64_t address);

/* In order of addresses; NULL when there is none. A range may not be removed before its next one is
 * taken. */
struct vs_range *vs_range_tree_first(const struct vs_range_tree *tree);
struct vs_range *vs_range_tree_last(const struct vs_range_tree *tree);
struct vs_range *vs_range_tree_next(const struct vs_range_tree *tree, const struct vs_range *range);

/* The one below a range that is in, or NULL. */
struct vs_range *vs_range_tree_before(const struct vs_range *range);

#endif
