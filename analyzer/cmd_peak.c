#include "command.h"
#include "composition_report.h"
#include "instant_report.h"
#include "peak_report.h"
#include "report_json.h"
#include "report_text.h"
#include "story.h"

#define TOP        20
#define TOP_BLOCKS 1000000 /* all of them, unless told */

enum own {
	OWN_BLOCKS,
};

static const struct vs_option own_options[] = {
	{"blocks", 0, NULL, "also each block of PyTorch's allocator: address, size, category"},
	{NULL, 0, NULL, NULL},
};

static int tell_blocks(struct vs_story *story, const struct vs_replay_device *device,
		       const struct vs_instant *at)
{
	if (!story->options->own[OWN_BLOCKS])
		return 0;
	return vs_composition_report_tell_blocks(story, device, at,
						 vs_story_get_top(story, TOP_BLOCKS));
}

/* Who is live at an instant that is not the peak. */
static int tell_instant(struct vs_story *story, const struct vs_replay_device *device, size_t top)
{
	struct vs_device_state state;
	int err = vs_device_state_init(&state, &story->analysis, device, story->options->at,
				       story->options->at_ns);

	if (err)
		return err;
	if (story->json)
		vs_story_put_json_instant(story, "at", &state.at);
	vs_instant_report_put_live(story, &state);
	err = vs_composition_report_tell(story, "categories", device, &state.at,
					 state.map.live_bytes);
	if (!err)
		err = vs_instant_report_put_sites(story, &state, top);
	if (!err)
		err = tell_blocks(story, device, &state.at);
	vs_device_state_fini(&state);
	return err;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	size_t top = vs_story_get_top(story, TOP);
	int err;

	if (story->options->at != VS_AT_DEFAULT && story->options->at != VS_AT_PEAK)
		return tell_instant(story, device, top);
	err = story->json ? vs_report_json_put_peak(story, device, top)
			  : vs_report_text_put_peak_head(story, device);
	if (!err)
		err = vs_peak_report_tell(story, device, top);
	return err ? err : tell_blocks(story, device, &peaks->live.at);
}

static int tell_peak(struct vs_story *story)
{
	return vs_story_tell_devices(story, tell_device);
}

static int run_peak(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_peak, argc, argv, "vramscope.peak/0", tell_peak);
}

const struct vs_command vs_cmd_peak = {
	.name = "peak",
	.summary = "Show what was live at the high-water mark",
	.usage = "[--json] [--device N] [--at WHEN] [--from TIME] [--to TIME] [--blocks] TRACE...",
	.details =
		"How often it was reached, how far below the other peaks are, and the peaks of\n"
		"pools. One line for each site: bytes, share, number of allocations, the largest\n"
		"of them, the age of the oldest, and the stack.\n"
		"Of PyTorch also what it is made of: parameters, gradients, activations and so\n"
		"on. With --at, what is live at that instant instead.",
	.takes = VS_TAKES_ANALYSIS,
	.options = own_options,
	.recalls = VS_RECALLS_EACH & ~(VS_RECALLS(VS_AT_DEFAULT) | VS_RECALLS(VS_AT_PEAK)),
	.wants = {.no_holes = true, .peaks = true},
	.run = run_peak,
};
