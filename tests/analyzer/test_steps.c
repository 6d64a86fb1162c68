#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

#define BASE     ((uint64_t)0x10000000)
#define NR_SITES 12

static const uint64_t frames[NR_SITES][1] = {{0x101}, {0x102}, {0x103}, {0x104}, {0x105}, {0x106},
					     {0x107}, {0x108}, {0x109}, {0x10a}, {0x10b}, {0x10c}};

/*
 * A program that trains: some weights; in each step an input, a few equal layers that are freed in
 * the backward pass, and something that is kept.
 */
struct training {
	bool is_marked;
	uint64_t nr_steps;
	uint64_t nr_layers;
	uint64_t kept;          /* bytes a step */
	unsigned int varies;    /* sizes of layers grow by so much a step */
	unsigned int disturbed; /* one step of so many has requests of its own; 0: none has */
	bool alternates;        /* every second step, layers have another size */
};

static uint64_t next_address;

static uint64_t take(struct script *script, uint32_t stack, uint64_t size)
{
	uint64_t address = next_address;

	next_address += BASE;
	script_set_stack(script, stack);
	script_alloc(script, VS_MEMORY_DEVICE, address, size);
	return address;
}

static void train(struct script *script, const struct training *training)
{
	uint64_t layers[64], gradient, input;

	next_address = BASE;
	script_init(script);
	script_device(script, 0, 1000 * GIB);
	for (uint32_t i = 0; i < NR_SITES; i++)
		script_stack(script, i + 1, frames[i], 1);
	for (uint64_t i = 0; i < 7; i++)
		take(script, 1, 1000 + i);
	for (uint64_t step = 0; step < training->nr_steps; step++) {
		if (training->is_marked)
			script_step(script, step);
		input = take(script, 2, 500);
		for (uint64_t i = 0; i < training->nr_layers; i++) {
			layers[i] = take(script, 3,
					 3000 + step * training->varies +
						 (training->alternates ? step % 2 * 64 : 0));
			script_free(script, VS_MEMORY_DEVICE, take(script, 4, 700));
		}
		if (training->kept)
			take(script, 5, training->kept);
		for (uint64_t i = training->nr_layers; i-- > 0;) {
			gradient = take(script, 6, 3000 + step * training->varies);
			script_free(script, VS_MEMORY_DEVICE, layers[i]);
			script_free(script, VS_MEMORY_DEVICE, gradient);
		}
		for (uint64_t i = 0; training->disturbed && !(step % training->disturbed) && i < 5;
		     i++)
			script_free(script, VS_MEMORY_DEVICE, take(script, 7 + (uint32_t)i, step));
		script_free(script, VS_MEMORY_DEVICE, input);
	}
}

static void find_in(struct script *script, bool has_blocks, struct vs_steps *steps)
{
	struct vs_steps_finder finder;
	struct vs_analysis analysis;
	struct vs_replay *replay;

	script_analyse(script, &analysis);
	assert_int_equal(vs_steps_finder_init(&finder, has_blocks), 0);
	assert_int_equal(vs_analysis_observe(&analysis, &finder.observer, &replay), 0);
	vs_steps_finder_get(&finder, steps);
	vs_replay_destroy(replay);
	vs_steps_finder_fini(&finder);
	vs_analysis_fini(&analysis);
	script_fini(script);
}

static void find(struct script *script, struct vs_steps *steps)
{
	find_in(script, false, steps);
}

static void test_step_is_found_among_layers(void **state)
{
	static const uint64_t nr_layers[] = {1, 2, 12, 40};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct script script;
		struct vs_steps steps;

		train(&script, &(struct training){.nr_steps = 30, .nr_layers = nr_layers[i]});
		find(&script, &steps);
		assert_true(steps.is_found);
		assert_int_equal(steps.period, 1 + 3 * nr_layers[i]);
		assert_true(steps.confidence > 0.99);
		assert_true(steps.is_sized);
	}
}

static void test_sites_alone_are_enough_where_sizes_vary(void **state)
{
	struct script script;
	struct vs_steps steps;

	(void)state;
	train(&script, &(struct training){.nr_steps = 30, .nr_layers = 6, .varies = 16});
	find(&script, &steps);
	assert_true(steps.is_found);
	assert_int_equal(steps.period, 19);
	assert_false(steps.is_sized);
}

static void test_program_that_only_takes_memory_has_no_steps(void **state)
{
	struct script script;
	struct vs_steps steps;

	(void)state;
	next_address = BASE;
	script_init(&script);
	script_device(&script, 0, GIB);
	script_stack(&script, 1, frames[0], 1);
	for (int i = 0; i < 100; i++)
		take(&script, 1, 100);
	find(&script, &steps);
	assert_false(steps.is_found);
}

static void test_requests_without_a_rhythm_have_no_steps(void **state)
{
	unsigned int seed = 4711;
	struct vs_steps steps;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct script script;

		next_address = BASE;
		script_init(&script);
		script_device(&script, 0, GIB);
		for (uint32_t k = 0; k < NR_SITES; k++)
			script_stack(&script, k + 1, frames[k], 1);
		for (int k = 0; k < 2000; k++)
			script_free(&script, VS_MEMORY_DEVICE,
				    take(&script, 1 + (uint32_t)rand_r(&seed) % NR_SITES,
					 1 + (uint64_t)rand_r(&seed) % 100));
		find(&script, &steps);
		assert_false(steps.is_found);
	}
}

/* Every so many steps something is done that is not done in others: the repetition is longer. */
static void test_steps_are_found_in_a_longer_rhythm(void **state)
{
	(void)state;
	for (unsigned int disturbed = 4; disturbed <= 16; disturbed *= 2) {
		struct script script;
		struct vs_steps steps;

		train(&script,
		      &(struct training){.nr_steps = 256, .nr_layers = 8, .disturbed = disturbed});
		find(&script, &steps);
		assert_true(steps.is_found);
		assert_in_range(steps.period, 25, 26); /* five more in one of four or more */
		assert_true(steps.confidence >= 0.9);
	}
}

/* Some requests of each step, at random, are made by somebody else. */
static void test_confidence_is_the_share_of_requests_that_are_alike(void **state)
{
	unsigned int seed = 4711, noise, nr_noisy;

	(void)state;
	for (noise = 0; noise <= 20; noise += 10) {
		struct script script;
		struct vs_steps steps;
		double expected;

		nr_noisy = 0;
		next_address = BASE;
		script_init(&script);
		script_device(&script, 0, GIB);
		for (uint32_t i = 0; i < NR_SITES; i++)
			script_stack(&script, i + 1, frames[i], 1);
		for (int step = 0; step < 400; step++) {
			uint64_t input = take(&script, 1, 100);

			for (uint32_t i = 0; i < 20; i++) {
				bool is_noisy = (unsigned int)rand_r(&seed) % 100 < noise;
				uint64_t size = is_noisy ? (uint64_t)rand_r(&seed) : 50 + i;

				nr_noisy += is_noisy;
				script_free(&script, VS_MEMORY_DEVICE,
					    take(&script, 2 + i % 8, size));
			}
			script_free(&script, VS_MEMORY_DEVICE, input);
		}
		find(&script, &steps);
		assert_true(steps.is_found);
		assert_int_equal(steps.period, 21);
		/* Alike are two requests that are both not noisy; sites are not touched by it. */
		expected = 1 - (double)nr_noisy / (400 * 21);
		expected *= expected;
		if (!steps.is_sized)
			expected = 1;
		assert_true(steps.confidence > expected - 0.03);
		assert_true(steps.confidence < expected + 0.03);
	}
}

/* ---- Very many requests -----------------------------------------------------------------------
 */

/* So many requests in steps of a length, of 100 some at random are of another size. */
static void take_in_steps(struct script *script, uint64_t nr_requests, uint32_t period,
			  uint32_t noise, unsigned int *seed)
{
	uint64_t held[64];

	assert_true(period <= 64);
	for (uint64_t i = 0; i < nr_requests / period; i++) {
		for (uint32_t k = 0; k < period; k++) {
			bool is_noise = (uint32_t)rand_r(seed) % 100 < noise;

			held[k] = take(script, 1 + k % NR_SITES,
				       1000 + k * 64 +
					       (is_noise ? (uint64_t)rand_r(seed) % 100000 : 0));
		}
		for (uint32_t k = 0; k < period; k++)
			script_free(script, VS_MEMORY_DEVICE, held[k]);
	}
}

static void begin_steps(struct script *script)
{
	next_address = BASE;
	script_init(script);
	script_device(script, 0, 1000 * GIB);
	for (uint32_t i = 0; i < NR_SITES; i++)
		script_stack(script, i + 1, frames[i], 1);
}

/* Of those behind the first 131,072 a part is looked at: it tells the same of how alike they are.
 */
static void test_part_of_many_requests_tells_as_much(void **state)
{
	unsigned int seed = 1;
	struct script script;
	struct vs_steps steps;

	(void)state;
	begin_steps(&script);
	take_in_steps(&script, 400000, 25, 10, &seed);
	find(&script, &steps);
	assert_true(steps.is_found);
	assert_int_equal(steps.period, 25);
	/* Both have to be as they always are. */
	assert_true(steps.confidence > 0.81 - 0.01);
	assert_true(steps.confidence < 0.81 + 0.01);
}

/* The rhythm that there is when lags are chosen is looked for among the requests before that. */
static void test_rhythm_that_begins_late_is_found(void **state)
{
	unsigned int seed = 1;
	struct script script;
	struct vs_steps steps;

	(void)state;
	begin_steps(&script);
	take_in_steps(&script, 190000, 25, 0, &seed);
	take_in_steps(&script, 210000, 37, 0, &seed);
	find(&script, &steps);
	assert_true(steps.is_found);
	assert_int_equal(steps.period, 37);
	assert_true(steps.confidence > 0.99);
}

/* ---- Derived against marked ----------------------------------------------------------------- */

static void measure(struct script *script, bool is_forced, struct vs_analysis *analysis,
		    struct vs_retained *retained)
{
	script_analyse(script, analysis);
	assert_int_equal(vs_steps_derive(analysis, is_forced), 0);
	assert_int_equal(vs_measure_retained_sum(retained, &analysis->retained, analysis->replay,
						 script_get_device(analysis->replay)),
			 0);
}

/* The same run, once with its marks and once without: as many steps, growing as fast. */
static void assert_same(struct training training, double least_confidence)
{
	struct vs_analysis marked, derived;
	struct vs_retained by_marks, by_rhythm;
	struct script with, without;

	training.is_marked = true;
	train(&with, &training);
	training.is_marked = false;
	train(&without, &training);
	measure(&with, false, &marked, &by_marks);
	measure(&without, false, &derived, &by_rhythm);
	assert_int_equal(marked.retained.unit, VS_BOUNDARY_STEPS);
	assert_int_equal(derived.retained.unit, VS_BOUNDARY_DERIVED);
	assert_int_equal(derived.retained.nr_passed, marked.retained.nr_passed);
	assert_true(derived.retained.confidence >= least_confidence);
	assert_int_equal(by_rhythm.growth.is_growing, training.kept != 0);
	assert_int_equal(by_rhythm.growth.rate, by_marks.growth.rate);
	assert_int_equal(by_rhythm.growth.rate, training.kept);
	assert_int_equal(by_rhythm.growth.nr_grown, by_marks.growth.nr_grown);
	vs_measure_retained_fini_sum(&by_marks);
	vs_measure_retained_fini_sum(&by_rhythm);
	vs_analysis_fini(&marked);
	vs_analysis_fini(&derived);
	script_fini(&with);
	script_fini(&without);
}

static void test_derived_steps_are_those_that_were_marked(void **state)
{
	(void)state;
	assert_same((struct training){.nr_steps = 40, .nr_layers = 8, .kept = 64}, 0.99);
	assert_same((struct training){.nr_steps = 40, .nr_layers = 8}, 0.99);
	assert_same((struct training){.nr_steps = 20, .nr_layers = 3, .kept = 64, .varies = 8},
		    0.99);
	assert_same((struct training){.nr_steps = 200, .nr_layers = 8, .kept = 1, .disturbed = 7},
		    0.6);
	assert_same((struct training){.nr_steps = 1000, .nr_layers = 2, .kept = 640}, 0.99);
}

static void test_too_few_repetitions_prove_nothing(void **state)
{
	(void)state;
	for (uint64_t nr_layers = 1; nr_layers <= 20; nr_layers++) {
		for (uint64_t nr_steps = 1; nr_steps <= 3; nr_steps++) {
			struct vs_analysis analysis;
			struct vs_retained retained;
			struct script script;

			train(&script,
			      &(struct training){.nr_steps = nr_steps, .nr_layers = nr_layers});
			measure(&script, false, &analysis, &retained);
			assert_int_equal(analysis.retained.unit, VS_BOUNDARY_INTERVALS);
			vs_measure_retained_fini_sum(&retained);
			vs_analysis_fini(&analysis);
			script_fini(&script);
		}
	}
}

/* An allocator that does not split takes now one piece, now another: a repetition is two steps, the
 * second of which begins with more, because something is kept. */
static void test_steps_of_a_repetition_may_keep_something(void **state)
{
	(void)state;
	for (uint64_t kept = 1; kept <= 100000; kept *= 10)
		assert_same(
			(struct training){
				.nr_steps = 60, .nr_layers = 8, .kept = kept, .alternates = true},
			0.9);
}

/* ---- Rounds -----------------------------------------------------------------------------------
 */

/* Epochs of a few steps, and a validation behind them that keeps something of each of its batches.
 */
static void train_and_validate(struct script *script, uint64_t nr_epochs, uint64_t kept)
{
	uint64_t input, layers[4], output;

	next_address = BASE;
	script_init(script);
	script_device(script, 0, 1000 * GIB);
	for (uint32_t i = 0; i < NR_SITES; i++)
		script_stack(script, i + 1, frames[i], 1);
	take(script, 1, 1000);
	for (uint64_t epoch = 0; epoch < nr_epochs; epoch++) {
		for (uint64_t step = 0; step < 10; step++) {
			input = take(script, 2, 500);
			for (uint64_t i = 0; i < 4; i++)
				layers[i] = take(script, 3, 3000);
			for (uint64_t i = 4; i-- > 0;) {
				script_free(script, VS_MEMORY_DEVICE, take(script, 4, 3000));
				script_free(script, VS_MEMORY_DEVICE, layers[i]);
			}
			script_free(script, VS_MEMORY_DEVICE, input);
		}
		for (uint64_t batch = 0; batch < 6; batch++) {
			input = take(script, 5, 500);
			output = take(script, 6, kept ? kept : 4000);
			script_free(script, VS_MEMORY_DEVICE, input);
			if (!kept)
				script_free(script, VS_MEMORY_DEVICE, output);
		}
		script_free(script, VS_MEMORY_DEVICE, take(script, 7, 100));
	}
}

/*
 * While it validates, more and more is live, and while it trains, nothing is kept: no request comes
 * only when little is live. But something comes once in an epoch.
 */
static void test_what_only_validation_keeps_grows_by_rounds(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	for (uint64_t kept = 4000; kept <= 4000000; kept *= 10) {
		train_and_validate(&script, 10, kept);
		measure(&script, false, &analysis, &retained);
		assert_int_equal(analysis.retained.unit, VS_BOUNDARY_ROUNDS);
		assert_int_equal(analysis.retained.period, 10 * 9 + 6 * 2 + 1);
		assert_int_equal(analysis.retained.nr_passed, 10);
		assert_true(retained.growth.is_growing);
		assert_int_equal(retained.growth.rate, 6 * kept);
		assert_int_equal(retained.nr_growing, 1);
		vs_measure_retained_fini_sum(&retained);
		vs_analysis_fini(&analysis);
		script_fini(&script);
	}
}

static void test_rounds_that_keep_nothing_do_not_grow(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	train_and_validate(&script, 10, 0);
	measure(&script, false, &analysis, &retained);
	assert_int_not_equal(analysis.retained.unit, VS_BOUNDARY_INTERVALS);
	assert_false(retained.growth.is_growing);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_too_few_rounds_prove_nothing(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	train_and_validate(&script, 3, 4000000);
	measure(&script, false, &analysis, &retained);
	assert_int_not_equal(analysis.retained.unit, VS_BOUNDARY_ROUNDS);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* ---- How sure they are ---------------------------------------------------------------------- */

/* A program with habits of its own, by chance; the same for a seed. */
struct habits {
	uint32_t nr_layers, nr_parts; /* different sites of a layer */
	uint32_t noise;               /* of 100 requests, at random: of another size */
	uint32_t extra;               /* of 100 steps, at random: some requests more */
	uint32_t every;               /* steps; then a validation; 0: never */
	uint32_t sizes;               /* how many there are of batches, one after the other */
	uint32_t warmup;              /* requests before the first step */
	uint64_t kept;
};

static struct habits choose_habits(unsigned int *seed)
{
	static const uint32_t noise[] = {0, 0, 0, 2, 5, 10, 20, 30}, extra[] = {0, 0, 0, 5, 20, 50};
	static const uint32_t every[] = {0, 0, 3, 5, 10}, sizes[] = {1, 1, 1, 2, 3, 1000};
	static const uint64_t kept[] = {0, 0, 64, 5000};

	return (struct habits){.nr_layers = 1 + (uint32_t)rand_r(seed) % 12,
			       .nr_parts = 1 + (uint32_t)rand_r(seed) % 3,
			       .noise = noise[rand_r(seed) % 8],
			       .extra = extra[rand_r(seed) % 6],
			       .every = every[rand_r(seed) % 5],
			       .sizes = sizes[rand_r(seed) % 6],
			       .warmup = (uint32_t)rand_r(seed) % 60,
			       .kept = kept[rand_r(seed) % 4]};
}

static uint64_t take_part(struct script *script, uint32_t stack, uint64_t size,
			  const struct habits *habits, unsigned int *seed)
{
	if ((uint32_t)rand_r(seed) % 100 < habits->noise)
		size += 1 + (uint64_t)rand_r(seed) % 1000;
	return take(script, stack, size);
}

/* Forward takes, backward gives back; then what is kept, and sometimes more. */
static void make_step(struct script *script, const struct habits *habits, uint64_t step,
		      unsigned int *seed)
{
	uint64_t batch = 100 + step % habits->sizes * 16, held[64], input;
	uint32_t nr = habits->nr_layers * habits->nr_parts, i;

	input = take_part(script, 2, 10 * batch, habits, seed);
	for (i = 0; i < nr; i++)
		held[i] = take_part(script, 3 + i % habits->nr_parts, (5 + i % 7) * batch, habits,
				    seed);
	for (i = nr; i-- > 0;) {
		script_free(script, VS_MEMORY_DEVICE,
			    take_part(script, 6, (5 + i % 7) * batch, habits, seed));
		script_free(script, VS_MEMORY_DEVICE, held[i]);
	}
	if (habits->kept)
		take(script, 7, habits->kept);
	for (i = 0; (uint32_t)rand_r(seed) % 100 < habits->extra && i < 5; i++)
		script_free(script, VS_MEMORY_DEVICE, take(script, 8, 700));
	script_free(script, VS_MEMORY_DEVICE, input);
	if (!habits->every || step % habits->every)
		return;
	for (i = 0; i < habits->nr_layers; i++)
		script_free(script, VS_MEMORY_DEVICE, take(script, 9, (5 + i % 7) * batch));
}

enum {
	NR_RUNS = 1500,
	NR_MADE = 80,
	NR_LEVELS = 5
};

/* Whether the derived steps are those that were made, give or take the first and the last; -1: none
 * were found. */
static int judge_steps(unsigned int seed, double *confidence)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct habits habits = choose_habits(&seed);
	struct script script;
	int result = -1;

	next_address = BASE;
	script_init(&script);
	script_device(&script, 0, 1000 * GIB);
	for (uint32_t i = 0; i < NR_SITES; i++)
		script_stack(&script, i + 1, frames[i], 1);
	for (uint32_t i = 0; i < habits.warmup; i++)
		take(&script, i % 3 ? 1 : 10, 10 + (uint64_t)rand_r(&seed) % 2000);
	for (uint64_t step = 0; step < NR_MADE; step++)
		make_step(&script, &habits, step, &seed);
	measure(&script, false, &analysis, &retained);
	if (analysis.retained.unit == VS_BOUNDARY_DERIVED) {
		*confidence = analysis.retained.confidence;
		result = analysis.retained.nr_passed + 1 >= NR_MADE &&
			 analysis.retained.nr_passed <= NR_MADE + 1;
	}
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
	return result;
}

/* Of steps that are said to be sure by so much, at least as many have to be right. */
static void test_confidence_is_not_more_than_how_often_it_is_right(void **state)
{
	static const double levels[NR_LEVELS + 1] = {0, 0.7, 0.8, 0.9, 0.98, 1.01};
	unsigned int nr[NR_LEVELS] = {0}, right[NR_LEVELS] = {0}, found = 0;
	double said[NR_LEVELS] = {0}, confidence;

	(void)state;
	for (unsigned int seed = 1; seed <= NR_RUNS; seed++) {
		int result = judge_steps(seed, &confidence), level = 0;

		if (result < 0)
			continue;
		while (confidence >= levels[level + 1])
			level++;
		found++;
		nr[level]++;
		right[level] += (unsigned int)result;
		said[level] += confidence;
	}
	for (int i = 0; i < NR_LEVELS; i++)
		print_message("said %.2f to %.2f: %u of %u right\n", levels[i], levels[i + 1],
			      right[i], nr[i]);
	assert_true(found >= NR_RUNS / 2); /* saying nothing is no way out */
	for (int i = 0; i < NR_LEVELS; i++)
		assert_true(right[i] >= said[i]);
}

static void test_marked_steps_are_kept_unless_told_otherwise(void **state)
{
	struct vs_analysis analysis;
	struct vs_retained retained;
	struct script script;

	(void)state;
	train(&script, &(struct training){.is_marked = true, .nr_steps = 40, .nr_layers = 8});
	measure(&script, false, &analysis, &retained);
	assert_int_equal(analysis.retained.unit, VS_BOUNDARY_STEPS);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	measure(&script, true, &analysis, &retained);
	assert_int_equal(analysis.retained.unit, VS_BOUNDARY_DERIVED);
	assert_int_equal(analysis.retained.period, 25);
	vs_measure_retained_fini_sum(&retained);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_requests_to_pools_count_and_not_what_the_pools_take(void **state)
{
	struct vs_record block = {.type = VS_RECORD_BLOCK_ALLOC, .block_alloc = {.size = 5}};
	struct vs_record segment = {.type = VS_RECORD_ALLOC,
				    .alloc = {.kind = VS_MEMORY_DEVICE, .size = 5}};
	struct vs_record pinned = {.type = VS_RECORD_ALLOC,
				   .alloc = {.kind = VS_MEMORY_PINNED, .size = 5}};
	struct script script;
	struct vs_replay *replay;
	uint32_t a, b;

	(void)state;
	script_init(&script);
	replay = script_replay(&script);
	assert_true(vs_steps_read(replay, &block, true, true, &a));
	assert_false(vs_steps_read(replay, &segment, true, true, &b));
	assert_true(vs_steps_read(replay, &segment, false, true, &b));
	assert_int_equal(a, b);
	block.block_alloc.size = 6;
	assert_true(vs_steps_read(replay, &block, true, true, &b));
	assert_int_not_equal(a, b);
	assert_true(vs_steps_read(replay, &block, true, false, &a));
	block.block_alloc.size = 7;
	assert_true(vs_steps_read(replay, &block, true, false, &b));
	assert_int_equal(a, b);
	assert_false(vs_steps_read(replay, &pinned, false, true, &b));
	vs_replay_destroy(replay);
	script_fini(&script);
}

/* ---- On the way ----------------------------------------------------------------------------- */

/* Which pool tells of its blocks: from the start, after a while, or none. */
enum pool_comes {
	POOL_FIRST,
	POOL_LATE,
	POOL_NEVER,
	POOL_LAST, /* after blocks that were placed without it */
	NR_POOL_COMES,
};

/* A hundred requests, in a rhythm: blocks if there is a pool, else from the driver. */
static void run_rhythm(struct script *script, unsigned int seed, bool is_block)
{
	uint64_t period = 5 + seed % 7;

	for (uint64_t i = 0; i < 100; i++) {
		uint64_t at = 3 * BASE + i % period * 4096;

		script_set_stack(script, 1 + (uint32_t)(i % period));
		if (is_block) {
			script_block(script, 1, at, 512 + i % period);
			script_block_free(script, 1, at);
		} else {
			script_alloc(script, VS_MEMORY_DEVICE, at, 512 + i % period);
			script_free(script, VS_MEMORY_DEVICE, at);
		}
	}
}

static void make_rhythm(struct script *script, unsigned int seed, enum pool_comes comes)
{
	script_init(script);
	script_device(script, 0, 1000 * GIB);
	for (uint32_t i = 0; i < NR_SITES; i++)
		script_stack(script, i + 1, frames[i], 1);
	if (comes == POOL_FIRST)
		script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "pool");
	script_set_stack(script, 12);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE, 4096);
	run_rhythm(script, seed, comes == POOL_FIRST || comes == POOL_LAST);
	if (comes == POOL_LATE || comes == POOL_LAST)
		script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, "pool");
	if (comes != POOL_NEVER) {
		script_set_stack(script, 11);
		script_alloc(script, VS_MEMORY_DEVICE, 3 * BASE, MIB);
	}
	run_rhythm(script, seed / 7, comes != POOL_NEVER);
}

static void test_steps_are_those_that_a_pass_of_their_own_finds(void **state)
{
	static const struct vs_window everything = {0, UINT64_MAX};
	static const struct vs_wants wants = {.steps = true};
	unsigned int nr_found = 0;

	(void)state;
	for (unsigned int seed = 0; seed < 49 * NR_POOL_COMES; seed++) {
		enum pool_comes comes = seed % NR_POOL_COMES;
		struct vs_steps on_the_way, alone;
		struct vs_analysis analysis;
		struct script script;

		make_rhythm(&script, seed / NR_POOL_COMES, comes);
		find_in(&script, comes != POOL_NEVER, &alone);
		make_rhythm(&script, seed / NR_POOL_COMES, comes);
		assert_int_equal(vs_analysis_init_indexed(&analysis, &script.source, &everything,
							  NULL, &wants),
				 0);
		assert_non_null(analysis.finder);
		assert_int_equal(analysis.finder->is_unsure, comes == POOL_LAST);
		vs_steps_finder_get(analysis.finder, &on_the_way);
		nr_found += alone.is_found;
		if (comes != POOL_LAST)
			assert_memory_equal(&on_the_way, &alone, sizeof(alone));
		vs_analysis_fini(&analysis);
		script_fini(&script);
	}
	assert_true(nr_found > 49);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_is_found_among_layers),
		cmocka_unit_test(test_sites_alone_are_enough_where_sizes_vary),
		cmocka_unit_test(test_program_that_only_takes_memory_has_no_steps),
		cmocka_unit_test(test_too_few_repetitions_prove_nothing),
		cmocka_unit_test(test_requests_without_a_rhythm_have_no_steps),
		cmocka_unit_test(test_steps_are_found_in_a_longer_rhythm),
		cmocka_unit_test(test_confidence_is_the_share_of_requests_that_are_alike),
		cmocka_unit_test(test_part_of_many_requests_tells_as_much),
		cmocka_unit_test(test_rhythm_that_begins_late_is_found),
		cmocka_unit_test(test_derived_steps_are_those_that_were_marked),
		cmocka_unit_test(test_steps_of_a_repetition_may_keep_something),
		cmocka_unit_test(test_what_only_validation_keeps_grows_by_rounds),
		cmocka_unit_test(test_rounds_that_keep_nothing_do_not_grow),
		cmocka_unit_test(test_too_few_rounds_prove_nothing),
		cmocka_unit_test(test_confidence_is_not_more_than_how_often_it_is_right),
		cmocka_unit_test(test_marked_steps_are_kept_unless_told_otherwise),
		cmocka_unit_test(test_requests_to_pools_count_and_not_what_the_pools_take),
		cmocka_unit_test(test_steps_are_those_that_a_pass_of_their_own_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
