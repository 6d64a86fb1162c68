#ifndef VS_LIVE_SNAPSHOT_H
#define VS_LIVE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "ring_ends.h"

/*
 * A copy of all records that a log holds at one instant, and the order they are in:
 * docs/trace-format.md, sections 6.5 and 7. One thread.
 */
struct vs_live_snapshot;

/* Where the log has its chunks, by its header. */
struct vs_live_layout {
	uint64_t chunks_offset;
	uint32_t chunk_size;
	uint32_t nr_chunks;
};

/*
 * Of a log that is being written, chunks are copied one after the other while threads go on. So a
 * copy may have a record B and lack A, published before it by another thread. But then A was
 * published after the copying began, and B got its ticks later still. Hence the newest ticks that
 * are there are looked for first, and of what is copied afterwards everything newer is left out:
 * then there is no such B. UINT64_MAX: the log is at rest. -VS_ERR_IO, -VS_ERR_NO_MEMORY.
 */
VS_MUST_CHECK int vs_live_snapshot_find_newest(int fd, const struct vs_live_layout *layout,
					       uint64_t *ticks);
VS_MUST_CHECK int vs_live_snapshot_create(struct vs_live_snapshot **snapshot, int fd,
					  const struct vs_live_layout *layout, uint64_t newest);
void vs_live_snapshot_destroy(struct vs_live_snapshot *snapshot);

/* From the first record again, without those that the trace has by `ends`. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_live_snapshot_begin(struct vs_live_snapshot *snapshot,
					 const struct vs_ring_ends *ends);

struct vs_live_item {
	uint32_t ring;
	uint32_t size;
	uint64_t sequence;
	uint64_t ticks;
	const uint8_t *bytes; /* head and body: vs_live_record_get(); as long as the snapshot */
};

/*
 * 1 and the next record, 0 at the end, -VS_ERR_CORRUPT: some are missing or cannot be read here,
 * the next call goes on behind them.
 */
VS_MUST_CHECK int vs_live_snapshot_next(struct vs_live_snapshot *snapshot,
					struct vs_live_item *item);

#endif
