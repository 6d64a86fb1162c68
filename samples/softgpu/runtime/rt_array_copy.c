/* Copies of rows and of lines to and from arrays. Offsets and widths are bytes here. */
#include "rt_channel.h"
#include "rt_copy.h"

/* One end: an array and a place in it, or memory and its pitch. */
struct end {
	cudaArray_const_t array;
	void *memory;
	size_t pitch;
	size_t x, y;
	size_t row_size; /* of the array, as the next two */
	size_t nr_rows;
	size_t unit_size;
};

static struct end in_array(cudaArray_const_t array, size_t x, size_t y)
{
	return (struct end){.array = array, .x = x, .y = y};
}

static struct end in_memory(const void *memory, size_t pitch)
{
	return (struct end){.memory = (void *)(uintptr_t)memory, .pitch = pitch};
}

/* Whether the end is something that width bytes can be copied from, and how long its rows are. */
static cudaError_t check_end(struct end *end, size_t width)
{
	struct sg_rt_element element;
	CUDA_ARRAY3D_DESCRIPTOR shape;
	cudaError_t error;

	if (end->memory)
		return width > end->pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
	if (!end->array)
		return cudaErrorInvalidValue;
	error = sg_rt_channel_of_array(end->array, &element, &shape);
	if (error)
		return error;
	end->row_size =
		(shape.Width + element.unit_side - 1) / element.unit_side * element.unit_size;
	end->nr_rows = (shape.Height + element.unit_side - 1) / element.unit_side;
	if (!shape.Height)
		end->nr_rows = 1;
	end->unit_size = element.unit_size;
	/* Planar arrays have no rows: they are copied plane by plane. */
	return end->row_size ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t copy_checked(const struct end *target, const struct end *source, size_t width,
				size_t height, enum cudaMemcpyKind kind,
				const struct sg_rt_copy_how *how)
{
	CUDA_MEMCPY2D copy = {
		.srcXInBytes = source->x,
		.srcY = source->y,
		.srcMemoryType =
			source->memory ? sg_rt_copy_source_type(kind) : CU_MEMORYTYPE_ARRAY,
		.srcHost = source->memory,
		.srcDevice = (CUdeviceptr)source->memory,
		.srcArray = (CUarray)(uintptr_t)source->array,
		.srcPitch = source->pitch,
		.dstXInBytes = target->x,
		.dstY = target->y,
		.dstMemoryType =
			target->memory ? sg_rt_copy_target_type(kind) : CU_MEMORYTYPE_ARRAY,
		.dstHost = target->memory,
		.dstDevice = (CUdeviceptr)target->memory,
		.dstArray = (CUarray)(uintptr_t)target->array,
		.dstPitch = target->pitch,
		.WidthInBytes = width,
		.Height = height,
	};

	return how->async ? SG_DRIVER(cuMemcpy2DAsync_v3020, &copy, how->stream)
			  : SG_DRIVER(cuMemcpy2DUnaligned_v3020, &copy);
}

static cudaError_t copy_rows(struct end target, struct end source, size_t width, size_t height,
			     enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how)
{
	cudaError_t error;

	if (!sg_rt_copy_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	error = check_end(&target, width);
	if (!error)
		error = check_end(&source, width);
	if (error || !width || !height)
		return error;
	return copy_checked(&target, &source, width, height, kind, how);
}

/* Whether a line fits, so that one that does not changes nothing. */
static bool holds_line(const struct end *end, size_t count)
{
	size_t left;

	if (end->memory)
		return true;
	if (end->x >= end->row_size || end->y >= end->nr_rows)
		return false;
	left = (end->nr_rows - end->y) * end->row_size - end->x;
	return count <= left && end->x % end->unit_size == 0 && count % end->unit_size == 0;
}

/* No more of a line than the rest of a row. */
static size_t limit_to_row(const struct end *end, size_t size)
{
	return end->memory || size <= end->row_size - end->x ? size : end->row_size - end->x;
}

static void advance(struct end *end, size_t size)
{
	if (end->memory) {
		end->memory = (char *)end->memory + size;
		return;
	}
	end->x += size;
	if (end->x == end->row_size) {
		end->x = 0;
		end->y++;
	}
}

/* A line goes on in the next row. */
static cudaError_t copy_line(struct end target, struct end source, size_t count,
			     enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how)
{
	cudaError_t error;

	if (!sg_rt_copy_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	error = check_end(&target, count);
	if (!error)
		error = check_end(&source, count);
	if (error)
		return error;
	if (!holds_line(&target, count) || !holds_line(&source, count))
		return cudaErrorInvalidValue;
	while (count && !error) {
		size_t size = limit_to_row(&source, limit_to_row(&target, count));

		error = copy_checked(&target, &source, size, 1, kind, how);
		advance(&target, size);
		advance(&source, size);
		count -= size;
	}
	return error;
}

SG_API cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
				       const void *src, size_t spitch, size_t width, size_t height,
				       enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(copy_rows(in_array(dst, wOffset, hOffset), in_memory(src, spitch),
				       width, height, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
					    const void *src, size_t spitch, size_t width,
					    size_t height, enum cudaMemcpyKind kind,
					    cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_rows(in_array(dst, wOffset, hOffset), in_memory(src, spitch),
				       width, height, kind, &how));
}

SG_API cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
					 size_t wOffset, size_t hOffset, size_t width,
					 size_t height, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(copy_rows(in_memory(dst, dpitch), in_array(src, wOffset, hOffset),
				       width, height, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
					      size_t wOffset, size_t hOffset, size_t width,
					      size_t height, enum cudaMemcpyKind kind,
					      cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_rows(in_memory(dst, dpitch), in_array(src, wOffset, hOffset),
				       width, height, kind, &how));
}

SG_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					    cudaArray_const_t src, size_t wOffsetSrc,
					    size_t hOffsetSrc, size_t width, size_t height,
					    enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(copy_rows(in_array(dst, wOffsetDst, hOffsetDst),
				       in_array(src, wOffsetSrc, hOffsetSrc), width, height, kind,
				       &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
				     const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(copy_line(in_array(dst, wOffset, hOffset), in_memory(src, count),
				       count, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
					  const void *src, size_t count, enum cudaMemcpyKind kind,
					  cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_line(in_array(dst, wOffset, hOffset), in_memory(src, count),
				       count, kind, &how));
}

SG_API cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset,
				       size_t hOffset, size_t count, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(copy_line(in_memory(dst, count), in_array(src, wOffset, hOffset),
				       count, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
					    size_t hOffset, size_t count, enum cudaMemcpyKind kind,
					    cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_line(in_memory(dst, count), in_array(src, wOffset, hOffset),
				       count, kind, &how));
}

SG_API cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
					  cudaArray_const_t src, size_t wOffsetSrc,
					  size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(copy_line(in_array(dst, wOffsetDst, hOffsetDst),
				       in_array(src, wOffsetSrc, hOffsetSrc), count, kind,
				       &sg_rt_copy_now));
}
