/*
 * Copies of a line of bytes to and from arrays. An offset counts the bytes of the array in the
 * order of rows and slices, without padding.
 */
#include "array.h"
#include "bytes.h"
#include "capture.h"
#include "stream.h"

/* One end of a line: in an array, or in memory at `offset` as an address. */
struct end {
	const struct sg_array *array; /* NULL: memory */
	uint64_t offset;
};

static CUresult check_end(const struct end *end, size_t count, enum sg_bytes_side side,
			  bool is_write)
{
	const struct sg_array_layout *layout;
	uint64_t size;

	if (!end->array)
		return sg_bytes_check(end->offset, count, side, is_write)
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	layout = &end->array->layout;
	size = (uint64_t)layout->row_size * layout->nr_rows * layout->nr_slices;
	if (!layout->unit_size || end->offset % layout->unit_size || count % layout->unit_size ||
	    end->offset > size || count > size - end->offset)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Where the next byte is; *left becomes no more than what follows it in one piece. */
static uint64_t locate(const struct end *end, uint64_t done, uint64_t *left)
{
	const struct sg_array_layout *layout;
	uint64_t offset = end->offset + done, row, x;

	if (!end->array)
		return offset;
	layout = &end->array->layout;
	row = offset / layout->row_size;
	x = offset % layout->row_size;
	if (*left > layout->row_size - x)
		*left = layout->row_size - x;
	row = row / layout->nr_rows * layout->rows_of_slice + row % layout->nr_rows;
	return end->array->address + row * layout->pitch + x;
}

static CUresult copy(const struct end *target, enum sg_bytes_side target_side,
		     const struct end *source, enum sg_bytes_side source_side, size_t count)
{
	CUresult result = check_end(target, count, target_side, true);

	if (result == CUDA_SUCCESS)
		result = check_end(source, count, source_side, false);
	if (result != CUDA_SUCCESS)
		return result;
	for (uint64_t done = 0, size; done < count; done += size) {
		uint64_t to, from;

		size = count - done;
		to = locate(target, done, &size);
		from = locate(source, done, &size);
		sg_bytes_copy_rows(to, size, from, size, size, 1, count);
	}
	return CUDA_SUCCESS;
}

/* The context, the stream if there is one, and the arrays of a call. */
static CUresult begin(const CUstream *stream)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS && stream)
		result = sg_stream_get(*stream, NULL);
	if (result != CUDA_SUCCESS)
		return result;
	/* A line over several rows of an array is none of the nodes there are. */
	return stream ? sg_capture_refuse(*stream) : sg_capture_refuse_synchronous();
}

static CUresult in_array(CUarray handle, size_t offset, struct end *end)
{
	*end = (struct end){.array = sg_array_get(handle), .offset = offset};
	return end->array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult copy_to_array(CUarray array, size_t offset, uint64_t address,
			      enum sg_bytes_side side, size_t count, const CUstream *stream)
{
	struct end target, source = {.offset = address};
	CUresult result = begin(stream);

	if (result == CUDA_SUCCESS)
		result = in_array(array, offset, &target);
	return result == CUDA_SUCCESS ? copy(&target, SG_BYTES_ANY, &source, side, count) : result;
}

static CUresult copy_from_array(uint64_t address, enum sg_bytes_side side, CUarray array,
				size_t offset, size_t count, const CUstream *stream)
{
	struct end source, target = {.offset = address};
	CUresult result = begin(stream);

	if (result == CUDA_SUCCESS)
		result = in_array(array, offset, &source);
	return result == CUDA_SUCCESS ? copy(&target, side, &source, SG_BYTES_ANY, count) : result;
}

SG_API CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
				size_t ByteCount)
{
	return copy_to_array(dstArray, dstOffset, (uintptr_t)srcHost, SG_BYTES_HOST, ByteCount,
			     NULL);
}

SG_API CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
				     size_t ByteCount, CUstream hStream)
{
	return copy_to_array(dstArray, dstOffset, (uintptr_t)srcHost, SG_BYTES_HOST, ByteCount,
			     &hStream);
}

SG_API CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
				size_t ByteCount)
{
	return copy_to_array(dstArray, dstOffset, srcDevice, SG_BYTES_DEVICE, ByteCount, NULL);
}

SG_API CUresult cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
	return copy_from_array((uintptr_t)dstHost, SG_BYTES_HOST, srcArray, srcOffset, ByteCount,
			       NULL);
}

SG_API CUresult cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
				     size_t ByteCount, CUstream hStream)
{
	return copy_from_array((uintptr_t)dstHost, SG_BYTES_HOST, srcArray, srcOffset, ByteCount,
			       &hStream);
}

SG_API CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
				size_t ByteCount)
{
	return copy_from_array(dstDevice, SG_BYTES_DEVICE, srcArray, srcOffset, ByteCount, NULL);
}

SG_API CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
				size_t srcOffset, size_t ByteCount)
{
	struct end target, source;
	CUresult result = begin(NULL);

	if (result == CUDA_SUCCESS)
		result = in_array(dstArray, dstOffset, &target);
	if (result == CUDA_SUCCESS)
		result = in_array(srcArray, srcOffset, &source);
	if (result != CUDA_SUCCESS)
		return result;
	/* cuda.h: their elements have the same size. */
	if (target.array->layout.unit_size != source.array->layout.unit_size)
		return CUDA_ERROR_INVALID_VALUE;
	return copy(&target, SG_BYTES_ANY, &source, SG_BYTES_ANY, ByteCount);
}
