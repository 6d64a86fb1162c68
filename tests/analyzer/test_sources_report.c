#include "sources_report.h"

#include <string.h>

#include "story_rig.h"

static void add_fact(struct story_rig *rig, const char *key, const char *value)
{
	script_add(&rig->script,
		   (struct vs_record){.type = VS_RECORD_FACT,
				      .fact = {.key = {key, (uint32_t)strlen(key)},
					       .value = {value, (uint32_t)strlen(value)}}});
}

static void add_seen_by(struct story_rig *rig, uint32_t source, uint32_t nr_events)
{
	script_add(&rig->script,
		   (struct vs_record){.type = VS_RECORD_SEEN_BY, .seen_by = {source, nr_events}});
}

/* Three events of the driver, and others. */
static void begin(struct story_rig *rig)
{
	story_rig_init(rig);
	script_init_usual(&rig->script);
	script_alloc(&rig->script, VS_MEMORY_DEVICE, 4096, 512);
	script_alloc(&rig->script, VS_MEMORY_DEVICE, 8192, 512);
	script_step(&rig->script, 1);
	script_free(&rig->script, VS_MEMORY_DEVICE, 4096);
}

static void check_text(struct story_rig *rig, const char *wanted)
{
	story_rig_open_text(rig);
	vs_sources_report_put_text(&rig->story);
	assert_string_equal(story_rig_read(rig), wanted);
	story_rig_close(rig);
	story_rig_fini(rig);
}

static void test_nothing_is_said_of_hooks_alone(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig);
	check_text(&rig, "");
}

static void test_what_only_cupti_saw_is_counted(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig);
	add_fact(&rig, "cupti.events", "recorded");
	add_seen_by(&rig, VS_SEEN_BY_CUPTI, 1);
	add_seen_by(&rig, VS_SEEN_BY_CUPTI, 1);
	add_seen_by(&rig, 17, 100); /* of a later version */
	check_text(&rig,
		   "SOURCES       hooks and CUPTI: 2 of 3 events of the driver were seen only "
		   "by CUPTI, the calls got\n              past the hooks\n");
}

static void test_nothing_past_the_hooks_is_said_too(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig);
	add_fact(&rig, "cupti.events", "recorded");
	check_text(&rig, "SOURCES       hooks and CUPTI: all 3 events of the driver came by the "
			 "hooks\n");
}

static void test_cupti_alone_saw_all(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig);
	add_fact(&rig, "cupti.events", "recorded, hooks off");
	check_text(&rig, "SOURCES       CUPTI alone (hooks off): 3 events of the driver\n");
}

static void test_why_there_was_no_cupti_is_said(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig);
	add_fact(&rig, "cupti.events", "off: nobody has it");
	check_text(&rig, "SOURCES       hooks; CUPTI was asked for and is off: nobody has it\n");
	begin(&rig);
	add_fact(&rig, "cupti.events", "recorded");
	add_fact(&rig, "cupti.ended", "the program ends CUPTI");
	check_text(&rig, "SOURCES       hooks and CUPTI: all 3 events of the driver came by the "
			 "hooks; CUPTI only until the\n              program ends CUPTI\n");
}

static void test_events_about_events_are_not_counted(void **state)
{
	struct story_rig rig;

	(void)state;
	begin(&rig);
	add_fact(&rig, "cupti.events", "recorded");
	add_seen_by(&rig, VS_SEEN_BY_CUPTI, 2);
	story_rig_open_json(&rig);
	vs_story_put_json_trace(&rig.story);
	assert_non_null(strstr(story_rig_read(&rig), "\"events\": 4,"));
	assert_non_null(strstr(story_rig_read(&rig), "\"driver_events\": 3,"));
	assert_non_null(strstr(story_rig_read(&rig), "\"seen_only_by_cupti\": 2,"));
	assert_non_null(strstr(story_rig_read(&rig), "\"cupti\": \"recorded\""));
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

/* What is said of a failure with so much in use outside of what was recorded. */
static void check_hint(uint64_t outside, const char *fact, bool is_wanted)
{
	struct vs_device_state state;
	struct story_rig rig;

	story_rig_init(&rig);
	script_init(&rig.script);
	script_device(&rig.script, 0, 8 * GIB);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, GIB, 2 * GIB); /* whole pages of the driver */
	script_fail(&rig.script, 8 * GIB, 6 * GIB - outside, 8 * GIB);
	if (fact)
		add_fact(&rig, "cupti.events", fact);
	story_rig_open_text(&rig);
	story_rig_look(&rig, &state);
	vs_sources_report_put_hint(&rig.story, &state);
	assert_int_equal(strstr(story_rig_read(&rig), "vramscope run --cupti") != NULL, is_wanted);
	vs_device_state_fini(&state);
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_much_that_nobody_saw_names_the_option(void **state)
{
	(void)state;
	check_hint(3 * GIB, NULL, true);
	check_hint(1 * GIB, NULL, true);
	check_hint(GIB / 2, NULL, false);
	check_hint(3 * GIB, "recorded", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_said_of_hooks_alone),
		cmocka_unit_test(test_what_only_cupti_saw_is_counted),
		cmocka_unit_test(test_nothing_past_the_hooks_is_said_too),
		cmocka_unit_test(test_cupti_alone_saw_all),
		cmocka_unit_test(test_why_there_was_no_cupti_is_said),
		cmocka_unit_test(test_events_about_events_are_not_counted),
		cmocka_unit_test(test_much_that_nobody_saw_names_the_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
