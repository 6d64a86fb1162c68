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

static struct vs_unwind_memo_run *find(const struct vs_unwind_state *from)
{
	return vs_unwind_memo_find(memo, vs_unwind_memo_get_key(from->address), from);
}

static struct vs_unwind_memo_run *learn(const struct vs_unwind_state *from)
{
	struct vs_unwind_memo_run *run = vs_unwind_memo_learn(memo, from, &stack.window);

	assert_ptr_equal(find(from), run);
	return run;
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

static unsigned count_frames(const struct vs_unwind_memo_run *run)
{
	return (unsigned)__builtin_popcount(run->returns);
}

/* The run is nr frames of three words each, and nothing but their return addresses lead it. */
static void assert_frames(const struct vs_unwind_memo_run *run, unsigned nr)
{
	assert_non_null(run);
	assert_int_equal(run->nr_words, nr);
	assert_int_equal(run->returns, (1u << nr) - 1);
	assert_int_equal(run->slots[0], 3 * nr - 1); /* the last one is the first */
	for (unsigned i = 1; i < nr; i++)
		assert_int_equal(run->slots[i], 3 * i - 1);
}

static void test_a_run_is_the_frames_up_to_where_no_plain_step_leads(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 5);
	at = get_start();
	assert_null(find(&at));
	run = learn(&at);
	assert_frames(run, 6);
	assert_int_equal(run->flags, VS_UNWIND_MEMO_IS_LAST);
	vs_unwind_memo_leave(run, &at);
	assert_int_equal(at.address, fake_stack_return_to_nowhere(&stack));
	assert_int_equal(at.sp, (uintptr_t)&stack.words[2 + 3 * 6]);
	assert_int_equal(at.bp, 7);
	/* A walk that begins there ends there. */
	run = learn(&at);
	assert_int_equal(run->nr_words, 0);
	assert_int_equal(run->flags, VS_UNWIND_MEMO_IS_LAST);
}

static void test_what_takes_another_unwinder_is_no_run(void **state)
{
	struct vs_unwind_state at;

	(void)state;
	fake_stack_begin(&stack, 0, (uint64_t)(uintptr_t)unwind_asm_by_expression + 6);
	push_frames(1, 3);
	at = get_start();
	assert_null(vs_unwind_memo_learn(memo, &at, &stack.window));
	assert_null(find(&at));
}

static void test_a_stack_that_ends_with_address_zero(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 3);
	stack.words[4 + 3 * 3] = 0;
	at = get_start();
	run = learn(&at);
	assert_frames(run, 4);
	assert_int_equal(run->flags, VS_UNWIND_MEMO_IS_LAST);
	/* Another one goes on there: behind the run it is the address that tells. */
	stack.words[4 + 3 * 3] = fake_stack_return_by_slots(&stack, 9, 2);
	push_frames(10, 1);
	assert_ptr_equal(learn(&at), run);
	assert_frames(run, 4);
	assert_false(run->flags & VS_UNWIND_MEMO_IS_LAST);
	vs_unwind_memo_leave(run, &at);
	assert_frames(learn(&at), 2);
	stack.words[4 + 3 * 3] = 0;
	at = get_start();
	assert_ptr_equal(learn(&at), run);
	vs_unwind_memo_leave(run, &at);
	assert_int_equal(learn(&at)->nr_words, 0);
}

static void test_the_same_stack_is_the_same_run(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;
	uint64_t shape;

	(void)state;
	begin_frames(1, 5);
	at = get_start();
	run = learn(&at);
	shape = run->shape;
	for (int i = 0; i < 10; i++) {
		/* What is in the frames beside return addresses may be anything. */
		stack.words[2] += 0x10;
		stack.words[6] += 0x10;
		at.bp += 8;
		assert_ptr_equal(learn(&at), run);
		assert_int_equal(run->shape, shape);
	}
}

static void test_other_addresses_in_the_same_places_are_the_same_run(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;
	uint64_t shape;

	(void)state;
	begin_frames(1, 6);
	at = get_start();
	run = learn(&at);
	shape = run->shape;
	for (unsigned i = 0; i < 6; i++) {
		stack.words[4 + 3 * i] = fake_stack_return_by_slots(&stack, 100 + i, 2);
		assert_ptr_equal(learn(&at), run);
		assert_int_equal(run->shape, shape);
	}
}

/* From the outer frames to the inner ones: the run becomes shorter each time. */
static void test_a_run_is_cut_where_two_stacks_part(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;
	uint64_t shape = 0;

	(void)state;
	begin_frames(1, 6);
	for (unsigned i = 6; i-- > 0;) {
		uint64_t before = stack.words[4 + 3 * i];

		at = get_start();
		run = learn(&at);
		/* Of another size: the frames behind it are elsewhere. */
		stack.words[4 + 3 * i] = fake_stack_return_by_slots(&stack, 150, 1);
		assert_ptr_equal(learn(&at), run);
		assert_frames(run, i + 1);
		assert_false(run->flags & VS_UNWIND_MEMO_IS_LAST);
		assert_int_not_equal(run->shape, shape);
		shape = run->shape;
		vs_unwind_memo_leave(run, &at);
		assert_int_equal(at.address, stack.words[4 + 3 * i]);
		assert_int_equal(learn(&at)->slots[1 % learn(&at)->nr_words], 1);
		stack.words[4 + 3 * i] = before;
		/* Both are right now. */
		at = get_start();
		assert_ptr_equal(learn(&at), run);
		assert_int_equal(run->shape, shape);
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

		/* It is not looked at, because it led nobody; but it is handed on. */
		stack.words[4] = bp;
		at = get_start();
		run = learn(&at);
		assert_int_equal(run->nr_words, 2);
		vs_unwind_memo_leave(run, &at);
		assert_int_equal(at.bp, bp);
	}
}

/* Of two functions in the same place one saves bp: behind them the bp differs. */
static void test_a_run_is_cut_where_the_bp_is_saved_by_one_of_two(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	fake_stack_begin(&stack, 7, fake_stack_return_by_slots(&stack, 1, 1));
	fake_stack_push(&stack, 0);
	fake_stack_push(&stack, fake_stack_return_by_slots(&stack, 2, 1));
	fake_stack_push(&stack, 1000);
	fake_stack_push(&stack, fake_stack_return_to_nowhere(&stack));
	at = get_start();
	run = learn(&at);
	assert_int_equal(run->nr_words, 2);
	assert_int_equal(run->to_bp_slot, VS_UNWIND_MEMO_NO_SLOT);
	stack.words[3] = fake_stack_return_with_bp(&stack, 3);
	assert_ptr_equal(learn(&at), run);
	assert_int_equal(run->nr_words, 1);
	vs_unwind_memo_leave(run, &at);
	assert_int_equal(at.bp, 7);
	vs_unwind_memo_leave(learn(&at), &at);
	assert_int_equal(at.bp, 1000);
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

static void test_a_bp_that_leads_the_walk_tells_two_runs_apart(void **state)
{
	struct vs_unwind_memo_run *runs[2];
	struct vs_unwind_state at;
	uint64_t nowhere = fake_stack_return_to_nowhere(&stack);

	(void)state;
	/* The frame's bp is at words[5]; two frames could be meant. */
	fake_stack_begin(&stack, (uintptr_t)&stack.words[5], get_address_by_bp());
	push_bp_frame(3, 1, nowhere);
	push_bp_frame(3, 2, fake_stack_return_by_slots(&stack, 9, 2));
	push_frames(10, 1);
	at = get_start();
	runs[0] = learn(&at);
	assert_int_equal(count_frames(runs[0]), 1);
	assert_int_equal(runs[0]->slots[0], 4);
	at.bp = (uintptr_t)&stack.words[10];
	assert_null(find(&at));
	runs[1] = learn(&at);
	assert_int_equal(count_frames(runs[1]), 3);
	assert_int_not_equal(runs[0]->shape, runs[1]->shape);
	at = get_start();
	assert_ptr_equal(learn(&at), runs[0]);
	assert_int_equal(runs[0]->flags, VS_UNWIND_MEMO_IS_LAST | VS_UNWIND_MEMO_USES_BP);
}

static void test_a_bp_from_the_stack_that_leads_the_walk_is_a_word_of_it(void **state)
{
	uint64_t nowhere = fake_stack_return_to_nowhere(&stack);
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	/* The first frame saves bp, the second one goes by it. */
	fake_stack_begin(&stack, 0, fake_stack_return_with_bp(&stack, 1));
	fake_stack_push(&stack, (uintptr_t)&stack.words[7]);
	fake_stack_push(&stack, get_address_by_bp());
	push_bp_frame(3, 1, nowhere);
	push_bp_frame(3, 2, fake_stack_return_by_slots(&stack, 9, 2));
	push_frames(10, 1);
	at = get_start();
	run = learn(&at);
	assert_int_equal(run->nr_words, 3); /* a return address, the bp, a return address */
	assert_int_equal(run->returns, 5);
	assert_int_equal(run->slots[2], 0);
	assert_int_equal(run->slots[0], 6);
	/* Elsewhere: that frame begins a run of its own, which goes by the bp. */
	stack.words[2] = (uintptr_t)&stack.words[12];
	assert_ptr_equal(learn(&at), run);
	assert_int_equal(run->nr_words, 1);
	vs_unwind_memo_leave(run, &at);
	run = learn(&at);
	assert_true(run->flags & VS_UNWIND_MEMO_USES_BP);
	assert_int_equal(count_frames(run), 3);
}

/* The bp with which a run begins is no word of the stack: only its first step may go by it. */
static void test_a_later_step_by_the_first_bp_begins_a_run(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	fake_stack_begin(&stack, (uintptr_t)&stack.words[7],
			 fake_stack_return_by_slots(&stack, 1, 1));
	fake_stack_push(&stack, 0);
	fake_stack_push(&stack, get_address_by_bp());
	push_bp_frame(3, 1, fake_stack_return_to_nowhere(&stack));
	at = get_start();
	run = learn(&at);
	assert_int_equal(run->nr_words, 1);
	assert_int_equal(run->flags, 0);
	vs_unwind_memo_leave(run, &at);
	assert_int_equal(learn(&at)->flags, VS_UNWIND_MEMO_IS_LAST | VS_UNWIND_MEMO_USES_BP);
}

/* Also those that are found by their number: one that is in no set would not be adapted. */
static void test_a_full_memo_forgets_all_runs_at_once(void **state)
{
	unsigned nr_begun = 0;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 600);
	for (unsigned i = 0; i < 3 * VS_UNWIND_MEMO_NR_RUNS && nr_begun < 2; i++) {
		uint32_t nr_before = memo->nr_runs;

		at.address = fake_stack_return_by_slots(&stack, 1 + i % 150, 2);
		at.sp = (uintptr_t)&stack.words[2 + 3 * (i / 150)];
		at.bp = 7;
		vs_unwind_memo_learn(memo, &at, &stack.window);
		nr_begun += memo->nr_runs < nr_before;
	}
	assert_int_equal(nr_begun, 1);
	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_RUNS; i++) {
		const struct vs_unwind_memo_run *run = &memo->runs[i];

		at.address = run->key ^ vs_unwind_memo_get_key(0);
		at.sp = run->sp;
		at.bp = run->bp;
		if (run->key)
			assert_ptr_equal(find(&at), run);
	}
}

static void test_unloaded_code_is_forgotten(void **state)
{
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 4);
	at = get_start();
	assert_frames(learn(&at), 5);
	/* Other code lies there now: the second frame is smaller. */
	fake_stack_return_by_slots(&stack, 2, 1);
	stack.words[6] = fake_stack_return_to_nowhere(&stack);
	assert_frames(find(&at), 5);
	vs_unwind_rules_forget();
	assert_null(find(&at));
	assert_int_equal(learn(&at)->nr_words, 2);
}

static void test_nothing_outside_of_the_window_is_loaded(void **state)
{
	struct vs_unwind_window window = stack.window;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 4);
	at = get_start();
	assert_frames(learn(&at), 5);
	/* The same stack, but less and less of it can be read. */
	for (unsigned nr = 6; nr-- > 0;) {
		const struct vs_unwind_memo_run *run;

		window.size = (4 + 3 * nr) * sizeof(uint64_t) - 7;
		run = vs_unwind_memo_learn(memo, &at, &window);
		if (nr == 0)
			assert_null(run);
		else
			assert_frames(run, nr);
	}
}

static void test_runs_follow_one_another_to_the_end_of_a_deep_stack(void **state)
{
	unsigned nr_expected = 150;

	(void)state;
	begin_frames(1, nr_expected - 1);
	for (int round = 0; round < 3; round++) {
		struct vs_unwind_state at = get_start();
		struct vs_unwind_memo_run *run = NULL;
		unsigned nr = 0;

		do {
			run = learn(&at);
			assert_non_null(run);
			nr += count_frames(run);
			vs_unwind_memo_leave(run, &at);
			assert_int_equal(at.sp, (uintptr_t)&stack.words[2 + 3 * nr]);
		} while (!(run->flags & VS_UNWIND_MEMO_IS_LAST));
		assert_int_equal(nr, nr_expected);
	}
}

/* Learns the whole stack; returns how many runs it is. */
static unsigned learn_all(void)
{
	struct vs_unwind_state at = get_start();
	struct vs_unwind_memo_run *run = NULL, *before;
	unsigned nr = 0;

	do {
		before = run;
		run = learn(&at);
		assert_non_null(run);
		if (before)
			vs_unwind_memo_connect(memo, before, run);
		nr++;
		if (run->nr_words)
			vs_unwind_memo_leave(run, &at);
	} while (!(run->flags & VS_UNWIND_MEMO_IS_LAST));
	return nr;
}

static void test_a_run_behind_which_others_come_is_a_fork(void **state)
{
	struct vs_unwind_memo_run *run;
	struct vs_unwind_state at;

	(void)state;
	begin_frames(1, 2);
	at = get_start();
	for (unsigned i = 0; i < 10; i++) {
		stack.words[4] = fake_stack_return_by_slots(&stack, 50 + i, i % 2 + 1);
		stack.words[4 + 2] = stack.words[4 + 3] = fake_stack_return_to_nowhere(&stack);
		learn_all();
		if (i == 0)
			assert_false(find(&at)->flags & VS_UNWIND_MEMO_FORKS);
	}
	run = find(&at);
	assert_true(run->flags & VS_UNWIND_MEMO_FORKS);
	assert_int_equal(run->nr_words, 1);
}

static void test_a_trail_is_the_runs_of_the_walk_that_was_recalled(void **state)
{
	struct vs_unwind_state start, at;
	const struct vs_unwind_memo_run *run;
	const uint16_t *trail = NULL;
	unsigned nr_runs;

	(void)state;
	begin_frames(1, 60);
	start = at = get_start();
	vs_unwind_memo_expect(memo, &start); /* of nothing yet: does no harm */
	nr_runs = learn_all();
	*vs_unwind_memo_get_start(memo, &start) = (uint16_t)(find(&start) - memo->runs);
	vs_unwind_memo_keep_trail(memo, &start, 77);
	vs_unwind_memo_expect(memo, &start);
	for (unsigned i = 0; i < 1u << VS_UNWIND_MEMO_TRAIL_BITS; i++)
		if (memo->trails[i].path)
			trail = memo->trails[i].runs;
	assert_non_null(trail);
	assert_in_range(nr_runs, 4, VS_UNWIND_MEMO_TRAIL_NR_RUNS - 1);
	for (unsigned i = 0; i < VS_UNWIND_MEMO_TRAIL_NR_RUNS; i++) {
		run = &memo->runs[trail[i]];
		if (i < nr_runs) {
			assert_ptr_equal(run, find(&at));
			vs_unwind_memo_leave(run, &at);
		} else {
			assert_int_equal(trail[i], trail[nr_runs - 1]);
		}
	}
	/* Another stack from the same place takes its place; the same one does not. */
	*vs_unwind_memo_get_start(memo, &start) = trail[nr_runs - 1];
	vs_unwind_memo_keep_trail(memo, &start, 77);
	assert_true(trail[0] != trail[1]);
	vs_unwind_memo_keep_trail(memo, &start, 78);
	assert_true(trail[0] == trail[1]);
}

/* Many more beginnings than there are runs. */
static void test_what_was_pushed_out_is_learned_again(void **state)
{
	(void)state;
	begin_frames(1, 190);
	for (unsigned round = 0; round < 50; round++) {
		struct vs_unwind_state at = get_start();

		/* The same frames, by other addresses. */
		for (unsigned i = 0; i < 180; i++) {
			struct vs_unwind_memo_run *run = learn(&at);

			assert_frames(run, run->nr_words);
			at.address = stack.words[4 + 3 * i];
			at.sp += 3 * sizeof(uint64_t);
			stack.words[4 + 3 * i] =
				fake_stack_return_by_slots(&stack, (i * 31 + round * 7) % 200, 2);
		}
		stack.words[1] = fake_stack_return_by_slots(&stack, round, 2);
	}
}

static void test_learning_makes_debts_that_events_pay(void **state)
{
	uint64_t nr_events = 0;
	unsigned nr_learned = 0;

	(void)state;
	/* One event, one new stack: sooner or later most of them are not learned. */
	for (unsigned i = 0; i < 100000; i++)
		nr_learned += vs_unwind_memo_spend(memo, ++nr_events);
	assert_in_range(nr_learned, VS_UNWIND_MEMO_MOST_DEBT / VS_UNWIND_MEMO_COST, 40000);
	/* A new one now and then is always learned. */
	nr_events += VS_UNWIND_MEMO_MOST_DEBT;
	while (!vs_unwind_memo_spend(memo, nr_events))
		continue;
	for (unsigned i = 0; i < 10000; i++)
		assert_true(vs_unwind_memo_spend(memo, nr_events += VS_UNWIND_MEMO_COST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_a_run_is_the_frames_up_to_where_no_plain_step_leads),
		TEST(test_what_takes_another_unwinder_is_no_run),
		TEST(test_a_stack_that_ends_with_address_zero),
		TEST(test_the_same_stack_is_the_same_run),
		TEST(test_other_addresses_in_the_same_places_are_the_same_run),
		TEST(test_a_run_is_cut_where_two_stacks_part),
		TEST(test_the_end_has_the_bp_that_a_walk_would_have),
		TEST(test_a_run_is_cut_where_the_bp_is_saved_by_one_of_two),
		TEST(test_a_bp_that_leads_the_walk_tells_two_runs_apart),
		TEST(test_a_bp_from_the_stack_that_leads_the_walk_is_a_word_of_it),
		TEST(test_a_later_step_by_the_first_bp_begins_a_run),
		TEST(test_a_full_memo_forgets_all_runs_at_once),
		TEST(test_unloaded_code_is_forgotten),
		TEST(test_nothing_outside_of_the_window_is_loaded),
		TEST(test_runs_follow_one_another_to_the_end_of_a_deep_stack),
		TEST(test_a_run_behind_which_others_come_is_a_fork),
		TEST(test_a_trail_is_the_runs_of_the_walk_that_was_recalled),
		TEST(test_what_was_pushed_out_is_learned_again),
		TEST(test_learning_makes_debts_that_events_pay),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
