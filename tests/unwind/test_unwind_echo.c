#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_stack.h"
#include "unwind.h"
#include "unwind_asm.h"

#define MAX_FRAMES 200

/* No more than have room in one set: where a stack goes depends on where memory is. */
#define NR_STACKS 4

static struct fake_stack stack;
static struct vs_unwind_thread *thread;
static uint64_t nr_events;
static const void *volatile no_frame; /* the compiler need not know */

static int begin(void **state)
{
	(void)state;
	fake_stack_init(&stack);
	vs_unwind_rules_init(true);
	vs_unwind_rules_forget();
	thread = aligned_alloc(64, sizeof(*thread));
	assert_non_null(thread);
	memset(thread, 0, sizeof(*thread));
	thread->own.window = stack.window;
	nr_events = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(thread);
	fake_stack_fini(&stack);
	return 0;
}

/* So many frames of two words each, none of which has an instruction of another stack's. */
static void make(unsigned number, unsigned nr_frames)
{
	fake_stack_begin(&stack, 0, fake_stack_return_by_slots(&stack, number, 1));
	for (unsigned i = 1; i < nr_frames; i++) {
		fake_stack_push(&stack, 0x4444);
		fake_stack_push(&stack, fake_stack_return_by_slots(&stack, number, 1));
	}
	fake_stack_push(&stack, 0x4444);
	fake_stack_push(&stack, (uint64_t)(uintptr_t)unwind_asm_by_register);
}

static const struct vs_unwind_echo *hear(void)
{
	return vs_unwind_hear(thread, stack.words);
}

/* An event, as the recorder has it. Returns whether it was heard. */
static bool say(void)
{
	struct vs_unwind_path path;

	nr_events++;
	if (hear())
		return true;
	if (!vs_unwind_recall(thread, stack.words, MAX_FRAMES, &path))
		assert_true(vs_unwind_learn(thread, stack.words, MAX_FRAMES, nr_events));
	assert_true(vs_unwind_recall(thread, stack.words, MAX_FRAMES, &path));
	(void)vs_unwind_confirm(thread, stack.words, MAX_FRAMES, nr_events, &path);
	return false;
}

/* One of the stacks. */
static bool say_one(unsigned number)
{
	make(number, 12);
	return say();
}

/* Then it is known where things go on, but behind the last one. */
static void keep_all(void)
{
	for (unsigned number = 1; number <= NR_STACKS; number++)
		assert_false(say_one(number));
}

static void test_what_comes_in_turns_is_heard(void **state)
{
	(void)state;
	keep_all();
	assert_false(say_one(1));
	for (unsigned i = 1; i < 40; i++)
		assert_true(say_one(i % NR_STACKS + 1));
}

static void test_a_stack_is_heard_with_its_own_path(void **state)
{
	struct vs_unwind_path path;
	const struct vs_unwind_echo *echo;

	(void)state;
	keep_all();
	say_one(1);
	for (unsigned i = 1; i < 40; i++) {
		make(i % NR_STACKS + 1, 12);
		echo = hear();
		assert_non_null(echo);
		assert_true(vs_unwind_recall(thread, stack.words, MAX_FRAMES, &path));
		assert_memory_equal(&echo->path, &path, sizeof(path));
	}
}

static void test_a_stack_is_not_heard_behind_another_one_than_before(void **state)
{
	(void)state;
	keep_all();
	say_one(1);
	assert_false(say_one(3));
	assert_true(say_one(4)); /* but it is known where things go on */
}

static void test_nothing_is_heard_before_anything_was_said(void **state)
{
	(void)state;
	make(1, 12);
	assert_null(hear());
	assert_null(vs_unwind_hear(thread, no_frame));
}

static void test_what_is_not_to_be_foreseen_is_not_asked(void **state)
{
	unsigned nr_heard = 0;

	(void)state;
	/* Behind 1 comes 2 or 3, behind these always 1. */
	for (unsigned i = 0; i < 100; i++) {
		say_one(1);
		say_one(2 + i % 2);
	}
	say_one(1);
	make(2, 12);
	assert_int_equal(thread->echoes.echoes[0].key, 0);
	assert_int_equal(vs_unwind_echo_at(&thread->echoes, thread->echoes.last)->next, 0);
	/* From now on it is: that is noticed. */
	for (unsigned i = 0; i < 200; i++) {
		nr_heard += say_one(2);
		say_one(1);
	}
	assert_in_range(nr_heard, 100, 199);
}

static void test_code_that_is_unloaded_is_not_heard_and_what_comes_then_is(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 2; i++)
			assert_false(say_one(1));
		assert_true(say_one(1));
		vs_unwind_rules_forget();
	}
}

static void test_a_stack_elsewhere_is_another_one(void **state)
{
	uint64_t *words = stack.words;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		say_one(1);
	assert_non_null(hear());
	/* The same words, but one place further up. */
	memmove(words + 1, words, stack.nr_used * sizeof(*words));
	assert_null(vs_unwind_hear(thread, words + 1));
	assert_null(vs_unwind_hear(thread, no_frame));
}

static void test_a_stack_with_more_words_than_there_is_room_for_is_not_kept(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		make(1, VS_UNWIND_ECHO_NR_WORDS); /* the first one is not among them */
		assert_int_equal(say(), i > 1);
	}
	for (unsigned i = 0; i < 5; i++) {
		make(2, VS_UNWIND_ECHO_NR_WORDS + 1);
		assert_false(say());
	}
}

static void say_many(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		say_one(i % 180 + 1);
}

static void test_hardly_any_are_kept_where_there_are_many_different_ones(void **state)
{
	struct vs_unwind_echoes *echoes = &thread->echoes;
	uint32_t nr_begun;

	(void)state;
	say_many(2000);
	assert_in_range(echoes->nr_begun, 180,
			2 * VS_UNWIND_ECHO_NR + 2000 / VS_UNWIND_ECHO_COST + 2);
	nr_begun = echoes->nr_begun;
	say_many(10 * VS_UNWIND_ECHO_COST);
	assert_in_range(echoes->nr_begun - nr_begun, 1, 11);
}

static void test_an_echo_that_a_signal_handler_came_between_is_not_kept(void **state)
{
	struct vs_unwind_state from = {.sp = (uintptr_t)&stack.words[2]};
	struct vs_unwind_echo_maker maker, handlers;
	struct vs_unwind_path path;

	(void)state;
	say_one(1);
	assert_true(vs_unwind_recall(thread, stack.words, MAX_FRAMES, &path));
	vs_unwind_echo_begin(&maker, &thread->echoes, &from, &path);
	assert_true(vs_unwind_echo_end(&maker, &thread->echoes, 7, &path));
	assert_int_not_equal(vs_unwind_echo_find(&thread->echoes, 7, &path), VS_UNWIND_ECHO_NR);
	path.b ^= UINT64_C(1) << 40; /* another stack */
	vs_unwind_echo_begin(&maker, &thread->echoes, &from, &path);
	vs_unwind_echo_begin(&handlers, &thread->echoes, &from, &path);
	assert_false(vs_unwind_echo_end(&maker, &thread->echoes, 7, &path));
	assert_int_equal(vs_unwind_echo_find(&thread->echoes, 7, &path), VS_UNWIND_ECHO_NR);
	assert_true(vs_unwind_echo_end(&handlers, &thread->echoes, 7, &path));
}

/* Its runs were made others meanwhile: it would be kept under a path that is not its own. */
static void test_a_stack_that_has_another_path_by_now_is_not_kept(void **state)
{
	struct vs_unwind_path path;

	(void)state;
	say_one(1);
	assert_true(vs_unwind_recall(thread, stack.words, MAX_FRAMES, &path));
	path.b ^= UINT64_C(1) << 40;
	assert_null(vs_unwind_confirm(thread, stack.words, MAX_FRAMES, nr_events, &path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_what_comes_in_turns_is_heard),
		TEST(test_a_stack_is_heard_with_its_own_path),
		TEST(test_a_stack_is_not_heard_behind_another_one_than_before),
		TEST(test_nothing_is_heard_before_anything_was_said),
		TEST(test_what_is_not_to_be_foreseen_is_not_asked),
		TEST(test_code_that_is_unloaded_is_not_heard_and_what_comes_then_is),
		TEST(test_a_stack_elsewhere_is_another_one),
		TEST(test_a_stack_with_more_words_than_there_is_room_for_is_not_kept),
		TEST(test_hardly_any_are_kept_where_there_are_many_different_ones),
		TEST(test_an_echo_that_a_signal_handler_came_between_is_not_kept),
		TEST(test_a_stack_that_has_another_path_by_now_is_not_kept),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
