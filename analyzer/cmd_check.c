#include <stdlib.h>

#include "check_gather.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "siblings.h"
#include "text.h"
#include "trace_open.h"
#include "units.h"

/* Column in which what was counted stands. */
#define TEXT_COLUMN 16

enum {
	OWN_QUIET
};

/* A trace that was looked at, and what all checks say of it. */
struct checked {
	const char *path;
	struct vs_check_facts facts;
	size_t nr_checks;
	size_t nr_notes;
	size_t nr_wrong;
};

/* What is damaged is counted by the reader; the records behind it are looked at, too. */
static int next_record(void *context, struct vs_record *record)
{
	int got;

	do {
		got = vs_reader_next(context, record);
	} while (got == -VS_ERR_CORRUPT || got == -VS_ERR_TRUNCATED);
	return got;
}

/* A snapshot stands before all blocks of events. */
static bool is_in_snapshot(void *context)
{
	struct vs_reader_state state;

	vs_reader_get_state(context, &state);
	return state.nr_dropped && !state.nr_events_in_blocks && !state.used_log;
}

/* VS_EXIT_DONE, or VS_EXIT_FAILED after one line on stderr. */
static int look_at(struct checked *checked, const char *path)
{
	struct vs_check_input input = {{.next = next_record}, is_in_snapshot};
	const struct vs_check *check = vs_check_list;
	struct vs_reader *reader;
	int err;

	*checked = (struct checked){.path = path};
	if (vs_trace_open_reader(&reader, path))
		return VS_EXIT_FAILED;
	input.source.context = reader;
	err = vs_check_gather_records(&checked->facts, &input);
	vs_reader_get_state(reader, &checked->facts.state);
	vs_reader_close(reader);
	if (err)
		return vs_command_fail(path, err);
	for (; check->name; check++) {
		enum vs_check_verdict verdict = check->judge(&checked->facts).verdict;

		checked->nr_checks++;
		checked->nr_notes += verdict == VS_CHECK_NOTE;
		checked->nr_wrong += verdict == VS_CHECK_WRONG;
	}
	return VS_EXIT_DONE;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_headline(const struct checked *checked, const struct vs_text_style *style)
{
	uint64_t nr_events = checked->facts.counters.nr_events;
	struct vs_text_line line = {0};
	char number[VS_UNITS_MAX];

	vs_text_add(&line, "%s", checked->path);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_add(&line, ": %s event%s, %zu checks: ",
		    vs_units_put_number(number, nr_events, style->is_ascii),
		    nr_events == 1 ? "" : "s", checked->nr_checks);
	if (checked->nr_wrong)
		vs_text_add(&line, "%zu wrong", checked->nr_wrong);
	else
		vs_text_add(&line, "all is well");
	if (checked->nr_notes)
		vs_text_add(&line, ", %zu note%s", checked->nr_notes,
			    checked->nr_notes == 1 ? "" : "s");
	vs_text_put_whole(style, &line, 2);
}

static void put_check(const struct vs_check *check, const struct vs_check_finding *finding,
		      const struct vs_text_style *style)
{
	struct vs_text_line line = {0};
	char number[VS_UNITS_MAX];

	vs_text_add(&line, "  %s", vs_check_get_word(finding->verdict));
	if (finding->verdict == VS_CHECK_WRONG)
		vs_text_mark(&line, VS_TEXT_ALARM);
	vs_units_put_number(number, finding->count, style->is_ascii);
	/* To the right, so that units stand below units. */
	vs_text_fill(&line, TEXT_COLUMN - 2 - vs_text_get_width(number));
	vs_text_add(&line, "%s  %s", number, check->what);
	if (finding->reason)
		vs_text_add(&line, ": %s", finding->reason);
	vs_text_put_whole(style, &line, TEXT_COLUMN);
}

static void put_text(const struct checked *checked, const struct vs_options *options, bool is_first)
{
	struct vs_text_style style = {stdout, options->width, options->ascii, options->color};
	bool is_quiet = options->own[OWN_QUIET] != NULL;
	const struct vs_check *check = vs_check_list;

	if (is_quiet && !checked->nr_wrong)
		return;
	if (!is_first && !is_quiet)
		putchar('\n');
	put_headline(checked, &style);
	for (; check->name; check++) {
		struct vs_check_finding finding = check->judge(&checked->facts);

		if (!is_quiet || finding.verdict == VS_CHECK_WRONG)
			put_check(check, &finding, &style);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json(const struct checked *checked, struct vs_json *json)
{
	const struct vs_reader_state *state = &checked->facts.state;
	const struct vs_check *check = vs_check_list;

	vs_json_put_number(json, "events", checked->facts.counters.nr_events);
	vs_json_put_number(json, "lost_events", state->nr_lost);
	vs_json_put_bool(json, "complete", state->is_complete);
	vs_json_put_bool(json, "damaged", state->is_damaged);
	vs_json_put_bool(json, "running", state->is_running);
	vs_json_put_number(json, "wrong", checked->nr_wrong);
	vs_json_put_number(json, "notes", checked->nr_notes);
	vs_json_begin_array(json, "checks");
	for (; check->name; check++) {
		struct vs_check_finding finding = check->judge(&checked->facts);

		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "name", check->name);
		vs_json_put_text(json, "verdict", vs_check_get_word(finding.verdict));
		vs_json_put_number(json, "count", finding.count);
		vs_json_put_text(json, "counted", check->what);
		vs_json_put_text(json, "reason", finding.reason);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

/* As that of the other commands: one trace is an object, of several there is a list. */
static void put_json_trace(struct vs_json *json, const struct checked *checked, bool is_list,
			   bool has_failed)
{
	if (is_list)
		vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "trace", checked->path);
	if (has_failed)
		vs_json_put_bool(json, "failed", true);
	else
		put_json(checked, json);
	if (is_list)
		vs_json_end_object(json);
}

/* ---- The command ----------------------------------------------------------------------------- */

/* A failure outweighs what is wrong, and both outweigh success. */
static int join_status(int status, int told, const struct checked *checked)
{
	if (told == VS_EXIT_FAILED || status == VS_EXIT_FAILED)
		return VS_EXIT_FAILED;
	return checked->nr_wrong ? VS_EXIT_DAMAGED : status;
}

static int check_as_text(const struct vs_options *options)
{
	int status = VS_EXIT_DONE, told;
	struct checked checked;
	size_t i;

	for (i = 0; i < options->nr_traces; i++) {
		told = look_at(&checked, options->traces[i]);
		if (told == VS_EXIT_DONE)
			put_text(&checked, options, i == 0);
		status = join_status(status, told, &checked);
	}
	return status;
}

static int check_as_json(const struct vs_options *options)
{
	bool is_list = options->nr_traces > 1;
	int status = VS_EXIT_DONE, told;
	struct checked checked;
	struct vs_json json;
	size_t i;

	vs_json_init(&json, stdout);
	vs_json_begin_object(&json, NULL);
	vs_json_put_text(&json, "schema", "vramscope.check/0");
	if (is_list)
		vs_json_begin_array(&json, "traces");
	for (i = 0; i < options->nr_traces; i++) {
		told = look_at(&checked, options->traces[i]);
		put_json_trace(&json, &checked, is_list, told == VS_EXIT_FAILED);
		status = join_status(status, told, &checked);
	}
	if (is_list)
		vs_json_end_array(&json);
	vs_json_end_object(&json);
	return status;
}

static int run_check(int argc, char **argv)
{
	struct vs_siblings siblings = {0};
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, &vs_cmd_check, argc, argv, &status))
		return status;
	if (options.run && vs_siblings_gather(&siblings, &options))
		status = vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
	else
		status = options.json ? check_as_json(&options) : check_as_text(&options);
	vs_siblings_fini(&siblings);
	return status;
}

static const struct vs_option own_options[] = {
	[OWN_QUIET] = {"quiet", 'q', NULL, "print only what is wrong"},
	{NULL, 0, NULL, NULL},
};

const struct vs_command vs_cmd_check = {
	.name = "check",
	.summary = "Check whether a trace is whole and contradicts itself nowhere",
	.usage = "[--json] [--quiet] TRACE...",
	.details =
		"Checksums and missing blocks, the order of events, definitions, totals, losses,\n"
		"and what the replay had to repair: a line each, with how many there are. What is\n"
		"wrong makes the exit status 3. What the trace says itself, such as events that were\n"
		"lost or a program that was killed, is a note.",
	.takes = VS_TAKES_JSON | VS_TAKES_ASCII | VS_TAKES_COLOR | VS_TAKES_TRACES,
	.options = own_options,
	.run = run_check,
};
