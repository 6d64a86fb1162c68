#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_file.h"
#include "cmocka_all.h"
#include "pair_maker.h"

/* ---- A write(2) that misbehaves as it may (linked with --wrap=write) --------------------------
 */

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

static bool is_slow;
static uint32_t nr_writes;

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	if (is_slow && nr_writes++ % 2) {
		errno = EINTR;
		return -1;
	}
	return __real_write(fd, bytes, is_slow && size > 7 ? 7 : size);
}

/* ---- Helpers ----------------------------------------------------------------------------------
 */

/* A STEP of a fixed length: 12 bytes, a stride of 24. */
static size_t put_step(uint8_t *bytes, uint64_t number)
{
	const struct vs_record record = {
		.type = VS_RECORD_STEP,
		.time_ns = 1ull << 35,
		.thread = 1,
		.step = {.number = 1ull << 21 | number},
	};

	return vs_codec_put_record(bytes, &record);
}

static struct vs_block_file open_blocks(const char *path)
{
	struct vs_block_file file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(vs_block_file_init(&file, fd), 0);
	return file;
}

static void close_blocks(struct vs_block_file *file)
{
	close(file->fd);
	vs_block_file_fini(file);
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* ---- Blocks -----------------------------------------------------------------------------------
 */

static void test_records_come_back_with_and_without_zlib(void **state)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;

	(void)state;
	for (int with_zlib = 0; with_zlib < 2; with_zlib++) {
		vs_pair_maker_init(&maker, 0, with_zlib);
		for (uint32_t i = 0; i < 20000; i++)
			vs_pair_maker_add_random(&maker);
		vs_pair_maker_close(&maker, 3);
		vs_pair_maker_expect_all(&maker, &seen);
		assert_true(seen.is_complete);
		assert_false(seen.used_log);
		assert_int_equal(seen.nr_lost, 3);
		vs_pair_maker_fini(&maker);
	}
}

static void test_many_records_at_once_are_cut_into_blocks_between_records(void **state)
{
	enum {
		NR = 100000
	};
	uint8_t *bytes = malloc(NR * 16);
	struct vs_pair_maker maker;
	struct vs_block_file file;
	uint64_t position = 4096;
	uint32_t nr_records = 0;
	size_t size = 0;

	(void)state;
	assert_non_null(bytes);
	for (uint64_t i = 0; i < NR; i++)
		size += put_step(bytes + size, i);
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(vs_writer_add_records(maker.writer, position, bytes, size, NR), 0);
	assert_true(vs_writer_get_end(maker.writer) > 0); /* some blocks were full */
	assert_true(vs_writer_get_end(maker.writer) < position + NR * 24);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_end(maker.writer), position + NR * 24);
	file = open_blocks(maker.path);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.kind, VS_BLOCK_INFO);
	while (vs_block_file_next(&file) == 1) {
		assert_int_equal(file.header.kind, VS_BLOCK_RECORDS);
		assert_int_equal(file.header.first, position);
		assert_int_equal(file.header.span, file.header.nr_records * 24);
		assert_true(file.header.stored_size < file.header.raw_size);
		position += file.header.span;
		nr_records += file.header.nr_records;
	}
	assert_int_equal(nr_records, NR);
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
	free(bytes);
}

static void test_end_moves_only_when_the_file_has_it(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(vs_writer_get_end(maker.writer), 0);
	vs_pair_maker_add_random(&maker);
	assert_int_equal(vs_writer_get_end(maker.writer), 0);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_end(maker.writer), maker.drained);
	vs_pair_maker_fini(&maker);
}

static void test_gap_in_the_log_begins_a_new_block(void **state)
{
	struct vs_pair_maker maker;
	struct vs_block_file file;
	uint8_t bytes[VS_CODEC_MAX];
	size_t size = put_step(bytes, 1);

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(vs_writer_add_records(maker.writer, 0, bytes, size, 1), 0);
	assert_int_equal(vs_writer_add_records(maker.writer, 24, bytes, size, 1), 0);
	assert_int_equal(vs_writer_add_records(maker.writer, 80, bytes, size, 1), 0);
	vs_pair_maker_flush(&maker);
	file = open_blocks(maker.path);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.first, 0);
	assert_int_equal(file.header.span, 48);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.first, 80);
	assert_int_equal(file.header.span, 24);
	assert_int_equal(vs_block_file_next(&file), 0);
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
}

static void test_flush_of_nothing_writes_nothing(void **state)
{
	struct vs_pair_maker maker;
	struct vs_block_file file;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_flush(&maker);
	file = open_blocks(maker.path);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(vs_block_file_next(&file), 0);
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
}

/* ---- What callers can do wrong ----------------------------------------------------------------
 */

static void test_info_after_records_is_invalid(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(vs_writer_add_info(maker.writer, "", "x"), -VS_ERR_INVALID);
	vs_pair_maker_add_random(&maker);
	assert_int_equal(vs_writer_add_info(maker.writer, "k", "x"), -VS_ERR_INVALID);
	vs_pair_maker_fini(&maker);
}

static void test_bytes_that_are_not_whole_records_are_invalid(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	struct vs_record record;
	uint8_t bytes[VS_CODEC_MAX];
	size_t size = put_step(bytes, 1);

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	put_step(bytes + size, 2);
	assert_int_equal(vs_writer_add_records(maker.writer, 0, bytes, 2 * size - 1, 2),
			 -VS_ERR_INVALID);
	assert_int_equal(vs_writer_add_records(maker.writer, 24, bytes, size, 2), -VS_ERR_INVALID);
	assert_int_equal(vs_writer_add_records(maker.writer, 48, bytes, 2 * size, 1),
			 -VS_ERR_INVALID);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(vs_reader_next(reader, &record), 1);
	assert_int_equal(vs_reader_next(reader, &record), 0);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_long_values_are_cut_and_many_fill_several_blocks(void **state)
{
	char *value = malloc(100001);
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	char key[2] = "a";

	(void)state;
	assert_non_null(value);
	memset(value, 'v', 100000);
	value[100000] = '\0';
	vs_pair_maker_init(&maker, 0, false);
	for (; key[0] <= 'h'; key[0]++)
		assert_int_equal(vs_writer_add_info(maker.writer, key, value), 0);
	vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	for (key[0] = 'a'; key[0] <= 'h'; key[0]++)
		assert_int_equal(strlen(vs_reader_get_info(reader, key)), VS_WRITER_VALUE_MAX);
	assert_string_equal(vs_reader_get_info(reader, "host"), "somewhere");
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
	free(value);
}

/* ---- What systems can do wrong ----------------------------------------------------------------
 */

static void test_short_and_interrupted_writes_lose_nothing(void **state)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;

	(void)state;
	is_slow = true;
	vs_pair_maker_init(&maker, 0, true);
	for (uint32_t i = 0; i < 500; i++)
		vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	is_slow = false;
	assert_true(nr_writes > 100);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
	vs_pair_maker_fini(&maker);
}

static void test_full_device_is_an_io_error_from_the_start(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct vs_writer *writer;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(vs_writer_create(&writer, fd, NULL), -VS_ERR_IO);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed */
}

/*
 * Until the limit, records go into the file; the one call that notices says so; what comes later is
 * counted; and when there is room again, the END block tells how many it was.
 */
static void test_full_disk_keeps_whole_blocks_and_counts_the_rest(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	uint32_t nr_errors = 0, nr_records = 0, nr_read;
	uint8_t bytes[VS_CODEC_MAX];
	struct stat st;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, 0, false);
	for (uint32_t i = 0; i < 200; i++) {
		vs_pair_maker_add_random(&maker);
		if (i % 50 == 49)
			vs_pair_maker_flush(&maker);
	}
	assert_int_equal(stat(maker.path, &st), 0);
	limit_files((rlim_t)st.st_size + 10000);
	for (uint32_t i = 0; i < 60000; i++) {
		err = vs_writer_add_records(maker.writer, maker.drained, bytes, put_step(bytes, i),
					    1);
		maker.drained += 24;
		nr_records++;
		if (err) {
			assert_int_equal(err, -VS_ERR_IO);
			assert_int_equal(errno, EFBIG);
			nr_errors++;
		}
	}
	assert_int_equal(nr_errors, 1);
	assert_int_equal(vs_writer_flush(maker.writer), 0);
	limit_files(RLIM_INFINITY);
	assert_int_equal(vs_writer_close(maker.writer, 1000), 0);
	maker.writer = NULL;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	nr_read = vs_pair_maker_compare(&maker, reader, 0, &err);
	assert_int_equal(nr_read, maker.nr_records);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_int_equal(seen.nr_lost, 1000 + nr_records);
	assert_true(seen.is_complete);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_end_that_cannot_be_written_is_an_error(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	vs_pair_maker_add_random(&maker);
	vs_pair_maker_flush(&maker);
	limit_files(8);
	assert_int_equal(vs_writer_close(maker.writer, 0), -VS_ERR_IO);
	limit_files(RLIM_INFINITY);
	maker.writer = NULL;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 1);
	assert_int_equal(err, -VS_ERR_TRUNCATED);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_come_back_with_and_without_zlib),
		cmocka_unit_test(test_many_records_at_once_are_cut_into_blocks_between_records),
		cmocka_unit_test(test_end_moves_only_when_the_file_has_it),
		cmocka_unit_test(test_gap_in_the_log_begins_a_new_block),
		cmocka_unit_test(test_flush_of_nothing_writes_nothing),
		cmocka_unit_test(test_info_after_records_is_invalid),
		cmocka_unit_test(test_bytes_that_are_not_whole_records_are_invalid),
		cmocka_unit_test(test_long_values_are_cut_and_many_fill_several_blocks),
		cmocka_unit_test(test_short_and_interrupted_writes_lose_nothing),
		cmocka_unit_test(test_full_device_is_an_io_error_from_the_start),
		cmocka_unit_test(test_full_disk_keeps_whole_blocks_and_counts_the_rest),
		cmocka_unit_test(test_end_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
