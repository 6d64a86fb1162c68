/* Forks, becomes something else, or ends in some way: host_process MODE ... */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vramscope.h>

static vs_pool pool;
static atomic_bool is_over;

static const void *address(unsigned long thread, unsigned long number)
{
	return (const void *)(uintptr_t)(thread << 32 | number);
}

static void say_blocks(unsigned long thread, unsigned long nr)
{
	for (unsigned long i = 1; i <= nr; i++)
		vs_pool_alloc(pool, address(thread, i), 1);
}

#define NR_THREADS 8

static unsigned long counts[NR_THREADS];

static void *say_until_over(void *argument)
{
	unsigned long thread = (unsigned long)(uintptr_t)argument;

	while (!is_over && counts[thread] < 60000)
		vs_pool_alloc(pool, address(thread, ++counts[thread]), 1);
	return NULL;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* What the children call themselves. */
#define CHILD 9

static void be_child(unsigned long i, bool may_exit)
{
	if (i > 0)
		say_blocks(CHILD, 100 + i);
	if (i % 2 && may_exit)
		exit(0);
	_exit(0);
}

static void print_counts(void)
{
	for (int i = 0; i < NR_THREADS; i++)
		printf("%lu ", counts[i]);
}

/* Children while other threads record: five say blocks, one says nothing. Some end by exit(), if
 * they may. */
static int forks(pid_t (*make_child)(void), bool may_exit)
{
	pthread_t threads[NR_THREADS];
	int bad = 0;

	pool = vs_pool_create("forks", 0, 0);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, say_until_over, (void *)i);
	for (unsigned long i = 0; i < 6; i++) {
		pid_t pid = make_child();

		if (pid == 0)
			be_child(i, may_exit);
		bad |= wait_for(pid);
	}
	is_over = true;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	print_counts();
	return bad;
}

/* A child that goes on in the loop that its parent is in: from the same stack, word by word. */
static int forks_in_loop(void)
{
	volatile pid_t pid = -1;

	pool = vs_pool_create("forks", 0, 0);
	for (volatile int round = 0; round < 4; round++) {
		if (round == 3)
			pid = fork();
		say_blocks(pid == 0 ? CHILD : 0, 100);
	}
	return pid > 0 ? wait_for(pid) : 0;
}

/*
 * Children that have all memory in common with their parent, which waits for them: what they say is
 * the parent's. The last one becomes another program.
 */
static int vforks(bool is_first_event, const char *self)
{
	volatile unsigned long number = 0;
	volatile int bad = 0;

	if (!is_first_event)
		pool = vs_pool_create("vforks", 0, 0);
	for (volatile int i = 0; i < 6; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			if (i == 5)
				execl("/proc/self/exe", self, "ends", "exit", "10", NULL);
			if (is_first_event)
				vs_step(1);
			else
				vs_pool_alloc(pool, address(CHILD, ++number), 1);
			_exit(0);
		}
		if (i < 5)
			bad |= wait_for(pid);
		else
			waitpid(pid, NULL, 0);
	}
	if (is_first_event)
		pool = vs_pool_create("vforks", 0, 0);
	say_blocks(0, 1000);
	return bad;
}

/* Becomes itself nr times, saying blocks each time. */
static int execs(char **argv, unsigned long nr)
{
	char count[24];
	char *args[] = {argv[0], argv[1], count, NULL};

	pool = vs_pool_create("execs", 0, 0);
	say_blocks(0, 10 + nr);
	if (nr == 0)
		return 0;
	snprintf(count, sizeof(count), "%lu", nr - 1);
	execv("/proc/self/exe", args);
	return 1;
}

static int ends(const char *how, unsigned long nr)
{
	pool = vs_pool_create("ends", 0, 0);
	say_blocks(0, nr);
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(3);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "thread") == 0)
		pthread_exit(NULL);
	exit(3);
}

/* What was certainly said, in a file the test looks at afterwards. */
struct oracle {
	_Atomic uint32_t nr_done[NR_THREADS];
	_Atomic uint32_t is_ready; /* the next thing is the first event */
};

static struct oracle *oracle;
static unsigned long end_at;
static const char *end_how;

static void end_suddenly(void)
{
	if (strcmp(end_how, "kill") == 0)
		kill(getpid(), SIGKILL);
	else if (strcmp(end_how, "abort") == 0)
		abort();
	else if (strcmp(end_how, "segv") == 0)
		raise(SIGSEGV);
	else if (strcmp(end_how, "exec") == 0)
		execl("/proc/self/exe", "host_process", "ends", "exit", "10", NULL);
	else
		_exit(3);
}

static void *say_until_ended(void *argument)
{
	unsigned long thread = (unsigned long)(uintptr_t)argument;

	for (uint32_t i = 1; i < 60000; i++) {
		vs_pool_alloc(pool, address(thread, i), 1);
		atomic_store(&oracle->nr_done[thread], i);
		if (thread == 0 && i == end_at)
			end_suddenly();
	}
	for (;;)
		pause();
	return NULL;
}

/* Threads say blocks until the first of them has said so many; or until somebody ends it all. */
static int end_all(const char *how, unsigned long when, unsigned long nr_threads)
{
	pthread_t threads[NR_THREADS];

	end_how = how;
	end_at = when;
	oracle = mmap(NULL, sizeof(*oracle), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (oracle == MAP_FAILED || nr_threads > NR_THREADS)
		return 1;
	atomic_store(&oracle->is_ready, 1);
	pool = vs_pool_create("killed", 0, 0);
	for (uintptr_t i = 1; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, say_until_ended, (void *)i);
	say_until_ended(NULL);
	return 1;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	static const struct rlimit no_core;

	setrlimit(RLIMIT_CORE, &no_core);
	if (strcmp(mode, "forks") == 0)
		return forks(fork, true);
	if (strcmp(mode, "forks-without-exit") == 0)
		return forks(fork, false);
	if (strcmp(mode, "clones") == 0)
		return forks(raw_fork, true);
	if (strcmp(mode, "forks-in-loop") == 0)
		return forks_in_loop();
	if (strcmp(mode, "vforks") == 0)
		return vforks(argc == 3, argv[0]);
	if (strcmp(mode, "execs") == 0 && argc == 3)
		return execs(argv, strtoul(argv[2], NULL, 10));
	if (strcmp(mode, "ends") == 0 && argc == 4)
		return ends(argv[2], strtoul(argv[3], NULL, 10));
	if (strcmp(mode, "end-all") == 0 && argc == 5)
		return end_all(argv[2], strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	return 2;
}
