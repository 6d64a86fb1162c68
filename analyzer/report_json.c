#include "report_json.h"

#include <stdlib.h>

#include "composition_report.h"
#include "framework_jax.h"
#include "instant_report.h"
#include "site_order.h"
#include "verdicts.h"
#include "why_json.h"

#define NR_VERDICTS 5 /* in a report; `why` has them all */

static const char *const kind_names[] = {
#define VS_MEMORY_KIND(name, text) [VS_MEMORY_##name] = text,
#include "memory_kind.def"
#undef VS_MEMORY_KIND
};

static const char *const unit_names[] = {
	[VS_BOUNDARY_STEPS] = "step",         [VS_BOUNDARY_PHASES] = "phase",
	[VS_BOUNDARY_INTERVALS] = "interval", [VS_BOUNDARY_DERIVED] = "step",
	[VS_BOUNDARY_ROUNDS] = "round",
};

void vs_report_json_put_counts(struct vs_json *json, const struct vs_counts *counts)
{
	vs_json_put_number(json, "allocs", counts->allocs);
	vs_json_put_number(json, "frees", counts->frees);
	vs_json_put_number(json, "failed_allocs", counts->failed_allocs);
	vs_json_put_number(json, "failed_frees", counts->failed_frees);
	vs_json_put_number(json, "implicit_frees", counts->implicit_frees);
	vs_json_put_number(json, "bytes_allocated", counts->bytes_allocated);
	vs_json_put_number(json, "peak_bytes", counts->peak_bytes);
	vs_json_put_number(json, "live_at_end_count", counts->live_at_end_count);
	vs_json_put_number(json, "live_at_end_bytes", counts->live_at_end_bytes);
}

void vs_report_json_put_kinds(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_analysis *analysis = &story->analysis;
	struct vs_counts sum = vs_measure_counts_sum(&analysis->counts, device);
	struct vs_json *json = story->json;
	int kind;

	vs_json_put_number(json, "allocs", sum.allocs);
	vs_json_put_number(json, "frees", sum.frees);
	vs_json_put_number(json, "failed_allocs", sum.failed_allocs);
	vs_json_put_number(json, "ooms", vs_failures_count_device(&analysis->failures, device));
	vs_json_put_number(json, "live_at_end_count", device->live_count);
	vs_json_put_number(json, "live_at_end_bytes", device->live_bytes);
	vs_json_put_number(json, "reserved_at_end_bytes", vs_replay_get_reserved(device));
	vs_json_begin_object(json, "memory_kinds");
	for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++) {
		vs_json_begin_object(json, kind_names[kind]);
		vs_report_json_put_counts(json,
					  vs_measure_counts_get_kind(&analysis->counts, device,
								     (enum vs_memory_kind)kind));
		vs_json_end_object(json);
	}
	vs_json_end_object(json);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static int put_group(struct vs_story *story, const struct vs_failure_group *group)
{
	struct vs_json *json = story->json;
	int err;

	vs_json_begin_object(json, NULL);
	vs_json_put_text(json, "pool", group->pool ? group->pool->name : NULL);
	vs_json_put_text(json, "kind", group->pool ? NULL : kind_names[group->kind]);
	vs_json_put_number(json, "failed", group->nr_failed);
	vs_json_put_number(json, "recovered", group->nr_recovered);
	vs_json_put_number(json, "ooms", group->nr_ooms);
	vs_json_put_number(json, "first_ns", group->first_ns);
	vs_json_put_number(json, "last_ns", group->last_ns);
	err = vs_story_put_json_site(story, group->site, group->api);
	if (err)
		return err;
	vs_json_end_object(json);
	return 0;
}

static void put_last_oom(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_failure *failure = &state->oom->last_oom;
	struct vs_json *json = story->json;

	vs_json_begin_object(json, "last_oom");
	vs_story_put_json_instant(story, "at", &failure->at);
	vs_json_put_number(json, "requested_bytes", failure->size);
	vs_json_put_text(json, "pool", state->oom->pool ? state->oom->pool->name : NULL);
	vs_json_put_text(
		json, "text",
		vs_definitions_get_name(&story->analysis.replay->definitions, failure->text));
	vs_json_put_text(json, "cause", vs_why_get_name(state->why.kind));
	vs_why_json_put_numbers(json, &state->why);
	vs_json_end_object(json);
}

int vs_report_json_put_failures(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_failures *failures = &story->analysis.failures;
	struct vs_json *json = story->json;
	size_t i;
	int err;

	vs_json_begin_array(json, "failures");
	for (i = 0; i < failures->nr_groups; i++) {
		if (failures->groups[i]->device != state->device)
			continue;
		err = put_group(story, failures->groups[i]);
		if (err)
			return err;
	}
	vs_json_end_array(json);
	if (state->oom)
		put_last_oom(story, state);
	else
		vs_json_put_null(json, "last_oom");
	return 0;
}

/* ---- At an instant -------------------------------------------------------------------------- */

static void put_pool_state(struct vs_json *json, const struct vs_address_pool *pool)
{
	static const struct vs_address_pool none;

	if (!pool)
		pool = &none;
	vs_json_put_number(json, "held_bytes", pool->segment_bytes);
	vs_json_put_number(json, "segments", pool->nr_segments);
	vs_json_put_number(json, "block_bytes", pool->block_bytes);
	vs_json_put_number(json, "blocks", pool->nr_blocks);
	vs_json_put_number(json, "requested_bytes", pool->block_bytes - pool->slack_bytes);
	vs_json_put_number(json, "runs", pool->nr_runs);
	vs_json_put_number(json, "hole_bytes", pool->holes.total_bytes);
	vs_json_put_number(json, "holes", pool->holes.nr_holes);
	vs_json_put_number(json, "largest_hole_bytes", vs_hole_set_get_largest(&pool->holes));
	vs_json_put_number(json, "releasable_bytes", pool->releasable_bytes);
	vs_json_put_real(json, "fragmentation", vs_hole_set_get_share(&pool->holes));
	vs_json_put_real(json, "scatter", vs_hole_set_get_scatter(&pool->holes));
}

static const char *get_owner(enum vs_pool_owner owner)
{
	if (owner == VS_POOL_DRIVER)
		return "driver";
	return owner == VS_POOL_FRAMEWORK ? "framework" : "program";
}

void vs_report_json_put_pools(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_analysis *analysis = &story->analysis;
	struct vs_json *json = story->json;
	const struct vs_replay_pool *then;
	size_t i;

	vs_json_begin_array(json, "pools");
	for (i = 0; i < analysis->replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = analysis->replay->pools[i];

		if (pool->device != state->device)
			continue;
		then = i < state->then->nr_pools ? state->then->pools[i] : NULL;
		vs_json_begin_object(json, NULL);
		vs_json_put_text(json, "name", pool->name);
		vs_json_put_text(json, "owner", get_owner(pool->owner));
		vs_json_put_number(json, "limit_bytes", pool->limit_size);
		vs_json_put_number(json, "ooms", vs_failures_count_pool(&analysis->failures, pool));
		vs_report_json_put_counts(json,
					  vs_measure_counts_get_pool(&analysis->counts, pool));
		vs_json_begin_object(json, "then");
		put_pool_state(json, then ? vs_address_map_get_pool(&state->map, then) : NULL);
		vs_json_put_bool(json, "sampled", then && then->is_sampled);
		vs_json_end_object(json);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

static void put_known(struct vs_json *json, const char *key, bool is_known, uint64_t bytes)
{
	if (is_known)
		vs_json_put_number(json, key, bytes);
	else
		vs_json_put_null(json, key);
}

static void put_outside(struct vs_story *story, const struct vs_device_state *state,
			const struct vs_memory_split *split)
{
	const struct vs_definitions *definitions = &story->analysis.replay->definitions;
	const struct vs_memory_sample *sample = vs_device_state_get_memory(state);
	struct vs_json *json = story->json;
	uint32_t i;

	put_known(json, "context_bytes", split->is_known, split->context_bytes);
	put_known(json, "other_process_bytes", split->is_known && split->has_list,
		  split->others_bytes);
	put_known(json, "unknown_holder_bytes", split->is_known && !split->has_list,
		  split->others_bytes);
	put_known(json, "unexplained_bytes", split->is_known, split->unexplained_bytes);
	put_known(json, "sampled_ns", sample->is_known, sample->time_ns);
	vs_json_begin_array(json, "holders");
	for (i = 0; i < sample->nr_holders && split->has_list; i++) {
		const char *name = vs_definitions_get_name(definitions, sample->holders[i].name);

		vs_json_begin_object(json, NULL);
		vs_json_put_number(json, "pid", sample->holders[i].pid);
		if (name)
			vs_json_put_text(json, "name", name);
		else
			vs_json_put_null(json, "name");
		vs_json_put_number(json, "bytes", sample->holders[i].size);
		vs_json_end_object(json);
	}
	vs_json_end_array(json);
}

void vs_report_json_put_where(struct vs_story *story, const struct vs_device_state *state)
{
	const struct vs_reconcile *where = &state->where;
	struct vs_json *json = story->json;

	vs_json_begin_object(json, "where");
	vs_json_put_number(json, "total_bytes", where->total_bytes);
	vs_json_put_number(json, "reserved_bytes", state->map.reserved_bytes);
	vs_json_put_number(json, "live_bytes", where->live_bytes);
	vs_json_put_number(json, "rounding_bytes", where->rounding_bytes);
	vs_json_put_number(json, "driver_rounding_bytes", where->driver_rounding);
	vs_json_put_number(json, "rounding_unknown_bytes", where->unasked_bytes);
	vs_json_put_number(json, "hole_bytes", where->hole_bytes);
	vs_json_put_number(json, "cached_bytes", where->cached_bytes);
	vs_json_put_number(json, "releasable_bytes", where->releasable_bytes);
	vs_json_put_number(json, "unmapped_bytes", where->unmapped_bytes);
	if (where->is_free_known) {
		vs_json_put_number(json, "outside_bytes", where->outside_bytes);
		vs_json_put_number(json, "not_taken_bytes", where->not_taken_bytes);
	} else {
		vs_json_put_null(json, "outside_bytes");
		vs_json_put_null(json, "not_taken_bytes");
	}
	put_outside(story, state, &where->outside);
	vs_json_put_number(json, "not_seen_bytes", where->not_seen_bytes);
	vs_json_put_number(json, "excess_bytes", where->excess_bytes);
	vs_json_end_object(json);
}

void vs_report_json_put_holes(struct vs_story *story, const struct vs_device_state *state)
{
	static const struct vs_hole_set none;
	const struct vs_address_pool *worst = vs_address_map_get_worst(&state->map);
	const struct vs_hole_set *holes = worst ? &worst->holes : &none;
	struct vs_json *json = story->json;

	vs_story_put_json_instant(story, "at", &state->at);
	vs_json_put_number(json, "largest_hole_bytes", vs_hole_set_get_largest(holes));
	vs_json_put_number(json, "hole_bytes", holes->total_bytes);
	vs_json_put_number(json, "holes", holes->nr_holes);
	vs_json_put_real(json, "fragmentation", vs_hole_set_get_share(holes));
	vs_json_put_real(json, "scatter", vs_hole_set_get_scatter(holes));
}

/* ---- Peak, retained, worst ------------------------------------------------------------------ */

static void put_peak_numbers(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_json *json = story->json;

	vs_json_put_number(json, "peak_live_bytes", peaks->live.bytes);
	vs_json_put_number(json, "peak_live_count", peaks->live.count);
	vs_json_put_number(json, "reserved_at_peak_live_bytes", peaks->live.other);
	vs_story_put_json_instant(story, "peak_live_at", &peaks->live.at);
	vs_json_put_number(json, "peak_reserved_bytes", peaks->reserved.bytes);
	vs_json_put_number(json, "live_at_peak_reserved_bytes", peaks->reserved.other);
	vs_story_put_json_instant(story, "peak_reserved_at", &peaks->reserved.at);
}

int vs_report_json_put_peak(struct vs_story *story, const struct vs_replay_device *device,
			    size_t top)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	struct vs_json *json = story->json;
	struct vs_site_row *rows;
	size_t nr_rows, i;
	int err = vs_site_order_peak(&story->analysis, device, &rows, &nr_rows);

	if (err)
		return err;
	put_peak_numbers(story, device);
	vs_json_begin_array(json, "peak_sites");
	for (i = 0; i < nr_rows && i < top && !err; i++) {
		vs_json_begin_object(json, NULL);
		vs_json_put_number(json, "bytes", rows[i].bytes);
		vs_json_put_number(json, "count", rows[i].count);
		err = vs_story_put_json_site(story, rows[i].account->site, rows[i].account->api);
		if (!err)
			vs_json_end_object(json);
	}
	free(rows);
	if (err)
		return err;
	vs_json_end_array(json);
	return vs_composition_report_tell(story, "peak_categories", device, &peaks->live.at,
					  peaks->live.bytes);
}

static void put_growth(struct vs_json *json, const struct vs_growth *growth, uint64_t stride,
		       uint64_t since, uint64_t since_ns)
{
	vs_json_put_bool(json, "growing", growth->is_growing);
	vs_json_put_number(json, "bytes_per_step", growth->rate);
	vs_json_put_number(json, "steps_grown", growth->nr_grown);
	vs_json_put_number(json, "steps", growth->nr_steps);
	vs_json_put_number(json, "steps_together", growth->stride * stride);
	vs_json_put_number(json, "kept_bytes", growth->kept_bytes);
	if (growth->is_growing)
		vs_json_put_number(json, "since", since);
	else
		vs_json_put_null(json, "since");
	vs_json_put_number(json, "since_ns", since_ns);
}

static void put_derived(struct vs_json *json, const struct vs_measure_retained *measure)
{
	if (measure->unit != VS_BOUNDARY_DERIVED && measure->unit != VS_BOUNDARY_ROUNDS) {
		vs_json_put_null(json, "derived");
		return;
	}
	vs_json_begin_object(json, "derived");
	vs_json_put_number(json, "requests_per_step", measure->period);
	vs_json_put_real(json, "confidence", measure->confidence);
	vs_json_end_object(json);
}

int vs_report_json_put_retained(struct vs_story *story, const struct vs_retained *retained,
				size_t top)
{
	struct vs_json *json = story->json;
	size_t i;
	int err = 0;

	vs_json_begin_object(json, "retained");
	vs_json_put_text(json, "unit", unit_names[story->analysis.retained.unit]);
	put_derived(json, &story->analysis.retained);
	vs_json_put_number(json, "boundaries", retained->nr_boundaries);
	vs_json_put_number(json, "live_at_last_bytes", retained->last_live);
	put_growth(json, &retained->growth, retained->boundary_stride, retained->since,
		   retained->since_ns);
	vs_json_put_bool(json, "may_be_loading", retained->is_start || retained->may_load);
	vs_json_put_bool(json, "may_be_one_pass", retained->may_be_pass);
	if (retained->has_forecast) {
		vs_json_put_number(json, "steps_to_full", retained->steps_to_full);
		vs_json_put_number(json, "time_to_full_ns", retained->time_to_full_ns);
	} else {
		vs_json_put_null(json, "steps_to_full");
		vs_json_put_null(json, "time_to_full_ns");
	}
	vs_json_begin_array(json, "sites");
	for (i = 0; i < retained->nr_sites && i < top && !err; i++) {
		const struct vs_retained_site *site = &retained->sites[i];

		vs_json_begin_object(json, NULL);
		vs_json_put_number(json, "live_at_last_bytes", site->last_bytes);
		vs_json_put_number(json, "constant_bytes", site->constant_bytes);
		put_growth(json, &site->growth, retained->boundary_stride, site->since,
			   site->since_ns);
		vs_why_json_put_known(json, "levels_off_since", site->is_level, site->level_since);
		vs_why_json_put_known(json, "levels_off_since_ns", site->is_level,
				      site->level_since_ns);
		err = vs_story_put_json_site(story, site->account->site, site->account->api);
		if (!err)
			vs_json_end_object(json);
	}
	if (err)
		return err;
	vs_json_end_array(json);
	vs_json_end_object(json);
	return 0;
}

void vs_report_json_put_worst(struct vs_story *story, const struct vs_replay_device *device)
{
	const struct vs_worst_holes *worst =
		vs_measure_fragmentation_get_worst(&story->analysis.fragmentation, device);
	struct vs_json *json = story->json;

	vs_json_begin_object(json, "worst_fragmentation");
	vs_json_put_text(json, "pool", worst->pool ? worst->pool->name : NULL);
	vs_story_put_json_instant(story, "at", &worst->at);
	vs_json_put_real(json, "fragmentation", worst->share);
	vs_json_put_real(json, "scatter", worst->scatter);
	vs_json_put_number(json, "hole_bytes", worst->total_bytes);
	vs_json_put_number(json, "largest_hole_bytes", worst->largest_bytes);
	vs_json_put_number(json, "holes", worst->nr_holes);
	vs_json_end_object(json);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static int put_verdicts(struct vs_story *story, const struct vs_device_state *state)
{
	int err;

	vs_json_begin_array(story->json, "verdicts");
	err = vs_verdicts_put_json(story, state->device, state, NR_VERDICTS);
	if (!err)
		vs_json_end_array(story->json);
	return err;
}

int vs_report_json_put_instant(struct vs_story *story, const struct vs_device_state *state,
			       size_t top)
{
	static const char *const unread[] = {"verdicts", "peak_sites", "peak_categories",
					     "retained"};
	size_t i;
	int err;

	vs_report_json_put_kinds(story, state->device);
	err = vs_report_json_put_failures(story, state);
	if (err)
		return err;
	vs_report_json_put_holes(story, state);
	vs_report_json_put_where(story, state);
	vs_report_json_put_pools(story, state);
	vs_instant_report_put_live(story, state);
	err = vs_instant_report_put_sites(story, state, top);
	if (err)
		return err;
	put_peak_numbers(story, state->device);
	for (i = 0; i < sizeof(unread) / sizeof(unread[0]); i++)
		vs_json_put_null(story->json, unread[i]);
	vs_report_json_put_worst(story, state->device);
	vs_framework_jax_put_json(story, state->device);
	return 0;
}

int vs_report_json_put_device(struct vs_story *story, const struct vs_device_state *state,
			      size_t top)
{
	int err;

	vs_report_json_put_kinds(story, state->device);
	err = put_verdicts(story, state);
	if (!err)
		err = vs_report_json_put_failures(story, state);
	if (err)
		return err;
	vs_report_json_put_holes(story, state);
	vs_report_json_put_where(story, state);
	vs_report_json_put_pools(story, state);
	err = vs_report_json_put_peak(story, state->device, top);
	if (!err)
		err = vs_report_json_put_retained(story, &state->retained, top);
	if (err)
		return err;
	vs_report_json_put_worst(story, state->device);
	vs_framework_jax_put_json(story, state->device);
	return 0;
}
