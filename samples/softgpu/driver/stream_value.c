#include "stream_value.h"

#include "bytes.h"
#include "capture.h"
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

CUresult sg_stream_value_run(const CUstreamBatchMemOpParams *operations, unsigned count)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = run_operation(&operations[i]);
	return result;
}

/* These functions know no invalid handle, only an invalid value. */
static CUresult check_stream(CUstream stream)
{
	CUresult result = sg_stream_get_context(stream, NULL, NULL);

	return result == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : result;
}

/* The operations as a node, if the stream captures. */
static CUresult capture_all(CUstream stream, CUstreamBatchMemOpParams *operations, unsigned count,
			    bool *is_captured)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
	CUresult result = check_stream(stream);

	*is_captured = false;
	if (result != CUDA_SUCCESS)
		return result;
	params.memOp.count = count;
	params.memOp.paramArray = operations;
	return sg_capture_enqueue(stream, &params, is_captured);
}

static CUresult run_on(CUstream stream, CUstreamBatchMemOpParams operation)
{
	bool is_captured;
	CUresult result = capture_all(stream, &operation, 1, &is_captured);

	return result != CUDA_SUCCESS || is_captured ? result : sg_stream_value_run(&operation, 1);
}

SG_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
					unsigned int flags)
{
	CUstreamBatchMemOpParams operation = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32};

	operation.writeValue.address = addr;
	operation.writeValue.value = value;
	operation.writeValue.flags = flags;
	return run_on(stream, operation);
}

SG_API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
					unsigned int flags)
{
	CUstreamBatchMemOpParams operation = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64};

	operation.writeValue.address = addr;
	operation.writeValue.value64 = value;
	operation.writeValue.flags = flags;
	return run_on(stream, operation);
}

SG_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
				       unsigned int flags)
{
	CUstreamBatchMemOpParams operation = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32};

	operation.waitValue.address = addr;
	operation.waitValue.value = value;
	operation.waitValue.flags = flags;
	return run_on(stream, operation);
}

SG_API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
				       unsigned int flags)
{
	CUstreamBatchMemOpParams operation = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64};

	operation.waitValue.address = addr;
	operation.waitValue.value64 = value;
	operation.waitValue.flags = flags;
	return run_on(stream, operation);
}

SG_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
				      CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
	bool is_captured;
	CUresult result = check_stream(stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!paramArray || !count || count > MAX_OPERATIONS || flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = capture_all(stream, paramArray, count, &is_captured);
	return result != CUDA_SUCCESS || is_captured ? result
						     : sg_stream_value_run(paramArray, count);
}
