#include "measure_sites.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_sites *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_sites *)(void *)observer; /* its first member */
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_sites *measure = measure_of(observer);
	const struct vs_item *item = change->item;
	struct vs_site_totals *totals;
	int err;

	if (change->type != VS_CHANGE_CHARGED)
		return 0;
	err = VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);
	if (err || !replay->is_in_window)
		return err;
	totals = &measure->accounts[item->account->index];
	if (item->account->live_bytes > totals->peak_bytes)
		totals->peak_bytes = item->account->live_bytes;
	/* A free had failed: it was counted when it was allocated. */
	if (change->cause == VS_CAUSE_RESTORED)
		return 0;
	if (!totals->nr_allocs || item->size < totals->min_size)
		totals->min_size = item->size;
	if (item->size > totals->max_size)
		totals->max_size = item->size;
	if (!totals->nr_allocs)
		totals->first_ns = replay->now_ns;
	totals->last_ns = replay->now_ns;
	totals->nr_allocs++;
	totals->bytes_allocated += item->size;
	return 0;
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_sites *measure = measure_of(observer);
	size_t i;
	int err = VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);

	for (i = 0; i < replay->nr_accounts && !err; i++)
		measure->accounts[i].peak_bytes = replay->accounts[i]->live_bytes;
	return err;
}

void vs_measure_sites_init(struct vs_measure_sites *measure)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.changes = VS_WANTS(VS_CHANGE_CHARGED);
	measure->observer.on_window = on_window;
}

void vs_measure_sites_fini(struct vs_measure_sites *measure)
{
	free(measure->accounts);
}

const struct vs_site_totals *vs_measure_sites_get(const struct vs_measure_sites *measure,
						  const struct vs_account *account)
{
	static const struct vs_site_totals none;

	if (account->index >= measure->accounts_capacity)
		return &none;
	return &measure->accounts[account->index];
}
