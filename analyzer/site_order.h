#ifndef VS_SITE_ORDER_H
#define VS_SITE_ORDER_H

#include "analysis.h"

/* Accounts of a device as rows of a list, most bytes first, without those that have none. */
struct vs_site_row {
	const struct vs_account *account;
	uint64_t bytes;
	uint64_t count;
};

/* What was live at the live peak. *rows is the caller's to free. */
VS_MUST_CHECK int vs_site_order_peak(const struct vs_analysis *analysis,
				     const struct vs_replay_device *device,
				     struct vs_site_row **rows, size_t *nr_rows);

/* What a replay holds now. */
VS_MUST_CHECK int vs_site_order_live(const struct vs_replay *replay,
				     const struct vs_replay_device *device,
				     struct vs_site_row **rows, size_t *nr_rows);

/* By bytes allocated over the whole trace; all domains. */
VS_MUST_CHECK int vs_site_order_total(const struct vs_analysis *analysis,
				      const struct vs_replay_device *device,
				      struct vs_site_row **rows, size_t *nr_rows);

#endif
