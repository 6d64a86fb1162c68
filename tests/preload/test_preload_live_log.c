#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec.h"
#include "live_log.h"

#define RING_SIZE (64u << 10)

static char path[64];
static struct vs_live_log log_;
static struct vs_live_log_claim claim;

static const struct vs_live_log_facts facts = {
	.trace_path = "/some/trace.vscope",
	.ring_size = RING_SIZE,
	.identity = {1, 2, 3},
	.start_ticks = 11,
	.pid_namespace = 12,
};

static int set_up(void **state)
{
	(void)state;
	memset(&claim, 0, sizeof(claim));
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

/* Bytes that tell their number and size. */
static uint32_t make_record(uint8_t *bytes, uint32_t number)
{
	uint32_t size = 1 + number * 37 % 300;

	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(number + i);
	return size;
}

static void assert_record(const uint8_t *bytes, uint32_t number, uint32_t size)
{
	uint8_t expected[300];

	assert_int_equal(make_record(expected, number), size);
	assert_memory_equal(bytes, expected, size);
}

static void test_the_header_says_what_the_reader_needs(void **state)
{
	const struct vs_live_header *header = log_.header;
	struct stat file;

	(void)state;
	assert_memory_equal(header->magic, VS_LIVE_MAGIC, 8);
	assert_int_equal(header->version, VS_LIVE_VERSION);
	assert_int_equal(header->pid, getpid());
	assert_memory_equal(header->identity, facts.identity, VS_LIVE_ID_SIZE);
	assert_int_equal(header->ring_offset, VS_LIVE_HEADER_SIZE);
	assert_int_equal(header->ring_size, RING_SIZE);
	assert_int_equal(header->start_ticks, 11);
	assert_int_equal(header->pid_namespace, 12);
	assert_string_equal(header->trace_path, "/some/trace.vscope");
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, VS_LIVE_HEADER_SIZE + RING_SIZE);
	/* Every page is there before it is written. */
	assert_true(file.st_blocks * 512 >= file.st_size);
}

static void test_records_come_out_as_they_went_in_round_after_round(void **state)
{
	static uint8_t out[VS_LIVE_SIZE_MASK + 1];
	uint64_t position = 0;
	uint8_t bytes[300];
	uint32_t nr;

	(void)state;
	/* About 23 rounds, with records across the end of the ring. */
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t size = make_record(bytes, i);
		uint64_t before = position;

		assert_true(vs_live_log_push(&log_, &claim, bytes, size));
		assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr), size);
		assert_int_equal(nr, 1);
		assert_int_equal(position, before + vs_live_stride(size));
		assert_record(out, i, size);
		vs_live_log_release(&log_, position);
	}
	assert_int_equal(vs_live_log_get_head(&log_), position);
	assert_true(position > 20 * RING_SIZE);
}

static void test_what_was_released_stays_released(void **state)
{
	(void)state;
	vs_live_log_release(&log_, 64);
	vs_live_log_release(&log_, 0);
	assert_int_equal(log_.header->tail, 64);
}

static void test_several_records_are_read_at_once_as_far_as_they_fit(void **state)
{
	static uint8_t out[VS_LIVE_SIZE_MASK + 1];
	uint64_t position = 0;
	uint8_t bytes[1000] = {0};
	uint32_t nr;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_true(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
	assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr), 16000);
	assert_int_equal(nr, 16);
	assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr), 4000);
	assert_int_equal(nr, 4);
	assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr), 0);
	assert_int_equal(nr, 0);
}

static void test_a_full_ring_refuses_until_there_is_room(void **state)
{
	static uint8_t out[VS_LIVE_SIZE_MASK + 1];
	uint8_t bytes[1016] = {7};
	uint64_t position = 0;
	uint32_t nr;

	(void)state;
	assert_false(vs_live_log_is_filling(&log_));
	for (int i = 0; i < 64; i++) /* 64 strides of 1024 are all of it */
		assert_true(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
	assert_true(vs_live_log_is_filling(&log_));
	assert_false(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
	assert_false(vs_live_log_push(&log_, &claim, bytes, 1));
	assert_int_equal(vs_live_log_get_head(&log_), RING_SIZE);
	vs_live_log_read(&log_, &position, out, 1016 + 1, &nr);
	assert_int_equal(nr, 1);
	assert_false(vs_live_log_push(&log_, &claim, bytes, 1)); /* read, but not yet given back */
	vs_live_log_release(&log_, position);
	assert_true(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
	assert_false(vs_live_log_push(&log_, &claim, bytes, 1));
}

static void test_what_an_earlier_round_left_is_no_record(void **state)
{
	static uint8_t out[VS_LIVE_SIZE_MASK + 1];
	uint8_t bytes[24] = {0};
	uint64_t position = 0;
	uint32_t nr;

	(void)state;
	for (unsigned i = 0; i < RING_SIZE / 32; i++)
		assert_true(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
	while (vs_live_log_read(&log_, &position, out, sizeof(out), &nr))
		;
	assert_int_equal(position, RING_SIZE);
	vs_live_log_release(&log_, position);
	assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr), 0);
}

static void test_a_place_that_was_given_up_is_skipped_and_counted(void **state)
{
	static uint8_t out[VS_LIVE_SIZE_MASK + 1];
	uint8_t bytes[300] = {1};
	struct vs_live_log_claim left = {0};
	uint64_t position = 0;
	uint32_t nr;

	(void)state;
	for (uint32_t size = 3; size < 300; size += 37) {
		uint64_t head = vs_live_log_get_head(&log_);

		/* As a thread leaves it that jumps away while it copies. */
		atomic_store(&log_.header->head, head + vs_live_stride(size));
		left.position = head;
		left.size = size;
		left.log = &log_;
		assert_true(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
		assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr), 0);
		vs_live_log_give_up(&left);
		assert_null(left.log);
		assert_int_equal(vs_live_log_read(&log_, &position, out, sizeof(out), &nr),
				 size + sizeof(bytes));
		assert_int_equal(nr, 2);
		assert_int_equal(vs_codec_get_size(out, sizeof(out)), size);
		vs_live_log_release(&log_, position);
	}
	assert_int_equal(vs_live_log_get_lost(&log_), 9);
	vs_live_log_give_up(&left); /* nothing is claimed: nothing happens */
	assert_int_equal(vs_live_log_get_lost(&log_), 9);
}

static void test_a_detached_log_reaches_its_file_no_more(void **state)
{
	uint8_t bytes[16] = {0};
	uint64_t head;
	int fd;

	(void)state;
	assert_true(vs_live_log_push(&log_, &claim, bytes, sizeof(bytes)));
	vs_live_log_detach(&log_);
	vs_live_log_push(&log_, &claim, bytes, sizeof(bytes));
	vs_live_log_push(&log_, &claim, bytes, sizeof(bytes));
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &head, sizeof(head), offsetof(struct vs_live_header, head)),
			 sizeof(head));
	close(fd);
	assert_int_equal(head, vs_live_stride(sizeof(bytes)));
}

static void test_a_limit_on_file_sizes_makes_the_ring_smaller(void **state)
{
	const struct rlimit limit = {VS_LIVE_HEADER_SIZE + 2 * RING_SIZE, RLIM_INFINITY};
	struct vs_live_log_facts large = facts;
	struct vs_live_log log;
	int status;
	pid_t pid;

	(void)state;
	large.ring_size = 16 * RING_SIZE;
	pid = fork();
	if (pid == 0) {
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0 ||
		    vs_live_log_create(&log, path, &large) != 0)
			_exit(1);
		_exit(log.ring_size == 2 * RING_SIZE ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

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
	int err;

	(void)state;
	/* /proc takes no files; what it says first is that it cannot be written. */
	err = vs_live_log_create(&log, "/proc/self/a.live", &facts);
	assert_true(err < 0);
	assert_null(log.header);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_header_says_what_the_reader_needs),
		TEST(test_records_come_out_as_they_went_in_round_after_round),
		TEST(test_what_was_released_stays_released),
		TEST(test_several_records_are_read_at_once_as_far_as_they_fit),
		TEST(test_a_full_ring_refuses_until_there_is_room),
		TEST(test_what_an_earlier_round_left_is_no_record),
		TEST(test_a_place_that_was_given_up_is_skipped_and_counted),
		TEST(test_a_detached_log_reaches_its_file_no_more),
		TEST(test_a_limit_on_file_sizes_makes_the_ring_smaller),
		TEST(test_a_folder_that_is_not_there_is_an_error),
		TEST(test_a_file_system_that_promises_no_pages_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
