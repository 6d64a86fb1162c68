/* Texture and surface objects: checked, kept and read back. */
#include "rig.h"

#include <string.h>

#define WIDTH  256
#define HEIGHT 16

static CUcontext context;
static CUarray array, writable, cube;
static CUmipmappedArray mipmap;
static CUdeviceptr memory; /* WIDTH x HEIGHT floats */

static int begin(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {
		.Width = 64,
		.Height = 64,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1,
	};

	(void)state;
	context = sg_rig_open();
	assert_ok(cuArray3DCreate(&array, &descriptor));
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 3));
	descriptor.Flags = CUDA_ARRAY3D_SURFACE_LDST;
	assert_ok(cuArray3DCreate(&writable, &descriptor));
	descriptor.Flags = CUDA_ARRAY3D_CUBEMAP;
	descriptor.Depth = 6;
	assert_ok(cuArray3DCreate(&cube, &descriptor));
	assert_ok(cuMemAlloc(&memory, (size_t)WIDTH * HEIGHT * 4));
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static CUDA_RESOURCE_DESC of_array(CUarray which)
{
	CUDA_RESOURCE_DESC resource;

	memset(&resource, 0, sizeof(resource));
	resource.resType = CU_RESOURCE_TYPE_ARRAY;
	resource.res.array.hArray = which;
	return resource;
}

static CUDA_RESOURCE_DESC of_line(void)
{
	CUDA_RESOURCE_DESC resource;

	memset(&resource, 0, sizeof(resource));
	resource.resType = CU_RESOURCE_TYPE_LINEAR;
	resource.res.linear.devPtr = memory;
	resource.res.linear.format = CU_AD_FORMAT_FLOAT;
	resource.res.linear.numChannels = 1;
	resource.res.linear.sizeInBytes = (size_t)WIDTH * HEIGHT * 4;
	return resource;
}

static CUDA_RESOURCE_DESC of_rows(void)
{
	CUDA_RESOURCE_DESC resource;

	memset(&resource, 0, sizeof(resource));
	resource.resType = CU_RESOURCE_TYPE_PITCH2D;
	resource.res.pitch2D.devPtr = memory;
	resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
	resource.res.pitch2D.numChannels = 1;
	resource.res.pitch2D.width = WIDTH;
	resource.res.pitch2D.height = HEIGHT;
	resource.res.pitch2D.pitchInBytes = (size_t)WIDTH * 4;
	return resource;
}

static CUresult try_texture(CUDA_RESOURCE_DESC resource, unsigned flags)
{
	CUDA_TEXTURE_DESC sampling = {.flags = flags};
	CUtexObject texture = 0;
	CUresult result = cuTexObjectCreate(&texture, &resource, &sampling, NULL);

	if (result == CUDA_SUCCESS)
		assert_ok(cuTexObjectDestroy(texture));
	else
		assert_int_equal(texture, 0);
	return result;
}

static void test_descriptions_are_read_back(void **state)
{
	CUDA_RESOURCE_DESC resource = of_array(array), resource_back;
	CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
					.width = 64,
					.height = 64},
				view_back;
	CUDA_TEXTURE_DESC sampling = {
		.addressMode = {CU_TR_ADDRESS_MODE_BORDER, CU_TR_ADDRESS_MODE_MIRROR},
		.filterMode = CU_TR_FILTER_MODE_LINEAR,
		.flags = CU_TRSF_NORMALIZED_COORDINATES,
		.maxAnisotropy = 100,
		.mipmapLevelBias = 0.5F,
		.borderColor = {1, 2, 3, 4},
	};
	CUDA_TEXTURE_DESC sampling_back;
	CUtexObject texture;

	(void)state;
	assert_ok(cuTexObjectCreate(&texture, &resource, &sampling, &view));
	assert_ok(cuTexObjectGetResourceDesc(&resource_back, texture));
	assert_memory_equal(&resource_back, &resource, sizeof(resource));
	assert_ok(cuTexObjectGetTextureDesc(&sampling_back, texture));
	sampling.maxAnisotropy = 16; /* clamped, says cuda.h */
	assert_memory_equal(&sampling_back, &sampling, sizeof(sampling));
	assert_ok(cuTexObjectGetResourceViewDesc(&view_back, texture));
	assert_int_equal(view_back.format, view.format);
	assert_int_equal(view_back.width, 64);
	assert_invalid(cuTexObjectGetResourceDesc(NULL, texture));
	assert_invalid(cuTexObjectGetTextureDesc(NULL, texture));
	assert_invalid(cuTexObjectGetResourceViewDesc(NULL, texture));
	assert_ok(cuTexObjectDestroy(texture));
	assert_invalid(cuTexObjectDestroy(texture));
	assert_invalid(cuTexObjectGetResourceDesc(&resource_back, texture));
}

static void test_texture_without_a_view_has_none(void **state)
{
	CUDA_RESOURCE_DESC resource = of_array(array);
	CUDA_TEXTURE_DESC sampling = {0};
	CUDA_RESOURCE_VIEW_DESC view;
	CUtexObject texture;

	(void)state;
	assert_ok(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	assert_invalid(cuTexObjectGetResourceViewDesc(&view, texture));
	assert_ok(cuTexObjectDestroy(texture));
}

static void test_only_arrays_have_views(void **state)
{
	CUDA_RESOURCE_DESC line = of_line();
	CUDA_RESOURCE_VIEW_DESC view = {.format = CU_RES_VIEW_FORMAT_FLOAT_1X32};
	CUDA_TEXTURE_DESC sampling = {0};
	CUtexObject texture;

	(void)state;
	assert_invalid(cuTexObjectCreate(&texture, &line, &sampling, &view));
}

static void test_arrays_and_mipmaps_are_checked(void **state)
{
	CUDA_RESOURCE_DESC resource = of_array(array);

	(void)state;
	assert_ok(try_texture(resource, 0));
	resource.flags = 1;
	assert_invalid(try_texture(resource, 0));
	assert_invalid(try_texture(of_array(NULL), 0));
	assert_invalid(try_texture(of_array((CUarray)(void *)mipmap), 0));
	resource = of_array(NULL);
	resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	resource.res.mipmap.hMipmappedArray = mipmap;
	assert_ok(try_texture(resource, CU_TRSF_NORMALIZED_COORDINATES));
	assert_invalid(try_texture(resource, 0));
	resource.resType = (CUresourcetype)17;
	assert_invalid(try_texture(resource, 0));
	assert_invalid(try_texture(of_array(array), 0x1000));
	assert_invalid(try_texture(of_array(array), CU_TRSF_SEAMLESS_CUBEMAP));
	assert_ok(try_texture(of_array(cube), CU_TRSF_SEAMLESS_CUBEMAP));
}

static void test_lines_are_checked(void **state)
{
	CUDA_RESOURCE_DESC resource = of_line();

	(void)state;
	assert_ok(try_texture(resource, 0));
	resource.res.linear.devPtr = memory + 4; /* not aligned */
	resource.res.linear.sizeInBytes = 16;
	assert_invalid(try_texture(resource, 0));
	resource = of_line();
	resource.res.linear.sizeInBytes += 4; /* beyond the end: not forbidden */
	assert_ok(try_texture(resource, 0));
	resource = of_line();
	resource.res.linear.devPtr = 0;
	assert_invalid(try_texture(resource, 0));
	resource = of_line();
	resource.res.linear.numChannels = 3;
	assert_invalid(try_texture(resource, 0));
	resource = of_line();
	resource.res.linear.format = CU_AD_FORMAT_NV12;
	assert_invalid(try_texture(resource, 0));
	resource = of_line();
	resource.res.linear.sizeInBytes = 0;
	assert_invalid(try_texture(resource, 0));
}

static void test_rows_are_checked(void **state)
{
	CUDA_RESOURCE_DESC resource = of_rows();

	(void)state;
	assert_ok(try_texture(resource, 0));
	resource.res.pitch2D.height++;
	assert_ok(try_texture(resource, 0));
	resource.res.pitch2D.devPtr = 0;
	assert_invalid(try_texture(resource, 0));
	resource = of_rows();
	resource.res.pitch2D.width++;
	assert_invalid(try_texture(resource, 0));
	resource = of_rows();
	resource.res.pitch2D.height = 1;
	resource.res.pitch2D.pitchInBytes += 4;
	assert_invalid(try_texture(resource, 0));
	resource = of_rows();
	resource.res.pitch2D.width = 0;
	assert_invalid(try_texture(resource, 0));
	resource = of_rows();
	resource.res.pitch2D.width = SIZE_MAX;
	assert_invalid(try_texture(resource, 0));
	resource = of_rows();
	resource.res.pitch2D.devPtr += 32;
	resource.res.pitch2D.height = 1;
	assert_invalid(try_texture(resource, 0));
}

static void test_modes_are_checked(void **state)
{
	CUDA_RESOURCE_DESC resource = of_array(array);
	CUDA_TEXTURE_DESC sampling = {.filterMode = (CUfilter_mode)5};
	CUtexObject texture;

	(void)state;
	assert_invalid(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	sampling.filterMode = CU_TR_FILTER_MODE_POINT;
	sampling.addressMode[2] = (CUaddress_mode)9;
	assert_invalid(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	assert_invalid(cuTexObjectCreate(&texture, &resource, NULL, NULL));
	assert_invalid(cuTexObjectCreate(&texture, NULL, &sampling, NULL));
	sampling.addressMode[2] = CU_TR_ADDRESS_MODE_WRAP;
	assert_invalid(cuTexObjectCreate(NULL, &resource, &sampling, NULL));
}

static void test_surfaces_are_of_arrays_made_for_them(void **state)
{
	CUDA_RESOURCE_DESC resource = of_array(writable), line = of_line(), back;
	CUDA_RESOURCE_DESC plain = of_array(array);
	CUsurfObject surface;

	(void)state;
	assert_ok(cuSurfObjectCreate(&surface, &resource));
	assert_ok(cuSurfObjectGetResourceDesc(&back, surface));
	assert_memory_equal(&back, &resource, sizeof(back));
	assert_invalid(cuSurfObjectGetResourceDesc(NULL, surface));
	/* A surface is no texture. */
	assert_invalid(cuTexObjectDestroy(surface));
	assert_ok(cuSurfObjectDestroy(surface));
	assert_invalid(cuSurfObjectDestroy(surface));
	assert_invalid(cuSurfObjectCreate(&surface, &plain));
	assert_invalid(cuSurfObjectCreate(&surface, &line));
	assert_invalid(cuSurfObjectCreate(&surface, NULL));
	assert_invalid(cuSurfObjectCreate(NULL, &resource));
}

static void test_objects_go_with_their_context_and_not_with_their_array(void **state)
{
	CUDA_RESOURCE_DESC resource = of_array(array), back;
	CUDA_TEXTURE_DESC sampling = {0};
	CUtexObject here, there;
	CUcontext other;

	(void)state;
	assert_ok(cuTexObjectCreate(&here, &resource, &sampling, NULL));
	assert_ok(cuArrayDestroy(array));
	assert_ok(cuTexObjectGetResourceDesc(&back, here));
	assert_invalid(cuTexObjectCreate(&there, &resource, &sampling, NULL));
	assert_ok(cuCtxCreate(&other, NULL, 0, 0));
	resource = of_array(writable);
	assert_ok(cuTexObjectCreate(&there, &resource, &sampling, NULL));
	assert_ok(cuCtxDestroy(other));
	assert_ok(cuCtxSetCurrent(context));
	assert_invalid(cuTexObjectDestroy(there));
	assert_ok(cuTexObjectDestroy(here));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_descriptions_are_read_back),
		TEST(test_texture_without_a_view_has_none),
		TEST(test_only_arrays_have_views),
		TEST(test_arrays_and_mipmaps_are_checked),
		TEST(test_lines_are_checked),
		TEST(test_rows_are_checked),
		TEST(test_modes_are_checked),
		TEST(test_surfaces_are_of_arrays_made_for_them),
		TEST(test_objects_go_with_their_context_and_not_with_their_array),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
