#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

#include "hot.h"
#endif

#define SOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* How often an instant is tried again because something came between its two readings. */
#define NR_TRIES 5

VS_HOT_DATA bool vs_clock_is_tsc;

#if defined(__x86_64__)
/* CPUID 0x80000007, bit 8 of EDX: runs at one pace in all states of the processor. */
static bool is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}

/* The kernel watches its clock source, and takes another one when processors disagree. */
static bool is_kernels_choice(void)
{
	char text[8] = "";
	ssize_t size;
	int fd = open(SOURCE_FILE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	return size == 4 && memcmp(text, "tsc\n", 4) == 0;
}
#else
static bool is_invariant(void)
{
	return false;
}

static bool is_kernels_choice(void)
{
	return false;
}
#endif

void vs_clock_init(void)
{
	int saved = errno;

	vs_clock_is_tsc = is_invariant() && is_kernels_choice();
	errno = saved;
}

void vs_clock_get_instant(struct vs_clock_instant *instant)
{
	uint64_t best = UINT64_MAX;

	/* The pair between whose readings the least time passed. */
	for (int i = 0; i < NR_TRIES; i++) {
		uint64_t before = vs_clock_read_tsc();
		uint64_t ns = vs_clock_now_ns();
		uint64_t after = vs_clock_read_tsc();

		if (after - before < best) {
			best = after - before;
			instant->tsc = before + (after - before) / 2;
			instant->ns = ns;
		}
	}
}

struct vs_live_anchor vs_clock_anchor(const struct vs_clock_instant *instant,
				      const struct vs_clock_instant *start)
{
	return (struct vs_live_anchor){
		.ticks = vs_clock_is_tsc ? instant->tsc : instant->ns,
		.ns = instant->ns - start->ns,
	};
}

const char *vs_clock_name(void)
{
	return vs_clock_is_tsc ? "tsc" : "monotonic";
}
