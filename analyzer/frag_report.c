#include "frag_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure_holes.h"
#include "measure_pinning.h"
#include "report_text.h"
#include "units.h"
#include "why_json.h"

#define COLUMN 27

/* A segment that is in use for less than one part of so many holds almost nothing. */
#define ALMOST_EMPTY 4

static void put_heading(struct vs_story *story, const char *text)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "%s", text);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_put(&story->style, &line);
}

/* ---- What stands in the way ----------------------------------------------------------------- */

static int put_set(struct vs_story *story, const struct vs_pinning_set *set)
{
	struct vs_text_line line = {0};
	struct vs_address_neighbour *groups;
	const struct vs_account *account;
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	size_t nr_groups;
	int err = vs_measure_pinning_group(set, &groups, &nr_groups);

	if (err)
		return err;
	vs_text_add(&line, "  %-9s in %4zu block%s at 0x%" PRIx64 " for a hole of %s",
		    vs_units_put_bytes(a, set->block_bytes), set->nr_blocks,
		    set->nr_blocks == 1 ? " " : "s", set->first->range.base,
		    vs_units_put_bytes(b, set->hole_bytes));
	vs_text_put(&story->style, &line);
	account = story->analysis.replay->accounts[groups[0].account->index];
	vs_text_add(&line, "    %" PRIu64 " x  %s", groups[0].nr_blocks,
		    vs_units_put_bytes(a, groups[0].bytes));
	vs_text_fill(&line, COLUMN);
	err = vs_story_add_site(story, &line, account);
	vs_text_put(&story->style, &line);
	free(groups);
	return err;
}

static int put_sets(struct vs_story *story, const struct vs_measure_pinning *pinning)
{
	char text[128], size[VS_UNITS_MAX];
	struct vs_text_line line = {0};
	size_t i;
	int err = 0;

	snprintf(text, sizeof(text), "IN THE WAY OF %s", vs_units_put_bytes(size, pinning->wanted));
	vs_text_add(&line, "%s", text);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, COLUMN);
	if (pinning->has_hole)
		vs_text_add(&line, "nothing: there is a hole of that size");
	else if (pinning->nr_sets)
		vs_text_add(&line, "what would have to go, the least first");
	else
		vs_text_add(&line, "no segment is that large: whole ones would have to go back");
	vs_text_put_whole(&story->style, &line, COLUMN);
	for (i = 0; i < pinning->nr_sets && !pinning->has_hole && !err; i++)
		err = put_set(story, &pinning->sets[i]);
	return err;
}

static int put_json_sets(struct vs_story *story, const struct vs_measure_pinning *pinning)
{
	struct vs_json *json = story->json;
	size_t i;
	int err = 0;

	vs_json_begin_object(json, "pinning");
	vs_json_put_number(json, "request_bytes", pinning->wanted);
	vs_json_put_bool(json, "has_hole", pinning->has_hole);
	vs_json_begin_array(json, "sets");
	for (i = 0; i < pinning->nr_sets && !pinning->has_hole && !err; i++)
		err = vs_why_json_put_set(story, &pinning->sets[i]);
	if (err)
		return err;
	vs_json_end_array(json);
	vs_json_end_object(json);
	return 0;
}

int vs_frag_report_tell_pinning(struct vs_story *story, const struct vs_device_state *state,
				uint64_t request, size_t top)
{
	const struct vs_address_pool *pool = vs_address_map_get_worst(&state->map);
	struct vs_measure_pinning pinning;
	int err;

	if (!request && state->oom)
		request = state->why.requested;
	if (state->is_judged && state->why.pool)
		pool = state->why.pool;
	if (!pool || !request) {
		if (story->json)
			vs_json_put_null(story->json, "pinning");
		return 0;
	}
	err = vs_measure_pinning_init(&pinning, &state->map, pool->pool, request, top);
	if (err)
		return err;
	err = story->json ? put_json_sets(story, &pinning) : put_sets(story, &pinning);
	vs_measure_pinning_fini(&pinning);
	return err;
}

/* ---- Segments ------------------------------------------------------------------------------- */

static void put_json_segment(struct vs_json *json, const struct vs_pinning_segment *segment)
{
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, segment->item->range.base);
	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "address", address);
	vs_json_put_number(json, "bytes", segment->item->range.size);
	vs_json_put_number(json, "blocks", segment->nr_blocks);
	vs_json_put_number(json, "block_bytes", segment->block_bytes);
	vs_json_put_real(json, "occupancy",
			 (double)segment->block_bytes / (double)segment->item->range.size);
	vs_json_end_object(json);
}

static void put_segment(struct vs_story *story, const struct vs_pinning_segment *segment)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];

	vs_text_add(&line, "  %-9s at 0x%-14" PRIx64 " %5s in use: %s in %zu block%s",
		    vs_units_put_bytes(a, segment->item->range.size), segment->item->range.base,
		    vs_units_put_share(b, segment->block_bytes, segment->item->range.size),
		    vs_units_put_bytes(c, segment->block_bytes), segment->nr_blocks,
		    segment->nr_blocks == 1 ? "" : "s");
	vs_text_put(&story->style, &line);
}

static bool is_almost_empty(const struct vs_pinning_segment *segment)
{
	return segment->block_bytes < segment->item->range.size / ALMOST_EMPTY;
}

int vs_frag_report_tell_segments(struct vs_story *story, const struct vs_device_state *state,
				 size_t top)
{
	const struct vs_address_pool *pool = vs_address_map_get_worst(&state->map);
	struct vs_measure_pinning pinning = {0};
	size_t i;
	int err = 0;

	if (pool)
		err = vs_measure_pinning_init(&pinning, &state->map, pool->pool, 1, 0);
	if (err)
		return err;
	if (story->json)
		vs_json_begin_array(story->json, "segments");
	else if (pinning.nr_segments && is_almost_empty(&pinning.segments[0]))
		put_heading(story, "SEGMENTS THAT HOLD LITTLE");
	for (i = 0; i < pinning.nr_segments && i < top; i++) {
		if (story->json)
			put_json_segment(story->json, &pinning.segments[i]);
		else if (is_almost_empty(&pinning.segments[i]))
			put_segment(story, &pinning.segments[i]);
	}
	if (story->json)
		vs_json_end_array(story->json);
	vs_measure_pinning_fini(&pinning);
	return 0;
}

/* ---- Over time ------------------------------------------------------------------------------ */

static void put_json_fit(struct vs_json *json, const char *key, const struct vs_holes_fit *fit)
{
	vs_json_begin_object(json, key);
	vs_json_put_bool(json, "ever", fit->was_ever);
	vs_why_json_put_known(json, "first_ns", fit->was_ever, fit->first_ns);
	vs_why_json_put_known(json, "last_ns", fit->was_ever, fit->last_ns);
	vs_json_put_number(json, "time_ns", fit->time_ns);
	vs_json_end_object(json);
}

static void put_json_sample(struct vs_story *story, const struct vs_holes_sample *sample,
			    bool has_request)
{
	const struct vs_replay *replay = story->analysis.replay;
	struct vs_json *json = story->json;

	vs_json_begin_object(json, NULL);
	vs_json_put_number(json, "time_ns", sample->time_ns);
	vs_json_put_number(json, "live_bytes", sample->live_bytes);
	vs_json_put_number(json, "reserved_bytes", sample->reserved_bytes);
	vs_json_put_text(json, "pool",
			 sample->pool < replay->nr_pools ? replay->pools[sample->pool]->name
							 : NULL);
	vs_json_put_number(json, "held_bytes", sample->held_bytes);
	vs_json_put_number(json, "hole_bytes", sample->hole_bytes);
	vs_json_put_number(json, "largest_hole_bytes", sample->largest_bytes);
	vs_json_put_number(json, "holes", sample->nr_holes);
	vs_json_put_real(json, "fragmentation", sample->share);
	vs_json_put_real(json, "scatter", sample->scatter);
	vs_why_json_put_known(json, "below_request_bytes", has_request, sample->below_bytes);
	vs_json_end_object(json);
}

static void put_json_history(struct vs_story *story, const struct vs_measure_holes *holes,
			     bool has_rows)
{
	struct vs_json *json = story->json;
	size_t i;

	if (holes->request) {
		vs_json_begin_object(json, "request");
		vs_json_put_number(json, "bytes", holes->request);
		put_json_fit(json, "in_hole", &holes->in_hole);
		put_json_fit(json, "in_device", &holes->in_device);
		vs_json_end_object(json);
	}
	if (!has_rows)
		return;
	vs_json_begin_array(json, "over_time");
	for (i = 0; i < holes->nr_samples; i++)
		put_json_sample(story, &holes->samples[i], holes->request);
	vs_json_end_array(json);
}

/* whole_ns: from the first event to the last. */
static void add_fit(struct vs_text_line *line, uint64_t whole_ns, const struct vs_holes_fit *fit,
		    const char *where)
{
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	vs_text_add(line, "%s: ", where);
	if (!fit->was_ever)
		vs_text_add(line, "never");
	else
		vs_text_add(line, "%s of the time, last at %s",
			    vs_units_put_share(a, fit->time_ns, whole_ns),
			    vs_units_put_time(b, fit->last_ns));
}

static void put_request(struct vs_story *story, const struct vs_device_state *state,
			const struct vs_measure_holes *holes)
{
	const struct vs_address_pool *worst = vs_address_map_get_worst(&state->map);
	uint64_t whole_ns = story->analysis.duration_ns - holes->start_ns;
	uint64_t largest = 0, room = 0;
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];

	if (worst)
		largest = vs_hole_set_get_largest(&worst->holes);
	if (state->device->total_size > state->map.reserved_bytes)
		room = state->device->total_size - state->map.reserved_bytes;
	if (state->oom && state->why.is_free_known)
		room = state->why.free_size;
	vs_text_add(&line, "REQUEST");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_text_add(&line, "%s %s", vs_units_put_bytes(a, holes->request),
		    largest >= holes->request ? "fits into a hole"
		    : room >= holes->request  ? "fits beside the pools"
					      : "does not fit");
	vs_story_add_instant(&line, &state->at);
	vs_text_add(&line, ": the largest hole is %s, %s%s not taken",
		    vs_units_put_bytes(b, largest),
		    state->oom && state->why.is_free_known ? "" : "at most ",
		    vs_units_put_bytes(c, room));
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	add_fit(&line, whole_ns, &holes->in_hole, "a hole was large enough");
	add_fit(&line, whole_ns, &holes->in_device, "; the card had that much left");
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

static void put_rows(struct vs_story *story, const struct vs_measure_holes *holes)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX], d[VS_UNITS_MAX], e[VS_UNITS_MAX];
	size_t i;

	vs_text_add(&line, "OVER TIME");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_put(&story->style, &line);
	vs_text_add(&line, "  %8s  %9s %9s %9s %9s %6s %5s %8s", "time", "reserved", "live",
		    "in holes", "largest", "holes", "frag.", "scatter");
	vs_text_put(&story->style, &line);
	for (i = 0; i < holes->nr_samples; i++) {
		const struct vs_holes_sample *sample = &holes->samples[i];

		vs_text_add(&line, "  %8s  %9s %9s %9s %9s %6" PRIu64 "  %.2f     %.2f",
			    vs_units_put_time(a, sample->time_ns),
			    vs_units_put_bytes(b, sample->reserved_bytes),
			    vs_units_put_bytes(c, sample->live_bytes),
			    vs_units_put_bytes(d, sample->hole_bytes),
			    vs_units_put_bytes(e, sample->largest_bytes), sample->nr_holes,
			    sample->share, sample->scatter);
		vs_text_put(&story->style, &line);
	}
}

int vs_frag_report_tell_history(struct vs_story *story, const struct vs_device_state *state,
				uint64_t request, bool has_rows)
{
	const struct vs_analysis *analysis = &story->analysis;
	uint64_t from_ns = analysis->replay->first_ns;
	struct vs_measure_holes holes;
	struct vs_replay *replay;
	int err;

	if (from_ns < analysis->window.from_ns)
		from_ns = analysis->window.from_ns;
	if (from_ns > analysis->duration_ns)
		from_ns = analysis->duration_ns;
	vs_measure_holes_init(&holes, state->device->ordinal, request, from_ns,
			      analysis->duration_ns);
	err = vs_analysis_observe(analysis, &holes.observer, &replay);
	if (!err && story->json)
		put_json_history(story, &holes, has_rows);
	if (!err && !story->json && request)
		put_request(story, state, &holes);
	if (!err && !story->json && has_rows)
		put_rows(story, &holes);
	vs_measure_holes_fini(&holes);
	if (!err)
		vs_replay_destroy(replay);
	return err;
}
