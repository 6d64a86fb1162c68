#include "page_story.h"

#include <stdlib.h>
#include <string.h>

#include "page_events.h"
#include "page_tables.h"
#include "report_json.h"
#include "report_text.h"
#include "steps.h"

#define TOP_ROWS   10  /* of the lists that come with their stacks; the page has all sites itself */
#define TEXT_WIDTH 160 /* columns of what `report` says */

/* ---- Marks ---------------------------------------------------------------------------------- */

static int add_mark(struct vs_page_events *events, const struct vs_replay_device *device,
		    const char *name, const struct vs_instant *at, uint64_t requested)
{
	return vs_page_events_add_mark(
		events, &(struct vs_page_mark){
				.name = name, .device = device, .at = *at, .requested = requested});
}

/* Of each group the first out-of-memory and the last. */
static int add_ooms(struct vs_page_events *events, const struct vs_analysis *analysis)
{
	int err = 0;

	for (size_t i = 0; i < analysis->failures.nr_groups && !err; i++) {
		const struct vs_failure_group *group = analysis->failures.groups[i];

		if (!group->nr_ooms)
			continue;
		err = add_mark(events, group->device, "oom", &group->last_oom.at,
			       group->last_oom.size);
		if (!err && group->nr_ooms > 1)
			err = add_mark(events, group->device, "oom", &group->first_oom.at,
				       group->first_oom.size);
	}
	return err;
}

static int add_marks(struct vs_page_events *events, const struct vs_story *story)
{
	const struct vs_analysis *analysis = &story->analysis;
	const struct vs_replay_device *device;
	size_t i = 0;
	int err = add_ooms(events, analysis);

	while (!err && (device = vs_story_next_device(story, &i))) {
		const struct vs_peak_device *peaks = vs_measure_peak_get(&analysis->peak, device);
		const struct vs_worst_holes *worst =
			vs_measure_fragmentation_get_worst(&analysis->fragmentation, device);

		err = add_mark(events, device, "peak", &peaks->live.at, 0);
		if (!err)
			err = add_mark(events, device, "peak-reserved", &peaks->reserved.at, 0);
		if (!err && worst->pool)
			err = add_mark(events, device, "worst", &worst->at, 0);
	}
	return err;
}

static void put_marks(struct vs_json *json, const struct vs_page_events *events,
		      const struct vs_replay_device *device)
{
	vs_json_begin_array(json, "marks");
	for (size_t i = 0; i < events->nr_marks; i++) {
		const struct vs_page_mark *mark = &events->marks[i];

		if (mark->device != device)
			continue;
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "name", mark->name);
		vs_json_put_number(json, "time_ns", mark->at.time_ns);
		vs_json_put_number(json, "change", mark->change);
		vs_json_put_number(json, "requested_bytes", mark->requested);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

/* ---- The first picture ---------------------------------------------------------------------- */

static int put_overview_sites(struct vs_story *story, const struct vs_page_overview *overview)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	char text[1024];
	int err = 0;

	vs_json_begin_array(story->json, "sites");
	for (size_t i = 0; i < overview->nr_sites && !err; i++) {
		err = vs_site_names_put_short(story->names, definitions->sites[overview->sites[i]],
					      VS_NO_ID, text, sizeof(text));
		vs_json_begin_object(story->json, NULL);
		vs_json_put_number(story->json, "site", overview->sites[i]);
		vs_json_put_text(story->json, "name", err ? NULL : text);
		vs_json_end_object(story->json);
	}
	vs_json_end_array(story->json);
	return err;
}

static void put_groups(struct vs_json *json, const struct vs_page_overview *overview)
{
	vs_json_begin_array(json, "groups");
	for (size_t group = 0; group < VS_PAGE_OVERVIEW_GROUPS; group++) {
		if (group >= overview->nr_sites && group < VS_PAGE_OVERVIEW_SITES)
			continue;
		vs_json_begin_array(json, NULL);
		for (size_t i = 0; i < VS_PAGE_OVERVIEW_COLUMNS; i++)
			vs_json_put_number(json, NULL, overview->columns[i].groups[group]);
		vs_json_end_array(json);
	}
	vs_json_end_array(json);
}

static int put_overview(struct vs_story *story, const struct vs_page_overview *overview)
{
	struct vs_json *json = story->json;
	int err;

	vs_json_begin_object(json, "overview");
	vs_json_put_number(json, "from_ns", overview->from_ns);
	vs_json_put_number(json, "to_ns", overview->to_ns);
	vs_json_put_number(json, "columns", VS_PAGE_OVERVIEW_COLUMNS);
	err = put_overview_sites(story, overview);
	vs_json_begin_array(json, "live");
	for (size_t i = 0; i < VS_PAGE_OVERVIEW_COLUMNS; i++)
		vs_json_put_number(json, NULL, overview->columns[i].live);
	vs_json_end_array(json);
	vs_json_begin_array(json, "reserved");
	for (size_t i = 0; i < VS_PAGE_OVERVIEW_COLUMNS; i++)
		vs_json_put_number(json, NULL, overview->columns[i].reserved);
	vs_json_end_array(json);
	put_groups(json, overview);
	vs_json_end_object(json);
	return err;
}

/* ---- The verdicts --------------------------------------------------------------------------- */

/*
 * The one place where the page learns why memory ran out: the words of `report`, a line each; the
 * numbers are in `failures` and `last_oom`.
 */
static int put_words(struct vs_story *story, const struct vs_device_state *state)
{
	struct vs_text_style style = story->style;
	struct vs_json *json = story->json;
	char *text = NULL, *rest, *line;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int err;

	if (!file)
		return -VS_ERR_NO_MEMORY;
	story->style = (struct vs_text_style){file, TEXT_WIDTH, false, false};
	story->json = NULL;
	err = vs_report_text_put_failures(story, state);
	story->style = style;
	story->json = json;
	if (fclose(file) && !err)
		err = -VS_ERR_NO_MEMORY;
	vs_json_begin_array(json, "words");
	rest = text;
	while (!err && rest && (line = strsep(&rest, "\n")))
		if (*line)
			vs_json_put_text(json, NULL, line);
	vs_json_end_array(json);
	free(text);
	return err;
}

static void put_retained(struct vs_json *json, const struct vs_retained *retained)
{
	vs_json_begin_array(json, "retained_sites");
	for (size_t i = 0; i < retained->nr_sites; i++) {
		const struct vs_retained_site *site = &retained->sites[i];

		vs_json_begin_array(json, NULL);
		vs_json_put_number(json, NULL, site->account->site->index);
		vs_json_put_number(json, NULL, site->last_bytes);
		vs_json_put_number(json, NULL, site->growth.is_growing ? site->growth.rate : 0);
		vs_json_end_array(json);
	}
	vs_json_end_array(json);
}

/* ---- A device ------------------------------------------------------------------------------- */

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_page_events *events = story->own;
	struct vs_device_state state;
	int err = vs_device_state_init(&state, &story->analysis, device, VS_AT_DEFAULT, 0);

	if (err)
		return err;
	vs_json_put_number(story->json, "index", device->index);
	err = vs_report_json_put_device(story, &state, TOP_ROWS);
	if (!err)
		err = put_words(story, &state);
	if (!err) {
		put_marks(story->json, events, device);
		put_retained(story->json, &state.retained);
		err = put_overview(story, &events->overviews[device->index]);
	}
	vs_device_state_fini(&state);
	return err;
}

/* ---- A trace -------------------------------------------------------------------------------- */

static int tell_gathered(struct vs_story *story, struct vs_page_events *events)
{
	struct vs_replay *replay;
	int err = vs_page_events_gather(events, &story->analysis, story->names, &replay);

	if (err)
		return err;
	err = vs_page_tables_put(story, events, replay);
	if (!err) {
		vs_json_put_number(story->json, "changes", events->columns.nr_changes);
		vs_json_put_number(story->json, "items", events->columns.nr_items);
		vs_json_put_bool(story->json, "categories", events->has_categories);
		story->own = events;
		err = vs_story_tell_devices(story, tell_device);
	}
	vs_replay_destroy(replay);
	return err;
}

int vs_page_story_tell(struct vs_story *story)
{
	struct vs_page_parts *parts = story->context;
	struct vs_page_events events;
	int err = vs_page_events_init(&events, &story->analysis, parts->file, parts->nr_traces);

	if (err)
		return err;
	err = vs_steps_derive(&story->analysis, false);
	if (!err)
		err = add_marks(&events, story);
	if (!err)
		err = tell_gathered(story, &events);
	vs_page_events_fini(&events);
	return err;
}
