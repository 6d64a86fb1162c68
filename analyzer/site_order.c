#include "site_order.h"

#include <stdlib.h>

static int compare_rows(const void *a, const void *b)
{
	const struct vs_site_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->account->index > y->account->index) - (x->account->index < y->account->index);
}

static void fill_peak(const void *context, struct vs_site_row *row)
{
	const struct vs_analysis *analysis = context;
	struct vs_peak_account at_peak = vs_measure_peak_get_account(&analysis->peak, row->account);

	row->bytes = at_peak.bytes;
	row->count = at_peak.count;
}

static void fill_live(const void *context, struct vs_site_row *row)
{
	(void)context;
	if (row->account->domain != VS_DOMAIN_DEVICE)
		return;
	row->bytes = row->account->live_bytes;
	row->count = row->account->live_count;
}

static void fill_total(const void *context, struct vs_site_row *row)
{
	const struct vs_analysis *analysis = context;
	const struct vs_site_totals *totals = vs_measure_sites_get(&analysis->sites, row->account);

	row->bytes = totals->bytes_allocated;
	row->count = totals->nr_allocs;
}

static int order(const struct vs_replay *replay, const struct vs_replay_device *device,
		 void (*fill)(const void *context, struct vs_site_row *row), const void *context,
		 struct vs_site_row **out, size_t *nr_rows)
{
	struct vs_site_row *rows = calloc(replay->nr_accounts + 1, sizeof(*rows));
	size_t i, nr = 0;

	if (!rows)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < replay->nr_accounts; i++) {
		if (replay->accounts[i]->device != device)
			continue;
		rows[nr] = (struct vs_site_row){.account = replay->accounts[i]};
		fill(context, &rows[nr]);
		nr += rows[nr].bytes || rows[nr].count;
	}
	qsort(rows, nr, sizeof(rows[0]), compare_rows);
	*out = rows;
	*nr_rows = nr;
	return 0;
}

int vs_site_order_peak(const struct vs_analysis *analysis, const struct vs_replay_device *device,
		       struct vs_site_row **rows, size_t *nr_rows)
{
	return order(analysis->replay, device, fill_peak, analysis, rows, nr_rows);
}

int vs_site_order_live(const struct vs_replay *replay, const struct vs_replay_device *device,
		       struct vs_site_row **rows, size_t *nr_rows)
{
	return order(replay, device, fill_live, NULL, rows, nr_rows);
}

int vs_site_order_total(const struct vs_analysis *analysis, const struct vs_replay_device *device,
			struct vs_site_row **rows, size_t *nr_rows)
{
	return order(analysis->replay, device, fill_total, analysis, rows, nr_rows);
}
