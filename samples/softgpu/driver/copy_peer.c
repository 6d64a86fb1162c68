/*
 * Copies of three dimensions between contexts. Where memory is says all there is to know, so they
 * are ordinary ones whose contexts are checked.
 */
#include "box.h"
#include "capture.h"
#include "context.h"
#include "stream.h"

/* The context of memory must be one; that of an array is its own. */
static CUresult check_context(CUmemorytype type, CUcontext handle)
{
	struct sg_context *context;

	return type == CU_MEMORYTYPE_ARRAY ? CUDA_SUCCESS : sg_context_get(handle, &context);
}

static uint64_t pick_base(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
}

static CUresult copy(const CUDA_MEMCPY3D_PEER *copy)
{
	struct sg_box target, source;
	CUresult result;

	if (!copy || copy->srcLOD || copy->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_context(copy->dstMemoryType, copy->dstContext);
	if (result == CUDA_SUCCESS)
		result = check_context(copy->srcMemoryType, copy->srcContext);
	if (result != CUDA_SUCCESS)
		return result;
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
	return sg_box_copy(&target, &source,
			   &(struct sg_box_extent){copy->WidthInBytes, copy->Height, copy->Depth});
}

SG_API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_capture_refuse_synchronous();
	return result == CUDA_SUCCESS ? copy(pCopy) : result;
}

/* The same without contexts. */
static CUDA_MEMCPY3D simplify(const CUDA_MEMCPY3D_PEER *copy)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = copy->srcXInBytes,
		.srcY = copy->srcY,
		.srcZ = copy->srcZ,
		.srcLOD = copy->srcLOD,
		.srcMemoryType = copy->srcMemoryType,
		.srcHost = copy->srcHost,
		.srcDevice = copy->srcDevice,
		.srcArray = copy->srcArray,
		.srcPitch = copy->srcPitch,
		.srcHeight = copy->srcHeight,
		.dstXInBytes = copy->dstXInBytes,
		.dstY = copy->dstY,
		.dstZ = copy->dstZ,
		.dstLOD = copy->dstLOD,
		.dstMemoryType = copy->dstMemoryType,
		.dstHost = copy->dstHost,
		.dstDevice = copy->dstDevice,
		.dstArray = copy->dstArray,
		.dstPitch = copy->dstPitch,
		.dstHeight = copy->dstHeight,
		.WidthInBytes = copy->WidthInBytes,
		.Height = copy->Height,
		.Depth = copy->Depth,
	};
}

SG_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	struct sg_context *context;
	bool is_captured;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(hStream, NULL);
	if (result != CUDA_SUCCESS)
		return result;
	if (!pCopy)
		return CUDA_ERROR_INVALID_VALUE;
	params.memcpy.copyParams = simplify(pCopy);
	result = sg_capture_enqueue(hStream, &params, &is_captured);
	return result == CUDA_SUCCESS && !is_captured ? copy(pCopy) : result;
}
