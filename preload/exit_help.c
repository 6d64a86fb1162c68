#include "exit_help.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"

/* What work may need of the stack, several times over. */
#define STACK_NEED (256u << 10)

/* The first thread's stack begins here: glibc's own name for it. */
extern void *__libc_stack_end;

enum state {
	STATE_NOBODY,
	STATE_READY, /* somebody waits for work */
	STATE_GIVEN, /* and has some: job is its own until it is ready again */
	STATE_OVER,  /* nobody is to come any more */
};

static _Atomic uint32_t state;

static struct {
	void (*work)(void *what);
	void *what;
} job;

bool vs_exit_help_is_there(void)
{
	uint32_t now = atomic_load_explicit(&state, memory_order_relaxed);

	return now == STATE_READY || now == STATE_GIVEN;
}

bool vs_exit_help_give(void (*work)(void *what), void *what)
{
	uint32_t expected = STATE_READY;

	/* Only the drain looks at the job while nobody has one. */
	if (atomic_load_explicit(&state, memory_order_acquire) != expected)
		return false;
	job.work = work;
	job.what = what;
	if (!atomic_compare_exchange_strong_explicit(&state, &expected, STATE_GIVEN,
						     memory_order_release, memory_order_relaxed))
		return false;
	vs_futex_wake_all(&state);
	return true;
}

void vs_exit_help_await(void)
{
	while (atomic_load_explicit(&state, memory_order_acquire) == STATE_GIVEN)
		vs_futex_wait(&state, STATE_GIVEN, 100);
}

void vs_exit_help_end(void)
{
	vs_exit_help_await();
	if (atomic_exchange_explicit(&state, STATE_OVER, memory_order_relaxed) != STATE_NOBODY)
		vs_futex_wake_all(&state);
}

/* ---- Who serves ------------------------------------------------------------------------------ */

/*
 * On the stack that the kernel made for the first thread, with room left. Any other may be of the
 * program's own making, and as small as it likes: of another thread, a coroutine, a handler.
 */
static bool has_stack(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t top = (uintptr_t)__libc_stack_end;
	struct rlimit limit;

	if (syscall(SYS_gettid) != getpid() || here > top || getrlimit(RLIMIT_STACK, &limit) < 0)
		return false;
	/* The kernel takes care that no other memory is so near below the top. */
	return top - here < STACK_NEED && limit.rlim_cur >= 4 * STACK_NEED;
}

/*
 * The drain waits for it: no handler of the program's may keep it, or leave it by a jump, and
 * nobody may cancel it. What it does to itself comes through.
 */
static void do_work(void)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t set, old;
	int cancel;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	job.work(job.what);
	atomic_store_explicit(&state, STATE_READY, memory_order_release);
	vs_futex_wake_all(&state);
	pthread_setcancelstate(cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void vs_exit_help_serve(unsigned ms)
{
	uint64_t end_ns = vs_clock_now_ns() + UINT64_C(1000000) * ms;
	uint32_t now = STATE_NOBODY;

	if (!has_stack() ||
	    !atomic_compare_exchange_strong_explicit(&state, &now, STATE_READY,
						     memory_order_release, memory_order_relaxed))
		return;
	for (;;) {
		now = atomic_load_explicit(&state, memory_order_acquire);
		if (now == STATE_OVER)
			return;
		if (now == STATE_GIVEN)
			do_work();
		else if (vs_clock_now_ns() < end_ns)
			vs_futex_wait(&state, STATE_READY, 100);
		else if (atomic_compare_exchange_strong(&state, &now, STATE_NOBODY))
			return;
	}
}

void vs_exit_help_forget(void)
{
	atomic_store_explicit(&state, STATE_NOBODY, memory_order_relaxed);
}
