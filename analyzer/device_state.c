#include "device_state.h"

#include <stdlib.h>
#include <string.h>

#include "one_pass.h"

/* How far behind a failure the sample it caused is looked for. */
#define AFTER_NS   UINT64_C(1000000000)
#define NR_RECORDS 200000u

/* Takes what belongs to it; false: a further sample of the device, which is another's. */
static bool take_after(struct vs_memory_sample *after, const struct vs_record *record,
		       uint32_t ordinal, uint64_t booked_bytes)
{
	if (record->type == VS_RECORD_MEMORY_INFO && record->memory_info.device == ordinal) {
		if (after->is_known)
			return false;
		if (record->memory_info.flags & VS_MEMORY_INFO_FAILURE)
			vs_memory_sample_set(after, record, booked_bytes);
	} else if (record->type == VS_RECORD_MEMORY_OWN && record->memory_own.device == ordinal) {
		vs_memory_sample_set_own(after, &record->memory_own);
	} else if (record->type == VS_RECORD_MEMORY_HOLDER &&
		   record->memory_holder.device == ordinal) {
		vs_memory_sample_add_holder(after, &record->memory_holder);
	}
	return true;
}

/*
 * The source stands right behind the failure. What our books say at the sample is what they say at
 * the failure, or there is nothing to be learnt from it but who else holds memory.
 */
static int find_after(struct vs_device_state *state, const struct vs_source *source,
		      uint64_t booked_bytes)
{
	struct vs_memory_sample *after = &state->after;
	uint32_t ordinal = state->device->ordinal;
	struct vs_record record;
	int got = 0;

	for (uint32_t i = 0; i < NR_RECORDS; i++) {
		got = source->next(source->context, &record);
		if (got <= 0)
			break;
		if (vs_replay_is_event(&record) &&
		    (after->is_known || record.time_ns > state->at.time_ns + AFTER_NS))
			break;
		if (!take_after(after, &record, ordinal, booked_bytes))
			break;
	}
	return got == -VS_ERR_NO_MEMORY ? got : 0;
}

/* Of what it asked for, it gave back one part of so many, or less. */
#define GIVEN_PART 4

/*
 * A model that is loaded grows as a leak does, as long as there is no step to tell them apart. What
 * a program gives back because it has run out and ends says nothing: then bytes count that were
 * live at the last boundary.
 */
static bool is_start(const struct vs_retained *retained, const struct vs_analysis *analysis,
		     const struct vs_replay_device *device)
{
	uint64_t taken = 0, alive = 0, bytes = 0;
	size_t i;

	if (analysis->retained.unit != VS_BOUNDARY_INTERVALS)
		return false;
	for (i = 0; i < analysis->replay->nr_accounts; i++) {
		const struct vs_account *account = analysis->replay->accounts[i];

		if (account->device != device)
			continue;
		taken += vs_measure_sites_get(&analysis->sites, account)->nr_allocs;
		bytes += vs_measure_sites_get(&analysis->sites, account)->bytes_allocated;
		alive += account->live_count;
	}
	if (taken <= alive || taken - alive <= taken / GIVEN_PART)
		return true;
	return vs_failures_count_device(&analysis->failures, device) &&
	       retained->last_live >= bytes - bytes / GIVEN_PART;
}

/* Boundaries at which growth that was there from the start may begin: one part of so many. */
#define START_PART 8

/* Never less at a boundary than at the one before. */
static int is_only_rising(const struct vs_analysis *analysis, const struct vs_account *account,
			  bool *is_rising)
{
	uint32_t nr = analysis->retained.nr_boundaries, i;
	uint64_t *values = calloc(nr ? nr : 1, sizeof(*values));

	if (!values)
		return -VS_ERR_NO_MEMORY;
	vs_measure_retained_get_values(&analysis->retained, account, false, values);
	for (i = 1; i < nr; i++)
		*is_rising = *is_rising && values[i] >= values[i - 1];
	free(values);
	return 0;
}

/*
 * Growth from the first steps on, that nobody marked, of sites that give nothing back, and beside
 * them there is next to nothing: a leak in a loop, or a loop that loads what is needed. A backward
 * pass tells that it is none of those; nor does anybody load by calling modules.
 */
static int find_load(struct vs_retained *retained, const struct vs_analysis *analysis)
{
	enum vs_boundary_unit unit = analysis->retained.unit;
	bool may_load = retained->growth.is_growing && unit != VS_BOUNDARY_STEPS &&
			unit != VS_BOUNDARY_PHASES &&
			retained->growth.onset <= 1 + retained->nr_boundaries / START_PART;
	uint64_t bytes = 0, called = 0;
	size_t i;
	int err = 0;

	for (i = 0; i < retained->nr_growing && may_load && !err; i++) {
		const struct vs_account *account = retained->sites[i].account;

		bytes += retained->sites[i].last_bytes;
		if (vs_one_pass_is_in_call(&analysis->replay->definitions, account->site))
			called += retained->sites[i].last_bytes;
		err = is_only_rising(analysis, account, &may_load);
	}
	if (bytes < retained->last_live - retained->last_live / START_PART || called > bytes / 2)
		may_load = false;
	retained->may_load =
		!err && may_load && !vs_one_pass_has_backward(&analysis->replay->definitions);
	return err;
}

int vs_device_state_sum_retained(struct vs_retained *retained, const struct vs_analysis *analysis,
				 const struct vs_replay_device *device)
{
	int err = vs_measure_retained_sum(retained, &analysis->retained, analysis->replay, device);

	if (err)
		return err;
	retained->is_start = is_start(retained, analysis, device);
	vs_one_pass_find(retained, analysis, device);
	err = find_load(retained, analysis);
	if (err)
		vs_measure_retained_fini_sum(retained);
	return err;
}

/* The device at state->at. is_failure: what comes behind it will be looked at. */
static int look(struct vs_device_state *state, const struct vs_analysis *analysis, bool is_failure)
{
	const struct vs_replay_device *then;
	int err = is_failure ? vs_analysis_go_behind(analysis, &state->at, &state->then)
			     : vs_analysis_go_to(analysis, &state->at, &state->then);

	if (err)
		return err;
	then = vs_replay_get_device(state->then, state->device->ordinal);
	/* Before its first record a device is not there: an empty map of the later one. */
	if (then)
		err = vs_address_map_init(&state->map, state->then, then);
	else
		state->map.device = state->device;
	if (!err)
		err = vs_device_state_sum_retained(&state->retained, analysis, state->device);
	if (err)
		vs_device_state_fini(state);
	else
		vs_reconcile_find(&state->where, &state->map, &state->after, 0, 0);
	return err;
}

static int judge(struct vs_device_state *state, const struct vs_analysis *analysis,
		 const struct vs_failure_group *group)
{
	const struct vs_failure *failure = &group->last_oom;
	int err = find_after(state, analysis->source, state->map.reserved_bytes);

	if (err) {
		vs_device_state_fini(state);
		return err;
	}
	state->oom = group;
	state->nr_after = analysis->replay->last_id - state->then->last_id;
	state->is_judged = true;
	vs_reconcile_find(&state->where, &state->map, &state->after, failure->free_size,
			  failure->total_size);
	vs_why_judge(&state->why, group, failure, &state->map, &state->retained, &state->where);
	return 0;
}

int vs_device_state_init(struct vs_device_state *state, const struct vs_analysis *analysis,
			 const struct vs_replay_device *device, enum vs_at at, uint64_t at_ns)
{
	const struct vs_failure_group *oom = vs_failures_get_last(&analysis->failures, device);
	bool is_failure = oom && (at == VS_AT_DEFAULT || at == VS_AT_OOM);
	int err;

	memset(state, 0, sizeof(*state));
	state->device = device;
	state->named = at;
	err = vs_analysis_find_instant(analysis, device, at, at_ns, &state->at);
	if (!err)
		err = look(state, analysis, is_failure);
	if (!err && is_failure)
		err = judge(state, analysis, oom);
	return err;
}

int vs_device_state_init_failure(struct vs_device_state *state, const struct vs_analysis *analysis,
				 const struct vs_failure_group *group)
{
	int err;

	memset(state, 0, sizeof(*state));
	state->device = group->device;
	state->named = VS_AT_OOM;
	state->at = group->last_oom.at;
	err = look(state, analysis, true);
	return err ? err : judge(state, analysis, group);
}

void vs_device_state_judge_end(struct vs_device_state *state, enum vs_why_occasion occasion)
{
	state->is_judged = true;
	vs_why_judge_end(&state->why, occasion, &state->map, &state->retained, &state->where);
}

int vs_device_state_init_end(struct vs_device_state *state, const struct vs_analysis *analysis,
			     const struct vs_replay_device *device, enum vs_why_occasion occasion)
{
	enum vs_at at = occasion == VS_WHY_KILLED ? VS_AT_END : VS_AT_DEFAULT;
	int err = vs_device_state_init(state, analysis, device, at, 0);

	if (!err)
		vs_device_state_judge_end(state, occasion);
	return err;
}

void vs_device_state_fini(struct vs_device_state *state)
{
	vs_address_map_fini(&state->map);
	vs_measure_retained_fini_sum(&state->retained);
	vs_replay_destroy(state->then);
	memset(state, 0, sizeof(*state));
}

const struct vs_memory_sample *vs_device_state_get_memory(const struct vs_device_state *state)
{
	return state->after.is_known ? &state->after : &state->map.device->memory;
}
