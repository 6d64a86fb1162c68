#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "options.h"

static const struct vs_option own_options[] = {
	{"output", 'o', "FILE", "where to"},
	{"quick", 'q', NULL, "do less"},
	{"cache", 0, "[=SIZE]", "use a cache"},
	{NULL, 0, NULL, NULL},
};

static const struct vs_command analysis = {
	.name = "test",
	.summary = "Test",
	.usage = "TRACE...",
	.takes = VS_TAKES_ANALYSIS,
	.options = own_options,
};

/* A command line, as a command gets it. */
#define WORDS(...) ((char *[]){"test", ##__VA_ARGS__, NULL})

static bool parse(struct vs_options *options, const struct vs_command *command, int *status,
		  char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	*status = -1;
	return vs_options_parse(options, command, argc, argv, status);
}

static void test_defaults_are_everything_and_nothing_special(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &analysis, &status, WORDS("a.vscope")));
	assert_false(options.json);
	assert_false(options.ascii);
	assert_int_equal(options.device, VS_OPTIONS_ANY_DEVICE);
	assert_int_equal(options.at, VS_AT_DEFAULT);
	assert_int_equal(options.from_ns, 0);
	assert_int_equal(options.to_ns, UINT64_MAX);
	assert_int_equal(options.top, 0);
	assert_true(options.width >= 40);
	assert_int_equal(options.nr_traces, 1);
	assert_string_equal(options.traces[0], "a.vscope");
	assert_null(options.traces[1]);
	for (size_t i = 0; i < VS_OPTIONS_MAX_OWN; i++)
		assert_null(options.own[i]);
}

static void test_options_and_traces_come_in_any_order(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(
		&options, &analysis, &status,
		WORDS("a", "--json", "--device", "3", "b", "--top=5", "--at=peak", "--", "--c")));
	assert_true(options.json);
	assert_int_equal(options.device, 3);
	assert_int_equal(options.top, 5);
	assert_int_equal(options.at, VS_AT_PEAK);
	assert_int_equal(options.nr_traces, 3);
	assert_string_equal(options.traces[0], "a");
	assert_string_equal(options.traces[1], "b");
	assert_string_equal(options.traces[2], "--c");
	assert_null(options.traces[3]);
}

static void test_own_options_have_their_places(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &analysis, &status, WORDS("-qofile", "--cache", "a")));
	assert_string_equal(options.own[0], "file");
	assert_string_equal(options.own[1], "");
	assert_string_equal(options.own[2], "");
	assert_int_equal(options.nr_traces, 1);
	assert_true(parse(&options, &analysis, &status, WORDS("-o", "--json", "--cache=8G", "a")));
	assert_string_equal(options.own[0], "--json"); /* a value, whatever it looks like */
	assert_string_equal(options.own[2], "8G");
	assert_false(options.json);
}

static void test_a_dash_alone_is_no_option(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &analysis, &status, WORDS("-")));
	assert_string_equal(options.traces[0], "-");
}

static void test_at_is_a_time_or_a_word(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &analysis, &status, WORDS("--at", "4m12s", "a")));
	assert_int_equal(options.at, VS_AT_TIME);
	assert_int_equal(options.at_ns, 252000000000);
	assert_true(parse(&options, &analysis, &status, WORDS("--at=oom", "a")));
	assert_int_equal(options.at, VS_AT_OOM);
	assert_true(parse(&options, &analysis, &status, WORDS("--at=end", "a")));
	assert_int_equal(options.at, VS_AT_END);
}

static void expect_mistake(const struct vs_command *command, const char *text, char **argv)
{
	struct vs_options options;
	char line[512];
	bool goes_on;
	int status;

	snprintf(line, sizeof(line), "vramscope: %s: %s (see: vramscope help %s)\n", command->name,
		 text, command->name);
	vs_capture_begin(STDERR_FILENO);
	goes_on = parse(&options, command, &status, argv);
	assert_string_equal(vs_capture_end(), line);
	assert_false(goes_on);
	assert_int_equal(status, VS_EXIT_USAGE);
}

static void test_mistakes_end_with_one_line_and_status_2(void **state)
{
	(void)state;
	expect_mistake(&analysis, "no trace given", WORDS());
	expect_mistake(&analysis, "no trace given", WORDS("--"));
	expect_mistake(&analysis, "no trace given", WORDS("--json"));
	expect_mistake(&analysis, "--top needs a value: N", WORDS("a", "--top"));
	expect_mistake(&analysis, "-o needs a value: FILE", WORDS("a", "-qo"));
	expect_mistake(&analysis, "--json takes no value", WORDS("--json=1", "a"));
	expect_mistake(&analysis, "--quick takes no value", WORDS("--quick=", "a"));
	expect_mistake(&analysis, "--from is later than --to", WORDS("--from=2", "--to=1", "a"));
	expect_mistake(&analysis, "--top: '' is not a number of rows", WORDS("--top=", "a"));
	expect_mistake(&analysis, "--top: '0' is not a number of rows", WORDS("--top", "0", "a"));
	expect_mistake(&analysis, "--device: '-1' is not the number of a device",
		       WORDS("--device=-1", "a"));
	expect_mistake(&analysis, "--color: 'blue' is not auto, always or never",
		       WORDS("--color=blue", "a"));
	/* The first of several is enough. */
	expect_mistake(&analysis, "unknown option -z", WORDS("-z", "--top=0"));
}

static void test_unknown_options_are_named_and_slips_guessed(void **state)
{
	char word[200] = "--", text[256];

	(void)state;
	expect_mistake(&analysis, "unknown option -z", WORDS("-z", "a"));
	expect_mistake(&analysis, "unknown option -z", WORDS("-qz", "a"));
	expect_mistake(&analysis, "unknown option --xyzzy", WORDS("--xyzzy=1", "a"));
	expect_mistake(&analysis, "unknown option --jsno, did you mean --json?", WORDS("--jsno"));
	expect_mistake(&analysis, "unknown option --devcie, did you mean --device?",
		       WORDS("--devcie=3", "a"));
	expect_mistake(&analysis, "unknown option --ouptut, did you mean --output?",
		       WORDS("--ouptut", "x"));
	/* Only in full: a beginning may become that of another option one day. */
	expect_mistake(&analysis, "unknown option --dev, did you mean --device?", WORDS("--dev=1"));
	memset(word + 2, 'x', sizeof(word) - 3);
	snprintf(text, sizeof(text), "unknown option %s", word);
	expect_mistake(&analysis, text, WORDS(word, "a"));
}

static void test_help_ends_with_success_whatever_follows(void **state)
{
	struct vs_options options;
	const char *said;
	bool goes_on;
	int status;

	(void)state;
	vs_capture_begin(STDOUT_FILENO);
	goes_on = parse(&options, &analysis, &status, WORDS("--help", "--no-such"));
	said = vs_capture_end();
	assert_non_null(strstr(said, "usage: vramscope test TRACE..."));
	assert_false(goes_on);
	assert_int_equal(status, VS_EXIT_DONE);
	vs_capture_begin(STDOUT_FILENO);
	goes_on = parse(&options, &analysis, &status, WORDS("-qh"));
	assert_string_not_equal(vs_capture_end(), "");
	assert_false(goes_on);
	assert_int_equal(status, VS_EXIT_DONE);
}

static void test_words_are_counted(void **state)
{
	const struct vs_command word = {
		.name = "word", .summary = "One", .usage = "", .takes = VS_TAKES_WORD};
	const struct vs_command none = {.name = "none", .summary = "None", .usage = ""};
	const struct vs_command launcher = {
		.name = "run", .summary = "Run", .usage = "", .takes = VS_TAKES_COMMAND};
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &word, &status, WORDS()));
	assert_true(parse(&options, &word, &status, WORDS("a")));
	expect_mistake(&word, "unexpected argument 'b'", WORDS("a", "b"));
	assert_true(parse(&options, &none, &status, WORDS()));
	expect_mistake(&none, "unexpected argument 'a'", WORDS("a"));
	expect_mistake(&launcher, "no program given", WORDS());
	expect_mistake(&launcher, "no program given", WORDS("--"));
}

static void test_command_has_only_what_it_takes(void **state)
{
	const struct vs_command small = {
		.name = "small", .summary = "Small", .usage = "TRACE", .takes = VS_TAKES_TRACE};
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &small, &status, WORDS("a")));
	expect_mistake(&small, "unknown option --json", WORDS("--json", "a"));
	expect_mistake(&small, "unknown option --run", WORDS("--run", "a"));
	expect_mistake(&small, "unexpected argument 'b'", WORDS("a", "b"));
}

static void test_first_word_ends_the_options_of_a_launcher(void **state)
{
	const struct vs_command launcher = {.name = "run",
					    .summary = "Run",
					    .usage = "",
					    .takes = VS_TAKES_COMMAND,
					    .options = own_options};
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &launcher, &status, WORDS("-q", "ls", "-q", "--", "--help")));
	assert_int_equal(options.nr_traces, 4);
	assert_string_equal(options.traces[0], "ls");
	assert_string_equal(options.traces[1], "-q");
	assert_string_equal(options.traces[2], "--");
	assert_string_equal(options.traces[3], "--help");
	assert_null(options.traces[4]);
}

static void test_color_is_decided_by_the_last_word(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_true(
		parse(&options, &analysis, &status, WORDS("--color=never", "--color=always", "a")));
	assert_true(options.color);
	assert_true(parse(&options, &analysis, &status, WORDS("--color", "never", "a")));
	assert_false(options.color);
}

static void test_width_is_that_of_the_environment(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	setenv("COLUMNS", "132", 1);
	assert_true(parse(&options, &analysis, &status, WORDS("a")));
	assert_int_equal(options.width, 132);
	unsetenv("COLUMNS");
}

static bool is_ascii_in(const char *name, const char *locale)
{
	struct vs_options options;
	int status;

	unsetenv("LC_ALL");
	unsetenv("LC_CTYPE");
	unsetenv("LANG");
	setenv(name, locale, 1);
	assert_true(parse(&options, &analysis, &status, WORDS("a")));
	unsetenv(name);
	return options.ascii;
}

static void test_signs_are_those_that_the_locale_has(void **state)
{
	(void)state;
	assert_true(is_ascii_in("LC_ALL", "de_DE.ISO-8859-1"));
	assert_true(is_ascii_in("LC_CTYPE", "ru_RU.KOI8-R"));
	assert_true(is_ascii_in("LANG", "ja_JP.eucJP"));
	assert_false(is_ascii_in("LANG", "en_US.UTF-8"));
	assert_false(is_ascii_in("LANG", "C.utf8"));
	assert_false(is_ascii_in("LANG", "sr_RS.utf8@latin"));
	/* They say nothing of the terminal. */
	assert_false(is_ascii_in("LC_ALL", "C"));
	assert_false(is_ascii_in("LANG", "POSIX"));
	assert_false(is_ascii_in("LANG", ""));
	/* The first that is set counts. */
	setenv("LANG", "de_DE.ISO-8859-1", 1);
	setenv("LC_ALL", "", 1);
	assert_false(is_ascii_in("LC_CTYPE", "de_DE.UTF-8"));
}

/* Below 40 columns nothing can be said. */
static void test_width_that_cannot_be_is_passed_over(void **state)
{
	static const char *const columns[] = {"nonsense", "", "0", "39", "-80", "10001", "8e1"};
	int file = open("/dev/null", O_WRONLY), saved = dup(STDOUT_FILENO);
	struct vs_options options;
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		setenv("COLUMNS", columns[i], 1);
		dup2(file, STDOUT_FILENO);
		status = parse(&options, &analysis, &status, WORDS("a"));
		dup2(saved, STDOUT_FILENO);
		assert_true(status);
		assert_int_equal(options.width, 100);
	}
	unsetenv("COLUMNS");
	close(file);
	close(saved);
}

static uint32_t get_width_on(int terminal, unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	int saved = dup(STDOUT_FILENO), status;
	struct vs_options options;

	unsetenv("COLUMNS");
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	dup2(terminal, STDOUT_FILENO);
	status = parse(&options, &analysis, &status, WORDS("a"));
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_true(status);
	return options.width;
}

static void test_width_is_that_of_the_terminal(void **state)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	(void)state;
	if (terminal < 0) {
		print_message("there is no terminal to be had\n");
		skip();
	}
	assert_int_equal(get_width_on(terminal, 77), 77);
	assert_int_equal(get_width_on(terminal, 20), 40);
	assert_int_equal(get_width_on(terminal, 0), 100);
	close(terminal);
}

static void test_times_are_read_as_people_write_them(void **state)
{
	static const struct {
		const char *text;
		uint64_t time_ns;
	} good[] = {
		{"0", 0},
		{"12", 12000000000},
		{"12.5", 12500000000},
		{"12.", 12000000000},
		{"0.000000001", 1},
		{"0.0000000019", 1},
		{"7ns", 7},
		{"7us", 7000},
		{"250ms", 250000000},
		{"1.5ms", 1500000},
		{"3s", 3000000000},
		{"4m12s", 252000000000},
		{"4m 12s", 252000000000},
		{"1h02m03.5s", 3723500000000},
		{"1.5h", 5400000000000},
		{"2s 5ms", 2005000000},
	};
	static const char *const bad[] = {
		"",        "s",    "-1",   "+1",   "1 ",   "1x",
		"1s1s",    "1s1m", "5m12", "12 5", "peak", "1e3",
		" 1",      "1..2", ".5",   "1,5",  "0x10", "99999999999999999999",
		"9999999h"};
	uint64_t time_ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(vs_options_parse_time(&time_ns, good[i].text), 0);
		assert_int_equal(time_ns, good[i].time_ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		time_ns = 4711;
		if (vs_options_parse_time(&time_ns, bad[i]) != -VS_ERR_INVALID)
			fail_msg("'%s' was taken for a time", bad[i]);
		assert_int_equal(time_ns, 4711);
	}
}

static void test_sizes_are_read_as_people_write_them(void **state)
{
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {
		{"0", 0},
		{"4711", 4711},
		{"4711B", 4711},
		{"8k", 8192},
		{"8K", 8192},
		{"512M", 512ull << 20},
		{"512MiB", 512ull << 20},
		{"512MB", 512ull << 20},
		{"1.5G", 3ull << 29},
		{"2T", 2ull << 40},
		{"0.5k", 512},
	};
	static const char *const bad[] = {"",    "G",   "8X",  "8GG", "8 G",
					  "-8G", "8Gi", "8iB", "1e9", "99999999T"};
	uint64_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(vs_options_parse_size(&size, good[i].text), 0);
		assert_int_equal(size, good[i].size);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size = 4711;
		if (vs_options_parse_size(&size, bad[i]) != -VS_ERR_INVALID)
			fail_msg("'%s' was taken for a size", bad[i]);
		assert_int_equal(size, 4711);
	}
}

static void test_numbers_have_bounds(void **state)
{
	uint64_t number = 4711;

	(void)state;
	assert_int_equal(vs_options_parse_number(&number, "7", 7, 9), 0);
	assert_int_equal(number, 7);
	assert_int_equal(vs_options_parse_number(&number, "9", 7, 9), 0);
	assert_int_equal(vs_options_parse_number(&number, "6", 7, 9), -VS_ERR_INVALID);
	assert_int_equal(vs_options_parse_number(&number, "10", 7, 9), -VS_ERR_INVALID);
	assert_int_equal(vs_options_parse_number(&number, "", 0, 9), -VS_ERR_INVALID);
	assert_int_equal(vs_options_parse_number(&number, "8 ", 0, 9), -VS_ERR_INVALID);
	assert_int_equal(vs_options_parse_number(&number, "18446744073709551616", 0, UINT64_MAX),
			 -VS_ERR_INVALID);
	assert_int_equal(vs_options_parse_number(&number, "18446744073709551615", 0, UINT64_MAX),
			 0);
	assert_int_equal(number, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_everything_and_nothing_special),
		cmocka_unit_test(test_options_and_traces_come_in_any_order),
		cmocka_unit_test(test_own_options_have_their_places),
		cmocka_unit_test(test_a_dash_alone_is_no_option),
		cmocka_unit_test(test_at_is_a_time_or_a_word),
		cmocka_unit_test(test_mistakes_end_with_one_line_and_status_2),
		cmocka_unit_test(test_unknown_options_are_named_and_slips_guessed),
		cmocka_unit_test(test_help_ends_with_success_whatever_follows),
		cmocka_unit_test(test_words_are_counted),
		cmocka_unit_test(test_command_has_only_what_it_takes),
		cmocka_unit_test(test_first_word_ends_the_options_of_a_launcher),
		cmocka_unit_test(test_color_is_decided_by_the_last_word),
		cmocka_unit_test(test_width_is_that_of_the_environment),
		cmocka_unit_test(test_signs_are_those_that_the_locale_has),
		cmocka_unit_test(test_width_that_cannot_be_is_passed_over),
		cmocka_unit_test(test_width_is_that_of_the_terminal),
		cmocka_unit_test(test_times_are_read_as_people_write_them),
		cmocka_unit_test(test_sizes_are_read_as_people_write_them),
		cmocka_unit_test(test_numbers_have_bounds),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
