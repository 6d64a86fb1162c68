#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "page_file.h"
#include "page_story.h"
#include "siblings.h"
#include "story.h"

enum own {
	OWN_OUTPUT,
};

static const struct vs_option own_options[] = {
	{"output", 'o', "FILE", "the page; its name ends in .html"},
	{NULL, 0, NULL, NULL},
};

static int run_html(int argc, char **argv);

const struct vs_command vs_cmd_html = {
	.name = "html",
	.summary = "Make one page to look at, with every event in it",
	.usage = "-o FILE TRACE...",
	.details =
		"One file for a browser that needs nothing else and asks the network for nothing:\n"
		"memory over time, the address space at any instant, flame graphs, tables. Several\n"
		"traces, or --run for all of a run, become one page.",
	.takes = VS_TAKES_TRACES | VS_TAKES_INDEX,
	.options = own_options,
	.run = run_html,
};

/* A failure outweighs a damaged trace. */
static int tell_traces(const struct vs_options *options, struct vs_page_parts *parts,
		       struct vs_json *json)
{
	int status = VS_EXIT_DONE;

	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "schema", "vramscope.page/0");
	vs_json_put_text(json, "version", VS_VERSION);
	vs_json_begin_array(json, "traces");
	for (; parts->nr_traces < options->nr_traces; parts->nr_traces++) {
		const char *path = options->traces[parts->nr_traces];
		int told;

		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "trace", path);
		told = vs_story_visit(options, path, stdout, json, vs_page_story_tell, parts);
		if (told == VS_EXIT_FAILED)
			return told;
		status = told ? told : status;
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
	vs_json_end_object(json);
	return status;
}

static int make_page(const struct vs_options *options)
{
	const char *output = options->own[OWN_OUTPUT];
	struct vs_page_parts parts = {tmpfile(), 0};
	struct vs_json json;
	char *text = NULL;
	size_t size = 0;
	FILE *story = parts.file ? open_memstream(&text, &size) : NULL;
	int status, err;

	if (!story) {
		status = vs_command_fail(output, parts.file ? -VS_ERR_NO_MEMORY : -VS_ERR_IO);
		goto close_parts;
	}
	vs_json_init(&json, story);
	status = tell_traces(options, &parts, &json);
	if (fclose(story) && status != VS_EXIT_FAILED)
		status = vs_command_fail(output, -VS_ERR_NO_MEMORY);
	if (status != VS_EXIT_FAILED) {
		err = vs_page_file_write(output, text, size, parts.file);
		status = err ? vs_command_fail(output, err) : status;
	}
	free(text);
close_parts:
	if (parts.file)
		fclose(parts.file);
	return status;
}

static int run_html(int argc, char **argv)
{
	struct vs_siblings siblings = {0};
	struct vs_options options;
	const char *output;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_html, argc, argv, &status))
		return status;
	output = options.own[OWN_OUTPUT];
	if (!output)
		return vs_command_fail_usage(&vs_cmd_html, "-o FILE is missing");
	if (strlen(output) < 5 || strcmp(output + strlen(output) - 5, ".html"))
		return vs_command_fail_usage(&vs_cmd_html, "'%s' must end in .html", output);
	if (options.run && vs_siblings_gather(&siblings, &options))
		status = vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
	else
		status = make_page(&options);
	vs_siblings_fini(&siblings);
	return status;
}
