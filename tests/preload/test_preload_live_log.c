#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "live_log.h"

#define CHUNK     ((uint64_t)VS_LIVE_CHUNK_SIZE)
#define NR_CHUNKS 16u
#define MAX       64u

static char path[64];
static struct vs_live_log log_;

static const struct vs_live_log_facts facts = {
	.trace_path = "/some/trace.vscope",
	.first_size = NR_CHUNKS * CHUNK,
	.max_size = MAX * CHUNK,
	.identity = {1, 2, 3},
	.start_ticks = 11,
	.pid_namespace = 12,
	.clock = VS_LIVE_CLOCK_TSC,
	.start = {1000, 0},
	.now = {4000, 1000},
};

static int set_up(void **state)
{
	(void)state;
	/* A file system that is known to promise pages. */
	snprintf(path, sizeof(path), "/dev/shm/vramscope-test-%ld", (long)getpid());
	return vs_live_log_create(&log_, path, &facts);
}

static int tear_down(void **state)
{
	(void)state;
	vs_live_log_close(&log_);
	unlink(path);
	return 0;
}

static uint64_t file_size(void)
{
	struct stat file;

	assert_int_equal(stat(path, &file), 0);
	/* Every page is there before it is written. */
	assert_true(file.st_blocks * 512 >= file.st_size);
	return (uint64_t)file.st_size;
}

static uint64_t expected_size(uint32_t nr_chunks)
{
	return VS_LIVE_HEADER_SIZE + VS_LIVE_NR_SLOTS * VS_LIVE_SLOT_SIZE + nr_chunks * CHUNK;
}

static void test_the_header_says_what_the_reader_needs(void **state)
{
	const struct vs_live_header *header = log_.header;

	(void)state;
	assert_memory_equal(header->magic, VS_LIVE_MAGIC, 8);
	assert_int_equal(header->version, 1);
	assert_int_equal(header->pid, getpid());
	assert_memory_equal(header->identity, facts.identity, VS_LIVE_ID_SIZE);
	assert_int_equal(header->slots_offset, 4096);
	assert_int_equal(header->nr_slots, 4096);
	assert_int_equal(header->chunks_offset, 4096 + 4096 * 64);
	assert_int_equal(header->chunk_size, 32768);
	assert_int_equal(header->nr_chunks, NR_CHUNKS);
	assert_int_equal(header->start_ticks, 11);
	assert_int_equal(header->pid_namespace, 12);
	assert_int_equal(header->clock, VS_LIVE_CLOCK_TSC);
	assert_string_equal(header->trace_path, "/some/trace.vscope");
	assert_int_equal(file_size(), expected_size(NR_CHUNKS));
}

static void test_times_lie_on_a_line_through_the_anchors(void **state)
{
	const struct vs_live_header *header = log_.header;
	const struct vs_live_anchor later = {10000, 4000};
	uint32_t newest = header->newest;

	(void)state;
	/* 3000 ticks are 1000 ns. */
	assert_int_equal(vs_live_time_ns(&header->anchors[0], &header->anchors[newest], 2500), 500);
	assert_int_equal(vs_live_time_ns(&header->anchors[0], &header->anchors[newest], 7000),
			 2000);
	assert_int_equal(vs_live_time_ns(&header->anchors[0], &header->anchors[newest], 500), 0);
	vs_live_log_set_anchor(&log_, &later);
	assert_int_not_equal(header->newest, newest);
	assert_int_equal(header->anchors[header->newest].ticks, 10000);
	assert_int_equal(header->anchors[newest].ticks, 4000); /* still whole, should we die here */
	vs_live_log_set_anchor(&log_, &later);
	assert_int_equal(header->newest, newest);
}

static void test_every_chunk_is_given_out_once(void **state)
{
	bool is_taken[NR_CHUNKS] = {false};

	(void)state;
	for (uint32_t i = 0; i < NR_CHUNKS; i++) {
		uint32_t index = vs_live_log_take_chunk(&log_);

		assert_in_range(index, 0, NR_CHUNKS - 1);
		assert_false(is_taken[index]);
		is_taken[index] = true;
		assert_int_equal(vs_live_log_get_nr_free(&log_), NR_CHUNKS - 1 - i);
	}
	assert_int_equal(vs_live_log_take_chunk(&log_), VS_LIVE_LOG_NONE);
}

static void test_the_chunk_given_back_last_is_used_first(void **state)
{
	uint32_t first = vs_live_log_take_chunk(&log_);
	uint32_t second = vs_live_log_take_chunk(&log_);

	(void)state;
	vs_live_log_chunk(&log_, first)->ring = 5;
	vs_live_log_give_chunk(&log_, first);
	assert_int_equal(vs_live_log_chunk(&log_, first)->ring, 0);
	vs_live_log_give_chunk(&log_, second);
	assert_int_equal(vs_live_log_take_chunk(&log_), second);
	assert_int_equal(vs_live_log_take_chunk(&log_), first);
	/* Pages that were never touched come last. */
	assert_int_equal(vs_live_log_take_chunk(&log_), 2);
}

/* Whether all pages of a chunk are the process's. */
static bool has_pages(uint32_t index)
{
	unsigned char pages[VS_LIVE_CHUNK_SIZE / 4096];
	uint64_t entry;
	bool has_all = true;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(pages); i++) {
		uintptr_t address = (uintptr_t)vs_live_log_chunk(&log_, index) + 4096 * i;

		assert_int_equal(
			pread(fd, &entry, sizeof(entry), (off_t)(address / 4096 * sizeof(entry))),
			sizeof(entry));
		has_all = has_all && entry >> 63; /* it is present */
	}
	close(fd);
	return has_all;
}

static void test_pages_are_there_before_they_are_needed(void **state)
{
	uint32_t nr_with = 0;

	(void)state;
	log_.is_written = false; /* as it is where pages come one by one */
	vs_live_log_take_chunk(&log_);
	assert_false(has_pages(3));
	errno = 77;
	vs_live_log_populate(&log_, path);
	assert_int_equal(errno, 77);
	if (atomic_load(&log_.nr_populated) == UINT32_MAX) {
		print_message("a kernel before 5.14\n");
		return;
	}
	/* Most programs fill no chunk: not all of it. */
	while (nr_with < NR_CHUNKS && has_pages(nr_with))
		nr_with++;
	assert_int_equal(nr_with, 8);
	vs_live_log_take_chunk(&log_);
	vs_live_log_populate(&log_, path);
	for (uint32_t i = 0; i < NR_CHUNKS; i++)
		assert_true(has_pages(i));
	/* There are no more, until it grows. */
	assert_true(vs_live_log_grow(&log_, path));
	assert_false(has_pages(NR_CHUNKS));
	vs_live_log_populate(&log_, path);
	assert_true(has_pages(2 * NR_CHUNKS - 1));
}

#define NR_USERS 4u
static _Atomic unsigned nr_done;

/* Takes chunks for good, and fills them. */
static void *use_chunks(void *number)
{
	unsigned char mark = (unsigned char)(uintptr_t)number;

	for (uint32_t i = 0; i < (MAX - NR_CHUNKS) / NR_USERS; i++) {
		uint32_t index;

		while ((index = vs_live_log_take_chunk(&log_)) == VS_LIVE_LOG_NONE)
			(void)vs_live_log_grow(&log_, path);
		memset((char *)vs_live_log_chunk(&log_, index) + VS_LIVE_CHUNK_HEAD, mark,
		       VS_LIVE_CHUNK_SIZE - VS_LIVE_CHUNK_HEAD);
		vs_live_log_chunk(&log_, index)->ring = mark;
	}
	atomic_fetch_add(&nr_done, 1);
	return NULL;
}

/* Whoever makes it larger must not take long: others wait. */
static void test_pages_are_written_some_at_a_time(void **state)
{
	struct vs_live_log_facts large = facts;

	tear_down(state);
	large.first_size = 200 * CHUNK;
	large.max_size = 600 * CHUNK;
	assert_int_equal(vs_live_log_create(&log_, path, &large), 0);
	log_.is_written = true;
	assert_true(vs_live_log_grow(&log_, path));
	assert_int_equal(vs_live_log_get_nr_chunks(&log_), 328);
	log_.is_written = false;
	assert_true(vs_live_log_grow(&log_, path));
	assert_int_equal(vs_live_log_get_nr_chunks(&log_), 600);
}

/* Whether its bytes are zero, but for its head. */
static bool is_blank(uint32_t index)
{
	const unsigned char *bytes = (const unsigned char *)vs_live_log_chunk(&log_, index);

	for (uint32_t i = VS_LIVE_CHUNK_HEAD; i < VS_LIVE_CHUNK_SIZE; i++)
		if (bytes[i])
			return false;
	return vs_live_log_chunk(&log_, index)->ring == 0;
}

static void test_chunks_with_pages_are_in_the_stock(void **state)
{
	uint32_t nr = 2, index;

	(void)state;
	log_.is_written = true;
	vs_live_log_take_chunk(&log_);
	vs_live_log_populate(&log_, path);
	assert_int_equal(log_.header->nr_used, 1); /* most programs need no more than one */
	vs_live_log_take_chunk(&log_);
	errno = 77;
	vs_live_log_populate(&log_, path);
	assert_int_equal(errno, 77);
	assert_int_equal(log_.header->nr_taken, 2);
	assert_int_equal(log_.header->nr_used, 2 + (NR_CHUNKS - 2) / 2); /* half of what was left */
	assert_int_equal(file_size(), expected_size(NR_CHUNKS));
	/* In the order of the file, and then those that were never touched. */
	while ((index = vs_live_log_take_chunk(&log_)) != VS_LIVE_LOG_NONE) {
		assert_int_equal(index, nr++);
		assert_true(is_blank(index));
	}
	assert_int_equal(nr, NR_CHUNKS);
	vs_live_log_populate(&log_, path); /* nothing is left, and nothing happens */
	assert_int_equal(log_.header->nr_used, NR_CHUNKS);
}

static void test_pages_of_another_file_are_left_alone(void **state)
{
	(void)state;
	log_.is_written = true;
	vs_live_log_take_chunk(&log_);
	vs_live_log_take_chunk(&log_);
	assert_int_equal(unlink(path), 0);
	vs_live_log_populate(&log_, path);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	vs_live_log_populate(&log_, path);
	assert_int_equal(log_.header->nr_used, 2);
}

/* It is not larger before they are: nothing is written over what a thread has. */
static void test_pages_are_written_while_threads_take_chunks(void **state)
{
	pthread_t users[NR_USERS];

	(void)state;
	for (int round = 0; round < 50; round++) {
		log_.is_written = true;
		log_.nr_first = MAX; /* those that come later are written twice */
		atomic_store(&nr_done, 0);
		for (uintptr_t i = 0; i < NR_USERS; i++)
			assert_int_equal(
				pthread_create(&users[i], NULL, use_chunks, (void *)(i + 1)), 0);
		while (atomic_load(&nr_done) < NR_USERS)
			vs_live_log_populate(&log_, path);
		for (unsigned i = 0; i < NR_USERS; i++)
			pthread_join(users[i], NULL);
		for (uint32_t i = 0; i < vs_live_log_get_nr_chunks(&log_); i++) {
			const struct vs_live_chunk *chunk = vs_live_log_chunk(&log_, i);
			const unsigned char *bytes = (const unsigned char *)chunk;

			for (uint32_t k = VS_LIVE_CHUNK_HEAD; k < VS_LIVE_CHUNK_SIZE; k++)
				assert_int_equal(bytes[k], chunk->ring);
		}
		tear_down(state);
		assert_int_equal(set_up(state), 0);
	}
}

static void test_it_grows_up_to_its_limit(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NR_CHUNKS; i++)
		vs_live_log_take_chunk(&log_);
	assert_true(vs_live_log_grow(&log_, path));
	assert_int_equal(vs_live_log_get_nr_chunks(&log_), 2 * NR_CHUNKS);
	assert_int_equal(file_size(), expected_size(2 * NR_CHUNKS));
	assert_int_equal(vs_live_log_take_chunk(&log_), NR_CHUNKS);
	memset(vs_live_log_chunk(&log_, 2 * NR_CHUNKS - 1), 1, VS_LIVE_CHUNK_SIZE);
	assert_true(vs_live_log_grow(&log_, path));
	assert_int_equal(vs_live_log_get_nr_chunks(&log_), MAX);
	memset(vs_live_log_chunk(&log_, MAX - 1), 1, VS_LIVE_CHUNK_SIZE);
	assert_false(vs_live_log_grow(&log_, path));
	assert_int_equal(file_size(), expected_size(MAX));
}

/* A signal handler may jump out of anything. */
static void test_a_thread_that_jumped_out_of_it_makes_it_larger_again(void **state)
{
	(void)state;
	atomic_store(&log_.grower, (uintptr_t)pthread_self());
	assert_true(vs_live_log_grow(&log_, path));
	assert_int_equal(atomic_load(&log_.grower), 0);
	/* Another thread is at it, and never ends: it is not waited for without end. */
	atomic_store(&log_.grower, 1);
	while (vs_live_log_get_nr_free(&log_) > 1)
		vs_live_log_take_chunk(&log_);
	assert_true(vs_live_log_grow(&log_, path)); /* it has grown: that is what was wanted */
	vs_live_log_take_chunk(&log_);
	assert_false(vs_live_log_grow(&log_, path));
	atomic_store(&log_.grower, 0);
}

static atomic_bool was_interrupted;
static _Atomic unsigned nr_signals;

static void look_at_it(int number)
{
	(void)number;
	atomic_fetch_add(&nr_signals, 1);
	if (atomic_load(&log_.grower))
		atomic_store(&was_interrupted, true);
}

/* It would stand in the way of all others, for as long as the handler takes. */
static void test_no_handler_keeps_the_thread_that_makes_it_larger(void **state)
{
	static const struct itimerval often = {{0, 50}, {0, 50}}, never;

	signal(SIGALRM, look_at_it);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < 200 || atomic_load(&nr_signals) < 200; i++) {
		assert_true(vs_live_log_grow(&log_, path));
		assert_true(vs_live_log_grow(&log_, path));
		tear_down(state);
		assert_int_equal(set_up(state), 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_false(atomic_load(&was_interrupted));
}

/* Every lost event asks; the disk would have a lot to do. */
static void test_a_disk_that_gave_nothing_is_left_alone_for_a_second(void **state)
{
	char aside[80];

	(void)state;
	snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(rename(path, aside), 0);
	assert_false(vs_live_log_grow(&log_, path));
	assert_int_equal(rename(aside, path), 0);
	assert_false(vs_live_log_grow(&log_, path));
	log_.failed_ns -= UINT64_C(2000000000);
	assert_true(vs_live_log_grow(&log_, path));
	assert_int_equal(log_.failed_ns, 0);
}

static void test_only_the_log_itself_is_removed(void **state)
{
	char aside[80];

	(void)state;
	snprintf(aside, sizeof(aside), "%s.aside", path);
	assert_int_equal(rename(path, aside), 0);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	vs_live_log_unlink(&log_, path);
	assert_int_equal(access(path, F_OK), 0);
	vs_live_log_unlink(&log_, aside);
	assert_int_equal(access(aside, F_OK), -1);
	vs_live_log_unlink(&log_, aside); /* and nothing happens */
}

static void test_another_file_in_its_place_is_left_alone(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_false(vs_live_log_grow(&log_, path));
	log_.failed_ns = 0;
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "something else of some size, not a log", 38), 38);
	close(fd);
	assert_false(vs_live_log_grow(&log_, path));
	assert_int_equal(vs_live_log_get_nr_chunks(&log_), NR_CHUNKS);
}

static void test_every_slot_is_given_out_once(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= VS_LIVE_NR_SLOTS; i++) {
		struct vs_live_slot *slot = vs_live_log_take_slot(&log_, i);

		assert_non_null(slot);
		assert_int_equal(vs_live_log_has_slot(&log_), i < VS_LIVE_NR_SLOTS);
		assert_int_equal(slot->state, VS_LIVE_SLOT_OWNED);
		assert_int_equal(slot->ring, i);
		assert_int_equal(log_.header->slots_end, i);
	}
	assert_null(vs_live_log_take_slot(&log_, VS_LIVE_NR_SLOTS + 1));
	log_.slots[77].state = VS_LIVE_SLOT_FREE;
	assert_true(vs_live_log_has_slot(&log_));
	assert_ptr_equal(vs_live_log_take_slot(&log_, VS_LIVE_NR_SLOTS + 1), &log_.slots[77]);
}

static void test_a_detached_log_reaches_its_file_no_more(void **state)
{
	uint64_t lost = 7;
	int fd;

	(void)state;
	vs_live_log_add_lost(&log_, 1);
	vs_live_log_detach(&log_);
	vs_live_log_add_lost(&log_, 1);
	vs_live_log_add_lost(&log_, 1);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &lost, sizeof(lost), offsetof(struct vs_live_header, nr_lost)),
			 sizeof(lost));
	close(fd);
	assert_int_equal(lost, 1);
}

/* In a child, because a limit stays. */
static int create_with_limit(__rlimit_resource_t what, uint64_t size, uint32_t *nr_chunks,
			     uint32_t *max_chunks)
{
	const struct rlimit limit = {size, RLIM_INFINITY};
	struct vs_live_log_facts large = facts;
	struct vs_live_log log;
	uint32_t found[2];
	int ends[2], status;
	pid_t pid;

	large.first_size = 16 * NR_CHUNKS * CHUNK;
	large.max_size = 4096 * CHUNK;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (setrlimit(what, &limit) < 0 || vs_live_log_create(&log, path, &large) != 0)
			_exit(1);
		found[0] = vs_live_log_get_nr_chunks(&log);
		found[1] = log.max_chunks;
		_exit(write(ends[1], found, sizeof(found)) == sizeof(found) ? 0 : 2);
	}
	close(ends[1]);
	status = read(ends[0], found, sizeof(found)) == sizeof(found) ? 0 : -1;
	close(ends[0]);
	waitpid(pid, NULL, 0);
	*nr_chunks = found[0];
	*max_chunks = found[1];
	return status;
}

static void test_a_limit_on_file_sizes_makes_it_smaller(void **state)
{
	uint32_t nr_chunks, max_chunks;

	(void)state;
	assert_int_equal(
		create_with_limit(RLIMIT_FSIZE, expected_size(40), &nr_chunks, &max_chunks), 0);
	assert_int_equal(nr_chunks, 32);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void test_a_limit_on_address_space_makes_it_smaller(void **state)
{
	uint32_t nr_chunks, max_chunks;

	(void)state;
	assert_int_equal(create_with_limit(RLIMIT_AS, 96 << 20, &nr_chunks, &max_chunks), 0);
	/* The rest is the program's. */
	assert_int_equal(max_chunks, (6 << 20) / CHUNK);
	assert_int_equal(nr_chunks, max_chunks);
}
#endif

static void test_a_folder_that_is_not_there_is_an_error(void **state)
{
	struct vs_live_log log = {0};

	(void)state;
	assert_int_equal(vs_live_log_create(&log, "/nonexistent/a.live", &facts), -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	assert_null(log.header);
}

static void test_a_file_system_that_promises_no_pages_is_refused(void **state)
{
	struct vs_live_log log = {0};

	(void)state;
	/* /proc takes no files; what it says first is that it cannot be written. */
	assert_true(vs_live_log_create(&log, "/proc/self/a.live", &facts) < 0);
	assert_null(log.header);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_header_says_what_the_reader_needs),
		TEST(test_times_lie_on_a_line_through_the_anchors),
		TEST(test_every_chunk_is_given_out_once),
		TEST(test_the_chunk_given_back_last_is_used_first),
		TEST(test_pages_are_there_before_they_are_needed),
		TEST(test_pages_are_written_some_at_a_time),
		TEST(test_chunks_with_pages_are_in_the_stock),
		TEST(test_pages_of_another_file_are_left_alone),
		TEST(test_pages_are_written_while_threads_take_chunks),
		TEST(test_it_grows_up_to_its_limit),
		TEST(test_a_thread_that_jumped_out_of_it_makes_it_larger_again),
		TEST(test_no_handler_keeps_the_thread_that_makes_it_larger),
		TEST(test_a_disk_that_gave_nothing_is_left_alone_for_a_second),
		TEST(test_only_the_log_itself_is_removed),
		TEST(test_another_file_in_its_place_is_left_alone),
		TEST(test_every_slot_is_given_out_once),
		TEST(test_a_detached_log_reaches_its_file_no_more),
		TEST(test_a_limit_on_file_sizes_makes_it_smaller),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		TEST(test_a_limit_on_address_space_makes_it_smaller),
#endif
		TEST(test_a_folder_that_is_not_there_is_an_error),
		TEST(test_a_file_system_that_promises_no_pages_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
