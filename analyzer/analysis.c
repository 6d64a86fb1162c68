#include "analysis.h"

#include <string.h>

int vs_analysis_pass(const struct vs_source *source, const struct vs_window *window,
		     struct vs_replay *replay)
{
	struct vs_record record;
	int got, err;

	err = source->rewind(source->context);
	if (err)
		return err;
	replay->from_ns = window->from_ns;
	replay->is_in_window = !window->from_ns;
	while ((got = source->next(source->context, &record)) > 0) {
		if (vs_replay_is_event(&record) && record.time_ns > window->to_ns)
			break;
		err = vs_replay_add(replay, &record);
		if (err)
			return err;
	}
	return got < 0 ? got : vs_replay_end(replay);
}

static int find_adopted(struct vs_analysis *analysis)
{
	enum vs_boundary_unit unit = VS_BOUNDARY_INTERVALS;
	const struct vs_window *window = &analysis->window;
	struct vs_replay *replay;
	uint64_t first_ns;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopting = &analysis->adoption;
	err = vs_analysis_pass(analysis->source, &analysis->window, replay);
	analysis->duration_ns = replay->now_ns;
	first_ns = window->from_ns > replay->first_ns ? window->from_ns : replay->first_ns;
	if (replay->nr_steps > 1)
		unit = VS_BOUNDARY_STEPS;
	else if (replay->nr_phases > 1)
		unit = VS_BOUNDARY_PHASES;
	vs_replay_destroy(replay);
	if (first_ns > analysis->duration_ns)
		first_ns = analysis->duration_ns;
	if (!err)
		vs_measure_retained_init(&analysis->retained, unit, first_ns,
					 analysis->duration_ns);
	return err;
}

static int measure(struct vs_analysis *analysis)
{
	int err = vs_replay_create(&analysis->replay);

	if (err)
		return err;
	analysis->replay->adopted = &analysis->adoption;
	vs_replay_add_observer(analysis->replay, &analysis->peak.observer);
	vs_replay_add_observer(analysis->replay, &analysis->counts.observer);
	vs_replay_add_observer(analysis->replay, &analysis->sites.observer);
	vs_replay_add_observer(analysis->replay, &analysis->fragmentation.observer);
	vs_replay_add_observer(analysis->replay, &analysis->retained.observer);
	vs_replay_add_observer(analysis->replay, &analysis->failures.observer);
	return vs_analysis_pass(analysis->source, &analysis->window, analysis->replay);
}

int vs_analysis_init(struct vs_analysis *analysis, const struct vs_source *source,
		     const struct vs_window *window)
{
	int err;

	memset(analysis, 0, sizeof(*analysis));
	analysis->source = source;
	analysis->window = *window;
	vs_measure_peak_init(&analysis->peak);
	vs_measure_counts_init(&analysis->counts);
	vs_measure_sites_init(&analysis->sites);
	vs_measure_fragmentation_init(&analysis->fragmentation);
	vs_failures_init(&analysis->failures);
	err = find_adopted(analysis);
	if (!err)
		err = measure(analysis);
	if (err)
		vs_analysis_fini(analysis);
	return err;
}

void vs_analysis_fini(struct vs_analysis *analysis)
{
	vs_measure_peak_fini(&analysis->peak);
	vs_measure_counts_fini(&analysis->counts);
	vs_measure_sites_fini(&analysis->sites);
	vs_measure_fragmentation_fini(&analysis->fragmentation);
	vs_measure_retained_fini(&analysis->retained);
	vs_failures_fini(&analysis->failures);
	vs_replay_destroy(analysis->replay);
	vs_adoption_fini(&analysis->adoption);
	memset(analysis, 0, sizeof(*analysis));
}

int vs_analysis_find_instant(const struct vs_analysis *analysis,
			     const struct vs_replay_device *device, enum vs_at at, uint64_t at_ns,
			     struct vs_instant *instant)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&analysis->peak, device);
	const struct vs_failure_group *oom = vs_failures_get_last(&analysis->failures, device);

	switch (at) {
	case VS_AT_TIME:
		*instant = (struct vs_instant){.time_ns = at_ns};
		return 0;
	case VS_AT_END:
		*instant = vs_instant_now(analysis->replay, 0);
		return 0;
	case VS_AT_PEAK:
		*instant = peaks->live.at;
		return 0;
	case VS_AT_OOM:
		if (!oom)
			return -VS_ERR_INVALID;
		*instant = oom->last_oom.at;
		return 0;
	case VS_AT_DEFAULT:
		*instant = oom ? oom->last_oom.at : peaks->reserved.at;
		return 0;
	}
	return -VS_ERR_INVALID;
}

int vs_analysis_go_to(const struct vs_analysis *analysis, const struct vs_instant *instant,
		      struct vs_replay **out)
{
	const struct vs_source *source = analysis->source;
	struct vs_replay *replay;
	struct vs_record record;
	int got, err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopted = &analysis->adoption;
	err = source->rewind(source->context);
	while (!err && (!instant->record || replay->counters.nr_records < instant->record)) {
		got = source->next(source->context, &record);
		if (got <= 0) {
			err = got;
			break;
		}
		if (!instant->record && vs_replay_is_event(&record) &&
		    record.time_ns > instant->time_ns)
			break;
		err = vs_replay_add(replay, &record);
	}
	if (err) {
		vs_replay_destroy(replay);
		return err;
	}
	*out = replay;
	return 0;
}

bool vs_analysis_has_device(const struct vs_analysis *analysis,
			    const struct vs_replay_device *device)
{
	int kind;

	for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++) {
		const struct vs_counts *counts = vs_measure_counts_get_kind(
			&analysis->counts, device, (enum vs_memory_kind)kind);

		if (counts->allocs || counts->frees || counts->failed_allocs ||
		    counts->failed_frees || counts->peak_bytes)
			return true;
	}
	return vs_measure_peak_get(&analysis->peak, device)->reserved.bytes;
}
