#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "draw_heatmap.h"
#include "draw_page.h"
#include "draw_space.h"
#include "heatmap_csv.h"
#include "heatmap_gather.h"
#include "options.h"
#include "progress.h"
#include "story.h"
#include "trace_open.h"
#include "trace_source.h"

#define CSV_COLUMNS 200
#define CSV_ROWS    100

enum own {
	OWN_OUTPUT,
	OWN_WIDTH,
	OWN_HEIGHT,
	OWN_DARK,
	OWN_BY,
	OWN_POOL,
	OWN_SEGMENT,
};

static const struct vs_option own_options[] = {
	{"output", 'o', "FILE", "the picture: .png, .svg or .pdf; or its cells as .csv"},
	{"width", 0, "N", "pixels, 1200 unless told; .csv: cells over time, 200"},
	{"height", 0, "N", "pixels, 800 unless told; .csv: cells over addresses, 100"},
	{"dark", 0, NULL, "light on dark"},
	{"by", 0, "WHAT", "colours: occupancy (unless told), age, site, category or phase"},
	{"pool", 0, "NAME", "only the segments of a pool, and what it gave out of them"},
	{"segment", 0, "ADDRESS", "only the segment at this address: map tells them"},
	{NULL, 0, NULL, NULL},
};

static int run_heatmap(int argc, char **argv);

/* With --at, a picture of that instant; else one of all. */
const struct vs_command vs_cmd_heatmap = {
	.recalls = VS_RECALLS_EACH & ~VS_RECALLS(VS_AT_DEFAULT),
	.name = "heatmap",
	.summary = "Draw which addresses were held and live over time",
	.usage = "-o FILE [--by WHAT] [--at WHEN] [--device N] [--pool NAME | --segment ADDRESS] "
		 "[--from TIME] [--to TIME] TRACE",
	.details =
		"Addresses go up, time goes right; stretches that were never held are left out. Dark is\n"
		"live, amber is held by a pool but free: the holes. Failed allocations are marked with\n"
		"what was asked for. Without --device: the device that ran out of memory, or else the\n"
		"one that held most. --by colours what is live by its age, by the site that asked for\n"
		"it, by what PyTorch uses it for, or by the phase it was asked for in.\n"
		"--pool and --segment draw a part of the device, with its own curves below.\n"
		"--at draws the addresses of one instant instead: blocks by site or category, holes,\n"
		"and the blocks that keep holes apart.",
	.takes = VS_TAKES_DEVICE | VS_TAKES_AT | VS_TAKES_RANGE | VS_TAKES_TRACE | VS_TAKES_QUIET,
	.options = own_options,
	.run = run_heatmap,
};

static void choose_pixels(const struct vs_heatmap_request *request, bool has_phases,
			  size_t *columns, size_t *rows)
{
	struct vs_draw_layout layout;

	vs_draw_heatmap_lay_out(&layout, request->width, request->height, has_phases,
				request->groups ? VS_HEATMAP_GROUPS : 0);
	*columns = (size_t)layout.plot.width;
	*rows = (size_t)layout.plot.height;
}

static void choose_csv(const struct vs_heatmap_request *request, bool has_phases, size_t *columns,
		       size_t *rows)
{
	(void)has_phases;
	*columns = (size_t)request->width;
	*rows = (size_t)request->height;
}

/* True, or *status after the mistake was reported. */
static bool read_size(const char *text, uint64_t least, uint64_t normal, int *size, int *status,
		      const char *name)
{
	uint64_t number = normal;

	if (text && vs_options_parse_number(&number, text, least, VS_DRAW_HEATMAP_MAX)) {
		*status = vs_command_fail_usage(
			&vs_cmd_heatmap, "--%s takes a number from %llu to %d, not '%s'", name,
			(unsigned long long)least, VS_DRAW_HEATMAP_MAX, text);
		return false;
	}
	*size = (int)number;
	return true;
}

/* True, or *status after the mistake was reported. */
static bool read_part(const struct vs_options *options, struct vs_heatmap_part *part, int *status)
{
	const char *pool = options->own[OWN_POOL], *segment = options->own[OWN_SEGMENT];
	char *end;

	*part = (struct vs_heatmap_part){.pool = pool,
					 .type = pool ? VS_HEATMAP_POOL : VS_HEATMAP_DEVICE};
	if (!segment)
		return true;
	if (pool) {
		*status = vs_command_fail_usage(&vs_cmd_heatmap,
						"--pool and --segment cannot be given together");
		return false;
	}
	part->type = VS_HEATMAP_SEGMENT;
	errno = 0;
	part->address = strtoull(segment, &end, 16);
	if (!errno && isxdigit((unsigned char)*segment) && !*end)
		return true;
	*status = vs_command_fail_usage(
		&vs_cmd_heatmap, "--segment takes an address such as 0x7f0a3e000000, not '%s'",
		segment);
	return false;
}

static bool make_request(const struct vs_options *options, enum vs_page_format format,
			 struct vs_heatmap_request *request, int *status)
{
	bool is_csv = format == VS_PAGE_CSV;

	*request = (struct vs_heatmap_request){
		.device = options->device == VS_OPTIONS_ANY_DEVICE ? VS_NO_DEVICE : options->device,
		.from_ns = options->from_ns,
		.to_ns = options->to_ns,
		.choose_cells = is_csv ? choose_csv : choose_pixels,
	};
	return read_part(options, &request->part, status) &&
	       read_size(options->own[OWN_WIDTH], is_csv ? 1 : VS_DRAW_HEATMAP_MIN_WIDTH,
			 is_csv ? CSV_COLUMNS : 1200, &request->width, status, "width") &&
	       read_size(options->own[OWN_HEIGHT], is_csv ? 1 : VS_DRAW_HEATMAP_MIN_HEIGHT,
			 is_csv ? CSV_ROWS : 800, &request->height, status, "height");
}

static int fail_survey(const char *path, const struct vs_heatmap_request *request, int err)
{
	if (err == -VS_ERR_EMPTY)
		return vs_command_fail_text(path, "ends before --from");
	if (err == -VS_ERR_INVALID && request->device != VS_NO_DEVICE)
		return vs_command_fail_text(path, "has no device %u", request->device);
	if (err == -VS_ERR_INVALID)
		return vs_command_fail_text(path, "has no device: nothing to draw");
	return vs_command_fail(path, err);
}

/* A pool or a segment is asked for that there is not. */
static int fail_part(const char *path, const struct vs_heatmap_request *request,
		     const struct vs_heatmap_survey *survey)
{
	bool is_window = request->from_ns || request->to_ns != UINT64_MAX;
	const char *when = is_window ? "between --from and --to" : "at any time";

	if (request->part.type == VS_HEATMAP_SEGMENT)
		return vs_command_fail_text(path,
					    "has no segment at 0x%" PRIx64
					    " %s: vramscope map tells where they are",
					    request->part.address, when);
	if (survey->has_part)
		return vs_command_fail_text(path, "has a pool '%s', which holds nothing %s",
					    request->part.pool, when);
	if (!*survey->pools)
		return vs_command_fail_text(path, "has no pool '%s', and no other",
					    request->part.pool);
	return vs_command_fail_text(path, "has no pool '%s': there are %s", request->part.pool,
				    survey->pools);
}

/* True, or *status after it was told what is wrong. The survey is to be ended in any case. */
static bool make_survey(struct vs_heatmap_survey *survey, const char *path,
			const struct vs_source *source, const struct vs_heatmap_request *request,
			int *status)
{
	int err = vs_heatmap_survey_run(survey, source, request);

	if (err)
		*status = fail_survey(path, request, err);
	else if (request->part.type != VS_HEATMAP_DEVICE && !survey->ranges.nr_ranges)
		*status = fail_part(path, request, survey);
	else
		return true;
	return false;
}

static int write_output(const struct vs_heatmap *heatmap, const struct vs_heatmap_request *request,
			const char *output, bool is_dark)
{
	int err = request->choose_cells == choose_csv
			  ? vs_heatmap_csv_write(heatmap, output)
			  : vs_draw_heatmap_write(heatmap, output, request->width, request->height,
						  is_dark);

	return err ? vs_command_fail(output, err) : VS_EXIT_DONE;
}

/* For the title: the program without its folder. */
static char *copy_command(struct vs_reader *reader, const char *path)
{
	const struct vs_story story = {.path = path, .reader = reader};
	char text[1024];
	char *start = text;

	vs_story_put_command(&story, text, sizeof(text));
	for (char *at = text; *at && *at != ' '; at++)
		if (*at == '/')
			start = at + 1;
	return strdup(start);
}

/* What is drawn, and where to. */
struct job {
	const char *path;
	struct vs_heatmap_request request;
	const char *output;
	bool is_dark;
	bool is_quiet;
	enum vs_heatmap_by by;
	int status; /* of a job that is told as a story */
};

static int draw_source(const struct job *job, const struct vs_source *source,
		       struct vs_reader *reader)
{
	struct vs_heatmap heatmap;
	struct vs_heatmap_survey survey;
	int status, err;

	if (make_survey(&survey, job->path, source, &job->request, &status)) {
		err = vs_heatmap_gather_cells(&heatmap, source, &job->request, &survey);
		heatmap.program = copy_command(reader, job->path);
		status = err ? vs_command_fail(job->path, err)
			     : write_output(&heatmap, &job->request, job->output, job->is_dark);
		vs_heatmap_fini(&heatmap);
	}
	vs_heatmap_survey_fini(&survey);
	return status;
}

static int draw(const struct job *job)
{
	struct vs_source source;
	struct vs_reader *reader;
	int status;
	int finish;

	if (vs_trace_open_reader(&reader, job->path))
		return VS_EXIT_FAILED;
	source = vs_trace_source_make(reader);
	vs_progress_enable(job->path, job->is_quiet);
	status = draw_source(job, &source, reader);
	finish = vs_trace_open_finish(reader, job->path);
	return status ? status : finish;
}

/* The one with most out-of-memories, then the one that held most: as the survey chooses it. */
static const struct vs_replay_device *find_worst(const struct vs_story *story)
{
	const struct vs_analysis *analysis = &story->analysis;
	const struct vs_replay_device *device, *best = NULL;
	uint64_t ooms, most_ooms = 0, reserved, most_reserved = 0;
	size_t i = 0;

	while ((device = vs_story_next_device(story, &i))) {
		ooms = vs_failures_count_device(&analysis->failures, device);
		reserved = vs_measure_peak_get(&analysis->peak, device)->reserved.bytes;
		if (best && (ooms < most_ooms || (ooms == most_ooms && reserved <= most_reserved)))
			continue;
		best = device;
		most_ooms = ooms;
		most_reserved = reserved;
	}
	return best;
}

/* The device that the picture will be of; NULL after it was told that there is none. */
static const struct vs_replay_device *find_device(const struct vs_story *story, struct job *job)
{
	const struct vs_replay_device *device = NULL;
	struct vs_heatmap_survey survey;

	if (job->request.part.type == VS_HEATMAP_DEVICE) {
		device = find_worst(story);
		if (!device)
			job->status =
				vs_command_fail_text(story->path, "has no device: nothing to draw");
		return device;
	}
	if (make_survey(&survey, story->path, &story->source, &job->request, &job->status))
		device = vs_replay_get_device(story->analysis.replay, survey.device);
	vs_heatmap_survey_fini(&survey);
	return device;
}

static int fail_categories(const char *path)
{
	return vs_command_fail_text(path, "has no categories: only blocks of PyTorch's allocator "
					  "have one");
}

/* A teller: who has what must be known before the picture can be coloured by it. */
static int tell_groups(struct vs_story *story)
{
	struct job *job = story->context;
	const struct vs_replay_device *device = find_device(story, job);
	struct vs_heatmap_groups groups;
	int err;

	if (!device)
		return 0;
	err = vs_heatmap_groups_init(&groups, job->by, &story->analysis, story->names, device);
	if (err == -VS_ERR_EMPTY) {
		job->status = fail_categories(story->path);
		return 0;
	}
	if (err)
		return err;
	job->request.device = device->ordinal;
	job->request.groups = &groups;
	job->status = draw_source(job, &story->source, story->reader);
	vs_heatmap_groups_fini(&groups);
	return 0;
}

static int draw_state(struct vs_story *story, struct job *job, const struct vs_device_state *state)
{
	struct vs_composition composition = {0};
	bool is_by_category = job->by == VS_HEATMAP_BY_CATEGORY;
	struct vs_space space;
	int err = 0;

	if (is_by_category)
		err = vs_composition_init(&composition, &story->analysis, story->names,
					  state->device, &state->at);
	if (!err && is_by_category && !composition.is_known) {
		job->status = fail_categories(story->path);
		return 0;
	}
	if (!err)
		err = vs_address_space_init(&space, state, &job->request.part, story->names,
					    is_by_category ? &composition : NULL);
	vs_composition_fini(&composition);
	if (err)
		return err;
	space.program = copy_command(story->reader, story->path);
	if (space.part && !space.nr_segments)
		job->status = vs_command_fail_text(story->path, "%s holds nothing at that instant",
						   space.part);
	else if ((err = vs_draw_space_write(&space, job->output, job->request.width,
					    job->request.height, job->is_dark)))
		job->status = vs_command_fail(job->output, err);
	vs_address_space_fini(&space);
	return 0;
}

/* A teller: the addresses of one instant. */
static int tell_instant(struct vs_story *story)
{
	struct job *job = story->context;
	const struct vs_replay_device *device = find_device(story, job);
	struct vs_device_state state;
	int err;

	if (!device)
		return 0;
	err = vs_device_state_init(&state, &story->analysis, device, story->options->at,
				   story->options->at_ns);
	if (err)
		return err;
	err = draw_state(story, job, &state);
	vs_device_state_fini(&state);
	return err;
}

static int run_instant(const struct vs_options *options, struct job *job, bool has_groups)
{
	int status;

	if (job->request.choose_cells == choose_csv)
		return vs_command_fail_usage(&vs_cmd_heatmap,
					     "--at draws a picture: .png, .svg or .pdf; for "
					     "numbers there is map --json");
	if (has_groups && job->by != VS_HEATMAP_BY_SITE && job->by != VS_HEATMAP_BY_CATEGORY)
		return vs_command_fail_usage(&vs_cmd_heatmap,
					     "with --at, --by takes site or category, not '%s'",
					     options->own[OWN_BY]);
	if (!has_groups)
		job->by = VS_HEATMAP_BY_SITE;
	status = vs_story_visit(options, job->path, stdout, NULL, tell_instant, job);
	return job->status ? job->status : status;
}

/* True: groups are wanted; false, with a status or to go on without. */
static bool read_by(const char *text, enum vs_heatmap_by *by, int *status)
{
	static const char *const names[] = {[VS_HEATMAP_BY_AGE] = "age",
					    [VS_HEATMAP_BY_SITE] = "site",
					    [VS_HEATMAP_BY_CATEGORY] = "category",
					    [VS_HEATMAP_BY_PHASE] = "phase"};

	*status = VS_EXIT_DONE;
	if (!text || !strcmp(text, "occupancy"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*by = (enum vs_heatmap_by)i;
			return true;
		}
	}
	*status = vs_command_fail_usage(
		&vs_cmd_heatmap, "--by takes occupancy, age, site, category or phase, not '%s'",
		text);
	return false;
}

static int run_heatmap(int argc, char **argv)
{
	struct vs_options options;
	enum vs_page_format format;
	const char *output;
	struct job job;
	bool has_groups;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_heatmap, argc, argv, &status))
		return status;
	output = options.own[OWN_OUTPUT];
	if (!output)
		return vs_command_fail_usage(&vs_cmd_heatmap, "-o FILE is missing");
	format = vs_draw_page_get_format(output);
	if (format == VS_PAGE_UNKNOWN)
		return vs_command_fail_usage(&vs_cmd_heatmap,
					     "'%s' must end in .png, .svg, .pdf or .csv", output);
	job = (struct job){.path = options.traces[0],
			   .output = output,
			   .is_dark = options.own[OWN_DARK] != NULL,
			   .is_quiet = options.quiet};
	has_groups = read_by(options.own[OWN_BY], &job.by, &status);
	if (status || !make_request(&options, format, &job.request, &status))
		return status;
	if (options.at != VS_AT_DEFAULT)
		return run_instant(&options, &job, has_groups);
	if (!has_groups)
		return draw(&job);
	options.from_ns = 0; /* of the picture, not of what is known */
	options.to_ns = UINT64_MAX;
	status = vs_story_visit(&options, job.path, stdout, NULL, tell_groups, &job);
	return job.status ? job.status : status;
}
