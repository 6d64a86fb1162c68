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

/* Never NULL. */
const struct vs_site_totals *vs_measure_sites_get(const struct vs_measure_sites *measure,
						  const struct vs_account *account);

#endif
