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

#define NR_CHUNKS 16

static void make(struct vs_pair_maker *maker)
{
	vs_pair_maker_init(maker, NR_CHUNKS, true);
}

static struct vs_live *open_log(const struct vs_pair_maker *maker)
{
	struct vs_live *live;

	assert_int_equal(vs_live_open(&live, maker->live_path, VS_PAIR_MAKER_IDENTITY), 0);
	return live;
}

/* Reads the copy from `ends` on and expects what stands at *place. Returns the number of records.
 */
static uint32_t read_copy(const struct vs_pair_maker *maker, struct vs_live *live,
			  const struct vs_ring_ends *ends, struct vs_pair_maker_place *place)
{
	struct vs_record record;
	uint32_t nr_records = 0;
	uint64_t sequence;
	uint32_t ring;
	int ret;

	assert_int_equal(vs_live_begin(live, ends, 0), 0);
	while ((ret = vs_live_next(live, &record, &ring, &sequence)) == VS_LIVE_RECORD) {
		vs_pair_maker_expect(maker, place, &record);
		if (vs_record_is_event(record.type))
			assert_int_equal(record.thread, ring);
		nr_records++;
	}
	assert_int_equal(ret, VS_LIVE_END);
	return nr_records;
}

static uint32_t read_all(const struct vs_pair_maker *maker, struct vs_live *live)
{
	const struct vs_ring_ends none = {0};
	struct vs_pair_maker_place place = {0};

	assert_int_equal(vs_live_take(live), 0);
	return read_copy(maker, live, &none, &place);
}

/* ---- Records --------------------------------------------------------------------------------- */

static void test_records_of_all_rings_come_in_their_order(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	live = open_log(&maker);
	assert_int_equal(read_all(&maker, live), 0);
	while (vs_pair_maker_push_random(&maker))
		;
	assert_int_equal(read_all(&maker, live), vs_pair_maker_get_nr(&maker));
	assert_int_equal(vs_live_get_lost(live), 1);
	assert_int_equal(vs_live_get_unfinished(live), 0);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_copy_can_be_read_again_whatever_becomes_of_the_log(void **state)
{
	const struct vs_ring_ends none = {0};
	struct vs_pair_maker_place place = {0}, again = {0};
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	live = open_log(&maker);
	assert_int_equal(vs_live_take(live), 0);
	assert_int_equal(read_copy(&maker, live, &none, &place), 100);
	while (vs_pair_maker_push_random(&maker))
		;
	vs_pair_maker_drain(&maker, UINT32_MAX);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker);
	assert_int_equal(read_copy(&maker, live, &none, &again), 100);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_what_the_trace_has_is_left_out(void **state)
{
	struct vs_ring_ends ends = {0};
	struct vs_pair_maker_place place = {0};
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	for (uint32_t i = 0; i < 200; i++)
		assert_true(vs_pair_maker_push_event(&maker));
	/* The first 150. Chunks that are not full stay in the log with all that they hold. */
	for (uint32_t i = 0; i < 150; i++) {
		uint32_t ring = maker.order[i];

		assert_int_equal(vs_ring_ends_raise(&ends, ring, vs_ring_ends_get(&ends, ring) + 1),
				 0);
	}
	place.nr_events = 150;
	live = open_log(&maker);
	assert_int_equal(vs_live_take(live), 0);
	assert_int_equal(read_copy(&maker, live, &ends, &place), 50);
	vs_live_close(live);
	vs_ring_ends_fini(&ends);
	vs_pair_maker_fini(&maker);
}

static void test_records_that_were_begun_are_counted_not_invented(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	vs_pair_maker_begin(&maker, 2);
	vs_pair_maker_begin(&maker, 4);
	live = open_log(&maker);
	assert_int_equal(read_all(&maker, live), 20);
	assert_int_equal(vs_live_get_unfinished(live), 2);
	/* What the last owner of a place left there is nobody's. */
	atomic_store(&vs_pair_maker_get_slot(&maker, 4)->state, VS_LIVE_SLOT_FREE);
	assert_int_equal(read_all(&maker, live), 20);
	assert_int_equal(vs_live_get_unfinished(live), 1);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_log_that_has_grown_is_read_whole(void **state)
{
	struct vs_pair_maker maker;
	struct vs_live *live;

	(void)state;
	make(&maker);
	atomic_store(&maker.live->nr_chunks, 3);
	while (vs_pair_maker_push_random(&maker))
		;
	live = open_log(&maker);
	atomic_store(&maker.live->nr_chunks, NR_CHUNKS);
	while (vs_pair_maker_push_random(&maker))
		;
	assert_int_equal(read_all(&maker, live), vs_pair_maker_get_nr(&maker));
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_time_goes_by_the_newest_anchor_and_never_back(void **state)
{
	const struct vs_record step = {.type = VS_RECORD_STEP};
	const struct vs_ring_ends none = {0};
	struct vs_pair_maker maker;
	struct vs_record record;
	struct vs_live *live;
	uint64_t sequence;
	uint32_t ring;

	(void)state;
	make(&maker);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(vs_pair_maker_push(&maker, 1, &step)); /* at 1000, 2000, 3000 */
	/* The other one of the two: time goes half as fast. */
	maker.live->anchors[1] = maker.live->anchors[2];
	maker.live->anchors[1].ns /= 2;
	maker.live->newest = 1;
	live = open_log(&maker);
	assert_int_equal(vs_live_take(live), 0);
	assert_int_equal(vs_live_begin(live, &none, 800), 0);
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_RECORD);
	assert_int_equal(record.time_ns, 800); /* 500 by the line, but the trace goes to 800 */
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_RECORD);
	assert_int_equal(record.time_ns, 1000);
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_RECORD);
	assert_int_equal(record.time_ns, 1500);
	assert_int_equal(sequence, 2);
	assert_int_equal(ring, 1);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

static void test_record_of_a_later_version_is_told(void **state)
{
	const struct vs_record step = {.type = VS_RECORD_STEP};
	const struct vs_ring_ends none = {0};
	struct vs_pair_maker maker;
	struct vs_record record;
	struct vs_live *live;
	uint64_t sequence;
	uint32_t ring;

	(void)state;
	make(&maker);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(vs_pair_maker_push(&maker, 1, &step));
	((uint8_t *)vs_pair_maker_get_chunk(&maker, 0))[VS_LIVE_CHUNK_HEAD + 24] = 99;
	live = open_log(&maker);
	assert_int_equal(vs_live_take(live), 0);
	assert_int_equal(vs_live_begin(live, &none, 0), 0);
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_RECORD);
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_UNKNOWN);
	assert_int_equal(sequence, 1);
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_RECORD);
	assert_int_equal(vs_live_next(live, &record, &ring, &sequence), VS_LIVE_END);
	vs_live_close(live);
	vs_pair_maker_fini(&maker);
}

/* ---- What is a log --------------------------------------------------------------------------- */

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
	struct vs_live_header *header, good;
	struct vs_pair_maker maker;
	uint8_t *bytes, *loaded;
	size_t size;

	(void)state;
	make(&maker);
	loaded = vs_pair_maker_load(maker.live_path, &size);
	bytes = aligned_alloc(_Alignof(struct vs_live_header), size);
	assert_non_null(bytes);
	memcpy(bytes, loaded, size);
	free(loaded);
	header = (struct vs_live_header *)(void *)bytes;
	memcpy(&good, header, sizeof(good));
	expect_refused(bytes, 0, -VS_ERR_NOT_A_TRACE);
	expect_refused(bytes, VS_LIVE_HEADER_SIZE - 1, -VS_ERR_NOT_A_TRACE);
	expect_refused(bytes, size - 1, -VS_ERR_TRUNCATED);
	header->version = 2;
	expect_refused(bytes, size, -VS_ERR_NEWER);
	header->version = 0;
	expect_refused(bytes, size, -VS_ERR_PROVISIONAL);
#define EXPECT_REFUSED(member, value, err)           \
	do {                                         \
		memcpy(header, &good, sizeof(good)); \
		header->member = (value);            \
		expect_refused(bytes, size, err);    \
	} while (0)
	EXPECT_REFUSED(chunk_size, 0, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(chunk_size, VS_LIVE_CHUNK_HEAD, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(chunk_size, UINT32_MAX, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(chunks_offset, 0, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(chunks_offset, UINT64_MAX - 100, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(slots_offset, 64, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(slots_offset, UINT64_MAX - 100, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(slots_offset, size - 64, -VS_ERR_TRUNCATED);
	EXPECT_REFUSED(nr_slots, UINT32_MAX, -VS_ERR_CORRUPT);
	EXPECT_REFUSED(nr_chunks, UINT32_MAX, -VS_ERR_TRUNCATED);
	EXPECT_REFUSED(newest, 3, -VS_ERR_CORRUPT);
#undef EXPECT_REFUSED
	memcpy(header, &good, sizeof(good));
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
		cmocka_unit_test(test_records_of_all_rings_come_in_their_order),
		cmocka_unit_test(test_copy_can_be_read_again_whatever_becomes_of_the_log),
		cmocka_unit_test(test_what_the_trace_has_is_left_out),
		cmocka_unit_test(test_records_that_were_begun_are_counted_not_invented),
		cmocka_unit_test(test_log_that_has_grown_is_read_whole),
		cmocka_unit_test(test_time_goes_by_the_newest_anchor_and_never_back),
		cmocka_unit_test(test_record_of_a_later_version_is_told),
		cmocka_unit_test(test_log_of_another_trace_is_refused),
		cmocka_unit_test(test_header_that_cannot_be_true_is_refused),
		cmocka_unit_test(test_recorder_runs_if_pid_and_start_time_do),
		cmocka_unit_test(test_process_that_only_waits_to_be_buried_does_not_run),
		cmocka_unit_test(test_process_of_another_namespace_may_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
