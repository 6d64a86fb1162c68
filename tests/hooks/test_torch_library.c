/*
 * Which PyTorch it is, by the files beside its library. One release can be had in a process: each
 * case is a child.
 */
#include "torch_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooks_cmocka.h"
#include "torch_recorder.h"

#define TYPES "void*, int64, Device"
#define USAGE "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

/* A folder like a wheel's: the model's libraries, and a file that says what it is, or none. */
static void make_folder(char folder[], const char *file, const char *text)
{
	char path[200];
	FILE *out;

	strcpy(folder, "/tmp/vs-torch-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/lib", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/lib/libc10.so", folder);
	assert_int_equal(symlink(MODEL_TORCH "/torch/lib/libc10.so", path), 0);
	snprintf(path, sizeof(path), "%s/lib/libc10_cuda.so", folder);
	assert_int_equal(symlink(MODEL_TORCH "/torch/lib/libc10_cuda.so", path), 0);
	if (!file)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"lib/libc10.so", "lib/libc10_cuda.so", "lib",
					    "version.py", "build-version"};
	char path[200];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		if (strcmp(names[i], "lib") ? unlink(path) : rmdir(path))
			assert_int_equal(errno, ENOENT);
	}
	assert_int_equal(rmdir(folder), 0);
}

struct expected {
	const char *version; /* NULL: no fact */
	const char *blocks;
	bool is_wanted;
	unsigned nr_lines;
};

static unsigned count_lines(const char *text)
{
	unsigned nr = 0;

	for (; (text = strchr(text, '\n')); text++)
		nr++;
	return nr;
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* In a child: what was found out; its number is the line that was not met. */
static int look(const char *folder, const struct expected *expected)
{
	torch_recorder_load(folder);
	if (vs_torch_library_is_wanted())
		return 1; /* nobody has looked yet */
	errno = EINTR;
	vs_torch_library_learn(TYPES);
	vs_torch_library_learn(TYPES); /* says nothing twice */
	if (errno != EINTR)
		return 2;
	if (!is_equal(torch_recorder_get_fact("torch.version"), expected->version))
		return 3;
	if (!is_equal(torch_recorder_get_fact("torch.blocks"), expected->blocks))
		return 4;
	if (!is_equal(torch_recorder_get_fact("torch.hook"), TYPES))
		return 5;
	if (count_lines(torch_recorder_get_printed()) != 0)
		return 6; /* not before there is something to record */
	if (vs_torch_library_is_wanted() != expected->is_wanted ||
	    vs_torch_library_is_wanted() != expected->is_wanted)
		return 7;
	if (count_lines(torch_recorder_get_printed()) != expected->nr_lines)
		return 8;
	return 0;
}

static void assert_found(const char *file, const char *text, const struct expected *expected)
{
	char folder[64];
	pid_t child;
	int status;

	make_folder(folder, file, text);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(look(folder, expected));
	assert_int_equal(waitpid(child, &status, 0), child);
	remove_folder(folder);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_release(const char *version, bool is_known)
{
	struct expected expected = {version,
				    is_known ? "recorded" : "off: this release is not known",
				    is_known, is_known ? 0 : 1};
	char text[200];

	snprintf(text, sizeof(text),
		 "from typing import Optional\n\n__all__ = ['__version__', 'debug']\n"
		 "__version__ = '%s'\ndebug = False\n",
		 version);
	assert_found("version.py", text, &expected);
}

static void test_releases_from_1_13_to_2_15_are_known(void **state)
{
	(void)state;
	assert_release("1.13.0", true);
	assert_release("1.13.1+cu117", true);
	assert_release("2.0.1", true);
	assert_release("2.8.0+cu128", true);
	assert_release("2.15.0a0+git1234567", true);
}

static void test_others_are_left_alone_with_one_line(void **state)
{
	(void)state;
	assert_release("1.12.1", false);
	assert_release("0.4.1", false);
	assert_release("2.16.0", false);
	assert_release("3.0.0", false);
	assert_release("what", false);
}

static void test_libtorch_without_python_has_another_file(void **state)
{
	struct expected expected = {"2.8.0+cu128", "recorded", true, 0};

	(void)state;
	assert_found("build-version", "2.8.0+cu128\n", &expected);
}

static void test_without_any_file_it_is_recorded_and_not_checked(void **state)
{
	struct expected expected = {NULL, "recorded, version not checked", true, 0};

	(void)state;
	assert_found(NULL, NULL, &expected);
	assert_found("version.py", "nothing of the kind\n", &expected);
}

static void test_no_pools_says_so_and_prints_nothing(void **state)
{
	struct expected expected = {"3.1.0", "off: --no-pools", false, 0};

	(void)state;
	torch_recorder_settings.no_pools = true;
	assert_found("build-version", "3.1.0", &expected);
	torch_recorder_settings.no_pools = false;
}

static void test_a_function_is_found_in_its_library_whoever_calls(void **state)
{
	struct torch_model model;
	void *function;

	(void)state;
	assert_null(vs_torch_library_find(USAGE, (void *)(uintptr_t)&assert_release));
	model = torch_recorder_load(MODEL_TORCH "/torch");
	function = vs_torch_library_find(USAGE, (void *)(uintptr_t)&assert_release);
	assert_non_null(function);
	/* From libc10 itself, and from nowhere. */
	assert_ptr_equal(vs_torch_library_find(USAGE, (void *)(uintptr_t)model.report_host),
			 function);
	assert_ptr_equal(vs_torch_library_find(USAGE, NULL), function);
	assert_null(vs_torch_library_find("_ZN3c1012no_such_nameEv", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_releases_from_1_13_to_2_15_are_known),
		cmocka_unit_test(test_others_are_left_alone_with_one_line),
		cmocka_unit_test(test_libtorch_without_python_has_another_file),
		cmocka_unit_test(test_without_any_file_it_is_recorded_and_not_checked),
		cmocka_unit_test(test_no_pools_says_so_and_prints_nothing),
		cmocka_unit_test(test_a_function_is_found_in_its_library_whoever_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
