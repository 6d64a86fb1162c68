#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_file.h"
#include "cmocka_all.h"
#include "columns.h"
#include "coverage.h"
#include "pair_maker.h"

/* ---- A write(2) that misbehaves as it may (linked with --wrap=write) --------------------------
 */

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

static bool is_slow;
static uint32_t nr_writes;

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	nr_writes++;
	if (is_slow && nr_writes % 2) {
		errno = EINTR;
		return -1;
	}
	return __real_write(fd, bytes, is_slow && size > 7 ? 7 : size);
}

/* ---- Helpers ----------------------------------------------------------------------------------
 */

static struct vs_record make_step(uint64_t number)
{
	return (struct vs_record){.type = VS_RECORD_STEP, .step = {.number = number}};
}

static void add_step(struct vs_writer *writer, uint64_t time_ns, uint32_t ring, uint64_t sequence)
{
	struct vs_record record = make_step(sequence);

	record.time_ns = time_ns;
	record.thread = ring;
	vs_writer_add(writer, &record, ring, sequence);
}

static void add_name(struct vs_writer *writer, uint32_t ring, uint64_t sequence)
{
	const struct vs_record record = {.type = VS_RECORD_NAME, .name = {1, {"name", 4}}};

	vs_writer_add(writer, &record, ring, sequence);
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

/* Expects the next range at the beginning of an EVENTS block's payload. */
static void expect_range(struct vs_wire *payload, uint32_t ring, uint64_t first, uint32_t count)
{
	struct vs_coverage_range range = vs_coverage_get(payload);

	assert_int_equal(range.ring, ring);
	assert_int_equal(range.first, first);
	assert_int_equal(range.count, count);
}

/* Many events that nobody could foresee, or many that are all the same. */
static void flush_blocks(struct vs_pair_maker *maker, bool is_noise, uint64_t *sequence)
{
	struct vs_pair_maker_random random = {*sequence + 1};

	for (int i = 0; i < 2000; i++) {
		struct vs_record record = {.type = VS_RECORD_BLOCK_ALLOC, .thread = 3};

		record.block_alloc.address = is_noise ? vs_pair_maker_draw(&random) : 512;
		record.block_alloc.size = is_noise ? vs_pair_maker_draw(&random) : 512;
		vs_writer_add(maker->writer, &record, 3, (*sequence)++);
	}
	vs_pair_maker_flush(maker);
}

static void test_noise_is_not_compressed_over_and_over_again(void **state)
{
	struct vs_pair_maker maker;
	struct vs_block_file file;
	uint64_t sequence = 0;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	flush_blocks(&maker, false, &sequence);
	flush_blocks(&maker, true, &sequence);
	for (int i = 0; i < 16; i++)
		flush_blocks(&maker, false, &sequence);
	file = open_blocks(maker.path);
	assert_int_equal(vs_block_file_next(&file), 1);
	for (int i = 0; i < 18; i++) {
		assert_int_equal(vs_block_file_next(&file), 1);
		assert_int_equal(file.header.kind, VS_BLOCK_EVENTS);
		/* The first one, and the one in which it is tried again. */
		if (i == 0 || i == 17)
			assert_int_equal(file.header.flags, VS_BLOCK_ZLIB);
		else if (i > 1)
			assert_int_equal(file.header.flags, 0);
	}
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
}

static void test_flush_is_definitions_and_then_events(void **state)
{
	struct vs_pair_maker maker;
	struct vs_block_file file;
	struct vs_wire payload;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	add_step(maker.writer, 7000, 4, 100);
	add_name(maker.writer, 2, 55);
	add_step(maker.writer, 8000, 2, 56);
	add_step(maker.writer, 9999, 4, 101);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 0);
	file = open_blocks(maker.path);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.kind, VS_BLOCK_INFO);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.kind, VS_BLOCK_DEFINITIONS);
	assert_int_equal(file.header.nr_records, 1);
	assert_int_equal(file.header.first_time_ns, 0);
	assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.kind, VS_BLOCK_EVENTS);
	assert_int_equal(file.header.nr_records, 3);
	assert_int_equal(file.header.first_time_ns, 7000);
	assert_int_equal(file.header.last_time_ns, 9000);
	vs_wire_init(&payload, file.raw, file.header.raw_size);
	assert_int_equal(vs_wire_get_varint(&payload), 2);
	expect_range(&payload, 4, 100, 2);
	expect_range(&payload, 2, 55, 2);
	assert_int_equal(vs_block_file_next(&file), 0);
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
}

static void test_records_of_several_rings_are_added_together(void **state)
{
	struct vs_record records[4] = {make_step(0), make_step(1), make_step(2)};
	struct vs_pair_maker maker;
	struct vs_block_file file;
	struct vs_wire payload;

	(void)state;
	records[3] = (struct vs_record){.type = VS_RECORD_NAME, .name = {1, {"name", 4}}};
	vs_pair_maker_init(&maker, 0, true);
	vs_writer_cover(maker.writer, 4, 100, 1);
	vs_writer_cover(maker.writer, 2, 55, 1);
	vs_writer_cover(maker.writer, 4, 101, 2);
	assert_int_equal(vs_writer_add_some(maker.writer, records, 4), 3);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 4);
	vs_pair_maker_flush(&maker);
	file = open_blocks(maker.path);
	for (int i = 0; i < 3; i++)
		assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.kind, VS_BLOCK_EVENTS);
	assert_int_equal(file.header.nr_records, 3);
	vs_wire_init(&payload, file.raw, file.header.raw_size);
	assert_int_equal(vs_wire_get_varint(&payload), 2);
	expect_range(&payload, 4, 100, 3);
	expect_range(&payload, 2, 55, 1);
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
}

/* Otherwise the log would keep them for ever. */
static void test_definitions_alone_are_covered_too(void **state)
{
	struct vs_pair_maker maker;
	struct vs_block_file file;
	struct vs_wire payload;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	add_name(maker.writer, 2, 0);
	vs_pair_maker_flush(&maker);
	file = open_blocks(maker.path);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(vs_block_file_next(&file), 1);
	assert_int_equal(file.header.kind, VS_BLOCK_EVENTS);
	assert_int_equal(file.header.nr_records, 0);
	vs_wire_init(&payload, file.raw, file.header.raw_size);
	assert_int_equal(vs_wire_get_varint(&payload), 1);
	expect_range(&payload, 2, 0, 1);
	assert_int_equal(vs_wire_left(&payload), 0);
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
	assert_int_equal(vs_writer_get_size(maker.writer), file.offset);
	close_blocks(&file);
	vs_pair_maker_fini(&maker);
}

static void test_flush_is_one_write(void **state)
{
	struct vs_pair_maker maker;
	uint32_t before;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	for (uint32_t i = 0; i < 1000; i++)
		vs_pair_maker_add_random(&maker);
	before = nr_writes;
	vs_pair_maker_flush(&maker);
	assert_int_equal(nr_writes, before + 1);
	vs_pair_maker_fini(&maker);
}

/* ---- When it is full --------------------------------------------------------------------------
 */

static void test_writer_is_full_of_events(void **state)
{
	struct vs_pair_maker maker;
	uint64_t nr = 0;

	(void)state;
	assert_true(VS_COVERAGE_BOUND + vs_columns_bound() <= VS_FORMAT_PAYLOAD_MAX);
	vs_pair_maker_init(&maker, 0, true);
	for (; !vs_writer_is_full(maker.writer); nr++)
		add_step(maker.writer, nr * 1000, 1, nr);
	assert_true(nr <= VS_COLUMNS_MAX);
	assert_true(nr >= 1000);
	vs_pair_maker_flush(&maker);
	assert_false(vs_writer_is_full(maker.writer));
	vs_pair_maker_fini(&maker);
}

static void test_room_is_what_the_block_can_take(void **state)
{
	struct vs_record records[3] = {make_step(0), make_step(1)};
	struct vs_pair_maker maker;

	(void)state;
	records[2] = (struct vs_record){.type = VS_RECORD_NAME, .name = {1, {"name", 4}}};
	vs_pair_maker_init(&maker, 0, false);
	assert_int_equal(vs_writer_get_room(maker.writer), VS_COLUMNS_MAX);
	assert_int_equal(vs_writer_add_run(maker.writer, records, 3, 7, 0), 2);
	assert_int_equal(vs_writer_get_room(maker.writer), VS_COLUMNS_MAX - 2);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 3);
	for (uint64_t i = 3; vs_writer_get_room(maker.writer); i++) {
		assert_false(vs_writer_is_full(maker.writer));
		assert_int_equal(vs_writer_add_run(maker.writer, records, 1, 7, i), 1);
	}
	assert_true(vs_writer_is_full(maker.writer));
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), VS_COLUMNS_MAX + 1);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_room(maker.writer), VS_COLUMNS_MAX);
	vs_pair_maker_fini(&maker);
}

static void test_writer_is_full_of_definitions(void **state)
{
	static char text[VS_CODEC_TEXT_MAX];
	const struct vs_record record = {
		.type = VS_RECORD_NAME,
		.name = {1, {text, sizeof(text)}},
	};
	struct vs_reader_state seen;
	struct vs_pair_maker maker;
	uint32_t nr = 0;

	(void)state;
	vs_pair_maker_init(&maker, 0, false);
	for (; !vs_writer_is_full(maker.writer); nr++)
		vs_pair_maker_add(&maker, &record);
	assert_true(nr >= 100);
	vs_pair_maker_flush(&maker);
	assert_false(vs_writer_is_full(maker.writer));
	vs_pair_maker_close(&maker, 0);
	vs_pair_maker_expect_all(&maker, &seen);
	vs_pair_maker_fini(&maker);
}

static void test_writer_is_full_of_rings(void **state)
{
	struct vs_pair_maker maker;
	uint32_t nr = 0;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	for (; !vs_writer_is_full(maker.writer); nr++)
		add_step(maker.writer, nr, nr * 7919, 0);
	assert_int_equal(nr, VS_COVERAGE_MAX);
	vs_pair_maker_flush(&maker);
	assert_false(vs_writer_is_full(maker.writer));
	vs_pair_maker_fini(&maker);
}

/* ---- Going on with a trace --------------------------------------------------------------------
 */

static void test_resumed_trace_goes_on_with_events_and_nodes(void **state)
{
	const uint64_t frames[] = {1, 2, 3};
	const struct vs_record stack = {
		.type = VS_RECORD_STACK,
		.stack = {.id = 1, .frames = frames, .nr_frames = 3},
	};
	const struct vs_record step = make_step(1);
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	int fd;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	vs_pair_maker_add(&maker, &stack);
	vs_pair_maker_add(&maker, &step);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_next_node(maker.writer), 4);
	vs_writer_abandon(maker.writer);
	fd = open(maker.path, O_WRONLY | O_CLOEXEC);
	assert_true(lseek(fd, 0, SEEK_END) > 0);
	assert_int_equal(vs_writer_resume(&maker.writer, fd, NULL, 1, 4), 0);
	vs_pair_maker_add(&maker, &stack);
	vs_pair_maker_add(&maker, &step);
	vs_pair_maker_close(&maker, 0);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
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
	assert_int_equal(vs_writer_create(&writer, fd, NULL), 0);
	assert_int_equal(vs_writer_flush(writer), -VS_ERR_IO);
	assert_int_equal(errno, ENOSPC);
	vs_writer_abandon(writer);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed */
}

/*
 * A flush that fails leaves the file as it was and loses nothing: until there is room again, the
 * writer takes no more.
 */
static void test_full_disk_loses_nothing_if_there_is_room_again(void **state)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;
	struct stat before, st;

	(void)state;
	vs_pair_maker_init(&maker, 0, false);
	for (uint32_t i = 0; i < 300; i++)
		vs_pair_maker_add_random(&maker);
	vs_pair_maker_flush(&maker);
	assert_int_equal(stat(maker.path, &before), 0);
	for (uint32_t i = 0; i < 300; i++)
		vs_pair_maker_add_random(&maker);
	limit_files((rlim_t)before.st_size + 1000);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(vs_writer_flush(maker.writer), -VS_ERR_IO);
		assert_int_equal(errno, EFBIG);
		assert_true(vs_writer_is_full(maker.writer));
		assert_int_equal(vs_writer_get_nr_pending(maker.writer), 300);
		assert_int_equal(stat(maker.path, &st), 0);
		assert_int_equal(st.st_size, before.st_size);
		assert_int_equal(vs_writer_get_size(maker.writer), before.st_size);
	}
	limit_files(RLIM_INFINITY);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 0);
	for (uint32_t i = 0; i < 300; i++)
		vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
	assert_int_equal(seen.nr_lost, 0);
	vs_pair_maker_fini(&maker);
}

/* A file that takes no more than an END block: that block tells how many events it was. */
static void test_what_could_not_be_written_is_told_at_the_end(void **state)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	struct vs_record record;
	struct stat st;

	(void)state;
	vs_pair_maker_init(&maker, 0, false);
	for (uint64_t i = 0; i < 500; i++)
		add_step(maker.writer, i * 1000, 1, i);
	add_name(maker.writer, 1, 500);
	assert_int_equal(stat(maker.path, &st), 0);
	limit_files((rlim_t)st.st_size + VS_FORMAT_BLOCK_HEADER_SIZE + VS_FORMAT_END_SIZE);
	assert_int_equal(vs_writer_close(maker.writer, 1000), -VS_ERR_IO);
	limit_files(RLIM_INFINITY);
	maker.writer = NULL;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_reader_next(reader, &record), 0);
	vs_reader_get_state(reader, &seen);
	assert_int_equal(seen.nr_lost, 1500);
	assert_true(seen.is_complete);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_info_that_cannot_be_written_is_kept(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(vs_writer_add_info(maker.writer, "a", "first"), 0);
	limit_files(8);
	assert_int_equal(vs_writer_flush(maker.writer), -VS_ERR_IO);
	assert_int_equal(vs_writer_add_info(maker.writer, "b", "second"), -VS_ERR_IO);
	limit_files(RLIM_INFINITY);
	assert_int_equal(vs_writer_add_info(maker.writer, "b", "second"), 0);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_string_equal(vs_reader_get_info(reader, "a"), "first");
	assert_string_equal(vs_reader_get_info(reader, "b"), "second");
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_end_that_cannot_be_written_is_an_error(void **state)
{
	struct vs_pair_maker_place place = {0};
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
	assert_int_equal(vs_pair_maker_compare(&maker, reader, &place, &err), 1);
	assert_int_equal(err, -VS_ERR_TRUNCATED);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

/* ---- With somebody's help ----------------------------------------------------------------------
 */

static pthread_t helper;
static struct {
	void (*work)(void *what);
	void *what;
} job;
static bool is_nobody_there;
static uint32_t nr_given;

static void *run_job(void *unused)
{
	job.work(job.what);
	return unused;
}

/* Begins at once, and may go on until it is awaited. */
static bool give_to_thread(void (*work)(void *what), void *what)
{
	if (is_nobody_there)
		return false;
	job.work = work;
	job.what = what;
	assert_int_equal(pthread_create(&helper, NULL, run_job, NULL), 0);
	nr_given++;
	return true;
}

static void await_thread(void)
{
	assert_int_equal(pthread_join(helper, NULL), 0);
}

static const struct vs_writer_help help = {give_to_thread, await_thread};

/* So many blocks of random events and definitions, and some more; the bytes of the trace. */
static uint8_t *make_trace(bool with_zlib, const struct vs_writer_help *with_help, size_t *size)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;
	uint8_t *bytes;

	vs_pair_maker_init(&maker, 0, with_zlib);
	for (uint32_t nr_flushes = 0, nr = 0; nr_flushes < 7;) {
		vs_pair_maker_add_random(&maker);
		/* Large ones, small ones, and one with a single record. */
		if (!vs_writer_is_full(maker.writer) && ++nr < 20000u * (nr_flushes % 3))
			continue;
		nr = 0;
		assert_int_equal(with_help ? vs_writer_flush_aside(maker.writer, with_help)
					   : vs_writer_flush(maker.writer),
				 0);
		nr_flushes++;
	}
	vs_pair_maker_close(&maker, 0);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
	bytes = vs_pair_maker_load(maker.path, size);
	vs_pair_maker_fini(&maker);
	return bytes;
}

static void test_a_trace_is_the_same_with_help_or_without(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		size_t plain_size, size;
		uint8_t *plain = make_trace(i % 2, NULL, &plain_size), *bytes;

		is_nobody_there = i / 2;
		nr_given = 0;
		bytes = make_trace(i % 2, &help, &size);
		assert_true(is_nobody_there || nr_given >= 5);
		assert_int_equal(size, plain_size);
		assert_memory_equal(bytes, plain, size);
		free(bytes);
		free(plain);
	}
	is_nobody_there = false;
}

/* What could not be written is said by the next flush, and everything is still there. */
static void test_a_full_disk_is_told_when_the_help_has_come_back(void **state)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;
	struct stat before, st;

	(void)state;
	vs_pair_maker_init(&maker, 0, false);
	vs_pair_maker_flush(&maker);
	assert_int_equal(stat(maker.path, &before), 0);
	for (uint32_t i = 0; i < 300; i++)
		vs_pair_maker_add_random(&maker);
	limit_files((rlim_t)before.st_size + 1000);
	assert_int_equal(vs_writer_flush_aside(maker.writer, &help), 0);
	assert_false(vs_writer_is_full(maker.writer));
	for (uint32_t i = 0; i < 200; i++)
		vs_pair_maker_add_random(&maker);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 500);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(i % 2 ? vs_writer_flush_aside(maker.writer, &help)
				       : vs_writer_flush(maker.writer),
				 -VS_ERR_IO);
		assert_int_equal(errno, EFBIG);
		assert_true(vs_writer_is_full(maker.writer));
		assert_int_equal(vs_writer_get_nr_pending(maker.writer), 500);
		assert_int_equal(stat(maker.path, &st), 0);
		assert_int_equal(st.st_size, before.st_size);
	}
	limit_files(RLIM_INFINITY);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_writer_get_nr_pending(maker.writer), 0);
	vs_pair_maker_close(&maker, 0);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
	vs_pair_maker_fini(&maker);
}

/* All events of both blocks are told as lost. */
static void test_what_the_help_made_in_vain_is_told_at_the_end(void **state)
{
	struct vs_reader_state seen;
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	struct vs_record record;
	struct stat st;

	(void)state;
	vs_pair_maker_init(&maker, 0, false);
	assert_int_equal(stat(maker.path, &st), 0);
	limit_files((rlim_t)st.st_size + VS_FORMAT_BLOCK_HEADER_SIZE + VS_FORMAT_END_SIZE);
	for (uint64_t i = 0; i < 500; i++)
		add_step(maker.writer, i * 1000, 1, i);
	assert_int_equal(vs_writer_flush_aside(maker.writer, &help), 0);
	for (uint64_t i = 500; i < 700; i++)
		add_step(maker.writer, i * 1000, 1, i);
	assert_int_equal(vs_writer_close(maker.writer, 1000), -VS_ERR_IO);
	limit_files(RLIM_INFINITY);
	maker.writer = NULL;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_reader_next(reader, &record), 0);
	vs_reader_get_state(reader, &seen);
	assert_int_equal(seen.nr_lost, 1700);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_a_writer_that_is_given_up_waits_for_its_help(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	for (uint32_t i = 0; i < 5000; i++)
		vs_pair_maker_add_random(&maker);
	assert_int_equal(vs_writer_flush_aside(maker.writer, &help), 0);
	vs_writer_abandon(maker.writer);
	maker.writer = NULL;
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_come_back_with_and_without_zlib),
		cmocka_unit_test(test_noise_is_not_compressed_over_and_over_again),
		cmocka_unit_test(test_flush_is_definitions_and_then_events),
		cmocka_unit_test(test_records_of_several_rings_are_added_together),
		cmocka_unit_test(test_definitions_alone_are_covered_too),
		cmocka_unit_test(test_flush_of_nothing_writes_nothing),
		cmocka_unit_test(test_flush_is_one_write),
		cmocka_unit_test(test_writer_is_full_of_events),
		cmocka_unit_test(test_room_is_what_the_block_can_take),
		cmocka_unit_test(test_writer_is_full_of_definitions),
		cmocka_unit_test(test_writer_is_full_of_rings),
		cmocka_unit_test(test_resumed_trace_goes_on_with_events_and_nodes),
		cmocka_unit_test(test_info_after_records_is_invalid),
		cmocka_unit_test(test_long_values_are_cut_and_many_fill_several_blocks),
		cmocka_unit_test(test_short_and_interrupted_writes_lose_nothing),
		cmocka_unit_test(test_full_device_is_an_io_error_from_the_start),
		cmocka_unit_test(test_full_disk_loses_nothing_if_there_is_room_again),
		cmocka_unit_test(test_what_could_not_be_written_is_told_at_the_end),
		cmocka_unit_test(test_info_that_cannot_be_written_is_kept),
		cmocka_unit_test(test_end_that_cannot_be_written_is_an_error),
		cmocka_unit_test(test_a_trace_is_the_same_with_help_or_without),
		cmocka_unit_test(test_a_full_disk_is_told_when_the_help_has_come_back),
		cmocka_unit_test(test_what_the_help_made_in_vain_is_told_at_the_end),
		cmocka_unit_test(test_a_writer_that_is_given_up_waits_for_its_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
