#ifndef VS_PHASE_VISITS_H
#define VS_PHASE_VISITS_H

#include "measure_phases.h"

/*
 * Visits to phases, for measure_phases.c. Open ones stand in a list by their beginnings. An event
 * raises the peaks of the newest alone; a visit's own are those of all from it on, and when it ends
 * they go to the one before it.
 */
struct vs_visit_part {
	uint64_t begin_live;
	uint64_t peak_live; /* until the next visit in the list began */
	uint64_t peak_reserved;
	uint64_t allocated;
	uint64_t derived;
	uint64_t freed;
	uint64_t own_live; /* allocated in it, and not freed yet */
};

struct vs_visit {
	struct vs_phase_node *node;
	struct vs_visit *parent; /* the phase around it; has this one as a user */
	struct vs_visit *older;
	struct vs_visit *newer;
	uint64_t nr_users; /* what is alive from it, phases in it, and 1 while it is open */
	uint64_t serial;   /* of the latest allocation when it began */
	uint64_t id;       /* of a range */
	uint64_t begin_ns;
	uint64_t number;
	bool has_number;
	struct vs_visit_part *parts; /* by device->index */
	size_t parts_capacity;
};

struct vs_visits {
	struct vs_visit *oldest;
	struct vs_visit *newest;
};

/* Begins one with the state of now; *visit is open. */
VS_MUST_CHECK int vs_phase_visits_begin(struct vs_visits *visits, const struct vs_replay *replay,
					const struct vs_visit *start, struct vs_visit **visit);

/* Raises peaks to what is there now. */
VS_MUST_CHECK int vs_phase_visits_raise(struct vs_visits *visits, const struct vs_replay *replay);

/* What it came to on a device, if it ended now. */
struct vs_phase_numbers vs_phase_visits_get(const struct vs_visit *visit,
					    const struct vs_replay_device *device);

/* Ends it, even if that fails. Somebody who uses it may still hold it. */
VS_MUST_CHECK int vs_phase_visits_end(struct vs_visits *visits, struct vs_visit *visit);

/* One user less; the last one frees it, and lets go of the phase around it. NULL is nothing. */
void vs_phase_visits_release(struct vs_visit *visit);

/* Room for a device that may have come later. */
VS_MUST_CHECK int vs_phase_visits_get_part(struct vs_visit *visit, uint32_t device,
					   struct vs_visit_part **part);

#endif
