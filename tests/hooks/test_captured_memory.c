/* Memory that came while a stream was capturing is known by its addresses until it goes. */
#include "captured_memory.h"

#include <pthread.h>

#include "captures.h"
#include "hooks_cmocka.h"

static bool is_capturing;

bool vs_captures_has_any(void)
{
	return is_capturing;
}

static int begin(void **state)
{
	(void)state;
	is_capturing = true;
	return 0;
}

static void test_memory_outside_captures_is_not_noticed(void **state)
{
	(void)state;
	is_capturing = false;
	vs_captured_memory_add(0x10000, 0x1000);
	assert_false(vs_captured_memory_has(0x10000));
}

static void test_memory_is_known_from_its_first_to_its_last_byte_until_it_goes(void **state)
{
	(void)state;
	vs_captured_memory_add(0x10000, 0x1000);
	vs_captured_memory_add(0x20000, 0x2000);
	is_capturing = false; /* the capture is over, the memory is there */
	assert_false(vs_captured_memory_has(0xffff));
	assert_true(vs_captured_memory_has(0x10000));
	assert_true(vs_captured_memory_has(0x10fff));
	assert_false(vs_captured_memory_has(0x11000));
	assert_true(vs_captured_memory_has(0x21fff));
	vs_captured_memory_remove(0x10800); /* not where it begins */
	assert_true(vs_captured_memory_has(0x10000));
	vs_captured_memory_remove(0x10000);
	assert_false(vs_captured_memory_has(0x10000));
	assert_true(vs_captured_memory_has(0x20000));
	vs_captured_memory_remove(0x20000);
}

static void test_a_full_table_takes_no_more_and_has_room_again(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 1; i <= VS_CAPTURED_MEMORY_MAX + 1; i++)
		vs_captured_memory_add(i << 20, 1 << 20);
	assert_true(vs_captured_memory_has((uint64_t)VS_CAPTURED_MEMORY_MAX << 20));
	assert_false(vs_captured_memory_has((uint64_t)(VS_CAPTURED_MEMORY_MAX + 1) << 20));
	vs_captured_memory_remove(7 << 20);
	vs_captured_memory_add((uint64_t)(VS_CAPTURED_MEMORY_MAX + 1) << 20, 1 << 20);
	assert_true(vs_captured_memory_has((uint64_t)(VS_CAPTURED_MEMORY_MAX + 1) << 20));
	for (i = 1; i <= VS_CAPTURED_MEMORY_MAX + 1; i++)
		vs_captured_memory_remove(i << 20);
	for (i = 1; i <= VS_CAPTURED_MEMORY_MAX + 1; i++)
		assert_false(vs_captured_memory_has(i << 20));
}

static void *come_and_go(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument << 32;

	for (unsigned i = 1; i <= 2000; i++) {
		vs_captured_memory_add(base + i * 0x1000, 0x1000);
		if (!vs_captured_memory_has(base + i * 0x1000))
			return argument;
		vs_captured_memory_remove(base + i * 0x1000);
	}
	return NULL;
}

static void test_threads_see_their_own(void **state)
{
	pthread_t threads[4];
	void *result;

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)(i + 1)),
				 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_memory_outside_captures_is_not_noticed, begin),
		cmocka_unit_test_setup(
			test_memory_is_known_from_its_first_to_its_last_byte_until_it_goes, begin),
		cmocka_unit_test_setup(test_a_full_table_takes_no_more_and_has_room_again, begin),
		cmocka_unit_test_setup(test_threads_see_their_own, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
