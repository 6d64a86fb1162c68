/*
 * The line of progress, and what Ctrl-C leaves behind: commands in a process of their own, with a
 * terminal as stderr. Nothing depends on time: the line is shown at once and at every batch, and a
 * terminal that nobody reads from makes its writer wait.
 */
#include "progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "command.h"
#include "interrupt.h"
#include "long_trace.h"
#include "scratch.h"

#define NR_EVENTS 600000u /* longer than what an index is not worth */

static char seen[1 << 20];
static size_t nr_seen;

static int make_trace(void **state)
{
	if (vs_scratch_enter(state))
		return -1;
	return long_trace_write("long.vscope", NR_EVENTS);
}

/* In a child; stdout goes nowhere, stderr is what it is. */
static _Noreturn void run_command(char **words)
{
	const struct vs_command *command = vs_command_find(words[0]);
	int argc = 0, null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	vs_progress_plan = (struct vs_progress_plan){0, 0};
	dup2(null, STDOUT_FILENO);
	while (words[argc])
		argc++;
	_exit(command->run(argc, words));
}

static pid_t start_on_terminal(char **words, int *terminal)
{
	pid_t child = forkpty(terminal, NULL, NULL, NULL);

	assert_true(child >= 0);
	if (!child)
		run_command(words);
	nr_seen = 0;
	return child;
}

/* Up to the end, or up to so many bytes; the end of a terminal is an error. */
static void read_terminal(int terminal, size_t most)
{
	ssize_t got;

	while (nr_seen < most && nr_seen < sizeof(seen) - 1) {
		size_t room = sizeof(seen) - 1 - nr_seen;

		got = read(terminal, seen + nr_seen, most - nr_seen < room ? most - nr_seen : room);
		if (got <= 0)
			break;
		nr_seen += (size_t)got;
	}
	seen[nr_seen] = '\0';
}

static int finish(pid_t child, int terminal)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	close(terminal);
	return status;
}

/* What a person sees in the end: what stands on the line after all returns. */
static void assert_line_is_empty(void)
{
	char line[256];
	size_t at = 0, i;

	memset(line, ' ', sizeof(line));
	for (i = 0; i < nr_seen; i++) {
		if (seen[i] == '\r') {
			at = 0;
		} else if (seen[i] != '\n') {
			assert_in_range(at, 0, 79);
			line[at++] = seen[i];
		}
	}
	for (i = 0; i < sizeof(line); i++)
		assert_int_equal(line[i], ' ');
}

static size_t count_files(void)
{
	DIR *folder = opendir(".");
	size_t nr = 0;

	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		nr += entry->d_name[0] != '.';
	closedir(folder);
	return nr;
}

static void test_progress_is_one_line_that_goes_away(void **state)
{
	char *words[] = {"peak", "--no-index", "long.vscope", NULL};
	int terminal, status;
	pid_t child = start_on_terminal(words, &terminal);

	(void)state;
	read_terminal(terminal, SIZE_MAX);
	status = finish(child, terminal);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_non_null(strstr(seen, "\rreading long.vscope  0 %"));
	assert_non_null(strstr(seen, "reading long.vscope  9"));
	assert_null(strchr(seen, '\n'));
	assert_line_is_empty();
}

static void test_window_shows_progress_too(void **state)
{
	char *words[] = {"retained", "--no-index", "--to", "5", "long.vscope", NULL};
	int terminal, status;
	pid_t child = start_on_terminal(words, &terminal);

	(void)state;
	read_terminal(terminal, SIZE_MAX);
	status = finish(child, terminal);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_non_null(strstr(seen, "reading long.vscope"));
	assert_line_is_empty();
}

static void test_quiet_says_nothing(void **state)
{
	char *words[] = {"peak", "--no-index", "--quiet", "long.vscope", NULL};
	int terminal, status;
	pid_t child = start_on_terminal(words, &terminal);

	(void)state;
	read_terminal(terminal, SIZE_MAX);
	status = finish(child, terminal);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(nr_seen, 0);
}

static void test_nothing_is_shown_to_a_file(void **state)
{
	char *words[] = {"peak", "--no-index", "long.vscope", NULL};
	int ends[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		run_command(words);
	}
	close(ends[1]);
	nr_seen = 0;
	read_terminal(ends[0], SIZE_MAX);
	status = finish(child, ends[0]);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(nr_seen, 0);
}

/* It is in the middle of the trace: nobody reads what it says, so it cannot go on. */
static void test_ctrl_c_ends_it_by_the_signal_and_leaves_nothing(void **state)
{
	char *words[] = {"peak", "long.vscope", NULL}; /* would write an index */
	int terminal, status;
	pid_t child;

	(void)state;
	assert_int_equal(count_files(), 1);
	child = start_on_terminal(words, &terminal);
	read_terminal(terminal, 40);
	assert_int_equal(write(terminal, "\x03", 1), 1);
	read_terminal(terminal, SIZE_MAX);
	status = finish(child, terminal);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	assert_int_equal(count_files(), 1);
}

/* ---- interrupt.c ---------------------------------------------------------------------------- */

static void assert_ended_by(pid_t child, int number)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), number);
}

static void test_half_written_file_goes_with_the_program(void **state)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		pid_t child = fork();

		if (!child) {
			char name[] = "half.XXXXXX";

			if (vs_interrupt_make_file(name) < 0)
				_exit(1);
			raise(numbers[i]);
			_exit(2);
		}
		assert_ended_by(child, numbers[i]);
		assert_int_equal(count_files(), 1);
	}
}

static void test_whole_file_stays(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child) {
		char name[] = "whole.XXXXXX";

		if (vs_interrupt_make_file(name) < 0 || rename(name, "whole"))
			_exit(1);
		vs_interrupt_release_file();
		raise(SIGINT);
		_exit(2);
	}
	assert_ended_by(child, SIGINT);
	assert_int_equal(access("whole", F_OK), 0);
	assert_int_equal(unlink("whole"), 0);
}

static void test_ignored_signal_stays_ignored(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		char name[] = "kept.XXXXXX";

		signal(SIGHUP, SIG_IGN);
		if (vs_interrupt_make_file(name) < 0)
			_exit(1);
		raise(SIGHUP);
		_exit(access(name, F_OK) || unlink(name) ? 3 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_device_is_not_removed(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child) {
		if (symlink("/dev/null", "link"))
			_exit(1);
		vs_interrupt_guard_file("link");
		vs_interrupt_guard_file("long.vscope");
		vs_interrupt_release_file();
		raise(SIGTERM);
		_exit(2);
	}
	assert_ended_by(child, SIGTERM);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(access("long.vscope", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress_is_one_line_that_goes_away),
		cmocka_unit_test(test_window_shows_progress_too),
		cmocka_unit_test(test_quiet_says_nothing),
		cmocka_unit_test(test_nothing_is_shown_to_a_file),
		cmocka_unit_test(test_ctrl_c_ends_it_by_the_signal_and_leaves_nothing),
		cmocka_unit_test(test_half_written_file_goes_with_the_program),
		cmocka_unit_test(test_whole_file_stays),
		cmocka_unit_test(test_ignored_signal_stays_ignored),
		cmocka_unit_test(test_device_is_not_removed),
	};

	return cmocka_run_group_tests(tests, make_trace, vs_scratch_leave);
}
