#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "composition_report.h"
#include "peak_report.h"
#include "report_json.h"
#include "report_text.h"
#include "site_order.h"
#include "story.h"
#include "units.h"

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
static int put_rows(struct vs_story *story, const struct vs_replay *then,
		    const struct vs_replay_device *device, size_t top)
{
	const struct vs_replay_device *at = vs_replay_get_device(then, device->ordinal);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	struct vs_site_row *rows;
	size_t nr_rows, i;
	int err = vs_site_order_live(then, at, &rows, &nr_rows);

	for (i = 0; !err && i < nr_rows && i < top; i++) {
		const struct vs_account *account =
			story->analysis.replay->accounts[rows[i].account->index];

		if (story->json) {
			vs_json_begin_object(story->json, NULL);
			vs_json_put_number(story->json, "bytes", rows[i].bytes);
			vs_json_put_number(story->json, "count", rows[i].count);
			err = vs_story_put_json_site(story, account->site, account->api);
			if (!err)
				vs_json_end_object(story->json);
			continue;
		}
		vs_text_add(&line, "  %-9s %5s %7" PRIu64 " x   ",
			    vs_units_put_bytes(a, rows[i].bytes),
			    vs_units_put_share(b, rows[i].bytes, at->live_bytes), rows[i].count);
		err = vs_story_add_site(story, &line, account);
		vs_text_put(&story->style, &line);
	}
	free(rows);
	return err;
}

static int tell_instant(struct vs_story *story, const struct vs_replay_device *device, size_t top)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	struct vs_device_state state;
	int err = vs_device_state_init(&state, &story->analysis, device, story->options->at,
				       story->options->at_ns);

	if (err)
		return err;
	if (story->json) {
		vs_story_put_json_instant(story, "at", &state.at);
		vs_json_put_number(story->json, "live_bytes", state.map.live_bytes);
		vs_json_put_number(story->json, "reserved_bytes", state.map.reserved_bytes);
	} else {
		vs_text_add(&line, "LIVE");
		vs_text_mark(&line, VS_TEXT_STRONG);
		vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
		vs_text_add(&line, "%s in %s reserved", vs_units_put_bytes(a, state.map.live_bytes),
			    vs_units_put_bytes(b, state.map.reserved_bytes));
		vs_story_add_instant(&line, &state.at);
		vs_text_put(&story->style, &line);
	}
	err = vs_composition_report_tell(story, "categories", device, &state.at,
					 state.map.live_bytes);
	if (!err && story->json)
		vs_json_begin_array(story->json, "sites");
	if (!err && state.map.device != device)
		err = put_rows(story, state.then, device, top);
	if (!err && story->json)
		vs_json_end_array(story->json);
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
	.needs = VS_NEEDS_AT,
	.wants = {.no_holes = true, .peaks = true},
	.run = run_peak,
};
