#ifndef SG_ARRAY_H
#define SG_ARRAY_H

#include "array_format.h"
#include "context.h"

/*
 * Arrays and mipmapped arrays: CUarray and CUmipmappedArray.
 *
 * An array is device memory (memory.h, SG_MEMORY_ARRAY) that the program has no address of. The
 * layout of real ones is secret; ours is rows, one after the other, and slices of rows. What it
 * costs follows what is publicly known of the tiles of a GPU, 64 bytes by 8 rows: a row is
 * padded to 64 bytes, and where there is more than one row, their number to a multiple of 8.
 * A mipmap is one piece of memory with its levels in it, a planar array one with its planes.
 * Arrays share no page with other memory, because pages of arrays are of another kind.
 *
 * All of it is written once, before the handle is given out, and then only read: any thread.
 * Levels and planes are arrays that belong to their owner and cannot be destroyed by themselves.
 */
#define SG_MAX_LEVELS 32

struct sg_array_layout {
	unsigned unit_size; /* bytes of an element, or of a block of compressed ones */
	size_t row_size;    /* bytes that can be copied */
	size_t nr_rows;
	size_t nr_slices;
	size_t pitch;         /* from row to row */
	size_t rows_of_slice; /* from slice to slice: nr_rows and padding */
	uint64_t size;        /* of all slices; planar: of all planes, and the rest is 0 */
};

struct sg_array {
	CUDA_ARRAY3D_DESCRIPTOR descriptor; /* as it was asked for */
	struct sg_context *context;
	struct sg_array_layout layout;
	CUdeviceptr address;
	bool is_part; /* a level or a plane */
	struct sg_array *planes[SG_MAX_PLANES];
};

struct sg_mipmap {
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	struct sg_context *context;
	CUdeviceptr address;
	unsigned nr_levels;
	struct sg_array *levels[SG_MAX_LEVELS];
};

/*
 * CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE (no such array can be on the device),
 * CUDA_ERROR_NOT_SUPPORTED (sparse or mapped later: the device's attributes say no),
 * CUDA_ERROR_OUT_OF_MEMORY.
 */
SG_MUST_USE CUresult sg_array_create(struct sg_context *context,
				     const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
				     struct sg_array **array);
SG_MUST_USE CUresult sg_array_create_mipmap(struct sg_context *context,
					    const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
					    unsigned nr_levels, struct sg_mipmap **mipmap);
void sg_array_destroy(struct sg_array *array);
void sg_array_destroy_mipmap(struct sg_mipmap *mipmap);

/* The array behind a handle, or NULL. */
struct sg_array *sg_array_get(CUarray handle);
struct sg_mipmap *sg_array_get_mipmap(CUmipmappedArray handle);

/* Forget all arrays of a context that goes away. Their memory goes with the context's other. */
void sg_array_destroy_all(struct sg_context *context);

#endif
