#ifndef SG_EXTENTS_H
#define SG_EXTENTS_H

#include <stdbool.h>

#include "tree.h"

/*
 * An allocator of addresses. It is given regions and hands out extents of them, lowest address
 * first (or highest, for what grows downwards); free neighbours of one region join. Regions never
 * join, so that a region can be taken away when nothing of it is used.
 *
 * Sizes are whole units of whatever the owner counts in; every extent is then aligned to that unit.
 * One lock around each set, brought by the owner. Nothing here touches the memory it deals in.
 */
struct sg_extent {
	struct sg_node node;            /* base, size; in the tree while free */
	struct sg_extent *neighbour[2]; /* below and above in the same region, NULL at its ends */
	void *region;                   /* the owner's word for the region */
	bool is_free;
};

struct sg_extents {
	struct sg_tree free;
	struct sg_extent *spare; /* nodes to use again, linked by neighbour[1] */
};

/* Give a region, wholly free. False if memory is out. */
bool sg_extents_add(struct sg_extents *extents, uint64_t base, uint64_t size, void *region);

/* A used extent of that size at the lowest (highest) place it fits, or NULL. */
struct sg_extent *sg_extents_take_low(struct sg_extents *extents, uint64_t size);
struct sg_extent *sg_extents_take_high(struct sg_extents *extents, uint64_t size);

/*
 * Free an extent. Returns the free extent it became part of. That one is a whole region exactly
 * when both its neighbours are NULL; sg_extents_drop() then takes the region out of the set.
 */
struct sg_extent *sg_extents_put(struct sg_extents *extents, struct sg_extent *extent);
void sg_extents_drop(struct sg_extents *extents, struct sg_extent *whole);

/* Free the bookkeeping; all regions must have been dropped. */
void sg_extents_fini(struct sg_extents *extents);

#endif
