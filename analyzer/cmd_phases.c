#include "command.h"
#include "phase_report.h"

#define TOP 40

static int tell_instant(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_analysis *analysis = &story->analysis;
	struct vs_replay *then;
	struct vs_instant at;
	int err = vs_analysis_find_instant(analysis, device, story->options->at,
					   story->options->at_ns, &at);

	if (err)
		return err;
	err = vs_analysis_go_to(analysis, &at, &then);
	if (err)
		return err;
	/* An instant that was given as a time knows no more than that. */
	at.has_step = then->nr_steps;
	at.step = then->step_number;
	if (!at.phase)
		at.phase = vs_replay_get_phase(then, 0);
	err = vs_phase_report_put_open(story, then, device, &at);
	vs_replay_destroy(then);
	return err;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_measure_phases *measure = story->own;

	if (!measure)
		return tell_instant(story, device);
	if (!story->json)
		return vs_phase_report_put_text(story, measure, device,
						vs_story_get_top(story, TOP));
	vs_phase_report_put_json(story, measure, device);
	return 0;
}

static int tell_phases(struct vs_story *story)
{
	struct vs_measure_phases measure;
	struct vs_replay *replay;
	int err;

	if (story->options->at != VS_AT_DEFAULT)
		return vs_story_tell_devices(story, tell_device);
	err = vs_measure_phases_init(&measure);
	if (err)
		return err;
	err = vs_analysis_observe(&story->analysis, &measure.observer, &replay);
	if (!err) {
		story->own = &measure;
		err = vs_story_tell_devices(story, tell_device);
		vs_replay_destroy(replay);
	}
	vs_measure_phases_fini(&measure);
	story->own = NULL;
	return err;
}

static int run_phases(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_phases, argc, argv, "vramscope.phases/0", tell_phases);
}

const struct vs_command vs_cmd_phases = {
	.name = "phases",
	.summary = "Show peak, growth and leftovers of each phase, step and epoch",
	.usage = "[--json] [--device N] [--at WHEN] [--from TIME] [--to TIME] [--top N] TRACE...",
	.details =
		"Phases are NVTX ranges and what vramscope.py and vramscope.h mark. Equal names\n"
		"below the same outer phase are one row; begin and end are those of the time\n"
		"with the highest peak. kept: allocated in it and alive when it ended. What a\n"
		"thread without phases of its own allocates counts to the phase that was opened\n"
		"last by another one and is still open. With --at: the phases open at that\n"
		"instant.",
	.takes = VS_TAKES_ANALYSIS,
	.recalls = VS_RECALLS_EACH,
	.run = run_phases,
};
