/* NVML told to behave as in a container, and as on WSL: each in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "card.h"
#include "nvml_fixture.h"

/* The highest number a process can have, by proc(5), and one. */
#define PID_LIMIT (1u << 22)

static void test_container_sees_numbers_of_no_process_here(void **state)
{
	pid_t pid = sg_nvml_fixture_start_holder("4194304");
	nvmlDevice_t device = sg_nvml_fixture_get_device(1);
	nvmlProcessInfo_v1_t first[2];
	nvmlProcessInfo_t infos[2];
	char name[100];
	unsigned int n = 2;

	(void)state;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, infos), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_true(infos[0].pid >= PID_LIMIT);
	assert_int_equal(infos[0].usedGpuMemory, 4 * SG_MIB); /* the figures are right */
	assert_int_equal(nvmlSystemGetProcessName(infos[0].pid, name, sizeof(name)),
			 NVML_ERROR_NOT_FOUND);
	assert_int_equal(nvmlSystemGetProcessName((unsigned int)pid, name, sizeof(name)),
			 NVML_SUCCESS);
	n = 2;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &n, first), NVML_SUCCESS);
	assert_int_equal(first[0].pid, infos[0].pid); /* the same one each time */
	sg_nvml_fixture_kill(pid);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
}

static void test_wsl_knows_processes_but_not_their_memory(void **state)
{
	pid_t pid = sg_nvml_fixture_start_holder("4194304");
	nvmlDevice_t device = sg_nvml_fixture_get_device(1);
	nvmlProcessDetail_v1_t detail[2] = {{.pid = 0}};
	nvmlProcessDetailList_t list = {
		.version = nvmlProcessDetailList_v1, .numProcArrayEntries = 2, .procArray = detail};
	nvmlProcessInfo_v1_t first[2];
	nvmlProcessInfo_t infos[2];
	nvmlMemory_t memory;
	unsigned int n = 2;

	(void)state;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, infos), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(infos[0].pid, pid);
	assert_true(infos[0].usedGpuMemory == (unsigned long long)NVML_VALUE_NOT_AVAILABLE);
	n = 2;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &n, first), NVML_SUCCESS);
	assert_true(first[0].usedGpuMemory == (unsigned long long)NVML_VALUE_NOT_AVAILABLE);
	assert_int_equal(nvmlDeviceGetRunningProcessDetailList(device, &list), NVML_SUCCESS);
	assert_true(detail[0].usedGpuMemory == (unsigned long long)NVML_VALUE_NOT_AVAILABLE);
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
	assert_int_equal(memory.used, 4 * SG_MIB); /* of the device it is known */
	sg_nvml_fixture_kill(pid);
	assert_int_equal(sg_nvml_fixture_wait(pid), -1);
}

static void test_wsl_has_neither_samples_nor_partitions(void **state)
{
	nvmlDevice_t device = sg_nvml_fixture_get_device(0);
	unsigned int n, m;

	(void)state;
	assert_int_equal(nvmlDeviceGetProcessUtilization(device, NULL, &n, 0),
			 NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(nvmlDeviceGetMigMode(device, &n, &m), NVML_ERROR_NOT_SUPPORTED);
}

static int play(const char *part)
{
	const struct CMUnitTest container[] = {
		SG_NVML_FIXTURE_TEST(test_container_sees_numbers_of_no_process_here),
	};
	const struct CMUnitTest wsl[] = {
		SG_NVML_FIXTURE_TEST(test_wsl_knows_processes_but_not_their_memory),
		SG_NVML_FIXTURE_TEST(test_wsl_has_neither_samples_nor_partitions),
	};

	sg_nvml_fixture_set_environment();
	setenv("SOFTGPU_NVML", part, 1);
	return !strcmp(part, "wsl") ? cmocka_run_group_tests(wsl, NULL, NULL)
				    : cmocka_run_group_tests(container, NULL, NULL);
}

/* What it says goes through us, so that a failure can be read. */
static int run_part(const char *part)
{
	char text[4096];
	ssize_t n;
	int from;
	pid_t pid = sg_nvml_fixture_start_part("play", part, STDERR_FILENO, &from);

	while ((n = read(from, text, sizeof(text))) > 0)
		if (write(STDERR_FILENO, text, (size_t)n) != n)
			break;
	close(from);
	return sg_nvml_fixture_wait(pid);
}

static void test_nvml_behaves_as_in_a_container(void **state)
{
	(void)state;
	assert_int_equal(run_part("container"), 0);
}

static void test_nvml_behaves_as_on_wsl(void **state)
{
	(void)state;
	assert_int_equal(run_part("wsl"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nvml_behaves_as_in_a_container),
		cmocka_unit_test(test_nvml_behaves_as_on_wsl),
	};

	if (argc == 3 && !strcmp(argv[1], "hold"))
		return sg_nvml_fixture_hold(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "play"))
		return play(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
