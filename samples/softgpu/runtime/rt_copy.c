/* Copies: one, two and three dimensions, between devices, in batches. */
#include "rt_copy.h"

#include "rt_box.h"

const struct sg_rt_copy_how sg_rt_copy_now;

bool sg_rt_copy_is_kind(enum cudaMemcpyKind kind)
{
	return (int)kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUmemorytype sg_rt_copy_source_type(enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyHostToDevice:
		return CU_MEMORYTYPE_HOST;
	case cudaMemcpyDeviceToHost:
	case cudaMemcpyDeviceToDevice:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

CUmemorytype sg_rt_copy_target_type(enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyDeviceToHost:
		return CU_MEMORYTYPE_HOST;
	case cudaMemcpyHostToDevice:
	case cudaMemcpyDeviceToDevice:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

static cudaError_t copy_now(void *target, const void *source, size_t count,
			    enum cudaMemcpyKind kind)
{
	CUdeviceptr to = (CUdeviceptr)target, from = (CUdeviceptr)source;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return SG_DRIVER(cuMemcpyHtoD_v3020, to, source, count);
	case cudaMemcpyDeviceToHost:
		return SG_DRIVER(cuMemcpyDtoH_v3020, target, from, count);
	case cudaMemcpyDeviceToDevice:
		return SG_DRIVER(cuMemcpyDtoD_v3020, to, from, count);
	default:
		return SG_DRIVER(cuMemcpy_v4000, to, from, count);
	}
}

static cudaError_t copy_later(void *target, const void *source, size_t count,
			      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUdeviceptr to = (CUdeviceptr)target, from = (CUdeviceptr)source;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		return SG_DRIVER(cuMemcpyHtoDAsync_v3020, to, source, count, stream);
	case cudaMemcpyDeviceToHost:
		return SG_DRIVER(cuMemcpyDtoHAsync_v3020, target, from, count, stream);
	case cudaMemcpyDeviceToDevice:
		return SG_DRIVER(cuMemcpyDtoDAsync_v3020, to, from, count, stream);
	default:
		return SG_DRIVER(cuMemcpyAsync_v4000, to, from, count, stream);
	}
}

cudaError_t sg_rt_copy_linear(void *target, const void *source, size_t count,
			      enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how)
{
	if (!sg_rt_copy_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (!count)
		return cudaSuccess;
	if (!target || !source)
		return cudaErrorInvalidValue;
	return how->async ? copy_later(target, source, count, kind, how->stream)
			  : copy_now(target, source, count, kind);
}

struct plane {
	void *address;
	size_t pitch;
};

static cudaError_t copy_2d(struct plane target, struct plane source, size_t width, size_t height,
			   enum cudaMemcpyKind kind, const struct sg_rt_copy_how *how)
{
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = sg_rt_copy_source_type(kind),
		.srcHost = source.address,
		.srcDevice = (CUdeviceptr)source.address,
		.srcPitch = source.pitch,
		.dstMemoryType = sg_rt_copy_target_type(kind),
		.dstHost = target.address,
		.dstDevice = (CUdeviceptr)target.address,
		.dstPitch = target.pitch,
		.WidthInBytes = width,
		.Height = height,
	};

	if (!sg_rt_copy_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (width > target.pitch || width > source.pitch)
		return cudaErrorInvalidPitchValue;
	if (!width || !height)
		return cudaSuccess;
	if (!target.address || !source.address)
		return cudaErrorInvalidValue;
	/* A single copy need not have aligned pitches; the driver's plain 2D copy may insist. */
	return how->async ? SG_DRIVER(cuMemcpy2DAsync_v3020, &copy, how->stream)
			  : SG_DRIVER(cuMemcpy2DUnaligned_v3020, &copy);
}

static bool is_empty(const struct cudaExtent *extent)
{
	return !extent->width || !extent->height || !extent->depth;
}

/* An array is on the device whatever the kind says. */
static CUmemorytype type_of_end(const struct sg_rt_box_end *end, CUmemorytype type)
{
	return end->array ? CU_MEMORYTYPE_ARRAY : type;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, const struct sg_rt_copy_how *how)
{
	struct sg_rt_box box;
	CUDA_MEMCPY3D copy;
	cudaError_t error;

	if (!p)
		return cudaErrorInvalidValue;
	if (!sg_rt_copy_is_kind(p->kind))
		return cudaErrorInvalidMemcpyDirection;
	if (is_empty(&p->extent))
		return cudaSuccess;
	box = (struct sg_rt_box){
		.target = {p->dstArray, p->dstPos, p->dstPtr},
		.source = {p->srcArray, p->srcPos, p->srcPtr},
		.extent = p->extent,
	};
	error = sg_rt_box_convert(&box);
	if (error)
		return error;
	copy = (CUDA_MEMCPY3D){
		.srcXInBytes = box.source.pos.x,
		.srcY = box.source.pos.y,
		.srcZ = box.source.pos.z,
		.srcMemoryType = type_of_end(&box.source, sg_rt_copy_source_type(p->kind)),
		.srcHost = p->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)p->srcPtr.ptr,
		.srcArray = (CUarray)(void *)p->srcArray,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = box.target.pos.x,
		.dstY = box.target.pos.y,
		.dstZ = box.target.pos.z,
		.dstMemoryType = type_of_end(&box.target, sg_rt_copy_target_type(p->kind)),
		.dstHost = p->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)p->dstPtr.ptr,
		.dstArray = (CUarray)(void *)p->dstArray,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = box.extent.width,
		.Height = box.extent.height,
		.Depth = box.extent.depth,
	};
	return how->async ? SG_DRIVER(cuMemcpy3DAsync_v3020, &copy, how->stream)
			  : SG_DRIVER(cuMemcpy3D_v3020, &copy);
}

static cudaError_t two_contexts(int target_device, CUcontext *target, int source_device,
				CUcontext *source)
{
	cudaError_t error = sg_rt_context_primary(target_device, target);

	return error ? error : sg_rt_context_primary(source_device, source);
}

static cudaError_t copy_peer(void *target, int target_device, const void *source, int source_device,
			     size_t count, const struct sg_rt_copy_how *how)
{
	CUdeviceptr to = (CUdeviceptr)target, from = (CUdeviceptr)source;
	CUcontext target_context, source_context;
	cudaError_t error;

	error = two_contexts(target_device, &target_context, source_device, &source_context);
	if (error || !count)
		return error;
	if (!target || !source)
		return cudaErrorInvalidValue;
	return how->async ? SG_DRIVER(cuMemcpyPeerAsync_v4000, to, target_context, from,
				      source_context, count, how->stream)
			  : SG_DRIVER(cuMemcpyPeer_v4000, to, target_context, from, source_context,
				      count);
}

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p,
				const struct sg_rt_copy_how *how)
{
	CUDA_MEMCPY3D_PEER copy = {0};
	struct sg_rt_box box;
	cudaError_t error;

	if (!p)
		return cudaErrorInvalidValue;
	error = two_contexts(p->dstDevice, &copy.dstContext, p->srcDevice, &copy.srcContext);
	if (error || is_empty(&p->extent))
		return error;
	box = (struct sg_rt_box){
		.target = {p->dstArray, p->dstPos, p->dstPtr},
		.source = {p->srcArray, p->srcPos, p->srcPtr},
		.extent = p->extent,
	};
	error = sg_rt_box_convert(&box);
	if (error)
		return error;
	copy.srcXInBytes = box.source.pos.x;
	copy.srcY = box.source.pos.y;
	copy.srcZ = box.source.pos.z;
	copy.srcMemoryType = type_of_end(&box.source, CU_MEMORYTYPE_UNIFIED);
	copy.srcDevice = (CUdeviceptr)p->srcPtr.ptr;
	copy.srcArray = (CUarray)(void *)p->srcArray;
	copy.srcPitch = p->srcPtr.pitch;
	copy.srcHeight = p->srcPtr.ysize;
	copy.dstXInBytes = box.target.pos.x;
	copy.dstY = box.target.pos.y;
	copy.dstZ = box.target.pos.z;
	copy.dstMemoryType = type_of_end(&box.target, CU_MEMORYTYPE_UNIFIED);
	copy.dstDevice = (CUdeviceptr)p->dstPtr.ptr;
	copy.dstArray = (CUarray)(void *)p->dstArray;
	copy.dstPitch = p->dstPtr.pitch;
	copy.dstHeight = p->dstPtr.ysize;
	copy.WidthInBytes = box.extent.width;
	copy.Height = box.extent.height;
	copy.Depth = box.extent.depth;
	return how->async ? SG_DRIVER(cuMemcpy3DPeerAsync_v4000, &copy, how->stream)
			  : SG_DRIVER(cuMemcpy3DPeer_v4000, &copy);
}

SG_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return SG_IN_CONTEXT(sg_rt_copy_linear(dst, src, count, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
				   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(sg_rt_copy_linear(dst, src, count, kind, &how));
}

SG_API cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
				size_t width, size_t height, enum cudaMemcpyKind kind)
{
	struct plane target = {dst, dpitch}, source = {(void *)(uintptr_t)src, spitch};

	return SG_IN_CONTEXT(copy_2d(target, source, width, height, kind, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
				     size_t width, size_t height, enum cudaMemcpyKind kind,
				     cudaStream_t stream)
{
	struct plane target = {dst, dpitch}, source = {(void *)(uintptr_t)src, spitch};
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_2d(target, source, width, height, kind, &how));
}

SG_API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	return SG_IN_CONTEXT(copy_3d(p, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_3d(p, &how));
}

SG_API cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
				  size_t count)
{
	return SG_IN_CONTEXT(copy_peer(dst, dstDevice, src, srcDevice, count, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
				       size_t count, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_peer(dst, dstDevice, src, srcDevice, count, &how));
}

SG_API cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	return SG_IN_CONTEXT(copy_3d_peer(p, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(copy_3d_peer(p, &how));
}

/* The driver takes the same arrays; only its pointers to memory have another type. */
SG_API cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
					const size_t *sizes, size_t count,
					struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
					size_t numAttrs, cudaStream_t stream)
{
	_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "layout");
	CUdeviceptr *to = (CUdeviceptr *)(uintptr_t)dsts, *from = (CUdeviceptr *)(uintptr_t)srcs;
	size_t *lengths = (size_t *)(uintptr_t)sizes;

	return SG_IN_CONTEXT(SG_DRIVER(cuMemcpyBatchAsync_v13000, to, from, lengths, count,
				       (CUmemcpyAttributes *)attrs, attrsIdxs, numAttrs, stream));
}

SG_API cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
					  unsigned long long flags, cudaStream_t stream)
{
	_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP),
		       "layout");

	return SG_IN_CONTEXT(SG_DRIVER(cuMemcpy3DBatchAsync_v13000, numOps,
				       (CUDA_MEMCPY3D_BATCH_OP *)opList, flags, stream));
}
