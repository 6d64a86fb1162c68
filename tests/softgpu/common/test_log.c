#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"

static char said[5000];

/* Parts are read once per process, so each of these runs in a child of its own. */
static void run_in_child(void (*speak)(void), const char *parts)
{
	int fds[2], status;
	size_t length = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* Standard output, too: nothing may appear there. */
		dup2(fds[1], STDERR_FILENO);
		dup2(fds[1], STDOUT_FILENO);
		if (parts)
			setenv("SOFTGPU_LOG", parts, 1);
		speak();
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], said + length, sizeof(said) - 1 - length)) > 0)
		length += (size_t)n;
	said[length] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void speak_number(void)
{
	sg_log_say("%s is %d", "this", 42);
}

static void speak_both_parts(void)
{
	sg_log_part(SG_LOG_MISSING, "m");
	sg_log_part(SG_LOG_LOOKUPS, "l");
}

static void speak_math(void)
{
	speak_both_parts();
	sg_log_part(SG_LOG_MATH, "f");
}

static void test_what_is_said_is_one_line_with_a_prefix(void **state)
{
	(void)state;
	run_in_child(speak_number, NULL);
	assert_string_equal(said, "softgpu: this is 42\n");
}

static void test_parts_are_silent_unless_asked_for(void **state)
{
	(void)state;
	run_in_child(speak_both_parts, NULL);
	assert_string_equal(said, "");
	run_in_child(speak_both_parts, "");
	assert_string_equal(said, "");
	run_in_child(speak_both_parts, "0");
	assert_string_equal(said, "");
}

static void test_parts_are_named_in_a_list(void **state)
{
	(void)state;
	run_in_child(speak_both_parts, "missing");
	assert_string_equal(said, "softgpu: m\n");
	run_in_child(speak_both_parts, "lookups");
	assert_string_equal(said, "softgpu: l\n");
	run_in_child(speak_both_parts, "lookups,missing");
	assert_string_equal(said, "softgpu: m\nsoftgpu: l\n");
	run_in_child(speak_math, "math");
	assert_string_equal(said, "softgpu: f\n");
	run_in_child(speak_math, "missing");
	assert_string_equal(said, "softgpu: m\n");
	run_in_child(speak_both_parts, "1"); /* any other value */
	assert_string_equal(said, "softgpu: m\n");
}

static void speak_long(void)
{
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sg_log_say("%s", text);
}

static void test_long_line_is_cut_and_still_a_line(void **state)
{
	(void)state;
	run_in_child(speak_long, NULL);
	assert_in_range(strlen(said), 500, 1024);
	assert_memory_equal(said, "softgpu: xxx", 12);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void speak_without_stderr(void)
{
	close(STDERR_FILENO);
	errno = 1234;
	sg_log_say("nobody hears this");
	if (errno != 1234)
		_exit(1);
}

static void test_errno_survives_a_closed_standard_error(void **state)
{
	(void)state;
	run_in_child(speak_without_stderr, NULL);
	assert_string_equal(said, "");
}

static void test_parts_go_to_the_file_that_is_named(void **state)
{
	char path[] = "/tmp/softgpu-test_log-XXXXXX", text[100] = "";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	setenv("SOFTGPU_LOG_FILE", path, 1);
	run_in_child(speak_both_parts, "missing");
	run_in_child(speak_both_parts, "lookups");
	assert_string_equal(said, "");
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "softgpu: m\nsoftgpu: l\n"); /* appended */

	/* A file that cannot be opened costs no line. */
	setenv("SOFTGPU_LOG_FILE", "/nowhere/at/all", 1);
	run_in_child(speak_both_parts, "missing");
	assert_string_equal(said, "softgpu: m\n");
	unsetenv("SOFTGPU_LOG_FILE");
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_said_is_one_line_with_a_prefix),
		cmocka_unit_test(test_parts_are_silent_unless_asked_for),
		cmocka_unit_test(test_parts_are_named_in_a_list),
		cmocka_unit_test(test_long_line_is_cut_and_still_a_line),
		cmocka_unit_test(test_errno_survives_a_closed_standard_error),
		cmocka_unit_test(test_parts_go_to_the_file_that_is_named),
	};

	unsetenv("SOFTGPU_LOG");
	unsetenv("SOFTGPU_LOG_FILE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
