#include "measure_peak.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_peak *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_peak *)(void *)observer; /* its first member */
}

static int make_room(struct vs_measure_peak *measure, const struct vs_replay *replay)
{
	int err = VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);

	if (!err)
		err = VS_GROW(measure->devices, measure->devices_capacity, replay->nr_devices);
	measure->nr_devices = replay->nr_devices;
	return err;
}

/*
 * Copying all accounts at every new peak would cost accounts x peaks. Instead, an account notes
 * what it held at the peak when it changes for the first time after it.
 */
static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_peak *measure = measure_of(observer);
	const struct vs_account *account;
	struct vs_peak_account *noted;
	bool is_charge = change->type == VS_CHANGE_CHARGED;
	uint64_t epoch;
	int err;

	if (!is_charge && change->type != VS_CHANGE_DISCHARGED)
		return 0;
	err = make_room(measure, replay);
	if (err)
		return err;
	account = change->item->account;
	noted = &measure->accounts[account->index];
	epoch = measure->devices[account->device->index].epoch;
	if (noted->epoch == epoch)
		return 0;
	noted->epoch = epoch;
	noted->bytes = account->live_bytes - (is_charge ? change->item->size : 0);
	noted->count = account->live_count - is_charge;
	return 0;
}

static void raise_peaks(struct vs_measure_peak *measure, const struct vs_replay *replay,
			uint32_t thread, bool is_first)
{
	size_t i;

	for (i = 0; i < replay->nr_devices; i++) {
		const struct vs_replay_device *device = replay->devices[i];
		struct vs_peak_device *peaks = &measure->devices[device->index];
		uint64_t reserved = vs_replay_get_reserved(device);

		if (device->live_bytes > peaks->live.bytes || is_first) {
			peaks->live = (struct vs_peak){device->live_bytes, device->live_count,
						       reserved, vs_instant_now(replay, thread)};
			peaks->epoch++;
		}
		/* A pool may hold all it takes from the start: the fullest moment tells most. */
		if (reserved > peaks->reserved.bytes || is_first ||
		    (reserved == peaks->reserved.bytes &&
		     device->live_bytes > peaks->reserved.other))
			peaks->reserved =
				(struct vs_peak){reserved, device->live_count, device->live_bytes,
						 vs_instant_now(replay, thread)};
	}
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	int err = make_room(measure_of(observer), replay);

	if (!err && replay->is_in_window && vs_replay_is_event(record))
		raise_peaks(measure_of(observer), replay, record->thread, false);
	return err;
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	int err = make_room(measure_of(observer), replay);

	if (!err)
		raise_peaks(measure_of(observer), replay, 0, true);
	return err;
}

void vs_measure_peak_init(struct vs_measure_peak *measure)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.changes = VS_WANTS(VS_CHANGE_CHARGED) | VS_WANTS(VS_CHANGE_DISCHARGED);
	measure->observer.on_record = on_record;
	/* Nothing rises when something is freed, or told. */
	measure->observer.records =
		~(VS_WANTS(VS_RECORD_FREE) | VS_WANTS(VS_RECORD_BLOCK_FREE) |
		  VS_WANTS(VS_RECORD_PHASE_PUSH) | VS_WANTS(VS_RECORD_PHASE_POP) |
		  VS_WANTS(VS_RECORD_STEP) | VS_WANTS(VS_RECORD_MARK));
	measure->observer.on_window = on_window;
}

void vs_measure_peak_fini(struct vs_measure_peak *measure)
{
	free(measure->devices);
	free(measure->accounts);
}

const struct vs_peak_device *vs_measure_peak_get(const struct vs_measure_peak *measure,
						 const struct vs_replay_device *device)
{
	static const struct vs_peak_device none;

	return device->index < measure->nr_devices ? &measure->devices[device->index] : &none;
}

struct vs_peak_account vs_measure_peak_get_account(const struct vs_measure_peak *measure,
						   const struct vs_account *account)
{
	struct vs_peak_account none = {0}, now = {account->live_bytes, account->live_count, 0};
	const struct vs_peak_device *device = vs_measure_peak_get(measure, account->device);

	/* No event after the window opened: there was no peak. */
	if (!device->epoch || account->domain != VS_DOMAIN_DEVICE)
		return none;
	if (account->index < measure->accounts_capacity &&
	    measure->accounts[account->index].epoch == device->epoch)
		return measure->accounts[account->index];
	return now;
}
