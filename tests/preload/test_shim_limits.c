#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim_run.h"

/* What a kernel, a shell or a sandbox may refuse. */

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

static void assert_nothing_left(const struct shim_run *run)
{
	char names[NAMES_MAX][NAME_MAX + 1];

	assert_int_equal(shim_run_list(run, ".vscope", names, NAMES_MAX), 0);
	assert_int_equal(shim_run_list(run, ".live", names, NAMES_MAX), 0);
	assert_false(shim_run_has_shared_log(run));
}

static void assert_done(const struct shim_run *run)
{
	if (!WIFEXITED(run->status) || WEXITSTATUS(run->status) != 0)
		fail_msg("status %x, stderr: %s", (unsigned)run->status, run->err);
	assert_string_equal(run->out, "done\n");
}

/* Nothing at all was said, or one line. */
static bool has_one_line(const struct shim_run *run)
{
	const char *end = strchr(run->err, '\n');

	if (!run->err[0])
		return false;
	if (strncmp(run->err, "vramscope: ", 11) != 0 || !end || end[1])
		fail_msg("not one line: %s", run->err);
	return true;
}

/* All blocks are in the trace, or counted as lost. */
static void assert_all_accounted(struct shim_run *run, uint64_t nr)
{
	struct shim_trace *trace = shim_run_read(run, NULL);

	assert_false(trace->is_damaged);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr_lost, nr);
	free(trace);
}

static void assert_all_there(struct shim_run *run, uint64_t nr, bool is_complete)
{
	struct shim_trace *trace = shim_run_read(run, NULL);

	assert_int_equal(trace->is_complete, is_complete);
	assert_false(trace->is_damaged);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], nr);
	free(trace);
}

static void set_limit(__rlimit_resource_t what, rlim_t value)
{
	const struct rlimit limit = {value, value};

	if (setrlimit(what, &limit) < 0)
		_exit(126);
}

/* ---- Sizes of files -------------------------------------------------------------------------- */

static void limit_to_16k(const struct shim_run *run)
{
	(void)run;
	set_limit(RLIMIT_FSIZE, 16384);
}

static void test_a_limit_too_small_for_the_log_is_said_once(void **state)
{
	struct shim_run *run = *state;

	run->prepare = limit_to_16k;
	SHIM_RUN(run, "host_disk", "noise", "1000");
	shim_run_assert_one_line(run, "cannot make the log");
	assert_non_null(strstr(run->err, "File too large"));
	assert_done(run);
	assert_nothing_left(run);
}

static void limit_to_1m(const struct shim_run *run)
{
	(void)run;
	set_limit(RLIMIT_FSIZE, 1 << 20);
}

static void test_a_limit_that_is_met_later_costs_events_and_nothing_else(void **state)
{
	struct shim_run *run = *state;

	run->prepare = limit_to_1m;
	SHIM_RUN(run, "host_disk", "fill-trace");
	shim_run_assert_one_line(run, "cannot be written (File too large)");
	assert_all_accounted(run, strtoul(run->out, NULL, 10));
}

static void test_a_limit_that_the_program_sets_itself_later_leaves_all_in_the_pair(void **state)
{
	struct shim_run *run = *state;

	SHIM_RUN(run, "host_limits", "small-files");
	shim_run_assert_one_line(run, "cannot be written (File too large)");
	assert_done(run);
	assert_all_there(run, 1000, false);
}

/* ---- System calls ---------------------------------------------------------------------------- */

#define SYSCALL_OFFSET      offsetof(struct seccomp_data, nr)
#define ARGUMENT_OFFSET(n)  (offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t))
#define LOAD(offset)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define ALLOW()             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(error)       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skip)

static void install(const struct sock_filter *filter, size_t nr)
{
	const struct sock_fprog program = {.len = (unsigned short)nr,
					   .filter = (struct sock_filter *)(uintptr_t)filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(126);
}

static void refuse(long number, int error)
{
	const struct sock_filter filter[] = {
		LOAD(SYSCALL_OFFSET),
		UNLESS(number, 1),
		REFUSE((uint32_t)error),
		ALLOW(),
	};

	install(filter, sizeof(filter) / sizeof(filter[0]));
}

/* A thread, but not a process: a host that has threads cannot live so. */
static void refuse_threads(const struct shim_run *run)
{
	const struct sock_filter filter[] = {
		LOAD(SYSCALL_OFFSET),
		UNLESS(SYS_clone, 4),
		LOAD(ARGUMENT_OFFSET(0)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		REFUSE(EAGAIN),
		ALLOW(),
		UNLESS(SYS_clone3, 1),
		REFUSE(ENOSYS), /* libc then takes the old one */
		ALLOW(),
	};

	(void)run;
	install(filter, sizeof(filter) / sizeof(filter[0]));
}

static void test_without_a_thread_the_end_writes_the_trace(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message("ThreadSanitizer needs a thread itself\n");
		skip();
	}
	run->prepare = refuse_threads;
	SHIM_RUN(run, "host_disk", "noise", "60000");
	shim_run_assert_one_line(run, "no thread can be had");
	assert_done(run);
	assert_all_there(run, 60000, true);
}

static void test_without_a_thread_what_the_log_cannot_hold_is_counted(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message("ThreadSanitizer needs a thread itself\n");
		skip();
	}
	run->prepare = refuse_threads;
	shim_run_add_env(run, "VRAMSCOPE_LOG_SIZE=1000000");
	SHIM_RUN(run, "host_disk", "noise", "60000");
	shim_run_assert_one_line(run, "no thread can be had");
	assert_done(run);
	assert_all_accounted(run, 60000);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_true(trace->nr_lost > 0);
	assert_int_equal(trace->nr_empty, 0);
	free(trace);
}

static void test_without_a_thread_a_limit_on_sizes_kills_nobody(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_THREAD_SANITIZED) {
		print_message("ThreadSanitizer needs a thread itself\n");
		skip();
	}
	run->prepare = refuse_threads;
	SHIM_RUN(run, "host_limits", "small-files");
	assert_done(run);
	assert_all_there(run, 1000, false);
}

/* As `ulimit -u`: counts processes of a user, and root's are not counted. */
static void be_one_too_many(const struct shim_run *run)
{
	if (chown(run->dir, 65534, 65534) < 0 || setgid(65534) < 0)
		_exit(77);
	set_limit(RLIMIT_NPROC, 0);
	if (setuid(65534) < 0)
		_exit(77);
}

static void test_a_limit_on_processes_costs_the_thread_and_nothing_else(void **state)
{
	struct shim_run *run = *state;

	if (getuid() != 0 || SHIM_IS_THREAD_SANITIZED) {
		print_message("only root can be somebody else, and not with ThreadSanitizer\n");
		skip();
	}
	run->prepare = be_one_too_many;
	SHIM_RUN(run, "host_disk", "noise", "1000");
	if (WIFEXITED(run->status) &&
	    (WEXITSTATUS(run->status) == 77 || WEXITSTATUS(run->status) == 127)) {
		print_message("nobody may not start our programs: they are somewhere private\n");
		skip();
	}
	shim_run_assert_one_line(run, "no thread can be had");
	assert_done(run);
	assert_all_there(run, 1000, true);
}

/* A quota for which no disk is needed: a write of some size fails, and so do pages for the log. */
static void refuse_large_writes(const struct shim_run *run)
{
	const struct sock_filter filter[] = {
		LOAD(SYSCALL_OFFSET),
		UNLESS(SYS_write, 4),
		LOAD(ARGUMENT_OFFSET(2)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 8192, 0, 1),
		REFUSE(EDQUOT),
		ALLOW(),
		ALLOW(),
	};

	(void)run;
	install(filter, sizeof(filter) / sizeof(filter[0]));
}

static void test_a_quota_costs_events_and_nothing_else(void **state)
{
	struct shim_run *run = *state;

	run->prepare = refuse_large_writes;
	shim_run_add_env(run, "VRAMSCOPE_LOG_SIZE=2000000");
	SHIM_RUN(run, "host_disk", "fill-trace");
	shim_run_assert_one_line(run, "cannot be written (Disk quota exceeded)");
	assert_all_accounted(run, strtoul(run->out, NULL, 10));
}

static void refuse_pages(const struct shim_run *run)
{
	(void)run;
	refuse(SYS_fallocate, EDQUOT);
}

static void test_a_quota_that_leaves_no_log_is_said_once(void **state)
{
	struct shim_run *run = *state;

	run->prepare = refuse_pages;
	SHIM_RUN(run, "host_disk", "noise", "1000");
	shim_run_assert_one_line(run, "cannot make the log");
	assert_non_null(strstr(run->err, "Disk quota exceeded"));
	assert_done(run);
	assert_nothing_left(run);
}

/* ---- Kernels that know less ------------------------------------------------------------------ */

static void refuse_barriers(const struct shim_run *run)
{
	(void)run;
	refuse(SYS_membarrier, ENOSYS);
}

static void test_where_the_kernel_has_no_barrier_the_order_is_right_all_the_same(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	run->prepare = refuse_barriers;
	SHIM_RUN(run, "host_events", "blocks", "4", "20000");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_false(trace->is_out_of_order);
	assert_int_equal(trace->nr_undefined, 0);
	free(trace);
	assert_all_there(run, 80000, true);
}

#ifdef SYS_close_range
static void refuse_own_files(const struct shim_run *run)
{
	(void)run;
	refuse(SYS_close_range, ENOSYS);
}

/* The program's table of files is ours, too: it closes all it finds. */
static void test_a_trace_that_the_program_closes_is_in_the_pair(void **state)
{
	struct shim_run *run = *state;

	run->prepare = refuse_own_files;
	SHIM_RUN(run, "host_files", "close-ours");
	shim_run_assert_one_line(run, "was closed by the program");
	assert_all_there(run, 50010, false);
}

static void test_a_table_of_files_in_common_does_not_hurt(void **state)
{
	struct shim_run *run = *state;

	run->prepare = refuse_own_files;
	SHIM_RUN(run, "host_disk", "noise", "50000");
	shim_run_assert_fine(run);
	assert_done(run);
	assert_all_there(run, 50000, true);
}
#endif

/* ---- Descriptors ----------------------------------------------------------------------------- */

static void test_without_descriptors_nothing_is_recorded_and_that_is_said_once(void **state)
{
	struct shim_run *run = *state;

	SHIM_RUN(run, "host_limits", "files", "0");
	shim_run_assert_one_line(run, "Too many open files");
	assert_done(run);
	assert_nothing_left(run);
}

static void test_with_few_descriptors_there_is_a_trace_or_a_line(void **state)
{
	static const char *const nrs[] = {"1", "2", "3", "4"};
	struct shim_run *run = *state;
	unsigned nr_recorded = 0;

	for (int i = 0; i < 4; i++) {
		shim_run_fini(run);
		shim_run_init(run);
		SHIM_RUN(run, "host_limits", "files", nrs[i]);
		assert_done(run);
		if (has_one_line(run)) {
			assert_nothing_left(run);
			continue;
		}
		assert_all_there(run, 1000, true);
		nr_recorded++;
	}
	assert_true(nr_recorded > 0); /* it does not take many */
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void test_with_few_addresses_there_is_a_trace_or_a_line(void **state)
{
	struct shim_run *run = *state;
	unsigned nr_recorded = 0, nr_said = 0;
	char left[24];

	if (SHIM_IS_ADDRESS_SANITIZED || SHIM_IS_THREAD_SANITIZED) {
		print_message("sanitizers need all the addresses there are\n");
		skip();
	}
	for (unsigned mib = 0; mib <= 90; mib += mib < 5 ? 1 : 2) {
		shim_run_fini(run);
		shim_run_init(run);
		snprintf(left, sizeof(left), "%u", mib << 20);
		SHIM_RUN(run, "host_limits", "addresses", left);
		assert_done(run);
		if (has_one_line(run) && strstr(run->err, "nothing is recorded")) {
			assert_nothing_left(run);
			nr_said++;
			continue;
		}
		assert_all_accounted(run, 1000);
		nr_recorded++;
	}
	assert_true(nr_recorded > 0);
	assert_true(nr_said > 0);
}

/* As `ulimit -v`, set before the program starts. */
static void limit_to_512m_of_addresses(const struct shim_run *run)
{
	(void)run;
	set_limit(RLIMIT_AS, 512 << 20);
}

static void test_a_limit_on_addresses_that_leaves_some_costs_nothing(void **state)
{
	struct shim_run *run = *state;

	if (SHIM_IS_ADDRESS_SANITIZED || SHIM_IS_THREAD_SANITIZED) {
		print_message("sanitizers need all the addresses there are\n");
		skip();
	}
	run->prepare = limit_to_512m_of_addresses;
	SHIM_RUN(run, "host_disk", "noise", "50000");
	shim_run_assert_fine(run);
	assert_all_there(run, 50000, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_limit_too_small_for_the_log_is_said_once),
		TEST(test_a_limit_that_is_met_later_costs_events_and_nothing_else),
		TEST(test_a_limit_that_the_program_sets_itself_later_leaves_all_in_the_pair),
		TEST(test_without_a_thread_the_end_writes_the_trace),
		TEST(test_without_a_thread_what_the_log_cannot_hold_is_counted),
		TEST(test_without_a_thread_a_limit_on_sizes_kills_nobody),
		TEST(test_a_limit_on_processes_costs_the_thread_and_nothing_else),
		TEST(test_a_quota_costs_events_and_nothing_else),
		TEST(test_a_quota_that_leaves_no_log_is_said_once),
		TEST(test_where_the_kernel_has_no_barrier_the_order_is_right_all_the_same),
#ifdef SYS_close_range
		TEST(test_a_trace_that_the_program_closes_is_in_the_pair),
		TEST(test_a_table_of_files_in_common_does_not_hurt),
#endif
		TEST(test_without_descriptors_nothing_is_recorded_and_that_is_said_once),
		TEST(test_with_few_descriptors_there_is_a_trace_or_a_line),
		TEST(test_with_few_addresses_there_is_a_trace_or_a_line),
		TEST(test_a_limit_on_addresses_that_leaves_some_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
