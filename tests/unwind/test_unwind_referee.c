/* Stacks that programs have, each captured and compared with a walk of libunwind's. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "stack.h"
#include "stack_referee.h"
#include "unwind_asm.h"
#include "unwind_maze.h"

#define NR_THREADS 4

/* Of the maze: all in all a good million captures, or a few where each takes longer. */
#ifdef __SANITIZE_ADDRESS__
#define NR_WALKS        5000u
#define NR_THREAD_WALKS 2000u
#else
#define NR_WALKS        35000u
#define NR_THREAD_WALKS 20000u
#endif

static uint64_t nr_captures_before, nr_by_rules_before;

static int begin(void **state)
{
	(void)state;
	stack_referee.nr_different = 0;
	nr_captures_before = stack_referee.nr_captures;
	nr_by_rules_before = stack_referee.nr_by_rules;
	return 0;
}

/* All captures since the test began are right; there were that many. */
static void assert_right(uint64_t min_captures)
{
	assert_int_equal(stack_referee.nr_different, 0);
	assert_true(stack_referee.nr_captures - nr_captures_before >= min_captures);
}

/* And libunwind was not asked: it would be right anyway. */
static void assert_by_rules(void)
{
	assert_int_equal(stack_referee.nr_by_rules - nr_by_rules_before,
			 stack_referee.nr_captures - nr_captures_before);
}

static void walk_maze(unsigned seed, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++, seed++)
		unwind_maze_run(seed, 3 + seed % 40, stack_referee_check);
}

static void test_frames_of_all_kinds(void **state)
{
	(void)state;
	walk_maze(1, NR_WALKS);
	assert_right(NR_WALKS * STACK_REFEREE_REPEATS);
	assert_by_rules();
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *walk_in_thread(void *argument)
{
	walk_maze(1000000 * (unsigned)(uintptr_t)argument, NR_THREAD_WALKS);
	return NULL;
}

static void test_many_threads_at_once(void **state)
{
	pthread_t threads[NR_THREADS];

	(void)state;
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, walk_in_thread, (void *)(i + 1)),
				 0);
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_right((uint64_t)NR_THREADS * NR_THREAD_WALKS * STACK_REFEREE_REPEATS);
	assert_by_rules();
}

static void *walk_a_little(void *argument)
{
	walk_maze((unsigned)(uintptr_t)argument, 50);
	return NULL;
}

/* Hundreds of them, one after another, on the same pieces of memory. */
static void test_threads_with_stacks_of_their_own_making(void **state)
{
	const size_t size = 1 << 20;
	pthread_attr_t attributes;
	pthread_t thread;

	(void)state;
	for (uintptr_t i = 0; i < 200; i++) {
		void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		assert_true(memory != MAP_FAILED);
		pthread_attr_init(&attributes);
		assert_int_equal(pthread_attr_setstack(&attributes, memory, size), 0);
		assert_int_equal(pthread_create(&thread, &attributes, walk_a_little, (void *)i), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		pthread_attr_destroy(&attributes);
		munmap(memory, size);
	}
	assert_right(200 * 50 * STACK_REFEREE_REPEATS);
}

/* ---- Depth ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void dig(unsigned depth, size_t room_size)
{
	char room[room_size];

	__asm__ volatile("" : : "r"(room) : "memory");
	if (depth == 0)
		stack_referee_check();
	else
		dig(depth - 1, room_size);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void *dig_deeper_than_is_kept(void *argument)
{
	for (unsigned depth = VS_STACK_MAX - 20; depth < VS_STACK_MAX + 20; depth++)
		dig(depth, 8);
	dig(5000, 16);
	return argument;
}

/* In a thread that has not learned anything yet, let alone too much. */
static void test_stacks_deeper_than_is_kept(void **state)
{
	uint64_t nr_recalls = stack_referee.nr_recalls;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, dig_deeper_than_is_kept, NULL), 0);
	pthread_join(thread, NULL);
	assert_right(41 * STACK_REFEREE_REPEATS);
	/* Each is learned the first time; a few push out a part of their own, and are again. */
	assert_true(stack_referee.nr_recalls - nr_recalls >= 35 * (STACK_REFEREE_REPEATS - 1));
	/* Those that are not too large: it comes behind itself. */
	assert_true(stack_referee.nr_heard > 0);
}

/* Up and down by more than we are willing to take for the same stack. */
static void *dig_deep(void *argument)
{
	for (int i = 0; i < 3; i++) {
		stack_referee_check();
		dig(10, 100000);
		dig(20, 1000000);
		dig(30, 1000000);
	}
	return argument;
}

static void test_large_frames(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)state;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 20);
	assert_int_equal(pthread_create(&thread, &attributes, dig_deep, NULL), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	assert_right(12 * STACK_REFEREE_REPEATS);
}

/* ---- Other languages ------------------------------------------------------------------------- */

static void test_code_that_aligned_its_stack_by_hand(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++)
		unwind_asm_by_load(stack_referee_check);
	assert_right(50 * STACK_REFEREE_REPEATS);
	assert_by_rules();
}

static void test_code_that_is_described_in_unusual_ways(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		unwind_asm_by_register(stack_referee_check);
		unwind_asm_by_expression(stack_referee_check);
		unwind_asm_in_register(stack_referee_check);
	}
	assert_right(150 * STACK_REFEREE_REPEATS);
	/* If the rules could do it, the way around them would not be tested. */
	assert_int_equal(stack_referee.nr_by_rules, nr_by_rules_before);
}

static void go_through_bare_code(void)
{
	unwind_asm_bare(stack_referee_check);
	__asm__ volatile("");
}

static void go_through_unusual_code(void)
{
	unwind_asm_by_register(stack_referee_check);
	__asm__ volatile("");
}

static void test_code_that_nobody_describes_cuts_a_stack(void **state)
{
	(void)state;
	stack_referee_expect_cut((const void *)(uintptr_t)unwind_asm_bare,
				 (size_t)(unwind_asm_bare_end - (const char *)unwind_asm_bare));
	for (int i = 0; i < 50; i++) {
		go_through_bare_code();
		unwind_asm_by_register(go_through_bare_code);
		/* By way of libunwind: it must not guess either. */
		unwind_asm_bare(go_through_unusual_code);
	}
	stack_referee_expect_cut(NULL, 0);
	assert_right(150 * STACK_REFEREE_REPEATS);
}

static void test_cplusplus_and_its_exceptions(void **state)
{
	const char *path = getenv("VS_TEST_CXX");
	int (*run)(int depth, void (*visit)(void));
	void *library;

	(void)state;
	if (!path || !path[0]) {
		print_message("no compiler for it\n");
		skip();
	}
	library = dlopen(path, RTLD_NOW);
	assert_non_null(library);
	*(void **)(void *)&run = dlsym(library, "unwind_cxx_run");
	assert_non_null(run);
	for (int i = 0; i < 300; i++)
		run(i % 30, stack_referee_check);
	assert_right(300 * 10 * STACK_REFEREE_REPEATS);
	assert_by_rules();
	dlclose(library);
	stack_referee_forget_code();
}

/* ---- Unloading ------------------------------------------------------------------------------- */

typedef const char *(*plugin_function)(void (*callback)(void));

static plugin_function open_plugin(const char *name, void **handle)
{
	char path[PATH_MAX];
	plugin_function call;

	snprintf(path, sizeof(path), "%s/%s.so", getenv("VS_TEST_HOSTS"), name);
	*handle = dlopen(path, RTLD_NOW);
	assert_non_null(*handle);
	*(void **)(void *)&call = dlsym(*handle, "plugin_call");
	assert_non_null(call);
	return call;
}

static void test_another_library_at_the_same_address(void **state)
{
	static const char *const names[] = {"host_plugin_a", "host_plugin_b"};
	unsigned nr_same = 0;
	uintptr_t last = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		void *handle;
		plugin_function call = open_plugin(names[i % 2], &handle);

		nr_same += (uintptr_t)call == last;
		last = (uintptr_t)call;
		for (int k = 0; k < 5; k++)
			assert_string_equal(call(stack_referee_check), names[i % 2]);
		dlclose(handle);
		stack_referee_forget_code();
	}
	assert_right(500 * STACK_REFEREE_REPEATS);
	assert_true(nr_same > 50); /* or nothing was tested */
}

/* ---- Processes ------------------------------------------------------------------------------- */

static int wait_for(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_in_the_child_of_a_fork(void **state)
{
	pid_t child;

	(void)state;
	walk_maze(1, 100);
	child = fork();
	if (child == 0) {
		vs_stack_begin_in_child();
		walk_maze(1, 300);
		_exit(stack_referee.nr_different != 0);
	}
	assert_int_equal(wait_for(child), 0);
	assert_right(100 * STACK_REFEREE_REPEATS);
}

/* Locks may be held for good there: only our own walk is possible. */
static void test_in_the_child_of_a_raw_clone(void **state)
{
	pid_t child;

	(void)state;
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		vs_stack_do_without();
		walk_maze(1, 300);
		_exit(stack_referee.nr_different != 0);
	}
	assert_int_equal(wait_for(child), 0);
}

static __attribute__((noinline)) void walk_in_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		walk_maze(7, 20);
		_exit(0);
	}
	assert_int_equal(wait_for(child), 0);
}

static void test_in_the_child_of_a_vfork(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		walk_in_vfork();
		walk_maze(7, 20);
	}
	/* It shares our memory: what it counted is here. */
	assert_right(20 * 40 * STACK_REFEREE_REPEATS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(test_frames_of_all_kinds),
		TEST(test_many_threads_at_once),
		TEST(test_threads_with_stacks_of_their_own_making),
		TEST(test_stacks_deeper_than_is_kept),
		TEST(test_large_frames),
		TEST(test_code_that_aligned_its_stack_by_hand),
		TEST(test_code_that_is_described_in_unusual_ways),
		TEST(test_code_that_nobody_describes_cuts_a_stack),
		TEST(test_cplusplus_and_its_exceptions),
		TEST(test_in_the_child_of_a_fork),
		TEST(test_in_the_child_of_a_raw_clone),
		TEST(test_in_the_child_of_a_vfork),
		/* Last: from then on libunwind is slow. */
		TEST(test_another_library_at_the_same_address),
#undef TEST
	};
	int result;

	if (!stack_referee_init()) {
		print_message("there is no libunwind to compare with\n");
		return 77;
	}
	result = cmocka_run_group_tests(tests, NULL, NULL);
	print_message("%llu captures, %llu frames, %llu captures by rules alone\n",
		      (unsigned long long)stack_referee.nr_captures,
		      (unsigned long long)stack_referee.nr_frames,
		      (unsigned long long)stack_referee.nr_by_rules);
	return result;
}
