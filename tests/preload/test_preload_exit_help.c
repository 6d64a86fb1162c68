#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "exit_help.h"

/* The test's first thread ends the program, another one plays the drain. */

#define LONG_MS 60000

static struct job {
	long tid; /* who did it */
	bool sees_signal;
	uint64_t before, after; /* not atomic: to be seen after it was awaited */
	_Atomic bool may_end;
} job;

static int set_up(void **state)
{
	(void)state;
	job = (struct job){.may_end = true};
	vs_exit_help_forget();
	return 0;
}

static void take_a_nap(void)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	nanosleep(&nap, NULL);
}

static void work(void *what)
{
	struct job *mine = what;
	sigset_t blocked;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	mine->sees_signal = !sigismember(&blocked, SIGTERM);
	mine->tid = syscall(SYS_gettid);
	while (!mine->may_end)
		take_a_nap();
	mine->after = mine->before + 1;
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	assert_int_equal(pthread_create(thread, NULL, run, argument), 0);
}

/* Somebody is there in a moment; a minute means never. */
static bool give(struct job *to)
{
	for (int i = 0; i < LONG_MS; i++) {
		if (vs_exit_help_give(work, to))
			return true;
		take_a_nap();
	}
	return false;
}

/* ---- Both there ------------------------------------------------------------------------------ */

#define NR_JOBS 1000u

static void *give_many(void *nr_good)
{
	for (uint64_t i = 0; i < NR_JOBS; i++) {
		job.before = i;
		if (!give(&job))
			break;
		vs_exit_help_await();
		*(uint64_t *)nr_good += job.after == i + 1;
	}
	vs_exit_help_end();
	return NULL;
}

static void test_work_is_done_by_who_serves_and_seen_by_who_awaits(void **state)
{
	uint64_t nr_good = 0;
	pthread_t drain;

	(void)state;
	start(&drain, give_many, &nr_good);
	vs_exit_help_serve(LONG_MS);
	pthread_join(drain, NULL);
	assert_int_equal(nr_good, NR_JOBS);
	assert_int_equal(job.tid, syscall(SYS_gettid));
	assert_false(job.sees_signal);
}

static void *give_two(void *is_second_taken)
{
	job.may_end = false;
	if (!give(&job))
		return NULL;
	*(bool *)is_second_taken = vs_exit_help_give(work, &job) || !vs_exit_help_is_there();
	job.may_end = true;
	vs_exit_help_end(); /* awaits */
	return NULL;
}

static void test_one_piece_at_a_time(void **state)
{
	bool is_second_taken = true;
	pthread_t drain;

	(void)state;
	start(&drain, give_two, &is_second_taken);
	vs_exit_help_serve(LONG_MS);
	pthread_join(drain, NULL);
	assert_false(is_second_taken);
	assert_int_equal(job.after, 1);
}

/* ---- One of them alone ----------------------------------------------------------------------- */

static void test_nobody_takes_what_nobody_serves(void **state)
{
	(void)state;
	assert_false(vs_exit_help_is_there());
	assert_false(vs_exit_help_give(work, &job));
	vs_exit_help_await();
	vs_exit_help_end();
	assert_false(vs_exit_help_is_there());
	assert_int_equal(job.tid, 0);
}

static void test_who_comes_after_the_end_does_not_wait(void **state)
{
	(void)state;
	vs_exit_help_end();
	vs_exit_help_serve(UINT32_MAX);
	vs_exit_help_forget(); /* in a child it begins anew */
	vs_exit_help_serve(0);
}

static void test_who_has_waited_long_enough_goes(void **state)
{
	(void)state;
	vs_exit_help_serve(1);
	assert_false(vs_exit_help_give(work, &job));
}

/* ---- Where it would not be safe -------------------------------------------------------------- */

static void *serve(void *unused)
{
	(void)unused;
	vs_exit_help_serve(UINT32_MAX);
	return NULL;
}

static void test_other_threads_do_not_lend_their_stacks(void **state)
{
	pthread_t other;

	(void)state;
	start(&other, serve, NULL);
	pthread_join(other, NULL);
	assert_false(vs_exit_help_give(work, &job));
}

/* As much as a handler or a recursion may have used already. */
static __attribute__((noinline)) void serve_far_down(void)
{
	volatile char much[512 << 10];

	much[0] = 0;
	vs_exit_help_serve(UINT32_MAX);
	(void)much[0];
}

static void test_a_stack_that_is_far_down_is_not_lent(void **state)
{
	(void)state;
	serve_far_down();
	assert_false(vs_exit_help_give(work, &job));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_work_is_done_by_who_serves_and_seen_by_who_awaits),
		TEST(test_one_piece_at_a_time),
		TEST(test_nobody_takes_what_nobody_serves),
		TEST(test_who_comes_after_the_end_does_not_wait),
		TEST(test_who_has_waited_long_enough_goes),
		TEST(test_other_threads_do_not_lend_their_stacks),
		TEST(test_a_stack_that_is_far_down_is_not_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
