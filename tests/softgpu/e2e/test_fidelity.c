/*
 * What a dry run depends on, for cards that people have: the numbers that allocators and libraries
 * size their memory by, and that CUDA's two APIs and NVML say the same. Each card is looked at in
 * a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <nvml.h>

#define MIB ((size_t)1 << 20)

/* What the program sees of its first device. */
struct seen {
	int failed; /* number of the call, from one */
	int nr_devices;
	struct cudaDeviceProp properties;
	int clock_khz, memory_clock_khz;
	size_t free_size, total;
	char bus_id[32];
	unsigned int nr_nvml;
	nvmlMemory_t memory;
	nvmlMemory_v2_t memory_v2;
	nvmlPciInfo_t pci;
	char nvml_name[96], nvml_uuid[96];
	int nvml_major, nvml_minor;
	unsigned int nvml_clock, nvml_memory_clock, nvml_bus_width;
	unsigned long long nvml_used; /* by this process */
};

static int look_at_cuda(struct seen *seen)
{
	struct cudaDeviceProp *properties = &seen->properties;

	if (cudaGetDeviceCount(&seen->nr_devices))
		return 1;
	if (cudaGetDeviceProperties(properties, 0))
		return 2;
	if (cudaDeviceGetAttribute(&seen->clock_khz, cudaDevAttrClockRate, 0) ||
	    cudaDeviceGetAttribute(&seen->memory_clock_khz, cudaDevAttrMemoryClockRate, 0))
		return 3;
	if (cudaMemGetInfo(&seen->free_size, &seen->total))
		return 4;
	if (cudaDeviceGetPCIBusId(seen->bus_id, sizeof(seen->bus_id), 0))
		return 5;
	return 0;
}

static int look_at_nvml(struct seen *seen)
{
	nvmlProcessInfo_t processes[4];
	unsigned int nr = 4;
	nvmlDevice_t device;

	seen->memory_v2.version = nvmlMemory_v2;
	if (nvmlInit_v2() || nvmlDeviceGetCount_v2(&seen->nr_nvml))
		return 11;
	if (nvmlDeviceGetHandleByPciBusId_v2(seen->bus_id, &device))
		return 12;
	if (nvmlDeviceGetMemoryInfo(device, &seen->memory) ||
	    nvmlDeviceGetMemoryInfo_v2(device, &seen->memory_v2))
		return 13;
	if (nvmlDeviceGetPciInfo_v3(device, &seen->pci) ||
	    nvmlDeviceGetName(device, seen->nvml_name, sizeof(seen->nvml_name)) ||
	    nvmlDeviceGetUUID(device, seen->nvml_uuid, sizeof(seen->nvml_uuid)))
		return 14;
	if (nvmlDeviceGetCudaComputeCapability(device, &seen->nvml_major, &seen->nvml_minor) ||
	    nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_SM, &seen->nvml_clock) ||
	    nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_MEM, &seen->nvml_memory_clock) ||
	    nvmlDeviceGetMemoryBusWidth(device, &seen->nvml_bus_width))
		return 15;
	if (nvmlDeviceGetComputeRunningProcesses_v3(device, &nr, processes) || nr != 1 ||
	    processes[0].pid != (unsigned)getpid())
		return 16;
	seen->nvml_used = processes[0].usedGpuMemory;
	return 0;
}

/* A child has its own settings: this process must not have read any. */
static struct seen look_at(const char *profile, const char *name, const char *value)
{
	struct seen seen = {.failed = -1};
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("SOFTGPU_PROFILE", profile, 1);
		if (name)
			setenv(name, value, 1);
		seen.failed = look_at_cuda(&seen);
		if (!seen.failed)
			seen.failed = look_at_nvml(&seen);
		_exit(write(fds[1], &seen, sizeof(seen)) != sizeof(seen));
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &seen, sizeof(seen)), sizeof(seen));
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(seen.failed, 0);
	return seen;
}

static const struct card {
	const char *profile, *name;
	int cc, multiprocessors, threads;
	size_t total, context; /* MiB */
} cards[] = {
	{"t4", "Tesla T4", 75, 40, 1024, 15094, 104},
	{"v100-32g", "Tesla V100-SXM2-32GB", 70, 80, 2048, 32494, 306},
	{"a10", "NVIDIA A10", 86, 72, 1536, 22598, 256},
	{"a100-40g", "NVIDIA A100-SXM4-40GB", 80, 108, 2048, 40438, 418},
	{"a100-80g", "NVIDIA A100-SXM4-80GB", 80, 108, 2048, 81158, 418},
	{"l4", "NVIDIA L4", 89, 58, 1536, 22562, 182},
	{"l40s", "NVIDIA L40S", 89, 142, 1536, 45588, 426},
	{"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 1536, 24114, 256},
	{"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 1536, 24080, 384},
	{"h100-80g", "NVIDIA H100 80GB HBM3", 90, 132, 2048, 81090, 524},
	{"h200", "NVIDIA H200", 90, 132, 2048, 143156, 524},
	{"b200", "NVIDIA B200", 100, 148, 2048, 182642, 616},
};

#define NR_CARDS (sizeof(cards) / sizeof(cards[0]))

/* Workspaces of cuBLAS are chosen by it. */
static void test_compute_capability_is_the_card_s(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_CARDS; i++) {
		struct seen seen = look_at(cards[i].profile, NULL, NULL);

		assert_string_equal(seen.properties.name, cards[i].name);
		assert_int_equal(10 * seen.properties.major + seen.properties.minor, cards[i].cc);
		assert_int_equal(10 * seen.nvml_major + seen.nvml_minor, cards[i].cc);
		assert_string_equal(seen.nvml_name, cards[i].name);
	}
}

/* Reductions take 4 bytes for each block of 512 threads that fits on the device at a time. */
static int get_reduction_buffer(const char *profile)
{
	struct seen seen = look_at(profile, NULL, NULL);

	return seen.properties.multiProcessorCount *
	       (seen.properties.maxThreadsPerMultiProcessor / 512) * 4;
}

static void test_multiprocessors_and_threads_are_the_card_s(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_CARDS; i++) {
		struct seen seen = look_at(cards[i].profile, NULL, NULL);

		assert_int_equal(seen.properties.multiProcessorCount, cards[i].multiprocessors);
		assert_int_equal(seen.properties.maxThreadsPerMultiProcessor, cards[i].threads);
	}
	/* As recorded on real ones. */
	assert_int_equal(get_reduction_buffer("h100-80g"), 2112);
	assert_int_equal(get_reduction_buffer("rtx4090"), 1536);
}

/* Near the limit allocators release and reserve differently: it counts to the MiB. */
static void test_capacity_is_the_total_without_the_context(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_CARDS; i++) {
		struct seen seen = look_at(cards[i].profile, NULL, NULL);

		assert_int_equal(seen.total, cards[i].total * MIB);
		assert_int_equal(seen.properties.totalGlobalMem, seen.total);
		assert_int_equal(seen.free_size, (cards[i].total - cards[i].context) * MIB);
		assert_int_equal(seen.nvml_used, cards[i].context * MIB);
	}
}

static void test_nvml_and_cuda_tell_of_one_card(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_CARDS; i++) {
		struct seen seen = look_at(cards[i].profile, NULL, NULL);
		char bus_id[40];

		assert_int_equal(seen.memory_v2.total - seen.memory_v2.reserved, seen.total);
		assert_int_equal(seen.memory_v2.free, seen.free_size);
		assert_int_equal(seen.memory.free, seen.free_size);
		assert_int_equal(seen.memory.used, seen.memory_v2.used + seen.memory_v2.reserved);
		assert_int_equal(seen.clock_khz, seen.nvml_clock * 1000);
		assert_int_equal(seen.memory_clock_khz, seen.nvml_memory_clock * 1000);
		assert_int_equal(seen.properties.memoryBusWidth, seen.nvml_bus_width);
		assert_int_equal(seen.properties.gpuPciDeviceID, seen.pci.pciDeviceId);
		assert_int_equal(seen.properties.pciBusID, seen.pci.bus);
		/* NVML writes the domain with four digits more. */
		snprintf(bus_id, sizeof(bus_id), "0000%s", seen.bus_id);
		assert_string_equal(bus_id, seen.pci.busId);
	}
}

static void test_visible_devices_are_for_cuda_alone(void **state)
{
	struct seen seen;

	(void)state;
	setenv("SOFTGPU_DEVICES", "3", 1);
	seen = look_at("a100-40g", "CUDA_VISIBLE_DEVICES", "2");
	assert_int_equal(seen.nr_devices, 1);
	assert_int_equal(seen.nr_nvml, 3);
	assert_int_equal(seen.pci.bus, 3); /* the last one, by its PCI bus */
	assert_string_equal(seen.nvml_uuid, "GPU-736f6674-6770-7500-0000-000000000003");
	seen = look_at("a100-40g", "CUDA_VISIBLE_DEVICES", seen.nvml_uuid);
	assert_int_equal(seen.nr_devices, 1);
	assert_int_equal(seen.pci.bus, 3);
	unsetenv("SOFTGPU_DEVICES");
}

static void test_any_figure_can_be_one_s_own(void **state)
{
	(void)state;
	assert_int_equal(look_at("h200", "SOFTGPU_SMS", "17").properties.multiProcessorCount, 17);
	assert_int_equal(look_at("h200", "SOFTGPU_MEMORY", "47G").total, 47 * 1024 * MIB);
	assert_int_equal(look_at("h200", "SOFTGPU_CONTEXT", "6M").free_size, 143150 * MIB);
	assert_int_equal(look_at("h200", "SOFTGPU_L2", "1M").properties.l2CacheSize, 1 << 20);
	assert_int_equal(
		look_at("h200", "SOFTGPU_SHARED_OPTIN", "99K").properties.sharedMemPerBlockOptin,
		99 << 10);
	assert_string_equal(look_at("h200", "SOFTGPU_NAME", "My own").nvml_name, "My own");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compute_capability_is_the_card_s),
		cmocka_unit_test(test_multiprocessors_and_threads_are_the_card_s),
		cmocka_unit_test(test_capacity_is_the_total_without_the_context),
		cmocka_unit_test(test_nvml_and_cuda_tell_of_one_card),
		cmocka_unit_test(test_visible_devices_are_for_cuda_alone),
		cmocka_unit_test(test_any_figure_can_be_one_s_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
