#include "tree.h"

#include <stddef.h>

static int height_of(const struct sg_node *node)
{
	return node ? node->height : 0;
}

static uint64_t max_of(const struct sg_node *node)
{
	return node ? node->max_size : 0;
}

static void update(struct sg_node *node)
{
	int left = height_of(node->child[0]), right = height_of(node->child[1]);
	uint64_t max = node->size;

	node->height = 1 + (left > right ? left : right);
	if (max_of(node->child[0]) > max)
		max = max_of(node->child[0]);
	if (max_of(node->child[1]) > max)
		max = max_of(node->child[1]);
	node->max_size = max;
}

/* Lift the child on the other side of `side` above the node. */
static struct sg_node *rotate(struct sg_node *node, int side)
{
	struct sg_node *top = node->child[!side];

	node->child[!side] = top->child[side];
	top->child[side] = node;
	update(node);
	update(top);
	return top;
}

static struct sg_node *balance(struct sg_node *node)
{
	int lean = height_of(node->child[0]) - height_of(node->child[1]);

	update(node);
	if (lean >= -1 && lean <= 1)
		return node;
	/* side: the taller one */
	int side = lean < 0;
	struct sg_node *tall = node->child[side];

	if (height_of(tall->child[!side]) > height_of(tall->child[side]))
		node->child[side] = rotate(tall, side);
	return rotate(node, !side);
}

static struct sg_node *insert_below(struct sg_node *root, struct sg_node *node)
{
	int side;

	if (!root)
		return node;
	side = node->base > root->base;
	root->child[side] = insert_below(root->child[side], node);
	return balance(root);
}

void sg_tree_insert(struct sg_tree *tree, struct sg_node *node)
{
	node->child[0] = NULL;
	node->child[1] = NULL;
	update(node);
	tree->root = insert_below(tree->root, node);
}

/* Unhook the lowest node of a subtree. */
static struct sg_node *take_lowest(struct sg_node *root, struct sg_node **lowest)
{
	if (!root->child[0]) {
		*lowest = root;
		return root->child[1];
	}
	root->child[0] = take_lowest(root->child[0], lowest);
	return balance(root);
}

static struct sg_node *remove_below(struct sg_node *root, struct sg_node *node)
{
	struct sg_node *heir;
	int side;

	if (root != node) {
		side = node->base > root->base;
		root->child[side] = remove_below(root->child[side], node);
		return balance(root);
	}
	if (!root->child[0] || !root->child[1])
		return root->child[root->child[0] == NULL];
	struct sg_node *right = take_lowest(root->child[1], &heir);

	heir->child[0] = root->child[0];
	heir->child[1] = right;
	return balance(heir);
}

void sg_tree_remove(struct sg_tree *tree, struct sg_node *node)
{
	tree->root = remove_below(tree->root, node);
}

static void update_path(struct sg_node *root, struct sg_node *node)
{
	if (root != node)
		update_path(root->child[node->base > root->base], node);
	update(root);
}

void sg_tree_resize(struct sg_tree *tree, struct sg_node *node, uint64_t base, uint64_t size)
{
	node->base = base;
	node->size = size;
	update_path(tree->root, node);
}

struct sg_node *sg_tree_find_from(const struct sg_tree *tree, uint64_t address)
{
	struct sg_node *node = tree->root, *best = NULL;

	while (node) {
		if (address - node->base < node->size && address >= node->base)
			return node;
		if (node->base > address) {
			best = node;
			node = node->child[0];
		} else {
			node = node->child[1];
		}
	}
	return best;
}

struct sg_node *sg_tree_find(const struct sg_tree *tree, uint64_t address)
{
	struct sg_node *node = sg_tree_find_from(tree, address);

	return node && node->base <= address ? node : NULL;
}

/* side 0: the lowest that fits; 1: the highest. */
static struct sg_node *find_fit(const struct sg_tree *tree, uint64_t size, int side)
{
	struct sg_node *node = tree->root;

	if (max_of(node) < size)
		return NULL;
	for (;;) {
		if (max_of(node->child[side]) >= size)
			node = node->child[side];
		else if (node->size >= size)
			return node;
		else
			node = node->child[!side];
	}
}

struct sg_node *sg_tree_first_fit(const struct sg_tree *tree, uint64_t size)
{
	return find_fit(tree, size, 0);
}

struct sg_node *sg_tree_last_fit(const struct sg_tree *tree, uint64_t size)
{
	return find_fit(tree, size, 1);
}
