#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nvml_fixture.h"

static void test_everything_wants_initialisation_first(void **state)
{
	nvmlMemory_t memory;
	nvmlDevice_t device;
	unsigned int n = 0;
	char text[96];

	(void)state;
	assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetCount(&n), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetHandleByUUID("x", &device), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("0:1:0.0", &device),
			 NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetMemoryInfo(NULL, &memory), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetPowerUsage(NULL, &n), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(NULL, &n, NULL),
			 NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlSystemGetDriverVersion(text, sizeof(text)), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlSystemGetProcessName(1, text, sizeof(text)), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceClearEccErrorCounts(NULL, NVML_VOLATILE_ECC),
			 NVML_ERROR_UNINITIALIZED); /* not written */
}

static void test_versions_of_cuda_and_nvml_need_no_initialisation(void **state)
{
	char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE];
	int version = 0;

	(void)state;
	assert_int_equal(nvmlSystemGetCudaDriverVersion(&version), NVML_SUCCESS);
	assert_int_equal(version, 13000);
	version = 0;
	assert_int_equal(nvmlSystemGetCudaDriverVersion_v2(&version), NVML_SUCCESS);
	assert_int_equal(version, 13000);
	assert_int_equal(nvmlSystemGetNVMLVersion(text, sizeof(text)), NVML_SUCCESS);
	assert_string_equal(text, "13.580.65.06");
	assert_int_equal(nvmlSystemGetCudaDriverVersion(NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlSystemGetNVMLVersion(NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
}

static void test_initialisations_are_counted(void **state)
{
	unsigned int n;

	(void)state;
	assert_int_equal(nvmlInit(), NVML_SUCCESS);
	assert_int_equal(nvmlInit_v2(), NVML_SUCCESS);
	assert_int_equal(nvmlInitWithFlags(NVML_INIT_FLAG_NO_ATTACH), NVML_SUCCESS);
	assert_int_equal(nvmlShutdown(), NVML_SUCCESS);
	assert_int_equal(nvmlShutdown(), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_SUCCESS);
	assert_int_equal(nvmlShutdown(), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

static void test_errors_have_the_text_of_the_header(void **state)
{
	(void)state;
	assert_string_equal(nvmlErrorString(NVML_SUCCESS), "The operation was successful");
	assert_string_equal(nvmlErrorString(NVML_ERROR_NOT_FOUND),
			    "A query to find an object was unsuccessful");
	assert_string_equal(nvmlErrorString(NVML_ERROR_UNKNOWN),
			    "An internal driver error occurred");
	assert_non_null(nvmlErrorString((nvmlReturn_t)555));
}

static void test_driver_has_a_version_and_a_branch(void **state)
{
	nvmlSystemDriverBranchInfo_t branch = {.version = nvmlSystemDriverBranchInfo_v1};
	char text[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];

	(void)state;
	assert_int_equal(nvmlSystemGetDriverVersion(text, sizeof(text)), NVML_SUCCESS);
	assert_string_equal(text, "580.65.06");
	assert_int_equal(nvmlSystemGetDriverVersion(text, 10), NVML_SUCCESS);
	assert_int_equal(nvmlSystemGetDriverVersion(text, 9), NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(nvmlSystemGetDriverVersion(NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlSystemGetDriverBranch(&branch, 80), NVML_SUCCESS);
	assert_string_equal(branch.branch, "r580_00");
	branch.version = 0;
	assert_int_equal(nvmlSystemGetDriverBranch(&branch, 80),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	assert_int_equal(nvmlSystemGetDriverBranch(NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
}

static void test_all_devices_are_seen_whatever_cuda_may_see(void **state)
{
	unsigned int n = 0, index;
	nvmlDevice_t device;

	(void)state;
	assert_non_null(getenv("CUDA_VISIBLE_DEVICES"));
	assert_int_equal(nvmlDeviceGetCount(&n), NVML_SUCCESS);
	assert_int_equal(n, SG_NVML_FIXTURE_DEVICES);
	assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_SUCCESS);
	assert_int_equal(n, SG_NVML_FIXTURE_DEVICES);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(nvmlDeviceGetIndex(sg_nvml_fixture_get_device(i), &index),
				 NVML_SUCCESS);
		assert_int_equal(index, i);
		assert_int_equal(nvmlDeviceGetMinorNumber(sg_nvml_fixture_get_device(i), &index),
				 NVML_SUCCESS);
		assert_int_equal(index, i);
		assert_int_equal(nvmlDeviceGetHandleByIndex(i, &device), NVML_SUCCESS);
		assert_ptr_equal(device, sg_nvml_fixture_get_device(i));
	}
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(n, &device), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetCount_v2(NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static void test_handles_that_are_none_are_refused(void **state)
{
	nvmlDevice_t bad[4];
	unsigned int n = 0;
	nvmlMemory_t memory;

	(void)state;
	bad[0] = NULL;
	bad[1] = (nvmlDevice_t)(uintptr_t)1;
	bad[2] = (nvmlDevice_t)(void *)&n;
	/* The place of a fourth device, which this card does not have. */
	bad[3] = (nvmlDevice_t)(2 * (uintptr_t)sg_nvml_fixture_get_device(2) -
				(uintptr_t)sg_nvml_fixture_get_device(1));
	for (int i = 0; i < 4; i++) {
		assert_int_equal(nvmlDeviceGetMemoryInfo(bad[i], &memory),
				 NVML_ERROR_INVALID_ARGUMENT);
		assert_int_equal(nvmlDeviceGetIndex(bad[i], &n), NVML_ERROR_INVALID_ARGUMENT);
		assert_int_equal(nvmlDeviceGetPowerUsage(bad[i], &n), NVML_ERROR_INVALID_ARGUMENT);
		assert_int_equal(nvmlDeviceGetFanSpeed(bad[i], &n), NVML_ERROR_INVALID_ARGUMENT);
		assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(bad[i], &n, NULL),
				 NVML_ERROR_INVALID_ARGUMENT);
	}
	assert_int_equal(nvmlDeviceGetMemoryInfo(sg_nvml_fixture_get_device(0), NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetPowerUsage(sg_nvml_fixture_get_device(0), NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetFanSpeed(sg_nvml_fixture_get_device(0), NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
}

static void test_device_is_found_by_its_pci_bus_id(void **state)
{
	static const char *const good[] = {"00000000:02:00.0", "0000:02:00.0", "0:2:0", "02:00.0",
					   "0:2:0.0"};
	static const char *const bad[] = {"",         "2", "02:00", "x:02:00.0", "0000:02:00.0 ",
					  "0:2:0.0.0"};
	static const char *const other[] = {"0000:04:00.0", "0001:02:00.0", "0:2:1.0", "0:2:0.1",
					    "0:0:0.0"};
	nvmlDevice_t device;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		device = NULL;
		assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(good[i], &device), NVML_SUCCESS);
		assert_ptr_equal(device, sg_nvml_fixture_get_device(1));
		device = NULL;
		assert_int_equal(nvmlDeviceGetHandleByPciBusId(good[i], &device), NVML_SUCCESS);
		assert_ptr_equal(device, sg_nvml_fixture_get_device(1));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(bad[i], &device),
				 NVML_ERROR_INVALID_ARGUMENT);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(other[i], &device),
				 NVML_ERROR_NOT_FOUND);
	assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2(NULL, &device),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("0:1:0", NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
}

static void test_device_is_found_by_its_uuid(void **state)
{
	nvmlUUID_t uuid = {.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_ASCII};
	char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	nvmlDevice_t device = NULL;

	(void)state;
	assert_int_equal(nvmlDeviceGetUUID(sg_nvml_fixture_get_device(2), text, sizeof(text)),
			 NVML_SUCCESS);
	assert_string_equal(text, "GPU-736f6674-6770-7500-0000-000000000003");
	assert_int_equal(nvmlDeviceGetUUID(sg_nvml_fixture_get_device(2), text, 40),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(nvmlDeviceGetHandleByUUID(text, &device), NVML_SUCCESS);
	assert_ptr_equal(device, sg_nvml_fixture_get_device(2));
	assert_int_equal(
		nvmlDeviceGetHandleByUUID("GPU-736f6674-6770-7500-0000-000000000009", &device),
		NVML_ERROR_NOT_FOUND);
	assert_int_equal(nvmlDeviceGetHandleByUUID(NULL, &device), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetHandleByUUID("", &device), NVML_ERROR_INVALID_ARGUMENT);

	device = NULL;
	memcpy(uuid.value.str, text, sizeof(uuid.value.str));
	assert_int_equal(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_SUCCESS);
	assert_ptr_equal(device, sg_nvml_fixture_get_device(2));
	uuid.type = NVML_UUID_TYPE_BINARY;
	memcpy(uuid.value.bytes, "softgpu\0\0\0\0\0\0\0\0\2", 16);
	assert_int_equal(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_SUCCESS);
	assert_ptr_equal(device, sg_nvml_fixture_get_device(1));
	uuid.value.bytes[0] = 0;
	assert_int_equal(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_ERROR_NOT_FOUND);
	uuid.type = NVML_UUID_TYPE_NONE;
	assert_int_equal(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_ERROR_INVALID_ARGUMENT);
	uuid.version = 2;
	assert_int_equal(nvmlDeviceGetHandleByUUIDV(&uuid, &device),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

static void test_there_are_no_serial_numbers(void **state)
{
	char text[NVML_DEVICE_SERIAL_BUFFER_SIZE];
	nvmlDevice_t device;

	(void)state;
	assert_int_equal(nvmlDeviceGetSerial(sg_nvml_fixture_get_device(0), text, sizeof(text)),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetSerial(sg_nvml_fixture_get_device(0), NULL, 0),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetHandleBySerial("1", &device), NVML_ERROR_NOT_FOUND);
	assert_int_equal(nvmlDeviceGetHandleBySerial(NULL, &device), NVML_ERROR_INVALID_ARGUMENT);
}

static void test_pci_info_of_each_version_stays_in_its_structure(void **state)
{
	nvmlPciInfo_t pci;
	nvmlPciInfoExt_t ext = {.version = nvmlPciInfoExt_v1};

	(void)state;
	memset(&pci, 0x55, sizeof(pci));
	assert_int_equal(nvmlDeviceGetPciInfo_v3(sg_nvml_fixture_get_device(1), &pci),
			 NVML_SUCCESS);
	assert_string_equal(pci.busIdLegacy, "0000:02:00.0");
	assert_string_equal(pci.busId, "00000000:02:00.0");
	assert_int_equal(pci.domain, 0);
	assert_int_equal(pci.bus, 2);
	assert_int_equal(pci.device, 0);
	assert_int_equal(pci.pciSubSystemId, 0);

	memset(&pci, 0x55, sizeof(pci));
	assert_int_equal(nvmlDeviceGetPciInfo_v2(sg_nvml_fixture_get_device(1), &pci),
			 NVML_SUCCESS);
	assert_string_equal(pci.busIdLegacy, "0000:02:00.0");
	assert_int_equal(pci.pciSubSystemId, 0);
	assert_int_equal(pci.busId[0], 0x55);

	memset(&pci, 0x55, sizeof(pci));
	assert_int_equal(nvmlDeviceGetPciInfo(sg_nvml_fixture_get_device(1), &pci), NVML_SUCCESS);
	assert_string_equal(pci.busIdLegacy, "0000:02:00.0");
	assert_int_equal(pci.bus, 2);
	assert_int_equal(pci.pciSubSystemId, 0x55555555);

	assert_int_equal(nvmlDeviceGetPciInfoExt(sg_nvml_fixture_get_device(0), &ext),
			 NVML_SUCCESS);
	assert_string_equal(ext.busId, "00000000:01:00.0");
	assert_int_equal(ext.bus, 1);
	ext.version = 7;
	assert_int_equal(nvmlDeviceGetPciInfoExt(sg_nvml_fixture_get_device(0), &ext),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	assert_int_equal(nvmlDeviceGetPciInfo_v3(sg_nvml_fixture_get_device(0), NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetPciInfo(sg_nvml_fixture_get_device(0), NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
}

static void test_device_is_the_card_of_the_profile(void **state)
{
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlDeviceArchitecture_t architecture;
	nvmlBrandType_t brand;
	int major = 0, minor = 1;
	unsigned int n;

	(void)state;
	assert_int_equal(nvmlDeviceGetName(device, name, sizeof(name)), NVML_SUCCESS);
	assert_string_equal(name, "softgpu");
	assert_int_equal(nvmlDeviceGetName(device, name, 7), NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(nvmlDeviceGetName(device, NULL, 24), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetCudaComputeCapability(device, &major, &minor), NVML_SUCCESS);
	assert_int_equal(major, 9);
	assert_int_equal(minor, 0);
	assert_int_equal(nvmlDeviceGetCudaComputeCapability(device, &major, NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetArchitecture(device, &architecture), NVML_SUCCESS);
	assert_int_equal(architecture, NVML_DEVICE_ARCH_HOPPER);
	assert_int_equal(nvmlDeviceGetBrand(device, &brand), NVML_SUCCESS);
	assert_int_equal(brand, NVML_BRAND_NVIDIA);
	assert_int_equal(nvmlDeviceGetNumGpuCores(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 132 * 128);
	assert_int_equal(nvmlDeviceGetMemoryBusWidth(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 5120);
	assert_int_equal(nvmlDeviceGetCurrPcieLinkGeneration(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 5);
	assert_int_equal(nvmlDeviceGetMaxPcieLinkWidth(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 16);
	assert_int_equal(nvmlDeviceGetPcieSpeed(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 32000);
}

static void test_card_idles_at_its_highest_clocks(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlUtilization_t utilization = {.gpu = 7, .memory = 7};
	nvmlPstates_t pstate;
	unsigned int n, period;

	(void)state;
	assert_int_equal(nvmlDeviceGetUtilizationRates(device, &utilization), NVML_SUCCESS);
	assert_int_equal(utilization.gpu, 0);
	assert_int_equal(utilization.memory, 0);
	assert_int_equal(nvmlDeviceGetDecoderUtilization(device, &n, &period), NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(nvmlDeviceGetDecoderUtilization(device, &n, NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetPerformanceState(device, &pstate), NVML_SUCCESS);
	assert_int_equal(pstate, NVML_PSTATE_0);
	assert_int_equal(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &n), NVML_SUCCESS);
	assert_int_equal(n, 1980);
	assert_int_equal(nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_MEM, &n), NVML_SUCCESS);
	assert_int_equal(n, 2619);
	assert_int_equal(nvmlDeviceGetClockInfo(device, NVML_CLOCK_COUNT, &n),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetClock(device, NVML_CLOCK_SM, NVML_CLOCK_ID_CURRENT, &n),
			 NVML_SUCCESS);
	assert_int_equal(n, 1980);
	assert_int_equal(nvmlDeviceGetClock(device, NVML_CLOCK_SM, NVML_CLOCK_ID_COUNT, &n),
			 NVML_ERROR_INVALID_ARGUMENT);
}

static void test_supported_clocks_are_a_list_of_one(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	unsigned int n = 0, clocks[2];

	(void)state;
	assert_int_equal(nvmlDeviceGetSupportedMemoryClocks(device, &n, NULL),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(n, 1);
	n = 2;
	assert_int_equal(nvmlDeviceGetSupportedMemoryClocks(device, &n, clocks), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(clocks[0], 2619);
	assert_int_equal(nvmlDeviceGetSupportedGraphicsClocks(device, 2619, &n, clocks),
			 NVML_SUCCESS);
	assert_int_equal(clocks[0], 1980);
	assert_int_equal(nvmlDeviceGetSupportedGraphicsClocks(device, 1, &n, clocks),
			 NVML_ERROR_NOT_FOUND);
}

static void test_temperature_and_power_are_those_of_an_idle_card(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlTemperature_t temperature = {.version = nvmlTemperature_v1};
	unsigned int n, least, most;

	(void)state;
	assert_int_equal(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &n), NVML_SUCCESS);
	assert_in_range(n, 20, 60);
	assert_int_equal(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_COUNT, &n),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetTemperatureV(device, &temperature), NVML_SUCCESS);
	assert_int_equal(temperature.temperature, 35);
	temperature.version = 0;
	assert_int_equal(nvmlDeviceGetTemperatureV(device, &temperature),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	assert_int_equal(nvmlDeviceGetTemperatureThreshold(
				 device, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &most),
			 NVML_SUCCESS);
	assert_true(most > 60);
	assert_int_equal(nvmlDeviceGetTemperatureThreshold(
				 device, NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN, &most),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(
		nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_COUNT, &most),
		NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetPowerUsage(device, &n), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetPowerManagementLimitConstraints(device, &least, &most),
			 NVML_SUCCESS);
	assert_true(n < least && least < most);
}

static void test_energy_never_goes_down(void **state)
{
	nvmlFieldValue_t fields[2] = {
		{.fieldId = NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION},
		{.fieldId = NVML_FI_MAX},
	};
	unsigned long long before = 0;

	(void)state;
	assert_int_equal(
		nvmlDeviceGetTotalEnergyConsumption(sg_nvml_fixture_get_device(0), &before),
		NVML_SUCCESS);
	assert_true(before > 0);
	assert_int_equal(nvmlDeviceGetFieldValues(sg_nvml_fixture_get_device(0), 2, fields),
			 NVML_SUCCESS);
	assert_int_equal(fields[0].nvmlReturn, NVML_SUCCESS);
	assert_true(fields[0].value.ullVal >= before);
	assert_int_equal(fields[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetFieldValues(sg_nvml_fixture_get_device(0), 0, fields),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetFieldValues(sg_nvml_fixture_get_device(0), 1, NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
}

static void test_modes_are_the_usual_ones(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0), mig;
	nvmlEnableState_t mode, pending;
	nvmlComputeMode_t compute;
	unsigned int n, m;

	(void)state;
	assert_int_equal(nvmlDeviceGetComputeMode(device, &compute), NVML_SUCCESS);
	assert_int_equal(compute, NVML_COMPUTEMODE_DEFAULT);
	assert_int_equal(nvmlDeviceGetPersistenceMode(device, &mode), NVML_SUCCESS);
	assert_int_equal(mode, NVML_FEATURE_DISABLED);
	assert_int_equal(nvmlDeviceGetMigMode(device, &n, &m), NVML_SUCCESS);
	assert_int_equal(n, NVML_DEVICE_MIG_DISABLE);
	assert_int_equal(m, NVML_DEVICE_MIG_DISABLE);
	assert_int_equal(nvmlDeviceGetMigMode(device, &n, NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceIsMigDeviceHandle(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig),
			 NVML_ERROR_NOT_FOUND);
	assert_int_equal(nvmlDeviceGetEccMode(device, &mode, &pending), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetEccMode(device, &mode, NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetNumFans(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(nvmlDeviceGetFanSpeed(device, &n), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetFanSpeed_v2(device, 0, &n), NVML_ERROR_NOT_SUPPORTED);
}

static void test_devices_share_a_host_bridge_and_nothing_else(void **state)
{
	nvmlDevice_t first = sg_nvml_fixture_get_device(0), second = sg_nvml_fixture_get_device(1),
		     found[SG_NVML_FIXTURE_DEVICES];
	nvmlGpuTopologyLevel_t level;
	nvmlGpuP2PStatus_t status;
	nvmlEnableState_t active;
	nvmlPciInfo_t pci;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(nvmlDeviceGetTopologyCommonAncestor(first, second, &level), NVML_SUCCESS);
	assert_int_equal(level, NVML_TOPOLOGY_HOSTBRIDGE);
	assert_int_equal(nvmlDeviceGetTopologyCommonAncestor(first, NULL, &level),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(
		nvmlDeviceGetTopologyNearestGpus(first, NVML_TOPOLOGY_HOSTBRIDGE, &n, NULL),
		NVML_SUCCESS);
	assert_int_equal(n, SG_NVML_FIXTURE_DEVICES - 1);
	n = 1;
	assert_int_equal(
		nvmlDeviceGetTopologyNearestGpus(first, NVML_TOPOLOGY_HOSTBRIDGE, &n, found),
		NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_ptr_equal(found[0], second);
	n = SG_NVML_FIXTURE_DEVICES;
	assert_int_equal(nvmlSystemGetTopologyGpuSet(0, &n, found), NVML_SUCCESS);
	assert_int_equal(n, SG_NVML_FIXTURE_DEVICES);
	assert_int_equal(nvmlSystemGetTopologyGpuSet(1000000, &n, found),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetP2PStatus(first, second, NVML_P2P_CAPS_INDEX_READ, &status),
			 NVML_SUCCESS);
	assert_int_equal(status, NVML_P2P_STATUS_OK);
	assert_int_equal(nvmlDeviceGetP2PStatus(first, second, NVML_P2P_CAPS_INDEX_NVLINK, &status),
			 NVML_SUCCESS);
	assert_int_equal(status, NVML_P2P_STATUS_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetNvLinkState(first, 0, &active), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetNvLinkState(first, NVML_NVLINK_MAX_LINKS, &active),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetNvLinkRemotePciInfo_v2(first, 0, &pci),
			 NVML_ERROR_NOT_SUPPORTED);
}

/* XLA of 2025 ends the program if a Hopper does not answer. */
static void test_a_hopper_says_that_it_is_on_no_fabric(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlGpuFabricInfoV_t info = {.version = nvmlGpuFabricInfo_v2, .state = 77, .cliqueId = 7};
	nvmlGpuFabricInfo_t old = {.state = 77};

	(void)state;
	assert_int_equal(nvmlDeviceGetGpuFabricInfoV(device, &info), NVML_SUCCESS);
	assert_int_equal(info.version, nvmlGpuFabricInfo_v2);
	assert_int_equal(info.state, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
	assert_int_equal(info.cliqueId, 0);
	assert_int_equal(nvmlDeviceGetGpuFabricInfo(device, &old), NVML_SUCCESS);
	assert_int_equal(old.state, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
	info.version = 7;
	assert_int_equal(nvmlDeviceGetGpuFabricInfoV(device, &info),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	info.version = 2u << 24 | 0xffff;
	assert_int_equal(nvmlDeviceGetGpuFabricInfoV(device, &info),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	assert_int_equal(nvmlDeviceGetGpuFabricInfoV(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static void test_every_processor_is_near(void **state)
{
	unsigned long words[17];

	(void)state;
	memset(words, 0x55, sizeof(words));
	assert_int_equal(nvmlDeviceGetCpuAffinity(sg_nvml_fixture_get_device(0), 16, words),
			 NVML_SUCCESS);
	assert_true(words[0] & 1);
	assert_int_equal(words[16], 0x5555555555555555);
	assert_int_equal(nvmlDeviceGetCpuAffinity(sg_nvml_fixture_get_device(0), 0, words),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetMemoryAffinity(sg_nvml_fixture_get_device(0), 1, words, 7),
			 NVML_ERROR_INVALID_ARGUMENT);
}

/* Part "missing": two calls of one function, one of another. */
static int call_missing(void)
{
	if (nvmlInit_v2() != NVML_SUCCESS)
		return 1;
	for (int i = 0; i < 2; i++)
		if (nvmlDeviceClearAccountingPids(NULL) != NVML_ERROR_NOT_SUPPORTED)
			return 1;
	return nvmlDeviceResetGpuLockedClocks(NULL) != NVML_ERROR_NOT_SUPPORTED;
}

static void test_what_is_not_written_names_itself_once(void **state)
{
	char said[1000] = "";
	size_t length = 0;
	ssize_t n;
	int from;
	pid_t pid;

	(void)state;
	setenv("SOFTGPU_LOG", "missing", 1);
	pid = sg_nvml_fixture_start_part("missing", "", STDERR_FILENO, &from);
	unsetenv("SOFTGPU_LOG");
	while ((n = read(from, said + length, sizeof(said) - 1 - length)) > 0)
		length += (size_t)n;
	close(from);
	assert_int_equal(sg_nvml_fixture_wait(pid), 0);
	assert_string_equal(said, "softgpu: nvmlDeviceClearAccountingPids is not supported\n"
				  "softgpu: nvmlDeviceResetGpuLockedClocks is not supported\n");
}

/* Part "empty": a card without devices. */
static int use_empty_card(void)
{
	unsigned int n = 1;

	unsetenv("SOFTGPU_CARD");
	setenv("SOFTGPU_DEVICES", "0", 1);
	if (nvmlInit_v2() != NVML_ERROR_GPU_NOT_FOUND)
		return 1;
	if (nvmlDeviceGetCount_v2(&n) != NVML_ERROR_UNINITIALIZED)
		return 1;
	if (nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS) != NVML_SUCCESS)
		return 1;
	return nvmlDeviceGetCount_v2(&n) != NVML_SUCCESS || n != 0;
}

static void test_card_without_devices_wants_a_flag(void **state)
{
	int from;
	pid_t pid = sg_nvml_fixture_start_part("empty", "", STDOUT_FILENO, &from);

	(void)state;
	assert_int_equal(sg_nvml_fixture_wait(pid), 0);
	close(from);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_wants_initialisation_first),
		cmocka_unit_test(test_versions_of_cuda_and_nvml_need_no_initialisation),
		cmocka_unit_test(test_initialisations_are_counted),
		cmocka_unit_test(test_errors_have_the_text_of_the_header),
		SG_NVML_FIXTURE_TEST(test_driver_has_a_version_and_a_branch),
		SG_NVML_FIXTURE_TEST(test_all_devices_are_seen_whatever_cuda_may_see),
		SG_NVML_FIXTURE_TEST(test_handles_that_are_none_are_refused),
		SG_NVML_FIXTURE_TEST(test_device_is_found_by_its_pci_bus_id),
		SG_NVML_FIXTURE_TEST(test_device_is_found_by_its_uuid),
		SG_NVML_FIXTURE_TEST(test_there_are_no_serial_numbers),
		SG_NVML_FIXTURE_TEST(test_pci_info_of_each_version_stays_in_its_structure),
		SG_NVML_FIXTURE_TEST(test_device_is_the_card_of_the_profile),
		SG_NVML_FIXTURE_TEST(test_card_idles_at_its_highest_clocks),
		SG_NVML_FIXTURE_TEST(test_supported_clocks_are_a_list_of_one),
		SG_NVML_FIXTURE_TEST(test_temperature_and_power_are_those_of_an_idle_card),
		SG_NVML_FIXTURE_TEST(test_energy_never_goes_down),
		SG_NVML_FIXTURE_TEST(test_modes_are_the_usual_ones),
		SG_NVML_FIXTURE_TEST(test_devices_share_a_host_bridge_and_nothing_else),
		SG_NVML_FIXTURE_TEST(test_a_hopper_says_that_it_is_on_no_fabric),
		SG_NVML_FIXTURE_TEST(test_every_processor_is_near),
		cmocka_unit_test(test_what_is_not_written_names_itself_once),
		cmocka_unit_test(test_card_without_devices_wants_a_flag),
	};

	if (argc == 3 && !strcmp(argv[1], "missing"))
		return call_missing();
	if (argc == 3 && !strcmp(argv[1], "empty"))
		return use_empty_card();
	sg_nvml_fixture_set_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
