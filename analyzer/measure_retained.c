#include "measure_retained.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_retained *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_retained *)(void *)observer; /* its first member */
}

/* ---- Boundaries ----------------------------------------------------------------------------- */

static int set_level(struct vs_series *series, uint32_t boundary, uint64_t bytes)
{
	uint64_t before = series->nr_levels ? series->levels[series->nr_levels - 1].bytes : 0;
	int err;

	if (bytes == before)
		return 0;
	err = VS_GROW(series->levels, series->capacity, series->nr_levels + 1);
	if (!err)
		series->levels[series->nr_levels++] = (struct vs_level){boundary, bytes};
	return err;
}

/* Every second boundary goes, and with it what was noted there. */
static void thin_series(struct vs_series *series)
{
	size_t i, kept = 0;

	for (i = 0; i < series->nr_levels; i++) {
		struct vs_level level = series->levels[i];

		/* A change at a boundary that goes is seen at the next one. */
		level.boundary = (level.boundary + 1) / 2;
		if (kept && series->levels[kept - 1].boundary == level.boundary)
			kept--;
		if (level.bytes != (kept ? series->levels[kept - 1].bytes : 0))
			series->levels[kept++] = level;
	}
	series->nr_levels = kept;
}

static void thin(struct vs_measure_retained *measure)
{
	uint32_t i;

	for (i = 0; i < measure->accounts_capacity; i++)
		thin_series(&measure->accounts[i]);
	for (i = 0; i < measure->nr_boundaries / 2; i++)
		measure->boundaries[i] = measure->boundaries[i * 2];
	measure->nr_boundaries /= 2;
	measure->stride *= 2;
}

static int add_boundary(struct vs_measure_retained *measure, const struct vs_replay *replay,
			struct vs_boundary boundary)
{
	size_t i;
	int err = 0;

	if (measure->nr_passed++ % measure->stride)
		return 0;
	if (measure->nr_boundaries == VS_RETAINED_MAX) {
		thin(measure);
		/* VS_RETAINED_MAX is even: this one is a multiple of the new stride, too. */
	}
	for (i = 0; i < measure->nr_dirty && !err; i++) {
		struct vs_series *series = &measure->accounts[measure->dirty[i]];

		series->is_dirty = false;
		err = set_level(series, measure->nr_boundaries,
				replay->accounts[measure->dirty[i]]->live_bytes);
	}
	measure->nr_dirty = 0;
	measure->boundaries[measure->nr_boundaries++] = boundary;
	return err;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	struct vs_measure_retained *measure = measure_of(observer);
	uint32_t index;
	int err;

	if (change->type != VS_CHANGE_CHARGED && change->type != VS_CHANGE_DISCHARGED)
		return 0;
	err = VS_GROW(measure->accounts, measure->accounts_capacity, replay->nr_accounts);
	if (!err)
		err = VS_GROW(measure->dirty, measure->dirty_capacity, replay->nr_accounts);
	if (err)
		return err;
	index = change->item->account->index;
	if (!measure->accounts[index].is_dirty) {
		measure->accounts[index].is_dirty = true;
		measure->dirty[measure->nr_dirty++] = index;
	}
	return 0;
}

/* Intervals that end before this event does anything. */
static int before_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	struct vs_measure_retained *measure = measure_of(observer);
	uint64_t end_ns;
	int err = 0;

	if (measure->unit != VS_BOUNDARY_INTERVALS || !measure->interval_ns)
		return 0;
	while (!err && measure->nr_passed < VS_RETAINED_INTERVALS) {
		end_ns = measure->start_ns + (measure->nr_passed + 1) * measure->interval_ns;
		if (record->time_ns <= end_ns)
			break;
		err = add_boundary(measure, replay,
				   (struct vs_boundary){end_ns, measure->nr_passed});
	}
	return err;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	struct vs_measure_retained *measure = measure_of(observer);
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
		if (thread && !thread->nr_phases)
			return add_boundary(measure, replay, boundary);
	}
	return 0;
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
}

void vs_measure_retained_fini(struct vs_measure_retained *measure)
{
	size_t i;

	for (i = 0; i < measure->accounts_capacity; i++)
		free(measure->accounts[i].levels);
	free(measure->accounts);
	free(measure->dirty);
}

/* ---- The sum -------------------------------------------------------------------------------- */

void vs_measure_retained_get_values(const struct vs_measure_retained *measure,
				    const struct vs_account *account, uint64_t *values)
{
	const struct vs_series *series;
	size_t next = 0;
	uint64_t bytes = 0;
	uint32_t i;

	memset(values, 0, measure->nr_boundaries * sizeof(values[0]));
	if (account->index >= measure->accounts_capacity)
		return;
	series = &measure->accounts[account->index];
	for (i = 0; i < measure->nr_boundaries; i++) {
		while (next < series->nr_levels && series->levels[next].boundary <= i)
			bytes = series->levels[next++].bytes;
		values[i] = bytes;
	}
}

static int sum_site(struct vs_retained_site *site, const struct vs_measure_retained *measure,
		    const struct vs_account *account, const uint64_t *values)
{
	uint32_t nr = measure->nr_boundaries, i, first = nr > 1;
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

/* values, grown: room for one value a boundary. */
static int sum_sites(struct vs_retained *retained, const struct vs_measure_retained *measure,
		     const struct vs_replay *replay, const struct vs_replay_device *device,
		     uint64_t *values, uint64_t *grown)
{
	size_t i, k;
	int err = 0;

	for (i = 0; i < replay->nr_accounts && !err; i++) {
		const struct vs_account *account = replay->accounts[i];
		struct vs_retained_site *site = &retained->sites[retained->nr_sites];

		if (account->device != device || account->domain != VS_DOMAIN_DEVICE)
			continue;
		vs_measure_retained_get_values(measure, account, values);
		err = sum_site(site, measure, account, values);
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
	values = calloc(measure->nr_boundaries, 2 * sizeof(*values));
	if (!values)
		return err;
	retained->sites = calloc(replay->nr_accounts, sizeof(*retained->sites));
	if (retained->sites)
		err = sum_sites(retained, measure, replay, device, values,
				values + measure->nr_boundaries);
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
