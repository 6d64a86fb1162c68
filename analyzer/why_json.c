#include "why_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report_json.h"

void vs_why_json_put_known(struct vs_json *json, const char *key, bool is_known, uint64_t number)
{
	if (is_known)
		vs_json_put_number(json, key, number);
	else
		vs_json_put_null(json, key);
}

void vs_why_json_put_numbers(struct vs_json *json, const struct vs_why *why)
{
	uint64_t below = why->pool ? vs_hole_set_get_below(&why->pool->holes, why->requested) : 0;

	vs_why_json_put_known(json, "free_bytes", why->is_free_known, why->free_size);
	vs_json_put_number(json, "hole_bytes", why->hole_bytes);
	vs_json_put_number(json, "largest_hole_bytes", why->largest_hole);
	vs_json_put_number(json, "usable_hole_bytes", why->usable_bytes);
	vs_json_put_number(json, "largest_usable_hole_bytes", why->usable_largest);
	vs_json_put_number(json, "holes_below_request_bytes", below);
	vs_json_put_real(json, "holes_below_request_share",
			 why->hole_bytes ? (double)below / (double)why->hole_bytes : 0);
	vs_json_put_number(json, "releasable_bytes", why->releasable_bytes);
	vs_json_put_number(json, "taken_in_advance_bytes", why->grabbed_bytes);
	vs_json_put_number(json, "kept_bytes", why->kept_bytes);
	vs_why_json_put_known(json, "outside_bytes", why->is_room_known, why->outside_bytes);
	vs_json_put_number(json, "needed_bytes", why->needed);
	vs_json_put_number(json, "lacking_bytes", why->lacking);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static void put_guesses(struct vs_json *json, const struct vs_why *why)
{
	int kind;

	vs_json_begin_array(json, "hypotheses");
	for (kind = VS_WHY_UNKNOWN + 1; kind < VS_NR_WHY; kind++) {
		const struct vs_why_guess *guess = &why->guesses[kind];

		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "verdict", vs_why_get_name((enum vs_why_kind)kind));
		vs_json_put_bool(json, "holds", guess->holds);
		vs_json_put_number(json, "gives_bytes", guess->gives);
		vs_json_put_number(json, "lacking_bytes", guess->lacking);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

static int put_groups(struct vs_story *story, const struct vs_address_neighbour *groups, size_t nr)
{
	struct vs_json *json = story->json;
	size_t i;
	int err = 0;

	vs_json_begin_array(json, "sites");
	for (i = 0; i < nr && !err; i++) {
		const struct vs_account *account =
			story->analysis.replay->accounts[groups[i].account->index];

		vs_json_begin_object(json, NULL);
		vs_json_put_number(json, "blocks", groups[i].nr_blocks);
		vs_json_put_number(json, "bytes", groups[i].bytes);
		vs_json_put_number(json, "first_ns", groups[i].first_ns);
		vs_json_put_number(json, "steps", groups[i].nr_births);
		err = vs_story_put_json_site(story, account->site, account->api);
		if (!err)
			vs_json_end_object(json);
	}
	if (!err)
		vs_json_end_array(json);
	return err;
}

static void put_address(struct vs_json *json, const char *key, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	vs_json_put_text(json, key, text);
}

int vs_why_json_put_set(struct vs_story *story, const struct vs_pinning_set *set)
{
	struct vs_json *json = story->json;
	struct vs_address_neighbour *groups;
	size_t nr_groups;
	int err = vs_measure_pinning_group(set, &groups, &nr_groups);

	if (err)
		return err;
	vs_json_begin_object(json, NULL);
	put_address(json, "address", set->base);
	vs_json_put_number(json, "hole_bytes", set->hole_bytes);
	vs_json_put_number(json, "blocks", set->nr_blocks);
	vs_json_put_number(json, "block_bytes", set->block_bytes);
	vs_json_put_real(json, "bytes_per_byte",
			 (double)set->block_bytes / (double)set->hole_bytes);
	err = put_groups(story, groups, nr_groups);
	free(groups);
	if (!err)
		vs_json_end_object(json);
	return err;
}

static int put_pinning(struct vs_story *story, const struct vs_why_details *details)
{
	struct vs_json *json = story->json;
	size_t i;
	int err = 0;

	if (!details->has_pinning) {
		vs_json_put_null(json, "pinning");
		return 0;
	}
	vs_json_begin_object(json, "pinning");
	vs_json_put_number(json, "blocks_beside_holes", details->nr_beside);
	vs_json_put_number(json, "bytes_beside_holes", details->beside_bytes);
	vs_json_begin_array(json, "sets");
	for (i = 0; i < details->pinning.nr_sets && !err; i++)
		err = vs_why_json_put_set(story, &details->pinning.sets[i]);
	if (err)
		return err;
	vs_json_end_array(json);
	vs_json_put_number(json, "segments_to_empty", details->nr_emptied);
	vs_json_put_number(json, "segments_to_empty_bytes", details->emptied_size);
	vs_json_put_number(json, "segments_to_empty_block_bytes", details->emptied_bytes);
	vs_json_end_object(json);
	return 0;
}

static int put_about(struct vs_story *story, const struct vs_why_details *details)
{
	int err;

	if (!details->account) {
		vs_json_put_null(story->json, "about");
		return 0;
	}
	vs_json_begin_object(story->json, "about");
	err = vs_story_put_json_site(story, details->account->site, details->account->api);
	if (!err)
		vs_json_end_object(story->json);
	return err;
}

static int put_evidence(struct vs_story *story, const struct vs_why_details *details)
{
	const struct vs_device_state *state = details->state;
	struct vs_json *json = story->json;
	int err;

	vs_json_begin_object(json, "evidence");
	vs_why_json_put_numbers(json, &state->why);
	vs_report_json_put_where(story, state);
	put_guesses(json, &state->why);
	err = put_about(story, details);
	if (!err)
		err = put_pinning(story, details);
	if (!err)
		vs_json_end_object(json);
	return err;
}

static void put_remedies(struct vs_json *json, const struct vs_why_details *details)
{
	size_t i;

	vs_json_begin_array(json, "remedies");
	for (i = 0; i < details->nr_remedies; i++) {
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "id", details->remedies[i].id);
		vs_json_put_text(json, "text", details->remedies[i].text);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

/* Who asked, and what the pool said. */
static int put_request(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_failure_group *group = state->oom;
	struct vs_json *json = story->json;
	int err;

	vs_why_json_put_known(json, "requested_bytes", group, state->why.requested);
	vs_json_put_text(json, "pool", group && group->pool ? group->pool->name : NULL);
	vs_json_put_text(json, "text",
			 group ? vs_definitions_get_name(&story->analysis.replay->definitions,
							 group->last_oom.text)
			       : NULL);
	vs_json_put_number(json, "failures", group ? group->nr_ooms : 0);
	vs_json_put_number(json, "served_after", state->nr_after);
	if (!group) {
		vs_json_put_null(json, "asked_by");
		return 0;
	}
	vs_json_begin_object(json, "asked_by");
	err = vs_story_put_json_site(story, group->site, group->api);
	if (!err)
		vs_json_end_object(json);
	return err;
}

static int put_verdict(struct vs_story *story, const struct vs_why_details *details)
{
	const struct vs_device_state *state = details->state;
	const struct vs_why *why = &state->why;
	struct vs_json *json = story->json;
	int err;

	vs_json_begin_object(json, NULL);
	vs_json_put_number(json, "time_ns", state->at.time_ns);
	vs_story_put_json_instant(story, "at", &state->at);
	vs_json_put_number(json, "device", state->device->ordinal);
	vs_json_put_text(json, "occasion", vs_why_get_occasion(why->occasion));
	err = put_request(story, state);
	if (err)
		return err;
	vs_json_put_text(json, "verdict", vs_why_get_name(why->kind));
	vs_json_put_text(json, "runner_up",
			 why->runner_up ? vs_why_get_name(why->runner_up) : NULL);
	vs_json_put_text(json, "runner_up_lost", details->runner_up[0] ? details->runner_up : NULL);
	err = put_evidence(story, details);
	if (err)
		return err;
	put_remedies(json, details);
	vs_json_end_object(json);
	return 0;
}

int vs_why_json_put(struct vs_story *story, const struct vs_device_state *state)
{
	struct vs_why_details details;
	int err = vs_why_details_init(&details, story, state);

	if (err)
		return err;
	err = put_verdict(story, &details);
	vs_why_details_fini(&details);
	return err;
}
