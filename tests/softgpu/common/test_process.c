#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process.h"

static void test_living_process_has_a_start_that_does_not_change(void **state)
{
	uint64_t start = sg_process_read_start(getpid());

	(void)state;
	assert_true(start > 0);
	assert_int_equal(sg_process_read_start(getpid()), start);
	assert_true(sg_process_read_start(getppid()) > 0);
	assert_true(sg_process_read_start(getppid()) <= start);
}

static void test_zombie_and_buried_process_are_gone(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(sg_process_read_start(pid) > 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(sg_process_read_start(pid), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	errno = 1234;
	assert_int_equal(sg_process_read_start(pid), 0);
	assert_int_equal(errno, 1234); /* called deep inside other people's functions */
}

static void test_name_of_a_process_cannot_fool_the_reading(void **state)
{
	uint64_t start = sg_process_read_start(getpid());

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, ") Z 1 (2) 3 4"), 0);
	assert_int_equal(sg_process_read_start(getpid()), start);
	assert_int_equal(prctl(PR_SET_NAME, "a b\n) Z"), 0);
	assert_int_equal(sg_process_read_start(getpid()), start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living_process_has_a_start_that_does_not_change),
		cmocka_unit_test(test_zombie_and_buried_process_are_gone),
		cmocka_unit_test(test_name_of_a_process_cannot_fool_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
