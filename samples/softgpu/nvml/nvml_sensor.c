#include <string.h>
#include <time.h>

#include "config.h"
#include "nvml_state.h"

/* Clocks, power, temperature, modes: an idle card at its highest clocks, with no fan. */

#define TEMPERATURE 35 /* degrees C */
#define LINK_WIDTH  16
#define SAMPLE_US   167000

/*
 * One row per question that has one answer. GETTER(function, type of the answer, answer) and, for
 * what such a card does not have, LACKING(function, type of the answer): the arguments are checked
 * all the same.
 */
#define GETTER(name, type, value)                                       \
	nvmlReturn_t name(nvmlDevice_t device, type *out)               \
	{                                                               \
		nvmlReturn_t result = sg_nvml_state_check(device, out); \
                                                                        \
		if (result == NVML_SUCCESS)                             \
			*out = (value);                                 \
		return result;                                          \
	}
#define LACKING(name, type)                                                        \
	nvmlReturn_t name(nvmlDevice_t device, type *out)                          \
	{                                                                          \
		nvmlReturn_t result = sg_nvml_state_check(device, out);            \
                                                                                   \
		return result == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : result; \
	}

static unsigned int get_link_generation(void)
{
	return (unsigned int)sg_config_get()->profile.pcie_generation;
}

/* Milliwatts: the default limit, which is also the highest and the enforced one. */
static unsigned int get_power_limit(void)
{
	return (unsigned int)sg_config_get()->profile.power_limit * 1000;
}

static nvmlBrandType_t get_brand(void)
{
	const char *name = sg_config_get()->profile.name;

	return strstr(name, "GeForce") ? NVML_BRAND_GEFORCE
	       : strstr(name, "Tesla") ? NVML_BRAND_TESLA
				       : NVML_BRAND_NVIDIA;
}

/* What an idle card draws. */
static unsigned int get_power(void)
{
	return get_power_limit() / 5;
}

/* Millijoules since the machine was started, at a constant draw. */
static unsigned long long get_energy(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000) *
	       get_power() / 1000;
}

GETTER(nvmlDeviceGetBrand, nvmlBrandType_t, get_brand())
GETTER(nvmlDeviceGetBusType, nvmlBusType_t, NVML_BUS_TYPE_PCIE)
GETTER(nvmlDeviceGetModuleId, unsigned int, 0)
GETTER(nvmlDeviceGetMultiGpuBoard, unsigned int, 0)
GETTER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t,
       NVML_GPU_VIRTUALIZATION_MODE_NONE)

GETTER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, NVML_COMPUTEMODE_DEFAULT)
GETTER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
GETTER(nvmlDeviceGetAccountingMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
GETTER(nvmlDeviceGetDisplayMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
GETTER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, NVML_FEATURE_DISABLED)
GETTER(nvmlDeviceGetPerformanceState, nvmlPstates_t, NVML_PSTATE_0)
GETTER(nvmlDeviceGetPowerState, nvmlPstates_t, NVML_PSTATE_0)
GETTER(nvmlDeviceGetSupportedEventTypes, unsigned long long, 0)
GETTER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, nvmlClocksEventReasonGpuIdle)
GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, nvmlClocksEventReasonGpuIdle)
GETTER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, nvmlClocksEventReasonGpuIdle)
GETTER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long,
       nvmlClocksEventReasonGpuIdle)

GETTER(nvmlDeviceGetPowerUsage, unsigned int, get_power())
GETTER(nvmlDeviceGetPowerManagementLimit, unsigned int, get_power_limit())
GETTER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, get_power_limit())
GETTER(nvmlDeviceGetEnforcedPowerLimit, unsigned int, get_power_limit())
GETTER(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, NVML_FEATURE_ENABLED)
GETTER(nvmlDeviceGetPowerSource, nvmlPowerSource_t, NVML_POWER_SOURCE_AC)
GETTER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, get_energy())

GETTER(nvmlDeviceGetMemoryBusWidth, unsigned int, (unsigned int)sg_config_get()->profile.bus_width)
GETTER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, get_link_generation())
GETTER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int, get_link_generation())
GETTER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, get_link_generation())
GETTER(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, LINK_WIDTH)
GETTER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, LINK_WIDTH)
/* NVML_PCIE_LINK_MAX_SPEED_* count as the generations do. */
GETTER(nvmlDeviceGetPcieLinkMaxSpeed, unsigned int, get_link_generation())
GETTER(nvmlDeviceGetPcieSpeed, unsigned int, 1000U << get_link_generation()) /* Mbit/s per lane */
GETTER(nvmlDeviceGetPcieReplayCounter, unsigned int, 0)

GETTER(nvmlDeviceGetNumFans, unsigned int, 0)
LACKING(nvmlDeviceGetFanSpeed, unsigned int)
LACKING(nvmlDeviceGetFanSpeedRPM, nvmlFanSpeedInfo_t)
LACKING(nvmlDeviceGetIrqNum, unsigned int)
LACKING(nvmlDeviceGetNumaNodeId, unsigned int)

/* Serial and part numbers, and the version of an infoROM that is not there. */
#define LACKING_TEXT(name)                                                         \
	nvmlReturn_t name(nvmlDevice_t device, char *out, unsigned int length)     \
	{                                                                          \
		nvmlReturn_t result = sg_nvml_state_check(device, out);            \
                                                                                   \
		(void)length;                                                      \
		return result == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : result; \
	}
LACKING_TEXT(nvmlDeviceGetSerial)
LACKING_TEXT(nvmlDeviceGetBoardPartNumber)
LACKING_TEXT(nvmlDeviceGetInforomImageVersion)

/* Work that nobody does, and how long it was looked for. */
#define IDLE(name)                                                              \
	nvmlReturn_t name(nvmlDevice_t device, unsigned int *utilization,       \
			  unsigned int *samplingPeriodUs)                       \
	{                                                                       \
		nvmlReturn_t result = sg_nvml_state_check(device, utilization); \
                                                                                \
		if (result == NVML_SUCCESS && !samplingPeriodUs)                \
			result = NVML_ERROR_INVALID_ARGUMENT;                   \
		if (result == NVML_SUCCESS && sg_nvml_state_is_mig_mode())      \
			result = NVML_ERROR_NOT_SUPPORTED;                      \
		if (result == NVML_SUCCESS) {                                   \
			*utilization = 0;                                       \
			*samplingPeriodUs = SAMPLE_US;                          \
		}                                                               \
		return result;                                                  \
	}
IDLE(nvmlDeviceGetEncoderUtilization)
IDLE(nvmlDeviceGetDecoderUtilization)
IDLE(nvmlDeviceGetJpgUtilization)
IDLE(nvmlDeviceGetOfaUtilization)

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	nvmlReturn_t result = sg_nvml_state_check_any(device, utilization);

	if (result != NVML_SUCCESS)
		return result;
	if (sg_nvml_state_is_mig_mode())
		return NVML_ERROR_NOT_SUPPORTED;
	*utilization = (nvmlUtilization_t){.gpu = 0, .memory = 0};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan, unsigned int *speed)
{
	(void)fan;
	return nvmlDeviceGetFanSpeed(device, speed);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType,
				      unsigned int *temp)
{
	nvmlReturn_t result = sg_nvml_state_check(device, temp);

	if (result != NVML_SUCCESS)
		return result;
	if (sensorType != NVML_TEMPERATURE_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	*temp = TEMPERATURE;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
	nvmlReturn_t result = sg_nvml_state_check(device, temperature);

	if (result != NVML_SUCCESS)
		return result;
	if (temperature->version != nvmlTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (temperature->sensorType != NVML_TEMPERATURE_GPU)
		return NVML_ERROR_INVALID_ARGUMENT;
	temperature->temperature = TEMPERATURE;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
					       nvmlTemperatureThresholds_t thresholdType,
					       unsigned int *temp)
{
	static const unsigned int thresholds[] = {
		[NVML_TEMPERATURE_THRESHOLD_SHUTDOWN] = 95,
		[NVML_TEMPERATURE_THRESHOLD_SLOWDOWN] = 92,
		[NVML_TEMPERATURE_THRESHOLD_MEM_MAX] = 95,
		[NVML_TEMPERATURE_THRESHOLD_GPU_MAX] = 87,
	};
	nvmlReturn_t result = sg_nvml_state_check(device, temp);

	if (result != NVML_SUCCESS)
		return result;
	if ((unsigned int)thresholdType >= NVML_TEMPERATURE_THRESHOLD_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	/* The others are about noise. */
	if (thresholdType >= sizeof(thresholds) / sizeof(thresholds[0]))
		return NVML_ERROR_NOT_SUPPORTED;
	*temp = thresholds[thresholdType];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
							  unsigned int *minLimit,
							  unsigned int *maxLimit)
{
	nvmlReturn_t result = sg_nvml_state_check(device, minLimit);

	if (result != NVML_SUCCESS)
		return result;
	if (!maxLimit)
		return NVML_ERROR_INVALID_ARGUMENT;
	*minLimit = get_power_limit() / 2;
	*maxLimit = get_power_limit();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
					 unsigned int *value)
{
	nvmlReturn_t result = sg_nvml_state_check(device, value);

	if (result != NVML_SUCCESS)
		return result;
	if ((unsigned int)counter >= NVML_PCIE_UTIL_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	*value = 0;
	return NVML_SUCCESS;
}

/* Now, at most, and by whatever name: the clocks of a profile do not change. */
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
	const struct sg_profile *profile = &sg_config_get()->profile;
	nvmlReturn_t result = sg_nvml_state_check(device, clock);

	if (result != NVML_SUCCESS)
		return result;
	switch (type) {
	case NVML_CLOCK_GRAPHICS:
	case NVML_CLOCK_SM:
	case NVML_CLOCK_VIDEO:
		*clock = (unsigned int)profile->clock_khz / 1000;
		return NVML_SUCCESS;
	case NVML_CLOCK_MEM:
		*clock = (unsigned int)profile->memory_clock_khz / 1000;
		return NVML_SUCCESS;
	default:
		return NVML_ERROR_INVALID_ARGUMENT;
	}
}

#define SAME_CLOCK(name)                                                                  \
	nvmlReturn_t name(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock) \
	{                                                                                 \
		return nvmlDeviceGetClockInfo(device, type, clock);                       \
	}
SAME_CLOCK(nvmlDeviceGetMaxClockInfo)
SAME_CLOCK(nvmlDeviceGetApplicationsClock)
SAME_CLOCK(nvmlDeviceGetDefaultApplicationsClock)
SAME_CLOCK(nvmlDeviceGetMaxCustomerBoostClock)

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t clockType,
				nvmlClockId_t clockId, unsigned int *clockMHz)
{
	nvmlReturn_t result = sg_nvml_state_check(device, clockMHz);

	if (result != NVML_SUCCESS)
		return result;
	if ((unsigned int)clockId >= NVML_CLOCK_ID_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	return nvmlDeviceGetClockInfo(device, clockType, clockMHz);
}

/* A list of one. */
static nvmlReturn_t put_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *count,
			      unsigned int *clocks)
{
	unsigned int room = *count;

	*count = 1;
	if (!room || !clocks)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	return nvmlDeviceGetClockInfo(device, type, clocks);
}

nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count,
						unsigned int *clocksMHz)
{
	nvmlReturn_t result = sg_nvml_state_check(device, count);

	if (result != NVML_SUCCESS)
		return result;
	return put_clock(device, NVML_CLOCK_MEM, count, clocksMHz);
}

nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memoryClockMHz,
						  unsigned int *count, unsigned int *clocksMHz)
{
	nvmlReturn_t result = sg_nvml_state_check(device, count);
	unsigned int memory_clock;

	if (result == NVML_SUCCESS)
		result = nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &memory_clock);
	if (result != NVML_SUCCESS)
		return result;
	if (memoryClockMHz != memory_clock)
		return NVML_ERROR_NOT_FOUND;
	return put_clock(device, NVML_CLOCK_GRAPHICS, count, clocksMHz);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount,
				      nvmlFieldValue_t *values)
{
	nvmlReturn_t result = sg_nvml_state_check(device, values);
	struct timespec now;

	if (result != NVML_SUCCESS)
		return result;
	if (valuesCount <= 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	clock_gettime(CLOCK_REALTIME, &now);
	for (int i = 0; i < valuesCount; i++) {
		nvmlFieldValue_t *value = &values[i];

		value->timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
		value->latencyUsec = 0;
		value->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
		value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
		if (value->fieldId == NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION) {
			value->value.ullVal = get_energy();
			value->nvmlReturn = NVML_SUCCESS;
		}
	}
	return NVML_SUCCESS;
}
