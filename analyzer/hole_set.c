#include "hole_set.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define SUB_BITS   4
#define NR_CLASSES (64u << SUB_BITS)
#define NR_WORDS   (NR_CLASSES / 64)

struct size_node {
	struct vs_range range; /* base: the size; one byte long */
	uint64_t nr_holes;
	struct size_node *next_spare;
};

struct vs_hole_sizes {
	uint64_t words; /* which of the following are not 0 */
	uint64_t bits[NR_WORDS];
	struct vs_range_tree classes[NR_CLASSES];
	struct size_node *spare; /* nodes that are in no tree */
};

static struct size_node *node_of(struct vs_range *range)
{
	return (struct size_node *)(void *)range; /* its first member */
}

/* The power of two, and the bits below it. */
static uint32_t get_class(uint64_t size)
{
	uint32_t power = 63 - (uint32_t)__builtin_clzll(size);
	uint64_t rest = power > SUB_BITS ? size >> (power - SUB_BITS) : size << (SUB_BITS - power);

	return power << SUB_BITS | (uint32_t)(rest & ((1u << SUB_BITS) - 1));
}

/* What a size is in a tree: a range of one byte, which the last number cannot be. */
static uint64_t get_key(uint64_t size)
{
	return size == UINT64_MAX ? size - 1 : size;
}

void vs_hole_set_fini(struct vs_hole_set *set)
{
	struct vs_hole_sizes *sizes = set->sizes;
	struct size_node *spare;
	struct vs_range *range;
	uint32_t i;

	for (i = 0; i < NR_CLASSES && sizes; i++) {
		while ((range = sizes->classes[i].root)) {
			vs_range_tree_remove(&sizes->classes[i], range);
			free(node_of(range));
		}
	}
	while (sizes && (spare = sizes->spare)) {
		sizes->spare = spare->next_spare;
		free(spare);
	}
	free(sizes);
	*set = (struct vs_hole_set){0};
}

static int make_node(struct vs_hole_sizes *sizes, struct size_node **node)
{
	*node = sizes->spare;
	if (*node)
		sizes->spare = (*node)->next_spare;
	else
		*node = malloc(sizeof(**node));
	return *node ? 0 : -VS_ERR_NO_MEMORY;
}

static int add_size(struct vs_hole_sizes *sizes, uint64_t size)
{
	uint32_t class = get_class(size);
	struct vs_range_tree *tree = &sizes->classes[class];
	struct vs_range *next = vs_range_tree_find_from(tree, get_key(size));
	struct size_node *node;
	int err;

	if (next && next->base == get_key(size)) {
		node_of(next)->nr_holes++;
		return 0;
	}
	err = make_node(sizes, &node);
	if (err)
		return err;
	node->range.base = get_key(size);
	node->range.size = 1;
	node->nr_holes = 1;
	vs_range_tree_insert_before(tree, &node->range, next);
	sizes->bits[class / 64] |= 1ull << class % 64;
	sizes->words |= 1ull << class / 64;
	return 0;
}

int vs_hole_set_add(struct vs_hole_set *set, uint64_t size)
{
	int err;

	if (!size)
		return 0;
	if (!set->sizes) {
		set->sizes = calloc(1, sizeof(*set->sizes));
		if (!set->sizes)
			return -VS_ERR_NO_MEMORY;
	}
	err = add_size(set->sizes, size);
	if (err)
		return err;
	set->nr_holes++;
	set->total_bytes += size;
	set->squares += (unsigned __int128)size * size;
	return 0;
}

static void remove_size(struct vs_hole_sizes *sizes, uint64_t size)
{
	uint32_t class = get_class(size);
	struct vs_range_tree *tree = &sizes->classes[class];
	struct vs_range *range = vs_range_tree_find(tree, get_key(size));

	assert(range);
	if (--node_of(range)->nr_holes)
		return;
	vs_range_tree_remove(tree, range);
	node_of(range)->next_spare = sizes->spare;
	sizes->spare = node_of(range);
	if (tree->root)
		return;
	sizes->bits[class / 64] &= ~(1ull << class % 64);
	if (!sizes->bits[class / 64])
		sizes->words &= ~(1ull << class / 64);
}

void vs_hole_set_remove(struct vs_hole_set *set, uint64_t size)
{
	if (!size)
		return;
	assert(set->sizes);
	remove_size(set->sizes, size);
	set->nr_holes--;
	set->total_bytes -= size;
	set->squares -= (unsigned __int128)size * size;
}

uint64_t vs_hole_set_get_largest(const struct vs_hole_set *set)
{
	const struct vs_hole_sizes *sizes = set->sizes;
	uint32_t word, class;

	if (!sizes || !sizes->words)
		return 0;
	word = 63 - (uint32_t)__builtin_clzll(sizes->words);
	class = word * 64 + 63 - (uint32_t)__builtin_clzll(sizes->bits[word]);
	return vs_range_tree_last(&sizes->classes[class])->base;
}

double vs_hole_set_get_share(const struct vs_hole_set *set)
{
	uint64_t outside = set->total_bytes - vs_hole_set_get_largest(set);

	return set->total_bytes ? (double)outside / (double)set->total_bytes : 0;
}

double vs_hole_set_get_scatter(const struct vs_hole_set *set)
{
	if (!set->total_bytes)
		return 0;
	return 1 - sqrt((double)set->squares) / (double)set->total_bytes;
}

static uint64_t sum_below(const struct vs_range_tree *class, uint64_t request)
{
	struct vs_range *range;
	uint64_t bytes = 0;

	for (range = vs_range_tree_first(class); range && range->base < request;
	     range = vs_range_tree_next(class, range))
		bytes += range->base * node_of(range)->nr_holes;
	return bytes;
}

uint64_t vs_hole_set_get_below(const struct vs_hole_set *set, uint64_t request)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < NR_CLASSES && set->sizes; i++)
		bytes += sum_below(&set->sizes->classes[i], request);
	return bytes;
}
