#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"
#include "config.h"
#include "nvml_fixture.h"

static void test_memory_is_that_of_all_processes_on_the_card(void **state)
{
	struct sg_card *card = sg_card_open(sg_config_get()->card, sg_config_get());
	nvmlMemory_t memory;
	nvmlMemory_v2_t second = {.version = nvmlMemory_v2};
	pid_t pid;

	(void)state;
	assert_non_null(card);
	assert_int_equal(sg_card_charge(card, 1, 10 * SG_MIB), 0);
	pid = sg_nvml_fixture_start_holder("4194304");
	assert_int_equal(nvmlDeviceGetMemoryInfo(sg_nvml_fixture_get_device(1), &memory),
			 NVML_SUCCESS);
	assert_int_equal(memory.total, SG_NVML_FIXTURE_MEMORY);
	assert_int_equal(memory.used, 14 * SG_MIB);
	assert_int_equal(memory.free, SG_NVML_FIXTURE_MEMORY - 14 * SG_MIB);
	assert_int_equal(nvmlDeviceGetMemoryInfo(sg_nvml_fixture_get_device(0), &memory),
			 NVML_SUCCESS);
	assert_int_equal(memory.used, 0);

	sg_nvml_fixture_kill(pid);
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(sg_nvml_fixture_get_device(1), &second),
			 NVML_SUCCESS);
	assert_int_equal(second.total, SG_NVML_FIXTURE_MEMORY);
	assert_int_equal(second.used, 10 * SG_MIB);
	assert_int_equal(second.reserved, 0);
	assert_int_equal(second.total, second.reserved + second.used + second.free);
	second.version = 2; /* without the size of the structure */
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(sg_nvml_fixture_get_device(1), &second),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
	sg_card_close(card);
}

static void test_bar1_is_a_power_of_two_that_covers_the_memory(void **state)
{
	nvmlBAR1Memory_t bar1;

	(void)state;
	assert_int_equal(nvmlDeviceGetBAR1MemoryInfo(sg_nvml_fixture_get_device(0), &bar1),
			 NVML_SUCCESS);
	assert_true(bar1.bar1Total >= SG_NVML_FIXTURE_MEMORY);
	assert_int_equal(bar1.bar1Total & (bar1.bar1Total - 1), 0);
	assert_int_equal(bar1.bar1Used + bar1.bar1Free, bar1.bar1Total);
}

/* Another process is on the list, in the structure of each version, until it is killed. */
static void test_process_is_listed_until_it_is_killed(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(1);
	pid_t pid = sg_nvml_fixture_start_holder("6291456");
	nvmlProcessInfo_v1_t first[3];
	nvmlProcessInfo_v2_t second[3];
	nvmlProcessInfo_t third[3];
	unsigned int n = 3;

	(void)state;
	memset(first, 0x55, sizeof(first));
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &n, first), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(first[0].pid, pid);
	assert_int_equal(first[0].usedGpuMemory, 6 * SG_MIB);
	assert_int_equal(first[1].pid, 0x55555555);

	n = 3;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v2(device, &n, second), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(second[0].pid, pid);
	assert_int_equal(second[0].usedGpuMemory, 6 * SG_MIB);
	assert_int_equal(second[0].gpuInstanceId, 0xffffffff);

	n = 1;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, third), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(third[0].pid, pid);
	assert_int_equal(third[0].usedGpuMemory, 6 * SG_MIB);
	assert_int_equal(third[0].computeInstanceId, 0xffffffff);

	n = 3; /* it holds nothing of another device */
	assert_int_equal(
		nvmlDeviceGetComputeRunningProcesses_v3(sg_nvml_fixture_get_device(0), &n, third),
		NVML_SUCCESS);
	assert_int_equal(n, 0);

	sg_nvml_fixture_kill(pid);
	n = 3;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, third), NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
}

static void test_list_without_room_tells_how_much_it_needs(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(1);
	nvmlProcessInfo_v1_t first[2];
	nvmlProcessInfo_t infos[2];
	unsigned int n = 0;
	pid_t pids[2];

	(void)state;
	/* Nobody there: no room is room enough. */
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL), NVML_SUCCESS);
	pids[0] = sg_nvml_fixture_start_holder("2097152");
	pids[1] = sg_nvml_fixture_start_holder("4194304");
	n = 0;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(n, 2);
	n = 1;
	memset(infos, 0x55, sizeof(infos));
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, infos),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(n, 2);
	assert_int_equal(infos[0].pid, 0x55555555);
	n = 1;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &n, first),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	n = 2;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, infos), NVML_SUCCESS);
	assert_int_equal(n, 2);
	assert_int_equal(infos[0].usedGpuMemory + infos[1].usedGpuMemory, 6 * SG_MIB);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, NULL, infos),
			 NVML_ERROR_INVALID_ARGUMENT);
	for (int i = 0; i < 2; i++) {
		sg_nvml_fixture_kill(pids[i]);
		assert_int_equal(sg_nvml_fixture_wait(pids[i]), -1);
	}
}

static void test_detailed_list_has_compute_processes_only(void **state)
{
	pid_t pid = sg_nvml_fixture_start_holder("2097152");
	nvmlProcessDetail_v1_t detail;
	nvmlProcessDetailList_t list = {.version = nvmlProcessDetailList_v1};

	(void)state;
	assert_int_equal(
		nvmlDeviceGetRunningProcessDetailList(sg_nvml_fixture_get_device(1), &list),
		NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(list.numProcArrayEntries, 1);
	list.procArray = &detail;
	assert_int_equal(
		nvmlDeviceGetRunningProcessDetailList(sg_nvml_fixture_get_device(1), &list),
		NVML_SUCCESS);
	assert_int_equal(detail.pid, pid);
	assert_int_equal(detail.usedGpuMemory, 2 * SG_MIB);
	assert_int_equal(detail.usedGpuCcProtectedMemory, 0);
	list.mode = 1;
	assert_int_equal(
		nvmlDeviceGetRunningProcessDetailList(sg_nvml_fixture_get_device(1), &list),
		NVML_SUCCESS);
	assert_int_equal(list.numProcArrayEntries, 0);
	list.mode = 3;
	assert_int_equal(
		nvmlDeviceGetRunningProcessDetailList(sg_nvml_fixture_get_device(1), &list),
		NVML_ERROR_INVALID_ARGUMENT);
	list = (nvmlProcessDetailList_t){.version = 1};
	assert_int_equal(
		nvmlDeviceGetRunningProcessDetailList(sg_nvml_fixture_get_device(1), &list),
		NVML_ERROR_INVALID_ARGUMENT);
	sg_nvml_fixture_kill(pid);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
}

static void test_nobody_draws_and_nobody_runs_under_mps(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	nvmlProcessInfo_v1_t first;
	nvmlProcessInfo_t third;
	unsigned int n = 1;

	(void)state;
	assert_int_equal(nvmlDeviceGetGraphicsRunningProcesses(device, &n, &first), NVML_SUCCESS);
	assert_int_equal(n, 0);
	n = 1;
	assert_int_equal(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &n, &third),
			 NVML_SUCCESS);
	assert_int_equal(n, 0);
	n = 1;
	assert_int_equal(nvmlDeviceGetMPSComputeRunningProcesses_v2(device, &n, &third),
			 NVML_SUCCESS);
	assert_int_equal(n, 0);
	n = 1;
	assert_int_equal(nvmlDeviceGetMPSComputeRunningProcesses_v3(device, &n, NULL),
			 NVML_ERROR_INVALID_ARGUMENT);
}

static void test_processes_have_no_utilization(void **state)
{
	nvmlProcessesUtilizationInfo_t info = {.version = nvmlProcessesUtilizationInfo_v1};
	nvmlProcessUtilizationSample_t sample;
	unsigned int n = 1;

	(void)state;
	assert_int_equal(
		nvmlDeviceGetProcessUtilization(sg_nvml_fixture_get_device(0), &sample, &n, 0),
		NVML_ERROR_NOT_FOUND);
	assert_int_equal(n, 0);
	assert_int_equal(
		nvmlDeviceGetProcessUtilization(sg_nvml_fixture_get_device(0), &sample, NULL, 0),
		NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(
		nvmlDeviceGetProcessesUtilizationInfo(sg_nvml_fixture_get_device(0), &info),
		NVML_ERROR_NOT_FOUND);
	info.version = 0;
	assert_int_equal(
		nvmlDeviceGetProcessesUtilizationInfo(sg_nvml_fixture_get_device(0), &info),
		NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

static void test_process_has_a_name_until_it_is_gone(void **state)
{
	pid_t pid = sg_nvml_fixture_start_holder("2097152");
	char name[64];

	(void)state;
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, name, sizeof(name)),
			 NVML_SUCCESS);
	assert_string_equal(name, "test_nvml");
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, name, 5), NVML_SUCCESS);
	assert_string_equal(name, "test"); /* cut, not refused */
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, name, 0),
			 NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, NULL, 5),
			 NVML_ERROR_INVALID_ARGUMENT);
	sg_nvml_fixture_kill(pid);
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, name, sizeof(name)),
			 NVML_ERROR_NOT_FOUND);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, name, sizeof(name)),
			 NVML_ERROR_NOT_FOUND);
}

/* Part "own": without SOFTGPU_CARD the libraries of one process still are on one card. */
static int use_own_card(void)
{
	struct sg_card *card;
	nvmlProcessInfo_t info;
	nvmlDevice_t device;
	unsigned int n = 1;

	unsetenv("SOFTGPU_CARD");
	card = sg_card_open(sg_config_get()->card, sg_config_get());
	if (!card || sg_card_charge(card, 0, SG_MIB) != 0 || nvmlInit_v2() != NVML_SUCCESS ||
	    nvmlDeviceGetHandleByIndex_v2(0, &device) != NVML_SUCCESS ||
	    nvmlDeviceGetComputeRunningProcesses_v3(device, &n, &info) != NVML_SUCCESS)
		return 1;
	sg_card_close(card);
	return n != 1 || info.pid != (unsigned int)getpid() || info.usedGpuMemory != SG_MIB;
}

static void test_libraries_of_one_process_are_on_one_card(void **state)
{
	int from;
	pid_t pid = sg_nvml_fixture_start_part("own", "", STDOUT_FILENO, &from);

	(void)state;
	assert_int_equal(sg_nvml_fixture_wait(pid), 0);
	close(from);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SG_NVML_FIXTURE_TEST(test_memory_is_that_of_all_processes_on_the_card),
		SG_NVML_FIXTURE_TEST(test_bar1_is_a_power_of_two_that_covers_the_memory),
		SG_NVML_FIXTURE_TEST(test_process_is_listed_until_it_is_killed),
		SG_NVML_FIXTURE_TEST(test_list_without_room_tells_how_much_it_needs),
		SG_NVML_FIXTURE_TEST(test_detailed_list_has_compute_processes_only),
		SG_NVML_FIXTURE_TEST(test_nobody_draws_and_nobody_runs_under_mps),
		SG_NVML_FIXTURE_TEST(test_processes_have_no_utilization),
		SG_NVML_FIXTURE_TEST(test_process_has_a_name_until_it_is_gone),
		cmocka_unit_test(test_libraries_of_one_process_are_on_one_card),
	};

	if (argc == 3 && !strcmp(argv[1], "hold"))
		return sg_nvml_fixture_hold(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "own"))
		return use_own_card();
	sg_nvml_fixture_set_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
