#include <inttypes.h>

#include "command.h"
#include "report_json.h"
#include "report_text.h"
#include "steps.h"
#include "story.h"
#include "units.h"

#define TOP 20

/* Where sites begin in the list of what does not grow. */
#define COLUMN 40

enum own {
	OWN_DERIVE,
};

static const struct vs_option own_options[] = {
	{"derive-steps", 0, NULL,
	 "by the rhythm of requests, also where steps or phases are marked"},
	{NULL, 0, NULL, NULL},
};

/* A cache that is full is no leak, whatever it looked like on the way. */
static void add_course(struct vs_text_line *line, const struct vs_story *story,
		       const struct vs_retained_site *site)
{
	const struct vs_measure_retained *retained = &story->analysis.retained;
	char time[VS_UNITS_MAX];

	if (site->is_level && vs_measure_retained_has_numbers(retained))
		vs_text_add(line, "levels off since %s %" PRIu64,
			    retained->unit == VS_BOUNDARY_ROUNDS ? "round" : "step",
			    site->level_since);
	else if (site->is_level)
		vs_text_add(line, "levels off since %s",
			    vs_units_put_time(time, site->level_since_ns));
	else if (site->constant_bytes == site->last_bytes)
		vs_text_add(line, "constant");
}

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

		vs_text_add(&line, "  %-9s ", vs_units_put_bytes(a, site->last_bytes));
		add_course(&line, story, site);
		vs_text_fill(&line, COLUMN);
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
	int err = vs_device_state_sum_retained(&retained, &story->analysis, device);

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
	int err = vs_steps_derive(&story->analysis, story->options->own[OWN_DERIVE]);

	return err ? err : vs_story_tell_devices(story, tell_device);
}

static int run_retained(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_retained, argc, argv, "vramscope.retained/0", tell_retained);
}

const struct vs_command vs_cmd_retained = {
	.name = "retained",
	.summary = "Show which sites keep more memory after every step",
	.usage =
		"[--json] [--device N] [--from TIME] [--to TIME] [--derive-steps] [--top N] TRACE...",
	.details =
		"Boundaries are the steps of the program (vs_step), else the ends of its phases,\n"
		"else steps derived from the rhythm of its requests, else 16 equal intervals. A\n"
		"site grows if what it has alive at a boundary, and never gives back later, rises\n"
		"from step to step up to the end. One that grew and has stopped levels off.",
	.takes = VS_TAKES_ANALYSIS & ~(unsigned int)VS_TAKES_AT,
	.wants = {.no_holes = true, .steps = true},
	.options = own_options,
	.run = run_retained,
};
