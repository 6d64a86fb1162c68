#include "command.h"
#include "framework.h"
#include "framework_jax.h"
#include "instant_report.h"
#include "report_json.h"
#include "report_text.h"
#include "sources_report.h"
#include "steps.h"
#include "story.h"

#define TOP_TEXT 5 /* rows of a list: the whole story is to fit on a screen */
#define TOP_JSON 50

static int tell_text(struct vs_story *story, const struct vs_device_state *state, size_t top)
{
	int err;

	err = vs_report_text_put_failures(story, state);
	if (err)
		return err;
	vs_framework_jax_put_text(story, state->device);
	vs_report_text_put_where(story, state);
	vs_sources_report_put_hint(story, state);
	err = vs_report_text_put_peak(story, state->device, top);
	if (!err)
		err = vs_report_text_put_retained(story, &state->retained, state->oom, top);
	if (err)
		return err;
	vs_report_text_put_pools(story, state);
	vs_framework_put_text(story);
	vs_sources_report_put_text(story);
	vs_report_text_put_fragmentation(story, state->device);
	return 0;
}

/* What follows from a failure, and the default, are about the whole run. */
#define RECALLS (VS_RECALLS(VS_AT_TIME) | VS_RECALLS(VS_AT_PEAK) | VS_RECALLS(VS_AT_END))

static bool is_of_instant(const struct vs_story *story)
{
	return RECALLS & VS_RECALLS(story->options->at);
}

/* Nothing for which more than the index would have to be read. */
static int tell_instant(struct vs_story *story, const struct vs_device_state *state, size_t top)
{
	int err;

	vs_framework_jax_put_text(story, state->device);
	vs_report_text_put_where(story, state);
	vs_sources_report_put_hint(story, state);
	vs_instant_report_put_live(story, state);
	err = vs_instant_report_put_sites(story, state, top);
	if (err)
		return err;
	vs_report_text_put_pools(story, state);
	vs_framework_put_text(story);
	vs_sources_report_put_text(story);
	vs_instant_report_put_holes(story, state);
	vs_instant_report_put_run(story, state);
	return 0;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	size_t top = vs_story_get_top(story, story->json ? TOP_JSON : TOP_TEXT);
	struct vs_device_state state;
	int err = vs_device_state_init(&state, &story->analysis, device, story->options->at,
				       story->options->at_ns);

	if (err)
		return err;
	if (story->json) {
		err = is_of_instant(story) ? vs_report_json_put_instant(story, &state, top)
					   : vs_report_json_put_device(story, &state, top);
	} else {
		fputc('\n', story->style.file);
		err = is_of_instant(story) ? tell_instant(story, &state, top)
					   : tell_text(story, &state, top);
	}
	vs_device_state_fini(&state);
	return err;
}

static int tell_report(struct vs_story *story)
{
	int err = is_of_instant(story) ? 0 : vs_steps_derive(&story->analysis, false);

	return err ? err : vs_story_tell_devices(story, tell_device);
}

static int run_report(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_report, argc, argv, "vramscope.report/0", tell_report);
}

const struct vs_command vs_cmd_report = {
	.name = "report",
	.summary = "Tell the whole story of a trace on one screen",
	.usage = "[--json] [--device N] [--at WHEN] [--top N] TRACE...",
	.details =
		"Out-of-memories and their cause, where the memory is, the peak, what is kept\n"
		"from step to step, the pools and their holes. Holes and WHERE are those at the\n"
		"last out-of-memory, else at the reserved peak. With --at: what is live, where\n"
		"the memory is, pools and holes at that instant, and nothing that would take\n"
		"the whole trace to tell (--at oom is for the last out-of-memory and its cause).",
	.takes = VS_TAKES_ANALYSIS,
	.recalls = RECALLS,
	.wants = {.steps = true},
	.run = run_report,
};
