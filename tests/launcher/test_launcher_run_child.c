/*
 * The command as a child. test_run_signals and test_run_terminal (tests/cli) ask the same of the
 * whole program.
 */
#include <elf.h>
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_child.h"
#include "scratch.h"

#define WORDS(...)   ((char *[]){__VA_ARGS__, NULL})
#define SHELL(...)   WORDS("/bin/sh", "-c", __VA_ARGS__)
#define AS_EXPECTED  0
#define OTHER_ERROR  101
#define LEFT_PROCESS 102

/* A launcher: this program after fork, in a group of its own, and what its command prints. */
struct launcher {
	pid_t pid;
	FILE *output;
};

/* True in the launcher. */
static bool fork_launcher(struct launcher *launcher)
{
	sigset_t none;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	launcher->pid = fork();
	assert_true(launcher->pid >= 0);
	if (launcher->pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nothing behind */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(fds[1], STDOUT_FILENO);
		return true;
	}
	close(fds[1]);
	launcher->output = fdopen(fds[0], "r");
	assert_non_null(launcher->output);
	return false;
}

static _Noreturn void launch(char **argv)
{
	struct vs_run_child child;

	if (vs_run_child_start(&child, argv[0], argv))
		_exit(OTHER_ERROR);
	vs_run_child_end_as(vs_run_child_wait(&child));
}

static void start(struct launcher *launcher, char **argv)
{
	if (fork_launcher(launcher))
		launch(argv);
}

static int finish(struct launcher *launcher, const char *expected)
{
	char got[4096];
	size_t size = fread(got, 1, sizeof(got) - 1, launcher->output);
	int status;

	got[size] = '\0';
	fclose(launcher->output);
	assert_string_equal(got, expected);
	assert_int_equal(waitpid(launcher->pid, &status, 0), launcher->pid);
	return status;
}

static int run(char **argv, const char *expected)
{
	struct launcher launcher;

	start(&launcher, argv);
	return finish(&launcher, expected);
}

static void expect_exit(int status, int expected)
{
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void expect_line(struct launcher *launcher, const char *expected)
{
	char got[64] = "nothing more";

	if (fgets(got, sizeof(got), launcher->output))
		got[strcspn(got, "\n")] = '\0';
	assert_string_equal(got, expected);
}

/* ---- Starting ------------------------------------------------------------------------------- */

static void test_arguments_and_environment_arrive(void **state)
{
	(void)state;
	setenv("OURS", "a b", 1);
	expect_exit(run(SHELL("printf '<%s>' \"$0\" \"$@\" \"$OURS\"", "zero", "", "*", "a b"),
			"<zero><><*><a b><a b>"),
		    0);
}

static void test_argument_zero_need_not_be_the_file(void **state)
{
	struct vs_run_child child;
	struct launcher launcher;

	(void)state;
	if (fork_launcher(&launcher)) {
		if (vs_run_child_start(&child, "/bin/sh", WORDS("-me", "-c", "echo $0")))
			_exit(OTHER_ERROR);
		vs_run_child_end_as(vs_run_child_wait(&child));
	}
	expect_exit(finish(&launcher, "-me\n"), 0);
}

static void test_a_script_without_a_first_line_is_one_for_sh(void **state)
{
	(void)state;
	vs_scratch_write_text("script", "echo \"$0\" \"$#\" \"$2\"; exit 9\n");
	expect_exit(run(WORDS("./script", "a", "b c"), "./script 2 b c\n"), 9);
	vs_scratch_write_text("script", "");
	expect_exit(run(WORDS("./script"), ""), 0);
}

/* In a launcher of its own: the error, and that nothing is left. */
static void expect_error(char **argv, int expected)
{
	struct vs_run_child child;
	struct launcher launcher;
	int error;

	if (fork_launcher(&launcher)) {
		error = vs_run_child_start(&child, argv[0], argv);
		if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD)
			_exit(LEFT_PROCESS);
		_exit(error == expected ? AS_EXPECTED : OTHER_ERROR);
	}
	expect_exit(finish(&launcher, ""), AS_EXPECTED);
}

static void test_what_cannot_be_started_says_why_and_leaves_nothing(void **state)
{
	static const char foreign[64] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, 77};

	(void)state;
	expect_error(WORDS("./missing"), ENOENT);
	vs_scratch_write_text("script", "#!/no/such/interpreter\n");
	expect_error(WORDS("./script"), ENOENT);
	vs_scratch_write_text("plain", "");
	assert_int_equal(chmod("plain", 0644), 0);
	expect_error(WORDS("./plain"), EACCES);
	expect_error(WORDS("/"), EACCES);
	/* No script, whatever sh could make of it. */
	vs_scratch_write("foreign", foreign, sizeof(foreign));
	expect_error(WORDS("./foreign"), ENOEXEC);
}

static void test_a_very_long_environment_arrives_or_is_too_long(void **state)
{
	enum {
		SIZE = 100000 /* below what Linux takes as one string */
	};
	char name[16], *value = malloc(SIZE + 1);

	(void)state;
	assert_non_null(value);
	memset(value, 'x', SIZE);
	value[SIZE] = '\0';
	setenv("LONG", value, 1);
	expect_exit(run(SHELL("echo ${#LONG}"), "100000\n"), 0);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "LONG%d", i);
		setenv(name, value, 1);
	}
	expect_error(SHELL("echo started"), E2BIG);
	free(value);
}

/* ---- What the command finds ------------------------------------------------------------------ */

/* Ignored, it would keep us from learning of the end. */
static void test_an_ignored_end_of_children_is_ignored_by_the_command_only(void **state)
{
	struct launcher launcher;

	(void)state;
	if (fork_launcher(&launcher)) {
		signal(SIGCHLD, SIG_IGN);
		launch(WORDS("/bin/grep", "SigIgn", "/proc/self/status"));
	}
	expect_exit(finish(&launcher, "SigIgn:\t0000000000010000\n"), 0);
}

static void test_blocked_signals_are_those_we_were_started_with(void **state)
{
	struct launcher launcher;
	sigset_t one;

	(void)state;
	if (fork_launcher(&launcher)) {
		sigemptyset(&one);
		sigaddset(&one, SIGUSR1);
		sigprocmask(SIG_SETMASK, &one, NULL);
		launch(WORDS("/bin/grep", "SigBlk", "/proc/self/status"));
	}
	expect_exit(finish(&launcher, "SigBlk:\t0000000000000200\n"), 0);
}

/* As main() leaves a stream that was closed: taken, but not for the command. */
static void test_a_closed_input_is_closed_for_the_command(void **state)
{
	struct launcher launcher;

	(void)state;
	if (fork_launcher(&launcher)) {
		close(STDIN_FILENO);
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != STDIN_FILENO)
			_exit(OTHER_ERROR);
		launch(SHELL("[ -e /proc/$$/fd/0 ] && echo open || echo closed"));
	}
	expect_exit(finish(&launcher, "closed\n"), 0);
}

static void test_we_keep_no_file_that_the_command_has(void **state)
{
	struct launcher launcher;
	int held[2];

	(void)state;
	assert_int_equal(pipe2(held, O_CLOEXEC), 0);
	assert_int_equal(mkfifo("gate", 0600), 0);
	if (fork_launcher(&launcher)) {
		/* One below and one above whatever the launcher needs. */
		dup2(held[1], 9);
		dup2(held[1], 100);
		launch(WORDS("/bin/bash", "-c", "exec 9>&- 100>&-; read line <gate; echo $line"));
	}
	close(held[1]);
	/* The end comes although the launcher still runs. */
	assert_int_equal(read(held[0], (char[1]){0}, 1), 0);
	close(held[0]);
	vs_scratch_write_text("gate", "go\n");
	expect_exit(finish(&launcher, "go\n"), 0);
}

/* ---- Signals -------------------------------------------------------------------------------- */

/* Real-time signals: two of them do not become one while they wait. The higher is passed on last.
 */
static void test_signals_are_passed_on_once(void **state)
{
	const union sigval value = {.sival_int = 4711};
	struct launcher launcher;
	char expected[32];

	(void)state;
	start(&launcher, WORDS(getenv("PROBE"), "15"));
	expect_line(&launcher, "ready");
	kill(launcher.pid, SIGUSR1);
	expect_line(&launcher, "10");
	kill(-launcher.pid, SIGRTMIN + 1);
	snprintf(expected, sizeof(expected), "%d", SIGRTMIN + 1);
	expect_line(&launcher, expected);
	assert_int_equal(sigqueue(launcher.pid, SIGRTMIN + 2, value), 0);
	snprintf(expected, sizeof(expected), "%d with 4711", SIGRTMIN + 2);
	expect_line(&launcher, expected);
	kill(launcher.pid, SIGTERM);
	expect_exit(finish(&launcher, "15\n"), 5);
}

static void test_we_stop_and_go_on_with_the_command(void **state)
{
	struct launcher launcher;
	int status;

	(void)state;
	start(&launcher, SHELL("kill -TSTP $$; echo on; exit 4"));
	assert_int_equal(waitpid(launcher.pid, &status, WUNTRACED), launcher.pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGTSTP);
	kill(launcher.pid, SIGCONT);
	expect_exit(finish(&launcher, "on\n"), 4);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void test_the_exit_status_is_the_commands(void **state)
{
	static const int statuses[] = {0, 1, 2, 77, 126, 127, 128, 255};
	char command[32];

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		snprintf(command, sizeof(command), "exit %d", statuses[i]);
		expect_exit(run(SHELL(command), ""), statuses[i]);
	}
}

static void test_we_die_of_what_the_command_died_of(void **state)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGSEGV, SIGTERM};
	char command[64];
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(command, sizeof(command), "ulimit -c 0; kill -%d $$", numbers[i]);
		status = run(SHELL(command), "");
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), numbers[i]);
		assert_false(WCOREDUMP(status));
	}
}

static void test_signals_that_we_ignore_end_us_all_the_same(void **state)
{
	struct launcher launcher;
	sigset_t all;
	int status;

	(void)state;
	if (fork_launcher(&launcher)) {
		signal(SIGTERM, SIG_IGN);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		vs_run_child_end_as(SIGTERM); /* as waitpid tells it */
	}
	status = finish(&launcher, "");
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_arguments_and_environment_arrive),
		TEST(test_argument_zero_need_not_be_the_file),
		TEST(test_a_script_without_a_first_line_is_one_for_sh),
		TEST(test_what_cannot_be_started_says_why_and_leaves_nothing),
		TEST(test_a_very_long_environment_arrives_or_is_too_long),
		TEST(test_an_ignored_end_of_children_is_ignored_by_the_command_only),
		TEST(test_blocked_signals_are_those_we_were_started_with),
		TEST(test_a_closed_input_is_closed_for_the_command),
		TEST(test_we_keep_no_file_that_the_command_has),
		TEST(test_signals_are_passed_on_once),
		TEST(test_we_stop_and_go_on_with_the_command),
		TEST(test_the_exit_status_is_the_commands),
		TEST(test_we_die_of_what_the_command_died_of),
		TEST(test_signals_that_we_ignore_end_us_all_the_same),
	};

	return cmocka_run_group_tests_name("run_child", tests, NULL, NULL);
}
