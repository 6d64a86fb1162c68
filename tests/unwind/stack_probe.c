/*
 * A library for other programs, Python above all: lets them be compared (stack_referee.h) and timed
 * in the middle of what they do.
 */
#include <stdint.h>
#include <time.h>

#include "private_library.h"
#include "stack.h"
#include "stack_referee.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int stack_probe_init(void);
EXPORT void stack_probe_check(void);
EXPORT uint64_t stack_probe_get_captures(void);
EXPORT uint64_t stack_probe_get_frames(void);
EXPORT uint64_t stack_probe_get_by_rules(void);
EXPORT uint64_t stack_probe_get_recalls(void);
EXPORT uint64_t stack_probe_get_different(void);
EXPORT double stack_probe_time_ours(unsigned nr);
EXPORT double stack_probe_time_libunwind(unsigned nr);

/* 0: ready. */
int stack_probe_init(void)
{
	return stack_referee_init() ? 0 : 1;
}

/* Not by a tail call: the caller's frame is to be the program's. */
void stack_probe_check(void)
{
	stack_referee_check();
	__asm__ volatile("");
}

uint64_t stack_probe_get_captures(void)
{
	return stack_referee.nr_captures;
}

uint64_t stack_probe_get_frames(void)
{
	return stack_referee.nr_frames;
}

uint64_t stack_probe_get_by_rules(void)
{
	return stack_referee.nr_by_rules;
}

uint64_t stack_probe_get_recalls(void)
{
	return stack_referee.nr_recalls;
}

uint64_t stack_probe_get_different(void)
{
	return stack_referee.nr_different;
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds for a capture from here, the best of 20 times nr of them. */
double stack_probe_time_ours(unsigned nr)
{
	struct vs_thread_state *self = vs_thread_self();
	double best = 1e18;
	struct vs_stack stack;

	if (!vs_thread_prepare(self))
		return 0;
	self->base.frame = __builtin_frame_address(0);
	for (int i = 0; i < 20; i++) {
		double start = now_ns(), ns;

		for (unsigned k = 0; k < nr; k++)
			vs_stack_capture(self, &stack);
		ns = (now_ns() - start) / nr;
		best = ns < best ? ns : best;
	}
	return best;
}

double stack_probe_time_libunwind(unsigned nr)
{
	const struct vs_private_library_unwind *unwind = vs_private_library_unwind();
	void *frames[VS_STACK_MAX];
	double best = 1e18;

	for (int i = 0; i < 20; i++) {
		double start = now_ns(), ns;

		for (unsigned k = 0; k < nr; k++)
			unwind->backtrace(frames, VS_STACK_MAX);
		ns = (now_ns() - start) / nr;
		best = ns < best ? ns : best;
	}
	return best;
}
