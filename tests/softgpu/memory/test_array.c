/* Arrays and mipmaps: what can be made, what it costs, what is known about it, when it goes. */
#include "rig.h"

#include <string.h>

static CUcontext context;

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static CUDA_ARRAY3D_DESCRIPTOR describe(size_t width, size_t height, size_t depth, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {
		.Width = width,
		.Height = height,
		.Depth = depth,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1,
		.Flags = flags,
	};

	return descriptor;
}

static CUresult try_array(size_t width, size_t height, size_t depth, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(width, height, depth, flags);
	CUarray array = NULL;
	CUresult result = cuArray3DCreate(&array, &descriptor);

	if (result == CUDA_SUCCESS)
		assert_ok(cuArrayDestroy(array));
	else
		assert_null(array);
	return result;
}

static CUarray make(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	CUarray array;

	assert_ok(cuArray3DCreate(&array, descriptor));
	return array;
}

static void test_every_kind_of_array_can_be_made(void **state)
{
	const unsigned cube = CUDA_ARRAY3D_CUBEMAP, layers = CUDA_ARRAY3D_LAYERED;

	(void)state;
	assert_ok(try_array(100, 0, 0, 0));
	assert_ok(try_array(100, 50, 0, 0));
	assert_ok(try_array(100, 50, 7, 0));
	assert_ok(try_array(100, 0, 7, layers));
	assert_ok(try_array(100, 50, 7, layers));
	assert_ok(try_array(64, 64, 6, cube));
	assert_ok(try_array(64, 64, 18, cube | layers));
	assert_ok(try_array(100, 50, 0, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER));
}

static void test_extents_that_are_no_array_are_invalid(void **state)
{
	const unsigned cube = CUDA_ARRAY3D_CUBEMAP, layers = CUDA_ARRAY3D_LAYERED;

	(void)state;
	assert_invalid(try_array(0, 0, 0, 0));
	assert_invalid(try_array(0, 10, 0, 0));
	assert_invalid(try_array(10, 0, 10, 0));
	assert_invalid(try_array(10, 10, 0, layers));
	assert_invalid(try_array(64, 32, 6, cube));
	assert_invalid(try_array(64, 64, 5, cube));
	assert_invalid(try_array(64, 64, 12, cube));
	assert_invalid(try_array(64, 64, 13, cube | layers));
	assert_invalid(try_array(10, 10, 10, CUDA_ARRAY3D_TEXTURE_GATHER));
	assert_invalid(try_array(10, 10, 0, 0x8000));
}

static void test_extents_beyond_the_device_are_invalid(void **state)
{
	int width, surface, gather;

	(void)state;
	assert_ok(cuDeviceGetAttribute(&width, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 0));
	assert_ok(cuDeviceGetAttribute(&surface, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, 0));
	assert_ok(cuDeviceGetAttribute(&gather, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
				       0));
	assert_ok(try_array((size_t)width, 0, 0, 0));
	assert_invalid(try_array((size_t)width + 1, 0, 0, 0));
	assert_ok(try_array((size_t)surface, 0, 0, CUDA_ARRAY3D_SURFACE_LDST));
	assert_invalid(try_array((size_t)surface + 1, 0, 0, CUDA_ARRAY3D_SURFACE_LDST));
	assert_ok(try_array((size_t)gather, 1, 0, CUDA_ARRAY3D_TEXTURE_GATHER));
	assert_invalid(try_array((size_t)gather + 1, 1, 0, CUDA_ARRAY3D_TEXTURE_GATHER));
	assert_invalid(try_array(SIZE_MAX, 1, 1, 0));
}

static void test_depth_may_take_the_place_of_width(void **state)
{
	int depth, alternate;

	(void)state;
	assert_ok(cuDeviceGetAttribute(&depth, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 0));
	assert_ok(cuDeviceGetAttribute(&alternate,
				       CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 0));
	assert_true(alternate > depth);
	assert_ok(try_array(1, 1, (size_t)alternate, 0));
	assert_invalid(try_array(1, 1, (size_t)alternate + 1, 0));
}

static void test_formats_and_channels_are_checked(void **state)
{
	static const unsigned channels[] = {1, 2, 4};
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(16, 16, 0, 0);
	CUarray array = NULL;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		descriptor.NumChannels = channels[i];
		assert_ok(cuArrayDestroy(make(&descriptor)));
	}
	descriptor.NumChannels = 3;
	assert_invalid(cuArray3DCreate(&array, &descriptor));
	descriptor.NumChannels = 0;
	assert_invalid(cuArray3DCreate(&array, &descriptor));
	descriptor.NumChannels = 1;
	descriptor.Format = (CUarray_format)0x77;
	assert_invalid(cuArray3DCreate(&array, &descriptor));
	assert_invalid(cuArray3DCreate(NULL, &descriptor));
	assert_invalid(cuArray3DCreate(&array, NULL));
	assert_invalid(cuArrayCreate(&array, NULL));
	assert_null(array);
}

static void test_sparse_and_deferred_arrays_are_not_supported_as_the_device_says(void **state)
{
	int sparse, deferred;

	(void)state;
	assert_ok(
		cuDeviceGetAttribute(&sparse, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 0));
	assert_ok(cuDeviceGetAttribute(
		&deferred, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 0));
	assert_int_equal(sparse, 0);
	assert_int_equal(deferred, 0);
	assert_result(try_array(64, 64, 0, CUDA_ARRAY3D_SPARSE), CUDA_ERROR_NOT_SUPPORTED);
	assert_result(try_array(64, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING),
		      CUDA_ERROR_NOT_SUPPORTED);
}

static void test_questions_about_sparse_arrays_are_invalid_for_others(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(64, 64, 0, 0);
	CUDA_ARRAY_SPARSE_PROPERTIES sparse;
	CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
	CUarrayMapInfo info;
	CUmipmappedArray mipmap;
	CUarray array = make(&descriptor);

	(void)state;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 3));
	assert_invalid(cuArrayGetSparseProperties(&sparse, array));
	assert_invalid(cuArrayGetMemoryRequirements(&needs, array, 0));
	assert_invalid(cuMipmappedArrayGetSparseProperties(&sparse, mipmap));
	assert_invalid(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0));
	assert_result(cuArrayGetSparseProperties(&sparse, NULL), CUDA_ERROR_INVALID_HANDLE);
	memset(&info, 0, sizeof(info));
	info.resourceType = CU_RESOURCE_TYPE_ARRAY;
	info.resource.array = array;
	assert_invalid(cuMemMapArrayAsync(&info, 1, NULL));
	assert_invalid(cuMemMapArrayAsync(NULL, 1, NULL));
	info.resource.array = NULL;
	assert_result(cuMemMapArrayAsync(&info, 1, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuMipmappedArrayDestroy(mipmap));
	assert_ok(cuArrayDestroy(array));
}

static void test_descriptors_are_what_was_asked_for(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR wanted = describe(100, 50, 7, CUDA_ARRAY3D_SURFACE_LDST), got;
	CUDA_ARRAY_DESCRIPTOR flat = {.Width = 33,
				      .Height = 0,
				      .Format = CU_AD_FORMAT_HALF,
				      .NumChannels = 4},
			      seen;
	CUarray array = make(&wanted);

	(void)state;
	memset(&got, 0xff, sizeof(got));
	assert_ok(cuArray3DGetDescriptor(&got, array));
	assert_memory_equal(&got, &wanted, sizeof(got));
	assert_invalid(cuArray3DGetDescriptor(NULL, array));
	assert_ok(cuArrayDestroy(array));

	assert_ok(cuArrayCreate(&array, &flat));
	memset(&seen, 0xff, sizeof(seen));
	assert_ok(cuArrayGetDescriptor(&seen, array));
	assert_memory_equal(&seen, &flat, sizeof(seen));
	assert_ok(cuArray3DGetDescriptor(&got, array));
	assert_int_equal(got.Depth, 0);
	assert_int_equal(got.Flags, 0);
	assert_invalid(cuArrayGetDescriptor(NULL, array));
	assert_ok(cuArrayDestroy(array));
}

static void test_rows_cost_64_bytes_and_slices_8_rows(void **state)
{
	/* Rows of 17 floats are 128 bytes, 9 of them are 16: slices of 2 KiB, and 4096 of them. */
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(17, 9, 4096, 0);
	size_t before = sg_rig_get_free();
	CUarray array = make(&descriptor);

	(void)state;
	assert_int_equal(before - sg_rig_get_free(), 8 * MIB);
	assert_ok(cuArrayDestroy(array));
	assert_int_equal(sg_rig_get_free(), before);
	/* A single row is not padded to 8. */
	descriptor = describe(16384, 0, 64, CUDA_ARRAY3D_LAYERED);
	array = make(&descriptor);
	assert_int_equal(before - sg_rig_get_free(), 4 * MIB);
	assert_ok(cuArrayDestroy(array));
}

static void test_arrays_share_pages_with_each_other_and_with_nothing_else(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(64, 64, 0, 0);
	CUdeviceptr memory;
	CUarray arrays[2];
	size_t before;

	(void)state;
	assert_ok(cuMemAlloc(&memory, 1000));
	before = sg_rig_get_free();
	arrays[0] = make(&descriptor);
	assert_int_equal(before - sg_rig_get_free(), PAGE);
	arrays[1] = make(&descriptor);
	assert_int_equal(before - sg_rig_get_free(), PAGE);
	assert_ok(cuArrayDestroy(arrays[0]));
	assert_int_equal(before - sg_rig_get_free(), PAGE);
	assert_ok(cuArrayDestroy(arrays[1]));
	assert_int_equal(sg_rig_get_free(), before);
	assert_ok(cuMemFree(memory));
}

static void test_array_that_does_not_fit_changes_nothing(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(16384, 16384, 0, 0);
	CUmipmappedArray mipmap = NULL;
	CUarray array = NULL;
	size_t before = sg_rig_get_free();

	(void)state;
	assert_true(before < (size_t)1024 * MIB);
	assert_result(cuArray3DCreate(&array, &descriptor), CUDA_ERROR_OUT_OF_MEMORY);
	assert_result(cuMipmappedArrayCreate(&mipmap, &descriptor, 99), CUDA_ERROR_OUT_OF_MEMORY);
	assert_null(array);
	assert_null(mipmap);
	assert_int_equal(sg_rig_get_free(), before);
}

static void test_managed_memory_gives_way_to_arrays(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(4096, 4096, 0, 0);
	CUdeviceptr managed;
	CUarray array;

	(void)state;
	assert_ok(cuMemAllocManaged(&managed, 400 * MIB, CU_MEM_ATTACH_GLOBAL));
	assert_true(sg_rig_get_free() < 64 * MIB);
	array = make(&descriptor);
	assert_ok(cuArrayDestroy(array));
	assert_ok(cuMemFree(managed));
}

static void test_compressed_arrays_cost_a_block_for_16_elements(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(4096, 4096, 0, 0);
	size_t before = sg_rig_get_free();
	CUarray array;

	(void)state;
	descriptor.Format = CU_AD_FORMAT_BC1_UNORM;
	descriptor.NumChannels = 4;
	array = make(&descriptor);
	assert_int_equal(before - sg_rig_get_free(), 8 * MIB);
	assert_ok(cuArrayDestroy(array));
	descriptor.Format = CU_AD_FORMAT_BC7_UNORM;
	array = make(&descriptor);
	assert_int_equal(before - sg_rig_get_free(), 16 * MIB);
	assert_ok(cuArrayDestroy(array));
	descriptor.Height = 0;
	assert_invalid(cuArray3DCreate(&array, &descriptor));
}

static void test_planes_of_an_array_are_arrays_of_it(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(2048, 2048, 0, 0), got;
	size_t before = sg_rig_get_free();
	CUarray array, planes[2], none = NULL;

	(void)state;
	descriptor.Format = CU_AD_FORMAT_NV12;
	descriptor.NumChannels = 3;
	array = make(&descriptor);
	assert_int_equal(before - sg_rig_get_free(), 6 * MIB);
	assert_ok(cuArrayGetPlane(&planes[0], array, 0));
	assert_ok(cuArrayGetPlane(&planes[1], array, 1));
	assert_ok(cuArray3DGetDescriptor(&got, planes[0]));
	assert_int_equal(got.Width, 2048);
	assert_int_equal(got.Height, 2048);
	assert_int_equal(got.NumChannels, 1);
	assert_int_equal(got.Format, CU_AD_FORMAT_UNSIGNED_INT8);
	assert_ok(cuArray3DGetDescriptor(&got, planes[1]));
	assert_int_equal(got.Width, 1024);
	assert_int_equal(got.Height, 1024);
	assert_int_equal(got.NumChannels, 2);
	assert_int_equal(got.Format, CU_AD_FORMAT_UNSIGNED_INT8);
	assert_invalid(cuArrayGetPlane(&none, array, 2));
	assert_invalid(cuArrayGetPlane(&none, array, 1000));
	assert_invalid(cuArrayGetPlane(&none, planes[0], 0));
	assert_invalid(cuArrayGetPlane(NULL, array, 0));
	assert_result(cuArrayDestroy(planes[0]), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuArrayDestroy(array));
	assert_result(cuArray3DGetDescriptor(&got, planes[1]), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(sg_rig_get_free(), before);
}

static void check_level(CUmipmappedArray mipmap, unsigned level, size_t width, size_t height,
			size_t depth)
{
	CUDA_ARRAY3D_DESCRIPTOR got;
	CUarray array, again;

	assert_ok(cuMipmappedArrayGetLevel(&array, mipmap, level));
	assert_ok(cuMipmappedArrayGetLevel(&again, mipmap, level));
	assert_ptr_equal(array, again);
	assert_ok(cuArray3DGetDescriptor(&got, array));
	assert_int_equal(got.Width, width);
	assert_int_equal(got.Height, height);
	assert_int_equal(got.Depth, depth);
}

static void test_levels_halve_until_they_are_one(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(40, 5, 0, 0);
	CUmipmappedArray mipmap;
	CUarray none = NULL;

	(void)state;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 1000));
	check_level(mipmap, 0, 40, 5, 0);
	check_level(mipmap, 1, 20, 2, 0);
	check_level(mipmap, 2, 10, 1, 0);
	check_level(mipmap, 3, 5, 1, 0);
	check_level(mipmap, 5, 1, 1, 0);
	assert_invalid(cuMipmappedArrayGetLevel(&none, mipmap, 6));
	assert_invalid(cuMipmappedArrayGetLevel(NULL, mipmap, 0));
	assert_ok(cuMipmappedArrayDestroy(mipmap));
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 0));
	check_level(mipmap, 0, 40, 5, 0);
	assert_invalid(cuMipmappedArrayGetLevel(&none, mipmap, 1));
	assert_ok(cuMipmappedArrayDestroy(mipmap));
}

static void test_layers_do_not_halve(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(8, 8, 12, CUDA_ARRAY3D_LAYERED);
	CUmipmappedArray mipmap;

	(void)state;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 4));
	check_level(mipmap, 3, 1, 1, 12);
	assert_ok(cuMipmappedArrayDestroy(mipmap));
	descriptor.Flags = 0;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 4));
	check_level(mipmap, 3, 1, 1, 1);
	assert_ok(cuMipmappedArrayDestroy(mipmap));
}

static void test_mipmap_is_charged_once_with_all_its_levels(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(1024, 1024, 0, 0);
	size_t before = sg_rig_get_free();
	CUmipmappedArray mipmap;
	CUarray level;

	(void)state;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 2));
	/* 4 MiB and 1 MiB, in pages of 2 */
	assert_int_equal(before - sg_rig_get_free(), 6 * MIB);
	assert_ok(cuMipmappedArrayGetLevel(&level, mipmap, 1));
	assert_result(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(before - sg_rig_get_free(), 6 * MIB);
	assert_ok(cuMipmappedArrayDestroy(mipmap));
	assert_int_equal(sg_rig_get_free(), before);
	assert_result(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuMipmappedArrayGetLevel(&level, mipmap, 0), CUDA_ERROR_INVALID_HANDLE);
}

static void test_handles_that_are_none_are_errors(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(64, 64, 0, 0), got;
	CUDA_ARRAY_DESCRIPTOR flat;
	CUmipmappedArray mipmap;
	CUarray array = make(&descriptor), plane;
	int local;

	(void)state;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 2));
	assert_result(cuArrayDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuArrayDestroy((CUarray)(void *)&local), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuArrayDestroy((CUarray)(void *)mipmap), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuMipmappedArrayDestroy((CUmipmappedArray)(void *)array),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuMipmappedArrayDestroy(mipmap));
	assert_ok(cuArrayDestroy(array));
	assert_result(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuArray3DGetDescriptor(&got, array), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuArrayGetDescriptor(&flat, array), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuArrayGetPlane(&plane, array, 0), CUDA_ERROR_INVALID_HANDLE);
}

static void test_arrays_go_with_their_context(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(1024, 1024, 0, 0), got;
	size_t before = sg_rig_get_free();
	CUmipmappedArray mipmap;
	CUarray arrays[3], kept = make(&descriptor);
	CUcontext other;

	(void)state;
	assert_ok(cuCtxCreate(&other, NULL, 0, 0));
	for (size_t i = 0; i < 3; i++)
		arrays[i] = make(&descriptor);
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 5));
	assert_ok(cuCtxDestroy(other));
	assert_ok(cuCtxSetCurrent(context));
	assert_int_equal(before - sg_rig_get_free(), 4 * MIB);
	for (size_t i = 0; i < 3; i++)
		assert_result(cuArrayDestroy(arrays[i]), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	assert_ok(cuArray3DGetDescriptor(&got, kept));
	assert_ok(cuArrayDestroy(kept));
	assert_int_equal(sg_rig_get_free(), before);
}

static void test_arrays_need_a_context(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = describe(16, 16, 0, 0);
	CUmipmappedArray mipmap;
	CUcontext popped;
	CUarray array;

	(void)state;
	assert_ok(cuCtxPopCurrent(&popped));
	assert_result(cuArray3DCreate(&array, &descriptor), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMipmappedArrayCreate(&mipmap, &descriptor, 1), CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuArrayDestroy(NULL), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(cuCtxPushCurrent(popped));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_every_kind_of_array_can_be_made),
		TEST(test_extents_that_are_no_array_are_invalid),
		TEST(test_extents_beyond_the_device_are_invalid),
		TEST(test_depth_may_take_the_place_of_width),
		TEST(test_formats_and_channels_are_checked),
		TEST(test_sparse_and_deferred_arrays_are_not_supported_as_the_device_says),
		TEST(test_questions_about_sparse_arrays_are_invalid_for_others),
		TEST(test_descriptors_are_what_was_asked_for),
		TEST(test_rows_cost_64_bytes_and_slices_8_rows),
		TEST(test_arrays_share_pages_with_each_other_and_with_nothing_else),
		TEST(test_array_that_does_not_fit_changes_nothing),
		TEST(test_managed_memory_gives_way_to_arrays),
		TEST(test_compressed_arrays_cost_a_block_for_16_elements),
		TEST(test_planes_of_an_array_are_arrays_of_it),
		TEST(test_levels_halve_until_they_are_one),
		TEST(test_layers_do_not_halve),
		TEST(test_mipmap_is_charged_once_with_all_its_levels),
		TEST(test_handles_that_are_none_are_errors),
		TEST(test_arrays_go_with_their_context),
		TEST(test_arrays_need_a_context),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
