/*
 * Copies. All are finished when the call returns, the asynchronous ones too.
 */
#include "box.h"
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

static uint64_t pick_base(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *copy)
{
	struct sg_box_extent extent;
	struct sg_box target, source;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	extent = (struct sg_box_extent){copy->WidthInBytes, copy->Height, 1};
	target = (struct sg_box){
		.type = copy->dstMemoryType,
		.base = pick_base(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
		.array = copy->dstArray,
		.pitch = copy->dstPitch,
		.x = copy->dstXInBytes,
		.y = copy->dstY,
	};
	source = (struct sg_box){
		.type = copy->srcMemoryType,
		.base = pick_base(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
		.array = copy->srcArray,
		.pitch = copy->srcPitch,
		.x = copy->srcXInBytes,
		.y = copy->srcY,
	};
	return sg_box_copy(&target, &source, &extent);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy)
{
	struct sg_box_extent extent;
	struct sg_box target, source;

	if (!copy || copy->srcLOD || copy->dstLOD || copy->reserved0 || copy->reserved1)
		return CUDA_ERROR_INVALID_VALUE;
	extent = (struct sg_box_extent){copy->WidthInBytes, copy->Height, copy->Depth};
	target = (struct sg_box){
		.type = copy->dstMemoryType,
		.base = pick_base(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
		.array = copy->dstArray,
		.pitch = copy->dstPitch,
		.height = copy->dstHeight,
		.x = copy->dstXInBytes,
		.y = copy->dstY,
		.z = copy->dstZ,
	};
	source = (struct sg_box){
		.type = copy->srcMemoryType,
		.base = pick_base(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
		.array = copy->srcArray,
		.pitch = copy->srcPitch,
		.height = copy->srcHeight,
		.x = copy->srcXInBytes,
		.y = copy->srcY,
		.z = copy->srcZ,
	};
	return sg_box_copy(&target, &source, &extent);
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
