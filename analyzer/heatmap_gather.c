#include "heatmap_gather.h"

#include <stdlib.h>
#include <string.h>

#include "foresight.h"
#include "lifetimes.h"

#define FAILURES_MAX 2000 /* that are kept: more than can be told apart */

/* ---- Cells ---------------------------------------------------------------------------------- */

struct filler {
	struct vs_observer observer; /* levels and marks */
	struct vs_lifetimes lifetimes;
	struct vs_failures failures;
	struct vs_measure_fragmentation holes;
	struct vs_heatmap *heatmap;
	const struct vs_heatmap_request *request;
	const struct vs_replay_device *device; /* NULL: not mentioned yet */
	uint32_t phase_thread;                 /* whose phases are shown: the first that has any */
	uint64_t phase_start;
	uint32_t phase_name; /* VS_NO_ID: none is open */
};

static int fill_lifetime(void *data, const struct vs_item *item, const struct vs_lifetime *lifetime)
{
	struct filler *filler = data;
	const struct vs_heatmap_request *request = filler->request;
	struct vs_lifetime judged = *lifetime;

	if (item->device->ordinal != filler->heatmap->device)
		return 0;
	vs_heatmap_part_judge(&request->part, item, &judged);
	if (request->groups)
		vs_heatmap_groups_add_lifetime(request->groups, filler->heatmap, &judged);
	else
		vs_heatmap_add_lifetime(filler->heatmap, &judged);
	return 0;
}

/* Whether a pool's holes are of what is shown. */
static bool is_shown(const struct filler *filler, const struct vs_replay_pool *pool)
{
	const struct vs_heatmap_part *part = &filler->request->part;

	return pool->device->ordinal == filler->heatmap->device &&
	       (part->type != VS_HEATMAP_POOL || vs_heatmap_part_is_pool(part, pool));
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

		if (!holes || !is_shown(filler, pool))
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

/* Of the pool with most bytes in holes, if those are worth naming: measure_fragmentation.h. A
 * segment's are compared with the segment. */
static double get_fragmentation(const struct filler *filler, const struct vs_replay *replay,
				uint64_t reserved)
{
	bool is_segment = filler->request->part.type == VS_HEATMAP_SEGMENT;
	const struct vs_hole_set *worst = NULL;

	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];
		const struct vs_hole_set *holes =
			vs_measure_fragmentation_get_holes(&filler->holes, pool);

		if (holes && is_shown(filler, pool) &&
		    holes->total_bytes >= (is_segment ? reserved : pool->segment_bytes) / 20 &&
		    holes->total_bytes > (worst ? worst->total_bytes : 0))
			worst = holes;
	}
	return worst ? vs_hole_set_get_share(worst) : 0;
}

static int fill_failure(struct filler *filler, const struct vs_replay *replay, uint32_t ordinal,
			uint64_t size, uint32_t pool)
{
	const struct vs_replay_device *device = vs_replay_get_device(replay, ordinal);
	const struct vs_heatmap_part *part = &filler->request->part;
	struct vs_heatmap *heatmap = filler->heatmap;

	if (part->type == VS_HEATMAP_POOL &&
	    !vs_heatmap_part_is_pool(part, vs_replay_get_pool(replay, pool)))
		return 0;
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

static void fill_level(struct filler *filler, const struct vs_replay *replay)
{
	uint64_t live, reserved;

	if (!filler->device)
		filler->device = vs_replay_get_device(replay, filler->heatmap->device);
	if (!filler->device)
		return;
	vs_heatmap_part_get_bytes(&filler->request->part, replay, filler->device, &live, &reserved);
	if (filler->holes.is_changed) {
		filler->holes.is_changed = false;
		vs_heatmap_set_fragmentation(filler->heatmap,
					     get_fragmentation(filler, replay, reserved));
	}
	vs_heatmap_add_level(filler->heatmap, replay->now_ns, live, reserved);
}

static int fill_record(struct vs_observer *self, const struct vs_replay *replay,
		       const struct vs_record *record)
{
	struct filler *filler = (struct filler *)(void *)self; /* its first member */
	const struct vs_replay_pool *pool;

	fill_level(filler, replay);
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

static void init_filler(struct filler *filler, struct vs_replay *replay)
{
	const struct vs_heatmap_request *request = filler->request;

	filler->observer = (struct vs_observer){.on_record = fill_record, .on_end = fill_end};
	filler->phase_thread = filler->phase_name = VS_NO_ID;
	vs_lifetimes_init(&filler->lifetimes, fill_lifetime, filler);
	filler->lifetimes.cuts_blocks = request->part.type == VS_HEATMAP_SEGMENT;
	vs_failures_init(&filler->failures);
	vs_measure_fragmentation_init(&filler->holes);
	filler->holes.observer.on_record = NULL; /* we look at them ourselves */
	if (request->part.type == VS_HEATMAP_SEGMENT)
		vs_measure_fragmentation_limit(&filler->holes, request->part.address);
	/* Ours is the last: it asks the others. */
	vs_replay_add_observer(replay, &filler->failures.observer);
	vs_replay_add_observer(replay, &filler->holes.observer);
	if (request->groups)
		vs_heatmap_groups_join(request->groups, replay, &filler->lifetimes);
	vs_replay_add_observer(replay, &filler->lifetimes.observer);
	vs_replay_add_observer(replay, &filler->observer);
}

static void fini_filler(struct filler *filler)
{
	vs_measure_fragmentation_fini(&filler->holes);
	vs_failures_fini(&filler->failures);
	vs_lifetimes_fini(&filler->lifetimes);
}

/*
 * One pass. Which segments pools adopt is known, or (NULL) foreseen: then `found` says afterwards
 * what is true. 1: the heatmap is filled; 0: it was not as foreseen, do it again.
 */
static int fill(struct vs_heatmap *heatmap, const struct vs_source *source,
		const struct vs_heatmap_request *request, const struct vs_adoption *known,
		struct vs_adoption *found)
{
	struct filler filler = {.heatmap = heatmap, .request = request};
	struct vs_adoption expected = {0};
	bool is_right = true;
	struct vs_replay *replay;
	int err = vs_replay_create(&replay);

	if (err)
		return err;
	init_filler(&filler, replay);
	replay->adopted = known;
	if (!known) {
		replay->adopting = found;
		replay->expected = &expected;
	}
	/* All of it, whatever the window: what lives longer than that still ends at its own time.
	 */
	err = vs_analysis_pass(source, &(struct vs_window){0, UINT64_MAX}, replay);
	if (!err && !known)
		is_right = vs_foresight_was_right(replay);
	if (!err && is_right)
		err = copy_device(heatmap, replay);
	fini_filler(&filler);
	vs_replay_destroy(replay);
	vs_adoption_fini(&expected);
	return err ? err : is_right;
}

/* ---- Both ----------------------------------------------------------------------------------- */

/* Programs start long before they touch the device: that time is left out, unless asked for. */
static uint64_t choose_from(const struct vs_heatmap_survey *survey,
			    const struct vs_heatmap_request *request, uint64_t to_ns)
{
	uint64_t margin;

	if (request->from_ns || survey->first_ns >= to_ns)
		return request->from_ns;
	margin = (to_ns - survey->first_ns) / 50;
	return survey->first_ns > margin ? survey->first_ns - margin : 0;
}

/* Empty cells over what the survey has found. */
static int make_heatmap(struct vs_heatmap *heatmap, const struct vs_heatmap_survey *survey,
			const struct vs_heatmap_request *request)
{
	uint64_t to_ns = request->to_ns < survey->end_ns ? request->to_ns : survey->end_ns;
	const struct vs_heatmap *ranges = &survey->ranges;
	size_t columns;
	size_t rows;
	int err = 0;

	vs_heatmap_init(heatmap, choose_from(survey, request, to_ns), to_ns);
	heatmap->device = survey->device;
	for (size_t i = 0; i < ranges->nr_ranges && !err; i++)
		err = vs_heatmap_add_range(heatmap, ranges->ranges[i].address,
					   ranges->ranges[i].size);
	if (!err && request->part.type != VS_HEATMAP_DEVICE) {
		heatmap->part = vs_heatmap_part_copy_name(&request->part);
		err = heatmap->part ? 0 : -VS_ERR_NO_MEMORY;
	}
	if (!err && request->groups)
		err = vs_heatmap_groups_name(request->groups, heatmap);
	if (err)
		return err;
	request->choose_cells(request, survey->has_phases, &columns, &rows);
	return vs_heatmap_make_cells(heatmap, columns, rows);
}

int vs_heatmap_gather_cells(struct vs_heatmap *heatmap, const struct vs_source *source,
			    const struct vs_heatmap_request *request,
			    const struct vs_heatmap_survey *survey)
{
	struct vs_adoption found = {0};
	const struct vs_adoption *known =
		request->groups ? &request->groups->analysis->adoption : NULL;
	int ret = make_heatmap(heatmap, survey, request);

	if (!ret)
		ret = fill(heatmap, source, request, known, &found);
	if (!ret) {
		vs_heatmap_fini(heatmap);
		ret = make_heatmap(heatmap, survey, request);
		if (!ret)
			ret = fill(heatmap, source, request, &found, NULL);
	}
	vs_adoption_fini(&found);
	if (ret < 0)
		return ret;
	vs_heatmap_finish(heatmap);
	return 0;
}
