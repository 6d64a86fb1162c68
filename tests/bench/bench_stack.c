/*
 * What a stack costs, by our unwinder and by others, in the same run: the machine may be slow
 * today, the ratio is not. Prints tables; decides nothing.
 */
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench_stack_levels.h"
#include "private_library.h"
#include "stack.h"

#define LENGTH(array)  (sizeof(array) / sizeof((array)[0]))
#define NR_FRAMES      256
#define NR_REPETITIONS 25
#define REGISTER_IP    16 /* in libunwind, x86-64 */

static const struct vs_private_library_unwind *unwind;
static uint64_t frames[NR_FRAMES];
static _Alignas(16) unsigned char context[VS_PRIVATE_LIBRARY_CONTEXT_SIZE];
static _Alignas(16) unsigned char cursor[VS_PRIVATE_LIBRARY_CURSOR_SIZE];

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ---- Ways to walk; each returns how many frames it found --------------------------------------
 */

/* As simple as it can be: it trusts every frame pointer up to where the levels began. */
static const uintptr_t *outermost;

static __attribute__((noinline)) int walk_frame_pointers(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	int nr = 0;

	while (nr < NR_FRAMES) {
		const uintptr_t *next = (const uintptr_t *)frame[0];

		frames[nr++] = frame[1];
		if (next <= frame || next > outermost)
			break;
		frame = next;
	}
	return nr;
}

static __attribute__((noinline)) int walk_ours(void)
{
	struct vs_thread_state *self = vs_thread_self();
	struct vs_stack stack;

	self->base.frame = __builtin_frame_address(0);
	vs_stack_capture(self, &stack);
	return (int)stack.nr_frames;
}

#define ERA 1

/* As the recorder gets to know a stack. */
static __attribute__((noinline)) int meet(struct vs_thread_state *self)
{
	struct vs_stack_memo *memo = &self->scratch->stacks;
	struct vs_unwind_echo *echo;
	struct vs_unwind_path path;
	struct vs_stack stack;
	uint32_t number = VS_NO_ID;

	if (vs_stack_recall(self, &path))
		number = vs_stack_memo_find(memo, &path, ERA);
	if (number != VS_NO_ID) {
		echo = vs_stack_confirm(self, &path);
		if (echo) {
			echo->number = number;
			echo->era = ERA;
		}
		return (int)number;
	}
	vs_stack_capture(self, &stack);
	if (vs_stack_learn(self) && vs_stack_recall(self, &path))
		vs_stack_memo_add(memo, &path, ERA, stack.nr_frames);
	return (int)stack.nr_frames;
}

/* A stack that was recorded before, as the recorder knows it again: its number is all it takes. */
static __attribute__((noinline)) int walk_known(void)
{
	struct vs_thread_state *self = vs_thread_self();
	const struct vs_unwind_echo *echo;

	self->base.frame = __builtin_frame_address(0);
	echo = vs_stack_hear(self);
	return echo && echo->era == ERA ? (int)echo->number : meet(self);
}

static __attribute__((noinline)) int walk_unw_backtrace(void)
{
	return unwind->backtrace((void **)(void *)frames, NR_FRAMES);
}

static __attribute__((noinline)) int walk_glibc(void)
{
	return backtrace((void **)(void *)frames, NR_FRAMES);
}

static __attribute__((noinline)) int walk_unw_step(void)
{
	unsigned long address;
	int nr = 0;

	if (unwind->get_context(context) < 0 || unwind->init_local(cursor, context) < 0)
		return 0;
	while (nr < NR_FRAMES && unwind->step(cursor) > 0 &&
	       unwind->get_register(cursor, REGISTER_IP, &address) == 0)
		frames[nr++] = address;
	return nr;
}

struct way {
	const char *name;
	int (*walk)(void);
	void (*levels)(unsigned depth, void (*leaf)(void *argument), void *argument);
	unsigned nr_calls; /* in one measurement */
};

static const struct way ways[] = {
	{"frame pointers", walk_frame_pointers, vs_bench_stack_levels_with, 4000},
	{"vs_stack_hear", walk_known, vs_bench_stack_levels_without, 4000},
	{"vs_stack_capture", walk_ours, vs_bench_stack_levels_without, 4000},
	{"unw_backtrace", walk_unw_backtrace, vs_bench_stack_levels_without, 2000},
	{"glibc backtrace", walk_glibc, vs_bench_stack_levels_without, 100},
	{"unw_step", walk_unw_step, vs_bench_stack_levels_without, 50},
};

static const unsigned depths[] = {5, 20, 60};

/* ---- Measuring ------------------------------------------------------------------------------- */

struct measurement {
	const struct way *way;
	double best_ns;
	int nr_frames;
};

/* The best of many: whatever else the machine does only ever makes it slower. */
static void measure(void *argument)
{
	struct measurement *result = argument;

	result->best_ns = 1e18;
	for (unsigned i = 0; i < NR_REPETITIONS; i++) {
		double start = now_ns(), ns;

		for (unsigned k = 0; k < result->way->nr_calls; k++)
			result->nr_frames = result->way->walk();
		ns = (now_ns() - start) / result->way->nr_calls;
		if (ns < result->best_ns)
			result->best_ns = ns;
	}
}

static void print_depth(unsigned depth)
{
	double base = 0;

	printf("\n%u functions deep       frames        ns   ratio\n", depth);
	for (unsigned i = 0; i < LENGTH(ways); i++) {
		struct measurement result = {.way = &ways[i]};

		if (ways[i].walk == walk_unw_backtrace && !unwind)
			continue;
		if (ways[i].walk == walk_unw_step && (!unwind || !unwind->get_context))
			continue;
		ways[i].levels(depth, measure, &result);
		if (i == 0)
			base = result.best_ns;
		printf("%-20s %8d  %8.0f  %6.2f\n", ways[i].name, result.nr_frames, result.best_ns,
		       result.best_ns / base);
	}
}

/* In a program that is not ours, and has no frame pointers. */
static void print_python(void)
{
#ifdef BENCH_PYTHON
	fflush(stdout);
	if (system(BENCH_PYTHON) != 0)
		printf("\nnot measured in Python: it could not be run\n");
#endif
}

int main(void)
{
	vs_thread_init();
	vs_private_library_open(true);
	unwind = vs_private_library_unwind();
	vs_stack_init(0, 0, VS_STACK_MAX);
	if (!vs_thread_prepare(vs_thread_self()))
		return 1;
	outermost = __builtin_frame_address(0);
	for (unsigned i = 0; i < LENGTH(depths); i++)
		print_depth(depths[i]);
	print_python();
	return 0;
}
