#include "driver_fixture.h"

#include <cudaProfiler.h>
#include <limits.h>
#include <stdio.h>

static int get(CUdevice_attribute attribute)
{
	int value;

	assert_ok(cuDeviceGetAttribute(&value, attribute, 0));
	return value;
}

static void test_nothing_is_answered_before_cuInit(void **state)
{
	int value;
	char name[64];
	size_t size;
	CUuuid uuid;
	CUstream stream;
	CUmodule module;
	CUlibrary library;

	(void)state;
	assert_cuda(cuDeviceGetCount(&value), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuDeviceGet(&value, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuDeviceGetName(name, sizeof(name), 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuDeviceTotalMem_v2(&size, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuDeviceGetUuid(&uuid, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
		    CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuStreamCreate(&stream, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuModuleLoadData(&module, fixture_ptx), CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuLibraryLoadData(&library, fixture_ptx, NULL, NULL, 0, NULL, NULL, 0),
		    CUDA_ERROR_NOT_INITIALIZED);
	assert_cuda(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		    CUDA_ERROR_NOT_INITIALIZED);
	assert_ok(cuInit(0));
}

static void test_devices_are_counted_from_zero(void **state)
{
	int count, device;

	(void)state;
	assert_ok(cuDeviceGetCount(&count));
	assert_int_equal(count, 2);
	assert_ok(cuDeviceGet(&device, 1));
	assert_int_equal(device, 1);
	assert_cuda(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_name_is_cut_to_its_room(void **state)
{
	char name[64], cut[5] = "xxxx";

	(void)state;
	assert_ok(cuDeviceGetName(name, sizeof(name), 0));
	assert_true(strlen(name) > 4);
	assert_ok(cuDeviceGetName(cut, 4, 0));
	assert_memory_equal(cut, name, 3);
	assert_int_equal(cut[3], '\0');
	assert_cuda(cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetName(name, -1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetName(NULL, 8, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetName(name, 8, 2), CUDA_ERROR_INVALID_DEVICE);
}

static void test_uuids_differ_between_devices_and_not_between_versions(void **state)
{
	CUuuid first, again, second;

	(void)state;
	assert_ok(cuDeviceGetUuid_v2(&first, 0));
	assert_ok(cuDeviceGetUuid(&again, 0));
	assert_ok(cuDeviceGetUuid_v2(&second, 1));
	assert_memory_equal(&first, &again, sizeof(first));
	assert_memory_not_equal(&first, &second, sizeof(first));
	assert_cuda(cuDeviceGetUuid_v2(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetUuid_v2(&first, 7), CUDA_ERROR_INVALID_DEVICE);
}

static void test_total_memory_is_what_was_asked_for(void **state)
{
	size_t size;

	(void)state;
	assert_ok(cuDeviceTotalMem_v2(&size, 1));
	assert_int_equal(size, (size_t)1 << 30); /* SOFTGPU_MEMORY in CMakeLists.txt */
	assert_cuda(cuDeviceTotalMem_v2(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceTotalMem_v2(&size, -1), CUDA_ERROR_INVALID_DEVICE);
}

static void test_every_attribute_of_the_header_is_answered(void **state)
{
	int value;

	(void)state;
	for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
		assert_ok(cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0));
	assert_cuda(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetAttribute(&value, (CUdevice_attribute)-5, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 9),
		    CUDA_ERROR_INVALID_DEVICE);
}

/* Zeros in these make programs divide by zero. */
static void test_attributes_that_programs_divide_by_are_positive(void **state)
{
	static const CUdevice_attribute attributes[] = {
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		CU_DEVICE_ATTRIBUTE_WARP_SIZE,
		CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
		CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
		CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
		CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
		CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
		CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
		CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT,
		CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		assert_true(get(attributes[i]) > 0);
}

static void test_attributes_agree_with_each_other(void **state)
{
	CUdevprop properties;
	int major, minor;

	(void)state;
	assert_ok(cuDeviceComputeCapability(&major, &minor, 0));
	assert_int_equal(major, get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
	assert_int_equal(minor, get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), major >= 9);
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED), major >= 9);
	assert_ok(cuDeviceGetProperties(&properties, 0));
	assert_int_equal(properties.maxThreadsPerBlock, 1024);
	assert_int_equal(properties.maxGridSize[0], INT_MAX);
	assert_int_equal(properties.SIMDWidth, 32);
	assert_int_equal(properties.clockRate, get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
	assert_cuda(cuDeviceGetProperties(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetProperties(&properties, 2), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceComputeCapability(NULL, &minor, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceComputeCapability(&major, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

static void test_what_softgpu_does_is_announced(void **state)
{
	(void)state;
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 1);
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1);
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 1);
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED), 0);
	assert_int_equal(get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED), 0);
}

static void test_pci_id_names_the_device_in_every_form(void **state)
{
	char id[13];
	int device;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_ok(cuDeviceGetPCIBusId(id, sizeof(id), i));
		assert_ok(cuDeviceGetByPCIBusId(&device, id));
		assert_int_equal(device, i);
	}
	assert_ok(cuDeviceGetByPCIBusId(&device, "0000:02:00"));
	assert_int_equal(device, 1);
	assert_ok(cuDeviceGetByPCIBusId(&device, "02:00.0"));
	assert_int_equal(device, 1);
	assert_ok(cuDeviceGetByPCIBusId(&device, "00000000:02:00.0")); /* as NVML writes it */
	assert_int_equal(device, 1);
}

static void test_bad_pci_ids_are_refused(void **state)
{
	static const char *const bad[] = {
		"",           "0000",           "0000:02", "x:y:z",      "0000:02:00.0 ",
		"-1:02:00.0", "0000:02:00.0.0", "02:00",   "0000:02:00."};
	char id[13];
	int device;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_cuda(cuDeviceGetByPCIBusId(&device, bad[i]), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceGetByPCIBusId(&device, "0001:02:00.0"), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceGetByPCIBusId(&device, "0000:02:01.0"), CUDA_ERROR_INVALID_DEVICE);
	assert_cuda(cuDeviceGetByPCIBusId(NULL, "0000:02:00.0"), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetByPCIBusId(&device, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetPCIBusId(id, 12, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetPCIBusId(NULL, 13, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetPCIBusId(id, 13, 2), CUDA_ERROR_INVALID_DEVICE);
}

static void test_pci_attributes_say_what_the_id_says(void **state)
{
	char id[13], expected[32];

	(void)state;
	assert_ok(cuDeviceGetPCIBusId(id, sizeof(id), 0));
	snprintf(expected, sizeof(expected), "%04x:%02x:%02x.0",
		 (unsigned)get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
		 (unsigned)get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
		 (unsigned)get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
	assert_string_equal(id, expected);
}

static void test_luid_is_a_matter_of_windows(void **state)
{
	char luid[8];
	unsigned mask;

	(void)state;
	assert_cuda(cuDeviceGetLuid(luid, &mask, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_cuda(cuDeviceGetLuid(NULL, &mask, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetLuid(luid, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetLuid(luid, &mask, 3), CUDA_ERROR_INVALID_DEVICE);
}

static void test_texture_width_needs_a_format_of_equal_channels(void **state)
{
	size_t width;

	(void)state;
	assert_ok(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 4, 0));
	assert_int_equal(width, 1 << 28);
	assert_cuda(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 3, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_NV12, 1, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetTexture1DLinearMaxWidth(NULL, CU_AD_FORMAT_FLOAT, 1, 0),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_exec_affinity_is_not_supported_but_answered(void **state)
{
	int value = 7;

	(void)state;
	assert_ok(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
	assert_int_equal(value, 0);
	assert_cuda(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_MAX, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetExecAffinitySupport(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_host_atomics_are_none_over_pci_express(void **state)
{
	CUatomicOperation operations[2] = {CU_ATOMIC_OPERATION_INTEGER_ADD,
					   CU_ATOMIC_OPERATION_CAS};
	unsigned capabilities[2] = {1, 1};

	(void)state;
	assert_ok(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
	assert_int_equal(capabilities[0] | capabilities[1], 0);
	assert_cuda(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetHostAtomicCapabilities(NULL, operations, 2, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetHostAtomicCapabilities(capabilities, NULL, 2, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 2),
		    CUDA_ERROR_INVALID_DEVICE);
	operations[1] = CU_ATOMIC_OPERATION_MAX;
	assert_cuda(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_profiler_marks_are_taken(void **state)
{
	(void)state;
	assert_ok(cuProfilerStart());
	assert_ok(cuProfilerStop());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_answered_before_cuInit),
		cmocka_unit_test(test_devices_are_counted_from_zero),
		cmocka_unit_test(test_name_is_cut_to_its_room),
		cmocka_unit_test(test_uuids_differ_between_devices_and_not_between_versions),
		cmocka_unit_test(test_total_memory_is_what_was_asked_for),
		cmocka_unit_test(test_every_attribute_of_the_header_is_answered),
		cmocka_unit_test(test_attributes_that_programs_divide_by_are_positive),
		cmocka_unit_test(test_attributes_agree_with_each_other),
		cmocka_unit_test(test_what_softgpu_does_is_announced),
		cmocka_unit_test(test_pci_id_names_the_device_in_every_form),
		cmocka_unit_test(test_bad_pci_ids_are_refused),
		cmocka_unit_test(test_pci_attributes_say_what_the_id_says),
		cmocka_unit_test(test_luid_is_a_matter_of_windows),
		cmocka_unit_test(test_texture_width_needs_a_format_of_equal_channels),
		cmocka_unit_test(test_exec_affinity_is_not_supported_but_answered),
		cmocka_unit_test(test_host_atomics_are_none_over_pci_express),
		cmocka_unit_test(test_profiler_marks_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
