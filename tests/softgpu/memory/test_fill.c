#include <string.h>

#include "rig.h"
#include "sites.h"

#define NR_STEPS (SG_RIG_IS_SANITIZED ? 2000 : 10000)

static struct sg_site sites[NR_SITES];
static CUcontext contexts[2];
static CUstream stream;
static uint64_t seed;

static int begin(void **state)
{
	(void)state;
	seed = 5;
	sg_sites_create(sites, contexts);
	assert_ok(cuStreamCreate(&stream, 0));
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SITES; i++)
		sg_sites_compare(&sites[i]);
	sg_sites_destroy(sites, contexts);
	return 0;
}

static uint64_t draw(uint64_t limit)
{
	return sg_rig_draw_below(&seed, limit);
}

static CUresult fill(CUdeviceptr target, unsigned value_size, uint32_t value, size_t count,
		     bool is_async)
{
	switch (value_size) {
	case 1:
		return is_async ? cuMemsetD8Async(target, (unsigned char)value, count, stream)
				: cuMemsetD8(target, (unsigned char)value, count);
	case 2:
		return is_async ? cuMemsetD16Async(target, (unsigned short)value, count, stream)
				: cuMemsetD16(target, (unsigned short)value, count);
	default:
		return is_async ? cuMemsetD32Async(target, value, count, stream)
				: cuMemsetD32(target, value, count);
	}
}

static CUresult fill_rows(CUdeviceptr target, size_t pitch, unsigned value_size, uint32_t value,
			  size_t width, size_t height, bool is_async)
{
	switch (value_size) {
	case 1:
		return is_async ? cuMemsetD2D8Async(target, pitch, (unsigned char)value, width,
						    height, stream)
				: cuMemsetD2D8(target, pitch, (unsigned char)value, width, height);
	case 2:
		return is_async
			       ? cuMemsetD2D16Async(target, pitch, (unsigned short)value, width,
						    height, stream)
			       : cuMemsetD2D16(target, pitch, (unsigned short)value, width, height);
	default:
		return is_async ? cuMemsetD2D32Async(target, pitch, value, width, height, stream)
				: cuMemsetD2D32(target, pitch, value, width, height);
	}
}

static void fill_shadow(unsigned char *shadow, unsigned value_size, uint32_t value, size_t count)
{
	for (size_t i = 0; i < count * value_size; i++)
		shadow[i] = (unsigned char)(value >> (i % value_size * 8));
}

/* Zero, and values whose low bytes are zero, are the ones that go wrong. */
static uint32_t draw_value(void)
{
	static const uint32_t values[] = {0, 0x100, 0x10000, 0xff, 0xffffffff};

	return draw(2) ? values[draw(5)] : (uint32_t)draw((uint64_t)1 << 32);
}

static void test_lines_in_all_kinds_of_memory(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		struct sg_site *site = &sites[step % NR_SITES];
		unsigned value_size = 1u << draw(3);
		uint32_t value = draw_value();
		size_t count = (draw(4) ? draw(3000) : draw(SITE_SIZE / 2)) / value_size;
		size_t at = draw((SITE_SIZE - count * value_size) / value_size + 1) * value_size;
		CUresult result = fill(site->address + at, value_size, value, count, draw(2) == 1);

		if (!site->is_cuda && count) {
			assert_result(result, CUDA_ERROR_INVALID_VALUE);
			continue;
		}
		assert_ok(result);
		fill_shadow(site->shadow + at, value_size, value, count);
		sg_sites_compare(site);
	}
}

static void test_rows_in_all_kinds_of_memory(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		struct sg_site *site = &sites[step % NR_SITES];
		unsigned value_size = 1u << draw(3);
		uint32_t value = draw_value();
		size_t width = draw(500), height = draw(30);
		size_t pitch = (width + draw(20)) * value_size;
		size_t at = draw(1000) * value_size;

		if (!site->is_cuda)
			continue;
		assert_ok(fill_rows(site->address + at, pitch, value_size, value, width, height,
				    draw(2) == 1));
		for (size_t y = 0; y < height; y++)
			fill_shadow(site->shadow + at + y * pitch, value_size, value, width);
		sg_sites_compare(site);
	}
}

static void test_large_fills_are_exact(void **state)
{
	const size_t size = 6 * MIB;
	static unsigned char bytes[6 * MIB];
	CUdeviceptr address;

	(void)state;
	assert_ok(cuMemAlloc(&address, size));
	assert_ok(cuMemsetD8(address, 7, size));
	assert_ok(cuMemsetD8(address + 1000, 0, 4 * MIB));
	assert_ok(cuMemcpyDtoH(bytes, address, size));
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != (i >= 1000 && i < 1000 + 4 * MIB ? 0 : 7))
			fail_msg("byte %zu is %d", i, bytes[i]);
}

static void test_target_must_be_aligned_to_the_value(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;

	(void)state;
	for (unsigned value_size = 2; value_size <= 4; value_size *= 2) {
		for (unsigned at = 1; at < value_size; at++) {
			assert_invalid(fill(device + at, value_size, 1, 1, false));
			assert_invalid(fill(device + at, value_size, 1, 1, true));
			assert_invalid(fill_rows(device + at, 100, value_size, 1, 1, 1, false));
		}
	}
	/* and so must the rows */
	assert_invalid(cuMemsetD2D32(device, 102, 1, 10, 2));
	assert_invalid(cuMemsetD2D16(device, 101, 1, 10, 2));
}

static void test_fills_beyond_the_end_of_a_block_are_invalid(void **state)
{
	(void)state;
	for (int i = 0; i < NR_SITES; i++) {
		CUdeviceptr last = sites[i].address + SITE_SIZE - 16;

		if (i == SITE_PLAIN || i == SITE_MAPPED)
			continue;
		assert_invalid(cuMemsetD8(last, 1, 17));
		assert_invalid(cuMemsetD16(last, 1, 9));
		assert_invalid(cuMemsetD32(last, 1, 5));
		assert_invalid(cuMemsetD2D8(last, 8, 1, 8, 3));
		assert_invalid(cuMemsetD2D8(last, 100, 1, 1, 2));
	}
}

static void test_counts_too_large_for_64_bits_are_invalid(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;

	(void)state;
	assert_invalid(cuMemsetD8(device, 1, SIZE_MAX));
	assert_invalid(cuMemsetD16(device, 1, SIZE_MAX / 2 + 2)); /* 2 bytes in 64 bits */
	assert_invalid(cuMemsetD32(device, 1, SIZE_MAX / 4 + 2));
	assert_invalid(cuMemsetD2D8(device, (size_t)1 << 32, 1, 1, ((size_t)1 << 32) + 1));
	assert_invalid(cuMemsetD2D32(device, 16, 1, SIZE_MAX / 4 + 2, 1));
	assert_invalid(cuMemsetD2D8(device, SIZE_MAX, 1, 1, 2));
}

static void test_rows_must_fit_into_the_pitch(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;

	(void)state;
	assert_invalid(cuMemsetD2D8(device, 9, 1, 10, 2));
	assert_invalid(cuMemsetD2D32(device, 36, 1, 10, 2));
	/* a single row has no pitch to fit into */
	assert_ok(cuMemsetD2D8(device, 0, 1, 10, 1));
	memset(sites[SITE_DEVICE].shadow, 1, 10);
}

static void test_nothing_to_fill_is_fine(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;

	(void)state;
	for (unsigned value_size = 1; value_size <= 4; value_size *= 2) {
		assert_ok(fill(device, value_size, 1, 0, false));
		assert_ok(fill(device, value_size, 1, 0, true));
		assert_ok(fill_rows(device, 100, value_size, 1, 0, 5, false));
		assert_ok(fill_rows(device, 100, value_size, 1, 5, 0, true));
	}
}

/* Two pieces that meet in the middle of a value. */
static void test_values_go_on_over_the_end_of_a_block(void **state)
{
	unsigned char *own = (unsigned char *)(uintptr_t)sites[SITE_PLAIN].address;
	unsigned char *shadow = sites[SITE_PLAIN].shadow;

	(void)state;
	assert_ok(cuMemHostRegister(own, 1001, 0));
	assert_ok(cuMemHostRegister(own + 1001, 999, 0));
	for (unsigned value_size = 1; value_size <= 4; value_size *= 2) {
		assert_ok(fill((uintptr_t)own, value_size, 0x44332211, 2000 / value_size, false));
		fill_shadow(shadow, value_size, 0x44332211, 2000 / value_size);
		sg_sites_compare(&sites[SITE_PLAIN]);
	}
	assert_ok(cuMemHostUnregister(own));
	assert_ok(cuMemHostUnregister(own + 1001));
}

static void test_unknown_memory_is_invalid(void **state)
{
	CUdeviceptr freed;
	char own[16];

	(void)state;
	assert_invalid(cuMemsetD8((CUdeviceptr)(uintptr_t)own, 1, 1));
	assert_invalid(cuMemsetD8(0, 1, 1));
	assert_invalid(cuMemsetD8(1, 1, 1));
	assert_ok(cuMemAlloc(&freed, 100));
	assert_ok(cuMemFree(freed));
	assert_invalid(cuMemsetD8(freed, 1, 1));
	assert_result(cuMemsetD8Async(sites[SITE_DEVICE].address, 1, 1, (CUstream)own),
		      CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_lines_in_all_kinds_of_memory),
		TEST(test_rows_in_all_kinds_of_memory),
		TEST(test_large_fills_are_exact),
		TEST(test_target_must_be_aligned_to_the_value),
		TEST(test_fills_beyond_the_end_of_a_block_are_invalid),
		TEST(test_counts_too_large_for_64_bits_are_invalid),
		TEST(test_rows_must_fit_into_the_pitch),
		TEST(test_nothing_to_fill_is_fine),
		TEST(test_values_go_on_over_the_end_of_a_block),
		TEST(test_unknown_memory_is_invalid),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
