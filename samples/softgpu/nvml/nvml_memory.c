#include "config.h"
#include "nvml_state.h"

/*
 * Memory, and who holds it: all processes on the card, with what their contexts cost. The driver's
 * own part is on top of what CUDA can see. The first version counts it as used, the second apart.
 */

/* More than a card takes. */
#define MAX_PROCESSES 1024

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t result = sg_nvml_state_check(device, memory);
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};

	if (result != NVML_SUCCESS)
		return result;
	result = nvmlDeviceGetMemoryInfo_v2(device, &second);
	if (result != NVML_SUCCESS)
		return result;
	*memory = (nvmlMemory_t){
		.total = second.total,
		.used = second.reserved + second.used,
		.free = second.free,
	};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	nvmlReturn_t result = sg_nvml_state_check(device, memory);
	uint64_t total, used;

	if (result != NVML_SUCCESS)
		return result;
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	sg_card_get_usage(sg_nvml_state_get_card(), sg_nvml_state_get_index(device), &total, &used);
	memory->reserved = sg_config_get()->profile.reserved_size;
	memory->total = memory->reserved + total;
	memory->free = total - used;
	memory->used = used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory)
{
	nvmlReturn_t result = sg_nvml_state_check(device, bar1Memory);
	uint64_t total, used, window = 256 * SG_MIB;

	if (result != NVML_SUCCESS)
		return result;
	/* A window onto all of the memory; its size is a power of two. */
	sg_card_get_usage(sg_nvml_state_get_card(), sg_nvml_state_get_index(device), &total, &used);
	while (window < total)
		window *= 2;
	*bar1Memory = (nvmlBAR1Memory_t){.bar1Total = window, .bar1Free = window, .bar1Used = 0};
	return NVML_SUCCESS;
}

/*
 * The processes of a device, if the caller has room for them. *count: room there is, then how many
 * there are, also when there was too little room.
 */
static nvmlReturn_t list_processes(nvmlDevice_t device, unsigned int *count, const void *infos,
				   struct sg_card_process *found)
{
	nvmlReturn_t result = sg_nvml_state_check(device, count);
	unsigned int room;

	if (result != NVML_SUCCESS)
		return result;
	room = *count;
	if (room && !infos)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = sg_card_get_processes(sg_nvml_state_get_card(), sg_nvml_state_get_index(device),
				       found, MAX_PROCESSES);
	if (*count > MAX_PROCESSES)
		*count = MAX_PROCESSES;
	return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
						  nvmlProcessInfo_v1_t *infos)
{
	struct sg_card_process found[MAX_PROCESSES];
	nvmlReturn_t result = list_processes(device, infoCount, infos, found);

	if (result != NVML_SUCCESS)
		return result;
	for (unsigned int i = 0; i < *infoCount; i++)
		infos[i] = (nvmlProcessInfo_v1_t){
			.pid = (unsigned int)found[i].pid,
			.usedGpuMemory = found[i].size,
		};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *infoCount,
						     nvmlProcessInfo_v2_t *infos)
{
	struct sg_card_process found[MAX_PROCESSES];
	nvmlReturn_t result = list_processes(device, infoCount, infos, found);

	if (result != NVML_SUCCESS)
		return result;
	for (unsigned int i = 0; i < *infoCount; i++)
		infos[i] = (nvmlProcessInfo_v2_t){
			.pid = (unsigned int)found[i].pid,
			.usedGpuMemory = found[i].size,
			.gpuInstanceId = 0xffffffff, /* no MIG */
			.computeInstanceId = 0xffffffff,
		};
	return NVML_SUCCESS;
}

/* The third version differs in what it means under MIG, not in its structure. */
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
						     nvmlProcessInfo_t *infos)
{
	return nvmlDeviceGetComputeRunningProcesses_v2(device, infoCount, infos);
}

static nvmlReturn_t list_none(nvmlDevice_t device, unsigned int *count, const void *infos)
{
	nvmlReturn_t result = sg_nvml_state_check(device, count);

	if (result != NVML_SUCCESS)
		return result;
	if (*count && !infos)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

/* Nobody draws, and there is no MPS server: every process is one of compute. */
#define NO_PROCESSES(name, type)                                                     \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int *infoCount, type *infos) \
	{                                                                            \
		return list_none(device, infoCount, infos);                          \
	}
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t)

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
						   nvmlProcessDetailList_t *plist)
{
	enum {
		COMPUTE = 0,
		GRAPHICS = 1,
		MPS = 2
	};
	struct sg_card_process found[MAX_PROCESSES];
	nvmlReturn_t result = sg_nvml_state_check(device, plist);

	if (result != NVML_SUCCESS)
		return result;
	if (plist->version != nvmlProcessDetailList_v1 || plist->mode > MPS)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (plist->mode != COMPUTE)
		return list_none(device, &plist->numProcArrayEntries, plist->procArray);
	result = list_processes(device, &plist->numProcArrayEntries, plist->procArray, found);
	if (result != NVML_SUCCESS)
		return result;
	for (unsigned int i = 0; i < plist->numProcArrayEntries; i++)
		plist->procArray[i] = (nvmlProcessDetail_v1_t){
			.pid = (unsigned int)found[i].pid,
			.usedGpuMemory = found[i].size,
			.gpuInstanceId = 0xffffffff,
			.computeInstanceId = 0xffffffff,
		};
	return NVML_SUCCESS;
}

/* Kernels do not run, so there are no samples of them. */
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
					     nvmlProcessUtilizationSample_t *utilization,
					     unsigned int *processSamplesCount,
					     unsigned long long lastSeenTimeStamp)
{
	nvmlReturn_t result = sg_nvml_state_check(device, processSamplesCount);

	(void)utilization;
	(void)lastSeenTimeStamp;
	if (result != NVML_SUCCESS)
		return result;
	*processSamplesCount = 0;
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
						   nvmlProcessesUtilizationInfo_t *procesesUtilInfo)
{
	nvmlReturn_t result = sg_nvml_state_check(device, procesesUtilInfo);

	if (result != NVML_SUCCESS)
		return result;
	if (procesesUtilInfo->version != nvmlProcessesUtilizationInfo_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	procesesUtilInfo->processSamplesCount = 0;
	return NVML_ERROR_NOT_FOUND;
}
