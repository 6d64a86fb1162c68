#ifndef VS_CLOCK_H
#define VS_CLOCK_H

#include <stdint.h>

/* The clock of all events, in nanoseconds; never goes back. Any thread, keeps errno. */
uint64_t vs_clock_now_ns(void);

/* Wall-clock time of day in nanoseconds since 1970. Any thread. */
uint64_t vs_clock_wall_ns(void);

/* What vs_clock_now_ns() reads, for the INFO block. */
const char *vs_clock_name(void);

#endif
