#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_witness.h"

/* Where a case went wrong is its exit status. */
#define EXPECT(condition)                          \
	do {                                       \
		if (!(condition))                  \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

/* A case is a process in a group of its own with all signals blocked, as the launcher is. */
static void run_case(void (*body)(void))
{
	sigset_t all;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		setpgid(0, 0);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Takes a pending signal, so that the next one of its number can come. */
static void take(int number)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	EXPECT(sigwaitinfo(&one, NULL) == number);
}

static void tell_apart(void)
{
	const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGWINCH, SIGRTMAX};
	struct vs_run_witness witness;

	vs_run_witness_start(&witness);
	EXPECT(witness.pid > 0);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		EXPECT(!vs_run_witness_saw(&witness, numbers[i]));
		kill(getpid(), numbers[i]);
		take(numbers[i]);
		EXPECT(!vs_run_witness_saw(&witness, numbers[i]));
		kill(0, numbers[i]);
		take(numbers[i]);
		EXPECT(vs_run_witness_saw(&witness, numbers[i]));
		EXPECT(!vs_run_witness_saw(&witness, numbers[i]));
	}
	vs_run_witness_stop(&witness);
}

static void test_signals_to_one_and_to_all_are_told_apart(void **state)
{
	(void)state;
	run_case(tell_apart);
}

static void keep_numbers_apart(void)
{
	struct vs_run_witness witness;

	vs_run_witness_start(&witness);
	kill(0, SIGUSR1);
	kill(0, SIGUSR2);
	EXPECT(!vs_run_witness_saw(&witness, SIGINT));
	EXPECT(vs_run_witness_saw(&witness, SIGUSR2));
	EXPECT(vs_run_witness_saw(&witness, SIGUSR1));
	vs_run_witness_stop(&witness);
}

static void test_each_number_is_remembered_until_asked_for(void **state)
{
	(void)state;
	run_case(keep_numbers_apart);
}

static void stop_it(void)
{
	struct vs_run_witness witness;
	int status;

	vs_run_witness_start(&witness);
	kill(witness.pid, SIGSTOP);
	EXPECT(waitpid(witness.pid, &status, WUNTRACED) == witness.pid && WIFSTOPPED(status));
	kill(0, SIGUSR1);
	EXPECT(vs_run_witness_saw(&witness, SIGUSR1));
	vs_run_witness_stop(&witness);
}

static void test_a_witness_that_was_stopped_is_woken(void **state)
{
	(void)state;
	run_case(stop_it);
}

static int count_files(void)
{
	int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void leave_nothing(void)
{
	int nr_files = count_files();
	struct vs_run_witness witness;

	vs_run_witness_start(&witness);
	vs_run_witness_stop(&witness);
	EXPECT(witness.pid == 0);
	EXPECT(count_files() == nr_files);
	EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	vs_run_witness_stop(&witness);
	EXPECT(!vs_run_witness_saw(&witness, SIGINT));
}

static void test_a_witness_that_was_stopped_for_good_leaves_nothing(void **state)
{
	(void)state;
	run_case(leave_nothing);
}

static void go_without(void)
{
	struct rlimit few = {0, 0};
	struct vs_run_witness witness;
	int nr_files = count_files();

	/* None, then one pipe, but not the second. */
	for (int more = 0; more <= 2; more += 2) {
		getrlimit(RLIMIT_NOFILE, &few);
		few.rlim_cur = (rlim_t)(nr_files + more);
		EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
		vs_run_witness_start(&witness);
		EXPECT(witness.pid == 0);
		EXPECT(!vs_run_witness_saw(&witness, SIGINT));
		vs_run_witness_stop(&witness);
		EXPECT(count_files() == nr_files);
	}
}

/* Numbers below the limit must all be taken for it to be one. */
static void fill_and_go_without(void)
{
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	go_without();
}

static void test_without_files_to_be_had_it_goes_without(void **state)
{
	(void)state;
	run_case(fill_and_go_without);
}

static void hold_no_files(void)
{
	struct vs_run_witness witness;
	int fds[2];
	char byte;

	EXPECT(pipe(fds) == 0);
	vs_run_witness_start(&witness);
	close(fds[1]);
	/* Once it has answered it has closed what it had from us. */
	EXPECT(!vs_run_witness_saw(&witness, SIGINT));
	EXPECT(read(fds[0], &byte, 1) == 0);
	vs_run_witness_stop(&witness);
}

static void test_it_holds_no_file_of_the_program(void **state)
{
	(void)state;
	run_case(hold_no_files);
}

/* An orphan comes to the next subreaper, who can wait for its end. */
static void kill_its_parent(void)
{
	struct vs_run_witness witness;
	pid_t parent;
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	parent = fork();
	if (parent == 0) {
		vs_run_witness_start(&witness);
		EXPECT(!vs_run_witness_saw(&witness, SIGINT));
		raise(SIGKILL);
	}
	EXPECT(waitpid(parent, &status, 0) == parent && WIFSIGNALED(status));
	EXPECT(wait(&status) > 0);
	EXPECT(wait(&status) == -1 && errno == ECHILD);
}

static void test_it_dies_with_us(void **state)
{
	(void)state;
	run_case(kill_its_parent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_to_one_and_to_all_are_told_apart),
		cmocka_unit_test(test_each_number_is_remembered_until_asked_for),
		cmocka_unit_test(test_a_witness_that_was_stopped_is_woken),
		cmocka_unit_test(test_a_witness_that_was_stopped_for_good_leaves_nothing),
		cmocka_unit_test(test_without_files_to_be_had_it_goes_without),
		cmocka_unit_test(test_it_holds_no_file_of_the_program),
		cmocka_unit_test(test_it_dies_with_us),
	};

	return cmocka_run_group_tests_name("run_witness", tests, NULL, NULL);
}
