/*
 * cuMemset in all its sizes: values of 1, 2 and 4 bytes, lines and rows, on a stream or not.
 */
#include "bytes.h"
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
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? fill(dstDevice, uc, 1, N) : result;
}

SG_API CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
				 CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? fill(dstDevice, us, 2, N) : result;
}

SG_API CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? fill(dstDevice, ui, 4, N) : result;
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
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? fill_rows(dstDevice, dstPitch, uc, 1, Width, Height)
				      : result;
}

SG_API CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
				   size_t Width, size_t Height, CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? fill_rows(dstDevice, dstPitch, us, 2, Width, Height)
				      : result;
}

SG_API CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
				   size_t Width, size_t Height, CUstream hStream)
{
	CUresult result = begin_on(hStream);

	return result == CUDA_SUCCESS ? fill_rows(dstDevice, dstPitch, ui, 4, Width, Height)
				      : result;
}
