#ifndef VS_PEAK_REPORT_H
#define VS_PEAK_REPORT_H

#include "story.h"

/*
 * What `peak` says beyond the report: other peaks, pools, and of each site the sizes and ages of
 * what it has live. Text, or members of a device's object in JSON.
 */
VS_MUST_CHECK int vs_peak_report_tell(struct vs_story *story, const struct vs_replay_device *device,
				      size_t top);

#endif
