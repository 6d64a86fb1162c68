#include <errno.h>
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

#define MAX_FRAMES 100

static struct fake_stack stack;
static struct vs_unwind_thread *thread;
static uint64_t frames[MAX_FRAMES + 1];
static uint32_t nr_frames;

static int begin(void **state)
{
	(void)state;
	fake_stack_init(&stack);
	vs_unwind_rules_init(true);
	vs_unwind_rules_forget();
	thread = aligned_alloc(64, sizeof(*thread));
	assert_non_null(thread);
	memset(thread, 0, sizeof(*thread));
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(thread);
	fake_stack_fini(&stack);
	return 0;
}

/* Never more than it may: the next word is watched. */
static enum vs_unwind_end walk(uint32_t max_frames)
{
	enum vs_unwind_end result;

	memset(frames, 0xee, sizeof(frames));
	errno = 77;
	result = vs_unwind_walk(thread, stack.words, frames, max_frames, &nr_frames);
	assert_int_equal(errno, 77);
	assert_true(nr_frames <= max_frames);
	assert_int_equal(frames[max_frames], 0xeeeeeeeeeeeeeeee);
	return result;
}

/* nr frames; the last return address is the one given. */
static void make(unsigned nr, uint64_t last)
{
	fake_stack_begin(&stack, 0, nr > 1 ? fake_stack_return_by_slots(&stack, 0, 1) : last);
	for (unsigned i = 1; i < nr; i++) {
		fake_stack_push(&stack, 0x4444);
		fake_stack_push(&stack,
				i + 1 < nr ? fake_stack_return_by_slots(&stack, i % 190, 1) : last);
	}
}

static void assert_first(unsigned nr)
{
	assert_int_equal(nr_frames, nr);
	for (unsigned i = 0; i < nr; i++)
		assert_int_equal(frames[i], stack.words[1 + 2 * i]);
}

/* Everything twice: found out, and remembered. */
static void test_a_walk_ends_where_nobody_knows_on(void **state)
{
	(void)state;
	for (unsigned nr = 1; nr < MAX_FRAMES; nr++) {
		make(nr, fake_stack_return_to_nowhere(&stack));
		for (int i = 0; i < 2; i++) {
			assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_CUT);
			assert_first(nr);
		}
	}
}

static void test_address_zero_is_the_end_of_a_stack(void **state)
{
	(void)state;
	for (unsigned nr = 2; nr < MAX_FRAMES; nr++) {
		make(nr, 0);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_WHOLE);
			assert_first(nr - 1);
		}
	}
}

static void test_code_that_says_so_is_the_end_of_a_stack(void **state)
{
	/* Described code begins here: nothing calls it. */
	uint64_t last = (uint64_t)(uintptr_t)unwind_asm_by_register;

	(void)state;
	for (unsigned nr = 1; nr < MAX_FRAMES; nr++) {
		make(nr, last);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_WHOLE);
			assert_first(nr);
		}
	}
}

static void test_code_that_takes_another_unwinder(void **state)
{
	uint64_t last = (uint64_t)(uintptr_t)unwind_asm_by_expression + 6;

	(void)state;
	for (unsigned nr = 1; nr < MAX_FRAMES; nr += 7) {
		make(nr, last);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_FOREIGN);
			assert_first(nr);
		}
	}
}

static void test_the_innermost_frames_are_kept(void **state)
{
	(void)state;
	make(300, 0);
	for (uint32_t max = 1; max <= MAX_FRAMES; max++) {
		for (int i = 0; i < 2; i++) {
			assert_int_equal(walk(max), VS_UNWIND_IS_DEEP);
			assert_first(max);
		}
	}
}

static void test_the_end_of_what_can_be_read_cuts_a_stack(void **state)
{
	(void)state;
	/* It fills all of its memory, and is followed by a page that cannot be read. */
	make(FAKE_STACK_NR_WORDS / 2, fake_stack_return_by_slots(&stack, 1, 1));
	memmove(stack.words, stack.words + FAKE_STACK_NR_WORDS - 60, 60 * sizeof(uint64_t));
	memmove(stack.words + FAKE_STACK_NR_WORDS - 60, stack.words, 60 * sizeof(uint64_t));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vs_unwind_walk(thread, stack.words + FAKE_STACK_NR_WORDS - 60,
						frames, MAX_FRAMES, &nr_frames),
				 VS_UNWIND_IS_CUT);
		assert_int_equal(nr_frames, 30);
	}
}

/* Both words that such a frame goes by are looked at, not only the first. */
static void test_a_frame_that_reaches_out_of_the_stack(void **state)
{
	uint64_t *last = stack.words + FAKE_STACK_NR_WORDS - 1, *first = last - 60;

	(void)state;
	first[1] = (uint64_t)(uintptr_t)unwind_asm_by_load_return;
	for (int i = -3; i <= 3; i++) {
		first[0] = (uintptr_t)(last + 1 + i);
		/* The CFA is in the word before bp. */
		for (int k = 0; k > -4; k--)
			last[k] = (uintptr_t)(last - 10);
		last[-11] = fake_stack_return_to_nowhere(&stack);
		assert_int_equal(vs_unwind_walk(thread, first, frames, MAX_FRAMES, &nr_frames),
				 VS_UNWIND_IS_CUT);
		assert_int_equal(nr_frames, i < 0 ? 2 : 1);
	}
}

static void test_a_frame_that_is_none(void **state)
{
	static const uintptr_t strays[] = {0, 8, 0x800000000000, UINTPTR_MAX - 7, UINTPTR_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++) {
		nr_frames = 99;
		assert_int_equal(vs_unwind_walk(thread, (const void *)strays[i], frames, MAX_FRAMES,
						&nr_frames),
				 VS_UNWIND_IS_CUT);
		assert_int_equal(nr_frames, 0);
	}
	/* Its return address would be the first word that cannot be read. */
	assert_int_equal(vs_unwind_walk(thread, stack.words + FAKE_STACK_NR_WORDS - 1, frames,
					MAX_FRAMES, &nr_frames),
			 VS_UNWIND_IS_CUT);
	assert_int_equal(nr_frames, 0);
}

/* What the kernel leaves for a handler: struct ucontext. */
static void test_what_a_signal_interrupted(void **state)
{
	/* mov $15,%rax; syscall */
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint64_t *saved = stack.words + 2, *elsewhere = stack.words + 2000;
	uint64_t interrupted = (uint64_t)(uintptr_t)unwind_asm_switch + 1; /* behind a push */

	(void)state;
	memcpy(stack.code + 3000 * 4, sigreturn, sizeof(sigreturn));
	fake_stack_begin(&stack, 0, (uint64_t)(uintptr_t)stack.code + 3000 * 4);
	saved[VS_UNWIND_ARCH_SIGNAL_PC / 8] = interrupted;
	saved[VS_UNWIND_ARCH_SIGNAL_SP / 8] = (uintptr_t)elsewhere;
	saved[VS_UNWIND_ARCH_SIGNAL_BP / 8] = 0;
	elsewhere[0] = (uintptr_t)&elsewhere[10]; /* the saved rbp */
	elsewhere[1] = (uint64_t)(uintptr_t)unwind_asm_switch + 8;
	elsewhere[10] = 0;
	elsewhere[11] = fake_stack_return_to_nowhere(&stack);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_CUT);
		assert_int_equal(nr_frames, 4);
		assert_int_equal(frames[1], interrupted); /* as it is, not behind it */
		assert_int_equal(frames[2], elsewhere[1]);
		assert_int_equal(frames[3], elsewhere[11]);
	}
	/* Its stack is gone: where it was is known all the same. */
	saved[VS_UNWIND_ARCH_SIGNAL_SP / 8] = 4096;
	assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_CUT);
	assert_int_equal(nr_frames, 2);
	assert_int_equal(frames[1], interrupted);
}

static void test_a_stack_that_goes_in_circles(void **state)
{
	/* By bp, which points below. */
	(void)state;
	fake_stack_begin(&stack, (uintptr_t)stack.words - 16,
			 (uint64_t)(uintptr_t)unwind_asm_switch + 8);
	fake_stack_push(&stack, 0);
	assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_CUT);
	assert_int_equal(nr_frames, 1);
	stack.words[0] = (uintptr_t)stack.words;
	assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_CUT);
	assert_int_equal(nr_frames, 1);
}

/* ---- What was learned before ----------------------------------------------------------------- */

/* On the thread's own stack, the only one that is recalled. Ends where the code says so. */
static void make_whole(unsigned nr)
{
	thread->own.window = stack.window;
	make(nr, (uint64_t)(uintptr_t)unwind_asm_by_register);
}

/* The stack as it is kept: the innermost max_frames, and whether there are more. */
static bool recall_first(uint32_t max_frames, struct vs_unwind_path *path)
{
	bool result;

	errno = 77;
	result = vs_unwind_recall(thread, stack.words, max_frames, path);
	assert_int_equal(errno, 77);
	return result;
}

static bool recall(struct vs_unwind_path *path)
{
	return recall_first(MAX_FRAMES, path);
}

static uint64_t nr_events;

/* The path that means the stack from now on. */
static bool learn(uint32_t max_frames, struct vs_unwind_path *path)
{
	bool result;

	errno = 77;
	nr_events += VS_UNWIND_MEMO_COST;
	result = vs_unwind_learn(thread, stack.words, max_frames, nr_events);
	assert_int_equal(errno, 77);
	return result && recall_first(max_frames, path);
}

static bool is_same(const struct vs_unwind_path *a, const struct vs_unwind_path *b)
{
	return a->a == b->a && a->b == b->b;
}

static void test_a_stack_is_recalled_after_it_was_learned_and_not_before(void **state)
{
	struct vs_unwind_path first, second;

	(void)state;
	for (unsigned nr = 2; nr < MAX_FRAMES; nr++) {
		make_whole(nr);
		assert_false(recall(&first));
		assert_true(learn(nr, &first));
		assert_true(recall(&second));
		assert_true(is_same(&first, &second));
		assert_true(learn(MAX_FRAMES, &second));
		assert_true(is_same(&first, &second));
		vs_unwind_rules_forget(); /* so that none is a part of the next one */
	}
}

static void test_a_stack_that_is_too_deep_is_recalled_after_it_was_learned(void **state)
{
	struct vs_unwind_path first, second;

	(void)state;
	for (unsigned nr = 2; nr < MAX_FRAMES; nr++) {
		make_whole(MAX_FRAMES + 1);
		assert_false(recall_first(nr, &first));
		assert_true(learn(nr, &first));
		assert_true(recall_first(nr, &second));
		assert_true(is_same(&first, &second));
		vs_unwind_rules_forget();
	}
}

/* Also the one that is only known to be there: without it the stack would not be deep. */
static void test_another_frame_of_a_deep_stack_is_another_path(void **state)
{
	const unsigned nr_kept = 40;
	struct vs_unwind_path before, after;

	(void)state;
	make_whole(90);
	assert_true(learn(nr_kept, &before));
	for (unsigned i = 1; i <= nr_kept; i++) {
		uint64_t kept = stack.words[1 + 2 * i];

		stack.words[1 + 2 * i] = fake_stack_return_by_slots(&stack, 195, 1);
		assert_false(recall_first(nr_kept, &after) && is_same(&before, &after));
		assert_true(learn(nr_kept, &after));
		assert_false(is_same(&before, &after));
		stack.words[1 + 2 * i] = kept;
	}
}

static void test_what_lies_far_outside_of_a_deep_stack_does_not_count(void **state)
{
	const unsigned nr_kept = 40;
	struct vs_unwind_path before, after;

	(void)state;
	make_whole(90);
	assert_true(learn(nr_kept, &before));
	for (unsigned i = nr_kept + VS_UNWIND_MEMO_NR_WORDS; i < 90; i++) {
		stack.words[1 + 2 * i] = fake_stack_return_to_nowhere(&stack);
		assert_true(recall_first(nr_kept, &after));
		assert_true(is_same(&before, &after));
	}
	/* Nobody has to know how to go on there, either. */
	make_whole(90);
	stack.words[1 + 2 * 60] = (uint64_t)(uintptr_t)unwind_asm_by_expression + 6;
	assert_true(learn(nr_kept, &after));
	assert_false(learn(MAX_FRAMES, &after));
}

static void test_another_frame_is_another_path(void **state)
{
	struct vs_unwind_path before, after;

	(void)state;
	make_whole(40);
	assert_true(learn(MAX_FRAMES, &before));
	for (unsigned i = 1; i < 39; i++) {
		uint64_t kept = stack.words[1 + 2 * i];

		stack.words[1 + 2 * i] = fake_stack_return_by_slots(&stack, 195, 1);
		/* Whatever it is before it was learned. */
		assert_false(recall(&after) && is_same(&before, &after));
		assert_true(learn(MAX_FRAMES, &after));
		assert_false(is_same(&before, &after));
		stack.words[1 + 2 * i] = kept;
	}
}

static void test_what_takes_another_unwinder_is_not_learned(void **state)
{
	struct vs_unwind_path path;

	(void)state;
	thread->own.window = stack.window;
	make(10, (uint64_t)(uintptr_t)unwind_asm_by_expression + 6);
	assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_FOREIGN);
	assert_false(learn(MAX_FRAMES, &path));
	assert_false(recall(&path));
}

/* Code that is made at run time calls, and calls again: its stacks are known as others are. */
static void test_a_stack_that_code_cuts_is_learned(void **state)
{
	struct vs_unwind_path cut, again, whole;

	(void)state;
	for (unsigned nr = 2; nr < MAX_FRAMES; nr++) {
		make_whole(nr);
		stack.words[1 + 2 * (nr - 1)] = fake_stack_return_to_nowhere(&stack);
		assert_false(recall(&cut));
		assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_CUT);
		assert_true(learn(nr, &cut));
		assert_true(learn(MAX_FRAMES, &again));
		assert_true(is_same(&cut, &again));
		assert_int_equal(walk(nr), VS_UNWIND_IS_DEEP);
		make_whole(nr);
		assert_true(learn(MAX_FRAMES, &whole));
		assert_false(is_same(&cut, &whole));
		vs_unwind_rules_forget();
	}
}

/* A stack of so many frames, the second of which has nr_slots words. */
static void make_with_size(unsigned nr, unsigned nr_slots)
{
	thread->own.window = stack.window;
	fake_stack_begin(&stack, 0, fake_stack_return_by_slots(&stack, 1, 1));
	fake_stack_push(&stack, 0x4444);
	fake_stack_push(&stack, fake_stack_return_by_slots(&stack, 100 + nr_slots, nr_slots));
	for (unsigned i = 0; i < nr_slots; i++)
		fake_stack_push(&stack, 0x4444);
	for (unsigned i = 2; i < nr; i++) {
		fake_stack_push(&stack, fake_stack_return_by_slots(&stack, i, 1));
		fake_stack_push(&stack, 0x4444);
	}
	fake_stack_push(&stack, (uint64_t)(uintptr_t)unwind_asm_by_register);
}

/* Where there was no room left, all begins anew. Nobody may go on by a run of before: it was never
 * made right for the stacks that are learned then. */
static void test_no_run_of_before_the_memo_began_anew_is_followed(void **state)
{
	struct vs_unwind_path before, after;

	(void)state;
	make_whole(90); /* takes the places that are overwritten first */
	assert_true(learn(MAX_FRAMES, &before));
	make_with_size(20, 1);
	assert_true(learn(MAX_FRAMES, &before));
	thread->memo.nr_runs = VS_UNWIND_MEMO_NR_RUNS;
	make_whole(8);
	(void)learn(MAX_FRAMES, &before); /* it may push out a part of its own */
	assert_in_range(thread->memo.nr_runs, 1, 8);
	make_with_size(20, 3);
	assert_true(learn(MAX_FRAMES, &before));
	/* Each word that leads the walk counts, and not those that led the other one. */
	for (unsigned i = 2; i < 12; i++) {
		size_t place = 3 + 4 + 2 * (i - 2);
		uint64_t kept = stack.words[place];

		assert_int_equal(kept, fake_stack_return_by_slots(&stack, i, 1));
		stack.words[place] = fake_stack_return_by_slots(&stack, 195, 1);
		assert_false(recall(&after) && is_same(&before, &after));
		stack.words[place] = kept;
	}
}

static void test_too_many_different_stacks_are_not_learned(void **state)
{
	struct vs_unwind_path path;

	(void)state;
	make_whole(20);
	assert_true(learn(MAX_FRAMES, &path));
	thread->memo.debt = VS_UNWIND_MEMO_MOST_DEBT;
	assert_true(vs_unwind_learn(thread, stack.words, MAX_FRAMES, nr_events));
	assert_false(recall(&path));
	for (unsigned i = 0; i < VS_UNWIND_MEMO_NR_PLAIN; i++) {
		assert_false(recall(&path));
		assert_false(vs_unwind_learn(thread, stack.words, MAX_FRAMES, nr_events));
	}
	assert_true(recall(&path));
}

static void test_another_stack_is_not_recalled(void **state)
{
	struct vs_unwind_path path;

	(void)state;
	make_whole(10);
	thread->own.window.size = 0;
	assert_int_equal(walk(MAX_FRAMES), VS_UNWIND_IS_WHOLE);
	assert_false(learn(MAX_FRAMES, &path));
	assert_false(recall(&path));
}

/* The stack has grown since, or another one lies there: all that is remembered leads out of it. */
static void test_nothing_is_loaded_behind_the_end_of_the_stack(void **state)
{
	struct vs_unwind_path path;

	(void)state;
	make_whole(60);
	assert_true(learn(MAX_FRAMES, &path));
	for (size_t nr_words = 119; nr_words > 0; nr_words--) {
		thread->own.window.size = nr_words * sizeof(uint64_t) - 7;
		assert_false(recall(&path));
		assert_false(learn(MAX_FRAMES, &path));
	}
}

/* ---- Random stacks --------------------------------------------------------------------------- */

static uint64_t random_state;

static unsigned choose(unsigned nr)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state % nr);
}

/* An address at which the CFA is bp + 16, and the caller's bp at bp. */
static uint64_t get_address_by_bp(void)
{
	return (uint64_t)(uintptr_t)unwind_asm_switch + 7 + 1;
}

static void push_fillers(unsigned nr)
{
	while (nr-- > 0)
		fake_stack_push(&stack, choose(3) ? choose(1000) : get_address_by_bp());
}

/* A frame that saves bp, and the one that goes by it, with words between them in no number. */
static void push_bp_frames(unsigned number)
{
	size_t place;

	fake_stack_push(&stack, fake_stack_return_with_bp(&stack, number % 20));
	place = stack.nr_used;
	fake_stack_push(&stack, 0);
	fake_stack_push(&stack, get_address_by_bp());
	push_fillers(choose(4));
	stack.words[place] = (uintptr_t)&stack.words[stack.nr_used];
	fake_stack_push(&stack, choose(1000)); /* the bp of before */
}

/* Few functions of four sizes: many stacks have parts in common, in the same place or elsewhere. */
static void make_random(void)
{
	unsigned nr = 1 + choose(30);

	thread->own.window = stack.window;
	stack.nr_used = 0;
	fake_stack_push(&stack, 5);
	for (unsigned i = 0; i < nr; i++) {
		unsigned number = choose(12);

		if (number == 11) {
			push_bp_frames(choose(3));
			continue;
		}
		fake_stack_push(&stack, fake_stack_return_by_slots(&stack, number, number % 4));
		push_fillers(number % 4);
	}
	switch (choose(3)) {
	case 0:
		fake_stack_push(&stack, fake_stack_return_to_nowhere(&stack));
		break;
	case 1:
		fake_stack_push(&stack, (uint64_t)(uintptr_t)unwind_asm_by_register);
		break;
	default:
		fake_stack_push(&stack, fake_stack_return_by_slots(&stack, 1, 1));
		fake_stack_push(&stack, 0);
		fake_stack_push(&stack, 0);
	}
	push_fillers(8);
}

/* What paths mean: the frames that the plain walk found when each was learned. */
#define NR_PATHS 65536u
struct meaning {
	struct vs_unwind_path path;
	uint32_t nr_frames; /* 0: none */
	enum vs_unwind_end end;
	uint64_t frames[MAX_FRAMES];
};
static struct meaning *meanings;
static unsigned nr_unlearned;

static struct meaning *find_meaning(const struct vs_unwind_path *path)
{
	uint64_t i = path->a;

	while (meanings[i % NR_PATHS].nr_frames && !is_same(&meanings[i % NR_PATHS].path, path))
		i++;
	return &meanings[i % NR_PATHS];
}

static void assert_meaning(const struct meaning *meaning, enum vs_unwind_end end)
{
	assert_int_equal(meaning->nr_frames, nr_frames);
	assert_int_equal(meaning->end, end);
	assert_memory_equal(meaning->frames, frames, nr_frames * sizeof(frames[0]));
}

/* Of so many kept frames: as the recorder does, one more is looked for. Returns whether the stack
 * was known by its path. */
static bool check_random(uint32_t max_frames)
{
	enum vs_unwind_end end = walk(max_frames + 1);
	struct vs_unwind_path path;
	struct meaning *meaning;
	bool is_known = false;

	if (recall_first(max_frames, &path)) {
		meaning = find_meaning(&path);
		is_known = meaning->nr_frames != 0;
		if (is_known)
			assert_meaning(meaning, end);
	}
	/* A stack may push out a part of its own. */
	if (!learn(max_frames, &path)) {
		nr_unlearned++;
		return false;
	}
	meaning = find_meaning(&path);
	if (meaning->nr_frames)
		assert_meaning(meaning, end);
	meaning->path = path;
	meaning->nr_frames = nr_frames;
	meaning->end = end;
	memcpy(meaning->frames, frames, sizeof(meaning->frames));
	return is_known;
}

static uint64_t nr_confirmed;
static unsigned nr_heard;
static unsigned nr_heard_changed;
static unsigned nr_unheard;

/* It is kept, and foreseen to come behind itself. */
static const struct vs_unwind_echo *confirm(uint32_t max_frames)
{
	const struct vs_unwind_echo *echo = NULL;
	struct vs_unwind_path path;

	for (int i = 0; i < 2; i++) {
		assert_true(recall_first(max_frames, &path));
		nr_confirmed += VS_UNWIND_ECHO_COST;
		echo = vs_unwind_confirm(thread, stack.words, max_frames, nr_confirmed, &path);
		assert_true(!echo || is_same(&echo->path, &path));
	}
	return echo;
}

/* A word of the known stack is another one: it is only heard if that changes nothing. */
static void check_change(const struct meaning *meaning, uint32_t max_frames)
{
	size_t place = choose((unsigned)stack.nr_used);
	unsigned number = choose(12);
	uint64_t kept = stack.words[place];
	enum vs_unwind_end end;

	stack.words[place] = choose(2) ? fake_stack_return_by_slots(&stack, number, number % 4)
				       : get_address_by_bp();
	end = walk(max_frames + 1);
	if (vs_unwind_hear(thread, stack.words)) {
		nr_heard_changed++;
		assert_meaning(meaning, end);
	} else {
		nr_unheard++;
	}
	stack.words[place] = kept;
}

static void check_echo(uint32_t max_frames)
{
	const struct vs_unwind_echo *echo = confirm(max_frames);
	const struct meaning *meaning;

	/* Those that are made often come before many others. */
	if (!echo || echo->doubts >= VS_UNWIND_ECHO_MOST_DOUBT)
		return;
	nr_heard++;
	assert_ptr_equal(vs_unwind_hear(thread, stack.words), echo);
	meaning = find_meaning(&echo->path);
	assert_int_not_equal(meaning->nr_frames, 0);
	for (unsigned i = 0; i < 8; i++)
		check_change(meaning, max_frames);
}

static void check_echoes(uint32_t max_frames)
{
	meanings = calloc(NR_PATHS, sizeof(*meanings));
	assert_non_null(meanings);
	nr_heard = nr_heard_changed = nr_unheard = 0;
	for (unsigned i = 0; i < 10000; i++) {
		random_state = 88172645463325252u + 6151 * i;
		make_random();
		check_random(max_frames);
		if (check_random(max_frames))
			check_echo(max_frames);
	}
	assert_in_range(nr_heard, 8000, 10000);
	assert_in_range(nr_heard_changed, 10000, 8 * nr_heard);
	assert_in_range(nr_unheard, 10000, 8 * nr_heard);
	free(meanings);
}

static void test_a_stack_is_heard_only_if_no_word_that_leads_along_it_has_changed(void **state)
{
	(void)state;
	check_echoes(MAX_FRAMES - 1);
}

static void test_a_deep_stack_is_heard_only_if_no_word_that_leads_along_it_has_changed(void **state)
{
	(void)state;
	check_echoes(12);
}

static void check_many_random(uint32_t max_frames)
{
	meanings = calloc(NR_PATHS, sizeof(*meanings));
	assert_non_null(meanings);
	nr_unlearned = 0;
	for (unsigned i = 0; i < 30000; i++) {
		random_state = 88172645463325252u + 7919 * i;
		make_random();
		check_random(max_frames);
	}
	assert_in_range(nr_unlearned, 0, 1000);
	free(meanings);
}

static void test_a_path_means_the_frames_that_it_was_learned_for(void **state)
{
	(void)state;
	check_many_random(MAX_FRAMES - 1);
}

/* Most of them are too deep, some by a single frame. */
static void test_a_path_means_the_frames_of_a_deep_stack_that_it_was_learned_for(void **state)
{
	(void)state;
	for (uint32_t max_frames = 1; max_frames < 30; max_frames += 7) {
		check_many_random(max_frames);
		/* Paths are those of one depth. */
		memset(thread, 0, sizeof(*thread));
	}
}

/* A hundred stacks, over and over. Returns how many of them were known the last time. */
static unsigned learn_over_and_over(uint64_t seed, uint32_t max_frames)
{
	unsigned nr_known = 0;

	meanings = calloc(NR_PATHS, sizeof(*meanings));
	assert_non_null(meanings);
	for (unsigned round = 0; round < 20; round++) {
		nr_known = 0;
		for (unsigned i = 0; i < 100; i++) {
			random_state = seed + 104729 * i;
			make_random();
			nr_known += check_random(max_frames);
		}
	}
	free(meanings);
	return nr_known;
}

/*
 * What two stacks have in common is cut where they part, until nothing is left to be cut. Of stacks
 * that all have room, that is: it depends on where memory lies which runs are in one set, and in
 * one of 150 processes there are more than it has ways for. They push each other out for good, and
 * other stacks have to show it.
 */
static void check_stays_known(uint32_t max_frames)
{
	uint64_t seed = 88172645463325252u;
	unsigned nr_known;

	for (unsigned i = 0; i < 5; i++, seed += 15485863) {
		memset(thread, 0, sizeof(*thread));
		nr_known = learn_over_and_over(seed, max_frames);
		if (thread->memo.next_way > 0)
			continue; /* a run was pushed out */
		assert_int_equal(nr_known, 100);
		return;
	}
	fail_msg("runs of a hundred stacks never had room");
}

static void test_stacks_that_were_learned_stay_known(void **state)
{
	(void)state;
	check_stays_known(MAX_FRAMES - 1);
}

static void test_deep_stacks_that_were_learned_stay_known(void **state)
{
	(void)state;
	check_stays_known(12);
}

/* ---- The guide ------------------------------------------------------------------------------- */

/* All rules that walks remember become those of a function with a larger frame. */
static void spoil_guide(void)
{
	uint64_t rule = vs_unwind_rules_get(fake_stack_return_by_slots(&stack, 195, 3));

	for (unsigned i = 0; i < 1u << VS_UNWIND_GUIDE_BITS; i++)
		if (thread->guide.entries[i].key)
			thread->guide.entries[i].rule = rule;
}

static void test_rules_of_code_that_is_gone_guide_nobody(void **state)
{
	(void)state;
	make_whole(20);
	(void)walk(MAX_FRAMES);
	assert_first(20);
	spoil_guide();
	(void)walk(MAX_FRAMES);
	assert_int_not_equal(nr_frames, 20); /* they are heeded, until: */
	vs_unwind_rules_forget();
	(void)walk(MAX_FRAMES);
	assert_first(20);
}

/* Two callers of one function take turns: the guess is wrong every time. */
static void test_wrong_guess_of_the_caller_does_no_harm(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		make_whole(20);
		stack.words[1 + 2 * 7] = fake_stack_return_by_slots(&stack, 10 + i % 2, 1);
		(void)walk(MAX_FRAMES);
		assert_first(20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_a_walk_ends_where_nobody_knows_on),
		TEST(test_address_zero_is_the_end_of_a_stack),
		TEST(test_code_that_says_so_is_the_end_of_a_stack),
		TEST(test_code_that_takes_another_unwinder),
		TEST(test_the_innermost_frames_are_kept),
		TEST(test_the_end_of_what_can_be_read_cuts_a_stack),
		TEST(test_a_frame_that_reaches_out_of_the_stack),
		TEST(test_a_frame_that_is_none),
		TEST(test_what_a_signal_interrupted),
		TEST(test_a_stack_that_goes_in_circles),
		TEST(test_a_stack_is_recalled_after_it_was_learned_and_not_before),
		TEST(test_a_stack_that_is_too_deep_is_recalled_after_it_was_learned),
		TEST(test_another_frame_is_another_path),
		TEST(test_another_frame_of_a_deep_stack_is_another_path),
		TEST(test_what_lies_far_outside_of_a_deep_stack_does_not_count),
		TEST(test_what_takes_another_unwinder_is_not_learned),
		TEST(test_a_stack_that_code_cuts_is_learned),
		TEST(test_no_run_of_before_the_memo_began_anew_is_followed),
		TEST(test_too_many_different_stacks_are_not_learned),
		TEST(test_another_stack_is_not_recalled),
		TEST(test_nothing_is_loaded_behind_the_end_of_the_stack),
		TEST(test_a_path_means_the_frames_that_it_was_learned_for),
		TEST(test_a_path_means_the_frames_of_a_deep_stack_that_it_was_learned_for),
		TEST(test_stacks_that_were_learned_stay_known),
		TEST(test_deep_stacks_that_were_learned_stay_known),
		TEST(test_a_stack_is_heard_only_if_no_word_that_leads_along_it_has_changed),
		TEST(test_a_deep_stack_is_heard_only_if_no_word_that_leads_along_it_has_changed),
		TEST(test_rules_of_code_that_is_gone_guide_nobody),
		TEST(test_wrong_guess_of_the_caller_does_no_harm),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
