#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lifecycle.h"

/*
 * The shim is part of this program: it has begun before main. Whatever is tried is tried in a
 * child, so that this process stays one that has recorded nothing. It runs in a folder of its own,
 * which is where the traces go.
 */

#define NR_THREADS 4

/* Removes every file in the folder; how many of them have a name with such an end. */
static unsigned clean_up(const char *end)
{
	DIR *files = opendir(".");
	struct dirent *entry;
	unsigned nr = 0;

	assert_non_null(files);
	while ((entry = readdir(files))) {
		size_t size = strlen(entry->d_name), end_size = strlen(end);

		if (entry->d_name[0] == '.')
			continue;
		nr += size >= end_size && strcmp(entry->d_name + size - end_size, end) == 0;
		unlinkat(dirfd(files), entry->d_name, 0);
	}
	closedir(files);
	return nr;
}

static int tear_down(void **state)
{
	(void)state;
	clean_up("");
	return 0;
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/*
 * In a child there is no cmocka: it says by its exit status which line it did not get past. Lines
 * are counted modulo 200, so that none is 0 or a shell's.
 */
#define CHECK(condition)                           \
	do {                                       \
		if (!(condition))                  \
			_exit(1 + __LINE__ % 200); \
	} while (0)

static void assert_child(pid_t (*make_child)(void), void (*live)(void))
{
	pid_t pid;
	int status;

	errno = 4711;
	pid = make_child();
	assert_true(pid >= 0);
	if (pid == 0) {
		live();
		_exit(0);
	}
	status = wait_for(pid);
	if (status)
		fail_msg("status %x: CHECK in a line L with 1 + L %% 200 == %d", (unsigned)status,
			 WEXITSTATUS(status));
}

/* ---- Start ----------------------------------------------------------------------------------- */

static void test_the_shim_has_begun_before_main(void **state)
{
	(void)state;
	assert_true(vs_lifecycle_is_begun());
	assert_true(vs_lifecycle_is_recording());
	assert_int_equal(vs_lifecycle_recording(), 1);
	assert_false(vs_lifecycle_is_open());
	assert_string_equal(vs_lifecycle_settings()->program, "test_preload_lifecycle");
	assert_null(vs_lifecycle_peek_log()); /* and looking makes none */
	assert_int_equal(clean_up(""), 0);
}

/* ---- Fork ------------------------------------------------------------------------------------ */

static void be_forked(void)
{
	CHECK(errno == 4711);
	CHECK(vs_lifecycle_is_begun());
	CHECK(vs_lifecycle_is_recording());
	CHECK(vs_lifecycle_recording() == 2);
	CHECK(!vs_lifecycle_peek_log());
}

static void test_a_forked_child_has_begun_with_a_recording_of_its_own(void **state)
{
	(void)state;
	assert_child(fork, be_forked);
	assert_int_equal(vs_lifecycle_recording(), 1);
}

static void be_a_grandchild(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(vs_lifecycle_recording() == 3);
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	CHECK(vs_lifecycle_recording() == 2);
}

static void test_each_generation_has_its_number(void **state)
{
	(void)state;
	assert_child(fork, be_a_grandchild);
}

static void be_cloned(void)
{
	CHECK(!vs_lifecycle_is_begun());
	errno = 4711;
	vs_lifecycle_begin();
	CHECK(errno == 4711);
	CHECK(vs_lifecycle_is_begun());
	CHECK(vs_lifecycle_is_recording());
	CHECK(vs_lifecycle_recording() == 2);
	CHECK(!vs_lifecycle_peek_log());
}

static void test_a_child_that_libc_did_not_make_finds_the_mark_empty(void **state)
{
	(void)state;
	assert_child(raw_fork, be_cloned);
	assert_true(vs_lifecycle_is_begun());
	assert_int_equal(vs_lifecycle_recording(), 1);
}

/* ---- The log --------------------------------------------------------------------------------- */

static unsigned count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned nr = 0;

	CHECK(tasks);
	while (readdir(tasks))
		nr++;
	closedir(tasks);
	return nr;
}

static void make_log(void)
{
	const void *log;

	errno = 4711;
	log = vs_lifecycle_get_log();
	CHECK(log);
	CHECK(vs_lifecycle_peek_log() == log);
	CHECK(vs_lifecycle_get_log() == log);
	CHECK(vs_lifecycle_is_recording());
	CHECK(vs_lifecycle_recording() == 2);
}

static void test_the_first_one_who_asks_makes_log_and_trace(void **state)
{
	(void)state;
	assert_child(fork, make_log);
	assert_null(vs_lifecycle_peek_log());
	assert_int_equal(clean_up(".vscope"), 1);
}

static void make_log_without_libc(void)
{
	vs_lifecycle_begin();
	make_log();
}

static void test_a_child_that_libc_did_not_make_can_have_a_log(void **state)
{
	(void)state;
	assert_child(raw_fork, make_log_without_libc);
	assert_int_equal(clean_up(".vscope"), 1);
}

static void fork_with_log(void)
{
	pid_t pid;

	make_log();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(!vs_lifecycle_peek_log());
		CHECK(vs_lifecycle_recording() == 3);
		CHECK(vs_lifecycle_get_log());
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	CHECK(vs_lifecycle_peek_log());
}

static void test_the_child_of_one_that_records_makes_its_own(void **state)
{
	(void)state;
	assert_child(fork, fork_with_log);
	assert_int_equal(clean_up(".vscope"), 2);
}

static pthread_barrier_t start;

static void *ask_for_log(void *argument)
{
	(void)argument;
	pthread_barrier_wait(&start);
	return vs_lifecycle_get_log();
}

static void ask_at_once(void)
{
	pthread_t threads[NR_THREADS];
	void *log;

	pthread_barrier_init(&start, NULL, NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, ask_for_log, NULL) == 0);
	for (int i = 0; i < NR_THREADS; i++) {
		CHECK(pthread_join(threads[i], &log) == 0);
		CHECK(log);
		CHECK(log == vs_lifecycle_peek_log());
	}
}

static void test_threads_that_ask_at_once_get_the_same(void **state)
{
	(void)state;
	assert_child(fork, ask_at_once);
	assert_int_equal(clean_up(".vscope"), 1);
}

/* ---- Without a thread ------------------------------------------------------------------------ */

static void do_without_thread(void)
{
	unsigned nr = count_threads();

	errno = 4711;
	vs_lifecycle_do_without_thread();
	CHECK(errno == 4711);
	make_log();
	CHECK(count_threads() == nr);
}

static void test_a_program_that_lost_its_first_thread_gets_none_of_ours(void **state)
{
	(void)state;
	assert_child(fork, do_without_thread);
	assert_int_equal(clean_up(".vscope"), 1);
}

static void part_with_thread(void)
{
	unsigned nr;
	const void *log;

	make_log();
	log = vs_lifecycle_peek_log();
	nr = count_threads();
	vs_lifecycle_do_without_thread();
	/* It has said that it is done, and may be in its last instructions. */
	for (int i = 0; i < 1000 && count_threads() == nr; i++)
		usleep(10000);
	CHECK(count_threads() == nr - 1);
	CHECK(vs_lifecycle_peek_log() == log);
	CHECK(vs_lifecycle_is_recording());
}

static void test_our_thread_goes_when_the_first_one_does_and_the_log_stays(void **state)
{
	(void)state;
	assert_child(fork, part_with_thread);
}

/* ---- Settings -------------------------------------------------------------------------------- */

/* This program once more, with a variable; the name is what it shall do: see main. */
static int run_self(const char *variable, const char *name)
{
	char *args[] = {"self", (char *)(uintptr_t)name, NULL};
	char *env[] = {(char *)(uintptr_t)variable, NULL};
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		execve("/proc/self/exe", args, env);
		_exit(127);
	}
	return wait_for(pid);
}

static void be_without_children(void)
{
	pid_t pid;

	CHECK(vs_lifecycle_is_recording());
	CHECK(vs_lifecycle_settings()->no_children);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(vs_lifecycle_is_begun());
		CHECK(!vs_lifecycle_is_recording());
		CHECK(!vs_lifecycle_get_log());
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	CHECK(vs_lifecycle_get_log());
}

static void test_children_are_silent_when_they_are_not_wanted(void **state)
{
	(void)state;
	assert_int_equal(run_self("VRAMSCOPE_CHILDREN=no", "children"), 0);
	assert_int_equal(clean_up(".vscope"), 1);
}

static void be_off(void)
{
	CHECK(vs_lifecycle_is_begun());
	CHECK(!vs_lifecycle_is_recording());
	CHECK(!vs_lifecycle_get_log());
	CHECK(!vs_lifecycle_peek_log());
}

static void test_a_program_that_such_a_child_becomes_is_silent_too(void **state)
{
	(void)state;
	/* Nobody here is number 1: it is another process that was to be recorded. */
	assert_int_equal(run_self("VRAMSCOPE_CHILDREN=no:1", "off"), 0);
	assert_int_equal(clean_up(""), 0);
}

static void fail_for_good(void)
{
	CHECK(vs_lifecycle_is_recording());
	close(2); /* it says why, but not here */
	CHECK(!vs_lifecycle_get_log());
	CHECK(!vs_lifecycle_peek_log());
	CHECK(!vs_lifecycle_is_recording());
	CHECK(!vs_lifecycle_get_log());
}

static void test_a_trace_that_cannot_be_made_is_tried_once(void **state)
{
	(void)state;
	assert_int_equal(run_self("VRAMSCOPE_OUTPUT=/nonexistent/trace", "fail"), 0);
	assert_int_equal(clean_up(""), 0);
}

static int run_all(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_shim_has_begun_before_main),
		TEST(test_a_forked_child_has_begun_with_a_recording_of_its_own),
		TEST(test_each_generation_has_its_number),
		TEST(test_a_child_that_libc_did_not_make_finds_the_mark_empty),
		TEST(test_the_first_one_who_asks_makes_log_and_trace),
		TEST(test_a_child_that_libc_did_not_make_can_have_a_log),
		TEST(test_the_child_of_one_that_records_makes_its_own),
		TEST(test_threads_that_ask_at_once_get_the_same),
		TEST(test_a_program_that_lost_its_first_thread_gets_none_of_ours),
		TEST(test_our_thread_goes_when_the_first_one_does_and_the_log_stays),
		TEST(test_children_are_silent_when_they_are_not_wanted),
		TEST(test_a_program_that_such_a_child_becomes_is_silent_too),
		TEST(test_a_trace_that_cannot_be_made_is_tried_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The settings are read before main: the folder must be the right one from the start. */
static int run_in_folder(char **argv)
{
	char dir[] = "/tmp/vramscope-test.XXXXXX";
	char *args[] = {argv[0], "tests", NULL};
	int status;
	pid_t pid;

	if (!mkdtemp(dir))
		return 1;
	pid = fork();
	if (pid == 0) {
		if (chdir(dir) == 0)
			execv("/proc/self/exe", args);
		_exit(127);
	}
	status = wait_for(pid);
	return rmdir(dir) < 0 || status != 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return run_in_folder(argv);
	if (strcmp(argv[1], "tests") == 0)
		return run_all();
	if (strcmp(argv[1], "children") == 0)
		be_without_children();
	else if (strcmp(argv[1], "off") == 0)
		be_off();
	else
		fail_for_good();
	return 0;
}
