/* Arrays through the runtime: what can be made, what it costs, where its bytes are. */
#include "runtime_check.h"

/* 30 x 12 x 4 elements of 8 bytes: two channels of 32 bits */
#define UNIT   ((size_t)8)
#define WIDTH  ((size_t)30)
#define HEIGHT ((size_t)12)
#define DEPTH  ((size_t)4)
#define ROW    (WIDTH * UNIT)
#define PLANE  (ROW * HEIGHT)
#define SIZE   (PLANE * DEPTH)

static const struct cudaChannelFormatDesc pairs = {32, 32, 0, 0, cudaChannelFormatKindFloat};
static cudaArray_t flat, deep;
static unsigned char source[SIZE], seen[SIZE], model[SIZE];

static int begin(void **state)
{
	struct cudaExtent extent = {WIDTH, HEIGHT, DEPTH};

	if (reset_device(state))
		return -1;
	memset(model, 0, SIZE);
	memset(seen, 0xee, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 11 + i / 100);
	if (cudaMallocArray(&flat, &pairs, WIDTH, HEIGHT, 0))
		return -1;
	return (int)cudaMalloc3DArray(&deep, &pairs, extent, 0);
}

static void assert_flat_is_model(void)
{
	assert_success(
		cudaMemcpy2DFromArray(seen, ROW, flat, 0, 0, ROW, HEIGHT, cudaMemcpyDeviceToHost));
	assert_memory_equal(seen, model, PLANE);
}

static void test_arrays_are_charged_and_given_back(void **state)
{
	struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
	struct cudaExtent extent = {1024, 1024, 8};
	cudaMipmappedArray_t mipmap;
	cudaArray_t array;
	size_t before = free_memory();

	(void)state;
	assert_success(cudaMalloc3DArray(&array, &bytes, extent, 0));
	assert_int_equal(before - free_memory(), 8 * MIB);
	assert_success(cudaFreeArray(array));
	assert_int_equal(before, free_memory());
	assert_success(cudaMallocMipmappedArray(&mipmap, &bytes, extent, 1, 0));
	assert_int_equal(before - free_memory(), 8 * MIB);
	assert_success(cudaFreeMipmappedArray(mipmap));
	assert_int_equal(before, free_memory());
	extent.width = 16384;
	extent.height = 16384;
	assert_error(cudaMalloc3DArray(&array, &bytes, extent, 0), cudaErrorMemoryAllocation);
	assert_int_equal(before, free_memory());
}

static void test_freeing_nothing_is_fine_and_freeing_twice_is_not(void **state)
{
	cudaMipmappedArray_t mipmap;
	struct cudaExtent extent = {16, 16, 0};

	(void)state;
	assert_success(cudaFreeArray(NULL));
	assert_success(cudaFreeMipmappedArray(NULL));
	assert_success(cudaFreeArray(flat));
	assert_error(cudaFreeArray(flat), cudaErrorInvalidValue);
	assert_success(cudaMallocMipmappedArray(&mipmap, &pairs, extent, 3, 0));
	assert_success(cudaFreeMipmappedArray(mipmap));
	assert_error(cudaFreeMipmappedArray(mipmap), cudaErrorInvalidValue);
}

static void test_arrays_say_what_they_are(void **state)
{
	struct cudaChannelFormatDesc desc;
	struct cudaExtent extent;
	unsigned flags = 77;

	(void)state;
	assert_success(cudaArrayGetInfo(&desc, &extent, &flags, deep));
	assert_memory_equal(&desc, &pairs, sizeof(desc));
	assert_int_equal(extent.width, WIDTH);
	assert_int_equal(extent.height, HEIGHT);
	assert_int_equal(extent.depth, DEPTH);
	assert_int_equal(flags, 0);
	assert_success(cudaArrayGetInfo(NULL, NULL, NULL, flat));
	memset(&desc, 0xff, sizeof(desc));
	assert_success(cudaGetChannelDesc(&desc, flat));
	assert_memory_equal(&desc, &pairs, sizeof(desc));
	assert_error(cudaGetChannelDesc(NULL, flat), cudaErrorInvalidValue);
	assert_error(cudaGetChannelDesc(&desc, NULL), cudaErrorInvalidValue);
	assert_error(cudaArrayGetInfo(&desc, &extent, &flags, NULL), cudaErrorInvalidValue);
}

static void test_every_channel_description_survives_an_array(void **state)
{
	static const struct cudaChannelFormatDesc descs[] = {
		{8, 0, 0, 0, cudaChannelFormatKindSigned},
		{8, 8, 8, 8, cudaChannelFormatKindUnsigned},
		{16, 16, 0, 0, cudaChannelFormatKindFloat},
		{32, 32, 32, 32, cudaChannelFormatKindSigned},
		{16, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized16X1},
		{8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed3},
#if CUDART_VERSION >= 12000
		{10, 10, 10, 2, cudaChannelFormatKindUnsignedNormalized1010102},
#endif
		{8, 8, 8, 0, cudaChannelFormatKindNV12},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++) {
		struct cudaChannelFormatDesc desc;
		cudaArray_t array;

		assert_success(cudaMallocArray(&array, &descs[i], 16, 16, 0));
		assert_success(cudaGetChannelDesc(&desc, array));
		assert_memory_equal(&desc, &descs[i], sizeof(desc));
		assert_success(cudaFreeArray(array));
	}
}

static void test_bad_channel_descriptions_are_refused(void **state)
{
	static const struct cudaChannelFormatDesc descs[] = {
		{0, 0, 0, 0, cudaChannelFormatKindFloat},
		{8, 0, 0, 0, cudaChannelFormatKindFloat},
		{8, 8, 8, 0, cudaChannelFormatKindUnsigned},
		{8, 16, 0, 0, cudaChannelFormatKindUnsigned},
		{8, 0, 8, 0, cudaChannelFormatKindUnsigned},
		{64, 0, 0, 0, cudaChannelFormatKindSigned},
		{32, 0, 0, 0, cudaChannelFormatKindNone},
	};
	cudaArray_t array;

	(void)state;
	for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
		assert_error(cudaMallocArray(&array, &descs[i], 16, 16, 0),
			     cudaErrorInvalidChannelDescriptor);
	assert_error(cudaMallocArray(&array, NULL, 16, 16, 0), cudaErrorInvalidValue);
	assert_error(cudaMallocArray(NULL, &pairs, 16, 16, 0), cudaErrorInvalidValue);
	assert_error(cudaMallocArray(&array, &pairs, 0, 16, 0), cudaErrorInvalidValue);
}

static void test_levels_and_planes_are_arrays(void **state)
{
	struct cudaChannelFormatDesc video = {8, 8, 8, 0, cudaChannelFormatKindNV12}, desc;
	struct cudaExtent extent = {40, 20, 0}, got;
	cudaMipmappedArray_t mipmap;
	cudaArray_t level, planar, plane;

	(void)state;
	assert_success(cudaMallocMipmappedArray(&mipmap, &pairs, extent, 2, 0));
	assert_success(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
	assert_success(cudaArrayGetInfo(NULL, &got, NULL, level));
	assert_int_equal(got.width, 20);
	assert_int_equal(got.height, 10);
	assert_error(cudaGetMipmappedArrayLevel(&level, mipmap, 2), cudaErrorInvalidValue);
	assert_error(cudaGetMipmappedArrayLevel(NULL, mipmap, 0), cudaErrorInvalidValue);
	assert_error(cudaGetMipmappedArrayLevel(&level, NULL, 0), cudaErrorInvalidResourceHandle);
	assert_success(cudaMallocArray(&planar, &video, 40, 20, 0));
	assert_success(cudaArrayGetPlane(&plane, planar, 1));
	assert_success(cudaArrayGetInfo(&desc, &got, NULL, plane));
	assert_int_equal(desc.x, 8);
	assert_int_equal(desc.y, 8);
	assert_int_equal(desc.z, 0);
	assert_int_equal(got.width, 20);
	assert_error(cudaArrayGetPlane(&plane, planar, 2), cudaErrorInvalidValue);
	assert_error(cudaArrayGetPlane(&plane, NULL, 0), cudaErrorInvalidResourceHandle);
	assert_error(cudaMemcpy2DFromArray(seen, 1, planar, 0, 0, 1, 1, cudaMemcpyDefault),
		     cudaErrorInvalidValue);
}

static void test_sparse_arrays_are_not_there(void **state)
{
	struct cudaArraySparseProperties sparse;
	struct cudaArrayMemoryRequirements needs;
	cudaArray_t array;

	(void)state;
	assert_error(cudaMallocArray(&array, &pairs, 64, 64, cudaArraySparse),
		     cudaErrorNotSupported);
	assert_error(cudaArrayGetSparseProperties(&sparse, flat), cudaErrorInvalidValue);
	assert_error(cudaArrayGetMemoryRequirements(&needs, flat, 0), cudaErrorInvalidValue);
	assert_error(cudaMipmappedArrayGetSparseProperties(&sparse, NULL), cudaErrorInvalidValue);
	assert_error(cudaMipmappedArrayGetMemoryRequirements(&needs, NULL, 0),
		     cudaErrorInvalidValue);
}

static void test_rows_go_to_and_from_arrays(void **state)
{
	cudaStream_t stream;
	void *device;
	size_t pitch;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaMallocPitch(&device, &pitch, ROW, HEIGHT));
	assert_success(
		cudaMemcpy2DToArray(flat, 16, 2, source, 100, 64, 5, cudaMemcpyHostToDevice));
	for (size_t y = 0; y < 5; y++)
		memcpy(model + (2 + y) * ROW + 16, source + y * 100, 64);
	assert_flat_is_model();
	/* The kind that says "host" of an array is wrong, and is put right. */
	assert_success(cudaMemcpy2DToArrayAsync(flat, 0, 0, source, 8, 8, 3, cudaMemcpyHostToHost,
						stream));
	for (size_t y = 0; y < 3; y++)
		memcpy(model + y * ROW, source + y * 8, 8);
	assert_flat_is_model();
	assert_success(cudaMemcpy2DFromArrayAsync(device, pitch, flat, 0, 0, ROW, HEIGHT,
						  cudaMemcpyDeviceToDevice, stream));
	assert_success(cudaMemcpy2D(seen, ROW, device, pitch, ROW, HEIGHT, cudaMemcpyDeviceToHost));
	assert_memory_equal(seen, model, PLANE);
	assert_success(
		cudaMemcpy2DArrayToArray(flat, 80, 6, flat, 0, 0, 24, 3, cudaMemcpyDeviceToDevice));
	for (size_t y = 0; y < 3; y++)
		memcpy(model + (6 + y) * ROW + 80, model + y * ROW, 24);
	assert_flat_is_model();
}

static void test_bad_rows_are_refused(void **state)
{
	enum cudaMemcpyKind strange = (enum cudaMemcpyKind)9;

	(void)state;
	assert_error(cudaMemcpy2DToArray(flat, 0, 0, source, 7, 8, 1, cudaMemcpyDefault),
		     cudaErrorInvalidPitchValue);
	assert_error(cudaMemcpy2DToArray(flat, 0, 0, source, 8, 8, 1, strange),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(
		cudaMemcpy2DToArray(flat, 0, 0, source, ROW, ROW, HEIGHT + 1, cudaMemcpyDefault),
		cudaErrorInvalidValue);
	assert_error(cudaMemcpy2DToArray(flat, 8, 0, source, ROW, ROW, 1, cudaMemcpyDefault),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpy2DToArray(flat, 4, 0, source, 8, 8, 1, cudaMemcpyDefault),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpy2DToArray(NULL, 0, 0, source, 8, 8, 1, cudaMemcpyDefault),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpy2DToArray(flat, 0, 0, NULL, 8, 8, 1, cudaMemcpyDefault),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpy2DToArray((cudaArray_t)(void *)source, 0, 0, source, 8, 8, 1,
					 cudaMemcpyDefault),
		     cudaErrorInvalidValue);
	assert_success(cudaMemcpy2DToArray(flat, 0, 0, source, 8, 8, 0, cudaMemcpyDefault));
	assert_flat_is_model();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void test_lines_go_on_in_the_next_row(void **state)
{
	unsigned char line[PLANE];

	(void)state;
	assert_success(cudaMemcpyToArray(flat, 24, 1, source, 3 * ROW, cudaMemcpyHostToDevice));
	memcpy(model + ROW + 24, source, 3 * ROW);
	assert_flat_is_model();
	assert_success(cudaMemcpyToArrayAsync(flat, 0, 0, source + 5, PLANE, cudaMemcpyHostToDevice,
					      NULL));
	memcpy(model, source + 5, PLANE);
	assert_flat_is_model();
	assert_success(cudaMemcpyFromArray(line, flat, 16, 2, 400, cudaMemcpyDeviceToHost));
	assert_memory_equal(line, model + 2 * ROW + 16, 400);
	assert_success(
		cudaMemcpyFromArrayAsync(line, flat, 0, 0, PLANE, cudaMemcpyDeviceToHost, NULL));
	assert_memory_equal(line, model, PLANE);
	assert_success(
		cudaMemcpyArrayToArray(flat, 8, 6, flat, 160, 0, 1000, cudaMemcpyDeviceToDevice));
	memcpy(model + 6 * ROW + 8, model + 160, 1000);
	assert_flat_is_model();
}

static void test_lines_that_do_not_fit_change_nothing(void **state)
{
	(void)state;
	assert_error(cudaMemcpyToArray(flat, 8, 0, source, PLANE, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyToArray(flat, ROW, 0, source, 8, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyToArray(flat, 0, HEIGHT, source, 8, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyToArray(flat, 0, 0, source, 12, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpyFromArray(NULL, flat, 0, 0, 8, cudaMemcpyDeviceToHost),
		     cudaErrorInvalidValue);
	assert_flat_is_model();
}
#pragma GCC diagnostic pop

/* A window of the deep array, in elements, to or from its model. */
static void copy_window(struct cudaPos pos, struct cudaExtent extent, bool up)
{
	struct cudaPitchedPtr memory = {up ? source : seen, extent.width * UNIT, extent.width,
					extent.height};
	struct cudaMemcpy3DParms copy = {.extent = extent, .kind = cudaMemcpyDefault};

	if (up) {
		copy.srcPtr = memory;
		copy.dstArray = deep;
		copy.dstPos = pos;
	} else {
		copy.srcArray = deep;
		copy.srcPos = pos;
		copy.dstPtr = memory;
	}
	assert_success(cudaMemcpy3D(&copy));
}

static void test_boxes_of_arrays_count_elements(void **state)
{
	struct cudaExtent window = {9, 5, 2}, all = {WIDTH, HEIGHT, DEPTH};
	struct cudaPos pos = {3, 4, 1}, origin = {0, 0, 0};

	(void)state;
	copy_window(pos, window, true);
	for (size_t z = 0; z < 2; z++)
		for (size_t y = 0; y < 5; y++)
			memcpy(model + (1 + z) * PLANE + (4 + y) * ROW + 3 * UNIT,
			       source + (z * 5 + y) * 9 * UNIT, 9 * UNIT);
	copy_window(origin, all, false);
	assert_memory_equal(seen, model, SIZE);
}

static void test_boxes_go_from_array_to_array_and_between_devices(void **state)
{
	struct cudaExtent plane = {WIDTH, HEIGHT, 1};
	struct cudaMemcpy3DParms copy = {.extent = plane, .kind = cudaMemcpyDeviceToDevice};
	struct cudaMemcpy3DPeerParms peer = {.extent = plane, .dstDevice = 1};
	cudaArray_t other;

	(void)state;
	assert_success(
		cudaMemcpy2DToArray(flat, 0, 0, source, ROW, ROW, HEIGHT, cudaMemcpyHostToDevice));
	copy.srcArray = flat;
	copy.dstArray = deep;
	copy.dstPos.z = 3;
	assert_success(cudaMemcpy3DAsync(&copy, NULL));
	assert_success(cudaSetDevice(1));
	assert_success(cudaMallocArray(&other, &pairs, WIDTH, HEIGHT, 0));
	peer.srcArray = deep;
	peer.srcPos.z = 3;
	peer.dstArray = other;
	assert_success(cudaMemcpy3DPeer(&peer));
	assert_success(
		cudaMemcpy2DFromArray(seen, ROW, other, 0, 0, ROW, HEIGHT, cudaMemcpyDeviceToHost));
	assert_memory_equal(seen, source, PLANE);
	assert_success(cudaMemset(NULL, 0, 0));
	assert_success(cudaDeviceReset());
	assert_success(cudaSetDevice(0));
}

static void test_bad_boxes_are_refused(void **state)
{
	struct cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
	struct cudaMemcpy3DParms good = {
		.srcPtr = {source, WIDTH * UNIT, WIDTH, HEIGHT},
		.dstArray = deep,
		.extent = {WIDTH, HEIGHT, DEPTH},
		.kind = cudaMemcpyHostToDevice,
	};
	struct cudaMemcpy3DParms bad = good;
	cudaArray_t other;

	(void)state;
	bad.dstPos.x = 1;
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidValue);
	bad = good;
	bad.dstPos.x = SIZE_MAX;
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidValue);
	bad = good;
	bad.dstPtr.ptr = source; /* an array or memory, not both */
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidValue);
	bad = good;
	bad.srcPtr.ptr = NULL;
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidValue);
	bad = good;
	bad.srcPtr.pitch = WIDTH;
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidPitchValue);
	bad = good;
	bad.dstArray = (cudaArray_t)(void *)source;
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidValue);
	assert_success(cudaMallocArray(&other, &bytes, WIDTH, HEIGHT, 0));
	bad = good;
	bad.srcPtr.ptr = NULL;
	bad.srcArray = other; /* elements of another size, though both hold that many bytes */
	bad.extent = (struct cudaExtent){3, 1, 1};
	assert_error(cudaMemcpy3D(&bad), cudaErrorInvalidValue);
	assert_success(cudaMemcpy3D(&good));
}

#if CUDART_VERSION >= 13000

static void test_batches_take_arrays(void **state)
{
	struct cudaMemcpy3DBatchOp op = {
		.src = {.type = cudaMemcpyOperandTypePointer},
		.dst = {.type = cudaMemcpyOperandTypeArray},
		.extent = {4, 3, 1},
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	cudaStream_t stream;

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	op.src.op.ptr.ptr = source;
	op.src.op.ptr.rowLength = 10;
	op.dst.op.array.array = flat;
	op.dst.op.array.offset.x = 5;
	assert_success(cudaMemcpy3DBatchAsync(1, &op, 0, stream));
	for (size_t y = 0; y < 3; y++)
		memcpy(model + y * ROW + 5 * UNIT, source + y * 10 * UNIT, 4 * UNIT);
	assert_flat_is_model();
	op.extent.width = 0;
	assert_error(cudaMemcpy3DBatchAsync(1, &op, 0, stream), cudaErrorInvalidValue);
	assert_error(cudaMemcpy3DBatchAsync(1, NULL, 0, stream), cudaErrorInvalidValue);
}

static void test_copies_of_a_batch_are_done(void **state)
{
	struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderAny};
	size_t sizes[] = {100, 200}, first = 0;
	const void *from[] = {source, source + 50};
	cudaStream_t stream;
	void *device, *to[2];

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaMalloc(&device, 1000));
	to[0] = device;
	to[1] = (char *)device + 300;
	assert_success(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
	assert_success(cudaMemcpy(seen, device, 1000, cudaMemcpyDeviceToHost));
	assert_memory_equal(seen, source, 100);
	assert_memory_equal(seen + 300, source + 50, 200);
	assert_error(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 0, stream),
		     cudaErrorInvalidValue);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup(function, begin)
		TEST(test_arrays_are_charged_and_given_back),
		TEST(test_freeing_nothing_is_fine_and_freeing_twice_is_not),
		TEST(test_arrays_say_what_they_are),
		TEST(test_every_channel_description_survives_an_array),
		TEST(test_bad_channel_descriptions_are_refused),
		TEST(test_levels_and_planes_are_arrays),
		TEST(test_sparse_arrays_are_not_there),
		TEST(test_rows_go_to_and_from_arrays),
		TEST(test_bad_rows_are_refused),
		TEST(test_lines_go_on_in_the_next_row),
		TEST(test_lines_that_do_not_fit_change_nothing),
		TEST(test_boxes_of_arrays_count_elements),
		TEST(test_boxes_go_from_array_to_array_and_between_devices),
		TEST(test_bad_boxes_are_refused),
#if CUDART_VERSION >= 13000
		TEST(test_batches_take_arrays),
		TEST(test_copies_of_a_batch_are_done),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
