/* Texture and surface references: one for each name of a module, and what is set is read back. */
#include "rig.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".global .texref image;\n.global .texref other;\n"
			  ".global .surfref canvas;\n";

static CUcontext context;
static CUmodule module;
static CUarray array, writable;
static CUmipmappedArray mipmap;
static CUtexref texture;

static int begin(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = 32, .Height = 32, .Format = CU_AD_FORMAT_HALF, .NumChannels = 2};

	(void)state;
	context = sg_rig_open();
	assert_ok(cuModuleLoadData(&module, ptx));
	assert_ok(cuArray3DCreate(&array, &shape));
	assert_ok(cuMipmappedArrayCreate(&mipmap, &shape, 2));
	shape.Flags = CUDA_ARRAY3D_SURFACE_LDST;
	assert_ok(cuArray3DCreate(&writable, &shape));
	assert_ok(cuModuleGetTexRef(&texture, module, "image"));
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static void test_each_name_has_one_reference(void **state)
{
	CUtexref again, other, none = NULL;

	(void)state;
	assert_ok(cuModuleGetTexRef(&again, module, "image"));
	assert_ptr_equal(again, texture);
	assert_ok(cuModuleGetTexRef(&other, module, "other"));
	assert_ptr_not_equal(other, texture);
	assert_result(cuModuleGetTexRef(&none, module, "missing"), CUDA_ERROR_NOT_FOUND);
	assert_invalid(cuModuleGetTexRef(NULL, module, "image"));
	assert_invalid(cuModuleGetTexRef(&none, module, NULL));
	assert_invalid(cuModuleGetTexRef(&none, NULL, "image"));
	assert_null(none);
}

static void test_what_is_bound_last_counts(void **state)
{
	CUmipmappedArray mipmap_back;
	CUarray_format format;
	CUdeviceptr memory, address;
	CUarray back;
	int nr_channels;

	(void)state;
	assert_invalid(cuTexRefGetArray(&back, texture));
	assert_ok(cuTexRefSetArray(texture, array, CU_TRSA_OVERRIDE_FORMAT));
	assert_ok(cuTexRefGetArray(&back, texture));
	assert_ptr_equal(back, array);
	assert_ok(cuTexRefGetFormat(&format, &nr_channels, texture));
	assert_int_equal(format, CU_AD_FORMAT_HALF);
	assert_int_equal(nr_channels, 2);
	assert_ok(cuTexRefSetMipmappedArray(texture, mipmap, CU_TRSA_OVERRIDE_FORMAT));
	assert_invalid(cuTexRefGetArray(&back, texture));
	assert_ok(cuTexRefGetMipmappedArray(&mipmap_back, texture));
	assert_ptr_equal(mipmap_back, mipmap);
	assert_ok(cuMemAlloc(&memory, 4096));
	assert_ok(cuTexRefSetAddress(NULL, texture, memory, 4096));
	assert_invalid(cuTexRefGetMipmappedArray(&mipmap_back, texture));
	assert_ok(cuTexRefGetAddress(&address, texture));
	assert_true(address == memory);
	assert_ok(cuTexRefSetAddress(NULL, texture, 0, 0));
	assert_invalid(cuTexRefGetAddress(&address, texture));
	assert_invalid(cuTexRefSetArray(texture, NULL, CU_TRSA_OVERRIDE_FORMAT));
	assert_invalid(cuTexRefSetArray(texture, array, 0));
}

static void test_memory_that_is_bound_is_checked(void **state)
{
	CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
	CUdeviceptr memory;
	size_t offset = 77;

	(void)state;
	assert_ok(cuMemAlloc(&memory, 1024));
	assert_ok(cuTexRefSetAddress(&offset, texture, memory + 20, 100));
	assert_int_equal(offset, 20);
	assert_invalid(cuTexRefSetAddress(NULL, texture, memory + 20, 100));
	assert_invalid(cuTexRefSetAddress(&offset, texture, memory, 1025));
	assert_ok(cuTexRefSetAddress2D(texture, &shape, memory, 256));
	assert_invalid(cuTexRefSetAddress2D(texture, &shape, memory, 255));
	shape.Height = 5;
	assert_invalid(cuTexRefSetAddress2D(texture, &shape, memory, 256));
	shape.Height = 0;
	assert_invalid(cuTexRefSetAddress2D(texture, &shape, memory, 256));
	assert_invalid(cuTexRefSetAddress2D(texture, NULL, memory, 256));
}

static void test_settings_are_read_back(void **state)
{
	float color[4] = {1, 2, 3, 4}, color_back[4], low, high, bias;
	CUaddress_mode mode;
	CUfilter_mode filter;
	unsigned flags;
	int most;

	(void)state;
	assert_ok(cuTexRefSetAddressMode(texture, 2, CU_TR_ADDRESS_MODE_MIRROR));
	assert_ok(cuTexRefGetAddressMode(&mode, texture, 2));
	assert_int_equal(mode, CU_TR_ADDRESS_MODE_MIRROR);
	assert_ok(cuTexRefSetFilterMode(texture, CU_TR_FILTER_MODE_LINEAR));
	assert_ok(cuTexRefGetFilterMode(&filter, texture));
	assert_int_equal(filter, CU_TR_FILTER_MODE_LINEAR);
	assert_ok(cuTexRefSetMipmapFilterMode(texture, CU_TR_FILTER_MODE_LINEAR));
	assert_ok(cuTexRefGetMipmapFilterMode(&filter, texture));
	assert_int_equal(filter, CU_TR_FILTER_MODE_LINEAR);
	assert_ok(cuTexRefSetMipmapLevelBias(texture, 0.5F));
	assert_ok(cuTexRefGetMipmapLevelBias(&bias, texture));
	assert_true(bias == 0.5F);
	assert_ok(cuTexRefSetMipmapLevelClamp(texture, 1, 7));
	assert_ok(cuTexRefGetMipmapLevelClamp(&low, &high, texture));
	assert_true(low == 1 && high == 7);
	assert_ok(cuTexRefSetMaxAnisotropy(texture, 40));
	assert_ok(cuTexRefGetMaxAnisotropy(&most, texture));
	assert_int_equal(most, 16);
	assert_ok(cuTexRefSetBorderColor(texture, color));
	assert_ok(cuTexRefGetBorderColor(color_back, texture));
	assert_memory_equal(color, color_back, sizeof(color));
	assert_ok(cuTexRefSetFlags(texture, CU_TRSF_NORMALIZED_COORDINATES));
	assert_ok(cuTexRefGetFlags(&flags, texture));
	assert_int_equal(flags, CU_TRSF_NORMALIZED_COORDINATES);
	assert_ok(cuTexRefSetFormat(texture, CU_AD_FORMAT_SIGNED_INT8, 4));
}

static void test_bad_settings_are_invalid(void **state)
{
	CUaddress_mode mode;
	float number;

	(void)state;
	assert_invalid(cuTexRefSetAddressMode(texture, 3, CU_TR_ADDRESS_MODE_WRAP));
	assert_invalid(cuTexRefSetAddressMode(texture, 0, (CUaddress_mode)9));
	assert_invalid(cuTexRefGetAddressMode(&mode, texture, -1));
	assert_invalid(cuTexRefGetAddressMode(NULL, texture, 0));
	assert_invalid(cuTexRefSetFilterMode(texture, (CUfilter_mode)7));
	assert_invalid(cuTexRefSetFlags(texture, 0x8000));
	assert_invalid(cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, 3));
	assert_invalid(cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, -1));
	assert_invalid(cuTexRefSetBorderColor(texture, NULL));
	assert_invalid(cuTexRefGetMipmapLevelClamp(&number, NULL, texture));
	assert_invalid(cuTexRefGetFormat(NULL, NULL, texture));
	assert_invalid(cuTexRefSetFlags(NULL, 0));
	assert_invalid(cuTexRefSetFlags((CUtexref)(void *)&number, 0));
}

static void test_surfaces_take_arrays_made_for_them(void **state)
{
	CUsurfref canvas;
	CUarray back;

	(void)state;
	assert_ok(cuModuleGetSurfRef(&canvas, module, "canvas"));
	assert_invalid(cuSurfRefGetArray(&back, canvas));
	assert_invalid(cuSurfRefSetArray(canvas, array, 0));
	assert_invalid(cuSurfRefSetArray(canvas, writable, 1));
	assert_ok(cuSurfRefSetArray(canvas, writable, 0));
	assert_ok(cuSurfRefGetArray(&back, canvas));
	assert_ptr_equal(back, writable);
	/* A surface is no texture, and the other way round. */
	assert_invalid(cuTexRefGetArray(&back, (CUtexref)(void *)canvas));
	assert_invalid(cuSurfRefGetArray(&back, (CUsurfref)(void *)texture));
}

static void test_references_go_with_their_module_or_context(void **state)
{
	CUtexref mine, there;
	CUcontext other;
	unsigned flags;

	(void)state;
	assert_ok(cuTexRefCreate(&mine));
	assert_invalid(cuTexRefCreate(NULL));
	assert_ok(cuTexRefGetFlags(&flags, mine));
	assert_invalid(cuTexRefDestroy(texture));
	assert_ok(cuModuleUnload(module));
	assert_invalid(cuTexRefGetFlags(&flags, texture));
	assert_ok(cuTexRefGetFlags(&flags, mine));
	assert_ok(cuTexRefDestroy(mine));
	assert_invalid(cuTexRefDestroy(mine));
	assert_ok(cuCtxCreate(&other, NULL, 0, 0));
	assert_ok(cuTexRefCreate(&there));
	assert_ok(cuCtxDestroy(other));
	assert_ok(cuCtxSetCurrent(context));
	assert_invalid(cuTexRefGetFlags(&flags, there));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_each_name_has_one_reference),
		TEST(test_what_is_bound_last_counts),
		TEST(test_memory_that_is_bound_is_checked),
		TEST(test_settings_are_read_back),
		TEST(test_bad_settings_are_invalid),
		TEST(test_surfaces_take_arrays_made_for_them),
		TEST(test_references_go_with_their_module_or_context),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
