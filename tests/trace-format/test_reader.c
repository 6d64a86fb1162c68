#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "block.h"
#include "cmocka_all.h"
#include "columns.h"
#include "crc32.h"
#include "info.h"
#include "pair_maker.h"
#include "wire.h"

#define NR_CHUNKS 16

/* ---- Helpers ----------------------------------------------------------------------------------
 */

/* All there is, from the start. */
static uint32_t compare(const struct vs_pair_maker *maker, struct vs_reader *reader, int *err)
{
	struct vs_pair_maker_place place = {0};

	return vs_pair_maker_compare(maker, reader, &place, err);
}

/* ---- What is not a trace ----------------------------------------------------------------------
 */

static void expect_refused(const char *path, int err)
{
	struct vs_reader *reader = NULL;

	assert_int_equal(vs_reader_open(&reader, path), err);
	assert_null(reader);
}

static void test_what_is_no_trace_is_refused_by_its_reason(void **state)
{
	struct vs_pair_maker maker;
	uint8_t newer[16] = "VSCOPE\r\n\2";

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	expect_refused("/nonexistent/t.vscope", -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	expect_refused(maker.folder, -VS_ERR_IO);
	assert_int_equal(errno, EISDIR);
	expect_refused("/dev/null", -VS_ERR_NOT_A_TRACE);
	vs_pair_maker_save(maker.path, newer, 0);
	expect_refused(maker.path, -VS_ERR_EMPTY);
	vs_pair_maker_save(maker.path, (const uint8_t *)"#!/bin/sh\nexit 0\n", 17);
	expect_refused(maker.path, -VS_ERR_NOT_A_TRACE);
	vs_pair_maker_save(maker.path, newer, 15);
	expect_refused(maker.path, -VS_ERR_TRUNCATED);
	vs_wire_put_le32(newer + 12, vs_crc32_add(0, newer, 12));
	vs_pair_maker_save(maker.path, newer, 16);
	expect_refused(maker.path, -VS_ERR_NEWER);
	newer[8] = 0;
	vs_wire_put_le32(newer + 12, vs_crc32_add(0, newer, 12));
	vs_pair_maker_save(maker.path, newer, 16);
	expect_refused(maker.path, -VS_ERR_PROVISIONAL);
	vs_pair_maker_fini(&maker);
}

static void test_fifo_does_not_block(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(unlink(maker.path), 0);
	assert_int_equal(mkfifo(maker.path, 0600), 0);
	expect_refused(maker.path, -VS_ERR_NOT_A_TRACE);
	vs_pair_maker_fini(&maker);
}

static void test_trace_that_may_not_be_read_is_an_io_error(void **state)
{
	struct vs_pair_maker maker;
	uid_t me = geteuid();
	int err, saved;
	struct vs_reader *reader;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	assert_int_equal(chmod(maker.path, 0), 0);
	/* Nothing is forbidden to root. */
	if (!me)
		assert_int_equal(seteuid(65534), 0);
	err = vs_reader_open(&reader, maker.path);
	saved = errno;
	assert_int_equal(seteuid(me), 0);
	assert_int_equal(err, -VS_ERR_IO);
	assert_int_equal(saved, EACCES);
	vs_pair_maker_fini(&maker);
}

/* ---- Whole traces -----------------------------------------------------------------------------
 */

static void test_info_is_found_by_key(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_string_equal(vs_reader_get_info(reader, VS_INFO_HOST), "somewhere");
	assert_null(vs_reader_get_info(reader, "nothing"));
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_rewound_trace_is_the_same_again(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	for (uint32_t i = 0; i < 300; i++)
		vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_reader_next(reader, &record), 1);
	for (uint32_t round = 0; round < 3; round++) {
		assert_int_equal(vs_reader_rewind(reader), 0);
		assert_int_equal(compare(&maker, reader, &err), 300);
		assert_int_equal(err, 0);
		vs_reader_get_state(reader, &seen);
		assert_int_equal(seen.nr_records, 300);
		assert_true(seen.is_complete);
		assert_int_equal(vs_reader_next(reader, &record), 0);
	}
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_lost_events_are_summed_until_the_total_is_known(void **state)
{
	struct vs_record lost = {.type = VS_RECORD_LOST, .lost = {5}};
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	assert_true(vs_pair_maker_push(&maker, 1, &lost));
	assert_true(vs_pair_maker_push(&maker, 1, &lost));
	vs_pair_maker_drain(&maker, 2);
	vs_pair_maker_close(&maker, 12);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_reader_next(reader, &record), 1);
	vs_reader_get_state(reader, &seen);
	assert_int_equal(seen.nr_lost, 5);
	assert_int_equal(vs_reader_next(reader, &record), 1);
	assert_int_equal(vs_reader_next(reader, &record), 0);
	vs_reader_get_state(reader, &seen);
	assert_int_equal(seen.nr_lost, 12);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

/* ---- Blocks made by hand ----------------------------------------------------------------------
 */

/* A block behind what fd has. */
static void add_block(int fd, struct vs_block_header *header, const uint8_t *payload, size_t size)
{
	uint8_t bytes[VS_FORMAT_BLOCK_HEADER_SIZE];

	header->stored_size = (uint32_t)size;
	header->raw_size = (uint32_t)size;
	header->payload_crc = vs_crc32_add(0, payload, size);
	vs_block_put_header(bytes, header);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(write(fd, payload, size), size);
}

/* Blocks and definitions of later versions, put between ours. */
static void test_unknown_blocks_and_definitions_are_passed_over(void **state)
{
	static const uint8_t rows[] = {200, 3, 1, 2, 3, VS_RECORD_NAME, 3, 1, 1, 'a', 15, 0};
	struct vs_block_header unknown = {.kind = 99, .nr_records = 7};
	struct vs_block_header definitions = {.kind = VS_BLOCK_DEFINITIONS, .nr_records = 3};
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;
	uint8_t *bytes;
	size_t size, info_end;
	int err, fd;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	free(vs_pair_maker_load(maker.path, &info_end));
	vs_pair_maker_add_random(&maker);
	vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	bytes = vs_pair_maker_load(maker.path, &size);
	fd = vs_pair_maker_make_fd(bytes, info_end);
	add_block(fd, &unknown, (const uint8_t *)"whatever", 8);
	add_block(fd, &definitions, rows, sizeof(rows));
	assert_int_equal(write(fd, bytes + info_end, size - info_end), size - info_end);
	assert_int_equal(vs_reader_open_fds(&reader, fd, -1), 0);
	assert_int_equal(vs_reader_next(reader, &record), 1);
	assert_int_equal(record.type, VS_RECORD_NAME);
	assert_int_equal(compare(&maker, reader, &err), 2);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_complete);
	vs_reader_close(reader);
	free(bytes);
	vs_pair_maker_fini(&maker);
}

/* The columns of some steps, behind what stands at `out` already. Returns the place behind. */
static uint8_t *put_steps(uint8_t *out, uint64_t first, uint32_t nr)
{
	struct vs_columns *columns;
	size_t size;

	assert_int_equal(vs_columns_create(&columns, 1000), 0);
	for (uint32_t i = 0; i < nr; i++) {
		const struct vs_record step = {
			.type = VS_RECORD_STEP,
			.time_ns = 1000 * (first + i),
			.thread = 1,
			.step = {.number = first + i},
		};

		vs_columns_add(columns, &step);
	}
	size = vs_columns_finish(columns, out);
	vs_columns_destroy(columns);
	return out + size;
}

static void expect_steps(struct vs_reader *reader, uint64_t first, uint32_t nr)
{
	struct vs_record record;

	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(vs_reader_next(reader, &record), 1);
		assert_int_equal(record.type, VS_RECORD_STEP);
		assert_int_equal(record.step.number, first + i);
		assert_int_equal(record.time_ns, 1000 * (first + i));
	}
}

/*
 * A trace that lost its first 100 records: a SNAPSHOT stands for them. Another one further on is
 * for those who do not read from the start.
 */
static void test_snapshot_stands_for_what_came_before_it(void **state)
{
	struct vs_block_header snapshot = {.kind = VS_BLOCK_SNAPSHOT, .nr_records = 3};
	struct vs_block_header events = {.kind = VS_BLOCK_EVENTS, .nr_records = 2};
	struct vs_block_header end = {.kind = VS_BLOCK_END};
	uint8_t *payload = malloc(vs_columns_bound() + 100);
	uint8_t header[VS_FORMAT_HEADER_SIZE], end_payload[VS_FORMAT_END_SIZE], *p;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;
	int fd;

	(void)state;
	assert_non_null(payload);
	vs_block_put_file_header(header);
	fd = vs_pair_maker_make_fd(header, sizeof(header));
	for (uint32_t i = 0; i < 2; i++) {
		/* 98 events, 7 lost; of ring 1 records 0 to 99 */
		p = vs_wire_put_bytes(payload, "\x62\7\1\1\0\x64", 6);
		p = put_steps(p, 10, 3);
		add_block(fd, &snapshot, payload, (size_t)(p - payload));
		p = vs_wire_put_bytes(payload, i ? "\1\1\x66\2" : "\1\1\x64\2", 4);
		p = put_steps(p, 100 + 2 * i, 2);
		add_block(fd, &events, payload, (size_t)(p - payload));
	}
	vs_block_put_end(end_payload, &(struct vs_block_end){.nr_events = 4, .nr_lost = 7});
	add_block(fd, &end, end_payload, sizeof(end_payload));
	assert_int_equal(vs_reader_open_fds(&reader, fd, -1), 0);
	for (uint32_t round = 0; round < 2; round++) {
		expect_steps(reader, 10, 3);
		vs_reader_get_state(reader, &seen);
		assert_int_equal(seen.nr_lost, 7);
		expect_steps(reader, 100, 4);
		assert_int_equal(vs_reader_next(reader, &record), 0);
		vs_reader_get_state(reader, &seen);
		assert_true(seen.is_complete);
		assert_false(seen.is_damaged);
		assert_int_equal(seen.nr_lost, 7);
		assert_int_equal(seen.nr_dropped, 98);
		assert_int_equal(vs_reader_rewind(reader), 0);
	}
	vs_reader_close(reader);
	free(payload);
}

/* As another program might make it that has no log. */
static void test_events_of_no_ring_are_read(void **state)
{
	struct vs_block_header events = {.kind = VS_BLOCK_EVENTS, .nr_records = 2};
	uint8_t *payload = malloc(vs_columns_bound() + 100);
	uint8_t header[VS_FORMAT_HEADER_SIZE], *p;
	struct vs_reader *reader;
	struct vs_record record;
	int fd;

	(void)state;
	assert_non_null(payload);
	vs_block_put_file_header(header);
	fd = vs_pair_maker_make_fd(header, sizeof(header));
	for (uint32_t i = 0; i < 2; i++) {
		p = put_steps(vs_wire_put_varint(payload, 0), 2 * i, 2);
		add_block(fd, &events, payload, (size_t)(p - payload));
	}
	assert_int_equal(vs_reader_open_fds(&reader, fd, -1), 0);
	expect_steps(reader, 0, 4);
	assert_int_equal(vs_reader_next(reader, &record), -VS_ERR_TRUNCATED); /* no END */
	vs_reader_close(reader);
	free(payload);
}

/* ---- Killed -----------------------------------------------------------------------------------
 */

/*
 * A recorder at work, killed after every single step. Whatever the moment: all records that were
 * published, each once.
 */
static void test_kill_at_any_step_loses_nothing_and_doubles_nothing(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	for (uint32_t step = 0; step < 1500; step++) {
		switch (vs_pair_maker_draw(&maker.random) % 8) {
		case 0:
			vs_pair_maker_drain(&maker, 3);
			break;
		case 1:
			vs_pair_maker_flush(&maker);
			break;
		case 2:
			vs_pair_maker_release(&maker);
			break;
		case 3:
			vs_pair_maker_drain(&maker, UINT32_MAX);
			break;
		default:
			vs_pair_maker_push_random(&maker);
		}
		if (step % 3 && step > 60)
			continue; /* the later, the more there is to compare */
		atomic_store(&maker.live->nr_lost, 0);
		vs_pair_maker_expect_all(&maker, &seen);
		assert_int_equal(seen.nr_records, vs_pair_maker_get_nr(&maker));
		assert_false(seen.is_complete);
		assert_false(seen.is_running);
		assert_int_equal(seen.nr_unfinished, 0);
	}
	vs_pair_maker_fini(&maker);
}

/* The kill came inside write(2): every length of the last block. */
static void test_block_cut_by_a_kill_is_taken_from_the_log(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	size_t before, after;
	uint8_t *bytes;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, false);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 5);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker);
	free(vs_pair_maker_load(maker.path, &before));
	vs_pair_maker_drain(&maker, 3);
	vs_pair_maker_flush(&maker); /* nothing is given back yet */
	vs_pair_maker_drop(&maker);
	bytes = vs_pair_maker_load(maker.path, &after);
	assert_true(after > before);
	for (size_t cut = before; cut <= after; cut++) {
		vs_pair_maker_save(maker.path, bytes, cut);
		vs_pair_maker_expect_all(&maker, &seen);
		assert_true(seen.used_log);
	}
	free(bytes);
	vs_pair_maker_fini(&maker);
}

static void test_log_lost_with_its_records_is_truncated(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	struct vs_record record;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(unlink(maker.live_path), 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(compare(&maker, reader, &err), 4);
	assert_int_equal(err, -VS_ERR_TRUNCATED);
	assert_int_equal(vs_reader_next(reader, &record), 0);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_records_missing_between_trace_and_log_are_told(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;
	uint32_t nr_read = 0, nr_errors = 0;
	size_t before;
	uint8_t *bytes;
	int ret;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	bytes = vs_pair_maker_load(maker.path, &before);
	while (vs_pair_maker_push_event(&maker))
		;
	vs_pair_maker_drain(&maker, UINT32_MAX);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker);
	vs_pair_maker_drop(&maker);
	vs_pair_maker_save(maker.path, bytes, before); /* all but each ring's last chunk is gone */
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	while ((ret = vs_reader_next(reader, &record)) != 0) {
		nr_read += ret == 1;
		nr_errors += ret == -VS_ERR_CORRUPT;
	}
	assert_int_equal(nr_errors, 1);
	assert_true(nr_read > 10 && nr_read < vs_pair_maker_get_nr(&maker));
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_damaged);
	vs_reader_close(reader);
	free(bytes);
	vs_pair_maker_fini(&maker);
}

static void test_stale_log_of_another_run_is_ignored(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	maker.live->identity[7] ^= 1;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(compare(&maker, reader, &err), 4);
	assert_int_equal(err, -VS_ERR_TRUNCATED);
	vs_reader_get_state(reader, &seen);
	assert_false(seen.used_log);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_log_beside_a_complete_trace_is_not_needed(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 10);
	assert_int_equal(vs_writer_close(maker.writer, 0), 0); /* killed before the log went */
	maker.writer = NULL;
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.is_complete);
	assert_false(seen.used_log);
	vs_pair_maker_fini(&maker);
}

static void test_unpublished_records_are_counted_not_invented(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	vs_pair_maker_push_random(&maker);
	vs_pair_maker_begin(&maker, 3);
	vs_pair_maker_push_random(&maker);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_int_equal(seen.nr_unfinished, 1);
	vs_pair_maker_fini(&maker);
}

/* ---- Where the log is -------------------------------------------------------------------------
 */

static void test_trace_opens_by_its_log(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.live_path), 0);
	assert_string_equal(vs_reader_get_path(reader), maker.path);
	assert_int_equal(compare(&maker, reader, &err), 10);
	assert_int_equal(err, 0);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_log_in_another_place_names_its_trace(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	char elsewhere[128];
	int err;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	snprintf(elsewhere, sizeof(elsewhere), "%s/log", maker.folder);
	vs_pair_maker_push_random(&maker);
	assert_int_equal(rename(maker.live_path, elsewhere), 0);
	assert_int_equal(vs_reader_open(&reader, elsewhere), 0);
	assert_int_equal(compare(&maker, reader, &err), 1);
	assert_int_equal(err, 0);
	vs_reader_close(reader);
	assert_int_equal(unlink(maker.path), 0);
	assert_int_equal(vs_reader_open(&reader, elsewhere), -VS_ERR_IO);
	assert_int_equal(unlink(elsewhere), 0);
	vs_pair_maker_fini(&maker);
}

static void test_log_is_found_where_info_says(void **state)
{
	static const struct vs_writer_zlib zlib = {.bound = compressBound, .compress = compress2};
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	char elsewhere[128];

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	snprintf(elsewhere, sizeof(elsewhere), "%s/log", maker.folder);
	assert_int_equal(rename(maker.live_path, elsewhere), 0);
	vs_writer_abandon(maker.writer);
	assert_int_equal(vs_writer_create(&maker.writer,
					  open(maker.path, O_WRONLY | O_TRUNC | O_CLOEXEC), &zlib),
			 0);
	assert_int_equal(vs_writer_add_info(maker.writer, VS_INFO_IDENTITY, VS_PAIR_MAKER_IDENTITY),
			 0);
	assert_int_equal(vs_writer_add_info(maker.writer, VS_INFO_LIVE, elsewhere), 0);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_expect_all(&maker, &seen);
	assert_true(seen.used_log);
	assert_int_equal(unlink(elsewhere), 0);
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_no_trace_is_refused_by_its_reason),
		cmocka_unit_test(test_fifo_does_not_block),
		cmocka_unit_test(test_trace_that_may_not_be_read_is_an_io_error),
		cmocka_unit_test(test_info_is_found_by_key),
		cmocka_unit_test(test_rewound_trace_is_the_same_again),
		cmocka_unit_test(test_lost_events_are_summed_until_the_total_is_known),
		cmocka_unit_test(test_unknown_blocks_and_definitions_are_passed_over),
		cmocka_unit_test(test_snapshot_stands_for_what_came_before_it),
		cmocka_unit_test(test_events_of_no_ring_are_read),
		cmocka_unit_test(test_kill_at_any_step_loses_nothing_and_doubles_nothing),
		cmocka_unit_test(test_block_cut_by_a_kill_is_taken_from_the_log),
		cmocka_unit_test(test_log_lost_with_its_records_is_truncated),
		cmocka_unit_test(test_records_missing_between_trace_and_log_are_told),
		cmocka_unit_test(test_stale_log_of_another_run_is_ignored),
		cmocka_unit_test(test_log_beside_a_complete_trace_is_not_needed),
		cmocka_unit_test(test_unpublished_records_are_counted_not_invented),
		cmocka_unit_test(test_trace_opens_by_its_log),
		cmocka_unit_test(test_log_in_another_place_names_its_trace),
		cmocka_unit_test(test_log_is_found_where_info_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
