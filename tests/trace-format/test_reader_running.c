/* Reading while the program goes on: every step of it is in the test's hand. */
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "pair_maker.h"

#define NR_CHUNKS 16

/* ---- A pread(2) during which something else happens (linked with --wrap=pread) ----------------
 */

ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);

static void (*meanwhile)(struct vs_pair_maker *maker);
static struct vs_pair_maker *meanwhile_maker;
static uint32_t nr_preads_left;

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
	if (meanwhile && !nr_preads_left--) {
		void (*act)(struct vs_pair_maker * maker) = meanwhile;

		meanwhile = NULL;
		act(meanwhile_maker);
	}
	return __real_pread(fd, bytes, size, offset);
}

/* ---- Helpers ----------------------------------------------------------------------------------
 */

/* All there is, from the start. */
static uint32_t compare(const struct vs_pair_maker *maker, struct vs_reader *reader, int *err)
{
	struct vs_pair_maker_place place = {0};

	return vs_pair_maker_compare(maker, reader, &place, err);
}

/* ---- Tests --------------------------------------------------------------------------------------
 */

static void test_trace_in_the_making_can_be_read_and_later_rounds_end_where_the_first_did(
	void **state)
{
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	maker.live->pid = (uint32_t)getpid();
	for (uint32_t i = 0; i < 100; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	vs_pair_maker_drain(&maker, 50);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(compare(&maker, reader, &err), 100);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_running);
	assert_true(seen.used_log);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(vs_pair_maker_push_random(&maker));
	for (uint32_t round = 0; round < 3; round++) {
		assert_int_equal(vs_reader_rewind(reader), 0);
		assert_int_equal(compare(&maker, reader, &err), 100);
		assert_int_equal(err, 0);
		/* Meanwhile the log empties into the trace, and the program ends. */
		if (round == 0) {
			vs_pair_maker_drain(&maker, UINT32_MAX);
			vs_pair_maker_flush(&maker);
			vs_pair_maker_release(&maker);
		} else if (round == 1) {
			vs_pair_maker_close(&maker, 0);
		}
	}
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

/*
 * The reader has copied the log when the recorder has gone on: what was copied and has got into the
 * trace meanwhile comes from there, once.
 */
static void test_log_that_empties_under_the_reader_gives_nothing_twice(void **state)
{
	struct vs_pair_maker_place place = {0};
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	struct vs_record record;
	uint32_t nr_first, nr_read = 0;
	int ret;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	maker.live->pid = (uint32_t)getpid();
	while (vs_pair_maker_push_random(&maker))
		;
	nr_first = vs_pair_maker_get_nr(&maker);
	vs_pair_maker_drain(&maker, nr_first / 2);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	while ((ret = vs_reader_next(reader, &record)) == 1) {
		vs_pair_maker_expect(&maker, &place, &record);
		/* In the first block, right at its end, and in the log. */
		if (nr_read++ % (nr_first / 4))
			continue;
		vs_pair_maker_drain(&maker, nr_first / 8);
		vs_pair_maker_flush(&maker);
		vs_pair_maker_release(&maker);
		(void)vs_pair_maker_push_random(&maker);
	}
	assert_int_equal(ret, 0);
	assert_true(nr_read >= nr_first);
	nr_read = place.nr_events + place.nr_definitions;
	for (uint32_t round = 0; round < 2; round++) {
		vs_pair_maker_drain(&maker, UINT32_MAX);
		vs_pair_maker_flush(&maker);
		assert_int_equal(vs_reader_rewind(reader), 0);
		assert_int_equal(compare(&maker, reader, &ret), nr_read);
		assert_int_equal(ret, 0);
	}
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

/* The log empties into the trace, its chunks get other contents. */
static void go_on(struct vs_pair_maker *maker)
{
	vs_pair_maker_drain(maker, UINT32_MAX);
	vs_pair_maker_flush(maker);
	vs_pair_maker_release(maker);
	while (vs_pair_maker_push_event(maker))
		;
}

static void end(struct vs_pair_maker *maker)
{
	vs_pair_maker_drain(maker, UINT32_MAX);
	vs_pair_maker_close(maker, 0);
}

/* A pair, half of it in the log, to which something happens between two reads of the reader's. */
static void read_meanwhile(uint32_t nr_preads, void (*act)(struct vs_pair_maker *maker),
			   struct vs_reader_state *seen)
{
	struct vs_pair_maker_place place = {0};
	struct vs_pair_maker maker;
	struct vs_reader *reader;
	uint32_t nr_before, nr_read;
	int err;

	vs_pair_maker_init_sized(&maker, 9, 1024, true);
	maker.live->pid = (uint32_t)getpid();
	while (vs_pair_maker_push_event(&maker))
		;
	nr_before = vs_pair_maker_get_nr(&maker);
	vs_pair_maker_drain(&maker, nr_before / 2);
	vs_pair_maker_flush(&maker);
	vs_pair_maker_release(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	meanwhile_maker = &maker;
	nr_preads_left = nr_preads;
	meanwhile = act;
	nr_read = vs_pair_maker_compare(&maker, reader, &place, &err);
	assert_int_equal(err, 0);
	assert_true(nr_read >= nr_before);
	vs_reader_get_state(reader, seen);
	assert_false(seen->is_damaged);
	if (!meanwhile) {
		assert_int_equal(vs_reader_rewind(reader), 0);
		assert_int_equal(compare(&maker, reader, &err), nr_read);
		assert_int_equal(err, 0);
	}
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

/* Whatever the moment. */
static void test_recorder_that_goes_on_between_two_reads_does_no_harm(void **state)
{
	struct vs_reader_state seen;
	uint32_t nr_preads = 0;

	(void)state;
	do {
		read_meanwhile(nr_preads++, go_on, &seen);
		assert_true(seen.is_running);
	} while (!meanwhile);
	assert_true(nr_preads > 60); /* up to its last one */
	meanwhile = NULL;
}

static void test_program_that_ends_between_two_reads_does_no_harm(void **state)
{
	struct vs_reader_state seen;
	uint32_t nr_preads = 0, nr_complete = 0;

	(void)state;
	do {
		read_meanwhile(nr_preads++, end, &seen);
		nr_complete += seen.is_complete;
	} while (!meanwhile);
	/* Until the trace's end was looked at for the last time. */
	assert_true(nr_complete > 60);
	meanwhile = NULL;
}

static void test_program_that_ends_while_it_is_read_is_complete(void **state)
{
	struct vs_pair_maker_place place = {0};
	struct vs_pair_maker maker;
	struct vs_reader_state seen;
	struct vs_reader *reader;
	struct vs_record record;
	int err;

	(void)state;
	vs_pair_maker_init(&maker, NR_CHUNKS, true);
	for (uint32_t i = 0; i < 10; i++)
		vs_pair_maker_push_random(&maker);
	vs_pair_maker_drain(&maker, 4);
	vs_pair_maker_flush(&maker);
	assert_int_equal(vs_reader_open(&reader, maker.path), 0);
	assert_int_equal(vs_reader_next(reader, &record), 1);
	vs_pair_maker_expect(&maker, &place, &record);
	vs_pair_maker_drain(&maker, UINT32_MAX);
	vs_pair_maker_close(&maker, 0);
	assert_int_equal(vs_pair_maker_compare(&maker, reader, &place, &err), 10);
	assert_int_equal(err, 0);
	vs_reader_get_state(reader, &seen);
	assert_true(seen.is_complete);
	assert_false(seen.used_log);
	vs_reader_close(reader);
	vs_pair_maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_trace_in_the_making_can_be_read_and_later_rounds_end_where_the_first_did),
		cmocka_unit_test(test_log_that_empties_under_the_reader_gives_nothing_twice),
		cmocka_unit_test(test_recorder_that_goes_on_between_two_reads_does_no_harm),
		cmocka_unit_test(test_program_that_ends_between_two_reads_does_no_harm),
		cmocka_unit_test(test_program_that_ends_while_it_is_read_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
