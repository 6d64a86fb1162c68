/* `vramscope run` at a terminal: an interactive shell in a pty, and somebody who types. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
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

#define CTRL_C         "\x03"
#define CTRL_D         "\x04"
#define CTRL_Z         "\x1a"
#define CTRL_BACKSLASH "\x1c"
#define PROMPT         "<prompt>"

struct terminal {
	pid_t shell;
	int fd;
	char text[1 << 16]; /* what has come since it was last looked for */
	size_t size;
};

static void type(struct terminal *terminal, const char *keys)
{
	assert_int_equal(write(terminal->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static void read_more(struct terminal *terminal, const char *wanted)
{
	ssize_t got = read(terminal->fd, terminal->text + terminal->size,
			   sizeof(terminal->text) - terminal->size);

	if (got <= 0)
		fail_msg("the terminal closed before '%s': %.*s", wanted, (int)terminal->size,
			 terminal->text);
	terminal->size += (size_t)got;
}

static void forget(struct terminal *terminal, size_t size)
{
	terminal->size -= size;
	memmove(terminal->text, terminal->text + size, terminal->size);
}

/* Reads on until `text` has come, and forgets everything up to it. */
static void expect(struct terminal *terminal, const char *text)
{
	char *found;

	while (!(found = memmem(terminal->text, terminal->size, text, strlen(text))))
		read_more(terminal, text);
	forget(terminal, (size_t)(found - terminal->text) + strlen(text));
}

/* Until both have come, in either order, and forgets everything. */
static void expect_both(struct terminal *terminal, const char *one, const char *other)
{
	while (!memmem(terminal->text, terminal->size, one, strlen(one)) ||
	       !memmem(terminal->text, terminal->size, other, strlen(other)))
		read_more(terminal, one);
	forget(terminal, terminal->size);
}

/* As expect(), and nothing may come before it. */
static void expect_next(struct terminal *terminal, const char *text)
{
	while (terminal->size < strlen(text))
		read_more(terminal, text);
	assert_memory_equal(terminal->text, text, strlen(text));
	forget(terminal, strlen(text));
}

static int open_terminal(void **state)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));

	assert_non_null(terminal);
	terminal->shell = forkpty(&terminal->fd, NULL, NULL, NULL);
	assert_true(terminal->shell >= 0);
	if (terminal->shell == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("PS1", PROMPT, 1);
		setenv("TERM", "dumb", 1);
		execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", NULL);
		_exit(99);
	}
	/* What is typed does not show: only what programs print is to be found. */
	expect(terminal, PROMPT);
	type(terminal, "stty -echo\n");
	expect(terminal, PROMPT);
	*state = terminal;
	return 0;
}

static int close_terminal(void **state)
{
	struct terminal *terminal = *state;
	pid_t job = tcgetpgrp(terminal->fd);

	if (job > 0) /* of a test that failed */
		kill(-job, SIGKILL);
	kill(terminal->shell, SIGKILL);
	waitpid(terminal->shell, NULL, 0);
	close(terminal->fd);
	free(terminal);
	return 0;
}

static void test_keys_reach_the_command_and_its_status_the_shell(void **state)
{
	struct terminal *terminal = *state;

	type(terminal, "$VRAMSCOPE run cat; echo status $?\n");
	type(terminal, "one line\n");
	expect(terminal, "one line");
	type(terminal, CTRL_D);
	expect(terminal, "vramscope: no CUDA call");
	expect(terminal, "status 0");
}

static void test_ctrl_c_reaches_the_command_once(void **state)
{
	struct terminal *terminal = *state;

	type(terminal, "$VRAMSCOPE run $PROBE 3; echo status $?\n");
	expect(terminal, "ready\r\n");
	for (int round = 0; round < 3; round++) {
		type(terminal, CTRL_C);
		expect_next(terminal, "2\r\n"); /* SIGINT */
	}
	type(terminal, CTRL_BACKSLASH);
	expect_next(terminal, "3\r\n"); /* SIGQUIT, its last */
	expect(terminal, "status 5");
}

static void test_command_that_ctrl_c_kills_takes_vramscope_with_it(void **state)
{
	struct terminal *terminal = *state;

	/*
	 * A shell that is left by the signal alone goes on with the next line only. If it does not
	 * wait for the command yet, it is gone at once, and the next prompt comes before the last
	 * words of vramscope. What the command prints is not what the terminal echoes.
	 */
	type(terminal,
	     "bash -c '$VRAMSCOPE run sh -c \"printf r%sing unn; exec cat\"; echo never'\n");
	expect(terminal, "running");
	type(terminal, CTRL_C);
	expect_both(terminal, "vramscope: no CUDA call", PROMPT);
	type(terminal, "echo status $?\n");
	expect(terminal, "status 130");
}

static void test_ctrl_z_stops_the_job_and_fg_continues_it(void **state)
{
	struct terminal *terminal = *state;

	type(terminal, "$VRAMSCOPE run cat; echo status $?\n");
	for (int round = 0; round < 2; round++) {
		type(terminal, "running\n");
		expect(terminal, "running");
		type(terminal, CTRL_Z);
		expect(terminal, "Stopped");
		expect(terminal, PROMPT);
		type(terminal, "jobs\n");
		expect(terminal, "Stopped");
		expect(terminal, PROMPT);
		type(terminal, "fg\n");
	}
	type(terminal, "still here\n");
	expect(terminal, "still here");
	type(terminal, CTRL_D);
	expect(terminal, "vramscope: no CUDA call");
	expect(terminal, PROMPT);
}

static void test_command_that_stops_itself_gives_the_terminal_back(void **state)
{
	struct terminal *terminal = *state;

	type(terminal, "$VRAMSCOPE run sh -c 'kill -STOP $$; echo went on'\n");
	expect(terminal, "Stopped");
	expect(terminal, PROMPT);
	type(terminal, "fg\n");
	expect(terminal, "went on");
	expect(terminal, PROMPT);
}

static void test_background_job_that_reads_the_terminal_is_stopped(void **state)
{
	struct terminal *terminal = *state;

	type(terminal, "$VRAMSCOPE run cat &\n");
	expect(terminal, PROMPT);
	/* wait returns when the job's state changes. */
	type(terminal, "wait %1; jobs\n");
	expect(terminal, "Stopped");
	type(terminal, "fg\n");
	type(terminal, "in front\n");
	expect(terminal, "in front");
	type(terminal, CTRL_D);
	expect(terminal, "vramscope: no CUDA call");
}

static void test_pager_behind_the_command_keeps_the_terminal(void **state)
{
	struct terminal *terminal = *state;

	/* The last of a pipeline reads the terminal, as less does. */
	type(terminal,
	     "$VRAMSCOPE run echo paged | bash -c 'cat; read x </dev/tty; echo got $x'\n");
	expect(terminal, "paged");
	type(terminal, "a key\n");
	expect(terminal, "got a key");
	expect(terminal, PROMPT);
}

static void test_killing_the_job_kills_the_command_once(void **state)
{
	struct terminal *terminal = *state;

	type(terminal, "$VRAMSCOPE run $PROBE 15 &\n");
	expect(terminal, "ready");
	type(terminal, "kill -USR1 %1\n");
	expect(terminal, "10\r\n");
	type(terminal, "kill -TERM %1\n");
	expect(terminal, "15\r\n");
	type(terminal, "wait $!; echo status $?\n");
	expect(terminal, "status 5");
}

#define terminal_test(test) cmocka_unit_test_setup_teardown(test, open_terminal, close_terminal)

int main(void)
{
	const struct CMUnitTest tests[] = {
		terminal_test(test_keys_reach_the_command_and_its_status_the_shell),
		terminal_test(test_ctrl_c_reaches_the_command_once),
		terminal_test(test_command_that_ctrl_c_kills_takes_vramscope_with_it),
		terminal_test(test_ctrl_z_stops_the_job_and_fg_continues_it),
		terminal_test(test_command_that_stops_itself_gives_the_terminal_back),
		terminal_test(test_background_job_that_reads_the_terminal_is_stopped),
		terminal_test(test_pager_behind_the_command_keeps_the_terminal),
		terminal_test(test_killing_the_job_kills_the_command_once),
	};

	return cmocka_run_group_tests_name("run_terminal", tests, NULL, NULL);
}
