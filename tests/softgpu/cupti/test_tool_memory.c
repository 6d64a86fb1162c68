#include "record_sink.h"

#include "cupti_records.h"

#define MIB (1u << 20)

typedef SG_CUPTI_RECORD_MEMORY memory_record;
typedef SG_CUPTI_RECORD_MEMORY2 memory2_record;
typedef SG_CUPTI_RECORD_POOL pool_record;

static void flush(void)
{
	assert_done(cuptiActivityFlushAll(0));
}

static const memory2_record *get_memory2(unsigned i)
{
	return sink_get(i, CUPTI_ACTIVITY_KIND_MEMORY2);
}

static void assert_operation(unsigned i, CUpti_ActivityMemoryOperationType operation,
			     CUpti_ActivityMemoryKind kind, uint64_t address, uint64_t size)
{
	const memory2_record *record = get_memory2(i);

	assert_int_equal(record->memoryOperationType, operation);
	assert_int_equal(record->memoryKind, kind);
	assert_int_equal(record->address, address);
	assert_int_equal(record->bytes, size);
}

#define ALLOCATION CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
#define RELEASE    CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE

static void test_every_sort_of_memory_gets_two_records(void **state)
{
	CUdeviceptr device, managed, pitched;
	void *pinned, *other;
	size_t pitch;

	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
	assert_ok(cuMemAlloc(&device, 3 * MIB));
	assert_ok(cuMemAllocManaged(&managed, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
	assert_ok(cuMemAllocHost(&pinned, 1 * MIB));
	assert_ok(cuMemHostAlloc(&other, 4096, 0));
	assert_ok(cuMemAllocPitch(&pitched, &pitch, 1000, 10, 4));
	assert_ok(cuMemFree(device));
	assert_ok(cuMemFree(managed));
	assert_ok(cuMemFreeHost(pinned));
	assert_ok(cuMemFreeHost(other));
	assert_ok(cuMemFree(pitched));
	assert_int_equal(cuMemFree(device), CUDA_ERROR_INVALID_VALUE);
	flush();
	assert_int_equal(sink.nr_records, 10);
	for (unsigned i = 0; i < 10; i += 5) {
		CUpti_ActivityMemoryOperationType operation = i ? RELEASE : ALLOCATION;

		assert_operation(i, operation, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, device, 3 * MIB);
		assert_operation(i + 1, operation, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, managed,
				 2 * MIB);
		assert_operation(i + 2, operation, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
				 (uintptr_t)pinned, 1 * MIB);
		assert_operation(i + 3, operation, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
				 (uintptr_t)other, 4096);
		assert_operation(i + 4, operation, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, pitched,
				 pitch * 10);
	}
}

static void test_record_says_where_and_when_and_by_which_call(void **state)
{
	const CUpti_ActivityAPI *call;
	const memory2_record *record;
	CUdeviceptr address;
	CUcontext context;
	uint64_t before, after;
	uint32_t id;

	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	assert_ok(cuCtxGetCurrent(&context));
	assert_done(cuptiGetContextId(context, &id));
	assert_done(cuptiGetTimestamp(&before));
	assert_ok(cuMemAlloc(&address, 1));
	assert_done(cuptiGetTimestamp(&after));
	flush();
	record = get_memory2(1);
	call = sink_get(2, CUPTI_ACTIVITY_KIND_DRIVER);
	assert_int_equal(record->correlationId, call->correlationId);
	assert_true(before <= record->timestamp && record->timestamp <= after);
	assert_int_equal(record->contextId, id);
	assert_int_equal(record->deviceId, 0);
	assert_int_equal(record->streamId, CUPTI_INVALID_STREAM_ID);
	assert_int_equal(record->isAsync, 0);
	assert_int_equal(record->memoryPoolConfig.memoryPoolType,
			 CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID);
	assert_ok(cuMemFree(address));
}

static void test_memory_of_a_pool_has_stream_and_pool(void **state)
{
	const memory2_record *record;
	CUdeviceptr first, second;
	CUmemoryPool pool;
	CUcontext context;
	CUstream stream;
	cuuint64_t reserved;
	uint32_t id;

	(void)state;
	assert_ok(cuCtxGetCurrent(&context));
	assert_ok(cuStreamCreate(&stream, 0));
	assert_done(cuptiGetStreamId(context, stream, &id));
	assert_ok(cuDeviceGetDefaultMemPool(&pool, 0));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
	assert_ok(cuMemAllocAsync(&first, 1 * MIB, stream));
	assert_ok(cuMemAllocFromPoolAsync(&second, 2 * MIB, pool, stream));
	assert_ok(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
	assert_ok(cuMemFreeAsync(second, stream));
	assert_ok(cuMemFree(first)); /* of a pool as well */
	flush();
	assert_int_equal(sink.nr_records, 4);
	assert_operation(0, ALLOCATION, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, first, 1 * MIB);
	assert_operation(1, ALLOCATION, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, second, 2 * MIB);
	assert_operation(2, RELEASE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, second, 2 * MIB);
	assert_operation(3, RELEASE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, first, 1 * MIB);
	for (unsigned i = 0; i < 4; i++) {
		record = get_memory2(i);
		assert_int_equal(record->isAsync, i < 3);
		assert_int_equal(record->streamId, i < 3 ? id : CUPTI_INVALID_STREAM_ID);
		assert_int_equal(record->memoryPoolConfig.memoryPoolType,
				 CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
		assert_int_equal(record->memoryPoolConfig.address, (uintptr_t)pool);
	}
	record = get_memory2(1);
	assert_int_equal(record->memoryPoolConfig.pool.size, reserved);
	assert_int_equal(record->memoryPoolConfig.utilizedSize, 3 * MIB);
	assert_ok(cuStreamDestroy(stream));
}

static void test_old_kind_has_one_record_with_both_ends(void **state)
{
	const memory_record *record;
	CUdeviceptr address, other;
	uint64_t before, between, after;

	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY));
	assert_done(cuptiGetTimestamp(&before));
	assert_ok(cuMemAlloc(&address, 5000));
	assert_ok(cuMemAlloc(&other, 6000));
	assert_done(cuptiGetTimestamp(&between));
	flush();
	assert_int_equal(sink.nr_records, 0);
	assert_ok(cuMemFree(address));
	assert_done(cuptiGetTimestamp(&after));
	flush();
	assert_int_equal(sink.nr_records, 1);
	record = sink_get(0, CUPTI_ACTIVITY_KIND_MEMORY);
	assert_int_equal(record->address, address);
	assert_int_equal(record->bytes, 5000);
	assert_int_equal(record->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_true(before <= record->start && record->start <= between);
	assert_true(between <= record->end && record->end <= after);
	/* Its beginning is forgotten when nobody wants such records. */
	assert_done(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY));
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY));
	assert_ok(cuMemFree(other));
	flush();
	record = sink_get(1, CUPTI_ACTIVITY_KIND_MEMORY);
	assert_int_equal(record->start, 0);
}

static void test_pools_are_created_trimmed_and_destroyed(void **state)
{
	CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	static const CUpti_ActivityMemoryPoolOperationType operations[] = {
		CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED,
		CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
		CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED,
	};
	CUmemoryPool pool;

	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY_POOL));
	assert_ok(cuMemPoolCreate(&pool, &properties));
	assert_ok(cuMemPoolTrimTo(pool, 4 * MIB));
	assert_ok(cuMemPoolDestroy(pool));
	flush();
	assert_int_equal(sink.nr_records, LENGTH(operations));
	for (unsigned i = 0; i < LENGTH(operations); i++) {
		const pool_record *record = sink_get(i, CUPTI_ACTIVITY_KIND_MEMORY_POOL);

		assert_int_equal(record->memoryPoolOperationType, operations[i]);
		assert_int_equal(record->memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
		assert_int_equal(record->address, (uintptr_t)pool);
		assert_int_equal(record->minBytesToKeep, i == 1 ? 4 * MIB : 0);
		assert_int_equal(record->deviceId, 1);
	}
}

static void test_free_of_nothing_has_no_record(void **state)
{
	(void)state;
	assert_done(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2));
	assert_ok(cuMemFree(0));
	flush();
	assert_int_equal(sink.nr_records, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, sink_setup, sink_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_every_sort_of_memory_gets_two_records),
		CASE(test_record_says_where_and_when_and_by_which_call),
		CASE(test_memory_of_a_pool_has_stream_and_pool),
		CASE(test_old_kind_has_one_record_with_both_ends),
		CASE(test_pools_are_created_trimmed_and_destroyed),
		CASE(test_free_of_nothing_has_no_record),
	};

	return cmocka_run_group_tests(tests, fixture_setup, NULL);
}
