#include "heatmap_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "lifetimes.h"
#include "progress.h"
#include "read_ahead.h"
#include "utf8.h"

#define NAMES_LISTED   20
#define NAME_MAX_SHOWN 60 /* characters */

/* What the pass learns of one device. */
struct candidate {
	uint32_t ordinal;
	uint64_t peak_reserved; /* of the part */
	uint64_t first_ns;      /* when it first held something; UINT64_MAX: never */
	struct vs_heatmap ranges;
};

struct surveyor {
	struct vs_observer observer; /* first; levels and marks */
	struct vs_lifetimes lifetimes;
	struct vs_failures failures;
	const struct vs_heatmap_request *request;
	struct vs_heatmap_survey *survey;
	struct vs_replay *replay;
	struct candidate *candidates; /* by device->index */
	size_t nr_candidates;
	size_t candidates_capacity;
	/* Blocks here need not be looked at; until the next record that is. */
	uint64_t known_base;
	uint64_t known_size;
	struct vs_record skipped; /* the latest, if it is the latest of all */
	bool has_skipped;
};

/* ---- What is seen --------------------------------------------------------------------------- */

static struct candidate *get_candidate(struct surveyor *surveyor,
				       const struct vs_replay_device *device)
{
	size_t nr = (size_t)device->index + 1;

	if (VS_GROW(surveyor->candidates, surveyor->candidates_capacity, nr))
		return NULL;
	for (; surveyor->nr_candidates < nr; surveyor->nr_candidates++) {
		surveyor->candidates[surveyor->nr_candidates].first_ns = UINT64_MAX;
		vs_heatmap_init(&surveyor->candidates[surveyor->nr_candidates].ranges, 0, 1);
	}
	surveyor->candidates[device->index].ordinal = device->ordinal;
	return &surveyor->candidates[device->index];
}

static int survey_lifetime(void *data, const struct vs_item *item,
			   const struct vs_lifetime *lifetime)
{
	struct surveyor *surveyor = data;
	struct vs_lifetime judged = *lifetime;
	struct candidate *candidate;

	vs_heatmap_part_judge(&surveyor->request->part, item, &judged);
	if (!judged.is_held || lifetime->end_ns <= surveyor->request->from_ns ||
	    lifetime->start_ns >= surveyor->request->to_ns)
		return 0;
	candidate = get_candidate(surveyor, item->device);
	if (!candidate)
		return -VS_ERR_NO_MEMORY;
	/* A pool's from birth on, which is before it is known to be the pool's. */
	if (candidate->first_ns > lifetime->start_ns)
		candidate->first_ns = lifetime->start_ns;
	return vs_heatmap_add_range(&candidate->ranges, lifetime->address, lifetime->size);
}

static int survey_record(struct vs_observer *self, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct surveyor *surveyor = (struct surveyor *)(void *)self; /* its first member */
	uint64_t live, reserved;

	surveyor->survey->has_phases |=
		record->type == VS_RECORD_STEP || record->type == VS_RECORD_PHASE_PUSH;
	for (size_t i = 0; i < replay->nr_devices; i++) {
		const struct vs_replay_device *device = replay->devices[i];
		struct candidate *candidate = get_candidate(surveyor, device);

		if (!candidate)
			return -VS_ERR_NO_MEMORY;
		vs_heatmap_part_get_bytes(&surveyor->request->part, replay, device, &live,
					  &reserved);
		if (!reserved)
			continue;
		if (candidate->first_ns > replay->now_ns)
			candidate->first_ns = replay->now_ns;
		if (reserved > candidate->peak_reserved)
			candidate->peak_reserved = reserved;
	}
	return 0;
}

/* ---- What is skipped ------------------------------------------------------------------------ */

/* Whether all of it lies in something that is there for itself, and not in a block of a pool. */
static bool is_inside(struct surveyor *surveyor, uint64_t address, uint64_t size)
{
	const struct vs_range *range;
	const struct vs_item *item;
	uint64_t into = address - surveyor->known_base;

	if (into < surveyor->known_size && size <= surveyor->known_size - into)
		return true;
	range = vs_range_tree_find(&surveyor->replay->regions, address);
	item = (const struct vs_item *)(const void *)range; /* its first member */
	if (!item || vs_replay_is_pool_block(item) || size > range->size - (address - range->base))
		return false;
	surveyor->known_base = range->base;
	surveyor->known_size = range->size;
	return true;
}

/* A pool may stand in a block of another, which would be missed; but then a pool is asked for. */
static bool can_skip(struct surveyor *surveyor, const struct vs_record *record)
{
	if (surveyor->request->part.type == VS_HEATMAP_POOL)
		return false;
	if (record->type == VS_RECORD_BLOCK_ALLOC)
		return is_inside(surveyor, record->block_alloc.address,
				 record->block_alloc.size ? record->block_alloc.size : 1);
	if (record->type == VS_RECORD_BLOCK_FREE)
		return is_inside(surveyor, record->block_free.address, 1);
	return record->type == VS_RECORD_BLOCK_ASKED;
}

static int add_record(struct surveyor *surveyor, const struct vs_record *record)
{
	struct vs_observer *failures = &surveyor->failures.observer;

	surveyor->has_skipped = can_skip(surveyor, record);
	if (!surveyor->has_skipped) {
		surveyor->known_size = 0;
		return vs_replay_add(surveyor->replay, record);
	}
	surveyor->skipped = *record;
	/* That a pool served a request decides what became of a failure before it. */
	if (record->type == VS_RECORD_BLOCK_ALLOC && surveyor->failures.nr_groups)
		return failures->on_record(failures, surveyor->replay, record);
	return 0;
}

static int pass(struct surveyor *surveyor, const struct vs_source *source)
{
	struct vs_read_ahead *ahead = NULL;
	int status = 1, err = source->rewind(source->context);

	surveyor->replay->is_in_window = true;
	if (!err)
		err = vs_read_ahead_start(&ahead, source);
	vs_progress_begin(source->size);
	while (!err && status > 0) {
		const struct vs_batch *batch = vs_read_ahead_get(ahead, 0);

		status = batch->status;
		vs_progress_set(batch->block.offset);
		for (uint32_t i = 0; i < batch->nr && !err; i++)
			err = add_record(surveyor, &batch->records[i]);
		vs_read_ahead_release(ahead);
	}
	vs_read_ahead_stop(ahead);
	vs_progress_end();
	if (!err)
		err = status;
	/* For its time: what is alive lives as long. */
	if (!err && surveyor->has_skipped)
		err = vs_replay_add(surveyor->replay, &surveyor->skipped);
	return err ? err : vs_replay_end(surveyor->replay);
}

/* ---- What comes of it ----------------------------------------------------------------------- */

/* Of those that have the part, if any does: the device asked for, else the one that ran out of
 * memory most, then the one that held most. */
static struct candidate *choose(struct surveyor *surveyor, bool needs_part)
{
	struct candidate *chosen = NULL;
	uint64_t most_ooms = 0;

	for (size_t i = 0; i < surveyor->nr_candidates; i++) {
		struct candidate *candidate = &surveyor->candidates[i];
		uint64_t ooms = vs_failures_count_device(
			&surveyor->failures,
			vs_replay_get_device(surveyor->replay, candidate->ordinal));

		if (surveyor->request->device != VS_NO_DEVICE &&
		    candidate->ordinal != surveyor->request->device)
			continue;
		if (needs_part && !candidate->ranges.nr_ranges)
			continue;
		if (!chosen || ooms > most_ooms ||
		    (ooms == most_ooms && candidate->peak_reserved > chosen->peak_reserved)) {
			chosen = candidate;
			most_ooms = ooms;
		}
	}
	return chosen;
}

/* Whether it may be asked for. */
static bool is_on_device(const struct surveyor *surveyor, const struct vs_replay_pool *pool)
{
	return surveyor->request->device == VS_NO_DEVICE ||
	       surveyor->request->device == pool->device->ordinal;
}

/* Whether one of the pools before has the name as well. */
static bool is_listed(const struct surveyor *surveyor, size_t number)
{
	struct vs_replay_pool **pools = surveyor->replay->pools;

	for (size_t i = 0; i < number; i++)
		if (is_on_device(surveyor, pools[i]) &&
		    !strcmp(pools[i]->name, pools[number]->name))
			return true;
	return false;
}

/* For a message: what a terminal would not show is a '?', and a long name is cut. */
static void put_name(FILE *file, const char *name, bool is_first)
{
	size_t size;

	fputs(is_first ? "'" : ", '", file);
	for (int i = 0; *name && i < NAME_MAX_SHOWN; i++, name += size ? size : 1) {
		size = vs_utf8_get_size(name);
		if (size && vs_utf8_is_shown(name, size))
			fwrite(name, 1, size, file);
		else
			fputc('?', file);
	}
	fputs(*name ? "...'" : "'", file);
}

/* Once each, in the order of their definition. */
static int list_pools(struct surveyor *surveyor)
{
	const struct vs_replay *replay = surveyor->replay;
	struct vs_heatmap_survey *survey = surveyor->survey;
	size_t size;
	FILE *file = open_memstream(&survey->pools, &size);
	int nr = 0;

	if (!file)
		return -VS_ERR_NO_MEMORY;
	for (size_t i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		if (!is_on_device(surveyor, pool) || is_listed(surveyor, i))
			continue;
		survey->has_part |= vs_heatmap_part_is_pool(&surveyor->request->part, pool);
		if (nr++ < NAMES_LISTED)
			put_name(file, pool->name, nr == 1);
	}
	if (nr > NAMES_LISTED)
		fprintf(file, " and %d more", nr - NAMES_LISTED);
	return fclose(file) ? -VS_ERR_NO_MEMORY : 0;
}

static int conclude(struct surveyor *surveyor)
{
	struct vs_heatmap_survey *survey = surveyor->survey;
	struct candidate *chosen = choose(surveyor, true);

	if (!chosen)
		chosen = choose(surveyor, false);
	if (!chosen)
		return -VS_ERR_INVALID;
	survey->device = chosen->ordinal;
	survey->first_ns = chosen->first_ns;
	survey->end_ns = surveyor->replay->now_ns + 1;
	survey->ranges = chosen->ranges; /* they change hands */
	chosen->ranges = (struct vs_heatmap){0};
	if (surveyor->request->from_ns >= survey->end_ns)
		return -VS_ERR_EMPTY;
	return list_pools(surveyor);
}

int vs_heatmap_survey_run(struct vs_heatmap_survey *survey, const struct vs_source *source,
			  const struct vs_heatmap_request *request)
{
	struct surveyor surveyor = {
		.observer = {.on_record = survey_record}, .request = request, .survey = survey};
	int err;

	*survey = (struct vs_heatmap_survey){0};
	err = vs_replay_create(&surveyor.replay);
	if (err)
		return err;
	vs_lifetimes_init(&surveyor.lifetimes, survey_lifetime, &surveyor);
	vs_failures_init(&surveyor.failures);
	vs_replay_add_observer(surveyor.replay, &surveyor.failures.observer);
	vs_replay_add_observer(surveyor.replay, &surveyor.lifetimes.observer);
	vs_replay_add_observer(surveyor.replay, &surveyor.observer);
	err = pass(&surveyor, source);
	if (!err)
		err = conclude(&surveyor);
	vs_failures_fini(&surveyor.failures);
	vs_lifetimes_fini(&surveyor.lifetimes);
	vs_replay_destroy(surveyor.replay);
	for (size_t i = 0; i < surveyor.nr_candidates; i++)
		vs_heatmap_fini(&surveyor.candidates[i].ranges);
	free(surveyor.candidates);
	return err;
}

void vs_heatmap_survey_fini(struct vs_heatmap_survey *survey)
{
	vs_heatmap_fini(&survey->ranges);
	free(survey->pools);
	*survey = (struct vs_heatmap_survey){0};
}
