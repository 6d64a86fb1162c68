/* Names of traces: what the launcher refuses, and what the recorder makes of what it is told. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured_output.h"
#include "command.h"
#include "live_format.h"
#include "output.h"
#include "run_output.h"
#include "scratch.h"
#include "trace_maker.h"

static struct vs_run_output output;
static struct vs_settings settings;

static int enter(void **state)
{
	static const char *const ours[] = {
		"VRAMSCOPE_OUTPUT",
		"VRAMSCOPE_FOLDER",
		"VRAMSCOPE_REPLACE",
		"VRAMSCOPE_RUN",
		"RANK",
		"SLURM_PROCID",
		"OMPI_COMM_WORLD_RANK",
	};
	int err = vs_scratch_enter(state);

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	return err;
}

/* A path in the folder of the test. */
static const char *here(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", vs_scratch_path(), name);
	return path;
}

static void make_trace(const char *name)
{
	const struct vs_trace_maker_plan plan = {.nr_allocs = 1};

	assert_int_equal(vs_trace_maker_create(name, &plan), 0);
}

static void expect_refusal(const char *given, int status, const char *text)
{
	int got;

	vs_capture_begin(STDERR_FILENO);
	got = vs_run_output_check(&output, given);
	assert_string_equal(vs_capture_end(), text);
	assert_int_equal(got, status);
}

static void expect_status(const char *given, int status)
{
	int got;

	vs_capture_begin(STDERR_FILENO);
	got = vs_run_output_check(&output, given);
	assert_int_equal(*vs_capture_end() != '\0', status != 0);
	assert_int_equal(got, status);
}

/* What the recorder of a process with our environment would open now. */
static const char *record(void)
{
	static char path[PATH_MAX];
	char *argv[] = {"/bin/train", NULL};
	int fd;

	vs_settings_read(&settings, 1, argv, environ);
	if (vs_output_open(&settings, path, &fd))
		return NULL;
	close(fd);
	return path;
}

static void prepare(const char *given)
{
	assert_int_equal(vs_run_output_check(&output, given), 0);
	assert_int_equal(vs_run_output_set_up(&output), 0);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void test_by_default_traces_are_where_the_run_was_started(void **state)
{
	char expected[PATH_MAX];

	(void)state;
	prepare(NULL);
	assert_string_equal(output.pattern, "");
	assert_string_equal(getenv("VRAMSCOPE_FOLDER"), vs_scratch_path());
	assert_null(getenv("VRAMSCOPE_OUTPUT"));
	assert_int_equal(chdir("/proc"), 0);
	snprintf(expected, sizeof(expected), "%s/train.%ld.vscope", vs_scratch_path(),
		 (long)getpid());
	assert_string_equal(record(), expected);
}

static void test_a_name_is_meant_from_here(void **state)
{
	(void)state;
	prepare("trace");
	assert_string_equal(getenv("VRAMSCOPE_OUTPUT"), here("trace"));
	assert_null(getenv("VRAMSCOPE_REPLACE"));
	assert_int_equal(chdir("/proc"), 0);
	assert_string_equal(record(), here("trace"));
}

static void test_the_option_goes_before_the_variable(void **state)
{
	(void)state;
	setenv("VRAMSCOPE_OUTPUT", "theirs", 1);
	prepare(NULL);
	assert_string_equal(output.pattern, here("theirs"));
	prepare("ours");
	assert_string_equal(output.pattern, here("ours"));
	setenv("VRAMSCOPE_OUTPUT", "", 1);
	prepare(NULL);
	assert_string_equal(output.pattern, "");
}

static void test_patterns_are_those_the_recorder_knows(void **state)
{
	(void)state;
	prepare("a%p.%h.%r.%%");
	assert_string_equal(output.pattern, here("a%p.%h.%r.%%"));
	expect_refusal("%d", VS_EXIT_USAGE,
		       "vramscope: run: -o: '%d' is none of %p (process), %h (host), %r (rank), %% "
		       "(see: vramscope help run)\n");
	expect_refusal("%p%", VS_EXIT_USAGE,
		       "vramscope: run: -o: '%' is none of %p (process), %h (host), %r (rank), %% "
		       "(see: vramscope help run)\n");
	expect_refusal("", VS_EXIT_USAGE,
		       "vramscope: run: -o needs a file name (see: vramscope help run)\n");
}

static void test_a_percent_sign_of_the_folder_is_not_filled_in(void **state)
{
	char expected[PATH_MAX];

	(void)state;
	assert_int_equal(mkdir("%p%r%", 0700), 0);
	assert_int_equal(chdir("%p%r%"), 0);
	prepare("trace");
	snprintf(expected, sizeof(expected), "%s/%%p%%r%%/trace", vs_scratch_path());
	assert_string_equal(record(), expected);
	make_trace("trace");
	prepare("trace");
	assert_string_equal(record(), expected);
}

/* ---- Places --------------------------------------------------------------------------------- */

static void test_places_without_room_for_a_trace_are_refused(void **state)
{
	char name[2 * PATH_MAX];

	(void)state;
	vs_scratch_write_text("file", "");
	expect_refusal("no/trace", VS_EXIT_FAILED,
		       "vramscope: no/trace: no trace can be written there: No such file or "
		       "directory\n");
	expect_refusal("file/trace", VS_EXIT_FAILED,
		       "vramscope: file/trace: no trace can be written there: Not a directory\n");
	expect_refusal("./", VS_EXIT_FAILED, "vramscope: ./: names a folder, not a trace\n");
	expect_refusal("%h/", VS_EXIT_FAILED, "vramscope: %h/: names a folder, not a trace\n");
	expect_refusal(".", VS_EXIT_FAILED, "vramscope: .: is a folder, not a trace\n");
	expect_status("/proc/trace", VS_EXIT_FAILED);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	expect_status(name, VS_EXIT_FAILED);
	/* Room must be left for .PID and .live. */
	name[NAME_MAX] = '\0';
	expect_status(name, VS_EXIT_FAILED);
}

static void test_an_unwritable_current_folder_is_refused(void **state)
{
	(void)state;
	assert_int_equal(chdir("/proc"), 0);
	expect_refusal(NULL, VS_EXIT_FAILED,
		       "vramscope: no trace can be written to the current folder: No such file or "
		       "directory (-o names another place)\n");
}

static void test_looking_leaves_nothing_behind(void **state)
{
	(void)state;
	prepare("trace");
	prepare(NULL);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(vs_scratch_path()), 0); /* only an empty one goes */
	assert_int_equal(mkdir(vs_scratch_path(), 0700), 0);
}

/* ---- What has the name already -------------------------------------------------------------- */

static void test_what_is_no_trace_is_refused(void **state)
{
	(void)state;
	vs_scratch_write_text("letter", "Dear Anna,");
	assert_int_equal(mkfifo("pipe", 0600), 0);
	make_trace("trace");
	assert_int_equal(symlink("trace", "link"), 0);
	assert_int_equal(symlink("nowhere", "lost"), 0);
	vs_scratch_write_text("trace.live", VS_LIVE_MAGIC);
	expect_refusal("letter", VS_EXIT_FAILED,
		       "vramscope: letter: is there already and is no vramscope trace, so it is "
		       "not replaced (remove it, or choose another name)\n");
	expect_refusal("pipe", VS_EXIT_FAILED, "vramscope: pipe: is not a regular file\n");
	expect_refusal("/dev/null", VS_EXIT_FAILED,
		       "vramscope: /dev/null: is not a regular file\n");
	expect_refusal("link", VS_EXIT_FAILED,
		       "vramscope: link: is a symbolic link; name the file itself\n");
	expect_refusal("lost", VS_EXIT_FAILED,
		       "vramscope: lost: is a symbolic link; name the file itself\n");
	expect_status("trace.live", VS_EXIT_FAILED);
	assert_int_equal(access("letter", F_OK), 0);
}

static void test_what_our_rank_would_take_is_looked_at(void **state)
{
	(void)state;
	vs_scratch_write_text("r3", "Dear Anna,");
	prepare("r%r");
	setenv("RANK", "3", 1);
	expect_status("r%r", VS_EXIT_FAILED);
	setenv("RANK", "", 1);
	setenv("SLURM_PROCID", "3", 1);
	expect_status("r%r", VS_EXIT_FAILED);
	expect_status("r%r.%p", 0);
}

static void test_an_old_trace_goes_when_the_new_one_comes(void **state)
{
	struct stat before, after;

	(void)state;
	make_trace("trace");
	assert_int_equal(stat("trace", &before), 0);
	prepare("trace");
	assert_int_equal(stat("trace", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_size, after.st_size);
	assert_string_equal(record(), here("trace"));
	assert_int_equal(stat("trace", &after), 0);
	assert_int_equal(after.st_size, 0);
	/* Now it is that of another process of the same run. */
	assert_string_not_equal(record(), here("trace"));
}

static void test_empty_and_cut_traces_go_too(void **state)
{
	(void)state;
	vs_scratch_write_text("empty", "");
	prepare("empty");
	assert_string_equal(record(), here("empty"));
	vs_scratch_write_text("cut", "VSCO");
	prepare("cut");
	assert_string_equal(record(), here("cut"));
}

static void test_a_file_that_comes_or_changes_meanwhile_stays(void **state)
{
	(void)state;
	prepare("trace");
	make_trace("trace");
	assert_string_not_equal(record(), here("trace"));
	prepare("trace");
	vs_scratch_write_text("trace", "something else");
	assert_string_not_equal(record(), here("trace"));
	assert_int_equal(unlink("trace"), 0);
	make_trace("trace");
	prepare("trace");
	make_trace("new");
	assert_int_equal(rename("new", "trace"), 0);
	assert_string_not_equal(record(), here("trace"));
}

static void test_without_the_launcher_nothing_goes(void **state)
{
	(void)state;
	make_trace("trace");
	setenv("VRAMSCOPE_OUTPUT", "trace", 1);
	assert_string_not_equal(record(), here("trace"));
}

static void test_old_traces_of_all_ranks_go(void **state)
{
	(void)state;
	make_trace("r0");
	make_trace("r7");
	make_trace("s7");
	prepare("r%r");
	setenv("RANK", "7", 1);
	assert_string_equal(record(), here("r7"));
	assert_string_not_equal(record(), here("r7"));
	setenv("RANK", "0", 1);
	assert_string_equal(record(), here("r0"));
	/* Not part of what was asked for. */
	setenv("VRAMSCOPE_OUTPUT", "s7", 1);
	assert_string_not_equal(record(), here("s7"));
}

static void test_more_old_traces_than_can_be_listed_are_evaded(void **state)
{
	const struct timespec long_ago[2] = {{1, 0}, {1, 0}};
	char name[16];
	size_t size;

	(void)state;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		make_trace(name);
		/* Keys of several lengths: they do not end at the end of the room by chance. */
		if (i % 3)
			assert_int_equal(utimensat(AT_FDCWD, name, long_ago, 0), 0);
	}
	prepare("r%r");
	size = strlen(output.replace);
	assert_true(size > PATH_MAX / 2 && size < PATH_MAX);
	assert_int_equal(output.replace[size - 1], ',');
	assert_string_equal(getenv("VRAMSCOPE_REPLACE"), output.replace);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "%d", i);
		setenv("RANK", name, 1);
		assert_non_null(record());
	}
}

static void test_stale_words_of_another_run_are_taken_back(void **state)
{
	(void)state;
	setenv("VRAMSCOPE_REPLACE", "1:2:3,", 1);
	prepare("trace");
	assert_null(getenv("VRAMSCOPE_REPLACE"));
}

/* What has the name may be what an earlier process of the run around us left. */
static void test_a_run_within_a_run_replaces_nothing_by_itself(void **state)
{
	(void)state;
	make_trace("trace");
	setenv("VRAMSCOPE_RUN", "4711.1", 1);
	setenv("VRAMSCOPE_OUTPUT", here("trace"), 1);
	setenv("VRAMSCOPE_REPLACE", "1:2:3,", 1);
	prepare(NULL);
	assert_string_equal(getenv("VRAMSCOPE_REPLACE"), "1:2:3,");
	assert_string_not_equal(record(), here("trace"));
	/* But what it is told to, it does. */
	prepare("trace");
	assert_string_equal(record(), here("trace"));
}

/* ---- Traces that are being written ---------------------------------------------------------- */

/* Field 22 of /proc/PID/stat. */
static uint64_t get_start_ticks(pid_t pid)
{
	char name[64], text[1024];
	const char *at;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	file = fopen(name, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	at = strrchr(text, ')');
	for (int field = 3; field <= 22; field++)
		at = strchr(at, ' ') + 1;
	return strtoull(at, NULL, 10);
}

/* The log of trace_maker's trace, as that process would have made it. */
static void make_log(const char *name, pid_t pid, uint64_t start_ticks)
{
	static const uint8_t identity[VS_LIVE_ID_SIZE] = {
		0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
		0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	};
	struct vs_live_header header = {
		.version = VS_LIVE_VERSION,
		.pid = (uint32_t)pid,
		.slots_offset = VS_LIVE_HEADER_SIZE,
		.nr_slots = 1,
		.chunks_offset = VS_LIVE_HEADER_SIZE + VS_LIVE_SLOT_SIZE,
		.chunk_size = VS_LIVE_CHUNK_SIZE,
		.newest = 1,
		.nr_chunks = 1,
		.start_ticks = start_ticks,
	};

	memcpy(header.identity, identity, sizeof(identity));
	memcpy(header.magic, VS_LIVE_MAGIC, sizeof(header.magic));
	vs_scratch_write(name, &header, sizeof(header));
	assert_int_equal(truncate(name, (off_t)(header.chunks_offset + header.chunk_size)), 0);
}

static void test_a_trace_that_is_being_written_is_evaded(void **state)
{
	(void)state;
	make_trace("trace");
	make_log("trace.live", getpid(), get_start_ticks(getpid()));
	prepare("trace");
	assert_string_not_equal(record(), here("trace"));
}

static void test_a_trace_whose_writer_was_killed_is_old(void **state)
{
	uint64_t start_ticks;
	pid_t writer = fork();

	(void)state;
	if (writer == 0) {
		pause();
		_exit(0);
	}
	start_ticks = get_start_ticks(writer);
	kill(writer, SIGKILL);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	make_trace("trace");
	make_log("trace.live", writer, start_ticks);
	prepare("trace");
	assert_string_equal(record(), here("trace"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, vs_scratch_leave)
	const struct CMUnitTest tests[] = {
		TEST(test_by_default_traces_are_where_the_run_was_started),
		TEST(test_a_name_is_meant_from_here),
		TEST(test_the_option_goes_before_the_variable),
		TEST(test_patterns_are_those_the_recorder_knows),
		TEST(test_a_percent_sign_of_the_folder_is_not_filled_in),
		TEST(test_places_without_room_for_a_trace_are_refused),
		TEST(test_an_unwritable_current_folder_is_refused),
		TEST(test_looking_leaves_nothing_behind),
		TEST(test_what_is_no_trace_is_refused),
		TEST(test_what_our_rank_would_take_is_looked_at),
		TEST(test_an_old_trace_goes_when_the_new_one_comes),
		TEST(test_empty_and_cut_traces_go_too),
		TEST(test_a_file_that_comes_or_changes_meanwhile_stays),
		TEST(test_without_the_launcher_nothing_goes),
		TEST(test_old_traces_of_all_ranks_go),
		TEST(test_more_old_traces_than_can_be_listed_are_evaded),
		TEST(test_stale_words_of_another_run_are_taken_back),
		TEST(test_a_run_within_a_run_replaces_nothing_by_itself),
		TEST(test_a_trace_that_is_being_written_is_evaded),
		TEST(test_a_trace_whose_writer_was_killed_is_old),
	};

	return cmocka_run_group_tests_name("run_output", tests, NULL, NULL);
}
