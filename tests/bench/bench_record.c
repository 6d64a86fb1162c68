/*
 * What a hook adds to a call, beside what reading the time stamp counter twice takes. Under
 * `vramscope run --no-stacks`, and without it as a check that the answer is nothing then.
 *
 * The driver's functions are called by their names (the hooks are in front) and by themselves, in
 * turns. Prints medians in nanoseconds, by event and by two reads.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

#include "null_driver.h"
#include "process_watch.h"

#define NR_ROUNDS  400
#define NR_PAIRS   300    /* of a round: as much as fits into a thread's ring many times */
#define NR_WARM    50     /* pairs before them: it has slept */
#define NR_STEADY  200000 /* pairs without a pause */
#define PAUSE_MS   3
#define BLOCK_SIZE 4096

enum what {
	HOOKED,
	DIRECT,
	READS,
	FENCED_READS,
	NR_WHATS
};

static const char *const names[NR_WHATS] = {"hooked", "direct", "reads", "fenced_reads"};
static double times[NR_WHATS][NR_ROUNDS];
static struct vs_null_driver_calls hooked, direct;
static volatile uint64_t sink;

static void make_pairs(const struct vs_null_driver_calls *calls, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		CUdeviceptr address = 0;

		if (calls->alloc(&address, BLOCK_SIZE) != CUDA_SUCCESS ||
		    calls->free(address) != CUDA_SUCCESS)
			exit(1);
	}
}

static uint64_t read_fenced(void)
{
	_mm_lfence();
	return __rdtsc();
}

/* Two for each event, two events for each pair. */
static void read_counter(bool is_fenced, unsigned nr)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2 * nr; i++)
		sum += is_fenced ? read_fenced() - read_fenced() : __rdtsc() - __rdtsc();
	sink = sum;
}

static void work(enum what what, unsigned nr)
{
	switch (what) {
	case HOOKED:
		make_pairs(&hooked, nr);
		break;
	case DIRECT:
		make_pairs(&direct, nr);
		break;
	default:
		read_counter(what == FENCED_READS, nr);
	}
}

/* Nanoseconds of an event, or of two reads. */
static double measure(enum what what, unsigned nr)
{
	uint64_t start_ns;

	work(what, NR_WARM);
	start_ns = vs_process_watch_now_ns();
	work(what, nr);
	return (double)(vs_process_watch_now_ns() - start_ns) / (2.0 * nr);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double get_median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return values[nr / 2];
}

int main(void)
{
	double steady[3];

	/* The addresses that the program's calls are bound to. */
	hooked.alloc = cuMemAlloc;
	hooked.free = cuMemFree;
	direct = *vs_null_driver_get_calls();
	for (size_t i = 0; i < NR_ROUNDS; i++) {
		/* Each is the first one after the pause as often as any other. */
		for (size_t turn = 0; turn < NR_WHATS; turn++) {
			enum what what = (enum what)((i + turn) % NR_WHATS);

			times[what][i] = measure(what, NR_PAIRS);
		}
		vs_process_watch_sleep_ms(PAUSE_MS); /* the recorder writes, meanwhile */
	}
	for (int what = 0; what < NR_WHATS; what++)
		printf("%s %.2f\n", names[what], get_median(times[what], NR_ROUNDS));
	for (size_t i = 0; i < 3; i++)
		steady[i] = measure(HOOKED, NR_STEADY);
	printf("steady %.2f\n", get_median(steady, 3));
	return 0;
}
