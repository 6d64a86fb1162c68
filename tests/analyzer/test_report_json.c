#include "report_json.h"

#include <string.h>

#include "json_check.h"
#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)

static const uint64_t frames[][1] = {{0x1100}, {0x1200}, {0x1300}, {0x1400}};

static void setup(struct story_rig *rig)
{
	struct script *script = &rig->script;

	story_rig_init(rig);
	script_device(script, 0, 1000 * MIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "cache");
	script_name(script, 1, "backward");
	script_module(script, 1, 0x1000, 0x2000, "/nowhere/train");
	for (uint32_t i = 0; i < 4; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_set_stack(script, 1);
}

/* 400 bytes of the pool; a block of 50 in each of 4 steps, as much free behind each. */
static void make_holes(struct script *script)
{
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 400);
	script_set_stack(script, 2);
	for (uint64_t i = 0; i < 4; i++) {
		script_step(script, i);
		script_block(script, 1, BASE + i * 100, 50);
	}
	script_set_stack(script, 3);
}

static const struct vs_replay_device *open_json(struct story_rig *rig)
{
	story_rig_open_json(rig);
	return script_get_device(rig->story.analysis.replay);
}

static void close_json(struct story_rig *rig)
{
	story_rig_close(rig);
	story_rig_fini(rig);
}

/* ---- Counts --------------------------------------------------------------------------------- */

static void test_every_kind_is_there_also_when_it_was_not_used(void **state)
{
	static const char *const kinds[] = {
#define VS_MEMORY_KIND(name, text) text,
#include "memory_kind.def"
#undef VS_MEMORY_KIND
	};
	struct story_rig rig;
	const char *json;
	char path[64];

	(void)state;
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 70);
	script_alloc(&rig.script, VS_MEMORY_PINNED, 2 * BASE, 5);
	script_fail(&rig.script, 1000, 0, 0);
	vs_report_json_put_kinds(&rig.story, open_json(&rig));
	json = story_rig_read(&rig);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool is_used = !strcmp(kinds[i], "device") || !strcmp(kinds[i], "pinned");

		snprintf(path, sizeof(path), "memory_kinds/%s/allocs", kinds[i]);
		json_check_value(json, path, is_used ? "1" : "0");
	}
	json_check_value(json, "allocs", "1"); /* pinned memory is not the device's */
	json_check_value(json, "failed_allocs", "1");
	json_check_value(json, "ooms", "1");
	json_check_value(json, "live_at_end_bytes", "70");
	json_check_value(json, "reserved_at_end_bytes", "70");
	json_check_value(json, "memory_kinds/pinned/bytes_allocated", "5");
	json_check_value(json, "memory_kinds/device/failed_allocs", "1");
	close_json(&rig);
}

static void test_counts_are_exact_up_to_the_last_bit(void **state)
{
	const struct vs_counts counts = {.allocs = UINT64_MAX, .live_at_end_bytes = 1ull << 53 | 1};
	struct story_rig rig;

	(void)state;
	setup(&rig);
	open_json(&rig);
	vs_report_json_put_counts(rig.story.json, &counts);
	json_check_value(story_rig_read(&rig), "allocs", "18446744073709551615");
	json_check_value(story_rig_read(&rig), "live_at_end_bytes", "9007199254740993");
	close_json(&rig);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void test_failures_are_groups_and_the_last_one_has_a_cause(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	make_holes(&rig.script);
	script_fail(&rig.script, 500, 80, 1000); /* served when asked again */
	script_alloc(&rig.script, VS_MEMORY_DEVICE, 2 * BASE, 500);
	script_push(&rig.script, 1);
	script_set_stack(&rig.script, 4);
	script_block_fail(&rig.script, 1, 150);
	open_json(&rig);
	story_rig_look(&rig, &then);
	assert_int_equal(vs_report_json_put_failures(&rig.story, &then), 0);
	json = story_rig_read(&rig);
	json_check_value(json, "failures/0/kind", "\"device\"");
	json_check_value(json, "failures/0/pool", "null");
	json_check_value(json, "failures/0/recovered", "1");
	json_check_value(json, "failures/0/ooms", "0");
	json_check_value(json, "failures/1/kind", "null");
	json_check_value(json, "failures/1/pool", "\"cache\"");
	json_check_value(json, "failures/1/ooms", "1");
	json_check_value(json, "failures/1/site", "\"train+0x400\"");
	json_check_absent(json, "failures/2");
	json_check_value(json, "last_oom/cause", "\"fragmentation\"");
	json_check_value(json, "last_oom/requested_bytes", "150");
	json_check_value(json, "last_oom/free_bytes", "null");
	json_check_value(json, "last_oom/hole_bytes", "200");
	json_check_value(json, "last_oom/largest_hole_bytes", "50");
	json_check_value(json, "last_oom/holes_below_request_bytes", "200");
	json_check_value(json, "last_oom/holes_below_request_share", "1");
	json_check_value(json, "last_oom/at/step", "3");
	json_check_value(json, "last_oom/at/phase", "\"backward\"");
	vs_device_state_fini(&then);
	close_json(&rig);
}

static void test_without_a_failure_there_is_a_null_and_not_nothing(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;

	(void)state;
	setup(&rig);
	make_holes(&rig.script);
	open_json(&rig);
	story_rig_look(&rig, &then);
	assert_int_equal(vs_report_json_put_failures(&rig.story, &then), 0);
	json_check_value(story_rig_read(&rig), "failures", "[]");
	json_check_value(story_rig_read(&rig), "last_oom", "null");
	vs_device_state_fini(&then);
	close_json(&rig);
}

/* ---- At an instant -------------------------------------------------------------------------- */

static void test_pools_have_counts_of_all_time_and_their_state_then(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	make_holes(&rig.script);
	script_pool(&rig.script, 3, VS_POOL_FRAMEWORK, 0, 77, "torch");
	script_pool(&rig.script, 4, VS_POOL_PROGRAM, 1, 0, "elsewhere");
	script_block(&rig.script, 3, 2 * BASE, 1);
	rig.options.at = VS_AT_TIME;
	rig.options.at_ns = 5000; /* two blocks, and no second pool */
	open_json(&rig);
	story_rig_look(&rig, &then);
	vs_report_json_put_pools(&rig.story, &then);
	json = story_rig_read(&rig);
	json_check_value(json, "pools/0/name", "\"cache\"");
	json_check_value(json, "pools/0/owner", "\"program\"");
	json_check_value(json, "pools/0/allocs", "4");
	json_check_value(json, "pools/0/then/blocks", "2");
	json_check_value(json, "pools/0/then/held_bytes", "400");
	json_check_value(json, "pools/0/then/largest_hole_bytes", "250");
	json_check_value(json, "pools/1/name", "\"torch\"");
	json_check_value(json, "pools/1/owner", "\"framework\"");
	json_check_value(json, "pools/1/limit_bytes", "77");
	json_check_value(json, "pools/1/then/blocks", "0");
	json_check_value(json, "pools/1/then/fragmentation", "0");
	json_check_value(json, "pools/1/then/sampled", "false");
	json_check_absent(json, "pools/2"); /* another device's */
	vs_device_state_fini(&then);
	close_json(&rig);
}

static void test_driver_pools_are_pools_whose_size_was_sampled(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	script_pool(&rig.script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(&rig.script, 2, BASE, 300);
	script_pool_state(&rig.script, 2, 400);
	script_fail_async(&rig.script, 2, 500 * MIB, 100 * MIB, 1000 * MIB);
	open_json(&rig);
	story_rig_look(&rig, &then);
	vs_report_json_put_pools(&rig.story, &then);
	json = story_rig_read(&rig);
	json_check_value(json, "pools/1/name", "\"stream-ordered\"");
	json_check_value(json, "pools/1/owner", "\"driver\"");
	json_check_value(json, "pools/1/allocs", "1");
	json_check_value(json, "pools/1/failed_allocs", "1");
	json_check_value(json, "pools/1/ooms", "1");
	json_check_value(json, "pools/1/then/held_bytes", "400");
	json_check_value(json, "pools/1/then/segments", "0");
	json_check_value(json, "pools/1/then/block_bytes", "300");
	json_check_value(json, "pools/1/then/releasable_bytes", "100");
	json_check_value(json, "pools/1/then/sampled", "true");
	json_check_absent(json, "pools/2");
	vs_device_state_fini(&then);
	close_json(&rig);
}

static void test_where_has_nulls_for_what_the_driver_did_not_tell(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	make_holes(&rig.script);
	open_json(&rig);
	story_rig_look(&rig, &then);
	vs_report_json_put_where(&rig.story, &then);
	json = story_rig_read(&rig);
	json_check_value(json, "where/live_bytes", "200");
	json_check_value(json, "where/hole_bytes", "200");
	json_check_value(json, "where/outside_bytes", "null");
	json_check_value(json, "where/not_taken_bytes", "null");
	json_check_value(json, "where/not_seen_bytes", "1048575600");
	vs_device_state_fini(&then);
	story_rig_close(&rig);
	script_fail(&rig.script, 1000 * MIB, 300 * MIB, 1000 * MIB);
	open_json(&rig);
	story_rig_look(&rig, &then);
	vs_report_json_put_where(&rig.story, &then);
	json = story_rig_read(&rig);
	json_check_value(json, "where/not_taken_bytes", "314572800");
	json_check_value(json, "where/rounding_bytes", "2096752"); /* a page, 400 of it taken */
	json_check_value(json, "where/driver_rounding_bytes", "2096752");
	json_check_value(json, "where/rounding_unknown_bytes", "0");
	json_check_value(json, "where/outside_bytes", "731906048");
	json_check_value(json, "where/not_seen_bytes", "0");
	vs_device_state_fini(&then);
	close_json(&rig);
}

static void test_holes_are_those_of_the_worst_pool_or_zero(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, 2 * BASE, 1);
	open_json(&rig);
	story_rig_look(&rig, &then);
	vs_report_json_put_holes(&rig.story, &then);
	json_check_value(story_rig_read(&rig), "holes", "0");
	json_check_value(story_rig_read(&rig), "fragmentation", "0");
	vs_device_state_fini(&then);
	story_rig_close(&rig);
	make_holes(&rig.script);
	open_json(&rig);
	story_rig_look(&rig, &then);
	vs_report_json_put_holes(&rig.story, &then);
	json = story_rig_read(&rig);
	json_check_value(json, "holes", "4");
	json_check_value(json, "hole_bytes", "200");
	json_check_value(json, "fragmentation", "0.75");
	json_check_value(json, "scatter", "0.5");
	json_check_value(json, "at/step", "3");
	json_check_value(json, "at/phase", "null");
	vs_device_state_fini(&then);
	close_json(&rig);
}

/* ---- Peak, retained, worst ------------------------------------------------------------------ */

static void test_peak_has_both_marks_and_its_sites(void **state)
{
	const struct vs_replay_device *device;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	make_holes(&rig.script);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, 2 * BASE, 30);
	device = open_json(&rig);
	assert_int_equal(vs_report_json_put_peak(&rig.story, device, 1), 0);
	json = story_rig_read(&rig);
	json_check_value(json, "peak_live_bytes", "230");
	json_check_value(json, "peak_live_count", "5");
	json_check_value(json, "reserved_at_peak_live_bytes", "430");
	json_check_value(json, "peak_reserved_bytes", "430");
	json_check_value(json, "peak_live_at/time_ns", "10000");
	json_check_value(json, "peak_sites/0/bytes", "200");
	json_check_value(json, "peak_sites/0/count", "4");
	json_check_value(json, "peak_sites/0/stack/0/function", "\"train+0x200\"");
	json_check_value(json, "peak_sites/0/stack/0/module", "\"/nowhere/train\"");
	json_check_value(json, "peak_sites/0/stack/0/line", "null");
	json_check_absent(json, "peak_sites/1"); /* one row was asked for */
	close_json(&rig);
}

static void test_retained_has_its_forecast_or_nulls(void **state)
{
	struct vs_device_state then;
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	for (uint64_t i = 0; i < 20; i++) {
		script_step(&rig.script, 100 + i);
		script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE + i * GIB, MIB);
	}
	open_json(&rig);
	story_rig_look(&rig, &then);
	assert_int_equal(vs_report_json_put_retained(&rig.story, &then.retained, 10), 0);
	json = story_rig_read(&rig);
	json_check_value(json, "retained/unit", "\"step\"");
	json_check_value(json, "retained/growing", "true");
	json_check_value(json, "retained/bytes_per_step", "1048576");
	json_check_value(json, "retained/since", "100");
	json_check_value(json, "retained/steps_to_full", "981");
	json_check_value(json, "retained/sites/0/growing", "true");
	json_check_value(json, "retained/sites/0/site", "\"train+0x100\"");
	vs_device_state_fini(&then);
	close_json(&rig);
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 1);
	open_json(&rig);
	story_rig_look(&rig, &then);
	assert_int_equal(vs_report_json_put_retained(&rig.story, &then.retained, 10), 0);
	json = story_rig_read(&rig);
	json_check_value(json, "retained/unit", "\"interval\"");
	json_check_value(json, "retained/growing", "false");
	json_check_value(json, "retained/since", "null");
	json_check_value(json, "retained/steps_to_full", "null");
	json_check_value(json, "retained/sites", "[]");
	vs_device_state_fini(&then);
	close_json(&rig);
}

static void test_worst_fragmentation_has_a_pool_or_null(void **state)
{
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	make_holes(&rig.script);
	vs_report_json_put_worst(&rig.story, open_json(&rig));
	json = story_rig_read(&rig);
	json_check_value(json, "worst_fragmentation/pool", "\"cache\"");
	json_check_value(json, "worst_fragmentation/fragmentation", "0.75");
	json_check_value(json, "worst_fragmentation/holes", "4");
	close_json(&rig);
	setup(&rig);
	vs_report_json_put_worst(&rig.story, open_json(&rig));
	json = story_rig_read(&rig);
	json_check_value(json, "worst_fragmentation/pool", "null");
	json_check_value(json, "worst_fragmentation/fragmentation", "0");
	close_json(&rig);
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* Whatever bytes names are made of, each chapter stays JSON. */
static void test_names_of_any_bytes_are_escaped_everywhere(void **state)
{
	static const char bad[] = "a\"b\\c\n\t\x01\x1f\x7f\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xc2"
				  "\x9b/\xe2\x82";
	static const char bad_module[] = "/nowhere/m\"\\\x02\xfe\xc3";
	struct vs_device_state then;
	const struct vs_replay_device *device;
	struct story_rig rig;
	const char *json;

	(void)state;
	story_rig_init(&rig);
	rig.trace.command = "tr\"ain\n\x03\xff\n";
	script_add(&rig.script,
		   (struct vs_record){
			   .type = VS_RECORD_DEVICE,
			   .device = {.total_size = GIB, .name = {bad, (uint32_t)strlen(bad)}}});
	script_pool(&rig.script, 1, VS_POOL_PROGRAM, 0, 0, bad);
	script_name(&rig.script, 1, bad);
	script_module(&rig.script, 1, 0x1000, 0x2000, bad_module);
	script_stack(&rig.script, 1, frames[0], 1);
	script_set_stack(&rig.script, 1);
	script_push(&rig.script, 1);
	make_holes(&rig.script);
	script_set_stack(&rig.script, 1);
	script_add(&rig.script, (struct vs_record){.type = VS_RECORD_ALLOC,
						   .alloc = {.kind = VS_MEMORY_DEVICE,
							     .address = 3 * BASE,
							     .size = 8,
							     .stack = 1,
							     .api = 1}});
	script_block_fail(&rig.script, 1, 150);
	device = open_json(&rig);
	story_rig_look(&rig, &then);
	vs_story_put_json_trace(&rig.story);
	vs_json_begin_object(&rig.json, "d");
	vs_story_put_json_device(&rig.story, device);
	vs_report_json_put_kinds(&rig.story, device);
	assert_int_equal(vs_report_json_put_failures(&rig.story, &then), 0);
	vs_report_json_put_where(&rig.story, &then);
	vs_report_json_put_holes(&rig.story, &then);
	vs_report_json_put_pools(&rig.story, &then);
	assert_int_equal(vs_report_json_put_peak(&rig.story, device, 10), 0);
	assert_int_equal(vs_report_json_put_retained(&rig.story, &then.retained, 10), 0);
	vs_report_json_put_worst(&rig.story, device);
	json = story_rig_read(&rig);
	json_check_whole(json);
	json_check_value(json, "command", "\"'tr\\\"ain' '\\u0003\\ufffd'\"");
	json_check_value(
		json, "d/pools/0/name",
		"\"a\\\"b\\\\c\\n\\t\\u0001\\u001f\\u007f\\ufffd\\ufffd("
		"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\u009b/\\ufffd\\ufffd\"");
	json_check_value(json, "d/peak_sites/1/stack/0/module",
			 "\"/nowhere/m\\\"\\\\\\u0002\\ufffd\\ufffd\"");
	vs_device_state_fini(&then);
	close_json(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_is_there_also_when_it_was_not_used),
		cmocka_unit_test(test_counts_are_exact_up_to_the_last_bit),
		cmocka_unit_test(test_failures_are_groups_and_the_last_one_has_a_cause),
		cmocka_unit_test(test_without_a_failure_there_is_a_null_and_not_nothing),
		cmocka_unit_test(test_pools_have_counts_of_all_time_and_their_state_then),
		cmocka_unit_test(test_driver_pools_are_pools_whose_size_was_sampled),
		cmocka_unit_test(test_where_has_nulls_for_what_the_driver_did_not_tell),
		cmocka_unit_test(test_holes_are_those_of_the_worst_pool_or_zero),
		cmocka_unit_test(test_peak_has_both_marks_and_its_sites),
		cmocka_unit_test(test_retained_has_its_forecast_or_nulls),
		cmocka_unit_test(test_worst_fragmentation_has_a_pool_or_null),
		cmocka_unit_test(test_names_of_any_bytes_are_escaped_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
