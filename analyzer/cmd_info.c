#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "framework.h"
#include "info.h"
#include "siblings.h"
#include "story.h"
#include "units.h"

/* INFO as it is in the trace. */
static const struct {
	const char *key;
	const char *label;
} rows[] = {
	{VS_INFO_EXE, "program"}, {VS_INFO_CWD, "folder"},          {VS_INFO_HOST, "host"},
	{VS_INFO_PID, "pid"},     {VS_INFO_PPID, "started by"},     {VS_INFO_RANK, "rank"},
	{VS_INFO_CLOCK, "clock"}, {VS_INFO_VERSION, "recorded by"}, {VS_INFO_IDENTITY, "identity"},
};

static void put_row(const struct vs_story *story, const char *label, const char *text)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "%s", label);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, 14);
	vs_text_add(&line, "%s", text);
	vs_text_put(&story->style, &line);
}

/* "2026-11-16T04:17:00Z", or NULL. */
static const char *put_start(const struct vs_story *story, char out[32])
{
	const char *start = vs_reader_get_info(story->reader, VS_INFO_START);
	time_t seconds = start ? (time_t)(strtoull(start, NULL, 10) / 1000000000) : 0;
	struct tm tm;

	if (!start || !gmtime_r(&seconds, &tm) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return NULL;
	return out;
}

static const char *get_ending(const struct vs_story *story)
{
	if (story->state.is_complete)
		return "in order";
	return story->state.is_running ? "not yet: still running"
				       : "not in order: killed, or _exit";
}

static void put_counts(const struct vs_story *story)
{
	const struct vs_replay *replay = story->analysis.replay;
	bool ascii = story->options->ascii;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], text[256];

	snprintf(text, sizeof(text), "%s, %s of them events",
		 vs_units_put_number(a, replay->counters.nr_records, ascii),
		 vs_units_put_number(b, replay->counters.nr_events, ascii));
	put_row(story, "records", text);
	snprintf(text, sizeof(text), "%s", vs_units_put_number(a, story->state.nr_lost, ascii));
	put_row(story, "lost", text);
	if (story->state.nr_dropped) {
		snprintf(text, sizeof(text), "%s events before %s were dropped (--max-size)",
			 vs_units_put_number(a, story->state.nr_dropped, ascii),
			 vs_units_put_time(b, story->state.dropped_until_ns));
		put_row(story, "beginning", text);
	}
	snprintf(text, sizeof(text), "%zu threads, %zu modules, %zu stacks, %" PRIu64 " steps",
		 vs_definitions_count_threads(&replay->definitions), replay->definitions.nr_modules,
		 replay->definitions.nr_sites - 1, replay->nr_steps);
	put_row(story, "with", text);
}

static void put_devices(const struct vs_story *story)
{
	const struct vs_replay *replay = story->analysis.replay;
	char text[512], size[VS_UNITS_MAX];
	size_t i;

	for (i = 0; i < replay->nr_devices; i++) {
		const struct vs_replay_device *device = replay->devices[i];

		snprintf(text, sizeof(text), "%" PRIu32 ": %s %s%s", device->ordinal,
			 device->name ? device->name : "not described",
			 vs_units_put_bytes(size, device->total_size),
			 device->is_simulated ? " (simulated)" : "");
		put_row(story, "GPU", text);
	}
	for (i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		snprintf(text, sizeof(text), "%s on GPU %" PRIu32 "%s",
			 pool->name[0] ? pool->name : "without a name", pool->device->ordinal,
			 pool->owner == VS_POOL_DRIVER ? ", of the driver" : "");
		put_row(story, "pool", text);
	}
}

static void put_framework(const struct vs_story *story)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	const char *lack = vs_framework_get_lack(story), *name, *value;
	char text[512];
	size_t i;

	for (i = 0; i < definitions->nr_facts; i++)
		put_row(story, definitions->facts[i].key, definitions->facts[i].value);
	if (lack && !vs_definitions_get_fact(definitions, "torch.blocks"))
		put_row(story, "torch.blocks", lack);
	for (i = 0; vs_framework_next_setting(story, &i, &name, &value);) {
		snprintf(text, sizeof(text), "%s=%s", name, value);
		put_row(story, "setting", text);
	}
}

static void put_index(const struct vs_story *story)
{
	const struct vs_index_directory *index =
		story->index ? vs_trace_index_get(story->index) : NULL;
	char text[256], size[VS_UNITS_MAX];

	if (index)
		snprintf(text, sizeof(text), "%zu snapshots in %s", index->nr_snapshots,
			 vs_units_put_bytes(size, vs_trace_index_get_size(story->index)));
	else
		snprintf(text, sizeof(text), "%s", story->index ? "none" : "not looked for");
	put_row(story, "index", text);
}

/* The run, and who belongs to it as far as can be seen from here. */
static int put_run(const struct vs_story *story)
{
	const char *run = vs_reader_get_info(story->reader, VS_INFO_RUN);
	struct vs_siblings siblings = {0};
	char text[4096];
	size_t i;
	int err;

	if (!run)
		return 0;
	err = vs_siblings_find(&siblings, story->path, run);
	snprintf(text, sizeof(text), "%s: %zu trace%s in this folder", run, siblings.nr,
		 siblings.nr == 1 ? "" : "s");
	put_row(story, "part of run", text);
	for (i = 0; i < siblings.nr && siblings.nr > 1; i++) {
		const struct vs_sibling *one = &siblings.list[i];

		snprintf(text, sizeof(text), "%s (pid %" PRIu64 ", started by %" PRIu64 ")",
			 one->path, one->pid, one->parent);
		put_row(story, "", text);
	}
	vs_siblings_fini(&siblings);
	return err;
}

static int tell_text(struct vs_story *story)
{
	char text[4096], start[32];
	size_t i;

	put_row(story, "trace", story->path);
	vs_story_put_command(story, text, sizeof(text));
	put_row(story, "command", text);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = vs_reader_get_info(story->reader, rows[i].key);

		if (value)
			put_row(story, rows[i].label, value);
	}
	if (put_start(story, start))
		put_row(story, "started", start);
	put_row(story, "lasted", vs_units_put_time(text, story->analysis.duration_ns));
	put_row(story, "ended", get_ending(story));
	put_counts(story);
	put_devices(story);
	put_framework(story);
	put_index(story);
	return put_run(story);
}

/* Null if there is none, or if it was not looked for. */
static void put_json_index(const struct vs_story *story)
{
	const struct vs_index_directory *index =
		story->index ? vs_trace_index_get(story->index) : NULL;

	if (!index) {
		vs_json_put_null(story->json, "index");
		return;
	}
	vs_json_begin_object(story->json, "index");
	vs_json_put_text(story->json, "file", vs_trace_index_get_path(story->index));
	vs_json_put_number(story->json, "bytes", vs_trace_index_get_size(story->index));
	vs_json_put_number(story->json, "snapshots", index->nr_snapshots);
	vs_json_end_object(story->json);
}

/* "run" is null for a trace that belongs to none. */
static int put_json_run(const struct vs_story *story)
{
	const char *run = vs_reader_get_info(story->reader, VS_INFO_RUN);
	struct vs_siblings siblings = {0};
	struct vs_json *json = story->json;
	size_t i;
	int err;

	if (!run) {
		vs_json_put_null(json, "run");
		return 0;
	}
	err = vs_siblings_find(&siblings, story->path, run);
	vs_json_begin_object(json, "run");
	vs_json_put_text(json, "name", run);
	vs_json_begin_array(json, "traces");
	for (i = 0; i < siblings.nr; i++) {
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "trace", siblings.list[i].path);
		vs_json_put_number(json, "pid", siblings.list[i].pid);
		vs_json_put_number(json, "parent_pid", siblings.list[i].parent);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
	vs_json_end_object(json);
	vs_siblings_fini(&siblings);
	return err;
}

static int tell_json(struct vs_story *story)
{
	const struct vs_replay *replay = story->analysis.replay;
	struct vs_json *json = story->json;
	char start[32];
	size_t i;

	vs_story_put_json_trace(story);
	vs_json_put_text(json, "started", put_start(story, start));
	vs_json_begin_object(json, "info");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vs_json_put_text(json, rows[i].key, vs_reader_get_info(story->reader, rows[i].key));
	vs_json_end_object(json);
	vs_json_put_number(json, "records", replay->counters.nr_records);
	vs_json_put_number(json, "threads", vs_definitions_count_threads(&replay->definitions));
	vs_json_put_number(json, "modules", replay->definitions.nr_modules);
	vs_json_put_number(json, "stacks", replay->definitions.nr_sites - 1);
	vs_json_put_number(json, "steps", replay->nr_steps);
	vs_json_begin_array(json, "devices");
	for (i = 0; i < replay->nr_devices; i++) {
		vs_json_begin_object(json, NULL);
		vs_story_put_json_device(story, replay->devices[i]);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
	vs_framework_put_json(story);
	put_json_index(story);
	return put_json_run(story);
}

static int tell_info(struct vs_story *story)
{
	return story->json ? tell_json(story) : tell_text(story);
}

static int run_info(int argc, char **argv)
{
	return vs_story_run(&vs_cmd_info, argc, argv, "vramscope.info/0", tell_info);
}

const struct vs_command vs_cmd_info = {
	.name = "info",
	.summary = "Show what a trace holds: what ran, where, when, and whether it is whole",
	.usage = "[--json] TRACE...",
	.takes = VS_TAKES_JSON | VS_TAKES_ASCII | VS_TAKES_COLOR | VS_TAKES_TRACES | VS_TAKES_INDEX,
	.recalls = VS_RECALLS_EACH,
	.run = run_info,
};
