#include "composition_report.h"

#include <string.h>

#include "json_check.h"
#include "story_rig.h"

#define BASE ((uint64_t)0x10000000)

/* Two blocks of PyTorch's, of which nothing is known but their sizes, and 3 MiB of others. */
static void setup(struct story_rig *rig, const char *pool)
{
	struct script *script = &rig->script;

	story_rig_init(rig);
	script_device(script, 0, GIB);
	script_pool(script, 1, VS_POOL_FRAMEWORK, 0, 0, pool);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 20 * MIB);
	script_block(script, 1, BASE, 4 * MIB);
	script_block(script, 1, BASE + 8 * MIB, 6 * MIB);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE, 3 * MIB);
}

/* At the end, when all of it is live. */
static void tell(struct story_rig *rig)
{
	const struct vs_instant at = {.time_ns = UINT64_MAX};
	const struct vs_replay_device *device = script_get_device(rig->story.analysis.replay);

	assert_int_equal(
		vs_composition_report_tell(&rig->story, "categories", device, &at, 13 * MIB), 0);
}

static void test_text_names_what_it_is_made_of_and_what_is_not_pytorchs(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, "PyTorch");
	story_rig_open_text(&rig);
	tell(&rig);
	assert_string_equal(story_rig_read(&rig),
			    "              made of unclear 10.0 MiB, not PyTorch's 3.00 MiB\n");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_text_says_nothing_of_other_pools(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, "arena");
	story_rig_open_text(&rig);
	tell(&rig);
	assert_string_equal(story_rig_read(&rig), "");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_json_has_every_category(void **state)
{
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig, "PyTorch");
	story_rig_open_json(&rig);
	tell(&rig);
	text = story_rig_read(&rig);
	json_check_value(text, "categories/unclear/bytes", "10485760");
	json_check_value(text, "categories/unclear/count", "2");
	json_check_value(text, "categories/optimizer/bytes", "0");
	json_check_value(text, "categories/parameter/count", "0");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_json_of_other_pools_is_null(void **state)
{
	struct story_rig rig;

	(void)state;
	setup(&rig, "arena");
	story_rig_open_json(&rig);
	tell(&rig);
	json_check_value(story_rig_read(&rig), "categories", "null");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_blocks_come_by_size_and_no_more_than_asked_for(void **state)
{
	const struct vs_instant at = {.time_ns = UINT64_MAX};
	struct story_rig rig;
	const char *text;

	(void)state;
	setup(&rig, "PyTorch");
	story_rig_open_json(&rig);
	assert_int_equal(vs_composition_report_tell_blocks(
				 &rig.story, script_get_device(rig.story.analysis.replay), &at, 2),
			 0);
	text = story_rig_read(&rig);
	json_check_value(text, "blocks/0/address", "276824064"); /* BASE + 8 MiB */
	json_check_value(text, "blocks/0/bytes", "6291456");
	json_check_value(text, "blocks/0/category", "\"unclear\"");
	json_check_value(text, "blocks/1/bytes", "4194304");
	story_rig_close(&rig);
	story_rig_open_text(&rig);
	assert_int_equal(vs_composition_report_tell_blocks(
				 &rig.story, script_get_device(rig.story.analysis.replay), &at, 1),
			 0);
	text = story_rig_read(&rig);
	assert_ptr_equal(strstr(text, "  0x10800000  6.00 MiB  unclear "), text);
	assert_null(strstr(text, "0x10000000"));
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_names_what_it_is_made_of_and_what_is_not_pytorchs),
		cmocka_unit_test(test_text_says_nothing_of_other_pools),
		cmocka_unit_test(test_json_has_every_category),
		cmocka_unit_test(test_json_of_other_pools_is_null),
		cmocka_unit_test(test_blocks_come_by_size_and_no_more_than_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
