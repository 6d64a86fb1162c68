/*
 * Copies. All are finished when the call returns, the asynchronous ones too.
 */
#include "bytes.h"
#include "stream.h"

/* The checks every copy starts with. */
static CUresult begin(void)
{
	struct sg_context *context;

	return sg_context_get_current(&context);
}

static CUresult begin_on(CUstream stream)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? sg_stream_get(stream, NULL) : result;
}

static CUresult copy(uint64_t target, enum sg_bytes_side target_side, uint64_t source,
		     enum sg_bytes_side source_side, size_t size)
{
	if (!sg_bytes_check(target, size, target_side, true) ||
	    !sg_bytes_check(source, size, source_side, false))
		return CUDA_ERROR_INVALID_VALUE;
	sg_bytes_copy(target, source, size);
	return CUDA_SUCCESS;
}

SG_API CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? copy(dst, SG_BYTES_ANY, src, SG_BYTES_ANY, ByteCount)
				      : result;
}

SG_API CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? copy(dst, SG_BYTES_ANY, src, SG_BYTES_ANY, ByteCount)
				      : result;
}

SG_API CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	CUresult result = begin();

	if (result != CUDA_SUCCESS)
		return result;
	return copy(dstDevice, SG_BYTES_DEVICE, (uintptr_t)srcHost, SG_BYTES_HOST, ByteCount);
}

SG_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
				     CUstream hStream)
{
	CUresult result = begin_on(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	return copy(dstDevice, SG_BYTES_DEVICE, (uintptr_t)srcHost, SG_BYTES_HOST, ByteCount);
}

SG_API CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	CUresult result = begin();

	if (result != CUDA_SUCCESS)
		return result;
	return copy((uintptr_t)dstHost, SG_BYTES_HOST, srcDevice, SG_BYTES_DEVICE, ByteCount);
}

SG_API CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
				     CUstream hStream)
{
	CUresult result = begin_on(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	return copy((uintptr_t)dstHost, SG_BYTES_HOST, srcDevice, SG_BYTES_DEVICE, ByteCount);
}

SG_API CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
	CUresult result = begin();

	if (result != CUDA_SUCCESS)
		return result;
	return copy(dstDevice, SG_BYTES_DEVICE, srcDevice, SG_BYTES_DEVICE, ByteCount);
}

SG_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
				     CUstream hStream)
{
	CUresult result = begin_on(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	return copy(dstDevice, SG_BYTES_DEVICE, srcDevice, SG_BYTES_DEVICE, ByteCount);
}

static CUresult copy_peer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
			  CUcontext srcContext, size_t ByteCount)
{
	struct sg_context *context;
	CUresult result = sg_context_get(dstContext, &context);

	if (result == CUDA_SUCCESS)
		result = sg_context_get(srcContext, &context);
	if (result != CUDA_SUCCESS)
		return result;
	return copy(dstDevice, SG_BYTES_DEVICE, srcDevice, SG_BYTES_DEVICE, ByteCount);
}

SG_API CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
			     CUcontext srcContext, size_t ByteCount)
{
	CUresult result = begin();

	if (result != CUDA_SUCCESS)
		return result;
	return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount);
}

SG_API CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
				  CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
				  CUstream hStream)
{
	CUresult result = begin_on(hStream);

	if (result != CUDA_SUCCESS)
		return result;
	return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount);
}

/* One end of a copy of two or three dimensions, whatever structure described it. */
struct box {
	CUmemorytype type;
	uint64_t base;
	size_t pitch;  /* between rows */
	size_t height; /* rows between slices */
	size_t x, y, z;
	enum sg_bytes_side side;
};

/* Size of the box's own dimensions: bytes, rows, slices. */
struct extent {
	size_t width, height, depth;
};

static CUresult check_box(struct box *box, const struct extent *extent, bool is_write)
{
	size_t slice, last, nr_slices;

	switch (box->type) {
	case CU_MEMORYTYPE_HOST:
		box->side = SG_BYTES_HOST;
		break;
	case CU_MEMORYTYPE_DEVICE:
		box->side = SG_BYTES_DEVICE;
		break;
	case CU_MEMORYTYPE_UNIFIED:
		box->side = SG_BYTES_ANY;
		break;
	default: /* arrays come with a later version */
		return CUDA_ERROR_INVALID_VALUE;
	}
	/* A pitch of zero stands for rows without padding, a height of zero for no padding rows. */
	if (!box->pitch)
		box->pitch = extent->width + box->x;
	if (!box->height)
		box->height = extent->height + box->y;
	if (extent->width > box->pitch - box->x || box->x > box->pitch)
		return CUDA_ERROR_INVALID_VALUE;
	if (extent->height > box->height - box->y || box->y > box->height)
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
	return sg_bytes_check(box->base, last, box->side, is_write) ? CUDA_SUCCESS
								    : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_box(struct box *target, struct box *source, const struct extent *extent)
{
	CUresult result;

	if (!extent->width || !extent->height || !extent->depth)
		return CUDA_SUCCESS;
	result = check_box(target, extent, true);
	if (result == CUDA_SUCCESS)
		result = check_box(source, extent, false);
	if (result != CUDA_SUCCESS)
		return result;
	for (size_t z = 0; z < extent->depth; z++)
		sg_bytes_copy_rows(target->base + z * target->pitch * target->height, target->pitch,
				   source->base + z * source->pitch * source->height, source->pitch,
				   extent->width, extent->height,
				   extent->width * extent->height * extent->depth);
	return CUDA_SUCCESS;
}

static uint64_t pick_base(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy)
{
	struct extent extent;
	struct box target, source;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	extent = (struct extent){copy->WidthInBytes, copy->Height, 1};
	target = (struct box){
		.type = copy->dstMemoryType,
		.base = pick_base(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
		.pitch = copy->dstPitch,
		.x = copy->dstXInBytes,
		.y = copy->dstY,
	};
	source = (struct box){
		.type = copy->srcMemoryType,
		.base = pick_base(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
		.pitch = copy->srcPitch,
		.x = copy->srcXInBytes,
		.y = copy->srcY,
	};
	return copy_box(&target, &source, &extent);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy)
{
	struct extent extent;
	struct box target, source;

	if (!copy || copy->srcLOD || copy->dstLOD || copy->reserved0 || copy->reserved1)
		return CUDA_ERROR_INVALID_VALUE;
	extent = (struct extent){copy->WidthInBytes, copy->Height, copy->Depth};
	target = (struct box){
		.type = copy->dstMemoryType,
		.base = pick_base(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
		.pitch = copy->dstPitch,
		.height = copy->dstHeight,
		.x = copy->dstXInBytes,
		.y = copy->dstY,
		.z = copy->dstZ,
	};
	source = (struct box){
		.type = copy->srcMemoryType,
		.base = pick_base(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
		.pitch = copy->srcPitch,
		.height = copy->srcHeight,
		.x = copy->srcXInBytes,
		.y = copy->srcY,
		.z = copy->srcZ,
	};
	return copy_box(&target, &source, &extent);
}

SG_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? copy_2d(pCopy) : result;
}

SG_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
	return cuMemcpy2D_v2(pCopy);
}

SG_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? copy_2d(pCopy) : result;
}

SG_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? copy_3d(pCopy) : result;
}

SG_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? copy_3d(pCopy) : result;
}
