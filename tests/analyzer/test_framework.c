#include "framework.h"

#include <string.h>

#include "story_rig.h"

static void add_fact(struct story_rig *rig, const char *key, const char *value)
{
	script_add(&rig->script,
		   (struct vs_record){.type = VS_RECORD_FACT,
				      .fact = {.key = {key, (uint32_t)strlen(key)},
					       .value = {value, (uint32_t)strlen(value)}}});
}

static const char *tell(struct story_rig *rig)
{
	story_rig_open_text(rig);
	vs_framework_put_text(&rig->story);
	return story_rig_read(rig);
}

static void test_a_program_without_a_framework_says_nothing(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	assert_string_equal(tell(&rig), "");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_the_release_is_named(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	add_fact(&rig, "torch.version", "2.8.0");
	add_fact(&rig, "torch.version", "the first counts");
	add_fact(&rig, "torch.blocks", "recorded");
	script_pool(&rig.script, 7, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	assert_string_equal(tell(&rig), "PYTORCH       2.8.0\n");
	assert_null(vs_framework_get_lack(&rig.story));
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_blocks_that_are_not_recorded_are_missed_aloud(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	add_fact(&rig, "torch.version", "2.16.0");
	add_fact(&rig, "torch.blocks", "off: this release is not known");
	assert_string_equal(tell(&rig),
			    "PYTORCH       2.16.0; its blocks are not in the trace: this "
			    "release is not known\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_an_allocator_that_reports_nothing_is_said(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	add_fact(&rig, "torch.blocks", "recorded, version not checked");
	assert_string_equal(
		tell(&rig),
		"PYTORCH       of an unknown release; its blocks are not in the trace: "
		"it reported none: another\n              allocator, or caching is off\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_a_library_that_never_reported_is_said(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	script_module(&rig.script, 1, 0x10000, 0x20000, "/x/torch/lib/libc10_cuda.so");
	assert_non_null(strstr(tell(&rig), "its blocks are not in the trace: it does not"));
	assert_string_equal(vs_framework_get_lack(&rig.story),
			    "it does not report them in a known way");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_facts_are_an_object_in_json(void **state)
{
	struct story_rig rig;

	(void)state;
	story_rig_init(&rig);
	script_init_usual(&rig.script);
	add_fact(&rig, "torch.version", "2.8.0");
	story_rig_open_json(&rig);
	vs_framework_put_json(&rig.story);
	assert_non_null(strstr(story_rig_read(&rig), "\"torch.version\": \"2.8.0\""));
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_without_a_framework_says_nothing),
		cmocka_unit_test(test_the_release_is_named),
		cmocka_unit_test(test_blocks_that_are_not_recorded_are_missed_aloud),
		cmocka_unit_test(test_an_allocator_that_reports_nothing_is_said),
		cmocka_unit_test(test_a_library_that_never_reported_is_said),
		cmocka_unit_test(test_facts_are_an_object_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
