#include "range_tree.h"

#include <assert.h>
#include <stdbool.h>

/* Numbers without any pattern, the same ones every time: addresses have patterns. */
static uint32_t get_priority(uint64_t base)
{
	base = (base ^ base >> 30) * 0xbf58476d1ce4e5b9; /* as splitmix64 ends */
	base = (base ^ base >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(base >> 32);
}

/* What hangs where `old` hung, below parent, from now on. */
static void replace(struct vs_range_tree *tree, struct vs_range *parent, const struct vs_range *old,
		    struct vs_range *new)
{
	if (new)
		new->parent = parent;
	if (!parent)
		tree->root = new;
	else
		parent->child[parent->child[1] == old] = new;
}

/* The child on `side` goes up. */
static void rotate(struct vs_range_tree *tree, struct vs_range *range, int side)
{
	struct vs_range *top = range->child[side], *inner = top->child[!side];

	replace(tree, range->parent, range, top);
	range->child[side] = inner;
	if (inner)
		inner->parent = range;
	top->child[!side] = range;
	range->parent = top;
}

/* Between two neighbours, of which one may be missing: below the one that has room there. */
static void attach(struct vs_range_tree *tree, struct vs_range *range, struct vs_range *before,
		   struct vs_range *next)
{
	bool is_left = next && !next->child[0];
	struct vs_range *parent = is_left ? next : before;

	assert(range->size && range->base + range->size > range->base);
	range->child[0] = range->child[1] = NULL;
	range->priority = get_priority(range->base);
	range->parent = parent;
	range->before = before;
	range->next = next;
	if (before)
		before->next = range;
	if (next)
		next->before = range;
	tree->nr_ranges++;
	if (!parent) {
		tree->root = range;
		return;
	}
	parent->child[!is_left] = range;
	while ((parent = range->parent) && parent->priority < range->priority)
		rotate(tree, parent, parent->child[1] == range);
}

void vs_range_tree_insert_before(struct vs_range_tree *tree, struct vs_range *range,
				 struct vs_range *next)
{
	attach(tree, range, next ? next->before : vs_range_tree_last(tree), next);
}

void vs_range_tree_insert(struct vs_range_tree *tree, struct vs_range *range)
{
	struct vs_range *before = vs_range_tree_find_below(tree, range->base);

	attach(tree, range, before, before ? before->next : vs_range_tree_first(tree));
}

void vs_range_tree_remove(struct vs_range_tree *tree, struct vs_range *range)
{
	/* Down, until there is at most one below it. */
	while (range->child[0] && range->child[1])
		rotate(tree, range, range->child[1]->priority > range->child[0]->priority);
	replace(tree, range->parent, range, range->child[!range->child[0]]);
	if (range->before)
		range->before->next = range->next;
	if (range->next)
		range->next->before = range->before;
	tree->nr_ranges--;
}

/* The last range that starts at the address or below it. */
static struct vs_range *find_at_or_below(const struct vs_range_tree *tree, uint64_t address)
{
	struct vs_range *at = tree->root, *found = NULL;

	while (at) {
		bool is_below = at->base <= address;

		found = is_below ? at : found;
		at = at->child[is_below];
	}
	return found;
}

struct vs_range *vs_range_tree_find_from(const struct vs_range_tree *tree, uint64_t address)
{
	struct vs_range *found = find_at_or_below(tree, address);

	if (!found)
		return vs_range_tree_first(tree);
	return vs_range_end(found) > address ? found : found->next;
}

struct vs_range *vs_range_tree_find_below(const struct vs_range_tree *tree, uint64_t address)
{
	return address ? find_at_or_below(tree, address - 1) : NULL;
}

struct vs_range *vs_range_tree_find(const struct vs_range_tree *tree, uint64_t address)
{
	struct vs_range *found = find_at_or_below(tree, address);

	return found && vs_range_end(found) > address ? found : NULL;
}

static struct vs_range *get_outermost(const struct vs_range_tree *tree, int side)
{
	struct vs_range *at = tree->root;

	while (at && at->child[side])
		at = at->child[side];
	return at;
}

struct vs_range *vs_range_tree_first(const struct vs_range_tree *tree)
{
	return get_outermost(tree, 0);
}

struct vs_range *vs_range_tree_last(const struct vs_range_tree *tree)
{
	return get_outermost(tree, 1);
}

struct vs_range *vs_range_tree_next(const struct vs_range_tree *tree, const struct vs_range *range)
{
	(void)tree;
	return range->next;
}

struct vs_range *vs_range_tree_before(const struct vs_range *range)
{
	return range->before;
}
