#include "driver_fixture.h"

static CUmodule module;
static CUfunction function;

static int setup(void **state)
{
	return fixture_setup(state) || cuModuleLoadData(&module, fixture_ptx) ||
	       cuModuleGetFunction(&function, module, "kernel");
}

static int teardown(void **state)
{
	return cuModuleUnload(module) || fixture_teardown(state);
}

static int get(CUdevice_attribute attribute)
{
	int value;

	assert_ok(cuDeviceGetAttribute(&value, attribute, 0));
	return value;
}

static int blocks(int size, size_t shared)
{
	int count;

	assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, size, shared));
	return count;
}

static void test_blocks_are_limited_by_threads_blocks_and_shared_memory(void **state)
{
	int threads = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);

	(void)state;
	assert_int_equal(blocks(1024, 0), threads / 1024);
	assert_int_equal(blocks(256, 0), threads / 256);
	assert_int_equal(blocks(32, 0), get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
	assert_int_equal(blocks(1, 0), blocks(32, 0)); /* a warp is a warp */
	assert_int_equal(blocks(33, 0), blocks(64, 0));
	assert_true(blocks(64, 40000) < blocks(64, 0));
	assert_true(blocks(64, 40000) > 0);
}

static void test_what_cannot_be_launched_has_no_occupancy(void **state)
{
	(void)state;
	assert_int_equal(blocks(1025, 0), 0);
	assert_int_equal(blocks(32, 49153), 0);
	assert_int_equal(blocks(32, SIZE_MAX), 0);
}

static void test_bad_arguments_are_invalid_values(void **state)
{
	int count;

	(void)state;
	assert_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 32, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, NULL, 32, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, NOT_A_HANDLE, 32, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, -32, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(
		cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, function, 32, 0, 2),
		CUDA_ERROR_INVALID_VALUE);
	assert_ok(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		&count, function, 32, 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
}

static size_t CUDA_CB shared_of_block(int size)
{
	return size > 128 ? 49152 : 1024;
}

static void test_potential_block_size_fills_the_device(void **state)
{
	int grid, size;

	(void)state;
	assert_ok(cuOccupancyMaxPotentialBlockSize(&grid, &size, function, NULL, 0, 0));
	assert_int_equal(size, 1024);
	assert_int_equal(grid, blocks(1024, 0) * get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
	assert_ok(cuOccupancyMaxPotentialBlockSize(&grid, &size, function, NULL, 0, 100));
	assert_in_range(size, 1, 100);
	assert_true(grid > 0);
	assert_ok(cuOccupancyMaxPotentialBlockSize(&grid, &size, function, NULL, 0, 5000));
	assert_int_equal(size, 1024);
	/* More shared memory above 128 threads: smaller blocks keep more threads busy. */
	assert_ok(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &size, function, shared_of_block,
							    0, 512, 0));
	assert_true(size * grid > 0);
	assert_true((size_t)blocks(size, shared_of_block(size)) * (size_t)size >=
		    (size_t)blocks(512, 49152) * 512);
	assert_cuda(cuOccupancyMaxPotentialBlockSize(NULL, &size, function, NULL, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxPotentialBlockSize(&grid, NULL, function, NULL, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxPotentialBlockSize(&grid, &size, NULL, NULL, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxPotentialBlockSize(&grid, &size, function, NULL, 0, -1),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_available_shared_memory_lets_that_many_blocks_run(void **state)
{
	size_t size;

	(void)state;
	for (int count = 1; count <= blocks(128, 0); count++) {
		assert_ok(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, count, 128));
		assert_true(blocks(128, size) >= count);
	}
	assert_cuda(
		cuOccupancyAvailableDynamicSMemPerBlock(&size, function, blocks(128, 0) + 1, 128),
		CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 0, 128),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 1, 0),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyAvailableDynamicSMemPerBlock(NULL, function, 1, 128),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyAvailableDynamicSMemPerBlock(&size, NULL, 1, 128),
		    CUDA_ERROR_INVALID_VALUE);
}

static void test_clusters(void **state)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				       .value.clusterDim = {4, 1, 1}};
	CUlaunchConfig config = {64, 1, 1, 128, 1, 1, 0, NULL, &attribute, 1};
	int value;

	(void)state;
	assert_ok(cuOccupancyMaxPotentialClusterSize(&value, function, &config));
	assert_int_equal(value, 8);
	assert_ok(cuOccupancyMaxActiveClusters(&value, function, &config));
	assert_int_equal(value, blocks(128, 0) * get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) / 4);
	attribute.value.clusterDim.x = 9;
	assert_cuda(cuOccupancyMaxActiveClusters(&value, function, &config),
		    CUDA_ERROR_INVALID_CLUSTER_SIZE);
	attribute.value.clusterDim.x = 0x10000001u;
	attribute.value.clusterDim.y = 16;
	assert_cuda(cuOccupancyMaxActiveClusters(&value, function, &config),
		    CUDA_ERROR_INVALID_CLUSTER_SIZE);
	config.numAttrs = 0; /* nobody says how large */
	assert_cuda(cuOccupancyMaxActiveClusters(&value, function, &config),
		    CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxActiveClusters(&value, function, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cuda(cuOccupancyMaxPotentialClusterSize(NULL, function, &config),
		    CUDA_ERROR_INVALID_VALUE);
	config.blockDimX = 0;
	assert_cuda(cuOccupancyMaxPotentialClusterSize(&value, function, &config),
		    CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_are_limited_by_threads_blocks_and_shared_memory),
		cmocka_unit_test(test_what_cannot_be_launched_has_no_occupancy),
		cmocka_unit_test(test_bad_arguments_are_invalid_values),
		cmocka_unit_test(test_potential_block_size_fills_the_device),
		cmocka_unit_test(test_available_shared_memory_lets_that_many_blocks_run),
		cmocka_unit_test(test_clusters),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
