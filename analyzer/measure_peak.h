#ifndef VS_MEASURE_PEAK_H
#define VS_MEASURE_PEAK_H

#include "instant.h"
#include "replay.h"

/*
 * The high-water marks of each device, and who was live at the live one. docs/analyses.md, "Peak".
 */
struct vs_peak {
	uint64_t bytes; /* live, or reserved */
	uint64_t count; /* live blocks and segments then */
	uint64_t other; /* reserved at the live peak, live at the reserved one */
	struct vs_instant at;
};

struct vs_peak_device {
	struct vs_peak live;     /* the first instant with the most bytes */
	struct vs_peak reserved; /* of the instants with the most bytes, the first with most live */
	uint64_t epoch;          /* how often the live peak was raised */
};

/* What an account holds at the live peak of its device. */
struct vs_peak_account {
	uint64_t bytes;
	uint64_t count;
	uint64_t epoch; /* for which peak that was noted; others: what is live now */
};

struct vs_measure_peak {
	struct vs_observer observer;
	struct vs_peak_device *devices; /* by device->index */
	size_t nr_devices;
	size_t devices_capacity;
	struct vs_peak_account *accounts; /* by account->index */
	size_t accounts_capacity;
};

void vs_measure_peak_init(struct vs_measure_peak *measure);
void vs_measure_peak_fini(struct vs_measure_peak *measure);

/* Room for all accounts and devices of the replay. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_measure_peak_make_room(struct vs_measure_peak *measure,
					    const struct vs_replay *replay);

/*
 * An account changes, which held so much before, and there is room for it.
 *
 * Copying all accounts at every new peak would cost accounts x peaks. Instead, an account notes
 * what it held at the peak when it changes for the first time after it.
 */
static inline void vs_measure_peak_keep(struct vs_measure_peak *measure,
					const struct vs_account *account, uint64_t bytes,
					uint64_t count)
{
	struct vs_peak_account *noted = &measure->accounts[account->index];
	uint64_t epoch = measure->devices[account->device->index].epoch;

	if (noted->epoch != epoch)
		*noted = (struct vs_peak_account){bytes, count, epoch};
}

/*
 * The observer's two, for those who feed several measures: an account changes; a record was applied
 * that something may rise with.
 */
static inline int vs_measure_peak_note(struct vs_measure_peak *measure,
				       const struct vs_replay *replay,
				       const struct vs_account *account, uint64_t bytes,
				       uint64_t count)
{
	int err;

	if (__builtin_expect(account->index >= measure->accounts_capacity ||
				     account->device->index >= measure->nr_devices,
			     0)) {
		err = vs_measure_peak_make_room(measure, replay);
		if (err)
			return err;
	}
	vs_measure_peak_keep(measure, account, bytes, count);
	return 0;
}
VS_MUST_CHECK int vs_measure_peak_raise(struct vs_measure_peak *measure,
					const struct vs_replay *replay, uint32_t thread);

/* Whether the latter has anything to do, when something happened on this device only. There is
 * room for it. */
static inline bool vs_measure_peak_is_raised(const struct vs_measure_peak *measure,
					     const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = &measure->devices[device->index];
	uint64_t reserved = vs_replay_get_reserved(device);

	/* A pool may hold all it takes from the start: the fullest moment tells most. */
	return device->live_bytes > peaks->live.bytes || reserved > peaks->reserved.bytes ||
	       (reserved == peaks->reserved.bytes && device->live_bytes > peaks->reserved.other);
}

/* Records that nothing rises with: something is freed, or told. */
#define VS_MEASURE_PEAK_IDLE                                              \
	(VS_WANTS(VS_RECORD_FREE) | VS_WANTS(VS_RECORD_BLOCK_FREE) |      \
	 VS_WANTS(VS_RECORD_PHASE_PUSH) | VS_WANTS(VS_RECORD_PHASE_POP) | \
	 VS_WANTS(VS_RECORD_STEP) | VS_WANTS(VS_RECORD_MARK))

/* Never NULL, zero if nothing happened on the device. */
static inline const struct vs_peak_device *vs_measure_peak_get(
	const struct vs_measure_peak *measure, const struct vs_replay_device *device)
{
	static const struct vs_peak_device none;

	return device->index < measure->nr_devices ? &measure->devices[device->index] : &none;
}

/* At the live peak of the account's device; after the end of the replay. */
struct vs_peak_account vs_measure_peak_get_account(const struct vs_measure_peak *measure,
						   const struct vs_account *account);

#endif
