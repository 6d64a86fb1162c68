#ifndef VS_EVENT_LOOPS_H
#define VS_EVENT_LOOPS_H

/* Events as programs make them, in their order: the same in every run. */
#include "record.h"

enum vs_event_loop {
	/*
	 * Steps of a training: forward on one thread, backward on another, an optimizer in every
	 * second one, and now and then a third thread with pinned memory, a log of metrics that
	 * keeps something, or one temporary more. About 560 sites and 70 sizes; 1,700 events a
	 * step. What lies between two events takes 1 to 50 us by its place, and varies by a
	 * quarter.
	 */
	VS_EVENT_LOOP_TRAINING,
	VS_EVENT_LOOP_TRAINING_ANY_TIME, /* the same, but 1 to 50 us everywhere, at random */
	VS_EVENT_LOOP_TRAINING_ANY_SIZE, /* the same as the first, but each step has its own sizes
					  */
	/*
	 * 2,000 sizes, 300 stacks that allocate and 300 that free, 2,000 blocks live, 1 to 50 us:
	 * all of it at random. Each size has its own addresses, and takes the one freed last.
	 */
	VS_EVENT_LOOP_RANDOM,
	VS_EVENT_LOOP_RANDOM_BEST_FIT, /* the same, but addresses as best fit has it */
	VS_NR_EVENT_LOOPS
};

extern const char *const vs_event_loops_names[VS_NR_EVENT_LOOPS];

/* Fills in nr events from the middle of it. */
void vs_event_loops_fill(enum vs_event_loop loop, struct vs_record *events, uint32_t nr);

#endif
