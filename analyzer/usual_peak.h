#ifndef VS_USUAL_PEAK_H
#define VS_USUAL_PEAK_H

#include "analysis.h"

/*
 * How much is live at a usual peak of a device, in the whole window: docs/analyses.md, "Peak". A
 * pass of its own.
 */
struct vs_usual_peak {
	uint64_t bytes; /* the median of all peaks */
	uint64_t nr;    /* so many peaks */
};

VS_MUST_CHECK int vs_usual_peak_find(const struct vs_analysis *analysis,
				     const struct vs_replay_device *device,
				     struct vs_usual_peak *usual);

#endif
