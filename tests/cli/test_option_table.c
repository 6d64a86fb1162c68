#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "option_table.h"
#include "scratch.h"

static const struct vs_shared_option *find(const char *name)
{
	for (size_t i = 0; vs_option_table[i].option.name; i++)
		if (!strcmp(vs_option_table[i].option.name, name))
			return &vs_option_table[i];
	fail_msg("there is no --%s", name);
	return NULL;
}

static int set(struct vs_options *options, const char *name, const char *value)
{
	return find(name)->set(options, value);
}

static void test_names_and_letters_are_there_once(void **state)
{
	(void)state;
	for (size_t i = 0; vs_option_table[i].option.name; i++) {
		assert_ptr_equal(find(vs_option_table[i].option.name), &vs_option_table[i]);
		for (size_t j = 0; j < i; j++)
			if (vs_option_table[i].option.letter)
				assert_int_not_equal(vs_option_table[i].option.letter,
						     vs_option_table[j].option.letter);
	}
}

/* An error message needs a word for what the value should have been. */
static void test_what_takes_a_value_says_of_which_kind(void **state)
{
	(void)state;
	for (size_t i = 0; vs_option_table[i].option.name; i++) {
		assert_non_null(vs_option_table[i].option.text);
		assert_int_equal(vs_option_table[i].option.value != NULL,
				 vs_option_table[i].kind != NULL);
	}
}

/* A command and the table may both use 'o'; the command's own would hide the other. */
static void test_no_command_has_an_option_of_its_own_under_a_shared_name(void **state)
{
	(void)state;
	for (size_t c = 0; vs_command_list[c]; c++) {
		const struct vs_command *command = vs_command_list[c];

		for (size_t i = 0; command->options && command->options[i].name; i++) {
			for (size_t j = 0; vs_option_table[j].option.name; j++) {
				const struct vs_shared_option *shared = &vs_option_table[j];

				if (shared->takes && !(command->takes & shared->takes))
					continue;
				assert_string_not_equal(command->options[i].name,
							shared->option.name);
				if (shared->option.letter)
					assert_int_not_equal(command->options[i].letter,
							     shared->option.letter);
			}
			assert_true(i < VS_OPTIONS_MAX_OWN);
		}
	}
}

static void test_switches_switch_on(void **state)
{
	struct vs_options options = {0};

	(void)state;
	assert_int_equal(set(&options, "json", NULL), 0);
	assert_int_equal(set(&options, "ascii", NULL), 0);
	assert_int_equal(set(&options, "run", NULL), 0);
	assert_true(options.json && options.ascii && options.run);
}

static void test_numbers_are_bounded_by_what_they_mean(void **state)
{
	struct vs_options options = {.device = 7, .top = 7};

	(void)state;
	/* The largest means any. */
	assert_int_equal(set(&options, "device", "4294967295"), -VS_ERR_INVALID);
	assert_int_equal(set(&options, "device", "-1"), -VS_ERR_INVALID);
	assert_int_equal(set(&options, "device", ""), -VS_ERR_INVALID);
	assert_int_equal(set(&options, "top", "0"), -VS_ERR_INVALID);
	assert_int_equal(options.device, 7);
	assert_int_equal(options.top, 7);
	assert_int_equal(set(&options, "device", "0"), 0);
	assert_int_equal(set(&options, "top", "1"), 0);
	assert_int_equal(options.device, 0);
	assert_int_equal(options.top, 1);
	assert_int_equal(set(&options, "device", "4294967294"), 0);
	assert_int_equal(options.device, 4294967294u);
}

static void test_at_is_untouched_by_what_it_is_not(void **state)
{
	static const char *const bad[] = {"", "Peak", "peak ", "noon", "-1", "1x", "ooms"};
	struct vs_options options = {.at = VS_AT_OOM, .at_ns = 5};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(set(&options, "at", bad[i]), -VS_ERR_INVALID);
	assert_int_equal(options.at, VS_AT_OOM);
	assert_int_equal(options.at_ns, 5);
	assert_int_equal(set(&options, "at", "0"), 0);
	assert_int_equal(options.at, VS_AT_TIME);
	assert_int_equal(options.at_ns, 0);
	assert_int_equal(set(&options, "at", "end"), 0);
	assert_int_equal(options.at, VS_AT_END);
}

static void test_the_range_is_two_times(void **state)
{
	struct vs_options options = {.to_ns = UINT64_MAX};

	(void)state;
	assert_int_equal(set(&options, "from", "1.5s"), 0);
	assert_int_equal(set(&options, "to", "2m"), 0);
	assert_int_equal(options.from_ns, 1500000000);
	assert_int_equal(options.to_ns, 120000000000);
	assert_int_equal(set(&options, "from", "peak"), -VS_ERR_INVALID);
	assert_int_equal(set(&options, "to", "end"), -VS_ERR_INVALID);
}

static void test_color_is_one_of_three_words(void **state)
{
	struct vs_options options = {.color = false};

	(void)state;
	assert_int_equal(set(&options, "color", "always"), 0);
	assert_true(options.color);
	assert_int_equal(set(&options, "color", "yes"), -VS_ERR_INVALID);
	assert_int_equal(set(&options, "color", ""), -VS_ERR_INVALID);
	assert_true(options.color);
	assert_int_equal(set(&options, "color", "never"), 0);
	assert_false(options.color);
}

/* Whether there is colour on stdout with these variables; NULL: not set. */
static bool wants_color(int fd, const char *term, const char *no_color)
{
	int saved = dup(STDOUT_FILENO);
	bool wants;

	if (term)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	if (no_color)
		setenv("NO_COLOR", no_color, 1);
	else
		unsetenv("NO_COLOR");
	dup2(fd, STDOUT_FILENO);
	wants = vs_option_table_wants_color(STDOUT_FILENO);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	return wants;
}

static void test_by_itself_there_is_color_on_terminals_that_can(void **state)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), file = open("/dev/null", O_WRONLY);

	(void)state;
	if (terminal < 0) {
		print_message("there is no terminal to be had\n");
		skip();
	}
	assert_true(wants_color(terminal, "xterm", NULL));
	assert_true(wants_color(terminal, "xterm", "")); /* no-color.org: not if empty */
	assert_false(wants_color(terminal, "xterm", "1"));
	assert_false(wants_color(terminal, "dumb", NULL));
	assert_false(wants_color(terminal, NULL, NULL));
	assert_false(wants_color(file, "xterm", NULL));
	close(terminal);
	close(file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_names_and_letters_are_there_once),
		TEST(test_what_takes_a_value_says_of_which_kind),
		TEST(test_no_command_has_an_option_of_its_own_under_a_shared_name),
		TEST(test_switches_switch_on),
		TEST(test_numbers_are_bounded_by_what_they_mean),
		TEST(test_at_is_untouched_by_what_it_is_not),
		TEST(test_the_range_is_two_times),
		TEST(test_color_is_one_of_three_words),
		TEST(test_by_itself_there_is_color_on_terminals_that_can),
	};

	return cmocka_run_group_tests_name("option_table", tests, NULL, NULL);
}
