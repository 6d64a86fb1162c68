#ifndef VS_PHASE_REPORT_H
#define VS_PHASE_REPORT_H

#include "measure_phases.h"
#include "story.h"

/* What `vramscope phases` says of a device: text, and JSON. top: rows of each list. */
VS_MUST_CHECK int vs_phase_report_put_text(struct vs_story *story,
					   const struct vs_measure_phases *measure,
					   const struct vs_replay_device *device, size_t top);
void vs_phase_report_put_json(struct vs_story *story, const struct vs_measure_phases *measure,
			      const struct vs_replay_device *device);

/* Phases that are open at an instant. */
VS_MUST_CHECK int vs_phase_report_put_open(struct vs_story *story, const struct vs_replay *then,
					   const struct vs_replay_device *device,
					   const struct vs_instant *at);

#endif
