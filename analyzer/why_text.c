#include "why_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report_text.h"
#include "units.h"

/* Where the text of a line begins, behind its label. */
#define COLUMN 27

/* Remedies in a report; `why` has them all. */
#define FEW 2

static void put_labelled(struct vs_story *story, const char *label, const char *text)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "  %s", label);
	vs_text_fill(&line, COLUMN);
	vs_text_add(&line, "%s", text);
	vs_text_put_whole(&story->style, &line, COLUMN);
}

/* The same of a name that somebody else chose. */
static void put_named(struct vs_story *story, const char *label, const char *name)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "  %s", label);
	vs_text_fill(&line, COLUMN);
	vs_text_add_name(&line, name, story->style.width - COLUMN);
	vs_text_put(&story->style, &line);
}

/* ---- The first line ------------------------------------------------------------------------- */

static void put_capitals(char *out, size_t size, enum vs_why_kind kind)
{
	size_t i;

	snprintf(out, size, "%s", vs_why_get_name(kind));
	for (i = 0; out[i]; i++)
		out[i] = (char)toupper((unsigned char)out[i]);
}

/* At the right, or on a line of its own if it does not fit. */
static void add_cause(struct vs_text_line *line, const struct vs_story *story,
		      enum vs_why_kind kind)
{
	char name[32];
	size_t width;

	put_capitals(name, sizeof(name), kind);
	width = strlen("cause: ") + strlen(name);
	if (story->style.width > vs_text_get_width(line->bytes) + width + 2) {
		vs_text_fill(line, story->style.width - width);
	} else {
		vs_text_put_whole(&story->style, line, 4);
		vs_text_add(line, "  ");
	}
	vs_text_add(line, "cause: %s", name);
}

static void add_failure(struct vs_text_line *line, const struct vs_device_state *state)
{
	const struct vs_why *why = &state->why;
	char text[VS_UNITS_MAX];

	vs_text_add(line, "OUT OF MEMORY");
	vs_text_mark(line, VS_TEXT_ALARM);
	vs_story_add_instant(line, &state->oom->last_oom.at);
	vs_text_add(line, ": %s asked", vs_units_put_bytes(text, why->requested));
	if (state->oom->pool && why->pool) {
		vs_text_add(line, ", %s free in pool ", vs_units_put_bytes(text, why->hole_bytes));
		vs_text_add_name(line, state->oom->pool->name, VS_TEXT_NAME_COLUMNS);
	} else if (why->is_free_known) {
		vs_text_add(line, ", %s free", vs_units_put_bytes(text, why->free_size));
	}
}

static void add_end(struct vs_text_line *line, const struct vs_device_state *state)
{
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (state->why.occasion == VS_WHY_KILLED)
		vs_text_add(line, "DID NOT END IN ORDER");
	else
		vs_text_add(line,
			    state->why.occasion == VS_WHY_GROWING ? "GROWING" : "NEARLY FULL");
	vs_text_mark(line, VS_TEXT_ALARM);
	vs_story_add_instant(line, &state->at);
	vs_text_add(line, ": %s", vs_units_put_bytes(a, state->map.reserved_bytes));
	if (state->why.total_size)
		vs_text_add(line, " of %s", vs_units_put_bytes(b, state->why.total_size));
	vs_text_add(line, " taken, %s live", vs_units_put_bytes(a, state->map.live_bytes));
}

/* ---- The sentence that proves it ------------------------------------------------------------ */

/* The pool that failed, or NULL. */
static const struct vs_replay_pool *get_failed_pool(const struct vs_device_state *state)
{
	return state->why.limited ? state->why.limited : state->oom->pool;
}

static void add_limit(struct vs_text_line *line, const struct vs_device_state *state)
{
	const struct vs_why *why = &state->why;
	const struct vs_replay_pool *pool = get_failed_pool(state);
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];

	vs_text_add(line, "pool ");
	vs_text_add_name(line, pool->name, VS_TEXT_NAME_COLUMNS);
	vs_text_add(line, " holds %s%s, %s of it in blocks",
		    vs_units_put_bytes(a, why->pool ? why->pool->segment_bytes : 0),
		    why->limited ? " (sampled)" : "",
		    vs_units_put_bytes(b, why->pool ? why->pool->block_bytes : 0));
	if (pool->limit_size)
		vs_text_add(line, ", and may hold %s", vs_units_put_bytes(c, pool->limit_size));
	else
		vs_text_add(line, ", and did not grow though the device has room (%s%s)",
			    why->is_room_known ? "" : "up to ", vs_units_put_bytes(c, why->room));
}

/* Where a driver pool has blocks and where it has room, the driver tells nobody. */
static void add_own(struct vs_text_line *line, const struct vs_device_state *state)
{
	char a[VS_UNITS_MAX];

	vs_text_add(line, "pool ");
	vs_text_add_name(line, state->oom->last_oom.driver_pool->name, VS_TEXT_NAME_COLUMNS);
	vs_text_add(line,
		    ", which was asked, has %s that it does not use; in which pieces, the driver "
		    "does not say",
		    vs_units_put_bytes(a, state->why.own_bytes));
}

static void add_unknown(struct vs_text_line *line, const struct vs_device_state *state)
{
	const struct vs_why *why = &state->why;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (why->occasion == VS_WHY_KILLED && why->total_size)
		vs_text_add(line,
			    "the card was not full, and no request had failed: memory of the card "
			    "was not the reason");
	else if (!why->total_size)
		vs_text_add(line, "how much memory the card has is not known");
	else if (why->pool && why->usable_largest >= why->requested && why->requested)
		vs_text_add(line,
			    "a hole of %s would have been large enough; it may belong to another "
			    "stream or to a private pool, which is not recorded",
			    vs_units_put_bytes(a, why->usable_largest));
	else if (why->runner_up == VS_WHY_OTHER_PROCESS)
		vs_text_add(line,
			    "%s of the card are not in the trace: other processes, or memory that "
			    "no hook saw; %s would have been enough",
			    vs_units_put_bytes(a, why->outside_bytes),
			    vs_units_put_bytes(b, why->guesses[VS_WHY_OTHER_PROCESS].lacking));
	else if (why->is_free_known && why->room >= why->needed)
		vs_text_add(line, "the driver says that %s were free, and refused %s all the same",
			    vs_units_put_bytes(a, why->room), vs_units_put_bytes(b, why->needed));
	else if (why->own_bytes)
		add_own(line, state);
	else
		vs_text_add(line, "what was recorded does not tell why");
}

static void add_capacity(struct vs_text_line *line, const struct vs_device_state *state)
{
	const struct vs_why *why = &state->why;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	if (why->occasion != VS_WHY_FAILURE)
		vs_text_add(line, "%s are in use at once, and nothing grows",
			    vs_units_put_bytes(b, state->map.live_bytes));
	else if (why->requested > why->total_size)
		vs_text_add(line, "%s too little: the request is larger than the card (%s)",
			    vs_units_put_bytes(a, why->lacking),
			    vs_units_put_bytes(b, why->total_size));
	else
		vs_text_add(line,
			    "%s too little: %s live, and all that is free together is less than %s",
			    vs_units_put_bytes(a, why->lacking),
			    vs_units_put_bytes(b, state->map.live_bytes),
			    why->needed > why->requested ? "the pool takes for it" : "was asked");
}

static void add_retention(struct vs_text_line *line, const struct vs_device_state *state)
{
	const struct vs_why *why = &state->why;
	const struct vs_replay_pool *pool =
		why->occasion == VS_WHY_FAILURE ? get_failed_pool(state) : NULL;
	char a[VS_UNITS_MAX];

	if (why->lacking)
		vs_text_add(line, "%s too little; ", vs_units_put_bytes(a, why->lacking));
	vs_text_add(line, "%s were kept step by step", vs_units_put_bytes(a, why->kept_bytes));
	if (pool && why->pool && pool->limit_size)
		vs_text_add(line, ", in a pool that may hold %s",
			    vs_units_put_bytes(a, pool->limit_size));
	vs_text_add(line, ", see RETAINED");
}

/* Why the pool did not simply take more. */
static void add_room(struct vs_text_line *line, const struct vs_why *why)
{
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	vs_text_add(line, "the card has %s left", vs_units_put_bytes(a, why->room));
	if (why->needed > why->requested)
		vs_text_add(line, ", and the pool asked it for %s",
			    vs_units_put_bytes(b, why->needed));
	vs_text_add(line, "; ");
}

static void add_evidence(struct vs_text_line *line, const struct vs_why_details *details)
{
	const struct vs_device_state *state = details->state;
	const struct vs_why *why = &state->why;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];

	switch (why->kind) {
	case VS_WHY_FRAGMENTATION:
		if (why->occasion == VS_WHY_FAILURE && why->is_room_known &&
		    why->room < why->needed && why->room >= why->needed / 100)
			add_room(line, why);
		vs_text_add(line,
			    "the largest hole is %s: %" PRIu64 " blocks (%s) cut %s of free pool "
			    "memory into %" PRIu64 " holes",
			    vs_units_put_bytes(a, why->largest_hole), details->nr_beside,
			    vs_units_put_bytes(b, details->beside_bytes),
			    vs_units_put_bytes(c, why->hole_bytes), why->pool->holes.nr_holes);
		return;
	case VS_WHY_LIMIT:
		add_limit(line, state);
		return;
	case VS_WHY_RETENTION:
		add_retention(line, state);
		return;
	case VS_WHY_CAPACITY:
		add_capacity(line, state);
		return;
	case VS_WHY_POOL:
		vs_units_put_bytes(b, why->guesses[VS_WHY_POOL].gives);
		if (why->lacking)
			vs_text_add(line, "%s too little; ", vs_units_put_bytes(a, why->lacking));
		if (why->guesses[VS_WHY_POOL].gives > why->releasable_bytes)
			vs_text_add(line, "pools keep %s free that nobody else can have, see POOLS",
				    b);
		else
			vs_text_add(line,
				    "pools hold %s that they do not use and could give back, see "
				    "POOLS",
				    b);
		return;
	case VS_WHY_PREALLOCATION:
		vs_text_add(line, "%s were taken at once, and %s of that are not used",
			    vs_units_put_bytes(a, why->grab ? why->grab->range.size : 0),
			    vs_units_put_bytes(b, why->grabbed_bytes));
		if (why->guesses[VS_WHY_PREALLOCATION].lacking && why->occasion == VS_WHY_FAILURE)
			vs_text_add(
				line, "; %s were lacking",
				vs_units_put_bytes(c, why->guesses[VS_WHY_PREALLOCATION].lacking));
		return;
	case VS_WHY_OTHER_PROCESS:
		if (why->lacking)
			vs_text_add(line, "%s too little; ", vs_units_put_bytes(a, why->lacking));
		vs_text_add(line, "other processes hold %s of the card",
			    vs_units_put_bytes(b, why->guesses[VS_WHY_OTHER_PROCESS].gives));
		return;
	case VS_WHY_UNKNOWN:
	case VS_NR_WHY:
		add_unknown(line, state);
		return;
	}
}

/* ---- Who ------------------------------------------------------------------------------------ */

static void put_blocks_from(struct vs_story *story, const struct vs_why_details *details)
{
	const struct vs_address_neighbour *first = &details->neighbours[0];
	struct vs_text_line line = {0};

	if (!details->nr_neighbours || !details->account)
		return;
	if (first->nr_blocks == details->nr_beside)
		vs_text_add(&line, "  all of them come from");
	else
		vs_text_add(&line, "  %" PRIu64 " of the %" PRIu64 " come from", first->nr_blocks,
			    details->nr_beside);
	vs_text_fill(&line, COLUMN);
	vs_text_add_name(&line, details->site[0] ? details->site : "no stack was recorded",
			 story->style.width - COLUMN);
	if (first->nr_births > 1 && first->nr_births == first->nr_blocks)
		vs_text_add(&line, "   one a step in %" PRIu64 " steps", first->nr_births);
	vs_text_put_whole(&story->style, &line, COLUMN);
}

/* What would have to go, the cheapest way. */
static void put_cheapest(struct vs_story *story, const struct vs_why_details *details)
{
	const struct vs_measure_pinning *pinning = &details->pinning;
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	uint64_t nr = 0;
	size_t i;

	if (!details->nr_emptied && !pinning->nr_sets)
		return;
	vs_text_add(&line, "  least in the way");
	vs_text_fill(&line, COLUMN);
	for (i = 0; i < details->nr_pins; i++)
		nr += details->pins[i].nr_blocks;
	if (details->nr_emptied)
		vs_text_add(&line,
			    "%" PRIu64 " block%s (%s): without %s, %zu segment%s (%s) could be "
			    "given back",
			    nr, nr == 1 ? "" : "s", vs_units_put_bytes(a, details->emptied_bytes),
			    nr == 1 ? "it" : "them", details->nr_emptied,
			    details->nr_emptied == 1 ? "" : "s",
			    vs_units_put_bytes(b, details->emptied_size));
	else
		vs_text_add(&line,
			    "%" PRIu64 " block%s (%s) at 0x%" PRIx64 ": without %s, a hole of %s",
			    nr, nr == 1 ? "" : "s",
			    vs_units_put_bytes(a, pinning->sets[0].block_bytes),
			    pinning->sets[0].first->range.base, nr == 1 ? "it" : "them",
			    vs_units_put_bytes(b, pinning->sets[0].hole_bytes));
	vs_text_put_whole(&story->style, &line, COLUMN);
}

/* The sites of those blocks, if they are others than most beside the holes. */
static int put_pins(struct vs_story *story, const struct vs_why_details *details)
{
	struct vs_text_line line = {0};
	char text[512], bytes[VS_UNITS_MAX];
	size_t i;
	int err = 0;

	for (i = 0; i < details->nr_pins && i < 3 && !err; i++) {
		const struct vs_account *account =
			story->analysis.replay->accounts[details->pins[i].account->index];

		err = vs_site_names_put(story->names, account->site, account->api, text,
					sizeof(text));
		vs_text_add(&line, "    %" PRIu64 " of them, %s", details->pins[i].nr_blocks,
			    vs_units_put_bytes(bytes, details->pins[i].bytes));
		vs_text_fill(&line, COLUMN);
		vs_text_add(&line, "%s", text);
		vs_text_put(&story->style, &line);
	}
	return err;
}

static int put_who(struct vs_story *story, const struct vs_why_details *details, bool is_full)
{
	const struct vs_why *why = &details->state->why;

	if (why->kind == VS_WHY_FRAGMENTATION) {
		put_blocks_from(story, details);
		put_cheapest(story, details);
		return is_full ? put_pins(story, details) : 0;
	}
	if (!details->site[0])
		return 0;
	if (why->kind == VS_WHY_RETENTION && is_full)
		put_labelled(story, "kept by way of", details->site);
	else if (why->kind == VS_WHY_RETENTION)
		put_named(story, "kept by way of", details->site);
	else if (why->kind == VS_WHY_PREALLOCATION)
		put_named(story, "taken by", details->site);
	else if (why->kind == VS_WHY_POOL)
		put_named(story, "taken for", details->site);
	else if (why->kind == VS_WHY_CAPACITY || why->kind == VS_WHY_LIMIT)
		put_named(story, "most is live at", details->site);
	return 0;
}

/* ---- The rest ------------------------------------------------------------------------------- */

/* A program that copes with a failure (a smaller batch) did not end with it. */
static void put_after(struct vs_story *story, uint64_t nr_after)
{
	char number[VS_UNITS_MAX], text[128];

	if (!nr_after)
		return;
	snprintf(text, sizeof(text), "%s allocation%s served after it",
		 vs_units_put_number(number, nr_after, story->options->ascii),
		 nr_after == 1 ? " was" : "s were");
	put_labelled(story, "the program went on", text);
}

static int put_asker(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_failure_group *group = state->oom;
	struct vs_text_line line = {0};
	char text[1024], time[VS_UNITS_MAX];
	int err = vs_site_names_put(story->names, group->site, group->api, text, sizeof(text));

	if (err)
		return err;
	vs_text_add(&line, "  asked by");
	vs_text_fill(&line, COLUMN);
	vs_text_add(&line, "%s", text);
	vs_text_put(&story->style, &line);
	if (group->nr_ooms > 1) {
		vs_text_add(&line, "  %" PRIu64 " such failures from there, the first at %s",
			    group->nr_ooms, vs_units_put_time(time, group->first_oom.at.time_ns));
		vs_text_put(&story->style, &line);
	}
	put_after(story, state->nr_after);
	return 0;
}

/* Of a text, what stands before some words; all of it if they are not there. */
static size_t get_size_before(const char *text, const char *words)
{
	const char *found = strstr(text, words);

	return found ? (size_t)(found - text) : strlen(text);
}

/* What the pool itself said, in its own words. */
static void put_words(struct vs_story *story, const struct vs_failure_group *group)
{
	const char *text =
		vs_definitions_get_name(&story->analysis.replay->definitions, group->last_oom.text);
	char label[64], said[2048];

	if (!text)
		return;
	snprintf(label, sizeof(label), "%s says", group->pool->name);
	/* Its advice is the same whatever happened. */
	snprintf(said, sizeof(said), "%.*s", (int)get_size_before(text, " If reserved but"), text);
	put_labelled(story, label, said);
}

static void put_remedies(struct vs_story *story, const struct vs_why_details *details, bool is_full)
{
	/* Where the cause is not known there is no cure, but a place to look. */
	const char *label = details->state->why.kind == VS_WHY_UNKNOWN ? "where to look" : "remedy";
	struct vs_text_line line = {0};
	char path[VS_TEXT_LINE_MAX];
	size_t i;

	for (i = 0; i < details->nr_remedies && (is_full || i < FEW); i++)
		put_labelled(story, i ? "" : label, details->remedies[i].text);
	if (i == details->nr_remedies)
		return;
	vs_text_fill(&line, COLUMN);
	vs_story_put_path(story, path, sizeof(path));
	vs_text_add(&line, "%zu more: vramscope why %s", details->nr_remedies - i, path);
	vs_text_put(&story->style, &line);
}

static void put_runner_up(struct vs_story *story, const struct vs_why_details *details)
{
	char label[64] = "not ";

	if (!details->runner_up[0])
		return;
	put_capitals(label + 4, sizeof(label) - 4, details->state->why.runner_up);
	put_labelled(story, label, details->runner_up);
}

int vs_why_text_put(struct vs_story *story, const struct vs_device_state *state, bool is_full)
{
	struct vs_text_line line = {0};
	struct vs_why_details details;
	int err = vs_why_details_init(&details, story, state);

	if (err)
		return err;
	if (state->oom)
		add_failure(&line, state);
	else
		add_end(&line, state);
	add_cause(&line, story, state->why.kind);
	vs_text_put(&story->style, &line);
	vs_text_add(&line, "  ");
	add_evidence(&line, &details);
	if (state->why.occasion == VS_WHY_KILLED && state->why.kind != VS_WHY_UNKNOWN)
		vs_text_add(&line, "; no request had failed: it may have ended for another reason");
	vs_text_put_whole(&story->style, &line, 4);
	err = put_who(story, &details, is_full);
	if (!err)
		put_remedies(story, &details, is_full);
	if (!err && is_full)
		put_runner_up(story, &details);
	if (!err && state->oom)
		err = put_asker(story, state);
	if (!err && state->oom && is_full)
		put_words(story, state->oom);
	vs_why_details_fini(&details);
	return err;
}

void vs_why_text_put_recovered(struct vs_story *story, const struct vs_replay_device *device)
{
	uint64_t nr = vs_failures_count_recovered(&story->analysis.failures, device);
	struct vs_text_line line = {0};
	char number[VS_UNITS_MAX];

	if (!nr)
		return;
	vs_text_add(&line, "RECOVERED");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "%s request%s failed and %s served when asked again: no out-of-memory",
		    vs_units_put_number(number, nr, story->options->ascii), nr == 1 ? "" : "s",
		    nr == 1 ? "was" : "were");
	vs_text_put(&story->style, &line);
}
