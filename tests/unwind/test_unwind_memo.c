#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_stack.h"
#include "unwind_asm.h"
#include "unwind_memo.h"

static struct fake_stack stack;
static struct vs_unwind_memo *memo;

static int begin(void **state)
{
	(void)state;
	fake_stack_init(&stack);
	vs_unwind_rules_init(true);
	vs_unwind_rules_forget();
	memo = aligned_alloc(64, sizeof(*memo));
	assert_non_null(memo);
	memset(memo, 0, sizeof(*memo));
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(memo);
	fake_stack_fini(&stack);
	return 0;
}

/* The state in which a walk is that begins with the first return address on the stack. */
static struct vs_unwind_state get_start(void)
{
	return (struct vs_unwind_state){
		.address = stack.words[1],
		.sp = (uintptr_t)&stack.words[2],
		.bp = stack.words[0],
	};
}

static struct vs_unwind_memo_run *get(const struct vs_unwind_state *from)
{
	return vs_unwind_memo_get(memo, vs_unwind_memo_get_start(memo, from), from, &stack.window);
}

/* Frames of three words each, from number on; one more return address that leads nowhere. */
static void push_frames(unsigned number, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		fake_stack_push(&stack, 0x1111);
		fake_stack_push(&stack, 0x2222);
		fake_stack_push(&stack, fake_stack_return_by_slots(&stack, number + i, 2));
	}
	fake_stack_push(&stack, 0x1111);
	fake_stack_push(&stack, 0x2222);
	fake_stack_push(&stack, fake_stack_return_to_nowhere(&stack));
}

static void begin_frames(unsigned number, unsigned nr)
{
	fake_stack_begin(&stack, 7, fake_stack_return_by_slots(&stack, number, 2));
	push_frames(number + 1, nr);
}

static void assert_frames(const struct vs_unwind_memo_run *run, unsigned first, unsigned nr)
{
	assert_non_null(run);
	assert_int_equal(run->nr_frames, nr);
	for (unsigned i = 0; i < nr; i++)
		assert_int_equal(run->words[i], stack.words[first + 3 * i]);
}

static void test_a_run_is_the_frames_up_to_where_no_plain_step_leads(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 5);
	at = get_start();
	run = get(&at);
	assert_frames(run, 4, 6);
	assert_int_equal(run->end_kind, VS_UNWIND_BARE);
	vs_unwind_memo_leave(run, &at);
	assert_int_equal(at.address, fake_stack_return_to_nowhere(&stack));
	assert_int_equal(at.sp, (uintptr_t)&stack.words[2 + 3 * 6]);
	assert_int_equal(at.bp, 7);
	/* Nothing can be done about that. */
	assert_null(get(&at));
}

static void test_the_same_stack_is_the_same_run(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 5);
	at = get_start();
	run = get(&at);
	for (int i = 0; i < 10; i++) {
		/* What is in the frames beside return addresses may be anything. */
		stack.words[2] += 0x10;
		stack.words[6] += 0x10;
		at.bp += 8;
		assert_ptr_equal(get(&at), run);
		/* Also without a hint. */
		*vs_unwind_memo_get_start(memo, &at) = 999;
	}
}

static void test_any_other_return_address_is_another_run(void **state)
{
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 6);
	at = get_start();
	assert_frames(get(&at), 4, 7);
	for (unsigned i = 0; i < 7; i++) {
		uint64_t before = stack.words[4 + 3 * i];

		stack.words[4 + 3 * i] = fake_stack_return_by_slots(&stack, 100 + i, 2);
		assert_frames(get(&at), 4, 7);
		/* Of another size: the frames behind it are elsewhere. */
		stack.words[4 + 3 * i] = fake_stack_return_by_slots(&stack, 150, 1);
		assert_int_equal(get(&at)->words[i], stack.words[4 + 3 * i]);
		stack.words[4 + 3 * i] = before;
		assert_frames(get(&at), 4, 7);
	}
}

static void test_several_ways_on_from_the_same_place(void **state)
{
	struct vs_unwind_memo_run *runs[VS_UNWIND_MEMO_NR_WAYS];
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 4);
	at = get_start();
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_WAYS; i++) {
			struct vs_unwind_memo_run *run;

			stack.words[7] = fake_stack_return_by_slots(&stack, 100 + i, 2);
			run = get(&at);
			assert_frames(run, 4, 5);
			/* All of them are remembered. */
			if (round > 0)
				assert_ptr_equal(run, runs[i]);
			runs[i] = run;
		}
	}
	/* Beyond that they push one another out, and are found all the same. */
	for (unsigned i = 0; i < 100; i++) {
		stack.words[7] = fake_stack_return_by_slots(&stack, 10 + i % 13, 2);
		assert_frames(get(&at), 4, 5);
	}
}

static void test_the_end_has_the_bp_that_a_walk_would_have(void **state)
{
	struct vs_unwind_state at;

	(void)state;
	fake_stack_begin(&stack, 7, fake_stack_return_with_bp(&stack, 1));
	fake_stack_push(&stack, 1000);
	fake_stack_push(&stack, fake_stack_return_with_bp(&stack, 2));
	fake_stack_push(&stack, 2000);
	fake_stack_push(&stack, fake_stack_return_to_nowhere(&stack));
	for (uint64_t bp = 2000; bp < 2010; bp++) {
		struct vs_unwind_memo_run *run;

		/* It is not compared, because it led nobody; but it is handed on. */
		stack.words[4] = bp;
		at = get_start();
		run = get(&at);
		assert_int_equal(run->nr_frames, 2);
		vs_unwind_memo_leave(run, &at);
		assert_int_equal(at.bp, bp);
	}
}

/* An address at which the CFA is bp + 16, and the caller's bp at bp. */
static uint64_t get_address_by_bp(void)
{
	return (uint64_t)(uintptr_t)unwind_asm_switch + 7 + 1;
}

static void push_bp_frame(unsigned nr_words, uint64_t bp, uint64_t address)
{
	for (unsigned i = 0; i < nr_words; i++)
		fake_stack_push(&stack, 0x3333);
	fake_stack_push(&stack, bp);
	fake_stack_push(&stack, address);
}

static void test_a_bp_that_leads_the_walk_is_compared(void **state)
{
	struct vs_unwind_state at;
	uint64_t nowhere = fake_stack_return_to_nowhere(&stack);

	(void)state;
	/* The frame's bp is at words[5]; two frames could be meant. */
	fake_stack_begin(&stack, (uintptr_t)&stack.words[5], get_address_by_bp());
	push_bp_frame(3, 1, nowhere);
	push_bp_frame(3, 2, fake_stack_return_by_slots(&stack, 9, 2));
	push_frames(10, 1);
	for (int i = 0; i < 3; i++) {
		at = get_start();
		assert_int_equal(get(&at)->nr_frames, 1);
		assert_int_equal(get(&at)->words[0], nowhere);
		at.bp = (uintptr_t)&stack.words[10];
		assert_int_equal(get(&at)->words[0], fake_stack_return_by_slots(&stack, 9, 2));
		assert_int_equal(get(&at)->nr_frames, 3);
	}
}

static void test_a_bp_from_the_stack_that_leads_the_walk_is_compared(void **state)
{
	uint64_t nowhere = fake_stack_return_to_nowhere(&stack);
	struct vs_unwind_state at;

	(void)state;
	/* The first frame saves bp, the second one goes by it. */
	fake_stack_begin(&stack, 0, fake_stack_return_with_bp(&stack, 1));
	fake_stack_push(&stack, (uintptr_t)&stack.words[7]);
	fake_stack_push(&stack, get_address_by_bp());
	push_bp_frame(3, 1, nowhere);
	push_bp_frame(3, 2, fake_stack_return_by_slots(&stack, 9, 2));
	push_frames(10, 1);
	for (int i = 0; i < 3; i++) {
		at = get_start();
		stack.words[2] = (uintptr_t)&stack.words[7];
		assert_int_equal(get(&at)->nr_frames, 2);
		assert_int_equal(get(&at)->words[1], nowhere);
		stack.words[2] = (uintptr_t)&stack.words[12];
		assert_int_equal(get(&at)->words[1], fake_stack_return_by_slots(&stack, 9, 2));
	}
}

static void test_unloaded_code_is_forgotten(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 4);
	at = get_start();
	assert_int_equal(get(&at)->nr_frames, 5);
	/* Other code lies there now: the second frame is smaller. */
	fake_stack_return_by_slots(&stack, 2, 1);
	stack.words[6] = fake_stack_return_to_nowhere(&stack);
	assert_int_equal(get(&at)->nr_frames, 5);
	vs_unwind_rules_forget();
	run = get(&at);
	assert_int_equal(run->nr_frames, 2);
	assert_int_equal(run->words[1], fake_stack_return_to_nowhere(&stack));
}

static void test_nothing_outside_of_the_window_is_loaded(void **state)
{
	struct vs_unwind_window window = stack.window;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 4);
	at = get_start();
	assert_int_equal(get(&at)->nr_frames, 5);
	/* The same stack, but less and less of it can be read. */
	for (unsigned nr = 6; nr-- > 0;) {
		const struct vs_unwind_memo_run *run;

		window.size = (4 + 3 * nr) * sizeof(uint64_t) - 7;
		run = vs_unwind_memo_get(memo, vs_unwind_memo_get_start(memo, &at), &at, &window);
		if (nr == 0)
			assert_null(run);
		else
			assert_int_equal(run->nr_frames, nr);
	}
}

static void test_runs_follow_one_another_to_the_end_of_a_deep_stack(void **state)
{
	unsigned nr_expected = 150;

	(void)state;
	begin_frames(1, nr_expected - 1);
	for (int round = 0; round < 3; round++) {
		struct vs_unwind_state at = get_start();
		uint32_t *likely = vs_unwind_memo_get_start(memo, &at);
		struct vs_unwind_memo_run *run;
		unsigned nr = 0;

		while ((run = vs_unwind_memo_get(memo, likely, &at, &stack.window))) {
			assert_frames(run, 4 + 3 * nr, run->nr_frames);
			nr += run->nr_frames;
			vs_unwind_memo_leave(run, &at);
			likely = &run->next;
		}
		assert_int_equal(nr, nr_expected);
	}
}

static void test_a_trail_is_the_runs_of_the_walk_that_was_recalled(void **state)
{
	struct vs_unwind_state start, at;
	struct vs_unwind_memo_run *run;
	const uint32_t *trail = NULL;
	uint32_t *likely, nr = 0;

	(void)state;
	begin_frames(1, 60);
	start = at = get_start();
	vs_unwind_memo_expect(memo, &start); /* of nothing yet: does no harm */
	likely = vs_unwind_memo_get_start(memo, &at);
	while ((run = vs_unwind_memo_get(memo, likely, &at, &stack.window))) {
		vs_unwind_memo_leave(run, &at);
		likely = &run->next;
	}
	vs_unwind_memo_keep_trail(memo, &start);
	vs_unwind_memo_expect(memo, &start);
	for (unsigned i = 0; i < 1u << VS_UNWIND_MEMO_TRAIL_BITS; i++)
		if (memo->trails[i].runs[0])
			trail = memo->trails[i].runs;
	assert_non_null(trail);
	for (at = start; nr < VS_UNWIND_MEMO_TRAIL_NR_RUNS && trail[nr]; nr++) {
		run = vs_unwind_memo_recall(memo, &at, &stack.window);
		assert_ptr_equal(run, &memo->runs[trail[nr] - 1]);
		vs_unwind_memo_leave(run, &at);
	}
	assert_true(nr > 3);
	assert_null(vs_unwind_memo_recall(memo, &at, &stack.window));
}

/* Many more beginnings than there are runs. */
static void test_what_was_pushed_out_is_found_again(void **state)
{
	(void)state;
	begin_frames(1, 190);
	for (unsigned round = 0; round < 50; round++) {
		struct vs_unwind_state at = get_start();

		/* The same frames, by other addresses. */
		for (unsigned i = 0; i < 180; i++) {
			struct vs_unwind_memo_run *run = get(&at);

			assert_frames(run, 4 + 3 * i, run->nr_frames);
			at.address = stack.words[4 + 3 * i];
			at.sp += 3 * sizeof(uint64_t);
			stack.words[4 + 3 * i] =
				fake_stack_return_by_slots(&stack, (i * 31 + round * 7) % 200, 2);
		}
		stack.words[1] = fake_stack_return_by_slots(&stack, round, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_a_run_is_the_frames_up_to_where_no_plain_step_leads),
		TEST(test_the_same_stack_is_the_same_run),
		TEST(test_any_other_return_address_is_another_run),
		TEST(test_several_ways_on_from_the_same_place),
		TEST(test_the_end_has_the_bp_that_a_walk_would_have),
		TEST(test_a_bp_that_leads_the_walk_is_compared),
		TEST(test_a_bp_from_the_stack_that_leads_the_walk_is_compared),
		TEST(test_unloaded_code_is_forgotten),
		TEST(test_nothing_outside_of_the_window_is_loaded),
		TEST(test_runs_follow_one_another_to_the_end_of_a_deep_stack),
		TEST(test_a_trail_is_the_runs_of_the_walk_that_was_recalled),
		TEST(test_what_was_pushed_out_is_found_again),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
