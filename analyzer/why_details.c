#include "why_details.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site_order.h"
#include "units.h"

#define NR_SETS 8

/* ---- Fragmentation -------------------------------------------------------------------------- */

/* Whole segments instead of blocks beside each other, if less would have to go. */
static void compare_ways(struct vs_why_details *details)
{
	const struct vs_measure_pinning *pinning = &details->pinning;
	const struct vs_why *why = &details->state->why;
	uint64_t bytes, wanted = why->needed;
	size_t nr, i;

	/* The pool gives them back, and the device has some room already. */
	wanted -= why->room < wanted ? why->room : wanted;
	nr = vs_measure_pinning_count_segments(pinning, wanted, &bytes);
	if (!nr || (pinning->nr_sets && pinning->sets[0].block_bytes <= bytes))
		return;
	details->nr_emptied = nr;
	details->emptied_bytes = bytes;
	for (i = 0; i < nr; i++)
		details->emptied_size += pinning->segments[i].item->range.size;
}

/* The blocks that would have to go, by account. */
static int find_pins(struct vs_why_details *details)
{
	const struct vs_measure_pinning *pinning = &details->pinning;
	const struct vs_item **blocks = NULL;
	size_t nr = 0, i;
	int err;

	if (!details->nr_emptied)
		return pinning->nr_sets
			       ? vs_measure_pinning_group(&pinning->sets[0], &details->pins,
							  &details->nr_pins)
			       : 0;
	for (i = 0; i < details->nr_emptied; i++)
		nr += pinning->segments[i].nr_blocks;
	blocks = calloc(nr, sizeof(*blocks));
	if (!blocks)
		return -VS_ERR_NO_MEMORY;
	for (i = 0, nr = 0; i < details->nr_emptied; i++) {
		const struct vs_range_tree *tree = &pinning->segments[i].item->blocks;
		const struct vs_range *range = vs_range_tree_first(tree);

		for (; range; range = vs_range_tree_next(tree, range))
			blocks[nr++] = (const struct vs_item *)(const void *)range;
	}
	err = vs_address_map_group(blocks, nr, &details->pins, &details->nr_pins);
	free(blocks);
	return err;
}

static int look_at_holes(struct vs_why_details *details)
{
	const struct vs_device_state *state = details->state;
	const struct vs_replay_pool *pool = state->why.pool->pool;
	size_t i;
	int err = vs_measure_pinning_init(&details->pinning, &state->map, pool,
					  state->why.requested, NR_SETS);

	if (err)
		return err;
	details->has_pinning = true;
	compare_ways(details);
	err = find_pins(details);
	if (!err)
		err = vs_address_map_find_neighbours(&state->map, pool, &details->neighbours,
						     &details->nr_neighbours);
	for (i = 0; i < details->nr_neighbours; i++) {
		details->nr_beside += details->neighbours[i].nr_blocks;
		details->beside_bytes += details->neighbours[i].bytes;
	}
	return err;
}

/* ---- Who it is about ------------------------------------------------------------------------ */

/* Accounts of the analysis have the same index. */
static const struct vs_account *get_account(const struct vs_story *story,
					    const struct vs_account *then)
{
	return then ? story->analysis.replay->accounts[then->index] : NULL;
}

/* Who has most in the blocks of a pool. */
static int find_largest_in(struct vs_why_details *details, struct vs_story *story,
			   const struct vs_replay_pool *pool)
{
	const struct vs_address_map *map = &details->state->map;
	const struct vs_item **blocks = calloc(map->nr_entries + 1, sizeof(*blocks));
	struct vs_address_neighbour *groups = NULL;
	size_t nr = 0, nr_groups = 0, i;
	uint64_t most = 0;
	int err;

	if (!blocks)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < map->nr_entries; i++)
		if (map->entries[i].type != VS_ADDRESS_HOLE && map->entries[i].item->pool == pool)
			blocks[nr++] = map->entries[i].item;
	err = vs_address_map_group(blocks, nr, &groups, &nr_groups);
	for (i = 0; i < nr_groups && !err; i++) {
		if (groups[i].bytes <= most)
			continue;
		most = groups[i].bytes;
		details->account = get_account(story, groups[i].account);
	}
	free(groups);
	free(blocks);
	return err;
}

static int find_largest(struct vs_why_details *details, struct vs_story *story)
{
	const struct vs_device_state *state = details->state;
	struct vs_site_row *rows;
	size_t nr_rows;
	int err;

	if (state->map.device == state->device)
		return 0; /* nothing was there yet */
	err = vs_site_order_live(state->then, state->map.device, &rows, &nr_rows);
	if (err)
		return err;
	if (nr_rows)
		details->account = get_account(story, rows[0].account);
	free(rows);
	return 0;
}

/* Of a segment that a pool divides it is the site that took it from the driver. */
static int find_account(struct vs_why_details *details, struct vs_story *story)
{
	const struct vs_device_state *state = details->state;

	switch (state->why.kind) {
	case VS_WHY_FRAGMENTATION:
		if (details->nr_neighbours)
			details->account = get_account(story, details->neighbours[0].account);
		return 0;
	case VS_WHY_RETENTION:
		if (state->retained.nr_growing)
			details->account = state->retained.sites[0].account;
		return 0;
	case VS_WHY_PREALLOCATION:
		if (state->why.grab)
			details->account = get_account(story, state->why.grab->account);
		return 0;
	case VS_WHY_POOL:
		if (state->why.spare)
			details->account = get_account(story, state->why.spare->account);
		return 0;
	case VS_WHY_LIMIT:
		return state->why.pool ? find_largest_in(details, story, state->why.pool->pool) : 0;
	case VS_WHY_CAPACITY:
		return find_largest(details, story);
	default:
		return 0;
	}
}

/* ---- Who keeps it --------------------------------------------------------------------------- */

/* Of Python the same function will do, whatever line of it is at work: it is one that people see.
 */
static bool is_same_call(const struct vs_site_frame *a, const struct vs_site_frame *b)
{
	return a->address == b->address ||
	       (vs_frame_is(a->address, VS_FRAME_PYTHON) &&
		vs_frame_is(b->address, VS_FRAME_PYTHON) &&
		vs_frame_get_code(a->address) == vs_frame_get_code(b->address));
}

static bool has_frame(const struct vs_site *site, const struct vs_site_frame *frame)
{
	uint32_t i;

	vs_definitions_need_frames(site);
	for (i = 0; i < site->nr_frames; i++)
		if (is_same_call(&site->frames[i], frame))
			return true;
	return false;
}

static bool has_python(const struct vs_site *site)
{
	uint32_t i;

	vs_definitions_need_frames(site);
	for (i = 0; i < site->nr_frames; i++)
		if (vs_frame_is(site->frames[i].address, VS_FRAME_PYTHON))
			return true;
	return false;
}

/*
 * The innermost call that all growing sites are made by, but for those that are less than a
 * hundredth of the growth: tensors of one graph come from many lines, and one line keeps the graph.
 * Python's if there are any. As many as the first site has frames: there is none.
 */
static uint32_t find_keeper(const struct vs_retained *retained)
{
	const struct vs_site *site = retained->sites[0].account->site;
	bool is_python = has_python(site);
	uint64_t rate = 0;
	uint32_t k;
	size_t i;

	for (i = 0; i < retained->nr_growing; i++)
		rate += retained->sites[i].growth.rate;
	for (k = 0; k < site->nr_frames; k++) {
		if (is_python && !vs_frame_is(site->frames[k].address, VS_FRAME_PYTHON))
			continue;
		for (i = 1; i < retained->nr_growing; i++)
			if (retained->sites[i].growth.rate >= rate / 100 &&
			    !has_frame(retained->sites[i].account->site, &site->frames[k]))
				break;
		if (i >= retained->nr_growing)
			return k;
	}
	return site->nr_frames;
}

static int put_site(struct vs_why_details *details, struct vs_story *story,
		    const struct vs_site *site, bool has_callers)
{
	uint32_t api = details->account->api;
	int err = vs_site_names_put_place(story->names, site, api, details->place,
					  sizeof(details->place));

	if (err)
		return err;
	return has_callers ? vs_site_names_put(story->names, site, api, details->site,
					       sizeof(details->site))
			   : vs_site_names_put_short(story->names, site, api, details->site,
						     sizeof(details->site));
}

/* The part of a site from there on, as a line. */
static int put_keeper(struct vs_why_details *details, struct vs_story *story)
{
	const struct vs_site *site = details->account->site;
	uint32_t keeper = find_keeper(&details->state->retained);
	struct vs_site outer = *site;

	if (keeper == site->nr_frames)
		keeper = 0;
	outer.nr_frames -= keeper;
	outer.frames += keeper;
	return put_site(details, story, &outer, true);
}

/* ---- Why it is not another ------------------------------------------------------------------ */

static void put_runner_up(struct vs_why_details *details)
{
	static const char *const what[VS_NR_WHY] = {
		[VS_WHY_FRAGMENTATION] = "in holes are",
		[VS_WHY_CAPACITY] = "",
		[VS_WHY_RETENTION] = "growing sites kept",
		[VS_WHY_POOL] = "pools keep unused",
		[VS_WHY_LIMIT] = "beside the pool the card has",
		[VS_WHY_OTHER_PROCESS] = "other processes hold",
		[VS_WHY_PREALLOCATION] = "taken in advance and unused are",
	};
	const struct vs_why *why = &details->state->why;
	const struct vs_why_guess *guess = &why->guesses[why->runner_up];
	const struct vs_why_guess *winner = &why->guesses[why->kind];
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], *out = details->runner_up;
	size_t size = sizeof(details->runner_up);

	if (why->runner_up == VS_WHY_UNKNOWN)
		return;
	vs_units_put_bytes(a, guess->gives);
	if (why->runner_up == VS_WHY_CAPACITY) {
		if (why->occasion == VS_WHY_FAILURE)
			snprintf(out, size, "the card would have been large enough without that");
		else if (why->kind == VS_WHY_RETENTION)
			snprintf(out, size, "of the %s that are live, %s were kept step by step", a,
				 vs_units_put_bytes(b, why->kept_bytes));
		else
			snprintf(out, size, "live are only %s", a);
	} else if (why->runner_up == VS_WHY_OTHER_PROCESS && why->kind == VS_WHY_UNKNOWN) {
		snprintf(out, size,
			 "%s are neither free nor in the trace, but nobody measured whose they are",
			 a);
	} else if (why->kind == VS_WHY_RETENTION && why->runner_up == VS_WHY_LIMIT) {
		snprintf(out, size,
			 "beside the pool the card has %s, but a higher limit would be reached as "
			 "well: %s of the %s in its blocks were kept step by step",
			 a, vs_units_put_bytes(b, why->kept_in_pool),
			 vs_units_put_bytes((char[VS_UNITS_MAX]){0}, why->pool->block_bytes));
	} else if (why->kind == VS_WHY_LIMIT && guess->holds) {
		snprintf(out, size, "%s %s: enough as well, but the pool may not grow",
			 what[why->runner_up], a);
	} else if (guess->holds) {
		snprintf(out, size, "%s %s: enough as well, but %s the %s above",
			 what[why->runner_up], a,
			 guess->gives > winner->gives ? "not four times" : "less than",
			 vs_units_put_bytes(b, winner->gives));
	} else if (guess->gives < guess->lacking && why->occasion != VS_WHY_FAILURE) {
		snprintf(out, size, "%s only %s", what[why->runner_up], a);
	} else if (guess->gives < guess->lacking) {
		snprintf(out, size, "%s only %s, and %s were lacking", what[why->runner_up], a,
			 vs_units_put_bytes(b, guess->lacking));
	} else if (why->runner_up == VS_WHY_FRAGMENTATION && why->pool &&
		   why->usable_largest >= why->requested) {
		snprintf(out, size, "a hole of %s is large enough for %s",
			 vs_units_put_bytes(a, why->usable_largest),
			 vs_units_put_bytes(b, why->requested));
	} else if (why->runner_up == VS_WHY_FRAGMENTATION && why->pool) {
		snprintf(out, size, "%s %s, a small part of the %s that the pool holds",
			 what[why->runner_up], a, vs_units_put_bytes(b, why->pool->segment_bytes));
	} else {
		snprintf(out, size, "%s %s, which would not have helped here", what[why->runner_up],
			 a);
	}
}

/* ---- All of it ------------------------------------------------------------------------------ */

int vs_why_details_init(struct vs_why_details *details, struct vs_story *story,
			const struct vs_device_state *state)
{
	const char *site;
	int err = 0;

	memset(details, 0, sizeof(*details));
	details->state = state;
	if (state->why.kind == VS_WHY_FRAGMENTATION && state->why.pool)
		err = look_at_holes(details);
	if (!err)
		err = find_account(details, story);
	if (!err && details->account)
		vs_definitions_need_frames(details->account->site);
	if (!err && details->account && details->account->site->nr_frames)
		err = state->why.kind == VS_WHY_RETENTION
			      ? put_keeper(details, story)
			      : put_site(details, story, details->account->site, false);
	site = details->place[0] ? details->place : NULL;
	if (!err)
		err = vs_remedy_find(story, state, details->account ? details->account->site : NULL,
				     site, details->remedies, &details->nr_remedies);
	if (err) {
		vs_why_details_fini(details);
		return err;
	}
	put_runner_up(details);
	return 0;
}

void vs_why_details_fini(struct vs_why_details *details)
{
	if (details->has_pinning)
		vs_measure_pinning_fini(&details->pinning);
	free(details->pins);
	free(details->neighbours);
	memset(details, 0, sizeof(*details));
}
