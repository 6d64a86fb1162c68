#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define CAPACITY (256 * MIB)
#define OVERHEAD (16 * MIB)
#define ROOM     (CAPACITY - OVERHEAD)

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
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static CUdeviceptr alloc(size_t size)
{
	CUdeviceptr address = 0;

	assert_ok(cuMemAlloc(&address, size));
	assert_int_equal(address % UNIT, 0);
	assert_true(address != 0);
	return address;
}

static void test_all_memory_is_aligned(void **state)
{
	static const size_t sizes[] = {1,   2,       3,   511,     512,         513,
				       999, MIB - 1, MIB, MIB + 1, 3 * MIB + 7, 40 * MIB};
	CUdeviceptr address;
	size_t pitch;
	void *host;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		alloc(sizes[i]);
		assert_ok(cuMemAllocManaged(&address, sizes[i], CU_MEM_ATTACH_GLOBAL));
		assert_int_equal(address % UNIT, 0);
		assert_ok(cuMemAllocPitch(&address, &pitch, sizes[i], 1, 16));
		assert_int_equal(address % UNIT, 0);
		assert_ok(cuMemAllocHost(&host, sizes[i]));
		assert_int_equal((uintptr_t)host % UNIT, 0);
	}
}

static void test_small_requests_share_one_page(void **state)
{
	CUdeviceptr blocks[PAGE / UNIT];

	(void)state;
	blocks[0] = alloc(1);
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	for (size_t i = 1; i < PAGE / UNIT; i++) {
		blocks[i] = alloc(1 + i % UNIT);
		assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	}
	/* the page is full */
	alloc(1);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PAGE);
	for (size_t i = 0; i + 1 < PAGE / UNIT; i++)
		assert_ok(cuMemFree(blocks[i]));
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PAGE);
	assert_ok(cuMemFree(blocks[PAGE / UNIT - 1]));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
}

static void test_half_a_page_is_small_and_more_is_not(void **state)
{
	CUdeviceptr first, second, large;

	(void)state;
	first = alloc(MIB);
	second = alloc(MIB);
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	large = alloc(MIB + 1);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PAGE);
	assert_ok(cuMemFree(large));
	assert_ok(cuMemFree(first));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	assert_ok(cuMemFree(second));
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_large_requests_are_rounded_up_to_pages(void **state)
{
	(void)state;
	alloc(PAGE);
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	alloc(PAGE + 1);
	assert_int_equal(sg_rig_get_free(), ROOM - 3 * PAGE);
	/* and what is left of a page is nobody's */
	alloc(1);
	assert_int_equal(sg_rig_get_free(), ROOM - 4 * PAGE);
}

static void test_capacity_is_exact_to_the_last_page(void **state)
{
	CUdeviceptr address = 12345;

	(void)state;
	assert_result(cuMemAlloc(&address, ROOM + 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(sg_rig_get_free(), ROOM);
	alloc(ROOM - PAGE);
	assert_int_equal(sg_rig_get_free(), PAGE);
	assert_result(cuMemAlloc(&address, PAGE + 1), CUDA_ERROR_OUT_OF_MEMORY);
	alloc(PAGE);
	assert_int_equal(sg_rig_get_free(), 0);
	assert_result(cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(sg_rig_get_free(), 0);
	/* outputs are as they were */
	assert_int_equal(address, 12345);
}

static void test_small_requests_fit_while_their_page_has_room(void **state)
{
	CUdeviceptr address;

	(void)state;
	alloc(1);
	alloc(ROOM - PAGE);
	for (size_t i = 1; i < PAGE / UNIT; i++)
		alloc(UNIT);
	assert_result(cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_free_memory_is_back_at_once(void **state)
{
	CUdeviceptr address = alloc(ROOM);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(sg_rig_get_free(), 0);
		assert_ok(cuMemFree(address));
		assert_int_equal(sg_rig_get_free(), ROOM);
		address = alloc(ROOM);
	}
}

static void test_address_is_used_again_after_a_free(void **state)
{
	static const size_t sizes[] = {1, 1000, MIB, 5 * MIB, 100 * MIB};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CUdeviceptr first = alloc(sizes[i]);

		assert_ok(cuMemFree(first));
		assert_int_equal(alloc(sizes[i]), first);
	}
}

static void test_huge_sizes_are_out_of_memory(void **state)
{
	static const size_t sizes[] = {SIZE_MAX,
				       SIZE_MAX - 1,
				       SIZE_MAX - 511,
				       SIZE_MAX - 512,
				       SIZE_MAX / 2,
				       SIZE_MAX - PAGE,
				       SIZE_MAX - PAGE + 1,
				       (size_t)1 << 46,
				       ((size_t)1 << 46) + 1,
				       (size_t)1 << 63,
				       CAPACITY + 1};
	CUdeviceptr address;
	size_t pitch;
	void *host;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_result(cuMemAlloc(&address, sizes[i]), CUDA_ERROR_OUT_OF_MEMORY);
		assert_result(cuMemAllocPitch(&address, &pitch, sizes[i], 1, 4),
			      CUDA_ERROR_OUT_OF_MEMORY);
		assert_result(cuMemAllocPitch(&address, &pitch, 1, sizes[i], 4),
			      CUDA_ERROR_OUT_OF_MEMORY);
		assert_result(cuMemAllocPitch(&address, &pitch, sizes[i], sizes[i], 4),
			      CUDA_ERROR_OUT_OF_MEMORY);
		assert_result(cuMemAllocAsync(&address, sizes[i], NULL), CUDA_ERROR_OUT_OF_MEMORY);
		if (sizes[i] > (size_t)1 << 46) {
			assert_result(cuMemAllocHost(&host, sizes[i]), CUDA_ERROR_OUT_OF_MEMORY);
			assert_result(cuMemAllocManaged(&address, sizes[i], CU_MEM_ATTACH_GLOBAL),
				      CUDA_ERROR_OUT_OF_MEMORY);
		}
		assert_int_equal(sg_rig_get_free(), ROOM);
	}
}

static void test_zero_and_null_are_invalid(void **state)
{
	CUdeviceptr address;
	size_t pitch;
	void *host;

	(void)state;
	assert_invalid(cuMemAlloc(&address, 0));
	assert_invalid(cuMemAlloc(NULL, 1));
	assert_invalid(cuMemAllocPitch(NULL, &pitch, 1, 1, 4));
	assert_invalid(cuMemAllocPitch(&address, NULL, 1, 1, 4));
	assert_invalid(cuMemAllocPitch(&address, &pitch, 0, 1, 4));
	assert_invalid(cuMemAllocPitch(&address, &pitch, 1, 0, 4));
	assert_invalid(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL));
	assert_invalid(cuMemAllocManaged(NULL, 1, CU_MEM_ATTACH_GLOBAL));
	assert_invalid(cuMemAllocManaged(&address, 1, 0));
	assert_invalid(cuMemAllocManaged(&address, 1, CU_MEM_ATTACH_SINGLE));
	assert_invalid(cuMemAllocHost(&host, 0));
	assert_invalid(cuMemAllocHost(NULL, 1));
	assert_invalid(cuMemHostAlloc(&host, 1, 0x100));
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_pitch_is_a_multiple_of_512(void **state)
{
	static const struct {
		size_t width, pitch;
	} cases[] = {{1, 512}, {511, 512}, {512, 512}, {513, 1024}, {4000, 4096}};
	CUdeviceptr address, base;
	size_t pitch, size;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(cuMemAllocPitch(&address, &pitch, cases[i].width, 7, 8));
		assert_int_equal(pitch, cases[i].pitch);
		assert_ok(cuMemGetAddressRange(&base, &size, address));
		assert_int_equal(base, address);
		assert_int_equal(size, 7 * pitch);
	}
}

static void test_pitch_wants_elements_of_4_8_or_16_bytes(void **state)
{
	CUdeviceptr address;
	size_t pitch;

	(void)state;
	for (unsigned size = 0; size < 40; size++)
		assert_result(cuMemAllocPitch(&address, &pitch, 10, 10, size),
			      size == 4 || size == 8 || size == 16 ? CUDA_SUCCESS
								   : CUDA_ERROR_INVALID_VALUE);
}

static void test_only_the_start_of_a_block_can_be_freed(void **state)
{
	CUdeviceptr small = alloc(1000), large = alloc(5 * MIB);
	int on_stack = 0;

	(void)state;
	assert_invalid(cuMemFree(small + 1));
	assert_invalid(cuMemFree(small + UNIT));
	assert_invalid(cuMemFree(small - 1));
	assert_invalid(cuMemFree(large + PAGE));
	assert_invalid(cuMemFree((CUdeviceptr)(uintptr_t)&on_stack));
	assert_invalid(cuMemFree(1));
	assert_invalid(cuMemFree((CUdeviceptr)-1));
	assert_ok(cuMemFree(small));
	assert_ok(cuMemFree(large));
}

static void test_block_can_be_freed_once(void **state)
{
	CUdeviceptr small = alloc(1), large = alloc(PAGE), managed;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, 10, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemFree(small));
	assert_invalid(cuMemFree(small));
	assert_ok(cuMemFree(large));
	assert_invalid(cuMemFree(large));
	assert_ok(cuMemFree(managed));
	assert_invalid(cuMemFree(managed));
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_freeing_null_is_fine(void **state)
{
	(void)state;
	assert_ok(cuMemFree(0));
	assert_ok(cuMemFreeHost(NULL));
}

static void test_each_kind_has_its_own_free(void **state)
{
	CUdeviceptr device = alloc(100), managed;
	char own[100];
	void *host;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemAllocHost(&host, 100));
	assert_ok(cuMemHostRegister(own, sizeof(own), 0));
	assert_invalid(cuMemFreeHost((void *)(uintptr_t)device));
	assert_invalid(cuMemFreeHost((void *)(uintptr_t)managed));
	assert_invalid(cuMemFreeHost(own));
	assert_invalid(cuMemFree((uintptr_t)host));
	assert_invalid(cuMemFree((uintptr_t)own));
	assert_result(cuMemHostUnregister(host), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_ok(cuMemHostUnregister(own));
	assert_ok(cuMemFreeHost(host));
	assert_ok(cuMemFree(managed));
	assert_ok(cuMemFree(device));
}

static void test_managed_memory_is_charged_to_the_device(void **state)
{
	CUdeviceptr small, large;

	(void)state;
	assert_ok(cuMemAllocManaged(&small, 100, CU_MEM_ATTACH_HOST));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
	assert_ok(cuMemAllocManaged(&large, 10 * MIB, CU_MEM_ATTACH_GLOBAL));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE - 10 * MIB);
	/* small requests of different kinds do not share a page */
	alloc(1);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PAGE - 10 * MIB);
	assert_ok(cuMemFree(large));
	assert_ok(cuMemFree(small));
	assert_int_equal(sg_rig_get_free(), ROOM - PAGE);
}

static void test_program_reads_and_writes_managed_memory(void **state)
{
	CUdeviceptr address;
	char *bytes;

	(void)state;
	assert_ok(cuMemAllocManaged(&address, 5 * MIB, CU_MEM_ATTACH_GLOBAL));
	bytes = (char *)(uintptr_t)address;
	assert_int_equal(bytes[5 * MIB - 1], 0);
	memset(bytes, 3, 5 * MIB);
	assert_ok(cuMemsetD8(address + 100, 4, 100));
	assert_int_equal(bytes[99], 3);
	assert_int_equal(bytes[100], 4);
	assert_int_equal(bytes[200], 3);
}

static void test_managed_memory_may_exceed_the_device(void **state)
{
	CUdeviceptr first, second;

	(void)state;
	assert_ok(cuMemAllocManaged(&first, 4 * CAPACITY, CU_MEM_ATTACH_GLOBAL));
	assert_int_equal(sg_rig_get_free(), 0);
	assert_ok(cuMemAllocManaged(&second, 100, CU_MEM_ATTACH_GLOBAL));
	((char *)(uintptr_t)first)[4 * CAPACITY - 1] = 1;
	((char *)(uintptr_t)second)[0] = 1;
	assert_ok(cuMemFree(first));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_ok(cuMemFree(second));
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_device_memory_drives_managed_memory_out(void **state)
{
	CUdeviceptr managed, device;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, ROOM, CU_MEM_ATTACH_GLOBAL));
	memset((char *)(uintptr_t)managed, 1, 1000);
	assert_int_equal(sg_rig_get_free(), 0);
	device = alloc(10 * MIB);
	assert_int_equal(sg_rig_get_free(), 0);
	assert_int_equal(((char *)(uintptr_t)managed)[999], 1);
	/* only what was missing went: the rest of it is still there */
	assert_ok(cuMemFree(managed));
	assert_int_equal(sg_rig_get_free(), ROOM - 10 * MIB);
	assert_ok(cuMemFree(device));
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_request_that_cannot_fit_drives_nothing_out(void **state)
{
	CUdeviceptr managed, address;

	(void)state;
	alloc(100 * MIB);
	assert_ok(cuMemAllocManaged(&managed, 20 * MIB, CU_MEM_ATTACH_GLOBAL));
	assert_result(cuMemAlloc(&address, ROOM), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(sg_rig_get_free(), ROOM - 120 * MIB);
	assert_result(cuMemAlloc(&address, ROOM - 100 * MIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(sg_rig_get_free(), ROOM - 120 * MIB);
	assert_ok(cuMemAlloc(&address, ROOM - 100 * MIB));
	assert_int_equal(sg_rig_get_free(), 0);
}

static void play_no_oversubscription(void **state)
{
	CUdeviceptr address;

	(void)state;
	sg_rig_open();
	assert_result(cuMemAllocManaged(&address, ROOM + 1, CU_MEM_ATTACH_GLOBAL),
		      CUDA_ERROR_OUT_OF_MEMORY);
	assert_ok(cuMemAllocManaged(&address, ROOM, CU_MEM_ATTACH_GLOBAL));
	assert_result(cuMemAllocManaged(&address, 1, CU_MEM_ATTACH_GLOBAL),
		      CUDA_ERROR_OUT_OF_MEMORY);
	/* and nothing is driven out */
	assert_result(cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(sg_rig_get_free(), 0);
}

static void test_card_may_refuse_more_managed_memory_than_it_has(void **state)
{
	(void)state;
	SG_RIG_RUN("no_oversubscription", "SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M",
		   "SOFTGPU_MANAGED=0", NULL);
}

static void test_pinned_memory_is_not_charged(void **state)
{
	CUdeviceptr device;
	unsigned flags;
	void *host;

	(void)state;
	assert_ok(cuMemHostAlloc(&host, 2 * CAPACITY, CU_MEMHOSTALLOC_WRITECOMBINED));
	assert_int_equal(sg_rig_get_free(), ROOM);
	((char *)host)[2 * CAPACITY - 1] = 1;
	assert_ok(cuMemHostGetFlags(&flags, host));
	assert_int_equal(flags, CU_MEMHOSTALLOC_WRITECOMBINED);
	assert_ok(cuMemHostGetDevicePointer(&device, (char *)host + 5, 0));
	assert_int_equal(device, (uintptr_t)host + 5);
	assert_ok(cuMemFreeHost(host));
	assert_invalid(cuMemFreeHost(host));
	assert_invalid(cuMemHostGetFlags(&flags, host));
	assert_invalid(cuMemHostGetDevicePointer(&device, host, 0));
}

static void test_freed_pinned_memory_is_zero_again(void **state)
{
	char *host;

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_ok(cuMemAllocHost((void **)&host, 10 * MIB));
		assert_int_equal(host[MIB], 0);
		memset(host, 1, 10 * MIB);
		assert_ok(cuMemFreeHost(host));
	}
	assert_int_equal(sg_rig_get_file_size("softgpu-host"), 0);
}

static void test_registered_memory_is_known_until_unregistered(void **state)
{
	CUdeviceptr device;
	unsigned flags;
	char own[1000];

	(void)state;
	assert_invalid(cuMemHostGetDevicePointer(&device, own, 0));
	assert_ok(cuMemHostRegister(own, sizeof(own), CU_MEMHOSTREGISTER_DEVICEMAP));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_ok(cuMemHostGetDevicePointer(&device, own + 10, 0));
	assert_int_equal(device, (uintptr_t)own + 10);
	assert_ok(cuMemHostGetFlags(&flags, own));
	assert_int_equal(flags, CU_MEMHOSTREGISTER_DEVICEMAP);
	assert_result(cuMemHostUnregister(own + 10), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_ok(cuMemHostUnregister(own));
	assert_result(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_invalid(cuMemHostGetDevicePointer(&device, own, 0));
}

static void test_memory_is_not_registered_twice(void **state)
{
	char own[1000];
	void *host;

	(void)state;
	assert_ok(cuMemHostRegister(own + 100, 100, 0));
	assert_result(cuMemHostRegister(own + 100, 100, 0),
		      CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_result(cuMemHostRegister(own, 101, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_result(cuMemHostRegister(own + 199, 10, 0),
		      CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_result(cuMemHostRegister(own, 1000, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	/* what only touches it is another piece */
	assert_ok(cuMemHostRegister(own, 100, 0));
	assert_ok(cuMemHostRegister(own + 200, 100, 0));
	assert_ok(cuMemAllocHost(&host, 100));
	assert_result(cuMemHostRegister(host, 100, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

static void test_bad_arguments_of_register(void **state)
{
	char own[10];

	(void)state;
	assert_invalid(cuMemHostRegister(NULL, 10, 0));
	assert_invalid(cuMemHostRegister(own, 0, 0));
	assert_invalid(cuMemHostRegister(own, 10, 0x100));
	assert_invalid(cuMemHostRegister(own, SIZE_MAX, 0));
	assert_invalid(cuMemHostUnregister(NULL));
	assert_invalid(cuMemHostGetFlags(NULL, own));
	assert_invalid(cuMemHostGetFlags(&(unsigned){0}, own));
	assert_invalid(cuMemHostGetDevicePointer(NULL, own, 0));
	assert_invalid(cuMemHostGetDevicePointer(&(CUdeviceptr){0}, own, 1));
}

static void test_memory_info_may_be_asked_in_part(void **state)
{
	size_t total = 0;

	(void)state;
	assert_ok(cuMemGetInfo(NULL, &total));
	assert_int_equal(total, CAPACITY);
	assert_ok(cuMemGetInfo(NULL, NULL));
}

static void test_a_million_cycles_do_not_grow(void **state)
{
	const int nr_cycles = SG_RIG_IS_SANITIZED ? 100000 : 1000000;
	CUdeviceptr live[16] = {0};
	uint64_t seed = 3;
	CUdeviceptr lowest = UINT64_MAX, highest = 0;

	(void)state;
	for (int i = 0; i < nr_cycles; i++) {
		size_t size = sg_rig_draw_below(&seed, 4) ? 1 + sg_rig_draw_below(&seed, 100 * KIB)
							  : 5 * MIB;

		assert_ok(cuMemFree(live[i % 16]));
		live[i % 16] = alloc(size);
		lowest = live[i % 16] < lowest ? live[i % 16] : lowest;
		highest = live[i % 16] > highest ? live[i % 16] : highest;
	}
	/* 16 blocks of at most 6 MiB: the addresses stay together */
	assert_true(highest - lowest <= 256 * MIB);
	for (int i = 0; i < 16; i++)
		assert_ok(cuMemFree(live[i]));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_int_equal(sg_rig_get_file_size("softgpu-device"), 0);
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {
		{"no_oversubscription", play_no_oversubscription}};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_memory_is_aligned, begin, end),
		cmocka_unit_test_setup_teardown(test_small_requests_share_one_page, begin, end),
		cmocka_unit_test_setup_teardown(test_half_a_page_is_small_and_more_is_not, begin,
						end),
		cmocka_unit_test_setup_teardown(test_large_requests_are_rounded_up_to_pages, begin,
						end),
		cmocka_unit_test_setup_teardown(test_capacity_is_exact_to_the_last_page, begin,
						end),
		cmocka_unit_test_setup_teardown(test_small_requests_fit_while_their_page_has_room,
						begin, end),
		cmocka_unit_test_setup_teardown(test_free_memory_is_back_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_address_is_used_again_after_a_free, begin,
						end),
		cmocka_unit_test_setup_teardown(test_huge_sizes_are_out_of_memory, begin, end),
		cmocka_unit_test_setup_teardown(test_zero_and_null_are_invalid, begin, end),
		cmocka_unit_test_setup_teardown(test_pitch_is_a_multiple_of_512, begin, end),
		cmocka_unit_test_setup_teardown(test_pitch_wants_elements_of_4_8_or_16_bytes, begin,
						end),
		cmocka_unit_test_setup_teardown(test_only_the_start_of_a_block_can_be_freed, begin,
						end),
		cmocka_unit_test_setup_teardown(test_block_can_be_freed_once, begin, end),
		cmocka_unit_test_setup_teardown(test_freeing_null_is_fine, begin, end),
		cmocka_unit_test_setup_teardown(test_each_kind_has_its_own_free, begin, end),
		cmocka_unit_test_setup_teardown(test_managed_memory_is_charged_to_the_device, begin,
						end),
		cmocka_unit_test_setup_teardown(test_program_reads_and_writes_managed_memory, begin,
						end),
		cmocka_unit_test_setup_teardown(test_managed_memory_may_exceed_the_device, begin,
						end),
		cmocka_unit_test_setup_teardown(test_device_memory_drives_managed_memory_out, begin,
						end),
		cmocka_unit_test_setup_teardown(test_request_that_cannot_fit_drives_nothing_out,
						begin, end),
		cmocka_unit_test(test_card_may_refuse_more_managed_memory_than_it_has),
		cmocka_unit_test_setup_teardown(test_pinned_memory_is_not_charged, begin, end),
		cmocka_unit_test_setup_teardown(test_freed_pinned_memory_is_zero_again, begin, end),
		cmocka_unit_test_setup_teardown(test_registered_memory_is_known_until_unregistered,
						begin, end),
		cmocka_unit_test_setup_teardown(test_memory_is_not_registered_twice, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_arguments_of_register, begin, end),
		cmocka_unit_test_setup_teardown(test_memory_info_may_be_asked_in_part, begin, end),
		cmocka_unit_test_setup_teardown(test_a_million_cycles_do_not_grow, begin, end),
	};
	int played = SG_RIG_PLAY(argc, argv, scenes);

	if (played >= 0)
		return played;
	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
