#ifndef VS_WHY_H
#define VS_WHY_H

#include "address_map.h"
#include "failures.h"
#include "measure_retained.h"
#include "reconcile.h"

/*
 * Why it ran out: one verdict of a fixed list, by rules in docs/analyses.md, "Why". Each verdict
 * but two names something that takes memory, and holds if without it the request would have been
 * served; of those that hold the one that takes most wins. If none does, the card is too small
 * (capacity), or the trace cannot tell (unknown). The evidence is the address map of the device at
 * that instant.
 */
enum vs_why_kind {
	VS_WHY_UNKNOWN,
	VS_WHY_FRAGMENTATION, /* enough is free in holes, none of which is large enough */
	VS_WHY_CAPACITY,      /* what is needed at once is more than the card has */
	VS_WHY_RETENTION,     /* it would have fitted without what sites kept step by step */
	VS_WHY_POOL,          /* another pool, stream or library keeps what it does not use */
	VS_WHY_LIMIT,         /* the pool may not grow, though the device has room */
	VS_WHY_OTHER_PROCESS, /* it would have fitted without other processes */
	VS_WHY_PREALLOCATION, /* a pool took a large part at once and does not need it */
	VS_NR_WHY
};

/* What there is to explain. */
enum vs_why_occasion {
	VS_WHY_FAILURE,   /* a request failed for good */
	VS_WHY_KILLED,    /* the program did not end in order, and no request had failed */
	VS_WHY_NEAR_FULL, /* it ended well, but had taken nearly all of the device */
	VS_WHY_GROWING,   /* it ended well, but what it keeps grows up to the end */
};

/* One explanation: what would have been there without it, and what had to be. */
struct vs_why_guess {
	bool holds;
	uint64_t gives;
	uint64_t lacking;
};

struct vs_why {
	enum vs_why_occasion occasion;
	enum vs_why_kind kind;
	enum vs_why_kind runner_up; /* UNKNOWN: there is none */
	struct vs_why_guess guesses[VS_NR_WHY];

	const struct vs_address_pool
		*pool; /* whose holes count: the one that failed, or the worst */
	const struct vs_replay_pool
		*limited; /* a driver pool that failed because it may not grow, or NULL */
	uint64_t requested;
	uint64_t needed; /* requested, or the larger piece that the pool asked the driver for */
	bool is_free_known;
	uint64_t free_size;  /* not taken from the device */
	uint64_t total_size; /* of the device; 0: not known */
	uint64_t room;       /* free_size, or what NVML left; without their word an upper bound: */
	bool is_room_known;
	uint64_t hole_bytes; /* of that pool */
	uint64_t largest_hole;
	uint64_t usable_bytes; /* of these, in holes that a request of this size may use */
	uint64_t usable_largest;
	uint64_t cached_bytes;      /* of the device */
	uint64_t own_bytes;         /* what the driver pool that was asked does not use */
	uint64_t releasable_bytes;  /* of the device: what pools could have given back for it */
	uint64_t grabbed_bytes;     /* unused in segments that are a large part of the device */
	const struct vs_item *grab; /* the one of these with most unused, or NULL */
	uint64_t kept_bytes;        /* by growing sites */
	uint64_t kept_in_pool;      /* of these, in blocks of `pool` */
	uint64_t outside_bytes;     /* neither ours nor free, if that is known */
	const struct vs_address_pool
		*holder; /* the pool with most that it does not use and could give back, else with
			    most in holes, but for the one that failed; or NULL */
	const struct vs_item *spare; /* the segment of `holder` with most unused; NULL: not known */
	uint64_t lacking; /* needed, less all that is free or could have been given back; POOL:
			     needed - what the device has left */
};

/* failure: one of the group's; map: of its device, at its instant. */
void vs_why_judge(struct vs_why *why, const struct vs_failure_group *group,
		  const struct vs_failure *failure, const struct vs_address_map *map,
		  const struct vs_retained *retained, const struct vs_reconcile *where);

/* No request failed. map: at the reserved peak, or at the end of a program that was killed. */
void vs_why_judge_end(struct vs_why *why, enum vs_why_occasion occasion,
		      const struct vs_address_map *map, const struct vs_retained *retained,
		      const struct vs_reconcile *where);

/* Whether a device is nearly full with so many bytes of ours: 17 parts of 20 of what a context and
 * others leave, and more. */
bool vs_why_is_near_full(const struct vs_replay_device *device, uint64_t reserved);

/* "fragmentation" and the like; "failure" and the like. */
const char *vs_why_get_name(enum vs_why_kind kind);
const char *vs_why_get_occasion(enum vs_why_occasion occasion);

#endif
