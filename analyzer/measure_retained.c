#include "measure_retained.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_retained *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_retained *)(void *)observer; /* its first member */
}

/* ---- Boundaries ----------------------------------------------------------------------------- */

static uint64_t get_bytes(uint64_t level)
{
	return level & VS_LEVEL_MOST;
}

static uint64_t make_level(uint64_t boundary, uint64_t bytes)
{
	return boundary << VS_LEVEL_BITS | bytes;
}

/* By half at a time: there are many, and most are short. */
static int make_level_room(struct vs_series *series)
{
	uint32_t capacity = series->capacity + series->capacity / 2 + 4;
	uint64_t *larger;

	if (series->nr_levels < series->capacity)
		return 0;
	larger = reallocarray(series->levels, capacity, sizeof(*larger));
	if (!larger)
		return -VS_ERR_NO_MEMORY;
	series->levels = larger;
	series->capacity = capacity;
	return 0;
}

static int set_level(struct vs_measure_retained *measure, struct vs_series *series, uint64_t bytes)
{
	uint64_t before = series->nr_levels ? get_bytes(series->levels[series->nr_levels - 1]) : 0;
	int err;

	if (bytes > VS_LEVEL_MOST)
		bytes = VS_LEVEL_MOST;
	if (bytes == before)
		return 0;
	err = make_level_room(series);
	if (err)
		return err;
	series->levels[series->nr_levels++] = make_level(measure->nr_boundaries, bytes);
	measure->nr_levels++;
	return 0;
}

/* Every second boundary goes, and with it what was noted there. */
static void thin_series(struct vs_series *series)
{
	uint32_t i, kept = 0;

	for (i = 0; i < series->nr_levels; i++) {
		uint64_t bytes = get_bytes(series->levels[i]);
		/* A change at a boundary that goes is seen at the next one. */
		uint64_t boundary = ((series->levels[i] >> VS_LEVEL_BITS) + 1) / 2;

		if (kept && series->levels[kept - 1] >> VS_LEVEL_BITS == boundary)
			kept--;
		if (bytes != (kept ? get_bytes(series->levels[kept - 1]) : 0))
			series->levels[kept++] = make_level(boundary, bytes);
	}
	series->nr_levels = kept;
}

static void thin(struct vs_measure_retained *measure)
{
	uint32_t i;

	measure->nr_levels = 0;
	for (i = 0; i < measure->accounts_capacity; i++) {
		struct vs_retained_account *account = &measure->accounts[i];

		thin_series(&account->live);
		thin_series(&account->old);
		measure->nr_levels += account->live.nr_levels + account->old.nr_levels;
	}
	for (i = 0; i < measure->nr_boundaries / 2; i++)
		measure->boundaries[i] = measure->boundaries[i * 2];
	measure->nr_boundaries /= 2;
	measure->stride *= 2;
}

/* An even number of them: the one that comes next is a multiple of the new stride, too. */
static bool is_full(const struct vs_measure_retained *measure)
{
	return measure->nr_boundaries == VS_RETAINED_MAX ||
	       (measure->nr_levels >= VS_RETAINED_LEVELS && measure->nr_boundaries % 2 == 0 &&
		measure->nr_boundaries >= 2 * VS_RETAINED_LEAST);
}

/* What is young now will be old at the next boundary: that one has to look again. */
static int note(struct vs_measure_retained *measure, const struct vs_replay *replay, uint32_t index)
{
	struct vs_retained_account *account = &measure->accounts[index];
	uint64_t live = replay->accounts[index]->live_bytes;
	uint64_t young = account->young_bytes < live ? account->young_bytes : live;
	int err = set_level(measure, &account->live, live);

	if (!err)
		err = set_level(measure, &account->old, live - young);
	account->is_dirty = account->young_bytes;
	account->young_bytes = 0;
	if (account->is_dirty)
		measure->dirty[measure->nr_dirty++] = index;
	return err;
}

static int add_boundary(struct vs_measure_retained *measure, const struct vs_replay *replay,
			struct vs_boundary boundary)
{
	size_t i, nr_dirty;
	int err = 0;

	if (measure->nr_passed++ % measure->stride)
		return 0;
	if (is_full(measure))
		thin(measure);
	nr_dirty = measure->nr_dirty;
	measure->nr_dirty = 0;
	for (i = 0; i < nr_dirty && !err; i++)
		err = note(measure, replay, measure->dirty[i]);
	measure->boundary_id = replay->last_id;
	measure->boundaries[measure->nr_boundaries++] = boundary;
	return err;
}

int vs_measure_retained_make_room(struct vs_measure_retained *measure,
				  const struct vs_replay *replay)
{
	int err = VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);

	return err ? err : VS_GROW(measure->dirty, measure->dirty_capacity, replay->nr_accounts);
}

int vs_measure_retained_note(struct vs_measure_retained *measure, const struct vs_replay *replay,
			     const struct vs_item *item, bool is_charge)
{
	int err = vs_measure_retained_make_room(measure, replay);

	if (!err)
		vs_measure_retained_count(measure, item, is_charge);
	return err;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	/* Some forward all changes. */
	if (change->type != VS_CHANGE_CHARGED && change->type != VS_CHANGE_DISCHARGED)
		return 0;
	return vs_measure_retained_note(measure_of(observer), replay, change->item,
					change->type == VS_CHANGE_CHARGED);
}

static uint64_t get_next_interval(const struct vs_measure_retained *measure)
{
	if (measure->unit != VS_BOUNDARY_INTERVALS || !measure->interval_ns ||
	    measure->nr_passed >= VS_RETAINED_INTERVALS)
		return UINT64_MAX;
	return measure->start_ns + (measure->nr_passed + 1) * measure->interval_ns;
}

/* Intervals that end before this event does anything. */
static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct vs_measure_retained *measure = measure_of(observer);
	int err = 0;

	while (!err && record->time_ns > measure->next_ns) {
		err = add_boundary(measure, replay,
				   (struct vs_boundary){measure->next_ns, measure->nr_passed});
		measure->next_ns = get_next_interval(measure);
	}
	return err;
}

int vs_measure_retained_add_boundary(struct vs_measure_retained *measure,
				     const struct vs_replay *replay, uint64_t time_ns)
{
	return add_boundary(measure, replay, (struct vs_boundary){time_ns, measure->nr_passed});
}

/* The name of a phase that has just ended is still there, above those that are open. */
static void note_phase(struct vs_measure_retained *measure, const struct vs_replay_thread *thread)
{
	uint32_t name = thread->phases_capacity ? thread->phases[0] : VS_NO_ID;

	if (measure->phase == VS_NO_ID && !measure->is_mixed)
		measure->phase = name;
	if (measure->phase != name) {
		measure->is_mixed = true;
		measure->phase = VS_NO_ID;
	}
}

int vs_measure_retained_note_record(struct vs_measure_retained *measure,
				    const struct vs_replay *replay, const struct vs_record *record)
{
	struct vs_boundary boundary = {record->time_ns, measure->nr_passed};
	const struct vs_replay_thread *thread;

	if (!replay->is_in_window)
		return 0;
	if (measure->unit == VS_BOUNDARY_STEPS && record->type == VS_RECORD_STEP) {
		boundary.number = record->step.number;
		return add_boundary(measure, replay, boundary);
	}
	if (measure->unit == VS_BOUNDARY_PHASES && record->type == VS_RECORD_PHASE_POP) {
		thread = vs_id_map_get(&replay->threads, record->thread);
		if (thread && !thread->nr_phases) {
			note_phase(measure, thread);
			return add_boundary(measure, replay, boundary);
		}
	}
	return 0;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	return vs_measure_retained_note_record(measure_of(observer), replay, record);
}

void vs_measure_retained_init(struct vs_measure_retained *measure, enum vs_boundary_unit unit,
			      uint64_t first_ns, uint64_t last_ns)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.changes = VS_WANTS(VS_CHANGE_CHARGED) | VS_WANTS(VS_CHANGE_DISCHARGED);
	measure->observer.on_record = on_record;
	measure->observer.records = VS_WANTS(VS_RECORD_STEP) | VS_WANTS(VS_RECORD_PHASE_POP);
	if (unit == VS_BOUNDARY_INTERVALS)
		measure->observer.before_record = before_record;
	measure->unit = unit;
	measure->stride = 1;
	measure->start_ns = first_ns;
	measure->interval_ns = (last_ns - first_ns) / (VS_RETAINED_INTERVALS + 1);
	measure->next_ns = get_next_interval(measure);
}

void vs_measure_retained_fini(struct vs_measure_retained *measure)
{
	size_t i;

	for (i = 0; i < measure->accounts_capacity; i++) {
		free(measure->accounts[i].live.levels);
		free(measure->accounts[i].old.levels);
	}
	free(measure->accounts);
	free(measure->dirty);
}

/* ---- The sum -------------------------------------------------------------------------------- */

void vs_measure_retained_get_values(const struct vs_measure_retained *measure,
				    const struct vs_account *account, bool is_old, uint64_t *values)
{
	const struct vs_series *series;
	uint64_t bytes = 0;
	uint32_t i, next = 0;

	memset(values, 0, measure->nr_boundaries * sizeof(values[0]));
	if (account->index >= measure->accounts_capacity)
		return;
	series = is_old ? &measure->accounts[account->index].old
			: &measure->accounts[account->index].live;
	for (i = 0; i < measure->nr_boundaries; i++) {
		while (next < series->nr_levels && series->levels[next] >> VS_LEVEL_BITS <= i)
			bytes = get_bytes(series->levels[next++]);
		values[i] = bytes;
	}
}

/*
 * Whether half of what a site kept was there at the last boundaries and at those before them: of a
 * site that only asks for more at a time, nothing is. old: what was, at each.
 */
static bool is_kept(const struct vs_growth *growth, const uint64_t *old, uint32_t nr)
{
	uint64_t least = old[nr - 1];
	size_t i;

	for (i = 1; i < growth->stride && i < nr; i++)
		if (old[nr - 1 - i] < least)
			least = old[nr - 1 - i];
	return least >= growth->kept_bytes / 2;
}

static int sum_site(struct vs_retained_site *site, const struct vs_measure_retained *measure,
		    const struct vs_account *account, const uint64_t *values)
{
	uint32_t nr = measure->nr_boundaries, i, first = nr > 1;
	size_t level;
	int err = vs_growth_find(&site->growth, values, nr);

	if (err)
		return err;
	/* Intervals know nothing of the program's rhythm: only a long, steady rise is believed. */
	if (measure->unit == VS_BOUNDARY_INTERVALS &&
	    (site->growth.nr_steps * site->growth.stride * 2 < nr ||
	     site->growth.nr_grown * 4 < site->growth.nr_steps * 3))
		memset(&site->growth, 0, sizeof(site->growth));
	site->account = account;
	site->last_bytes = values[nr - 1];
	site->constant_bytes = values[first];
	for (i = first; i < nr; i++)
		if (values[i] < site->constant_bytes)
			site->constant_bytes = values[i];
	site->is_level = !site->growth.is_growing && vs_growth_find_level(values, nr, &level);
	if (site->is_level) {
		site->level_since = measure->boundaries[level].number;
		site->level_since_ns = measure->boundaries[level].time_ns;
	}
	if (site->growth.is_growing) {
		size_t before = site->growth.onset - 1;

		site->growth.rate /= measure->stride;
		site->since = measure->boundaries[before].number;
		site->since_ns = measure->boundaries[before].time_ns;
	}
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct vs_retained_site *x = a, *y = b;

	if (x->growth.is_growing != y->growth.is_growing)
		return x->growth.is_growing ? -1 : 1;
	if (x->growth.rate != y->growth.rate)
		return x->growth.rate > y->growth.rate ? -1 : 1;
	if (x->last_bytes != y->last_bytes)
		return x->last_bytes > y->last_bytes ? -1 : 1;
	return (x->account->index > y->account->index) - (x->account->index < y->account->index);
}

static void forecast(struct vs_retained *retained, const struct vs_measure_retained *measure,
		     const struct vs_replay_device *device)
{
	const struct vs_boundary *first = &measure->boundaries[0];
	const struct vs_boundary *last = &measure->boundaries[measure->nr_boundaries - 1];
	uint64_t steps = (measure->nr_boundaries - 1) * measure->stride;

	if (!retained->growth.is_growing || !retained->growth.rate ||
	    device->total_size <= retained->last_live)
		return;
	retained->has_forecast = true;
	retained->steps_to_full =
		(device->total_size - retained->last_live) / retained->growth.rate;
	retained->time_to_full_ns = (uint64_t)((double)(last->time_ns - first->time_ns) /
					       (double)steps * (double)retained->steps_to_full);
}

/* values, grown, old: room for one value a boundary. */
static int sum_sites(struct vs_retained *retained, const struct vs_measure_retained *measure,
		     const struct vs_replay *replay, const struct vs_replay_device *device,
		     uint64_t *values, uint64_t *grown, uint64_t *old)
{
	size_t i, k;
	int err = 0;

	for (i = 0; i < replay->nr_accounts && !err; i++) {
		const struct vs_account *account = replay->accounts[i];
		struct vs_retained_site *site = &retained->sites[retained->nr_sites];

		if (account->device != device || account->domain != VS_DOMAIN_DEVICE)
			continue;
		vs_measure_retained_get_values(measure, account, false, values);
		err = sum_site(site, measure, account, values);
		if (!err && site->growth.is_growing) {
			vs_measure_retained_get_values(measure, account, true, old);
			if (!is_kept(&site->growth, old, measure->nr_boundaries))
				site->growth = (struct vs_growth){0};
		}
		if (err || (!site->last_bytes && !site->growth.is_growing))
			continue;
		retained->nr_sites++;
		retained->last_live += site->last_bytes;
		retained->nr_growing += site->growth.is_growing;
		for (k = 0; k < measure->nr_boundaries && site->growth.is_growing; k++)
			grown[k] += values[k];
	}
	return err;
}

static int sum_growth(struct vs_retained *retained, const struct vs_measure_retained *measure,
		      const struct vs_replay_device *device, const uint64_t *grown)
{
	struct vs_retained_site all = {0};
	int err = sum_site(&all, measure, NULL, grown);

	if (err)
		return err;
	retained->growth = all.growth;
	retained->since = all.since;
	retained->since_ns = all.since_ns;
	forecast(retained, measure, device);
	return 0;
}

int vs_measure_retained_sum(struct vs_retained *retained, const struct vs_measure_retained *measure,
			    const struct vs_replay *replay, const struct vs_replay_device *device)
{
	uint64_t *values;
	int err = -VS_ERR_NO_MEMORY;

	memset(retained, 0, sizeof(*retained));
	retained->nr_boundaries = measure->nr_boundaries;
	retained->boundary_stride = measure->stride;
	if (!measure->nr_boundaries || !replay->nr_accounts)
		return 0;
	values = calloc(measure->nr_boundaries, 3 * sizeof(*values));
	if (!values)
		return err;
	retained->sites = calloc(replay->nr_accounts, sizeof(*retained->sites));
	if (retained->sites)
		err = sum_sites(retained, measure, replay, device, values,
				values + measure->nr_boundaries,
				values + (size_t)measure->nr_boundaries * 2);
	if (!err)
		err = sum_growth(retained, measure, device, values + measure->nr_boundaries);
	free(values);
	if (err) {
		vs_measure_retained_fini_sum(retained);
		return err;
	}
	qsort(retained->sites, retained->nr_sites, sizeof(retained->sites[0]), compare_sites);
	return 0;
}

void vs_measure_retained_fini_sum(struct vs_retained *retained)
{
	free(retained->sites);
	memset(retained, 0, sizeof(*retained));
}
