#ifndef VS_MEASURE_PEAKS_H
#define VS_MEASURE_PEAKS_H

#include "measure_peak.h"
#include "peak_curve.h"

/*
 * What only `peak` wants: all peaks of each device, not only the highest; the high-water marks of
 * pools; and of the highest peak, in which phases its memory was made, and its pieces.
 * docs/analyses.md, "Peak".
 *
 * In the same pass as vs_measure_peak, which comes first: then the highest peak is not known yet.
 * Phases note what they held at it when they change for the first time after it, and of what was
 * alive then and goes, a note is kept until there is a higher one. Or in a pass of its own, when
 * the high-water marks are known; then there are no pieces.
 */
struct vs_peaks_pool {
	uint64_t live_bytes;
	struct vs_instant live_at;
	uint64_t held_bytes;
	struct vs_instant held_at;
};

/* Live memory by the phase it was made in. */
struct vs_peaks_maker {
	const char *name; /* NULL: none */
	uint64_t bytes;
	uint64_t bytes_then; /* at the highest peak, */
	uint64_t epoch;      /* for which that was noted; others: what is live now */
};

/* Something that was alive at the highest peak, and went. */
struct vs_peaks_piece {
	uint32_t account; /* index */
	uint64_t size;
	uint64_t birth_ns;
};

struct vs_peaks_device {
	struct vs_peak_curve curve;
	struct vs_peaks_maker *makers;
	size_t nr_makers;
	size_t makers_capacity;
	size_t last_maker; /* a guess */
	struct vs_peak_phase
		*made; /* phases that made what was live at the highest peak, by bytes */
	size_t nr_made;
	struct vs_peaks_piece *gone; /* since the peak of this epoch */
	size_t nr_gone;
	size_t gone_capacity;
	uint64_t gone_epoch;
};

struct vs_measure_peaks {
	struct vs_observer observer;
	const struct vs_measure_peak *peak;
	bool is_known;                   /* the pass of `peak` is over */
	struct vs_peaks_device *devices; /* by device->index */
	size_t nr_devices;
	size_t devices_capacity;
	struct vs_peaks_pool *pools; /* by pool->index */
	size_t pools_capacity;

	/* The phase of that thread, as long as no phase begins or ends. */
	uint32_t phase_thread;
	uint64_t phase_epoch;
	const char *phase;
};

/* peak: measured in the same pass, or is_known: in an earlier one. It outlives this one. */
void vs_measure_peaks_init(struct vs_measure_peaks *measure, const struct vs_measure_peak *peak,
			   bool is_known);
void vs_measure_peaks_fini(struct vs_measure_peaks *measure);

/* The observer's two, for those who feed several measures: an item is charged (after) or discharged
 * (before); an event was applied. */
VS_MUST_CHECK int vs_measure_peaks_note(struct vs_measure_peaks *measure,
					const struct vs_replay *replay, struct vs_item *item,
					bool is_charge);
VS_MUST_CHECK int vs_measure_peaks_follow(struct vs_measure_peaks *measure,
					  const struct vs_replay *replay,
					  const struct vs_record *record);

/* Room for all devices and pools of the replay. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_measure_peaks_make_room(struct vs_measure_peaks *measure,
					     const struct vs_replay *replay);

/*
 * Both for vs_observer.on_block, when the highest peak is not known; there is room. Nearly always
 * the phase is that of the event before, and the curve goes on as it was: that is done here.
 */
VS_MUST_CHECK int vs_measure_peaks_follow_device(struct vs_measure_peaks *measure,
						 const struct vs_replay *replay,
						 const struct vs_replay_device *device,
						 uint32_t thread);
void vs_measure_peaks_follow_pool(struct vs_measure_peaks *measure, const struct vs_replay *replay,
				  const struct vs_replay_pool *pool, uint32_t thread);

static inline void vs_measure_peaks_change_maker(struct vs_peaks_maker *maker, uint64_t epoch,
						 uint64_t added)
{
	if (maker->epoch != epoch) {
		maker->epoch = epoch;
		maker->bytes_then = maker->bytes;
	}
	maker->bytes += added;
}

static inline int vs_measure_peaks_note_block(struct vs_measure_peaks *measure,
					      const struct vs_replay *replay, struct vs_item *block,
					      bool is_birth, uint32_t thread)
{
	struct vs_peaks_device *device = &measure->devices[block->device->index];
	uint64_t epoch = measure->peak->devices[block->device->index].epoch;
	size_t maker = is_birth ? device->last_maker : block->made_in - (size_t)1;

	if (maker >= device->nr_makers)
		return vs_measure_peaks_note(measure, replay, block, is_birth);
	if (!is_birth) {
		if (block->charge_epoch != epoch)
			return vs_measure_peaks_note(measure, replay, block, false);
		vs_measure_peaks_change_maker(&device->makers[maker], epoch, 0 - block->size);
		block->made_in = 0;
		return 0;
	}
	if (measure->phase_epoch != replay->phase_epoch || measure->phase_thread != thread ||
	    device->makers[maker].name != measure->phase)
		return vs_measure_peaks_note(measure, replay, block, true);
	vs_measure_peaks_change_maker(&device->makers[maker], epoch, block->size);
	block->made_in = (uint32_t)maker + 1;
	block->charge_epoch = epoch;
	return 0;
}

static inline int vs_measure_peaks_follow_block(struct vs_measure_peaks *measure,
						const struct vs_replay *replay,
						const struct vs_item *block, bool is_birth,
						uint32_t thread)
{
	const struct vs_replay_device *device = block->device;
	const struct vs_replay_pool *pool = block->pool;
	const struct vs_peaks_pool *peaks;
	int err = 0;

	if (vs_peak_curve_is_moved(&measure->devices[device->index].curve, device->live_bytes))
		err = vs_measure_peaks_follow_device(measure, replay, device, thread);
	/* Of pools nothing rises when something is freed. */
	if (err || !is_birth || !pool)
		return err;
	peaks = &measure->pools[pool->index];
	if (pool->block_bytes > peaks->live_bytes || pool->segment_bytes > peaks->held_bytes)
		vs_measure_peaks_follow_pool(measure, replay, pool, thread);
	return 0;
}

/*
 * After the end of the replay. NULL: nothing happened on the device, or (is_known is false) it has
 * to be measured again in a pass of its own.
 */
struct vs_peaks_device *vs_measure_peaks_get(const struct vs_measure_peaks *measure,
					     const struct vs_replay_device *device);

/* Whether something that is alive at the end was so at the highest peak. Not if is_known. */
bool vs_measure_peaks_was_live(const struct vs_measure_peaks *measure, const struct vs_item *item);

/* What was alive at the highest peak and is not at the end: of `gone`, the first ones. */
size_t vs_measure_peaks_count_gone(const struct vs_measure_peaks *measure,
				   const struct vs_replay_device *device);

#endif
