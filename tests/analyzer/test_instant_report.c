#include "instant_report.h"

#include <string.h>

#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)

static const uint64_t frames[][1] = {{0x1100}, {0x1200}};

/* 300 MiB that pool 1 divides: 40, a hole of 60, 50 and 150 free behind. Then 100 MiB beside it. */
static void setup(struct story_rig *rig)
{
	struct script *script = &rig->script;

	story_rig_init(rig);
	script_device(script, 0, GIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "cache");
	script_module(script, 1, 0x1000, 0x2000, "/nowhere/train");
	for (uint32_t i = 0; i < 2; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_set_stack(script, 1);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 300 * MIB); /* 1 us */
	script_block(script, 1, BASE, 40 * MIB);
	script_block(script, 1, BASE + 100 * MIB, 50 * MIB); /* 3 us */
	script_set_stack(script, 2);
	script_alloc(script, VS_MEMORY_DEVICE, BASE + GIB, 100 * MIB);
	script_fail(script, 2 * GIB, 600 * MIB, GIB); /* 5 us */
	script_free(script, VS_MEMORY_DEVICE, BASE + GIB);
}

static void look(struct story_rig *rig, struct vs_device_state *state, uint64_t at_ns)
{
	rig->options.at = VS_AT_TIME;
	rig->options.at_ns = at_ns;
	story_rig_look(rig, state);
}

static void test_sites_are_those_that_have_something_then(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig);
	story_rig_open_text(&rig);
	look(&rig, &then, 4000);
	vs_instant_report_put_live(&rig.story, &then);
	assert_int_equal(vs_instant_report_put_sites(&rig.story, &then, 5), 0);
	vs_device_state_fini(&then);
	assert_string_equal(story_rig_read(&rig),
			    "LIVE          190 MiB in 400 MiB reserved at 4.00 us\n"
			    "  100 MiB    53 %       1 x   train+0x200\n"
			    "  90.0 MiB   47 %       2 x   train+0x100\n");
	story_rig_close(&rig);
	/* One row, and an instant at which the other site has nothing yet. */
	story_rig_open_text(&rig);
	look(&rig, &then, 2000);
	assert_int_equal(vs_instant_report_put_sites(&rig.story, &then, 1), 0);
	vs_device_state_fini(&then);
	assert_string_equal(story_rig_read(&rig), "  40.0 MiB  100 %       1 x   train+0x100\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_json_has_the_same_numbers(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig);
	story_rig_open_json(&rig);
	look(&rig, &then, 4000);
	vs_instant_report_put_live(&rig.story, &then);
	assert_int_equal(vs_instant_report_put_sites(&rig.story, &then, 1), 0);
	vs_device_state_fini(&then);
	text = story_rig_read(&rig);
	assert_non_null(strstr(text, "\"live_bytes\": 199229440"));
	assert_non_null(strstr(text, "\"reserved_bytes\": 419430400"));
	assert_non_null(strstr(text, "\"bytes\": 104857600"));
	assert_null(strstr(text, "\"bytes\": 94371840"));
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_holes_are_those_of_the_instant(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig);
	story_rig_open_text(&rig);
	look(&rig, &then, 3000);
	vs_instant_report_put_holes(&rig.story, &then);
	vs_device_state_fini(&then);
	/* 60 and 150 MiB. */
	assert_string_equal(story_rig_read(&rig),
			    "FRAGMENTATION 0.29 in pool cache: of 210 MiB in holes, 60.0 MiB are "
			    "outside the largest\n");
	story_rig_close(&rig);
	story_rig_open_text(&rig);
	look(&rig, &then, 1000);
	vs_instant_report_put_holes(&rig.story, &then);
	vs_device_state_fini(&then);
	assert_string_equal(story_rig_read(&rig), "FRAGMENTATION no hole is known then\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_the_whole_run_has_a_peak_and_a_failure(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig);
	story_rig_open_text(&rig);
	look(&rig, &then, 2000);
	vs_instant_report_put_run(&rig.story, &then);
	vs_device_state_fini(&then);
	assert_string_equal(
		story_rig_read(&rig),
		"WHOLE RUN     at most 190 MiB live at 4.00 us; out of memory at 5.00 us\n"
		"              causes and growth: vramscope report run.vscope\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_are_those_that_have_something_then),
		cmocka_unit_test(test_json_has_the_same_numbers),
		cmocka_unit_test(test_holes_are_those_of_the_instant),
		cmocka_unit_test(test_the_whole_run_has_a_peak_and_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
