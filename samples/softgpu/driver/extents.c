#include "extents.h"

#include <stddef.h>
#include <stdlib.h>

enum {
	BELOW,
	ABOVE
};

static struct sg_extent *from_node(struct sg_node *node)
{
	/* node is the first member */
	return (struct sg_extent *)(void *)node;
}

static struct sg_extent *create(struct sg_extents *extents)
{
	struct sg_extent *extent = extents->spare;

	if (!extent)
		return malloc(sizeof(*extent));
	extents->spare = extent->neighbour[ABOVE];
	return extent;
}

static void destroy(struct sg_extents *extents, struct sg_extent *extent)
{
	extent->neighbour[ABOVE] = extents->spare;
	extents->spare = extent;
}

static void link_pair(struct sg_extent *below, struct sg_extent *above)
{
	if (below)
		below->neighbour[ABOVE] = above;
	if (above)
		above->neighbour[BELOW] = below;
}

bool sg_extents_add(struct sg_extents *extents, uint64_t base, uint64_t size, void *region)
{
	struct sg_extent *extent = create(extents);

	if (!extent)
		return false;
	*extent = (struct sg_extent){
		.node = {.base = base, .size = size}, .region = region, .is_free = true};
	sg_tree_insert(&extents->free, &extent->node);
	return true;
}

/* Cut `size` bytes off the lower or upper end of a free extent. */
static struct sg_extent *take(struct sg_extents *extents, struct sg_node *node, uint64_t size,
			      int end)
{
	struct sg_extent *whole = from_node(node), *part;

	if (node->size == size) {
		sg_tree_remove(&extents->free, node);
		whole->is_free = false;
		return whole;
	}
	part = create(extents);
	if (!part)
		return NULL;
	*part = (struct sg_extent){.node = {.base = node->base, .size = size},
				   .region = whole->region};
	if (end == ABOVE) {
		part->node.base = node->base + node->size - size;
		link_pair(part, whole->neighbour[ABOVE]);
		link_pair(whole, part);
		sg_tree_resize(&extents->free, node, node->base, node->size - size);
	} else {
		link_pair(whole->neighbour[BELOW], part);
		link_pair(part, whole);
		sg_tree_resize(&extents->free, node, node->base + size, node->size - size);
	}
	return part;
}

struct sg_extent *sg_extents_take_low(struct sg_extents *extents, uint64_t size)
{
	struct sg_node *node = sg_tree_first_fit(&extents->free, size);

	return node ? take(extents, node, size, BELOW) : NULL;
}

struct sg_extent *sg_extents_take_high(struct sg_extents *extents, uint64_t size)
{
	struct sg_node *node = sg_tree_last_fit(&extents->free, size);

	return node ? take(extents, node, size, ABOVE) : NULL;
}

struct sg_extent *sg_extents_put(struct sg_extents *extents, struct sg_extent *extent)
{
	struct sg_extent *below = extent->neighbour[BELOW], *above = extent->neighbour[ABOVE];

	if (above && above->is_free) {
		sg_tree_remove(&extents->free, &above->node);
		extent->node.size += above->node.size;
		link_pair(extent, above->neighbour[ABOVE]);
		if (!above->neighbour[ABOVE])
			extent->neighbour[ABOVE] = NULL;
		destroy(extents, above);
	}
	if (below && below->is_free) {
		link_pair(below, extent->neighbour[ABOVE]);
		if (!extent->neighbour[ABOVE])
			below->neighbour[ABOVE] = NULL;
		sg_tree_resize(&extents->free, &below->node, below->node.base,
			       below->node.size + extent->node.size);
		destroy(extents, extent);
		return below;
	}
	extent->is_free = true;
	sg_tree_insert(&extents->free, &extent->node);
	return extent;
}

void sg_extents_drop(struct sg_extents *extents, struct sg_extent *whole)
{
	sg_tree_remove(&extents->free, &whole->node);
	destroy(extents, whole);
}

void sg_extents_fini(struct sg_extents *extents)
{
	while (extents->spare) {
		struct sg_extent *extent = extents->spare;

		extents->spare = extent->neighbour[ABOVE];
		free(extent);
	}
}
