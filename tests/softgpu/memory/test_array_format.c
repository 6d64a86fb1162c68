/* What the formats of arrays come in, against the words of cuda.h. */
#include "rig.h"

#include "array_format.h"

static void assert_unit(CUarray_format format, unsigned nr_channels, unsigned size, unsigned side)
{
	struct sg_array_format got;

	assert_true(sg_array_format_get(format, nr_channels, &got));
	assert_int_equal(got.unit_size, size);
	assert_int_equal(got.unit_side, side);
	assert_int_equal(got.nr_planes, 0);
}

static void test_channels_multiply_plain_formats(void **state)
{
	(void)state;
	assert_unit(CU_AD_FORMAT_SIGNED_INT8, 1, 1, 1);
	assert_unit(CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, 1);
	assert_unit(CU_AD_FORMAT_HALF, 2, 4, 1);
	assert_unit(CU_AD_FORMAT_UNSIGNED_INT16, 4, 8, 1);
	assert_unit(CU_AD_FORMAT_FLOAT, 4, 16, 1);
	assert_unit(CU_AD_FORMAT_SIGNED_INT32, 1, 4, 1);
}

static void test_fixed_formats_have_channels_in_their_names(void **state)
{
	(void)state;
	assert_unit(CU_AD_FORMAT_UNORM_INT8X4, 4, 4, 1);
	assert_unit(CU_AD_FORMAT_SNORM_INT16X2, 2, 4, 1);
	assert_unit(CU_AD_FORMAT_UNORM_INT_101010_2, 4, 4, 1);
	assert_unit(CU_AD_FORMAT_Y416, 4, 8, 1);
}

static void test_compressed_formats_come_in_blocks_of_8_or_16_bytes(void **state)
{
	(void)state;
	assert_unit(CU_AD_FORMAT_BC1_UNORM_SRGB, 4, 8, 4);
	assert_unit(CU_AD_FORMAT_BC4_SNORM, 1, 8, 4);
	assert_unit(CU_AD_FORMAT_BC3_UNORM, 4, 16, 4);
	assert_unit(CU_AD_FORMAT_BC6H_UF16, 3, 16, 4);
}

static void test_planar_formats_have_planes(void **state)
{
	struct sg_array_format got;

	(void)state;
	assert_true(sg_array_format_get(CU_AD_FORMAT_P210, 3, &got));
	assert_int_equal(got.unit_size, 0);
	assert_int_equal(got.nr_planes, 2);
	assert_int_equal(got.planes[0].nr_channels, 1);
	assert_int_equal(got.planes[0].divide_width, 1);
	assert_int_equal(got.planes[1].nr_channels, 2);
	assert_int_equal(got.planes[1].divide_width, 2);
	assert_int_equal(got.planes[1].divide_height, 1);
	assert_int_equal(got.planes[1].format, CU_AD_FORMAT_UNSIGNED_INT16);
	assert_true(sg_array_format_get(CU_AD_FORMAT_Y444_PLANAR8, 3, &got));
	assert_int_equal(got.nr_planes, 3);
	assert_int_equal(got.planes[2].nr_channels, 1);
	assert_int_equal(got.planes[2].divide_width, 1);
}

static void test_what_is_no_format_is_refused(void **state)
{
	struct sg_array_format got;

	(void)state;
	assert_false(sg_array_format_get(0, 1, &got));
	assert_false(sg_array_format_get((CUarray_format)0x90, 1, &got));
	assert_false(sg_array_format_get(CU_AD_FORMAT_MAX, 1, &got));
	assert_false(sg_array_format_get(CU_AD_FORMAT_FLOAT, 3, &got));
	assert_false(sg_array_format_get(CU_AD_FORMAT_FLOAT, 0, &got));
	assert_false(sg_array_format_get(CU_AD_FORMAT_BC1_UNORM, 0, &got));
	assert_false(sg_array_format_get(CU_AD_FORMAT_BC1_UNORM, 5, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channels_multiply_plain_formats),
		cmocka_unit_test(test_fixed_formats_have_channels_in_their_names),
		cmocka_unit_test(test_compressed_formats_come_in_blocks_of_8_or_16_bytes),
		cmocka_unit_test(test_planar_formats_have_planes),
		cmocka_unit_test(test_what_is_no_format_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
