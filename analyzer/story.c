#include "story.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "progress.h"
#include "python_names.h"
#include "siblings.h"
#include "sources_report.h"
#include "trace_open.h"
#include "trace_source.h"
#include "units.h"

#define LEAST_COMMAND 16 /* columns of the command line that are always shown */

/* ---- A trace -------------------------------------------------------------------------------- */

static int check_device(const struct vs_story *story)
{
	uint32_t device = story->options->device;

	if (device == VS_OPTIONS_ANY_DEVICE || vs_replay_get_device(story->analysis.replay, device))
		return VS_EXIT_DONE;
	return vs_command_fail_text(story->path, "has no device %" PRIu32, device);
}

/* Whether the index says enough. */
static bool can_recall(const struct vs_options *options)
{
	if (options->from_ns || options->to_ns != UINT64_MAX)
		return false;
	return options->command->recalls & VS_RECALLS(options->at);
}

/* What comes behind a window was not read, and how the program ended is told there. */
static int look_at_end(struct vs_story *story)
{
	const struct vs_index_directory *said = NULL;
	bool is_cut = story->options->to_ns != UINT64_MAX;
	struct vs_record record;
	int got = 0;

	if (is_cut && story->index)
		said = vs_trace_index_get(story->index);
	if (is_cut && !said)
		while ((got = story->source.next(story->source.context, &record)) > 0)
			;
	vs_reader_get_state(story->reader, &story->state);
	if (said) {
		story->state.is_complete = said->is_complete;
		story->state.nr_lost = said->nr_lost;
	}
	return got;
}

/* The state of the reader counts what was read, so it is asked before any third pass. */
static int analyse(struct vs_story *story)
{
	struct vs_window window = {story->options->from_ns, story->options->to_ns};
	int ret = 0;

	if (can_recall(story->options) && story->index && story->options->at == VS_AT_TIME)
		vs_trace_index_expect(story->index, story->options->at_ns);
	if (can_recall(story->options))
		ret = vs_analysis_recall(&story->analysis, &story->source, story->index);
	if (ret > 0) {
		const struct vs_index_directory *said = vs_trace_index_get(story->index);

		story->state = (struct vs_reader_state){.is_complete = said->is_complete,
							.nr_lost = said->nr_lost};
		return 0;
	}
	if (!ret)
		ret = vs_analysis_init_indexed(&story->analysis, &story->source, &window,
					       story->index, &story->options->command->wants);
	return ret ? ret : look_at_end(story);
}

static int tell_opened(struct vs_story *story, vs_story_teller tell)
{
	int status, err = analyse(story);

	if (err)
		return vs_command_fail(story->path, err);
	err = vs_site_names_create(&story->names, &story->analysis.replay->definitions);
	status = err ? vs_command_fail(story->path, err) : check_device(story);
	if (status)
		goto end;
	err = tell(story);
	if (err == -VS_ERR_INVALID)
		status = vs_command_fail_text(story->path, "has no out-of-memory to look at");
	else if (err)
		status = vs_command_fail(story->path, err);
end:
	vs_site_names_destroy(story->names);
	vs_analysis_fini(&story->analysis);
	return status;
}

int vs_story_visit(const struct vs_options *options, const char *path, FILE *file,
		   struct vs_json *json, vs_story_teller tell, void *context)
{
	struct vs_story story = {.path = path,
				 .options = options,
				 .json = json,
				 .context = context,
				 .style = {file, options->width, options->ascii, options->color}};
	int status, finished, err = 0;

	if (vs_trace_open_reader(&story.reader, path))
		return VS_EXIT_FAILED;
	vs_progress_enable(path, options->quiet);
	story.source = vs_trace_source_make(story.reader);
	/* It is beside the trace, not beside the log that may have been named instead. */
	if (!options->no_index && vs_trace_open_is_trace(path) > 0)
		err = vs_trace_index_open(&story.index, path, story.reader);
	status = err ? vs_command_fail(path, err) : tell_opened(&story, tell);
	vs_trace_index_close(story.index);
	finished = vs_trace_open_finish(story.reader, path);
	return status ? status : finished;
}

static int tell_trace(const struct vs_options *options, const char *path, struct vs_json *json,
		      vs_story_teller tell)
{
	return vs_story_visit(options, path, stdout, json, tell, NULL);
}

/* A failure outweighs a damaged trace, and both outweigh success. */
static int join_status(int a, int b)
{
	if (a == VS_EXIT_FAILED || b == VS_EXIT_FAILED)
		return VS_EXIT_FAILED;
	return a ? a : b;
}

static int tell_json(const struct vs_options *options, const char *schema, vs_story_teller tell)
{
	bool is_list = options->nr_traces > 1;
	struct vs_json json;
	size_t i;
	int told, status = VS_EXIT_DONE;

	vs_json_init(&json, stdout);
	vs_json_begin_object(&json, NULL);
	vs_json_put_text(&json, "schema", schema);
	if (is_list)
		vs_json_begin_array(&json, "traces");
	for (i = 0; i < options->nr_traces; i++) {
		if (is_list)
			vs_json_begin_object(&json, NULL);
		vs_json_put_text(&json, "trace", options->traces[i]);
		told = tell_trace(options, options->traces[i], &json, tell);
		status = join_status(status, told);
		while (json.depth > (is_list ? 3u : 1u))
			vs_json_end(&json);
		/* Whoever reads half an object must not take it for a whole. */
		if (told == VS_EXIT_FAILED)
			vs_json_put_bool(&json, "failed", true);
		if (is_list)
			vs_json_end_object(&json);
	}
	if (is_list)
		vs_json_end_array(&json);
	vs_json_end_object(&json);
	return status;
}

static int tell_text(const struct vs_options *options, vs_story_teller tell)
{
	int status = VS_EXIT_DONE;
	size_t i;

	for (i = 0; i < options->nr_traces; i++) {
		if (i)
			putchar('\n');
		status = join_status(status, tell_trace(options, options->traces[i], NULL, tell));
	}
	return status;
}

int vs_story_tell(struct vs_options *options, const char *schema, vs_story_teller tell)
{
	struct vs_siblings siblings = {0};
	int status;

	if (options->run && vs_siblings_gather(&siblings, options))
		status = vs_command_fail(NULL, -VS_ERR_NO_MEMORY);
	else if (options->json)
		status = tell_json(options, schema, tell);
	else
		status = tell_text(options, tell);
	vs_siblings_fini(&siblings);
	return status;
}

int vs_story_run(const struct vs_command *command, int argc, char **argv, const char *schema,
		 vs_story_teller tell)
{
	struct vs_options options;
	int status;

	if (!vs_options_parse(&options, command, argc, argv, &status))
		return status;
	return vs_story_tell(&options, schema, tell);
}

/* With `--at oom` only those that ran out, unless none did: then there is something to complain. */
static bool has_instant(const struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_failures *failures = &story->analysis.failures;

	return story->options->at != VS_AT_OOM || vs_failures_get_last(failures, device) ||
	       !vs_failures_get_last(failures, NULL);
}

const struct vs_replay_device *vs_story_next_device(const struct vs_story *story, size_t *i)
{
	const struct vs_replay *replay = story->analysis.replay;
	uint32_t wanted = story->options->device;

	while (*i < replay->nr_devices) {
		const struct vs_replay_device *device = replay->devices[(*i)++];

		if (device->ordinal == wanted)
			return device;
		if (wanted == VS_OPTIONS_ANY_DEVICE &&
		    vs_analysis_has_device(&story->analysis, device) && has_instant(story, device))
			return device;
	}
	return NULL;
}

/* ---- Text ----------------------------------------------------------------------------------- */

/* What a shell takes as it is; letters of other alphabets, too. */
static bool is_plain(const char *argument)
{
	static const char signs[] = "%+,-./:=@_";

	for (; *argument; argument++)
		if (!isalnum((unsigned char)*argument) && !strchr(signs, *argument) &&
		    (unsigned char)*argument < 0x80)
			return false;
	return true;
}

/* Text that is put together, cut to size. */
struct cut_text {
	char *out;
	size_t size;
	size_t used;
};

static void add_cut(struct cut_text *text, const char *added, size_t added_size)
{
	size_t room = text->size - text->used - 1, size = added_size < room ? added_size : room;

	memcpy(text->out + text->used, added, size);
	text->used += size;
	text->out[text->used] = '\0';
}

/* So that a shell would read it as one. */
static void add_quoted(struct cut_text *text, const char *argument)
{
	bool is_quoted = !*argument || !is_plain(argument);
	size_t size;

	if (is_quoted)
		add_cut(text, "'", 1);
	for (; *argument; argument += size) {
		size = strcspn(argument, "'");
		add_cut(text, argument, size);
		if (argument[size]) {
			add_cut(text, "'\\''", 4);
			size++;
		}
	}
	if (is_quoted)
		add_cut(text, "'", 1);
}

void vs_story_put_command(const struct vs_story *story, char *out, size_t size)
{
	const char *command = vs_reader_get_info(story->reader, VS_INFO_COMMAND);
	struct cut_text text = {out, size, 0};
	char argument[1024];

	snprintf(out, size, "%s", story->path);
	while (command && vs_info_get_argument(&command, argument, sizeof(argument))) {
		if (text.used)
			add_cut(&text, " ", 1);
		add_quoted(&text, argument);
	}
}

void vs_story_put_path(const struct vs_story *story, char *out, size_t size)
{
	struct cut_text text = {out, size, 0};

	out[0] = '\0';
	/* Not to be taken for an option. */
	if (story->path[0] == '-')
		add_cut(&text, "./", 2);
	add_quoted(&text, story->path);
}

static void add_device(struct vs_text_line *line, const struct vs_replay_device *device)
{
	char text[VS_UNITS_MAX];

	vs_text_add(line, "GPU %" PRIu32, device->ordinal);
	if (device->name) {
		vs_text_add(line, " ");
		vs_text_add_name(line, device->name, VS_TEXT_NAME_COLUMNS);
	}
	if (device->total_size)
		vs_text_add(line, " %s", vs_units_put_bytes(text, device->total_size));
	if (device->is_simulated)
		vs_text_add(line, " (simulated)");
}

static size_t count_devices(const struct vs_story *story)
{
	size_t i = 0, nr = 0;

	while (vs_story_next_device(story, &i))
		nr++;
	return nr;
}

void vs_story_put_device(const struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_text_line line = {0};

	if (count_devices(story) < 2)
		return;
	vs_text_put(&story->style, &line);
	add_device(&line, device);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_put(&story->style, &line);
}

static uint64_t get_lost(const struct vs_story *story)
{
	uint64_t seen = story->analysis.replay->counters.nr_lost;

	return story->state.nr_lost > seen ? story->state.nr_lost : seen;
}

static void put_notes(const struct vs_story *story)
{
	const struct vs_replay_counters *counters = &story->analysis.replay->counters;
	bool ascii = story->options->ascii;
	struct vs_text_line line = {0};
	char number[VS_UNITS_MAX], time[VS_UNITS_MAX];

	if (vs_reader_get_info(story->reader, VS_INFO_JAX_ALLOCATOR)) {
		vs_text_add(&line,
			    "  note: --jax-allocator=%s: JAX took memory otherwise than it does "
			    "without",
			    vs_reader_get_info(story->reader, VS_INFO_JAX_ALLOCATOR));
		vs_text_put(&story->style, &line);
	}
	if (story->state.nr_dropped) {
		vs_text_add(&line,
			    "  note: %s events before %s were dropped (--max-size): what was alive "
			    "then is known, other numbers begin there",
			    vs_units_put_number(number, story->state.nr_dropped, ascii),
			    vs_units_put_time(time, story->state.dropped_until_ns));
		vs_text_put(&story->style, &line);
	}
	if (get_lost(story)) {
		vs_text_add(&line, "  note: %s events were lost: all numbers may be too low",
			    vs_units_put_number(number, get_lost(story), ascii));
		vs_text_put(&story->style, &line);
	}
	if (!story->state.is_complete) {
		vs_text_add(&line, "  note: %s",
			    story->state.is_running ? "the program is still running"
						    : "the program was killed, crashed, or left by "
						      "_exit or exec; the trace holds all until "
						      "then");
		vs_text_put(&story->style, &line);
	}
	if (counters->nr_overlaps) {
		vs_text_add(&line,
			    "  note: %s times something new lay over something old, which "
			    "was taken as freed",
			    vs_units_put_number(number, counters->nr_overlaps, ascii));
		vs_text_put(&story->style, &line);
	}
	if (counters->nr_orphan_blocks) {
		vs_text_add(&line, "  note: %s pool blocks lie in memory that was not seen",
			    vs_units_put_number(number, counters->nr_orphan_blocks, ascii));
		vs_text_put(&story->style, &line);
	}
	/* Nothing follows then. */
	if (!count_devices(story)) {
		vs_text_add(&line, "  note: nothing in it asked for memory");
		vs_text_put(&story->style, &line);
	}
}

/* Duration, devices, events: what stands behind the command. */
static void add_facts(struct vs_text_line *line, const struct vs_story *story)
{
	const struct vs_replay *replay = story->analysis.replay;
	bool ascii = story->options->ascii;
	char number[VS_UNITS_MAX];
	size_t i = 0;

	vs_text_add(line, " \u00b7 %s", vs_units_put_time(number, story->analysis.duration_ns));
	if (count_devices(story) == 1) {
		vs_text_add(line, " \u00b7 ");
		add_device(line, vs_story_next_device(story, &i));
	} else if (count_devices(story)) {
		vs_text_add(line, " \u00b7 %zu GPUs", count_devices(story));
	}
	vs_text_add(line, " \u00b7 %s event%s",
		    vs_units_put_number(number, replay->counters.nr_events, ascii),
		    replay->counters.nr_events == 1 ? "" : "s");
	if (get_lost(story))
		vs_text_add(line, ", %s lost", vs_units_put_number(number, get_lost(story), ascii));
	else
		vs_text_add(line, ", none lost");
}

/* A line that begins with `text`, which may be long: it makes room for the rest, its end says most.
 */
static void put_with_facts(const struct vs_story *story, char *text,
			   const struct vs_text_line *facts)
{
	size_t room = story->style.width, width = vs_text_get_width(facts->bytes);
	struct vs_text_line line = {0};

	vs_text_keep_tail(text, room > width + LEAST_COMMAND ? room - width : LEAST_COMMAND,
			  story->options->ascii);
	vs_text_add(&line, "%s", text);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_add(&line, "%s", facts->bytes);
	vs_text_put(&story->style, &line);
}

/* Of several traces, which one: commands of workers are all alike, and cut. */
static void put_which(const struct vs_story *story)
{
	const char *pid = vs_reader_get_info(story->reader, VS_INFO_PID);
	struct vs_text_line facts = {0};
	char path[512];

	if (story->options->nr_traces < 2)
		return;
	if (pid)
		vs_text_add(&facts, " \u00b7 process %s", pid);
	snprintf(path, sizeof(path), "%s", story->path);
	put_with_facts(story, path, &facts);
}

void vs_story_put_headline(const struct vs_story *story)
{
	struct vs_text_line facts = {0};
	char command[512];

	put_which(story);
	add_facts(&facts, story);
	vs_story_put_command(story, command, sizeof(command));
	put_with_facts(story, command, &facts);
	put_notes(story);
}

void vs_story_add_instant(struct vs_text_line *line, const struct vs_instant *instant)
{
	char text[VS_UNITS_MAX];

	vs_text_add(line, " at %s", vs_units_put_time(text, instant->time_ns));
	if (instant->phase) {
		vs_text_add(line, " in ");
		vs_text_add_name(line, instant->phase, VS_TEXT_NAME_COLUMNS);
	}
	if (instant->has_step)
		vs_text_add(line, "%s step %" PRIu64, instant->phase ? " of" : " in",
			    instant->step);
}

int vs_story_add_site(struct vs_story *story, struct vs_text_line *line,
		      const struct vs_account *account)
{
	char text[1024];
	int err = vs_site_names_put(story->names, account->site, account->api, text, sizeof(text));

	if (!err)
		vs_text_add(line, "%s", text);
	return err;
}

int vs_story_tell_devices(struct vs_story *story, vs_story_device_teller tell)
{
	const struct vs_replay_device *device;
	size_t i = 0;
	int err = 0;

	if (story->json) {
		vs_story_put_json_trace(story);
		vs_json_begin_array(story->json, "devices");
	} else {
		vs_story_put_headline(story);
	}
	while (!err && (device = vs_story_next_device(story, &i))) {
		if (story->json) {
			vs_json_begin_object(story->json, NULL);
			vs_story_put_json_device(story, device);
		} else {
			vs_story_put_device(story, device);
		}
		err = tell(story, device);
		if (story->json && !err)
			vs_json_end_object(story->json);
	}
	if (story->json && !err)
		vs_json_end_array(story->json);
	return err;
}

size_t vs_story_get_top(const struct vs_story *story, size_t own)
{
	return story->options->top ? story->options->top : own;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static bool is_simulated(const struct vs_story *story)
{
	const char *said = vs_reader_get_info(story->reader, VS_INFO_SIMULATED);
	const struct vs_replay *replay = story->analysis.replay;
	size_t i;

	for (i = 0; i < replay->nr_devices; i++)
		if (replay->devices[i]->is_simulated)
			return true;
	return said && !strcmp(said, "yes");
}

void vs_story_put_json_trace(struct vs_story *story)
{
	const struct vs_replay_counters *counters = &story->analysis.replay->counters;
	struct vs_json *json = story->json;
	char command[4096];

	vs_story_put_command(story, command, sizeof(command));
	vs_json_put_text(json, "command", command);
	vs_json_put_number(json, "duration_ns", story->analysis.duration_ns);
	vs_json_put_number(json, "events", counters->nr_events);
	vs_json_put_number(json, "lost_events", get_lost(story));
	vs_json_put_number(json, "dropped_events", story->state.nr_dropped);
	vs_json_put_bool(json, "complete", story->state.is_complete);
	vs_json_put_bool(json, "damaged", story->state.is_damaged);
	vs_json_put_bool(json, "running", story->state.is_running);
	vs_json_put_bool(json, "simulated", is_simulated(story));
	vs_json_put_text(json, "jax_allocator",
			 vs_reader_get_info(story->reader, VS_INFO_JAX_ALLOCATOR));
	vs_json_put_number(json, "overlaps", counters->nr_overlaps);
	vs_json_put_number(json, "orphan_blocks", counters->nr_orphan_blocks);
	vs_json_put_number(json, "unmatched_frees", counters->nr_unmatched_frees);
	vs_sources_report_put_json(story);
}

void vs_story_put_json_device(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_json *json = story->json;

	vs_json_put_number(json, "device", device->ordinal);
	vs_json_put_text(json, "name", device->name);
	vs_json_put_number(json, "total_bytes", device->total_size);
	vs_json_put_bool(json, "simulated", device->is_simulated);
}

void vs_story_put_json_instant(struct vs_story *story, const char *key,
			       const struct vs_instant *instant)
{
	struct vs_json *json = story->json;

	vs_json_begin_object(json, key);
	vs_json_put_number(json, "time_ns", instant->time_ns);
	if (instant->has_step)
		vs_json_put_number(json, "step", instant->step);
	else
		vs_json_put_null(json, "step");
	vs_json_put_text(json, "phase", instant->phase);
	vs_json_end_object(json);
}

static void put_frame(struct vs_json *json, const struct vs_site_frame *frame,
		      const struct vs_symbol *symbol)
{
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "function", symbol->function);
	vs_json_put_text(json, "file", symbol->file);
	if (symbol->line)
		vs_json_put_number(json, "line", symbol->line);
	else
		vs_json_put_null(json, "line");
	vs_json_put_text(json, "module", symbol->module);
	vs_json_put_text(json, "address", address);
	vs_json_put_bool(json, "inlined", symbol->is_inlined);
	vs_json_end_object(json);
}

/* What a framework says the memory was for: only of its own blocks. */
static void put_operation(struct vs_story *story, const struct vs_site *site)
{
	struct vs_symbol op;

	vs_definitions_need_frames(site);
	if (!site->nr_frames || !vs_frame_is(site->frames[0].address, VS_FRAME_OP))
		return;
	vs_python_names_resolve(&story->analysis.replay->definitions, site->frames[0].address, &op);
	vs_json_begin_object(story->json, "operation");
	vs_json_put_text(story->json, "name", op.function);
	vs_json_put_text(story->json, "region", op.file);
	vs_json_put_text(story->json, "dtype", op.type);
	vs_json_end_object(story->json);
}

int vs_story_put_json_site(struct vs_story *story, const struct vs_site *site, uint32_t api)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	struct vs_symbol symbols[VS_SYMBOLS_FRAMES_MAX];
	char text[1024];
	uint32_t i;
	int k, nr, err;

	err = vs_site_names_put(story->names, site, api, text, sizeof(text));
	if (err)
		return err;
	vs_json_put_text(story->json, "site", text);
	vs_json_put_text(story->json, "api", vs_definitions_get_name(definitions, api));
	put_operation(story, site);
	vs_json_begin_array(story->json, "stack");
	for (i = 0; i < site->nr_frames; i++) {
		nr = vs_site_names_resolve(story->names, &site->frames[i], symbols,
					   VS_SYMBOLS_FRAMES_MAX);
		if (nr < 0)
			return nr;
		for (k = 0; k < nr; k++)
			put_frame(story->json, &site->frames[i], &symbols[k]);
	}
	vs_json_end_array(story->json);
	return 0;
}
