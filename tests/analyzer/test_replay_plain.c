/*
 * The quick way against the long one, which an observer enforces that has no on_block: the same
 * state after every one of many random records, and the same measures at the end. The same for
 * many records in a row, and for the lane of an analysis. Records are as they come, and as they
 * should not: over each other, in each other, freed twice, by the wrong pool.
 */
#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "measure_lane.h"
#include "replay_plain.h"
#include "script.h"
#include "steps.h"

#define NR_EVENTS   300
#define NR_SEGMENTS 6
#define SEGMENT     64u
#define UNIT        256u
#define BASE        ((uint64_t)1 << 40)

enum way {
	LONG_WAY,
	QUICK_WAY,
	LANE, /* the quick way of an analysis */
};

struct rig {
	struct vs_replay *replay;
	struct vs_measure_basic basic;
	struct vs_measure_peak peak;
	struct vs_measure_peaks peaks;
	struct vs_measure_counts counts;
	struct vs_measure_sites sites;
	struct vs_measure_retained retained;
	struct vs_measure_fragmentation fragmentation;
	struct vs_failures failures;
	struct vs_steps_finder *finder; /* or NULL */
	struct vs_measure_lane lane;
	struct vs_observer counter;
	uint64_t nr_plain; /* records that took the quick way */
};

/* ---- Both ways ------------------------------------------------------------------------------ */

static struct rig *rig_of(struct vs_observer *observer)
{
	return (struct rig *)(void *)((char *)observer - offsetof(struct rig, counter));
}

static int count_block(struct vs_observer *observer, const struct vs_replay *replay,
		       struct vs_item *block, const struct vs_record *record)
{
	(void)replay;
	(void)block;
	(void)record;
	rig_of(observer)->nr_plain++;
	return 0;
}

static int ignore_record(struct vs_observer *observer, const struct vs_replay *replay,
			 const struct vs_record *record)
{
	(void)observer;
	(void)replay;
	(void)record;
	return 0;
}

static void init(struct rig *rig, enum way way, enum vs_boundary_unit unit, uint64_t last_ns)
{
	memset(rig, 0, sizeof(*rig));
	vs_measure_peak_init(&rig->peak);
	vs_measure_peaks_init(&rig->peaks, &rig->peak, false);
	vs_measure_counts_init(&rig->counts);
	vs_measure_sites_init(&rig->sites);
	vs_measure_retained_init(&rig->retained, unit, 0, last_ns);
	vs_measure_fragmentation_init(&rig->fragmentation);
	vs_failures_init(&rig->failures);
	rig->basic = (struct vs_measure_basic){.peak = &rig->peak,
					       .peaks = &rig->peaks,
					       .counts = &rig->counts,
					       .sites = &rig->sites,
					       .retained = &rig->retained};
	vs_measure_basic_init(&rig->basic);
	rig->counter.on_record = ignore_record;
	if (way == QUICK_WAY)
		rig->counter.on_block = count_block;
	assert_int_equal(vs_replay_create(&rig->replay), 0);
	vs_replay_add_observer(rig->replay, &rig->basic.observer);
	vs_replay_add_observer(rig->replay, &rig->fragmentation.observer);
	vs_replay_add_observer(rig->replay, &rig->failures.observer);
	/* As in an analysis. */
	if (unit == VS_BOUNDARY_INTERVALS) {
		assert_int_equal(vs_steps_finder_create(&rig->finder), 0);
		vs_replay_add_observer(rig->replay, &rig->finder->observer);
	}
	rig->lane = (struct vs_measure_lane){&rig->basic, &rig->failures, &rig->fragmentation,
					     rig->finder};
	if (way == LANE)
		vs_measure_lane_enter(&rig->lane, rig->replay);
	else
		vs_replay_add_observer(rig->replay, &rig->counter);
}

static void fini(struct rig *rig)
{
	vs_replay_destroy(rig->replay);
	vs_measure_peak_fini(&rig->peak);
	vs_measure_peaks_fini(&rig->peaks);
	vs_measure_counts_fini(&rig->counts);
	vs_measure_sites_fini(&rig->sites);
	vs_measure_retained_fini(&rig->retained);
	vs_measure_fragmentation_fini(&rig->fragmentation);
	vs_failures_fini(&rig->failures);
	vs_steps_finder_destroy(rig->finder);
}

/* ---- Records -------------------------------------------------------------------------------- */

static uint64_t pick_address(unsigned int *seed)
{
	uint64_t segment = (uint64_t)rand_r(seed) % NR_SEGMENTS;

	return BASE + (segment * SEGMENT + (uint64_t)rand_r(seed) % 16 * 4) * UNIT;
}

static uint64_t pick_segment(unsigned int *seed)
{
	return BASE + (uint64_t)rand_r(seed) % NR_SEGMENTS * SEGMENT * UNIT;
}

static void add_alloc(struct script *script, unsigned int *seed)
{
	static const enum vs_memory_kind kinds[] = {
		VS_MEMORY_DEVICE, VS_MEMORY_DEVICE, VS_MEMORY_DEVICE, VS_MEMORY_MANAGED,
		VS_MEMORY_PINNED, VS_MEMORY_ARRAY,  VS_MEMORY_ASYNC};
	enum vs_memory_kind kind = kinds[(unsigned int)rand_r(seed) % 7];
	uint64_t size = rand_r(seed) % 8 ? SEGMENT * UNIT : (uint64_t)rand_r(seed) % 3 * UNIT;

	if (kind == VS_MEMORY_ASYNC)
		script_alloc_async(script, 3, pick_segment(seed), size);
	else
		script_alloc_on(script, (uint32_t)rand_r(seed) % 16 == 0, kind, pick_segment(seed),
				size);
}

static void add_other(struct script *script, unsigned int *seed)
{
	switch (rand_r(seed) % 8) {
	case 0:
		script_push(script, 1 + (uint32_t)rand_r(seed) % 2);
		break;
	case 1:
		script_pop(script);
		break;
	case 2:
	case 3:
		script_step(script, script->nr_records);
		break;
	case 4:
		script_fail(script, UNIT, 0, GIB);
		break;
	case 5:
		script_block_fail(script, 1, UNIT);
		break;
	case 6:
		script_free_failed(script, VS_MEMORY_DEVICE, pick_segment(seed));
		break;
	default:
		script_pool_state(script, 3, (uint64_t)rand_r(seed) % 10 * UNIT);
		break;
	}
}

/* A reader would say what events are about: whatever it says, nothing may depend on it. */
static void add_hints(struct script *script, unsigned int *seed)
{
	for (size_t i = 0; i < script->nr_records; i++) {
		script->records[i].birth = (uint16_t)(rand_r(seed) % 16);
		script->records[i].before = (uint16_t)(rand_r(seed) % 16);
	}
}

static void make_records(struct script *script, unsigned int *seed)
{
	uint32_t pool;

	script_init_usual(script);
	script_device(script, 1, GIB);
	script_pool(script, 2, VS_POOL_FRAMEWORK, 0, 0, "other");
	script_pool(script, 3, VS_POOL_DRIVER, 0, 0, "");
	for (uint64_t i = 0; i < NR_SEGMENTS; i++)
		script_alloc(script, VS_MEMORY_DEVICE, BASE + i * SEGMENT * UNIT, SEGMENT * UNIT);
	for (int i = 0; i < NR_EVENTS; i++) {
		script_set_thread(script, 1 + (rand_r(seed) % 10 == 0));
		script_set_stack(script, (uint32_t)rand_r(seed) % 6);
		pool = rand_r(seed) % 12 ? 1 : 2;
		switch (rand_r(seed) % 48) {
		case 0:
			add_alloc(script, seed);
			break;
		case 1:
			script_free(script, VS_MEMORY_DEVICE,
				    rand_r(seed) % 3 ? pick_segment(seed) : pick_address(seed));
			break;
		case 2:
			add_other(script, seed);
			break;
		default:
			if (rand_r(seed) % 2)
				script_block(script, pool, pick_address(seed),
					     (uint64_t)rand_r(seed) % 5 * UNIT);
			else
				script_block_free(script, pool, pick_address(seed));
		}
	}
	add_hints(script, seed);
}

/* Without a pool: what is given out again may be larger or smaller, or lie across. */
static void make_driver_records(struct script *script, unsigned int *seed)
{
	script_init_usual(script);
	script_pool(script, 3, VS_POOL_DRIVER, 0, 0, "");
	for (uint32_t i = 0; i < 6; i++) {
		script_set_stack(script, i);
		script_alloc(script, VS_MEMORY_DEVICE, BASE / 2 + i * UNIT, UNIT);
	}
	for (int i = 0; i < NR_EVENTS; i++) {
		uint64_t address = rand_r(seed) % 8 ? pick_segment(seed) : pick_address(seed);
		uint64_t size = rand_r(seed) % 8 ? SEGMENT * UNIT / 2 : pick_address(seed) - BASE;

		script_set_thread(script, 1 + (rand_r(seed) % 5 == 0));
		script_set_stack(script, (uint32_t)rand_r(seed) % 6);
		switch (rand_r(seed) % 32) {
		case 0:
			add_alloc(script, seed);
			break;
		case 1:
			add_other(script, seed);
			break;
		case 2:
			script_free_failed(script, VS_MEMORY_DEVICE, address);
			break;
		default:
			if (rand_r(seed) % 2)
				script_alloc(script, VS_MEMORY_DEVICE, address, size);
			else
				script_free(script, VS_MEMORY_DEVICE, address);
		}
	}
	add_hints(script, seed);
}

/* ---- The same ------------------------------------------------------------------------------- */

static void compare_state(const struct vs_replay *a, const struct vs_replay *b)
{
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
	assert_int_equal(a->last_id, b->last_id);
	assert_int_equal(a->now_ns, b->now_ns);
	assert_int_equal(a->nr_devices, b->nr_devices);
	assert_int_equal(a->nr_pools, b->nr_pools);
	assert_int_equal(a->nr_accounts, b->nr_accounts);
	for (size_t i = 0; i < a->nr_devices; i++) {
		assert_int_equal(a->devices[i]->live_bytes, b->devices[i]->live_bytes);
		assert_int_equal(a->devices[i]->live_count, b->devices[i]->live_count);
		assert_int_equal(vs_replay_get_reserved(a->devices[i]),
				 vs_replay_get_reserved(b->devices[i]));
	}
	for (size_t i = 0; i < a->nr_pools; i++) {
		assert_int_equal(a->pools[i]->block_bytes, b->pools[i]->block_bytes);
		assert_int_equal(a->pools[i]->nr_blocks, b->pools[i]->nr_blocks);
		assert_int_equal(a->pools[i]->segment_bytes, b->pools[i]->segment_bytes);
	}
}

static void compare_trees(const struct vs_range_tree *a, const struct vs_range_tree *b)
{
	const struct vs_range *x = vs_range_tree_first(a), *y = vs_range_tree_first(b);

	assert_int_equal(a->nr_ranges, b->nr_ranges);
	for (; x && y; x = vs_range_tree_next(a, x), y = vs_range_tree_next(b, y)) {
		const struct vs_item *one = (const struct vs_item *)(const void *)x;
		const struct vs_item *other = (const struct vs_item *)(const void *)y;

		assert_int_equal(x->base, y->base);
		assert_int_equal(x->size, y->size);
		assert_int_equal(one->id, other->id);
		assert_int_equal(one->size, other->size);
		assert_int_equal(one->birth_ns, other->birth_ns);
		assert_int_equal(one->birth_step, other->birth_step);
		assert_int_equal(one->class, other->class);
		assert_int_equal(one->kind, other->kind);
		assert_int_equal(one->is_charged, other->is_charged);
		assert_int_equal(one->account->index, other->account->index);
		assert_int_equal(one->block_bytes, other->block_bytes);
		assert_int_equal(one->made_in, other->made_in);
		assert_int_equal(one->charge_epoch, other->charge_epoch);
		assert_int_equal(!one->owner, !other->owner);
		compare_trees(&one->blocks, &other->blocks);
	}
	assert_true(!x && !y);
}

static void compare_account(const struct rig *a, const struct rig *b, size_t i)
{
	const struct vs_account *one = a->replay->accounts[i], *other = b->replay->accounts[i];
	struct vs_peak_account x = vs_measure_peak_get_account(&a->peak, one);
	struct vs_peak_account y = vs_measure_peak_get_account(&b->peak, other);
	uint64_t values[2][VS_RETAINED_MAX];

	assert_int_equal(one->live_bytes, other->live_bytes);
	assert_int_equal(one->live_count, other->live_count);
	assert_int_equal(one->api, other->api);
	assert_int_equal(x.bytes, y.bytes);
	assert_int_equal(x.count, y.count);
	assert_memory_equal(vs_measure_sites_get(&a->sites, one),
			    vs_measure_sites_get(&b->sites, other), sizeof(struct vs_site_totals));
	for (int is_old = 0; is_old < 2; is_old++) {
		vs_measure_retained_get_values(&a->retained, one, is_old, values[0]);
		vs_measure_retained_get_values(&b->retained, other, is_old, values[1]);
		assert_memory_equal(values[0], values[1],
				    a->retained.nr_boundaries * sizeof(values[0][0]));
	}
}

static void compare_device(const struct rig *a, const struct rig *b, size_t i)
{
	const struct vs_replay_device *one = a->replay->devices[i], *other = b->replay->devices[i];
	const struct vs_peak_device *x = vs_measure_peak_get(&a->peak, one);
	const struct vs_peak_device *y = vs_measure_peak_get(&b->peak, other);
	const struct vs_peaks_device *p = vs_measure_peaks_get(&a->peaks, one);
	const struct vs_peaks_device *q = vs_measure_peaks_get(&b->peaks, other);
	const struct vs_worst_holes *v = vs_measure_fragmentation_get_worst(&a->fragmentation, one);
	const struct vs_worst_holes *w =
		vs_measure_fragmentation_get_worst(&b->fragmentation, other);

	assert_int_equal(x->live.bytes, y->live.bytes);
	assert_int_equal(x->live.at.record, y->live.at.record);
	assert_int_equal(x->reserved.bytes, y->reserved.bytes);
	assert_int_equal(x->reserved.at.record, y->reserved.at.record);
	assert_int_equal(p->curve.nr_peaks, q->curve.nr_peaks);
	assert_int_equal(p->curve.second.at.record, q->curve.second.at.record);
	assert_int_equal(p->nr_made, q->nr_made);
	for (size_t k = 0; k < p->nr_made; k++)
		assert_int_equal(p->made[k].bytes, q->made[k].bytes);
	assert_int_equal(vs_measure_peaks_count_gone(&a->peaks, one),
			 vs_measure_peaks_count_gone(&b->peaks, other));
	assert_int_equal(v->at.record, w->at.record);
	assert_true(v->share == w->share && v->scatter == w->scatter);
	for (int kind = 0; kind < VS_NR_MEMORY_KINDS; kind++)
		assert_memory_equal(
			vs_measure_counts_get_kind(&a->counts, one, (enum vs_memory_kind)kind),
			vs_measure_counts_get_kind(&b->counts, other, (enum vs_memory_kind)kind),
			sizeof(struct vs_counts));
}

static void compare_pool(const struct rig *a, const struct rig *b, size_t i)
{
	const struct vs_replay_pool *one = a->replay->pools[i], *other = b->replay->pools[i];
	const struct vs_hole_set *x = vs_measure_fragmentation_get_holes(&a->fragmentation, one);
	const struct vs_hole_set *y = vs_measure_fragmentation_get_holes(&b->fragmentation, other);

	assert_memory_equal(vs_measure_counts_get_pool(&a->counts, one),
			    vs_measure_counts_get_pool(&b->counts, other),
			    sizeof(struct vs_counts));
	assert_int_equal(a->peaks.pools[i].live_bytes, b->peaks.pools[i].live_bytes);
	assert_int_equal(a->peaks.pools[i].live_at.record, b->peaks.pools[i].live_at.record);
	assert_int_equal(a->peaks.pools[i].held_bytes, b->peaks.pools[i].held_bytes);
	assert_int_equal(a->peaks.pools[i].held_at.record, b->peaks.pools[i].held_at.record);
	if (!x || !y) {
		assert_true((!x || !x->nr_holes) && (!y || !y->nr_holes));
		return;
	}
	assert_int_equal(x->nr_holes, y->nr_holes);
	assert_int_equal(x->total_bytes, y->total_bytes);
	assert_int_equal(vs_hole_set_get_largest(x), vs_hole_set_get_largest(y));
}

static void compare_finders(const struct vs_steps_finder *a, const struct vs_steps_finder *b)
{
	size_t nr = a->nr_requests < NR_EVENTS ? a->nr_requests : NR_EVENTS;

	assert_int_equal(a->nr_requests, b->nr_requests);
	assert_int_equal(a->nr_blocks, b->nr_blocks);
	assert_int_equal(a->nr_freed, b->nr_freed);
	assert_int_equal(a->has_blocks, b->has_blocks);
	assert_int_equal(a->is_unsure, b->is_unsure);
	assert_memory_equal(a->live, b->live, nr * sizeof(a->live[0]));
	assert_int_equal(a->freed_at, b->freed_at);
	/* Those of the last group wait. */
	nr = a->nr_compared;
	assert_int_equal(nr, b->nr_compared);
	assert_memory_equal(a->sized.keys, b->sized.keys, nr * sizeof(a->sized.keys[0]));
	assert_memory_equal(a->plain.votes, b->plain.votes, NR_EVENTS * sizeof(a->plain.votes[0]));
}

static void compare_end(const struct rig *a, const struct rig *b)
{
	assert_int_equal(a->retained.nr_boundaries, b->retained.nr_boundaries);
	for (size_t i = 0; i < a->replay->nr_accounts; i++)
		compare_account(a, b, i);
	for (size_t i = 0; i < a->replay->nr_devices; i++)
		compare_device(a, b, i);
	for (size_t i = 0; i < a->replay->nr_pools; i++)
		compare_pool(a, b, i);
	assert_int_equal(a->failures.nr_groups, b->failures.nr_groups);
	for (size_t i = 0; i < a->failures.nr_groups; i++) {
		assert_int_equal(a->failures.groups[i]->nr_ooms, b->failures.groups[i]->nr_ooms);
		assert_int_equal(a->failures.groups[i]->nr_recovered,
				 b->failures.groups[i]->nr_recovered);
	}
	compare_trees(&a->replay->regions, &b->replay->regions);
	if (a->finder)
		compare_finders(a->finder, b->finder);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static uint64_t try_seed(unsigned int seed)
{
	enum vs_boundary_unit unit = seed % 9 ? VS_BOUNDARY_STEPS : VS_BOUNDARY_INTERVALS;
	struct script script;
	struct rig a, b;
	uint64_t nr_plain;

	make_records(&script, &seed);
	init(&a, QUICK_WAY, unit, script.time_ns);
	init(&b, LONG_WAY, unit, script.time_ns);
	for (size_t i = 0; i < script.nr_records; i++) {
		assert_int_equal(vs_replay_add(a.replay, &script.records[i]), 0);
		assert_int_equal(vs_replay_add(b.replay, &script.records[i]), 0);
		compare_state(a.replay, b.replay);
	}
	assert_int_equal(vs_replay_end(a.replay), 0);
	assert_int_equal(vs_replay_end(b.replay), 0);
	compare_end(&a, &b);
	assert_int_equal(b.nr_plain, 0);
	nr_plain = a.nr_plain;
	fini(&a);
	fini(&b);
	script_fini(&script);
	return nr_plain;
}

/* As an analysis does it: batches, of which the plain ones are taken in a row. */
static uint64_t add_batches(struct vs_replay *replay, const struct script *script,
			    unsigned int *seed)
{
	uint64_t nr_plain = 0;
	size_t start = 0;

	while (start < script->nr_records) {
		size_t left = script->nr_records - start;
		size_t nr = 1 + (size_t)rand_r(seed) % 64;
		uint32_t i = 0;

		nr = nr < left ? nr : left;
		while (i < nr) {
			int got = vs_replay_add_some(replay, &script->records[start], i,
						     (uint32_t)nr);

			assert_true(got >= 0 && i + (uint32_t)got <= nr);
			nr_plain += (uint64_t)got;
			i += (uint32_t)got;
			if (i < nr)
				assert_int_equal(
					vs_replay_add(replay, &script->records[start + i++]), 0);
		}
		start += nr;
	}
	return nr_plain;
}

static uint64_t try_batches(unsigned int seed, void (*make)(struct script *, unsigned int *))
{
	enum vs_boundary_unit unit = seed % 9 ? VS_BOUNDARY_STEPS : VS_BOUNDARY_INTERVALS;
	enum way way = seed % 2 ? LANE : QUICK_WAY;
	struct script script;
	struct rig a, b;
	uint64_t nr_plain;

	make(&script, &seed);
	init(&a, way, unit, script.time_ns);
	init(&b, LONG_WAY, unit, script.time_ns);
	nr_plain = add_batches(a.replay, &script, &seed);
	for (size_t i = 0; i < script.nr_records; i++)
		assert_int_equal(vs_replay_add(b.replay, &script.records[i]), 0);
	compare_state(a.replay, b.replay);
	assert_int_equal(vs_replay_end(a.replay), 0);
	assert_int_equal(vs_replay_end(b.replay), 0);
	compare_end(&a, &b);
	fini(&a);
	fini(&b);
	script_fini(&script);
	return nr_plain;
}

static void try_many_batches(void (*make)(struct script *, unsigned int *))
{
	size_t many = vs_replay_plain_many;
	uint64_t nr_plain = 0;
	unsigned int seed;

	for (seed = 1; seed <= 3000; seed++) {
		/* Half of them look ahead. */
		vs_replay_plain_many = seed % 4 < 2 ? 0 : many;
		nr_plain += try_batches(seed, make);
	}
	vs_replay_plain_many = many;
	assert_true(nr_plain > (uint64_t)seed * NR_EVENTS / 20);
}

static void test_many_in_a_row_lead_where_one_by_one_do(void **state)
{
	(void)state;
	try_many_batches(make_records);
}

/* What is given back stays where it was for a while, and nobody may see that. */
static void test_many_of_the_driver_lead_where_one_by_one_do(void **state)
{
	(void)state;
	try_many_batches(make_driver_records);
}

/* More than the lane has room for. */
static void test_memory_that_never_comes_again_is_taken_out(void **state)
{
	enum {
		NR = VS_REPLAY_VACANT_MAX + 1000
	};
	struct script script;
	struct rig rig;

	(void)state;
	script_init_usual(&script);
	for (uint64_t i = 0; i < NR; i++) {
		script_alloc(&script, VS_MEMORY_DEVICE, BASE + i * UNIT, UNIT);
		if (i)
			script_free(&script, VS_MEMORY_DEVICE, BASE + (i - 1) * UNIT);
	}
	init(&rig, LANE, VS_BOUNDARY_STEPS, 0);
	for (uint32_t i = 0; i < script.nr_records; i++) {
		int got = vs_replay_add_some(rig.replay, script.records, i,
					     (uint32_t)script.nr_records);

		assert_true(got >= 0);
		i += (uint32_t)got;
		if (i < script.nr_records)
			assert_int_equal(vs_replay_add(rig.replay, &script.records[i]), 0);
	}
	assert_true(rig.replay->nr_vacant > 0 && rig.replay->nr_vacant < VS_REPLAY_VACANT_MAX);
	vs_replay_settle(rig.replay);
	assert_int_equal(rig.replay->nr_vacant, 0);
	assert_int_equal(rig.replay->regions.nr_ranges, 1);
	assert_int_equal(rig.replay->regions_at.nr_used, 1);
	assert_int_equal(vs_range_tree_first(&rig.replay->regions)->base, BASE + (NR - 1) * UNIT);
	fini(&rig);
	script_fini(&script);
}

/* A number that means nothing is no site, until it is told what it means. */
static void test_stack_that_is_defined_late_is_charged_elsewhere_from_then_on(void **state)
{
	const uint64_t frames[] = {0x1000, 0x2000};
	struct vs_record block = {.type = VS_RECORD_BLOCK_ALLOC,
				  .time_ns = 1,
				  .thread = 1,
				  .block_alloc = {1, BASE, 1024, 9}};
	struct script script;
	struct rig rig;

	(void)state;
	script_init_usual(&script);
	script_set_stack(&script, 9);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, MIB);
	for (int i = 0; i < 2; i++) {
		script_block(&script, 1, BASE, 1024);
		script_block_free(&script, 1, BASE);
	}
	init(&rig, LANE, VS_BOUNDARY_STEPS, 0);
	for (size_t i = 0; i < script.nr_records; i++)
		assert_int_equal(vs_replay_add(rig.replay, &script.records[i]), 0);
	assert_int_equal(vs_replay_add_some(rig.replay, &block, 0, 1), 1);
	block = (struct vs_record){.type = VS_RECORD_STACK, .stack = {9, frames, 2, 0, 0}};
	assert_int_equal(vs_replay_add(rig.replay, &block), 0);
	block = (struct vs_record){.type = VS_RECORD_BLOCK_ALLOC,
				   .time_ns = 2,
				   .thread = 1,
				   .block_alloc = {1, BASE + 4096, 1024, 9}};
	assert_int_equal(vs_replay_add_some(rig.replay, &block, 0, 1), 0);
	assert_int_equal(vs_replay_add(rig.replay, &block), 0);
	assert_int_equal(vs_replay_get_noted(rig.replay, 9)->site->index,
			 vs_definitions_get_site(&rig.replay->definitions, 9)->index);
	assert_int_equal(vs_replay_get_noted(rig.replay, 9)->live_count, 1);
	fini(&rig);
	script_fini(&script);
}

static void test_quick_way_leads_where_the_long_one_does(void **state)
{
	uint64_t nr_plain = 0;
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 3000; seed++)
		nr_plain += try_seed(seed);
	/* It is taken, and often enough that this test says something. */
	assert_true(nr_plain > (uint64_t)seed * NR_EVENTS / 20);
}

/* All that a training does after its first steps. */
static void test_plain_blocks_take_the_quick_way(void **state)
{
	struct script script;
	struct rig rig;
	uint64_t nr_before = 0;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, MIB);
	for (int i = 0; i < 20; i++) {
		script_block(&script, 1, BASE + (uint64_t)(i % 4) * 4096, 1024);
		script_block(&script, 1, BASE + MIB / 2, 1024);
		script_block_free(&script, 1, BASE + MIB / 2);
		script_block_free(&script, 1, BASE + (uint64_t)(i % 4) * 4096);
		script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, MIB);
		script_free(&script, VS_MEMORY_DEVICE, 2 * BASE);
	}
	init(&rig, QUICK_WAY, VS_BOUNDARY_STEPS, 0);
	for (size_t i = 0; i < script.nr_records; i++) {
		if (i == script.nr_records - 60)
			nr_before = rig.nr_plain;
		assert_int_equal(vs_replay_add(rig.replay, &script.records[i]), 0);
	}
	assert_int_equal(rig.nr_plain - nr_before, 60);
	fini(&rig);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quick_way_leads_where_the_long_one_does),
		cmocka_unit_test(test_plain_blocks_take_the_quick_way),
		cmocka_unit_test(test_many_in_a_row_lead_where_one_by_one_do),
		cmocka_unit_test(test_many_of_the_driver_lead_where_one_by_one_do),
		cmocka_unit_test(test_memory_that_never_comes_again_is_taken_out),
		cmocka_unit_test(test_stack_that_is_defined_late_is_charged_elsewhere_from_then_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
