#include <string.h>

#include "rig.h"

#define CAPACITY (512 * MIB)
#define OVERHEAD (16 * MIB)
#define ROOM     (CAPACITY - OVERHEAD)
#define PIECE    (32 * MIB)

static CUcontext context;
static CUmemoryPool default_pool;

static int begin(void **state)
{
	(void)state;
	context = sg_rig_open();
	assert_ok(cuDeviceGetDefaultMemPool(&default_pool, 0));
	assert_int_equal(sg_rig_get_free(), ROOM);
	return 0;
}

static int end(void **state)
{
	(void)state;
	/* frees what tests left in pools, and sets the default one back */
	assert_ok(cuDevicePrimaryCtxReset(0));
	assert_ok(cuCtxDestroy(context));
	return 0;
}

static CUdeviceptr alloc(size_t size)
{
	CUdeviceptr address = 0;

	assert_ok(cuMemAllocAsync(&address, size, NULL));
	assert_int_equal(address % UNIT, 0);
	return address;
}

static CUdeviceptr alloc_from(CUmemoryPool pool, size_t size)
{
	CUdeviceptr address = 0;

	assert_ok(cuMemAllocFromPoolAsync(&address, size, pool, NULL));
	assert_int_equal(address % UNIT, 0);
	return address;
}

static void give(CUdeviceptr address)
{
	assert_ok(cuMemFreeAsync(address, NULL));
}

static CUmemoryPool create_pool(size_t max_size)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				      .maxSize = max_size};
	CUmemoryPool pool;

	assert_ok(cuMemPoolCreate(&pool, &props));
	return pool;
}

static uint64_t get(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	cuuint64_t value = 0;

	assert_ok(cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

static void set(CUmemoryPool pool, CUmemPool_attribute attribute, cuuint64_t value)
{
	assert_ok(cuMemPoolSetAttribute(pool, attribute, &value));
}

static uint64_t get_reserved(CUmemoryPool pool)
{
	return get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

static uint64_t get_used(CUmemoryPool pool)
{
	return get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}

static void test_pool_takes_pieces_of_32_mib(void **state)
{
	(void)state;
	alloc(1);
	assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
	assert_int_equal(get_reserved(default_pool), PIECE);
	assert_int_equal(get_used(default_pool), UNIT);
	alloc(PIECE - UNIT);
	assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
	alloc(1);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PIECE);
	alloc(PIECE + 1);
	assert_int_equal(sg_rig_get_free(), ROOM - 4 * PIECE);
	assert_int_equal(get_reserved(default_pool), 4 * PIECE);
}

static void test_freed_block_is_used_again(void **state)
{
	CUdeviceptr first = alloc(1000);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		give(first);
		assert_int_equal(alloc(1000), first);
	}
	assert_int_equal(get_reserved(default_pool), PIECE);
}

static void test_blocks_of_another_stream_are_used_again(void **state)
{
	CUstream one, two;
	CUdeviceptr first, second;

	(void)state;
	assert_ok(cuStreamCreate(&one, 0));
	assert_ok(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	assert_ok(cuMemAllocAsync(&first, PIECE, one));
	assert_ok(cuMemFreeAsync(first, one));
	assert_ok(cuMemAllocAsync(&second, PIECE, two));
	assert_int_equal(first, second);
}

/* What synchronises, and whether the pool then gives back what is above its threshold. */
enum sync {
	SYNC_STREAM,
	SYNC_DEFAULT_STREAM,
	SYNC_EVENT,
	SYNC_CONTEXT,
	NR_SYNCS
};

static void synchronise(enum sync sync)
{
	CUstream stream;
	CUevent event;

	switch (sync) {
	case SYNC_STREAM:
		assert_ok(cuStreamCreate(&stream, 0));
		assert_ok(cuStreamSynchronize(stream));
		break;
	case SYNC_DEFAULT_STREAM:
		assert_ok(cuStreamSynchronize(NULL));
		break;
	case SYNC_EVENT:
		assert_ok(cuEventCreate(&event, 0));
		assert_ok(cuEventRecord(event, NULL));
		assert_ok(cuEventSynchronize(event));
		break;
	default:
		assert_ok(cuCtxSynchronize());
	}
}

static void test_every_synchronisation_gives_memory_back(void **state)
{
	(void)state;
	for (enum sync sync = 0; sync < NR_SYNCS; sync++) {
		CUdeviceptr address = alloc(PIECE);

		give(address);
		assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
		synchronise(sync);
		assert_int_equal(sg_rig_get_free(), ROOM);
		assert_int_equal(get_reserved(default_pool), 0);
	}
}

static void test_used_pieces_stay_at_a_synchronisation(void **state)
{
	CUdeviceptr first = alloc(PIECE), second = alloc(100), third = alloc(100);

	(void)state;
	give(first);
	give(second);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_reserved(default_pool), PIECE);
	give(third);
	assert_int_equal(get_reserved(default_pool), PIECE);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_reserved(default_pool), 0);
}

static void test_threshold_is_kept(void **state)
{
	CUdeviceptr blocks[4];

	(void)state;
	set(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 2 * PIECE);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 2 * PIECE);
	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(PIECE);
	for (int i = 0; i < 4; i++)
		give(blocks[i]);
	assert_int_equal(get_reserved(default_pool), 4 * PIECE);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_reserved(default_pool), 2 * PIECE);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PIECE);
	/* lower than before: the next synchronisation notices */
	set(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
	assert_int_equal(get_reserved(default_pool), 2 * PIECE);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_reserved(default_pool), 0);
}

static void test_growth_above_the_threshold_is_noticed(void **state)
{
	CUdeviceptr first;

	(void)state;
	set(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 40 * MIB);
	first = alloc(PIECE);
	alloc(PIECE);
	give(first);
	assert_ok(cuCtxSynchronize());
	/* without the free piece it would be less than the threshold */
	assert_int_equal(get_reserved(default_pool), 2 * PIECE);
	alloc(2 * PIECE);
	assert_int_equal(get_reserved(default_pool), 4 * PIECE);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_reserved(default_pool), 3 * PIECE);
}

static void test_highest_threshold_keeps_everything(void **state)
{
	CUdeviceptr address;

	(void)state;
	set(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	address = alloc(5 * PIECE);
	give(address);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_reserved(default_pool), 5 * PIECE);
}

static void test_trim_keeps_at_least_what_it_is_told(void **state)
{
	CUdeviceptr blocks[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(PIECE);
	assert_ok(cuMemPoolTrimTo(default_pool, 0)); /* all in use */
	assert_int_equal(get_reserved(default_pool), 4 * PIECE);
	for (int i = 0; i < 3; i++)
		give(blocks[i]);
	assert_ok(cuMemPoolTrimTo(default_pool, 5 * PIECE));
	assert_int_equal(get_reserved(default_pool), 4 * PIECE);
	assert_ok(cuMemPoolTrimTo(default_pool, 3 * PIECE - 1));
	assert_int_equal(get_reserved(default_pool), 3 * PIECE);
	assert_ok(cuMemPoolTrimTo(default_pool, 2 * PIECE));
	assert_int_equal(get_reserved(default_pool), 2 * PIECE);
	assert_ok(cuMemPoolTrimTo(default_pool, 0));
	assert_int_equal(get_reserved(default_pool), PIECE);
	give(blocks[3]);
	assert_ok(cuMemPoolTrimTo(default_pool, 0));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_invalid(cuMemPoolTrimTo(NULL, 0));
}

static void test_high_water_marks(void **state)
{
	CUdeviceptr first = alloc(PIECE), second = alloc(1000);
	cuuint64_t one = 1;

	(void)state;
	give(first);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(get_used(default_pool), 1024);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), PIECE + 1024);
	assert_int_equal(get_reserved(default_pool), PIECE);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * PIECE);
	assert_invalid(cuMemPoolSetAttribute(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
	assert_invalid(
		cuMemPoolSetAttribute(default_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one));
	set(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
	set(default_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), PIECE);
	give(second);
	assert_int_equal(get_used(default_pool), 0);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024);
}

static void test_reuse_flags_are_on_and_can_be_set(void **state)
{
	static const CUmemPool_attribute flags[] = {
		CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
		CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
		CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		int value = 77, off = 0;

		assert_ok(cuMemPoolGetAttribute(default_pool, flags[i], &value));
		assert_int_equal(value, 1);
		assert_ok(cuMemPoolSetAttribute(default_pool, flags[i], &off));
		assert_ok(cuMemPoolGetAttribute(default_pool, flags[i], &value));
		assert_int_equal(value, 0);
	}
}

static void test_bad_attributes_are_invalid(void **state)
{
	cuuint64_t value = 0;

	(void)state;
	assert_invalid(cuMemPoolGetAttribute(default_pool, (CUmemPool_attribute)0, &value));
	assert_invalid(cuMemPoolGetAttribute(default_pool, (CUmemPool_attribute)999, &value));
	assert_invalid(cuMemPoolSetAttribute(default_pool, (CUmemPool_attribute)999, &value));
	assert_invalid(
		cuMemPoolSetAttribute(default_pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	assert_invalid(
		cuMemPoolSetAttribute(default_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value));
	assert_invalid(cuMemPoolGetAttribute(NULL, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	assert_invalid(cuMemPoolGetAttribute(default_pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, NULL));
	assert_invalid(
		cuMemPoolSetAttribute(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL));
}

static void test_bad_requests_are_invalid(void **state)
{
	CUdeviceptr address;
	CUmemoryPool pool;

	(void)state;
	assert_invalid(cuMemAllocAsync(&address, 0, NULL));
	assert_invalid(cuMemAllocAsync(NULL, 1, NULL));
	assert_invalid(cuMemAllocFromPoolAsync(&address, 1, NULL, NULL));
	assert_invalid(cuMemAllocFromPoolAsync(&address, 1, (CUmemoryPool)&address, NULL));
	assert_result(cuMemAllocAsync(&address, 1, (CUstream)&address), CUDA_ERROR_INVALID_HANDLE);
	assert_invalid(cuMemFreeAsync(12345, NULL));
	address = alloc(1000);
	assert_invalid(cuMemFreeAsync(address + UNIT, NULL));
	give(address);
	assert_invalid(cuMemFreeAsync(address, NULL));
	assert_invalid(cuDeviceGetDefaultMemPool(NULL, 0));
	assert_result(cuDeviceGetDefaultMemPool(&pool, 9), CUDA_ERROR_INVALID_DEVICE);
}

static void test_bad_properties_are_refused(void **state)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemPoolProps bad;
	CUmemoryPool pool;

	(void)state;
	assert_invalid(cuMemPoolCreate(NULL, &props));
	assert_invalid(cuMemPoolCreate(&pool, NULL));
	bad = props;
	bad.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
	assert_invalid(cuMemPoolCreate(&pool, &bad));
	bad = props;
	bad.location.id = 9;
	assert_invalid(cuMemPoolCreate(&pool, &bad));
	bad = props;
	bad.location.type = CU_MEM_LOCATION_TYPE_INVALID;
	assert_invalid(cuMemPoolCreate(&pool, &bad));
	bad.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	assert_invalid(cuMemPoolCreate(&pool, &bad));
	bad.location.type = CU_MEM_LOCATION_TYPE_HOST;
	bad.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	assert_invalid(cuMemPoolCreate(&pool, &bad));
}

static void test_pools_do_not_share_pieces(void **state)
{
	CUmemoryPool pool = create_pool(0);
	CUdeviceptr address;

	(void)state;
	alloc(1);
	address = alloc_from(pool, 1);
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PIECE);
	assert_int_equal(get_used(pool), UNIT);
	assert_int_equal(get_used(default_pool), UNIT);
	give(address);
	assert_int_equal(get_used(pool), 0);
	assert_ok(cuMemPoolDestroy(pool));
	assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
}

static void test_destroyed_pool_lives_until_its_last_block_is_freed(void **state)
{
	CUmemoryPool pool = create_pool(0);
	CUdeviceptr first = alloc_from(pool, PIECE), second = alloc_from(pool, PIECE), address;
	char byte = 5;

	(void)state;
	assert_ok(cuMemPoolDestroy(pool));
	assert_invalid(cuMemPoolDestroy(pool));
	assert_invalid(cuMemAllocFromPoolAsync(&address, 1, pool, NULL));
	assert_int_equal(sg_rig_get_free(), ROOM - 2 * PIECE);
	assert_ok(cuMemcpyHtoD(first, &byte, 1));
	byte = 0;
	assert_ok(cuMemcpyDtoH(&byte, first, 1));
	assert_int_equal(byte, 5);
	give(first);
	assert_ok(cuCtxSynchronize());
	assert_int_equal(sg_rig_get_free(), ROOM - PIECE);
	give(second);
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_default_pool_cannot_be_destroyed(void **state)
{
	(void)state;
	assert_invalid(cuMemPoolDestroy(default_pool));
	assert_invalid(cuMemPoolDestroy(NULL));
	alloc(1);
}

static void test_current_pool_can_be_chosen(void **state)
{
	CUmemoryPool pool = create_pool(0), current;

	(void)state;
	assert_ok(cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, default_pool);
	assert_ok(cuDeviceSetMemPool(0, pool));
	assert_ok(cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, pool);
	give(alloc(1000));
	assert_int_equal(get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
	/* "Destroying the current mempool sets the default mempool as the current" */
	assert_ok(cuMemPoolDestroy(pool));
	assert_ok(cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, default_pool);
}

static void test_pool_of_another_device_cannot_be_current(void **state)
{
	CUmemoryPool other;

	(void)state;
	assert_ok(cuDeviceGetDefaultMemPool(&other, 1));
	assert_invalid(cuDeviceSetMemPool(0, other));
	assert_invalid(cuDeviceSetMemPool(0, NULL));
	assert_result(cuDeviceSetMemPool(9, default_pool), CUDA_ERROR_INVALID_DEVICE);
}

static void test_pool_does_not_grow_beyond_its_maximum(void **state)
{
	CUmemoryPool pool = create_pool(40 * MIB);
	CUdeviceptr first = alloc_from(pool, PIECE), address;

	(void)state;
	/* 8 MiB are left: too few for a piece, enough for a block */
	assert_result(cuMemAllocFromPoolAsync(&address, 8 * MIB + 1, pool, NULL),
		      CUDA_ERROR_OUT_OF_MEMORY);
	alloc_from(pool, 8 * MIB);
	assert_int_equal(get_reserved(pool), 40 * MIB);
	assert_result(cuMemAllocFromPoolAsync(&address, 1, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	give(first);
	alloc_from(pool, PIECE);
	assert_result(cuMemAllocFromPoolAsync(&address, 41 * MIB, pool, NULL),
		      CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_out_of_memory_is_exact(void **state)
{
	CUdeviceptr address, rest;

	(void)state;
	alloc(15 * PIECE);
	/* not a whole piece, but there is room for a block */
	rest = alloc(16 * MIB);
	assert_int_equal(sg_rig_get_free(), 0);
	assert_result(cuMemAllocAsync(&address, 1, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	give(rest);
	assert_result(cuMemAllocAsync(&address, 16 * MIB + 1, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	alloc(16 * MIB);
	assert_result(cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_free_pieces_make_room_for_a_larger_block(void **state)
{
	CUdeviceptr blocks[4], address;

	(void)state;
	set(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	assert_ok(cuMemAlloc(&address, ROOM - 4 * PIECE));
	for (int i = 0; i < 4; i++)
		blocks[i] = alloc(PIECE);
	for (int i = 0; i < 4; i++)
		give(blocks[i]);
	assert_int_equal(sg_rig_get_free(), 0);
	alloc(4 * PIECE);
	assert_int_equal(get_reserved(default_pool), 4 * PIECE);
}

static void test_pool_memory_counts_for_other_requests(void **state)
{
	CUdeviceptr pooled = alloc(PIECE), address;

	(void)state;
	assert_result(cuMemAlloc(&address, ROOM - PIECE + 1), CUDA_ERROR_OUT_OF_MEMORY);
	give(pooled);
	assert_ok(cuCtxSynchronize());
	assert_ok(cuMemAlloc(&address, ROOM));
	assert_result(cuMemAllocAsync(&pooled, 1, NULL), CUDA_ERROR_OUT_OF_MEMORY);
}

static void test_synchronous_free_takes_pool_memory(void **state)
{
	CUdeviceptr address = alloc(1000);

	(void)state;
	assert_ok(cuMemFree(address));
	assert_int_equal(get_used(default_pool), 0);
	assert_invalid(cuMemFree(address));
}

static void test_asynchronous_free_takes_synchronous_memory(void **state)
{
	CUdeviceptr address;

	(void)state;
	assert_ok(cuMemAlloc(&address, PAGE));
	give(address);
	assert_int_equal(sg_rig_get_free(), ROOM);
}

static void test_pool_of_the_host_costs_the_device_nothing(void **state)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = {.type = CU_MEM_LOCATION_TYPE_HOST}};
	CUmemoryPool pool;
	CUdeviceptr address;
	char byte = 0;

	(void)state;
	assert_ok(cuMemPoolCreate(&pool, &props));
	address = alloc_from(pool, 2 * CAPACITY);
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_ok(cuMemsetD8(address, 9, 100));
	/* the program sees it */
	assert_int_equal(((char *)(uintptr_t)address)[99], 9);
	assert_ok(cuMemcpyDtoH(&byte, address, 1));
	assert_int_equal(byte, 9);
	give(address);
	assert_ok(cuMemPoolDestroy(pool));
	assert_int_equal(sg_rig_get_file_size("softgpu-host"), 0);
}

static void test_access_is_kept_per_device(void **state)
{
	CUmemLocation own = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	CUmemLocation other = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
	CUmemAccessDesc desc = {.location = other, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemAccess_flags flags;

	(void)state;
	assert_ok(cuMemPoolGetAccess(&flags, default_pool, &own));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_ok(cuMemPoolGetAccess(&flags, default_pool, &other));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_ok(cuMemPoolSetAccess(default_pool, &desc, 1));
	assert_ok(cuMemPoolGetAccess(&flags, default_pool, &other));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	assert_ok(cuMemPoolSetAccess(default_pool, &desc, 1));
	assert_ok(cuMemPoolGetAccess(&flags, default_pool, &other));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

static void test_bad_access_changes_nothing(void **state)
{
	CUmemLocation other = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
	CUmemAccessDesc descs[2] = {
		{.location = other, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
		{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
		 .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE},
	};
	CUmemAccess_flags flags;

	(void)state;
	/* the device a pool is on cannot lose it */
	assert_invalid(cuMemPoolSetAccess(default_pool, descs, 2));
	descs[1].location.id = 9;
	assert_invalid(cuMemPoolSetAccess(default_pool, descs, 2));
	descs[1].location.type = CU_MEM_LOCATION_TYPE_INVALID;
	assert_invalid(cuMemPoolSetAccess(default_pool, descs, 2));
	assert_invalid(cuMemPoolSetAccess(default_pool, NULL, 1));
	assert_invalid(cuMemPoolSetAccess(NULL, descs, 1));
	assert_ok(cuMemPoolGetAccess(&flags, default_pool, &other));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	assert_invalid(cuMemPoolGetAccess(NULL, default_pool, &other));
	assert_invalid(cuMemPoolGetAccess(&flags, default_pool, NULL));
}

static void test_memory_comes_from_the_device_of_the_stream(void **state)
{
	CUcontext second;
	CUstream stream;
	CUdeviceptr address;
	int device;

	(void)state;
	assert_ok(cuCtxCreate(&second, NULL, 0, 1));
	assert_ok(cuStreamCreate(&stream, 0));
	assert_ok(cuCtxPopCurrent(NULL));
	assert_ok(cuMemAllocAsync(&address, 1, stream));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_ok(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
	assert_int_equal(device, 1);
	assert_ok(cuMemFreeAsync(address, stream));
	assert_ok(cuStreamSynchronize(stream));
	assert_ok(cuCtxDestroy(second));
}

static void test_reset_sets_the_default_pool_back(void **state)
{
	(void)state;
	set(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
	alloc(PIECE);
	assert_ok(cuDevicePrimaryCtxReset(0));
	assert_int_equal(sg_rig_get_free(), ROOM);
	assert_int_equal(get_used(default_pool), 0);
	assert_int_equal(get_reserved(default_pool), 0);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
	assert_int_equal(get(default_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pool_takes_pieces_of_32_mib, begin, end),
		cmocka_unit_test_setup_teardown(test_freed_block_is_used_again, begin, end),
		cmocka_unit_test_setup_teardown(test_blocks_of_another_stream_are_used_again, begin,
						end),
		cmocka_unit_test_setup_teardown(test_every_synchronisation_gives_memory_back, begin,
						end),
		cmocka_unit_test_setup_teardown(test_used_pieces_stay_at_a_synchronisation, begin,
						end),
		cmocka_unit_test_setup_teardown(test_threshold_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(test_growth_above_the_threshold_is_noticed, begin,
						end),
		cmocka_unit_test_setup_teardown(test_highest_threshold_keeps_everything, begin,
						end),
		cmocka_unit_test_setup_teardown(test_trim_keeps_at_least_what_it_is_told, begin,
						end),
		cmocka_unit_test_setup_teardown(test_high_water_marks, begin, end),
		cmocka_unit_test_setup_teardown(test_reuse_flags_are_on_and_can_be_set, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_attributes_are_invalid, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_requests_are_invalid, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_properties_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_pools_do_not_share_pieces, begin, end),
		cmocka_unit_test_setup_teardown(
			test_destroyed_pool_lives_until_its_last_block_is_freed, begin, end),
		cmocka_unit_test_setup_teardown(test_default_pool_cannot_be_destroyed, begin, end),
		cmocka_unit_test_setup_teardown(test_current_pool_can_be_chosen, begin, end),
		cmocka_unit_test_setup_teardown(test_pool_of_another_device_cannot_be_current,
						begin, end),
		cmocka_unit_test_setup_teardown(test_pool_does_not_grow_beyond_its_maximum, begin,
						end),
		cmocka_unit_test_setup_teardown(test_out_of_memory_is_exact, begin, end),
		cmocka_unit_test_setup_teardown(test_free_pieces_make_room_for_a_larger_block,
						begin, end),
		cmocka_unit_test_setup_teardown(test_pool_memory_counts_for_other_requests, begin,
						end),
		cmocka_unit_test_setup_teardown(test_synchronous_free_takes_pool_memory, begin,
						end),
		cmocka_unit_test_setup_teardown(test_asynchronous_free_takes_synchronous_memory,
						begin, end),
		cmocka_unit_test_setup_teardown(test_pool_of_the_host_costs_the_device_nothing,
						begin, end),
		cmocka_unit_test_setup_teardown(test_access_is_kept_per_device, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_access_changes_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_memory_comes_from_the_device_of_the_stream,
						begin, end),
		cmocka_unit_test_setup_teardown(test_reset_sets_the_default_pool_back, begin, end),
	};

	SG_RIG_SET_ENVIRONMENT("SOFTGPU_MEMORY=512M", "SOFTGPU_CONTEXT=16M", "SOFTGPU_DEVICES=2",
			       NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
