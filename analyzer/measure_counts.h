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

/* The observer's two, for those who feed several measures: what its `changes` and `records` name.
 */
VS_MUST_CHECK int vs_measure_counts_note(struct vs_measure_counts *measure,
					 const struct vs_replay *replay,
					 const struct vs_change *change);
VS_MUST_CHECK int vs_measure_counts_note_record(struct vs_measure_counts *measure,
						const struct vs_replay *replay,
						const struct vs_record *record);

/* Room for all devices and pools of the replay. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_measure_counts_make_room(struct vs_measure_counts *measure,
					      const struct vs_replay *replay);

/* The same for vs_observer.on_block; there is room. */
static inline void vs_measure_counts_note_block(struct vs_measure_counts *measure,
						const struct vs_item *block, bool is_birth)
{
	struct vs_counts *counts =
		block->pool ? &measure->pools[block->pool->index]
			    : &measure->devices[block->device->index].kinds[block->kind];

	if (!is_birth) {
		counts->frees++;
		counts->live_at_end_count--;
		counts->live_at_end_bytes -= block->size;
		return;
	}
	counts->allocs++;
	counts->bytes_allocated += block->size;
	counts->live_at_end_count++;
	counts->live_at_end_bytes += block->size;
	if (counts->live_at_end_bytes > counts->peak_bytes)
		counts->peak_bytes = counts->live_at_end_bytes;
}

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
