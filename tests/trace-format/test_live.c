#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "live.h"
#include "pair_maker.h"

#define RING_SIZE (64u << 10)

static void make(struct vs_pair_maker *maker)
{
	vs_pair_maker_init(maker, RING_SIZE, true);
}

static struct vs_live *open_log(const struct vs_pair_maker *maker)
{
	struct vs_live *live;

	assert_int_equal(vs_live_open(&live, maker->live_path, VS_PAIR_MAKER_IDENTITY), 0);
	return live;
}

/* Drains and flushes everything: an empty ring whose head is anywhere. */
static void empty(struct vs_pair_maker *maker)
{
	vs_pair_maker_drain(maker, UINT32_MAX);
	vs_pair_maker_flush(maker);
	vs_pair_maker_move_tail(maker);
}

/* Reads from tail to the end and compares with the newest records. Returns their number. */
static uint32_t read_all(const struct vs_pair_maker *maker, struct vs_live *live)
{
	uint64_t position = vs_live_get_tail(live);
	const uint8_t *expected_end = maker->expected + maker->expected_size;
	struct vs_live_record record;
	uint8_t *all = malloc(RING_SIZE);
	uint32_t nr_records = 0;
	size_t size = 0;

	assert_non_null(all);
	while (vs_live_next(live, position, &record) == VS_LIVE_RECORD) {
		assert_true(record.position >= position);
		memcpy(all + size, record.bytes, record.size);
		size += record.size;
		position = record.position + vs_live_stride(record.size);
		nr_records++;
	}
	assert_memory_equal(all, expected_end - size, size);
	free(all);
	return nr_records;
}

static void test_records_that_wrap_around_the_ring_are_whole(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	make(&maker);
	/* Many rounds; the ends of the ring are met at all kinds of offsets. */
	for (uint32_t round = 0; round < 40; round++) {
		struct vs_live *live;
		uint32_t before = maker.nr_records;

		while (vs_pair_maker_push_random(&maker))
			;
		live = open_log(&maker);
		assert_int_equal(read_all(&maker, live), maker.nr_records - before);
		assert_int_equal(vs_live_get_unfinished(live), 0);
		assert_int_equal(vs_live_get_lost(live), round + 1);
		vs_live_close(live);
		empty(&maker);
	}
	vs_pair_maker_fini(&maker);
}

static void test_what_an_earlier_round_left_is_no_record(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live_record record;
	struct vs_live *live;

	(void)state;
	make(&maker);
	while (vs_pair_maker_push_random(&maker))
		;
	empty(&maker);
	/* Reserved over old records, never published. */
	for (uint32_t i = 0; i < 7; i++)
		vs_pair_maker_reserve(&maker, 8000);
	live = open_log(&maker);
	assert_int_equal(vs_live_next(live, 0, &record), VS_LIVE_END);
	assert_int_equal(vs_live_get_unfinished(live), 1);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_records_behind_an_unpublished_one_are_found(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live *live;
	uint32_t nr_gaps = 0;

	(void)state;
	make(&maker);
	for (uint32_t i = 0; i < 200; i++) {
		if (i % 5 == 2) {
			vs_pair_maker_reserve(&maker, 1 + i);
			nr_gaps++;
		}
		assert_true(vs_pair_maker_push(
			&maker, &(struct vs_record){.type = VS_RECORD_STEP, .step = {i}}));
	}
	vs_pair_maker_reserve(&maker, 30); /* the last one, too */
	live = open_log(&maker);
	assert_int_equal(read_all(&maker, live), 200);
	assert_int_equal(vs_live_get_unfinished(live), nr_gaps + 1);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_reader_overtaken_by_the_ring_is_told(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live_record record;
	struct vs_live *live;

	(void)state;
	make(&maker);
	while (vs_pair_maker_push_random(&maker))
		;
	live = open_log(&maker);
	empty(&maker);
	assert_true(vs_pair_maker_push_random(&maker));
	assert_int_equal(vs_live_next(live, 0, &record), VS_LIVE_MOVED_ON);
	assert_int_equal(vs_live_update(live), 0);
	assert_int_equal(read_all(&maker, live), 1);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_what_comes_after_the_look_is_not_read(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	assert_true(vs_pair_maker_push_random(&maker));
	live = open_log(&maker);
	assert_int_equal(read_all(&maker, live), 1);
	assert_true(vs_pair_maker_push_random(&maker));
	maker.nr_records = 1;
	{
		struct vs_live_record record;

		assert_int_equal(vs_live_next(live, 0, &record), VS_LIVE_RECORD);
		assert_int_equal(vs_live_next(live, vs_live_stride(record.size), &record),
				 VS_LIVE_END);
	}
	assert_int_equal(vs_live_update(live), 0);
	assert_int_equal(read_all(&maker, live), 2);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_position_of_nowhere_is_the_end(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live_record record;
	struct vs_live *live;

	(void)state;
	make(&maker);
	assert_true(vs_pair_maker_push_random(&maker));
	live = open_log(&maker);
	assert_int_equal(vs_live_next(live, UINT64_MAX, &record), VS_LIVE_END);
	assert_int_equal(vs_live_next(live, 1ull << 40, &record), VS_LIVE_END);
	assert_int_equal(vs_live_next(live, 3, &record), VS_LIVE_END);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_log_of_another_trace_is_refused(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	assert_int_equal(vs_live_open(&live, maker.live_path, "00112233445566778899aabbccddeef0"),
			 -VS_ERR_NOT_A_TRACE);
	assert_int_equal(vs_live_open(&live, maker.live_path, ""), -VS_ERR_NOT_A_TRACE);
	assert_int_equal(vs_live_open(&live, "/nonexistent", VS_PAIR_MAKER_IDENTITY), -VS_ERR_IO);
	vs_pair_maker_fini(&maker);
}

static void expect_refused(const uint8_t *bytes, size_t size, int err)
{
	struct vs_live *live;
	int fd = vs_pair_maker_make_fd(bytes, size);

	assert_int_equal(vs_live_open_fd(&live, fd, VS_PAIR_MAKER_IDENTITY), err);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_header_that_cannot_be_true_is_refused(void **state)
{
	struct vs_live_header *header;
	struct vs_pair_maker maker;
	uint8_t *bytes;
	size_t size;

	(void)state;
	make(&maker);
	bytes = vs_pair_maker_load(maker.live_path, &size);
	header = (struct vs_live_header *)(void *)bytes;
	expect_refused(bytes, 0, -VS_ERR_NOT_A_TRACE);
	expect_refused(bytes, VS_LIVE_HEADER_SIZE - 1, -VS_ERR_NOT_A_TRACE);
	expect_refused(bytes, size - 1, -VS_ERR_TRUNCATED);
	header->version = 1;
	expect_refused(bytes, size, -VS_ERR_NEWER);
	header->version = 0;
	header->ring_size = RING_SIZE + 8;
	expect_refused(bytes, size, -VS_ERR_CORRUPT);
	header->ring_size = 0;
	expect_refused(bytes, size, -VS_ERR_CORRUPT);
	header->ring_size = 1ull << 63;
	expect_refused(bytes, size, -VS_ERR_CORRUPT);
	header->ring_size = RING_SIZE;
	header->ring_offset = UINT64_MAX - RING_SIZE + 1;
	expect_refused(bytes, size, -VS_ERR_CORRUPT);
	header->ring_offset = VS_LIVE_HEADER_SIZE;
	header->head = 4;
	expect_refused(bytes, size, -VS_ERR_CORRUPT);
	header->head = RING_SIZE + 8;
	expect_refused(bytes, size, -VS_ERR_CORRUPT);
	header->head = 0;
	memset(header->magic, 0, sizeof(header->magic)); /* never sealed */
	expect_refused(bytes, size, -VS_ERR_NOT_A_TRACE);
	free(bytes);
	vs_pair_maker_fini(&maker);
}

/* ---- Whose it is ----------------------------------------------------------------------------- */

static uint64_t own_start_ticks(void)
{
	FILE *file = fopen("/proc/self/stat", "r");
	unsigned long long ticks;
	char text[1024], *field;

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	field = strrchr(text, ')') + 2;
	for (uint32_t i = 3; i < 22; i++)
		field = strchr(field, ' ') + 1;
	ticks = strtoull(field, NULL, 10);
	assert_true(ticks > 0);
	return ticks;
}

static bool is_running(const struct vs_pair_maker *maker)
{
	struct vs_live *live = open_log(maker);
	bool answer = vs_live_is_running(live);

	vs_live_close(live);
	return answer;
}

static void test_recorder_runs_if_pid_and_start_time_do(void **state)
{
	struct vs_pair_maker maker;

	(void)state;
	make(&maker);
	assert_false(is_running(&maker)); /* pid 0 */
	maker.live->pid = (uint32_t)getpid();
	assert_true(is_running(&maker));
	maker.live->start_ticks = own_start_ticks();
	assert_true(is_running(&maker));
	maker.live->start_ticks++; /* the number was given to somebody else */
	assert_false(is_running(&maker));
	vs_pair_maker_fini(&maker);
}

static void test_process_that_only_waits_to_be_buried_does_not_run(void **state)
{
	struct vs_pair_maker maker;
	siginfo_t info;
	pid_t child;

	(void)state;
	make(&maker);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	maker.live->pid = (uint32_t)child;
	assert_false(is_running(&maker));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(is_running(&maker));
	vs_pair_maker_fini(&maker);
}

static void test_process_of_another_namespace_may_run(void **state)
{
	struct vs_pair_maker maker;
	struct stat st;

	(void)state;
	make(&maker);
	assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
	maker.live->pid_namespace = st.st_ino;
	assert_false(is_running(&maker));
	maker.live->pid_namespace = st.st_ino + 1;
	assert_true(is_running(&maker));
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_that_wrap_around_the_ring_are_whole),
		cmocka_unit_test(test_what_an_earlier_round_left_is_no_record),
		cmocka_unit_test(test_records_behind_an_unpublished_one_are_found),
		cmocka_unit_test(test_reader_overtaken_by_the_ring_is_told),
		cmocka_unit_test(test_what_comes_after_the_look_is_not_read),
		cmocka_unit_test(test_position_of_nowhere_is_the_end),
		cmocka_unit_test(test_log_of_another_trace_is_refused),
		cmocka_unit_test(test_header_that_cannot_be_true_is_refused),
		cmocka_unit_test(test_recorder_runs_if_pid_and_start_time_do),
		cmocka_unit_test(test_process_that_only_waits_to_be_buried_does_not_run),
		cmocka_unit_test(test_process_of_another_namespace_may_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
