#include "measure_basic.h"

#include <assert.h>

static struct vs_measure_basic *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_basic *)(void *)observer; /* its first member */
}

static int note_charge(struct vs_measure_basic *measure, const struct vs_replay *replay,
		       const struct vs_change *change)
{
	const struct vs_account *account = change->item->account;
	bool is_charge = change->type == VS_CHANGE_CHARGED;
	int err = vs_measure_peak_note(measure->peak, replay, account,
				       account->live_bytes - (is_charge ? change->item->size : 0),
				       account->live_count - is_charge);

	if (!err && measure->peaks)
		err = vs_measure_peaks_note(measure->peaks, replay, change->item, is_charge);
	if (!err && is_charge)
		err = vs_measure_sites_note(measure->sites, replay, change->item, change->cause);
	if (err)
		return err;
	return vs_measure_retained_note(measure->retained, replay, change->item, is_charge);
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_basic *measure = measure_of(observer);

	if (change->type == VS_CHANGE_CHARGED || change->type == VS_CHANGE_DISCHARGED)
		return note_charge(measure, replay, change);
	return vs_measure_counts_note(measure->counts, replay, change);
}

int vs_measure_basic_make_room(struct vs_measure_basic *measure, const struct vs_replay *replay)
{
	int err = vs_measure_peak_make_room(measure->peak, replay);

	if (!err)
		err = vs_measure_counts_make_room(measure->counts, replay);
	if (!err)
		err = vs_measure_sites_make_room(measure->sites, replay);
	if (!err)
		err = vs_measure_retained_make_room(measure->retained, replay);
	if (!err && measure->peaks)
		err = vs_measure_peaks_make_room(measure->peaks, replay);
	if (err)
		return err;
	measure->nr_accounts = replay->nr_accounts;
	measure->nr_pools = replay->nr_pools;
	measure->nr_devices = replay->nr_devices;
	return 0;
}

/* Both of the above, and what on_record does with it. */
static int on_block(struct vs_observer *observer, const struct vs_replay *replay,
		    struct vs_item *block, const struct vs_record *record)
{
	struct vs_measure_basic *measure = measure_of(observer);
	int err = vs_measure_basic_have_room(measure, replay);

	return err ? err
		   : vs_measure_basic_note_block(measure, replay, block, record,
						 vs_replay_is_birth(record));
}

static bool is_wanted(uint64_t records, const struct vs_record *record)
{
	return record->type < VS_NR_RECORDS && (records & VS_WANTS(record->type));
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_measure_basic *measure = measure_of(observer);
	int err = 0;

	if (replay->is_in_window && vs_replay_is_event(record)) {
		if (!is_wanted(VS_MEASURE_PEAK_IDLE, record))
			err = vs_measure_peak_raise(measure->peak, replay, record->thread);
		if (!err && measure->peaks)
			err = vs_measure_peaks_follow(measure->peaks, replay, record);
	}
	if (!err && is_wanted(measure->counts->observer.records, record))
		err = vs_measure_counts_note_record(measure->counts, replay, record);
	if (!err && is_wanted(measure->retained->observer.records, record))
		err = vs_measure_retained_note_record(measure->retained, replay, record);
	return err;
}

static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct vs_observer *retained = &measure_of(observer)->retained->observer;

	return retained->before_record(retained, replay, record);
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_basic *measure = measure_of(observer);
	struct vs_observer *peak = &measure->peak->observer;
	struct vs_observer *counts = &measure->counts->observer;
	struct vs_observer *sites = &measure->sites->observer;
	int err = peak->on_window(peak, replay);

	if (!err)
		err = counts->on_window(counts, replay);
	return err ? err : sites->on_window(sites, replay);
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_peaks *peaks = measure_of(observer)->peaks;

	return peaks ? peaks->observer.on_end(&peaks->observer, replay) : 0;
}

void vs_measure_basic_init(struct vs_measure_basic *measure)
{
	struct vs_observer *observer = &measure->observer;

	assert(!measure->peaks || !measure->peaks->is_known);
	*observer = (struct vs_observer){
		.changes = measure->peak->observer.changes | measure->counts->observer.changes |
			   measure->sites->observer.changes | measure->retained->observer.changes,
		/* Without `peaks`, what most records are is of no interest. */
		.records = measure->peaks ? 0 : ~VS_MEASURE_PEAK_IDLE,
		.on_change = on_change,
		.on_record = on_record,
		.on_block = on_block,
		.on_window = on_window,
		.on_end = on_end,
	};
	if (observer->records)
		observer->records |=
			measure->counts->observer.records | measure->retained->observer.records;
	if (measure->retained->observer.before_record)
		observer->before_record = before_record;
}
