#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "log_double.h"
#include "thread.h"

/* What a thread saw of itself. */
struct seen {
	struct vs_thread_state *self;
	uint32_t id;
	void *scratch;
	struct vs_live_slot *slot;
	uint32_t recording; /* that the ring is said to be of */
	bool is_in_record;  /* it ends in the middle of one */
	bool is_late;       /* somebody else's destructor has work for us */
	void *late_scratch; /* as it found it */
	uint32_t late_id;
	int errno_after_end; /* of our destructor */
};

static pthread_key_t late_key;

/* Made after the thread's own key: called after its destructor. */
static void be_late(void *argument)
{
	struct seen *seen = argument;

	seen->errno_after_end = errno;
	if (!seen->is_late)
		return;
	assert_null(vs_thread_self()->scratch);
	assert_true(vs_thread_prepare(vs_thread_self()));
	seen->late_scratch = vs_thread_self()->scratch;
	seen->late_id = vs_thread_self()->base.id;
}

static int init(void **state)
{
	(void)state;
	vs_thread_init();
	return pthread_key_create(&late_key, be_late);
}

static int set_up(void **state)
{
	(void)state;
	log_double_reset();
	return 0;
}

static bool is_mapped(void *address)
{
	unsigned char page;

	return mincore(address, 1, &page) == 0;
}

/* As the recorder does at a thread's first event. */
static void open_ring(struct vs_thread_state *self, struct seen *seen)
{
	if (!seen->recording || !vs_ring_open(&self->ring, &log_double.log, self->base.id))
		return;
	self->defined_in = seen->recording;
	seen->slot = self->ring.slot;
	if (seen->is_in_record)
		vs_ring_begin(&self->ring, VS_LIVE_RECORD_HEAD);
}

static void *live(void *argument)
{
	struct seen *seen = argument;

	seen->self = vs_thread_self();
	vs_thread_prepare(seen->self);
	seen->id = seen->self->base.id;
	seen->scratch = seen->self->scratch;
	open_ring(seen->self, seen);
	pthread_setspecific(late_key, seen);
	errno = 4711;
	return NULL;
}

static void *do_nothing(void *argument)
{
	return argument;
}

static void run(void *(*what)(void *), struct seen *seen)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, what, seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_preparing_gives_a_number_and_memory_once(void **state)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_thread_scratch *scratch;
	uint32_t id;

	(void)state;
	errno = 4711;
	assert_true(vs_thread_prepare(self));
	assert_int_equal(errno, 4711);
	id = self->base.id;
	scratch = self->scratch;
	assert_int_not_equal(id, VS_NO_ID);
	assert_non_null(scratch);
	memset(scratch, 0x55, sizeof(*scratch));
	assert_true(vs_thread_prepare(self));
	assert_ptr_equal(self->scratch, scratch);
	assert_int_equal(self->base.id, id);
	assert_ptr_equal(vs_thread_self(), self);
}

static void test_threads_have_states_and_numbers_of_their_own(void **state)
{
	struct seen first = {0}, second = {0};

	(void)state;
	assert_true(vs_thread_prepare(vs_thread_self()));
	run(live, &first);
	run(live, &second);
	assert_ptr_not_equal(first.self, vs_thread_self());
	assert_int_not_equal(first.id, vs_thread_self()->base.id);
	assert_int_not_equal(second.id, vs_thread_self()->base.id);
	assert_int_not_equal(second.id, first.id); /* although the first is gone */
	assert_ptr_not_equal(first.scratch, vs_thread_self()->scratch);
}

static void test_a_thread_that_ends_gives_back_what_it_has(void **state)
{
	struct seen seen = {0};

	(void)state;
	run(live, &seen);
	assert_non_null(seen.scratch);
	assert_false(is_mapped(seen.scratch));
	assert_true(is_mapped(vs_thread_self()->scratch));
	assert_int_equal(seen.errno_after_end, 4711);
}

static void test_a_thread_that_ends_leaves_its_ring_to_the_drain(void **state)
{
	struct seen seen = {.recording = log_double.recording};

	(void)state;
	run(live, &seen);
	assert_non_null(seen.slot);
	assert_int_equal(seen.slot->state, VS_LIVE_SLOT_CLOSED);
	assert_int_equal(seen.slot->ring, seen.id);
	assert_int_equal(seen.slot->mark & 1, 0);
}

/* It would hold up the drain. */
static void test_a_thread_that_ends_in_a_record_takes_its_mark_away(void **state)
{
	struct seen seen = {.recording = log_double.recording, .is_in_record = true};

	(void)state;
	run(live, &seen);
	assert_int_equal(seen.slot->state, VS_LIVE_SLOT_CLOSED);
	assert_int_equal(seen.slot->mark & 1, 0);
	assert_int_equal(seen.slot->mark, 2);
}

/* As in a forked child: what it has a copy of is its parent's. */
static void test_a_ring_of_another_recording_is_not_touched(void **state)
{
	struct seen seen = {.recording = log_double.recording + 1};

	(void)state;
	run(live, &seen);
	assert_int_equal(seen.slot->state, VS_LIVE_SLOT_OWNED);
}

static void test_a_destructor_that_comes_later_can_still_record(void **state)
{
	struct seen seen = {.is_late = true};

	(void)state;
	run(live, &seen);
	assert_non_null(seen.late_scratch);
	assert_int_equal(seen.late_id, seen.id);
	assert_false(is_mapped(seen.late_scratch));
}

static void test_a_thread_without_events_leaves_nothing_behind(void **state)
{
	(void)state;
	run(do_nothing, NULL);
	assert_int_equal(log_double.log.header->slots_end, 0);
}

/* In a process of its own: the limit stays. */
static int prepare_without_memory(void)
{
	struct vs_thread_state *self = vs_thread_self();
	static const struct rlimit none;
	bool is_prepared;

	/* As in a thread that is new. */
	self->scratch = NULL;
	self->base.id = VS_NO_ID;
	setrlimit(RLIMIT_AS, &none);
	errno = 4711;
	is_prepared = vs_thread_prepare(self);
	return is_prepared || errno != 4711 || self->scratch;
}

static void test_without_memory_a_thread_is_not_prepared(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(prepare_without_memory());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_preparing_gives_a_number_and_memory_once, set_up),
		cmocka_unit_test_setup(test_threads_have_states_and_numbers_of_their_own, set_up),
		cmocka_unit_test_setup(test_a_thread_that_ends_gives_back_what_it_has, set_up),
		cmocka_unit_test_setup(test_a_thread_that_ends_leaves_its_ring_to_the_drain,
				       set_up),
		cmocka_unit_test_setup(test_a_thread_that_ends_in_a_record_takes_its_mark_away,
				       set_up),
		cmocka_unit_test_setup(test_a_ring_of_another_recording_is_not_touched, set_up),
		cmocka_unit_test_setup(test_a_destructor_that_comes_later_can_still_record, set_up),
		cmocka_unit_test_setup(test_a_thread_without_events_leaves_nothing_behind, set_up),
		cmocka_unit_test_setup(test_without_memory_a_thread_is_not_prepared, set_up),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
