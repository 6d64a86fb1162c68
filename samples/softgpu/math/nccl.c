/* libnccl: collectives, as copies of what this rank has. */
#include "nccl.h"

#include <stdint.h>

#include "math_device.h"

#define FIRST_OWN_OPERATION 5 /* ncclNumOps */

/* 0 for a type that is none. */
static size_t element_size(int data_type)
{
	/* ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16,
	 * and two floats of one byte */
	static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return data_type >= 0 && (size_t)data_type < sizeof(sizes) ? sizes[data_type] : 0;
}

/*
 * @count elements from block @from_block of @from to block @to_block of @to; blocks are of that
 * length.
 */
static int copy(void *to, size_t to_block, const void *from, size_t from_block, size_t count,
		int data_type, void *stream)
{
	size_t size = count * element_size(data_type);

	if (!element_size(data_type) || (count && (!to || !from)))
		return SG_NCCL_INVALID_ARGUMENT;
	return sg_math_device_copy((char *)to + to_block * size,
				   (const char *)from + from_block * size, size, stream)
		       ? SG_NCCL_CUDA_ERROR
		       : 0;
}

SG_MATH_API(int, ncclAllReduce, const void *from, void *to, size_t count, int data_type,
	    int operation, const void *handle, void *stream)
{
	(void)operation;
	if (!sg_nccl_comm_get(handle))
		return SG_NCCL_INVALID_ARGUMENT;
	return copy(to, 0, from, 0, count, data_type, stream);
}

SG_MATH_API(int, ncclReduce, const void *from, void *to, size_t count, int data_type, int operation,
	    int root, const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	(void)operation;
	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	return comm->rank == root ? copy(to, 0, from, 0, count, data_type, stream) : 0;
}

SG_MATH_API(int, ncclBroadcast, const void *from, void *to, size_t count, int data_type, int root,
	    const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	return comm->rank == root ? copy(to, 0, from, 0, count, data_type, stream) : 0;
}

SG_MATH_API(int, ncclBcast, void *buffer, size_t count, int data_type, int root, const void *handle,
	    void *stream)
{
	return ncclBroadcast(buffer, buffer, count, data_type, root, handle, stream);
}

SG_MATH_API(int, ncclReduceScatter, const void *from, void *to, size_t count, int data_type,
	    int operation, const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	(void)operation;
	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	return copy(to, 0, from, (size_t)comm->rank, count, data_type, stream);
}

/* One block for each rank, all like this rank's own. */
static int gather(const struct sg_nccl_comm *comm, const void *from, void *to, size_t count,
		  int data_type, void *stream)
{
	int err = 0;

	for (int rank = 0; rank < comm->nr_ranks && !err; rank++)
		err = copy(to, (size_t)rank, from, 0, count, data_type, stream);
	return err;
}

SG_MATH_API(int, ncclAllGather, const void *from, void *to, size_t count, int data_type,
	    const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	return gather(comm, from, to, count, data_type, stream);
}

SG_MATH_API(int, ncclAlltoAll, const void *from, void *to, size_t count, int data_type,
	    const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	return copy(to, 0, from, 0, count * (size_t)comm->nr_ranks, data_type, stream);
}

SG_MATH_API(int, ncclGather, const void *from, void *to, size_t count, int data_type, int root,
	    const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	return comm->rank == root ? gather(comm, from, to, count, data_type, stream) : 0;
}

SG_MATH_API(int, ncclScatter, const void *from, void *to, size_t count, int data_type, int root,
	    const void *handle, void *stream)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	if (!comm)
		return SG_NCCL_INVALID_ARGUMENT;
	if (comm->rank != root)
		return 0;
	return copy(to, 0, from, (size_t)root, count, data_type, stream);
}

SG_MATH_API(int, ncclRedOpCreatePreMulSum, int *operation, void *scalar, int data_type,
	    int residence, const void *handle)
{
	static int made;

	(void)scalar;
	(void)data_type;
	(void)residence;
	if (!operation || !sg_nccl_comm_get(handle))
		return SG_NCCL_INVALID_ARGUMENT;
	*operation =
		FIRST_OWN_OPERATION + (__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) & 0xffff);
	return 0;
}

SG_MATH_ALIAS(pncclAllReduce, ncclAllReduce)
SG_MATH_ALIAS(pncclReduce, ncclReduce)
SG_MATH_ALIAS(pncclBroadcast, ncclBroadcast)
SG_MATH_ALIAS(pncclBcast, ncclBcast)
SG_MATH_ALIAS(pncclReduceScatter, ncclReduceScatter)
SG_MATH_ALIAS(pncclAllGather, ncclAllGather)
SG_MATH_ALIAS(pncclAlltoAll, ncclAlltoAll)
SG_MATH_ALIAS(pncclGather, ncclGather)
SG_MATH_ALIAS(pncclScatter, ncclScatter)
SG_MATH_ALIAS(pncclRedOpCreatePreMulSum, ncclRedOpCreatePreMulSum)
