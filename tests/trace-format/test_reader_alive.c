/* A real writer in another process, read while it works and after it was killed. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "fold.h"
#include "pair_maker.h"

#define NR_RUNS 12

/* Enough that it is at work when the kill comes, not so much that it fills a disk. */
#define MAX_STEPS 200000

/* Written by the child after each push: that hook has returned. */
static _Atomic uint64_t *nr_pushed;

/* Pushes steps 0, 1, 2, ... and drains them, until somebody ends it: at the latest our own end. */
static void record_for_ever(struct vs_pair_maker *maker)
{
	struct vs_record record = {.type = VS_RECORD_STEP};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	maker->live->pid = (uint32_t)getpid();
	for (;;) {
		if (record.step.number >= MAX_STEPS)
			pause();
		if (vs_pair_maker_push(maker, 1 + (uint32_t)(record.step.number / 7 % 5),
				       &record)) {
			record.step.number++;
			atomic_store(nr_pushed, record.step.number);
		}
		maker->events.size = 0; /* nobody compares here */
		maker->events.nr = 0;
		if (record.step.number % 61 == 0)
			vs_pair_maker_drain(maker, 1000);
		if (record.step.number % 244 == 0) {
			vs_pair_maker_flush(maker);
			vs_pair_maker_release(maker);
		}
	}
}

static void wait_for(uint64_t number)
{
	while (atomic_load(nr_pushed) < number)
		sched_yield();
}

/* Steps from 0 on, without a gap: how many. */
static uint64_t count_steps(const char *path, struct vs_reader_state *state)
{
	struct vs_reader *reader;
	struct vs_record record;
	uint64_t nr_steps = 0;
	int ret;

	assert_int_equal(vs_reader_open(&reader, path), 0);
	while ((ret = vs_reader_next(reader, &record)) == 1) {
		assert_int_equal(record.type, VS_RECORD_STEP);
		assert_int_equal(record.step.number, nr_steps);
		nr_steps++;
	}
	assert_int_equal(ret, 0);
	vs_reader_get_state(reader, state);
	assert_false(state->is_damaged);
	vs_reader_close(reader);
	return nr_steps;
}

static void test_running_writer_is_read_and_a_killed_one_loses_nothing(void **state)
{
	(void)state;
	nr_pushed = mmap(NULL, sizeof(*nr_pushed), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(nr_pushed != MAP_FAILED);
	for (uint64_t run = 0; run < NR_RUNS; run++) {
		struct vs_reader_state seen;
		struct vs_pair_maker maker;
		uint64_t before;
		pid_t child;

		atomic_store(nr_pushed, 0);
		vs_pair_maker_init(&maker, 8, true);
		child = fork();
		assert_true(child >= 0);
		if (!child)
			record_for_ever(&maker);
		/* Every other one is killed without having been looked at: early, and busy. */
		for (uint32_t i = 1; i < 4 && run % 2; i++) {
			wait_for(i * 500);
			before = atomic_load(nr_pushed);
			assert_true(count_steps(maker.path, &seen) >= before);
		}
		wait_for(1000 + run * 37);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		/* One more than it could tell us, if the kill came between. */
		before = count_steps(maker.path, &seen);
		assert_true(before - atomic_load(nr_pushed) <= 1);
		assert_false(seen.is_complete);
		assert_int_equal(vs_fold_trace(maker.path), 0);
		assert_int_equal(count_steps(maker.path, &seen), before);
		assert_false(seen.used_log);
		vs_pair_maker_fini(&maker);
	}
	munmap(nr_pushed, sizeof(*nr_pushed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running_writer_is_read_and_a_killed_one_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
