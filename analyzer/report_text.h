#ifndef VS_REPORT_TEXT_H
#define VS_REPORT_TEXT_H

#include "device_state.h"
#include "story.h"

/* The chapters of a report on one device, as text. Each ends with a full line. */

/* The last verdict, whatever instant the state is of; other places that ran out; what recovered. */
VS_MUST_CHECK int vs_report_text_put_failures(struct vs_story *story,
					      const struct vs_device_state *state);
void vs_report_text_put_where(struct vs_story *story, const struct vs_device_state *state);
void vs_report_text_put_pools(struct vs_story *story, const struct vs_device_state *state);

/* top: rows at most. */
VS_MUST_CHECK int vs_report_text_put_peak_head(struct vs_story *story,
					       const struct vs_replay_device *device);
VS_MUST_CHECK int vs_report_text_put_peak(struct vs_story *story,
					  const struct vs_replay_device *device, size_t top);
VS_MUST_CHECK int vs_report_text_put_retained(struct vs_story *story,
					      const struct vs_retained *retained, bool is_full,
					      size_t top);
void vs_report_text_put_fragmentation(struct vs_story *story,
				      const struct vs_replay_device *device);

/* Column in which the text of a chapter starts, behind its heading. */
#define VS_REPORT_TEXT_COLUMN 14

#endif
