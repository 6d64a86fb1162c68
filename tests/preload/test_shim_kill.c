#include <fcntl.h>
#include <sched.h>
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim_run.h"

/*
 * Programs that end without a chance to say so, at any moment. Each keeps count of what it has said
 * in a page of its own, which outlives it: that much must be in the files, once, with its stack.
 */

/* ThreadSanitizer takes its time. */
#define NR_ROUNDS (SHIM_IS_THREAD_SANITIZED ? 24 : 200)

/* Laid out as the host does. */
#define NR_THREADS 8
struct oracle {
	uint32_t nr_done[NR_THREADS];
	uint32_t is_ready;
};

static int oracle_fd;
static const volatile struct oracle *oracle;

/* The host finds the page it keeps its count in as descriptor 3. */
static void hand_over_oracle(const struct shim_run *run)
{
	(void)run;
	if (dup2(oracle_fd, 3) < 0)
		_exit(126);
}

static void open_oracle(void)
{
	oracle_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(oracle_fd >= 0);
	assert_int_equal(ftruncate(oracle_fd, sizeof(*oracle)), 0);
	oracle = mmap(NULL, sizeof(*oracle), PROT_READ, MAP_SHARED, oracle_fd, 0);
	assert_true(oracle != MAP_FAILED);
}

static void close_oracle(void)
{
	munmap((void *)(uintptr_t)oracle, sizeof(*oracle));
	close(oracle_fd);
}

/* Returns how many events that were said are not there. None is there twice, or out of order. */
static uint64_t count_missing(const struct shim_trace *trace)
{
	uint64_t nr_missing = 0;

	assert_false(trace->is_out_of_order);
	for (unsigned thread = 0; thread < NR_THREADS; thread++) {
		uint32_t nr_done = oracle->nr_done[thread];

		for (uint32_t i = 1; i < SHIM_NR_EVENTS; i++) {
			/* One more may have been under way. */
			if (trace->seen[thread][i] > (i <= nr_done + 1))
				fail_msg("event %u of thread %u: %u times, %u said", i, thread,
					 trace->seen[thread][i], nr_done);
			nr_missing += i <= nr_done && !trace->seen[thread][i];
		}
	}
	return nr_missing;
}

static void judge(const struct shim_run *run, bool may_lose)
{
	struct shim_trace *trace = shim_run_try_read(run, NULL);
	uint64_t nr_missing;

	if (!trace) {
		/* It did not get so far. */
		for (unsigned thread = 0; thread < NR_THREADS; thread++)
			assert_int_equal(oracle->nr_done[thread], 0);
		return;
	}
	assert_false(trace->is_complete);
	assert_false(trace->is_running);
	assert_false(trace->is_damaged);
	assert_int_equal(trace->nr_undefined, 0);
	assert_int_equal(trace->nr_empty, 0);
	assert_int_equal(trace->nr_unplaced, 0);
	nr_missing = count_missing(trace);
	if (!may_lose)
		assert_int_equal(trace->nr_lost, 0);
	if (nr_missing > trace->nr_lost)
		fail_msg("%lu missing, %lu lost", (unsigned long)nr_missing,
			 (unsigned long)trace->nr_lost);
	free(trace);
}

struct death {
	const char *how; /* the host's own word */
	unsigned long when;
	unsigned nr_threads;
	int signal; /* that it ends by; 0: status 3 */
	const char *log_size;
	bool may_lose;
	void (*meanwhile)(struct shim_run *run, pid_t pid);
};

static void die_once(const struct death *death)
{
	static struct shim_run run;
	char when[24], nr_threads[24];

	snprintf(when, sizeof(when), "%lu", death->when);
	snprintf(nr_threads, sizeof(nr_threads), "%u", death->nr_threads);
	open_oracle();
	shim_run_init(&run);
	shim_run_add_env(&run, death->log_size);
	run.prepare = hand_over_oracle;
	run.meanwhile = death->meanwhile;
	SHIM_RUN(&run, "host_process", "end-all", death->how, when, nr_threads);
	if (death->signal)
		assert_true(WIFSIGNALED(run.status) && WTERMSIG(run.status) == death->signal);
	else
		assert_true(WIFEXITED(run.status) && WEXITSTATUS(run.status) == 3);
	assert_string_equal(run.err, "");
	judge(&run, death->may_lose);
	shim_run_fini(&run);
	close_oracle();
}

static void take_a_nap(long ns)
{
	const struct timespec nap = {ns / 1000000000, ns % 1000000000};

	nanosleep(&nap, NULL);
}

/* ---- From outside ---------------------------------------------------------------------------- */

/* Anywhere from its first instruction on. */
static void kill_some_time(struct shim_run *run, pid_t pid)
{
	(void)run;
	take_a_nap(rand() % 30000000);
	kill(pid, SIGKILL);
}

/* While its files are made, or a little later. */
static void kill_at_the_start(struct shim_run *run, pid_t pid)
{
	(void)run;
	while (!oracle->is_ready)
		sched_yield();
	take_a_nap(rand() % 2000000);
	kill(pid, SIGKILL);
}

static void test_every_event_said_before_a_kill_is_in_the_pair_once(void **state)
{
	(void)state;
	srand(4711);
	for (unsigned i = 0; i < NR_ROUNDS; i++)
		die_once(&(struct death){
			.how = "outside",
			.nr_threads = 1 + i % NR_THREADS,
			.signal = SIGKILL,
			.log_size = "VRAMSCOPE_LOG_SIZE=100000000",
			.meanwhile = i % 4 ? kill_some_time : kill_at_the_start,
		});
}

/* Stopped now and then, and looked at: nothing is there twice, or damaged, or before its time. */
static void look_and_kill(struct shim_run *run, pid_t pid)
{
	while (!oracle->nr_done[0])
		sched_yield();
	for (int i = 0; i < 3; i++) {
		struct shim_trace *trace;

		take_a_nap(rand() % 5000000);
		kill(pid, SIGSTOP);
		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
		trace = shim_run_read(run, NULL);
		assert_true(trace->is_running);
		assert_false(trace->is_complete);
		assert_false(trace->is_damaged);
		assert_int_equal(trace->nr_undefined, 0);
		assert_int_equal(trace->nr_empty, 0);
		/* A thread that stands in the middle of a record keeps later ones back. */
		(void)count_missing(trace);
		free(trace);
		kill(pid, SIGCONT);
	}
	kill(pid, SIGKILL);
}

static void test_the_same_for_a_program_that_is_looked_at_while_it_stands(void **state)
{
	(void)state;
	srand(99);
	for (unsigned i = 0; i < NR_ROUNDS / 8; i++)
		die_once(&(struct death){
			.how = "outside",
			.nr_threads = 1 + i % NR_THREADS,
			.signal = SIGKILL,
			.log_size = "VRAMSCOPE_LOG_SIZE=100000000",
			.meanwhile = look_and_kill,
		});
}

/* ---- From inside ----------------------------------------------------------------------------- */

static void test_the_same_for_a_program_that_kills_itself(void **state)
{
	(void)state;
	srand(815);
	for (unsigned i = 0; i < NR_ROUNDS / 4; i++)
		die_once(&(struct death){
			.how = "kill",
			.when = 1 + (unsigned long)rand() % 20000,
			.nr_threads = 1 + i % NR_THREADS,
			.signal = SIGKILL,
			.log_size = "VRAMSCOPE_LOG_SIZE=100000000",
		});
}

static void test_the_same_when_chunks_are_used_again_but_for_what_is_counted(void **state)
{
	(void)state;
	srand(42);
	for (unsigned i = 0; i < NR_ROUNDS / 4; i++)
		die_once(&(struct death){
			.how = "kill",
			.when = 1 + (unsigned long)rand() % 50000,
			.nr_threads = 1 + i % NR_THREADS,
			.signal = SIGKILL,
			.log_size = "VRAMSCOPE_LOG_SIZE=131072",
			.may_lose = true,
		});
}

static void test_the_same_for_other_ways_to_end_without_a_word(void **state)
{
	static const struct {
		const char *how;
		int signal;
	} ways[] = {{"abort", SIGABRT}, {"segv", SIGSEGV}, {"_exit", 0}, {"exec", 0}};

	(void)state;
	srand(77);
	for (unsigned i = 0; i < NR_ROUNDS / 8; i++)
		die_once(&(struct death){
			.how = ways[i % 4].how,
			.when = 1 + (unsigned long)rand() % 20000,
			.nr_threads = 1 + i % NR_THREADS,
			.signal = ways[i % 4].signal,
			.log_size = "VRAMSCOPE_LOG_SIZE=100000000",
		});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_event_said_before_a_kill_is_in_the_pair_once),
		cmocka_unit_test(test_the_same_for_a_program_that_is_looked_at_while_it_stands),
		cmocka_unit_test(test_the_same_for_a_program_that_kills_itself),
		cmocka_unit_test(test_the_same_when_chunks_are_used_again_but_for_what_is_counted),
		cmocka_unit_test(test_the_same_for_other_ways_to_end_without_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
