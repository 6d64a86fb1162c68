#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stack_table.h"

static int init(void **state)
{
	(void)state;
	return vs_stack_table_init();
}

static int set_up(void **state)
{
	(void)state;
	vs_stack_table_clear();
	return 0;
}

/* Finds a stack, or defines it, as the recorder does. */
static uint32_t get(const uint64_t *frames, uint32_t nr_frames, bool is_cut)
{
	struct vs_stack stack = {.frames = frames, .nr_frames = nr_frames, .is_cut = is_cut};
	struct vs_stack_table_key key;
	uint32_t number = vs_stack_table_find(&key, &stack);

	if (number)
		return number;
	stack.id = vs_stack_table_new_number();
	if (stack.id)
		vs_stack_table_add(&key, &stack);
	return stack.id;
}

static void test_equal_stacks_have_one_number(void **state)
{
	const uint64_t a[] = {1, 2, 3}, b[] = {1, 2, 4}, again[] = {1, 2, 3};
	uint32_t number = get(a, 3, false);

	(void)state;
	assert_int_equal(number, 1);
	assert_int_equal(get(again, 3, false), number);
	assert_int_equal(get(b, 3, false), 2);
	assert_int_equal(get(a, 2, false), 3);
	assert_int_equal(get(a, 3, true), 4);
	assert_int_equal(get(a, 3, false), number);
}

static void test_after_an_unload_old_stacks_are_not_found(void **state)
{
	const uint64_t frames[] = {1, 2, 3};
	uint32_t number = get(frames, 3, false);

	(void)state;
	vs_stack_table_expire();
	assert_int_equal(get(frames, 3, false), number + 1);
	assert_int_equal(get(frames, 3, false), number + 1);
}

static void test_beyond_the_last_number_stacks_are_not_known_and_counted(void **state)
{
	uint64_t frame;

	(void)state;
	for (frame = 1; frame <= VS_STACK_TABLE_MAX; frame++)
		assert_int_equal(get(&frame, 1, false), frame);
	assert_int_equal(vs_stack_table_get_overflow(), 0);
	assert_int_equal(get(&frame, 1, false), VS_NO_ID);
	assert_int_equal(get(&frame, 1, false), VS_NO_ID);
	assert_int_equal(vs_stack_table_get_overflow(), 2);
	frame = 17;
	assert_int_equal(get(&frame, 1, false), 17);
}

static void test_deep_stacks_fill_the_table_by_their_size(void **state)
{
	static uint64_t frames[VS_STACK_MAX];
	uint32_t nr = 0;

	(void)state;
	do {
		frames[0] = ++nr;
	} while (get(frames, VS_STACK_MAX, false));
	assert_in_range(nr, VS_STACK_TABLE_BYTES / sizeof(frames) - 100,
			VS_STACK_TABLE_BYTES / sizeof(frames));
	assert_int_equal(vs_stack_table_get_overflow(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_equal_stacks_have_one_number, set_up),
		cmocka_unit_test_setup(test_after_an_unload_old_stacks_are_not_found, set_up),
		cmocka_unit_test_setup(test_beyond_the_last_number_stacks_are_not_known_and_counted,
				       set_up),
		cmocka_unit_test_setup(test_deep_stacks_fill_the_table_by_their_size, set_up),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
