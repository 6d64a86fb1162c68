#include "report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "composition_report.h"
#include "framework_jax.h"
#include "site_order.h"
#include "units.h"
#include "verdicts.h"
#include "why_text.h"

static void add_heading(struct vs_text_line *line, const char *heading, enum vs_text_mark mark)
{
	vs_text_add(line, "%s", heading);
	vs_text_mark(line, mark);
	vs_text_fill(line, VS_REPORT_TEXT_COLUMN);
}

/* ---- Where ---------------------------------------------------------------------------------- */

struct part {
	const char *name;
	uint64_t bytes;
	uint64_t hundredths; /* of the unit */
	bool is_shown;
};

/*
 * Hundredths that add up as the bytes do: all rounded down, and what is missing goes to those that
 * lost most.
 */
static void round_parts(struct part *parts, size_t nr_parts, uint64_t unit, uint64_t total)
{
	uint64_t sum = 0, lost, most, i, best;
	uint64_t wanted = (uint64_t)((double)total * 100 / (double)unit + 0.5);

	for (i = 0; i < nr_parts; i++) {
		parts[i].hundredths = (uint64_t)((unsigned __int128)parts[i].bytes * 100 / unit);
		sum += parts[i].hundredths;
	}
	for (; sum < wanted; sum++) {
		most = 0;
		best = nr_parts;
		for (i = 0; i < nr_parts; i++) {
			lost = (uint64_t)((unsigned __int128)parts[i].bytes * 100 -
					  (unsigned __int128)parts[i].hundredths * unit);
			if (lost > most && lost < unit * 2) {
				most = lost;
				best = i;
			}
		}
		if (best == nr_parts)
			return;
		parts[best].hundredths++;
	}
}

static uint64_t get_unit(uint64_t total)
{
	uint64_t unit = 1;

	while (total / unit >= 1000)
		unit *= 1024;
	return unit;
}

/* Whether there could be holes: the driver says nothing of those in its own pools. */
static bool has_divided(const struct vs_address_map *map)
{
	size_t i;

	for (i = 0; i < map->nr_pools; i++)
		if (map->pools[i].pool->owner != VS_POOL_DRIVER)
			return true;
	return false;
}

/* Who the other processes are: as many as NVML's list was kept of. */
static void put_holders(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_memory_sample *sample = vs_device_state_get_memory(state);
	struct vs_text_line line = {0};
	char text[VS_UNITS_MAX];
	uint32_t i;

	vs_text_add(&line, "  held by others");
	vs_text_fill(&line, 27);
	for (i = 0; i < sample->nr_holders; i++) {
		const struct vs_memory_holder *holder = &sample->holders[i];
		const char *name =
			vs_definitions_get_name(&story->analysis.replay->definitions, holder->name);

		vs_text_add(&line, "%s%s by ", i ? ", " : "",
			    vs_units_put_bytes(text, holder->size));
		if (name)
			vs_text_add_name(&line, name, VS_TEXT_NAME_COLUMNS);
		else
			vs_text_add(&line, "a process");
		vs_text_add(&line, " (pid %" PRIu32 ")", holder->pid);
	}
	if (sample->own.nr_others > sample->nr_holders)
		vs_text_add(&line, ", and %" PRIu32 " more",
			    sample->own.nr_others - sample->nr_holders);
	vs_text_put_whole(&story->style, &line, 27);
}

void vs_report_text_put_where(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_reconcile *where = &state->where;
	struct vs_text_line line = {0};
	char text[VS_UNITS_MAX];
	size_t i;

	if (!where->total_bytes || where->excess_bytes)
		return;
	struct part parts[] = {
		{where->unasked_bytes > where->live_bytes / 2 ? "live with rounding" : "live",
		 where->live_bytes, 0, true},
		{"rounding", where->rounding_bytes, 0, false},
		{"holes", where->hole_bytes, 0, has_divided(&state->map)},
		{"cached", where->releasable_bytes, 0, where->releasable_bytes},
		{"not mapped", where->unmapped_bytes, 0, where->unmapped_bytes},
		{"context and others", where->outside.is_known ? 0 : where->outside_bytes, 0,
		 where->is_free_known && !where->outside.is_known},
		{"context", where->outside.context_bytes, 0, where->outside.is_known},
		{where->outside.has_list ? "other processes" : "unknown holder",
		 where->outside.others_bytes, 0, where->outside.is_known},
		{"not taken", where->not_taken_bytes, 0, where->is_free_known},
		{"unexplained", where->outside.unexplained_bytes, 0, where->outside.has_list},
		{"free or not seen", where->not_seen_bytes, 0, !where->is_free_known},
	};
	round_parts(parts, sizeof(parts) / sizeof(parts[0]), get_unit(where->total_bytes),
		    where->total_bytes);
	parts[1].is_shown = parts[1].hundredths;
	vs_text_add(&line, "WHERE %s ARE AT ", vs_units_put_bytes(text, where->total_bytes));
	if (state->named == VS_AT_TIME)
		vs_text_add(&line, "%s", vs_units_put_time(text, state->at.time_ns));
	else
		vs_text_add(&line, "THE %s",
			    state->oom                  ? "FAILURE"
			    : state->named == VS_AT_END ? "END"
							: "PEAK");
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_add(&line, "   ");
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].is_shown)
			vs_text_add(&line, "  %s %" PRIu64 ".%02" PRIu64, parts[i].name,
				    parts[i].hundredths / 100, parts[i].hundredths % 100);
	vs_text_put_whole(&story->style, &line, 4);
	if (where->outside.has_list && where->outside.others_bytes)
		put_holders(story, state);
}

/* ---- Out of memory -------------------------------------------------------------------------- */

/* Other sites than the last that ran out. */
static int put_other_failures(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_failures *failures = &story->analysis.failures;
	const struct vs_failure_group *last = vs_failures_get_last(failures, device);
	struct vs_text_line line = {0};
	char text[1024], size[VS_UNITS_MAX], number[VS_UNITS_MAX];
	size_t i;
	int err;

	for (i = 0; i < failures->nr_groups; i++) {
		const struct vs_failure_group *group = failures->groups[i];

		if (group->device != device || !group->nr_ooms || group == last)
			continue;
		err = vs_site_names_put(story->names, group->site, group->api, text, sizeof(text));
		if (err)
			return err;
		vs_text_add(&line, "  also %s of %s by",
			    vs_units_put_number(number, group->nr_ooms, story->options->ascii),
			    vs_units_put_bytes(size, group->last_oom.size));
		vs_text_fill(&line, 27);
		vs_text_add(&line, "%s", text);
		vs_text_put(&story->style, &line);
	}
	return 0;
}

static int put_verdict(struct vs_story *story, const struct vs_device_state *state)
{
	return vs_why_text_put(story, state, false);
}

int vs_report_text_put_failures(struct vs_story *story, const struct vs_device_state *state)
{
	size_t nr_verdicts;
	int err = vs_verdicts_tell(story, state->device, state, 1, put_verdict, &nr_verdicts);

	if (!err)
		err = put_other_failures(story, state->device);
	if (!err)
		vs_why_text_put_recovered(story, state->device);
	return err;
}

/* ---- Peak ----------------------------------------------------------------------------------- */

void vs_report_text_put_pools(struct vs_story *story, const struct vs_device_state *state)
{
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX], c[VS_UNITS_MAX];
	size_t i;

	for (i = 0; i < state->map.nr_pools; i++) {
		const struct vs_address_pool *pool = &state->map.pools[i];

		if (!i)
			add_heading(&line, "POOLS", VS_TEXT_STRONG);
		else
			vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
		vs_text_add_name(&line, pool->pool->name, VS_TEXT_NAME_COLUMNS);
		vs_text_add(&line, ": %s live in %s held", vs_units_put_bytes(a, pool->block_bytes),
			    vs_units_put_bytes(b, pool->segment_bytes));
		if (pool->pool->owner == VS_POOL_DRIVER)
			vs_text_add(&line, "%s",
				    pool->pool->is_sampled ? " (sampled)" : " at least");
		if (pool->holes.nr_holes)
			vs_text_add(&line, ", %s of it in %" PRIu64 " hole%s",
				    vs_units_put_bytes(c, pool->holes.total_bytes),
				    pool->holes.nr_holes, pool->holes.nr_holes == 1 ? "" : "s");
		/* TensorFlow's gives back nothing to others. */
		if (pool->releasable_bytes)
			vs_text_add(&line, ", %s %s", vs_units_put_bytes(a, pool->releasable_bytes),
				    strncmp(pool->pool->name, "TensorFlow", 10)
					    ? "could be given back"
					    : "in segments without a block");
		/* Less than a hundredth is not worth a word. */
		if (pool->slack_bytes && pool->slack_bytes >= pool->block_bytes / 100)
			vs_text_add(&line, ", %s more than asked for",
				    vs_units_put_bytes(a, pool->slack_bytes));
		if (pool->pool->limit_size)
			vs_text_add(&line, ", limit %s",
				    vs_units_put_bytes(a, pool->pool->limit_size));
		vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	}
}

int vs_report_text_put_peak_head(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];

	add_heading(&line, "PEAK", VS_TEXT_STRONG);
	vs_text_add(&line, "%s live in %s reserved", vs_units_put_bytes(a, peaks->live.bytes),
		    vs_units_put_bytes(b, peaks->live.other));
	vs_story_add_instant(&line, &peaks->live.at);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	if (peaks->reserved.bytes > peaks->live.other) {
		vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
		vs_text_add(&line, "%s reserved at most",
			    vs_units_put_bytes(a, peaks->reserved.bytes));
		vs_story_add_instant(&line, &peaks->reserved.at);
		vs_text_put(&story->style, &line);
	}
	return vs_composition_report_tell(story, "peak_categories", device, &peaks->live.at,
					  peaks->live.bytes);
}

int vs_report_text_put_peak(struct vs_story *story, const struct vs_replay_device *device,
			    size_t top)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX], b[VS_UNITS_MAX];
	struct vs_site_row *rows;
	size_t nr_rows, i;
	int err = vs_site_order_peak(&story->analysis, device, &rows, &nr_rows);

	if (err)
		return err;
	err = vs_report_text_put_peak_head(story, device);
	for (i = 0; i < nr_rows && i < top && !err; i++) {
		vs_text_add(&line, "  %-9s %5s %7" PRIu64 " x   ",
			    vs_units_put_bytes(a, rows[i].bytes),
			    vs_units_put_share(b, rows[i].bytes, peaks->live.bytes), rows[i].count);
		err = vs_story_add_site(story, &line, rows[i].account);
		vs_text_put(&story->style, &line);
	}
	if (nr_rows > top && !err) {
		vs_text_add(&line, "  and %zu more sites", nr_rows - top);
		vs_text_put(&story->style, &line);
	}
	free(rows);
	return err;
}

/* ---- Retained ------------------------------------------------------------------------------- */

/* What a boundary is the end of. Phases that are all called a step are steps. */
static const char *get_unit_name(const struct vs_story *story)
{
	static const char *const names[] = {[VS_BOUNDARY_STEPS] = "step",
					    [VS_BOUNDARY_PHASES] = "phase",
					    [VS_BOUNDARY_INTERVALS] = "interval",
					    [VS_BOUNDARY_DERIVED] = "step",
					    [VS_BOUNDARY_ROUNDS] = "round"};
	static const char *const words[] = {"step",  "iteration", "iter",
					    "epoch", "batch",     "minibatch"};
	const struct vs_measure_retained *measure = &story->analysis.retained;
	const char *phase =
		vs_definitions_get_name(&story->analysis.replay->definitions, measure->phase);
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]) && phase; i++)
		if (measure->unit == VS_BOUNDARY_PHASES && !strcasecmp(phase, words[i]))
			return words[i];
	return names[measure->unit];
}

static const char *get_article(const char *noun)
{
	return strchr("aeio", noun[0]) ? "an" : "a";
}

static void put_growth(struct vs_story *story, const struct vs_retained *retained, bool is_full)
{
	const char *unit = get_unit_name(story);
	const struct vs_growth *growth = &retained->growth;
	uint64_t stride = growth->stride * retained->boundary_stride;
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];

	add_heading(&line, "RETAINED", VS_TEXT_STRONG);
	vs_text_add(&line, "%s %s %s", vs_units_put_change(a, (int64_t)growth->rate),
		    get_article(unit), unit);
	if (vs_measure_retained_has_numbers(&story->analysis.retained))
		vs_text_add(&line, " since %s %" PRIu64, unit, retained->since);
	else
		vs_text_add(&line, " since %s", vs_units_put_time(a, retained->since_ns));
	if (stride > 1)
		vs_text_add(&line, " (%zu of %zu stretches of %" PRIu64 " %ss)", growth->nr_grown,
			    growth->nr_steps, stride, unit);
	else
		vs_text_add(&line, " (%zu of %zu %ss)", growth->nr_grown, growth->nr_steps, unit);
	if (retained->has_forecast && !is_full && !retained->is_start && !retained->may_be_pass)
		vs_text_add(&line, ", will be full in %" PRIu64 " %ss (%s)",
			    retained->steps_to_full, unit,
			    vs_units_put_time(a, retained->time_to_full_ns));
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	if (!retained->is_start && !retained->may_load && !retained->may_be_pass)
		return;
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	if (retained->may_be_pass)
		vs_text_add(&line, "one forward pass through many layers looks the same: no "
				   "backward pass came behind it");
	else
		vs_text_add(&line, "a model that is loaded looks the same: %s",
			    retained->is_start ? "next to nothing was ever given back"
					       : "there is next to nothing else");
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

static void put_no_growth(struct vs_story *story, const struct vs_retained *retained)
{
	const char *unit = get_unit_name(story);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];

	add_heading(&line, "RETAINED", VS_TEXT_STRONG);
	if (retained->nr_boundaries < 2)
		vs_text_add(&line, "no two %ss to compare", unit);
	else if (story->analysis.retained.unit == VS_BOUNDARY_INTERVALS)
		vs_text_add(&line, "nothing grows steadily; no steps or phases were marked");
	else
		vs_text_add(&line, "nothing grows over %" PRIu32 " %ss; %s alive at the last one",
			    retained->nr_boundaries, unit,
			    vs_units_put_bytes(a, retained->last_live));
	vs_text_put(&story->style, &line);
}

/* Steps that nobody marked are not as sure as those that somebody did. */
static void put_derived(struct vs_story *story)
{
	const struct vs_measure_retained *measure = &story->analysis.retained;
	struct vs_text_line line = {0};
	char number[VS_UNITS_MAX];

	if (measure->unit != VS_BOUNDARY_DERIVED && measure->unit != VS_BOUNDARY_ROUNDS)
		return;
	vs_units_put_number(number, measure->period, story->options->ascii);
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	if (measure->unit == VS_BOUNDARY_DERIVED)
		vs_text_add(&line,
			    "steps are derived: requests repeat after %s; %.0f %% sure; "
			    "vramscope.step() marks them",
			    number, measure->confidence * 100);
	else
		vs_text_add(&line,
			    "a round is %s requests that repeat, a step or several: "
			    "vramscope.step() marks them",
			    number);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}

int vs_report_text_put_retained(struct vs_story *story, const struct vs_retained *retained,
				bool is_full, size_t top)
{
	const char *unit = get_unit_name(story);
	struct vs_text_line line = {0};
	char a[VS_UNITS_MAX];
	size_t i;
	int err = 0;

	if (!retained->nr_growing) {
		put_no_growth(story, retained);
		put_derived(story);
		return 0;
	}
	put_growth(story, retained, is_full);
	put_derived(story);
	for (i = 0; i < retained->nr_growing && i < top && !err; i++) {
		const struct vs_retained_site *site = &retained->sites[i];

		vs_text_add(&line, "  %s %s %s", vs_units_put_change(a, (int64_t)site->growth.rate),
			    get_article(unit), unit);
		vs_text_fill(&line, 27);
		err = vs_story_add_site(story, &line, site->account);
		vs_text_put(&story->style, &line);
	}
	return err;
}

/* ---- Fragmentation -------------------------------------------------------------------------- */

void vs_report_text_put_fragmentation(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_worst_holes *worst =
		vs_measure_fragmentation_get_worst(&story->analysis.fragmentation, device);
	const struct vs_replay *replay = story->analysis.replay;
	struct vs_text_line line = {0};
	struct vs_framework_jax jax;
	bool has_pool = false;
	char time[VS_UNITS_MAX], a[VS_UNITS_MAX], b[VS_UNITS_MAX], path[VS_TEXT_LINE_MAX];
	size_t i;

	for (i = 0; i < replay->nr_pools; i++)
		has_pool |= replay->pools[i]->owner != VS_POOL_DRIVER;
	add_heading(&line, "FRAGMENTATION", VS_TEXT_STRONG);
	if (worst->pool)
		vs_text_add(&line, "worst %.2f at %s: of %s in holes, %s are outside the largest",
			    worst->share, vs_units_put_time(time, worst->at.time_ns),
			    vs_units_put_bytes(a, worst->total_bytes),
			    vs_units_put_bytes(b, worst->total_bytes - worst->largest_bytes));
	else if (has_pool)
		vs_text_add(&line, "none: no pool ever had two holes");
	else if (vs_framework_jax_find(story, &jax) && jax.is_hidden)
		vs_text_add(&line, "not known: holes inside JAX's allocator are hidden");
	else if (replay->nr_pools)
		vs_text_add(&line, "not known: of the driver's own pools no holes are told");
	else
		vs_text_add(&line, "no pool was seen, so there are no holes to speak of");
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
	if (!worst->pool)
		return;
	vs_text_fill(&line, VS_REPORT_TEXT_COLUMN);
	vs_story_put_path(story, path, sizeof(path));
	vs_text_add(&line, "see: vramscope heatmap -o heatmap.png %s", path);
	vs_text_put_whole(&story->style, &line, VS_REPORT_TEXT_COLUMN);
}
