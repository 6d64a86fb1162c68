#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec.h"
#include "merge.h"
#include "ring.h"

#define NR_CHUNKS  64u
#define NR_THREADS 8u
#define NR_RECORDS 20000u
#define NOW_NS     UINT64_C(5000000000) /* by the clock of the tests */

static struct vs_live_log log_;
static struct vs_merge *merge;

static int set_up(void **state)
{
	struct vs_live_log_facts facts = {
		.trace_path = "",
		.first_size = NR_CHUNKS * VS_LIVE_CHUNK_SIZE,
		.max_size = NR_CHUNKS * VS_LIVE_CHUNK_SIZE,
	};
	struct vs_clock_instant now;
	char path[64];

	(void)state;
	vs_clock_init();
	vs_ring_init();
	vs_clock_get_instant(&now);
	facts.clock = vs_clock_is_tsc ? VS_LIVE_CLOCK_TSC : VS_LIVE_CLOCK_MONOTONIC;
	facts.start = facts.now = vs_clock_anchor(&now, &now);
	snprintf(path, sizeof(path), "/dev/shm/vramscope-test-%ld", (long)getpid());
	if (vs_live_log_create(&log_, path, &facts))
		return -1;
	unlink(path);
	return vs_merge_create(&merge, &log_);
}

static int tear_down(void **state)
{
	(void)state;
	vs_merge_destroy(merge);
	vs_live_log_close(&log_);
	return 0;
}

static struct vs_live_record *begin(struct vs_ring *ring)
{
	struct vs_live_record *record =
		vs_ring_begin(ring, VS_LIVE_RECORD_HEAD + sizeof(struct vs_step));

	if (record) {
		record->type = VS_RECORD_STEP;
		record->flags = 0;
	}
	return record;
}

static bool push(struct vs_ring *ring, uint64_t number)
{
	struct vs_live_record *record = begin(ring);
	struct vs_step step = {.number = number};

	if (!record)
		return false;
	memcpy(record + 1, &step, sizeof(step));
	vs_ring_end(ring, record);
	return true;
}

static void assert_next(uint32_t ring, uint64_t sequence, uint64_t number)
{
	struct vs_record record;
	uint64_t found_sequence;
	uint32_t found_ring;

	assert_true(vs_merge_next(merge, &record, &found_ring, &found_sequence));
	assert_int_equal(record.type, VS_RECORD_STEP);
	assert_int_equal(found_ring, ring);
	assert_int_equal(record.thread, ring);
	assert_int_equal(found_sequence, sequence);
	assert_int_equal(record.step.number, number);
}

static void assert_no_next(void)
{
	struct vs_record record;
	uint64_t sequence;
	uint32_t ring;

	assert_false(vs_merge_next(merge, &record, &ring, &sequence));
}

static void test_rings_come_out_in_the_order_of_their_times(void **state)
{
	struct vs_ring a, b;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(vs_ring_open(&b, &log_, 2));
	assert_true(push(&b, 10));
	assert_true(push(&a, 11));
	assert_true(push(&a, 12));
	assert_true(push(&b, 13));
	vs_merge_look(merge, NOW_NS);
	assert_next(2, 0, 10);
	assert_next(1, 0, 11);
	assert_next(1, 1, 12);
	assert_next(2, 1, 13);
	assert_no_next();
	assert_true(vs_merge_is_empty(merge));
}

/* A definition that decodes: whatever it says. */
static bool define(struct vs_ring *ring)
{
	const struct vs_record name = {.type = VS_RECORD_NAME, .name = {1, {"name", 4}}};
	uint8_t bytes[VS_CODEC_MAX] = {0};
	uint32_t size = ((uint32_t)vs_codec_put_record(bytes, &name) + 7) & ~7u;
	struct vs_live_record *record = vs_ring_begin(ring, VS_LIVE_RECORD_HEAD + size);

	if (!record)
		return false;
	record->type = VS_RECORD_NAME;
	record->flags = VS_LIVE_ENCODED;
	memcpy(record + 1, bytes, size);
	vs_ring_end(ring, record);
	return true;
}

static void assert_run(uint32_t max, uint32_t ring, uint64_t sequence, uint32_t nr)
{
	struct vs_record records[8];
	struct vs_merge_run run;

	assert_true(vs_merge_next_run(merge, records, max, &run));
	assert_int_equal(run.ring, ring);
	assert_int_equal(run.sequence, sequence);
	assert_int_equal(run.nr, nr);
	for (uint32_t i = 0; i < nr; i++) {
		if (records[i].type == VS_RECORD_NAME) {
			assert_int_equal(i, nr - 1);
			continue;
		}
		assert_int_equal(records[i].type, VS_RECORD_STEP);
		assert_int_equal(records[i].thread, ring);
		assert_int_equal(records[i].step.number, 100 * ring + sequence + i);
	}
}

static void test_runs_end_where_another_ring_or_a_definition_has_its_turn(void **state)
{
	struct vs_record record;
	struct vs_merge_run run;
	struct vs_ring a, b;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(vs_ring_open(&b, &log_, 2));
	for (uint64_t i = 0; i < 5; i++)
		assert_true(push(&a, 100 + i));
	assert_true(push(&b, 200));
	assert_true(push(&b, 201));
	assert_true(push(&a, 105));
	assert_true(define(&a));
	assert_true(push(&a, 107));
	vs_merge_look(merge, NOW_NS);
	assert_true(push(&a, 108));
	assert_false(vs_merge_next_run(merge, &record, 0, &run));
	assert_run(3, 1, 0, 3);
	assert_run(8, 1, 3, 2);
	assert_run(8, 2, 0, 2);
	assert_run(8, 1, 5, 2);
	assert_run(8, 1, 7, 1);
	assert_no_next();
}

static void test_what_comes_after_the_look_comes_with_the_next(void **state)
{
	struct vs_ring a;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(push(&a, 1));
	vs_merge_look(merge, NOW_NS);
	assert_true(push(&a, 2));
	assert_next(1, 0, 1);
	assert_no_next();
	vs_merge_look(merge, NOW_NS);
	assert_next(1, 1, 2);
}

static void test_nothing_overtakes_a_record_that_is_being_made(void **state)
{
	struct vs_live_record *record;
	struct vs_ring a, b;
	struct vs_step step = {.number = 2};

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(vs_ring_open(&b, &log_, 2));
	assert_true(push(&a, 1));
	record = begin(&a);
	assert_true(push(&b, 3));
	vs_merge_look(merge, NOW_NS);
	assert_next(1, 0, 1); /* certainly older */
	assert_no_next();
	assert_false(vs_merge_is_empty(merge));
	memcpy(record + 1, &step, sizeof(step));
	vs_ring_end(&a, record);
	vs_merge_look(merge, NOW_NS);
	assert_next(1, 1, 2);
	assert_next(2, 0, 3);
}

static void test_definitions_come_out_as_they_were(void **state)
{
	struct vs_record name = {.type = VS_RECORD_NAME,
				 .name = {.id = 4, .text = {.bytes = "cudaMalloc", .size = 10}}};
	uint8_t bytes[VS_CODEC_MAX] = {0};
	uint32_t size = (uint32_t)vs_codec_put_record(bytes, &name);
	struct vs_live_record *record;
	struct vs_record found;
	uint64_t sequence;
	uint32_t ring;
	struct vs_ring a;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	record = vs_ring_begin(&a, (VS_LIVE_RECORD_HEAD + size + 7) & ~7u);
	record->type = VS_RECORD_NAME;
	record->flags = VS_LIVE_ENCODED;
	memcpy(record + 1, bytes, size);
	vs_ring_end(&a, record);
	vs_merge_look(merge, NOW_NS);
	assert_true(vs_merge_next(merge, &found, &ring, &sequence));
	assert_int_equal(found.type, VS_RECORD_NAME);
	assert_int_equal(found.name.id, 4);
	assert_int_equal(found.name.text.size, 10);
	assert_memory_equal(found.name.text.bytes, "cudaMalloc", 10);
}

static void test_room_comes_back_only_when_it_is_released(void **state)
{
	uint32_t before, nr = 0;
	struct vs_ring a;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	before = vs_live_log_get_nr_free(&log_);
	while (vs_live_log_get_nr_free(&log_) > before - 3)
		assert_true(push(&a, nr++));
	vs_merge_look(merge, NOW_NS);
	for (uint32_t i = 0; i < nr; i++)
		assert_next(1, i, i);
	assert_int_equal(vs_live_log_get_nr_free(&log_), before - 3);
	vs_merge_release(merge);
	assert_int_equal(vs_live_log_get_nr_free(&log_), before);
	assert_true(push(&a, nr));
	vs_merge_look(merge, NOW_NS);
	assert_next(1, nr, nr);
}

static void test_the_slot_of_a_thread_that_ended_is_free_when_all_is_taken(void **state)
{
	uint32_t before = vs_live_log_get_nr_free(&log_);
	struct vs_ring a;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(push(&a, 1));
	vs_ring_close(&a);
	vs_merge_look(merge, NOW_NS);
	vs_merge_release(merge); /* nothing was taken yet */
	assert_int_equal(log_.slots[0].state, VS_LIVE_SLOT_CLOSED);
	assert_next(1, 0, 1);
	vs_merge_release(merge);
	assert_int_equal(log_.slots[0].state, VS_LIVE_SLOT_FREE);
	assert_int_equal(vs_live_log_get_nr_free(&log_), before);
	/* And its next owner starts from nothing. */
	assert_true(vs_ring_open(&a, &log_, 1 + VS_LIVE_NR_SLOTS));
	assert_true(push(&a, 2));
	vs_merge_look(merge, NOW_NS);
	assert_next(1 + VS_LIVE_NR_SLOTS, 0, 2);
}

static void test_a_record_that_takes_too_long_holds_up_nobody_any_more(void **state)
{
	struct vs_ring a, b;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(vs_ring_open(&b, &log_, 2));
	assert_non_null(begin(&a));
	assert_true(push(&b, 7));
	for (uint64_t passed = 0; passed < VS_MERGE_STUCK_NS; passed += VS_MERGE_STUCK_NS / 4) {
		vs_merge_look(merge, NOW_NS + passed);
		assert_no_next();
		assert_false(vs_merge_is_empty(merge));
	}
	vs_merge_look(merge, NOW_NS + VS_MERGE_STUCK_NS);
	assert_next(2, 0, 7);
	assert_true(vs_merge_is_empty(merge));
}

static void test_bytes_that_the_program_wrote_over_us_do_no_harm(void **state)
{
	struct vs_live_record *record;
	struct vs_ring a, b;

	(void)state;
	assert_true(vs_ring_open(&a, &log_, 1));
	assert_true(vs_ring_open(&b, &log_, 2));
	assert_true(push(&a, 1));
	record = begin(&a);
	record->size = 0;
	atomic_store(&a.chunk->end, a.end + 24);
	vs_ring_clear_mark(&a);
	assert_true(push(&b, 2));
	vs_merge_look(merge, NOW_NS);
	assert_next(1, 0, 1);
	assert_next(2, 0, 2);
	assert_no_next();
	atomic_store(&a.chunk->end, UINT32_MAX);
	atomic_store(&a.chunk->next, UINT32_MAX);
	vs_merge_look(merge, NOW_NS);
	assert_no_next();
}

/* ---- Many threads ---------------------------------------------------------------------------- */

/* Passed from hand to hand: who takes it must be recorded in the order in which it was taken. */
static _Atomic uint64_t baton;

static void *record_in_order(void *argument)
{
	struct vs_ring ring = {0};

	while (!vs_ring_open(&ring, &log_, (uint32_t)(uintptr_t)argument))
		sched_yield();
	for (uint32_t i = 0; i < NR_RECORDS; i++) {
		uint64_t number = atomic_fetch_add(&baton, 1);

		/* The test has the patience that a hook has not. */
		while (!push(&ring, number))
			sched_yield();
	}
	vs_ring_close(&ring);
	return NULL;
}

static void test_all_records_arrive_once_whole_and_in_order(void **state)
{
	uint64_t next[NR_THREADS + 1] = {0}, last[NR_THREADS + 1] = {0};
	uint64_t nr = 0, sequence, last_ns = 0;
	pthread_t threads[NR_THREADS];
	struct vs_record record;
	uint32_t ring;

	(void)state;
	atomic_store(&baton, 1);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, record_in_order, (void *)(i + 1));
	while (nr < NR_THREADS * NR_RECORDS) {
		vs_merge_look(merge, NOW_NS);
		while (vs_merge_next(merge, &record, &ring, &sequence)) {
			assert_in_range(ring, 1, NR_THREADS);
			assert_int_equal(sequence, next[ring]++);
			assert_true(record.step.number > last[ring]);
			assert_true(record.time_ns >= last_ns);
			last_ns = record.time_ns;
			last[ring] = record.step.number;
			nr++;
		}
		vs_merge_release(merge);
		sched_yield();
	}
	for (uint32_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	vs_merge_look(merge, NOW_NS);
	vs_merge_release(merge);
	assert_int_equal(vs_live_log_get_nr_free(&log_), NR_CHUNKS);
}

/*
 * What the order is for: an address that is freed by one thread and given to another. Frees are
 * recorded before, allocations after the call; the drain must see them in that order.
 */
static _Atomic uint32_t is_free = 1;

static void *reuse_address(void *argument)
{
	struct vs_ring ring = {0};

	while (!vs_ring_open(&ring, &log_, (uint32_t)(uintptr_t)argument))
		sched_yield();
	for (uint32_t i = 0; i < NR_RECORDS / 4; i++) {
		uint32_t expected = 1;

		while (!atomic_compare_exchange_weak(&is_free, &expected, 0))
			expected = 1;
		while (!push(&ring, 1))
			sched_yield();
		while (!push(&ring, 0))
			sched_yield();
		atomic_store(&is_free, 1);
	}
	vs_ring_close(&ring);
	return NULL;
}

static void test_an_address_is_freed_before_it_is_given_again(void **state)
{
	pthread_t threads[3];
	uint64_t sequence, nr = 0;
	struct vs_record record;
	uint32_t ring;

	(void)state;
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, reuse_address, (void *)(i + 1));
	while (nr < 3 * 2 * (NR_RECORDS / 4)) {
		vs_merge_look(merge, NOW_NS);
		while (vs_merge_next(merge, &record, &ring, &sequence))
			assert_int_equal(record.step.number, nr++ % 2 == 0 ? 1 : 0);
		vs_merge_release(merge);
		sched_yield();
	}
	for (uint32_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_rings_come_out_in_the_order_of_their_times),
		TEST(test_runs_end_where_another_ring_or_a_definition_has_its_turn),
		TEST(test_what_comes_after_the_look_comes_with_the_next),
		TEST(test_nothing_overtakes_a_record_that_is_being_made),
		TEST(test_definitions_come_out_as_they_were),
		TEST(test_room_comes_back_only_when_it_is_released),
		TEST(test_the_slot_of_a_thread_that_ended_is_free_when_all_is_taken),
		TEST(test_a_record_that_takes_too_long_holds_up_nobody_any_more),
		TEST(test_bytes_that_the_program_wrote_over_us_do_no_harm),
		TEST(test_all_records_arrive_once_whole_and_in_order),
		TEST(test_an_address_is_freed_before_it_is_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
