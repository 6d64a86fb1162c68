#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void test_mistakes_end_with_status_2(void **state)
{
	struct vs_options options;
	int status;

	(void)state;
	assert_false(parse(&options, &analysis, &status, WORDS()));
	assert_int_equal(status, VS_EXIT_USAGE);
	assert_false(parse(&options, &analysis, &status, WORDS("--no-such", "a")));
	assert_int_equal(status, VS_EXIT_USAGE);
	assert_false(parse(&options, &analysis, &status, WORDS("a", "--top")));
	assert_int_equal(status, VS_EXIT_USAGE);
	assert_false(parse(&options, &analysis, &status, WORDS("--json=1", "a")));
	assert_int_equal(status, VS_EXIT_USAGE);
	assert_false(parse(&options, &analysis, &status, WORDS("--from=2", "--to=1", "a")));
	assert_int_equal(status, VS_EXIT_USAGE);
	assert_false(parse(&options, &analysis, &status, WORDS("-z", "a")));
	assert_int_equal(status, VS_EXIT_USAGE);
}

static void test_command_has_only_what_it_takes(void **state)
{
	const struct vs_command small = {
		.name = "small", .summary = "Small", .usage = "TRACE", .takes = VS_TAKES_TRACE};
	struct vs_options options;
	int status;

	(void)state;
	assert_true(parse(&options, &small, &status, WORDS("a")));
	assert_false(parse(&options, &small, &status, WORDS("--json", "a")));
	assert_int_equal(status, VS_EXIT_USAGE);
	assert_false(parse(&options, &small, &status, WORDS("a", "b")));
	assert_int_equal(status, VS_EXIT_USAGE);
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
	setenv("COLUMNS", "nonsense", 1);
	assert_true(parse(&options, &analysis, &status, WORDS("a")));
	assert_true(options.width >= 40);
	unsetenv("COLUMNS");
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
		cmocka_unit_test(test_mistakes_end_with_status_2),
		cmocka_unit_test(test_command_has_only_what_it_takes),
		cmocka_unit_test(test_first_word_ends_the_options_of_a_launcher),
		cmocka_unit_test(test_color_is_decided_by_the_last_word),
		cmocka_unit_test(test_width_is_that_of_the_environment),
		cmocka_unit_test(test_times_are_read_as_people_write_them),
		cmocka_unit_test(test_sizes_are_read_as_people_write_them),
		cmocka_unit_test(test_numbers_have_bounds),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
