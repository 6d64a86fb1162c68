#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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

#define NR_THREADS 8
#define CHILD      9

/* A child said its blocks, from 1 on, and nobody else's are there. */
static void check_child(const struct shim_trace *trace)
{
	uint64_t nr = trace->nr[VS_RECORD_BLOCK_ALLOC];

	assert_in_range(nr, 101, 105);
	for (uint64_t i = 1; i <= nr; i++)
		assert_int_equal(trace->seen[CHILD][i], 1);
	/* Odd ones called exit(), even ones _exit(). */
	assert_int_equal(trace->is_complete, (nr - 100) % 2);
	assert_int_equal(trace->used_log, !trace->is_complete);
}

static void check_parent(const struct shim_trace *trace, const unsigned long counts[NR_THREADS])
{
	uint64_t nr = 0;

	assert_true(trace->is_complete);
	for (unsigned thread = 0; thread < NR_THREADS; thread++) {
		nr += counts[thread];
		for (unsigned long i = 1; i <= counts[thread]; i++)
			assert_int_equal(trace->seen[thread][i], 1);
	}
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], nr);
}

static void read_counts(const struct shim_run *run, unsigned long counts[NR_THREADS])
{
	const char *next = run->out;
	char *end;

	for (unsigned i = 0; i < NR_THREADS; i++, next = end) {
		counts[i] = strtoul(next, &end, 10);
		assert_true(end > next);
	}
}

/* The parent's trace holds what the parent said, each child's what that child said. */
static void check_family(struct shim_run *run)
{
	char names[NAMES_MAX][NAME_MAX + 1];
	unsigned nr = shim_run_list(run, ".vscope", names, NAMES_MAX);
	unsigned nr_children = 0;
	unsigned long counts[NR_THREADS];

	read_counts(run, counts);
	assert_int_equal(nr, 6); /* one child said nothing */
	for (unsigned i = 0; i < nr; i++) {
		struct shim_trace *trace = shim_run_read(run, names[i]);

		assert_int_equal(trace->nr_lost, 0);
		assert_int_equal(trace->nr_undefined, 0);
		assert_int_equal(trace->nr_empty, 0);
		assert_int_equal(trace->nr_unplaced, 0);
		assert_false(trace->is_out_of_order);
		assert_false(trace->is_damaged);
		if (trace->seen[CHILD][1]) {
			nr_children++;
			check_child(trace);
		} else {
			check_parent(trace, counts);
		}
		free(trace);
	}
	assert_int_equal(nr_children, 5);
}

static void test_forked_children_have_traces_of_their_own(void **state)
{
	struct shim_run *run = *state;

	run->is_parent = true;
	SHIM_RUN(run, "host_process", "forks");
	shim_run_assert_fine(run);
	check_family(run);
}

/* What the thread knows its stacks by is still there, but their numbers are of another trace. */
static void test_a_child_that_goes_on_in_a_loop_defines_its_stacks_anew(void **state)
{
	struct shim_run *run = *state;
	char names[NAMES_MAX][NAME_MAX + 1];
	unsigned nr;

	run->is_parent = true;
	SHIM_RUN(run, "host_process", "forks-in-loop");
	shim_run_assert_fine(run);
	nr = shim_run_list(run, ".vscope", names, NAMES_MAX);
	assert_int_equal(nr, 2);
	for (unsigned i = 0; i < nr; i++) {
		struct shim_trace *trace = shim_run_read(run, names[i]);

		assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC],
				 trace->seen[CHILD][1] ? 100 : 400);
		assert_int_equal(trace->nr_undefined, 0);
		assert_int_equal(trace->nr_empty, 0);
		assert_int_equal(trace->nr_lost, 0);
		free(trace);
	}
}

static void test_children_that_libc_knows_nothing_of_do_not_touch_the_parents_trace(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message("ThreadSanitizer takes threads for alive that are not there\n");
		skip();
	}
	run->is_parent = true;
	SHIM_RUN(run, "host_process", "clones");
	shim_run_assert_fine(run);
	check_family(run);
}

/* The trace of the parent, and that of the child that became another program. */
static void check_vforks(struct shim_run *run, uint64_t nr_blocks)
{
	char names[NAMES_MAX][NAME_MAX + 1];
	unsigned nr = shim_run_list(run, ".vscope", names, NAMES_MAX), nr_parents = 0;

	shim_run_assert_fine(run);
	assert_int_equal(nr, 2);
	for (unsigned i = 0; i < nr; i++) {
		struct shim_trace *trace = shim_run_read(run, names[i]);

		assert_true(trace->is_complete);
		assert_int_equal(trace->nr_lost, 0);
		assert_int_equal(trace->nr_undefined, 0);
		if (trace->nr[VS_RECORD_BLOCK_ALLOC] != 10) {
			nr_parents++;
			assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], nr_blocks);
			assert_int_equal(trace->seen[0][1000], 1);
		}
		free(trace);
	}
	assert_int_equal(nr_parents, 1);
}

static void test_what_a_vforked_child_says_is_its_parents(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message("ThreadSanitizer makes a fork of it\n");
		skip();
	}
	SHIM_RUN(run, "host_process", "vforks");
	check_vforks(run, 1005);
}

/* Files and a thread that it made would be its own, and it is gone in a moment. */
static void test_a_vforked_child_opens_no_trace_in_the_place_of_its_parent(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message("ThreadSanitizer makes a fork of it\n");
		skip();
	}
	SHIM_RUN(run, "host_process", "vforks", "first");
	check_vforks(run, 1000);
}

static void test_children_no_records_the_first_process_only(void **state)
{
	struct shim_run *run = *state;
	unsigned long counts[NR_THREADS];
	struct shim_trace *trace;

	run->is_parent = true;
	shim_run_add_env(run, "VRAMSCOPE_CHILDREN=no");
	SHIM_RUN(run, "host_process", "forks");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	read_counts(run, counts);
	check_parent(trace, counts);
	free(trace);
}

static void test_each_exec_starts_a_trace_with_the_next_name(void **state)
{
	struct shim_run *run = *state;
	char names[NAMES_MAX][NAME_MAX + 1], name[NAME_MAX + 32];

	/* Also with CHILDREN=no: it is the same process. */
	shim_run_add_env(run, "VRAMSCOPE_CHILDREN=no");
	SHIM_RUN(run, "host_process", "execs", "2");
	shim_run_assert_fine(run);
	assert_int_equal(shim_run_list(run, ".vscope", names, NAMES_MAX), 1);
	for (unsigned i = 0; i < 3; i++) {
		struct shim_trace *trace;

		if (i == 0)
			snprintf(name, sizeof(name), "%s", names[0]);
		else
			snprintf(name, sizeof(name), "%s.%u", names[0], i);
		trace = shim_run_read(run, name);
		assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 12 - i);
		assert_int_equal(trace->is_complete, i == 2);
		free(trace);
	}
}

static void test_a_name_without_pid_goes_to_the_first_and_the_index_names_all(void **state)
{
	struct shim_run *run = *state;
	char names[NAMES_MAX][NAME_MAX + 1], path[2 * PATH_MAX], line[2 * PATH_MAX];
	unsigned nr_lines = 0, nr_first = 0;
	struct shim_trace *trace;
	FILE *index;

	run->is_parent = true;
	shim_run_add_env(run, "VRAMSCOPE_OUTPUT=family");
	shim_run_add_env(run, "VRAMSCOPE_INDEX=index");
	SHIM_RUN(run, "host_process", "forks");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, "family");
	assert_int_equal(trace->seen[0][1], 1);
	free(trace);
	assert_int_equal(shim_run_list(run, ".vscope", names, NAMES_MAX), 0);
	snprintf(path, sizeof(path), "%s/index", run->dir);
	index = fopen(path, "r");
	assert_non_null(index);
	snprintf(path, sizeof(path), "%s/family", run->dir);
	while (fgets(line, sizeof(line), index)) {
		nr_lines++;
		line[strcspn(line, "\n")] = '\0';
		nr_first += strcmp(line, path) == 0;
		assert_memory_equal(line, path, strlen(path));
		assert_true(shim_run_has_file(run, strrchr(line, '/') + 1));
	}
	fclose(index);
	assert_int_equal(nr_lines, 6);
	assert_int_equal(nr_first, 1);
}

static void check_end(struct shim_run *run, const char *how, bool is_complete)
{
	struct shim_trace *trace;

	SHIM_RUN(run, "host_process", "ends", how, "1000");
	assert_string_equal(run->err, "");
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->is_complete, is_complete);
	assert_int_equal(trace->used_log, !is_complete);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 1000);
	assert_int_equal(trace->nr_lost, 0);
	assert_false(trace->is_damaged);
	free(trace);
}

static void test_exit_completes_the_trace_and_removes_the_log(void **state)
{
	struct shim_run *run = *state;
	char names[NAMES_MAX][NAME_MAX + 1];

	check_end(run, "exit", true);
	assert_true(WIFEXITED(run->status) && WEXITSTATUS(run->status) == 3);
	assert_int_equal(shim_run_list(run, ".live", names, NAMES_MAX), 0);
}

static void test_the_last_thread_to_end_completes_the_trace(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message(
			"ThreadSanitizer's own thread keeps the process alive, with us or without\n");
		skip();
	}
	/* The drain is a thread, too: it must not keep the process alive. */
	check_end(run, "thread", true);
	assert_true(WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0);
}

static void test__exit_leaves_everything_in_the_pair(void **state)
{
	struct shim_run *run = *state;

	check_end(run, "_exit", false);
	assert_true(WIFEXITED(run->status) && WEXITSTATUS(run->status) == 3);
}

static void test_quick_exit_leaves_everything_in_the_pair(void **state)
{
	check_end(*state, "quick_exit", false);
}

static void test_abort_leaves_everything_in_the_pair(void **state)
{
	struct shim_run *run = *state;

	check_end(run, "abort", false);
	assert_true(WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGABRT);
}

static void test_a_crash_leaves_everything_in_the_pair(void **state)
{
	struct shim_run *run = *state;

	check_end(run, "segv", false);
	assert_true(WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGSEGV);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_forked_children_have_traces_of_their_own),
		TEST(test_a_child_that_goes_on_in_a_loop_defines_its_stacks_anew),
		TEST(test_children_that_libc_knows_nothing_of_do_not_touch_the_parents_trace),
		TEST(test_what_a_vforked_child_says_is_its_parents),
		TEST(test_a_vforked_child_opens_no_trace_in_the_place_of_its_parent),
		TEST(test_children_no_records_the_first_process_only),
		TEST(test_each_exec_starts_a_trace_with_the_next_name),
		TEST(test_a_name_without_pid_goes_to_the_first_and_the_index_names_all),
		TEST(test_exit_completes_the_trace_and_removes_the_log),
		TEST(test_the_last_thread_to_end_completes_the_trace),
		TEST(test__exit_leaves_everything_in_the_pair),
		TEST(test_quick_exit_leaves_everything_in_the_pair),
		TEST(test_abort_leaves_everything_in_the_pair),
		TEST(test_a_crash_leaves_everything_in_the_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
