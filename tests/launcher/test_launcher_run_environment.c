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

#include "captured_output.h"
#include "command.h"
#include "run_environment.h"
#include "scratch.h"

#define LIBRARY "/opt/lib/libvramscope.so"

/* What LD_PRELOAD becomes; before: NULL for not set. */
static const char *preload_before(const char *before)
{
	if (before)
		setenv("LD_PRELOAD", before, 1);
	else
		unsetenv("LD_PRELOAD");
	assert_int_equal(vs_run_environment_prepend("LD_PRELOAD", LIBRARY, ": "), 0);
	return getenv("LD_PRELOAD");
}

static void test_set_replaces_what_was_there(void **state)
{
	(void)state;
	assert_int_equal(vs_run_environment_set("VRAMSCOPE_TEST", "one"), 0);
	assert_string_equal(getenv("VRAMSCOPE_TEST"), "one");
	assert_int_equal(vs_run_environment_set("VRAMSCOPE_TEST", ""), 0);
	assert_string_equal(getenv("VRAMSCOPE_TEST"), "");
}

static void test_the_library_is_alone_where_nothing_was(void **state)
{
	(void)state;
	assert_string_equal(preload_before(NULL), LIBRARY);
	assert_string_equal(preload_before(""), LIBRARY);
}

static void test_the_list_of_the_user_stays_behind_it_as_it_was(void **state)
{
	static const char *const lists[] = {
		"/a/b.so", "/a/b.so:/c.so", "/a/b.so /c.so", " /a.so  :: /b.so :", ":", " ",
	};
	char expected[128];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(expected, sizeof(expected), LIBRARY ":%s", lists[i]);
		assert_string_equal(preload_before(lists[i]), expected);
	}
}

static void test_a_library_that_is_there_is_not_put_there_again(void **state)
{
	static const char *const lists[] = {
		LIBRARY,          LIBRARY ":/a.so",          "/a.so:" LIBRARY,
		"/a.so " LIBRARY, "/a.so " LIBRARY ":/b.so", ": " LIBRARY " :",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_string_equal(preload_before(lists[i]), lists[i]);
}

static void test_a_path_that_only_begins_or_ends_alike_is_another(void **state)
{
	static const char *const lists[] = {
		(LIBRARY ".1"),
		("/else" LIBRARY),
		"/opt/lib/libvramscope.s",
		"/opt/lib:libvramscope.so",
	};
	char expected[128];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(expected, sizeof(expected), LIBRARY ":%s", lists[i]);
		assert_string_equal(preload_before(lists[i]), expected);
	}
}

/* For LD_AUDIT a blank is part of the name. */
static void test_only_what_separates_for_the_linker_separates(void **state)
{
	(void)state;
	setenv("LD_AUDIT", "/x.so " LIBRARY, 1);
	assert_int_equal(vs_run_environment_prepend("LD_AUDIT", LIBRARY, ":"), 0);
	assert_string_equal(getenv("LD_AUDIT"), LIBRARY ":/x.so " LIBRARY);
	assert_int_equal(vs_run_environment_prepend("LD_AUDIT", "/with blank.so", ":"), 0);
	assert_string_equal(getenv("LD_AUDIT"), "/with blank.so:" LIBRARY ":/x.so " LIBRARY);
}

static void expect_refusal(const char *library, const char *separators, const char *text)
{
	int status;

	vs_capture_begin(STDERR_FILENO);
	status = vs_run_environment_prepend("LD_PRELOAD", library, separators);
	assert_string_equal(vs_capture_end(), text);
	assert_int_equal(status, VS_EXIT_FAILED);
}

static void test_a_path_that_cannot_be_named_is_refused_and_nothing_changed(void **state)
{
	(void)state;
	setenv("LD_PRELOAD", "/a.so", 1);
	expect_refusal("/my files/v.so", ": ",
		       "vramscope: /my files/v.so: LD_PRELOAD cannot name a path with a colon or a "
		       "blank\n");
	expect_refusal("/my:files/v.so", ":",
		       "vramscope: /my:files/v.so: LD_PRELOAD cannot name a path with a colon\n");
	assert_string_equal(getenv("LD_PRELOAD"), "/a.so");
}

static void test_a_very_long_list_stays_whole(void **state)
{
	enum {
		SIZE = 1 << 20
	};
	char *list = malloc(SIZE);
	const char *after;

	(void)state;
	assert_non_null(list);
	memset(list, 'x', SIZE - 1);
	list[SIZE - 1] = '\0';
	after = preload_before(list);
	assert_int_equal(strlen(after), strlen(LIBRARY) + 1 + SIZE - 1);
	assert_string_equal(after + strlen(LIBRARY) + 1, list);
	free(list);
}

static void test_an_absolute_path_is_taken_as_it_is(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(vs_run_environment_get_absolute(path, "/a/../b/./c"), 0);
	assert_string_equal(path, "/a/../b/./c");
}

static void test_a_relative_path_begins_where_we_are(void **state)
{
	char path[PATH_MAX], expected[PATH_MAX + 8];

	(void)state;
	assert_int_equal(vs_run_environment_get_absolute(path, "a/b"), 0);
	snprintf(expected, sizeof(expected), "%s/a/b", vs_scratch_path());
	assert_string_equal(path, expected);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(vs_run_environment_get_absolute(path, "a"), 0);
	assert_string_equal(path, "/a");
}

static void test_a_path_too_long_is_an_error(void **state)
{
	char path[PATH_MAX], given[PATH_MAX + 1];

	(void)state;
	memset(given, 'x', PATH_MAX);
	given[PATH_MAX] = '\0';
	given[0] = '/';
	assert_int_equal(vs_run_environment_get_absolute(path, given), -VS_ERR_INVALID);
	given[PATH_MAX - 1] = '\0';
	assert_int_equal(vs_run_environment_get_absolute(path, given), 0);
	/* Fits by itself, but not behind the folder. */
	given[0] = 'x';
	assert_int_equal(vs_run_environment_get_absolute(path, given), -VS_ERR_INVALID);
}

static void test_from_a_folder_that_is_gone_nothing_is_relative(void **state)
{
	char path[PATH_MAX], folder[PATH_MAX + 8];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/gone", vs_scratch_path());
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(vs_run_environment_get_absolute(path, "a"), -VS_ERR_INVALID);
	assert_int_equal(vs_run_environment_get_absolute(path, "/a"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vs_scratch_enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_set_replaces_what_was_there),
		TEST(test_the_library_is_alone_where_nothing_was),
		TEST(test_the_list_of_the_user_stays_behind_it_as_it_was),
		TEST(test_a_library_that_is_there_is_not_put_there_again),
		TEST(test_a_path_that_only_begins_or_ends_alike_is_another),
		TEST(test_only_what_separates_for_the_linker_separates),
		TEST(test_a_path_that_cannot_be_named_is_refused_and_nothing_changed),
		TEST(test_a_very_long_list_stays_whole),
		TEST(test_an_absolute_path_is_taken_as_it_is),
		TEST(test_a_relative_path_begins_where_we_are),
		TEST(test_a_path_too_long_is_an_error),
		TEST(test_from_a_folder_that_is_gone_nothing_is_relative),
	};

	return cmocka_run_group_tests_name("run_environment", tests, NULL, NULL);
}
