#include <string.h>
#include <unistd.h>

#include "nvml_state.h"

/*
 * How devices lie to each other and to the processors: all of them on one host bridge, with peer
 * access over PCI Express, no NVLink, no fabric.
 */

/* A list of devices other than one. NULL: of all. The protocol is that of *count in nvml.h. */
static nvmlReturn_t put_devices(nvmlDevice_t but, unsigned int *count, nvmlDevice_t *out)
{
	unsigned int room = *count, n = 0;

	if (room && !out)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < sg_nvml_state_get_nr_devices(); i++) {
		nvmlDevice_t device = sg_nvml_state_get_device(i);

		if (device == but)
			continue;
		if (n < room)
			out[n] = device;
		n++;
	}
	*count = room && room < n ? room : n;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpuNumber, unsigned int *count,
					 nvmlDevice_t *deviceArray)
{
	nvmlReturn_t result = sg_nvml_state_check_init();

	if (result != NVML_SUCCESS)
		return result;
	if (!count || cpuNumber >= (unsigned long)sysconf(_SC_NPROCESSORS_CONF))
		return NVML_ERROR_INVALID_ARGUMENT;
	return put_devices(NULL, count, deviceArray);
}

static nvmlReturn_t check_pair(nvmlDevice_t device1, nvmlDevice_t device2, const void *out)
{
	nvmlReturn_t result = sg_nvml_state_check(device1, out);

	return result == NVML_SUCCESS ? sg_nvml_state_check(device2, out) : result;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
						 nvmlGpuTopologyLevel_t *pathInfo)
{
	nvmlReturn_t result = check_pair(device1, device2, pathInfo);

	if (result == NVML_SUCCESS)
		*pathInfo = device1 == device2 ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_HOSTBRIDGE;
	return result;
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
					      unsigned int *count, nvmlDevice_t *deviceArray)
{
	nvmlReturn_t result = sg_nvml_state_check(device, count);

	if (result != NVML_SUCCESS)
		return result;
	switch (level) {
	case NVML_TOPOLOGY_HOSTBRIDGE:
		return put_devices(device, count, deviceArray);
	case NVML_TOPOLOGY_INTERNAL:
	case NVML_TOPOLOGY_SINGLE:
	case NVML_TOPOLOGY_MULTIPLE:
	case NVML_TOPOLOGY_NODE:
	case NVML_TOPOLOGY_SYSTEM:
		if (*count && !deviceArray)
			return NVML_ERROR_INVALID_ARGUMENT;
		*count = 0;
		return NVML_SUCCESS;
	default:
		return NVML_ERROR_INVALID_ARGUMENT;
	}
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
				    nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t *p2pStatus)
{
	nvmlReturn_t result = check_pair(device1, device2, p2pStatus);

	if (result != NVML_SUCCESS)
		return result;
	if ((unsigned int)p2pIndex >= NVML_P2P_CAPS_INDEX_UNKNOWN)
		return NVML_ERROR_INVALID_ARGUMENT;
	/* Over PCI Express, as the driver says (cuDeviceGetP2PAttribute): no links, no atomics. */
	*p2pStatus =
		p2pIndex == NVML_P2P_CAPS_INDEX_NVLINK || p2pIndex == NVML_P2P_CAPS_INDEX_ATOMICS
			? NVML_P2P_STATUS_NOT_SUPPORTED
			: NVML_P2P_STATUS_OK;
	return NVML_SUCCESS;
}

/* The bits of the first n, in as many words as the caller has. */
static nvmlReturn_t put_bits(nvmlDevice_t device, unsigned int nr_words, unsigned long *words,
			     nvmlAffinityScope_t scope, unsigned long n)
{
	const unsigned long bits_per_word = 8 * sizeof(*words);
	nvmlReturn_t result = sg_nvml_state_check(device, words);

	if (result != NVML_SUCCESS)
		return result;
	if (!nr_words || scope > NVML_AFFINITY_SCOPE_SOCKET)
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(words, 0, nr_words * sizeof(*words));
	for (unsigned long i = 0; i < n && i / bits_per_word < nr_words; i++)
		words[i / bits_per_word] |= 1UL << (i % bits_per_word);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int cpuSetSize,
						 unsigned long *cpuSet, nvmlAffinityScope_t scope)
{
	return put_bits(device, cpuSetSize, cpuSet, scope,
			(unsigned long)sysconf(_SC_NPROCESSORS_CONF));
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int cpuSetSize,
				      unsigned long *cpuSet)
{
	return nvmlDeviceGetCpuAffinityWithinScope(device, cpuSetSize, cpuSet,
						   NVML_AFFINITY_SCOPE_NODE);
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int nodeSetSize,
					 unsigned long *nodeSet, nvmlAffinityScope_t scope)
{
	return put_bits(device, nodeSetSize, nodeSet, scope, 1);
}

static nvmlReturn_t refuse_link(nvmlDevice_t device, unsigned int link, const void *out)
{
	nvmlReturn_t result = sg_nvml_state_check(device, out);

	if (result != NVML_SUCCESS)
		return result;
	return link < NVML_NVLINK_MAX_LINKS ? NVML_ERROR_NOT_SUPPORTED
					    : NVML_ERROR_INVALID_ARGUMENT;
}

#define NO_LINK(name, type)                                                  \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int link, type *out) \
	{                                                                    \
		return refuse_link(device, link, out);                       \
	}
NO_LINK(nvmlDeviceGetNvLinkState, nvmlEnableState_t)
NO_LINK(nvmlDeviceGetNvLinkVersion, unsigned int)
NO_LINK(nvmlDeviceGetNvLinkRemotePciInfo, nvmlPciInfo_t)
NO_LINK(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlPciInfo_t)
NO_LINK(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlIntNvLinkDeviceType_t)

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
					   nvmlNvLinkCapability_t capability,
					   unsigned int *capResult)
{
	(void)capability;
	return refuse_link(device, link, capResult);
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
					     nvmlNvLinkErrorCounter_t counter,
					     unsigned long long *counterValue)
{
	(void)counter;
	return refuse_link(device, link, counterValue);
}

/* What could be on a fabric (Hopper and later) says that it is on none; XLA asks them all. */
static nvmlReturn_t check_fabric(nvmlDevice_t device, const void *out)
{
	nvmlReturn_t result = sg_nvml_state_check(device, out);

	if (result == NVML_SUCCESS && sg_config_get()->profile.cc < 90)
		result = NVML_ERROR_NOT_SUPPORTED;
	return result;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *gpuFabricInfo)
{
	nvmlReturn_t result = check_fabric(device, gpuFabricInfo);

	if (result != NVML_SUCCESS)
		return result;
	memset(gpuFabricInfo, 0, sizeof(*gpuFabricInfo));
	gpuFabricInfo->state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *gpuFabricInfo)
{
	nvmlReturn_t result = check_fabric(device, gpuFabricInfo);
	unsigned int version, size;

	if (result != NVML_SUCCESS)
		return result;
	/* Its size is in the version: each is the one before it and more. */
	version = gpuFabricInfo->version;
	size = version & 0xffffff;
	if (version >> 24 < 2 || size < sizeof(nvmlGpuFabricInfo_v2_t) ||
	    size > sizeof(*gpuFabricInfo))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memset(gpuFabricInfo, 0, size);
	gpuFabricInfo->version = version;
	gpuFabricInfo->state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
	return NVML_SUCCESS;
}
