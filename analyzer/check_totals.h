#ifndef VS_CHECK_TOTALS_H
#define VS_CHECK_TOTALS_H

#include "replay.h"

/*
 * What a framework says it holds on a device, against what the replay finds, at every event of its
 * pools: docs/trace-format.md, 5.6, and docs/analyses.md, "check".
 *
 * A total is known from the first POOL_STATE of the pool on. A state stands behind the event it is
 * of, so an event is judged when the next one of its device comes, or none.
 */
struct vs_check_totals_sum {
	uint64_t used;     /* bytes in blocks */
	uint64_t reserved; /* bytes taken from the driver */
};

struct vs_check_totals_device {
	const struct vs_replay_device *device;
	bool is_known; /* what the framework says follows from here on */
	bool is_late;  /* it held something before the trace began: nothing to compare with */
	bool is_open;  /* an event waits to be judged: */
	uint64_t time_ns;
	struct vs_check_totals_sum said;
	struct vs_check_totals_sum found;
};

struct vs_check_totals {
	struct vs_check_totals_device *devices;
	size_t nr_devices;
	size_t devices_capacity;
	uint64_t freed_size; /* of the block that the event being applied frees */
	uint64_t nr_compared;
	uint64_t nr_different;
	uint64_t nr_late; /* devices */
	/* The first that differs, if nr_different. */
	uint64_t first_ns;
	struct vs_check_totals_sum first_said;
	struct vs_check_totals_sum first_found;
};

/* {0} has seen nothing. */
void vs_check_totals_fini(struct vs_check_totals *totals);

/* Before and after each record is applied. in_snapshot: it stands for events that are gone. */
void vs_check_totals_see_change(struct vs_check_totals *totals, const struct vs_change *change);
VS_MUST_CHECK int vs_check_totals_see_record(struct vs_check_totals *totals,
					     const struct vs_replay *replay,
					     const struct vs_record *record, bool in_snapshot);
void vs_check_totals_end(struct vs_check_totals *totals);

#endif
