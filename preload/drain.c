#include "drain.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "exit_help.h"
#include "futex.h"
#include "memory_info.h"
#include "own_thread.h"
#include "thread.h"

#define TICK_MS 50

#define NR_TICKS_DESERTED 20

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

enum state {
	STATE_NONE,
	STATE_RUNNING,
	STATE_STOPPING,
	STATE_PARKING,
	STATE_STOPPED,
};

static _Atomic uint32_t state;
static _Atomic uint32_t bell; /* 1: rung, not yet heard */

/*
 * An empty table of files for this thread alone. One call, so that at no time a copy of the
 * program's descriptors exists: a pipe that the program closes must be closed.
 */
static bool take_own_files(void)
{
#ifdef SYS_close_range
	return syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0;
#else
	return false;
#endif
}

/*
 * Works until told to end. Once in a while it sees whether it is the only thread left, which
 * happens when the first one is cancelled: nobody else could end the process then.
 */
static void work(void)
{
	unsigned nr_ticks = 0;
	bool is_good = true;

	while (atomic_load_explicit(&state, memory_order_acquire) == STATE_RUNNING) {
		if (is_good) {
			vs_futex_wait(&bell, 0, TICK_MS);
			atomic_store_explicit(&bell, 0, memory_order_relaxed);
			is_good = vs_session_take();
		} else {
			/* Nothing to be done any more: the bell stays rung and nobody rings. */
			atomic_store_explicit(&bell, 1, memory_order_relaxed);
			vs_futex_wait(&state, STATE_RUNNING, TICK_MS);
		}
		vs_memory_info_pass_on();
		if (++nr_ticks % NR_TICKS_DESERTED == 0 && vs_session_is_deserted()) {
			vs_session_finish();
			syscall(SYS_exit_group, 0);
		}
	}
}

static void *run(void *unused)
{
	uint32_t stopped = STATE_STOPPED;

	(void)unused;
	vs_thread_self()->base.is_inside = true; /* nothing that happens here is an event */
	prctl(PR_SET_NAME, "vramscope");
	/* If it fails, the log keeps what fits, and the end is still waited for. */
	(void)vs_session_attach(take_own_files());
	work();
	if (atomic_load_explicit(&state, memory_order_acquire) == STATE_STOPPING) {
		vs_session_finish();
		vs_exit_help_end();
	} else {
		vs_session_park();
		stopped = STATE_NONE;
	}
	atomic_store_explicit(&state, stopped, memory_order_release);
	vs_futex_wake_all(&state);
	return NULL;
}

int vs_drain_start(void)
{
	int err;

	atomic_store_explicit(&state, STATE_RUNNING, memory_order_release);
	err = vs_own_thread_create(run);
	if (err)
		atomic_store_explicit(&state, STATE_NONE, memory_order_release);
	return err;
}

void vs_drain_wake(void)
{
	int saved = errno;

	if (atomic_load_explicit(&bell, memory_order_relaxed) ||
	    atomic_exchange_explicit(&bell, 1, memory_order_relaxed))
		return;
	vs_futex_wake_all(&bell);
	errno = saved;
}

static void end_thread(uint32_t how)
{
	uint64_t end_ns = vs_clock_now_ns() + UINT64_C(1000000) * VS_DRAIN_STOP_MS;
	uint32_t expected = STATE_RUNNING;

	if (!atomic_compare_exchange_strong_explicit(&state, &expected, how, memory_order_release,
						     memory_order_relaxed))
		return;
	vs_futex_wake_all(&state);
	vs_drain_wake();
	if (how == STATE_STOPPING)
		vs_exit_help_serve(VS_DRAIN_STOP_MS);
	while (atomic_load_explicit(&state, memory_order_acquire) == how &&
	       vs_clock_now_ns() < end_ns)
		vs_futex_wait(&state, how, 100);
}

void vs_drain_stop(void)
{
	end_thread(STATE_STOPPING);
}

void vs_drain_park(void)
{
	end_thread(STATE_PARKING);
}

bool vs_drain_is_running(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) != STATE_NONE;
}

void vs_drain_forget(void)
{
	atomic_store_explicit(&state, STATE_NONE, memory_order_relaxed);
	atomic_store_explicit(&bell, 0, memory_order_relaxed);
	vs_exit_help_forget();
}
