#include "phase_report.h"

#include <stdlib.h>
#include <string.h>

#include "json_check.h"
#include "story_rig.h"

#define BASE ((uint64_t)0x10000000)

static struct story_rig rig;
static struct vs_measure_phases measure;
static struct vs_replay *replay;

/* Two steps, each of them "forward" with "inner" in it; a range; and a request that fails. */
static void make(uint64_t nr_steps)
{
	struct script *script = &rig.script;

	story_rig_init(&rig);
	script_device(script, 0, 1000 * MIB);
	script_name(script, 1, "forward");
	script_name(script, 2, "inner");
	script_name(script, 3, "range");
	for (uint64_t i = 0; i < nr_steps; i++) {
		script_step(script, i);
		script_push(script, 1);
		script_alloc(script, VS_MEMORY_DEVICE, (2 * i + 1) * BASE, 4 * MIB);
		script_push(script, 2);
		script_alloc(script, VS_MEMORY_DEVICE, (2 * i + 2) * BASE, MIB);
		script_pop(script);
		script_free(script, VS_MEMORY_DEVICE, (2 * i + 1) * BASE);
		script_pop(script);
	}
	script_add(script, (struct vs_record){.type = VS_RECORD_RANGE_START,
					      .range_start = {.name = 3, .id = 1}});
	script_fail(script, 2 * GIB, 0, 0);
}

static void open_measure(void)
{
	assert_int_equal(vs_measure_phases_init(&measure), 0);
	assert_int_equal(vs_analysis_observe(&rig.story.analysis, &measure.observer, &replay), 0);
}

static void close_all(void)
{
	vs_measure_phases_fini(&measure);
	vs_replay_destroy(replay);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static const struct vs_replay_device *device(void)
{
	return script_get_device(rig.story.analysis.replay);
}

static void test_text_is_a_table_for_each_kind(void **state)
{
	static const char expected[] =
		"OUT OF MEMORY at 18.0 us in range of step 1: 2.00 GiB asked\n"
		"PHASES                   times      time peak live     begin       end allocated     "
		"freed      kept\n"
		"  forward                    2   12.0 us  6.00 MiB  1.00 MiB  2.00 MiB  10.0 MiB  "
		"8.00 MiB  2.00 MiB\n"
		"    inner                    2   4.00 us  6.00 MiB  5.00 MiB  6.00 MiB  2.00 MiB       "
		"0 B  2.00 MiB\n"
		"RANGES                   times      time peak live     begin       end allocated     "
		"freed      kept\n"
		"  range                      1   1.00 us  2.00 MiB  2.00 MiB  2.00 MiB       0 B       "
		"0 B       0 B\n"
		"STEPS                    times      time peak live     begin       end allocated     "
		"freed      kept\n"
		"  step 0                     1   8.00 us  5.00 MiB       0 B  1.00 MiB  5.00 MiB  4.00 "
		"MiB  1.00 MiB\n"
		"  step 1 *                   1   9.00 us  6.00 MiB  1.00 MiB  2.00 MiB  5.00 MiB  4.00 "
		"MiB  1.00 MiB\n";

	(void)state;
	make(2);
	story_rig_open_text(&rig);
	open_measure();
	assert_int_equal(vs_phase_report_put_text(&rig.story, &measure, device(), 40), 0);
	assert_string_equal(story_rig_read(&rig), expected);
	close_all();
}

static void test_of_many_rows_the_first_the_last_and_the_highest_are_shown(void **state)
{
	const char *text;

	(void)state;
	make(30);
	story_rig_open_text(&rig);
	open_measure();
	assert_int_equal(vs_phase_report_put_text(&rig.story, &measure, device(), 5), 0);
	text = story_rig_read(&rig);
	assert_non_null(strstr(text, "  step 0 "));
	assert_non_null(strstr(text, "  step 1 "));
	assert_null(strstr(text, "  step 2 "));
	assert_non_null(strstr(text, "  step 27 "));
	assert_non_null(strstr(text, "  step 28 "));
	assert_non_null(strstr(text, "  step 29 * "));
	assert_non_null(strstr(text, "  and 25 more steps; * has the highest peak\n"));
	story_rig_assert_width(text, 100);
	close_all();
}

static void test_what_is_left_out_is_what_allocates_least(void **state)
{
	const char *text;

	(void)state;
	make(1);
	story_rig_open_text(&rig);
	open_measure();
	assert_int_equal(vs_phase_report_put_text(&rig.story, &measure, device(), 1), 0);
	text = story_rig_read(&rig);
	assert_non_null(strstr(text, "  forward "));
	assert_null(strstr(text, "inner"));
	assert_non_null(strstr(text, "  and 1 more phases that allocate less\n"));
	close_all();
}

static void test_without_phases_the_text_says_how_to_get_some(void **state)
{
	(void)state;
	story_rig_init(&rig);
	script_device(&rig.script, 0, 1000 * MIB);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, MIB);
	story_rig_open_text(&rig);
	open_measure();
	assert_int_equal(vs_phase_report_put_text(&rig.story, &measure, device(), 5), 0);
	assert_non_null(strstr(story_rig_read(&rig), "no phases, steps or epochs were marked"));
	close_all();
}

static void test_json_has_all_numbers(void **state)
{
	const char *text;

	(void)state;
	make(2);
	story_rig_open_json(&rig);
	open_measure();
	vs_phase_report_put_json(&rig.story, &measure, device());
	text = story_rig_read(&rig);
	json_check_whole(text);
	json_check_value(text, "phases/0/path", "\"forward\"");
	json_check_value(text, "phases/1/path", "\"forward > inner\"");
	json_check_value(text, "phases/1/depth", "1");
	json_check_value(text, "phases/0/visits", "2");
	json_check_value(text, "phases/0/open", "0");
	json_check_value(text, "phases/0/time_ns", "12000");
	json_check_value(text, "phases/0/longest_ns", "6000");
	json_check_value(text, "phases/0/failed_requests", "0");
	json_check_value(text, "phases/0/peak_reserved_bytes", "6291456");
	json_check_value(text, "phases/0/alive_at_end_bytes", "2097152");
	json_check_value(text, "phases/0/highest/step", "1");
	json_check_value(text, "phases/0/first/live_at_end_bytes", "1048576");
	json_check_value(text, "ranges/0/failed_requests", "1");
	json_check_value(text, "ranges/0/open", "1");
	json_check_value(text, "ranges/0/alive_at_end_bytes", "null");
	json_check_value(text, "steps/together", "1");
	json_check_value(text, "steps/rows/1/first", "1");
	json_check_value(text, "steps/rows/1/kept_bytes", "1048576");
	json_check_value(text, "epochs", "null");
	json_check_value(text, "failures/0/ooms", "1");
	json_check_value(text, "failures/0/last_oom_at/phase", "\"range\"");
	close_all();
}

static void test_open_phases_are_listed_by_thread(void **state)
{
	struct vs_instant at = {.time_ns = 1000, .has_step = true, .step = 4};

	(void)state;
	story_rig_init(&rig);
	script_device(&rig.script, 0, 1000 * MIB);
	script_name(&rig.script, 1, "outer");
	script_name(&rig.script, 2, "inner");
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, MIB);
	script_set_thread(&rig.script, 2);
	script_push(&rig.script, 2);
	script_set_thread(&rig.script, 1);
	script_push(&rig.script, 1);
	script_push(&rig.script, 2);
	script_add(&rig.script, (struct vs_record){.type = VS_RECORD_RANGE_START,
						   .range_start = {.name = 1, .id = 1}});
	story_rig_open_text(&rig);
	open_measure();
	assert_int_equal(vs_phase_report_put_open(&rig.story, replay, device(), &at), 0);
	assert_string_equal(
		story_rig_read(&rig),
		"OPEN          1.00 MiB live in 1.00 MiB reserved at 1.00 us in step 4\n"
		"  thread 1                  outer > inner\n"
		"  thread 2                  inner\n"
		"  range                     outer\n");
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_a_table_for_each_kind),
		cmocka_unit_test(test_of_many_rows_the_first_the_last_and_the_highest_are_shown),
		cmocka_unit_test(test_what_is_left_out_is_what_allocates_least),
		cmocka_unit_test(test_without_phases_the_text_says_how_to_get_some),
		cmocka_unit_test(test_json_has_all_numbers),
		cmocka_unit_test(test_open_phases_are_listed_by_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
