#include "config.h"
#include "nvml_state.h"

/*
 * Memory of all processes on the card, with what their contexts cost. The driver's own part is on
 * top of what CUDA can see. The first version counts it as used, the second apart; a MIG device has
 * none of it.
 */

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t result = sg_nvml_state_check_sums(device, memory);
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
	nvmlReturn_t result = sg_nvml_state_check_sums(device, memory);
	uint64_t total, used;

	if (result != NVML_SUCCESS)
		return result;
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	sg_card_get_usage(sg_nvml_state_get_card(), sg_nvml_state_get_index(device), &total, &used);
	memory->reserved =
		sg_nvml_state_is_mig_device(device) ? 0 : sg_config_get()->profile.reserved_size;
	memory->total = memory->reserved + total;
	memory->free = total - used;
	memory->used = used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory)
{
	nvmlReturn_t result = sg_nvml_state_check_sums(device, bar1Memory);
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
