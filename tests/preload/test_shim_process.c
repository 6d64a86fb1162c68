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

/* The parent's trace holds what the parent said, each child's what that child said. */
static void check_family(struct shim_run *run, bool have_children_stacks)
{
	unsigned long nr_parent = strtoul(run->out, NULL, 10);
	char names[NAMES_MAX][NAME_MAX + 1];
	unsigned nr = shim_run_list(run, ".vscope", names, NAMES_MAX);
	unsigned nr_children = 0, nr_parents = 0;

	assert_int_equal(nr, 6); /* one child said nothing */
	for (unsigned i = 0; i < nr; i++) {
		struct shim_trace *trace = shim_run_read(run, names[i]);
		uint64_t nr_blocks = trace->nr[VS_RECORD_BLOCK_ALLOC];

		assert_int_equal(trace->nr_lost, 0);
		assert_int_equal(trace->nr_undefined, 0);
		assert_false(trace->is_out_of_order);
		assert_false(trace->is_damaged);
		if (trace->seen[2][1]) {
			nr_children++;
			assert_in_range(nr_blocks, 101, 105);
			assert_int_equal(trace->nr_empty, have_children_stacks ? 0 : nr_blocks);
			for (unsigned j = 1; j <= nr_blocks; j++)
				assert_int_equal(trace->seen[2][j], 1);
			/* Odd ones called exit(), even ones _exit(). */
			assert_int_equal(trace->is_complete, (nr_blocks - 100) % 2);
			assert_int_equal(trace->used_log, !trace->is_complete);
		} else {
			nr_parents++;
			assert_true(trace->is_complete);
			assert_int_equal(nr_blocks, nr_parent);
			assert_int_equal(trace->nr_empty, 0);
			for (unsigned j = 1; j <= nr_parent; j++)
				assert_int_equal(trace->seen[1][j], 1);
		}
		free(trace);
	}
	assert_int_equal(nr_children, 5);
	assert_int_equal(nr_parents, 1);
}

static void test_forked_children_have_traces_of_their_own(void **state)
{
	SHIM_RUN((struct shim_run *)*state, "host_process", "forks");
	shim_run_assert_fine(*state);
	check_family(*state, true);
}

static void test_children_that_libc_knows_nothing_of_do_not_touch_the_parents_trace(void **state)
{
	SHIM_RUN((struct shim_run *)*state, "host_process", "clones");
	shim_run_assert_fine(*state);
	check_family(*state, false); /* an unwinder may be locked for good */
}

static void test_children_no_records_the_first_process_only(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	shim_run_add_env(run, "VRAMSCOPE_CHILDREN=no");
	SHIM_RUN(run, "host_process", "forks");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], strtoul(run->out, NULL, 10));
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

	shim_run_add_env(run, "VRAMSCOPE_OUTPUT=family");
	shim_run_add_env(run, "VRAMSCOPE_INDEX=index");
	SHIM_RUN(run, "host_process", "forks");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, "family");
	assert_int_equal(trace->seen[1][1], 1);
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
		TEST(test_children_that_libc_knows_nothing_of_do_not_touch_the_parents_trace),
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
