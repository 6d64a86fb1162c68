#include "box.h"

#include "array.h"
#include "bytes.h"

static bool is_empty(const struct sg_box_extent *extent)
{
	return !extent->width || !extent->height || !extent->depth;
}

/* Whether a stretch lies within a length. */
static bool is_within(size_t first, size_t count, size_t length)
{
	return first <= length && count <= length - first;
}

static CUresult check_array(struct sg_box *box, const struct sg_box_extent *extent)
{
	const struct sg_array *array = sg_array_get(box->array);
	const struct sg_array_layout *layout;

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	layout = &array->layout;
	/* Planar arrays have no rows: they are copied plane by plane. */
	if (!layout->unit_size || box->x % layout->unit_size || extent->width % layout->unit_size ||
	    !is_within(box->x, extent->width, layout->row_size) ||
	    !is_within(box->y, extent->height, layout->nr_rows) ||
	    !is_within(box->z, extent->depth, layout->nr_slices))
		return CUDA_ERROR_INVALID_VALUE;
	box->pitch = layout->pitch;
	box->height = layout->rows_of_slice;
	box->base = array->address + (box->z * box->height + box->y) * box->pitch + box->x;
	return CUDA_SUCCESS;
}

static CUresult check_memory(struct sg_box *box, const struct sg_box_extent *extent,
			     enum sg_bytes_side side, bool is_write)
{
	size_t slice, last, nr_slices;

	if (!box->pitch && __builtin_add_overflow(extent->width, box->x, &box->pitch))
		return CUDA_ERROR_INVALID_VALUE;
	if (!box->height && __builtin_add_overflow(extent->height, box->y, &box->height))
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_within(box->x, extent->width, box->pitch) ||
	    !is_within(box->y, extent->height, box->height))
		return CUDA_ERROR_INVALID_VALUE;
	/* All that is added or multiplied from here on is less than that, so it does not wrap. */
	if (__builtin_mul_overflow(box->pitch, box->height, &slice) ||
	    __builtin_add_overflow(box->z, extent->depth, &nr_slices) ||
	    __builtin_mul_overflow(slice, nr_slices, &last) ||
	    __builtin_add_overflow(box->base, last, &last))
		return CUDA_ERROR_INVALID_VALUE;
	box->base += box->z * slice + box->y * box->pitch + box->x;
	last = (extent->depth - 1) * slice + (extent->height - 1) * box->pitch + extent->width;
	/* Rows may leave out what lies between them, but all of it belongs to the same memory. */
	return sg_bytes_check(box->base, last, side, is_write) ? CUDA_SUCCESS
							       : CUDA_ERROR_INVALID_VALUE;
}

CUresult sg_box_check(struct sg_box *box, const struct sg_box_extent *extent, bool is_write)
{
	if (is_empty(extent))
		return CUDA_SUCCESS;
	switch (box->type) {
	case CU_MEMORYTYPE_HOST:
		return check_memory(box, extent, SG_BYTES_HOST, is_write);
	case CU_MEMORYTYPE_DEVICE:
		return check_memory(box, extent, SG_BYTES_DEVICE, is_write);
	case CU_MEMORYTYPE_UNIFIED:
		return check_memory(box, extent, SG_BYTES_ANY, is_write);
	case CU_MEMORYTYPE_ARRAY:
		return check_array(box, extent);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

void sg_box_move(const struct sg_box *target, const struct sg_box *source,
		 const struct sg_box_extent *extent)
{
	size_t width = extent->width, height = extent->height;

	if (is_empty(extent))
		return;
	/* Rows without a gap are one long row: arrays of millions of rows are copied in one go. */
	if (target->pitch == width && source->pitch == width) {
		width *= height;
		height = 1;
	}
	for (size_t z = 0; z < extent->depth; z++)
		sg_bytes_copy_rows(target->base + z * target->pitch * target->height, target->pitch,
				   source->base + z * source->pitch * source->height, source->pitch,
				   width, height, width * height * extent->depth);
}

CUresult sg_box_copy(struct sg_box *target, struct sg_box *source,
		     const struct sg_box_extent *extent)
{
	CUresult result = sg_box_check(target, extent, true);

	if (result == CUDA_SUCCESS)
		result = sg_box_check(source, extent, false);
	if (result == CUDA_SUCCESS)
		sg_box_move(target, source, extent);
	return result;
}
