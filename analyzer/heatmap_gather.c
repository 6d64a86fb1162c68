#include "heatmap_gather.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "lifetimes.h"

#define FAILURES_MAX 2000 /* that are kept: more than can be told apart */

/* ---- First pass ----------------------------------------------------------------------------- */

/* What the first pass learns of one device. */
struct candidate {
	uint32_t ordinal;
	uint64_t peak_reserved;
	uint64_t first_ns;        /* when it first held something; UINT64_MAX: never */
	struct vs_heatmap ranges; /* nothing but */
};

struct survey {
	struct vs_observer observer; /* levels and marks */
	struct vs_lifetimes lifetimes;
	struct vs_failures failures;
	struct vs_adoption adoption;
	const struct vs_heatmap_request *request;
	struct candidate *candidates; /* by device->index */
	size_t nr_candidates;
	size_t candidates_capacity;
	uint64_t end_ns;
	bool has_phases; /* or steps */
	struct candidate *chosen;
};

static struct candidate *get_candidate(struct survey *survey, const struct vs_replay_device *device)
{
	size_t nr = (size_t)device->index + 1;

	if (VS_GROW(survey->candidates, survey->candidates_capacity, nr))
		return NULL;
	for (; survey->nr_candidates < nr; survey->nr_candidates++) {
		survey->candidates[survey->nr_candidates].first_ns = UINT64_MAX;
		vs_heatmap_init(&survey->candidates[survey->nr_candidates].ranges, 0, 1);
	}
	survey->candidates[device->index].ordinal = device->ordinal;
	return &survey->candidates[device->index];
}

static int survey_lifetime(void *data, const struct vs_replay_device *device,
			   const struct vs_lifetime *lifetime)
{
	struct survey *survey = data;
	struct candidate *candidate;

	if (!lifetime->is_held || lifetime->end_ns <= survey->request->from_ns ||
	    lifetime->start_ns >= survey->request->to_ns)
		return 0;
	candidate = get_candidate(survey, device);
	if (!candidate)
		return -VS_ERR_NO_MEMORY;
	return vs_heatmap_add_range(&candidate->ranges, lifetime->address, lifetime->size);
}

static int survey_record(struct vs_observer *self, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct survey *survey = (struct survey *)(void *)self; /* its first member */

	survey->end_ns = replay->now_ns + 1;
	survey->has_phases |=
		record->type == VS_RECORD_STEP || record->type == VS_RECORD_PHASE_PUSH;
	for (size_t i = 0; i < replay->nr_devices; i++) {
		const struct vs_replay_device *device = replay->devices[i];
		struct candidate *candidate = get_candidate(survey, device);

		if (!candidate)
			return -VS_ERR_NO_MEMORY;
		if (!vs_replay_get_reserved(device))
			continue;
		if (candidate->first_ns > replay->now_ns)
			candidate->first_ns = replay->now_ns;
		if (vs_replay_get_reserved(device) > candidate->peak_reserved)
			candidate->peak_reserved = vs_replay_get_reserved(device);
	}
	return 0;
}

/* The device asked for; else the one that ran out of memory most, then the one that held most. */
static int choose_device(struct survey *survey, const struct vs_replay *replay)
{
	uint64_t most_ooms = 0;

	for (size_t i = 0; i < survey->nr_candidates; i++) {
		struct candidate *candidate = &survey->candidates[i];
		uint64_t ooms = vs_failures_count_device(
			&survey->failures, vs_replay_get_device(replay, candidate->ordinal));

		if (survey->request->device != VS_NO_DEVICE) {
			if (candidate->ordinal == survey->request->device)
				survey->chosen = candidate;
			continue;
		}
		if (!survey->chosen || ooms > most_ooms ||
		    (ooms == most_ooms &&
		     candidate->peak_reserved > survey->chosen->peak_reserved)) {
			survey->chosen = candidate;
			most_ooms = ooms;
		}
	}
	return survey->chosen ? 0 : -VS_ERR_INVALID;
}

/* All of it, whatever the window: what lives longer than that still ends at its own time. */
static int pass(const struct vs_source *source, struct vs_replay *replay)
{
	return vs_analysis_pass(source, &(struct vs_window){0, UINT64_MAX}, replay);
}

static int run_survey(struct survey *survey, const struct vs_source *source)
{
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopting = &survey->adoption;
	survey->observer.on_record = survey_record;
	vs_lifetimes_init(&survey->lifetimes, survey_lifetime, survey);
	vs_failures_init(&survey->failures);
	vs_replay_add_observer(replay, &survey->failures.observer);
	vs_replay_add_observer(replay, &survey->lifetimes.observer);
	vs_replay_add_observer(replay, &survey->observer);
	err = pass(source, replay);
	if (!err)
		err = choose_device(survey, replay);
	vs_failures_fini(&survey->failures);
	vs_lifetimes_fini(&survey->lifetimes);
	vs_replay_destroy(replay);
	return err;
}

static void fini_survey(struct survey *survey)
{
	for (size_t i = 0; i < survey->nr_candidates; i++)
		vs_heatmap_fini(&survey->candidates[i].ranges);
	free(survey->candidates);
	vs_adoption_fini(&survey->adoption);
}

/* ---- Second pass ---------------------------------------------------------------------------- */

struct filler {
	struct vs_observer observer; /* levels and marks */
	struct vs_lifetimes lifetimes;
	struct vs_failures failures;
	struct vs_measure_fragmentation holes;
	struct vs_heatmap *heatmap;
	struct vs_heatmap_groups *groups;
	uint32_t phase_thread; /* whose phases are shown: the first that has any */
	uint64_t phase_start;
	uint32_t phase_name; /* VS_NO_ID: none is open */
};

static int fill_lifetime(void *data, const struct vs_replay_device *device,
			 const struct vs_lifetime *lifetime)
{
	struct filler *filler = data;

	if (device->ordinal != filler->heatmap->device)
		return 0;
	if (filler->groups)
		vs_heatmap_groups_add_lifetime(filler->groups, filler->heatmap, lifetime);
	else
		vs_heatmap_add_lifetime(filler->heatmap, lifetime);
	return 0;
}

/* Of the pool; without one, of the pool of the device that has most bytes in holes. */
static uint64_t find_largest_hole(const struct filler *filler, const struct vs_replay *replay,
				  uint32_t pool_id)
{
	uint64_t most = 0;
	uint64_t largest = 0;

	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];
		const struct vs_hole_set *holes =
			vs_measure_fragmentation_get_holes(&filler->holes, pool);

		if (!holes || pool->device->ordinal != filler->heatmap->device)
			continue;
		if (pool_id != VS_NO_ID && pool->id == pool_id)
			return vs_hole_set_get_largest(holes);
		if (holes->total_bytes > most) {
			most = holes->total_bytes;
			largest = vs_hole_set_get_largest(holes);
		}
	}
	return largest;
}

/* Of the pool with most bytes in holes, if those are worth naming: measure_fragmentation.h. */
static double get_fragmentation(const struct filler *filler, const struct vs_replay *replay)
{
	const struct vs_hole_set *worst = NULL;

	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];
		const struct vs_hole_set *holes =
			vs_measure_fragmentation_get_holes(&filler->holes, pool);

		if (holes && pool->device->ordinal == filler->heatmap->device &&
		    holes->total_bytes >= pool->segment_bytes / 20 &&
		    holes->total_bytes > (worst ? worst->total_bytes : 0))
			worst = holes;
	}
	return worst ? vs_hole_set_get_share(worst) : 0;
}

static int fill_failure(struct filler *filler, const struct vs_replay *replay, uint32_t ordinal,
			uint64_t size, uint32_t pool)
{
	const struct vs_replay_device *device = vs_replay_get_device(replay, ordinal);
	struct vs_heatmap *heatmap = filler->heatmap;

	if (!device || device->ordinal != heatmap->device || replay->now_ns < heatmap->from_ns ||
	    replay->now_ns >= heatmap->to_ns)
		return 0;
	if (heatmap->nr_failures == FAILURES_MAX)
		heatmap->nr_failures--;
	return vs_heatmap_add_failure(
		heatmap, &(struct vs_heatmap_failure){
				 .time_ns = replay->now_ns,
				 .size = size,
				 .largest_hole = find_largest_hole(filler, replay, pool),
			 });
}

static int end_phase(struct filler *filler, const struct vs_replay *replay)
{
	const char *name = vs_definitions_get_name(&replay->definitions, filler->phase_name);

	filler->phase_name = VS_NO_ID;
	return vs_heatmap_add_phase(filler->heatmap, filler->phase_start, replay->now_ns,
				    name ? name : "?");
}

/* Outermost phases of one thread: a band has no room for more. */
static int fill_phase(struct filler *filler, const struct vs_replay *replay,
		      const struct vs_record *record)
{
	const struct vs_replay_thread *thread = vs_id_map_get(&replay->threads, record->thread);
	bool is_push = record->type == VS_RECORD_PHASE_PUSH;

	if (is_push && filler->phase_thread == VS_NO_ID)
		filler->phase_thread = record->thread;
	if (!thread || record->thread != filler->phase_thread)
		return 0;
	if (is_push && thread->nr_phases == 1) {
		filler->phase_start = replay->now_ns;
		filler->phase_name = record->phase_push.name;
	} else if (!is_push && thread->nr_phases == 0 && filler->phase_name != VS_NO_ID) {
		return end_phase(filler, replay);
	}
	return 0;
}

static int fill_record(struct vs_observer *self, const struct vs_replay *replay,
		       const struct vs_record *record)
{
	struct filler *filler = (struct filler *)(void *)self; /* its first member */
	const struct vs_replay_device *device =
		vs_replay_get_device(replay, filler->heatmap->device);
	const struct vs_replay_pool *pool;

	if (device)
		vs_heatmap_set_fragmentation(filler->heatmap, get_fragmentation(filler, replay));
	if (device)
		vs_heatmap_add_level(filler->heatmap, replay->now_ns, device->live_bytes,
				     vs_replay_get_reserved(device));
	switch (record->type) {
	case VS_RECORD_ALLOC_FAILED:
		return fill_failure(filler, replay, record->alloc_failed.device,
				    record->alloc_failed.size, record->alloc_failed.pool);
	case VS_RECORD_BLOCK_FAILED:
		pool = vs_replay_get_pool(replay, record->block_failed.pool);
		return pool ? fill_failure(filler, replay, pool->device->ordinal,
					   record->block_failed.size, pool->id)
			    : 0;
	case VS_RECORD_STEP:
		return vs_heatmap_add_step(filler->heatmap, replay->now_ns, record->step.number);
	case VS_RECORD_PHASE_PUSH:
	case VS_RECORD_PHASE_POP:
		return fill_phase(filler, replay, record);
	default:
		return 0;
	}
}

static void mark_final(struct vs_heatmap *heatmap, const struct vs_failure *failure)
{
	for (size_t i = 0; i < heatmap->nr_failures; i++)
		if (heatmap->failures[i].time_ns == failure->at.time_ns &&
		    heatmap->failures[i].size == failure->size)
			heatmap->failures[i].is_final = true;
}

static int fill_end(struct vs_observer *self, const struct vs_replay *replay)
{
	struct filler *filler = (struct filler *)(void *)self; /* its first member */

	for (size_t i = 0; i < filler->failures.nr_groups; i++) {
		const struct vs_failure_group *group = filler->failures.groups[i];

		if (!group->nr_ooms || group->device->ordinal != filler->heatmap->device)
			continue;
		mark_final(filler->heatmap, &group->first_oom);
		mark_final(filler->heatmap, &group->last_oom);
	}
	return filler->phase_name == VS_NO_ID ? 0 : end_phase(filler, replay);
}

static int copy_device(struct vs_heatmap *heatmap, const struct vs_replay *replay)
{
	const struct vs_replay_device *device = vs_replay_get_device(replay, heatmap->device);

	if (!device)
		return 0;
	heatmap->capacity = device->total_size;
	heatmap->is_simulated = device->is_simulated;
	if (device->name && *device->name) {
		heatmap->device_name = strdup(device->name);
		if (!heatmap->device_name)
			return -VS_ERR_NO_MEMORY;
	}
	return 0;
}

static int run_filler(struct filler *filler, const struct vs_source *source,
		      const struct vs_adoption *adoption)
{
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	replay->adopted = adoption;
	filler->observer = (struct vs_observer){.on_record = fill_record, .on_end = fill_end};
	vs_lifetimes_init(&filler->lifetimes, fill_lifetime, filler);
	vs_failures_init(&filler->failures);
	vs_measure_fragmentation_init(&filler->holes);
	/* Ours is the last: it asks the others. */
	vs_replay_add_observer(replay, &filler->failures.observer);
	vs_replay_add_observer(replay, &filler->holes.observer);
	if (filler->groups)
		vs_heatmap_groups_join(filler->groups, replay, &filler->lifetimes);
	vs_replay_add_observer(replay, &filler->lifetimes.observer);
	vs_replay_add_observer(replay, &filler->observer);
	err = pass(source, replay);
	if (!err)
		err = copy_device(filler->heatmap, replay);
	vs_measure_fragmentation_fini(&filler->holes);
	vs_failures_fini(&filler->failures);
	vs_lifetimes_fini(&filler->lifetimes);
	vs_replay_destroy(replay);
	return err;
}

/* ---- Both ----------------------------------------------------------------------------------- */

/* Programs start long before they touch the device: that time is left out, unless asked for. */
static uint64_t choose_from(const struct survey *survey, uint64_t to_ns)
{
	uint64_t first_ns = survey->chosen->first_ns;
	uint64_t margin;

	if (survey->request->from_ns || first_ns >= to_ns)
		return survey->request->from_ns;
	margin = (to_ns - first_ns) / 50;
	return first_ns > margin ? first_ns - margin : 0;
}

static int make_heatmap(struct vs_heatmap *heatmap, struct survey *survey)
{
	const struct vs_heatmap_request *request = survey->request;
	uint64_t to_ns = request->to_ns < survey->end_ns ? request->to_ns : survey->end_ns;
	struct vs_heatmap *ranges = &survey->chosen->ranges;
	size_t columns;
	size_t rows;

	vs_heatmap_init(heatmap, choose_from(survey, to_ns), to_ns);
	heatmap->device = survey->chosen->ordinal;
	heatmap->ranges = ranges->ranges; /* they change hands */
	heatmap->nr_ranges = ranges->nr_ranges;
	heatmap->ranges_capacity = ranges->ranges_capacity;
	*ranges = (struct vs_heatmap){0};
	request->choose_cells(request, survey->has_phases, &columns, &rows);
	if (request->groups) {
		int err = vs_heatmap_groups_name(request->groups, heatmap);

		if (err)
			return err;
	}
	return vs_heatmap_make_cells(heatmap, columns, rows);
}

int vs_heatmap_gather_cells(struct vs_heatmap *heatmap, const struct vs_source *source,
			    const struct vs_heatmap_request *request)
{
	struct survey survey = {.request = request};
	struct filler filler = {.heatmap = heatmap, .groups = request->groups};
	int err;

	vs_heatmap_init(heatmap, 0, 1);
	err = run_survey(&survey, source);
	if (!err && request->from_ns >= survey.end_ns)
		err = -VS_ERR_EMPTY;
	if (!err)
		err = make_heatmap(heatmap, &survey);
	if (!err)
		err = run_filler(&filler, source, &survey.adoption);
	if (!err)
		vs_heatmap_finish(heatmap);
	fini_survey(&survey);
	return err;
}
