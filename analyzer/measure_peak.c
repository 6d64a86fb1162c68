#include "measure_peak.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_peak *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_peak *)(void *)observer; /* its first member */
}

int vs_measure_peak_make_room(struct vs_measure_peak *measure, const struct vs_replay *replay)
{
	int err = VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);

	if (!err)
		err = VS_GROW(measure->devices, measure->devices_capacity, replay->nr_devices);
	if (!err)
		measure->nr_devices = replay->nr_devices;
	return err;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	const struct vs_account *account = change->item->account;
	bool is_in = change->type == VS_CHANGE_CHARGED;

	return vs_measure_peak_note(measure_of(observer), replay, account,
				    account->live_bytes - (is_in ? change->item->size : 0),
				    account->live_count - is_in);
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
		if (reserved > peaks->reserved.bytes || is_first ||
		    (reserved == peaks->reserved.bytes &&
		     device->live_bytes > peaks->reserved.other))
			peaks->reserved =
				(struct vs_peak){reserved, device->live_count, device->live_bytes,
						 vs_instant_now(replay, thread)};
	}
}

int vs_measure_peak_raise(struct vs_measure_peak *measure, const struct vs_replay *replay,
			  uint32_t thread)
{
	int err = 0;

	if (replay->nr_devices > measure->nr_devices)
		err = vs_measure_peak_make_room(measure, replay);
	if (!err)
		raise_peaks(measure, replay, thread, false);
	return err;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	if (!replay->is_in_window || !vs_replay_is_event(record))
		return 0;
	return vs_measure_peak_raise(measure_of(observer), replay, record->thread);
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	int err = vs_measure_peak_make_room(measure_of(observer), replay);

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
	measure->observer.records = ~VS_MEASURE_PEAK_IDLE;
	measure->observer.on_window = on_window;
}

void vs_measure_peak_fini(struct vs_measure_peak *measure)
{
	free(measure->devices);
	free(measure->accounts);
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
