#ifndef VS_ADDRESS_MAP_H
#define VS_ADDRESS_MAP_H

#include "hole_set.h"
#include "replay.h"

/*
 * The address space of a device at an instant: segments, the blocks in them, the holes between, and
 * who sits where. Made from a replay and valid until that goes on. docs/analyses.md, "Address map".
 */
enum vs_address_type {
	VS_ADDRESS_SEGMENT, /* also a block of a driver pool: there is nothing around it */
	VS_ADDRESS_BLOCK,
	VS_ADDRESS_HOLE,
};

struct vs_address_entry {
	enum vs_address_type type;
	uint32_t depth;     /* 0 for a segment; what lies in it follows it, one deeper */
	bool is_releasable; /* a hole: all of its segment is free, the pool could give it back */
	uint64_t base;
	uint64_t size;
	const struct vs_item *item; /* a hole: what it is in */
};

/*
 * A driver pool has no segments, and where its blocks lie in what it holds is not known: no holes,
 * segment_bytes is what it holds (sampled), and releasable all of it that is in no block.
 */
struct vs_address_pool {
	const struct vs_replay_pool *pool;
	struct vs_hole_set holes; /* those that cannot be given back */
	uint64_t releasable_bytes;
	uint64_t nr_releasable;
	uint64_t segment_bytes;
	uint64_t nr_segments;
	uint64_t block_bytes;
	uint64_t nr_blocks;
	uint64_t slack_bytes; /* in blocks, beyond what was asked for */
	uint64_t nr_runs; /* of functions that its blocks are of, as their framework tells them */
};

struct vs_address_map {
	const struct vs_replay_device *device;
	struct vs_address_entry *entries; /* by address */
	size_t nr_entries;
	size_t entries_capacity;
	struct vs_address_pool *pools; /* that hold memory of the device; the driver's last */
	size_t nr_pools;
	size_t pools_capacity;

	/* Where the reserved bytes are: live + holes + cached = reserved. */
	uint64_t reserved_bytes;
	uint64_t live_bytes;
	uint64_t hole_bytes;       /* not releasable */
	uint64_t releasable_bytes; /* part of cached: free segments, unused in driver pools */
	uint64_t cached_bytes;     /* releasable, and handles not mapped */
	uint64_t managed_bytes;    /* part of reserved: need not be on the device at all */

	/* What is rounded up: docs/analyses.md, "Where". */
	uint64_t slack_bytes;   /* part of live: in blocks, beyond what was asked for */
	uint64_t unasked_bytes; /* part of live: in blocks whose pool does not say what was asked */
	uint64_t page_slack;    /* beside reserved: rest of the pages that segments lie in */
	uint64_t sampled_page_slack; /* the same of those that NVML's last sample had in it */
};

VS_MUST_CHECK int vs_address_map_init(struct vs_address_map *map, const struct vs_replay *replay,
				      const struct vs_replay_device *device);
void vs_address_map_fini(struct vs_address_map *map);

/* The pool with the most bytes in holes, or NULL if there are no holes. */
const struct vs_address_pool *vs_address_map_get_worst(const struct vs_address_map *map);

/* NULL when the pool has nothing on the device. */
const struct vs_address_pool *vs_address_map_get_pool(const struct vs_address_map *map,
						      const struct vs_replay_pool *pool);

/* Blocks of one account. */
struct vs_address_neighbour {
	const struct vs_account *account;
	uint64_t nr_blocks;
	uint64_t bytes;
	uint64_t first_step; /* earliest birth */
	uint64_t first_ns;
	uint64_t nr_births; /* different steps in which they were born */
	uint64_t last_step;
};

/* Blocks by account, most blocks first. Sorts the blocks; *groups is the caller's to free. */
VS_MUST_CHECK int vs_address_map_group(const struct vs_item **blocks, size_t nr_blocks,
				       struct vs_address_neighbour **groups, size_t *nr_groups);

/* The same of the blocks of a pool next to a hole that cannot be given back: what keeps the holes
 * apart. */
VS_MUST_CHECK int vs_address_map_find_neighbours(const struct vs_address_map *map,
						 const struct vs_replay_pool *pool,
						 struct vs_address_neighbour **neighbours,
						 size_t *nr_neighbours);

#endif
