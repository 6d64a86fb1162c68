#include "request_cuts.h"

#include <stdlib.h>
#include <string.h>

#include "steps.h"

/* Before each of its boundaries, and behind the last. */
#define NR_PARTS (VS_RETAINED_INTERVALS + 1)

/* Boundaries at equal numbers of requests: in front of the measure of what is retained. */
struct cutter {
	struct vs_observer observer;               /* first */
	const struct vs_measure_retained *by_time; /* what there is */
	struct vs_measure_retained *retained;      /* what becomes of it */
	bool has_blocks;
	uint64_t nr_all; /* requests */
	uint64_t nr_requests;
	uint64_t nr_in_part[NR_PARTS]; /* of equal time */
};

static size_t get_part(const struct vs_measure_retained *by_time, uint64_t time_ns)
{
	uint64_t part = 0;

	if (by_time->interval_ns && time_ns > by_time->start_ns)
		part = (time_ns - by_time->start_ns) / by_time->interval_ns;
	return part < NR_PARTS ? part : NR_PARTS - 1;
}

/* The next boundary is behind so many requests. */
static uint64_t get_next(const struct cutter *cutter)
{
	return (cutter->retained->nr_passed + 1) * cutter->nr_all / NR_PARTS;
}

static int cut(struct vs_observer *observer, const struct vs_replay *replay,
	       const struct vs_record *record)
{
	struct cutter *cutter = (struct cutter *)(void *)observer; /* its first member */
	uint32_t key;

	if (!replay->is_in_window ||
	    !vs_steps_read(replay, record, cutter->has_blocks, false, &key))
		return 0;
	cutter->nr_in_part[get_part(cutter->by_time, record->time_ns)]++;
	if (cutter->nr_requests++ < get_next(cutter) ||
	    cutter->retained->nr_passed == VS_RETAINED_INTERVALS)
		return 0;
	return vs_measure_retained_add_boundary(cutter->retained, replay, record->time_ns);
}

static int forward_change(struct vs_observer *observer, const struct vs_replay *replay,
			  const struct vs_change *change)
{
	struct cutter *cutter = (struct cutter *)(void *)observer;
	struct vs_observer *inner = &cutter->retained->observer;

	return inner->on_change(inner, replay, change);
}

static int forward_block(struct vs_observer *observer, const struct vs_replay *replay,
			 struct vs_item *block, const struct vs_record *record)
{
	struct cutter *cutter = (struct cutter *)(void *)observer;

	return vs_measure_retained_note(cutter->retained, replay, block,
					vs_replay_is_birth(record));
}

static bool is_uneven(const struct cutter *cutter)
{
	uint64_t most = 0;

	for (size_t i = 0; i < NR_PARTS; i++)
		if (cutter->nr_in_part[i] > most)
			most = cutter->nr_in_part[i];
	return most > cutter->nr_requests / 2;
}

static int measure_again(struct vs_analysis *analysis, bool has_blocks, uint64_t nr_requests)
{
	struct vs_measure_retained *retained = malloc(sizeof(*retained));
	struct cutter cutter = {.observer = {.before_record = cut,
					     .on_change = forward_change,
					     .on_block = forward_block},
				.by_time = &analysis->retained,
				.retained = retained,
				.has_blocks = has_blocks,
				.nr_all = nr_requests};
	struct vs_replay *replay;
	int err;

	if (!retained)
		return -VS_ERR_NO_MEMORY;
	vs_measure_retained_init(retained, VS_BOUNDARY_INTERVALS, 0, 0);
	err = vs_analysis_observe(analysis, &cutter.observer, &replay);
	if (!err)
		vs_replay_destroy(replay);
	if (!err && is_uneven(&cutter) && retained->nr_passed == VS_RETAINED_INTERVALS) {
		vs_measure_retained_fini(&analysis->retained);
		analysis->retained = *retained;
	} else {
		vs_measure_retained_fini(retained);
	}
	free(retained);
	return err;
}

int vs_request_cuts_try(struct vs_analysis *analysis, bool has_blocks, uint64_t nr_requests)
{
	if (analysis->retained.unit != VS_BOUNDARY_INTERVALS || nr_requests < NR_PARTS ||
	    !vs_failures_get_last(&analysis->failures, NULL))
		return 0;
	return measure_again(analysis, has_blocks, nr_requests);
}
