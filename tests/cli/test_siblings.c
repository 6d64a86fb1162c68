#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "siblings.h"
#include "trace_maker.h"

static struct vs_siblings siblings;

static int leave(void **state)
{
	vs_siblings_fini(&siblings);
	return vs_scratch_leave(state);
}

/* The process with the smaller number started earlier. */
static void make(const char *name, const char *run, uint64_t pid)
{
	const struct vs_trace_maker_plan plan = {
		.nr_allocs = 1, .run = run, .pid = pid, .parent = 1000 + pid, .start_ns = pid};

	assert_int_equal(vs_trace_maker_create(name, &plan), 0);
}

static void expect_siblings(const char *const *paths, size_t nr)
{
	assert_int_equal(siblings.nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_string_equal(siblings.list[i].path, paths[i]);
}

#define EXPECT(...)                                         \
	expect_siblings((const char *const[]){__VA_ARGS__}, \
			sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

/* ---- One run -------------------------------------------------------------------------------- */

static void test_traces_of_a_run_are_found_the_oldest_first(void **state)
{
	(void)state;
	make("b", "one", 3);
	make("c", "one", 1);
	make("a", "one", 2);
	make("d", "other", 4);
	make("e", NULL, 0);
	assert_int_equal(vs_siblings_find(&siblings, "a", "one"), 0);
	EXPECT("c", "a", "b");
	assert_int_equal(siblings.list[0].pid, 1);
	assert_int_equal(siblings.list[0].parent, 1001);
}

static void test_paths_begin_as_the_one_that_was_asked_for(void **state)
{
	char path[4096];

	(void)state;
	assert_int_equal(mkdir("sub", 0700), 0);
	make("sub/a", "one", 1);
	make("sub/b", "one", 2);
	make("c", "one", 3); /* another folder */
	assert_int_equal(vs_siblings_find(&siblings, "sub/b", "one"), 0);
	EXPECT("sub/a", "sub/b");
	vs_siblings_fini(&siblings);
	assert_int_equal(vs_siblings_find(&siblings, "./sub/../c", "one"), 0);
	EXPECT("./sub/../c");
	vs_siblings_fini(&siblings);
	snprintf(path, sizeof(path), "%.4000s/c", vs_scratch_path());
	assert_int_equal(vs_siblings_find(&siblings, path, "one"), 0);
	EXPECT(path);
}

static void test_whatever_else_is_in_the_folder_is_passed_over(void **state)
{
	(void)state;
	make("a", "one", 1);
	vs_scratch_write_text("letter", "Dear Anna,");
	vs_scratch_write_text("empty", "");
	vs_scratch_write_text("cut", "VSCOPE\r\n");
	vs_scratch_write_text("a.live", "VSLIVE\r\n");
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_int_equal(symlink("a", "again"), 0);
	assert_int_equal(vs_siblings_find(&siblings, "a", "one"), 0);
	assert_int_equal(siblings.nr, 1);
}

static void test_a_folder_that_is_not_there_has_no_traces(void **state)
{
	(void)state;
	assert_int_equal(vs_siblings_find(&siblings, "no/such/trace", "one"), 0);
	assert_int_equal(siblings.nr, 0);
}

static void test_a_name_is_compared_as_a_whole(void **state)
{
	(void)state;
	make("a", "4711.1", 1);
	make("b", "4711.12", 2);
	make("c", "", 3);
	assert_int_equal(vs_siblings_find(&siblings, "a", "4711.1"), 0);
	EXPECT("a");
}

/* ---- --run ---------------------------------------------------------------------------------- */

static void gather(struct vs_options *options, char **traces, size_t nr)
{
	*options = (struct vs_options){.traces = traces, .nr_traces = nr};
	assert_int_equal(vs_siblings_gather(&siblings, options), 0);
	assert_null(options->traces[options->nr_traces]);
}

static void test_traces_bring_their_siblings_once(void **state)
{
	char *traces[] = {"b", "a", "other", "lonely", "./a", NULL};
	struct vs_options options;

	(void)state;
	make("a", "one", 1);
	make("b", "one", 2);
	make("other", "two", 3);
	make("lonely", NULL, 0);
	gather(&options, traces, 5);
	assert_int_equal(options.nr_traces, 4);
	assert_string_equal(options.traces[0], "a");
	assert_string_equal(options.traces[1], "b");
	assert_string_equal(options.traces[2], "other");
	assert_string_equal(options.traces[3], "lonely");
}

/* Whoever opens it says what is wrong. */
static void test_what_cannot_be_read_stays_in_its_place(void **state)
{
	char *traces[] = {"missing", "letter", "a", "folder", NULL};
	struct vs_options options;

	(void)state;
	make("a", "one", 1);
	vs_scratch_write_text("letter", "Dear Anna,");
	assert_int_equal(mkdir("folder", 0700), 0);
	gather(&options, traces, 4);
	assert_int_equal(options.nr_traces, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(options.traces[i], traces[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, leave)
	const struct CMUnitTest tests[] = {
		TEST(test_traces_of_a_run_are_found_the_oldest_first),
		TEST(test_paths_begin_as_the_one_that_was_asked_for),
		TEST(test_whatever_else_is_in_the_folder_is_passed_over),
		TEST(test_a_folder_that_is_not_there_has_no_traces),
		TEST(test_a_name_is_compared_as_a_whole),
		TEST(test_traces_bring_their_siblings_once),
		TEST(test_what_cannot_be_read_stays_in_its_place),
	};

	return cmocka_run_group_tests_name("siblings", tests, NULL, NULL);
}
