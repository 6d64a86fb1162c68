#include "verdicts.h"

#include <stdlib.h>

#include "why_json.h"

/*
 * What would fill the device in more steps than this is nothing to worry about. Where there are
 * none, an interval is a part of the run, however short that was: what filled the card only in
 * sixteen times as long says little about what would happen then.
 */
#define NR_STEPS     1000000
#define NR_INTERVALS (16 * VS_RETAINED_INTERVALS)

/* ---- What failed ---------------------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
	const struct vs_failure_group *x = *(const struct vs_failure_group *const *)a;
	const struct vs_failure_group *y = *(const struct vs_failure_group *const *)b;

	return (x->last_oom.at.record < y->last_oom.at.record) -
	       (x->last_oom.at.record > y->last_oom.at.record);
}

/* Groups with an out-of-memory of the device, the latest first. *groups is the caller's to free. */
static int find_groups(const struct vs_story *story, const struct vs_replay_device *device,
		       const struct vs_failure_group ***groups, size_t *nr_groups)
{
	const struct vs_failures *failures = &story->analysis.failures;
	size_t i;

	*nr_groups = 0;
	*groups = calloc(failures->nr_groups + 1, sizeof(**groups));
	if (!*groups)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < failures->nr_groups; i++)
		if (failures->groups[i]->device == device && failures->groups[i]->nr_ooms)
			(*groups)[(*nr_groups)++] = failures->groups[i];
	qsort(*groups, *nr_groups, sizeof(**groups), compare_groups);
	return 0;
}

static int tell_failure(struct vs_story *story, const struct vs_failure_group *group,
			const struct vs_device_state *known, vs_verdicts_fn tell)
{
	struct vs_device_state state;
	int err;

	if (known && known->oom == group)
		return tell(story, known);
	err = vs_device_state_init_failure(&state, &story->analysis, group);
	if (err)
		return err;
	err = tell(story, &state);
	vs_device_state_fini(&state);
	return err;
}

/* ---- Nothing failed ------------------------------------------------------------------------- */

/* Was the device full, or on the way there? FAILURE: neither, there is nothing to explain. */
static enum vs_why_occasion find_occasion(const struct vs_story *story,
					  const struct vs_replay_device *device,
					  const struct vs_retained *retained)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&story->analysis.peak, device);
	bool is_killed = !story->state.is_complete && !story->state.is_running;
	bool is_by_intervals = story->analysis.retained.unit == VS_BOUNDARY_INTERVALS;

	if (is_killed)
		return VS_WHY_KILLED;
	if (vs_why_is_near_full(device, peaks->reserved.bytes))
		return VS_WHY_NEAR_FULL;
	if (retained->growth.is_growing && retained->has_forecast && !retained->is_start &&
	    !retained->may_be_pass &&
	    retained->steps_to_full <= (is_by_intervals ? NR_INTERVALS : NR_STEPS))
		return VS_WHY_GROWING;
	return VS_WHY_FAILURE;
}

/* *occasion: as find_occasion() has it. */
static int look_for_occasion(const struct vs_story *story, const struct vs_replay_device *device,
			     const struct vs_device_state *known, enum vs_why_occasion *occasion)
{
	struct vs_retained retained;
	int err;

	if (known) {
		*occasion = find_occasion(story, device, &known->retained);
		return 0;
	}
	err = vs_device_state_sum_retained(&retained, &story->analysis, device);
	if (err)
		return err;
	*occasion = find_occasion(story, device, &retained);
	vs_measure_retained_fini_sum(&retained);
	return 0;
}

static int tell_run(struct vs_story *story, const struct vs_replay_device *device,
		    const struct vs_device_state *known, size_t top, vs_verdicts_fn tell,
		    size_t *nr_verdicts)
{
	enum vs_why_occasion occasion;
	struct vs_device_state state;
	int err = look_for_occasion(story, device, known, &occasion);

	if (err)
		return err;
	*nr_verdicts = occasion != VS_WHY_FAILURE;
	if (!*nr_verdicts || !top)
		return 0;
	/* It is judged at the instant that is shown anyway, but for one: a state takes memory. */
	if (known && known->named == VS_AT_DEFAULT && occasion != VS_WHY_KILLED) {
		state = *known;
		vs_device_state_judge_end(&state, occasion);
		return tell(story, &state);
	}
	err = vs_device_state_init_end(&state, &story->analysis, device, occasion);
	if (err)
		return err;
	err = tell(story, &state);
	vs_device_state_fini(&state);
	return err;
}

int vs_verdicts_tell(struct vs_story *story, const struct vs_replay_device *device,
		     const struct vs_device_state *known, size_t top, vs_verdicts_fn tell,
		     size_t *nr_verdicts)
{
	const struct vs_failure_group **groups;
	size_t nr_groups, i;
	int err = find_groups(story, device, &groups, &nr_groups);

	if (err)
		return err;
	*nr_verdicts = nr_groups;
	for (i = 0; i < nr_groups && i < top && !err; i++)
		err = tell_failure(story, groups[i], known, tell);
	free(groups);
	return err || nr_groups ? err : tell_run(story, device, known, top, tell, nr_verdicts);
}

int vs_verdicts_put_json(struct vs_story *story, const struct vs_replay_device *device,
			 const struct vs_device_state *known, size_t top)
{
	size_t nr_verdicts;

	return vs_verdicts_tell(story, device, known, top, vs_why_json_put, &nr_verdicts);
}
