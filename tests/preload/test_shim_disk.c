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

/* A real disk of a few pages, a real program that fills it. */

#define NAMES_MAX 16

/* The log takes 8 MiB of it at the start, and has room for 170,000 events. */
#define ROOMY "size=20m"

/* It takes less than half of it, and has room for 20,000. */
#define TIGHT "size=2m"

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

static void mount_or_skip(struct shim_run *run, const char *options)
{
	if (!shim_run_mount(run, options)) {
		print_message("may not mount\n");
		skip();
	}
}

/* Numbers first to last of a thread's blocks are there. */
static void assert_has(const struct shim_trace *trace, unsigned thread, unsigned last)
{
	for (unsigned i = 1; i <= last && i < SHIM_NR_EVENTS; i++)
		assert_int_equal(trace->seen[thread][i], 1);
}

static void assert_sound(const struct shim_trace *trace)
{
	assert_false(trace->is_damaged);
	assert_false(trace->is_out_of_order);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_true(trace->nr_told <= trace->nr_lost);
}

/* ---- Before the start ------------------------------------------------------------------------ */

static void assert_nothing_left(const struct shim_run *run)
{
	char names[NAMES_MAX][NAME_MAX + 1];

	assert_int_equal(shim_run_list(run, ".vscope", names, NAMES_MAX), 0);
	assert_int_equal(shim_run_list(run, ".live", names, NAMES_MAX), 0);
	assert_false(shim_run_has_shared_log(run));
}

static void test_a_disk_that_was_full_before_is_said_once(void **state)
{
	struct shim_run *run = *state;

	mount_or_skip(run, TIGHT);
	SHIM_RUN(run, "host_disk", "stay-full", "0", "1000");
	shim_run_assert_one_line(run, "nothing is recorded: cannot write the trace");
	assert_non_null(strstr(run->err, "No space left on device"));
	assert_string_equal(run->out, "done\n");
	assert_nothing_left(run);
}

static void test_a_read_only_disk_is_said_once(void **state)
{
	struct shim_run *run = *state;

	mount_or_skip(run, TIGHT);
	assert_int_equal(mount("none", run->dir, NULL, MS_REMOUNT | MS_RDONLY, TIGHT), 0);
	SHIM_RUN(run, "host_disk", "noise", "1000");
	shim_run_assert_one_line(run, "cannot make the trace");
	assert_non_null(strstr(run->err, "Read-only file system"));
	assert_string_equal(run->out, "done\n");
	assert_nothing_left(run);
}

static void test_a_log_that_does_not_fit_is_kept_in_memory(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	mount_or_skip(run, "size=300k");
	SHIM_RUN(run, "host_disk", "noise", "2000");
	shim_run_assert_fine(run);
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_memory_equal(trace->info_live, "/dev/shm/", 9);
	assert_int_equal(trace->nr_lost, 0);
	assert_has(trace, 0, 2000);
	assert_sound(trace);
	assert_false(shim_run_has_shared_log(run));
	free(trace);
}

static void test_a_log_in_memory_is_found_after_the_end(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	mount_or_skip(run, "size=300k");
	SHIM_RUN(run, "host_process", "ends", "_exit", "1000");
	trace = shim_run_read(run, NULL);
	assert_false(trace->is_complete);
	assert_true(trace->used_log);
	assert_true(shim_run_has_shared_log(run));
	assert_has(trace, 0, 1000);
	assert_sound(trace);
	assert_int_equal(unlink(trace->info_live), 0);
	free(trace);
}

/* ---- After the start ------------------------------------------------------------------------- */

static struct shim_trace *run_full(struct shim_run *run, const char *disk, const char *nr)
{
	mount_or_skip(run, disk);
	SHIM_RUN(run, "host_disk", "stay-full", "1000", nr);
	shim_run_assert_one_line(run, "cannot be written (No space left on device)");
	assert_string_equal(run->out, "done\n");
	return shim_run_read(run, NULL);
}

static void test_what_a_full_disk_does_not_take_is_in_the_log(void **state)
{
	struct shim_trace *trace = run_full(*state, ROOMY, "120000");

	assert_false(trace->is_complete);
	assert_true(trace->used_log);
	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC], 121000);
	assert_sound(trace);
	free(trace);
}

static void test_what_fits_into_neither_is_counted(void **state)
{
	struct shim_trace *trace = run_full(*state, TIGHT, "300000");

	assert_false(trace->is_complete);
	assert_true(trace->nr_lost > 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr_lost, 301000);
	assert_has(trace, 0, 1000);
	assert_has(trace, 1, 1000);
	assert_sound(trace);
	free(trace);
}

/* Noise enough for the disk itself to fill, by nobody but us. */
static void test_a_disk_that_the_trace_itself_fills_costs_events_and_nothing_else(void **state)
{
	struct shim_run *run = *state;
	struct shim_trace *trace;

	mount_or_skip(run, TIGHT);
	SHIM_RUN(run, "host_disk", "fill-trace");
	shim_run_assert_one_line(run, "cannot be written (No space left on device)");
	trace = shim_run_read(run, NULL);
	assert_false(trace->is_complete);
	assert_true(trace->nr_lost > 0);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr_lost,
			 strtoul(run->out, NULL, 10));
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	free(trace);
}

/* ---- For a while ----------------------------------------------------------------------------- */

static struct shim_trace *run_full_for_a_while(struct shim_run *run, const char *disk,
					       const char *nr)
{
	struct shim_trace *trace;

	mount_or_skip(run, disk);
	SHIM_RUN(run, "host_disk", "be-full", nr);
	shim_run_assert_one_line(run, "cannot be written (No space left on device)");
	trace = shim_run_read(run, NULL);
	assert_true(trace->is_complete);
	assert_int_equal(trace->nr[VS_RECORD_BLOCK_ALLOC] + trace->nr[VS_RECORD_STEP] +
				 trace->nr_lost,
			 1000 + strtoul(nr, NULL, 10) + strtoul(run->out, NULL, 10) + 1000);
	/* All that was said when there was room. */
	assert_has(trace, 0, 1000);
	assert_has(trace, 2, 1000);
	assert_sound(trace);
	return trace;
}

static void test_a_disk_that_is_full_for_a_while_costs_nothing_that_fits_into_the_log(void **state)
{
	struct shim_trace *trace = run_full_for_a_while(*state, ROOMY, "120000");

	assert_int_equal(trace->nr_lost, 0);
	assert_int_equal(trace->nr[VS_RECORD_LOST], 0);
	free(trace);
}

static void test_after_a_loss_recording_goes_on_and_tells(void **state)
{
	struct shim_trace *trace = run_full_for_a_while(*state, TIGHT, "300000");

	assert_true(trace->nr_lost > 0);
	assert_int_equal(trace->nr_told, trace->nr_lost);
	free(trace);
}

/* ---- Taken away ------------------------------------------------------------------------------ */

static void test_a_trace_that_is_removed_is_said_once(void **state)
{
	struct shim_run *run = *state;

	SHIM_RUN(run, "host_disk", "lose", "trace", "300000");
	shim_run_assert_one_line(run, "was removed: nothing is recorded any more");
	assert_string_equal(run->out, "done\n");
	assert_nothing_left(run);
}

static void enter_folder(const struct shim_run *run)
{
	(void)run;
	if (mkdir("removed", 0700) < 0 || chdir("removed") < 0)
		_exit(126);
}

static void test_a_folder_that_is_removed_is_said_once(void **state)
{
	struct shim_run *run = *state;

	run->prepare = enter_folder;
	SHIM_RUN(run, "host_disk", "lose", "folder", "300000");
	shim_run_assert_one_line(run, "was removed: nothing is recorded any more");
	assert_string_equal(run->out, "done\n");
	assert_false(shim_run_has_file(run, "removed"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_disk_that_was_full_before_is_said_once),
		TEST(test_a_read_only_disk_is_said_once),
		TEST(test_a_log_that_does_not_fit_is_kept_in_memory),
		TEST(test_a_log_in_memory_is_found_after_the_end),
		TEST(test_what_a_full_disk_does_not_take_is_in_the_log),
		TEST(test_what_fits_into_neither_is_counted),
		TEST(test_a_disk_that_the_trace_itself_fills_costs_events_and_nothing_else),
		TEST(test_a_disk_that_is_full_for_a_while_costs_nothing_that_fits_into_the_log),
		TEST(test_after_a_loss_recording_goes_on_and_tells),
		TEST(test_a_trace_that_is_removed_is_said_once),
		TEST(test_a_folder_that_is_removed_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
