#include "dryrun.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dryrun_json.h"
#include "framework.h"
#include "framework_jax.h"
#include "info.h"
#include "report_text.h"
#include "steps.h"

#define TOP 5 /* rows of who was live at the peak */

const char *vs_dryrun_get_name(enum vs_dryrun_verdict verdict)
{
	static const char *const names[] = {
		[VS_DRYRUN_FITS] = "fits",       [VS_DRYRUN_TOO_BIG] = "does-not-fit",
		[VS_DRYRUN_WENT_ON] = "went-on", [VS_DRYRUN_FAILED] = "failed",
		[VS_DRYRUN_NO_GPU] = "no-gpu",   [VS_DRYRUN_UNKNOWN] = "unknown",
	};

	return names[verdict];
}

uint64_t vs_dryrun_get_context(const struct vs_dryrun *dryrun, const struct vs_dryrun_card *card)
{
	return dryrun->notes->context_size * card->nr_processes;
}

uint64_t vs_dryrun_get_left(const struct vs_dryrun *dryrun, const struct vs_dryrun_card *card)
{
	uint64_t taken = vs_dryrun_get_context(dryrun, card) + card->peak_reserved;

	return taken < card->total_size ? card->total_size - taken : 0;
}

bool vs_dryrun_has_hint(const struct vs_dryrun *dryrun)
{
	return !dryrun->nr_cards && dryrun->notes->jax_wants_file;
}

/* ---- Gathering ------------------------------------------------------------------------------ */

static struct vs_dryrun_card *get_card(struct vs_dryrun *dryrun,
				       const struct vs_replay_device *device)
{
	struct vs_dryrun_card *more;
	size_t i;

	/* The number of a device is the process's own, its identity is not. */
	for (i = 0; i < dryrun->nr_cards; i++)
		if (!memcmp(dryrun->cards[i].uuid, device->uuid, sizeof(device->uuid)))
			return &dryrun->cards[i];
	more = realloc(dryrun->cards, (dryrun->nr_cards + 1) * sizeof(*more));
	if (!more)
		return NULL;
	dryrun->cards = more;
	more += dryrun->nr_cards++;
	*more = (struct vs_dryrun_card){.total_size = device->total_size,
					.compute_capability = device->compute_capability};
	memcpy(more->uuid, device->uuid, sizeof(more->uuid));
	snprintf(more->name, sizeof(more->name), "%s", device->name ? device->name : "a GPU");
	return more;
}

static int add_device(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_dryrun_card *card = get_card(story->context, device);

	if (!card)
		return -VS_ERR_NO_MEMORY;
	card->nr_processes++;
	card->peak_live += peaks->live.bytes;
	card->peak_reserved += peaks->reserved.bytes;
	card->nr_ooms += vs_failures_count_device(&story->analysis.failures, device);
	return 0;
}

/* Time 0 of the trace, since 1970. */
static uint64_t get_start(const struct vs_story *story)
{
	const char *start = vs_reader_get_info(story->reader, VS_INFO_START);

	return start ? strtoull(start, NULL, 10) : 0;
}

static int keep_failure(struct vs_story *story, const struct vs_failure_group *group)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	const char *api = vs_definitions_get_name(definitions, group->api);
	struct vs_dryrun *dryrun = story->context;
	struct vs_dryrun_failure *first = &dryrun->first;

	*first = (struct vs_dryrun_failure){
		.is_there = true,
		.wall_ns = get_start(story) + group->first_oom.at.time_ns,
		.trace = dryrun->nr_traces,
		.failure = group->first_oom,
		.ordinal = group->device->ordinal,
	};
	memcpy(first->uuid, group->device->uuid, sizeof(first->uuid));
	snprintf(first->api, sizeof(first->api), "%s", api ? api : "");
	if (group->pool)
		snprintf(first->pool, sizeof(first->pool), "%s", group->pool->name);
	if (first->failure.at.phase) {
		snprintf(first->phase, sizeof(first->phase), "%s", first->failure.at.phase);
		first->failure.at.phase = first->phase;
	}
	return vs_site_names_put(story->names, group->site, group->api, first->site,
				 sizeof(first->site));
}

static int find_first_failure(struct vs_story *story)
{
	const struct vs_failures *failures = &story->analysis.failures;
	struct vs_dryrun *dryrun = story->context;
	int err = 0;
	size_t i;

	for (i = 0; i < failures->nr_groups && !err; i++) {
		const struct vs_failure_group *group = failures->groups[i];

		if (group->nr_ooms &&
		    (!dryrun->first.is_there ||
		     get_start(story) + group->first_oom.at.time_ns < dryrun->first.wall_ns))
			err = keep_failure(story, group);
	}
	return err;
}

static int add_word(struct vs_dryrun_words *words, const char *name, const char *value)
{
	struct vs_dryrun_word *more;
	size_t i;

	for (i = 0; i < words->nr; i++)
		if (!strcmp(words->list[i].name, name))
			return 0;
	more = realloc(words->list, (words->nr + 1) * sizeof(*more));
	if (!more)
		return -VS_ERR_NO_MEMORY;
	words->list = more;
	more += words->nr++;
	snprintf(more->name, sizeof(more->name), "%s", name);
	snprintf(more->value, sizeof(more->value), "%s", value);
	return 0;
}

/* Which framework it was, and the variables that change what its allocator does. */
static int add_words(struct vs_story *story)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	struct vs_dryrun *dryrun = story->context;
	const char *name, *value;
	size_t i = 0;
	int err = 0;

	while (!err && vs_framework_next_setting(story, &i, &name, &value))
		err = add_word(&dryrun->settings, name, value);
	for (i = 0; i < definitions->nr_facts && !err; i++)
		err = add_word(&dryrun->facts, definitions->facts[i].key,
			       definitions->facts[i].value);
	return err;
}

static int tell_device(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_device_state state;
	int err = add_device(story, device);

	if (err)
		return err;
	if (story->json)
		return vs_dryrun_json_put_device(story, device);
	err = vs_device_state_init(&state, &story->analysis, device, VS_AT_DEFAULT, 0);
	if (err)
		return err;
	err = vs_report_text_put_failures(story, &state);
	vs_framework_jax_put_text(story, device);
	if (!err)
		err = vs_report_text_put_peak(story, device, vs_story_get_top(story, TOP));
	vs_device_state_fini(&state);
	return err;
}

static int tell_trace(struct vs_story *story)
{
	struct vs_dryrun *dryrun = story->context;
	struct vs_framework_jax jax;
	int err = find_first_failure(story);

	if (vs_framework_jax_find(story, &jax))
		dryrun->hides_failures |= jax.is_hidden;
	dryrun->traces[dryrun->nr_traces].is_cut = story->state.nr_lost || story->state.nr_dropped;
	if (!err)
		err = add_words(story);
	if (!err)
		err = vs_steps_derive(&story->analysis, false);
	return err ? err : vs_story_tell_devices(story, tell_device);
}

/* ---- One after the other -------------------------------------------------------------------- */

static int visit_text(struct vs_dryrun *dryrun, struct vs_dryrun_trace *trace, const char *path)
{
	size_t size;
	FILE *file = open_memstream(&trace->text, &size);
	int status;

	if (!file)
		return -VS_ERR_NO_MEMORY;
	status = vs_story_visit(dryrun->options, path, file, NULL, tell_trace, dryrun);
	dryrun->nr_unread += status != VS_EXIT_DONE;
	return fclose(file) == 0 ? 0 : -VS_ERR_NO_MEMORY;
}

static void visit_json(struct vs_dryrun *dryrun, const char *path, struct vs_json *json)
{
	unsigned int depth = json->depth;
	int status;

	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "trace", path);
	status = vs_story_visit(dryrun->options, path, stdout, json, tell_trace, dryrun);
	while (json->depth > depth + 1)
		vs_json_end(json);
	if (status == VS_EXIT_FAILED)
		vs_json_put_bool(json, "failed", true);
	vs_json_end_object(json);
	dryrun->nr_unread += status != VS_EXIT_DONE;
}

static bool is_cut(const struct vs_dryrun *dryrun)
{
	size_t i;

	for (i = 0; i < dryrun->nr_traces; i++)
		if (dryrun->traces[i].is_cut)
			return true;
	return dryrun->nr_unread;
}

static enum vs_dryrun_verdict judge(const struct vs_dryrun *dryrun)
{
	bool ended_well = WIFEXITED(dryrun->wait_status) && !WEXITSTATUS(dryrun->wait_status);

	if (dryrun->first.is_there)
		return ended_well ? VS_DRYRUN_WENT_ON : VS_DRYRUN_TOO_BIG;
	if (!ended_well)
		return VS_DRYRUN_FAILED;
	if (is_cut(dryrun) || !dryrun->paths)
		return VS_DRYRUN_UNKNOWN;
	return dryrun->nr_cards ? VS_DRYRUN_FITS : VS_DRYRUN_NO_GPU;
}

int vs_dryrun_init(struct vs_dryrun *dryrun, const struct vs_options *options,
		   const struct vs_run_notes *notes, int wait_status, char **paths,
		   struct vs_json *json)
{
	size_t nr = 0;
	int err = 0;

	*dryrun = (struct vs_dryrun){
		.options = options, .notes = notes, .wait_status = wait_status, .paths = paths};
	while (paths && paths[nr])
		nr++;
	dryrun->traces = calloc(nr + 1, sizeof(*dryrun->traces));
	if (!dryrun->traces)
		return -VS_ERR_NO_MEMORY;
	if (json)
		vs_json_begin_array(json, "traces");
	for (; dryrun->nr_traces < nr && !err; dryrun->nr_traces++) {
		if (json)
			visit_json(dryrun, paths[dryrun->nr_traces], json);
		else
			err = visit_text(dryrun, &dryrun->traces[dryrun->nr_traces],
					 paths[dryrun->nr_traces]);
	}
	if (json)
		vs_json_end_array(json);
	dryrun->verdict = judge(dryrun);
	if (err)
		vs_dryrun_fini(dryrun);
	return err;
}

void vs_dryrun_fini(struct vs_dryrun *dryrun)
{
	size_t i;

	for (i = 0; i < dryrun->nr_traces; i++)
		free(dryrun->traces[i].text);
	free(dryrun->traces);
	free(dryrun->cards);
	free(dryrun->settings.list);
	free(dryrun->facts.list);
	memset(dryrun, 0, sizeof(*dryrun));
}
