#ifndef VS_SOURCES_REPORT_H
#define VS_SOURCES_REPORT_H

#include "device_state.h"
#include "story.h"

/* Who saw the events of a trace: hooks, CUPTI, or both. docs/analyses.md, "Sources". */

/* Events of the driver that CUPTI saw and no hook. */
uint64_t vs_sources_report_count_cupti(const struct vs_story *story);

/* A line of the report: nothing where CUPTI was not asked for. */
void vs_sources_report_put_text(const struct vs_story *story);

/*
 * A line that names --cupti, where the device holds much that the hooks did not see and CUPTI was
 * not asked.
 */
void vs_sources_report_put_hint(const struct vs_story *story, const struct vs_device_state *state);

/* Members of the trace's object. */
void vs_sources_report_put_json(const struct vs_story *story);

#endif
