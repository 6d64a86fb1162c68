/* NVML of a card that one can buy: what differs from the card of the other tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nvml_fixture.h"

static void test_total_is_that_of_nvidia_smi(void **state)
{
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
	nvmlMemory_t first;

	(void)state;
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(sg_nvml_fixture_get_device(0), &second),
			 NVML_SUCCESS);
	assert_int_equal(second.total, 24564 * SG_MIB);
	assert_int_equal(second.reserved, 484 * SG_MIB);
	assert_int_equal(second.used, 0);
	assert_int_equal(second.free, 24080 * SG_MIB);
	/* The first version has no word for what is reserved: it is used. */
	assert_int_equal(nvmlDeviceGetMemoryInfo(sg_nvml_fixture_get_device(0), &first),
			 NVML_SUCCESS);
	assert_int_equal(first.total, second.total);
	assert_int_equal(first.used, 484 * SG_MIB);
	assert_int_equal(first.free, second.free);
}

static void test_identity_is_the_card_s(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlDeviceArchitecture_t architecture;
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	nvmlBrandType_t brand;
	nvmlPciInfo_t pci;
	int major, minor;
	unsigned int n;

	(void)state;
	assert_int_equal(nvmlDeviceGetName(device, name, sizeof(name)), NVML_SUCCESS);
	assert_string_equal(name, "NVIDIA GeForce RTX 4090");
	assert_int_equal(nvmlDeviceGetBrand(device, &brand), NVML_SUCCESS);
	assert_int_equal(brand, NVML_BRAND_GEFORCE);
	assert_int_equal(nvmlDeviceGetCudaComputeCapability(device, &major, &minor), NVML_SUCCESS);
	assert_int_equal(10 * major + minor, 89);
	assert_int_equal(nvmlDeviceGetArchitecture(device, &architecture), NVML_SUCCESS);
	assert_int_equal(architecture, NVML_DEVICE_ARCH_ADA);
	assert_int_equal(nvmlDeviceGetNumGpuCores(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 16384);
	assert_int_equal(nvmlDeviceGetPciInfo_v3(device, &pci), NVML_SUCCESS);
	assert_int_equal(pci.pciDeviceId, 0x268410de);
}

static void test_what_is_no_hopper_knows_no_fabric(void **state)
{
	nvmlGpuFabricInfoV_t info = {.version = nvmlGpuFabricInfo_v2};

	(void)state;
	assert_int_equal(nvmlDeviceGetGpuFabricInfoV(sg_nvml_fixture_get_device(0), &info),
			 NVML_ERROR_NOT_SUPPORTED);
}

static void test_sensors_are_the_card_s(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlEnableState_t current, pending;
	unsigned int n, m;

	(void)state;
	assert_int_equal(nvmlDeviceGetEnforcedPowerLimit(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 450000);
	assert_int_equal(nvmlDeviceGetPowerUsage(device, &m), NVML_SUCCESS);
	assert_in_range(m, 1000, n);
	assert_int_equal(nvmlDeviceGetMaxPcieLinkGeneration(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 4);
	assert_int_equal(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &n), NVML_SUCCESS);
	assert_int_equal(n, 2520);
	assert_int_equal(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &n), NVML_SUCCESS);
	assert_int_equal(n, 10501);
	assert_int_equal(nvmlDeviceGetMemoryBusWidth(device, &n), NVML_SUCCESS);
	assert_int_equal(n, 384);
	assert_int_equal(nvmlDeviceGetEccMode(device, &current, &pending), NVML_SUCCESS);
	assert_int_equal(current, NVML_FEATURE_ENABLED); /* SOFTGPU_ECC */
	assert_int_equal(nvmlDeviceGetDefaultEccMode(device, &current), NVML_SUCCESS);
	assert_int_equal(nvmlDeviceGetMigMode(device, &n, &m), NVML_ERROR_NOT_SUPPORTED);
}

static void test_error_counters_are_zero(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlEccErrorCounts_t counts;
	unsigned long long total = 7, pages[1];
	nvmlEnableState_t pending;
	unsigned int n = 1;

	(void)state;
	assert_int_equal(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
						     NVML_VOLATILE_ECC, &total),
			 NVML_SUCCESS);
	assert_int_equal(total, 0);
	assert_int_equal(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_COUNT,
						     NVML_VOLATILE_ECC, &total),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetDetailedEccErrors(device, NVML_MEMORY_ERROR_TYPE_CORRECTED,
							NVML_AGGREGATE_ECC, &counts),
			 NVML_SUCCESS);
	assert_int_equal(counts.deviceMemory, 0);
	total = 7;
	assert_int_equal(nvmlDeviceGetMemoryErrorCounter(device, NVML_MEMORY_ERROR_TYPE_CORRECTED,
							 NVML_AGGREGATE_ECC,
							 NVML_MEMORY_LOCATION_L2_CACHE, &total),
			 NVML_SUCCESS);
	assert_int_equal(total, 0);
	assert_int_equal(nvmlDeviceGetRetiredPages(device,
						   NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
						   &n, pages),
			 NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(nvmlDeviceGetRetiredPagesPendingStatus(device, &pending), NVML_SUCCESS);
	assert_int_equal(pending, NVML_FEATURE_DISABLED);
}

static void test_versions_follow_the_driver_s(void **state)
{
	char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE];
	int version;

	(void)state;
	assert_int_equal(nvmlSystemGetCudaDriverVersion_v2(&version), NVML_SUCCESS);
	assert_int_equal(version, 12010);
	assert_int_equal(nvmlSystemGetDriverVersion(text, sizeof(text)), NVML_SUCCESS);
	assert_string_equal(text, "530.30.02");
	assert_int_equal(nvmlSystemGetNVMLVersion(text, sizeof(text)), NVML_SUCCESS);
	assert_string_equal(text, "12.530.30.02");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SG_NVML_FIXTURE_TEST(test_total_is_that_of_nvidia_smi),
		SG_NVML_FIXTURE_TEST(test_identity_is_the_card_s),
		SG_NVML_FIXTURE_TEST(test_what_is_no_hopper_knows_no_fabric),
		SG_NVML_FIXTURE_TEST(test_sensors_are_the_card_s),
		SG_NVML_FIXTURE_TEST(test_error_counters_are_zero),
		SG_NVML_FIXTURE_TEST(test_versions_follow_the_driver_s),
	};

	sg_nvml_fixture_set_environment();
	unsetenv("SOFTGPU_MEMORY");
	setenv("SOFTGPU_PROFILE", "rtx4090", 1);
	setenv("SOFTGPU_ECC", "1", 1);
	setenv("SOFTGPU_DRIVER_VERSION", "12010", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
