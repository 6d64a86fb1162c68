#ifndef VS_MEASURE_BASIC_H
#define VS_MEASURE_BASIC_H

#include "measure_counts.h"
#include "measure_peak.h"
#include "measure_peaks.h"
#include "measure_retained.h"
#include "measure_sites.h"

/*
 * The measures that every analysis has, as one observer: most of what happens concerns all of them,
 * and being called costs as much as what each does with it. They stay the caller's.
 */
struct vs_measure_basic {
	struct vs_observer observer;
	struct vs_measure_peak *peak;
	struct vs_measure_peaks *peaks; /* NULL: not wanted; not one that is_known */
	struct vs_measure_counts *counts;
	struct vs_measure_sites *sites;
	struct vs_measure_retained *retained;

	/* For so many all of them have room. */
	size_t nr_accounts;
	size_t nr_pools;
	size_t nr_devices;
};

/* The measures are there, and initialised. Then vs_replay_add_observer. */
void vs_measure_basic_init(struct vs_measure_basic *measure);

/* Room for all that the replay has. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_measure_basic_make_room(struct vs_measure_basic *measure,
					     const struct vs_replay *replay);

/* The same, quickly if it is there. */
static inline int vs_measure_basic_have_room(struct vs_measure_basic *measure,
					     const struct vs_replay *replay)
{
	if (__builtin_expect(replay->nr_accounts <= measure->nr_accounts &&
				     replay->nr_pools <= measure->nr_pools &&
				     replay->nr_devices <= measure->nr_devices,
			     1))
		return 0;
	return vs_measure_basic_make_room(measure, replay);
}

/* vs_observer.on_block, when there is room. is_birth: vs_replay_is_birth(record), for those who
 * know. */
static inline __attribute__((always_inline)) int vs_measure_basic_note_block(
	struct vs_measure_basic *measure, const struct vs_replay *replay, struct vs_item *block,
	const struct vs_record *record, bool is_birth)
{
	const struct vs_account *account = block->account;
	uint64_t size = block->size;
	int err = 0;

	vs_measure_counts_note_block(measure->counts, block, is_birth);
	vs_measure_peak_keep(measure->peak, account,
			     is_birth ? account->live_bytes - size : account->live_bytes + size,
			     is_birth ? account->live_count - 1 : account->live_count + 1);
	if (is_birth)
		vs_measure_sites_count(measure->sites, replay, block);
	vs_measure_retained_count(measure->retained, block, is_birth);
	if (measure->peaks)
		err = vs_measure_peaks_note_block(measure->peaks, replay, block, is_birth,
						  record->thread);
	if (!err && is_birth && vs_measure_peak_is_raised(measure->peak, block->device))
		err = vs_measure_peak_raise(measure->peak, replay, record->thread);
	if (!err && measure->peaks)
		err = vs_measure_peaks_follow_block(measure->peaks, replay, block, is_birth,
						    record->thread);
	return err;
}

#endif
