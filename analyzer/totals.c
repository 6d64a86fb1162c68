/* The order of everything here is that of docs/trace-format.md, section 9.5. */
#include "totals.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

/* ---- Into bytes ----------------------------------------------------------------------------- */

static void put_instant(struct vs_pack *pack, const struct vs_instant *instant)
{
	vs_pack_put_varint(pack, instant->record);
	vs_pack_put_varint(pack, instant->time_ns);
	vs_pack_put_varint(pack, instant->has_step);
	vs_pack_put_varint(pack, instant->step);
	vs_pack_put_text(pack, instant->phase);
}

static void put_peak(struct vs_pack *pack, const struct vs_peak *peak)
{
	vs_pack_put_varint(pack, peak->bytes);
	vs_pack_put_varint(pack, peak->count);
	vs_pack_put_varint(pack, peak->other);
	put_instant(pack, &peak->at);
}

static void put_counts(struct vs_pack *pack, const struct vs_counts *counts)
{
	vs_pack_put_varint(pack, counts->allocs);
	vs_pack_put_varint(pack, counts->frees);
	vs_pack_put_varint(pack, counts->failed_allocs);
	vs_pack_put_varint(pack, counts->failed_frees);
	vs_pack_put_varint(pack, counts->implicit_frees);
	vs_pack_put_varint(pack, counts->bytes_allocated);
	vs_pack_put_varint(pack, counts->peak_bytes);
	vs_pack_put_varint(pack, counts->live_at_end_count);
	vs_pack_put_varint(pack, counts->live_at_end_bytes);
}

static uint64_t get_number(const struct vs_replay_pool *pool)
{
	return pool ? pool->index + 1ull : 0;
}

static void put_real(struct vs_pack *pack, double value)
{
	uint8_t bytes[8];
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	vs_wire_put_le64(bytes, bits);
	vs_pack_put_bytes(pack, bytes, sizeof(bytes));
}

static void put_worst(struct vs_pack *pack, const struct vs_worst_holes *worst)
{
	vs_pack_put_varint(pack, get_number(worst->pool));
	put_instant(pack, &worst->at);
	vs_pack_put_varint(pack, worst->total_bytes);
	vs_pack_put_varint(pack, worst->largest_bytes);
	vs_pack_put_varint(pack, worst->nr_holes);
	put_real(pack, worst->share);
	put_real(pack, worst->scatter);
}

static void put_device(struct vs_pack *pack, const struct vs_analysis *analysis,
		       const struct vs_replay_device *device)
{
	const struct vs_peak_device *peaks = vs_measure_peak_get(&analysis->peak, device);
	int kind;

	put_peak(pack, &peaks->live);
	put_peak(pack, &peaks->reserved);
	for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++)
		put_counts(pack, vs_measure_counts_get_kind(&analysis->counts, device,
							    (enum vs_memory_kind)kind));
	put_worst(pack, vs_measure_fragmentation_get_worst(&analysis->fragmentation, device));
}

static void put_failure(struct vs_pack *pack, const struct vs_failure *failure)
{
	put_instant(pack, &failure->at);
	vs_pack_put_varint(pack, failure->size);
	vs_pack_put_varint(pack, failure->free_size);
	vs_pack_put_varint(pack, failure->total_size);
	vs_pack_put_varint(pack, failure->error);
	vs_pack_put_varint(pack, failure->thread);
	vs_pack_put_varint(pack, failure->driver_size);
	vs_pack_put_varint(pack, get_number(failure->driver_pool));
}

static void put_group(struct vs_pack *pack, const struct vs_failure_group *group)
{
	vs_pack_put_varint(pack, group->site->index);
	vs_pack_put_varint(pack, group->device->index);
	vs_pack_put_varint(pack, get_number(group->pool));
	vs_pack_put_varint(pack, get_number(group->driver_pool));
	vs_pack_put_varint(pack, group->kind);
	vs_pack_put_varint(pack, group->api);
	vs_pack_put_varint(pack, group->nr_failed);
	vs_pack_put_varint(pack, group->nr_recovered);
	vs_pack_put_varint(pack, group->nr_absorbed);
	vs_pack_put_varint(pack, group->nr_ooms);
	vs_pack_put_varint(pack, group->first_ns);
	vs_pack_put_varint(pack, group->last_ns);
	put_failure(pack, &group->first_oom);
	put_failure(pack, &group->last_oom);
}

void vs_totals_put(struct vs_pack *pack, const struct vs_analysis *analysis)
{
	const struct vs_replay *replay = analysis->replay;
	size_t i;

	/* How many devices and pools there are is known from the replay. */
	for (i = 0; i < replay->nr_devices; i++)
		put_device(pack, analysis, replay->devices[i]);
	for (i = 0; i < replay->nr_pools; i++)
		put_counts(pack, vs_measure_counts_get_pool(&analysis->counts, replay->pools[i]));
	vs_pack_put_varint(pack, analysis->failures.nr_groups);
	for (i = 0; i < analysis->failures.nr_groups; i++)
		put_group(pack, analysis->failures.groups[i]);
}

/* ---- Out of bytes --------------------------------------------------------------------------- */

static void fail(struct vs_wire *in)
{
	if (!in->error)
		in->error = -VS_ERR_CORRUPT;
}

/* The next number, which must be below a limit. */
static uint64_t get_below(struct vs_wire *in, uint64_t limit)
{
	uint64_t value = vs_wire_get_varint(in);

	if (value < limit)
		return value;
	fail(in);
	return 0;
}

static void get_instant(struct vs_wire *in, struct vs_instant *instant)
{
	instant->record = vs_wire_get_varint(in);
	instant->time_ns = vs_wire_get_varint(in);
	instant->has_step = get_below(in, 2);
	instant->step = vs_wire_get_varint(in);
	instant->phase = vs_pack_get_text(in);
}

static void get_peak(struct vs_wire *in, struct vs_peak *peak)
{
	peak->bytes = vs_wire_get_varint(in);
	peak->count = vs_wire_get_varint(in);
	peak->other = vs_wire_get_varint(in);
	get_instant(in, &peak->at);
}

static void get_counts(struct vs_wire *in, struct vs_counts *counts)
{
	counts->allocs = vs_wire_get_varint(in);
	counts->frees = vs_wire_get_varint(in);
	counts->failed_allocs = vs_wire_get_varint(in);
	counts->failed_frees = vs_wire_get_varint(in);
	counts->implicit_frees = vs_wire_get_varint(in);
	counts->bytes_allocated = vs_wire_get_varint(in);
	counts->peak_bytes = vs_wire_get_varint(in);
	counts->live_at_end_count = vs_wire_get_varint(in);
	counts->live_at_end_bytes = vs_wire_get_varint(in);
}

static const struct vs_replay_pool *get_pool(struct vs_wire *in, const struct vs_replay *replay)
{
	uint64_t number = get_below(in, replay->nr_pools + 1);

	return number ? replay->pools[number - 1] : NULL;
}

static double get_real(struct vs_wire *in)
{
	uint64_t bits = vs_wire_get_le64(in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void get_worst(struct vs_wire *in, struct vs_worst_holes *worst,
		      const struct vs_replay *replay)
{
	worst->pool = get_pool(in, replay);
	get_instant(in, &worst->at);
	worst->total_bytes = vs_wire_get_varint(in);
	worst->largest_bytes = vs_wire_get_varint(in);
	worst->nr_holes = vs_wire_get_varint(in);
	worst->share = get_real(in);
	worst->scatter = get_real(in);
}

static int get_devices(struct vs_analysis *analysis, struct vs_wire *in)
{
	const struct vs_replay *replay = analysis->replay;
	struct vs_measure_fragmentation *holes = &analysis->fragmentation;
	struct vs_measure_counts *counts = &analysis->counts;
	struct vs_measure_peak *peak = &analysis->peak;
	size_t nr = replay->nr_devices, i;
	int kind, err;

	err = VS_GROW(peak->devices, peak->devices_capacity, nr);
	if (!err)
		err = VS_GROW(counts->devices, counts->devices_capacity, nr);
	if (!err)
		err = VS_GROW(holes->devices, holes->devices_capacity, nr);
	if (err)
		return err;
	peak->nr_devices = nr;
	for (i = 0; i < nr; i++) {
		uint32_t index = replay->devices[i]->index;

		get_peak(in, &peak->devices[index].live);
		get_peak(in, &peak->devices[index].reserved);
		for (kind = 0; kind < VS_NR_MEMORY_KINDS; kind++)
			get_counts(in, &counts->devices[index].kinds[kind]);
		get_worst(in, &holes->devices[index], replay);
	}
	return in->error;
}

static int get_pools(struct vs_analysis *analysis, struct vs_wire *in)
{
	struct vs_measure_counts *counts = &analysis->counts;
	size_t nr = analysis->replay->nr_pools, i;
	int err = VS_GROW(counts->pools, counts->pools_capacity, nr);

	for (i = 0; i < nr && !err; i++)
		get_counts(in, &counts->pools[i]);
	return err ? err : in->error;
}

static void get_failure(struct vs_wire *in, struct vs_failure *failure,
			const struct vs_replay *replay)
{
	get_instant(in, &failure->at);
	failure->size = vs_wire_get_varint(in);
	failure->free_size = vs_wire_get_varint(in);
	failure->total_size = vs_wire_get_varint(in);
	failure->error = vs_wire_get_varint32(in);
	failure->thread = vs_wire_get_varint32(in);
	failure->driver_size = vs_wire_get_varint(in);
	failure->driver_pool = get_pool(in, replay);
}

static const struct vs_replay_device *get_device(struct vs_wire *in, const struct vs_replay *replay)
{
	uint64_t index = get_below(in, replay->nr_devices);
	size_t i;

	for (i = 0; i < replay->nr_devices; i++)
		if (replay->devices[i]->index == index)
			return replay->devices[i];
	return NULL; /* there are none: the wire has the error */
}

static void get_group(struct vs_wire *in, struct vs_failure_group *group,
		      const struct vs_replay *replay)
{
	const struct vs_definitions *definitions = &replay->definitions;

	group->site = definitions->sites[get_below(in, definitions->nr_sites)];
	group->device = get_device(in, replay);
	group->pool = get_pool(in, replay);
	group->driver_pool = get_pool(in, replay);
	group->kind = (enum vs_memory_kind)get_below(in, VS_NR_MEMORY_KINDS);
	group->api = vs_wire_get_varint32(in);
	group->nr_failed = vs_wire_get_varint(in);
	group->nr_recovered = vs_wire_get_varint(in);
	group->nr_absorbed = vs_wire_get_varint(in);
	group->nr_ooms = vs_wire_get_varint(in);
	group->first_ns = vs_wire_get_varint(in);
	group->last_ns = vs_wire_get_varint(in);
	get_failure(in, &group->first_oom, replay);
	get_failure(in, &group->last_oom, replay);
}

static int get_groups(struct vs_analysis *analysis, struct vs_wire *in)
{
	struct vs_failures *failures = &analysis->failures;
	size_t nr = vs_pack_get_count(in);
	int err = VS_GROW(failures->groups, failures->groups_capacity, nr);

	if (err)
		return err;
	for (; failures->nr_groups < nr && !in->error; failures->nr_groups++) {
		struct vs_failure_group *group = calloc(1, sizeof(*group));

		if (!group)
			return -VS_ERR_NO_MEMORY;
		failures->groups[failures->nr_groups] = group;
		get_group(in, group, analysis->replay);
	}
	return in->error;
}

int vs_totals_get(struct vs_analysis *analysis, const void *bytes, size_t size)
{
	struct vs_wire in;
	int err;

	vs_wire_init(&in, bytes, size);
	err = get_devices(analysis, &in);
	if (!err)
		err = get_pools(analysis, &in);
	if (!err)
		err = get_groups(analysis, &in);
	return !err && vs_wire_left(&in) ? -VS_ERR_CORRUPT : err;
}
