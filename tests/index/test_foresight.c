/*
 * One pass with a look ahead against two: all measures are the same, whether the look ahead was
 * right or not. Thousands of scripts of every kind of record, and of pools as frameworks have them.
 */
#include "foresight.h"

#include <stdlib.h>

#include "random_script.h"
#include "same_analysis.h"
#include "script.h"

#define NR_SEEDS    2500
#define NR_RECORDS  300
#define NR_SEGMENTS 8
#define BASE        ((uint64_t)0x100000000)

static const struct vs_window everything = {0, UINT64_MAX};

/* A script that pretends to be a file whose extent can be guessed. */
struct guessed {
	struct script *script;
	struct vs_source_extent extent;
	unsigned int nr_rewinds;
	struct vs_source source;
};

static int next_record(void *context, struct vs_record *record)
{
	struct guessed *guessed = context;

	return guessed->script->source.next(guessed->script, record);
}

static int rewind_records(void *context)
{
	struct guessed *guessed = context;

	guessed->nr_rewinds++;
	return guessed->script->source.rewind(guessed->script);
}

static int guess(void *context, struct vs_source_extent *extent)
{
	const struct guessed *guessed = context;

	*extent = guessed->extent;
	return 1;
}

/* Right, unless it is made wrong afterwards. */
static void pretend(struct guessed *guessed, struct script *script)
{
	struct vs_replay *replay = script_replay(script);

	*guessed = (struct guessed){.script = script};
	guessed->source = (struct vs_source){
		.next = next_record, .rewind = rewind_records, .context = guessed, .guess = guess};
	guessed->extent = (struct vs_source_extent){.first_ns = replay->first_ns,
						    .now_ns = replay->now_ns,
						    .has_steps = replay->nr_steps > 1,
						    .has_phases = replay->nr_phases > 1};
	vs_replay_destroy(replay);
}

/* How many passes it took. */
static unsigned int check(struct guessed *guessed)
{
	struct vs_analysis one, two;

	assert_int_equal(vs_analysis_init(&one, &guessed->source, &everything), 0);
	assert_int_equal(vs_analysis_init(&two, &guessed->script->source, &everything), 0);
	assert_same_analysis(&one, &two);
	vs_analysis_fini(&one);
	vs_analysis_fini(&two);
	return guessed->nr_rewinds;
}

/* ---- A pool as frameworks have them --------------------------------------------------------- */

static unsigned int seed;

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static uint64_t segment_base(unsigned int i)
{
	return BASE + i * 0x10000000ull;
}

static void place(struct script *script, unsigned int i, unsigned int slot)
{
	script_set_thread(script, 1);
	script_set_stack(script, 1 + pick(4));
	script_block(script, 1, segment_base(i) + 0x1000 * slot, 1 + pick(0x1000));
}

/* The first block comes at once, though other threads may come between. */
static void take_segment(struct script *script, unsigned int i, bool is_ours)
{
	script_set_thread(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, segment_base(i), 0x10000);
	while (pick(3) == 0) {
		script_set_thread(script, 2);
		script_step(script, pick(100));
	}
	if (is_ours)
		place(script, i, pick(16));
	script_set_thread(script, 1);
}

static void make_pool_script(struct script *script, unsigned int a_seed)
{
	bool is_alive[NR_SEGMENTS] = {false};
	unsigned int i;

	seed = a_seed;
	script_init_usual(script);
	while (script->nr_records < NR_RECORDS) {
		i = pick(NR_SEGMENTS);
		if (!is_alive[i]) {
			take_segment(script, i, i % 2);
			is_alive[i] = true;
		} else if (pick(20) == 0) {
			script_free(script, VS_MEMORY_DEVICE, segment_base(i));
			is_alive[i] = false;
		} else if (i % 2 && pick(2)) {
			place(script, i, pick(16));
		} else if (i % 2) {
			script_block_free(script, 1, segment_base(i) + 0x1000 * pick(16));
		} else if (pick(10) == 0) {
			script_push(script, 1);
			script_pop(script);
		}
	}
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void test_pools_of_frameworks_take_one_pass(void **state)
{
	(void)state;
	for (unsigned int i = 1; i <= NR_SEEDS; i++) {
		struct guessed guessed;
		struct script script;

		make_pool_script(&script, i);
		pretend(&guessed, &script);
		assert_int_equal(check(&guessed), 1);
		script_fini(&script);
	}
}

static void test_anything_else_takes_two_and_is_the_same(void **state)
{
	unsigned int nr_misled = 0;

	(void)state;
	for (unsigned int i = 1; i <= NR_SEEDS; i++) {
		struct guessed guessed;
		struct script script;

		random_script_make(&script, i, NR_RECORDS);
		pretend(&guessed, &script);
		nr_misled += check(&guessed) == 2;
		script_fini(&script);
	}
	/* Blocks lie anywhere in them, and pools in pools. */
	assert_in_range(nr_misled, NR_SEEDS / 2, NR_SEEDS);
}

static void test_wrong_guess_of_the_extent_is_found_out(void **state)
{
	(void)state;
	for (unsigned int i = 1; i <= 200; i++) {
		struct guessed guessed;
		struct script script;

		make_pool_script(&script, i);
		pretend(&guessed, &script);
		switch (i % 4) {
		case 0:
			guessed.extent.now_ns += 1000;
			break;
		case 1:
			guessed.extent.first_ns += 1;
			break;
		case 2:
			guessed.extent.has_steps = !guessed.extent.has_steps;
			break;
		default:
			guessed.extent.now_ns = 0;
			break;
		}
		assert_int_equal(check(&guessed), 2);
		script_fini(&script);
	}
}

/* A pool that is given its memory long before it places anything there. */
static void test_late_first_block_takes_two_passes(void **state)
{
	struct guessed guessed;
	struct script script;

	(void)state;
	script_init_usual(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, MIB);
	for (int i = 0; i < 2000; i++)
		script_alloc(&script, VS_MEMORY_DEVICE, BASE + GIB + (uint64_t)i * MIB, KIB);
	script_block(&script, 1, BASE, KIB);
	pretend(&guessed, &script);
	assert_int_equal(check(&guessed), 2);
	script_fini(&script);
}

/* The last record of a batch, of which the block is the first of the next one. */
static void test_look_ahead_goes_beyond_a_batch(void **state)
{
	(void)state;
	for (unsigned int before = VS_BATCH_MAX - 40; before < VS_BATCH_MAX; before++) {
		struct guessed guessed;
		struct script script;

		script_init_usual(&script);
		while (script.nr_records < before)
			script_push(&script, 1);
		take_segment(&script, 1, true);
		pretend(&guessed, &script);
		assert_int_equal(check(&guessed), 1);
		script_fini(&script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pools_of_frameworks_take_one_pass),
		cmocka_unit_test(test_anything_else_takes_two_and_is_the_same),
		cmocka_unit_test(test_wrong_guess_of_the_extent_is_found_out),
		cmocka_unit_test(test_late_first_block_takes_two_passes),
		cmocka_unit_test(test_look_ahead_goes_beyond_a_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
