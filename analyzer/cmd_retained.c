#include <inttypes.h>

#include "command.h"
#include "report_json.h"
#include "report_text.h"
#include "story.h"
#include "units.h"

#define TOP 20

/* What stays without growing: weights, caches, contexts of libraries. */
static int put_constant(struct vs_story *story, const struct vs_retained *retained, size_t top)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	size_t i;
	int err = 0;

	if (retained->nr_sites == retained->nr_growing)
		return 0;
	vs_text_add(&line, "ALIVE AT THE LAST BOUNDARY, NOT GROWING");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_put(&story->style, &line);
	for (i = retained->nr_growing; i < retained->nr_sites && i < retained->nr_growing + top;
	     i++) {
		const struct vs_retained_site *site = &retained->sites[i];

		vs_text_add(&line, "  %-9s %s", vs_units_put_bytes(a, site->last_bytes),
			    site->constant_bytes == site->last_bytes ? "constant" : "");
		vs_text_fill(&line, 27);
		err = vs_story_add_site(story, &line, site->account);
		if (err)
			return err;
		vs_text_put(&story->style, &line);
	}
	return 0;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	bool is_full = vs_failures_get_last(&story->analysis.failures, device);
	size_t top = vs_story_get_top(story, TOP);
	struct vs_retained retained;
	int err = vs_measure_retained_sum(&retained, &story->analysis.retained,
					  story->analysis.replay, device);

	if (err)
		return err;
	if (story->json) {
		err = vs_report_json_put_retained(story, &retained, top);
	} else {
		err = vs_report_text_put_retained(story, &retained, is_full, top);
		if (!err)
			err = put_constant(story, &retained, top);
	}
	vs_measure_retained_fini_sum(&retained);
	return err;
}

static int tell_retained(struct vs_story *story)
{
	return vs_story_tell_devices(story, tell_device);
}

static int run_retained(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_retained, argc, argv, "vramscope.retained/0", tell_retained);
}

const struct vs_command vs_cmd_retained = {
	.name = "retained",
	.summary = "Show which sites keep more memory after every step",
	.usage = "[--json] [--device N] [--from TIME] [--to TIME] [--top N] TRACE...",
	.details =
		"Boundaries are the steps of the program (vs_step), else the ends of its phases,\n"
		"else 16 equal intervals. A site grows if what it has alive at a boundary, and\n"
		"never gives back later, rises from step to step up to the end.",
	.takes = VS_TAKES_ANALYSIS & ~(unsigned int)VS_TAKES_AT,
	.skips_holes = true,
	.run = run_retained,
};
