#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "captured_output.h"
#include "run_traces.h"
#include "scratch.h"
#include "trace_maker.h"

static struct vs_run_traces traces;

static int enter(void **state)
{
	int err = vs_scratch_enter(state);

	unsetenv("VRAMSCOPE_RUN");
	unsetenv("VRAMSCOPE_INDEX");
	if (err || mkdir("tmp", 0700) || mkdir("here", 0700))
		return -1;
	setenv("TMPDIR", "tmp", 1);
	vs_run_traces_open(&traces);
	return chdir("here");
}

static int leave(void **state)
{
	vs_run_traces_close(&traces);
	return vs_scratch_leave(state);
}

/* What a recorder does: a trace here, and a line in the index. */
static void record(const char *name, uint32_t nr_allocs)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	const struct vs_trace_maker_plan plan = {.nr_allocs = nr_allocs, .zlib = &zlib};
	FILE *index = fopen(getenv("VRAMSCOPE_INDEX"), "a");

	assert_non_null(index);
	assert_int_equal(vs_trace_maker_create(name, &plan), 0);
	if (*name == '/')
		fprintf(index, "%s\n", name);
	else
		fprintf(index, "%s/here/%s\n", vs_scratch_path(), name);
	fclose(index);
}

static void expect_told(const char *expected)
{
	char line[4096];

	snprintf(line, sizeof(line), "vramscope: %s\n", expected);
	vs_capture_begin(STDERR_FILENO);
	vs_run_traces_tell(&traces, true);
	assert_string_equal(vs_capture_end(), line);
}

static void tell_silently(const struct vs_run_traces *inner)
{
	vs_capture_begin(STDERR_FILENO);
	vs_run_traces_tell(inner, true);
	vs_capture_end();
}

/* ---- The index ------------------------------------------------------------------------------ */

static void test_the_index_is_there_until_it_is_closed(void **state)
{
	char index[PATH_MAX];
	struct stat info;

	(void)state;
	assert_string_equal(getenv("VRAMSCOPE_INDEX"), traces.index);
	assert_int_equal(traces.index[0], '/');
	assert_int_equal(stat(traces.index, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	strcpy(index, traces.index);
	vs_run_traces_close(&traces);
	assert_int_equal(access(index, F_OK), -1);
	vs_run_traces_close(&traces);
}

/* A process that outlives the run must not make the file again, which nobody would remove. */
static void test_an_index_that_is_closed_cannot_be_made_again(void **state)
{
	char index[PATH_MAX];

	(void)state;
	strcpy(index, traces.index);
	vs_run_traces_close(&traces);
	assert_null(fopen(index, "a"));
	*strrchr(index, '/') = '\0';
	assert_int_equal(access(index, F_OK), -1);
}

static void test_without_a_folder_for_it_nothing_is_known(void **state)
{
	static const char *const folders[] = {"/proc", "/no/such/folder"};
	struct vs_run_traces other;

	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		setenv("TMPDIR", folders[i], 1);
		setenv("VRAMSCOPE_INDEX", "/of/another/run", 1);
		vs_run_traces_open(&other);
		assert_string_equal(other.index, "");
		/* Our traces do not go into that of another. */
		assert_null(getenv("VRAMSCOPE_INDEX"));
		vs_capture_begin(STDERR_FILENO);
		vs_run_traces_tell(&other, true);
		assert_string_equal(vs_capture_end(),
				    "vramscope: the folder for temporary files cannot be written, "
				    "so it is not known which traces there are\n");
		vs_run_traces_close(&other);
	}
}

static void test_an_index_that_was_removed_is_an_error(void **state)
{
	char line[2 * PATH_MAX];

	(void)state;
	assert_int_equal(unlink(traces.index), 0);
	snprintf(line, sizeof(line), "%s: No such file or directory", traces.index);
	expect_told(line);
}

static void test_each_run_has_a_name_but_the_users_stays(void **state)
{
	struct vs_run_traces other;
	char first[64];

	(void)state;
	snprintf(first, sizeof(first), "%s", getenv("VRAMSCOPE_RUN"));
	assert_int_equal(strtol(first, NULL, 10), getpid());
	/* A run within a run belongs to it. */
	setenv("TMPDIR", "../tmp", 1);
	vs_run_traces_open(&other);
	assert_string_equal(getenv("VRAMSCOPE_RUN"), first);
	vs_run_traces_close(&other);
	setenv("VRAMSCOPE_RUN", "", 1);
	vs_run_traces_open(&other);
	assert_string_not_equal(getenv("VRAMSCOPE_RUN"), "");
	assert_string_not_equal(getenv("VRAMSCOPE_RUN"), first);
	vs_run_traces_close(&other);
}

static void test_the_run_around_us_gets_our_traces(void **state)
{
	struct vs_run_traces inner;

	(void)state;
	record("outer", 1);
	setenv("TMPDIR", "../tmp", 1);
	vs_run_traces_open(&inner);
	record("inner one", 2);
	record("inner two", 3);
	tell_silently(&inner);
	vs_run_traces_close(&inner);
	expect_told("6 events in 3 traces; next: vramscope report outer 'inner one' 'inner two'");
}

static void test_a_run_around_us_that_has_ended_gets_nothing(void **state)
{
	struct vs_run_traces inner;
	char outer[PATH_MAX];

	(void)state;
	strcpy(outer, traces.index);
	setenv("TMPDIR", "../tmp", 1);
	vs_run_traces_open(&inner);
	vs_run_traces_close(&traces);
	record("trace", 1);
	tell_silently(&inner);
	vs_run_traces_close(&inner);
	assert_int_equal(access(outer, F_OK), -1);
}

/* ---- The line ------------------------------------------------------------------------------- */

static void test_without_any_trace_the_line_says_so(void **state)
{
	(void)state;
	expect_told("no CUDA call was seen, so nothing was recorded");
	vs_capture_begin(STDERR_FILENO);
	vs_run_traces_tell(&traces, false);
	assert_string_equal(vs_capture_end(), "vramscope: nothing was recorded\n");
}

/* A recorder that cannot make its trace says so itself; then CUDA was used. */
static void refuse(const char *path)
{
	FILE *index = fopen(getenv("VRAMSCOPE_INDEX"), "a");

	assert_non_null(index);
	fprintf(index, "!%s\n", path);
	fclose(index);
}

static void test_a_trace_that_could_not_be_made_is_no_lack_of_events(void **state)
{
	char path[PATH_MAX];

	(void)state;
	/* One of another run has the name, and stays. */
	vs_scratch_write_text("of another run", "text");
	snprintf(path, sizeof(path), "%.4000s/here/of another run", vs_scratch_path());
	refuse(path);
	expect_told("nothing was recorded: no trace could be made");
	record("mine", 1);
	expect_told("1 event in mine (not all could be made); next: vramscope report mine");
}

static void test_a_trace_and_its_events_are_named(void **state)
{
	(void)state;
	record("trace.vscope", 1);
	expect_told("1 event in trace.vscope; next: vramscope report trace.vscope");
	record("trace.vscope", 12345);
	expect_told("12 345 events in trace.vscope; next: vramscope report trace.vscope");
}

static void test_names_twice_and_traces_that_are_gone_do_not_count(void **state)
{
	(void)state;
	record("a", 1);
	record("gone", 5);
	record("a", 2);
	assert_int_equal(unlink("gone"), 0);
	expect_told("2 events in a; next: vramscope report a");
}

static void test_a_trace_that_cannot_be_read_is_named_all_the_same(void **state)
{
	(void)state;
	record("a", 1);
	record("b", 1);
	vs_scratch_write_text("b", "not a trace any more");
	expect_told("1 event in 2 traces; next: vramscope report a b");
}

static void test_names_can_be_typed_as_they_are_told(void **state)
{
	(void)state;
	record("it's mine; $x", 1);
	expect_told("1 event in 'it'\\''s mine; $x'; next: vramscope report 'it'\\''s mine; $x'");
}

static void test_a_name_is_not_told_like_an_option(void **state)
{
	(void)state;
	record("-x", 1);
	expect_told("1 event in ./-x; next: vramscope report ./-x");
}

static void test_paths_begin_here_only_if_they_are_here(void **state)
{
	char path[PATH_MAX], line[4 * PATH_MAX];

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	record("sub/trace", 1);
	expect_told("1 event in sub/trace; next: vramscope report sub/trace");
	assert_int_equal(unlink("sub/trace"), 0);
	/* Begins alike. */
	snprintf(path, sizeof(path), "%.4000s/hereafter", vs_scratch_path());
	record(path, 1);
	snprintf(line, sizeof(line), "1 event in %s; next: vramscope report %s", path, path);
	expect_told(line);
}

static void test_of_many_traces_the_largest_is_named(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		record(name, i == 4 ? 100 : 1);
	}
	expect_told(
		"108 events in 9 traces; next: vramscope report t4 (the largest; --run adds the "
		"others)");
	assert_int_equal(unlink("t8"), 0);
	expect_told("107 events in 8 traces; next: vramscope report t0 t1 t2 t3 t4 t5 t6 t7");
}

/* Of many events, not one is looked at: the trace says how many there are, damaged or not. */
static void test_many_events_are_not_read(void **state)
{
	struct stat info;
	FILE *file;

	(void)state;
	record("trace", 200000);
	assert_int_equal(stat("trace", &info), 0);
	file = fopen("trace", "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, (long)info.st_size / 2, SEEK_SET), 0);
	assert_int_equal(fwrite("damaged", 1, 7, file), 7);
	fclose(file);
	expect_told("200 000 events in trace; next: vramscope report trace");
}

/* The headers of its blocks are all that is read of it. */
static void test_of_a_large_trace_the_events_are_told(void **state)
{
	(void)state;
	record("trace", 200000);
	/* Behind its end. */
	assert_int_equal(truncate("trace", 70l << 20), 0);
	expect_told("200 000 events in trace; next: vramscope report trace");
}

/* One without an end has to be read to be counted, and nobody waits for that. */
static void test_of_a_large_trace_without_an_end_the_size_is_told(void **state)
{
	const struct vs_trace_maker_plan plan = {.nr_allocs = 1, .is_cut = true};

	(void)state;
	record("trace", 1);
	assert_int_equal(vs_trace_maker_create("trace", &plan), 0);
	assert_int_equal(truncate("trace", 70l << 20), 0);
	expect_told("70 MiB in trace; next: vramscope report trace");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
	const struct CMUnitTest tests[] = {
		TEST(test_the_index_is_there_until_it_is_closed),
		TEST(test_an_index_that_is_closed_cannot_be_made_again),
		TEST(test_without_a_folder_for_it_nothing_is_known),
		TEST(test_an_index_that_was_removed_is_an_error),
		TEST(test_each_run_has_a_name_but_the_users_stays),
		TEST(test_the_run_around_us_gets_our_traces),
		TEST(test_a_run_around_us_that_has_ended_gets_nothing),
		TEST(test_without_any_trace_the_line_says_so),
		TEST(test_a_trace_that_could_not_be_made_is_no_lack_of_events),
		TEST(test_a_trace_and_its_events_are_named),
		TEST(test_names_twice_and_traces_that_are_gone_do_not_count),
		TEST(test_a_trace_that_cannot_be_read_is_named_all_the_same),
		TEST(test_names_can_be_typed_as_they_are_told),
		TEST(test_a_name_is_not_told_like_an_option),
		TEST(test_paths_begin_here_only_if_they_are_here),
		TEST(test_of_many_traces_the_largest_is_named),
		TEST(test_many_events_are_not_read),
		TEST(test_of_a_large_trace_the_events_are_told),
		TEST(test_of_a_large_trace_without_an_end_the_size_is_told),
	};

	return cmocka_run_group_tests_name("run_traces", tests, NULL, NULL);
}
