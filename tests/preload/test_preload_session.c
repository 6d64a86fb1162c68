#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
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

#include "exit_help.h"
#include "info.h"
#include "message.h"
#include "reader.h"
#include "ring.h"
#include "session.h"

/* A recording without hooks: the test writes to rings, and plays the thread that writes the trace.
 */

#define NR_EVENTS 5000u

static char dir[64], path[128], log_path[160];
static struct vs_settings settings;
static struct vs_session_plan plan;
static struct vs_ring ring;

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/vramscope-test.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/trace", dir);
	snprintf(log_path, sizeof(log_path), "%s.live", path);
	memset(&settings, 0, sizeof(settings));
	memcpy(settings.output, path, strlen(path) + 1);
	memcpy(settings.command, "a program\n", 11);
	settings.log_size = 64 << 20;
	plan = (struct vs_session_plan){.settings = &settings, .exe = "/a/program"};
	vs_clock_get_instant(&plan.start);
	vs_ring_init();
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	vs_session_detach(); /* whatever the test left */
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static bool exists(const char *file)
{
	return access(file, F_OK) == 0;
}

static void begin(void)
{
	assert_int_equal(vs_session_open(&plan), 0);
	memset(&ring, 0, sizeof(ring));
	assert_true(vs_ring_open(&ring, vs_session_log(), 1));
}

static void say_to(struct vs_ring *to, uint64_t number)
{
	struct vs_live_record *record =
		vs_ring_begin(to, VS_LIVE_RECORD_HEAD + sizeof(struct vs_step));
	const struct vs_step step = {.number = number};

	assert_non_null(record);
	record->type = VS_RECORD_STEP;
	record->flags = 0;
	memcpy(record + 1, &step, sizeof(step));
	vs_ring_end(to, record);
}

/* Steps `first` to `last`. */
static void say(uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		say_to(&ring, i);
}

/* Trace and log together hold steps 1 to nr, once each and in order. */
static struct vs_reader_state check(uint64_t nr)
{
	struct vs_reader_state state;
	struct vs_reader *reader;
	struct vs_record record;
	uint64_t nr_found = 0;
	int err;

	assert_int_equal(vs_reader_open(&reader, path), 0);
	assert_string_equal(vs_reader_get_info(reader, VS_INFO_COMMAND), "a program\n");
	assert_string_equal(vs_reader_get_info(reader, VS_INFO_EXE), "/a/program");
	while ((err = vs_reader_next(reader, &record)) == 1) {
		if (record.type != VS_RECORD_STEP)
			continue;
		assert_int_equal(record.thread, 1);
		assert_int_equal(record.step.number, ++nr_found);
	}
	assert_int_equal(err, 0);
	assert_int_equal(nr_found, nr);
	vs_reader_get_state(reader, &state);
	assert_false(state.is_damaged);
	assert_int_equal(state.nr_lost, 0);
	vs_reader_close(reader);
	return state;
}

/* What was posted, as it would be printed. */
static void assert_message(const char *text)
{
	char line[1024] = "";
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600), saved = dup(2);

	dup2(file, 2);
	vs_message_init();
	vs_message_flush();
	dup2(saved, 2);
	close(saved);
	assert_true(pread(file, line, sizeof(line) - 1, 0) >= 0);
	close(file);
	if (text)
		assert_non_null(strstr(line, text));
	else
		assert_string_equal(line, "");
}

/* ---- The straight way ------------------------------------------------------------------------ */

static void test_what_was_said_is_in_the_pair_before_anybody_takes_it(void **state)
{
	struct vs_reader_state found;

	(void)state;
	begin();
	say(1, NR_EVENTS);
	found = check(NR_EVENTS);
	assert_true(found.used_log);
	assert_true(found.is_running);
	assert_false(found.is_complete);
}

static void test_what_was_taken_is_there_once(void **state)
{
	(void)state;
	begin();
	assert_true(vs_session_attach(false));
	for (uint64_t i = 0; i < 10; i++) {
		say(1 + i * NR_EVENTS, (i + 1) * NR_EVENTS);
		assert_true(vs_session_take());
		check((i + 1) * NR_EVENTS);
	}
	assert_message(NULL);
}

static void test_the_end_completes_the_trace_and_removes_the_log(void **state)
{
	struct vs_reader_state found;

	(void)state;
	begin();
	assert_true(vs_session_attach(false));
	say(1, NR_EVENTS);
	assert_true(vs_session_take());
	say(NR_EVENTS + 1, 2 * NR_EVENTS);
	vs_session_finish();
	assert_false(exists(log_path));
	found = check(2 * NR_EVENTS);
	assert_true(found.is_complete);
	assert_false(found.used_log);
	vs_session_finish(); /* once more does no harm */
	check(2 * NR_EVENTS);
	assert_message(NULL);
}

#define NR_IN_BLOCKS 300000u

static void *finish(void *unused)
{
	vs_session_finish();
	vs_exit_help_end();
	return unused;
}

/* Several blocks are left, and the first thread packs them. */
static void test_much_that_is_left_at_the_end_is_there_once(void **state)
{
	pthread_t drain;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		say(1, NR_IN_BLOCKS);
		vs_exit_help_forget();
		assert_int_equal(pthread_create(&drain, NULL, finish, NULL), 0);
		if (i)
			vs_exit_help_serve(60000);
		pthread_join(drain, NULL);
		assert_true(check(NR_IN_BLOCKS).is_complete);
		assert_false(exists(log_path));
		assert_message(NULL);
		vs_session_detach();
		unlink(path);
	}
}

static void test_whoever_ends_it_need_not_have_begun(void **state)
{
	(void)state;
	begin();
	say(1, NR_EVENTS);
	vs_session_finish();
	assert_true(check(NR_EVENTS).is_complete);
}

static void test_a_parked_session_is_in_the_pair_and_goes_on(void **state)
{
	struct vs_reader_state found;

	(void)state;
	begin();
	assert_true(vs_session_attach(false));
	say(1, NR_EVENTS);
	vs_session_park();
	found = check(NR_EVENTS);
	assert_false(found.is_complete);
	say(NR_EVENTS + 1, 2 * NR_EVENTS);
	check(2 * NR_EVENTS);
	vs_session_finish();
	assert_true(check(2 * NR_EVENTS).is_complete);
	assert_false(exists(log_path));
}

static void test_a_log_without_room_gets_some(void **state)
{
	struct vs_live_log *log;
	uint32_t before;

	(void)state;
	begin();
	log = vs_session_log();
	before = vs_live_log_get_nr_chunks(log);
	assert_true(vs_session_make_room());
	assert_true(vs_live_log_get_nr_chunks(log) > before);
}

/* Every thread that ends has a chunk; they must come back although hardly anything was said. */
static void test_threads_that_end_do_not_use_up_the_log(void **state)
{
	struct vs_live_log *log;
	uint64_t number = 0;

	(void)state;
	begin();
	log = vs_session_log();
	assert_true(vs_session_attach(false));
	for (int i = 0; i < 20; i++) {
		for (unsigned j = 0; j < VS_RING_NR_CLOSED; j++) {
			struct vs_ring other = {0};
			bool is_due;

			assert_true(vs_ring_open(&other, log, 2));
			say_to(&other, ++number);
			is_due = vs_ring_close(&other);
			assert_int_equal(is_due, j + 1 == VS_RING_NR_CLOSED);
		}
		assert_true(vs_session_take());
		assert_int_equal(log->nr_closed, 0);
		assert_int_equal(atomic_load(&log->header->nr_taken), 1);
	}
}

/* ---- When something is in the way ------------------------------------------------------------ */

static void test_a_trace_that_cannot_be_made_leaves_nothing_behind(void **state)
{
	(void)state;
	snprintf(settings.output, sizeof(settings.output), "%s/none/trace", dir);
	assert_true(vs_session_open(&plan) < 0);
	assert_message("nothing is recorded: cannot make the trace");
}

static void test_a_thread_in_the_middle_of_a_record_leaves_both_files(void **state)
{
	struct vs_ring other = {0};
	struct vs_reader_state found;

	(void)state;
	begin();
	assert_true(vs_ring_open(&other, vs_session_log(), 2));
	assert_true(vs_session_attach(false));
	say(1, NR_EVENTS);
	assert_non_null(vs_ring_begin(&other, VS_LIVE_RECORD_HEAD));
	vs_session_finish();
	assert_true(exists(log_path));
	found = check(NR_EVENTS);
	assert_false(found.is_complete);
	assert_int_equal(found.nr_unfinished, 1);
}

static void test_a_trace_that_is_removed_takes_its_log_with_it(void **state)
{
	(void)state;
	begin();
	assert_true(vs_session_attach(false));
	say(1, NR_EVENTS);
	assert_int_equal(unlink(path), 0);
	assert_false(vs_session_take());
	assert_message("was removed: nothing is recorded any more");
	assert_false(exists(log_path));
	/* Threads do not notice. */
	say(NR_EVENTS + 1, 2 * NR_EVENTS);
	assert_false(vs_session_make_room());
	assert_false(vs_session_take());
	vs_session_finish();
	assert_false(exists(path));
	assert_message(NULL);
}

static void test_another_file_of_that_name_is_left_alone(void **state)
{
	char other[160];
	struct stat file;

	(void)state;
	begin();
	snprintf(other, sizeof(other), "%s.other", path);
	close(open(other, O_WRONLY | O_CREAT, 0600));
	assert_int_equal(rename(other, path), 0);
	assert_false(vs_session_attach(false));
	assert_message("was removed");
	vs_session_finish();
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, 0);
}

/* The descriptor that the session has open: a high one. */
static int find_descriptor(void)
{
	for (int fd = 500; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return fd;
	fail_msg("there is none");
	return -1;
}

static void test_a_descriptor_that_the_program_took_is_not_written_to(void **state)
{
	char other_path[128];
	struct stat file;
	int fd, other;

	(void)state;
	begin();
	assert_true(vs_session_attach(false));
	say(1, NR_EVENTS);
	fd = find_descriptor();
	snprintf(other_path, sizeof(other_path), "%s/other", dir);
	other = open(other_path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(dup2(other, fd), fd);
	assert_false(vs_session_take());
	assert_message("was closed by the program");
	vs_session_finish();
	assert_int_equal(fstat(other, &file), 0);
	assert_int_equal(file.st_size, 0);
	assert_false(check(NR_EVENTS).is_complete);
	close(other);
	close(fd);
}

/* ---- A child --------------------------------------------------------------------------------- */

static void be_child(void)
{
	vs_session_detach();
	say(1000000, 1000000); /* was interrupted by the fork, and goes on */
	vs_session_finish();
	snprintf(settings.output, sizeof(settings.output), "%s.child", path);
	if (vs_session_open(&plan) != 0)
		_exit(1);
	memset(&ring, 0, sizeof(ring));
	if (!vs_ring_open(&ring, vs_session_log(), 1) || !vs_session_attach(false))
		_exit(2);
	say(1, 2 * NR_EVENTS);
	vs_session_finish();
	_exit(0);
}

static void test_a_child_lets_go_of_its_parents_files(void **state)
{
	char child_path[160];
	int status;
	pid_t pid;

	(void)state;
	begin();
	assert_true(vs_session_attach(false));
	say(1, NR_EVENTS);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_child();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(exists(log_path));
	say(NR_EVENTS + 1, 3 * NR_EVENTS);
	vs_session_finish();
	assert_true(check(3 * NR_EVENTS).is_complete);
	snprintf(child_path, sizeof(child_path), "%s.child", path);
	assert_int_equal(rename(child_path, path), 0);
	assert_true(check(2 * NR_EVENTS).is_complete);
}

static void test_a_process_with_its_first_thread_is_not_deserted(void **state)
{
	(void)state;
	assert_false(vs_session_is_deserted());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_said_is_in_the_pair_before_anybody_takes_it),
		TEST(test_what_was_taken_is_there_once),
		TEST(test_the_end_completes_the_trace_and_removes_the_log),
		TEST(test_much_that_is_left_at_the_end_is_there_once),
		TEST(test_whoever_ends_it_need_not_have_begun),
		TEST(test_a_parked_session_is_in_the_pair_and_goes_on),
		TEST(test_a_log_without_room_gets_some),
		TEST(test_threads_that_end_do_not_use_up_the_log),
		TEST(test_a_trace_that_cannot_be_made_leaves_nothing_behind),
		TEST(test_a_thread_in_the_middle_of_a_record_leaves_both_files),
		TEST(test_a_trace_that_is_removed_takes_its_log_with_it),
		TEST(test_another_file_of_that_name_is_left_alone),
		TEST(test_a_descriptor_that_the_program_took_is_not_written_to),
		TEST(test_a_child_lets_go_of_its_parents_files),
		TEST(test_a_process_with_its_first_thread_is_not_deserted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
