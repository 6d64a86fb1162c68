#include "why_text.h"

#include <string.h>

#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)

static const uint64_t frames[][2] = {{0x1100, 0x1f00}, {0x1200, 0x1e00}, {0x1300, 0x1e00}};

/* Functions are "train+0x100" and so on, for stacks 1 to 3; 2 and 3 are called from one place. */
static void setup(struct story_rig *rig)
{
	struct script *script = &rig->script;

	story_rig_init(rig);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "cache");
	script_module(script, 1, 0x1000, 0x2000, "/nowhere/train");
	for (uint32_t i = 0; i < 3; i++)
		script_stack(script, i + 1, frames[i], 2);
	script_set_stack(script, 1);
}

/* What is said of the last out-of-memory; valid until the rig is closed. */
static const char *tell(struct story_rig *rig, bool is_full)
{
	struct vs_device_state state;

	story_rig_open_text(rig);
	story_rig_look(rig, &state);
	assert_int_equal(vs_why_text_put(&rig->story, &state, is_full), 0);
	vs_device_state_fini(&state);
	return story_rig_read(rig);
}

static void end(struct story_rig *rig)
{
	story_rig_close(rig);
	story_rig_fini(rig);
}

static void make_holes(struct story_rig *rig)
{
	setup(rig);
	script_alloc(&rig->script, VS_MEMORY_DEVICE, BASE, 200 * MIB);
	script_alloc(&rig->script, VS_MEMORY_DEVICE, BASE + GIB, 200 * MIB);
	for (uint64_t i = 0; i < 4; i++) {
		script_set_stack(&rig->script, i == 3 ? 3 : 2);
		script_block(&rig->script, 1, BASE + (i & 1) * GIB + (i / 2) * 100 * MIB,
			     (20 + i) * MIB);
	}
	script_set_stack(&rig->script, 1);
	script_fail(&rig->script, 150 * MIB, MIB, 1000 * MIB);
	script_block_fail(&rig->script, 1, 150 * MIB);
}

static void test_fragmentation_names_what_is_in_the_way(void **state)
{
	struct story_rig rig;

	(void)state;
	make_holes(&rig);
	assert_string_equal(
		tell(&rig, true),
		"OUT OF MEMORY at 8.00 us: 150 MiB asked, 314 MiB free in pool cache             "
		"cause: FRAGMENTATION\n"
		"  the largest hole is 80.0 MiB: 4 blocks (86.0 MiB) cut 314 MiB of free pool "
		"memory into 4 holes\n"
		"  3 of the 4 come from     train+0x200\n"
		"  least in the way         1 block (22.0 MiB) at 0x7f0006400000: without it, a "
		"hole of 180 MiB\n"
		"    1 of them, 22.0 MiB    train+0x200 < train+0xe00\n"
		"  remedy                   take what lives long, at train+0x200, from a pool of "
		"its own, or before\n"
		"                           everything else\n"
		"  not CAPACITY             the card would have been large enough without that\n"
		"  asked by                 train+0x100 < train+0xf00\n");
	end(&rig);
}

/* It asked for less, and was served: the failure was not its end. */
static void test_a_program_that_goes_on_is_told(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 600 * MIB);
	for (uint64_t i = 0; i < 2; i++)
		script_fail(&rig.script, (900 - 100 * i) * MIB, 300 * MIB, 1000 * MIB);
	text = tell(&rig, true);
	assert_non_null(strstr(text, "  2 such failures from there, the first at 2.00 us\n"));
	assert_null(strstr(text, "went on"));
	story_rig_close(&rig);
	for (uint64_t i = 1; i < 4; i++)
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 100 * MIB);
	assert_non_null(strstr(tell(&rig, true), "  2 such failures from there, the first at 2.00 "
						 "us\n  the program went on      3 allocations "
						 "were served after it\n"));
	end(&rig);
}

static void test_report_has_the_cause_and_the_remedy_but_not_the_rest(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	make_holes(&rig);
	text = tell(&rig, false);
	assert_non_null(strstr(text, "cause: FRAGMENTATION"));
	assert_non_null(strstr(text, "  remedy "));
	assert_null(strstr(text, "not CAPACITY"));
	end(&rig);
}

/* No segment is large enough: two that are nearly empty would be given back. */
static void test_segments_to_be_emptied_are_named_where_no_hole_can_be_made(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig);
	for (uint64_t i = 0; i < 4; i++) {
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 200 * MIB);
		script_block(&rig.script, 1, BASE + i * GIB + 50 * MIB, (i + 1) * MIB);
	}
	script_fail(&rig.script, 300 * MIB, 10 * MIB, 1000 * MIB);
	script_block_fail(&rig.script, 1, 300 * MIB);
	assert_non_null(strstr(tell(&rig, true),
			       "  least in the way         2 blocks (3.00 MiB): without them, 2 "
			       "segments (400 MiB) could be given\n"
			       "                           back\n"));
	end(&rig);
}

static void test_the_command_that_tells_more_can_be_typed_as_it_is_told(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig);
	script_pool(&rig.script, 2, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	for (uint64_t i = 0; i < 2; i++) {
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 400 * MIB);
		script_block(&rig.script, 2, BASE + i * GIB + 200 * MIB, MIB);
	}
	script_fail(&rig.script, 300 * MIB, MIB, 1000 * MIB);
	script_block_fail(&rig.script, 2, 300 * MIB);
	story_rig_open_text(&rig);
	rig.story.path = "a trace; mine";
	story_rig_look(&rig, &then);
	assert_int_equal(vs_why_text_put(&rig.story, &then, false), 0);
	vs_device_state_fini(&then);
	assert_non_null(strstr(story_rig_read(&rig), "more: vramscope why 'a trace; mine'\n"));
	end(&rig);
}

/* Two sites grow, and one call makes both. */
static void test_retention_names_the_call_that_all_growing_sites_have(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig);
	for (uint64_t i = 0; i < 10; i++) {
		script_step(&rig.script, i);
		script_set_stack(&rig.script, 2);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, 50 * MIB);
		script_set_stack(&rig.script, 3);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB + 512 * MIB, 30 * MIB);
	}
	script_set_stack(&rig.script, 1);
	script_fail(&rig.script, 250 * MIB, 150 * MIB, 1000 * MIB);
	text = tell(&rig, true);
	assert_non_null(strstr(text, "cause: RETENTION"));
	assert_non_null(strstr(text, "\n  kept by way of           train+0xe00\n"));
	assert_non_null(strstr(text, "free in every step what train+0xe00 takes"));
	end(&rig);
}

static void test_unknown_is_told_plainly(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 200 * MIB);
	script_block(&rig.script, 1, BASE, 50 * MIB);
	script_fail(&rig.script, 150 * MIB, 0, 1000 * MIB);
	script_block_fail(&rig.script, 1, 150 * MIB);
	assert_non_null(
		strstr(tell(&rig, true),
		       "  a hole of 150 MiB would have been large enough; it may belong to "
		       "another stream or to a private\n    pool, which is not recorded\n"));
	end(&rig);
}

/* It holds 800 MiB, 100 of them in use; the device has `left`. */
static void make_stream_ordered(struct story_rig *rig, uint64_t limit, uint64_t size, uint64_t left)
{
	setup(rig);
	script_pool(&rig->script, 2, VS_POOL_DRIVER, 0, limit, "");
	script_alloc_async(&rig->script, 2, BASE, 100 * MIB);
	script_pool_state(&rig->script, 2, 800 * MIB);
	script_fail_async(&rig->script, 2, size, left, 1000 * MIB);
}

static void test_what_a_pool_of_the_drivers_has_and_did_not_use_is_told(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	make_stream_ordered(&rig, 0, 400 * MIB, 50 * MIB);
	text = tell(&rig, true);
	assert_non_null(strstr(text, "cause: UNKNOWN\n"
				     "  pool stream-ordered, which was asked, has 700 MiB that it "
				     "does not use; in which pieces, the\n"
				     "    driver does not say\n"));
	end(&rig);
}

static void test_a_limit_of_a_pool_of_the_drivers_is_told(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	make_stream_ordered(&rig, 850 * MIB, 80 * MIB, 150 * MIB);
	text = tell(&rig, true);
	assert_non_null(strstr(text,
			       "cause: LIMIT\n"
			       "  pool stream-ordered holds 800 MiB (sampled), 100 MiB of it in "
			       "blocks, and may hold 850 MiB\n"
			       "  most is live at          train+0x100\n"));
	assert_non_null(strstr(text, "  remedy                   raise maxSize of that pool "
				     "(cudaMemPoolProps), now 850 MiB: "));
	end(&rig);
}

static void test_words_of_a_pool_end_before_its_advice(void **state)
{
	static const char words[] =
		"It is full. If reserved but unallocated memory is large, pray.";
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig);
	script_name(&rig.script, 9, words);
	script_fail(&rig.script, 150 * MIB, 0, 1000 * MIB);
	script_block_fail(&rig.script, 1, 150 * MIB);
	script_add(&rig.script, (struct vs_record){.type = VS_RECORD_BLOCK_FAILED_TEXT,
						   .block_failed_text = {.pool = 1, .name = 9}});
	text = tell(&rig, true);
	assert_non_null(strstr(text, "\n  cache says               It is full.\n"));
	end(&rig);
}

static void test_nothing_is_wider_than_the_terminal(void **state)
{
	struct story_rig rig;

	(void)state;
	for (uint32_t width = 40; width <= 130; width += 9) {
		make_holes(&rig);
		rig.options.width = width;
		rig.options.ascii = width & 1;
		story_rig_assert_width(tell(&rig, true), width);
		end(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fragmentation_names_what_is_in_the_way),
		cmocka_unit_test(test_a_program_that_goes_on_is_told),
		cmocka_unit_test(test_report_has_the_cause_and_the_remedy_but_not_the_rest),
		cmocka_unit_test(test_segments_to_be_emptied_are_named_where_no_hole_can_be_made),
		cmocka_unit_test(test_the_command_that_tells_more_can_be_typed_as_it_is_told),
		cmocka_unit_test(test_retention_names_the_call_that_all_growing_sites_have),
		cmocka_unit_test(test_unknown_is_told_plainly),
		cmocka_unit_test(test_what_a_pool_of_the_drivers_has_and_did_not_use_is_told),
		cmocka_unit_test(test_a_limit_of_a_pool_of_the_drivers_is_told),
		cmocka_unit_test(test_words_of_a_pool_end_before_its_advice),
		cmocka_unit_test(test_nothing_is_wider_than_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
