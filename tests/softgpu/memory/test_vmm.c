#include <string.h>

#include "rig.h"

#define CAPACITY (256 * MIB)
#define OVERHEAD (16 * MIB)
#define ROOM     (CAPACITY - OVERHEAD)

typedef CUmemGenericAllocationHandle handle_t;

static CUcontext context;

static const CUmemAllocationProp device_props = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};
static const CUmemAllocationProp host_props = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {.type = CU_MEM_LOCATION_TYPE_HOST},
};

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	assert_int_equal(sg_rig_get_free(), ROOM);
	return 0;
}

/* Every test gives back all it took; one that failed does not take the next along. */
static int end(void **state)
{
	size_t free_size = sg_rig_get_free();

	(void)state;
	assert_ok(cuDevicePrimaryCtxReset(0));
	assert_ok(cuCtxDestroy(context));
	assert_int_equal(free_size, ROOM);
	return 0;
}

static CUdeviceptr reserve(size_t size)
{
	CUdeviceptr address = 0;

	assert_ok(cuMemAddressReserve(&address, size, 0, 0, 0));
	assert_int_equal(address % PAGE, 0);
	return address;
}

static handle_t create(size_t size)
{
	handle_t handle = 0;

	assert_ok(cuMemCreate(&handle, size, &device_props, 0));
	return handle;
}

static void allow(CUdeviceptr address, size_t size, CUmemAccess_flags flags)
{
	const CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				      .flags = flags};

	assert_ok(cuMemSetAccess(address, size, &desc, 1));
}

/* Physical memory at an address, readable and writable; the handle is released already. */
static CUdeviceptr map_new(size_t size)
{
	CUdeviceptr address = reserve(size);
	handle_t handle = create(size);

	assert_ok(cuMemMap(address, size, 0, handle, 0));
	assert_ok(cuMemRelease(handle));
	allow(address, size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	return address;
}

static void unmap(CUdeviceptr address, size_t size)
{
	assert_ok(cuMemUnmap(address, size));
	assert_ok(cuMemAddressFree(address, size));
}

static void write_byte(CUdeviceptr address, char byte)
{
	assert_ok(cuMemcpyHtoD(address, &byte, 1));
}

static int read_byte(CUdeviceptr address)
{
	char byte = 0;

	assert_ok(cuMemcpyDtoH(&byte, address, 1));
	return byte;
}

static void test_reserved_addresses_cost_no_memory(void **state)
{
	CUdeviceptr address = reserve(100 * GIB);

	(void)state;
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_ok(cuMemAddressFree(address, 100 * GIB));
}

static void test_reservation_has_the_asked_alignment(void **state)
{
	CUdeviceptr address;

	(void)state;
	for (size_t alignment = 1; alignment <= GIB; alignment *= 2) {
		assert_ok(cuMemAddressReserve(&address, PAGE, alignment, 0, 0));
		assert_int_equal(address % alignment, 0);
		assert_int_equal(address % PAGE, 0);
		assert_ok(cuMemAddressFree(address, PAGE));
	}
	assert_invalid(cuMemAddressReserve(&address, PAGE, 3 * PAGE, 0, 0));
}

static void test_reservations_do_not_overlap(void **state)
{
	CUdeviceptr ranges[20];

	(void)state;
	for (int i = 0; i < 20; i++) {
		ranges[i] = reserve(10 * PAGE);
		for (int j = 0; j < i; j++)
			assert_true(ranges[j] + 10 * PAGE <= ranges[i] ||
				    ranges[i] + 10 * PAGE <= ranges[j]);
	}
	for (int i = 0; i < 20; i++)
		assert_ok(cuMemAddressFree(ranges[i], 10 * PAGE));
}

static void test_hint_is_followed_where_the_address_is_free(void **state)
{
	CUdeviceptr wide = reserve(100 * PAGE), first, second;

	(void)state;
	assert_ok(cuMemAddressFree(wide, 100 * PAGE));
	assert_ok(cuMemAddressReserve(&first, 10 * PAGE, 0, wide + 20 * PAGE, 0));
	assert_int_equal(first, wide + 20 * PAGE);
	/* programs grow an array by asking for what comes behind it */
	assert_ok(cuMemAddressReserve(&second, 10 * PAGE, 0, first + 10 * PAGE, 0));
	assert_int_equal(second, first + 10 * PAGE);
	assert_ok(cuMemAddressFree(first, 10 * PAGE));
	assert_ok(cuMemAddressFree(second, 10 * PAGE));
}

static void test_hint_that_is_taken_gives_another_address(void **state)
{
	CUdeviceptr first = reserve(PAGE), second;

	(void)state;
	assert_ok(cuMemAddressReserve(&second, PAGE, 0, first, 0));
	assert_true(second != first);
	assert_ok(cuMemAddressFree(first, PAGE));
	assert_ok(cuMemAddressFree(second, PAGE));
}

static void test_bad_arguments_of_reserve(void **state)
{
	CUdeviceptr address;

	(void)state;
	assert_invalid(cuMemAddressReserve(NULL, PAGE, 0, 0, 0));
	assert_invalid(cuMemAddressReserve(&address, 0, 0, 0, 0));
	assert_invalid(cuMemAddressReserve(&address, PAGE, 0, 0, 1));
	assert_result(cuMemAddressReserve(&address, SIZE_MAX & ~(PAGE - 1), 0, 0, 0),
		      CUDA_ERROR_OUT_OF_MEMORY);
	assert_result(cuMemAddressReserve(&address, PAGE, (size_t)1 << 63, 0, 0),
		      CUDA_ERROR_OUT_OF_MEMORY);
}

/* "The size and address parameters must be a multiple of the host page size." */
static void test_reservation_is_in_host_pages(void **state)
{
	CUdeviceptr address;

	(void)state;
	assert_invalid(cuMemAddressReserve(&address, 1, 0, 0, 0));
	assert_invalid(cuMemAddressReserve(&address, PAGE + 1, 0, 0, 0));
	assert_invalid(cuMemAddressReserve(&address, PAGE, 0, 12345, 0));
	assert_ok(cuMemAddressReserve(&address, PAGE + 4096, 0, 0, 0));
	assert_ok(cuMemAddressFree(address, PAGE + 4096));
}

static void test_reservation_is_freed_as_a_whole(void **state)
{
	CUdeviceptr address = reserve(4 * PAGE);

	(void)state;
	assert_invalid(cuMemAddressFree(address, 2 * PAGE));
	assert_invalid(cuMemAddressFree(address, 5 * PAGE));
	assert_invalid(cuMemAddressFree(address + PAGE, 3 * PAGE));
	assert_invalid(cuMemAddressFree(0, PAGE));
	assert_ok(cuMemAddressFree(address, 4 * PAGE));
	assert_invalid(cuMemAddressFree(address, 4 * PAGE));
}

static void test_mapped_reservation_cannot_be_freed(void **state)
{
	CUdeviceptr address = reserve(4 * PAGE);
	handle_t handle = create(PAGE);

	(void)state;
	assert_ok(cuMemMap(address + 2 * PAGE, PAGE, 0, handle, 0));
	assert_invalid(cuMemAddressFree(address, 4 * PAGE));
	assert_ok(cuMemUnmap(address + 2 * PAGE, PAGE));
	assert_ok(cuMemAddressFree(address, 4 * PAGE));
	assert_ok(cuMemRelease(handle));
}

static void test_granularity_is_a_page(void **state)
{
	size_t granularity = 0;

	(void)state;
	assert_ok(cuMemGetAllocationGranularity(&granularity, &device_props,
						CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(granularity, PAGE);
	assert_ok(cuMemGetAllocationGranularity(&granularity, &device_props,
						CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
	assert_int_equal(granularity, PAGE);
	assert_invalid(cuMemGetAllocationGranularity(NULL, &device_props, 0));
	assert_invalid(cuMemGetAllocationGranularity(&granularity, NULL, 0));
	assert_invalid(cuMemGetAllocationGranularity(&granularity, &device_props, 7));
}

static void test_physical_memory_is_charged_when_it_is_created(void **state)
{
	handle_t handle = create(10 * PAGE);

	(void)state;
	assert_int_equal(sg_rig_get_free(), ROOM - 10 * PAGE);
	assert_ok(cuMemRelease(handle));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_invalid(cuMemRelease(handle));
}

static void test_bad_arguments_of_create(void **state)
{
	CUmemAllocationProp props;
	handle_t handle;

	(void)state;
	assert_invalid(cuMemCreate(NULL, PAGE, &device_props, 0));
	assert_invalid(cuMemCreate(&handle, PAGE, NULL, 0));
	assert_invalid(cuMemCreate(&handle, 0, &device_props, 0));
	assert_invalid(cuMemCreate(&handle, PAGE - 1, &device_props, 0));
	assert_invalid(cuMemCreate(&handle, PAGE, &device_props, 1));
	props = device_props;
	props.type = CU_MEM_ALLOCATION_TYPE_INVALID;
	assert_invalid(cuMemCreate(&handle, PAGE, &props, 0));
	props = device_props;
	props.location.type = CU_MEM_LOCATION_TYPE_INVALID;
	assert_invalid(cuMemCreate(&handle, PAGE, &props, 0));
	props.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	assert_invalid(cuMemCreate(&handle, PAGE, &props, 0));
	props = device_props;
	props.location.id = 9;
	assert_result(cuMemCreate(&handle, PAGE, &props, 0), CUDA_ERROR_INVALID_DEVICE);
	/* "HOST allocations are not IPC capable" */
	props = host_props;
	props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_invalid(cuMemCreate(&handle, PAGE, &props, 0));
}

static void test_out_of_memory_is_exact(void **state)
{
	handle_t first = create(ROOM - PAGE), last, none = 7;

	(void)state;
	assert_result(cuMemCreate(&none, 2 * PAGE, &device_props, 0), CUDA_ERROR_OUT_OF_MEMORY);
	last = create(PAGE);
	assert_int_equal(sg_rig_get_free(), 0);
	assert_result(cuMemCreate(&none, PAGE, &device_props, 0), CUDA_ERROR_OUT_OF_MEMORY);
	assert_result(cuMemCreate(&none, SIZE_MAX & ~(PAGE - 1), &device_props, 0),
		      CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(none, 7);
	assert_ok(cuMemRelease(first));
	assert_ok(cuMemRelease(last));
}

static void test_mapping_must_lie_in_reserved_addresses(void **state)
{
	CUdeviceptr address = reserve(4 * PAGE);
	handle_t handle = create(8 * PAGE);

	(void)state;
	assert_invalid(cuMemMap(address + 3 * PAGE, 2 * PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(address - PAGE, 2 * PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(address, 8 * PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(0, PAGE, 0, handle, 0));
	assert_ok(cuMemMap(address, 4 * PAGE, 0, handle, 0));
	assert_ok(cuMemRelease(handle));
	unmap(address, 4 * PAGE);
}

static void test_bad_arguments_of_map(void **state)
{
	CUdeviceptr address = reserve(4 * PAGE);
	handle_t handle = create(2 * PAGE);

	(void)state;
	assert_invalid(cuMemMap(address, 0, 0, handle, 0));
	assert_invalid(cuMemMap(address, PAGE / 2, 0, handle, 0));
	assert_invalid(cuMemMap(address + 4096, PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(address, PAGE, PAGE, handle, 0)); /* "currently must be zero" */
	assert_invalid(cuMemMap(address, PAGE, 0, handle, 1));
	assert_invalid(cuMemMap(address, 3 * PAGE, 0, handle, 0)); /* larger than the handle */
	assert_invalid(cuMemMap(address, PAGE, 0, 0, 0));
	assert_invalid(cuMemMap(address, PAGE, 0, handle + 1, 0));
	assert_ok(cuMemRelease(handle));
	assert_invalid(cuMemMap(address, PAGE, 0, handle, 0));
	assert_ok(cuMemAddressFree(address, 4 * PAGE));
}

static void test_mapped_addresses_cannot_be_mapped_again(void **state)
{
	CUdeviceptr address = reserve(4 * PAGE);
	handle_t handle = create(2 * PAGE);

	(void)state;
	assert_ok(cuMemMap(address + PAGE, 2 * PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(address + PAGE, PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(address, 2 * PAGE, 0, handle, 0));
	assert_invalid(cuMemMap(address + 2 * PAGE, 2 * PAGE, 0, handle, 0));
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	assert_ok(cuMemMap(address + 3 * PAGE, PAGE, 0, handle, 0));
	assert_ok(cuMemRelease(handle));
	unmap(address, 4 * PAGE);
}

static void test_no_access_without_set_access(void **state)
{
	CUdeviceptr address = reserve(PAGE);
	handle_t handle = create(PAGE);
	char byte = 0;

	(void)state;
	assert_invalid(cuMemsetD8(address, 1, 1)); /* only reserved */
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	assert_invalid(cuMemcpyHtoD(address, &byte, 1));
	assert_invalid(cuMemcpyDtoH(&byte, address, 1));
	assert_invalid(cuMemcpy((CUdeviceptr)(uintptr_t)&byte, address, 1));
	assert_invalid(cuMemcpy(address, (CUdeviceptr)(uintptr_t)&byte, 1));
	assert_invalid(cuMemsetD8(address, 1, 1));
	allow(address, PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	write_byte(address, 1);
	assert_int_equal(read_byte(address), 1);
	assert_ok(cuMemRelease(handle));
	unmap(address, PAGE);
}

static void test_read_access_does_not_allow_writes(void **state)
{
	CUdeviceptr address = map_new(PAGE);
	char byte = 1;

	(void)state;
	allow(address, PAGE, CU_MEM_ACCESS_FLAGS_PROT_READ);
	assert_ok(cuMemcpyDtoH(&byte, address, 1));
	assert_invalid(cuMemcpyHtoD(address, &byte, 1));
	assert_invalid(cuMemsetD8(address, 1, 1));
	allow(address, PAGE, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_invalid(cuMemcpyDtoH(&byte, address, 1));
	unmap(address, PAGE);
}

static void test_new_mapping_starts_without_access(void **state)
{
	CUdeviceptr address = map_new(PAGE);
	handle_t handle = create(PAGE);

	(void)state;
	assert_ok(cuMemUnmap(address, PAGE));
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	assert_invalid(cuMemsetD8(address, 1, 1));
	assert_ok(cuMemRelease(handle));
	unmap(address, PAGE);
}

static void test_access_is_set_on_whole_mappings(void **state)
{
	const CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address = reserve(4 * PAGE);
	handle_t handle = create(2 * PAGE);

	(void)state;
	assert_ok(cuMemMap(address, 2 * PAGE, 0, handle, 0));
	assert_invalid(cuMemSetAccess(address, PAGE, &desc, 1));
	assert_invalid(cuMemSetAccess(address + PAGE, PAGE, &desc, 1));
	assert_invalid(cuMemSetAccess(address, 3 * PAGE, &desc, 1));
	assert_invalid(cuMemSetAccess(address + 2 * PAGE, PAGE, &desc, 1));
	assert_invalid(cuMemsetD8(address, 1, 1));
	assert_ok(cuMemMap(address + 2 * PAGE, 2 * PAGE, 0, handle, 0));
	/* over several mappings at once */
	assert_ok(cuMemSetAccess(address, 4 * PAGE, &desc, 1));
	assert_ok(cuMemsetD8(address, 1, 4 * PAGE));
	assert_ok(cuMemRelease(handle));
	unmap(address, 4 * PAGE);
}

static void test_bad_arguments_of_set_access(void **state)
{
	CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address = map_new(PAGE);

	(void)state;
	assert_invalid(cuMemSetAccess(address, 0, &desc, 1));
	assert_invalid(cuMemSetAccess(address, PAGE, NULL, 1));
	assert_invalid(cuMemSetAccess(address, PAGE, &desc, 0));
	desc.flags = 2;
	assert_invalid(cuMemSetAccess(address, PAGE, &desc, 1));
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	desc.location.id = 9;
	assert_result(cuMemSetAccess(address, PAGE, &desc, 1), CUDA_ERROR_INVALID_DEVICE);
	desc.location.type = CU_MEM_LOCATION_TYPE_INVALID;
	assert_invalid(cuMemSetAccess(address, PAGE, &desc, 1));
	write_byte(address, 1); /* none of them changed anything */
	unmap(address, PAGE);
}

/* "Users cannot specify HOST_NUMA accessibility for allocations created on with other types" */
static void test_host_node_has_no_access_to_memory_of_a_device(void **state)
{
	const CUmemAccessDesc desc = {.location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA},
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address = map_new(PAGE);

	(void)state;
	assert_invalid(cuMemSetAccess(address, PAGE, &desc, 1));
	unmap(address, PAGE);
}

static void test_access_can_be_asked(void **state)
{
	CUmemLocation own = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	CUmemLocation other = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
	CUdeviceptr address = map_new(PAGE);
	unsigned long long flags = 9;

	(void)state;
	assert_ok(cuMemGetAccess(&flags, &own, address + 100));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_ok(cuMemGetAccess(&flags, &other, address));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_invalid(cuMemGetAccess(NULL, &own, address));
	assert_invalid(cuMemGetAccess(&flags, NULL, address));
	assert_invalid(cuMemGetAccess(&flags, &own, address + PAGE));
	other.id = 9;
	assert_result(cuMemGetAccess(&flags, &other, address), CUDA_ERROR_INVALID_DEVICE);
	unmap(address, PAGE);
}

static void test_only_whole_mappings_are_unmapped(void **state)
{
	CUdeviceptr address = reserve(6 * PAGE);
	handle_t handle = create(2 * PAGE);

	(void)state;
	assert_ok(cuMemMap(address, 2 * PAGE, 0, handle, 0));
	assert_ok(cuMemMap(address + 2 * PAGE, 2 * PAGE, 0, handle, 0));
	assert_invalid(cuMemUnmap(address, PAGE));
	assert_invalid(cuMemUnmap(address + PAGE, PAGE));
	assert_invalid(cuMemUnmap(address + PAGE, 2 * PAGE));
	assert_invalid(cuMemUnmap(address, 3 * PAGE));
	assert_invalid(cuMemUnmap(address, 6 * PAGE));
	assert_invalid(cuMemUnmap(address, 0));
	assert_invalid(cuMemUnmap(address + 4 * PAGE, PAGE));
	assert_ok(cuMemUnmap(address, 4 * PAGE));
	assert_invalid(cuMemUnmap(address, 4 * PAGE));
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemAddressFree(address, 6 * PAGE));
}

static void test_memory_lives_until_released_and_unmapped(void **state)
{
	CUdeviceptr address = reserve(PAGE);
	handle_t handle = create(PAGE);

	(void)state;
	/* released first */
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	allow(address, PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_ok(cuMemRelease(handle));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	write_byte(address, 5);
	assert_int_equal(read_byte(address), 5);
	assert_ok(cuMemUnmap(address, PAGE));
	assert_int_equal(sg_rig_get_free(), ROOM);
	/* unmapped first */
	handle = create(PAGE);
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	assert_ok(cuMemUnmap(address, PAGE));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemAddressFree(address, PAGE));
}

static void test_bytes_survive_an_unmapping(void **state)
{
	CUdeviceptr first = reserve(PAGE), second = reserve(PAGE);
	handle_t handle = create(PAGE);

	(void)state;
	assert_ok(cuMemMap(first, PAGE, 0, handle, 0));
	allow(first, PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	write_byte(first + 1234, 5);
	assert_ok(cuMemUnmap(first, PAGE));
	assert_ok(cuMemMap(second, PAGE, 0, handle, 0));
	allow(second, PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_int_equal(read_byte(second + 1234), 5);
	assert_ok(cuMemRelease(handle));
	unmap(second, PAGE);
	assert_ok(cuMemAddressFree(first, PAGE));
}

static void test_new_physical_memory_reads_as_zero(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		CUdeviceptr address = map_new(PAGE);

		assert_int_equal(read_byte(address + PAGE - 1), 0);
		write_byte(address + PAGE - 1, 1);
		unmap(address, PAGE);
	}
}

static void test_two_mappings_show_the_same_bytes_and_cost_once(void **state)
{
	CUdeviceptr address = reserve(3 * PAGE);
	handle_t handle = create(PAGE);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_ok(cuMemMap(address + i * PAGE, PAGE, 0, handle, 0));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	allow(address, 3 * PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	write_byte(address + 10, 1);
	write_byte(address + PAGE + 20, 2);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(read_byte(address + i * PAGE + 10), 1);
		assert_int_equal(read_byte(address + i * PAGE + 20), 2);
	}
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemUnmap(address, 2 * PAGE));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	assert_int_equal(read_byte(address + 2 * PAGE + 10), 1);
	assert_ok(cuMemUnmap(address + 2 * PAGE, PAGE));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_ok(cuMemAddressFree(address, 3 * PAGE));
}

static void test_handle_can_be_had_from_an_address(void **state)
{
	CUdeviceptr address = reserve(2 * PAGE);
	handle_t handle = create(2 * PAGE), again = 0;

	(void)state;
	assert_ok(cuMemMap(address, 2 * PAGE, 0, handle, 0));
	assert_ok(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(address + PAGE + 5)));
	assert_true(again == handle);
	/* each has to be released */
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemUnmap(address, 2 * PAGE));
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PAGE);
	assert_ok(cuMemRelease(again));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_invalid(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)address));
	assert_invalid(cuMemRetainAllocationHandle(&again, &again));
	assert_ok(cuMemAddressFree(address, 2 * PAGE));
}

static void test_released_handle_can_be_retained_while_mapped(void **state)
{
	CUdeviceptr address = map_new(PAGE);
	handle_t handle;

	(void)state;
	assert_ok(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)address));
	assert_ok(cuMemUnmap(address, PAGE));
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	assert_ok(cuMemRelease(handle));
	unmap(address, PAGE);
}

static void test_properties_can_be_had_from_a_handle(void **state)
{
	CUmemAllocationProp props = device_props, found;
	handle_t handle;

	(void)state;
	props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_ok(cuMemCreate(&handle, PAGE, &props, 0));
	assert_ok(cuMemGetAllocationPropertiesFromHandle(&found, handle));
	assert_int_equal(found.type, props.type);
	assert_int_equal(found.location.type, props.location.type);
	assert_int_equal(found.location.id, props.location.id);
	assert_int_equal(found.requestedHandleTypes, props.requestedHandleTypes);
	assert_invalid(cuMemGetAllocationPropertiesFromHandle(NULL, handle));
	assert_ok(cuMemRelease(handle));
	assert_invalid(cuMemGetAllocationPropertiesFromHandle(&found, handle));
}

static void test_memory_of_the_host_is_used_by_the_program(void **state)
{
	CUdeviceptr address = reserve(2 * PAGE);
	handle_t handle;
	char *bytes = (char *)(uintptr_t)address;

	(void)state;
	assert_ok(cuMemCreate(&handle, PAGE, &host_props, 0));
	assert_int_equal(sg_rig_get_free(), ROOM); /* not the device's */
	assert_ok(cuMemMap(address, PAGE, 0, handle, 0));
	assert_ok(cuMemMap(address + PAGE, PAGE, 0, handle, 0));
	allow(address, 2 * PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_ok(cuMemsetD8(address, 3, 100));
	assert_int_equal(bytes[99], 3);
	assert_int_equal(bytes[PAGE + 99], 3); /* the same memory */
	bytes[100] = 4;
	assert_int_equal(read_byte(address + PAGE + 100), 4);
	assert_ok(cuMemRelease(handle));
	unmap(address, 2 * PAGE);
	assert_int_equal(sg_rig_get_file_size("softgpu-host"), 0);
}

static void test_mapping_is_not_freed_by_mem_free(void **state)
{
	CUdeviceptr address = map_new(PAGE);

	(void)state;
	assert_invalid(cuMemFree(address));
	assert_invalid(cuMemFreeAsync(address, NULL));
	unmap(address, PAGE);
}

static void test_mapping_may_lie_over_two_reservations_side_by_side(void **state)
{
	CUdeviceptr wide = reserve(10 * PAGE), first, second;
	handle_t handle = create(2 * PAGE);

	(void)state;
	assert_ok(cuMemAddressFree(wide, 10 * PAGE));
	assert_ok(cuMemAddressReserve(&first, PAGE, 0, wide, 0));
	assert_ok(cuMemAddressReserve(&second, PAGE, 0, wide + PAGE, 0));
	assert_int_equal(second, first + PAGE);
	assert_ok(cuMemMap(first, PAGE, 0, handle, 0));
	assert_ok(cuMemMap(second, PAGE, 0, handle, 0));
	allow(first, 2 * PAGE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_ok(cuMemRelease(handle));
	assert_ok(cuMemUnmap(first, 2 * PAGE));
	assert_ok(cuMemAddressFree(first, PAGE));
	assert_ok(cuMemAddressFree(second, PAGE));
}

static void test_physical_memory_drives_managed_memory_out(void **state)
{
	CUdeviceptr managed;
	handle_t handle;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, ROOM, CU_MEM_ATTACH_GLOBAL));
	handle = create(ROOM);
	assert_int_equal(sg_rig_get_free(), 0);
	assert_ok(cuMemFree(managed));
	assert_int_equal(sg_rig_get_free(), 0);
	assert_ok(cuMemRelease(handle));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_reserved_addresses_cost_no_memory),
		TEST(test_reservation_has_the_asked_alignment),
		TEST(test_reservations_do_not_overlap),
		TEST(test_hint_is_followed_where_the_address_is_free),
		TEST(test_hint_that_is_taken_gives_another_address),
		TEST(test_bad_arguments_of_reserve),
		TEST(test_reservation_is_in_host_pages),
		TEST(test_reservation_is_freed_as_a_whole),
		TEST(test_mapped_reservation_cannot_be_freed),
		TEST(test_granularity_is_a_page),
		TEST(test_physical_memory_is_charged_when_it_is_created),
		TEST(test_bad_arguments_of_create),
		TEST(test_out_of_memory_is_exact),
		TEST(test_mapping_must_lie_in_reserved_addresses),
		TEST(test_bad_arguments_of_map),
		TEST(test_mapped_addresses_cannot_be_mapped_again),
		TEST(test_no_access_without_set_access),
		TEST(test_read_access_does_not_allow_writes),
		TEST(test_new_mapping_starts_without_access),
		TEST(test_access_is_set_on_whole_mappings),
		TEST(test_bad_arguments_of_set_access),
		TEST(test_host_node_has_no_access_to_memory_of_a_device),
		TEST(test_access_can_be_asked),
		TEST(test_only_whole_mappings_are_unmapped),
		TEST(test_memory_lives_until_released_and_unmapped),
		TEST(test_bytes_survive_an_unmapping),
		TEST(test_new_physical_memory_reads_as_zero),
		TEST(test_two_mappings_show_the_same_bytes_and_cost_once),
		TEST(test_handle_can_be_had_from_an_address),
		TEST(test_released_handle_can_be_retained_while_mapped),
		TEST(test_properties_can_be_had_from_a_handle),
		TEST(test_memory_of_the_host_is_used_by_the_program),
		TEST(test_mapping_is_not_freed_by_mem_free),
		TEST(test_mapping_may_lie_over_two_reservations_side_by_side),
		TEST(test_physical_memory_drives_managed_memory_out),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
