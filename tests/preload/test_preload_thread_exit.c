#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lifecycle.h"

/* thread_exit.c is part of this program: whoever calls pthread_exit in here calls ours. */

static _Atomic uint32_t mark;
_Atomic uint32_t *vs_lifecycle_mark = &mark;
static _Atomic int nr_told;

void vs_lifecycle_do_without_thread(void)
{
	nr_told++;
}

static void *leave(void *value)
{
	pthread_exit(value);
}

static void test_a_thread_that_is_not_the_first_just_ends(void **state)
{
	pthread_t thread;
	void *value;

	(void)state;
	mark = 1;
	assert_int_equal(pthread_create(&thread, NULL, leave, &mark), 0);
	assert_int_equal(pthread_join(thread, &value), 0);
	assert_ptr_equal(value, &mark);
	assert_int_equal(nr_told, 0);
}

/* What the other thread waits for, and what it then expects. */
struct farewell {
	pthread_t first;
	int nr_told;
};

static void *outlive(void *argument)
{
	const struct farewell *farewell = argument;
	void *value;

	if (pthread_join(farewell->first, &value) != 0)
		_exit(2);
	_exit(value == (void *)4711 && nr_told == farewell->nr_told ? 0 : 1);
}

/* The first thread of a new process leaves; its exit status is what the other one says. */
static void leave_as_first(uint32_t is_begun)
{
	static struct farewell farewell;
	pthread_t thread;

	alarm(60); /* nobody should wait for a thread that did not end */
	mark = is_begun;
	farewell.first = pthread_self();
	farewell.nr_told = is_begun ? 1 : 0;
	if (pthread_create(&thread, NULL, outlive, &farewell) != 0)
		_exit(3);
	pthread_exit((void *)4711);
}

static void check_first(uint32_t is_begun)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		leave_as_first(is_begun);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_the_first_thread_tells_before_it_ends_and_the_others_go_on(void **state)
{
	(void)state;
	check_first(1);
}

static void test_a_process_that_has_not_begun_is_told_nothing(void **state)
{
	(void)state;
	check_first(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_that_is_not_the_first_just_ends),
		cmocka_unit_test(test_the_first_thread_tells_before_it_ends_and_the_others_go_on),
		cmocka_unit_test(test_a_process_that_has_not_begun_is_told_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
