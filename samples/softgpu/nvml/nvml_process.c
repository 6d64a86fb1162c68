#include "nvml_state.h"

/*
 * Who holds memory of a device: all processes on the card, with what their contexts cost.
 *
 *   container   the numbers of processes are those outside of it, where they mean something
 *   MIG         processes are known of MIG devices; of the whole device to the privileged alone
 *   WSL         Windows manages the memory, so nobody knows how much a process has
 */

/* More than a card takes. */
#define MAX_PROCESSES 1024

/* Beyond the highest number that Linux gives to a process: nobody here has such a one. */
#define FOREIGN_PID (1u << 22)

#define NO_INSTANCE 0xffffffff

static unsigned int get_pid(const struct sg_card_process *process)
{
	return (unsigned int)process->pid + (sg_nvml_state_is_container() ? FOREIGN_PID : 0);
}

static unsigned long long get_size(const struct sg_card_process *process)
{
	return sg_nvml_state_is_wsl() ? (unsigned long long)NVML_VALUE_NOT_AVAILABLE
				      : process->size;
}

/* The first instance, or none. */
static unsigned int get_instance(nvmlDevice_t device)
{
	return sg_nvml_state_is_mig_device(device) ? 0 : NO_INSTANCE;
}

/*
 * The processes of a device, if the caller has room for them. *count: room there is, then how many
 * there are, also when there was too little room.
 */
static nvmlReturn_t list_processes(nvmlDevice_t device, unsigned int *count, const void *infos,
				   struct sg_card_process *found)
{
	nvmlReturn_t result = sg_nvml_state_check_sums(device, count);
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
			.pid = get_pid(&found[i]),
			.usedGpuMemory = get_size(&found[i]),
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
			.pid = get_pid(&found[i]),
			.usedGpuMemory = get_size(&found[i]),
			.gpuInstanceId = get_instance(device),
			.computeInstanceId = get_instance(device),
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
	nvmlReturn_t result = sg_nvml_state_check_sums(device, count);

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
	nvmlReturn_t result = sg_nvml_state_check_any(device, plist);

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
			.pid = get_pid(&found[i]),
			.usedGpuMemory = get_size(&found[i]),
			.gpuInstanceId = get_instance(device),
			.computeInstanceId = get_instance(device),
		};
	return NVML_SUCCESS;
}

static bool has_samples(void)
{
	return !sg_nvml_state_is_mig_mode() && !sg_nvml_state_is_wsl();
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
	if (!has_samples())
		return NVML_ERROR_NOT_SUPPORTED;
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
	if (!has_samples())
		return NVML_ERROR_NOT_SUPPORTED;
	procesesUtilInfo->processSamplesCount = 0;
	return NVML_ERROR_NOT_FOUND;
}
