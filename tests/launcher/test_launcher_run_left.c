#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_left.h"

static char index_path[64];

/* Returns when the program runs: the pipe is closed by that. */
static pid_t start(const char *index)
{
	int pipes[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("VRAMSCOPE_INDEX", index, 1);
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	return child;
}

static void stop(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void test_processes_with_the_index_are_counted(void **state)
{
	pid_t one, two, other;
	char longer[80];

	(void)state;
	/* Of no other test that runs now. */
	snprintf(index_path, sizeof(index_path), "/no/such/index.%ld", (long)getpid());
	snprintf(longer, sizeof(longer), "%s.of.another", index_path);
	assert_int_equal(vs_run_left_count(index_path), 0);
	one = start(index_path);
	assert_int_equal(vs_run_left_count(index_path), 1);
	two = start(index_path);
	other = start(longer);
	assert_int_equal(vs_run_left_count(index_path), 2);
	stop(one);
	assert_int_equal(vs_run_left_count(index_path), 1);
	stop(two);
	stop(other);
	assert_int_equal(vs_run_left_count(index_path), 0);
}

static void test_one_that_has_ended_and_is_not_waited_for_is_none(void **state)
{
	siginfo_t info;
	pid_t child = start(index_path);
	int status;

	(void)state;
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(vs_run_left_count(index_path), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_with_the_index_are_counted),
		cmocka_unit_test(test_one_that_has_ended_and_is_not_waited_for_is_none),
	};

	return cmocka_run_group_tests_name("run_left", tests, NULL, NULL);
}
