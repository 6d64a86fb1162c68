#include "rt_graph.h"

#include <string.h>

cudaError_t sg_rt_graph_context(CUcontext *context)
{
	return SG_DRIVER(cuCtxGetCurrent_v4000, context);
}

cudaError_t sg_rt_graph_kernel(const struct cudaKernelNodeParams *given,
			       CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	CUkernel kernel;
	cudaError_t error;

	if (!given)
		return cudaErrorInvalidValue;
	error = sg_rt_module_kernel(given->func, &kernel);
	if (error)
		return error;
	*params = (CUDA_KERNEL_NODE_PARAMS_v2){
		.kern = kernel,
		.gridDimX = given->gridDim.x,
		.gridDimY = given->gridDim.y,
		.gridDimZ = given->gridDim.z,
		.blockDimX = given->blockDim.x,
		.blockDimY = given->blockDim.y,
		.blockDimZ = given->blockDim.z,
		.sharedMemBytes = given->sharedMemBytes,
		.kernelParams = given->kernelParams,
		.extra = given->extra,
	};
	return sg_rt_graph_context(&params->ctx);
}

void sg_rt_graph_kernel_back(const CUDA_KERNEL_NODE_PARAMS_v2 *params,
			     struct cudaKernelNodeParams *given)
{
	const void *handle = params->kern ? (const void *)params->kern : (const void *)params->func;
	const struct sg_rt_entry *entry = sg_rt_registry_find_handle(handle);

	/* A kernel that no host function stands for is its own name, as in launches. */
	*given = (struct cudaKernelNodeParams){
		.func = entry ? (void *)(uintptr_t)entry->host : (void *)(uintptr_t)handle,
		.gridDim = {params->gridDimX, params->gridDimY, params->gridDimZ},
		.blockDim = {params->blockDimX, params->blockDimY, params->blockDimZ},
		.sharedMemBytes = params->sharedMemBytes,
		.kernelParams = params->kernelParams,
		.extra = params->extra,
	};
}

/* ---- Copies ---- */

static bool source_is_host(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
}

static bool target_is_host(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
}

static CUmemorytype type_of(enum cudaMemcpyKind kind, bool is_host, bool is_array)
{
	if (is_array)
		return CU_MEMORYTYPE_ARRAY;
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

/* Bytes of an element of an array: extents and places in arrays count elements. */
static cudaError_t element_size(cudaArray_t array, size_t *size)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {0};
	cudaError_t error =
		SG_DRIVER(cuArray3DGetDescriptor_v3020, &descriptor, (CUarray)(void *)array);
	size_t channel = 1;

	if (error)
		return error;
	switch (descriptor.Format) {
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		channel = 2;
		break;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		channel = 4;
		break;
	default:
		break;
	}
	*size = channel * descriptor.NumChannels;
	return cudaSuccess;
}

cudaError_t sg_rt_graph_copy(const struct cudaMemcpy3DParms *given, CUDA_MEMCPY3D *params)
{
	size_t element = 1;
	cudaError_t error = cudaSuccess;

	if (!given || !given->srcArray == !given->srcPtr.ptr ||
	    !given->dstArray == !given->dstPtr.ptr)
		return cudaErrorInvalidValue;
	if ((int)given->kind < cudaMemcpyHostToHost || given->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (given->srcArray || given->dstArray)
		error = element_size(given->srcArray ? given->srcArray : given->dstArray, &element);
	if (error)
		return error;
	*params = (CUDA_MEMCPY3D){
		.srcXInBytes = given->srcPos.x * (given->srcArray ? element : 1),
		.srcY = given->srcPos.y,
		.srcZ = given->srcPos.z,
		.srcMemoryType = type_of(given->kind, source_is_host(given->kind), given->srcArray),
		.srcHost = given->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)given->srcPtr.ptr,
		.srcArray = (CUarray)(void *)given->srcArray,
		.srcPitch = given->srcPtr.pitch,
		.srcHeight = given->srcPtr.ysize,
		.dstXInBytes = given->dstPos.x * (given->dstArray ? element : 1),
		.dstY = given->dstPos.y,
		.dstZ = given->dstPos.z,
		.dstMemoryType = type_of(given->kind, target_is_host(given->kind), given->dstArray),
		.dstHost = given->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)given->dstPtr.ptr,
		.dstArray = (CUarray)(void *)given->dstArray,
		.dstPitch = given->dstPtr.pitch,
		.dstHeight = given->dstPtr.ysize,
		.WidthInBytes = given->extent.width * element,
		.Height = given->extent.height,
		.Depth = given->extent.depth,
	};
	return cudaSuccess;
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *params)
{
	bool from_host = params->srcMemoryType == CU_MEMORYTYPE_HOST;
	bool to_host = params->dstMemoryType == CU_MEMORYTYPE_HOST;

	if (params->srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
	    params->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	if (from_host)
		return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static struct cudaPitchedPtr pitched(CUmemorytype type, const void *host, CUdeviceptr device,
				     size_t pitch, size_t height, size_t width)
{
	struct cudaPitchedPtr side = {.pitch = pitch, .xsize = width, .ysize = height};

	if (type == CU_MEMORYTYPE_HOST)
		side.ptr = (void *)(uintptr_t)host;
	else if (type != CU_MEMORYTYPE_ARRAY)
		side.ptr = (void *)device;
	return side;
}

cudaError_t sg_rt_graph_copy_back(const CUDA_MEMCPY3D *params, struct cudaMemcpy3DParms *given)
{
	bool from_array = params->srcMemoryType == CU_MEMORYTYPE_ARRAY;
	bool to_array = params->dstMemoryType == CU_MEMORYTYPE_ARRAY;
	cudaArray_t array = (cudaArray_t)(void *)(from_array ? params->srcArray : params->dstArray);
	size_t element = 1;
	cudaError_t error = from_array || to_array ? element_size(array, &element) : cudaSuccess;

	if (error)
		return error;
	*given = (struct cudaMemcpy3DParms){
		.srcArray = from_array ? (cudaArray_t)(void *)params->srcArray : NULL,
		.srcPos = {params->srcXInBytes / (from_array ? element : 1), params->srcY,
			   params->srcZ},
		.srcPtr = pitched(params->srcMemoryType, params->srcHost, params->srcDevice,
				  params->srcPitch, params->srcHeight, params->WidthInBytes),
		.dstArray = to_array ? (cudaArray_t)(void *)params->dstArray : NULL,
		.dstPos = {params->dstXInBytes / (to_array ? element : 1), params->dstY,
			   params->dstZ},
		.dstPtr = pitched(params->dstMemoryType, params->dstHost, params->dstDevice,
				  params->dstPitch, params->dstHeight, params->WidthInBytes),
		.extent = {params->WidthInBytes / element, params->Height, params->Depth},
		.kind = kind_of(params),
	};
	return cudaSuccess;
}

cudaError_t sg_rt_graph_line(void *target, const void *source, size_t count,
			     enum cudaMemcpyKind kind, CUDA_MEMCPY3D *params)
{
	const struct cudaMemcpy3DParms line = {
		.srcPtr = {(void *)(uintptr_t)source, count, count, 1},
		.dstPtr = {target, count, count, 1},
		.extent = {count, 1, 1},
		.kind = kind,
	};

	return sg_rt_graph_copy(&line, params);
}

/* The part [offset, offset + count) of a variable. */
static cudaError_t find_part(const void *symbol, size_t count, size_t offset, void **part)
{
	CUdeviceptr address;
	size_t size = 0;
	cudaError_t error = sg_rt_module_variable(symbol, &address, &size);

	if (error)
		return error;
	if (offset > size || count > size - offset)
		return cudaErrorInvalidValue;
	*part = (void *)(address + offset);
	return cudaSuccess;
}

cudaError_t sg_rt_graph_to_symbol(const void *symbol, const void *source, size_t count,
				  size_t offset, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *params)
{
	void *part;
	cudaError_t error;

	if (target_is_host(kind))
		return cudaErrorInvalidMemcpyDirection;
	error = find_part(symbol, count, offset, &part);
	return error ? error : sg_rt_graph_line(part, source, count, kind, params);
}

cudaError_t sg_rt_graph_from_symbol(void *target, const void *symbol, size_t count, size_t offset,
				    enum cudaMemcpyKind kind, CUDA_MEMCPY3D *params)
{
	void *part;
	cudaError_t error;

	if (source_is_host(kind))
		return cudaErrorInvalidMemcpyDirection;
	error = find_part(symbol, count, offset, &part);
	return error ? error : sg_rt_graph_line(target, part, count, kind, params);
}

/* ---- Any node ---- */

static cudaError_t convert_kernel(const struct cudaKernelNodeParamsV2 *given,
				  CUDA_KERNEL_NODE_PARAMS_v3 *params)
{
	_Static_assert(sizeof(struct cudaKernelNodeParams) == sizeof(*given), "layout");
	_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(*params), "layout");
	CUDA_KERNEL_NODE_PARAMS_v2 found;
	struct cudaKernelNodeParams same;
	cudaError_t error;

	memcpy(&same, given, sizeof(same));
	error = sg_rt_graph_kernel(&same, &found);
	if (!error)
		memcpy(params, &found, sizeof(found));
	return error;
}

static cudaError_t convert_copy(const struct cudaMemcpyNodeParams *given,
				CUDA_MEMCPY_NODE_PARAMS *params)
{
	cudaError_t error = sg_rt_graph_copy(&given->copyParams, &params->copyParams);

	params->flags = given->flags;
	return error ? error : sg_rt_graph_context(&params->copyCtx);
}

cudaError_t sg_rt_graph_node(const struct cudaGraphNodeParams *given, CUgraphNodeParams *params)
{
	_Static_assert(sizeof(*given) == sizeof(*params), "layout");

	if (!given)
		return cudaErrorInvalidValue;
	memset(params, 0, sizeof(*params));
	params->type = (CUgraphNodeType)given->type;
	switch (given->type) {
	case cudaGraphNodeTypeKernel:
		return convert_kernel(&given->kernel, &params->kernel);
	case cudaGraphNodeTypeMemcpy:
		return convert_copy(&given->memcpy, &params->memcpy);
	case cudaGraphNodeTypeMemset:
		memcpy(&params->memset, &given->memset, sizeof(given->memset));
		return sg_rt_graph_context(&params->memset.ctx);
	case cudaGraphNodeTypeConditional:
		params->conditional.handle = given->conditional.handle;
		params->conditional.type = (CUgraphConditionalNodeType)given->conditional.type;
		params->conditional.size = given->conditional.size;
		return sg_rt_graph_context(&params->conditional.ctx);
	default:
		/* Laid out alike. */
		memcpy(params, given, sizeof(*params));
		return cudaSuccess;
	}
}

void sg_rt_graph_node_back(const CUgraphNodeParams *params, struct cudaGraphNodeParams *given)
{
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		given->alloc.dptr = (void *)params->alloc.dptr;
	else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		given->conditional.phGraph_out = params->conditional.phGraph_out;
}
