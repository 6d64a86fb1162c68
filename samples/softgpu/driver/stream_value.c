#include "bytes.h"
#include "stream.h"

/*
 * Words written and waited for in stream order. Writes are real. A wait is checked and taken as
 * fulfilled: whoever would write the word may be this very thread, after the call, so waiting here
 * could be for ever; and nothing that comes later in the stream computes anything.
 *
 * The first versions of these functions are not there, as CU_DEVICE_ATTRIBUTE_CAN_USE_*_V1 say.
 */
#define MAX_OPERATIONS 255

static bool is_word(CUdeviceptr address, size_t size, bool is_write)
{
	return address % size == 0 && sg_bytes_check(address, size, SG_BYTES_DEVICE, is_write);
}

static CUresult write_word(CUdeviceptr address, const void *value, size_t size, unsigned flags)
{
	if ((flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) ||
	    !is_word(address, size, true))
		return CUDA_ERROR_INVALID_VALUE;
	sg_bytes_copy(address, (uintptr_t)value, size);
	return CUDA_SUCCESS;
}

static CUresult wait_word(CUdeviceptr address, size_t size, unsigned flags)
{
	unsigned condition = flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;

	if (condition > CU_STREAM_WAIT_VALUE_NOR || !is_word(address, size, false))
		return CUDA_ERROR_INVALID_VALUE;
	/* CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES is 0. */
	return flags & CU_STREAM_WAIT_VALUE_FLUSH ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* These functions know no invalid handle, only an invalid value. */
static CUresult check_stream(CUstream stream)
{
	CUresult result = sg_stream_get_context(stream, NULL, NULL);

	return result == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : result;
}

SG_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
					unsigned int flags)
{
	CUresult result = check_stream(stream);

	return result == CUDA_SUCCESS ? write_word(addr, &value, sizeof(value), flags) : result;
}

SG_API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
					unsigned int flags)
{
	CUresult result = check_stream(stream);

	return result == CUDA_SUCCESS ? write_word(addr, &value, sizeof(value), flags) : result;
}

SG_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
				       unsigned int flags)
{
	CUresult result = check_stream(stream);

	return result == CUDA_SUCCESS ? wait_word(addr, sizeof(value), flags) : result;
}

SG_API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
				       unsigned int flags)
{
	CUresult result = check_stream(stream);

	return result == CUDA_SUCCESS ? wait_word(addr, sizeof(value), flags) : result;
}

static CUresult run_operation(const CUstreamBatchMemOpParams *params)
{
	switch (params->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return wait_word(params->waitValue.address, sizeof(cuuint32_t),
				 params->waitValue.flags);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return wait_word(params->waitValue.address, sizeof(cuuint64_t),
				 params->waitValue.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return write_word(params->writeValue.address, &params->writeValue.value,
				  sizeof(cuuint32_t), params->writeValue.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return write_word(params->writeValue.address, &params->writeValue.value64,
				  sizeof(cuuint64_t), params->writeValue.flags);
	case CU_STREAM_MEM_OP_BARRIER:
		return params->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
				      CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
	CUresult result = check_stream(stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!paramArray || !count || count > MAX_OPERATIONS || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = run_operation(&paramArray[i]);
	return result;
}
