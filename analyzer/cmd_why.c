#include <stdlib.h>

#include "command.h"
#include "report_text.h"
#include "steps.h"
#include "story.h"
#include "units.h"
#include "why_json.h"
#include "why_text.h"

#define TOP 5 /* verdicts of a device */

static int tell_state(struct vs_story *story, const struct vs_device_state *state)
{
	int err;

	if (story->json)
		return vs_why_json_put(story, state);
	fputc('\n', story->style.file);
	err = vs_why_text_put(story, state, true);
	if (err)
		return err;
	vs_report_text_put_where(story, state);
	if (state->why.kind == VS_WHY_POOL || state->why.kind == VS_WHY_PREALLOCATION)
		vs_report_text_put_pools(story, state);
	if (state->why.kind == VS_WHY_RETENTION)
		err = vs_report_text_put_retained(story, &state->retained, state->oom, TOP);
	return err;
}

static int compare_groups(const void *a, const void *b)
{
	const struct vs_failure_group *x = *(const struct vs_failure_group *const *)a;
	const struct vs_failure_group *y = *(const struct vs_failure_group *const *)b;

	return (x->last_oom.at.record < y->last_oom.at.record) -
	       (x->last_oom.at.record > y->last_oom.at.record);
}

/* Groups with an out-of-memory of the device, the latest first. *groups is the caller's to free. */
static int find_groups(const struct vs_story *story, const struct vs_replay_device *device,
		       const struct vs_failure_group ***groups, size_t *nr_groups)
{
	const struct vs_failures *failures = &story->analysis.failures;
	size_t i;

	*nr_groups = 0;
	*groups = calloc(failures->nr_groups + 1, sizeof(**groups));
	if (!*groups)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < failures->nr_groups; i++)
		if (failures->groups[i]->device == device && failures->groups[i]->nr_ooms)
			(*groups)[(*nr_groups)++] = failures->groups[i];
	qsort(*groups, *nr_groups, sizeof(**groups), compare_groups);
	return 0;
}

static int tell_failures(struct vs_story *story, const struct vs_failure_group **groups,
			 size_t nr_groups)
{
	size_t top = vs_story_get_top(story, story->json ? nr_groups : TOP), i;
	struct vs_text_line line = {0};
	struct vs_device_state state;
	int err = 0;

	for (i = 0; i < nr_groups && i < top && !err; i++) {
		err = vs_device_state_init_failure(&state, &story->analysis, groups[i]);
		if (err)
			break;
		err = tell_state(story, &state);
		vs_device_state_fini(&state);
	}
	if (err || story->json || nr_groups <= top)
		return err;
	vs_text_add(&line, "and %zu more places that ran out before: --top %zu", nr_groups - top,
		    nr_groups);
	vs_text_put(&story->style, &line);
	return 0;
}

/* Nothing failed: was the device full, or on the way there? */
static bool find_occasion(const struct vs_story *story, const struct vs_replay_device *device,
			  const struct vs_retained *retained, enum vs_why_occasion *occasion)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	bool is_killed = !story->state.is_complete && !story->state.is_running;

	if (is_killed)
		*occasion = VS_WHY_KILLED;
	else if (vs_why_is_near_full(peaks->reserved.bytes, device->total_size))
		*occasion = VS_WHY_NEAR_FULL;
	else if (retained->growth.is_growing && retained->has_forecast)
		*occasion = VS_WHY_GROWING;
	else
		return false;
	return true;
}

static void put_nothing(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (story->json)
		return;
	fputc('\n', story->style.file);
	vs_text_add(&line, "NOTHING RAN OUT: at most %s",
		    vs_units_put_bytes(a, peaks->reserved.bytes));
	if (device->total_size)
		vs_text_add(&line, " of %s", vs_units_put_bytes(b, device->total_size));
	vs_text_add(&line, " were taken, and nothing grows");
	vs_text_put(&story->style, &line);
}

static int tell_end(struct vs_story *story, const struct vs_replay_device *device)
{
	enum vs_why_occasion occasion;
	struct vs_device_state state;
	struct vs_retained retained;
	bool is_found;
	int err = vs_measure_retained_sum(&retained, &story->analysis.retained,
					  story->analysis.replay, device);

	if (err)
		return err;
	is_found = find_occasion(story, device, &retained, &occasion);
	vs_measure_retained_fini_sum(&retained);
	if (!is_found) {
		put_nothing(story, device);
		return 0;
	}
	err = vs_device_state_init_end(&state, &story->analysis, device, occasion);
	if (err)
		return err;
	err = tell_state(story, &state);
	vs_device_state_fini(&state);
	return err;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_failure_group **groups;
	size_t nr_groups;
	int err = find_groups(story, device, &groups, &nr_groups);

	if (err)
		return err;
	err = nr_groups ? tell_failures(story, groups, nr_groups) : tell_end(story, device);
	free(groups);
	if (!err && !story->json)
		vs_why_text_put_recovered(story, device);
	return err;
}

static void put_recovered(struct vs_story *story)
{
	const struct vs_replay_device *device;
	size_t i = 0;

	vs_json_begin_array(story->json, "recovered");
	while ((device = vs_story_next_device(story, &i))) {
		vs_json_begin_object(story->json, NULL);
		vs_json_put_number(story->json, "device", device->ordinal);
		vs_json_put_number(story->json, "requests",
				   vs_failures_count_recovered(&story->analysis.failures, device));
		vs_json_end_object(story->json);
	}
	vs_json_end_array(story->json);
}

static int tell_why(struct vs_story *story)
{
	const struct vs_replay_device *device;
	size_t i = 0;
	int err = vs_steps_derive(&story->analysis, false);

	if (err)
		return err;
	if (!story->json)
		return vs_story_tell_devices(story, tell_device);
	vs_story_put_json_trace(story);
	vs_json_begin_array(story->json, "verdicts");
	while (!err && (device = vs_story_next_device(story, &i)))
		err = tell_device(story, device);
	if (err)
		return err;
	vs_json_end_array(story->json);
	put_recovered(story);
	return 0;
}

static int run_why(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_why, argc, argv, "vramscope.why/0", tell_why);
}

const struct vs_command vs_cmd_why = {
	.name = "why",
	.summary = "Say why it ran out of memory, with the evidence and the remedy",
	.usage = "[--json] [--device N] [--from TIME] [--to TIME] [--top N] TRACE...",
	.details = "One verdict for each place that ran out, the latest first: fragmentation,\n"
		   "capacity, retention, pool, limit, other-process, preallocation, or unknown.\n"
		   "Where nothing ran out: whether the card was nearly full, or what grows.\n"
		   "docs/analyses.md has the rules.",
	.takes = VS_TAKES_ANALYSIS & ~(unsigned int)VS_TAKES_AT,
	.run = run_why,
};
