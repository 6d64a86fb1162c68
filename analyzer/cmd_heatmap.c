#include <string.h>

#include "command.h"
#include "draw_heatmap.h"
#include "draw_page.h"
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
};

static const struct vs_option own_options[] = {
	{"output", 'o', "FILE", "the picture: .png, .svg or .pdf; or its cells as .csv"},
	{"width", 0, "N", "pixels, 1200 unless told; .csv: cells over time, 200"},
	{"height", 0, "N", "pixels, 800 unless told; .csv: cells over addresses, 100"},
	{"dark", 0, NULL, "light on dark"},
	{NULL, 0, NULL, NULL},
};

static int run_heatmap(int argc, char **argv);

const struct vs_command vs_cmd_heatmap = {
	.name = "heatmap",
	.summary = "Draw which addresses were held and live over time",
	.usage = "-o FILE [--device N] [--from TIME] [--to TIME] TRACE",
	.details =
		"Addresses go up, time goes right; stretches that were never held are left out. Dark is\n"
		"live, amber is held by a pool but free: the holes. Failed allocations are marked with\n"
		"what was asked for. Without --device: the device that ran out of memory, or else the\n"
		"one that held most.",
	.takes = VS_TAKES_DEVICE | VS_TAKES_RANGE | VS_TAKES_TRACE | VS_TAKES_QUIET,
	.options = own_options,
	.run = run_heatmap,
};

static void choose_pixels(const struct vs_heatmap_request *request, bool has_phases,
			  size_t *columns, size_t *rows)
{
	struct vs_draw_layout layout;

	vs_draw_heatmap_lay_out(&layout, request->width, request->height, has_phases);
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
	return read_size(options->own[OWN_WIDTH], is_csv ? 1 : VS_DRAW_HEATMAP_MIN_WIDTH,
			 is_csv ? CSV_COLUMNS : 1200, &request->width, status, "width") &&
	       read_size(options->own[OWN_HEIGHT], is_csv ? 1 : VS_DRAW_HEATMAP_MIN_HEIGHT,
			 is_csv ? CSV_ROWS : 800, &request->height, status, "height");
}

static int fail_gather(const char *path, const struct vs_heatmap_request *request, int err)
{
	if (err == -VS_ERR_EMPTY)
		return vs_command_fail_text(path, "ends before --from");
	if (err == -VS_ERR_INVALID && request->device != VS_NO_DEVICE)
		return vs_command_fail_text(path, "has no device %u", request->device);
	if (err == -VS_ERR_INVALID)
		return vs_command_fail_text(path, "has no device: nothing to draw");
	return vs_command_fail(path, err);
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

static int draw(const char *path, const struct vs_heatmap_request *request, const char *output,
		bool is_dark, bool is_quiet)
{
	struct vs_source source;
	struct vs_heatmap heatmap;
	struct vs_reader *reader;
	int status;
	int finish;
	int err = vs_trace_open_reader(&reader, path);

	if (err)
		return VS_EXIT_FAILED;
	source = vs_trace_source_make(reader);
	vs_progress_enable(path, is_quiet);
	err = vs_heatmap_gather_cells(&heatmap, &source, request);
	heatmap.program = copy_command(reader, path);
	status = err ? fail_gather(path, request, err)
		     : write_output(&heatmap, request, output, is_dark);
	vs_heatmap_fini(&heatmap);
	finish = vs_trace_open_finish(reader, path);
	return status ? status : finish;
}

static int run_heatmap(int argc, char **argv)
{
	struct vs_heatmap_request request;
	struct vs_options options;
	enum vs_page_format format;
	const char *output;
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
	if (!make_request(&options, format, &request, &status))
		return status;
	return draw(options.traces[0], &request, output, options.own[OWN_DARK] != NULL,
		    options.quiet);
}
