#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rig.h"

#define BLOCK     (16 * MIB)
#define HOST_PAGE ((size_t)4096)
#define SMALL     (64 * KIB) /* what the zero backing keeps by default */

/* Host memory behind the memory of all devices. */
static size_t get_kept(void)
{
	return sg_rig_get_file_size("softgpu-device") + sg_rig_get_file_size("softgpu-physical");
}

/* A value from /proc/self/status, in bytes. */
static size_t read_status(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[200];
	size_t kib = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kib = strtoul(line + strlen(name) + 1, NULL, 10);
	fclose(file);
	return kib * KIB;
}

static unsigned char *map_host(size_t size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(bytes, MAP_FAILED);
	return bytes;
}

static CUdeviceptr alloc(size_t size)
{
	CUdeviceptr address;

	assert_ok(cuMemAlloc(&address, size));
	return address;
}

/* Whether all bytes of device memory are that one; read in one large copy. */
static bool is_all(CUdeviceptr address, size_t size, unsigned char byte)
{
	unsigned char *bytes = map_host(size);
	bool is_equal = true;

	memset(bytes, 0xee, size);
	assert_ok(cuMemcpyDtoH(bytes, address, size));
	for (size_t i = 0; i < size && is_equal; i++)
		is_equal = bytes[i] == byte;
	munmap(bytes, size);
	return is_equal;
}

static void write_from_host(CUdeviceptr address, size_t size, unsigned char byte)
{
	unsigned char *bytes = map_host(size);

	memset(bytes, byte, size);
	assert_ok(cuMemcpyHtoD(address, bytes, size));
	munmap(bytes, size);
}

static void play_exact(void **state)
{
	CUdeviceptr first, second;

	(void)state;
	sg_rig_open();
	first = alloc(BLOCK);
	second = alloc(BLOCK);
	write_from_host(first, BLOCK, 7);
	assert_true(is_all(first, BLOCK, 7));
	assert_ok(cuMemcpyDtoD(second, first, BLOCK));
	assert_true(is_all(second, BLOCK, 7));
	assert_ok(cuMemsetD8(second, 9, BLOCK));
	assert_true(is_all(second, BLOCK, 9));
	assert_int_equal(get_kept(), 2 * BLOCK);
	/* what is freed is given back */
	assert_ok(cuMemFree(first));
	assert_int_equal(get_kept(), BLOCK);
	/* and zeros need no memory */
	assert_ok(cuMemsetD8(second, 0, BLOCK));
	assert_int_equal(get_kept(), 0);
}

static void test_exact_backing_keeps_every_byte(void **state)
{
	(void)state;
	SG_RIG_RUN("exact", "SOFTGPU_BACKING=exact", NULL);
	/* and it is what a card of ordinary size has */
	SG_RIG_RUN("exact", "SOFTGPU_MEMORY=8G", NULL);
}

static void play_never_written(void **state)
{
	unsigned char *bytes = map_host(BLOCK);
	CUdeviceptr first, second;

	(void)state;
	sg_rig_open();
	first = alloc(GIB);
	second = alloc(GIB);
	for (size_t at = 0; at < GIB; at += BLOCK)
		assert_ok(cuMemcpyDtoH(bytes, first + at, BLOCK));
	for (size_t at = 0; at < GIB; at += MIB)
		assert_ok(cuMemcpyDtoH(bytes, first + at, 100));
	assert_ok(cuMemcpyDtoD(second, first, GIB));
	assert_ok(cuMemsetD8(second, 0, GIB));
	assert_ok(cuMemsetD32(second + 400, 0, 100));
	assert_int_equal(get_kept(), 0);
	munmap(bytes, BLOCK);
}

static void test_memory_never_written_costs_nothing(void **state)
{
	(void)state;
	SG_RIG_RUN("never_written", "SOFTGPU_BACKING=exact", NULL);
	SG_RIG_RUN("never_written", "SOFTGPU_BACKING=zero", NULL);
}

static void play_hardly_written(void **state)
{
	unsigned char *bytes = map_host(BLOCK);
	CUdeviceptr first, second;

	(void)state;
	sg_rig_open();
	first = alloc(GIB);
	second = alloc(GIB);
	/* one byte in a gigabyte, and all of it copied to and fro */
	assert_ok(cuMemsetD8(first + 500 * MIB, 1, 1));
	assert_ok(cuMemcpyDtoD(second, first, GIB));
	for (size_t at = 0; at < GIB; at += BLOCK)
		assert_ok(cuMemcpyDtoH(bytes, second + at, BLOCK));
	assert_ok(cuMemcpyDtoH(bytes, second + 500 * MIB, 2));
	assert_int_equal(bytes[0], 1);
	assert_int_equal(bytes[1], 0);
	assert_true(get_kept() <= 4 * 4096);
	munmap(bytes, BLOCK);
}

static void test_holes_are_copied_as_holes(void **state)
{
	(void)state;
	SG_RIG_RUN("hardly_written", "SOFTGPU_BACKING=exact", NULL);
}

/* One byte of a gigabyte is written; then small copies and fills go all over it. */
static void play_small_steps(void **state)
{
	unsigned char *bytes = map_host(MIB);
	CUdeviceptr first, second;

	(void)state;
	sg_rig_open();
	first = alloc(GIB);
	second = alloc(GIB);
	assert_ok(cuMemsetD8(first, 1, 1));
	assert_ok(cuMemsetD8(second, 1, 1));
	for (size_t at = MIB; at < GIB; at += MIB) {
		assert_ok(cuMemcpyDtoH(bytes, first + at, 4));
		assert_ok(cuMemcpyDtoH(bytes, first + at + 8000, 20000));
		assert_ok(cuMemcpyDtoD(second + at, first + at, 4));
		assert_ok(cuMemcpyDtoD(second + at + 8000, first + at, 50000));
		assert_ok(cuMemsetD8(second + at, 0, 4));
		assert_ok(cuMemsetD32(second + at, 0, 5000));
	}
	assert_true(get_kept() <= 4 * 4096);
	munmap(bytes, MIB);
}

static void test_small_steps_over_memory_never_written_cost_nothing(void **state)
{
	(void)state;
	SG_RIG_RUN("small_steps", "SOFTGPU_BACKING=exact", NULL);
	SG_RIG_RUN("small_steps", "SOFTGPU_BACKING=zero", NULL);
}

/* Rows that lie across pages: what is written in one page must not spread from row to row. */
static void play_rows_across_pages(void **state)
{
	const size_t width = 1536, nr_rows = BLOCK / 1536;
	CUdeviceptr first, second;
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = width - 1, /* not without a gap: row by row */
		.Height = nr_rows,
		.srcPitch = width,
		.dstPitch = width,
	};

	(void)state;
	sg_rig_open();
	first = alloc(BLOCK);
	second = alloc(BLOCK);
	assert_ok(cuMemsetD8(first + 100, 1, 1));
	assert_ok(cuMemsetD8(second + 100, 2, 1));
	copy.srcDevice = first;
	copy.dstDevice = second;
	assert_ok(cuMemcpy2D(&copy));
	assert_true(get_kept() <= 4 * HOST_PAGE);
	assert_ok(cuMemsetD2D8(first, width, 0, width - 1, nr_rows));
	assert_true(get_kept() <= 4 * HOST_PAGE);
	assert_true(is_all(first, BLOCK, 0));
	if (!strcmp(getenv("SOFTGPU_BACKING"), "exact")) {
		assert_true(is_all(second + 100, 1, 1));
		assert_true(is_all(second + 101, BLOCK - 101, 0));
	}
}

static void test_rows_across_pages_fill_no_pages(void **state)
{
	(void)state;
	SG_RIG_RUN("rows_across_pages", "SOFTGPU_BACKING=exact", NULL);
	SG_RIG_RUN("rows_across_pages", "SOFTGPU_BACKING=zero", NULL);
}

static void play_zero(void **state)
{
	CUdeviceptr first, second;

	(void)state;
	sg_rig_open();
	first = alloc(BLOCK);
	second = alloc(BLOCK);
	write_from_host(first, BLOCK, 7);
	assert_true(is_all(first, BLOCK, 0));
	assert_ok(cuMemsetD8(first, 7, BLOCK));
	assert_true(is_all(first, BLOCK, 0));
	assert_ok(cuMemcpyDtoD(second, first, BLOCK));
	assert_int_equal(get_kept(), 0);
}

static void test_zero_backing_keeps_nothing_large(void **state)
{
	(void)state;
	SG_RIG_RUN("zero", "SOFTGPU_BACKING=zero", NULL);
	/* and it is what a card too large for this machine has */
	SG_RIG_RUN("zero", "SOFTGPU_MEMORY=80G", NULL);
}

static void play_small_copies(void **state)
{
	CUdeviceptr first, second;

	(void)state;
	sg_rig_open();
	first = alloc(BLOCK);
	second = alloc(BLOCK);
	write_from_host(first, SMALL, 7);
	assert_true(is_all(first, SMALL, 7));
	assert_ok(cuMemcpyDtoD(second + 5, first, SMALL));
	assert_true(is_all(second + 5, SMALL, 7));
	assert_ok(cuMemsetD32(second + MIB, 0x09090909, SMALL / 4));
	assert_true(is_all(second + MIB, SMALL, 9));
	/* one byte more is too much */
	write_from_host(first + MIB, SMALL + 1, 7);
	assert_true(is_all(first + MIB, SMALL + 1, 0));
	assert_ok(cuMemsetD8(first + MIB, 7, SMALL + 1));
	assert_true(is_all(first + MIB, SMALL + 1, 0));
	/* what lies under a large copy is gone */
	write_from_host(first + 10, SMALL + 1, 7);
	assert_true(is_all(first, 10, 7));
	assert_true(is_all(first + 10, BLOCK - 10, 0));
}

static void test_zero_backing_keeps_small_copies(void **state)
{
	(void)state;
	SG_RIG_RUN("small_copies", "SOFTGPU_BACKING=zero", NULL);
}

static void play_small_rows(void **state)
{
	unsigned char *bytes = map_host(MIB);
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = bytes,
			      .srcPitch = KIB,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstPitch = KIB,
			      .WidthInBytes = KIB,
			      .Height = SMALL / KIB};

	(void)state;
	sg_rig_open();
	memset(bytes, 7, MIB);
	copy.dstDevice = alloc(BLOCK);
	assert_ok(cuMemcpy2D(&copy));
	assert_true(is_all(copy.dstDevice, SMALL, 7));
	/* all rows count together */
	copy.Height++;
	assert_ok(cuMemcpy2D(&copy));
	assert_true(is_all(copy.dstDevice, SMALL + KIB, 0));
	munmap(bytes, MIB);
}

/* Large copies whose rows are small, over memory in which something small is kept. */
static void play_many_rows(void **state)
{
	unsigned char *bytes = map_host(MIB);
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = bytes,
			      .srcPitch = 4096,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstPitch = 4096,
			      .WidthInBytes = 4096,
			      .Height = MIB / 4096};
	CUdeviceptr address;

	(void)state;
	sg_rig_open();
	memset(bytes, 7, MIB);
	address = alloc(GIB);
	assert_ok(cuMemsetD8(address, 1, 1));
	for (size_t at = MIB; at < GIB; at += MIB) {
		copy.dstDevice = address + at;
		assert_ok(cuMemcpy2D(&copy));
		assert_ok(cuMemsetD2D8(address + at, 4096, 7, 4000, MIB / 4096));
	}
	assert_true(get_kept() <= 2 * 4096);
	assert_true(is_all(address, 1, 1));
	munmap(bytes, MIB);
}

static void play_small_slices(void **state)
{
	unsigned char *bytes = map_host(MIB);
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = bytes,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .WidthInBytes = KIB,
			      .Height = 16,
			      .Depth = 4};

	(void)state;
	sg_rig_open();
	memset(bytes, 7, MIB);
	copy.dstDevice = alloc(BLOCK);
	assert_ok(cuMemcpy3D(&copy));
	assert_true(is_all(copy.dstDevice, SMALL, 7));
	copy.Depth++;
	assert_ok(cuMemcpy3D(&copy));
	assert_true(is_all(copy.dstDevice, SMALL + 16 * KIB, 0));
	munmap(bytes, MIB);
}

static void test_zero_backing_takes_all_slices_for_one_copy(void **state)
{
	(void)state;
	SG_RIG_RUN("small_slices", "SOFTGPU_BACKING=zero", NULL);
}

static void test_rows_of_large_copies_do_not_pile_up(void **state)
{
	(void)state;
	SG_RIG_RUN("many_rows", "SOFTGPU_BACKING=zero", NULL);
}

static void test_zero_backing_takes_all_rows_for_one_copy(void **state)
{
	(void)state;
	SG_RIG_RUN("small_rows", "SOFTGPU_BACKING=zero", NULL);
}

static void play_nothing_kept(void **state)
{
	CUdeviceptr address;

	(void)state;
	sg_rig_open();
	address = alloc(BLOCK);
	write_from_host(address, 1, 7);
	assert_true(is_all(address, 1, 0));
	assert_int_equal(get_kept(), 0);
}

static unsigned char read_byte(CUdeviceptr address)
{
	unsigned char byte = 0xee;

	assert_ok(cuMemcpyDtoH(&byte, address, 1));
	return byte;
}

/* A kept byte is what was written; two of them are no yes or no. */
static void play_bool(void **state)
{
	CUdeviceptr small, block;
	unsigned char bytes[2];

	(void)state;
	sg_rig_open();
	small = alloc(512);
	block = alloc(BLOCK);
	assert_int_equal(read_byte(small), 1);
	assert_int_equal(read_byte(block + 4097), 1);
	assert_ok(cuMemcpyDtoH(bytes, block, 2));
	assert_int_equal(bytes[0] | bytes[1], 0);
	write_from_host(block, 1, 0);
	write_from_host(block + 1, 1, 7);
	assert_int_equal(read_byte(block), 0);
	assert_int_equal(read_byte(block + 1), 7);
}

static void play_no_bool(void **state)
{
	(void)state;
	sg_rig_open();
	assert_int_equal(read_byte(alloc(BLOCK)), 0);
}

static void test_yes_or_no_that_no_kernel_wrote_can_be_set(void **state)
{
	(void)state;
	SG_RIG_RUN("bool", "SOFTGPU_BACKING=zero", "SOFTGPU_BOOL=1", NULL);
	SG_RIG_RUN("no_bool", "SOFTGPU_BACKING=zero", NULL);
	/* What is exact is what it is. */
	SG_RIG_RUN("no_bool", "SOFTGPU_BACKING=exact", "SOFTGPU_BOOL=1", NULL);
}

static void play_more_kept(void **state)
{
	CUdeviceptr address;

	(void)state;
	sg_rig_open();
	address = alloc(BLOCK);
	write_from_host(address, MIB, 7);
	assert_true(is_all(address, MIB, 7));
	write_from_host(address, MIB + 1, 7);
	assert_true(is_all(address, MIB + 1, 0));
}

static void test_what_is_small_can_be_set(void **state)
{
	(void)state;
	SG_RIG_RUN("nothing_kept", "SOFTGPU_BACKING=zero", "SOFTGPU_EXACT_BELOW=0", NULL);
	SG_RIG_RUN("more_kept", "SOFTGPU_BACKING=zero", "SOFTGPU_EXACT_BELOW=1M", NULL);
}

static void play_host_memory(void **state)
{
	CUdeviceptr managed, pinned;
	void *host;

	(void)state;
	sg_rig_open();
	assert_ok(cuMemAllocManaged(&managed, BLOCK, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemAllocHost(&host, BLOCK));
	pinned = (CUdeviceptr)(uintptr_t)host;
	assert_ok(cuMemsetD8(managed, 7, BLOCK));
	assert_true(is_all(managed, BLOCK, 7));
	assert_ok(cuMemcpy(pinned, managed, BLOCK));
	assert_true(is_all(pinned, BLOCK, 7));
	memset(host, 8, BLOCK);
	assert_ok(cuMemcpyDtoD(managed, pinned, BLOCK));
	assert_true(is_all(managed, BLOCK, 8));
}

static void test_memory_the_program_sees_is_exact_with_both(void **state)
{
	(void)state;
	SG_RIG_RUN("host_memory", "SOFTGPU_BACKING=zero", NULL);
	SG_RIG_RUN("host_memory", "SOFTGPU_BACKING=exact", NULL);
}

static void play_full_card(void **state)
{
	unsigned char *bytes = map_host(BLOCK);
	size_t before, total, nr_blocks = 0;
	CUdeviceptr address, last = 0;

	(void)state;
	sg_rig_open();
	memset(bytes, 1, BLOCK);
	assert_ok(cuMemGetInfo(NULL, &total));
	assert_int_equal(total, 80 * GIB);
	before = read_status("VmRSS:");
	while (cuMemAlloc(&address, BLOCK) == CUDA_SUCCESS) {
		assert_ok(cuMemcpyHtoD(address, bytes, BLOCK));
		if (last)
			assert_ok(cuMemcpyDtoD(last, address, BLOCK));
		assert_ok(cuMemsetD32(address, 0x3f800000, BLOCK / 4));
		assert_ok(cuMemsetD32(address, 0x3f800000, 16)); /* a scalar, kept */
		last = address;
		nr_blocks++;
	}
	assert_true(nr_blocks * BLOCK > 79 * GIB);
	assert_true(get_kept() <= 32 * MIB); /* a page of each */
	if (!SG_RIG_IS_SANITIZED)
		assert_true(read_status("VmHWM:") < before + 32 * MIB);
}

static void test_card_full_of_tensors_fits_into_little_memory(void **state)
{
	(void)state;
	SG_RIG_RUN("full_card", "SOFTGPU_MEMORY=80G", NULL);
}

/* Small copies everywhere, on two devices in turn. */
static void play_pile_up(void **state)
{
	const size_t size = 512 * MIB, limit = 128 * MIB, between = 1024 * SMALL;
	unsigned char *bytes = map_host(SMALL);
	CUdeviceptr blocks[2];
	CUcontext second;

	(void)state;
	sg_rig_open();
	blocks[0] = alloc(size);
	assert_ok(cuCtxCreate(&second, NULL, 0, 1));
	blocks[1] = alloc(size);
	memset(bytes, 1, SMALL);
	for (size_t at = 0; at < size; at += SMALL) {
		for (int i = 0; i < 2; i++)
			assert_ok(cuMemcpyHtoD(blocks[i] + at, bytes, SMALL));
		if (at % (16 * MIB) == 0)
			assert_true(get_kept() <= 2 * (limit + between));
	}
	/* the last ones are there still, or were forgotten all together */
	assert_ok(cuMemcpyDtoH(bytes, blocks[0] + size - SMALL, SMALL));
	for (size_t i = 1; i < SMALL; i++)
		assert_int_equal(bytes[i], bytes[0]);
	munmap(bytes, SMALL);
}

static void test_small_copies_do_not_pile_up(void **state)
{
	(void)state;
	SG_RIG_RUN("pile_up", "SOFTGPU_BACKING=zero", "SOFTGPU_DEVICES=2", NULL);
}

static void play_pool_and_mapped(void **state)
{
	const CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	const CUmemAccessDesc desc = {.location = props.location,
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr pooled, mapped;

	(void)state;
	sg_rig_open();
	assert_ok(cuMemAllocAsync(&pooled, BLOCK, NULL));
	assert_ok(cuMemAddressReserve(&mapped, BLOCK, 0, 0, 0));
	assert_ok(cuMemCreate(&handle, BLOCK, &props, 0));
	assert_ok(cuMemMap(mapped, BLOCK, 0, handle, 0));
	assert_ok(cuMemSetAccess(mapped, BLOCK, &desc, 1));
	write_from_host(pooled, BLOCK, 7);
	write_from_host(mapped, BLOCK, 7);
	assert_int_equal(get_kept(), 0);
	assert_true(is_all(mapped, BLOCK, 0));
	write_from_host(pooled, 100, 7);
	write_from_host(mapped, 100, 8);
	assert_true(is_all(pooled, 100, 7));
	assert_true(is_all(mapped, 100, 8));
}

static void test_backing_is_that_of_all_device_memory(void **state)
{
	(void)state;
	SG_RIG_RUN("pool_and_mapped", "SOFTGPU_BACKING=zero", NULL);
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {
		{"rows_across_pages", play_rows_across_pages},
		{"exact", play_exact},
		{"never_written", play_never_written},
		{"hardly_written", play_hardly_written},
		{"small_steps", play_small_steps},
		{"zero", play_zero},
		{"small_copies", play_small_copies},
		{"small_rows", play_small_rows},
		{"many_rows", play_many_rows},
		{"small_slices", play_small_slices},
		{"nothing_kept", play_nothing_kept},
		{"more_kept", play_more_kept},
		{"bool", play_bool},
		{"no_bool", play_no_bool},
		{"host_memory", play_host_memory},
		{"full_card", play_full_card},
		{"pile_up", play_pile_up},
		{"pool_and_mapped", play_pool_and_mapped},
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_backing_keeps_every_byte),
		cmocka_unit_test(test_memory_never_written_costs_nothing),
		cmocka_unit_test(test_holes_are_copied_as_holes),
		cmocka_unit_test(test_small_steps_over_memory_never_written_cost_nothing),
		cmocka_unit_test(test_rows_across_pages_fill_no_pages),
		cmocka_unit_test(test_zero_backing_keeps_nothing_large),
		cmocka_unit_test(test_zero_backing_keeps_small_copies),
		cmocka_unit_test(test_zero_backing_takes_all_rows_for_one_copy),
		cmocka_unit_test(test_zero_backing_takes_all_slices_for_one_copy),
		cmocka_unit_test(test_rows_of_large_copies_do_not_pile_up),
		cmocka_unit_test(test_what_is_small_can_be_set),
		cmocka_unit_test(test_yes_or_no_that_no_kernel_wrote_can_be_set),
		cmocka_unit_test(test_memory_the_program_sees_is_exact_with_both),
		cmocka_unit_test(test_card_full_of_tensors_fits_into_little_memory),
		cmocka_unit_test(test_small_copies_do_not_pile_up),
		cmocka_unit_test(test_backing_is_that_of_all_device_memory),
	};
	int played = SG_RIG_PLAY(argc, argv, scenes);

	if (played >= 0)
		return played;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
