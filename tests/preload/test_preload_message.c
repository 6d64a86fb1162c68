#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "message.h"
#include "usual.h"

static int saved_stderr;
static char text[4096];

/* A pipe in the place of stderr. */
static int set_up(void **state)
{
	static int ends[2];

	*state = ends;
	saved_stderr = dup(2);
	return pipe2(ends, O_NONBLOCK) < 0 || dup2(ends[1], 2) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	int *ends = *state;

	dup2(saved_stderr, 2);
	close(saved_stderr);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static const char *read_all(int fd)
{
	ssize_t size = read(fd, text, sizeof(text) - 1);

	text[size > 0 ? size : 0] = '\0';
	return text;
}

static void test_a_message_is_one_line_and_keeps_errno(void **state)
{
	int *ends = *state;

	vs_message_init();
	errno = 4711;
	vs_message_print("cannot open ", "a", ": ", "why", NULL);
	assert_int_equal(errno, 4711);
	assert_string_equal(read_all(ends[0]), "vramscope: cannot open a: why\n");
}

static void test_a_long_message_is_cut_and_still_a_line(void **state)
{
	static char word[3000];
	int *ends = *state;

	memset(word, 'x', sizeof(word) - 1);
	vs_message_init();
	vs_message_print(word, word, NULL);
	read_all(ends[0]);
	assert_true(strlen(text) > 500 && strlen(text) < 2000);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_a_file_that_was_not_stderr_at_the_start_gets_nothing(void **state)
{
	int *ends = *state, other[2];

	vs_message_init();
	assert_int_equal(pipe2(other, O_NONBLOCK), 0);
	dup2(other[1], 2);
	vs_message_print("lost", NULL);
	assert_string_equal(read_all(other[0]), "");
	assert_string_equal(read_all(ends[0]), "");
	close(other[0]);
	close(other[1]);
}

static void test_a_full_pipe_is_not_waited_for(void **state)
{
	static char much[4096];
	int *ends = *state;

	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	vs_message_init();
	while (write(2, much, sizeof(much)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0); /* from here on writing would wait */
	errno = 4711;
	vs_message_print("no room", NULL);
	assert_int_equal(errno, 4711);
}

static void test_a_broken_pipe_kills_nobody(void **state)
{
	int *ends = *state;

	vs_message_init();
	close(ends[0]);
	errno = 4711;
	vs_message_print("nobody listens", NULL);
	assert_int_equal(errno, 4711);
	ends[0] = open("/dev/null", O_RDONLY);
}

static bool is_sigpipe_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

static void test_a_signal_of_the_program_s_own_is_neither_added_nor_taken(void **state)
{
	sigset_t pipe_set, old_set, now_set;
	int *ends = *state;

	vs_message_init();
	close(ends[0]);
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
	vs_message_print("nobody listens", NULL);
	assert_false(is_sigpipe_pending());
	raise(SIGPIPE);
	vs_message_print("nobody listens", NULL);
	assert_true(is_sigpipe_pending());
	/* And it is still the program that decides what is blocked. */
	pthread_sigmask(SIG_BLOCK, NULL, &now_set);
	assert_int_equal(sigismember(&now_set, SIGPIPE), 1);
	assert_int_equal(sigwaitinfo(&pipe_set, NULL), SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &old_set, NULL);
	vs_message_print("nobody listens", NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &now_set);
	assert_int_equal(sigismember(&now_set, SIGPIPE), 0);
	ends[0] = open("/dev/null", O_RDONLY);
}

static void test_where_there_was_no_stderr_nothing_is_written(void **state)
{
	int *ends = *state;

	close(2);
	vs_message_init();
	dup2(ends[1], 2); /* the program's next file */
	errno = 4711;
	vs_message_print("to nobody", NULL);
	assert_int_equal(errno, 4711);
	assert_string_equal(read_all(ends[0]), "");
}

static void test_a_posted_message_waits_for_somebody_to_print_it(void **state)
{
	int *ends = *state;

	vs_usual_begin(NULL);
	vs_message_init();
	vs_message_flush();
	assert_string_equal(read_all(ends[0]), "");
	assert_true(vs_usual_get() & VS_USUAL_SILENT);
	vs_message_post("old", NULL);
	vs_message_post("new", NULL);
	assert_string_equal(read_all(ends[0]), "");
	assert_false(vs_usual_get() & VS_USUAL_SILENT);
	/* A child has it, too, and begins with a new word. */
	vs_usual_begin(NULL);
	vs_message_begin_in_child();
	assert_false(vs_usual_get() & VS_USUAL_SILENT);
	errno = 4711;
	vs_message_flush();
	assert_int_equal(errno, 4711);
	assert_string_equal(read_all(ends[0]), "vramscope: new\n");
	assert_true(vs_usual_get() & VS_USUAL_SILENT);
	vs_message_flush();
	assert_string_equal(read_all(ends[0]), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_message_is_one_line_and_keeps_errno),
		TEST(test_a_long_message_is_cut_and_still_a_line),
		TEST(test_a_file_that_was_not_stderr_at_the_start_gets_nothing),
		TEST(test_a_full_pipe_is_not_waited_for),
		TEST(test_a_broken_pipe_kills_nobody),
		TEST(test_a_signal_of_the_program_s_own_is_neither_added_nor_taken),
		TEST(test_where_there_was_no_stderr_nothing_is_written),
		TEST(test_a_posted_message_waits_for_somebody_to_print_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
