/* Says things to the profiler and ends: host_events MODE ... */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <vramscope.h>

static vs_pool pool;

static const void *address(unsigned long thread, unsigned long number)
{
	return (const void *)(uintptr_t)(thread << 32 | number);
}

struct work {
	unsigned long thread;
	unsigned long nr;
};

static void *say_blocks(void *argument)
{
	const struct work *work = argument;

	for (unsigned long i = 1; i <= work->nr; i++)
		vs_pool_alloc(pool, address(work->thread, i), 1);
	return NULL;
}

/* nr blocks by each of nr_threads threads; errno must stay. */
static int blocks(unsigned long nr_threads, unsigned long nr)
{
	struct work work[8];
	pthread_t threads[8];

	errno = 4711;
	pool = vs_pool_create("blocks", 0, 1 << 20);
	for (unsigned long i = 0; i < nr_threads; i++) {
		work[i] = (struct work){.thread = i, .nr = nr};
		pthread_create(&threads[i], NULL, say_blocks, &work[i]);
	}
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	vs_pool_destroy(pool);
	return errno != 4711;
}

/* One of everything. */
static int all(void)
{
	errno = 4711;
	vs_mark("start");
	pool = vs_pool_create("all", -1, 0);
	vs_step(7);
	vs_phase_push("outer");
	vs_phase_push("inner");
	vs_pool_alloc(pool, address(0, 1), 100);
	vs_pool_free(pool, address(0, 1));
	vs_pool_oom(pool, 1000);
	vs_phase_pop();
	vs_phase_pop();
	vs_pool_destroy(pool);
	vs_mark("start");
	printf("%s\n", pool ? "profiled" : "not profiled");
	return errno != 4711;
}

static __attribute__((noinline)) int recurse(unsigned depth)
{
	int result = 0;

	if (depth == 0)
		vs_pool_alloc(pool, address(0, 1), 1);
	else
		result = recurse(depth - 1) + 1;
	__asm__ volatile("" : "+r"(result));
	return result;
}

static void say_block(void)
{
	static unsigned long number;

	vs_pool_alloc(pool, address(0, ++number), 1);
}

/* The same library, then another one, where the first one was. */
static int plugins(const char *a, const char *b)
{
	const char *const paths[] = {a, a, b};

	pool = vs_pool_create("plugins", 0, 0);
	for (int i = 0; i < 3; i++) {
		void *handle = dlopen(paths[i], RTLD_NOW);
		const char *(*call)(void (*)(void));

		if (!handle)
			return 1;
		*(void **)(void *)&call = dlsym(handle, "plugin_call");
		printf("%s %p\n", call(say_block), *(void **)(void *)&call);
		call(say_block);
		dlclose(handle);
	}
	return 0;
}

static sigjmp_buf back;
static volatile sig_atomic_t nr_jumps;

static void jump(int number)
{
	(void)number;
	nr_jumps++;
	siglongjmp(back, 1);
}

/* Leaves the recorder by a jump, wherever it happens to be, again and again. */
static int jumps(void)
{
	static const struct itimerval often = {{0, 100}, {0, 100}}, never;

	pool = vs_pool_create("jumps", -1, 0);
	say_block(); /* there is a trace from here on */
	vs_mark("warm");
	signal(SIGALRM, jump);
	setitimer(ITIMER_REAL, &often, NULL);
	sigsetjmp(back, 1);
	while (nr_jumps < 300)
		vs_mark("many");
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	for (int i = 0; i < 1000; i++)
		vs_step(1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "blocks") == 0 && argc == 4)
		return blocks(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (strcmp(mode, "all") == 0)
		return all();
	if (strcmp(mode, "nothing") == 0)
		return 0;
	if (strcmp(mode, "deep") == 0 && argc == 3) {
		pool = vs_pool_create("deep", 0, 0);
		recurse((unsigned)strtoul(argv[2], NULL, 10));
		return 0;
	}
	if (strcmp(mode, "plugins") == 0 && argc == 4)
		return plugins(argv[2], argv[3]);
	if (strcmp(mode, "jumps") == 0)
		return jumps();
	return 2;
}
