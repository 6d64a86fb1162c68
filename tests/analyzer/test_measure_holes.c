#include "measure_holes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define BASE    ((uint64_t)0x10000000)
#define SEGMENT 128
#define NR_SEGS 2
#define TOTAL   400

/* Byte by byte: which block is there, 0 is none. */
static unsigned int bytes[NR_SEGS][SEGMENT];

/* Holes of segments in use; returns their sum. */
static uint64_t look_at_holes(uint64_t *largest, uint64_t *nr, double *squares)
{
	uint64_t sum = 0;

	*largest = *nr = 0;
	*squares = 0;
	for (int s = 0; s < NR_SEGS; s++) {
		bool is_used = false;
		uint64_t run = 0;

		for (int i = 0; i < SEGMENT; i++)
			is_used |= bytes[s][i] != 0;
		for (int i = 0; i <= SEGMENT && is_used; i++) {
			if (i < SEGMENT && !bytes[s][i]) {
				run++;
				continue;
			}
			if (run) {
				sum += run;
				++*nr;
				*squares += (double)run * (double)run;
				if (run > *largest)
					*largest = run;
			}
			run = 0;
		}
	}
	return sum;
}

/* A block somewhere, if it fits; or one goes. Returns whether anything happened. */
static bool change(struct script *script, unsigned int *seed, unsigned int number)
{
	unsigned int s = (unsigned int)rand_r(seed) % NR_SEGS;
	unsigned int at = (unsigned int)rand_r(seed) % SEGMENT;
	unsigned int size = 1 + (unsigned int)rand_r(seed) % 24, i, who = bytes[s][at];

	if (who) {
		for (i = at; i > 0 && bytes[s][i - 1] == who; i--)
			;
		script_block_free(script, 1, (s + 1) * BASE + i);
		for (i = 0; i < SEGMENT; i++)
			if (bytes[s][i] == who)
				bytes[s][i] = 0;
		return true;
	}
	for (i = at; i < at + size; i++)
		if (i >= SEGMENT || bytes[s][i])
			return false;
	script_block(script, 1, (s + 1) * BASE + at, size);
	for (i = at; i < at + size; i++)
		bytes[s][i] = number;
	return true;
}

static void try_seed(unsigned int seed)
{
	uint64_t request = 1 + (uint64_t)rand_r(&seed) % SEGMENT, nr_fits = 0, largest, nr, sum;
	struct vs_measure_holes holes;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;
	bool fits = false, was_ever = false;
	double squares;

	memset(bytes, 0, sizeof(bytes));
	script_init(&script);
	script_device(&script, 0, TOTAL);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	for (uint64_t s = 0; s < NR_SEGS; s++)
		script_alloc(&script, VS_MEMORY_DEVICE, (s + 1) * BASE, SEGMENT);
	for (unsigned int i = 1; i < 80; i++) {
		if (!change(&script, &seed, i))
			continue;
		nr_fits += fits; /* a microsecond each */
		look_at_holes(&largest, &nr, &squares);
		fits = largest >= request;
		was_ever |= fits;
	}
	sum = look_at_holes(&largest, &nr, &squares);
	script_analyse(&script, &analysis);
	vs_measure_holes_init(&holes, 0, request, analysis.replay->first_ns, analysis.duration_ns);
	assert_int_equal(vs_analysis_observe(&analysis, &holes.observer, &replay), 0);
	assert_int_equal(holes.in_hole.was_ever, was_ever);
	assert_int_equal(holes.in_hole.is_now, fits);
	assert_int_equal(holes.in_hole.time_ns, nr_fits * 1000);
	assert_int_equal(holes.in_device.is_now, TOTAL - NR_SEGS * SEGMENT >= request);
	assert_int_equal(holes.samples[holes.nr_samples - 1].hole_bytes, sum);
	assert_int_equal(holes.samples[holes.nr_samples - 1].largest_bytes, largest);
	assert_int_equal(holes.samples[holes.nr_samples - 1].nr_holes, nr);
	if (sum)
		assert_true(fabs(holes.samples[holes.nr_samples - 1].scatter -
				 (1 - sqrt(squares) / (double)sum)) < 1e-9);
	vs_replay_destroy(replay);
	vs_measure_holes_fini(&holes);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_random_blocks_agree_with_every_byte_looked_at(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 1500; seed++)
		try_seed(seed);
}

static void test_samples_are_of_equal_instants_and_the_end(void **state)
{
	struct vs_measure_holes holes;
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	script_init(&script);
	script_device(&script, 0, 10000);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_set_time(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	for (uint64_t i = 0; i < 10; i++) {
		script_set_time(&script, 2400 * (i + 1));
		script_block(&script, 1, BASE + i * 100, 10);
	}
	script_analyse(&script, &analysis);
	vs_measure_holes_init(&holes, 0, 91, 0, analysis.duration_ns);
	assert_int_equal(vs_analysis_observe(&analysis, &holes.observer, &replay), 0);
	assert_int_equal(holes.nr_samples, VS_HOLES_SAMPLES);
	for (size_t i = 0; i < VS_HOLES_SAMPLES; i++)
		assert_true(holes.samples[i].time_ns <= analysis.duration_ns);
	assert_int_equal(holes.samples[VS_HOLES_SAMPLES - 1].nr_holes, 10);
	assert_int_equal(holes.samples[VS_HOLES_SAMPLES - 1].below_bytes, 900);
	assert_int_equal(holes.samples[VS_HOLES_SAMPLES - 1].live_bytes, 100);
	assert_int_equal(holes.samples[VS_HOLES_SAMPLES - 1].reserved_bytes, 1000);
	assert_true(holes.in_hole.was_ever);
	assert_false(holes.in_hole.is_now);
	vs_replay_destroy(replay);
	vs_measure_holes_fini(&holes);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_blocks_agree_with_every_byte_looked_at),
		cmocka_unit_test(test_samples_are_of_equal_instants_and_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
