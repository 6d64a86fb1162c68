#ifndef VS_RECONCILE_H
#define VS_RECONCILE_H

#include "address_map.h"
#include "memory_sample.h"

/*
 * Where the whole of a device is at an instant: docs/analyses.md, "Where". The parts add up:
 *
 *	total   = live + rounding + holes + releasable + unmapped + outside + not taken
 *	outside = context + other processes + unexplained
 *
 * Where nobody told what is free, the last two of the first line are one: not seen. Rounding that
 * nobody tells of is part of live (a pool that says only the sizes of its blocks) or of outside.
 */
struct vs_reconcile {
	uint64_t total_bytes;      /* 0: not known, and so are those that need it */
	uint64_t live_bytes;       /* what was asked for, where that is known */
	uint64_t rounding_bytes;   /* in blocks, beyond that; and the next */
	uint64_t driver_rounding;  /* rest of the driver's pages; 0 if !is_free_known */
	uint64_t unasked_bytes;    /* part of live: in blocks that may be rounded up, too */
	uint64_t hole_bytes;       /* of all pools: cannot be given back */
	uint64_t cached_bytes;     /* the two below together */
	uint64_t releasable_bytes; /* wholly free segments, and what driver pools do not use */
	uint64_t unmapped_bytes;   /* physical memory that was created and is mapped nowhere */
	bool is_free_known;        /* the driver told at the failure, or NVML before */
	uint64_t outside_bytes;    /* context, libraries, other processes; 0 if !is_free_known */
	struct vs_memory_split outside; /* of outside_bytes, if it is known */
	uint64_t not_taken_bytes;       /* free; 0 if !is_free_known */
	uint64_t not_seen_bytes;        /* if !is_free_known: the two above together */
	uint64_t excess_bytes;          /* reserved beyond the total: managed memory can be */
};

/*
 * after: the sample that a failure caused, or one that is not known. free_size, total_size: as the
 * driver told with a failure; 0 and 0: it did not.
 */
void vs_reconcile_find(struct vs_reconcile *where, const struct vs_address_map *map,
		       const struct vs_memory_sample *after, uint64_t free_size,
		       uint64_t total_size);

#endif
