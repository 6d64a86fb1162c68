#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define SIZE (3 * MIB)

/* One piece of memory of each kind, and what is to be said of it. */
struct kind {
	const char *name;
	CUdeviceptr address;
	bool has_context;
	bool is_host; /* located on the host */
	bool is_managed;
	bool is_device; /* of cuMemAlloc: the kind that could be shared the old way */
	CUmemoryPool pool;
};

enum {
	DEVICE,
	MANAGED,
	PINNED,
	REGISTERED,
	POOL,
	HOST_POOL,
	MAPPED,
	HOST_MAPPED,
	NR_KINDS
};

static struct kind kinds[NR_KINDS];
static CUcontext context;
static void *own;
static CUmemoryPool default_pool, host_pool;

static CUdeviceptr map_new(CUmemLocationType type)
{
	const CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = {.type = type}};
	const CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	/* more is reserved than is mapped */
	assert_ok(cuMemAddressReserve(&address, 4 * PAGE, 0, 0, 0));
	assert_ok(cuMemCreate(&handle, 2 * PAGE, &props, 0));
	assert_ok(cuMemMap(address + PAGE, 2 * PAGE, 0, handle, 0));
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemSetAccess(address + PAGE, 2 * PAGE, &desc, 1));
	return address + PAGE;
}

static int begin(void **state)
{
	const CUmemPoolProps host_props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = {.type = CU_MEM_LOCATION_TYPE_HOST}};
	CUdeviceptr address;
	void *host;

	(void)state;
	context = sg_rig_open();
	assert_ok(cuDeviceGetDefaultMemPool(&default_pool, 0));
	assert_ok(cuMemPoolCreate(&host_pool, &host_props));
	assert_ok(cuMemAlloc(&address, SIZE));
	kinds[DEVICE] = (struct kind){"device", address, true, .is_device = true};
	assert_ok(cuMemAllocManaged(&address, SIZE, CU_MEM_ATTACH_GLOBAL));
	kinds[MANAGED] = (struct kind){"managed", address, true, .is_managed = true};
	assert_ok(cuMemAllocHost(&host, SIZE));
	kinds[PINNED] = (struct kind){"pinned", (uintptr_t)host, true, .is_host = true};
	own = malloc(SIZE);
	assert_ok(cuMemHostRegister(own, SIZE, 0));
	kinds[REGISTERED] = (struct kind){"registered", (uintptr_t)own, true, .is_host = true};
	assert_ok(cuMemAllocAsync(&address, SIZE, NULL));
	kinds[POOL] = (struct kind){"pool", address, .pool = default_pool};
	assert_ok(cuMemAllocFromPoolAsync(&address, SIZE, host_pool, NULL));
	kinds[HOST_POOL] = (struct kind){"host pool", address, .is_host = true, .pool = host_pool};
	kinds[MAPPED] =
		(struct kind){"mapped", map_new(CU_MEM_LOCATION_TYPE_DEVICE), .is_host = false};
	kinds[HOST_MAPPED] = (struct kind){"mapped on the host", map_new(CU_MEM_LOCATION_TYPE_HOST),
					   .is_host = true};
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuMemFreeAsync(kinds[POOL].address, NULL));
	assert_ok(cuMemFreeAsync(kinds[HOST_POOL].address, NULL));
	assert_ok(cuMemPoolDestroy(host_pool));
	for (int i = MAPPED; i <= HOST_MAPPED; i++) {
		assert_ok(cuMemUnmap(kinds[i].address, 2 * PAGE));
		assert_ok(cuMemAddressFree(kinds[i].address - PAGE, 4 * PAGE));
	}
	assert_ok(cuCtxSynchronize());
	assert_ok(cuCtxDestroy(context));
	free(own);
	return 0;
}

static int get_int(CUdeviceptr address, CUpointer_attribute attribute)
{
	int value = -77;

	assert_ok(cuPointerGetAttribute(&value, attribute, address));
	return value;
}

static unsigned long long get_number(CUdeviceptr address, CUpointer_attribute attribute)
{
	unsigned long long value = 0x7777;

	assert_ok(cuPointerGetAttribute(&value, attribute, address));
	return value;
}

/* At the start and somewhere inside. */
#define for_each_address(kind, address)                                                   \
	for (const struct kind *kind = kinds; kind < kinds + NR_KINDS; kind++)            \
		for (CUdeviceptr address = kind->address; address < kind->address + SIZE; \
		     address += 1234567)

static void test_context_is_where_it_was_allocated(void **state)
{
	(void)state;
	for_each_address(kind, address)
	{
		CUcontext found = (CUcontext)own;

		assert_ok(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, address));
		assert_ptr_equal(found, kind->has_context ? context : NULL);
	}
}

static void test_memory_type_is_where_it_lies(void **state)
{
	(void)state;
	for_each_address(kind, address)
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
				 kind->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
}

static void test_addresses_are_the_same_on_both_sides(void **state)
{
	(void)state;
	for_each_address(kind, address)
	{
		unsigned long long host = 0;
		CUresult result =
			cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address);

		assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER), address);
		if (kind->is_host || kind->is_managed) {
			assert_ok(result);
			assert_int_equal(host, address);
		} else {
			assert_result(result, CUDA_ERROR_INVALID_VALUE);
		}
	}
}

static void test_flags_of_each_kind(void **state)
{
	(void)state;
	for_each_address(kind, address)
	{
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_IS_MANAGED),
				 kind->is_managed);
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE),
				 kind->is_device);
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_MAPPED), 1);
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE),
				 0);
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE),
				 0);
		assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
				 CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
		assert_true((CUmemoryPool)(uintptr_t)get_number(
				    address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) == kind->pool);
		assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES),
				 CU_MEM_HANDLE_TYPE_NONE);
	}
}

static void test_range_is_what_was_asked_for(void **state)
{
	(void)state;
	for_each_address(kind, address)
	{
		bool is_mapped = kind == &kinds[MAPPED] || kind == &kinds[HOST_MAPPED];
		CUdeviceptr base;
		size_t size;

		assert_ok(cuMemGetAddressRange(&base, &size, address));
		assert_int_equal(base, kind->address);
		assert_int_equal(size, is_mapped ? 2 * PAGE : SIZE);
		assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR),
				 kind->address);
		assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_MAPPING_SIZE), size);
		if (is_mapped)
			continue;
		assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), base);
		assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_RANGE_SIZE), SIZE);
	}
}

/* "not necessarily the size of the mapped region, but of the mappable address range" */
static void test_range_of_a_mapping_is_the_reservation(void **state)
{
	(void)state;
	for (int i = MAPPED; i <= HOST_MAPPED; i++) {
		CUdeviceptr start = kinds[i].address - PAGE;

		/* reserved only, mapped, mapped, reserved only */
		for (size_t page = 0; page < 4; page++) {
			CUdeviceptr address = start + page * PAGE + 5;

			assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR),
					 start);
			assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_RANGE_SIZE),
					 4 * PAGE);
			assert_int_equal(get_int(address, CU_POINTER_ATTRIBUTE_MAPPED),
					 page == 1 || page == 2);
		}
		assert_invalid(
			cuPointerGetAttribute(&(int){0}, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, start));
	}
}

static void test_address_range_may_be_asked_in_part(void **state)
{
	CUdeviceptr base;
	size_t size;
	int local;

	(void)state;
	assert_ok(cuMemGetAddressRange(&base, NULL, kinds[DEVICE].address + 5));
	assert_int_equal(base, kinds[DEVICE].address);
	assert_ok(cuMemGetAddressRange(NULL, &size, kinds[DEVICE].address + SIZE - 1));
	assert_int_equal(size, SIZE);
	assert_result(cuMemGetAddressRange(&base, &size, kinds[DEVICE].address + SIZE),
		      CUDA_ERROR_NOT_FOUND);
	assert_result(cuMemGetAddressRange(&base, &size, (uintptr_t)&local), CUDA_ERROR_NOT_FOUND);
}

static void test_buffer_ids_are_unique_and_not_used_again(void **state)
{
	unsigned long long last = 0;
	CUdeviceptr address;

	(void)state;
	for (int i = 0; i < NR_KINDS; i++)
		for (int j = 0; j < i; j++)
			assert_true(get_number(kinds[i].address, CU_POINTER_ATTRIBUTE_BUFFER_ID) !=
				    get_number(kinds[j].address, CU_POINTER_ATTRIBUTE_BUFFER_ID));
	for (int i = 0; i < 100; i++) {
		unsigned long long id;

		assert_ok(cuMemAlloc(&address, 100));
		id = get_number(address, CU_POINTER_ATTRIBUTE_BUFFER_ID);
		assert_true(id > last);
		last = id;
		assert_ok(cuMemFree(address));
	}
}

static void test_mappings_of_one_memory_have_one_block_id(void **state)
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr second = kinds[MAPPED].address - PAGE;

	(void)state;
	assert_ok(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)kinds[MAPPED].address));
	assert_ok(cuMemMap(second, PAGE, 0, handle, 0));
	assert_ok(cuMemRelease(handle));
	assert_int_equal(get_number(second, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID),
			 get_number(kinds[MAPPED].address, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID));
	assert_ok(cuMemUnmap(second, PAGE));
	for (int i = 0; i < NR_KINDS; i++)
		for (int j = 0; j < i; j++)
			assert_true(
				get_number(kinds[i].address,
					   CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID) !=
				get_number(kinds[j].address, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID));
}

static void test_access_flags_are_those_of_the_current_device(void **state)
{
	const CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READ};
	CUcontext second;

	(void)state;
	assert_ok(cuMemSetAccess(kinds[MAPPED].address, 2 * PAGE, &desc, 1));
	assert_int_equal(get_int(kinds[MAPPED].address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
			 CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ);
	assert_ok(cuCtxCreate(&second, NULL, 0, 1));
	assert_int_equal(get_int(kinds[MAPPED].address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
			 CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
	assert_int_equal(get_int(kinds[POOL].address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
			 CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
	assert_int_equal(get_int(kinds[PINNED].address, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS),
			 CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
	assert_ok(cuCtxDestroy(second));
}

static void test_handle_types_are_those_asked_for(void **state)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemoryPool pool;
	CUdeviceptr address;

	(void)state;
	assert_ok(cuMemPoolCreate(&pool, &props));
	assert_ok(cuMemAllocFromPoolAsync(&address, 1, pool, NULL));
	assert_int_equal(get_number(address, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES),
			 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	assert_ok(cuMemFreeAsync(address, NULL));
	assert_ok(cuMemPoolDestroy(pool));
}

static void test_sync_memops_is_read_back(void **state)
{
	unsigned one = 1, zero = 0;

	(void)state;
	assert_int_equal(get_int(kinds[DEVICE].address, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 0);
	assert_ok(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					kinds[DEVICE].address));
	assert_int_equal(get_int(kinds[DEVICE].address + 10, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 1);
	assert_ok(cuPointerSetAttribute(&zero, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					kinds[DEVICE].address));
	assert_int_equal(get_int(kinds[DEVICE].address, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS), 0);
	assert_invalid(
		cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_CONTEXT, kinds[DEVICE].address));
	assert_invalid(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					     kinds[DEVICE].address));
	assert_result(
		cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (uintptr_t)&one),
		CUDA_ERROR_INVALID_DEVICE);
}

static void test_unknown_memory_and_attributes_are_invalid(void **state)
{
	unsigned long long value;

	(void)state;
	for (int attribute = 1; attribute <= 21; attribute++) {
		assert_invalid(cuPointerGetAttribute(&value, (CUpointer_attribute)attribute,
						     (uintptr_t)&value));
		assert_invalid(cuPointerGetAttribute(&value, (CUpointer_attribute)attribute, 0));
		assert_invalid(cuPointerGetAttribute(NULL, (CUpointer_attribute)attribute,
						     kinds[DEVICE].address));
	}
	assert_invalid(
		cuPointerGetAttribute(&value, (CUpointer_attribute)0, kinds[DEVICE].address));
	assert_invalid(
		cuPointerGetAttribute(&value, (CUpointer_attribute)999, kinds[DEVICE].address));
}

static void test_several_attributes_at_once(void **state)
{
	CUpointer_attribute attributes[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_HOST_POINTER};
	CUcontext found;
	unsigned type;
	int is_managed, device;
	void *host;
	void *data[] = {&found, &type, &is_managed, &device, &host};

	(void)state;
	assert_ok(cuPointerGetAttributes(5, attributes, data, kinds[MANAGED].address));
	assert_ptr_equal(found, context);
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(is_managed, 1);
	assert_int_equal(device, 0);
	assert_ptr_equal(host, (void *)(uintptr_t)kinds[MANAGED].address);
	/* where the single question is an error, this one answers with nothing */
	assert_ok(cuPointerGetAttributes(5, attributes, data, kinds[DEVICE].address));
	assert_ptr_equal(found, context);
	assert_null(host);
}

static void test_several_attributes_of_unknown_memory_are_zero(void **state)
{
	CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
					    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					    CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
	CUcontext found = context;
	unsigned type = 5;
	CUdeviceptr address = 5;
	void *data[] = {&found, &type, &address};

	(void)state;
	assert_ok(cuPointerGetAttributes(3, attributes, data, (uintptr_t)&type));
	assert_null(found);
	assert_int_equal(type, 0);
	assert_int_equal(address, 0);
	assert_invalid(cuPointerGetAttributes(0, attributes, data, (uintptr_t)&type));
	assert_invalid(cuPointerGetAttributes(3, NULL, data, (uintptr_t)&type));
	assert_invalid(cuPointerGetAttributes(3, attributes, NULL, (uintptr_t)&type));
	data[1] = NULL;
	assert_invalid(cuPointerGetAttributes(3, attributes, data, (uintptr_t)&type));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_context_is_where_it_was_allocated),
		TEST(test_memory_type_is_where_it_lies),
		TEST(test_addresses_are_the_same_on_both_sides),
		TEST(test_flags_of_each_kind),
		TEST(test_range_is_what_was_asked_for),
		TEST(test_range_of_a_mapping_is_the_reservation),
		TEST(test_address_range_may_be_asked_in_part),
		TEST(test_buffer_ids_are_unique_and_not_used_again),
		TEST(test_mappings_of_one_memory_have_one_block_id),
		TEST(test_access_flags_are_those_of_the_current_device),
		TEST(test_handle_types_are_those_asked_for),
		TEST(test_sync_memops_is_read_back),
		TEST(test_unknown_memory_and_attributes_are_invalid),
		TEST(test_several_attributes_at_once),
		TEST(test_several_attributes_of_unknown_memory_are_zero),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
