#include "clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	/* Cannot fail for these clocks, and mostly is no system call. */
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t vs_clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t vs_clock_wall_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

const char *vs_clock_name(void)
{
	return "monotonic";
}
