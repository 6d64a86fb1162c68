#include "report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)

static const uint64_t frames[][1] = {{0x1100}, {0x1200}, {0x1300}, {0x1400}};

/* Functions are "train+0x100" and so on, for stacks 1 to 4. */
static void setup(struct story_rig *rig, uint64_t limit_size)
{
	struct script *script = &rig->script;

	story_rig_init(rig);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, limit_size, "cache");
	script_name(script, 1, "backward");
	script_module(script, 1, 0x1000, 0x2000, "/nowhere/train");
	for (uint32_t i = 0; i < 4; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_set_stack(script, 1);
}

/* 400 MiB of the pool; a block of 50 MiB in each of 4 steps, as much free behind each. */
static void make_holes(struct script *script)
{
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 400 * MIB);
	script_set_stack(script, 2);
	for (uint64_t i = 0; i < 4; i++) {
		script_step(script, i);
		script_block(script, 1, BASE + i * 100 * MIB, 50 * MIB);
	}
	script_set_stack(script, 3);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void assert_has(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in:\n%s", words, text);
}

static void assert_has_not(const char *text, const char *words)
{
	if (strstr(text, words))
		fail_msg("\"%s\" is in:\n%s", words, text);
}

/* The failures of a script, and what must be among them. Ends the rig. */
static void assert_failures(struct story_rig *rig, const char *const *words)
{
	struct vs_device_state state;
	const char *text;

	story_rig_open_text(rig);
	story_rig_look(rig, &state);
	assert_int_equal(vs_report_text_put_failures(&rig->story, &state), 0);
	text = story_rig_read(rig);
	for (; *words; words++)
		assert_has(text, *words);
	vs_device_state_fini(&state);
	story_rig_close(rig);
	story_rig_fini(rig);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- Failures ------------------------------------------------------------------------------- */

static void test_fragmentation_is_proved_by_the_blocks_between_the_holes(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	make_holes(&rig.script);
	script_push(&rig.script, 1);
	script_block_fail(&rig.script, 1, 150 * MIB);
	assert_failures(
		&rig,
		WORDS("OUT OF MEMORY at 11.0 us in backward of step 3: 150 MiB asked, 200 MiB free "
		      "in pool cache",
		      "cause: FRAGMENTATION\n",
		      "\n  the largest hole is 50.0 MiB: 4 blocks (200 MiB) cut 200 MiB of free "
		      "pool memory into 4 holes\n",
		      "\n  all of them come from    train+0x200   one a step in 4 steps\n",
		      "\n  asked by                 train+0x300\n"));
}

static void test_cause_stands_at_the_right_edge_or_below(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig, 0);
	make_holes(&rig.script);
	script_block_fail(&rig.script, 1, 150 * MIB);
	for (uint32_t width = 40; width <= 120; width += 80) {
		rig.options.width = width;
		story_rig_open_text(&rig);
		story_rig_look(&rig, &then);
		assert_int_equal(vs_report_text_put_failures(&rig.story, &then), 0);
		text = story_rig_read(&rig);
		if (width == 120)
			assert_int_equal(strchr(text, '\n') - text, 120);
		else
			assert_has(text, "\n  cause: FRAGMENTATION\n");
		vs_device_state_fini(&then);
		story_rig_close(&rig);
	}
	story_rig_fini(&rig);
}

static void test_blocks_of_several_sites_are_counted_apart(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	make_holes(&rig.script);
	script_set_stack(&rig.script, 4);
	script_block(&rig.script, 1, BASE + 70 * MIB, 5 * MIB);
	script_block_fail(&rig.script, 1, 150 * MIB);
	assert_failures(&rig, WORDS("5 blocks (205 MiB) cut 195 MiB",
				    "\n  4 of the 5 come from     train+0x200   one a step in 4 "
				    "steps\n"));
}

static void test_each_cause_has_its_sentence(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 300 * MIB);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 300 * MIB);
	script_block(&rig.script, 1, BASE, 280 * MIB);
	script_block_fail(&rig.script, 1, 100 * MIB);
	assert_failures(&rig, WORDS("cause: LIMIT", "  pool cache holds 300 MiB, 280 MiB of it in "
						    "blocks, and may hold 300 MiB\n"));

	setup(&rig, 0);
	script_block_fail(&rig.script, 1, 100 * MIB);
	assert_failures(&rig, WORDS("cause: LIMIT", "  pool cache holds 0 B, 0 B of it in blocks, "
						    "and did not grow though the device has room"));

	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 800 * MIB);
	script_fail(&rig.script, 400 * MIB, 150 * MIB, 1000 * MIB);
	assert_failures(&rig, WORDS(": 400 MiB asked, 150 MiB free ", "cause: CAPACITY",
				    "  250 MiB too little: 800 MiB live, and all that is free "
				    "together is less than was asked\n"));

	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 800 * MIB);
	script_block(&rig.script, 1, BASE, MIB);
	script_block_free(&rig.script, 1, BASE);
	script_fail(&rig.script, 400 * MIB, 150 * MIB, 1000 * MIB);
	assert_failures(&rig, WORDS("cause: POOL", "  250 MiB too little; pools hold 800 MiB that "
						   "they do not use and could give back, see "
						   "POOLS\n"));

	setup(&rig, 0);
	script_pool(&rig.script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&rig.script, 2, BASE, 700 * MIB);
	script_pool_state(&rig.script, 2, 800 * MIB);
	script_free(&rig.script, VS_MEMORY_ASYNC, BASE);
	script_fail(&rig.script, 400 * MIB, 150 * MIB, 1000 * MIB);
	assert_failures(&rig, WORDS("cause: POOL",
				    "  250 MiB too little; pools hold 800 MiB that they do not use "
				    "and could give back, see POOLS\n"
				    "  remedy                   cudaMemPoolTrimTo, or a lower "
				    "cudaMemPoolAttrReleaseThreshold: pool\n"
				    "                           stream-ordered gives back 800 "
				    "MiB\n"));

	setup(&rig, 0);
	for (uint64_t i = 0; i < 8; i++) {
		script_step(&rig.script, i);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 100 * MIB);
	}
	script_fail(&rig.script, 250 * MIB, 150 * MIB, 1000 * MIB);
	assert_failures(&rig, WORDS("cause: RETENTION", "  100 MiB too little; 700 MiB were kept "
							"step by step, see RETAINED\n"));

	setup(&rig, 0);
	script_fail(&rig.script, 250 * MIB, 900 * MIB, 1000 * MIB);
	assert_failures(&rig, WORDS("cause: UNKNOWN", "  the driver says that 900 MiB were free, "
						      "and refused 250 MiB all the same\n"));
}

static void test_repeats_and_other_sites_are_told_below(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 800 * MIB); /* 1 us */
	for (uint64_t i = 0; i < 3; i++)
		script_fail(&rig.script, (500 + i) * MIB, 150 * MIB, 1000 * MIB);
	script_set_stack(&rig.script, 4);
	for (uint64_t i = 0; i < 2; i++)
		script_fail(&rig.script, (600 + i) * MIB, 150 * MIB, 1000 * MIB);
	story_rig_open_text(&rig);
	story_rig_look(&rig, &then);
	assert_int_equal(vs_report_text_put_failures(&rig.story, &then), 0);
	text = story_rig_read(&rig);
	assert_has(text, "asked by                 train+0x400\n");
	assert_has(text, "\n  2 such failures from there, the first at 5.00 us\n");
	assert_has(text, "\n  also 3 of 502 MiB by     train+0x100\n");
	assert_has_not(text, "also 2"); /* it has been told */
	vs_device_state_fini(&then);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void assert_recovered(uint64_t nr, const char *expected)
{
	struct story_rig rig;

	setup(&rig, 0);
	for (uint64_t i = 0; i < nr; i++) {
		script_fail(&rig.script, 500 * MIB, 150 * MIB, 1000 * MIB);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 500 * MIB);
	}
	assert_failures(&rig, WORDS(expected));
}

static void test_recovered_requests_are_said_to_be_no_out_of_memory(void **state)
{
	(void)state;
	assert_recovered(1, "RECOVERED     1 request failed and was served when asked again: no "
			    "out-of-memory\n");
	assert_recovered(2, "RECOVERED     2 requests failed and were served when asked again");
}

static void test_run_without_failures_is_judged_if_it_was_killed_full_or_growing(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	make_holes(&rig.script);
	assert_failures(&rig, WORDS("GROWING at 9.00 us in step 3", "cause: RETENTION",
				    "train+0x200", "remedy"));
	setup(&rig, 0);
	rig.trace.is_cut = true;
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 100 * MIB);
	assert_failures(&rig, WORDS("DID NOT END IN ORDER", "cause: UNKNOWN", "host"));
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 900 * MIB);
	assert_failures(&rig, WORDS("NEARLY FULL", "cause: CAPACITY", "train+0x100"));
}

static void test_device_that_has_enough_has_nothing_to_say(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 400 * MIB);
	story_rig_open_text(&rig);
	story_rig_look(&rig, &then);
	assert_int_equal(vs_report_text_put_failures(&rig.story, &then), 0);
	assert_string_equal(story_rig_read(&rig), "");
	vs_device_state_fini(&then);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

/* ---- Where ---------------------------------------------------------------------------------- */

static char *copy_where(struct story_rig *rig)
{
	struct vs_device_state then;
	char *copy;

	story_rig_open_text(rig);
	story_rig_look(rig, &then);
	vs_report_text_put_where(&rig->story, &then);
	copy = strdup(story_rig_read(rig));
	assert_non_null(copy);
	vs_device_state_fini(&then);
	story_rig_close(rig);
	return copy;
}

static void assert_where(struct story_rig *rig, const char *expected)
{
	char *text = copy_where(rig);

	assert_string_equal(text, expected);
	free(text);
}

static void test_where_names_its_instant(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	make_holes(&rig.script);
	rig.options.at = VS_AT_END;
	assert_where(&rig, "WHERE 0.98 GiB ARE AT THE END     live 0.20  holes 0.19  free or not "
			   "seen 0.59\n");
	rig.options.at = VS_AT_PEAK;
	assert_where(&rig, "WHERE 0.98 GiB ARE AT THE PEAK     live 0.20  holes 0.19  free or not "
			   "seen 0.59\n");
	rig.options.at = VS_AT_TIME;
	rig.options.at_ns = 1500;
	assert_where(&rig, "WHERE 0.98 GiB ARE AT 1.50 us     live 0.00  holes 0.00  cached 0.39  "
			   "free or not seen 0.59\n");
	rig.options.at = VS_AT_DEFAULT;
	script_fail(&rig.script, 900 * MIB, 300 * MIB, 1000 * MIB);
	rig.options.width = 120;
	assert_where(&rig, "WHERE 0.98 GiB ARE AT THE FAILURE     live 0.20  holes 0.20  "
			   "context and others 0.29  not taken 0.29\n");
	story_rig_fini(&rig);
}

static void test_where_is_left_out_when_it_would_not_add_up(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_MANAGED, BASE, 1001 * MIB);
	assert_where(&rig, "");
	story_rig_fini(&rig);
	story_rig_init(&rig);
	script_device(&rig.script, 0, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 5);
	assert_where(&rig, "");
	story_rig_fini(&rig);
}

/* Hundredths behind the heading, added up. */
static uint64_t sum_hundredths(const char *text)
{
	uint64_t sum = 0;

	text = strstr(text, "PEAK");
	assert_non_null(text);
	for (; *text; text++) {
		unsigned int whole, rest;
		int used = 0;

		if (*text != ' ' || sscanf(text, " %u.%2u%n", &whole, &rest, &used) != 2)
			continue;
		sum += 100 * whole + rest;
		text += used - 1;
	}
	return sum;
}

static void test_parts_of_where_add_up_however_they_are_rounded(void **state)
{
	unsigned int seed = 17;

	(void)state;
	for (int round = 0; round < 200; round++) {
		uint64_t total = 10000000 + (uint64_t)rand_r(&seed) * 9;
		uint64_t unit = total < 1000 * MIB ? MIB : GIB;
		uint64_t held = total / (2 + (uint64_t)rand_r(&seed) % 9);
		uint64_t live = total / (3 + (uint64_t)rand_r(&seed) % 99);
		struct story_rig rig;
		char *text;

		story_rig_init(&rig);
		rig.options.width = 200;
		rig.options.at = VS_AT_PEAK;
		script_device(&rig.script, 0, total);
		script_pool(&rig.script, 1, VS_POOL_PROGRAM, 0, 0, "cache");
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, held);
		script_block(&rig.script, 1, BASE, held / 3);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, 2 * BASE, live);
		text = copy_where(&rig);
		assert_int_equal(sum_hundredths(text), (total * 100 + unit / 2) / unit);
		free(text);
		story_rig_fini(&rig);
	}
}

/* ---- Pools and peak ------------------------------------------------------------------------- */

static void test_pools_say_what_they_hold_and_do_not_use(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig, 900 * MIB);
	script_pool(&rig.script, 2, VS_POOL_PROGRAM, 0, 0, "other");
	make_holes(&rig.script);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + 8 * GIB, 16 * MIB);
	script_block(&rig.script, 1, BASE + 8 * GIB, MIB);
	script_block_free(&rig.script, 1, BASE + 8 * GIB);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + 9 * GIB, 2 * MIB);
	script_block(&rig.script, 2, BASE + 9 * GIB, MIB);
	rig.options.at = VS_AT_END;
	rig.options.width = 200;
	story_rig_open_text(&rig);
	story_rig_look(&rig, &then);
	vs_report_text_put_pools(&rig.story, &then);
	assert_string_equal(story_rig_read(&rig),
			    "POOLS         cache: 200 MiB live in 416 MiB held, 200 MiB of it in 4 "
			    "holes, 16.0 MiB could be given back, limit 900 MiB\n"
			    "              other: 1.00 MiB live in 2.00 MiB held, 1.00 MiB of it "
			    "in 1 hole\n");
	vs_device_state_fini(&then);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_driver_pools_say_that_they_were_only_sampled(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	script_pool(&rig.script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_pool(&rig.script, 3, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&rig.script, 2, BASE, 10 * MIB);
	script_pool_state(&rig.script, 2, 32 * MIB);
	script_alloc_async(&rig.script, 3, BASE + GIB, 20 * MIB); /* while a stream captures */
	rig.options.at = VS_AT_END;
	story_rig_open_text(&rig);
	story_rig_look(&rig, &then);
	vs_report_text_put_pools(&rig.story, &then);
	vs_report_text_put_where(&rig.story, &then);
	assert_string_equal(story_rig_read(&rig),
			    "POOLS         stream-ordered: 10.0 MiB live in 32.0 MiB held "
			    "(sampled), 22.0 MiB could be given back\n"
			    "              stream-ordered 2: 20.0 MiB live in 20.0 MiB held at "
			    "least\n"
			    "WHERE 0.98 GiB ARE AT THE END     live 0.03  cached 0.02  free or not "
			    "seen 0.93\n");
	vs_device_state_fini(&then);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_peak_lists_its_sites_and_counts_the_rest(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	for (uint32_t i = 0; i < 4; i++) {
		script_set_stack(&rig.script, i + 1);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, (i + 1) * 10 * MIB);
	}
	story_rig_open_text(&rig);
	assert_int_equal(vs_report_text_put_peak(&rig.story,
						 script_get_device(rig.story.analysis.replay), 2),
			 0);
	assert_string_equal(story_rig_read(&rig),
			    "PEAK          100 MiB live in 100 MiB reserved at 4.00 us\n"
			    "  40.0 MiB   40 %       1 x   train+0x400\n"
			    "  30.0 MiB   30 %       1 x   train+0x300\n"
			    "  and 2 more sites\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_peak_tells_when_more_was_reserved_at_another_time(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 100 * MIB);
	script_block(&rig.script, 1, BASE, 80 * MIB);
	script_block_free(&rig.script, 1, BASE);
	script_step(&rig.script, 9);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + GIB, MIB);
	story_rig_open_text(&rig);
	assert_int_equal(vs_report_text_put_peak(&rig.story,
						 script_get_device(rig.story.analysis.replay), 5),
			 0);
	assert_has(story_rig_read(&rig),
		   "PEAK          80.0 MiB live in 100 MiB reserved at 2.00 "
		   "us\n"
		   "              101 MiB reserved at most at 5.00 us in step "
		   "9\n");
	assert_has_not(story_rig_read(&rig), "more sites");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

/* ---- Retained ------------------------------------------------------------------------------- */

static void assert_retained(struct story_rig *rig, bool is_full, size_t top, const char *expected)
{
	struct vs_device_state then;

	story_rig_open_text(rig);
	story_rig_look(rig, &then);
	assert_int_equal(vs_report_text_put_retained(&rig->story, &then.retained, is_full, top), 0);
	assert_string_equal(story_rig_read(rig), expected);
	vs_device_state_fini(&then);
	story_rig_close(rig);
}

static void test_growth_is_told_with_its_rate_onset_and_sites(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	for (uint64_t i = 0; i < 20; i++) {
		script_step(&rig.script, i);
		script_set_stack(&rig.script, 1);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 2 * MIB);
		script_set_stack(&rig.script, 2);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, 2 * BASE + i * GIB, 6 * MIB);
	}
	assert_retained(&rig, false, 1,
			"RETAINED      +8.00 MiB a step since step 0 (19 of 19 steps), will be "
			"full in 106 steps (318 us)\n"
			"  +6.00 MiB a step         train+0x200\n");
	/* It is full already: no forecast. */
	assert_retained(&rig, true, 5,
			"RETAINED      +8.00 MiB a step since step 0 (19 of 19 steps)\n"
			"  +6.00 MiB a step         train+0x200\n"
			"  +2.00 MiB a step         train+0x100\n");
	story_rig_fini(&rig);
}

static void test_growth_without_steps_speaks_of_phases_or_intervals(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	for (uint64_t i = 0; i < 20; i++) {
		script_push(&rig.script, 1);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, MIB);
		script_pop(&rig.script);
	}
	assert_retained(&rig, true, 1,
			"RETAINED      +1.00 MiB a phase since 3.00 us (19 of 19 phases)\n"
			"  +1.00 MiB a phase        train+0x100\n");
	story_rig_fini(&rig);
	setup(&rig, 0);
	for (uint64_t i = 0; i < 170; i++)
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, MIB);
	assert_retained(&rig, true, 0,
			"RETAINED      +10.0 MiB an interval since 10.9 us (15 of 15 intervals)\n"
			"              a model that is loaded looks the same: next to nothing was "
			"ever given back\n");
	story_rig_fini(&rig);
}

static void test_steps_that_were_left_out_are_taken_together(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	for (uint64_t i = 0; i < 1024; i++) {
		script_step(&rig.script, i);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, KIB);
	}
	assert_retained(&rig, true, 0,
			"RETAINED      +1.00 KiB a step since step 0 (511 of 511 "
			"stretches of 2 steps)\n");
	story_rig_fini(&rig);
}

static void test_no_growth_is_said_with_what_was_looked_at(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, MIB);
	assert_retained(&rig, false, 5, "RETAINED      no two intervals to compare\n");
	for (uint64_t i = 0; i < 100; i++) {
		script_alloc(&rig.script, VS_MEMORY_DEVICE, 2 * BASE, MIB);
		script_free(&rig.script, VS_MEMORY_DEVICE, 2 * BASE);
	}
	assert_retained(&rig, false, 5,
			"RETAINED      nothing grows steadily; no steps or phases were marked\n");
	for (uint64_t i = 0; i < 7; i++)
		script_step(&rig.script, i);
	assert_retained(&rig, false, 5,
			"RETAINED      nothing grows over 7 steps; 1.00 MiB alive "
			"at the last one\n");
	story_rig_fini(&rig);
}

/* ---- Fragmentation -------------------------------------------------------------------------- */

static void assert_fragmentation(struct story_rig *rig, const char *expected)
{
	story_rig_open_text(rig);
	vs_report_text_put_fragmentation(&rig->story,
					 script_get_device(rig->story.analysis.replay));
	assert_string_equal(story_rig_read(rig), expected);
	story_rig_close(rig);
	story_rig_fini(rig);
}

static void test_worst_fragmentation_says_where_to_look(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	make_holes(&rig.script);
	assert_fragmentation(&rig,
			     "FRAGMENTATION worst 0.75 at 9.00 us: of 200 MiB in holes, 150 "
			     "MiB are outside the largest\n"
			     "              see: vramscope heatmap -o heatmap.png run.vscope\n");
}

static void test_no_fragmentation_says_why(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, 0);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, MIB);
	assert_fragmentation(&rig, "FRAGMENTATION none: no pool ever had two holes\n");
	story_rig_init(&rig);
	script_device(&rig.script, 0, GIB);
	assert_fragmentation(&rig,
			     "FRAGMENTATION no pool was seen, so there are no holes to speak of\n");
	story_rig_init(&rig);
	script_device(&rig.script, 0, GIB);
	script_pool(&rig.script, 1, VS_POOL_DRIVER, 0, 0, "");
	assert_fragmentation(&rig, "FRAGMENTATION not known: of the driver's own pools no holes "
				   "are told\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fragmentation_is_proved_by_the_blocks_between_the_holes),
		cmocka_unit_test(test_cause_stands_at_the_right_edge_or_below),
		cmocka_unit_test(test_blocks_of_several_sites_are_counted_apart),
		cmocka_unit_test(test_each_cause_has_its_sentence),
		cmocka_unit_test(test_repeats_and_other_sites_are_told_below),
		cmocka_unit_test(test_recovered_requests_are_said_to_be_no_out_of_memory),
		cmocka_unit_test(
			test_run_without_failures_is_judged_if_it_was_killed_full_or_growing),
		cmocka_unit_test(test_device_that_has_enough_has_nothing_to_say),
		cmocka_unit_test(test_where_names_its_instant),
		cmocka_unit_test(test_where_is_left_out_when_it_would_not_add_up),
		cmocka_unit_test(test_parts_of_where_add_up_however_they_are_rounded),
		cmocka_unit_test(test_pools_say_what_they_hold_and_do_not_use),
		cmocka_unit_test(test_driver_pools_say_that_they_were_only_sampled),
		cmocka_unit_test(test_peak_lists_its_sites_and_counts_the_rest),
		cmocka_unit_test(test_peak_tells_when_more_was_reserved_at_another_time),
		cmocka_unit_test(test_growth_is_told_with_its_rate_onset_and_sites),
		cmocka_unit_test(test_growth_without_steps_speaks_of_phases_or_intervals),
		cmocka_unit_test(test_steps_that_were_left_out_are_taken_together),
		cmocka_unit_test(test_no_growth_is_said_with_what_was_looked_at),
		cmocka_unit_test(test_worst_fragmentation_says_where_to_look),
		cmocka_unit_test(test_no_fragmentation_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
