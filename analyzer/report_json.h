#ifndef VS_REPORT_JSON_H
#define VS_REPORT_JSON_H

#include "device_state.h"
#include "story.h"

/* All that `report` says of a device, as members of a JSON object: docs/json.md. top: rows of a
 * list at most. */
VS_MUST_CHECK int vs_report_json_put_device(struct vs_story *story,
					    const struct vs_device_state *state, size_t top);

/* The same of a report of an instant: nothing that takes the whole trace. */
VS_MUST_CHECK int vs_report_json_put_instant(struct vs_story *story,
					     const struct vs_device_state *state, size_t top);

/* Its chapters. */

void vs_report_json_put_counts(struct vs_json *json, const struct vs_counts *counts);
void vs_report_json_put_kinds(struct vs_story *story, const struct vs_replay_device *device);
VS_MUST_CHECK int vs_report_json_put_failures(struct vs_story *story,
					      const struct vs_device_state *state);
void vs_report_json_put_pools(struct vs_story *story, const struct vs_device_state *state);
void vs_report_json_put_where(struct vs_story *story, const struct vs_device_state *state);
void vs_report_json_put_holes(struct vs_story *story, const struct vs_device_state *state);
VS_MUST_CHECK int vs_report_json_put_peak(struct vs_story *story,
					  const struct vs_replay_device *device, size_t top);
VS_MUST_CHECK int vs_report_json_put_retained(struct vs_story *story,
					      const struct vs_retained *retained, size_t top);
void vs_report_json_put_worst(struct vs_story *story, const struct vs_replay_device *device);

#endif
