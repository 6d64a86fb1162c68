#include "measure_sites.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_sites *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_sites *)(void *)observer; /* its first member */
}

int vs_measure_sites_make_room(struct vs_measure_sites *measure, const struct vs_replay *replay)
{
	return VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);
}

int vs_measure_sites_note(struct vs_measure_sites *measure, const struct vs_replay *replay,
			  const struct vs_item *item, enum vs_change_cause cause)
{
	struct vs_site_totals *totals;
	int err = vs_measure_sites_make_room(measure, replay);

	if (err || !replay->is_in_window)
		return err;
	if (cause != VS_CAUSE_RESTORED) {
		vs_measure_sites_count(measure, replay, item);
		return 0;
	}
	/* A free had failed: it was counted when it was allocated. */
	totals = &measure->accounts[item->account->index];
	if (item->account->live_bytes > totals->peak_bytes)
		totals->peak_bytes = item->account->live_bytes;
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	return vs_measure_sites_note(measure_of(observer), replay, change->item, change->cause);
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_sites *measure = measure_of(observer);
	size_t i;
	int err = vs_measure_sites_make_room(measure, replay);

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
