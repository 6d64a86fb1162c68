#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "private_library.h"
#include "stack.h"

static uint64_t here;

/* Stands in for a hook: its frame is where the stack starts. */
static __attribute__((noinline)) void capture(struct vs_stack *stack)
{
	struct vs_thread_state *self = vs_thread_self();

	assert_true(vs_thread_prepare(self));
	self->base.frame = __builtin_frame_address(0);
	here = (uint64_t)(uintptr_t)__builtin_return_address(0);
	vs_stack_capture(self, stack);
	__asm__ volatile(""); /* no tail call */
}

static __attribute__((noinline)) void deeper(unsigned depth, struct vs_stack *stack)
{
	if (depth)
		deeper(depth - 1, stack);
	else
		capture(stack);
	__asm__ volatile("");
}

static int init(void **state)
{
	(void)state;
	vs_thread_init();
	vs_private_library_open(true);
	return 0;
}

static void test_the_stack_starts_at_the_caller_of_the_hook(void **state)
{
	struct vs_stack stack;
	uintptr_t start = (uintptr_t)capture;

	(void)state;
	if (!vs_private_library_unwind())
		skip();
	/* Only the stand-in, and what it calls, is our own. */
	vs_stack_init(start, start + 256, 64);
	capture(&stack);
	assert_true(stack.nr_frames >= 2);
	assert_int_equal(stack.frames[0], here);
	assert_false(stack.is_cut);
}

static void test_a_deep_stack_is_cut_to_its_innermost_frames(void **state)
{
	uintptr_t start = (uintptr_t)capture;
	struct vs_stack stack;

	(void)state;
	if (!vs_private_library_unwind())
		skip();
	vs_stack_init(start, start + 256, 10);
	deeper(50, &stack);
	assert_int_equal(stack.nr_frames, 10);
	assert_int_equal(stack.frames[0], here);
	assert_true(stack.is_cut);
	vs_stack_init(start, start + 256, VS_STACK_MAX);
	deeper(2000, &stack);
	assert_int_equal(stack.nr_frames, VS_STACK_MAX);
	assert_true(stack.is_cut);
}

static void test_after_unloading_the_slow_way_finds_the_same(void **state)
{
	uint64_t frames[VS_STACK_MAX];
	uintptr_t start = (uintptr_t)capture;
	struct vs_stack stack;
	uint32_t nr_frames = 0;

	(void)state;
	if (!vs_private_library_unwind())
		skip();
	vs_stack_init(start, start + 256, 64);
	/* volatile: both calls come from one place */
	for (volatile int i = 0; i < 2; i++) {
		deeper(20, &stack);
		if (i == 0) {
			nr_frames = stack.nr_frames;
			memcpy(frames, stack.frames, nr_frames * sizeof(frames[0]));
			vs_stack_forget_code();
		}
	}
	assert_true(nr_frames > 20);
	assert_int_equal(stack.nr_frames, nr_frames);
	assert_memory_equal(stack.frames, frames, nr_frames * sizeof(frames[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_stack_starts_at_the_caller_of_the_hook),
		cmocka_unit_test(test_a_deep_stack_is_cut_to_its_innermost_frames),
		cmocka_unit_test(test_after_unloading_the_slow_way_finds_the_same),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
