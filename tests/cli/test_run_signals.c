/* Signals and `vramscope run`: what is sent to it arrives at the command, once, and the other way.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LAST SIGTERM

/* A command line of vramscope run. */
#define RUN(...) ((char *[]){getenv("VRAMSCOPE"), "run", "--", __VA_ARGS__, NULL})

/* vramscope in a process group of its own, and what the command prints. */
struct job {
	pid_t pid;
	FILE *output;
};

static void start(struct job *job, char **argv)
{
	int fds[2];
	sigset_t none;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	job->pid = fork();
	if (job->pid == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
		dup2(fds[1], STDOUT_FILENO);
		close(STDERR_FILENO);
		open("/dev/null", O_WRONLY);
		execv(argv[0], argv);
		_exit(99);
	}
	close(fds[1]);
	job->output = fdopen(fds[0], "r");
	assert_non_null(job->output);
}

static void expect_line(struct job *job, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void expect_line(struct job *job, const char *format, ...)
{
	char expected[64], got[64] = "nothing more";
	va_list args;

	va_start(args, format);
	vsnprintf(expected, sizeof(expected), format, args);
	va_end(args);
	if (fgets(got, sizeof(got), job->output))
		got[strcspn(got, "\n")] = '\0';
	assert_string_equal(got, expected);
}

static void start_probe(struct job *job)
{
	char last[16];

	snprintf(last, sizeof(last), "%d", LAST);
	start(job, RUN(getenv("PROBE"), last));
	expect_line(job, "ready");
}

static int end(struct job *job)
{
	char rest[64];
	int status;

	assert_null(fgets(rest, sizeof(rest), job->output));
	fclose(job->output);
	assert_int_equal(waitpid(job->pid, &status, 0), job->pid);
	return status;
}

/* The last signal goes to vramscope alone and so comes after whatever that has passed on. */
static void end_probe(struct job *job)
{
	int status;

	kill(job->pid, LAST);
	expect_line(job, "%d", LAST);
	status = end(job);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
}

/* All below LAST, so that two that are pending at once keep their order. */
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM};

#define NR_PASSED_ON (sizeof(passed_on) / sizeof(passed_on[0]))

static void test_signal_to_vramscope_reaches_the_command_once(void **state)
{
	struct job job;

	(void)state;
	start_probe(&job);
	for (size_t i = 0; i < NR_PASSED_ON; i++) {
		kill(job.pid, passed_on[i]);
		expect_line(&job, "%d", passed_on[i]);
	}
	end_probe(&job);
}

static void test_signal_to_the_group_reaches_the_command_once(void **state)
{
	struct job job;

	(void)state;
	start_probe(&job);
	for (size_t i = 0; i < NR_PASSED_ON; i++) {
		kill(-job.pid, passed_on[i]);
		expect_line(&job, "%d", passed_on[i]);
	}
	end_probe(&job);
}

static void test_signal_to_one_and_then_to_the_group_is_two(void **state)
{
	struct job job;

	(void)state;
	start_probe(&job);
	for (int round = 0; round < 3; round++) {
		kill(job.pid, SIGINT);
		expect_line(&job, "%d", SIGINT);
		kill(-job.pid, SIGINT);
		expect_line(&job, "%d", SIGINT);
		/* When this one has come, vramscope is done with the other: two would become one.
		 */
		kill(job.pid, SIGUSR2);
		expect_line(&job, "%d", SIGUSR2);
	}
	end_probe(&job);
}

static void test_queued_signal_keeps_its_value(void **state)
{
	const union sigval value = {.sival_int = 4711};
	struct job job;

	(void)state;
	start_probe(&job);
	assert_int_equal(sigqueue(job.pid, SIGRTMIN + 3, value), 0);
	expect_line(&job, "%d with 4711", SIGRTMIN + 3);
	end_probe(&job);
}

static void test_command_that_left_the_group_still_gets_signals(void **state)
{
	struct job job;
	char last[16];

	(void)state;
	snprintf(last, sizeof(last), "%d", LAST);
	start(&job, RUN("setsid", getenv("PROBE"), last));
	expect_line(&job, "ready");
	kill(-job.pid, SIGUSR1);
	expect_line(&job, "%d", SIGUSR1);
	end_probe(&job);
}

static void test_command_dies_with_vramscope(void **state)
{
	struct job job;
	int status;

	(void)state;
	start_probe(&job);
	kill(job.pid, SIGKILL);
	status = end(&job); /* the output ends when the last process that has it is gone */
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_vramscope_dies_of_the_signal_the_command_died_of(void **state)
{
	static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,   SIGTRAP,
				      SIGABRT, SIGBUS,  SIGFPE,  SIGKILL,  SIGUSR1,
				      SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM,  SIGTERM,
				      SIGXCPU, SIGXFSZ, SIGSYS,  SIGVTALRM};
	char command[64];
	struct job job;
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		/* No core files in the folder of the test. */
		snprintf(command, sizeof(command), "ulimit -c 0; kill -%d $$", numbers[i]);
		start(&job, RUN("sh", "-c", command));
		status = end(&job);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), numbers[i]);
		assert_false(WCOREDUMP(status));
	}
}

static void test_exit_status_is_the_commands(void **state)
{
	static const int statuses[] = {0, 1, 2, 3, 77, 126, 127, 128, 130, 255};
	char command[64];
	struct job job;
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		snprintf(command, sizeof(command), "exit %d", statuses[i]);
		start(&job, RUN("sh", "-c", command));
		status = end(&job);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), statuses[i]);
	}
}

static void test_command_that_is_stopped_alone_does_not_stop_vramscope(void **state)
{
	char line[64];
	struct job job;
	pid_t command;

	(void)state;
	start(&job, RUN("sh", "-c", "echo $$; exec $PROBE 15"));
	assert_non_null(fgets(line, sizeof(line), job.output));
	command = (pid_t)atol(line);
	expect_line(&job, "ready");
	/* No shell waits for this group's terminal: it goes on by whoever stopped it. */
	kill(command, SIGSTOP);
	kill(command, SIGCONT);
	expect_line(&job, "%d", SIGCONT);
	end_probe(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_to_vramscope_reaches_the_command_once),
		cmocka_unit_test(test_signal_to_the_group_reaches_the_command_once),
		cmocka_unit_test(test_signal_to_one_and_then_to_the_group_is_two),
		cmocka_unit_test(test_queued_signal_keeps_its_value),
		cmocka_unit_test(test_command_that_left_the_group_still_gets_signals),
		cmocka_unit_test(test_command_dies_with_vramscope),
		cmocka_unit_test(test_vramscope_dies_of_the_signal_the_command_died_of),
		cmocka_unit_test(test_exit_status_is_the_commands),
		cmocka_unit_test(test_command_that_is_stopped_alone_does_not_stop_vramscope),
	};

	return cmocka_run_group_tests_name("run_signals", tests, NULL, NULL);
}
