#include "measure_holes.h"

#include <string.h>

static struct vs_measure_holes *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_holes *)(void *)observer; /* its first member */
}

/* The pool of the device with the most bytes in holes, or NULL. *largest: of all its pools. */
static const struct vs_replay_pool *find_worst(const struct vs_measure_holes *measure,
					       const struct vs_replay *replay,
					       const struct vs_replay_device *device,
					       uint64_t *largest)
{
	const struct vs_replay_pool *worst = NULL;
	uint64_t most = 0;
	size_t i;

	*largest = 0;
	for (i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];
		const struct vs_hole_set *holes =
			vs_measure_fragmentation_get_holes(&measure->inner, pool);

		if (pool->device != device || !holes || !holes->nr_holes)
			continue;
		if (vs_hole_set_get_largest(holes) > *largest)
			*largest = vs_hole_set_get_largest(holes);
		if (holes->total_bytes > most) {
			most = holes->total_bytes;
			worst = pool;
		}
	}
	return worst;
}

static void take_sample(struct vs_measure_holes *measure, const struct vs_replay *replay,
			uint64_t time_ns)
{
	struct vs_holes_sample *sample = &measure->samples[measure->nr_samples++];
	const struct vs_replay_device *device = vs_replay_get_device(replay, measure->ordinal);
	const struct vs_replay_pool *pool = NULL;
	const struct vs_hole_set *holes;
	uint64_t largest;

	*sample = (struct vs_holes_sample){.time_ns = time_ns, .pool = UINT32_MAX};
	if (!device)
		return;
	sample->live_bytes = device->live_bytes;
	sample->reserved_bytes = vs_replay_get_reserved(device);
	pool = find_worst(measure, replay, device, &largest);
	if (!pool)
		return;
	holes = vs_measure_fragmentation_get_holes(&measure->inner, pool);
	sample->pool = pool->index;
	sample->held_bytes = pool->segment_bytes;
	sample->hole_bytes = holes->total_bytes;
	sample->largest_bytes = vs_hole_set_get_largest(holes);
	sample->nr_holes = holes->nr_holes;
	sample->share = vs_hole_set_get_share(holes);
	sample->scatter = vs_hole_set_get_scatter(holes);
	if (measure->request)
		sample->below_bytes = vs_hole_set_get_below(holes, measure->request);
}

static void note_fit(struct vs_holes_fit *fit, bool is_now, uint64_t now_ns, uint64_t since_ns)
{
	if (fit->is_now) {
		fit->time_ns += now_ns - since_ns;
		fit->last_ns = now_ns;
	}
	if (is_now && !fit->was_ever) {
		fit->was_ever = true;
		fit->first_ns = now_ns;
	}
	if (is_now)
		fit->last_ns = now_ns;
	fit->is_now = is_now;
}

static void note_request(struct vs_measure_holes *measure, const struct vs_replay *replay)
{
	const struct vs_replay_device *device = vs_replay_get_device(replay, measure->ordinal);
	uint64_t largest, reserved, now_ns = replay->now_ns;
	bool has_room;

	if (!device)
		return;
	reserved = vs_replay_get_reserved(device);
	has_room =
		device->total_size > reserved && device->total_size - reserved >= measure->request;
	find_worst(measure, replay, device, &largest);
	note_fit(&measure->in_hole, largest >= measure->request, now_ns, measure->latest_ns);
	note_fit(&measure->in_device, has_room, now_ns, measure->latest_ns);
	measure->latest_ns = now_ns;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_observer *inner = &measure_of(observer)->inner.observer;

	return inner->on_change(inner, replay, change);
}

/* Samples are of the state before the first event behind their instant. */
static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct vs_measure_holes *measure = measure_of(observer);
	uint64_t due_ns;

	while (measure->nr_samples < VS_HOLES_SAMPLES - 1 && measure->interval_ns) {
		due_ns = measure->start_ns + (measure->nr_samples + 1) * measure->interval_ns;
		if (record->time_ns <= due_ns)
			break;
		take_sample(measure, replay, due_ns);
	}
	return 0;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_measure_holes *measure = measure_of(observer);

	if (measure->request && replay->is_in_window && vs_replay_is_event(record))
		note_request(measure, replay);
	return 0;
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	take_sample(measure_of(observer), replay, replay->now_ns);
	return 0;
}

void vs_measure_holes_init(struct vs_measure_holes *measure, uint32_t ordinal, uint64_t request,
			   uint64_t first_ns, uint64_t last_ns)
{
	memset(measure, 0, sizeof(*measure));
	vs_measure_fragmentation_init(&measure->inner);
	measure->observer.on_change = on_change;
	measure->observer.before_record = before_record;
	measure->observer.on_record = on_record;
	measure->observer.on_end = on_end;
	measure->ordinal = ordinal;
	measure->request = request;
	measure->start_ns = first_ns;
	measure->latest_ns = first_ns;
	measure->interval_ns = (last_ns - first_ns) / VS_HOLES_SAMPLES;
}

void vs_measure_holes_fini(struct vs_measure_holes *measure)
{
	vs_measure_fragmentation_fini(&measure->inner);
}
