#include "config.h"
#include "nvml_state.h"

/*
 * Partitions. Off, unless SOFTGPU_NVML says mig: then every device has one instance (7g) that takes
 * all of it. Instances cannot be made or destroyed.
 */
#define MAX_INSTANCES 7 /* the smallest ones that a device takes */
#define NR_SLICES     7

/* Whether cards of that kind can be partitioned at all. */
static bool is_capable(void)
{
	int cc = sg_config_get()->profile.cc;

	return cc == 80 || cc == 90 || cc >= 100;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode,
				  unsigned int *pendingMode)
{
	nvmlReturn_t result = sg_nvml_state_check(device, currentMode);
	unsigned int mode = NVML_DEVICE_MIG_DISABLE;

	if (result != NVML_SUCCESS)
		return result;
	if (!pendingMode)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (sg_nvml_state_is_mig_mode())
		mode = NVML_DEVICE_MIG_ENABLE;
	else if (!is_capable() || sg_nvml_state_is_wsl())
		return NVML_ERROR_NOT_SUPPORTED;
	*currentMode = mode;
	*pendingMode = mode;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *isMigDevice)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, isMigDevice);

	if (result == NVML_SUCCESS)
		*isMigDevice = sg_nvml_state_is_mig_device(device);
	return result;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	nvmlReturn_t result = sg_nvml_state_check(device, count);

	if (result == NVML_SUCCESS)
		*count = sg_nvml_state_is_mig_mode() ? MAX_INSTANCES : 0;
	return result;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
						 nvmlDevice_t *migDevice)
{
	nvmlReturn_t result = sg_nvml_state_check(device, migDevice);

	if (result != NVML_SUCCESS)
		return result;
	if (sg_nvml_state_is_mig_mode() && index >= MAX_INSTANCES)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!sg_nvml_state_is_mig_mode() || index)
		return NVML_ERROR_NOT_FOUND;
	*migDevice = sg_nvml_state_get_mig_device(sg_nvml_state_get_index(device));
	return NVML_SUCCESS;
}

/* The rest is asked of MIG devices only. */
static nvmlReturn_t check_mig(nvmlDevice_t device, const void *out)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, out);

	if (result != NVML_SUCCESS)
		return result;
	return sg_nvml_state_is_mig_device(device) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
							  nvmlDevice_t *device)
{
	nvmlReturn_t result = check_mig(migDevice, device);

	if (result == NVML_SUCCESS)
		*device = sg_nvml_state_get_device(sg_nvml_state_get_index(migDevice));
	return result;
}

/* The instance that takes the whole device has the first number. */
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	nvmlReturn_t result = check_mig(device, id);

	if (result == NVML_SUCCESS)
		*id = 0;
	return result;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	return nvmlDeviceGetGpuInstanceId(device, id);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	nvmlReturn_t result = check_mig(device, attributes);
	uint64_t total, used;

	if (result != NVML_SUCCESS)
		return result;
	sg_card_get_usage(sg_nvml_state_get_card(), sg_nvml_state_get_index(device), &total, &used);
	*attributes = (nvmlDeviceAttributes_t){
		.multiprocessorCount = (unsigned int)profile->nr_multiprocessors,
		.sharedCopyEngineCount = (unsigned int)profile->nr_copy_engines,
		.gpuInstanceSliceCount = NR_SLICES,
		.computeInstanceSliceCount = NR_SLICES,
		.memorySizeMB = total / SG_MIB,
	};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	return nvmlDeviceGetAttributes_v2(device, attributes);
}
