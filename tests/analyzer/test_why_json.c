#include "why_json.h"

#include "json_check.h"
#include "story_rig.h"

#define BASE ((uint64_t)0x7f0000000000)

static void setup(struct story_rig *rig)
{
	story_rig_init(rig);
	script_device(&rig->script, 0, 1000 * MIB);
	script_pool(&rig->script, 1, VS_POOL_PROGRAM, 0, 0, "cache");
}

static const char *tell(struct story_rig *rig)
{
	struct vs_device_state state;

	story_rig_open_json(rig);
	story_rig_look(rig, &state);
	vs_json_begin_array(rig->story.json, "verdicts");
	assert_int_equal(vs_why_json_put(&rig->story, &state), 0);
	vs_json_end_array(rig->story.json);
	vs_device_state_fini(&state);
	return story_rig_read(rig);
}

static void test_verdict_has_its_evidence(void **state)
{
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 200 * MIB);
	script_block(&rig.script, 1, BASE, 50 * MIB);
	script_block(&rig.script, 1, BASE + 100 * MIB, 10 * MIB);
	script_fail(&rig.script, 140 * MIB, MIB, 1000 * MIB);
	script_block_fail(&rig.script, 1, 140 * MIB);
	json = tell(&rig);
	json_check_whole(json);
	json_check_value(json, "verdicts/0/time_ns", "5000");
	json_check_value(json, "verdicts/0/device", "0");
	json_check_value(json, "verdicts/0/occasion", "\"failure\"");
	json_check_value(json, "verdicts/0/requested_bytes", "146800640");
	json_check_value(json, "verdicts/0/pool", "\"cache\"");
	json_check_value(json, "verdicts/0/failures", "1");
	json_check_value(json, "verdicts/0/verdict", "\"fragmentation\"");
	json_check_value(json, "verdicts/0/runner_up", "\"capacity\"");
	json_check_value(json, "verdicts/0/evidence/hole_bytes", "146800640");
	json_check_value(json, "verdicts/0/evidence/largest_hole_bytes", "94371840");
	json_check_value(json, "verdicts/0/evidence/where/not_taken_bytes", "1048576");
	json_check_value(json, "verdicts/0/evidence/hypotheses/0/verdict", "\"fragmentation\"");
	json_check_value(json, "verdicts/0/evidence/hypotheses/0/holds", "true");
	json_check_value(json, "verdicts/0/evidence/pinning/blocks_beside_holes", "2");
	json_check_value(json, "verdicts/0/evidence/pinning/sets/0/blocks", "1");
	json_check_value(json, "verdicts/0/evidence/pinning/sets/0/block_bytes", "10485760");
	json_check_value(json, "verdicts/0/evidence/pinning/sets/0/hole_bytes", "157286400");
	json_check_value(json, "verdicts/0/evidence/pinning/sets/0/sites/0/blocks", "1");
	json_check_absent(json, "verdicts/0/evidence/hypotheses/7");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

static void test_verdict_without_pool_or_runner_up_says_null(void **state)
{
	struct story_rig rig;
	const char *json;

	(void)state;
	setup(&rig);
	script_alloc(&rig.script, VS_MEMORY_DEVICE, BASE, 900 * MIB);
	script_fail(&rig.script, 500 * MIB, 0, 0);
	json = tell(&rig);
	json_check_whole(json);
	json_check_value(json, "verdicts/0/verdict", "\"capacity\"");
	json_check_value(json, "verdicts/0/runner_up", "null");
	json_check_value(json, "verdicts/0/runner_up_lost", "null");
	json_check_value(json, "verdicts/0/pool", "null");
	json_check_value(json, "verdicts/0/evidence/free_bytes", "null");
	json_check_value(json, "verdicts/0/evidence/pinning", "null");
	story_rig_close(&rig);
	story_rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict_has_its_evidence),
		cmocka_unit_test(test_verdict_without_pool_or_runner_up_says_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
