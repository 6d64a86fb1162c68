#ifndef SG_BOX_H
#define SG_BOX_H

#include "driver.h"

/*
 * Copies of two and three dimensions between memory and arrays, whatever structure of cuda.h
 * described them: bytes of a row, rows, slices. Any thread; no lock is held while bytes move.
 */
struct sg_box {
	CUmemorytype type;
	uint64_t base; /* address of memory */
	CUarray array; /* or of that array; pitch and height are then its own */
	size_t pitch;  /* between rows; 0: no padding */
	size_t height; /* rows between slices; 0: no padding */
	size_t x, y, z;
};

struct sg_box_extent {
	size_t width, height, depth;
};

/*
 * Check one end, and make base, pitch and height final. An extent of nothing fits everywhere.
 * CUDA_SUCCESS, CUDA_ERROR_INVALID_HANDLE (no such array), CUDA_ERROR_INVALID_VALUE.
 */
SG_MUST_USE CUresult sg_box_check(struct sg_box *box, const struct sg_box_extent *extent,
				  bool is_write);

/* Copy between two ends that were checked. */
void sg_box_move(const struct sg_box *target, const struct sg_box *source,
		 const struct sg_box_extent *extent);

/* Check both and copy. */
SG_MUST_USE CUresult sg_box_copy(struct sg_box *target, struct sg_box *source,
				 const struct sg_box_extent *extent);

#endif
