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

static void *say_until_over(void *count)
{
	unsigned long *nr = count;

	while (!is_over && *nr < 60000)
		vs_pool_alloc(pool, address(1, ++*nr), 1);
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

/* Children while another thread records: five say blocks, one says nothing. */
static int forks(pid_t (*make_child)(void))
{
	unsigned long nr = 0;
	pthread_t thread;
	int bad = 0;

	pool = vs_pool_create("forks", 0, 0);
	pthread_create(&thread, NULL, say_until_over, &nr);
	for (unsigned long i = 0; i < 6; i++) {
		pid_t pid = make_child();

		if (pid == 0) {
			if (i > 0)
				say_blocks(2, 100 + i);
			if (i % 2)
				exit(0);
			_exit(0);
		}
		bad |= wait_for(pid);
	}
	is_over = true;
	pthread_join(thread, NULL);
	printf("%lu\n", nr);
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
	_Atomic uint32_t nr_done[4];
};

static struct oracle *oracle;
static unsigned long kill_at;

static void *say_until_killed(void *argument)
{
	unsigned long thread = (unsigned long)(uintptr_t)argument;

	for (uint32_t i = 1; i < 60000; i++) {
		vs_pool_alloc(pool, address(thread, i), 1);
		atomic_store(&oracle->nr_done[thread], i);
		if (thread == 0 && i == kill_at)
			kill(getpid(), SIGKILL);
	}
	return NULL;
}

static int killed(unsigned long when)
{
	pthread_t threads[3];

	kill_at = when;
	oracle = mmap(NULL, sizeof(*oracle), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (oracle == MAP_FAILED)
		return 1;
	pool = vs_pool_create("killed", 0, 0);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, say_until_killed, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 1;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	static const struct rlimit no_core;

	setrlimit(RLIMIT_CORE, &no_core);
	if (strcmp(mode, "forks") == 0)
		return forks(fork);
	if (strcmp(mode, "clones") == 0)
		return forks(raw_fork);
	if (strcmp(mode, "execs") == 0 && argc == 3)
		return execs(argv, strtoul(argv[2], NULL, 10));
	if (strcmp(mode, "ends") == 0 && argc == 4)
		return ends(argv[2], strtoul(argv[3], NULL, 10));
	if (strcmp(mode, "killed") == 0 && argc == 3)
		return killed(strtoul(argv[2], NULL, 10));
	return 2;
}
