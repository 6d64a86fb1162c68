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

#include <cmocka.h>

#include "captured_output.h"
#include "command.h"
#include "run_python.h"
#include "scratch.h"

static char libdir[PATH_MAX];

/* A folder with the hook in it. */
static void make_hook(const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(libdir, sizeof(libdir), "%s/%s", vs_scratch_path(), name);
	assert_int_equal(mkdir(libdir, 0777), 0);
	snprintf(path, sizeof(path), "%s/python", libdir);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof(path), "%s/python/sitecustomize.py", name);
	vs_scratch_write_text(path, "");
}

static void expect_path(const char *format)
{
	char expected[2 * PATH_MAX];

	snprintf(expected, sizeof(expected), format, libdir);
	assert_non_null(getenv("PYTHONPATH"));
	assert_string_equal(getenv("PYTHONPATH"), expected);
}

static void test_the_folder_is_in_front_of_the_user_s(void **state)
{
	(void)state;
	unsetenv("PYTHONPATH");
	make_hook("lib dir");
	assert_int_equal(vs_run_python_set_up(libdir), 0);
	expect_path("%s/python");
	setenv("PYTHONPATH", "/my own:/b", 1);
	assert_int_equal(vs_run_python_set_up(libdir), 0);
	assert_int_equal(vs_run_python_set_up(libdir), 0);
	expect_path("%s/python:/my own:/b");
}

static void test_without_the_hook_nothing_is_changed(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "/a", 1);
	assert_int_equal(vs_run_python_set_up(vs_scratch_path()), 0);
	assert_string_equal(getenv("PYTHONPATH"), "/a");
}

static void test_a_folder_that_cannot_be_named_is_said(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "/a", 1);
	make_hook("a:b");
	vs_capture_begin(STDERR_FILENO);
	assert_int_equal(vs_run_python_set_up(libdir), 0);
	assert_non_null(strstr(vs_capture_end(), "PYTHONPATH cannot name a path with a colon"));
	assert_string_equal(getenv("PYTHONPATH"), "/a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_folder_is_in_front_of_the_user_s,
						vs_scratch_enter, vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_without_the_hook_nothing_is_changed,
						vs_scratch_enter, vs_scratch_leave),
		cmocka_unit_test_setup_teardown(test_a_folder_that_cannot_be_named_is_said,
						vs_scratch_enter, vs_scratch_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
