/* Bytes of arrays, against a shadow of them without padding. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

/* A box of elements of 4 bytes: rows are padded, and so are slices. */
#define WIDTH  ((size_t)4 * 25)
#define HEIGHT ((size_t)11)
#define DEPTH  ((size_t)5)
#define SIZE   (WIDTH * HEIGHT * DEPTH)

static CUcontext context;
static CUarray array;
static CUstream stream;
static unsigned char shadow[SIZE];
static unsigned char seen[SIZE];
static unsigned char source[SIZE];
static CUdeviceptr device; /* SIZE bytes, as source */
static uint64_t seed;

static CUarray make(size_t width, size_t height, size_t depth)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {
		.Width = width,
		.Height = height,
		.Depth = depth,
		.Format = CU_AD_FORMAT_UNSIGNED_INT16,
		.NumChannels = 2,
	};
	CUarray made;

	assert_ok(cuArray3DCreate(&made, &descriptor));
	return made;
}

static int begin(void **state)
{
	(void)state;
	seed = 5;
	context = sg_rig_open();
	array = make(WIDTH / 4, HEIGHT, DEPTH);
	assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_ok(cuMemAlloc(&device, SIZE));
	for (size_t i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 7 + i / 256);
	assert_ok(cuMemcpyHtoD(device, source, SIZE));
	memset(shadow, 0, SIZE);
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static size_t draw(size_t limit)
{
	return sg_rig_draw_below(&seed, limit);
}

/* All of the array, or of its shadow: one call that is checked by the others. */
static CUDA_MEMCPY3D all_of(CUarray from)
{
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = from,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = seen,
		.dstPitch = WIDTH,
		.dstHeight = HEIGHT,
		.WidthInBytes = WIDTH,
		.Height = HEIGHT,
		.Depth = DEPTH,
	};

	return copy;
}

static void compare(void)
{
	CUDA_MEMCPY3D copy = all_of(array);

	memset(seen, 0xee, SIZE);
	assert_ok(cuMemcpy3D(&copy));
	assert_memory_equal(seen, shadow, SIZE);
}

static void test_new_array_is_zero(void **state)
{
	(void)state;
	compare();
}

static void test_boxes_go_to_and_from_arrays(void **state)
{
	(void)state;
	for (int step = 0; step < 300; step++) {
		size_t x = 4 * draw(WIDTH / 4), y = draw(HEIGHT), z = draw(DEPTH);
		size_t w = 4 * (1 + draw(WIDTH / 4 - x / 4)), h = 1 + draw(HEIGHT - y);
		size_t d = 1 + draw(DEPTH - z), from = draw(SIZE - w * h * d + 1);
		bool is_device = draw(2);
		CUDA_MEMCPY3D copy = {
			.srcMemoryType = is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
			.srcHost = source + from,
			.srcDevice = device + from,
			.srcPitch = w,
			.srcHeight = h,
			.dstMemoryType = CU_MEMORYTYPE_ARRAY,
			.dstArray = array,
			.dstXInBytes = x,
			.dstY = y,
			.dstZ = z,
			.WidthInBytes = w,
			.Height = h,
			.Depth = d,
		};

		assert_ok(draw(2) ? cuMemcpy3D(&copy) : cuMemcpy3DAsync(&copy, stream));
		for (size_t k = 0; k < d; k++)
			for (size_t j = 0; j < h; j++)
				memcpy(shadow + ((z + k) * HEIGHT + y + j) * WIDTH + x,
				       source + from + (k * h + j) * w, w);
		if (step % 10 == 0)
			compare();
	}
	compare();
}

static void test_rows_go_to_and_from_arrays(void **state)
{
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = source,
		.srcPitch = WIDTH,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = array,
		.dstXInBytes = 8,
		.dstY = 3,
		.WidthInBytes = 40,
		.Height = 6,
	};
	CUarray other = make(WIDTH / 4, HEIGHT, 0);

	(void)state;
	assert_ok(cuMemcpy2D(&copy));
	copy.dstArray = other;
	assert_ok(cuMemcpy2DUnaligned(&copy));
	for (size_t y = 0; y < 6; y++)
		memcpy(shadow + (3 + y) * WIDTH + 8, source + y * WIDTH, 40);
	compare();
	/* From array to array, elsewhere. */
	copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	copy.srcArray = other;
	copy.srcXInBytes = 8;
	copy.srcY = 3;
	copy.dstArray = array;
	copy.dstXInBytes = 60;
	copy.dstY = 0;
	assert_ok(cuMemcpy2DAsync(&copy, stream));
	for (size_t y = 0; y < 6; y++)
		memcpy(shadow + y * WIDTH + 60, source + y * WIDTH, 40);
	compare();
	assert_ok(cuArrayDestroy(other));
}

static void test_lines_go_through_rows_and_slices(void **state)
{
	unsigned char line[SIZE];

	(void)state;
	for (int step = 0; step < 200; step++) {
		size_t size = 4 * draw(SIZE / 4), to = 4 * draw((SIZE - size) / 4 + 1);
		size_t from = draw(SIZE - size + 1);

		switch (draw(3)) {
		case 0:
			assert_ok(cuMemcpyHtoA(array, to, source + from, size));
			break;
		case 1:
			assert_ok(cuMemcpyHtoAAsync(array, to, source + from, size, stream));
			break;
		default:
			assert_ok(cuMemcpyDtoA(array, to, device + from, size));
		}
		memcpy(shadow + to, source + from, size);
		assert_ok(step % 2 ? cuMemcpyAtoH(line, array, to, size)
				   : cuMemcpyAtoHAsync(line, array, to, size, stream));
		assert_memory_equal(line, source + from, size);
	}
	compare();
	assert_ok(cuMemcpyAtoD(device, array, 0, SIZE));
	assert_ok(cuMemcpyDtoH(line, device, SIZE));
	assert_memory_equal(line, shadow, SIZE);
}

static void test_lines_go_from_array_to_array(void **state)
{
	CUarray other = make(SIZE / 4, 0, 0);

	(void)state;
	assert_ok(cuMemcpyHtoA(other, 0, source, SIZE));
	assert_ok(cuMemcpyAtoA(array, 8, other, 400, 1000));
	memcpy(shadow + 8, source + 400, 1000);
	compare();
	assert_ok(cuArrayDestroy(other));
}

static void test_levels_and_planes_keep_bytes_of_their_own(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {
		.Width = 16,
		.Height = 16,
		.Format = CU_AD_FORMAT_NV12,
		.NumChannels = 3,
	};
	unsigned char bytes[256], back[256];
	CUmipmappedArray mipmap;
	CUarray planar, parts[4];

	(void)state;
	assert_ok(cuArray3DCreate(&planar, &descriptor));
	assert_ok(cuArrayGetPlane(&parts[0], planar, 0));
	assert_ok(cuArrayGetPlane(&parts[1], planar, 1));
	descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
	descriptor.NumChannels = 1;
	assert_ok(cuMipmappedArrayCreate(&mipmap, &descriptor, 2));
	assert_ok(cuMipmappedArrayGetLevel(&parts[2], mipmap, 0));
	assert_ok(cuMipmappedArrayGetLevel(&parts[3], mipmap, 1));
	for (int i = 0; i < 4; i++) {
		memset(bytes, 10 + i, sizeof(bytes));
		assert_ok(cuMemcpyHtoA(parts[i], 0, bytes, i == 1 ? 128 : i == 3 ? 64 : 256));
	}
	for (int i = 0; i < 4; i++) {
		size_t size = i == 1 ? 128 : i == 3 ? 64 : 256;

		memset(bytes, 10 + i, sizeof(bytes));
		assert_ok(cuMemcpyAtoH(back, parts[i], 0, size));
		assert_memory_equal(back, bytes, size);
	}
	/* The planar array itself has no rows. */
	assert_invalid(cuMemcpyAtoH(back, planar, 0, 1));
	assert_ok(cuArrayDestroy(planar));
	assert_ok(cuMipmappedArrayDestroy(mipmap));
}

static void test_compressed_rows_are_rows_of_blocks(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = {
		.Width = 30,
		.Height = 9,
		.Format = CU_AD_FORMAT_BC1_UNORM,
		.NumChannels = 4,
	};
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = source,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = 64,
		.Height = 3,
	};
	unsigned char back[192];
	CUarray compressed;

	(void)state;
	assert_ok(cuArray3DCreate(&compressed, &descriptor));
	copy.dstArray = compressed;
	assert_ok(cuMemcpy2D(&copy));
	assert_ok(cuMemcpyAtoH(back, compressed, 0, sizeof(back)));
	assert_memory_equal(back, source, sizeof(back));
	copy.Height = 4;
	assert_invalid(cuMemcpy2D(&copy));
	assert_ok(cuArrayDestroy(compressed));
}

static void test_rows_without_gaps_are_copied_like_others(void **state)
{
	/* 64 bytes a row: no padding on either side; 5 rows of 8 in a slice */
	CUarray tight = make(16, 5, 3);
	CUDA_MEMCPY3D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = source,
		.srcPitch = 64,
		.srcHeight = 7,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = tight,
		.WidthInBytes = 64,
		.Height = 5,
		.Depth = 3,
	};

	(void)state;
	assert_ok(cuMemcpy3D(&copy));
	assert_ok(cuMemcpyAtoH(seen, tight, 0, (size_t)64 * 5 * 3));
	for (size_t z = 0; z < 3; z++)
		assert_memory_equal(seen + z * 64 * 5, source + z * 64 * 7, 64 * 5);
	assert_ok(cuArrayDestroy(tight));
}

static void play_zero_backing(void **state)
{
	const size_t large = (size_t)1024 * 1024;
	unsigned char *bytes = malloc(large);
	CUarray image;

	(void)state;
	begin(NULL);
	assert_non_null(bytes);
	image = make(512, 512, 0);
	/* A small copy is kept, a large one reads as zero: the array is device memory. */
	assert_ok(cuMemcpyHtoA(image, 4096, source, 4096));
	assert_ok(cuMemcpyAtoH(bytes, image, 4096, 4096));
	assert_memory_equal(bytes, source, 4096);
	memset(bytes, 0x55, large);
	assert_ok(cuMemcpyHtoA(image, 0, bytes, large));
	assert_ok(cuMemcpyAtoH(bytes, image, 0, large));
	for (size_t i = 0; i < large; i++)
		assert_int_equal(bytes[i], 0);
	assert_true(sg_rig_get_file_size("softgpu-array") < large);
	free(bytes);
	end(NULL);
}

static void test_zero_backing_forgets_large_images(void **state)
{
	(void)state;
	SG_RIG_RUN("zero_backing", "SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M",
		   "SOFTGPU_BACKING=zero", NULL);
}

static void test_copies_beyond_an_array_are_invalid(void **state)
{
	CUDA_MEMCPY3D good = all_of(array), bad;

	(void)state;
	assert_ok(cuMemcpy3D(&good));
	bad = good;
	bad.srcXInBytes = 4;
	assert_invalid(cuMemcpy3D(&bad));
	bad = good;
	bad.srcY = 1;
	assert_invalid(cuMemcpy3D(&bad));
	bad = good;
	bad.srcZ = 1;
	assert_invalid(cuMemcpy3D(&bad));
	bad = good;
	bad.srcZ = SIZE_MAX;
	assert_invalid(cuMemcpy3D(&bad));
	bad = good;
	bad.WidthInBytes = 4;
	bad.srcXInBytes = 2; /* in the middle of an element */
	assert_invalid(cuMemcpy3D(&bad));
	bad = good;
	bad.WidthInBytes = 6;
	assert_invalid(cuMemcpy3D(&bad));
	bad = good;
	bad.srcArray = NULL;
	assert_result(cuMemcpy3D(&bad), CUDA_ERROR_INVALID_HANDLE);
	assert_invalid(cuMemcpyHtoA(array, 4, source, SIZE));
	assert_invalid(cuMemcpyHtoA(array, SIZE + 4, source, 4));
	assert_invalid(cuMemcpyHtoA(array, 2, source, 4));
	assert_invalid(cuMemcpyAtoH(seen, array, 0, 3));
	assert_invalid(cuMemcpyAtoD(0, array, 0, 4));
	assert_result(cuMemcpyAtoH(seen, NULL, 0, 4), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuMemcpyHtoAAsync(array, 0, source, 4, (CUstream)(void *)&seed),
		      CUDA_ERROR_INVALID_HANDLE);
	compare();
}

static void test_array_to_array_wants_equal_elements(void **state)
{
	CUDA_ARRAY_DESCRIPTOR descriptor = {
		.Width = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
	CUarray bytes;

	(void)state;
	assert_ok(cuArrayCreate(&bytes, &descriptor));
	assert_invalid(cuMemcpyAtoA(bytes, 0, array, 0, 4));
	assert_ok(cuArrayDestroy(bytes));
}

static void test_boxes_go_between_devices(void **state)
{
	CUcontext other;
	CUdeviceptr there;
	CUDA_MEMCPY3D_PEER copy = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = device,
		.srcContext = context,
		.srcPitch = WIDTH,
		.srcHeight = HEIGHT,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstPitch = WIDTH,
		.dstHeight = HEIGHT,
		.WidthInBytes = WIDTH,
		.Height = HEIGHT,
		.Depth = DEPTH,
	};

	(void)state;
	assert_ok(cuCtxCreate(&other, NULL, 0, 1));
	assert_ok(cuMemAlloc(&there, SIZE));
	copy.dstContext = other;
	copy.dstDevice = there;
	assert_ok(cuMemcpy3DPeer(&copy));
	assert_ok(cuMemcpyDtoH(seen, there, SIZE));
	assert_memory_equal(seen, source, SIZE);
	/* On to an array, whose context need not be said. */
	assert_ok(cuCtxSetCurrent(context));
	copy.srcDevice = there;
	copy.srcContext = other;
	copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	copy.dstArray = array;
	copy.dstContext = NULL;
	assert_ok(cuMemcpy3DPeerAsync(&copy, stream));
	memcpy(shadow, source, SIZE);
	compare();
	copy.srcContext = (CUcontext)(void *)&copy;
	assert_result(cuMemcpy3DPeer(&copy), CUDA_ERROR_INVALID_CONTEXT);
	assert_invalid(cuMemcpy3DPeer(NULL));
	copy.srcContext = other;
	copy.srcLOD = 1;
	assert_invalid(cuMemcpy3DPeer(&copy));
	assert_ok(cuCtxDestroy(other));
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {
		{"zero_backing", play_zero_backing},
	};
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_new_array_is_zero),
		TEST(test_boxes_go_to_and_from_arrays),
		TEST(test_rows_go_to_and_from_arrays),
		TEST(test_lines_go_through_rows_and_slices),
		TEST(test_lines_go_from_array_to_array),
		TEST(test_levels_and_planes_keep_bytes_of_their_own),
		TEST(test_compressed_rows_are_rows_of_blocks),
		TEST(test_rows_without_gaps_are_copied_like_others),
		TEST(test_zero_backing_forgets_large_images),
		TEST(test_copies_beyond_an_array_are_invalid),
		TEST(test_array_to_array_wants_equal_elements),
		TEST(test_boxes_go_between_devices),
	};
	int status = SG_RIG_PLAY(argc, argv, scenes);

	if (status >= 0)
		return status;
	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
