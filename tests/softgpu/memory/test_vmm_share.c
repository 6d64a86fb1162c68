/* Shareable physical memory in one process; between processes: e2e/test_sharing_fds.c. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

#define ROOM (256 * MIB - 16 * MIB)

static const CUmemAllocationHandleType fd_type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
static CUcontext context;

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	assert_int_equal(sg_rig_get_free(), ROOM);
	return 0;
}

static int end(void **state)
{
	size_t free_size = sg_rig_get_free();

	(void)state;
	assert_ok(cuCtxDestroy(context));
	assert_int_equal(free_size, ROOM);
	return 0;
}

static CUmemGenericAllocationHandle create(size_t size, CUmemLocationType where, unsigned types)
{
	const CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .requestedHandleTypes = (CUmemAllocationHandleType)types,
					   .location = {.type = where}};
	CUmemGenericAllocationHandle handle;

	assert_ok(cuMemCreate(&handle, size, &props, 0));
	return handle;
}

static CUmemGenericAllocationHandle create_shareable(size_t size)
{
	return create(size, CU_MEM_LOCATION_TYPE_DEVICE, fd_type);
}

static int export_fd(CUmemGenericAllocationHandle handle)
{
	int fd = -1;

	assert_ok(cuMemExportToShareableHandle(&fd, handle, fd_type, 0));
	assert_true(fd >= 0);
	return fd;
}

static CUmemGenericAllocationHandle import_fd(int fd)
{
	CUmemGenericAllocationHandle handle;

	assert_ok(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, fd_type));
	return handle;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t size, CUmemLocationType where)
{
	const CUmemAccessDesc access = {.location = {.type = where},
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address;

	assert_ok(cuMemAddressReserve(&address, size, 0, 0, 0));
	assert_ok(cuMemMap(address, size, 0, handle, 0));
	assert_ok(cuMemSetAccess(address, size, &access, 1));
	return address;
}

static void unmap(CUdeviceptr address, size_t size)
{
	assert_ok(cuMemUnmap(address, size));
	assert_ok(cuMemAddressFree(address, size));
}

/* "Once all shareable handles are closed and the allocation is released ... released back" */
static void test_memory_lives_until_all_descriptors_are_closed(void **state)
{
	CUmemGenericAllocationHandle handle = create_shareable(10 * MIB);
	int first = export_fd(handle), second = export_fd(handle), copy = dup(first);

	(void)state;
	assert_int_equal(sg_rig_get_free(), ROOM - 10 * MIB);
	assert_ok(cuMemRelease(handle));
	close(first);
	close(second);
	assert_int_equal(sg_rig_get_free(), ROOM - 10 * MIB);
	close(copy);
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_bytes_are_kept_by_the_descriptor(void **state)
{
	CUmemGenericAllocationHandle handle = create_shareable(10 * MIB);
	CUdeviceptr address = map(handle, 10 * MIB, CU_MEM_LOCATION_TYPE_DEVICE);
	int fd = export_fd(handle);
	uint32_t value = 0;

	(void)state;
	assert_ok(cuMemsetD32(address + 4 * MIB, 0x12345678, 1));
	unmap(address, 10 * MIB);
	assert_ok(cuMemRelease(handle));
	handle = import_fd(fd);
	close(fd);
	address = map(handle, 10 * MIB, CU_MEM_LOCATION_TYPE_DEVICE);
	assert_ok(cuMemcpyDtoH(&value, address + 4 * MIB, sizeof(value)));
	assert_int_equal(value, 0x12345678);
	unmap(address, 10 * MIB);
	assert_ok(cuMemRelease(handle));
}

static void test_two_imports_are_one_memory(void **state)
{
	CUmemGenericAllocationHandle handle = create_shareable(2 * MIB), twin;
	int fd = export_fd(handle);
	CUdeviceptr one, two;
	uint32_t value = 0;

	(void)state;
	twin = import_fd(fd);
	one = map(handle, 2 * MIB, CU_MEM_LOCATION_TYPE_DEVICE);
	two = map(twin, 2 * MIB, CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * MIB);
	assert_ok(cuMemsetD32(one, 7, 1));
	assert_ok(cuMemcpyDtoH(&value, two, sizeof(value)));
	assert_int_equal(value, 7);
	unmap(one, 2 * MIB);
	unmap(two, 2 * MIB);
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemRelease(twin));
	close(fd);
}

static void test_imported_memory_has_the_properties_of_its_maker(void **state)
{
	CUmemGenericAllocationHandle handle = create_shareable(4 * MIB), twin;
	int fd = export_fd(handle);
	CUmemAllocationProp props;

	(void)state;
	twin = import_fd(fd);
	close(fd);
	assert_ok(cuMemGetAllocationPropertiesFromHandle(&props, twin));
	assert_int_equal(props.type, CU_MEM_ALLOCATION_TYPE_PINNED);
	assert_int_equal(props.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(props.location.id, 0);
	assert_int_equal(props.requestedHandleTypes, fd_type);
	close(export_fd(twin)); /* and can be handed on */
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemRelease(twin));
}

static void test_memory_of_the_host_is_shared_and_charges_nobody(void **state)
{
	const CUmemLocationType host = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	CUmemGenericAllocationHandle handle = create(2 * MIB, host, fd_type), twin;
	CUdeviceptr one = map(handle, 2 * MIB, host), two;
	int fd = export_fd(handle);

	(void)state;
	twin = import_fd(fd);
	close(fd);
	two = map(twin, 2 * MIB, host);
	*(volatile int *)(uintptr_t)one = 5;
	assert_int_equal(*(volatile int *)(uintptr_t)two, 5);
	assert_int_equal(sg_rig_get_free(), ROOM);
	unmap(one, 2 * MIB);
	unmap(two, 2 * MIB);
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemRelease(twin));
}

static void test_full_card_has_no_shareable_memory_either(void **state)
{
	CUmemGenericAllocationHandle handle = create_shareable(ROOM - 2 * MIB);
	const CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .requestedHandleTypes = fd_type,
					   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle other;
	CUdeviceptr address;

	(void)state;
	assert_result(cuMemCreate(&other, 4 * MIB, &props, 0), CUDA_ERROR_OUT_OF_MEMORY);
	assert_result(cuMemAlloc(&address, 4 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	assert_ok(cuMemCreate(&other, 2 * MIB, &props, 0));
	assert_ok(cuMemRelease(other));
	assert_ok(cuMemRelease(handle));
}

static void test_only_memory_made_for_it_is_exported(void **state)
{
	CUmemGenericAllocationHandle plain =
		create(2 * MIB, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
	CUmemGenericAllocationHandle handle = create_shareable(2 * MIB);
	CUmemFabricHandle fabric;
	int fd;

	(void)state;
	assert_invalid(cuMemExportToShareableHandle(&fd, plain, fd_type, 0));
	assert_invalid(cuMemExportToShareableHandle(&fd, 0, fd_type, 0));
	assert_invalid(cuMemExportToShareableHandle(NULL, handle, fd_type, 0));
	assert_invalid(cuMemExportToShareableHandle(&fd, handle, fd_type, 1));
	assert_invalid(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_NONE, 0));
	assert_invalid(cuMemExportToShareableHandle(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
	assert_ok(cuMemRelease(plain));
	assert_ok(cuMemRelease(handle));
	assert_invalid(cuMemExportToShareableHandle(&fd, handle, fd_type, 0));
}

/* CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED is 0. */
static void test_fabric_handles_are_refused(void **state)
{
	CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;
	CUmemFabricHandle fabric = {{0}};

	(void)state;
	assert_result(cuMemCreate(&handle, 2 * MIB, &props, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_result(cuMemImportFromShareableHandle(&handle, &fabric, CU_MEM_HANDLE_TYPE_FABRIC),
		      CUDA_ERROR_NOT_SUPPORTED);
}

static void test_what_cannot_be_imported(void **state)
{
	CUmemGenericAllocationHandle handle = create_shareable(2 * MIB), other;
	int fd = export_fd(handle), file = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_invalid(cuMemImportFromShareableHandle(NULL, (void *)(intptr_t)fd, fd_type));
	assert_invalid(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)file, fd_type));
	assert_invalid(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)-1, fd_type));
	assert_invalid(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd,
						      CU_MEM_HANDLE_TYPE_NONE));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0); /* not one of ours any more */
	assert_invalid(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, fd_type));
	close(fd);
	assert_invalid(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, fd_type));
	close(file);
	assert_ok(cuMemRelease(handle));
}

static void test_address_ranges_have_no_dma_buf(void **state)
{
	const CUmemRangeHandleType dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
	CUdeviceptr address;
	int fd, is_supported = -1;

	(void)state;
	assert_ok(cuMemAlloc(&address, 2 * MIB));
	assert_ok(cuDeviceGetAttribute(&is_supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0));
	assert_int_equal(is_supported, 0);
	assert_result(cuMemGetHandleForAddressRange(&fd, address, 2 * MIB, dma_buf, 0),
		      CUDA_ERROR_NOT_SUPPORTED);
	assert_invalid(cuMemGetHandleForAddressRange(NULL, address, 2 * MIB, dma_buf, 0));
	assert_invalid(cuMemGetHandleForAddressRange(&fd, address, 100, dma_buf, 0));
	assert_invalid(cuMemGetHandleForAddressRange(&fd, address + 1, 4096, dma_buf, 0));
	assert_invalid(cuMemGetHandleForAddressRange(&fd, 0x1000, 4096, dma_buf, 0));
	assert_ok(cuMemFree(address));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_memory_lives_until_all_descriptors_are_closed),
		TEST(test_bytes_are_kept_by_the_descriptor),
		TEST(test_two_imports_are_one_memory),
		TEST(test_imported_memory_has_the_properties_of_its_maker),
		TEST(test_memory_of_the_host_is_shared_and_charges_nobody),
		TEST(test_full_card_has_no_shareable_memory_either),
		TEST(test_only_memory_made_for_it_is_exported),
		TEST(test_fabric_handles_are_refused),
		TEST(test_what_cannot_be_imported),
		TEST(test_address_ranges_have_no_dma_buf),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
