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
EXPORT double stack_probe_time_known(unsigned nr);
EXPORT double stack_probe_time_walk(unsigned nr);
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

/* A stack as the recorder knows it again; else it is learned. */
static void recall_known(struct vs_thread_state *self)
{
	struct vs_unwind_path path;

	if (vs_stack_recall(self, &path) &&
	    vs_stack_memo_find(&self->scratch->stacks, &path, 1) != VS_NO_ID)
		return;
	if (vs_stack_learn(self) && vs_stack_recall(self, &path))
		vs_stack_memo_add(&self->scratch->stacks, &path, 1, 7);
}

static void walk_anew(struct vs_thread_state *self)
{
	struct vs_stack stack;

	vs_stack_capture(self, &stack);
}

/* Nanoseconds of one from this frame, the best of 20 times nr of them. */
static double time_ours(unsigned nr, const void *frame, void (*capture)(struct vs_thread_state *))
{
	struct vs_thread_state *self = vs_thread_self();
	double best = 1e18;

	if (!vs_thread_prepare(self))
		return 0;
	self->base.frame = frame;
	for (int i = 0; i < 20; i++) {
		double start = now_ns(), ns;

		for (unsigned k = 0; k < nr; k++)
			capture(self);
		ns = (now_ns() - start) / nr;
		best = ns < best ? ns : best;
	}
	return best;
}

double stack_probe_time_known(unsigned nr)
{
	double ns = time_ours(nr, __builtin_frame_address(0), recall_known);

	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is needed meanwhile */
	return ns;
}

double stack_probe_time_walk(unsigned nr)
{
	double ns = time_ours(nr, __builtin_frame_address(0), walk_anew);

	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is needed meanwhile */
	return ns;
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
