#ifndef VS_CAUSE_H
#define VS_CAUSE_H

#include "address_map.h"
#include "failures.h"
#include "measure_retained.h"

/*
 * Why a request failed, where the evidence is plain: docs/analyses.md, "Cause". The evidence is the
 * address map of the device at the failure.
 */
enum vs_cause_kind {
	VS_CAUSE_UNKNOWN,
	VS_CAUSE_FRAGMENTATION, /* enough is free in holes, none of which is large enough */
	VS_CAUSE_LIMIT,         /* the pool may not grow, though the device has room */
	VS_CAUSE_RETENTION,     /* it would have fitted without what sites kept step by step */
	VS_CAUSE_CAPACITY,      /* all that is free together is too little */
	VS_CAUSE_POOL,          /* pools could have given back enough that they do not use */
};

struct vs_cause {
	enum vs_cause_kind kind;
	const struct vs_address_pool
		*pool; /* whose holes count: the one that failed, or the worst */
	uint64_t requested;
	bool is_free_known;
	uint64_t free_size;  /* not taken from the device */
	uint64_t total_size; /* of the device; 0: not known */
	uint64_t hole_bytes; /* of that pool */
	uint64_t largest_hole;
	uint64_t cached_bytes;     /* of the device */
	uint64_t releasable_bytes; /* of the device: what pools could have given back for it */
	const struct vs_address_pool
		*driver_pool; /* the driver pool with most of that, or NULL: none has any */
	uint64_t needed;  /* requested, or the larger piece that the pool asked the driver for */
	uint64_t lacking; /* CAPACITY, RETENTION: needed - everything that is free;
			     POOL: needed - what the device has left */
};

/* failure: one of the group's; map: of its device, at its instant. */
void vs_cause_find(struct vs_cause *cause, const struct vs_failure_group *group,
		   const struct vs_failure *failure, const struct vs_address_map *map,
		   const struct vs_retained *retained);

/* "fragmentation" and the like. */
const char *vs_cause_name(enum vs_cause_kind kind);

#endif
