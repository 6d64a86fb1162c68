/*
 * Says what a program says over and over, until all of it has been seen; and then goes on in a
 * thread that may not make a system call, allocate, or take a lock. The lock of the loader, through
 * which code is found by its addresses, is held by somebody else meanwhile.
 *
 * Ends by SIGSYS after a system call, by SIGILL after an allocation or a lock.
 */
#include <dlfcn.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <vramscope.h>

#include "slow_driver.h"

#define NR_WARM   20
#define NR_ROUNDS 2000
#define MAX_DEPTH 12

#define EXPORT __attribute__((visibility("default")))

static _Thread_local bool is_strict __attribute__((tls_model("initial-exec")));

static void expect_lenience(void)
{
	if (is_strict)
		__builtin_trap();
}

/* ---- Everybody's allocator and locks --------------------------------------------------------- */

/* What libc itself calls them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

/* Those have no names of their own: whoever comes next has them. */
#define NEXT(function)                                                         \
	__extension__({                                                        \
		static __typeof__(&function) next;                             \
                                                                               \
		if (!next)                                                     \
			*(void **)(void *)&next = dlsym(RTLD_NEXT, #function); \
		next;                                                          \
	})

EXPORT void *malloc(size_t size)
{
	expect_lenience();
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t nr, size_t size)
{
	expect_lenience();
	return __libc_calloc(nr, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
	expect_lenience();
	return __libc_realloc(memory, size);
}

EXPORT void free(void *memory)
{
	expect_lenience();
	__libc_free(memory);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	expect_lenience();
	return NEXT(pthread_mutex_lock)(mutex);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	expect_lenience();
	return NEXT(pthread_rwlock_rdlock)(lock);
}

EXPORT int pthread_once(pthread_once_t *control, void (*init)(void))
{
	expect_lenience();
	return NEXT(pthread_once)(control, init);
}

/* ---- The loader's ---------------------------------------------------------------------------- */

static atomic_bool is_warm, is_held, is_done;

static void take_a_nap(void)
{
	static const struct timespec nap = {0, 1000000};

	nanosleep(&nap, NULL);
}

static int hold(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info;
	(void)size;
	(void)argument;
	atomic_store(&is_held, true);
	while (!atomic_load(&is_done))
		take_a_nap();
	return 1;
}

static void *hold_loader(void *argument)
{
	while (!atomic_load(&is_warm)) /* before, it is needed */
		take_a_nap();
	dl_iterate_phdr(hold, argument);
	return argument;
}

/* ---- What is said ---------------------------------------------------------------------------- */

static vs_pool pool;

static void say_everything(unsigned long i)
{
	const void *address = (const void *)(uintptr_t)(i << 12);
	CUdeviceptr memory;

	vs_step(i);
	vs_phase_push("forward");
	vs_pool_alloc(pool, address, i * 100);
	if (cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS)
		cuMemFree_v2(memory);
	vs_pool_oom(pool, i);
	vs_pool_free(pool, address);
	vs_mark("here");
	vs_phase_pop();
}

/* From stacks of several depths. */
static __attribute__((noinline)) int say_from_below(unsigned depth, unsigned long i)
{
	volatile int level = 0;

	if (depth == 0)
		say_everything(i);
	else
		level = say_from_below(depth - 1, i) + 1;
	return level;
}

static void become_strict(void)
{
	struct sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	struct sock_fprog program = {.len = 1, .filter = &kill};

	atomic_store(&is_warm, true);
	while (!atomic_load(&is_held))
		take_a_nap();
	is_strict = true;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(3);
}

static const char *fault = "";

/* What the test must notice: run with the name of a fault. */
static void commit_fault(void)
{
	void *(*volatile allocate)(size_t size) = malloc; /* or it is left out */

	if (strcmp(fault, "malloc") == 0)
		free(allocate(1));
	else if (strcmp(fault, "lock") == 0)
		pthread_mutex_lock(&(pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER);
	else if (strcmp(fault, "call") == 0)
		getppid();
}

static void *live(void *argument)
{
	for (unsigned long i = 1; i <= NR_ROUNDS; i++) {
		if (i == NR_WARM * MAX_DEPTH)
			become_strict();
		say_from_below((unsigned)(i % MAX_DEPTH), i);
	}
	commit_fault();
	atomic_store(&is_done, true);
	for (;;)
		; /* it could not even end */
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t holder, thread;

	if (argc > 1)
		fault = argv[1];
	pool = vs_pool_create("hot", 0, 0);
	if (pthread_create(&thread, NULL, live, NULL) != 0 ||
	    pthread_create(&holder, NULL, hold_loader, NULL) != 0)
		return 1;
	while (!atomic_load(&is_done))
		take_a_nap();
	pthread_join(holder, NULL);
	puts("done");
	return 0;
}
