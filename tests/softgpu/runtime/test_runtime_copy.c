/* Copies and fills of one, two and three dimensions, byte by byte against a naive host model. */
#include "runtime_check.h"

#include <stdlib.h>

#define ROOM 20000

static unsigned char *device;       /* ROOM bytes of the device under test */
static unsigned char model[ROOM];   /* what they should be */
static unsigned char source[ROOM];  /* bytes to copy from */
static unsigned char fetched[ROOM]; /* what they are */

static int allocate(void **state)
{
	if (reset_device(state))
		return -1;
	return (int)cudaMalloc((void **)&device, ROOM);
}

static int start(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROOM; i++) {
		model[i] = (unsigned char)(i * 7 + 1);
		source[i] = (unsigned char)(i * 13 + i / 251);
	}
	return (int)cudaMemcpy(device, model, ROOM, cudaMemcpyHostToDevice);
}

static void assert_device_is_model(void)
{
	assert_success(cudaMemcpy(fetched, device, ROOM, cudaMemcpyDeviceToHost));
	assert_memory_equal(fetched, model, ROOM);
}

static void test_every_kind_of_copy_moves_the_bytes(void **state)
{
	unsigned char host[100];

	(void)state;
	assert_success(cudaMemcpy(device + 10, source, 1000, cudaMemcpyHostToDevice));
	memcpy(model + 10, source, 1000);
	assert_success(cudaMemcpy(device + 5000, device + 10, 1000, cudaMemcpyDeviceToDevice));
	memcpy(model + 5000, source, 1000);
	assert_success(cudaMemcpy(device + 7000, source + 3, 50, cudaMemcpyDefault));
	memcpy(model + 7000, source + 3, 50);
	assert_device_is_model();
	assert_success(cudaMemcpy(host, device + 7000, 50, cudaMemcpyDefault));
	assert_memory_equal(host, source + 3, 50);
	assert_success(cudaMemcpy(host, source, 100, cudaMemcpyHostToHost));
	assert_memory_equal(host, source, 100);
}

static void test_asynchronous_copies_are_done_after_the_stream_is(void **state)
{
	cudaStream_t stream;
	unsigned char host[500];

	(void)state;
	assert_success(cudaStreamCreate(&stream));
	assert_success(cudaMemcpyAsync(device, source, 500, cudaMemcpyHostToDevice, stream));
	assert_success(
		cudaMemcpyAsync(device + 500, device, 500, cudaMemcpyDeviceToDevice, stream));
	assert_success(cudaMemcpyAsync(host, device + 500, 500, cudaMemcpyDeviceToHost, stream));
	assert_success(cudaStreamSynchronize(stream));
	assert_memory_equal(host, source, 500);
	assert_success(cudaStreamDestroy(stream));
}

static void test_copy_of_nothing_succeeds_with_any_pointers(void **state)
{
	(void)state;
	assert_success(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
	assert_success(cudaMemcpy2D(NULL, 0, NULL, 0, 0, 10, cudaMemcpyHostToDevice));
	assert_success(cudaMemset(NULL, 1, 0));
	assert_success(cudaMemset2D(NULL, 0, 1, 0, 5));
}

static void test_bad_directions_are_named_as_such(void **state)
{
	struct cudaMemcpy3DParms copy = {.kind = (enum cudaMemcpyKind)7};

	(void)state;
	assert_error(cudaMemcpy(device, source, 1, (enum cudaMemcpyKind)5),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(cudaMemcpy(device, source, 1, (enum cudaMemcpyKind) - 1),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(cudaMemcpyAsync(device, source, 1, (enum cudaMemcpyKind)9, NULL),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(cudaMemcpy2D(device, 4, source, 4, 4, 4, (enum cudaMemcpyKind)9),
		     cudaErrorInvalidMemcpyDirection);
	assert_error(cudaMemcpy3D(&copy), cudaErrorInvalidMemcpyDirection);
}

static void test_null_and_foreign_pointers_are_invalid_value(void **state)
{
	void *nonsense = (void *)0x123450000;

	(void)state;
	assert_error(cudaMemcpy(NULL, source, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	assert_error(cudaMemcpy(device, NULL, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	assert_error(cudaMemcpy(nonsense, source, 1, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemcpy(fetched, nonsense, 1, cudaMemcpyDeviceToHost),
		     cudaErrorInvalidValue);
	assert_error(cudaMemset(NULL, 0, 1), cudaErrorInvalidValue);
	assert_error(cudaMemset(nonsense, 0, 1), cudaErrorInvalidValue);
	assert_error(cudaMemset2D(NULL, 8, 0, 8, 8), cudaErrorInvalidValue);
	assert_error(cudaMemcpy3D(NULL), cudaErrorInvalidValue);
	assert_error(cudaMemcpy3DPeer(NULL), cudaErrorInvalidValue);
	assert_device_is_model();
}

static void test_a_copy_past_the_end_is_invalid_value_and_writes_nothing(void **state)
{
	(void)state;
	assert_error(cudaMemcpy(device + 10, source, 64 * MIB, cudaMemcpyHostToDevice),
		     cudaErrorInvalidValue);
	assert_error(cudaMemset(device, 0, 64 * MIB), cudaErrorInvalidValue);
	assert_device_is_model();
}

static void test_widths_beyond_a_pitch_are_named_as_such(void **state)
{
	(void)state;
	assert_error(cudaMemcpy2D(device, 10, source, 20, 11, 2, cudaMemcpyHostToDevice),
		     cudaErrorInvalidPitchValue);
	assert_error(cudaMemcpy2D(device, 20, source, 10, 11, 2, cudaMemcpyHostToDevice),
		     cudaErrorInvalidPitchValue);
	assert_error(cudaMemset2D(device, 10, 0, 11, 2), cudaErrorInvalidValue);
	assert_device_is_model();
}

static void fill_model(size_t offset, size_t pitch, int value, size_t width, size_t height)
{
	for (size_t y = 0; y < height; y++)
		memset(model + offset + y * pitch, value, width);
}

static void test_fills_touch_their_bytes_and_no_others(void **state)
{
	struct cudaPitchedPtr volume = {device + 9000, 64, 60, 10};

	(void)state;
	assert_success(cudaMemset(device + 3, 0x5a, 100));
	memset(model + 3, 0x5a, 100);
	assert_success(cudaMemset(device + 200, 0x1ff, 10)); /* a byte, whatever the int */
	memset(model + 200, 0xff, 10);
	assert_success(cudaMemset2D(device + 1000, 77, 9, 33, 11));
	fill_model(1000, 77, 9, 33, 11);
	assert_success(cudaMemset3D(volume, 4, (struct cudaExtent){50, 7, 3}));
	for (size_t z = 0; z < 3; z++)
		fill_model(9000 + z * 640, 64, 4, 50, 7);
	assert_success(cudaMemset3DAsync(volume, 6, (struct cudaExtent){5, 10, 4}, NULL));
	assert_success(cudaDeviceSynchronize());
	for (size_t z = 0; z < 4; z++)
		fill_model(9000 + z * 640, 64, 6, 5, 10);
	assert_device_is_model();
}

static unsigned pick(unsigned *seed, unsigned limit)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % limit;
}

static void test_random_planes_arrive_exactly(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t width = 1 + pick(&seed, 60), height = 1 + pick(&seed, 30);
		size_t to_pitch = width + pick(&seed, 20), from_pitch = width + pick(&seed, 20);
		size_t to = pick(&seed, 1000), from = pick(&seed, 1000);
		bool from_device = pick(&seed, 2);
		/* A copy within the device comes from its other half: no overlap. */
		const unsigned char *start_address =
			from_device ? device + ROOM / 2 + from : source + from;
		const unsigned char *start_model =
			from_device ? model + ROOM / 2 + from : source + from;

		assert_success(cudaMemcpy2D(
			device + to, to_pitch, start_address, from_pitch, width, height,
			from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDefault));
		for (size_t y = 0; y < height; y++)
			memcpy(model + to + y * to_pitch, start_model + y * from_pitch, width);
	}
	assert_device_is_model();
}

/* Offset of a position in pitched memory. */
static size_t at(const struct cudaPitchedPtr *memory, struct cudaPos pos, size_t y, size_t z)
{
	return ((pos.z + z) * memory->ysize + pos.y + y) * memory->pitch + pos.x;
}

static void test_random_volumes_arrive_exactly(void **state)
{
	unsigned seed = 2;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct cudaMemcpy3DParms copy = {
			.srcPos = {pick(&seed, 5), pick(&seed, 5), pick(&seed, 3)},
			.dstPos = {pick(&seed, 5), pick(&seed, 5), pick(&seed, 3)},
			.extent = {1 + pick(&seed, 30), 1 + pick(&seed, 12), 1 + pick(&seed, 5)},
			.kind = cudaMemcpyHostToDevice,
		};

		copy.srcPtr = (struct cudaPitchedPtr){source, 40 + pick(&seed, 20), 35,
						      17 + pick(&seed, 4)};
		copy.dstPtr = (struct cudaPitchedPtr){device, 40 + pick(&seed, 20), 35,
						      17 + pick(&seed, 4)};
		assert_success(cudaMemcpy3D(&copy));
		for (size_t z = 0; z < copy.extent.depth; z++)
			for (size_t y = 0; y < copy.extent.height; y++)
				memcpy(model + at(&copy.dstPtr, copy.dstPos, y, z),
				       source + at(&copy.srcPtr, copy.srcPos, y, z),
				       copy.extent.width);
	}
	assert_device_is_model();
}

static void test_senseless_volumes_are_refused(void **state)
{
	const struct cudaMemcpy3DParms good = {
		.srcPtr = {source, 40, 40, 10},
		.dstPtr = {device, 40, 40, 10},
		.extent = {20, 5, 2},
		.kind = cudaMemcpyHostToDevice,
	};
	struct cudaMemcpy3DParms copy = good;

	(void)state;
	copy.srcPtr.ptr = NULL;
	assert_error(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
	copy = good;
	copy.dstPos.x = 21;
	assert_error(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);
	copy = good;
	copy.srcPtr.pitch = 19;
	assert_error(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);
	copy = good;
	copy.extent.height = 11;
	assert_error(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
	copy = good;
	copy.extent.depth = 0;
	assert_success(cudaMemcpy3D(&copy));
	assert_device_is_model();
}

static void test_copies_between_devices_move_the_bytes(void **state)
{
	unsigned char *other = NULL;

	(void)state;
	assert_success(cudaSetDevice(1));
	assert_success(cudaMalloc((void **)&other, ROOM));
	assert_success(cudaMemcpy(other, source, ROOM, cudaMemcpyHostToDevice));
	assert_success(cudaSetDevice(0));
	assert_success(cudaMemcpyPeer(device + 100, 0, other + 50, 1, 1000));
	memcpy(model + 100, source + 50, 1000);
	assert_device_is_model();
	assert_success(cudaMemcpyPeerAsync(device, 0, other, 1, 60, NULL));
	assert_success(cudaDeviceSynchronize());
	memcpy(model, source, 60);
	assert_device_is_model();
	assert_error(cudaMemcpyPeer(device, 0, other, 99, 1), cudaErrorInvalidDevice);
	assert_error(cudaMemcpyPeer(device, -1, other, 1, 1), cudaErrorInvalidDevice);
	assert_error(cudaMemcpyPeer(NULL, 0, other, 1, 1), cudaErrorInvalidValue);
	assert_success(cudaFree(other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_every_kind_of_copy_moves_the_bytes, start),
		cmocka_unit_test_setup(test_asynchronous_copies_are_done_after_the_stream_is,
				       start),
		cmocka_unit_test_setup(test_copy_of_nothing_succeeds_with_any_pointers, start),
		cmocka_unit_test_setup(test_bad_directions_are_named_as_such, start),
		cmocka_unit_test_setup(test_null_and_foreign_pointers_are_invalid_value, start),
		cmocka_unit_test_setup(test_a_copy_past_the_end_is_invalid_value_and_writes_nothing,
				       start),
		cmocka_unit_test_setup(test_widths_beyond_a_pitch_are_named_as_such, start),
		cmocka_unit_test_setup(test_fills_touch_their_bytes_and_no_others, start),
		cmocka_unit_test_setup(test_random_planes_arrive_exactly, start),
		cmocka_unit_test_setup(test_random_volumes_arrive_exactly, start),
		cmocka_unit_test_setup(test_senseless_volumes_are_refused, start),
		cmocka_unit_test_setup(test_copies_between_devices_move_the_bytes, start),
	};

	return cmocka_run_group_tests(tests, allocate, NULL);
}
