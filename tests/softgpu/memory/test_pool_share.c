/* Shareable pools in one process; between processes: e2e/test_sharing_fds.c. */
#include <string.h>
#include <unistd.h>

#include "rig.h"

#define ROOM  (256 * MIB - 16 * MIB)
#define PIECE (32 * MIB) /* what a pool takes at first */

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

static CUmemoryPool create_pool(CUmemAllocationHandleType types)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .handleTypes = types,
				      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemoryPool pool;

	assert_ok(cuMemPoolCreate(&pool, &props));
	return pool;
}

static CUmemoryPool import_pool(CUmemoryPool pool)
{
	CUmemoryPool imported;
	int fd;

	assert_ok(cuMemPoolExportToShareableHandle(&fd, pool, fd_type, 0));
	assert_ok(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, fd_type, 0));
	close(fd);
	return imported;
}

static void test_shareable_pool_works_like_any_other(void **state)
{
	CUmemoryPool pool = create_pool(fd_type);
	CUdeviceptr small, large;
	uint32_t value = 0;

	(void)state;
	assert_ok(cuMemAllocFromPoolAsync(&small, 512, pool, NULL));
	assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
	assert_ok(cuMemAllocFromPoolAsync(&large, 100 * MIB, pool, NULL));
	assert_ok(cuMemsetD32(large + 99 * MIB, 3, 1));
	assert_ok(cuMemcpyDtoH(&value, large + 99 * MIB, sizeof(value)));
	assert_int_equal(value, 3);
	assert_ok(cuMemFreeAsync(large, NULL));
	assert_ok(cuMemPoolTrimTo(pool, 0));
	assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
	assert_ok(cuMemFreeAsync(small, NULL));
	assert_ok(cuMemPoolDestroy(pool));
}

static void test_memory_given_back_is_clean_when_it_is_used_again(void **state)
{
	CUmemoryPool pool = create_pool(fd_type);
	CUdeviceptr address;
	uint32_t value = 1;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_ok(cuMemAllocFromPoolAsync(&address, 3 * MIB, pool, NULL));
		assert_ok(cuMemcpyDtoH(&value, address, sizeof(value)));
		assert_int_equal(value, 0);
		assert_ok(cuMemsetD32(address, 8, 1));
		assert_ok(cuMemFreeAsync(address, NULL));
		assert_ok(cuMemPoolTrimTo(pool, 0));
	}
	assert_ok(cuMemPoolDestroy(pool));
}

/* "may not be used in cuDeviceSetMemPool or cuMemAllocFromPoolAsync calls" */
static void test_imported_pool_hands_nothing_out(void **state)
{
	CUmemoryPool pool = create_pool(fd_type), imported = import_pool(pool);
	CUdeviceptr address;
	cuuint64_t reserved = 1;
	int fd;

	(void)state;
	assert_invalid(cuMemAllocFromPoolAsync(&address, 512, imported, NULL));
	assert_invalid(cuDeviceSetMemPool(0, imported));
	assert_invalid(cuMemPoolExportToShareableHandle(&fd, imported, fd_type, 0));
	assert_ok(cuMemPoolGetAttribute(imported, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
	assert_int_equal(reserved, 0);
	assert_ok(cuMemPoolDestroy(imported));
	assert_ok(cuMemPoolDestroy(pool));
}

static void test_imported_pool_has_access_of_its_own(void **state)
{
	CUmemoryPool pool = create_pool(fd_type), imported;
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;

	(void)state;
	assert_ok(cuMemPoolSetAccess(pool, &access, 1));
	imported = import_pool(pool);
	/* "does not inherit any accessibility set by the exporting process" */
	assert_ok(cuMemPoolGetAccess(&flags, imported, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_ok(cuMemPoolSetAccess(imported, &access, 1));
	assert_ok(cuMemPoolGetAccess(&flags, imported, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	access.location.id = 0;
	assert_ok(cuMemPoolGetAccess(&flags, imported, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_ok(cuMemPoolDestroy(pool));
	assert_ok(cuMemPoolDestroy(imported));
}

static void test_only_pools_made_for_it_are_exported(void **state)
{
	CUmemoryPool plain = create_pool(CU_MEM_HANDLE_TYPE_NONE), pool = create_pool(fd_type);
	CUmemPoolPtrExportData data;
	CUdeviceptr address;
	int fd;

	(void)state;
	assert_invalid(cuMemPoolExportToShareableHandle(&fd, plain, fd_type, 0));
	assert_invalid(cuMemPoolExportToShareableHandle(&fd, NULL, fd_type, 0));
	assert_invalid(cuMemPoolExportToShareableHandle(NULL, pool, fd_type, 0));
	assert_invalid(cuMemPoolExportToShareableHandle(&fd, pool, fd_type, 1));
	assert_invalid(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_NONE, 0));
	assert_result(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_FABRIC, 0),
		      CUDA_ERROR_NOT_SUPPORTED);
	assert_ok(cuMemAllocFromPoolAsync(&address, 512, plain, NULL));
	assert_invalid(cuMemPoolExportPointer(&data, address));
	assert_invalid(cuMemPoolExportPointer(&data, 0));
	assert_ok(cuMemFreeAsync(address, NULL));
	assert_ok(cuMemPoolDestroy(plain));
	assert_ok(cuMemPoolDestroy(pool));
}

static void test_what_cannot_be_imported(void **state)
{
	CUmemoryPool pool = create_pool(fd_type), imported = import_pool(pool), other;
	CUmemPoolPtrExportData data, broken;
	CUdeviceptr address, opened;

	(void)state;
	assert_ok(cuMemAllocFromPoolAsync(&address, 512, pool, NULL));
	assert_ok(cuMemPoolExportPointer(&data, address));
	assert_invalid(cuMemPoolImportPointer(&opened, pool, &data));     /* its own pool */
	assert_invalid(cuMemPoolImportPointer(&opened, imported, &data)); /* it is here already */
	assert_invalid(cuMemPoolImportPointer(NULL, imported, &data));
	assert_invalid(cuMemPoolImportPointer(&opened, imported, NULL));
	for (size_t i = 0; i < sizeof(data); i++) {
		broken = data;
		broken.reserved[i] ^= 0x55;
		assert_invalid(cuMemPoolImportPointer(&opened, imported, &broken));
	}
	assert_invalid(cuMemPoolImportFromShareableHandle(&other, (void *)(intptr_t)0, fd_type, 0));
	assert_invalid(cuMemPoolImportFromShareableHandle(NULL, (void *)(intptr_t)0, fd_type, 0));
	assert_result(
		cuMemPoolImportFromShareableHandle(&other, &data, CU_MEM_HANDLE_TYPE_FABRIC, 0),
		CUDA_ERROR_NOT_SUPPORTED);
	assert_ok(cuMemFreeAsync(address, NULL));
	assert_invalid(cuMemPoolImportPointer(&opened, imported, &data)); /* it is freed */
	assert_ok(cuMemPoolDestroy(imported));
	assert_ok(cuMemPoolDestroy(pool));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_shareable_pool_works_like_any_other),
		TEST(test_memory_given_back_is_clean_when_it_is_used_again),
		TEST(test_imported_pool_hands_nothing_out),
		TEST(test_imported_pool_has_access_of_its_own),
		TEST(test_only_pools_made_for_it_are_exported),
		TEST(test_what_cannot_be_imported),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
