#ifndef VS_MEASURE_FRAGMENTATION_H
#define VS_MEASURE_FRAGMENTATION_H

#include "hole_set.h"
#include "instant.h"
#include "replay.h"

/*
 * The holes of every pool at every instant, and the worst instant of each device: the one with the
 * largest share of free bytes outside a pool's largest hole, of those at which the holes are worth
 * naming: at least a twentieth of what the pool holds. docs/analyses.md, "Fragmentation".
 */
struct vs_worst_holes {
	const struct vs_replay_pool *pool; /* NULL: there were never two holes */
	struct vs_instant at;
	uint64_t total_bytes;
	uint64_t largest_bytes;
	uint64_t nr_holes;
	double share;
	double scatter;
};

struct vs_measure_fragmentation {
	struct vs_observer observer;
	struct vs_hole_set *pools; /* by pool->index: holes now */
	size_t pools_capacity;
	struct vs_worst_holes *devices; /* by device->index */
	size_t devices_capacity;
	const struct vs_replay_pool *changed; /* since the last record */
	bool is_changed;
	bool is_limited;
	uint64_t limit; /* address */
};

void vs_measure_fragmentation_init(struct vs_measure_fragmentation *measure);

/* From the start on: only holes of segments that hold the address count. */
void vs_measure_fragmentation_limit(struct vs_measure_fragmentation *measure, uint64_t address);
void vs_measure_fragmentation_fini(struct vs_measure_fragmentation *measure);

/* Never NULL. */
const struct vs_worst_holes *vs_measure_fragmentation_get_worst(
	const struct vs_measure_fragmentation *measure, const struct vs_replay_device *device);

/* The holes of a pool after the last record, or NULL. */
const struct vs_hole_set *vs_measure_fragmentation_get_holes(
	const struct vs_measure_fragmentation *measure, const struct vs_replay_pool *pool);

#endif
