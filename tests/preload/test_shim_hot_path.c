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

/* Says of the host what it says of itself: see host_hot_path.c. */
#define NR_ROUNDS 2000

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

static void test_what_was_seen_before_needs_no_memory_no_lock_and_no_system_call(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	SHIM_RUN(run, "host_hot_path");
	shim_run_assert_fine(run);
	assert_string_equal(run->out, "done\n");
	trace = shim_run_read(run, NULL);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr[VS_RECORD_ALLOC], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_FREE], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FREE], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_FAILED], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_PHASE_PUSH], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_PHASE_POP], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_STEP], NR_ROUNDS);
	assert_int_equal(trace->nr[VS_RECORD_MARK], NR_ROUNDS);
	free(trace);
}

static void assert_noticed(struct shim_run *run, const char *fault, int signal)
{
	SHIM_RUN(run, "host_hot_path", fault);
	assert_true(WIFSIGNALED(run->status));
	assert_int_equal(WTERMSIG(run->status), signal);
}

static void test_one_allocation_lock_or_system_call_would_be_noticed(void **state)
{
	assert_noticed(*state, "malloc", SIGILL);
	assert_noticed(*state, "lock", SIGILL);
	assert_noticed(*state, "call", SIGSYS);
}

/* Nothing of it is even linked: neither libc's allocator and locks, nor what is built on them. */
static void test_the_recorder_uses_neither_the_allocator_nor_locks_of_libc(void **state)
{
	static const char *const names[] = {"malloc", "calloc",         "realloc", "free",
					    "strdup", "posix_memalign", "fopen",   "fprintf",
					    "printf", "fputs",          "stderr",  "setenv",
					    "getenv", "opendir",        "dladdr",  "sem_wait"};
	char command[PATH_MAX + 64], line[256];
	FILE *nm;

	(void)state;
	snprintf(command, sizeof(command), "nm -D --undefined-only '%s'", getenv("VS_TEST_SHIM"));
	nm = popen(command, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		char *name = strrchr(line, ' ');

		assert_non_null(name++);
		name[strcspn(name, "@\n")] = '\0';
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strcmp(name, names[i]) == 0)
				fail_msg("uses %s", name);
		if (strncmp(name, "pthread_mutex_", 14) == 0 ||
		    strncmp(name, "pthread_rwlock_", 15) == 0 ||
		    strncmp(name, "pthread_cond_", 13) == 0 ||
		    strncmp(name, "pthread_spin_", 13) == 0)
			fail_msg("uses %s", name);
	}
	assert_int_equal(pclose(nm), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_seen_before_needs_no_memory_no_lock_and_no_system_call),
		TEST(test_one_allocation_lock_or_system_call_would_be_noticed),
		TEST(test_the_recorder_uses_neither_the_allocator_nor_locks_of_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
