/*
 * cuMemset in all its sizes: values of 1, 2 and 4 bytes, lines and rows, on a stream or not.
 */
#include "fill.h"

#include "bytes.h"
#include "capture.h"
#include "stream.h"

static CUresult fill(CUdeviceptr target, uint32_t value, unsigned value_size, size_t count)
{
	size_t size;

	if (target % value_size || __builtin_mul_overflow(count, value_size, &size) ||
	    !sg_bytes_check(target, size, SG_BYTES_DEVICE, true))
		return CUDA_ERROR_INVALID_VALUE;
	sg_bytes_fill(target, value, value_size, count);
	return CUDA_SUCCESS;
}

static CUresult fill_rows(CUdeviceptr target, size_t pitch, uint32_t value, unsigned value_size,
			  size_t width, size_t height)
{
	size_t row, last;

	if (!width || !height)
		return CUDA_SUCCESS;
	if (target % value_size || __builtin_mul_overflow(width, value_size, &row) ||
	    (height > 1 && (row > pitch || pitch % value_size)) ||
	    __builtin_mul_overflow(height - 1, pitch, &last) ||
	    __builtin_add_overflow(last, row, &last) ||
	    !sg_bytes_check(target, last, SG_BYTES_DEVICE, true))
		return CUDA_ERROR_INVALID_VALUE;
	sg_bytes_fill_rows(target, pitch, value, value_size, width, height);
	return CUDA_SUCCESS;
}

CUresult sg_fill_run(const CUDA_MEMSET_NODE_PARAMS_v2 *params)
{
	if (params->height == 1 && !params->pitch)
		return fill(params->dst, params->value, params->elementSize, params->width);
	return fill_rows(params->dst, params->pitch, params->value, params->elementSize,
			 params->width, params->height);
}

/* Without a stream: the default one, which must not have to wait for a capture. */
static CUresult begin(void)
{
	struct sg_context *context;
	CUresult result = sg_context_get_current(&context);

	return result == CUDA_SUCCESS ? sg_capture_refuse(CU_STREAM_LEGACY) : result;
}

/* On a stream: at once, or as a node of a graph if the stream captures. */
static CUresult fill_on(CUstream stream, CUdeviceptr target, size_t pitch, uint32_t value,
			unsigned value_size, size_t width, size_t height)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	struct sg_context *context;
	bool is_captured;
	CUresult result = sg_context_get_current(&context);

	if (result == CUDA_SUCCESS)
		result = sg_stream_get(stream, NULL);
	if (result != CUDA_SUCCESS)
		return result;
	params.memset =
		(CUDA_MEMSET_NODE_PARAMS_v2){target, pitch, value, value_size, width, height, NULL};
	result = sg_capture_enqueue(stream, &params, &is_captured);
	if (result != CUDA_SUCCESS || is_captured)
		return result;
	return sg_fill_run(&params.memset);
}

SG_API CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? fill(dstDevice, uc, 1, N) : result;
}

SG_API CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? fill(dstDevice, us, 2, N) : result;
}

SG_API CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? fill(dstDevice, ui, 4, N) : result;
}

SG_API CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	return fill_on(hStream, dstDevice, 0, uc, 1, N, 1);
}

SG_API CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
				 CUstream hStream)
{
	return fill_on(hStream, dstDevice, 0, us, 2, N, 1);
}

SG_API CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	return fill_on(hStream, dstDevice, 0, ui, 4, N, 1);
}

SG_API CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
				size_t Width, size_t Height)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? fill_rows(dstDevice, dstPitch, uc, 1, Width, Height)
				      : result;
}

SG_API CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
				 size_t Width, size_t Height)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? fill_rows(dstDevice, dstPitch, us, 2, Width, Height)
				      : result;
}

SG_API CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
				 size_t Width, size_t Height)
{
	CUresult result = begin();

	return result == CUDA_SUCCESS ? fill_rows(dstDevice, dstPitch, ui, 4, Width, Height)
				      : result;
}

SG_API CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
				  size_t Width, size_t Height, CUstream hStream)
{
	return fill_on(hStream, dstDevice, dstPitch, uc, 1, Width, Height);
}

SG_API CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
				   size_t Width, size_t Height, CUstream hStream)
{
	return fill_on(hStream, dstDevice, dstPitch, us, 2, Width, Height);
}

SG_API CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
				   size_t Width, size_t Height, CUstream hStream)
{
	return fill_on(hStream, dstDevice, dstPitch, ui, 4, Width, Height);
}
