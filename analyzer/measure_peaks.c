#include "measure_peaks.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* How far live bytes have to fall, as a part of the highest. */
#define FALL_PART 16

/* Peaks of at least so many hundredths of the highest are one story. */
#define NEAR_HUNDREDTHS 99

static struct vs_measure_peaks *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_peaks *)(void *)observer; /* its first member */
}

/* ---- Peaks ---------------------------------------------------------------------------------- */

static bool is_near(const struct vs_measure_peaks *measure, uint64_t bytes)
{
	return (unsigned __int128)bytes * 100 >=
	       (unsigned __int128)measure->highest * NEAR_HUNDREDTHS;
}

static void count_near(struct vs_measure_peaks *measure, const char *phase)
{
	size_t i;

	measure->nr_near++;
	for (i = 0; i < measure->nr_near_phases; i++) {
		const char *name = measure->near[i].name;

		if (name == phase || (name && phase && !strcmp(name, phase))) {
			measure->near[i].count++;
			return;
		}
	}
	if (measure->nr_near_phases < VS_PEAKS_NAMED)
		measure->near[measure->nr_near_phases++] =
			(struct vs_peaks_phase){.name = phase, .count = 1};
}

static int keep_height(struct vs_measure_peaks *measure, uint64_t bytes)
{
	size_t i;
	int err;

	if (measure->nr_peaks % measure->stride)
		return 0;
	if (measure->nr_heights == VS_PEAKS_KEPT) {
		for (i = 0; i < VS_PEAKS_KEPT / 2; i++)
			measure->heights[i] = measure->heights[i * 2];
		measure->nr_heights /= 2;
		measure->stride *= 2;
	}
	err = VS_GROW(measure->heights, measure->heights_capacity, measure->nr_heights + 1);
	if (!err)
		measure->heights[measure->nr_heights++] = bytes;
	return err;
}

static int add_peak(struct vs_measure_peaks *measure, uint64_t bytes, struct vs_instant at)
{
	int err = keep_height(measure, bytes);

	measure->nr_peaks++;
	if (bytes > measure->top) {
		measure->second = measure->top;
		measure->second_at = measure->top_at;
		measure->top = bytes;
		measure->top_at = at;
	} else if (bytes > measure->second) {
		measure->second = bytes;
		measure->second_at = at;
	}
	if (is_near(measure, bytes)) {
		count_near(measure, at.phase);
	} else if (bytes > measure->below) {
		measure->below = bytes;
		measure->below_at = at;
	}
	return err;
}

/* Where the curve is now. */
static int follow(struct vs_measure_peaks *measure, const struct vs_replay *replay,
		  const struct vs_replay_device *device, uint32_t thread)
{
	uint64_t live = device->live_bytes, fall = measure->highest / FALL_PART + 1;
	int err = 0;

	if (measure->is_falling ? live < measure->extreme : live > measure->extreme) {
		measure->extreme = live;
		/* Of a valley nobody asks when it was. */
		if (!measure->is_falling)
			measure->extreme_at = vs_instant_now(replay, thread);
	} else if (!measure->is_falling && measure->extreme - live >= fall) {
		err = add_peak(measure, measure->extreme, measure->extreme_at);
		measure->is_falling = true;
		measure->extreme = live;
	} else if (measure->is_falling && live - measure->extreme >= fall) {
		measure->is_falling = false;
		measure->extreme = live;
		measure->extreme_at = vs_instant_now(replay, thread);
	}
	return err;
}

/* ---- Pools ---------------------------------------------------------------------------------- */

static int follow_pools(struct vs_measure_peaks *measure, const struct vs_replay *replay,
			uint32_t thread)
{
	size_t i;
	int err = VS_GROW(measure->pools, measure->pools_capacity, replay->nr_pools);

	for (i = 0; i < replay->nr_pools && !err; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];
		struct vs_peaks_pool *peaks = &measure->pools[i];
		uint64_t held = pool->owner == VS_POOL_DRIVER ? vs_replay_get_held(pool)
							      : pool->segment_bytes;

		if (pool->device->ordinal != measure->ordinal)
			continue;
		if (pool->block_bytes > peaks->live_bytes) {
			peaks->live_bytes = pool->block_bytes;
			peaks->live_at = vs_instant_now(replay, thread);
		}
		if (held > peaks->held_bytes) {
			peaks->held_bytes = held;
			peaks->held_at = vs_instant_now(replay, thread);
		}
	}
	return err;
}

/* ---- Where it was made ---------------------------------------------------------------------- */

static int get_phase(struct vs_measure_peaks *measure, const char *name, size_t *number)
{
	int err;

	for (*number = 0; *number < measure->nr_phases; ++*number) {
		const char *known = measure->phases[*number].name;

		if (known == name || (known && name && !strcmp(known, name)))
			return 0;
	}
	err = VS_GROW(measure->phases, measure->phases_capacity, measure->nr_phases + 1);
	if (!err)
		measure->phases[measure->nr_phases++] = (struct vs_peaks_phase){.name = name};
	return err;
}

/* The phase of a birth is known when its record has been applied: until then it is pending. */
static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_peaks *measure = measure_of(observer);
	const struct vs_item *item = change->item;
	uintptr_t noted;
	size_t number;
	int err;

	if ((change->type != VS_CHANGE_CHARGED && change->type != VS_CHANGE_DISCHARGED) ||
	    item->device->ordinal != measure->ordinal ||
	    vs_replay_get_domain(item->kind) != VS_DOMAIN_DEVICE)
		return 0;
	noted = (uintptr_t)vs_id_map_get(&measure->births, item->id);
	if (change->type == VS_CHANGE_DISCHARGED) {
		if (noted)
			measure->phases[noted - 1].bytes -= item->size;
		vs_id_map_remove(&measure->births, item->id);
		return 0;
	}
	err = get_phase(measure, vs_replay_get_phase(replay, measure->thread), &number);
	if (err)
		return err;
	measure->phases[number].bytes += item->size;
	return vs_id_map_put(&measure->births, item->id, (void *)(number + 1));
}

static int compare_made(const void *a, const void *b)
{
	const struct vs_peaks_phase *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int note_made(struct vs_measure_peaks *measure)
{
	size_t i;

	measure->made = calloc(measure->nr_phases + 1, sizeof(*measure->made));
	if (!measure->made)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < measure->nr_phases; i++)
		if (measure->phases[i].bytes)
			measure->made[measure->nr_made++] = measure->phases[i];
	if (measure->nr_made)
		qsort(measure->made, measure->nr_made, sizeof(measure->made[0]), compare_made);
	return 0;
}

/* ---- The pass ------------------------------------------------------------------------------- */

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	(void)replay;
	measure_of(observer)->thread = record->thread;
	return 0;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_measure_peaks *measure = measure_of(observer);
	const struct vs_replay_device *device = vs_replay_get_device(replay, measure->ordinal);
	int err = 0;

	if (!device || !replay->is_in_window || !vs_replay_is_event(record))
		return 0;
	if (replay->counters.nr_records == measure->record)
		err = note_made(measure);
	if (!err)
		err = follow(measure, replay, device, record->thread);
	return err ? err : follow_pools(measure, replay, record->thread);
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_peaks *measure = measure_of(observer);

	(void)replay;
	if (measure->is_falling || !measure->extreme)
		return 0;
	return add_peak(measure, measure->extreme, measure->extreme_at);
}

void vs_measure_peaks_init(struct vs_measure_peaks *measure, uint32_t ordinal, uint64_t highest,
			   uint64_t record)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.before_record = before_record;
	measure->observer.on_record = on_record;
	measure->observer.on_end = on_end;
	measure->ordinal = ordinal;
	measure->highest = highest;
	measure->record = record;
	measure->stride = 1;
}

void vs_measure_peaks_fini(struct vs_measure_peaks *measure)
{
	free(measure->heights);
	free(measure->pools);
	free(measure->phases);
	free(measure->made);
	vs_id_map_fini(&measure->births);
}

static int compare_heights(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t vs_measure_peaks_get_typical(struct vs_measure_peaks *measure)
{
	if (!measure->nr_heights)
		return 0;
	qsort(measure->heights, measure->nr_heights, sizeof(measure->heights[0]), compare_heights);
	return measure->heights[(measure->nr_heights - 1) / 2];
}
