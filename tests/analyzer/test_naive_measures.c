/*
 * All measures over thousands of random sequences, against a twin that shares no code with the
 * analyzer: flat arrays, and every number summed up anew after every event. Time, sites, segments
 * and blocks are few, so that peaks tie and holes meet.
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define NR_SEEDS    3000
#define NR_EVENTS   150
#define NR_SEGMENTS 6
#define NR_SLOTS    12
#define SLOT        (4 * KIB)
#define NR_SITES    5 /* 0: no stack */
#define MAX_STEPS   200

struct twin_block {
	uint64_t size; /* 0: there is none */
	uint32_t site;
};

struct twin_segment {
	bool is_alive;
	uint32_t site; /* of one that is nobody's pool */
	struct twin_block blocks[NR_SLOTS];
};

struct twin_holes {
	uint64_t total, largest, nr;
};

static struct {
	struct twin_segment segments[NR_SEGMENTS];
	uint64_t live[NR_SITES], nr_live[NR_SITES];

	uint64_t peak, peak_ns, peak_reserved, peak_of_sites[NR_SITES], nr_of_sites[NR_SITES];
	uint64_t reserved_peak, reserved_live;
	uint64_t nr_allocs[NR_SITES], bytes[NR_SITES], site_peak[NR_SITES], largest[NR_SITES];
	uint64_t steps[MAX_STEPS][NR_SITES];
	uint32_t nr_steps;
	double worst;
	struct twin_holes holes[NR_EVENTS * 2]; /* after each event */
	uint64_t nr_events;
	uint64_t block_allocs, block_frees, segment_allocs, segment_frees, implicit;
} twin;

static struct script script;
static unsigned int seed;

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

/* Every second one is a pool's, from its birth on: a block comes with it. */
static bool is_pooled(unsigned int segment)
{
	return segment % 2;
}

static uint64_t base_of(unsigned int segment)
{
	return 4 * GIB * (segment + 1);
}

/* ---- The numbers, from scratch -------------------------------------------------------------- */

static uint64_t sum(const uint64_t *values)
{
	uint64_t total = 0;

	for (int i = 0; i < NR_SITES; i++)
		total += values[i];
	return total;
}

static void count_live(void)
{
	memset(twin.live, 0, sizeof(twin.live));
	memset(twin.nr_live, 0, sizeof(twin.nr_live));
	for (unsigned int i = 0; i < NR_SEGMENTS; i++) {
		const struct twin_segment *segment = &twin.segments[i];

		if (segment->is_alive && !is_pooled(i)) {
			twin.live[segment->site] += NR_SLOTS * SLOT;
			twin.nr_live[segment->site]++;
		}
		for (int k = 0; k < NR_SLOTS && segment->is_alive; k++) {
			twin.live[segment->blocks[k].site] += segment->blocks[k].size;
			twin.nr_live[segment->blocks[k].site] += segment->blocks[k].size > 0;
		}
	}
}

static uint64_t count_segments(bool only_pooled)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < NR_SEGMENTS; i++)
		if (twin.segments[i].is_alive && (!only_pooled || is_pooled(i)))
			bytes += NR_SLOTS * SLOT;
	return bytes;
}

static void add_hole(struct twin_holes *holes, uint64_t size)
{
	holes->total += size;
	holes->nr += size > 0;
	if (size > holes->largest)
		holes->largest = size;
}

/* Byte for byte from block to block; a segment without any is not full of holes. */
static struct twin_holes count_holes(void)
{
	struct twin_holes holes = {0};

	for (unsigned int i = 1; i < NR_SEGMENTS; i += 2) {
		const struct twin_segment *segment = &twin.segments[i];
		uint64_t from = 0;
		bool has_block = false;

		for (uint64_t k = 0; k < NR_SLOTS && segment->is_alive; k++) {
			if (!segment->blocks[k].size)
				continue;
			add_hole(&holes, k * SLOT - from);
			from = k * SLOT + segment->blocks[k].size;
			has_block = true;
		}
		if (has_block)
			add_hole(&holes, NR_SLOTS * SLOT - from);
	}
	return holes;
}

static void note_peaks(uint64_t live, uint64_t reserved)
{
	if (live > twin.peak) {
		twin.peak = live;
		twin.peak_ns = script.time_ns;
		twin.peak_reserved = reserved;
		memcpy(twin.peak_of_sites, twin.live, sizeof(twin.live));
		memcpy(twin.nr_of_sites, twin.nr_live, sizeof(twin.live));
	}
	if (reserved > twin.reserved_peak ||
	    (reserved == twin.reserved_peak && live > twin.reserved_live)) {
		twin.reserved_peak = reserved;
		twin.reserved_live = live;
	}
}

/* After every event. */
static void note(void)
{
	struct twin_holes holes = count_holes();
	double share =
		holes.total ? (double)(holes.total - holes.largest) / (double)holes.total : 0;

	count_live();
	note_peaks(sum(twin.live), count_segments(false));
	for (int i = 0; i < NR_SITES; i++)
		if (twin.live[i] > twin.site_peak[i])
			twin.site_peak[i] = twin.live[i];
	if (holes.total >= count_segments(true) / 20 && share > twin.worst)
		twin.worst = share;
	twin.holes[twin.nr_events++] = holes;
}

/* ---- Random events -------------------------------------------------------------------------- */

static uint32_t choose_site(void)
{
	uint32_t site = pick(NR_SITES);

	script_set_stack(&script, site);
	return site;
}

static void charge(uint32_t site, uint64_t size)
{
	twin.nr_allocs[site]++;
	twin.bytes[site] += size;
	if (size > twin.largest[site])
		twin.largest[site] = size;
}

static void put_block(unsigned int i, unsigned int slot)
{
	struct twin_block *block = &twin.segments[i].blocks[slot];

	block->site = choose_site();
	block->size = pick(2) ? SLOT : 1 + pick((unsigned int)SLOT);
	charge(block->site, block->size);
	twin.block_allocs++;
	script_block(&script, 1, base_of(i) + slot * SLOT, block->size);
	note();
}

static void change_segment(unsigned int i)
{
	struct twin_segment *segment = &twin.segments[i];

	if (segment->is_alive) {
		for (int k = 0; k < NR_SLOTS; k++)
			twin.implicit += segment->blocks[k].size > 0;
		memset(segment, 0, sizeof(*segment));
		twin.segment_frees++;
		script_free(&script, VS_MEMORY_DEVICE, base_of(i));
		note();
		return;
	}
	segment->is_alive = true;
	segment->site = choose_site();
	twin.segment_allocs++;
	script_alloc(&script, VS_MEMORY_DEVICE, base_of(i), NR_SLOTS * SLOT);
	if (!is_pooled(i))
		charge(segment->site, NR_SLOTS * SLOT);
	note();
	if (is_pooled(i))
		put_block(i, pick(NR_SLOTS));
}

static void change_block(unsigned int i, unsigned int slot)
{
	struct twin_block *block = &twin.segments[i].blocks[slot];

	if (!block->size) {
		put_block(i, slot);
		return;
	}
	block->size = 0;
	twin.block_frees++;
	script_block_free(&script, 1, base_of(i) + slot * SLOT);
	note();
}

static void take_step(void)
{
	script_step(&script, twin.nr_steps);
	note();
	memcpy(twin.steps[twin.nr_steps++], twin.live, sizeof(twin.live));
}

static void make_events(unsigned int a_seed)
{
	unsigned int i;

	seed = a_seed;
	memset(&twin, 0, sizeof(twin));
	script_init_usual(&script);
	while (twin.nr_events < NR_EVENTS) {
		i = pick(NR_SEGMENTS);
		if (pick(12) == 0)
			take_step();
		else if (!twin.segments[i].is_alive || pick(25) == 0)
			change_segment(i);
		else if (is_pooled(i))
			change_block(i, pick(NR_SLOTS));
	}
	/* Fewer would be no steps. */
	while (twin.nr_steps < 2)
		take_step();
}

/* ---- The comparison ------------------------------------------------------------------------- */

static void check_account(const struct vs_analysis *analysis, const struct vs_account *account)
{
	uint32_t site = account->site->index;
	struct vs_peak_account at_peak = vs_measure_peak_get_account(&analysis->peak, account);
	const struct vs_site_totals *totals = vs_measure_sites_get(&analysis->sites, account);
	uint64_t values[VS_RETAINED_MAX];

	assert_int_equal(at_peak.bytes, twin.peak_of_sites[site]);
	assert_int_equal(at_peak.count, twin.nr_of_sites[site]);
	assert_int_equal(account->live_bytes, twin.live[site]);
	assert_int_equal(account->live_count, twin.nr_live[site]);
	assert_int_equal(totals->nr_allocs, twin.nr_allocs[site]);
	assert_int_equal(totals->bytes_allocated, twin.bytes[site]);
	assert_int_equal(totals->peak_bytes, twin.site_peak[site]);
	assert_int_equal(totals->max_size, twin.largest[site]);
	assert_int_equal(analysis->retained.nr_boundaries, twin.nr_steps);
	vs_measure_retained_get_values(&analysis->retained, account, false, values);
	for (uint32_t i = 0; i < twin.nr_steps; i++)
		assert_int_equal(values[i], twin.steps[i][site]);
}

static void check_counts(const struct vs_analysis *analysis)
{
	const struct vs_counts *kind = vs_measure_counts_get_kind(
		&analysis->counts, script_get_device(analysis->replay), VS_MEMORY_DEVICE);
	const struct vs_counts *pool =
		vs_measure_counts_get_pool(&analysis->counts, analysis->replay->pools[0]);

	assert_int_equal(kind->allocs, twin.segment_allocs);
	assert_int_equal(kind->frees, twin.segment_frees);
	assert_int_equal(kind->live_at_end_bytes, count_segments(false));
	assert_int_equal(pool->allocs, twin.block_allocs);
	assert_int_equal(pool->frees, twin.block_frees);
	assert_int_equal(pool->implicit_frees, twin.implicit);
}

static void check_analysis(const struct vs_analysis *analysis)
{
	const struct vs_replay *replay = analysis->replay;
	const struct vs_replay_device *device = script_get_device(replay);
	const struct vs_peak_device *peaks = vs_measure_peak_get(&analysis->peak, device);
	const struct vs_worst_holes *worst =
		vs_measure_fragmentation_get_worst(&analysis->fragmentation, device);

	assert_int_equal(peaks->live.bytes, twin.peak);
	assert_int_equal(peaks->live.at.time_ns, twin.peak_ns);
	assert_int_equal(peaks->live.other, twin.peak_reserved);
	assert_int_equal(peaks->live.count, sum(twin.nr_of_sites));
	assert_int_equal(peaks->reserved.bytes, twin.reserved_peak);
	assert_int_equal(peaks->reserved.other, twin.reserved_live);
	assert_true(worst->share - twin.worst < 1e-12 && twin.worst - worst->share < 1e-12);
	for (size_t i = 0; i < replay->nr_accounts; i++)
		check_account(analysis, replay->accounts[i]);
	check_counts(analysis);
}

struct checker {
	struct vs_observer observer;
	struct vs_measure_fragmentation holes;
	uint64_t nr_seen;
};

static int check_holes(struct vs_observer *observer, const struct vs_replay *replay,
		       const struct vs_record *record)
{
	struct checker *checker = (struct checker *)(void *)observer;
	const struct vs_hole_set *holes;
	const struct twin_holes *expected;

	if (!vs_replay_is_event(record))
		return 0;
	holes = vs_measure_fragmentation_get_holes(&checker->holes, replay->pools[0]);
	expected = &twin.holes[checker->nr_seen++];
	assert_int_equal(holes ? vs_hole_set_get_largest(holes) : 0, expected->largest);
	assert_int_equal(holes ? holes->total_bytes : 0, expected->total);
	assert_int_equal(holes ? holes->nr_holes : 0, expected->nr);
	return 0;
}

static void check_every_event(const struct vs_analysis *analysis)
{
	struct checker checker = {.observer = {.on_record = check_holes}};
	struct vs_window everything = {0, UINT64_MAX};
	struct vs_replay *replay;

	vs_measure_fragmentation_init(&checker.holes);
	assert_int_equal(vs_replay_create(&replay), 0);
	replay->adopted = &analysis->adoption;
	vs_replay_add_observer(replay, &checker.holes.observer);
	vs_replay_add_observer(replay, &checker.observer);
	assert_int_equal(vs_analysis_pass(&script.source, &everything, replay), 0);
	assert_int_equal(checker.nr_seen, twin.nr_events);
	vs_replay_destroy(replay);
	vs_measure_fragmentation_fini(&checker.holes);
}

static void test_measures_are_those_of_a_naive_twin(void **state)
{
	struct vs_analysis analysis;

	(void)state;
	for (unsigned int i = 1; i <= NR_SEEDS; i++) {
		make_events(i);
		script_analyse(&script, &analysis);
		check_analysis(&analysis);
		check_every_event(&analysis);
		vs_analysis_fini(&analysis);
		script_fini(&script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measures_are_those_of_a_naive_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
