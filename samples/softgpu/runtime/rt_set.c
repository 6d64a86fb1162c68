/* Filling memory: one, two and three dimensions. */
#include "rt_copy.h"

static cudaError_t set_linear(void *memory, int value, size_t count,
			      const struct sg_rt_copy_how *how)
{
	CUdeviceptr address = (CUdeviceptr)memory;
	unsigned char byte = (unsigned char)value;

	if (!count)
		return cudaSuccess;
	if (!memory)
		return cudaErrorInvalidValue;
	return how->async ? SG_DRIVER(cuMemsetD8Async_v3020, address, byte, count, how->stream)
			  : SG_DRIVER(cuMemsetD8_v3020, address, byte, count);
}

static cudaError_t set_2d(CUdeviceptr address, size_t pitch, int value, size_t width, size_t height,
			  const struct sg_rt_copy_how *how)
{
	unsigned char byte = (unsigned char)value;

	if (!width || !height)
		return cudaSuccess;
	if (!address || (height > 1 && width > pitch))
		return cudaErrorInvalidValue;
	return how->async ? SG_DRIVER(cuMemsetD2D8Async_v3020, address, pitch, byte, width, height,
				      how->stream)
			  : SG_DRIVER(cuMemsetD2D8_v3020, address, pitch, byte, width, height);
}

static cudaError_t set_3d(struct cudaPitchedPtr memory, int value, struct cudaExtent extent,
			  const struct sg_rt_copy_how *how)
{
	CUdeviceptr address = (CUdeviceptr)memory.ptr;
	size_t slice, rows, z;
	cudaError_t error = cudaSuccess;

	if (!extent.width || !extent.height || !extent.depth)
		return cudaSuccess;
	if (!memory.ptr || extent.width > memory.pitch ||
	    (extent.depth > 1 && extent.height > memory.ysize) ||
	    __builtin_mul_overflow(memory.pitch, memory.ysize, &slice) ||
	    __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return cudaErrorInvalidValue;
	/* Slices without a gap are one plane: a volume of many thin slices is one call. */
	if (extent.height == memory.ysize || extent.depth == 1)
		return set_2d(address, memory.pitch, value, extent.width, rows, how);
	for (z = 0; z < extent.depth && !error; z++)
		error = set_2d(address + z * slice, memory.pitch, value, extent.width,
			       extent.height, how);
	return error;
}

SG_API cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	return SG_IN_CONTEXT(set_linear(devPtr, value, count, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(set_linear(devPtr, value, count, &how));
}

SG_API cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	CUdeviceptr address = (CUdeviceptr)devPtr;

	return SG_IN_CONTEXT(set_2d(address, pitch, value, width, height, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
				     size_t height, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(set_2d((CUdeviceptr)devPtr, pitch, value, width, height, &how));
}

SG_API cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
				struct cudaExtent extent)
{
	return SG_IN_CONTEXT(set_3d(pitchedDevPtr, value, extent, &sg_rt_copy_now));
}

SG_API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
				     struct cudaExtent extent, cudaStream_t stream)
{
	struct sg_rt_copy_how how = {.async = true, .stream = stream};

	return SG_IN_CONTEXT(set_3d(pitchedDevPtr, value, extent, &how));
}
