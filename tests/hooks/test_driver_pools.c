/* When the driver is asked what its pools hold, and when that is written down. */
#include "driver_pools.h"

#include <pthread.h>

#include "captures.h"
#include "event_lines.h"
#include "hooks_cmocka.h"
#include "paper_table.h"

#define DEFAULT_POOL(device) (0xd000u + 0x100u * (device))

static struct vs_real real;
static struct vs_call call;
static uint64_t reserved_size, used_size; /* of every pool */
static CUresult reserved_result;
static _Atomic unsigned nr_questions;

static CUresult get_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	bool is_reserved = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;

	(void)pool;
	nr_questions++;
	*(cuuint64_t *)value = is_reserved ? reserved_size : used_size;
	return is_reserved ? reserved_result : CUDA_SUCCESS;
}

static CUresult get_default(CUmemoryPool *pool, CUdevice device)
{
	nr_questions++;
	*pool = (CUmemoryPool)(uintptr_t)DEFAULT_POOL((unsigned)device);
	return CUDA_SUCCESS;
}

/* Number of a pool in the lines; said here, so that no line about it is in the way later. */
static uint32_t number_of(uint64_t pool)
{
	uint32_t number = vs_recorder_driver_pool(pool, 0);

	vs_event_lines_skip();
	return number;
}

static int start(void **state)
{
	(void)state;
	vs_paper_table_init(&real);
	real.cuMemPoolGetAttribute = get_attribute;
	real.cuDeviceGetDefaultMemPool = get_default;
	call = vs_paper_table_call(&real);
	reserved_size = 100;
	used_size = 40;
	reserved_result = CUDA_SUCCESS;
	nr_questions = 0;
	while (vs_captures_has_any())
		vs_captures_end();
	vs_event_lines_skip();
	return 0;
}

static void test_state_is_written_when_it_changed(void **state)
{
	uint32_t number = number_of(0x10);

	(void)state;
	vs_driver_pools_sample(&call, 0x10, 0);
	vs_event_lines_expect("pool-state %u 100 40", number);
	/* Used bytes are known from the allocations themselves. */
	used_size = 60;
	vs_driver_pools_sample(&call, 0x10, 0);
	vs_event_lines_expect_none();
	reserved_size = 200;
	vs_driver_pools_sample(&call, 0x10, 0);
	vs_event_lines_expect("pool-state %u 200 60", number);
	reserved_size = 0;
	vs_driver_pools_sample(&call, 0x10, 0);
	vs_event_lines_expect("pool-state %u 0 60", number);
	vs_event_lines_expect_none();
}

static void test_pools_are_told_apart(void **state)
{
	uint32_t first = number_of(0x20), second = number_of(0x30);

	(void)state;
	vs_driver_pools_sample(&call, 0x20, 0);
	vs_driver_pools_sample(&call, 0x30, 1);
	vs_event_lines_expect("pool-state %u 100 40", first);
	vs_event_lines_expect("pool-state %u 100 40", second);
	vs_driver_pools_sample(&call, 0x20, 0);
	vs_event_lines_expect_none();
}

static void test_pool_that_holds_nothing_yet_is_no_news(void **state)
{
	(void)state;
	(void)number_of(0x40);
	reserved_size = 0;
	vs_driver_pools_sample(&call, 0x40, 0);
	vs_event_lines_expect_none();
}

static void test_handle_that_comes_again_is_asked_anew(void **state)
{
	uint32_t number = number_of(0x50);

	(void)state;
	vs_driver_pools_sample(&call, 0x50, 0);
	vs_event_lines_expect("pool-state %u 100 40", number);
	vs_driver_pools_forget(0x50);
	vs_driver_pools_sample(&call, 0x50, 0);
	vs_event_lines_expect("pool-state %u 100 40", number);
	vs_driver_pools_forget(0x51); /* never seen */
	vs_driver_pools_forget(0);
	vs_driver_pools_sample(&call, 0x50, 0);
	vs_event_lines_expect_none();
}

static void test_nothing_is_asked_while_a_stream_captures(void **state)
{
	uint32_t number = number_of(0x60);

	(void)state;
	vs_captures_begin();
	vs_driver_pools_sample(&call, 0x60, 8);
	assert_int_equal(nr_questions, 0);
	vs_captures_end();
	vs_driver_pools_sample(&call, 0x60, 8);
	vs_event_lines_expect("pool-state %u 100 40", number);
}

static void test_nothing_is_asked_where_nothing_is_recorded(void **state)
{
	(void)state;
	call.is_recording = false;
	vs_driver_pools_sample(&call, 0x70, 0);
	vs_driver_pools_sample_default(&call, 0);
	call.is_recording = true;
	vs_driver_pools_sample(&call, 0, 0); /* no pool */
	assert_int_equal(nr_questions, 0);
	vs_event_lines_expect_none();
}

static void test_driver_that_cannot_tell_writes_nothing(void **state)
{
	uint32_t number = number_of(0x80);

	(void)state;
	reserved_result = CUDA_ERROR_INVALID_VALUE;
	vs_driver_pools_sample(&call, 0x80, 0);
	reserved_result = CUDA_SUCCESS;
	real.cuMemPoolGetAttribute = NULL;
	vs_driver_pools_sample(&call, 0x80, 0);
	vs_event_lines_expect_none();
	/* Nor is it taken for an answer. */
	real.cuMemPoolGetAttribute = get_attribute;
	vs_driver_pools_sample(&call, 0x80, 0);
	vs_event_lines_expect("pool-state %u 100 40", number);
}

/* ---- Default pools: each test has devices of its own ---- */

static void test_default_pool_is_asked_once_it_was_used(void **state)
{
	uint32_t number = number_of(DEFAULT_POOL(1));

	(void)state;
	vs_driver_pools_sample_default(&call, 1);
	assert_int_equal(nr_questions, 0);
	vs_driver_pools_sample(&call, DEFAULT_POOL(1), 1);
	vs_event_lines_expect("pool-state %u 100 40", number);
	vs_driver_pools_sample_default(&call, 1);
	vs_event_lines_expect_none();
	reserved_size = 64;
	call.is_recording = false;
	vs_driver_pools_sample_default(&call, 1);
	vs_event_lines_expect_none();
	call.is_recording = true;
	vs_driver_pools_sample_default(&call, 1);
	vs_event_lines_expect("pool-state %u 64 40", number);
	/* Empty: nothing can be let go any more. */
	reserved_size = 0;
	vs_driver_pools_sample_default(&call, 1);
	vs_event_lines_expect("pool-state %u 0 40", number);
	nr_questions = 0;
	vs_driver_pools_sample_default(&call, 1);
	assert_int_equal(nr_questions, 0);
}

static void test_every_device_has_a_default_pool_of_its_own(void **state)
{
	uint32_t number = number_of(DEFAULT_POOL(2));

	(void)state;
	(void)number_of(DEFAULT_POOL(3));
	vs_driver_pools_sample(&call, DEFAULT_POOL(2), 2);
	vs_driver_pools_sample(&call, DEFAULT_POOL(3), 3);
	vs_event_lines_skip();
	reserved_size = 50;
	vs_driver_pools_sample_default(&call, 2);
	vs_event_lines_expect("pool-state %u 50 40", number);
	vs_event_lines_expect_none();
}

/* The program's own pool may be destroyed at any moment, by any thread. */
static void test_other_pools_are_not_asked_in_place_of_the_default(void **state)
{
	(void)state;
	(void)number_of(0xa0);
	vs_driver_pools_sample(&call, 0xa0, 4);
	vs_event_lines_skip();
	reserved_size = 50;
	vs_driver_pools_sample_default(&call, 4);
	vs_event_lines_expect_none();
}

static void test_default_pool_is_not_asked_while_a_stream_captures(void **state)
{
	uint32_t number = number_of(DEFAULT_POOL(5));

	(void)state;
	vs_driver_pools_sample(&call, DEFAULT_POOL(5), 5);
	vs_event_lines_skip();
	reserved_size = 50;
	nr_questions = 0;
	vs_captures_begin();
	vs_driver_pools_sample_default(&call, 5);
	assert_int_equal(nr_questions, 0);
	vs_captures_end();
	vs_driver_pools_sample_default(&call, 5);
	vs_event_lines_expect("pool-state %u 50 40", number);
}

static void test_device_that_is_none_has_no_default_pool(void **state)
{
	(void)state;
	(void)number_of(0xb0);
	vs_driver_pools_sample(&call, 0xb0, VS_NO_DEVICE);
	vs_driver_pools_sample(&call, 0xb0, 1000);
	vs_event_lines_skip();
	nr_questions = 0;
	vs_driver_pools_sample_default(&call, VS_NO_DEVICE);
	vs_driver_pools_sample_default(&call, 1000);
	assert_int_equal(nr_questions, 0);
	/* A driver that does not know the question: the pool itself is known all the same. */
	real.cuDeviceGetDefaultMemPool = NULL;
	(void)number_of(0xc0);
	vs_driver_pools_sample(&call, 0xc0, 6);
	vs_event_lines_skip();
	reserved_size = 50;
	vs_driver_pools_sample_default(&call, 6);
	vs_event_lines_expect_none();
}

/* ---- Threads ---- */

static pthread_barrier_t barrier;

static void *sample_at_once(void *argument)
{
	const uint64_t *pool = argument;
	struct vs_call own = vs_paper_table_call(&real);

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++) {
		vs_driver_pools_sample(&own, *pool, 7);
		vs_driver_pools_sample_default(&own, 7);
	}
	return NULL;
}

static void test_threads_write_a_change_once(void **state)
{
	pthread_t threads[4];

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 4), 0);
	for (uint64_t pool = 0xe00; pool < 0xe80; pool += 0x10) {
		uint32_t number = number_of(pool);

		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, sample_at_once, &pool),
					 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		vs_event_lines_expect("pool-state %u 100 40", number);
		vs_event_lines_expect_none();
	}
	pthread_barrier_destroy(&barrier);
}

/* Last: the table stays full. */
static void test_without_room_every_answer_is_news(void **state)
{
	uint32_t number = number_of(0x20), none = 0;

	(void)state;
	for (uint64_t pool = 0x10000; pool < 0x20000; pool += 0x10) {
		vs_driver_pools_sample(&call, pool, 0);
		vs_event_lines_skip();
	}
	/* The recorder has no number left, either. */
	vs_driver_pools_sample(&call, 0x1fff0, 0);
	vs_event_lines_expect("pool-state %u 100 40", none);
	vs_driver_pools_forget(0x1fff0);
	/* Who has a place keeps it. */
	reserved_size = 101;
	vs_driver_pools_sample(&call, 0x20, 0);
	vs_event_lines_expect("pool-state %u 101 40", number);
	vs_driver_pools_sample(&call, 0x20, 0);
	vs_event_lines_expect_none();
}

#define TEST(test) cmocka_unit_test_setup(test, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_state_is_written_when_it_changed),
		TEST(test_pools_are_told_apart),
		TEST(test_pool_that_holds_nothing_yet_is_no_news),
		TEST(test_handle_that_comes_again_is_asked_anew),
		TEST(test_nothing_is_asked_while_a_stream_captures),
		TEST(test_nothing_is_asked_where_nothing_is_recorded),
		TEST(test_driver_that_cannot_tell_writes_nothing),
		TEST(test_default_pool_is_asked_once_it_was_used),
		TEST(test_every_device_has_a_default_pool_of_its_own),
		TEST(test_other_pools_are_not_asked_in_place_of_the_default),
		TEST(test_default_pool_is_not_asked_while_a_stream_captures),
		TEST(test_device_that_is_none_has_no_default_pool),
		TEST(test_threads_write_a_change_once),
		TEST(test_without_room_every_answer_is_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
