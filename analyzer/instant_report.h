#ifndef VS_INSTANT_REPORT_H
#define VS_INSTANT_REPORT_H

#include "device_state.h"
#include "story.h"

/*
 * A device at one instant, for `report --at` and `peak --at`: as text, or as members of the
 * device's object in JSON. All of it can be told without the rest of the trace: docs/analyses.md,
 * "Report of an instant".
 */

/* LIVE: how much, and when. */
void vs_instant_report_put_live(struct vs_story *story, const struct vs_device_state *state);

/* Who has it, the first `top`. */
VS_MUST_CHECK int vs_instant_report_put_sites(struct vs_story *story,
					      const struct vs_device_state *state, size_t top);

/* As text: the holes of the pool that has most in holes then. */
void vs_instant_report_put_holes(struct vs_story *story, const struct vs_device_state *state);

/* As text: what the index knows of the whole run, and where the rest of that is told. */
void vs_instant_report_put_run(struct vs_story *story, const struct vs_device_state *state);

#endif
