#include "dryrun_json.h"

#include <string.h>
#include <sys/wait.h>

#include "report_json.h"

#define TOP 50

/* 8-4-4-4-12 digits, as CUDA's tools write them. */
static void put_uuid(struct vs_json *json, const uint8_t uuid[16])
{
	char text[64];
	size_t used = 0, i;

	used += (size_t)snprintf(text, sizeof(text), "GPU-");
	for (i = 0; i < 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	vs_json_put_text(json, "uuid", text);
}

int vs_dryrun_json_put_device(struct vs_story *story, const struct vs_replay_device *device)
{
	struct vs_device_state state;
	int err = vs_device_state_init(&state, &story->analysis, device, VS_AT_DEFAULT, 0);

	if (err)
		return err;
	put_uuid(story->json, device->uuid);
	err = vs_report_json_put_failures(story, &state);
	if (!err)
		err = vs_report_json_put_peak(story, device, vs_story_get_top(story, TOP));
	vs_device_state_fini(&state);
	return err;
}

static void put_cards(const struct vs_dryrun *dryrun, struct vs_json *json)
{
	size_t i;

	vs_json_begin_array(json, "cards");
	for (i = 0; i < dryrun->nr_cards; i++) {
		const struct vs_dryrun_card *card = &dryrun->cards[i];

		vs_json_begin_object(json, NULL);
		put_uuid(json, card->uuid);
		vs_json_put_text(json, "name", card->name);
		vs_json_put_number(json, "total_bytes", card->total_size);
		vs_json_put_number(json, "processes", card->nr_processes);
		vs_json_put_number(json, "context_bytes", vs_dryrun_get_context(dryrun, card));
		vs_json_put_number(json, "peak_live_bytes", card->peak_live);
		vs_json_put_number(json, "peak_reserved_bytes", card->peak_reserved);
		vs_json_put_number(json, "left_bytes", vs_dryrun_get_left(dryrun, card));
		vs_json_put_number(json, "ooms", card->nr_ooms);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

static void put_profile(const struct vs_run_notes *notes, struct vs_json *json)
{
	if (!notes->has_card) {
		vs_json_put_null(json, "profile");
		return;
	}
	vs_json_begin_object(json, "profile");
	vs_json_put_text(json, "card", notes->profile);
	vs_json_put_text(json, "name", notes->name);
	vs_json_put_number(json, "compute_capability", notes->compute_capability);
	vs_json_put_number(json, "multiprocessors", notes->nr_multiprocessors);
	vs_json_put_number(json, "threads_per_multiprocessor", notes->threads_per_multiprocessor);
	vs_json_put_number(json, "devices", notes->nr_devices);
	vs_json_put_number(json, "total_bytes", notes->memory_size);
	vs_json_put_number(json, "context_bytes", notes->context_size);
	vs_json_put_text(json, "addresses", notes->addresses);
	vs_json_put_text(json, "backing", notes->backing);
	vs_json_end_object(json);
}

static void put_first(const struct vs_dryrun *dryrun, struct vs_json *json)
{
	const struct vs_dryrun_failure *first = &dryrun->first;
	const struct vs_failure *failure = &first->failure;

	if (!first->is_there) {
		vs_json_put_null(json, "first_oom");
		return;
	}
	vs_json_begin_object(json, "first_oom");
	vs_json_put_text(json, "trace", dryrun->paths[first->trace]);
	vs_json_put_number(json, "device", first->ordinal);
	put_uuid(json, first->uuid);
	vs_json_put_number(json, "time_ns", failure->at.time_ns);
	if (failure->at.has_step)
		vs_json_put_number(json, "step", failure->at.step);
	else
		vs_json_put_null(json, "step");
	vs_json_put_text(json, "phase", failure->at.phase);
	vs_json_put_number(json, "requested_bytes", failure->size);
	if (failure->total_size)
		vs_json_put_number(json, "free_bytes", failure->free_size);
	else
		vs_json_put_null(json, "free_bytes");
	vs_json_put_text(json, "pool", first->pool[0] ? first->pool : NULL);
	vs_json_put_text(json, "api", first->api[0] ? first->api : NULL);
	vs_json_put_text(json, "site", first->site);
	vs_json_end_object(json);
}

static void put_ending(int wait_status, struct vs_json *json)
{
	if (WIFEXITED(wait_status))
		vs_json_put_number(json, "exit_status", (uint64_t)WEXITSTATUS(wait_status));
	else
		vs_json_put_null(json, "exit_status");
	if (WIFSIGNALED(wait_status))
		vs_json_put_number(json, "signal", (uint64_t)WTERMSIG(wait_status));
	else
		vs_json_put_null(json, "signal");
}

static void put_words(struct vs_json *json, const char *key, const struct vs_dryrun_words *words)
{
	size_t i;

	vs_json_begin_object(json, key);
	for (i = 0; i < words->nr; i++)
		vs_json_put_text(json, words->list[i].name, words->list[i].value);
	vs_json_end_object(json);
}

static void put_lists(const struct vs_dryrun *dryrun, struct vs_json *json)
{
	const struct vs_run_notes *notes = dryrun->notes;
	size_t i;

	put_words(json, "facts", &dryrun->facts);
	put_words(json, "settings", &dryrun->settings);
	vs_json_begin_array(json, "hints");
	if (vs_dryrun_has_hint(dryrun))
		vs_json_put_text(json, NULL, "jax-device-file");
	if (dryrun->hides_failures)
		vs_json_put_text(json, NULL, "jax-allocator-hidden");
	vs_json_end_array(json);
	vs_json_begin_array(json, "sizes_not_real");
	for (i = 0; i < notes->nr_sizes; i++) {
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "name", notes->sizes[i].name);
		vs_json_put_number(json, "answered_bytes", notes->sizes[i].bytes);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
	vs_json_begin_array(json, "functions_missing");
	for (i = 0; i < notes->nr_missing; i++)
		vs_json_put_text(json, NULL, notes->missing[i]);
	vs_json_end_array(json);
}

void vs_dryrun_json_put(const struct vs_dryrun *dryrun, struct vs_json *json)
{
	vs_json_put_bool(json, "simulated", true);
	vs_json_put_text(json, "verdict", vs_dryrun_get_name(dryrun->verdict));
	if (dryrun->verdict == VS_DRYRUN_FITS || dryrun->verdict == VS_DRYRUN_TOO_BIG)
		vs_json_put_bool(json, "fits", dryrun->verdict == VS_DRYRUN_FITS);
	else
		vs_json_put_null(json, "fits");
	put_ending(dryrun->wait_status, json);
	put_cards(dryrun, json);
	put_profile(dryrun->notes, json);
	put_first(dryrun, json);
	put_lists(dryrun, json);
}
