#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "private_library.h"
#include "stack.h"

/* What is "our own" code here: the linker says where the section begins and ends. */
#define OWN __attribute__((noinline, section("own_code")))
extern const char __start_own_code[] __attribute__((visibility("hidden")));
extern const char __stop_own_code[] __attribute__((visibility("hidden")));

static uint64_t here;
static bool has_no_frame; /* of the hook's */

/* Stands in for a hook: its frame is where the stack starts. */
static OWN void capture(struct vs_stack *stack)
{
	struct vs_thread_state *self = vs_thread_self();

	assert_true(vs_thread_prepare(self));
	self->base.frame = has_no_frame ? NULL : __builtin_frame_address(0);
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

static void init_stack(uint32_t depth)
{
	vs_stack_init((uintptr_t)__start_own_code, (uintptr_t)__stop_own_code, depth);
}

static int init(void **state)
{
	(void)state;
	vs_thread_init();
	vs_private_library_open(true);
	return 0;
}

/* For each test anew: some of them do away with things. */
static int begin(void **state)
{
	(void)state;
	has_no_frame = false;
	init_stack(64);
	return 0;
}

static void test_the_stack_starts_at_the_caller_of_the_hook(void **state)
{
	struct vs_stack stack;

	(void)state;
	capture(&stack);
	assert_true(stack.nr_frames >= 2);
	assert_int_equal(stack.frames[0], here);
	assert_int_equal(stack.id, VS_NO_ID);
	assert_false(stack.is_cut);
}

/* As cudaMalloc calls cuMemAlloc: the inner hook captures, the outer one was entered first. */
static OWN void capture_inside(struct vs_stack *stack)
{
	vs_stack_capture(vs_thread_self(), stack);
	__asm__ volatile("");
}

static OWN void be_an_outer_hook(struct vs_stack *stack)
{
	struct vs_thread_state *self = vs_thread_self();

	assert_true(vs_thread_prepare(self));
	here = (uint64_t)(uintptr_t)__builtin_return_address(0);
	self->base.frame = __builtin_frame_address(0);
	capture_inside(stack);
	__asm__ volatile("");
}

static void test_hooks_that_lie_on_each_other_are_one(void **state)
{
	struct vs_stack stack;

	(void)state;
	be_an_outer_hook(&stack);
	assert_int_equal(stack.frames[0], here);
	assert_false(stack.is_cut);
}

static void test_without_the_frame_of_a_hook_own_frames_are_taken_off(void **state)
{
	struct vs_stack stack;

	(void)state;
	has_no_frame = true;
	for (unsigned i = 0; i < 3; i++) {
		deeper(i, &stack);
		/* Frames of the unwinder itself are left, because they are not in our section. */
		for (uint32_t k = 0; k < stack.nr_frames; k++)
			if (stack.frames[k] == here)
				return;
		fail_msg("the caller is not on the stack");
	}
}

static void test_a_deep_stack_is_cut_to_its_innermost_frames(void **state)
{
	struct vs_stack stack;

	(void)state;
	init_stack(10);
	deeper(50, &stack);
	assert_int_equal(stack.nr_frames, 10);
	assert_int_equal(stack.frames[0], here);
	assert_true(stack.is_deep);
	init_stack(VS_STACK_MAX);
	deeper(2000, &stack);
	assert_int_equal(stack.nr_frames, VS_STACK_MAX);
	assert_true(stack.is_deep);
}

static void test_a_stack_that_just_fits_is_not_cut(void **state)
{
	struct vs_stack stack;
	uint32_t nr_frames = 0;

	(void)state;
	/* volatile: all calls come from one place */
	for (volatile int more = 1; more >= -1; more--) {
		if (more == 1) {
			deeper(30, &stack);
			nr_frames = stack.nr_frames;
			assert_false(stack.is_cut);
		}
		init_stack((uint32_t)((int)nr_frames + more));
		deeper(30, &stack);
		assert_int_equal(stack.nr_frames, more < 0 ? nr_frames - 1 : nr_frames);
		assert_int_equal(stack.is_deep, more < 0);
	}
}

/* Captures the same stack twice and does something in between. */
static void compare_before_and_after(void (*change)(void))
{
	uint64_t frames[VS_STACK_MAX];
	uint32_t nr_frames = 0;
	struct vs_stack stack;

	/* volatile: both calls come from one place */
	for (volatile int i = 0; i < 2; i++) {
		deeper(20, &stack);
		if (i == 0) {
			nr_frames = stack.nr_frames;
			memcpy(frames, stack.frames, nr_frames * sizeof(frames[0]));
			change();
		}
	}
	assert_true(nr_frames > 20);
	assert_int_equal(stack.nr_frames, nr_frames);
	assert_memory_equal(stack.frames, frames, nr_frames * sizeof(frames[0]));
	assert_false(stack.is_cut);
}

static void test_the_same_stack_is_found_after_unloading(void **state)
{
	(void)state;
	compare_before_and_after(vs_stack_forget_code);
}

static void test_the_same_stack_is_found_in_a_child(void **state)
{
	(void)state;
	compare_before_and_after(vs_stack_begin_in_child);
}

static void test_the_same_stack_is_found_where_no_lock_may_be_taken(void **state)
{
	(void)state;
	compare_before_and_after(vs_stack_do_without);
}

static void *capture_in_thread(void *argument)
{
	struct vs_stack stack;

	deeper(3, &stack);
	assert_int_equal(stack.frames[0], here);
	assert_false(stack.is_cut);
	assert_true(stack.nr_frames >= 5);
	return argument;
}

static void test_threads_have_whole_stacks(void **state)
{
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(pthread_create(&thread, NULL, capture_in_thread, NULL), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(test_the_stack_starts_at_the_caller_of_the_hook),
		TEST(test_hooks_that_lie_on_each_other_are_one),
		TEST(test_without_the_frame_of_a_hook_own_frames_are_taken_off),
		TEST(test_a_deep_stack_is_cut_to_its_innermost_frames),
		TEST(test_a_stack_that_just_fits_is_not_cut),
		TEST(test_the_same_stack_is_found_after_unloading),
		TEST(test_the_same_stack_is_found_in_a_child),
		TEST(test_the_same_stack_is_found_where_no_lock_may_be_taken),
		TEST(test_threads_have_whole_stacks),
#undef TEST
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
