#include <errno.h>
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

#include "captured_output.h"
#include "command.h"

static const struct vs_option own_options[] = {
	{"output", 'o', "FILE", "where to\nand how"},
	{"cache", 0, "[=SIZE]", "use a cache"},
	{"with-a-very-long-name", 0, "VALUE", "a line of its own"},
	{NULL, 0, NULL, NULL},
};

static const struct vs_command command = {
	.name = "test",
	.summary = "Test what there is",
	.usage = "[OPTION...] TRACE",
	.details = "The end.",
	.takes = VS_TAKES_JSON,
	.options = own_options,
};

static void test_an_error_is_one_line(void **state)
{
	int status;

	(void)state;
	vs_capture_begin(STDERR_FILENO);
	status = vs_command_fail("a trace", -VS_ERR_NO_MEMORY);
	vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
	assert_string_equal(vs_capture_end(), "vramscope: a trace: out of memory\n"
					      "vramscope: out of memory\n");
	assert_int_equal(status, VS_EXIT_FAILED);
}

static void test_an_error_of_the_system_is_told_in_its_words(void **state)
{
	(void)state;
	vs_capture_begin(STDERR_FILENO);
	errno = EISDIR;
	vs_command_fail("x", -VS_ERR_IO);
	/* Whatever errno says, it has nothing to do with this one. */
	errno = EISDIR;
	vs_command_fail("x", -VS_ERR_NO_MEMORY);
	errno = 0;
	vs_command_fail("x", -VS_ERR_IO);
	assert_string_equal(vs_capture_end(), "vramscope: x: Is a directory\n"
					      "vramscope: x: out of memory\n"
					      "vramscope: x: cannot be read or written\n");
}

static void test_own_words_are_formatted(void **state)
{
	int status;

	(void)state;
	vs_capture_begin(STDERR_FILENO);
	status = vs_command_fail_text("x", "%d of %s", 3, "100%");
	vs_command_note("100%s", "a %c%%", 'b');
	vs_command_note(NULL, "alone");
	assert_string_equal(vs_capture_end(), "vramscope: x: 3 of 100%\n"
					      "vramscope: 100%s: a b%\n"
					      "vramscope: alone\n");
	assert_int_equal(status, VS_EXIT_FAILED);
}

static void test_wrong_usage_says_where_help_is(void **state)
{
	int status;

	(void)state;
	vs_capture_begin(STDERR_FILENO);
	status = vs_command_fail_usage(&command, "what is '%s'?", "this");
	assert_string_equal(vs_capture_end(),
			    "vramscope: test: what is 'this'? (see: vramscope help test)\n");
	assert_int_equal(status, VS_EXIT_USAGE);
}

/* Cut, perhaps, but a line. */
static void test_the_longest_text_ends_with_a_newline(void **state)
{
	char *text = malloc(100001);
	const char *said;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 100000);
	text[100000] = '\0';
	vs_capture_begin(STDERR_FILENO);
	vs_command_note(text, "%s", text);
	said = vs_capture_end();
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	vs_capture_begin(STDERR_FILENO);
	vs_command_fail_usage(&command, "%s", text);
	said = vs_capture_end();
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	free(text);
}

/* On a terminal both streams are one. */
static void test_what_was_printed_before_comes_before(void **state)
{
	pid_t child;
	const char *said;

	(void)state;
	vs_capture_begin(STDERR_FILENO);
	child = fork();
	if (child == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		setvbuf(stdout, NULL, _IOFBF, 4096);
		printf("first\n");
		vs_command_note(NULL, "second");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	said = vs_capture_end();
	assert_string_equal(said, "first\nvramscope: second\n");
}

static void test_help_is_made_of_the_tables(void **state)
{
	int status;

	(void)state;
	vs_capture_begin(STDOUT_FILENO);
	status = vs_command_help(&command);
	assert_string_equal(vs_capture_end(), "usage: vramscope test [OPTION...] TRACE\n"
					      "\n"
					      "Test what there is.\n"
					      "\n"
					      "  -o, --output FILE     where to\n"
					      "                        and how\n"
					      "      --cache[=SIZE]    use a cache\n"
					      "      --with-a-very-long-name VALUE\n"
					      "                        a line of its own\n"
					      "      --json            JSON for machines\n"
					      "  -h, --help            this text\n"
					      "\n"
					      "The end.\n");
	assert_int_equal(status, VS_EXIT_DONE);
}

static void test_help_of_a_command_without_anything_is_short(void **state)
{
	const struct vs_command small = {.name = "small", .summary = "Be small", .usage = ""};

	(void)state;
	vs_capture_begin(STDOUT_FILENO);
	vs_command_help(&small);
	assert_string_equal(vs_capture_end(), "usage: vramscope small\n"
					      "\n"
					      "Be small.\n"
					      "\n"
					      "  -h, --help            this text\n");
}

static void test_commands_are_found_by_their_whole_name(void **state)
{
	(void)state;
	for (size_t i = 0; vs_command_list[i]; i++)
		assert_ptr_equal(vs_command_find(vs_command_list[i]->name), vs_command_list[i]);
	assert_ptr_equal(vs_command_find("run"), &vs_cmd_run);
	assert_null(vs_command_find("ru"));
	assert_null(vs_command_find("Run"));
	assert_null(vs_command_find("runs"));
	assert_null(vs_command_find(""));
}

static void test_each_command_can_be_told_and_run(void **state)
{
	(void)state;
	for (size_t i = 0; vs_command_list[i]; i++) {
		const struct vs_command *one = vs_command_list[i];

		assert_non_null(one->run);
		assert_non_null(one->usage);
		assert_true(strlen(one->summary) > 0);
		/* The help adds the full stop. */
		assert_int_not_equal(one->summary[strlen(one->summary) - 1], '.');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_error_is_one_line),
		cmocka_unit_test(test_an_error_of_the_system_is_told_in_its_words),
		cmocka_unit_test(test_own_words_are_formatted),
		cmocka_unit_test(test_wrong_usage_says_where_help_is),
		cmocka_unit_test(test_the_longest_text_ends_with_a_newline),
		cmocka_unit_test(test_what_was_printed_before_comes_before),
		cmocka_unit_test(test_help_is_made_of_the_tables),
		cmocka_unit_test(test_help_of_a_command_without_anything_is_short),
		cmocka_unit_test(test_commands_are_found_by_their_whole_name),
		cmocka_unit_test(test_each_command_can_be_told_and_run),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
