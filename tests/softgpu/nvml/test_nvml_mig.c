/* NVML of partitioned devices, to a caller without privileges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "card.h"
#include "nvml_fixture.h"

static nvmlDevice_t get_mig(unsigned int index)
{
	nvmlDevice_t mig = NULL;

	assert_int_equal(
		nvmlDeviceGetMigDeviceHandleByIndex(sg_nvml_fixture_get_device(index), 0, &mig),
		NVML_SUCCESS);
	return mig;
}

static void test_every_device_is_partitioned(void **state)
{
	unsigned int n, m;

	(void)state;
	assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_SUCCESS);
	assert_int_equal(n, SG_NVML_FIXTURE_DEVICES); /* partitions do not count */
	for (unsigned int i = 0; i < SG_NVML_FIXTURE_DEVICES; i++) {
		nvmlDevice_t device = sg_nvml_fixture_get_device(i), mig;

		assert_int_equal(nvmlDeviceGetMigMode(device, &n, &m), NVML_SUCCESS);
		assert_int_equal(n, NVML_DEVICE_MIG_ENABLE);
		assert_int_equal(m, NVML_DEVICE_MIG_ENABLE);
		assert_int_equal(nvmlDeviceGetMaxMigDeviceCount(device, &n), NVML_SUCCESS);
		assert_int_equal(n, 7);
		for (unsigned int k = 1; k < 7; k++)
			assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(device, k, &mig),
					 NVML_ERROR_NOT_FOUND);
		assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(device, 7, &mig),
				 NVML_ERROR_INVALID_ARGUMENT);
	}
}

static void test_partition_and_device_know_each_other(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < SG_NVML_FIXTURE_DEVICES; i++) {
		nvmlDevice_t device = sg_nvml_fixture_get_device(i), mig = get_mig(i), parent;
		unsigned int is_mig;

		assert_int_equal(nvmlDeviceIsMigDeviceHandle(device, &is_mig), NVML_SUCCESS);
		assert_int_equal(is_mig, 0);
		assert_int_equal(nvmlDeviceIsMigDeviceHandle(mig, &is_mig), NVML_SUCCESS);
		assert_int_equal(is_mig, 1);
		assert_int_equal(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent),
				 NVML_SUCCESS);
		assert_ptr_equal(parent, device);
		assert_int_equal(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, &parent),
				 NVML_ERROR_NOT_SUPPORTED);
		assert_int_equal(nvmlDeviceGetMigDeviceHandleByIndex(mig, 0, &parent),
				 NVML_ERROR_INVALID_ARGUMENT);
	}
}

static void test_partition_has_a_uuid_and_is_found_by_it(void **state)
{
	char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE], parent[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	nvmlDevice_t found;

	(void)state;
	assert_int_equal(nvmlDeviceGetUUID(get_mig(2), uuid, sizeof(uuid)), NVML_SUCCESS);
	assert_string_equal(uuid, "MIG-736f6674-6770-7500-4d49-470000000003");
	assert_int_equal(nvmlDeviceGetUUID(sg_nvml_fixture_get_device(2), parent, sizeof(parent)),
			 NVML_SUCCESS);
	assert_string_equal(parent, "GPU-736f6674-6770-7500-0000-000000000003");
	assert_int_equal(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
	assert_ptr_equal(found, get_mig(2));
	assert_int_equal(nvmlDeviceGetHandleByUUID(parent, &found), NVML_SUCCESS);
	assert_ptr_equal(found, sg_nvml_fixture_get_device(2));
	assert_int_equal(
		nvmlDeviceGetHandleByUUID("MIG-736f6674-6770-7500-4d49-470000000009", &found),
		NVML_ERROR_NOT_FOUND);
}

static void test_partition_says_what_it_is(void **state)
{
	nvmlDeviceAttributes_t attributes;
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	unsigned int n;

	(void)state;
	assert_int_equal(nvmlDeviceGetName(get_mig(0), name, sizeof(name)), NVML_SUCCESS);
	assert_string_equal(name, "NVIDIA A100-SXM4-80GB MIG 7g.2gb"); /* SOFTGPU_MEMORY=1G */
	assert_int_equal(nvmlDeviceGetName(sg_nvml_fixture_get_device(0), name, sizeof(name)),
			 NVML_SUCCESS);
	assert_string_equal(name, "NVIDIA A100-SXM4-80GB");
	assert_int_equal(nvmlDeviceGetGpuInstanceId(get_mig(0), &n), NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(nvmlDeviceGetComputeInstanceId(get_mig(0), &n), NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(nvmlDeviceGetGpuInstanceId(sg_nvml_fixture_get_device(0), &n),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetIndex(get_mig(2), &n), NVML_SUCCESS);
	assert_int_equal(n, 0); /* the first of its device */
	assert_int_equal(nvmlDeviceGetAttributes_v2(get_mig(0), &attributes), NVML_SUCCESS);
	assert_int_equal(attributes.multiprocessorCount, 108);
	assert_int_equal(attributes.gpuInstanceSliceCount, 7);
	assert_int_equal(attributes.memorySizeMB, 1024);
	assert_int_equal(nvmlDeviceGetAttributes_v2(sg_nvml_fixture_get_device(0), &attributes),
			 NVML_ERROR_NOT_SUPPORTED);
}

static void test_memory_is_told_of_the_partition_alone(void **state)
{
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
	nvmlBAR1Memory_t bar1;
	nvmlMemory_t memory;
	pid_t pid = sg_nvml_fixture_start_holder("4194304");
	nvmlDevice_t device = sg_nvml_fixture_get_device(1);

	(void)state;
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, &memory), NVML_ERROR_NO_PERMISSION);
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(device, &second), NVML_ERROR_NO_PERMISSION);
	assert_int_equal(nvmlDeviceGetBAR1MemoryInfo(device, &bar1), NVML_ERROR_NO_PERMISSION);
	assert_int_equal(nvmlDeviceGetMemoryInfo(get_mig(1), &memory), NVML_SUCCESS);
	assert_int_equal(memory.total, SG_NVML_FIXTURE_MEMORY);
	assert_int_equal(memory.used, 4 * SG_MIB);
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(get_mig(1), &second), NVML_SUCCESS);
	assert_int_equal(second.reserved, 0);
	assert_int_equal(nvmlDeviceGetMemoryInfo(get_mig(0), &memory), NVML_SUCCESS);
	assert_int_equal(memory.used, 0);
	sg_nvml_fixture_kill(pid);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
}

static void test_processes_are_told_of_the_partition_alone(void **state)
{
	pid_t pid = sg_nvml_fixture_start_holder("4194304");
	nvmlDevice_t device = sg_nvml_fixture_get_device(1);
	nvmlProcessInfo_t infos[4];
	unsigned int n = 4;

	(void)state;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, infos),
			 NVML_ERROR_NO_PERMISSION);
	assert_int_equal(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &n, infos),
			 NVML_ERROR_NO_PERMISSION);
	n = 4;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(get_mig(1), &n, infos),
			 NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(infos[0].pid, pid);
	assert_int_equal(infos[0].usedGpuMemory, 4 * SG_MIB);
	assert_int_equal(infos[0].gpuInstanceId, 0);
	assert_int_equal(infos[0].computeInstanceId, 0);
	n = 4;
	assert_int_equal(nvmlDeviceGetGraphicsRunningProcesses_v3(get_mig(1), &n, infos),
			 NVML_SUCCESS);
	assert_int_equal(n, 0);
	sg_nvml_fixture_kill(pid);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
}

static void test_utilization_is_not_supported(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlUtilization_t utilization;
	unsigned int n, period;

	(void)state;
	assert_int_equal(nvmlDeviceGetUtilizationRates(device, &utilization),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetUtilizationRates(get_mig(0), &utilization),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetEncoderUtilization(device, &n, &period),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetNumGpuCores(device, &n), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetProcessUtilization(device, NULL, &n, 0),
			 NVML_ERROR_NOT_SUPPORTED);
}

static void test_what_partitions_have_not_is_asked_of_devices(void **state)
{
	nvmlPciInfo_t pci;
	unsigned int n;

	(void)state;
	assert_int_equal(nvmlDeviceGetPowerUsage(get_mig(0), &n), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetPciInfo_v3(get_mig(0), &pci), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetMinorNumber(get_mig(0), &n), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetPowerUsage(sg_nvml_fixture_get_device(0), &n), NVML_SUCCESS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SG_NVML_FIXTURE_TEST(test_every_device_is_partitioned),
		SG_NVML_FIXTURE_TEST(test_partition_and_device_know_each_other),
		SG_NVML_FIXTURE_TEST(test_partition_has_a_uuid_and_is_found_by_it),
		SG_NVML_FIXTURE_TEST(test_partition_says_what_it_is),
		SG_NVML_FIXTURE_TEST(test_memory_is_told_of_the_partition_alone),
		SG_NVML_FIXTURE_TEST(test_processes_are_told_of_the_partition_alone),
		SG_NVML_FIXTURE_TEST(test_utilization_is_not_supported),
		SG_NVML_FIXTURE_TEST(test_what_partitions_have_not_is_asked_of_devices),
	};

	if (argc == 3 && !strcmp(argv[1], "hold"))
		return sg_nvml_fixture_hold(argv[2]);
	sg_nvml_fixture_set_environment();
	setenv("SOFTGPU_PROFILE", "a100-80g", 1);
	setenv("SOFTGPU_NVML", "mig", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
