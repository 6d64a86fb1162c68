#include "command.h"
#include "report_text.h"
#include "steps.h"
#include "story.h"
#include "units.h"
#include "verdicts.h"
#include "why_text.h"

#define TOP 5 /* verdicts of a device */

static int tell_state(struct vs_story *story, const struct vs_device_state *state)
{
	int err;

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

static void put_nothing(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	fputc('\n', story->style.file);
	vs_text_add(&line, "NOTHING RAN OUT: at most %s",
		    vs_units_put_bytes(a, peaks->reserved.bytes));
	if (device->total_size)
		vs_text_add(&line, " of %s", vs_units_put_bytes(b, device->total_size));
	vs_text_add(&line, " were taken, and nothing grows");
	vs_text_put(&story->style, &line);
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	size_t top = vs_story_get_top(story, TOP), nr_verdicts;
	struct vs_text_line line = {0};
	int err = vs_verdicts_tell(story, device, NULL, top, tell_state, &nr_verdicts);

	if (err)
		return err;
	if (!nr_verdicts)
		put_nothing(story, device);
	if (nr_verdicts > top) {
		vs_text_add(&line, "and %zu more places that ran out before: --top %zu",
			    nr_verdicts - top, nr_verdicts);
		vs_text_put(&story->style, &line);
	}
	vs_why_text_put_recovered(story, device);
	return 0;
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
		err = vs_verdicts_put_json(story, device, NULL, vs_story_get_top(story, SIZE_MAX));
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
	.wants = {.steps = true},
	.run = run_why,
};
