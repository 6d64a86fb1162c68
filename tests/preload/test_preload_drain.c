#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "drain.h"
#include "exit_help.h"
#include "thread.h"

/* The thread, with a double in the place of the session that it works on. */

/* Shared with children that end with their threads. */
static struct calls {
	_Atomic int nr_attached, nr_taken, nr_finished, nr_parked;
	_Atomic bool has_own_files; /* as the drain says */
	_Atomic bool sees_files;    /* of the program's */
	_Atomic bool sees_signals;
	_Atomic bool is_inside;
	char name[17];
	/* What the session answers. */
	_Atomic bool is_broken;
	_Atomic bool is_deserted;
	_Atomic int finish_ms;
	_Atomic bool gives_work; /* at the end */
	_Atomic long helper;     /* thread that did it */
} * calls;

static void take_a_nap(int ms)
{
	const struct timespec nap = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&nap, NULL);
}

bool vs_session_attach(bool has_own_files)
{
	sigset_t blocked, all;

	calls->has_own_files = has_own_files;
	for (int fd = 0; fd < 16; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			calls->sees_files = true;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	sigfillset(&all);
	for (int number = 1; number < 32; number++)
		if (number != SIGKILL && number != SIGSTOP && !sigismember(&blocked, number))
			calls->sees_signals = true;
	calls->is_inside = vs_thread_self()->base.is_inside;
	prctl(PR_GET_NAME, calls->name);
	calls->nr_attached++;
	return true;
}

bool vs_session_take(void)
{
	calls->nr_taken++;
	return !calls->is_broken;
}

static void help(void *what)
{
	struct calls *to = what;

	to->helper = syscall(SYS_gettid);
}

void vs_session_finish(void)
{
	/* Who waits is there in a moment; a minute means never. */
	for (int i = 0; calls->gives_work && i < 60000 && !vs_exit_help_give(help, calls); i++)
		take_a_nap(1);
	vs_exit_help_await();
	take_a_nap(calls->finish_ms);
	calls->nr_finished++;
}

void vs_session_park(void)
{
	calls->nr_parked++;
}

bool vs_session_is_deserted(void)
{
	return calls->is_deserted;
}

/* What others need of it, but nobody here. */
int vs_session_open(const struct vs_session_plan *plan)
{
	(void)plan;
	return -VS_ERR_IO;
}

struct vs_live_log *vs_session_log(void)
{
	return NULL;
}

bool vs_session_make_room(void)
{
	return false;
}

void vs_session_detach(void)
{
}

static int set_up(void **state)
{
	(void)state;
	memset(calls, 0, sizeof(*calls));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vs_drain_stop();
	vs_drain_forget();
	return 0;
}

/* Until it has become more than that; a minute means never. */
static void wait_for(const _Atomic int *count, int before)
{
	for (int i = 0; *count <= before; i++) {
		assert_true(i < 60000);
		take_a_nap(1);
	}
}

static void test_the_thread_has_files_and_signals_of_its_own(void **state)
{
	(void)state;
	assert_false(vs_drain_is_running());
	assert_int_equal(vs_drain_start(), 0);
	assert_true(vs_drain_is_running());
	wait_for(&calls->nr_attached, 0);
	assert_int_equal(calls->nr_attached, 1);
	if (calls->has_own_files)
		assert_false(calls->sees_files);
	assert_false(calls->sees_signals);
	assert_true(calls->is_inside); /* nothing that it does is an event */
	assert_string_equal(calls->name, "vramscope");
}

static void test_it_looks_after_the_log_woken_or_not(void **state)
{
	int before;

	(void)state;
	assert_int_equal(vs_drain_start(), 0);
	wait_for(&calls->nr_taken, 2);
	for (int i = 0; i < 10; i++) {
		before = calls->nr_taken;
		errno = 4711;
		vs_drain_wake();
		vs_drain_wake();
		assert_int_equal(errno, 4711);
		wait_for(&calls->nr_taken, before);
	}
}

static void test_stop_waits_for_the_end_of_the_trace(void **state)
{
	(void)state;
	calls->finish_ms = 200;
	assert_int_equal(vs_drain_start(), 0);
	vs_drain_stop();
	assert_int_equal(calls->nr_finished, 1);
	assert_int_equal(calls->nr_parked, 0);
	vs_drain_stop(); /* and does not end it twice */
	assert_int_equal(calls->nr_finished, 1);
}

static void test_who_waits_for_the_end_helps(void **state)
{
	(void)state;
	calls->gives_work = true;
	assert_int_equal(vs_drain_start(), 0);
	vs_drain_stop();
	assert_int_equal(calls->nr_finished, 1);
	assert_int_equal(calls->helper, syscall(SYS_gettid));
}

static void test_without_a_thread_there_is_nothing_to_stop(void **state)
{
	(void)state;
	vs_drain_stop();
	vs_drain_park();
	vs_drain_wake();
	assert_int_equal(calls->nr_finished, 0);
	assert_int_equal(calls->nr_parked, 0);
}

static void test_a_trace_that_is_broken_is_left_alone_until_the_end(void **state)
{
	int before;

	(void)state;
	calls->is_broken = true;
	assert_int_equal(vs_drain_start(), 0);
	wait_for(&calls->nr_taken, 0);
	before = calls->nr_taken;
	for (int i = 0; i < 100; i++) {
		vs_drain_wake();
		take_a_nap(1);
	}
	assert_int_equal(calls->nr_taken, before);
	vs_drain_stop();
	assert_int_equal(calls->nr_finished, 1);
}

static void test_a_parked_thread_is_gone_and_another_one_may_come(void **state)
{
	(void)state;
	assert_int_equal(vs_drain_start(), 0);
	vs_drain_park();
	assert_int_equal(calls->nr_parked, 1);
	assert_int_equal(calls->nr_finished, 0);
	assert_false(vs_drain_is_running());
	assert_int_equal(vs_drain_start(), 0);
	wait_for(&calls->nr_attached, 1);
	vs_drain_stop();
	assert_int_equal(calls->nr_finished, 1);
}

/* ---- In a process of its own ----------------------------------------------------------------- */

static int run_child(void (*live)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		live();
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Nobody but the thread could end it. */
static void be_deserted(void)
{
	alarm(60);
	calls->is_deserted = true;
	if (vs_drain_start() != 0)
		_exit(1);
	for (;;)
		pause();
}

static void test_the_last_thread_ends_the_trace_and_the_process(void **state)
{
	(void)state;
	assert_int_equal(run_child(be_deserted), 0);
	assert_int_equal(calls->nr_finished, 1);
}

static void be_forked(void)
{
	vs_drain_forget();
	if (vs_drain_is_running())
		_exit(1);
	vs_drain_stop(); /* there is none to wait for */
	if (vs_drain_start() != 0)
		_exit(2);
	vs_drain_stop();
	_exit(calls->nr_finished == 1 ? 0 : 3);
}

static void test_a_child_forgets_the_thread_and_has_its_own(void **state)
{
	(void)state;
	assert_int_equal(vs_drain_start(), 0);
	wait_for(&calls->nr_attached, 0);
	assert_int_equal(run_child(be_forked), 0);
	assert_true(vs_drain_is_running());
}

#if !defined(__SANITIZE_THREAD__)
static void be_without_threads(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 5, .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(1);
	if (vs_drain_start() != -VS_ERR_NO_MEMORY)
		_exit(2);
	_exit(vs_drain_is_running() ? 3 : 0);
}

static void test_where_no_thread_can_be_had_there_is_none(void **state)
{
	(void)state;
	assert_int_equal(run_child(be_without_threads), 0);
}
#endif

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_thread_has_files_and_signals_of_its_own),
		TEST(test_it_looks_after_the_log_woken_or_not),
		TEST(test_stop_waits_for_the_end_of_the_trace),
		TEST(test_who_waits_for_the_end_helps),
		TEST(test_without_a_thread_there_is_nothing_to_stop),
		TEST(test_a_trace_that_is_broken_is_left_alone_until_the_end),
		TEST(test_a_parked_thread_is_gone_and_another_one_may_come),
		TEST(test_the_last_thread_ends_the_trace_and_the_process),
		TEST(test_a_child_forgets_the_thread_and_has_its_own),
#if !defined(__SANITIZE_THREAD__)
		TEST(test_where_no_thread_can_be_had_there_is_none),
#endif
	};

	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (calls == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
