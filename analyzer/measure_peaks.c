#include "measure_peaks.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_peaks *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_peaks *)(void *)observer; /* its first member */
}

static int add_devices(struct vs_measure_peaks *measure, const struct vs_replay *replay)
{
	int err = VS_GROW(measure->devices, measure->devices_capacity, replay->nr_devices);
	size_t i;

	for (i = 0; i < replay->nr_devices && !err; i++) {
		const struct vs_replay_device *device = replay->devices[i];
		uint64_t highest = vs_measure_peak_get(measure->peak, device)->live.bytes;

		if (device->index >= measure->nr_devices)
			vs_peak_curve_init(&measure->devices[device->index].curve,
					   measure->is_known ? highest : 0);
	}
	if (!err)
		measure->nr_devices = replay->nr_devices;
	return err;
}

static inline int make_room(struct vs_measure_peaks *measure, const struct vs_replay *replay)
{
	return replay->nr_devices > measure->nr_devices ? add_devices(measure, replay) : 0;
}

int vs_measure_peaks_make_room(struct vs_measure_peaks *measure, const struct vs_replay *replay)
{
	int err = make_room(measure, replay);

	return err ? err : VS_GROW(measure->pools, measure->pools_capacity, replay->nr_pools);
}

/* For which peak notes are made. */
static inline uint64_t get_epoch(const struct vs_measure_peaks *measure,
				 const struct vs_replay_device *device)
{
	return measure->is_known ? 0 : vs_measure_peak_get(measure->peak, device)->epoch;
}

static const char *get_phase(struct vs_measure_peaks *measure, const struct vs_replay *replay,
			     uint32_t thread)
{
	if (measure->phase_epoch != replay->phase_epoch || measure->phase_thread != thread) {
		measure->phase = vs_replay_get_phase(replay, thread);
		measure->phase_epoch = replay->phase_epoch;
		measure->phase_thread = thread;
	}
	return measure->phase;
}

/* As vs_instant_now. */
static struct vs_instant get_now(struct vs_measure_peaks *measure, const struct vs_replay *replay,
				 uint32_t thread)
{
	return (struct vs_instant){.record = replay->counters.nr_records,
				   .time_ns = replay->now_ns,
				   .has_step = replay->nr_steps,
				   .step = replay->step_number,
				   .phase = get_phase(measure, replay, thread)};
}

/* ---- Where it was made ---------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static int get_maker(struct vs_peaks_device *device, const char *name, size_t *number)
{
	int err;

	*number = device->last_maker;
	if (*number < device->nr_makers && device->makers[*number].name == name)
		return 0;
	for (*number = 0; *number < device->nr_makers; ++*number)
		if (is_same(device->makers[*number].name, name))
			break;
	device->last_maker = *number;
	if (*number < device->nr_makers)
		return 0;
	err = VS_GROW(device->makers, device->makers_capacity, device->nr_makers + 1);
	if (!err)
		device->makers[device->nr_makers++] = (struct vs_peaks_maker){.name = name};
	return err;
}

/* Arrays and handles have no place in the address map. */
static bool is_piece(const struct vs_item *item)
{
	return item->class != VS_ITEM_HANDLE &&
	       (item->kind != VS_MEMORY_ARRAY || item->parent || item->class != VS_ITEM_SEGMENT);
}

static int note_gone(struct vs_peaks_device *device, const struct vs_item *item, uint64_t epoch)
{
	int err;

	if (device->gone_epoch != epoch) {
		device->gone_epoch = epoch;
		device->nr_gone = 0;
	}
	err = VS_GROW(device->gone, device->gone_capacity, device->nr_gone + 1);
	if (!err)
		device->gone[device->nr_gone++] =
			(struct vs_peaks_piece){item->account->index, item->size, item->birth_ns};
	return err;
}

int vs_measure_peaks_note(struct vs_measure_peaks *measure, const struct vs_replay *replay,
			  struct vs_item *item, bool is_charge)
{
	struct vs_peaks_device *device;
	uint64_t epoch;
	size_t number;
	int err;

	if (item->account->domain != VS_DOMAIN_DEVICE)
		return 0;
	err = make_room(measure, replay);
	if (err)
		return err;
	device = &measure->devices[item->device->index];
	epoch = get_epoch(measure, item->device);
	if (!is_charge) {
		if (item->made_in)
			vs_measure_peaks_change_maker(&device->makers[item->made_in - 1], epoch,
						      0 - item->size);
		item->made_in = 0;
		return item->charge_epoch != epoch && is_piece(item)
			       ? note_gone(device, item, epoch)
			       : 0;
	}
	err = get_maker(device, get_phase(measure, replay, replay->last_thread->id), &number);
	if (err)
		return err;
	vs_measure_peaks_change_maker(&device->makers[number], epoch, item->size);
	item->made_in = (uint32_t)number + 1;
	item->charge_epoch = epoch;
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	return vs_measure_peaks_note(measure_of(observer), replay, change->item,
				     change->type == VS_CHANGE_CHARGED);
}

static int compare_made(const void *a, const void *b)
{
	const struct vs_peak_phase *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int note_made(struct vs_peaks_device *device, uint64_t epoch)
{
	size_t i;

	device->made = calloc(device->nr_makers + 1, sizeof(*device->made));
	if (!device->made)
		return -VS_ERR_NO_MEMORY;
	for (i = 0; i < device->nr_makers; i++) {
		const struct vs_peaks_maker *maker = &device->makers[i];
		uint64_t bytes = epoch && maker->epoch == epoch ? maker->bytes_then : maker->bytes;

		if (bytes)
			device->made[device->nr_made++] =
				(struct vs_peak_phase){.name = maker->name, .bytes = bytes};
	}
	if (device->nr_made)
		qsort(device->made, device->nr_made, sizeof(device->made[0]), compare_made);
	return 0;
}

/* ---- Pools ---------------------------------------------------------------------------------- */

void vs_measure_peaks_follow_pool(struct vs_measure_peaks *measure, const struct vs_replay *replay,
				  const struct vs_replay_pool *pool, uint32_t thread)
{
	struct vs_peaks_pool *peaks = &measure->pools[pool->index];
	uint64_t held =
		pool->owner == VS_POOL_DRIVER ? vs_replay_get_held(pool) : pool->segment_bytes;

	if (pool->block_bytes > peaks->live_bytes) {
		peaks->live_bytes = pool->block_bytes;
		peaks->live_at = get_now(measure, replay, thread);
	}
	if (held > peaks->held_bytes) {
		peaks->held_bytes = held;
		peaks->held_at = get_now(measure, replay, thread);
	}
}

static int follow_pools(struct vs_measure_peaks *measure, const struct vs_replay *replay,
			uint32_t thread)
{
	size_t i;
	int err = VS_GROW(measure->pools, measure->pools_capacity, replay->nr_pools);

	for (i = 0; i < replay->nr_pools && !err; i++)
		vs_measure_peaks_follow_pool(measure, replay, replay->pools[i], thread);
	return err;
}

/* ---- The pass ------------------------------------------------------------------------------- */

int vs_measure_peaks_follow_device(struct vs_measure_peaks *measure, const struct vs_replay *replay,
				   const struct vs_replay_device *device, uint32_t thread)
{
	struct vs_peaks_device *peaks = &measure->devices[device->index];
	struct vs_instant now;
	int err = 0;

	if (measure->is_known && vs_measure_peak_get(measure->peak, device)->live.at.record ==
					 replay->counters.nr_records)
		err = note_made(peaks, 0);
	if (err || !vs_peak_curve_is_moved(&peaks->curve, device->live_bytes))
		return err;
	now = get_now(measure, replay, thread);
	return vs_peak_curve_follow(&peaks->curve, device->live_bytes, &now);
}

/* Of pools nothing rises when something is freed. */
static bool can_raise_pools(const struct vs_record *record)
{
	return record->type != VS_RECORD_BLOCK_FREE && record->type != VS_RECORD_FREE;
}

int vs_measure_peaks_follow(struct vs_measure_peaks *measure, const struct vs_replay *replay,
			    const struct vs_record *record)
{
	size_t i;
	int err = make_room(measure, replay);

	for (i = 0; i < replay->nr_devices && !err; i++)
		err = vs_measure_peaks_follow_device(measure, replay, replay->devices[i],
						     record->thread);
	if (err || !can_raise_pools(record))
		return err;
	return follow_pools(measure, replay, record->thread);
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	if (!replay->is_in_window || !vs_replay_is_event(record))
		return 0;
	return vs_measure_peaks_follow(measure_of(observer), replay, record);
}

static int on_end(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_peaks *measure = measure_of(observer);
	size_t i;
	int err = make_room(measure, replay);

	for (i = 0; i < replay->nr_devices && !err; i++) {
		struct vs_peaks_device *device = &measure->devices[replay->devices[i]->index];

		err = vs_peak_curve_end(&device->curve);
		if (!err && !measure->is_known)
			err = note_made(device, get_epoch(measure, replay->devices[i]));
	}
	return err;
}

void vs_measure_peaks_init(struct vs_measure_peaks *measure, const struct vs_measure_peak *peak,
			   bool is_known)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.changes = VS_WANTS(VS_CHANGE_CHARGED) | VS_WANTS(VS_CHANGE_DISCHARGED);
	measure->observer.on_record = on_record;
	measure->observer.on_end = on_end;
	measure->peak = peak;
	measure->is_known = is_known;
	measure->phase_epoch = UINT64_MAX;
}

void vs_measure_peaks_fini(struct vs_measure_peaks *measure)
{
	size_t i;

	for (i = 0; i < measure->nr_devices; i++) {
		vs_peak_curve_fini(&measure->devices[i].curve);
		free(measure->devices[i].makers);
		free(measure->devices[i].made);
		free(measure->devices[i].gone);
	}
	free(measure->devices);
	free(measure->pools);
	memset(measure, 0, sizeof(*measure));
}

/* ---- Afterwards ----------------------------------------------------------------------------- */

struct vs_peaks_device *vs_measure_peaks_get(const struct vs_measure_peaks *measure,
					     const struct vs_replay_device *device)
{
	struct vs_peaks_device *peaks;

	if (device->index >= measure->nr_devices)
		return NULL;
	peaks = &measure->devices[device->index];
	return peaks->curve.is_lost ? NULL : peaks;
}

bool vs_measure_peaks_was_live(const struct vs_measure_peaks *measure, const struct vs_item *item)
{
	return item->is_charged && item->charge_epoch != get_epoch(measure, item->device);
}

size_t vs_measure_peaks_count_gone(const struct vs_measure_peaks *measure,
				   const struct vs_replay_device *device)
{
	const struct vs_peaks_device *peaks = &measure->devices[device->index];

	return peaks->gone_epoch == get_epoch(measure, device) ? peaks->nr_gone : 0;
}
