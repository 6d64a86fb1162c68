#ifndef VS_MEASURE_PINNING_H
#define VS_MEASURE_PINNING_H

#include "address_map.h"

/*
 * Which live blocks stand in the way of a request: docs/analyses.md, "Pinning". A set is a run of
 * blocks that lie next to each other in one segment; if they were gone, the holes between and
 * beside them would be one hole of at least the wanted size. Made from an address map, and valid as
 * long as that is.
 */
struct vs_pinning_set {
	const struct vs_item *item; /* the segment, or outer block, that they are in */
	uint64_t base;              /* of the hole that would be there */
	uint64_t hole_bytes;        /* its size: what went and what was free */
	uint64_t block_bytes;       /* what would have to go */
	const struct vs_item *first;
	size_t nr_blocks; /* first, and those behind it */
};

/* A segment that blocks keep from being given back. */
struct vs_pinning_segment {
	const struct vs_item *item;
	uint64_t block_bytes;
	size_t nr_blocks;
};

struct vs_measure_pinning {
	uint64_t wanted;
	bool has_hole;               /* there is a hole of that size: nothing need go */
	struct vs_pinning_set *sets; /* the cheapest first; no block is in two of them */
	size_t nr_sets;
	struct vs_pinning_segment *segments; /* with blocks; the smallest share in use first */
	size_t nr_segments;
	size_t segments_capacity;
};

/* At most max_sets sets, of blocks of this pool. */
VS_MUST_CHECK int vs_measure_pinning_init(struct vs_measure_pinning *measure,
					  const struct vs_address_map *map,
					  const struct vs_replay_pool *pool, uint64_t wanted,
					  size_t max_sets);
void vs_measure_pinning_fini(struct vs_measure_pinning *measure);

/*
 * The other way: whole segments that would have to be emptied, so that their pool gives back
 * `wanted` bytes. Those with the smallest share in use are taken first: near the cheapest, and
 * never more than needed. Returns how many of `segments` that are; 0: all together are too small.
 */
size_t vs_measure_pinning_count_segments(const struct vs_measure_pinning *measure, uint64_t wanted,
					 uint64_t *block_bytes);

/* Who the blocks of a set come from, most blocks first; *groups is the caller's to free. */
VS_MUST_CHECK int vs_measure_pinning_group(const struct vs_pinning_set *set,
					   struct vs_address_neighbour **groups, size_t *nr_groups);

#endif
