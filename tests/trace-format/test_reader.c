#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cmocka_all.h"
#include "crc32.h"
#include "info.h"
#include "pair_maker.h"
#include "wire.h"

#define RING_SIZE (64u << 10)

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
	uint8_t newer[16] = "VSCOPE\r\n\1";

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
		assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 300);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	assert_true(vs_pair_maker_push(&maker, &lost));
	assert_true(vs_pair_maker_push(&maker, &lost));
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

/* Records and blocks of later versions, put between ours. */
static void test_unknown_records_and_blocks_are_passed_over(void **state)
{
	static const uint8_t unknown[] = {200, 3, 1, 2, 3};
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	uint8_t *bytes;
	size_t size, info_end;
	int err, fd;

	(void)state;
	vs_pair_maker_init(&maker, 0, true);
	free(vs_pair_maker_load(maker.path, &info_end));
	vs_pair_maker_add_random(&maker);
	assert_int_equal(
		vs_writer_add_records(maker.writer, maker.drained, unknown, sizeof(unknown), 1), 0);
	maker.drained += vs_live_stride(sizeof(unknown));
	vs_pair_maker_add_random(&maker);
	vs_pair_maker_close(&maker, 0);
	bytes = vs_pair_maker_load(maker.path, &size);
	fd = vs_pair_maker_make_fd(bytes, info_end);
	{
		uint8_t block[40 + 8] = "VBLK\x63\0\0\0\x08";

		vs_wire_put_le32(block + 20, vs_crc32_add(0, block + 40, 8));
		block[12] = 8;
		vs_wire_put_le32(block + 36, vs_crc32_add(0, block, 36));
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	}
	assert_int_equal(write(fd, bytes + info_end, size - info_end), size - info_end);
	assert_int_equal(vs_reader_open_fds(&reader, fd, -1), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 2);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_complete);
	vs_reader_close(reader);
	free(bytes);
	vs_pair_maker_fini(&maker);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	for (uint32_t step = 0; step < 1500; step++) {
		switch (vs_pair_maker_draw(&maker.random) % 8) {
		case 0:
			vs_pair_maker_drain(&maker, 3);
			break;
		case 1:
			vs_pair_maker_flush(&maker);
			break;
		case 2:
			vs_pair_maker_move_tail(&maker);
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
	vs_pair_maker_init(&maker, RING_SIZE, false);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 5);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_move_tail(&maker);
	free(vs_pair_maker_load(maker.path, &before));
	vs_pair_maker_drain(&maker, 3);
	vs_pair_maker_flush(&maker); /* tail has not moved yet */
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(unlink(maker.live_path), 0);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 4);
	assert_int_equal(err, -VS_ERR_TRUNCATED);
	assert_int_equal(vs_reader_next(reader, &record), 0);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_log_that_has_left_the_trace_behind_is_an_error(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	size_t before;
	uint8_t *bytes;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, RING_SIZE, true);
	bytes = vs_pair_maker_load(maker.path, &before);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_move_tail(&maker);
	vs_pair_maker_drop(&maker);
	vs_pair_maker_save(maker.path, bytes, before); /* the first four are gone */
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 0);
	assert_int_equal(err, -VS_ERR_CORRUPT);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 4, &err), 10);
	assert_int_equal(err, 0);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	maker.live->identity[7] ^= 1;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 4);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	vs_pair_maker_push_random(&maker);
	vs_pair_maker_reserve(&maker, 50);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.live_path), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 10);
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
	vs_pair_maker_init(&maker, RING_SIZE, true);
	snprintf(elsewhere, sizeof(elsewhere), "%s/log", maker.folder);
	vs_pair_maker_push_random(&maker);
	assert_int_equal(rename(maker.live_path, elsewhere), 0);
	assert_int_equal(vs_reader_open(&reader, elsewhere), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 1);
	assert_int_equal(err, 0);
	vs_reader_close(reader);
	assert_int_equal(unlink(maker.path), 0);
	assert_int_equal(vs_reader_open(&reader, elsewhere), -VS_ERR_IO);
	assert_int_equal(unlink(elsewhere), 0);
	vs_pair_maker_fini(&maker);
}

static void test_log_is_found_where_info_says(void **state)
{
	static const struct vs_writer_zlib zlib = {compressBound, compress2};
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	char elsewhere[128];

	(void)state;
	vs_pair_maker_init(&maker, RING_SIZE, true);
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

/* ---- Still running ----------------------------------------------------------------------------
 */

static void test_trace_in_the_making_can_be_read_and_later_rounds_end_where_the_first_did(
	void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, RING_SIZE, true);
	maker.live->pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < 100; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	vs_pair_maker_drain(&maker, 50);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 100);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_running);
	assert_true(seen.used_log);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	for (uint32_t round = 0; round < 3; round++) {
		assert_int_equal(vs_reader_rewind(reader), 0);
		assert_int_equal(vs_pair_maker_compare(&maker, reader, 0, &err), 100);
		assert_int_equal(err, 0);
		/* Meanwhile the log empties into the trace, and the program ends. */
		if (round == 0) {
			vs_pair_maker_drain(&maker, UINT32_MAX);
			vs_pair_maker_flush(&maker);
			vs_pair_maker_move_tail(&maker);
		} else if (round == 1) {
			vs_pair_maker_close(&maker, 0);
		}
	}
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

/* A whole round of the ring, away from under the reader. */
static void turn_ring(struct vs_pair_maker *maker)
{
	vs_pair_maker_drain(maker, UINT32_MAX);
	vs_pair_maker_flush(maker);
	vs_pair_maker_move_tail(maker);
	while (vs_pair_maker_push_random(maker))
		;
}

static void test_reader_overtaken_by_the_ring_goes_on_in_the_trace(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	struct vs_record record;
	uint8_t bytes[VS_CODEC_MAX];
	uint32_t nr_read = 0, nr_first;
	size_t at = 0;
	int ret;

	(void)state;
	/* Larger than what the reader copies at once, otherwise it has all it wants. */
	vs_pair_maker_init(&maker, 1 << 20, true);
	turn_ring(&maker);
	nr_first = maker.nr_records;
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	while ((ret = vs_reader_next(reader, &record)) == 1) {
		size_t size = vs_codec_put_record(bytes, &record);

		assert_true(at + size <= maker.expected_size);
		assert_memory_equal(bytes, maker.expected + at, size);
		at += size;
		if (nr_read++ == nr_first / 10)
			turn_ring(&maker);
		if (nr_read == nr_first + nr_first / 2)
			turn_ring(&maker);
	}
	assert_int_equal(ret, 0);
	assert_true(nr_read > nr_first * 2);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

static void test_program_that_ends_while_it_is_read_is_complete(void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, RING_SIZE, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_reader_next(reader, &record), 1);
	vs_pair_maker_drain(&maker, UINT32_MAX);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, 1, &err), 10);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_complete);
	vs_reader_close(reader);
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
		cmocka_unit_test(test_unknown_records_and_blocks_are_passed_over),
		cmocka_unit_test(test_kill_at_any_step_loses_nothing_and_doubles_nothing),
		cmocka_unit_test(test_block_cut_by_a_kill_is_taken_from_the_log),
		cmocka_unit_test(test_log_lost_with_its_records_is_truncated),
		cmocka_unit_test(test_log_that_has_left_the_trace_behind_is_an_error),
		cmocka_unit_test(test_stale_log_of_another_run_is_ignored),
		cmocka_unit_test(test_log_beside_a_complete_trace_is_not_needed),
		cmocka_unit_test(test_unpublished_records_are_counted_not_invented),
		cmocka_unit_test(test_trace_opens_by_its_log),
		cmocka_unit_test(test_log_in_another_place_names_its_trace),
		cmocka_unit_test(test_log_is_found_where_info_says),
		cmocka_unit_test(
			test_trace_in_the_making_can_be_read_and_later_rounds_end_where_the_first_did),
		cmocka_unit_test(test_reader_overtaken_by_the_ring_goes_on_in_the_trace),
		cmocka_unit_test(test_program_that_ends_while_it_is_read_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
