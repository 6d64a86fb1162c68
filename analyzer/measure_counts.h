#ifndef VS_MEASURE_COUNTS_H
#define VS_MEASURE_COUNTS_H

#include "replay.h"

/* What the program asked for: docs/analyses.md, "Counts"; the names are those of docs/json.md. */
struct vs_counts {
	uint64_t allocs;
	uint64_t frees;
	uint64_t failed_allocs;
	uint64_t failed_frees;
	uint64_t implicit_frees;
	uint64_t bytes_allocated;
	uint64_t peak_bytes;
	uint64_t live_at_end_count;
	uint64_t live_at_end_bytes;
};

struct vs_counts_device {
	struct vs_counts kinds[VS_NR_MEMORY_KINDS];
};

struct vs_measure_counts {
	struct vs_observer observer;
	struct vs_counts_device *devices; /* by device->index */
	size_t devices_capacity;
	struct vs_counts *pools; /* by pool->index; driver pools stay zero */
	size_t pools_capacity;
};

void vs_measure_counts_init(struct vs_measure_counts *measure);
void vs_measure_counts_fini(struct vs_measure_counts *measure);

/* Never NULL. */
const struct vs_counts *vs_measure_counts_get_kind(const struct vs_measure_counts *measure,
						   const struct vs_replay_device *device,
						   enum vs_memory_kind kind);
const struct vs_counts *vs_measure_counts_get_pool(const struct vs_measure_counts *measure,
						   const struct vs_replay_pool *pool);

/* Sums over all kinds but pinned, registered and ipc; peak_bytes is not a sum and stays 0. */
struct vs_counts vs_measure_counts_sum(const struct vs_measure_counts *measure,
				       const struct vs_replay_device *device);

#endif
