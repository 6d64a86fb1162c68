#include "array_size.h"

#include "hooks_cmocka.h"

static uint64_t size_of(CUarray_format format, unsigned channels, size_t width, size_t height,
			size_t depth, unsigned flags, unsigned nr_levels)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = width,
					 .Height = height,
					 .Depth = depth,
					 .Format = format,
					 .NumChannels = channels,
					 .Flags = flags};

	return vs_array_size_get(&shape, nr_levels);
}

static void test_extents_of_zero_count_as_one(void **state)
{
	(void)state;
	assert_int_equal(size_of(CU_AD_FORMAT_FLOAT, 1, 100, 0, 0, 0, 1), 400);
	assert_int_equal(size_of(CU_AD_FORMAT_FLOAT, 4, 100, 10, 0, 0, 1), 16000);
	assert_int_equal(size_of(CU_AD_FORMAT_UNSIGNED_INT8, 2, 8, 8, 8, 0, 1), 1024);
	assert_int_equal(size_of(CU_AD_FORMAT_HALF, 1, 3, 3, 0, 0, 1), 18);
}

static void test_levels_halve_every_extent_down_to_one(void **state)
{
	(void)state;
	/* 8x4, 4x2, 2x1, 1x1 */
	assert_int_equal(size_of(CU_AD_FORMAT_SIGNED_INT32, 1, 8, 4, 0, 0, 4),
			 4 * (32 + 8 + 2 + 1));
	assert_int_equal(size_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, 4, 4, 4, 0, 3), 64 + 8 + 1);
}

static void test_levels_that_are_not_there_count_nothing(void **state)
{
	(void)state;
	/* 4x2, 2x1, 1x1: the driver makes three, however many are asked for, and at least one. */
	assert_int_equal(size_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, 4, 2, 0, 0, 20), 8 + 2 + 1);
	assert_int_equal(size_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, 4, 2, 0, 0, 0), 8);
	assert_int_equal(
		size_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, 2, 2, 100, CUDA_ARRAY3D_LAYERED, 20),
		100 * (4 + 1));
}

static void test_layers_are_the_same_on_every_level(void **state)
{
	(void)state;
	assert_int_equal(size_of(CU_AD_FORMAT_UNSIGNED_INT8, 1, 4, 4, 6, CUDA_ARRAY3D_LAYERED, 2),
			 6 * (16 + 4));
}

static void test_compressed_formats_take_whole_blocks(void **state)
{
	(void)state;
	assert_int_equal(size_of(CU_AD_FORMAT_BC1_UNORM, 4, 5, 5, 0, 0, 1), 8 * 8 / 2);
	assert_int_equal(size_of(CU_AD_FORMAT_BC7_UNORM, 4, 5, 4, 0, 0, 1), 8 * 4);
}

static void test_planar_formats_count_all_planes(void **state)
{
	(void)state;
	assert_int_equal(size_of(CU_AD_FORMAT_NV12, 3, 64, 32, 0, 0, 1), 64 * 32 * 3 / 2);
	assert_int_equal(size_of(CU_AD_FORMAT_UNORM_INT16X4, 4, 2, 2, 0, 0, 1), 32);
}

static void test_arrays_without_memory_of_their_own_have_none(void **state)
{
	(void)state;
	assert_int_equal(size_of(CU_AD_FORMAT_FLOAT, 1, 64, 64, 0, CUDA_ARRAY3D_SPARSE, 1), 0);
	assert_int_equal(
		size_of(CU_AD_FORMAT_FLOAT, 1, 64, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING, 1), 0);
}

static void test_a_size_that_does_not_fit_is_the_largest(void **state)
{
	(void)state;
	assert_true(size_of(CU_AD_FORMAT_FLOAT, 4, SIZE_MAX, SIZE_MAX, 2, 0, 9) == UINT64_MAX);
	assert_true(size_of(CU_AD_FORMAT_BC1_UNORM, 4, SIZE_MAX, 1, 1, 0, 1) == UINT64_MAX);
}

static void test_runtime_says_the_same_in_bits(void **state)
{
	struct cudaChannelFormatDesc rgba = {32, 32, 32, 32, cudaChannelFormatKindFloat};
	struct cudaExtent extent = {8, 4, 3};

	(void)state;
	assert_int_equal(vs_array_size_get_by_bits(&rgba, extent, 0, 1), 8 * 4 * 3 * 16);
	assert_int_equal(vs_array_size_get_by_bits(&rgba, extent, cudaArrayLayered, 2),
			 3 * 16 * (32 + 8));
	assert_int_equal(vs_array_size_get_by_bits(&rgba, extent, cudaArraySparse, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extents_of_zero_count_as_one),
		cmocka_unit_test(test_levels_halve_every_extent_down_to_one),
		cmocka_unit_test(test_levels_that_are_not_there_count_nothing),
		cmocka_unit_test(test_layers_are_the_same_on_every_level),
		cmocka_unit_test(test_compressed_formats_take_whole_blocks),
		cmocka_unit_test(test_planar_formats_count_all_planes),
		cmocka_unit_test(test_arrays_without_memory_of_their_own_have_none),
		cmocka_unit_test(test_a_size_that_does_not_fit_is_the_largest),
		cmocka_unit_test(test_runtime_says_the_same_in_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
