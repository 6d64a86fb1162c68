#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim_run.h"

#define NR_ROUNDS  100
#define NR_THREADS 3

/* Laid out as the host does. */
struct oracle {
	uint32_t nr_done[4];
};

static int oracle_fd;

/* The host finds the page it keeps its count in as descriptor 3. */
static void hand_over_oracle(const struct shim_run *run)
{
	(void)run;
	if (dup2(oracle_fd, 3) < 0)
		_exit(126);
}

static const struct oracle *make_oracle(void)
{
	const struct oracle *oracle;

	oracle_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(oracle_fd >= 0);
	assert_int_equal(ftruncate(oracle_fd, sizeof(*oracle)), 0);
	oracle = mmap(NULL, sizeof(*oracle), PROT_READ, MAP_SHARED, oracle_fd, 0);
	assert_true(oracle != MAP_FAILED);
	return oracle;
}

/* Returns how many events that were said are not there. None is there twice, or out of order. */
static uint64_t compare(const struct shim_trace *trace, const struct oracle *oracle)
{
	uint64_t nr_missing = 0;

	assert_false(trace->is_out_of_order);
	for (unsigned thread = 0; thread < NR_THREADS; thread++) {
		uint32_t nr_done = oracle->nr_done[thread];

		for (uint32_t i = 1; i < SHIM_NR_EVENTS; i++) {
			assert_true(trace->seen[thread][i] <= 1);
			/* One more may have been under way. */
			if (i > nr_done + 1)
				assert_int_equal(trace->seen[thread][i], 0);
			else if (i <= nr_done)
				nr_missing += !trace->seen[thread][i];
		}
	}
	return nr_missing;
}

static void kill_once(const char *ring, unsigned long when, bool may_lose)
{
	const struct oracle *oracle = make_oracle();
	static struct shim_run run;
	struct shim_trace *trace;
	uint64_t nr_missing;
	char number[24];

	snprintf(number, sizeof(number), "%lu", when);
	shim_run_init(&run);
	shim_run_add_env(&run, ring);
	run.prepare = hand_over_oracle;
	SHIM_RUN(&run, "host_process", "killed", number);
	assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == SIGKILL);
	assert_int_equal(oracle->nr_done[0], when);
	trace = shim_run_read(&run, NULL);
	assert_false(trace->is_complete);
	assert_false(trace->is_damaged);
	assert_int_equal(trace->nr_undefined, 0);
	nr_missing = compare(trace, oracle);
	if (!may_lose)
		assert_int_equal(trace->nr_lost, 0);
	assert_true(nr_missing <= trace->nr_lost);
	free(trace);
	shim_run_fini(&run);
	munmap((void *)(uintptr_t)oracle, sizeof(*oracle));
	close(oracle_fd);
}

static void test_every_event_said_before_a_kill_is_in_the_pair_once(void **state)
{
	(void)state;
	srand(4711);
	for (int i = 0; i < NR_ROUNDS; i++)
		kill_once("VRAMSCOPE_RING=8388608", 1 + (unsigned long)rand() % 20000, false);
}

static void test_the_same_when_the_ring_goes_round_but_for_what_is_counted(void **state)
{
	(void)state;
	srand(42);
	for (int i = 0; i < NR_ROUNDS / 4; i++)
		kill_once("VRAMSCOPE_RING=131072", 1 + (unsigned long)rand() % 50000, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_event_said_before_a_kill_is_in_the_pair_once),
		cmocka_unit_test(test_the_same_when_the_ring_goes_round_but_for_what_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
