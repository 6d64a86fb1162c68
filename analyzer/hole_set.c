#include "hole_set.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct size_node {
	struct vs_range range; /* base: the size; one byte long */
	uint64_t nr_holes;
};

static struct size_node *node_of(struct vs_range *range)
{
	return (struct size_node *)(void *)range; /* its first member */
}

void vs_hole_set_fini(struct vs_hole_set *set)
{
	struct vs_range *range;

	while ((range = set->by_size.root)) {
		vs_range_tree_remove(&set->by_size, range);
		free(node_of(range));
	}
	*set = (struct vs_hole_set){0};
}

int vs_hole_set_add(struct vs_hole_set *set, uint64_t size)
{
	struct vs_range *range = vs_range_tree_find(&set->by_size, size);
	struct size_node *node = range ? node_of(range) : NULL;

	if (!size)
		return 0;
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node)
			return -VS_ERR_NO_MEMORY;
		node->range.base = size == UINT64_MAX ? size - 1 : size;
		node->range.size = 1;
		vs_range_tree_insert(&set->by_size, &node->range);
	}
	node->nr_holes++;
	set->nr_holes++;
	set->total_bytes += size;
	set->squares += (unsigned __int128)size * size;
	return 0;
}

void vs_hole_set_remove(struct vs_hole_set *set, uint64_t size)
{
	struct vs_range *range = vs_range_tree_find(&set->by_size, size);
	struct size_node *node = range ? node_of(range) : NULL;

	if (!size)
		return;
	assert(node);
	set->nr_holes--;
	set->total_bytes -= size;
	set->squares -= (unsigned __int128)size * size;
	if (--node->nr_holes)
		return;
	vs_range_tree_remove(&set->by_size, range);
	free(node);
}

uint64_t vs_hole_set_get_largest(const struct vs_hole_set *set)
{
	struct vs_range *last = vs_range_tree_last(&set->by_size);

	return last ? last->base : 0;
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

uint64_t vs_hole_set_get_below(const struct vs_hole_set *set, uint64_t request)
{
	struct vs_range *range;
	uint64_t bytes = 0;

	for (range = vs_range_tree_first(&set->by_size); range && range->base < request;
	     range = vs_range_tree_next(&set->by_size, range))
		bytes += range->base * node_of(range)->nr_holes;
	return bytes;
}
