/* Threads in all states, and what may interrupt them: host_threads MODE ... */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <vramscope.h>

#include "slow_driver.h"

#define NR_WAVES   25
#define NR_AT_ONCE 200

static vs_pool pool;
static _Atomic unsigned long nr_said;

static const void *address(unsigned long thread, unsigned long number)
{
	return (const void *)(uintptr_t)(thread << 32 | number);
}

/* A block that nobody else says. */
static void say_next(void)
{
	vs_pool_alloc(pool, address(0, atomic_fetch_add(&nr_said, 1) + 1), 1);
}

static int start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	if (pthread_create(thread, NULL, run, argument) == 0)
		return 0;
	fprintf(stderr, "no thread\n");
	exit(1);
}

/* ---- Short lives ----------------------------------------------------------------------------- */

static void *live_shortly(void *argument)
{
	say_next();
	return argument;
}

static int one_after_the_other(unsigned long nr)
{
	pthread_t thread;

	pool = vs_pool_create("short", 0, 0);
	for (unsigned long i = 0; i < nr; i++) {
		start(&thread, live_shortly, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}

/* A key that is younger than the recorder's: its destructor is called after that one's. */
static pthread_key_t late_key;

static void say_late(void *unused)
{
	(void)unused;
	say_next();
}

static void *live_and_leave_work(void *argument)
{
	say_next();
	pthread_setspecific(late_key, &late_key);
	return argument;
}

static int speak_after_the_end(unsigned long nr)
{
	pthread_t thread;

	pool = vs_pool_create("late", 0, 0);
	if (pthread_key_create(&late_key, say_late) != 0)
		return 1;
	for (unsigned long i = 0; i < nr; i++) {
		start(&thread, live_and_leave_work, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}

static pthread_barrier_t all_there;

static void *live_together(void *argument)
{
	pthread_barrier_wait(&all_there);
	say_next();
	say_next();
	pthread_barrier_wait(&all_there);
	return argument;
}

static int many_at_once(void)
{
	pthread_t threads[NR_AT_ONCE];

	pool = vs_pool_create("waves", 0, 0);
	pthread_barrier_init(&all_there, NULL, NR_AT_ONCE);
	for (int wave = 0; wave < NR_WAVES; wave++) {
		for (int i = 0; i < NR_AT_ONCE; i++)
			start(&threads[i], live_together, NULL);
		for (int i = 0; i < NR_AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

/* ---- Stress ---------------------------------------------------------------------------------- */

static unsigned long nr_rounds;

static void *allocate(void *argument)
{
	unsigned long thread = (unsigned long)(uintptr_t)argument;

	for (unsigned long i = 1; i <= nr_rounds; i++) {
		vs_pool_alloc(pool, address(100 + thread, i % 50), i);
		vs_pool_free(pool, address(100 + thread, i % 50));
		if (i % 100 == 0)
			vs_step(i);
	}
	return NULL;
}

static int stress(unsigned long nr_threads, unsigned long nr)
{
	pthread_t threads[64];

	nr_rounds = nr;
	pool = vs_pool_create("stress", 0, 0);
	for (uintptr_t i = 0; i < nr_threads; i++)
		start(&threads[i], allocate, (void *)i);
	for (uintptr_t i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* ---- The end --------------------------------------------------------------------------------- */

static _Atomic unsigned long nr_done[4];

static void *go_on(void *argument)
{
	unsigned long thread = (unsigned long)(uintptr_t)argument;

	for (unsigned long i = 1; i < 60000; i++) {
		vs_pool_alloc(pool, address(thread, i), 1);
		atomic_store(&nr_done[thread], i);
	}
	for (;;)
		pause();
	return NULL;
}

/* Threads that run on while main has returned. Prints what they had said by then. */
static int outlive(void)
{
	pthread_t thread;

	pool = vs_pool_create("outlive", 0, 0);
	for (uintptr_t i = 0; i < 4; i++)
		start(&thread, go_on, (void *)i);
	while (atomic_load(&nr_done[3]) < 2000)
		sched_yield();
	for (int i = 0; i < 4; i++)
		printf("%lu ", atomic_load(&nr_done[i]));
	return 0;
}

static bool has_farewells;

static void say_second(void)
{
	vs_step(2);
}

static void say_third(void)
{
	vs_step(3);
}

/* Behind all of atexit. */
__attribute__((destructor)) static void say_fourth(void)
{
	if (has_farewells)
		vs_step(4);
}

static int say_farewell(void)
{
	atexit(say_third);
	/* Steps alone make no trace. */
	vs_pool_alloc(vs_pool_create("farewell", -1, 0), &has_farewells, 1);
	vs_step(1);
	atexit(say_second);
	has_farewells = true;
	return 0;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static _Atomic unsigned long nr_handled;
static _Atomic unsigned nr_speaking; /* threads that have said something */
static atomic_bool is_over;

static void say_in_handler(int number)
{
	(void)number;
	atomic_fetch_add(&nr_handled, 1);
	say_next();
}

static void *say_until_over(void *argument)
{
	static const size_t size = 65536;
	stack_t stack = {.ss_sp = argument ? malloc(size) : NULL, .ss_size = size};

	if (argument)
		sigaltstack(&stack, NULL);
	say_next();
	atomic_fetch_add(&nr_speaking, 1);
	while (!atomic_load(&is_over))
		say_next();
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return NULL;
}

/*
 * A thread that starts is in the allocator of AddressSanitizer, which takes locks: whoever stands
 * still there, or says something there in a handler, would hold up others or itself.
 */
static void await_speakers(unsigned nr)
{
#ifdef __SANITIZE_ADDRESS__
	while (atomic_load(&nr_speaking) < nr)
		sched_yield();
#else
	(void)nr;
#endif
}

/* A handler that says something, wherever the thread is; some have a stack for it. Prints how much
 * was said, and how much of it by the handler. */
static int interrupt(void)
{
	static const struct itimerval often = {{0, 100}, {0, 100}}, never;
	struct sigaction action = {.sa_handler = say_in_handler, .sa_flags = SA_ONSTACK};
	pthread_t threads[4];

	pool = vs_pool_create("signals", 0, 0);
	sigaction(SIGALRM, &action, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		start(&threads[i], say_until_over, (void *)(i % 2));
	await_speakers(4);
	setitimer(ITIMER_REAL, &often, NULL);
	while (atomic_load(&nr_handled) < 3000)
		say_next();
	setitimer(ITIMER_REAL, &never, NULL);
	atomic_store(&is_over, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%lu %lu\n", atomic_load(&nr_said), atomic_load(&nr_handled));
	return 0;
}

/* ---- Standstill ------------------------------------------------------------------------------ */

#define NR_STANDING 16

static _Atomic int nr_standing;
static atomic_bool may_go;

static void take_a_nap(long ns)
{
	const struct timespec nap = {0, ns};

	nanosleep(&nap, NULL);
}

static void stand_still(int number)
{
	(void)number;
	atomic_fetch_add(&nr_standing, 1);
	while (!atomic_load(&may_go))
		take_a_nap(1000000);
}

/* Bytes of the trace in this folder. */
static long get_trace_size(void)
{
	DIR *folder = opendir(".");
	struct dirent *entry;
	struct stat file;
	long size = 0;

	while (folder && (entry = readdir(folder))) {
		const char *end = strrchr(entry->d_name, '.');

		if (end && strcmp(end, ".vscope") == 0 && stat(entry->d_name, &file) == 0)
			size = (long)file.st_size;
	}
	if (folder)
		closedir(folder);
	return size;
}

/* Goes on until the trace has grown by some blocks; or not, in 30 seconds. */
static bool say_until_trace_grows(void)
{
	long size = get_trace_size();

	for (int i = 0; i < 30000; i++) {
		for (int j = 0; j < 1000; j++)
			say_next();
		if (get_trace_size() > size)
			return true;
		take_a_nap(1000000);
	}
	return false;
}

/* Threads that are stopped wherever they are, maybe in the middle of a record. The others go on,
 * and so does the trace. */
static int stand(void)
{
	pthread_t threads[NR_STANDING];
	bool has_grown;

	pool = vs_pool_create("standstill", 0, 0);
	signal(SIGUSR1, stand_still);
	for (int i = 0; i < NR_STANDING; i++)
		start(&threads[i], say_until_over, NULL);
	await_speakers(NR_STANDING);
	while (atomic_load(&nr_said) < 10000)
		sched_yield();
	for (int i = 0; i < NR_STANDING; i++)
		pthread_kill(threads[i], SIGUSR1);
	while (atomic_load(&nr_standing) < NR_STANDING)
		sched_yield();
	has_grown = say_until_trace_grows();
	atomic_store(&may_go, true);
	atomic_store(&is_over, true);
	for (int i = 0; i < NR_STANDING; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", atomic_load(&nr_said));
	return !has_grown;
}

/* ---- A free that takes its time -------------------------------------------------------------- */

static void *free_slowly(void *argument)
{
	CUdeviceptr *memory = argument;

	cuMemFree_v2(*memory);
	return NULL;
}

static int be_slow(void)
{
	pthread_t thread;
	CUdeviceptr memory;
	bool has_grown;

	pool = vs_pool_create("slow", 0, 0);
	if (cuMemAlloc_v2(&memory, 4096) != CUDA_SUCCESS)
		return 1;
	slow_driver_hold_free();
	start(&thread, free_slowly, &memory);
	while (!slow_driver_is_held())
		sched_yield();
	has_grown = say_until_trace_grows();
	slow_driver_let_go();
	pthread_join(thread, NULL);
	printf("%lu\n", atomic_load(&nr_said));
	return !has_grown;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "short") == 0 && argc == 3)
		return one_after_the_other(strtoul(argv[2], NULL, 10));
	if (strcmp(mode, "late") == 0 && argc == 3)
		return speak_after_the_end(strtoul(argv[2], NULL, 10));
	if (strcmp(mode, "waves") == 0)
		return many_at_once();
	if (strcmp(mode, "stress") == 0 && argc == 4)
		return stress(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (strcmp(mode, "outlive") == 0)
		return outlive();
	if (strcmp(mode, "farewell") == 0)
		return say_farewell();
	if (strcmp(mode, "signals") == 0)
		return interrupt();
	if (strcmp(mode, "standstill") == 0)
		return stand();
	if (strcmp(mode, "slow-free") == 0)
		return be_slow();
	return 2;
}
