#ifndef VS_INSTANT_H
#define VS_INSTANT_H

#include <stdbool.h>
#include <stdint.h>

#include "replay.h"

/* A moment of a trace, as people want to hear of it. Text belongs to the replay. */
struct vs_instant {
	uint64_t record; /* number of the record after which it is; 0: before the first */
	uint64_t time_ns;
	bool has_step;
	uint64_t step;
	const char *phase; /* NULL: none */
};

static inline struct vs_instant vs_instant_now(const struct vs_replay *replay, uint32_t thread)
{
	return (struct vs_instant){.record = replay->counters.nr_records,
				   .time_ns = replay->now_ns,
				   .has_step = replay->nr_steps,
				   .step = replay->step_number,
				   .phase = vs_replay_get_phase(replay, thread)};
}

#endif
