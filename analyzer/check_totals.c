#include "check_totals.h"

#include <stdlib.h>

#include "grow.h"

void vs_check_totals_fini(struct vs_check_totals *totals)
{
	free(totals->devices);
	*totals = (struct vs_check_totals){0};
}

static int get_device(struct vs_check_totals *totals, const struct vs_replay_device *device,
		      struct vs_check_totals_device **found)
{
	size_t i;
	int err;

	for (i = 0; i < totals->nr_devices; i++) {
		*found = &totals->devices[i];
		if ((*found)->device == device)
			return 0;
	}
	err = VS_GROW(totals->devices, totals->devices_capacity, totals->nr_devices + 1);
	if (err)
		return err;
	*found = &totals->devices[totals->nr_devices++];
	**found = (struct vs_check_totals_device){.device = device};
	return 0;
}

/* All pools of frameworks on the device: there is one framework that says totals. */
static struct vs_check_totals_sum add_up(const struct vs_replay *replay,
					 const struct vs_replay_device *device)
{
	struct vs_check_totals_sum sum = {0};
	size_t i;

	for (i = 0; i < replay->nr_pools; i++) {
		const struct vs_replay_pool *pool = replay->pools[i];

		if (pool->owner != VS_POOL_FRAMEWORK || pool->device != device)
			continue;
		sum.used += pool->block_bytes;
		sum.reserved += pool->segment_bytes;
	}
	return sum;
}

/* Nothing more will be said of the event that waits. */
static void judge(struct vs_check_totals *totals, struct vs_check_totals_device *device)
{
	if (!device->is_open || !device->is_known || device->is_late)
		return;
	device->is_open = false;
	totals->nr_compared++;
	if (device->said.used == device->found.used &&
	    device->said.reserved == device->found.reserved)
		return;
	if (!totals->nr_different++) {
		totals->first_ns = device->time_ns;
		totals->first_said = device->said;
		totals->first_found = device->found;
	}
}

/* An event whose totals follow from the ones before, unless a state comes. */
static void open(struct vs_check_totals_device *device, const struct vs_replay *replay,
		 int64_t change)
{
	device->said.used += (uint64_t)change;
	device->found = add_up(replay, device->device);
	device->time_ns = replay->now_ns;
	device->is_open = true;
}

static void take_state(struct vs_check_totals *totals, struct vs_check_totals_device *device,
		       const struct vs_pool_state *state)
{
	bool is_first = !device->is_known;

	device->is_known = true;
	device->said = (struct vs_check_totals_sum){state->used_size, state->reserved_size};
	/* What it took before the trace began is missing in ours, and is not our mistake. */
	if (is_first && device->is_open && !device->is_late &&
	    device->said.used > device->found.used) {
		device->is_late = true;
		totals->nr_late++;
	}
	judge(totals, device);
}

void vs_check_totals_see_change(struct vs_check_totals *totals, const struct vs_change *change)
{
	if (change->type == VS_CHANGE_DYING && vs_replay_is_pool_block(change->item))
		totals->freed_size = change->item->size;
}

static uint32_t get_pool(const struct vs_record *record)
{
	switch (record->type) {
	case VS_RECORD_BLOCK_ALLOC:
		return record->block_alloc.pool;
	case VS_RECORD_BLOCK_FREE:
		return record->block_free.pool;
	case VS_RECORD_BLOCK_FAILED:
		return record->block_failed.pool;
	case VS_RECORD_POOL_STATE:
		return record->pool_state.pool;
	default:
		return VS_NO_ID;
	}
}

int vs_check_totals_see_record(struct vs_check_totals *totals, const struct vs_replay *replay,
			       const struct vs_record *record, bool in_snapshot)
{
	const struct vs_replay_pool *pool = vs_replay_get_pool(replay, get_pool(record));
	uint64_t freed = totals->freed_size;
	struct vs_check_totals_device *device;
	int err;

	totals->freed_size = 0;
	if (!pool || pool->owner != VS_POOL_FRAMEWORK || in_snapshot)
		return 0;
	err = get_device(totals, pool->device, &device);
	if (err)
		return err;
	if (record->type == VS_RECORD_POOL_STATE) {
		take_state(totals, device, &record->pool_state);
		return 0;
	}
	judge(totals, device);
	if (record->type == VS_RECORD_BLOCK_ALLOC)
		open(device, replay, (int64_t)record->block_alloc.size);
	else if (record->type == VS_RECORD_BLOCK_FREE)
		open(device, replay, -(int64_t)freed);
	else
		open(device, replay, 0);
	return 0;
}

void vs_check_totals_end(struct vs_check_totals *totals)
{
	size_t i;

	for (i = 0; i < totals->nr_devices; i++)
		judge(totals, &totals->devices[i]);
}
