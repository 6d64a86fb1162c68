#ifndef VS_MEASURE_SITES_H
#define VS_MEASURE_SITES_H

#include "replay.h"

/* What each account did over the whole trace: docs/analyses.md, "Sites". Live items only: a segment
 * that a pool divides is represented by its blocks. */
struct vs_site_totals {
	uint64_t nr_allocs;
	uint64_t bytes_allocated;
	uint64_t peak_bytes; /* its own, at its own time */
	uint64_t min_size;   /* of one allocation */
	uint64_t max_size;
	uint64_t first_ns;
	uint64_t last_ns;
};

struct vs_measure_sites {
	struct vs_observer observer;
	struct vs_site_totals *accounts; /* by account->index */
	size_t accounts_capacity;
};

void vs_measure_sites_init(struct vs_measure_sites *measure);
void vs_measure_sites_fini(struct vs_measure_sites *measure);

/* Room for all accounts of the replay. -VS_ERR_NO_MEMORY. */
VS_MUST_CHECK int vs_measure_sites_make_room(struct vs_measure_sites *measure,
					     const struct vs_replay *replay);

/* An item was charged in the window, because the program asked for it; there is room. */
static inline void vs_measure_sites_count(struct vs_measure_sites *measure,
					  const struct vs_replay *replay,
					  const struct vs_item *item)
{
	struct vs_site_totals *totals = &measure->accounts[item->account->index];

	if (item->account->live_bytes > totals->peak_bytes)
		totals->peak_bytes = item->account->live_bytes;
	if (!totals->nr_allocs || item->size < totals->min_size)
		totals->min_size = item->size;
	if (item->size > totals->max_size)
		totals->max_size = item->size;
	if (!totals->nr_allocs)
		totals->first_ns = replay->now_ns;
	totals->last_ns = replay->now_ns;
	totals->nr_allocs++;
	totals->bytes_allocated += item->size;
}

/* The observer's own, for those who feed several measures: an item was charged. */
VS_MUST_CHECK int vs_measure_sites_note(struct vs_measure_sites *measure,
					const struct vs_replay *replay, const struct vs_item *item,
					enum vs_change_cause cause);

/* Never NULL. */
const struct vs_site_totals *vs_measure_sites_get(const struct vs_measure_sites *measure,
						  const struct vs_account *account);

#endif
