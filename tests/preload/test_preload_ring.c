#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"
#include "ring.h"

#define NR_CHUNKS 16u
#define SIZE      40u /* of a record */
#define IN_CHUNK  ((VS_LIVE_CHUNK_SIZE - VS_LIVE_CHUNK_HEAD) / SIZE)

static struct vs_live_log log_;
static struct vs_ring ring;

static int set_up(void **state)
{
	const struct vs_live_log_facts facts = {
		.trace_path = "",
		.first_size = NR_CHUNKS * VS_LIVE_CHUNK_SIZE,
		.max_size = NR_CHUNKS * VS_LIVE_CHUNK_SIZE,
	};
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/dev/shm/vramscope-test-%ld", (long)getpid());
	if (vs_live_log_create(&log_, path, &facts))
		return -1;
	unlink(path);
	memset(&ring, 0, sizeof(ring));
	return vs_ring_open(&ring, &log_, 3) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	vs_live_log_close(&log_);
	return 0;
}

static bool push(uint64_t value)
{
	struct vs_live_record *record = vs_ring_begin(&ring, SIZE);

	if (!record)
		return false;
	record->type = VS_RECORD_STEP;
	record->flags = 0;
	memcpy(record + 1, &value, sizeof(value));
	vs_ring_end(&ring, record);
	return true;
}

static void test_a_new_ring_is_where_the_drain_looks(void **state)
{
	const struct vs_live_slot *slot = ring.slot;

	(void)state;
	assert_int_equal(slot->state, VS_LIVE_SLOT_OWNED);
	assert_int_equal(slot->ring, 3);
	assert_int_equal(slot->mark & 1, 0);
	assert_ptr_equal(vs_live_log_chunk(&log_, slot->first_chunk - 1), ring.chunk);
	assert_int_equal(ring.chunk->ring, 3);
	assert_int_equal(ring.chunk->first, 0);
	assert_int_equal(ring.chunk->number, 0);
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD);
	assert_int_equal(ring.chunk->next, 0);
}

static void test_a_record_is_marked_before_and_published_after(void **state)
{
	uint32_t mark = ring.slot->mark;
	struct vs_live_record *record = vs_ring_begin(&ring, SIZE);

	(void)state;
	assert_int_equal(ring.slot->mark, mark + 1);
	assert_int_equal(ring.slot->mark & 1, 1);
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD);
	assert_int_equal(record->size, SIZE);
	assert_true(record->ticks > 0 && record->ticks <= vs_clock_ticks());
	vs_ring_end(&ring, record);
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD + SIZE);
	assert_int_equal(ring.slot->mark, mark + 2);
	assert_int_equal(ring.sequence, 1);
}

static void test_a_record_that_is_not_to_be_leaves_nothing(void **state)
{
	uint32_t mark = ring.slot->mark;

	(void)state;
	assert_non_null(vs_ring_begin(&ring, SIZE));
	vs_ring_cancel(&ring);
	assert_int_equal(ring.slot->mark, mark + 2); /* never the same twice */
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD);
	assert_int_equal(ring.sequence, 0);
	assert_true(push(1));
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD + SIZE);
	assert_int_equal(ring.sequence, 1);
}

static void test_two_records_of_one_instant_are_published_at_once(void **state)
{
	struct vs_live_record *first = vs_ring_begin(&ring, 2 * SIZE), *second;

	(void)state;
	second = vs_ring_split(first, SIZE - 8);
	assert_ptr_equal(second, (char *)first + SIZE - 8);
	assert_int_equal(first->size, SIZE - 8);
	assert_int_equal(second->size, SIZE + 8);
	assert_int_equal(second->ticks, first->ticks);
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD);
	assert_int_equal(ring.slot->mark & 1, 1);
	vs_ring_end_all(&ring, 2 * SIZE, 2);
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD + 2 * SIZE);
	assert_int_equal(ring.sequence, 2);
	assert_int_equal(ring.slot->mark & 1, 0);
	/* A jump behind it finds both. */
	ring.sequence = 0;
	vs_ring_give_up(&ring);
	assert_int_equal(ring.sequence, 2);
}

static void test_a_full_chunk_is_followed_by_another(void **state)
{
	struct vs_live_chunk *first = ring.chunk;

	(void)state;
	for (uint32_t i = 0; i < IN_CHUNK; i++)
		assert_true(push(i));
	assert_ptr_equal(ring.chunk, first);
	assert_false(ring.has_moved);
	assert_true(push(IN_CHUNK));
	assert_true(ring.has_moved);
	assert_ptr_not_equal(ring.chunk, first);
	assert_ptr_equal(vs_live_log_chunk(&log_, first->next - 1), ring.chunk);
	assert_int_equal(ring.chunk->number, 1);
	assert_int_equal(ring.chunk->first, IN_CHUNK);
	assert_int_equal(ring.chunk->ring, 3);
}

/* Also when none of its pages has been touched: to wake the drain is a system call. */
static void test_the_drain_is_let_sleep_until_a_quarter_is_taken(void **state)
{
	(void)state;
	for (unsigned i = 0; i < (NR_CHUNKS / 4 - 1) * IN_CHUNK; i++) {
		assert_true(push(i));
		assert_false(vs_ring_is_log_filling(&ring));
	}
	assert_true(push(0));
	assert_int_equal(vs_live_log_get_nr_free(&log_), NR_CHUNKS - NR_CHUNKS / 4);
	assert_true(vs_ring_is_log_filling(&ring));
}

static void test_without_a_chunk_nothing_is_written_and_all_stays_as_it_was(void **state)
{
	struct vs_live_chunk *last;
	uint32_t nr = 0, mark;

	(void)state;
	while (push(nr))
		nr++;
	assert_int_equal(nr, NR_CHUNKS * IN_CHUNK);
	last = ring.chunk;
	mark = ring.slot->mark;
	assert_int_equal(mark & 1, 0);
	assert_false(push(0));
	assert_ptr_equal(ring.chunk, last);
	assert_int_equal(ring.slot->mark, mark);
	assert_int_equal(last->next, 0);
	/* A chunk comes free: it goes on with the next number. */
	vs_live_log_give_chunk(&log_, ring.slot->first_chunk - 1);
	assert_true(push(nr));
	assert_int_equal(ring.chunk->first, nr);
	assert_int_equal(ring.chunk->number, NR_CHUNKS);
}

static void test_a_ring_that_cannot_be_had_leaves_no_slot_taken(void **state)
{
	struct vs_ring other = {0};

	(void)state;
	while (vs_live_log_take_chunk(&log_) != VS_LIVE_LOG_NONE)
		;
	assert_false(vs_ring_open(&other, &log_, 4));
	assert_int_equal(log_.slots[3].state, VS_LIVE_SLOT_FREE);
	assert_null(other.log);
}

static void test_a_closed_ring_is_the_drains(void **state)
{
	struct vs_live_slot *slot = ring.slot;

	(void)state;
	assert_true(push(1));
	vs_ring_close(&ring);
	assert_int_equal(slot->state, VS_LIVE_SLOT_CLOSED);
	assert_null(ring.log);
	vs_ring_close(&ring); /* twice does no harm */
}

/* A signal handler jumps out of the recorder, at each of the places where that makes a difference.
 */
static void test_a_jump_before_publishing_leaves_no_record(void **state)
{
	(void)state;
	assert_true(push(1));
	assert_non_null(vs_ring_begin(&ring, SIZE));
	vs_ring_give_up(&ring);
	assert_int_equal(ring.slot->mark & 1, 0);
	assert_int_equal(ring.sequence, 1);
	assert_true(push(2));
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD + 2 * SIZE);
}

static void test_a_jump_behind_publishing_keeps_the_record(void **state)
{
	struct vs_live_record *record = vs_ring_begin(&ring, SIZE);

	(void)state;
	/* As vs_ring_end() begins. */
	atomic_store(&ring.chunk->end, ring.end + record->size);
	vs_ring_give_up(&ring);
	assert_int_equal(ring.sequence, 1);
	assert_int_equal(ring.end, VS_LIVE_CHUNK_HEAD + SIZE);
	assert_int_equal(ring.slot->mark & 1, 0);
	assert_true(push(2));
	assert_int_equal(ring.sequence, 2);
	assert_int_equal(ring.chunk->end, VS_LIVE_CHUNK_HEAD + 2 * SIZE);
}

static void test_a_jump_between_two_chunks_links_them(void **state)
{
	struct vs_live_chunk *first = ring.chunk;
	uint32_t next;

	(void)state;
	for (uint32_t i = 0; i <= IN_CHUNK; i++)
		assert_true(push(i));
	/* As vs_ring_extend() was before its last store. */
	next = first->next;
	atomic_store(&first->next, 0);
	ring.previous = first;
	vs_ring_give_up(&ring);
	assert_int_equal(first->next, next);
	assert_null(ring.previous);
	/* After it: the drain has given the old one away, and it is somebody else's. */
	atomic_store(&first->ring, 9);
	atomic_store(&first->next, 0);
	ring.previous = first;
	vs_ring_give_up(&ring);
	assert_int_equal(first->next, 0);
}

static void test_what_lies_behind_the_log_may_be_expected(void **state)
{
	struct vs_ring full = {.end = VS_LIVE_CHUNK_SIZE};

	(void)state;
	full.chunk =
		mmap(NULL, 2 * VS_LIVE_CHUNK_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(full.chunk, MAP_FAILED);
	vs_ring_expect(&full); /* nobody may write there */
	assert_int_equal(munmap(full.chunk, 2 * VS_LIVE_CHUNK_SIZE), 0);
	vs_ring_expect(&full); /* nothing is there */
	vs_ring_forget(&full);
	vs_ring_expect(&full);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_ring_is_where_the_drain_looks),
		TEST(test_a_record_is_marked_before_and_published_after),
		TEST(test_a_record_that_is_not_to_be_leaves_nothing),
		TEST(test_two_records_of_one_instant_are_published_at_once),
		TEST(test_a_full_chunk_is_followed_by_another),
		TEST(test_the_drain_is_let_sleep_until_a_quarter_is_taken),
		TEST(test_without_a_chunk_nothing_is_written_and_all_stays_as_it_was),
		TEST(test_a_ring_that_cannot_be_had_leaves_no_slot_taken),
		TEST(test_a_closed_ring_is_the_drains),
		TEST(test_a_jump_before_publishing_leaves_no_record),
		TEST(test_a_jump_behind_publishing_keeps_the_record),
		TEST(test_a_jump_between_two_chunks_links_them),
		TEST(test_what_lies_behind_the_log_may_be_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
