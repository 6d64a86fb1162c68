#ifndef VS_MEASURE_LANE_H
#define VS_MEASURE_LANE_H

#include "failures.h"
#include "measure_basic.h"
#include "measure_fragmentation.h"

struct vs_steps_finder;

/*
 * What an analysis measures, told of plain records (replay_plain.h) without being called: nearly
 * all of the time of a pass goes by there. The same comes out as if each had been told by its
 * observer, who is told of all other records.
 */
struct vs_measure_lane {
	struct vs_measure_basic *basic;
	struct vs_failures *failures;
	struct vs_measure_fragmentation *fragmentation; /* NULL: not wanted */
	struct vs_steps_finder *finder;                 /* NULL: not wanted */
};

/*
 * The observers of these measures, and no others, have been added to the replay. The lane outlives
 * it, or the next observer that is added.
 */
void vs_measure_lane_enter(struct vs_measure_lane *lane, struct vs_replay *replay);

#endif
