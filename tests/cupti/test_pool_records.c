#include "pool_records.h"

#include <stdlib.h>

#include <string.h>

#include "cmocka_all.h"
#include "paper_cupti.h"

static CUpti_ActivityMemoryPool2 make_pool(uint64_t handle, uint64_t size, uint64_t used)
{
	return (CUpti_ActivityMemoryPool2){
		.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
		.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
		.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
		.deviceId = 1,
		.address = handle,
		.size = size,
		.utilizedSize = used,
	};
}

/* As CUPTI does: into a buffer that it asks for. */
static void deliver(const CUpti_ActivityMemoryPool2 *records, size_t nr)
{
	size_t size = 0, nr_most = 99;
	uint8_t *buffer = NULL;

	paper.give_buffer(&buffer, &size, &nr_most);
	assert_non_null(buffer);
	assert_int_equal(nr_most, 0);
	assert_true(nr * sizeof(*records) <= size);
	memcpy(buffer, records, nr * sizeof(*records));
	paper.take_buffer(NULL, 0, buffer, size, nr * sizeof(*records));
}

static void begin(uint32_t version)
{
	setenv("VRAMSCOPE_CUPTI_POOLS", "1", 1);
	paper_begin(version);
	vs_pool_records_begin(&paper.library);
}

static void test_records_are_asked_for_only_if_wanted(void **state)
{
	(void)state;
	unsetenv("VRAMSCOPE_CUPTI_POOLS");
	paper_begin(130000);
	vs_pool_records_begin(&paper.library);
	assert_null(paper.give_buffer);
	/* 11.5: they do not say what is in use. */
	begin(15);
	assert_null(paper.give_buffer);
	begin(130000);
	assert_int_equal(paper.nr_activities, 2);
	vs_pool_records_end(&paper.library);
	assert_int_equal(paper.nr_activities, 0);
}

static void test_sizes_of_pools_are_told(void **state)
{
	CUpti_ActivityMemoryPool2 records[] = {make_pool(7, 1000, 600), make_pool(8, 0, 0),
					       make_pool(9, 5, 5)};

	(void)state;
	begin(130000);
	records[1].memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED;
	records[2].memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
	deliver(records, 3);
	assert_string_equal(paper_get_lines(), "pool 7 on 1 holds 1000, 600 in use\n");
	vs_pool_records_end(&paper.library);
}

static void test_allocations_tell_of_their_pool(void **state)
{
	CUpti_ActivityMemory3 memory = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
		.deviceId = 2,
		.memoryPoolConfig = {.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
				     .address = 4,
				     .pool.size = 64,
				     .utilizedSize = 32},
	};
	size_t size = 0, nr = 0;
	uint8_t *buffer = NULL;

	(void)state;
	begin(130000);
	paper.give_buffer(&buffer, &size, &nr);
	memcpy(buffer, &memory, sizeof(memory));
	paper.take_buffer(NULL, 0, buffer, size, sizeof(memory));
	assert_string_equal(paper_get_lines(), "pool 4 on 2 holds 64, 32 in use\n");
	vs_pool_records_end(&paper.library);
}

static void test_nothing_is_told_after_the_end(void **state)
{
	CUpti_ActivityMemoryPool2 record = make_pool(7, 1000, 600);

	(void)state;
	begin(130000);
	vs_pool_records_yield();
	assert_int_equal(paper.nr_activities, 0);
	deliver(&record, 1);
	assert_string_equal(paper_get_lines(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_are_asked_for_only_if_wanted),
		cmocka_unit_test(test_sizes_of_pools_are_told),
		cmocka_unit_test(test_allocations_tell_of_their_pool),
		cmocka_unit_test(test_nothing_is_told_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
