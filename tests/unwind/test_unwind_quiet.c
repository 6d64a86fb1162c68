/*
 * What a capture does beside capturing: nothing. No system call, no memory from malloc, no lock. In
 * a child that the kernel ends at the first system call, and with functions of libc's that count.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "private_library.h"
#include "stack.h"
#include "unwind_maze.h"
#include "unwind_rules.h"

#define NR_WALKS 2000u

/* ---- Functions of libc's, with a counter ------------------------------------------------------
 */

static atomic_bool is_watching;
static atomic_uint nr_calls;

static void note_call(void)
{
	if (is_watching)
		nr_calls++;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

/* The program's own stand in front of libc's, for everybody. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size)
{
	note_call();
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t nr, size_t size)
{
	note_call();
	return __libc_calloc(nr, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
	note_call();
	return __libc_realloc(memory, size);
}

EXPORT void free(void *memory)
{
	note_call();
	__libc_free(memory);
}

/* Of no use as locks: there is one thread where they are called. */
EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	(void)mutex;
	note_call();
	return 0;
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	(void)lock;
	note_call();
	return 0;
}

/* ---- Captures -------------------------------------------------------------------------------- */

static unsigned nr_captures, nr_cut;

static __attribute__((noinline)) void capture(void)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_stack stack;

	self->base.frame = __builtin_frame_address(0);
	is_watching = true;
	vs_stack_capture(self, &stack);
	is_watching = false;
	nr_captures++;
	nr_cut += stack.is_cut || stack.is_deep;
	__asm__ volatile("");
}

static void walk_maze(void)
{
	for (unsigned seed = 1; seed <= NR_WALKS; seed++)
		unwind_maze_run(seed, 3 + seed % 30, capture);
}

static int init(void **state)
{
	(void)state;
	vs_thread_init();
	vs_private_library_open(false); /* libunwind does all of that */
	vs_stack_init(0, 0, VS_STACK_MAX);
	assert_true(vs_thread_prepare(vs_thread_self()));
	walk_maze(); /* it is found out how far the stack reaches */
	return 0;
}

/* The first event of all and of each place in the program included. */
static void test_no_memory_and_no_lock_is_taken(void **state)
{
	void *memory;

	(void)state;
	nr_calls = nr_captures = nr_cut = 0;
	vs_unwind_rules_forget();
	walk_maze();
	assert_int_equal(nr_calls, 0);
	assert_true(nr_captures >= NR_WALKS);
	assert_int_equal(nr_cut, 0);
	/* It would have been seen. */
	is_watching = true;
	memory = malloc(1);
	__asm__ volatile("" : "+r"(memory)); /* compilers see through malloc and free */
	free(memory);
	is_watching = false;
	assert_int_equal(nr_calls, 2);
}

/* From now on: exit, and nothing else. */
static bool forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/*
 * In a child of its own; how it ended. It runs twice, and the first time it may call the system: it
 * is found out so whether from here the stack reaches a page further down than from init.
 */
static int run_without_system_calls(void (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (int i = 0; i < 2; i++) {
			if (i == 1 && !forbid_system_calls())
				_exit(77);
			run();
		}
		_exit(nr_cut ? 1 : 0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void walk_anew(void)
{
	nr_cut = 0;
	vs_unwind_rules_forget();
	walk_maze();
	walk_maze();
}

static void call_the_system(void)
{
	getppid();
}

static void test_no_system_call_is_made(void **state)
{
	int status = run_without_system_calls(call_the_system);

	(void)state;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("a kernel that filters nothing\n");
		skip();
	}
	/* It would have been seen. */
	assert_true(WIFSIGNALED(status));
	status = run_without_system_calls(walk_anew);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory_and_no_lock_is_taken),
		cmocka_unit_test(test_no_system_call_is_made),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
