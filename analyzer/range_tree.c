#include "range_tree.h"

#include <assert.h>

static int get_height(const struct vs_range *range)
{
	return range ? range->height : 0;
}

static void update(struct vs_range *range)
{
	int left = get_height(range->child[0]), right = get_height(range->child[1]);

	range->height = 1 + (left > right ? left : right);
}

/* The child on `side` goes up. */
static struct vs_range *rotate(struct vs_range *range, int side)
{
	struct vs_range *top = range->child[side];

	range->child[side] = top->child[!side];
	top->child[!side] = range;
	update(range);
	update(top);
	return top;
}

static struct vs_range *balance(struct vs_range *range)
{
	int lean = get_height(range->child[1]) - get_height(range->child[0]);
	int side = lean > 0;
	struct vs_range *heavy = range->child[side];

	update(range);
	if (lean >= -1 && lean <= 1)
		return range;
	if (get_height(heavy->child[!side]) > get_height(heavy->child[side]))
		range->child[side] = rotate(heavy, !side);
	return rotate(range, side);
}

static struct vs_range *insert(struct vs_range *root, struct vs_range *range)
{
	int side;

	if (!root)
		return range;
	side = range->base > root->base;
	root->child[side] = insert(root->child[side], range);
	return balance(root);
}

void vs_range_tree_insert(struct vs_range_tree *tree, struct vs_range *range)
{
	assert(range->size && range->base + range->size > range->base);
	range->child[0] = range->child[1] = NULL;
	range->height = 1;
	tree->root = insert(tree->root, range);
	tree->nr_ranges++;
}

static struct vs_range *take_first(struct vs_range *root, struct vs_range **first)
{
	if (!root->child[0]) {
		*first = root;
		return root->child[1];
	}
	root->child[0] = take_first(root->child[0], first);
	return balance(root);
}

static struct vs_range *remove_below(struct vs_range *root, struct vs_range *range)
{
	struct vs_range *next;
	int side;

	assert(root);
	if (root == range) {
		if (!root->child[1])
			return root->child[0];
		root->child[1] = take_first(root->child[1], &next);
		next->child[0] = root->child[0];
		next->child[1] = root->child[1];
		return balance(next);
	}
	side = range->base > root->base;
	root->child[side] = remove_below(root->child[side], range);
	return balance(root);
}

void vs_range_tree_remove(struct vs_range_tree *tree, struct vs_range *range)
{
	tree->root = remove_below(tree->root, range);
	tree->nr_ranges--;
}

struct vs_range *vs_range_tree_find_from(const struct vs_range_tree *tree, uint64_t address)
{
	struct vs_range *at = tree->root, *found = NULL;

	while (at) {
		if (vs_range_end(at) > address) {
			found = at;
			at = at->child[0];
		} else {
			at = at->child[1];
		}
	}
	return found;
}

struct vs_range *vs_range_tree_find_below(const struct vs_range_tree *tree, uint64_t address)
{
	struct vs_range *at = tree->root, *found = NULL;

	while (at) {
		if (at->base < address) {
			found = at;
			at = at->child[1];
		} else {
			at = at->child[0];
		}
	}
	return found;
}

struct vs_range *vs_range_tree_find(const struct vs_range_tree *tree, uint64_t address)
{
	struct vs_range *found = vs_range_tree_find_from(tree, address);

	return found && found->base <= address ? found : NULL;
}

struct vs_range *vs_range_tree_first(const struct vs_range_tree *tree)
{
	return vs_range_tree_find_from(tree, 0);
}

struct vs_range *vs_range_tree_last(const struct vs_range_tree *tree)
{
	struct vs_range *at = tree->root;

	while (at && at->child[1])
		at = at->child[1];
	return at;
}

struct vs_range *vs_range_tree_next(const struct vs_range_tree *tree, const struct vs_range *range)
{
	return vs_range_tree_find_from(tree, vs_range_end(range));
}
