#include "peer.h"

#include <pthread.h>
#include <stdlib.h>

/* One direction: `from` may use the memory of `to`. */
struct link {
	const struct sg_context *from, *to;
	struct link *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct link *links; /* lock */

/* Where the link is, or the end of the list. Lock held. */
static struct link **find(const struct sg_context *from, const struct sg_context *to)
{
	struct link **place = &links;

	while (*place && ((*place)->from != from || (*place)->to != to))
		place = &(*place)->next;
	return place;
}

static void drop(struct link **place)
{
	struct link *gone = *place;

	*place = gone->next;
	free(gone);
}

void sg_peer_forget(const struct sg_context *context)
{
	struct link **place = &links;

	pthread_mutex_lock(&lock);
	while (*place) {
		if ((*place)->from == context || (*place)->to == context)
			drop(place);
		else
			place = &(*place)->next;
	}
	pthread_mutex_unlock(&lock);
}

static CUresult check_pair(CUdevice one, CUdevice other)
{
	CUresult result = sg_init_check_device(one);

	return result == CUDA_SUCCESS ? sg_init_check_device(other) : result;
}

SG_API CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	CUresult result = check_pair(dev, peerDev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!canAccessPeer)
		return CUDA_ERROR_INVALID_VALUE;
	/* No device is a peer of itself. */
	*canAccessPeer = dev != peerDev;
	return CUDA_SUCCESS;
}

/* The context that asks, and the other one. */
static CUresult get_both(CUcontext peer, struct sg_context **from, struct sg_context **to)
{
	CUresult result = sg_context_get_current(from);

	if (result != CUDA_SUCCESS)
		return result;
	if (!peer || sg_context_get(peer, to) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_CONTEXT;
	return CUDA_SUCCESS;
}

static CUresult enable(const struct sg_context *from, const struct sg_context *to)
{
	struct link **place, *made;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	place = find(from, to);
	if (*place) {
		result = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
		goto unlock;
	}
	made = malloc(sizeof(*made));
	if (!made) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
		goto unlock;
	}
	*made = (struct link){.from = from, .to = to};
	*place = made;
unlock:
	pthread_mutex_unlock(&lock);
	return result;
}

SG_API CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	struct sg_context *from, *to;
	CUresult result = get_both(peerContext, &from, &to);

	if (result != CUDA_SUCCESS)
		return result;
	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (from == to)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (from->device == to->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	return enable(from, to);
}

SG_API CUresult cuCtxDisablePeerAccess(CUcontext peerContext)
{
	struct sg_context *from, *to;
	struct link **place;
	CUresult result = get_both(peerContext, &from, &to);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&lock);
	place = find(from, to);
	if (*place)
		drop(place);
	else
		result = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	pthread_mutex_unlock(&lock);
	return result;
}

SG_API CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib,
					CUdevice srcDevice, CUdevice dstDevice)
{
	CUresult result = check_pair(srcDevice, dstDevice);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attrib) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: /* all links alike: the best there is */
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: /* PCI Express has none */
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SG_API CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
						 const CUatomicOperation *operations,
						 unsigned int count, CUdevice srcDevice,
						 CUdevice dstDevice)
{
	CUresult result = check_pair(srcDevice, dstDevice);

	if (result != CUDA_SUCCESS)
		return result;
	if (srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!capabilities || !operations || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((unsigned)operations[i] > CU_ATOMIC_OPERATION_FLOAT_MAX)
			return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		capabilities[i] = 0;
	return CUDA_SUCCESS;
}
