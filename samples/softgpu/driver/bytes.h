#ifndef SG_BYTES_H
#define SG_BYTES_H

#include "memory.h"

/*
 * The bytes of simulated memory. Addresses may be of any memory; what no block holds is the
 * program's own. Ranges may run over several blocks (mappings that follow each other).
 *
 * Bytes that were never written cost no host memory, whatever is copied from or over them. With the
 * zero backing, device memory keeps only what small copies and fills wrote (up to exact_below bytes
 * a call); everything larger reads as zero afterwards. Memory the program sees itself (managed,
 * pinned, registered) is exact with both.
 *
 * Any thread; no lock is held while bytes move.
 */
enum sg_bytes_side {
	SG_BYTES_ANY,    /* wherever it is */
	SG_BYTES_DEVICE, /* must be memory CUDA knows, the whole range of it */
	SG_BYTES_HOST,   /* must not be memory of a device */
};

/* Whether a range may be copied from (to), as that side of a copy. */
bool sg_bytes_check(uint64_t address, uint64_t size, enum sg_bytes_side side, bool is_write);

/* Copy a range that was checked. */
void sg_bytes_copy(uint64_t target, uint64_t source, uint64_t size);

/*
 * Copy rows of `width` bytes; each row starts a pitch behind the last. The small-copy rule looks at
 * `total`, the bytes of the whole copy, which may have more slices of such rows.
 */
void sg_bytes_copy_rows(uint64_t target, uint64_t target_pitch, uint64_t source,
			uint64_t source_pitch, uint64_t width, uint64_t nr_rows, uint64_t total);

/* Fill a range that was checked with a repeated value of 1, 2 or 4 bytes. */
void sg_bytes_fill(uint64_t target, uint32_t value, unsigned value_size, uint64_t count);
void sg_bytes_fill_rows(uint64_t target, uint64_t pitch, uint32_t value, unsigned value_size,
			uint64_t width, uint64_t nr_rows);

#endif
