/*
 * Stacks that are not the thread's own, or not all of them: coroutines, signal handlers, and what a
 * program may do to its stack. Each capture is compared with a walk of libunwind's; where that
 * would crash, ours must not.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "stack.h"
#include "stack_referee.h"
#include "unwind_asm.h"
#include "unwind_maze.h"

#define STACK_SIZE (256u << 10)

static uint64_t nr_captures_before;

static int begin(void **state)
{
	(void)state;
	stack_referee.nr_different = 0;
	nr_captures_before = stack_referee.nr_captures;
	return 0;
}

static void assert_right(uint64_t min_captures)
{
	assert_int_equal(stack_referee.nr_different, 0);
	assert_true(stack_referee.nr_captures - nr_captures_before >= min_captures);
}

static void *map_stack(void)
{
	void *stack =
		mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(stack != MAP_FAILED);
	/* As those who know their trade do. */
	assert_int_equal(mprotect(stack, 4096, PROT_NONE), 0);
	return stack;
}

/* ---- Coroutines ------------------------------------------------------------------------------ */

struct coroutine {
	ucontext_t context;
	ucontext_t back;
	unsigned seed;
	bool is_done;
};

static _Thread_local struct coroutine *running;

/* Also in the middle of the maze, so that captures of one stack alternate with those of others. */
static void visit_and_yield(void)
{
	struct coroutine *self = running;

	stack_referee_check();
	swapcontext(&self->context, &self->back);
	running = self;
	stack_referee_check();
}

static void run_coroutine(void)
{
	struct coroutine *self = running;

	unwind_maze_run(self->seed, 3 + self->seed % 20, visit_and_yield);
	unwind_maze_run(self->seed + 1, 3 + self->seed % 20, visit_and_yield);
	self->is_done = true;
}

static void create(struct coroutine *coroutine, void *stack, unsigned seed)
{
	memset(coroutine, 0, sizeof(*coroutine));
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = stack;
	coroutine->context.uc_stack.ss_size = STACK_SIZE;
	coroutine->context.uc_link = &coroutine->back;
	coroutine->seed = seed;
	makecontext(&coroutine->context, run_coroutine, 0);
}

static void resume(struct coroutine *coroutine)
{
	running = coroutine;
	swapcontext(&coroutine->back, &coroutine->context);
}

/* Several at a time, in turn, until all are done. */
static void run_all(struct coroutine *coroutines, unsigned nr)
{
	bool is_any_left = true;

	while (is_any_left) {
		is_any_left = false;
		for (unsigned i = 0; i < nr; i++) {
			if (coroutines[i].is_done)
				continue;
			resume(&coroutines[i]);
			stack_referee_check();
			is_any_left = true;
		}
	}
}

#define NR_COROUTINES 4

static void *run_coroutines(void *argument)
{
	struct coroutine coroutines[NR_COROUTINES];
	char *inner = NULL;

	for (unsigned round = 0; round < 100; round++) {
		void *mapped = map_stack(), *allocated = malloc(STACK_SIZE), *last = map_stack();
		char on_stack[STACK_SIZE];

		inner = on_stack;
		create(&coroutines[0], mapped, round * 10);
		create(&coroutines[1], allocated, round * 10 + 1);
		create(&coroutines[2], inner, round * 10 + 2);
		create(&coroutines[3], last, round * 10 + 3);
		run_all(coroutines, NR_COROUTINES);
		munmap(mapped, STACK_SIZE);
		munmap(last, STACK_SIZE);
		free(allocated);
	}
	return argument;
}

static void test_coroutines_of_the_first_thread(void **state)
{
	(void)state;
	run_coroutines(NULL);
	assert_right(100 * NR_COROUTINES * 3 * STACK_REFEREE_REPEATS);
}

static void test_coroutines_of_other_threads(void **state)
{
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_coroutines, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_right(3 * 100 * NR_COROUTINES * 3 * STACK_REFEREE_REPEATS);
}

/* The thread's very first capture is not on its own stack. */
static void *begin_elsewhere(void *argument)
{
	struct coroutine coroutine;
	void *stack = map_stack();

	create(&coroutine, stack, 5);
	resume(&coroutine);
	stack_referee_check();
	while (!coroutine.is_done)
		resume(&coroutine);
	munmap(stack, STACK_SIZE);
	stack_referee_check();
	return argument;
}

static void test_a_thread_that_begins_in_a_coroutine(void **state)
{
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(pthread_create(&thread, NULL, begin_elsewhere, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_right(50 * 4 * STACK_REFEREE_REPEATS);
}

/* One call goes on on another stack, and says so: as split stacks do. */
static void walk_maze(void)
{
	for (unsigned seed = 1; seed < 50; seed++)
		unwind_maze_run(seed, 10, stack_referee_check);
}

static void switch_again(void)
{
	void *stack = map_stack();

	unwind_asm_switch(walk_maze, (char *)stack + STACK_SIZE);
	munmap(stack, STACK_SIZE);
}

static void test_a_call_that_changes_the_stack(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		void *low = map_stack(), *high = map_stack();

		unwind_asm_switch(walk_maze, (char *)low + STACK_SIZE);
		unwind_asm_switch(switch_again, (char *)high + STACK_SIZE);
		munmap(low, STACK_SIZE);
		munmap(high, STACK_SIZE);
	}
	assert_right(20 * 2 * 49 * STACK_REFEREE_REPEATS);
}

/* ---- Signals --------------------------------------------------------------------------------- */

static unsigned nr_signals;

static void handle(int number)
{
	nr_signals++;
	stack_referee_check();
	unwind_maze_run(nr_signals, 8, stack_referee_check);
	if (number == SIGUSR1)
		raise(SIGUSR2); /* a handler that is interrupted, too */
}

static void interrupt(void)
{
	raise(SIGUSR1);
	__asm__ volatile("");
}

static void install(int number, int flags)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void run_with_signals(int flags_one, int flags_two)
{
	install(SIGUSR1, flags_one);
	install(SIGUSR2, flags_two);
	for (unsigned seed = 1; seed < 200; seed++)
		unwind_maze_run(seed, 2 + seed % 10, interrupt);
}

static void use_alternate_stack(void *stack)
{
	stack_t description = {.ss_sp = stack, .ss_size = STACK_SIZE};

	if (!stack)
		description.ss_flags = SS_DISABLE;
	assert_int_equal(sigaltstack(&description, NULL), 0);
}

static void *run_signals(void *argument)
{
	void *stack = map_stack();

	use_alternate_stack(stack);
	run_with_signals(0, 0);
	run_with_signals(SA_ONSTACK, 0);
	run_with_signals(SA_ONSTACK, SA_ONSTACK);
	run_with_signals(0, SA_ONSTACK);
	use_alternate_stack(NULL);
	munmap(stack, STACK_SIZE);
	return argument;
}

static void test_signal_handlers_on_any_stack(void **state)
{
	pthread_t thread;

	(void)state;
	run_signals(NULL);
	assert_int_equal(pthread_create(&thread, NULL, run_signals, NULL), 0);
	pthread_join(thread, NULL);
	assert_right((uint64_t)2 * 4 * 199 * 2 * 2 * STACK_REFEREE_REPEATS);
}

/* ---- Every instruction ----------------------------------------------------------------------- */

static unsigned nr_traced;

static void handle_trap(int number)
{
	(void)number;
	nr_traced++;
	stack_referee_check();
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void do_nothing(void)
{
}

/* Prologues and epilogues, stubs to other libraries, code of libc's, the loader that binds it. */
static void do_a_bit_of_everything(void)
{
	int numbers[] = {3, 1, 2};
	char text[32];

	qsort(numbers, 3, sizeof(numbers[0]), compare_numbers);
	snprintf(text, sizeof(text), "%d %s", numbers[0], getenv("PATH") ? "x" : "y");
	free(malloc(strlen(text) + (size_t)atoi("10")));
	unwind_asm_by_register(do_nothing);
	for (unsigned seed = 1; seed < 4; seed++)
		unwind_maze_run(seed, 12, do_nothing);
}

static void test_interrupted_at_every_instruction(void **state)
{
	struct sigaction action = {.sa_handler = handle_trap, .sa_flags = SA_ONSTACK};
	void *stack = map_stack();

	(void)state;
	use_alternate_stack(stack);
	sigemptyset(&action.sa_mask);
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	unwind_asm_trace(do_a_bit_of_everything);
	signal(SIGTRAP, SIG_DFL);
	use_alternate_stack(NULL);
	munmap(stack, STACK_SIZE);
	if (nr_traced == 0) {
		print_message("an emulated processor may not know the flag\n");
		skip();
	}
	assert_true(nr_traced > 1000);
	assert_right((uint64_t)nr_traced * STACK_REFEREE_REPEATS);
}

/* ---- Lies ------------------------------------------------------------------------------------ */

static unsigned nr_survived;

/* Without libunwind, which believes everything. */
static void capture(void)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_stack stack;

	assert_true(vs_thread_prepare(self));
	self->base.frame = __builtin_frame_address(0);
	vs_stack_do_without();
	vs_stack_capture(self, &stack);
	/* The caller, which lies, is known all the same. */
	assert_true(stack.nr_frames >= 1);
	nr_survived++;
	__asm__ volatile("");
}

static void test_wrong_descriptions_do_no_harm(void **state)
{
	static const uint64_t strays[] = {
		0,
		1,
		7,
		8,
		4096,
		0x7fffffffffff,
		0x800000000000,
		0xdeadbeefdeadbeef,
		0xffffffff81000000,
		UINT64_MAX - 15,
		UINT64_MAX - 8,
		UINT64_MAX,
	};
	void *hole = map_stack();

	(void)state;
	munmap(hole, STACK_SIZE);
	for (int i = 0; i < 3; i++) {
		unwind_asm_lie_far(capture);
		unwind_asm_lie_near(capture);
		unwind_asm_lie_bp(capture, (uintptr_t)hole);
		/* Down the stack, and to itself. */
		unwind_asm_lie_bp(capture, (uintptr_t)__builtin_frame_address(0) - 5000);
		unwind_asm_lie_bp(capture, (uintptr_t)&hole);
		for (size_t k = 0; k < sizeof(strays) / sizeof(strays[0]); k++)
			unwind_asm_lie_bp(capture, strays[k]);
	}
	assert_int_equal(nr_survived, 3 * (5 + sizeof(strays) / sizeof(strays[0])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(test_coroutines_of_the_first_thread),
		TEST(test_coroutines_of_other_threads),
		TEST(test_a_thread_that_begins_in_a_coroutine),
		TEST(test_a_call_that_changes_the_stack),
		TEST(test_signal_handlers_on_any_stack),
		TEST(test_interrupted_at_every_instruction),
		/* Last: it does without libunwind from then on. */
		TEST(test_wrong_descriptions_do_no_harm),
#undef TEST
	};
	int result;

	if (!stack_referee_init()) {
		print_message("there is no libunwind to compare with\n");
		return 77;
	}
	result = cmocka_run_group_tests(tests, NULL, NULL);
	print_message("%llu captures, %u at single instructions\n",
		      (unsigned long long)stack_referee.nr_captures, nr_traced);
	return result;
}
