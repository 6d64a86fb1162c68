#include <string.h>

#include "config.h"
#include "nvml_state.h"

/* Error correction, of cards that have it. Nothing ever goes wrong: all counters are zero. */

static nvmlReturn_t check_ecc(nvmlDevice_t device, const void *out)
{
	nvmlReturn_t result = sg_nvml_state_check(device, out);

	if (result != NVML_SUCCESS)
		return result;
	return sg_config_get()->profile.has_ecc ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current,
				  nvmlEnableState_t *pending)
{
	nvmlReturn_t result = sg_nvml_state_check(device, current);

	if (result == NVML_SUCCESS)
		result = check_ecc(device, pending);
	if (result != NVML_SUCCESS)
		return result;
	*current = NVML_FEATURE_ENABLED;
	*pending = NVML_FEATURE_ENABLED;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t *defaultMode)
{
	nvmlReturn_t result = check_ecc(device, defaultMode);

	if (result == NVML_SUCCESS)
		*defaultMode = NVML_FEATURE_ENABLED;
	return result;
}

static bool is_counter(nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter)
{
	return (unsigned int)type < NVML_MEMORY_ERROR_TYPE_COUNT &&
	       (unsigned int)counter < NVML_ECC_COUNTER_TYPE_COUNT;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
					 nvmlEccCounterType_t counterType,
					 unsigned long long *eccCounts)
{
	nvmlReturn_t result = check_ecc(device, eccCounts);

	if (result != NVML_SUCCESS)
		return result;
	if (!is_counter(errorType, counterType))
		return NVML_ERROR_INVALID_ARGUMENT;
	*eccCounts = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
					    nvmlEccCounterType_t counterType,
					    nvmlEccErrorCounts_t *eccCounts)
{
	nvmlReturn_t result = check_ecc(device, eccCounts);

	if (result != NVML_SUCCESS)
		return result;
	if (!is_counter(errorType, counterType))
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(eccCounts, 0, sizeof(*eccCounts));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
					     nvmlEccCounterType_t counterType,
					     nvmlMemoryLocation_t locationType,
					     unsigned long long *count)
{
	nvmlReturn_t result = check_ecc(device, count);

	if (result != NVML_SUCCESS)
		return result;
	if (!is_counter(errorType, counterType) ||
	    (unsigned int)locationType >= NVML_MEMORY_LOCATION_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
					  unsigned int *pageCount, unsigned long long *addresses,
					  unsigned long long *timestamps)
{
	nvmlReturn_t result = check_ecc(device, pageCount);

	if (result != NVML_SUCCESS)
		return result;
	if ((unsigned int)cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT ||
	    (*pageCount && (!addresses || !timestamps)))
		return NVML_ERROR_INVALID_ARGUMENT;
	*pageCount = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
				       unsigned int *pageCount, unsigned long long *addresses)
{
	return nvmlDeviceGetRetiredPages_v2(device, cause, pageCount, addresses, addresses);
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
						    nvmlEnableState_t *isPending)
{
	nvmlReturn_t result = check_ecc(device, isPending);

	if (result == NVML_SUCCESS)
		*isPending = NVML_FEATURE_DISABLED;
	return result;
}
