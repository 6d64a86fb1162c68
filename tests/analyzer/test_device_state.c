/* device_state.c, cause.c, and the instants of analysis.c */
#include "device_state.h"

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static void setup(struct script *script, uint64_t limit_size)
{
	script_init(script);
	script_device(script, 0, 1000);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, limit_size, "pool");
}

static void look(struct script *script, struct vs_analysis *analysis, struct vs_device_state *state,
		 enum vs_at at, uint64_t at_ns)
{
	script_analyse(script, analysis);
	assert_int_equal(vs_device_state_init(state, analysis, script_get_device(analysis->replay),
					      at, at_ns),
			 0);
}

static void assert_cause(struct script *script, enum vs_cause_kind kind)
{
	struct vs_device_state then;
	struct vs_analysis analysis;

	look(script, &analysis, &then, VS_AT_DEFAULT, 0);
	assert_non_null(then.oom);
	assert_string_equal(vs_cause_name(then.cause.kind), vs_cause_name(kind));
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(script);
}

/* 800 held; 4 x 50 in blocks, 4 x 150 free between them. */
static void make_holes(struct script *script)
{
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 800);
	for (uint64_t i = 0; i < 4; i++)
		script_block(script, 1, BASE + i * 200, 50);
}

static void test_enough_in_holes_but_none_large_enough_is_fragmentation(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	make_holes(&script);
	script_fail(&script, 400, 100, 1000);
	script_block_fail(&script, 1, 400);
	assert_cause(&script, VS_CAUSE_FRAGMENTATION);
}

static void test_fixed_arena_is_fragmented_whatever_room_the_device_has(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 800);
	make_holes(&script);
	script_block_fail(&script, 1, 200);
	assert_cause(&script, VS_CAUSE_FRAGMENTATION);
}

static void test_full_pool_at_its_limit_is_a_limit(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 300);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 300);
	script_block(&script, 1, BASE, 300);
	script_block_fail(&script, 1, 100);
	assert_cause(&script, VS_CAUSE_LIMIT);
}

static void test_more_than_is_free_in_all_is_capacity(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_fail(&script, 400, 150, 1000);
	assert_cause(&script, VS_CAUSE_CAPACITY);
}

static void test_memory_that_a_pool_does_not_use_is_the_pools_fault(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_block(&script, 1, BASE, 10);
	script_block_free(&script, 1, BASE);
	script_fail(&script, 400, 150, 1000);
	assert_cause(&script, VS_CAUSE_POOL);
}

static void test_growth_that_took_the_missing_bytes_is_retention(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	for (uint64_t i = 0; i < 8; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 100);
	}
	script_fail(&script, 250, 150, 1000);
	assert_cause(&script, VS_CAUSE_RETENTION);
}

static void test_failure_with_enough_free_is_unknown(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_fail(&script, 400, 900, 1000);
	assert_cause(&script, VS_CAUSE_UNKNOWN);
}

static void test_whereabouts_add_up_to_the_device(void **state)
{
	struct vs_device_state then;
	struct vs_whereabouts where;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 0);
	make_holes(&script);
	script_fail(&script, 400, 80, 1000);
	script_free(&script, VS_MEMORY_DEVICE, BASE); /* later: must not show */
	look(&script, &analysis, &then, VS_AT_DEFAULT, 0);
	vs_device_state_get_whereabouts(&then, &where);
	assert_int_equal(where.live_bytes, 200);
	assert_int_equal(where.hole_bytes, 600);
	assert_int_equal(where.cached_bytes, 0);
	assert_int_equal(where.not_taken_bytes, 80);
	assert_int_equal(where.outside_bytes, 120);
	assert_int_equal(where.live_bytes + where.hole_bytes + where.cached_bytes +
				 where.outside_bytes + where.not_taken_bytes,
			 where.total_bytes);
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_at_names_the_instant(void **state)
{
	static const struct {
		enum vs_at at;
		uint64_t at_ns, live;
	} cases[] = {
		{VS_AT_TIME, 999, 0},   {VS_AT_TIME, 1000, 10}, {VS_AT_TIME, 2500, 30},
		{VS_AT_TIME, 3000, 20}, {VS_AT_PEAK, 0, 30},    {VS_AT_END, 0, 25},
		{VS_AT_DEFAULT, 0, 20}, {VS_AT_OOM, 0, 20},     {VS_AT_TIME, 1 << 30, 25},
	};
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);     /* 1000 ns */
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 20); /* 2000 */
	script_free(&script, VS_MEMORY_DEVICE, BASE);          /* 3000 */
	script_fail(&script, 999, 0, 1000);                    /* 4000 */
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		look(&script, &analysis, &then, cases[i].at, cases[i].at_ns);
		assert_int_equal(then.map.live_bytes, cases[i].live);
		vs_device_state_fini(&then);
		vs_analysis_fini(&analysis);
	}
	script_fini(&script);
}

static void test_asking_for_an_out_of_memory_that_is_not_there_is_invalid(void **state)
{
	struct vs_analysis analysis;
	struct vs_instant instant;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_analysis_find_instant(&analysis, script_get_device(analysis.replay),
						  VS_AT_OOM, 0, &instant),
			 -VS_ERR_INVALID);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_in_holes_but_none_large_enough_is_fragmentation),
		cmocka_unit_test(test_fixed_arena_is_fragmented_whatever_room_the_device_has),
		cmocka_unit_test(test_full_pool_at_its_limit_is_a_limit),
		cmocka_unit_test(test_more_than_is_free_in_all_is_capacity),
		cmocka_unit_test(test_memory_that_a_pool_does_not_use_is_the_pools_fault),
		cmocka_unit_test(test_growth_that_took_the_missing_bytes_is_retention),
		cmocka_unit_test(test_failure_with_enough_free_is_unknown),
		cmocka_unit_test(test_whereabouts_add_up_to_the_device),
		cmocka_unit_test(test_at_names_the_instant),
		cmocka_unit_test(test_asking_for_an_out_of_memory_that_is_not_there_is_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
