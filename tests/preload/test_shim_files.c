#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim_run.h"

#define NAMES_MAX 16

static int set_up(void **state)
{
	static struct shim_run run;

	shim_run_init(&run);
	*state = &run;
	return 0;
}

static int tear_down(void **state)
{
	shim_run_fini(*state);
	return 0;
}

static void check_bad_place(struct shim_run *run, const char *output, const char *text)
{
	char names[NAMES_MAX][NAME_MAX + 1];

	shim_run_add_env(run, output);
	SHIM_RUN(run, "host_files", "blocks", "1000");
	shim_run_assert_one_line(run, text);
	assert_string_equal(run->out, "done\n");
	assert_int_equal(shim_run_list(run, ".live", names, NAMES_MAX), 0);
}

static void test_a_folder_that_is_not_there_is_said_once(void **state)
{
	check_bad_place(*state, "VRAMSCOPE_OUTPUT=/nonexistent/a.vscope",
			"cannot make the trace /nonexistent/a.vscope: No such file");
}

static void test_a_device_is_no_place_for_a_trace(void **state)
{
	struct stat before, after;

	assert_int_equal(stat("/dev", &before), 0);
	check_bad_place(*state, "VRAMSCOPE_OUTPUT=/dev/full", "/dev/full: File exists");
	assert_int_equal(stat("/dev", &after), 0);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
}

static void test_a_file_in_the_place_of_a_folder_is_said_once(void **state)
{
	check_bad_place(*state, "VRAMSCOPE_OUTPUT=/dev/null/a.vscope", "Not a directory");
}

/* Root writes everywhere. */
static void become_nobody(const struct shim_run *run)
{
	if (chmod(run->dir, 0555) < 0 || (getuid() == 0 && setuid(65534) < 0))
		_exit(126);
}

static void test_a_read_only_folder_is_said_once(void **state)
{
	struct shim_run *run = *state;

	run->prepare = become_nobody;
	check_bad_place(run, "VRAMSCOPE_STACK_DEPTH=10", "Permission denied");
}

static bool is_skipped(const struct shim_run *run)
{
	return WIFEXITED(run->status) && WEXITSTATUS(run->status) == 77;
}

static void be_without_proc(const struct shim_run *run)
{
	(void)run;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) < 0)
		_exit(77);
}

static void test_without_proc_everything_works(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	if (SHIM_IS_ADDRESS_SANITIZED || SHIM_IS_THREAD_SANITIZED) {
		print_message("sanitizers themselves need it to start\n");
		skip();
	}
	run->prepare = be_without_proc;
	SHIM_RUN(run, "host_files", "blocks", "1000");
	if (is_skipped(run)) {
		print_message("may not mount\n");
		skip();
	}
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 1000);
	assert_int_equal(trace->nr_empty, 0);
	free(trace);
}

static void test_the_program_neither_sees_nor_closes_our_descriptors(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;
	struct stat file;
	char path[2 * PATH_MAX];

	SHIM_RUN(run, "host_files", "descriptors");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "same\n");
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 50010);
	free(trace);
	snprintf(path, sizeof(path), "%s/mine", run->dir);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, 0);
}

static void test_a_pipe_that_the_program_closes_is_closed(void **state)
{
	SHIM_RUN((struct shim_run *)*state, "host_files", "pipes");
	shim_run_assert_fine(*state);
}

static void test_a_file_that_became_number_two_gets_no_message(void **state)
{
	struct shim_run *run = *state;

	shim_run_add_env(run, "VRAMSCOPE_OUTPUT=/nonexistent/a.vscope");
	SHIM_RUN(run, "host_files", "closed-stderr");
	shim_run_assert_fine(run);
}

static void test_a_broken_pipe_as_stderr_raises_no_signal(void **state)
{
	struct shim_run *run = *state;

	shim_run_add_env(run, "VRAMSCOPE_OUTPUT=/nonexistent/a.vscope");
	SHIM_RUN(run, "host_files", "broken-stderr");
	shim_run_assert_fine(run);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_folder_that_is_not_there_is_said_once),
		TEST(test_a_device_is_no_place_for_a_trace),
		TEST(test_a_file_in_the_place_of_a_folder_is_said_once),
		TEST(test_a_read_only_folder_is_said_once),
		TEST(test_without_proc_everything_works),
		TEST(test_the_program_neither_sees_nor_closes_our_descriptors),
		TEST(test_a_pipe_that_the_program_closes_is_closed),
		TEST(test_a_file_that_became_number_two_gets_no_message),
		TEST(test_a_broken_pipe_as_stderr_raises_no_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
