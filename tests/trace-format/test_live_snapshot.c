#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "live_format.h"
#include "live_snapshot.h"

/*
 * Chunks made by hand, in a file that is nothing but chunks. A record here is a head and its number
 * in the ring behind it.
 */
#define CHUNK_SIZE  512u
#define NR_CHUNKS   8u
#define RECORD_SIZE 24u

struct log {
	int fd;
	unsigned char *bytes;
	struct vs_live_layout layout;
};

static void make(struct log *log)
{
	log->fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(log->fd >= 0);
	assert_int_equal(ftruncate(log->fd, NR_CHUNKS * CHUNK_SIZE), 0);
	log->bytes =
		mmap(NULL, NR_CHUNKS * CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, log->fd, 0);
	assert_true(log->bytes != MAP_FAILED);
	log->layout = (struct vs_live_layout){.chunk_size = CHUNK_SIZE, .nr_chunks = NR_CHUNKS};
}

static void drop(struct log *log)
{
	munmap(log->bytes, NR_CHUNKS * CHUNK_SIZE);
	close(log->fd);
}

static struct vs_live_chunk *get_chunk(const struct log *log, uint32_t index)
{
	return (struct vs_live_chunk *)(void *)(log->bytes + (size_t)index * CHUNK_SIZE);
}

static void begin_chunk(const struct log *log, uint32_t index, uint32_t ring, uint32_t number,
			uint64_t first)
{
	struct vs_live_chunk *chunk = get_chunk(log, index);

	chunk->number = number;
	chunk->first = first;
	chunk->end = VS_LIVE_CHUNK_HEAD;
	chunk->ring = ring;
}

static void add_record(const struct log *log, uint32_t index, uint64_t ticks, uint64_t sequence)
{
	struct vs_live_chunk *chunk = get_chunk(log, index);
	const struct vs_live_record head = {.type = 32, .size = RECORD_SIZE, .ticks = ticks};

	assert_true(chunk->end + RECORD_SIZE <= CHUNK_SIZE);
	memcpy((char *)chunk + chunk->end, &head, sizeof(head));
	memcpy((char *)chunk + chunk->end + sizeof(head), &sequence, sizeof(sequence));
	chunk->end += RECORD_SIZE;
}

static struct vs_live_snapshot *take(const struct log *log, uint64_t newest)
{
	const struct vs_ring_ends none = {0};
	struct vs_live_snapshot *snapshot;

	assert_int_equal(vs_live_snapshot_create(&snapshot, log->fd, &log->layout, newest), 0);
	assert_int_equal(vs_live_snapshot_begin(snapshot, &none), 0);
	return snapshot;
}

static void expect(struct vs_live_snapshot *snapshot, uint32_t ring, uint64_t sequence)
{
	struct vs_live_item item;
	uint64_t number;

	assert_int_equal(vs_live_snapshot_next(snapshot, &item), 1);
	assert_int_equal(item.ring, ring);
	assert_int_equal(item.sequence, sequence);
	assert_int_equal(item.size, RECORD_SIZE);
	memcpy(&number, item.bytes + VS_LIVE_RECORD_HEAD, sizeof(number));
	assert_int_equal(number, sequence);
}

static void expect_return(struct vs_live_snapshot *snapshot, int ret)
{
	struct vs_live_item item;

	assert_int_equal(vs_live_snapshot_next(snapshot, &item), ret);
}

static void test_rings_are_merged_by_ticks_and_then_by_number(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct log log;

	(void)state;
	make(&log);
	begin_chunk(&log, 5, 9, 0, 0);
	begin_chunk(&log, 1, 9, 1, 2); /* the later one comes first in the file */
	begin_chunk(&log, 0, 4, 0, 0);
	add_record(&log, 5, 10, 0);
	add_record(&log, 0, 10, 0);
	add_record(&log, 0, 11, 1);
	add_record(&log, 5, 12, 1);
	add_record(&log, 1, 13, 2);
	add_record(&log, 0, 13, 2);
	snapshot = take(&log, UINT64_MAX);
	expect(snapshot, 4, 0);
	expect(snapshot, 9, 0);
	expect(snapshot, 4, 1);
	expect(snapshot, 9, 1);
	expect(snapshot, 4, 2);
	expect(snapshot, 9, 2);
	expect_return(snapshot, 0);
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

static void test_many_rings_come_in_order(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct log log;

	(void)state;
	make(&log);
	for (uint32_t i = 0; i < NR_CHUNKS; i++)
		begin_chunk(&log, i, 100 - i, 0, 0);
	for (uint32_t i = 0; i < NR_CHUNKS * 18; i++)
		add_record(&log, i * 5 % NR_CHUNKS, 1000 + i, i / NR_CHUNKS);
	snapshot = take(&log, UINT64_MAX);
	for (uint32_t i = 0; i < NR_CHUNKS * 18; i++)
		expect(snapshot, 100 - i * 5 % NR_CHUNKS, i / NR_CHUNKS);
	expect_return(snapshot, 0);
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

static void test_free_and_empty_chunks_have_nothing(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct log log;

	(void)state;
	make(&log);
	snapshot = take(&log, UINT64_MAX);
	expect_return(snapshot, 0);
	vs_live_snapshot_destroy(snapshot);
	begin_chunk(&log, 0, 3, 0, 0); /* given back with all that is in it */
	add_record(&log, 0, 1, 0);
	get_chunk(&log, 0)->ring = 0;
	begin_chunk(&log, 1, 3, 1, 1);
	snapshot = take(&log, UINT64_MAX);
	expect_return(snapshot, 0);
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

/* Records of the trace's last blocks may still be in the log: in chunks that are not full. */
static void test_reading_begins_where_the_trace_ends(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct vs_ring_ends ends = {0};
	struct log log;

	(void)state;
	make(&log);
	begin_chunk(&log, 0, 3, 4, 100);
	begin_chunk(&log, 1, 3, 5, 103);
	for (uint64_t i = 0; i < 3; i++)
		add_record(&log, 0, i, 100 + i);
	for (uint64_t i = 3; i < 6; i++)
		add_record(&log, 1, i, 100 + i);
	snapshot = take(&log, UINT64_MAX);
	for (uint64_t end = 100; end < 108; end++) {
		vs_ring_ends_clear(&ends);
		assert_int_equal(vs_ring_ends_raise(&ends, 3, end), 0);
		assert_int_equal(vs_live_snapshot_begin(snapshot, &ends), 0);
		for (uint64_t i = end; i < 106; i++)
			expect(snapshot, 3, i);
		expect_return(snapshot, 0);
	}
	vs_ring_ends_fini(&ends);
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

static void test_missing_records_are_told_once(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct log log;

	(void)state;
	make(&log);
	begin_chunk(&log, 0, 3, 4, 100); /* the trace does not go so far */
	begin_chunk(&log, 1, 3, 6, 103); /* number 5 is missing */
	add_record(&log, 0, 1, 100);
	add_record(&log, 1, 5, 103);
	add_record(&log, 1, 6, 104);
	snapshot = take(&log, UINT64_MAX);
	expect_return(snapshot, -VS_ERR_CORRUPT);
	expect(snapshot, 3, 100);
	expect_return(snapshot, -VS_ERR_CORRUPT);
	expect(snapshot, 3, 103);
	expect(snapshot, 3, 104);
	expect_return(snapshot, 0);
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

static void test_record_of_impossible_size_costs_the_rest_of_its_chunk(void **state)
{
	static const uint16_t sizes[] = {0, 8, 15, 20, 4096};
	struct vs_live_snapshot *snapshot;
	struct log log;

	(void)state;
	make(&log);
	begin_chunk(&log, 0, 3, 0, 0);
	begin_chunk(&log, 1, 3, 1, 4);
	for (uint64_t i = 0; i < 4; i++)
		add_record(&log, 0, i, i);
	add_record(&log, 1, 9, 4);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memcpy(log.bytes + VS_LIVE_CHUNK_HEAD + 2 * RECORD_SIZE + 2, &sizes[i], 2);
		snapshot = take(&log, UINT64_MAX);
		expect(snapshot, 3, 0);
		expect(snapshot, 3, 1);
		expect_return(snapshot, -VS_ERR_CORRUPT);
		expect(snapshot, 3, 4);
		expect_return(snapshot, 0);
		vs_live_snapshot_destroy(snapshot);
	}
	drop(&log);
}

/* Any end that a chunk may claim: nothing outside of it is read. */
static void test_end_out_of_range_does_no_harm(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct vs_live_item item;
	struct log log;

	(void)state;
	make(&log);
	begin_chunk(&log, NR_CHUNKS - 1, 3, 0, 0);
	add_record(&log, NR_CHUNKS - 1, 1, 0);
	for (uint32_t end = 0; end < 2 * CHUNK_SIZE; end++) {
		get_chunk(&log, NR_CHUNKS - 1)->end = end;
		snapshot = take(&log, UINT64_MAX);
		for (uint32_t i = 0; vs_live_snapshot_next(snapshot, &item) != 0; i++)
			assert_true(i < 4);
		vs_live_snapshot_destroy(snapshot);
	}
	get_chunk(&log, NR_CHUNKS - 1)->end = UINT32_MAX;
	snapshot = take(&log, UINT64_MAX);
	expect(snapshot, 3, 0);
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

/* ---- While it is being written --------------------------------------------------------------- */

static void test_newest_ticks_are_found_in_any_chunk(void **state)
{
	struct log log;
	uint64_t ticks;

	(void)state;
	make(&log);
	assert_int_equal(vs_live_snapshot_find_newest(log.fd, &log.layout, &ticks), 0);
	assert_int_equal(ticks, 0);
	begin_chunk(&log, 2, 3, 0, 0);
	begin_chunk(&log, 7, 4, 0, 0);
	add_record(&log, 2, 50, 0);
	add_record(&log, 7, 40, 0);
	add_record(&log, 7, 60, 1);
	add_record(&log, 2, 55, 1);
	assert_int_equal(vs_live_snapshot_find_newest(log.fd, &log.layout, &ticks), 0);
	assert_int_equal(ticks, 60);
	drop(&log);
}

static void test_what_is_newer_than_the_first_look_is_left_out(void **state)
{
	struct vs_live_snapshot *snapshot;
	struct log log;

	(void)state;
	make(&log);
	begin_chunk(&log, 0, 1, 0, 0);
	begin_chunk(&log, 1, 2, 0, 0);
	add_record(&log, 0, 10, 0);
	add_record(&log, 1, 20, 0);
	/* Later ones; and between them a chunk of records that was not copied any more. */
	add_record(&log, 0, 21, 1);
	begin_chunk(&log, 2, 1, 5, 77);
	add_record(&log, 2, 99, 77);
	add_record(&log, 1, 22, 1);
	snapshot = take(&log, 20);
	expect(snapshot, 1, 0);
	expect(snapshot, 2, 0);
	expect_return(snapshot, 0); /* 77 belongs to a later time: nothing is missing */
	vs_live_snapshot_destroy(snapshot);
	drop(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings_are_merged_by_ticks_and_then_by_number),
		cmocka_unit_test(test_many_rings_come_in_order),
		cmocka_unit_test(test_free_and_empty_chunks_have_nothing),
		cmocka_unit_test(test_reading_begins_where_the_trace_ends),
		cmocka_unit_test(test_missing_records_are_told_once),
		cmocka_unit_test(test_record_of_impossible_size_costs_the_rest_of_its_chunk),
		cmocka_unit_test(test_end_out_of_range_does_no_harm),
		cmocka_unit_test(test_newest_ticks_are_found_in_any_chunk),
		cmocka_unit_test(test_what_is_newer_than_the_first_look_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
