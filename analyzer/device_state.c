#include "device_state.h"

#include <string.h>

int vs_device_state_init(struct vs_device_state *state, const struct vs_analysis *analysis,
			 const struct vs_replay_device *device, enum vs_at at, uint64_t at_ns)
{
	const struct vs_failure_group *oom = vs_failures_get_last(&analysis->failures, device);
	const struct vs_replay_device *then;
	int err;

	memset(state, 0, sizeof(*state));
	state->device = device;
	state->named = at;
	err = vs_analysis_find_instant(analysis, device, at, at_ns, &state->at);
	if (!err)
		err = vs_analysis_go_to(analysis, &state->at, &state->then);
	if (err)
		return err;
	then = vs_replay_get_device(state->then, device->ordinal);
	/* Before its first record a device is not there: an empty map of the later one. */
	if (then)
		err = vs_address_map_init(&state->map, state->then, then);
	else
		state->map.device = device;
	if (!err)
		err = vs_measure_retained_sum(&state->retained, &analysis->retained,
					      analysis->replay, device);
	if (err) {
		vs_device_state_fini(state);
		return err;
	}
	if (oom && (at == VS_AT_DEFAULT || at == VS_AT_OOM)) {
		state->oom = oom;
		vs_cause_find(&state->cause, oom, &oom->last_oom, &state->map, &state->retained);
	}
	return 0;
}

void vs_device_state_fini(struct vs_device_state *state)
{
	vs_address_map_fini(&state->map);
	vs_measure_retained_fini_sum(&state->retained);
	vs_replay_destroy(state->then);
	memset(state, 0, sizeof(*state));
}

void vs_device_state_get_whereabouts(const struct vs_device_state *state,
				     struct vs_whereabouts *where)
{
	const struct vs_address_map *map = &state->map;
	uint64_t rest;

	memset(where, 0, sizeof(*where));
	where->total_bytes = state->device->total_size;
	where->is_free_known = state->oom && state->cause.is_free_known;
	if (where->is_free_known)
		where->total_bytes = state->cause.total_size;
	where->live_bytes = map->live_bytes;
	where->hole_bytes = map->hole_bytes;
	where->cached_bytes = map->cached_bytes;
	if (map->reserved_bytes > where->total_bytes) {
		where->excess_bytes = map->reserved_bytes - where->total_bytes;
		return;
	}
	rest = where->total_bytes - map->reserved_bytes;
	if (!where->is_free_known) {
		where->not_seen_bytes = rest;
		return;
	}
	where->not_taken_bytes = state->cause.free_size < rest ? state->cause.free_size : rest;
	where->outside_bytes = rest - where->not_taken_bytes;
}
