#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim_run.h"

/* Others that stand in front of the program as well, and programs that nobody may stand in front
 * of. */

#define NAMES_MAX 4

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

/* The first of them that is installed, or NULL. */
static const char *find_file(const char *const *paths)
{
	for (; *paths; paths++)
		if (access(*paths, R_OK) == 0)
			return *paths;
	return NULL;
}

/* What the other one says on stderr is its own business. */
static void assert_unharmed(const struct shim_run *run)
{
	if (strstr(run->err, "vramscope:") || !WIFEXITED(run->status) ||
	    WEXITSTATUS(run->status) != 0)
		fail_msg("status %x, stderr: %s", (unsigned)run->status, run->err);
}

static void check_events(struct shim_run *run)
{
	struct shim_trace *trace;

	SHIM_RUN(run, "host_events", "blocks", "4", "20000");
	assert_unharmed(run);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_false(trace->is_damaged);
	assert_false(trace->is_out_of_order);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 80000);
	free(trace);
}

/* Behind us, in front of us, and then a program that forks, in this way. */
static void check_company(struct shim_run *run, const char *library, const char *forks)
{
	char names[16][NAME_MAX + 1];

	if (!library || SHIM_IS_ADDRESS_SANITIZED || SHIM_IS_THREAD_SANITIZED) {
		print_message("it is not installed, or a sanitizer wants no company\n");
		skip();
	}
	run->also_loaded = library;
	check_events(run);
	for (int i = 0; i < 2; i++) {
		shim_run_fini(run);
		shim_run_init(run);
		run->also_loaded = library;
		run->is_second = i == 0;
		if (i == 0) {
			check_events(run);
			continue;
		}
		run->is_parent = true;
		SHIM_RUN(run, "host_process", forks);
		assert_unharmed(run);
		assert_int_equal(shim_run_list(run, ".vscope", names, 16), 6);
	}
}

static void test_with_jemalloc_everything_works(void **state)
{
	static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
					    "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2",
					    "/usr/lib64/libjemalloc.so.2", NULL};

	check_company(*state, find_file(paths), "forks");
}

static void test_with_heaptrack_everything_works(void **state)
{
	static const char *const paths[] = {
		"/usr/lib/heaptrack/libheaptrack_preload.so",
		"/usr/lib/x86_64-linux-gnu/heaptrack/libheaptrack_preload.so",
		"/usr/lib64/heaptrack/libheaptrack_preload.so", NULL};

	/*
	 * Its own thread may hold its lock while another one forks, and nobody lets go of it in the
	 * child: that waits in heaptrack's handler of exit() for ever, with us or without.
	 */
	check_company(*state, find_file(paths), "forks-without-exit");
}

/* ---- Programs with more rights than their user ------------------------------------------------
 */

static bool copy_host(const struct shim_run *run, char path[2 * PATH_MAX])
{
	char command[4 * PATH_MAX];

	snprintf(path, 2 * PATH_MAX, "%s/privileged", run->dir);
	snprintf(command, sizeof(command), "cp '%s/host_events' '%s'", getenv("VS_TEST_HOSTS"),
		 path);
	return system(command) == 0 && chown(path, 65534, 65534) == 0 && chmod(path, 04755) == 0;
}

static void test_a_program_with_foreign_rights_is_left_alone(void **state)
{
	char path[2 * PATH_MAX], names[NAMES_MAX][NAME_MAX + 1];
	struct shim_run *run = *state;
	struct statvfs fs;

	if (getuid() != 0 || SHIM_IS_ADDRESS_SANITIZED || SHIM_IS_THREAD_SANITIZED) {
		print_message("only root can make one, and not with a sanitizer\n");
		skip();
	}
	assert_int_equal(statvfs(run->dir, &fs), 0);
	if (fs.f_flag & ST_NOSUID) {
		print_message("such a program cannot be made here\n");
		skip();
	}
	assert_true(copy_host(run, path));
	assert_int_equal(chmod(run->dir, 0777), 0); /* it could write there */
	run->program = path;
	SHIM_RUN(run, "host_events", "all");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "not profiled\n");
	assert_int_equal(shim_run_list(run, ".vscope", names, NAMES_MAX), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_with_jemalloc_everything_works),
		TEST(test_with_heaptrack_everything_works),
		TEST(test_a_program_with_foreign_rights_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
