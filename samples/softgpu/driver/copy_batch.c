/*
 * Batches of copies. All of a batch is checked before the first byte moves, so that a batch with a
 * mistake in it changes nothing.
 *
 * cuda.h wants another stream than the default one of all threads. The same functions serve the
 * default stream of each thread, whose handle may be NULL as well: so only CU_STREAM_LEGACY is told
 * apart, and NULL is let through.
 */
#include "array.h"
#include "box.h"
#include "bytes.h"
#include "capture.h"
#include "stream.h"

static CUresult begin(CUstream stream)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(stream, NULL);
	if (result == CUDA_SUCCESS && stream == CU_STREAM_LEGACY)
		result = CUDA_ERROR_INVALID_VALUE;
	return result == CUDA_SUCCESS ? sg_capture_refuse(stream) : result;
}

static bool is_order_valid(CUmemcpySrcAccessOrder order)
{
	return order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
	       order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
	       order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

static bool are_flags_valid(unsigned flags)
{
	return !(flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
}

/* Every copy has attributes: the list starts at the first, goes up, and stays inside. */
static bool are_attributes_valid(const CUmemcpyAttributes *attributes, const size_t *firsts,
				 size_t nr_attributes, size_t count)
{
	if (!attributes || !firsts || !nr_attributes || nr_attributes > count || firsts[0])
		return false;
	for (size_t i = 0; i < nr_attributes; i++)
		if (firsts[i] >= count || (i && firsts[i] <= firsts[i - 1]) ||
		    !is_order_valid(attributes[i].srcAccessOrder) ||
		    !are_flags_valid(attributes[i].flags))
			return false;
	return true;
}

SG_API CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				   size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
				   size_t numAttrs, size_t *failIdx, CUstream hStream)
{
	CUresult result = begin(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	/* No single copy is to blame, until one is. */
	if (failIdx)
		*failIdx = SIZE_MAX;
	if (!dsts || !srcs || !sizes || !count ||
	    !are_attributes_valid(attrs, attrsIdxs, numAttrs, count))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (!dsts[i] || !srcs[i] || !sizes[i] ||
		    !sg_bytes_check(dsts[i], sizes[i], SG_BYTES_ANY, true) ||
		    !sg_bytes_check(srcs[i], sizes[i], SG_BYTES_ANY, false)) {
			if (failIdx)
				*failIdx = i;
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	for (size_t i = 0; i < count; i++)
		sg_bytes_copy(dsts[i], srcs[i], sizes[i]);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				      size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
				      size_t numAttrs, CUstream hStream)
{
	return cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL,
				  hStream);
}

/* Bytes of an element: of the arrays of the copy, which must agree; 1 between pointers. */
static CUresult get_unit(const CUDA_MEMCPY3D_BATCH_OP *op, size_t *unit)
{
	const CUmemcpy3DOperand *ends[] = {&op->src, &op->dst};

	*unit = 0;
	for (size_t i = 0; i < SG_LENGTH(ends); i++) {
		const struct sg_array *array;

		if (ends[i]->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
			continue;
		if (ends[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
			return CUDA_ERROR_INVALID_VALUE;
		array = sg_array_get(ends[i]->op.array.array);
		if (!array)
			return CUDA_ERROR_INVALID_HANDLE;
		if (!array->layout.unit_size || (*unit && *unit != array->layout.unit_size))
			return CUDA_ERROR_INVALID_VALUE;
		*unit = array->layout.unit_size;
	}
	if (!*unit)
		*unit = 1;
	return CUDA_SUCCESS;
}

static CUresult make_box(const CUmemcpy3DOperand *end, size_t unit, struct sg_box *box)
{
	*box = (struct sg_box){0};
	if (end->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		box->type = CU_MEMORYTYPE_ARRAY;
		box->array = end->op.array.array;
		box->y = end->op.array.offset.y;
		box->z = end->op.array.offset.z;
		return __builtin_mul_overflow(end->op.array.offset.x, unit, &box->x)
			       ? CUDA_ERROR_INVALID_VALUE
			       : CUDA_SUCCESS;
	}
	box->type = CU_MEMORYTYPE_UNIFIED;
	box->base = end->op.ptr.ptr;
	box->height = end->op.ptr.layerHeight;
	return __builtin_mul_overflow(end->op.ptr.rowLength, unit, &box->pitch)
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

/* Everything of one copy, ready to be moved. */
struct planned {
	struct sg_box target, source;
	struct sg_box_extent extent;
};

static CUresult plan(const CUDA_MEMCPY3D_BATCH_OP *op, struct planned *planned)
{
	CUresult result;
	size_t unit;

	if (!op->extent.width || !op->extent.height || !op->extent.depth ||
	    !is_order_valid(op->srcAccessOrder) || !are_flags_valid(op->flags))
		return CUDA_ERROR_INVALID_VALUE;
	result = get_unit(op, &unit);
	if (result == CUDA_SUCCESS)
		result = make_box(&op->dst, unit, &planned->target);
	if (result == CUDA_SUCCESS)
		result = make_box(&op->src, unit, &planned->source);
	planned->extent.height = op->extent.height;
	planned->extent.depth = op->extent.depth;
	if (result == CUDA_SUCCESS &&
	    __builtin_mul_overflow(op->extent.width, unit, &planned->extent.width))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = sg_box_check(&planned->target, &planned->extent, true);
	return result == CUDA_SUCCESS ? sg_box_check(&planned->source, &planned->extent, false)
				      : result;
}

SG_API CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
				     unsigned long long flags, CUstream hStream)
{
	struct planned planned;
	CUresult result = begin(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	if (failIdx)
		*failIdx = SIZE_MAX;
	if (!numOps || !opList || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numOps; i++) {
		result = plan(&opList[i], &planned);
		if (result != CUDA_SUCCESS) {
			if (failIdx)
				*failIdx = i;
			return result;
		}
	}
	/* Planned again rather than remembered: that needs no memory. */
	for (size_t i = 0; i < numOps; i++)
		if (plan(&opList[i], &planned) == CUDA_SUCCESS)
			sg_box_move(&planned.target, &planned.source, &planned.extent);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
					unsigned long long flags, CUstream hStream)
{
	return cuMemcpy3DBatchAsync(numOps, opList, NULL, flags, hStream);
}
