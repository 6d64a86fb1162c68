#include "option_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_json(struct vs_options *options, const char *value)
{
	(void)value;
	options->json = true;
	return 0;
}

static int set_ascii(struct vs_options *options, const char *value)
{
	(void)value;
	options->ascii = true;
	return 0;
}

static int set_run(struct vs_options *options, const char *value)
{
	(void)value;
	options->run = true;
	return 0;
}

static int set_no_index(struct vs_options *options, const char *value)
{
	(void)value;
	options->no_index = true;
	return 0;
}

static int set_quiet(struct vs_options *options, const char *value)
{
	(void)value;
	options->quiet = true;
	return 0;
}

static int set_number(uint32_t *number, const char *value, uint64_t least)
{
	uint64_t got;
	int err = vs_options_parse_number(&got, value, least, UINT32_MAX - 1);

	if (err)
		return err;
	*number = (uint32_t)got;
	return 0;
}

static int set_device(struct vs_options *options, const char *value)
{
	return set_number(&options->device, value, 0);
}

static int set_top(struct vs_options *options, const char *value)
{
	return set_number(&options->top, value, 1);
}

static int set_at(struct vs_options *options, const char *value)
{
	static const struct {
		const char *name;
		enum vs_at at;
	} words[] = {
		{"peak", VS_AT_PEAK},
		{"oom", VS_AT_OOM},
		{"end", VS_AT_END},
	};
	size_t i;
	int err;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(value, words[i].name)) {
			options->at = words[i].at;
			return 0;
		}
	}
	err = vs_options_parse_time(&options->at_ns, value);
	if (!err)
		options->at = VS_AT_TIME;
	return err;
}

static int set_from(struct vs_options *options, const char *value)
{
	return vs_options_parse_time(&options->from_ns, value);
}

static int set_to(struct vs_options *options, const char *value)
{
	return vs_options_parse_time(&options->to_ns, value);
}

bool vs_option_table_wants_color(int stream)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(stream) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

static int set_color(struct vs_options *options, const char *value)
{
	if (!strcmp(value, "always"))
		options->color = true;
	else if (!strcmp(value, "never"))
		options->color = false;
	else if (!strcmp(value, "auto"))
		options->color = vs_option_table_wants_color(
			options->command->takes & VS_TAKES_STDERR ? STDERR_FILENO : STDOUT_FILENO);
	else
		return -VS_ERR_INVALID;
	return 0;
}

#define TIME_KIND "a time (12.5, 250ms, 4m12s)"

const struct vs_shared_option vs_option_table[] = {
	{VS_TAKES_JSON, {"json", 0, NULL, "JSON for machines"}, set_json, NULL},
	{VS_TAKES_TRACES,
	 {"run", 0, NULL, "all traces of the same run that are in the trace's folder"},
	 set_run,
	 NULL},
	{VS_TAKES_DEVICE,
	 {"device", 0, "N", "only device N"},
	 set_device,
	 "the number of a device"},
	{VS_TAKES_AT,
	 {"at", 0, "WHEN",
	  "the state at a time since the start (12.5, 250ms, 4m12s), or at\n"
	  "peak, oom (the last out-of-memory), end"},
	 set_at,
	 "a time (12.5, 250ms, 4m12s), peak, oom or end"},
	{VS_TAKES_RANGE, {"from", 0, "TIME", "leave out what was before"}, set_from, TIME_KIND},
	{VS_TAKES_RANGE, {"to", 0, "TIME", "leave out what came after"}, set_to, TIME_KIND},
	{VS_TAKES_TOP, {"top", 0, "N", "at most N rows in each list"}, set_top, "a number of rows"},
	{VS_TAKES_INDEX,
	 {"no-index", 0, NULL, "neither use nor write TRACE.index, which saves time"},
	 set_no_index,
	 NULL},
	{VS_TAKES_QUIET,
	 {"quiet", 'q', NULL, "no line of progress on the terminal"},
	 set_quiet,
	 NULL},
	{VS_TAKES_ASCII, {"ascii", 0, NULL, "no characters but ASCII"}, set_ascii, NULL},
	{VS_TAKES_COLOR,
	 {"color", 0, "WHEN", "auto (on a terminal), always, never"},
	 set_color,
	 "auto, always or never"},
	{0, {"help", 'h', NULL, "this text"}, NULL, NULL},
	{0, {NULL, 0, NULL, NULL}, NULL, NULL},
};
