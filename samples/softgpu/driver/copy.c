/*
 * Copies. All are finished when the call returns, the asynchronous ones too, unless their stream
 * captures: then they are nodes of a graph.
 */
#include "copy.h"

#include "box.h"
#include "bytes.h"
#include "capture.h"
#include "stream.h"

static CUresult get_current(void)
{
	struct sg_context *context;

	return sg_context_get_current(&context);
}

/* The checks every copy starts with. Those without a stream use the default one. */
static CUresult begin(void)
{
	CUresult result = get_current();

	return result == CUDA_SUCCESS ? sg_capture_refuse_synchronous() : result;
}

static CUresult begin_on(CUstream stream)
{
	CUresult result = get_current();

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

/* A copy on a stream as a node, if the stream captures. */
static CUresult capture(CUstream stream, const CUDA_MEMCPY3D *copy, bool *is_captured)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	params.memcpy.copyParams = *copy;
	return sg_capture_enqueue(stream, &params, is_captured);
}

static CUmemorytype type_of(enum sg_bytes_side side)
{
	switch (side) {
	case SG_BYTES_HOST:
		return CU_MEMORYTYPE_HOST;
	case SG_BYTES_DEVICE:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

static CUresult capture_line(CUstream stream, uint64_t target, enum sg_bytes_side target_side,
			     uint64_t source, enum sg_bytes_side source_side, size_t size,
			     bool *is_captured)
{
	CUDA_MEMCPY3D line = {
		.srcMemoryType = type_of(source_side),
		.dstMemoryType = type_of(target_side),
		.WidthInBytes = size,
		.Height = 1,
		.Depth = 1,
	};

	if (line.srcMemoryType == CU_MEMORYTYPE_HOST)
		line.srcHost = (const void *)(uintptr_t)source;
	else
		line.srcDevice = source;
	if (line.dstMemoryType == CU_MEMORYTYPE_HOST)
		line.dstHost = (void *)(uintptr_t)target;
	else
		line.dstDevice = target;
	return capture(stream, &line, is_captured);
}

static CUresult copy_on(CUstream stream, uint64_t target, enum sg_bytes_side target_side,
			uint64_t source, enum sg_bytes_side source_side, size_t size)
{
	bool is_captured = false;
	CUresult result = begin_on(stream);

	if (result == CUDA_SUCCESS && sg_capture_has_any())
		result = capture_line(stream, target, target_side, source, source_side, size,
				      &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	return copy(target, target_side, source, source_side, size);
}

SG_API CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? copy(dst, SG_BYTES_ANY, src, SG_BYTES_ANY, ByteCount)
				      : result;
}

SG_API CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	return copy_on(hStream, dst, SG_BYTES_ANY, src, SG_BYTES_ANY, ByteCount);
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
	return copy_on(hStream, dstDevice, SG_BYTES_DEVICE, (uintptr_t)srcHost, SG_BYTES_HOST,
		       ByteCount);
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
	return copy_on(hStream, (uintptr_t)dstHost, SG_BYTES_HOST, srcDevice, SG_BYTES_DEVICE,
		       ByteCount);
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
	return copy_on(hStream, dstDevice, SG_BYTES_DEVICE, srcDevice, SG_BYTES_DEVICE, ByteCount);
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
	bool is_captured = false;
	CUresult result = begin_on(hStream);

	if (result == CUDA_SUCCESS && sg_capture_has_any())
		result = capture_line(hStream, dstDevice, SG_BYTES_DEVICE, srcDevice,
				      SG_BYTES_DEVICE, ByteCount, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
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

/* With a third dimension of one. */
static CUDA_MEMCPY3D deepen(const CUDA_MEMCPY2D *copy)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = copy->srcXInBytes,
		.srcY = copy->srcY,
		.srcMemoryType = copy->srcMemoryType,
		.srcHost = copy->srcHost,
		.srcDevice = copy->srcDevice,
		.srcArray = copy->srcArray,
		.srcPitch = copy->srcPitch,
		.dstXInBytes = copy->dstXInBytes,
		.dstY = copy->dstY,
		.dstMemoryType = copy->dstMemoryType,
		.dstHost = copy->dstHost,
		.dstDevice = copy->dstDevice,
		.dstArray = copy->dstArray,
		.dstPitch = copy->dstPitch,
		.WidthInBytes = copy->WidthInBytes,
		.Height = copy->Height,
		.Depth = 1,
	};
}

SG_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	CUresult result = begin_on(hStream);
	bool is_captured = false;
	CUDA_MEMCPY3D copy;

	if (result != CUDA_SUCCESS)
		return result;
	if (!pCopy)
		return CUDA_ERROR_INVALID_VALUE;
	copy = deepen(pCopy);
	if (sg_capture_has_any())
		result = capture(hStream, &copy, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	return copy_2d(pCopy);
}

SG_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? copy_3d(pCopy) : result;
}

CUresult sg_copy_run(const CUDA_MEMCPY3D *copy)
{
	return copy_3d(copy);
}

SG_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	CUresult result = begin_on(hStream);
	bool is_captured = false;

	if (result != CUDA_SUCCESS)
		return result;
	if (!pCopy)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_capture_has_any())
		result = capture(hStream, pCopy, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	return copy_3d(pCopy);
}
