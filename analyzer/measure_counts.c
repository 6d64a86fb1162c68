#include "measure_counts.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static struct vs_measure_counts *measure_of(struct vs_observer *observer)
{
	return (struct vs_measure_counts *)(void *)observer; /* its first member */
}

int vs_measure_counts_make_room(struct vs_measure_counts *measure, const struct vs_replay *replay)
{
	int err = VS_GROW(measure->devices, measure->devices_capacity, replay->nr_devices);

	return err ? err : VS_GROW(measure->pools, measure->pools_capacity, replay->nr_pools);
}

static void add_live(struct vs_counts *counts, uint64_t size)
{
	counts->live_at_end_count++;
	counts->live_at_end_bytes += size;
	if (counts->live_at_end_bytes > counts->peak_bytes)
		counts->peak_bytes = counts->live_at_end_bytes;
}

static void count_birth(struct vs_counts *counts, const struct vs_change *change, bool is_counted)
{
	if (is_counted && change->cause == VS_CAUSE_EVENT) {
		counts->allocs++;
		counts->bytes_allocated += change->item->size;
	}
	/* A block that had gone with its segment, whose free then failed. */
	if (is_counted && change->cause == VS_CAUSE_RESTORED && change->item->parent &&
	    counts->implicit_frees)
		counts->implicit_frees--;
	add_live(counts, change->item->size);
}

static void count_death(struct vs_counts *counts, const struct vs_change *change, bool is_counted)
{
	bool is_implicit = change->cause == VS_CAUSE_IMPLICIT || change->cause == VS_CAUSE_PARENT;
	bool is_handle = change->item->class == VS_ITEM_HANDLE;

	counts->live_at_end_count--;
	counts->live_at_end_bytes -= change->item->size;
	/* A handle is freed by its release, which has been counted. */
	if (!is_counted || (is_handle && change->item->is_released))
		return;
	counts->frees += change->cause == VS_CAUSE_EVENT;
	counts->implicit_frees += is_implicit;
}

static void count_free_of_nothing(struct vs_counts *counts, const struct vs_change *change)
{
	if (change->type == VS_CHANGE_UNMATCHED) {
		counts->frees++;
		return;
	}
	counts->failed_frees++;
	/* It had been counted as one that went well. */
	if (change->cause == VS_CAUSE_RESTORED && counts->frees)
		counts->frees--;
}

static void count_change(struct vs_counts *counts, const struct vs_change *change, bool is_counted)
{
	switch (change->type) {
	case VS_CHANGE_BORN:
		count_birth(counts, change, is_counted);
		break;
	case VS_CHANGE_DYING:
		count_death(counts, change, is_counted);
		break;
	case VS_CHANGE_RELEASED:
		counts->frees += is_counted;
		break;
	case VS_CHANGE_UNMATCHED:
	case VS_CHANGE_UNFREED:
		if (is_counted)
			count_free_of_nothing(counts, change);
		break;
	default:
		break;
	}
}

static bool has_room(const struct vs_measure_counts *measure, const struct vs_change *change)
{
	return change->device->index < measure->devices_capacity &&
	       (!change->pool || change->pool->index < measure->pools_capacity);
}

int vs_measure_counts_note(struct vs_measure_counts *measure, const struct vs_replay *replay,
			   const struct vs_change *change)
{
	int err = has_room(measure, change) ? 0 : vs_measure_counts_make_room(measure, replay);

	if (err)
		return err;
	/* Segments of virtual memory are made of handles, and those are counted. */
	if (change->item && change->item->reservation)
		return 0;
	if (change->pool)
		count_change(&measure->pools[change->pool->index], change, replay->is_in_window);
	/* What a driver pool gives, the program asked of CUDA. */
	if (!change->pool || change->pool->owner == VS_POOL_DRIVER)
		count_change(&measure->devices[change->device->index].kinds[change->kind], change,
			     replay->is_in_window);
	return 0;
}

static int on_change(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_change *change)
{
	return vs_measure_counts_note(measure_of(observer), replay, change);
}

int vs_measure_counts_note_record(struct vs_measure_counts *measure, const struct vs_replay *replay,
				  const struct vs_record *record)
{
	const struct vs_replay_device *device;
	const struct vs_replay_pool *pool;
	int err = vs_measure_counts_make_room(measure, replay);

	if (err || !replay->is_in_window)
		return err;
	if (record->type == VS_RECORD_ALLOC_FAILED &&
	    (unsigned int)record->alloc_failed.kind < VS_NR_MEMORY_KINDS) {
		device = vs_replay_get_device(replay, record->alloc_failed.device);
		pool = vs_replay_get_driver_pool(replay, &record->alloc_failed);
		if (device)
			measure->devices[device->index]
				.kinds[record->alloc_failed.kind]
				.failed_allocs++;
		if (pool)
			measure->pools[pool->index].failed_allocs++;
	} else if (record->type == VS_RECORD_BLOCK_FAILED) {
		pool = vs_replay_get_pool(replay, record->block_failed.pool);
		if (pool)
			measure->pools[pool->index].failed_allocs++;
	}
	return 0;
}

static int on_record(struct vs_observer *observer, const struct vs_replay *replay,
		     const struct vs_record *record)
{
	return vs_measure_counts_note_record(measure_of(observer), replay, record);
}

static int on_window(struct vs_observer *observer, const struct vs_replay *replay)
{
	struct vs_measure_counts *measure = measure_of(observer);
	size_t i, kind;
	int err = vs_measure_counts_make_room(measure, replay);

	for (i = 0; i < replay->nr_devices && !err; i++) {
		for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++) {
			struct vs_counts *counts = &measure->devices[i].kinds[kind];

			counts->peak_bytes = counts->live_at_end_bytes;
		}
	}
	for (i = 0; i < replay->nr_pools && !err; i++)
		measure->pools[i].peak_bytes = measure->pools[i].live_at_end_bytes;
	return err;
}

void vs_measure_counts_init(struct vs_measure_counts *measure)
{
	memset(measure, 0, sizeof(*measure));
	measure->observer.on_change = on_change;
	measure->observer.changes = VS_WANTS(VS_CHANGE_BORN) | VS_WANTS(VS_CHANGE_DYING) |
				    VS_WANTS(VS_CHANGE_RELEASED) | VS_WANTS(VS_CHANGE_UNMATCHED) |
				    VS_WANTS(VS_CHANGE_UNFREED);
	measure->observer.on_record = on_record;
	measure->observer.records =
		VS_WANTS(VS_RECORD_ALLOC_FAILED) | VS_WANTS(VS_RECORD_BLOCK_FAILED);
	measure->observer.on_window = on_window;
}

void vs_measure_counts_fini(struct vs_measure_counts *measure)
{
	free(measure->devices);
	free(measure->pools);
}

const struct vs_counts *vs_measure_counts_get_kind(const struct vs_measure_counts *measure,
						   const struct vs_replay_device *device,
						   enum vs_memory_kind kind)
{
	static const struct vs_counts none;

	if (device->index >= measure->devices_capacity)
		return &none;
	return &measure->devices[device->index].kinds[kind];
}

const struct vs_counts *vs_measure_counts_get_pool(const struct vs_measure_counts *measure,
						   const struct vs_replay_pool *pool)
{
	static const struct vs_counts none;

	return pool->index < measure->pools_capacity ? &measure->pools[pool->index] : &none;
}

struct vs_counts vs_measure_counts_sum(const struct vs_measure_counts *measure,
				       const struct vs_replay_device *device)
{
	struct vs_counts sum = {0};
	int kind;

	for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++) {
		const struct vs_counts *counts =
			vs_measure_counts_get_kind(measure, device, (enum vs_memory_kind)kind);

		if (vs_replay_get_domain((enum vs_memory_kind)kind) != VS_DOMAIN_DEVICE)
			continue;
		sum.allocs += counts->allocs;
		sum.frees += counts->frees;
		sum.failed_allocs += counts->failed_allocs;
		sum.failed_frees += counts->failed_frees;
		sum.implicit_frees += counts->implicit_frees;
		sum.bytes_allocated += counts->bytes_allocated;
		sum.live_at_end_count += counts->live_at_end_count;
		sum.live_at_end_bytes += counts->live_at_end_bytes;
	}
	return sum;
}
