#include <string.h>
#include <sys/mman.h>

#include "rig.h"
#include "sites.h"

#define NR_STEPS (SG_RIG_IS_SANITIZED ? 1500 : 6000)

static struct sg_site sites[NR_SITES];
static CUcontext contexts[2];
static CUstream stream;
static uint64_t seed;

static int begin(void **state)
{
	(void)state;
	seed = 11;
	sg_sites_create(sites, contexts);
	assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
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

static void *pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

/* The functions that copy a line. */
enum line {
	LINE_ANY,
	LINE_ANY_ASYNC,
	LINE_TO_DEVICE,
	LINE_TO_DEVICE_ASYNC,
	LINE_TO_HOST,
	LINE_TO_HOST_ASYNC,
	LINE_ON_DEVICE,
	LINE_ON_DEVICE_ASYNC,
	LINE_PEER,
	LINE_PEER_ASYNC,
	NR_LINES
};

static bool takes(enum line line, const struct sg_site *target, const struct sg_site *source)
{
	switch (line) {
	case LINE_ANY:
	case LINE_ANY_ASYNC:
		return true;
	case LINE_TO_DEVICE:
	case LINE_TO_DEVICE_ASYNC:
		return target->is_cuda && source->is_host;
	case LINE_TO_HOST:
	case LINE_TO_HOST_ASYNC:
		return target->is_host && source->is_cuda;
	default:
		return target->is_cuda && source->is_cuda;
	}
}

static CUresult copy_line(enum line line, CUdeviceptr target, CUdeviceptr source, size_t size)
{
	switch (line) {
	case LINE_ANY:
		return cuMemcpy(target, source, size);
	case LINE_ANY_ASYNC:
		return cuMemcpyAsync(target, source, size, stream);
	case LINE_TO_DEVICE:
		return cuMemcpyHtoD(target, pointer(source), size);
	case LINE_TO_DEVICE_ASYNC:
		return cuMemcpyHtoDAsync(target, pointer(source), size, stream);
	case LINE_TO_HOST:
		return cuMemcpyDtoH(pointer(target), source, size);
	case LINE_TO_HOST_ASYNC:
		return cuMemcpyDtoHAsync(pointer(target), source, size, stream);
	case LINE_ON_DEVICE:
		return cuMemcpyDtoD(target, source, size);
	case LINE_ON_DEVICE_ASYNC:
		return cuMemcpyDtoDAsync(target, source, size, stream);
	case LINE_PEER:
		return cuMemcpyPeer(target, contexts[0], source, contexts[1], size);
	default:
		return cuMemcpyPeerAsync(target, contexts[1], source, contexts[0], size, stream);
	}
}

static void test_lines_between_all_kinds_of_memory(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		/* every pair and function, in turn */
		struct sg_site *target = &sites[step % NR_SITES];
		struct sg_site *source = &sites[step / NR_SITES % NR_SITES];
		enum line line = (enum line)draw(NR_LINES);
		size_t size = draw(4) ? draw(2000) : draw(SITE_SIZE / 2);
		size_t to = draw(SITE_SIZE - size + 1), from = draw(SITE_SIZE - size + 1);
		CUresult expected = CUDA_SUCCESS;

		/* what overlaps is left open */
		if (target == source && to < from + size && from < to + size)
			continue;
		if (!takes(line, target, source) && size)
			expected = CUDA_ERROR_INVALID_VALUE;
		assert_result(copy_line(line, target->address + to, source->address + from, size),
			      expected);
		if (expected == CUDA_SUCCESS)
			memcpy(target->shadow + to, source->shadow + from, size);
		sg_sites_compare(target);
	}
}

/* A box in a site, as the structures describe it. */
struct box {
	struct sg_site *site;
	CUmemorytype type;
	size_t pitch, height, x, y, z;
};

static void draw_box(struct box *box, size_t width, size_t height)
{
	box->site = &sites[draw(NR_SITES)];
	if (box->site->is_host && draw(2))
		box->type = CU_MEMORYTYPE_HOST;
	else if (box->site->is_cuda && draw(2))
		box->type = CU_MEMORYTYPE_DEVICE;
	else
		box->type = CU_MEMORYTYPE_UNIFIED;
	box->x = draw(20);
	box->y = draw(5);
	box->z = draw(3);
	box->pitch = width + box->x + draw(30);
	box->height = height + box->y + draw(3);
}

/* The end of a box that is `depth` deep: it must not lie behind the site's. */
static size_t get_end(const struct box *box, size_t depth)
{
	return (box->z + depth) * box->height * box->pitch;
}

static void copy_shadow(const struct box *target, const struct box *source, size_t width,
			size_t height, size_t depth)
{
	for (size_t z = 0; z < depth; z++)
		for (size_t y = 0; y < height; y++)
			memmove(target->site->shadow +
					((target->z + z) * target->height + target->y + y) *
						target->pitch +
					target->x,
				source->site->shadow +
					((source->z + z) * source->height + source->y + y) *
						source->pitch +
					source->x,
				width);
}

static CUresult copy_2d(const struct box *target, const struct box *source, size_t width,
			size_t height)
{
	const CUDA_MEMCPY2D copy = {
		.dstMemoryType = target->type,
		.dstHost = pointer(target->site->address),
		.dstDevice = target->site->address,
		.dstPitch = target->pitch,
		.dstXInBytes = target->x,
		.dstY = target->y,
		.srcMemoryType = source->type,
		.srcHost = pointer(source->site->address),
		.srcDevice = source->site->address,
		.srcPitch = source->pitch,
		.srcXInBytes = source->x,
		.srcY = source->y,
		.WidthInBytes = width,
		.Height = height,
	};

	switch (draw(3)) {
	case 0:
		return cuMemcpy2D(&copy);
	case 1:
		return cuMemcpy2DUnaligned(&copy);
	default:
		return cuMemcpy2DAsync(&copy, stream);
	}
}

static void test_rows_between_all_kinds_of_memory(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		size_t width = draw(3) ? draw(300) : draw(20000), height = draw(40);
		struct box target, source;

		draw_box(&target, width, height);
		draw_box(&source, width, height);
		target.z = source.z = 0;
		if (target.site == source.site || get_end(&target, 1) > SITE_SIZE ||
		    get_end(&source, 1) > SITE_SIZE)
			continue;
		assert_ok(copy_2d(&target, &source, width, height));
		copy_shadow(&target, &source, width, height, 1);
		sg_sites_compare(target.site);
	}
}

static CUDA_MEMCPY3D describe_3d(const struct box *target, const struct box *source, size_t width,
				 size_t height, size_t depth)
{
	return (CUDA_MEMCPY3D){
		.dstMemoryType = target->type,
		.dstHost = pointer(target->site->address),
		.dstDevice = target->site->address,
		.dstPitch = target->pitch,
		.dstHeight = target->height,
		.dstXInBytes = target->x,
		.dstY = target->y,
		.dstZ = target->z,
		.srcMemoryType = source->type,
		.srcHost = pointer(source->site->address),
		.srcDevice = source->site->address,
		.srcPitch = source->pitch,
		.srcHeight = source->height,
		.srcXInBytes = source->x,
		.srcY = source->y,
		.srcZ = source->z,
		.WidthInBytes = width,
		.Height = height,
		.Depth = depth,
	};
}

static void test_boxes_between_all_kinds_of_memory(void **state)
{
	(void)state;
	for (int step = 0; step < NR_STEPS; step++) {
		size_t width = draw(600), height = draw(20), depth = draw(8);
		struct box target, source;
		CUDA_MEMCPY3D copy;

		draw_box(&target, width, height);
		draw_box(&source, width, height);
		if (target.site == source.site || get_end(&target, depth) > SITE_SIZE ||
		    get_end(&source, depth) > SITE_SIZE)
			continue;
		copy = describe_3d(&target, &source, width, height, depth);
		assert_ok(draw(2) ? cuMemcpy3D(&copy) : cuMemcpy3DAsync(&copy, stream));
		copy_shadow(&target, &source, width, height, depth);
		sg_sites_compare(target.site);
	}
}

static CUDA_MEMCPY3D get_sane_3d(void)
{
	static struct box target, source;

	target = (struct box){.site = &sites[SITE_DEVICE],
			      .type = CU_MEMORYTYPE_DEVICE,
			      .pitch = 100,
			      .height = 10};
	source = target;
	source.site = &sites[SITE_POOL];
	return describe_3d(&target, &source, 50, 5, 2);
}

static void check_3d_is_invalid(CUDA_MEMCPY3D copy)
{
	assert_invalid(cuMemcpy3D(&copy));
	assert_invalid(cuMemcpy3DAsync(&copy, stream));
}

static void test_bad_boxes_are_invalid(void **state)
{
	CUDA_MEMCPY3D copy = get_sane_3d(), bad;

	(void)state;
	bad = copy, bad.srcLOD = 1, check_3d_is_invalid(bad);
	bad = copy, bad.dstLOD = 1, check_3d_is_invalid(bad);
	bad = copy, bad.srcMemoryType = 0, check_3d_is_invalid(bad);
	bad = copy, bad.dstMemoryType = 99, check_3d_is_invalid(bad);
	/* "srcPitch must be greater than or equal to WidthInBytes + srcXInBytes" */
	bad = copy, bad.srcPitch = 49, check_3d_is_invalid(bad);
	bad = copy, bad.srcXInBytes = 51, check_3d_is_invalid(bad);
	bad = copy, bad.dstXInBytes = SIZE_MAX, check_3d_is_invalid(bad);
	/* "srcHeight must be greater than or equal to Height + srcY" */
	bad = copy, bad.srcHeight = 4, check_3d_is_invalid(bad);
	bad = copy, bad.srcY = 6, check_3d_is_invalid(bad);
	bad = copy, bad.dstY = SIZE_MAX, check_3d_is_invalid(bad);
	bad = copy, bad.Depth = 1, bad.dstHeight = 4, check_3d_is_invalid(bad);
	/* beyond the end */
	bad = copy, bad.Depth = 1000, check_3d_is_invalid(bad);
	bad = copy, bad.srcZ = 1000, check_3d_is_invalid(bad);
	bad = copy, bad.dstPitch = SITE_SIZE, check_3d_is_invalid(bad);
	assert_invalid(cuMemcpy3D(NULL));
	assert_invalid(cuMemcpy2D(NULL));
}

static void test_boxes_too_large_for_64_bits_are_invalid(void **state)
{
	const size_t huge = (size_t)1 << 32, most = SIZE_MAX;
	CUDA_MEMCPY3D copy = get_sane_3d(), bad;

	(void)state;
	bad = copy, bad.srcZ = most, check_3d_is_invalid(bad);
	bad = copy, bad.srcZ = most - 1, check_3d_is_invalid(bad);
	bad = copy, bad.Depth = most, check_3d_is_invalid(bad);
	bad = copy, bad.dstHeight = most, check_3d_is_invalid(bad);
	bad = copy, bad.dstPitch = most, check_3d_is_invalid(bad);
	bad = copy, bad.dstPitch = huge, bad.dstHeight = huge, check_3d_is_invalid(bad);
	bad = copy, bad.Height = most, check_3d_is_invalid(bad);
	bad = copy, bad.WidthInBytes = most, check_3d_is_invalid(bad);
	/* rows times pitch is 0 in 64 bits, and one slice is not deep */
	bad = copy, bad.Depth = 1, bad.Height = huge + 1, bad.srcPitch = huge, bad.dstPitch = huge,
	bad.srcHeight = 1, bad.dstHeight = 1;
	check_3d_is_invalid(bad);
	bad = copy, bad.srcY = most - 3, bad.srcHeight = 0, bad.Depth = 1;
	check_3d_is_invalid(bad);
}

static void test_pitch_and_height_may_be_left_out(void **state)
{
	CUDA_MEMCPY3D copy = get_sane_3d();

	(void)state;
	copy.srcPitch = copy.srcHeight = copy.dstPitch = copy.dstHeight = 0;
	copy.Depth = 1;
	assert_ok(cuMemcpy3D(&copy));
	memcpy(sites[SITE_DEVICE].shadow, sites[SITE_POOL].shadow, 50 * 5);
}

static void test_nothing_to_copy_is_fine(void **state)
{
	CUDA_MEMCPY3D copy = get_sane_3d();

	(void)state;
	for (enum line line = 0; line < NR_LINES; line++)
		assert_ok(copy_line(line, sites[SITE_DEVICE].address, sites[SITE_POOL].address, 0));
	copy.WidthInBytes = 0;
	assert_ok(cuMemcpy3D(&copy));
	copy.WidthInBytes = 10;
	copy.Height = 0;
	assert_ok(cuMemcpy3D(&copy));
}

static void test_device_memory_is_not_host_memory(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address, pool = sites[SITE_POOL].address;
	CUDA_MEMCPY3D copy = get_sane_3d();

	(void)state;
	assert_invalid(cuMemcpyHtoD(device, pointer(pool), 10));
	assert_invalid(cuMemcpyDtoH(pointer(device), pool, 10));
	copy.srcMemoryType = CU_MEMORYTYPE_HOST;
	assert_invalid(cuMemcpy3D(&copy));
}

static void test_host_memory_is_not_device_memory(void **state)
{
	CUdeviceptr plain = sites[SITE_PLAIN].address, device = sites[SITE_DEVICE].address;
	char own[10];

	(void)state;
	assert_invalid(cuMemcpyHtoD(plain, own, 10));
	assert_invalid(cuMemcpyDtoH(own, plain, 10));
	assert_invalid(cuMemcpyDtoD(device, plain, 10));
	assert_invalid(cuMemcpyDtoD(plain, device, 10));
}

static void test_copies_beyond_the_end_of_a_block_are_invalid(void **state)
{
	char own[100];

	(void)state;
	for (int i = 0; i < NR_SITES; i++) {
		CUdeviceptr last = sites[i].address + SITE_SIZE - 10;

		if (i == SITE_PLAIN || i == SITE_MAPPED)
			continue;
		assert_invalid(cuMemcpyDtoD(last, sites[SITE_MAPPED].address, 11));
		assert_invalid(cuMemcpyDtoD(sites[SITE_MAPPED].address, last, 11));
		assert_invalid(cuMemcpyHtoD(last, own, 11));
		assert_invalid(cuMemcpyDtoH(own, last, 11));
		/* the call that takes anything knows where CUDA's memory ends, too */
		assert_invalid(cuMemcpy((CUdeviceptr)(uintptr_t)own, last, 11));
		assert_invalid(cuMemcpyAsync(last, (CUdeviceptr)(uintptr_t)own, 11, stream));
	}
}

static void test_copies_beyond_the_last_mapping_are_invalid(void **state)
{
	CUdeviceptr stop = sites[SITE_MAPPED].address + SITE_SIZE / 2 + PAGE;
	char own[20];

	(void)state;
	assert_ok(cuMemcpyDtoH(own, stop - 10, 10));
	assert_invalid(cuMemcpyDtoH(own, stop - 10, 11));
	assert_invalid(cuMemcpyDtoH(own, stop, 1));
}

/* Memory that is registered only in part is neither one thing nor the other. */
static void test_copies_half_in_registered_memory_are_invalid(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;
	char *own = pointer(sites[SITE_PLAIN].address);

	(void)state;
	assert_ok(cuMemHostRegister(own + 4096, 4096, 0));
	assert_invalid(cuMemcpyDtoH(own, device, 8192));
	assert_invalid(cuMemcpyHtoD(device, own, 8192));
	assert_invalid(cuMemcpyHtoD(device, own + 4096, 8192));
	assert_invalid(cuMemcpyHtoD(device, own, 3 * 8192));
	assert_ok(cuMemcpyHtoD(device, own + 4096, 4096));
	memcpy(sites[SITE_DEVICE].shadow, own + 4096, 4096);
	assert_ok(cuMemHostUnregister(own + 4096));
}

static void test_freed_memory_cannot_be_copied(void **state)
{
	CUdeviceptr address;
	char own[10];

	(void)state;
	assert_ok(cuMemAlloc(&address, 5 * MIB));
	assert_ok(cuMemFree(address));
	assert_invalid(cuMemcpyDtoH(own, address, 10));
	assert_invalid(cuMemcpyHtoD(address, own, 10));
	assert_invalid(cuMemcpyDtoD(sites[SITE_DEVICE].address, address, 10));
	assert_invalid(cuMemcpy((CUdeviceptr)(uintptr_t)own, address, 10));
	assert_invalid(cuMemcpy(address, (CUdeviceptr)(uintptr_t)own, 10));
	assert_invalid(cuMemcpyHtoD(sites[SITE_DEVICE].address, pointer(address), 10));
}

static void test_null_and_wrapping_ranges_are_invalid(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;
	char own[10];

	(void)state;
	assert_invalid(cuMemcpyHtoD(device, NULL, 1));
	assert_invalid(cuMemcpyDtoH(NULL, device, 1));
	assert_invalid(cuMemcpyDtoD(0, device, 1));
	assert_invalid(cuMemcpyDtoH(own, device, SIZE_MAX));
	assert_invalid(cuMemcpyDtoD(device, device, SIZE_MAX - device + 1));
	assert_invalid(cuMemcpy(device, 0, 1));
}

static void test_bad_streams_and_contexts(void **state)
{
	CUdeviceptr device = sites[SITE_DEVICE].address;
	char own[10];

	(void)state;
	assert_result(cuMemcpyHtoDAsync(device, own, 1, (CUstream)own), CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuMemcpyAsync(device, device + 10, 1, (CUstream)own),
		      CUDA_ERROR_INVALID_HANDLE);
	assert_result(cuMemcpyPeer(device, (CUcontext)own, device + 10, contexts[0], 1),
		      CUDA_ERROR_INVALID_CONTEXT);
	assert_result(cuMemcpyPeer(device, contexts[0], device + 10, (CUcontext)own, 1),
		      CUDA_ERROR_INVALID_CONTEXT);
}

static void test_large_copies_between_blocks_are_exact(void **state)
{
	const size_t size = 9 * MIB + 123;
	CUdeviceptr first, second;
	unsigned char *bytes =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	/* Holes in the source: never written, written, never written. */
	assert_ok(cuMemAlloc(&first, size));
	assert_ok(cuMemAlloc(&second, size));
	for (size_t i = 0; i < 2 * MIB; i++)
		bytes[i] = (unsigned char)(i % 253);
	assert_ok(cuMemcpyHtoD(first + 3 * MIB + 17, bytes, 2 * MIB));
	assert_ok(cuMemsetD8(second, 0xff, size));
	assert_ok(cuMemcpyDtoD(second, first, size));
	assert_ok(cuMemcpyDtoH(bytes, second, size));
	for (size_t i = 0; i < size; i++) {
		size_t at = i - 3 * MIB - 17;

		if (bytes[i] != (at < 2 * MIB ? at % 253 : 0))
			fail_msg("byte %zu is %d", i, bytes[i]);
	}
	munmap(bytes, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
		TEST(test_lines_between_all_kinds_of_memory),
		TEST(test_rows_between_all_kinds_of_memory),
		TEST(test_boxes_between_all_kinds_of_memory),
		TEST(test_bad_boxes_are_invalid),
		TEST(test_boxes_too_large_for_64_bits_are_invalid),
		TEST(test_pitch_and_height_may_be_left_out),
		TEST(test_nothing_to_copy_is_fine),
		TEST(test_device_memory_is_not_host_memory),
		TEST(test_host_memory_is_not_device_memory),
		TEST(test_copies_beyond_the_end_of_a_block_are_invalid),
		TEST(test_copies_beyond_the_last_mapping_are_invalid),
		TEST(test_copies_half_in_registered_memory_are_invalid),
		TEST(test_freed_memory_cannot_be_copied),
		TEST(test_null_and_wrapping_ranges_are_invalid),
		TEST(test_bad_streams_and_contexts),
		TEST(test_large_copies_between_blocks_are_exact),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=256M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
