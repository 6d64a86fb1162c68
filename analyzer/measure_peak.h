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

/* Never NULL, zero if nothing happened on the device. */
const struct vs_peak_device *vs_measure_peak_get(const struct vs_measure_peak *measure,
						 const struct vs_replay_device *device);

/* At the live peak of the account's device; after the end of the replay. */
struct vs_peak_account vs_measure_peak_get_account(const struct vs_measure_peak *measure,
						   const struct vs_account *account);

#endif
