/* libnccl: communicators, versions, memory. */
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "math_device.h"
#include "nccl.h"

#define NO_COLOR (-1)

int sg_math_bad_handle(void)
{
	return SG_NCCL_INVALID_ARGUMENT;
}

struct sg_nccl_comm *sg_nccl_comm_get(const void *handle)
{
	return sg_math_object_get(SG_NCCL_COMM, handle);
}

static int create(void **place, int nr_ranks, int rank, int device)
{
	struct sg_nccl_comm *comm;

	if (!place || nr_ranks < 1 || rank < 0 || rank >= nr_ranks)
		return SG_NCCL_INVALID_ARGUMENT;
	comm = sg_math_object_create(SG_NCCL_COMM, sizeof(*comm));
	if (!comm)
		return SG_NCCL_SYSTEM_ERROR;
	*comm = (struct sg_nccl_comm){nr_ranks, rank, device};
	*place = comm;
	return 0;
}

static int create_here(void **place, int nr_ranks, int rank)
{
	int device = 0;

	if (sg_math_device_current(&device) != 0)
		return SG_NCCL_CUDA_ERROR;
	return create(place, nr_ranks, rank, device);
}

/* Different at each call, in every process. */
SG_MATH_API(int, ncclGetUniqueId, struct sg_math_block *id)
{
	static unsigned counter;
	struct timespec now = {0};
	uint64_t parts[3];

	if (!id)
		return SG_NCCL_INVALID_ARGUMENT;
	clock_gettime(CLOCK_REALTIME, &now);
	parts[0] = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	parts[1] = (uint64_t)getpid();
	parts[2] = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
	memset(id, 0, sizeof(*id));
	memcpy(id->bytes, parts, sizeof(parts));
	return 0;
}

SG_MATH_API(int, ncclCommInitRank, void **comm, int nr_ranks, struct sg_math_block id, int rank)
{
	(void)id;
	return create_here(comm, nr_ranks, rank);
}

SG_MATH_API(int, ncclCommInitRankConfig, void **comm, int nr_ranks, struct sg_math_block id,
	    int rank, const void *config)
{
	(void)id;
	(void)config;
	return create_here(comm, nr_ranks, rank);
}

SG_MATH_API(int, ncclCommInitRankScalable, void **comm, int nr_ranks, int rank, int nr_ids,
	    const void *ids, const void *config)
{
	(void)nr_ids;
	(void)ids;
	(void)config;
	return create_here(comm, nr_ranks, rank);
}

SG_MATH_API(int, ncclCommInitAll, void **comms, int nr_devices, const int *devices)
{
	int err = 0;

	if (!comms || nr_devices < 1)
		return SG_NCCL_INVALID_ARGUMENT;
	for (int i = 0; i < nr_devices && !err; i++)
		err = create(&comms[i], nr_devices, i, devices ? devices[i] : i);
	return err;
}

/* Who else has this color is not known here: all are taken to have it. */
SG_MATH_API(int, ncclCommSplit, const void *handle, int color, int key, void **made,
	    const void *config)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	(void)key;
	(void)config;
	if (!comm || !made)
		return SG_NCCL_INVALID_ARGUMENT;
	*made = NULL;
	return color == NO_COLOR ? 0 : create(made, comm->nr_ranks, comm->rank, comm->device);
}

SG_MATH_API(int, ncclCommShrink, const void *handle, const int *excluded, int nr_excluded,
	    void **made, const void *config, int flags)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);
	int nr_before = 0;

	(void)config;
	(void)flags;
	if (!comm || !made || nr_excluded < 0 || (nr_excluded > 0 && !excluded))
		return SG_NCCL_INVALID_ARGUMENT;
	for (int i = 0; i < nr_excluded; i++)
		nr_before += excluded[i] < comm->rank;
	return create(made, comm->nr_ranks - nr_excluded, comm->rank - nr_before, comm->device);
}

static int destroy(void *handle)
{
	if (!handle)
		return 0;
	return sg_math_object_destroy(SG_NCCL_COMM, handle) ? 0 : SG_NCCL_INVALID_ARGUMENT;
}

SG_MATH_API(int, ncclCommDestroy, void *comm)
{
	return destroy(comm);
}

SG_MATH_API(int, ncclCommAbort, void *comm)
{
	return destroy(comm);
}

SG_MATH_API(int, ncclCommFinalize, void *comm)
{
	return sg_nccl_comm_get(comm) ? 0 : SG_NCCL_INVALID_ARGUMENT;
}

static int put(const void *handle, int *place, size_t field)
{
	const struct sg_nccl_comm *comm = sg_nccl_comm_get(handle);

	if (!comm || !place)
		return SG_NCCL_INVALID_ARGUMENT;
	memcpy(place, (const char *)comm + field, sizeof(*place));
	return 0;
}

SG_MATH_API(int, ncclCommCount, const void *comm, int *count)
{
	return put(comm, count, offsetof(struct sg_nccl_comm, nr_ranks));
}

SG_MATH_API(int, ncclCommUserRank, const void *comm, int *rank)
{
	return put(comm, rank, offsetof(struct sg_nccl_comm, rank));
}

SG_MATH_API(int, ncclCommCuDevice, const void *comm, int *device)
{
	return put(comm, device, offsetof(struct sg_nccl_comm, device));
}

SG_MATH_API(int, ncclCommGetAsyncError, const void *comm, int *error)
{
	if (!sg_nccl_comm_get(comm) || !error)
		return SG_NCCL_INVALID_ARGUMENT;
	*error = SG_NCCL_SUCCESS;
	return 0;
}

/* A registration is known by the buffer itself. */
SG_MATH_API(int, ncclCommRegister, const void *comm, void *buffer, size_t size, void **handle)
{
	(void)size;
	if (!sg_nccl_comm_get(comm) || !handle)
		return SG_NCCL_INVALID_ARGUMENT;
	*handle = buffer;
	return 0;
}

SG_MATH_API(int, ncclCommWindowRegister, const void *comm, void *buffer, size_t size, void **window,
	    int flags)
{
	(void)flags;
	return ncclCommRegister(comm, buffer, size, window);
}

SG_MATH_API(int, ncclMemAlloc, void **memory, size_t size)
{
	if (!memory)
		return SG_NCCL_INVALID_ARGUMENT;
	return sg_math_device_alloc(memory, size) ? SG_NCCL_CUDA_ERROR : 0;
}

SG_MATH_API(int, ncclMemFree, void *memory)
{
	return sg_math_device_free(memory) ? SG_NCCL_CUDA_ERROR : 0;
}

SG_MATH_API(int, ncclGetVersion, int *version)
{
	if (!version)
		return SG_NCCL_INVALID_ARGUMENT;
	*version = sg_math_version[SG_MATH_MAJOR_VERSION] * 10000 +
		   sg_math_version[SG_MATH_MINOR_VERSION] * 100 +
		   sg_math_version[SG_MATH_PATCH_LEVEL];
	return 0;
}

SG_MATH_API(const char *, ncclGetErrorString, int result)
{
	static const char *const texts[] = {
		"no error",
		"unhandled cuda error",
		"unhandled system error",
		"internal error",
		"invalid argument",
		"invalid usage",
		"remote process exited or there was a network error",
		"NCCL operation in progress",
	};

	if (result < 0 || (size_t)result >= sizeof(texts) / sizeof(texts[0]))
		return "unknown result code";
	return texts[result];
}

SG_MATH_API(const char *, ncclGetLastError, const void *comm)
{
	(void)comm;
	return "";
}

/* The p names are for tools that put themselves in front of the others. */
SG_MATH_ALIAS(pncclGetUniqueId, ncclGetUniqueId)
SG_MATH_ALIAS(pncclCommInitRank, ncclCommInitRank)
SG_MATH_ALIAS(pncclCommInitRankConfig, ncclCommInitRankConfig)
SG_MATH_ALIAS(pncclCommInitRankScalable, ncclCommInitRankScalable)
SG_MATH_ALIAS(pncclCommInitAll, ncclCommInitAll)
SG_MATH_ALIAS(pncclCommSplit, ncclCommSplit)
SG_MATH_ALIAS(pncclCommShrink, ncclCommShrink)
SG_MATH_ALIAS(pncclCommDestroy, ncclCommDestroy)
SG_MATH_ALIAS(pncclCommAbort, ncclCommAbort)
SG_MATH_ALIAS(pncclCommFinalize, ncclCommFinalize)
SG_MATH_ALIAS(pncclCommCount, ncclCommCount)
SG_MATH_ALIAS(pncclCommUserRank, ncclCommUserRank)
SG_MATH_ALIAS(pncclCommCuDevice, ncclCommCuDevice)
SG_MATH_ALIAS(pncclCommGetAsyncError, ncclCommGetAsyncError)
SG_MATH_ALIAS(pncclCommRegister, ncclCommRegister)
SG_MATH_ALIAS(pncclCommWindowRegister, ncclCommWindowRegister)
SG_MATH_ALIAS(pncclMemAlloc, ncclMemAlloc)
SG_MATH_ALIAS(pncclMemFree, ncclMemFree)
SG_MATH_ALIAS(pncclGetVersion, ncclGetVersion)
SG_MATH_ALIAS(pncclGetErrorString, ncclGetErrorString)
SG_MATH_ALIAS(pncclGetLastError, ncclGetLastError)
