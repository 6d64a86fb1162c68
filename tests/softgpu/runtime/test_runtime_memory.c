/* Allocation by the runtime: device, pitched, managed, host, pools. */
#include "runtime_check.h"

#include <stdlib.h>
#include <unistd.h>

static char *const nonsense = (char *)0x123450000; /* an address nobody handed out */

static void test_malloc_and_free_change_what_is_free(void **state)
{
	size_t before = free_memory();
	void *memory = NULL;

	(void)state;
	assert_success(cudaMalloc(&memory, 64 * MIB));
	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % 256, 0);
	assert_int_equal(before - free_memory(), 64 * MIB);
	assert_success(cudaFree(memory));
	assert_int_equal(free_memory(), before);
}

static void test_malloc_of_nothing_is_null_and_free_of_null_is_fine(void **state)
{
	void *memory = nonsense;

	(void)state;
	assert_success(cudaMalloc(&memory, 0));
	assert_null(memory);
	assert_success(cudaFree(NULL));
	assert_success(cudaFreeHost(NULL));
}

static void test_malloc_without_a_place_for_the_result_is_invalid_value(void **state)
{
	void *memory;
	size_t pitch;

	(void)state;
	assert_error(cudaMalloc(NULL, 1), cudaErrorInvalidValue);
	assert_error(cudaMallocPitch(NULL, &pitch, 1, 1), cudaErrorInvalidValue);
	assert_error(cudaMallocPitch(&memory, NULL, 1, 1), cudaErrorInvalidValue);
	assert_error(cudaMalloc3D(NULL, (struct cudaExtent){1, 1, 1}), cudaErrorInvalidValue);
	assert_error(cudaMallocManaged(NULL, 1, cudaMemAttachGlobal), cudaErrorInvalidValue);
	assert_error(cudaMallocHost(NULL, 1), cudaErrorInvalidValue);
	assert_error(cudaHostAlloc(NULL, 1, 0), cudaErrorInvalidValue);
	assert_error(cudaMallocAsync(NULL, 1, NULL), cudaErrorInvalidValue);
	assert_error(cudaMemGetInfo(NULL, &pitch), cudaErrorInvalidValue);
	assert_error(cudaMemGetInfo(&pitch, NULL), cudaErrorInvalidValue);
}

static void test_malloc_of_more_than_there_is_fails_and_leaves_the_pointer(void **state)
{
	struct cudaPitchedPtr pitched;
	void *memory = nonsense;
	size_t pitch, before = free_memory();

	(void)state;
	assert_error(cudaMalloc(&memory, 4 * GIB), cudaErrorMemoryAllocation);
	assert_error(cudaMalloc(&memory, SIZE_MAX), cudaErrorMemoryAllocation);
	assert_error(cudaMallocPitch(&memory, &pitch, 64 * KIB, 64 * KIB),
		     cudaErrorMemoryAllocation);
	assert_error(cudaMalloc3D(&pitched, (struct cudaExtent){64, SIZE_MAX, 16}),
		     cudaErrorMemoryAllocation);
	assert_ptr_equal(memory, nonsense);
	assert_int_equal(free_memory(), before);
}

static void test_free_of_an_unknown_pointer_is_invalid_value(void **state)
{
	char *memory;

	(void)state;
	assert_error(cudaFree(nonsense), cudaErrorInvalidValue);
	assert_success(cudaMalloc((void **)&memory, KIB));
	assert_error(cudaFree(memory + 1), cudaErrorInvalidValue);
	assert_success(cudaFree(memory));
	assert_error(cudaFree(memory), cudaErrorInvalidValue);
	assert_error(cudaFreeHost(nonsense), cudaErrorInvalidValue);
}

static void test_pitched_rows_are_wide_enough_and_aligned(void **state)
{
	struct cudaPitchedPtr volume;
	void *memory = NULL;
	size_t pitch = 0;

	(void)state;
	assert_success(cudaMallocPitch(&memory, &pitch, 1000, 30));
	assert_true(pitch >= 1000);
	assert_int_equal(pitch % 16, 0);
	assert_success(cudaMemset2D(memory, pitch, 7, 1000, 30));
	assert_success(cudaFree(memory));
	assert_success(cudaMalloc3D(&volume, (struct cudaExtent){100, 20, 5}));
	assert_true(volume.pitch >= 100);
	assert_int_equal(volume.xsize, 100);
	assert_int_equal(volume.ysize, 20);
	assert_success(cudaMemset3D(volume, 1, (struct cudaExtent){100, 20, 5}));
	assert_success(cudaFree(volume.ptr));
}

static void test_pitched_memory_of_no_rows_is_null(void **state)
{
	struct cudaPitchedPtr volume;
	void *memory = nonsense;
	size_t pitch;

	(void)state;
	assert_success(cudaMallocPitch(&memory, &pitch, 0, 10));
	assert_null(memory);
	assert_success(cudaMalloc3D(&volume, (struct cudaExtent){10, 0, 10}));
	assert_null(volume.ptr);
}

static void test_managed_memory_is_the_hosts_too(void **state)
{
	int *memory = NULL;

	(void)state;
	assert_success(cudaMallocManaged((void **)&memory, MIB, cudaMemAttachGlobal));
	memory[0] = 41;
	memory[MIB / sizeof(int) - 1] = 42;
	assert_int_equal(memory[0], 41);
	assert_success(cudaFree(memory));
	assert_success(cudaMallocManaged((void **)&memory, 100, cudaMemAttachHost));
	assert_success(cudaFree(memory));
}

static void test_managed_memory_of_nothing_or_with_bad_flags_is_invalid_value(void **state)
{
	void *memory;

	(void)state;
	assert_error(cudaMallocManaged(&memory, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
	assert_error(cudaMallocManaged(&memory, 1, 0), cudaErrorInvalidValue);
	assert_error(cudaMallocManaged(&memory, 1, cudaMemAttachSingle), cudaErrorInvalidValue);
	assert_error(cudaMallocManaged(&memory, 1, 0x80), cudaErrorInvalidValue);
}

static void test_host_memory_is_usable_and_has_its_flags(void **state)
{
	unsigned flags = 0;
	void *device = NULL;
	char *memory = NULL;

	(void)state;
	assert_success(cudaHostAlloc((void **)&memory, 10000, cudaHostAllocMapped));
	memset(memory, 3, 10000);
	assert_success(cudaHostGetFlags(&flags, memory));
	assert_int_equal(flags & cudaHostAllocMapped, cudaHostAllocMapped);
	assert_success(cudaHostGetDevicePointer(&device, memory, 0));
	assert_non_null(device);
	assert_success(cudaFreeHost(memory));
	assert_success(cudaMallocHost((void **)&memory, 1));
	assert_success(cudaFreeHost(memory));
	assert_success(cudaMallocHost((void **)&memory, 0));
	assert_null(memory);
}

static void test_host_calls_with_bad_arguments_are_invalid_value(void **state)
{
	unsigned flags;
	void *memory;

	(void)state;
	assert_error(cudaHostAlloc(&memory, 1, 0x100), cudaErrorInvalidValue);
	assert_success(cudaMallocHost(&memory, 100));
	assert_error(cudaHostGetDevicePointer(NULL, memory, 0), cudaErrorInvalidValue);
	assert_error(cudaHostGetDevicePointer(&memory, memory, 1), cudaErrorInvalidValue);
	assert_error(cudaHostGetDevicePointer(&memory, NULL, 0), cudaErrorInvalidValue);
	assert_error(cudaHostGetFlags(NULL, memory), cudaErrorInvalidValue);
	assert_error(cudaHostGetFlags(&flags, nonsense), cudaErrorInvalidValue);
	assert_success(cudaFreeHost(memory));
}

static void test_registered_memory_is_known_until_it_is_unregistered(void **state)
{
	struct cudaPointerAttributes attributes;
	size_t size = 16 * KIB;
	char *memory = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), size);

	(void)state;
	assert_non_null(memory);
	assert_success(cudaHostRegister(memory, size, cudaHostRegisterDefault));
	assert_success(cudaPointerGetAttributes(&attributes, memory + 5));
	assert_int_equal(attributes.type, cudaMemoryTypeHost);
	assert_error(cudaHostRegister(memory, size, 0), cudaErrorHostMemoryAlreadyRegistered);
	assert_success(cudaHostUnregister(memory));
	assert_error(cudaHostUnregister(memory), cudaErrorHostMemoryNotRegistered);
	assert_success(cudaPointerGetAttributes(&attributes, memory));
	assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
	free(memory);
}

static void test_registration_with_bad_arguments_is_invalid_value(void **state)
{
	char memory[64];

	(void)state;
	assert_error(cudaHostRegister(NULL, 64, 0), cudaErrorInvalidValue);
	assert_error(cudaHostRegister(memory, 0, 0), cudaErrorInvalidValue);
	assert_error(cudaHostRegister(memory, 64, 0x1000), cudaErrorInvalidValue);
	assert_error(cudaHostUnregister(NULL), cudaErrorInvalidValue);
}

static void test_pointers_tell_what_they_point_to(void **state)
{
	struct cudaPointerAttributes attributes;
	char *device, *managed, *host, local;

	(void)state;
	assert_success(cudaMalloc((void **)&device, KIB));
	assert_success(cudaMallocManaged((void **)&managed, KIB, cudaMemAttachGlobal));
	assert_success(cudaMallocHost((void **)&host, KIB));
	assert_success(cudaPointerGetAttributes(&attributes, device + 100));
	assert_int_equal(attributes.type, cudaMemoryTypeDevice);
	assert_int_equal(attributes.device, 0);
	assert_ptr_equal(attributes.devicePointer, device + 100);
	assert_null(attributes.hostPointer);
	assert_success(cudaPointerGetAttributes(&attributes, managed));
	assert_int_equal(attributes.type, cudaMemoryTypeManaged);
	assert_ptr_equal(attributes.hostPointer, managed);
	assert_success(cudaPointerGetAttributes(&attributes, host + 1));
	assert_int_equal(attributes.type, cudaMemoryTypeHost);
	assert_ptr_equal(attributes.hostPointer, host + 1);
	assert_success(cudaPointerGetAttributes(&attributes, &local));
	assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
	assert_int_equal(attributes.device, cudaInvalidDeviceId);
	assert_null(attributes.devicePointer);
	assert_error(cudaPointerGetAttributes(NULL, &local), cudaErrorInvalidValue);
	assert_success(cudaFree(device));
	assert_success(cudaFree(managed));
	assert_success(cudaFreeHost(host));
}

/* Pools */

static void test_stream_ordered_memory_comes_from_the_devices_pool(void **state)
{
	uint64_t used = 1, reserved = 0;
	cudaMemPool_t pool, current;
	void *memory = NULL;

	(void)state;
	assert_success(cudaDeviceGetDefaultMemPool(&pool, 0));
	assert_success(cudaDeviceGetMemPool(&current, 0));
	assert_ptr_equal(pool, current);
	assert_success(cudaMallocAsync(&memory, 3 * MIB, NULL));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	assert_true(used >= 3 * MIB);
	assert_true(reserved >= used);
	assert_success(cudaFreeAsync(memory, NULL));
	assert_success(cudaDeviceSynchronize());
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	assert_int_equal(used, 0);
	assert_success(cudaMemPoolTrimTo(pool, 0));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	assert_int_equal(reserved, 0);
}

static cudaMemPool_t create_pool(int device)
{
	struct cudaMemPoolProps props = {
		.allocType = cudaMemAllocationTypePinned,
		.location = {.type = cudaMemLocationTypeDevice, .id = device},
	};
	cudaMemPool_t pool = NULL;

	assert_success(cudaMemPoolCreate(&pool, &props));
	assert_non_null(pool);
	return pool;
}

static void test_a_pool_keeps_memory_up_to_its_threshold(void **state)
{
	cudaMemPool_t pool = create_pool(0);
	uint64_t threshold = UINT64_MAX, reserved = 0, read_back = 0;
	void *memory;

	(void)state;
	assert_success(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read_back));
	assert_true(read_back == threshold);
	assert_success(cudaMallocFromPoolAsync(&memory, 8 * MIB, pool, NULL));
	assert_success(cudaFreeAsync(memory, NULL));
	assert_success(cudaStreamSynchronize(NULL));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	assert_true(reserved >= 8 * MIB);
	assert_success(cudaMemPoolTrimTo(pool, 0));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	assert_int_equal(reserved, 0);
	assert_success(cudaMemPoolDestroy(pool));
}

static void test_a_devices_pool_can_be_changed(void **state)
{
	cudaMemPool_t pool = create_pool(0), standard, current;
	uint64_t used = 0;
	void *memory;

	(void)state;
	assert_success(cudaDeviceGetDefaultMemPool(&standard, 0));
	assert_success(cudaDeviceSetMemPool(0, pool));
	assert_success(cudaDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, pool);
	assert_success(cudaMallocAsync(&memory, MIB, NULL));
	assert_success(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	assert_true(used >= MIB);
	assert_success(cudaFreeAsync(memory, NULL));
	assert_success(cudaDeviceSetMemPool(0, standard));
	assert_success(cudaMemPoolDestroy(pool));
}

static void test_pool_access_is_the_owners_until_given(void **state)
{
	cudaMemPool_t pool = create_pool(0);
	struct cudaMemLocation owner = {.type = cudaMemLocationTypeDevice, .id = 0};
	enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;

	(void)state;
	assert_success(cudaMemPoolGetAccess(&flags, pool, &owner));
	assert_int_equal(flags, cudaMemAccessFlagsProtReadWrite);
	assert_error(cudaMemPoolGetAccess(NULL, pool, &owner), cudaErrorInvalidValue);
	assert_error(cudaMemPoolGetAccess(&flags, pool, NULL), cudaErrorInvalidValue);
	assert_error(cudaMemPoolSetAccess(pool, NULL, 1), cudaErrorInvalidValue);
	assert_success(cudaMemPoolDestroy(pool));
}

static void test_pool_calls_with_bad_arguments_are_invalid_value(void **state)
{
	struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypeInvalid};
	cudaMemPool_t pool;
	uint64_t value;
	void *memory;

	(void)state;
	assert_error(cudaMemPoolCreate(NULL, &props), cudaErrorInvalidValue);
	assert_error(cudaMemPoolCreate(&pool, NULL), cudaErrorInvalidValue);
	assert_error(cudaMemPoolCreate(&pool, &props), cudaErrorInvalidValue);
	assert_error(cudaMemPoolDestroy(NULL), cudaErrorInvalidValue);
	assert_error(cudaMemPoolTrimTo(NULL, 0), cudaErrorInvalidValue);
	assert_error(cudaMallocFromPoolAsync(&memory, 1, NULL, NULL), cudaErrorInvalidValue);
	assert_success(cudaDeviceGetDefaultMemPool(&pool, 0));
	assert_error(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, NULL),
		     cudaErrorInvalidValue);
	assert_error(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)99, &value),
		     cudaErrorInvalidValue);
	assert_error(cudaDeviceGetDefaultMemPool(&pool, 99), cudaErrorInvalidDevice);
	assert_error(cudaDeviceGetDefaultMemPool(NULL, 0), cudaErrorInvalidValue);
	assert_error(cudaDeviceSetMemPool(0, NULL), cudaErrorInvalidValue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malloc_and_free_change_what_is_free),
		cmocka_unit_test(test_malloc_of_nothing_is_null_and_free_of_null_is_fine),
		cmocka_unit_test(test_malloc_without_a_place_for_the_result_is_invalid_value),
		cmocka_unit_test(test_malloc_of_more_than_there_is_fails_and_leaves_the_pointer),
		cmocka_unit_test(test_free_of_an_unknown_pointer_is_invalid_value),
		cmocka_unit_test(test_pitched_rows_are_wide_enough_and_aligned),
		cmocka_unit_test(test_pitched_memory_of_no_rows_is_null),
		cmocka_unit_test(test_managed_memory_is_the_hosts_too),
		cmocka_unit_test(test_managed_memory_of_nothing_or_with_bad_flags_is_invalid_value),
		cmocka_unit_test(test_host_memory_is_usable_and_has_its_flags),
		cmocka_unit_test(test_host_calls_with_bad_arguments_are_invalid_value),
		cmocka_unit_test(test_registered_memory_is_known_until_it_is_unregistered),
		cmocka_unit_test(test_registration_with_bad_arguments_is_invalid_value),
		cmocka_unit_test(test_pointers_tell_what_they_point_to),
		cmocka_unit_test(test_stream_ordered_memory_comes_from_the_devices_pool),
		cmocka_unit_test(test_a_pool_keeps_memory_up_to_its_threshold),
		cmocka_unit_test(test_a_devices_pool_can_be_changed),
		cmocka_unit_test(test_pool_access_is_the_owners_until_given),
		cmocka_unit_test(test_pool_calls_with_bad_arguments_are_invalid_value),
	};

	return cmocka_run_group_tests(tests, reset_device, NULL);
}
