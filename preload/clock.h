#ifndef VS_CLOCK_H
#define VS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "live_format.h"

/*
 * Time. Ticks are what events are stamped and ordered with: the processor's time stamp counter
 * where it is fit for that (it never stops or changes pace, and the kernel itself trusts it), else
 * nanoseconds of CLOCK_MONOTONIC. Any thread.
 */
extern bool vs_clock_is_tsc;

/* Decides which it is. Once, before the first ticks. Opens files; keeps errno. */
void vs_clock_init(void);

#if defined(__x86_64__)
/*
 * Fenced: not read before what came before it is done. An allocation must not be stamped before the
 * lock was taken under which the memory was got, nor a free before the pointer was: while that load
 * waits for another processor, this one goes on, and would read the clock before the other one has
 * stamped the allocation. (That the clock is read before memory is released would need no fence:
 * the record is stored before, and stores become visible in order.) Without it, 1 free in 145,000
 * that another thread had just allocated was stamped too early; rdtscp takes as long.
 */
static inline uint64_t vs_clock_read_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}
#else
static inline uint64_t vs_clock_read_tsc(void)
{
	return 0;
}
#endif

/* Nanoseconds of CLOCK_MONOTONIC and, since 1970, of CLOCK_REALTIME. */
static inline uint64_t vs_clock_read(clockid_t clock)
{
	struct timespec now;

	/* Cannot fail for these clocks, and mostly is no system call. */
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t vs_clock_now_ns(void)
{
	return vs_clock_read(CLOCK_MONOTONIC);
}

static inline uint64_t vs_clock_wall_ns(void)
{
	return vs_clock_read(CLOCK_REALTIME);
}

/* Always: where it is rarely called from, the compiler would make it a function for all. */
static inline __attribute__((always_inline)) uint64_t vs_clock_ticks(void)
{
	return __builtin_expect(vs_clock_is_tsc, 1) ? vs_clock_read_tsc() : vs_clock_now_ns();
}

/* One instant on all clocks. Cheap, and good before vs_clock_init(). */
struct vs_clock_instant {
	uint64_t tsc;
	uint64_t ns;
};

/* Both clocks, as quickly as may be: for times before it is decided which one counts. */
static inline struct vs_clock_instant vs_clock_peek(void)
{
	struct vs_clock_instant instant;

	instant.tsc = vs_clock_read_tsc();
	instant.ns = vs_clock_now_ns();
	return instant;
}

/* Ticks of an instant, once that is decided. */
static inline uint64_t vs_clock_instant_ticks(const struct vs_clock_instant *instant)
{
	return vs_clock_is_tsc ? instant->tsc : instant->ns;
}

void vs_clock_get_instant(struct vs_clock_instant *instant);

/* The same as the log has it: in ticks, and nanoseconds since `start`. After vs_clock_init(). */
struct vs_live_anchor vs_clock_anchor(const struct vs_clock_instant *instant,
				      const struct vs_clock_instant *start);

/* What INFO calls it. */
const char *vs_clock_name(void);

#endif
