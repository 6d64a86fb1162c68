/*
 * Totals and holes after every one of 10^5 random events, and of a few hundred from each of many
 * seeds, against a model that shares no code with the analyzer: flat arrays, and every number
 * computed anew by looking at all of them. By the long way and by the quick one (replay_plain.c).
 */
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define NR_EVENTS   100000
#define NR_SEEDS    2000
#define NR_OF_SEED  100
#define NR_SEGMENTS 40
#define NR_BLOCKS   300
#define NR_HANDLES  60
#define NR_SPACES   4
#define NR_PAGES    24
#define PAGE        (2 * MIB)

struct model_segment {
	bool is_alive, is_pooled;
	uint64_t size;
};

struct model_block {
	bool is_alive;
	int segment; /* or -1 - space */
	uint64_t base, size;
};

struct model_handle {
	bool is_alive, is_released;
	uint64_t number;
};

struct model {
	struct model_segment segments[NR_SEGMENTS];
	struct model_block blocks[NR_BLOCKS];
	struct model_handle handles[NR_HANDLES];
	int pages[NR_SPACES][NR_PAGES]; /* handle + 1; 0: not mapped */
};

struct numbers {
	uint64_t live, reserved;
	uint64_t hole_bytes[2], nr_holes[2], largest[2]; /* pool of segments, pool of spaces */
	double squares[2];
};

static struct model model;
static struct script script;
static struct numbers *expected;
static size_t nr_expected;
static unsigned int seed;
static uint64_t last_handle;

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static uint64_t segment_base(int segment)
{
	return 4 * GIB * (uint64_t)(segment + 1);
}

static uint64_t page_base(int space, int page)
{
	return 448 * GIB + (uint64_t)space * GIB + (uint64_t)page * PAGE;
}

/* Spaces 0 and 1 belong to a pool: it places blocks there before anything is counted. */
static bool is_pool_space(int space)
{
	return space < 2;
}

/* ---- The numbers, from scratch -------------------------------------------------------------- */

static void add_gap(struct numbers *numbers, int pool, uint64_t size)
{
	if (!size)
		return;
	numbers->hole_bytes[pool] += size;
	numbers->nr_holes[pool]++;
	numbers->squares[pool] += (double)size * (double)size;
	if (size > numbers->largest[pool])
		numbers->largest[pool] = size;
}

/* Gaps between blocks in [base, end): by always taking the next block. */
static void add_gaps(struct numbers *numbers, int pool, uint64_t base, uint64_t end)
{
	uint64_t from = base;
	bool has_block = false;

	for (;;) {
		const struct model_block *next = NULL;

		for (int i = 0; i < NR_BLOCKS; i++) {
			const struct model_block *block = &model.blocks[i];

			if (block->is_alive && block->base >= from && block->base < end &&
			    (!next || block->base < next->base))
				next = block;
		}
		if (!next)
			break;
		add_gap(numbers, pool, next->base - from);
		from = next->base + next->size;
		has_block = true;
	}
	if (has_block)
		add_gap(numbers, pool, end - from);
}

static void count_handles(struct numbers *numbers)
{
	for (int i = 0; i < NR_HANDLES; i++) {
		bool is_mapped = false, is_pooled = false;

		for (int s = 0; s < NR_SPACES; s++) {
			for (int p = 0; p < NR_PAGES; p++) {
				is_mapped |= model.pages[s][p] == i + 1;
				is_pooled |= model.pages[s][p] == i + 1 && is_pool_space(s);
			}
		}
		if (model.handles[i].is_alive && (!model.handles[i].is_released || is_mapped))
			numbers->reserved += PAGE;
		if (model.handles[i].is_alive && is_mapped && !is_pooled)
			numbers->live += PAGE;
	}
}

/* The newest handles may be released yet mapped: they are dead when the last page goes. */
static void bury_handles(void)
{
	for (int i = 0; i < NR_HANDLES; i++) {
		bool is_mapped = false;

		for (int s = 0; s < NR_SPACES; s++)
			for (int p = 0; p < NR_PAGES; p++)
				is_mapped |= model.pages[s][p] == i + 1;
		if (model.handles[i].is_released && !is_mapped)
			model.handles[i].is_alive = model.handles[i].is_released = false;
	}
}

/* Which segments are pooled is decided when they are made, and each gets its block at once. */
static void count(struct numbers *numbers, bool with_holes)
{
	memset(numbers, 0, sizeof(*numbers));
	for (int i = 0; i < NR_SEGMENTS; i++) {
		const struct model_segment *segment = &model.segments[i];

		if (!segment->is_alive)
			continue;
		numbers->reserved += segment->size;
		if (!segment->is_pooled)
			numbers->live += segment->size;
		else if (with_holes)
			add_gaps(numbers, 0, segment_base(i), segment_base(i) + segment->size);
	}
	for (int i = 0; i < NR_BLOCKS; i++)
		if (model.blocks[i].is_alive)
			numbers->live += model.blocks[i].size;
	count_handles(numbers);
	for (int s = 0; s < 2 && with_holes; s++) {
		for (int p = 0, from = -1; p <= NR_PAGES; p++) {
			bool is_mapped = p < NR_PAGES && model.pages[s][p];

			if (is_mapped && from < 0)
				from = p;
			if (!is_mapped && from >= 0) {
				add_gaps(numbers, 1, page_base(s, from), page_base(s, p));
				from = -1;
			}
		}
	}
}

/* ---- Random events -------------------------------------------------------------------------- */

static bool is_room(uint64_t base, uint64_t size)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		const struct model_block *block = &model.blocks[i];

		if (block->is_alive && base < block->base + block->size &&
		    block->base < base + size)
			return false;
	}
	return true;
}

static void place_block(int home, uint64_t base, uint64_t size)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		if (model.blocks[i].is_alive)
			continue;
		if (!is_room(base, size))
			return;
		model.blocks[i] = (struct model_block){true, home, base, size};
		script_block(&script, home >= 0 ? 1 : 2, base, size);
		return;
	}
}

static void drop_blocks(uint64_t base, uint64_t end)
{
	for (int i = 0; i < NR_BLOCKS; i++) {
		struct model_block *block = &model.blocks[i];

		if (block->is_alive && block->base < end && block->base + block->size > base)
			block->is_alive = false;
	}
}

static void do_segment(void)
{
	int i = (int)pick(NR_SEGMENTS);
	struct model_segment *segment = &model.segments[i];

	if (segment->is_alive) {
		drop_blocks(segment_base(i), segment_base(i) + segment->size);
		segment->is_alive = false;
		script_free(&script, VS_MEMORY_DEVICE, segment_base(i));
		return;
	}
	*segment = (struct model_segment){
		.is_alive = true, .is_pooled = pick(2), .size = 256 * (1 + pick(4000))};
	script_alloc(&script, VS_MEMORY_DEVICE, segment_base(i), segment->size);
	/* A pool is known by its blocks: the first one comes at once. */
	if (segment->is_pooled)
		place_block(i, segment_base(i), 1);
}

static void do_block(void)
{
	int i = (int)pick(NR_SEGMENTS);
	const struct model_segment *segment = &model.segments[i];
	uint64_t offset, size;

	if (!segment->is_alive || !segment->is_pooled)
		return;
	offset = 256 * (uint64_t)pick((unsigned int)(segment->size / 256));
	size = 1 + pick((unsigned int)(segment->size - offset));
	place_block(i, segment_base(i) + offset, pick(3) ? (size - 1) % 5000 + 1 : size);
}

static void do_space_block(void)
{
	int space = (int)pick(2), page = (int)pick(NR_PAGES), pages = 1 + (int)pick(3);

	for (int p = page; p < page + pages; p++)
		if (p >= NR_PAGES || !model.pages[space][p])
			return;
	place_block(-1 - space, page_base(space, page) + 512 * pick(3000),
		    (uint64_t)(pages - 1) * PAGE + 1 + pick(100000));
}

static void do_free_block(void)
{
	struct model_block *block = &model.blocks[pick(NR_BLOCKS)];

	if (!block->is_alive)
		return;
	block->is_alive = false;
	script_block_free(&script, block->segment >= 0 ? 1 : 2, block->base);
}

static void do_handle(void)
{
	struct model_handle *handle = &model.handles[pick(NR_HANDLES)];

	if (handle->is_alive && handle->is_released)
		return;
	if (handle->is_alive) {
		handle->is_released = true;
		script_free(&script, VS_MEMORY_VMM, handle->number);
		return;
	}
	*handle = (struct model_handle){.is_alive = true, .number = ++last_handle};
	script_alloc(&script, VS_MEMORY_VMM, handle->number, PAGE);
}

static void do_page(void)
{
	int space = (int)pick(NR_SPACES), page = (int)pick(NR_PAGES), i = (int)pick(NR_HANDLES);
	int *mapped = &model.pages[space][page];

	if (*mapped) {
		drop_blocks(page_base(space, page), page_base(space, page + 1));
		*mapped = 0;
		script_unmap(&script, page_base(space, page), PAGE);
	} else if (model.handles[i].is_alive && !model.handles[i].is_released) {
		*mapped = i + 1;
		script_map(&script, page_base(space, page), PAGE, model.handles[i].number);
	}
}

/* A free that fails changes nothing in the model. */
static void do_failed_free(void)
{
	int i = (int)pick(NR_SEGMENTS);

	if (!model.segments[i].is_alive)
		return;
	script_free(&script, VS_MEMORY_DEVICE, segment_base(i));
	script_free_failed(&script, VS_MEMORY_DEVICE, segment_base(i));
}

static void do_something(void)
{
	static void (*const actions[])(void) = {
		do_segment, do_block, do_block, do_free_block,  do_free_block,  do_free_block,
		do_handle,  do_page,  do_page,  do_space_block, do_space_block, do_block};
	unsigned int i = pick(sizeof(actions) / sizeof(actions[0]) * 20 + 1);

	if (i == 0)
		do_failed_free();
	else
		actions[i % (sizeof(actions) / sizeof(actions[0]))]();
	bury_handles();
}

/* ---- The comparison ------------------------------------------------------------------------- */

struct checker {
	struct vs_observer observer;
	struct vs_measure_fragmentation *fragmentation;
	size_t nr_seen;
};

static void check_pool(const struct checker *checker, const struct vs_replay_pool *pool,
		       const struct numbers *numbers, int i)
{
	const struct vs_hole_set *holes =
		vs_measure_fragmentation_get_holes(checker->fragmentation, pool);

	if (!holes)
		return;
	assert_int_equal(holes->total_bytes, numbers->hole_bytes[i]);
	assert_int_equal(holes->nr_holes, numbers->nr_holes[i]);
	assert_int_equal(vs_hole_set_get_largest(holes), numbers->largest[i]);
	assert_true((double)holes->squares <= numbers->squares[i] * 1.000001 &&
		    (double)holes->squares >= numbers->squares[i] * 0.999999);
}

static int check_record(struct vs_observer *observer, const struct vs_replay *replay,
			const struct vs_record *record)
{
	struct checker *checker = (struct checker *)(void *)observer;
	const struct numbers *numbers;

	/* Expected numbers were noted for each record, definitions included. */
	numbers = &expected[checker->nr_seen++];
	if (record->type < VS_RECORD_ALLOC || numbers->reserved == UINT64_MAX)
		return 0;
	assert_int_equal(script_get_device(replay)->live_bytes, numbers->live);
	assert_int_equal(vs_replay_get_reserved(script_get_device(replay)), numbers->reserved);
	if (numbers->squares[0] >= 0) {
		check_pool(checker, replay->pools[0], numbers, 0);
		check_pool(checker, replay->pools[1], numbers, 1);
	}
	return 0;
}

/* The quick way tells so, instead. */
static int check_block(struct vs_observer *observer, const struct vs_replay *replay,
		       struct vs_item *block, const struct vs_record *record)
{
	(void)block;
	return check_record(observer, replay, record);
}

/* Notes what the model says for the records added since the last call. */
static void expect(void)
{
	bool with_holes = script.nr_records % 16 == 0;
	struct numbers numbers;

	if (nr_expected == script.nr_records)
		return;
	count(&numbers, with_holes);
	if (!with_holes)
		numbers.squares[0] = -1;
	while (nr_expected + 1 < script.nr_records)
		expected[nr_expected++].reserved = UINT64_MAX; /* half-way: not to be checked */
	expected[nr_expected++] = numbers;
}

static void make_events(unsigned int first_seed, size_t nr_events)
{
	seed = first_seed;
	last_handle = 0;
	nr_expected = 0;
	memset(&model, 0, sizeof(model));
	expected = calloc(nr_events + 1000, sizeof(*expected));
	assert_non_null(expected);
	script_init(&script);
	script_device(&script, 0, 80 * GIB);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "segments");
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "spaces");
	for (int space = 0; space < NR_SPACES; space++)
		script_reserve(&script, page_base(space, 0), NR_PAGES * PAGE);
	/* Of a short trace, nothing else may tell whose they are. */
	for (int space = 0; is_pool_space(space); space++)
		script_add(&script, (struct vs_record){.type = VS_RECORD_ADOPTED,
						       .adopted = {2, page_base(space, 0)}});
	while (script.nr_records < nr_events) {
		do_something();
		expect();
	}
}

static void check_pass(const struct vs_analysis *analysis, bool is_quick)
{
	struct checker checker = {.observer = {.on_record = check_record}};
	struct vs_window window = {0, UINT64_MAX};
	struct vs_measure_fragmentation fragmentation;
	struct vs_replay *replay;

	if (is_quick)
		checker.observer.on_block = check_block;
	vs_measure_fragmentation_init(&fragmentation);
	checker.fragmentation = &fragmentation;
	assert_int_equal(vs_replay_create(&replay), 0);
	replay->adopted = &analysis->adoption;
	vs_replay_add_observer(replay, &fragmentation.observer);
	vs_replay_add_observer(replay, &checker.observer);
	assert_int_equal(vs_analysis_pass(&script.source, &window, replay), 0);
	assert_int_equal(checker.nr_seen, script.nr_records);
	vs_replay_destroy(replay);
	vs_measure_fragmentation_fini(&fragmentation);
}

static void try_seed(unsigned int first_seed, size_t nr_events)
{
	struct vs_analysis analysis;

	make_events(first_seed, nr_events);
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.replay->counters.nr_overlaps, 0);
	assert_int_equal(analysis.replay->counters.nr_orphan_blocks, 0);
	assert_int_equal(analysis.replay->counters.nr_unmatched_frees, 0);
	check_pass(&analysis, false);
	check_pass(&analysis, true);
	vs_analysis_fini(&analysis);
	script_fini(&script);
	free(expected);
}

static void test_totals_and_holes_are_those_of_a_naive_model(void **state)
{
	(void)state;
	try_seed(20260101, NR_EVENTS);
}

static void test_so_they_are_from_many_seeds(void **state)
{
	(void)state;
	for (unsigned int i = 1; i <= NR_SEEDS; i++)
		try_seed(i, NR_OF_SEED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals_and_holes_are_those_of_a_naive_model),
		cmocka_unit_test(test_so_they_are_from_many_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
