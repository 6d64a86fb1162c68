#include "sources_report.h"

#include <string.h>

#include "report_text.h"
#include "units.h"

/* More than a context and the libraries of a program take: then it is worth a look. */
#define USUAL_OUTSIDE (UINT64_C(1) << 30)
#define USUAL_SHARE   8 /* an eighth of the device */

static const char *get_fact(const struct vs_story *story, const char *key)
{
	return vs_definitions_get_fact(&story->analysis.replay->definitions, key);
}

static bool is_recorded(const char *events)
{
	return events && !strncmp(events, "recorded", 8);
}

static bool is_alone(const char *events)
{
	return events && !strcmp(events, "recorded, hooks off");
}

uint64_t vs_sources_report_count_cupti(const struct vs_story *story)
{
	const struct vs_replay_counters *counters = &story->analysis.replay->counters;

	return is_alone(get_fact(story, "cupti.events")) ? counters->nr_driver_events
							 : counters->nr_seen_by_cupti;
}

static void add_numbers(struct vs_text_line *line, const struct vs_story *story, const char *events)
{
	const struct vs_replay_counters *counters = &story->analysis.replay->counters;
	uint64_t nr = vs_sources_report_count_cupti(story);
	bool ascii = story->options->ascii;
	char number[VS_UNITS_MAX], all[VS_UNITS_MAX];

	vs_units_put_number(number, nr, ascii);
	vs_units_put_number(all, counters->nr_driver_events, ascii);
	if (is_alone(events))
		vs_text_add(line, "CUPTI alone (hooks off): %s events of the driver", number);
	else if (!nr)
		vs_text_add(line, "hooks and CUPTI: all %s events of the driver came by the hooks",
			    all);
	else
		vs_text_add(line,
			    "hooks and CUPTI: %s of %s events of the driver were seen only by "
			    "CUPTI, the calls got past the hooks",
			    number, all);
}

void vs_sources_report_put_text(const struct vs_story *story)
{
	const char *events = get_fact(story, "cupti.events");
	const char *ended = get_fact(story, "cupti.ended");
	struct vs_text_line line = {0};

	if (!events)
		return;
	vs_text_add(&line, "SOURCES");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	if (is_recorded(events))
		add_numbers(&line, story, events);
	else
		vs_text_add(&line, "hooks; CUPTI was asked for and is %s", events);
	if (ended)
		vs_text_add(&line, "; CUPTI only until %s", ended);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

/* In use, not recorded, and not in NVML's list of other processes. */
static uint64_t get_hidden(const struct vs_reconcile *where)
{
	return where->outside_bytes - (where->outside.has_list ? where->outside.others_bytes : 0);
}

void vs_sources_report_put_hint(const struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_reconcile *where = &state->where;
	uint64_t hidden = get_hidden(where);
	struct vs_text_line line = {0};
	char text[VS_UNITS_MAX];

	if (get_fact(story, "cupti.events") || !where->is_free_known || hidden < USUAL_OUTSIDE ||
	    hidden < where->total_bytes / USUAL_SHARE)
		return;
	vs_text_add(&line,
		    "  note: %s are in use that the hooks did not see: %scalls that got past the "
		    "hooks, which vramscope run --cupti finds",
		    vs_units_put_bytes(text, hidden),
		    where->outside.has_list ? "" : "other processes, or ");
	vs_text_put_whole(&story->style, &line, 4);
}

void vs_sources_report_put_json(const struct vs_story *story)
{
	const char *events = get_fact(story, "cupti.events");

	vs_json_put_number(story->json, "driver_events",
			   story->analysis.replay->counters.nr_driver_events);
	vs_json_put_number(story->json, "seen_only_by_cupti", vs_sources_report_count_cupti(story));
	vs_json_put_text(story->json, "cupti", events);
}
