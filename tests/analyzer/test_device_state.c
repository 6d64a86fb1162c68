#include "device_state.h"

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static void setup(struct script *script)
{
	script_init(script);
	script_device(script, 0, 1000);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
}

static void look(struct script *script, struct vs_analysis *analysis, struct vs_device_state *state,
		 enum vs_at at, uint64_t at_ns)
{
	script_analyse(script, analysis);
	assert_int_equal(vs_device_state_init(state, analysis, script_get_device(analysis->replay),
					      at, at_ns),
			 0);
}

/* 800 held; 4 x 50 in blocks, 4 x 150 free between them. */
static void make_holes(struct script *script)
{
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 800);
	for (uint64_t i = 0; i < 4; i++)
		script_block(script, 1, BASE + i * 200, 50);
}

static void test_whereabouts_add_up_to_the_device(void **state)
{
	struct vs_device_state then;
	struct vs_reconcile where;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	make_holes(&script);
	script_fail(&script, 400, 80, 1000);
	script_free(&script, VS_MEMORY_DEVICE, BASE); /* later: must not show */
	look(&script, &analysis, &then, VS_AT_DEFAULT, 0);
	where = then.where;
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

static void add_sample(struct script *script, uint32_t flags, uint64_t own, uint64_t others)
{
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_MEMORY_INFO,
				   .memory_info = {.flags = flags,
						   .total_size = 1000,
						   .free_size = 1000 - own - others,
						   .used_size = own + others},
			   });
	script_add(script, (struct vs_record){
				   .type = VS_RECORD_MEMORY_OWN,
				   .memory_own = {.flags = VS_MEMORY_OWN_LISTED,
						  .nr_others = 1,
						  .own_size = own,
						  .others_size = others},
			   });
	script_add(script,
		   (struct vs_record){.type = VS_RECORD_MEMORY_HOLDER,
				      .memory_holder = {.pid = 4711, .name = 5, .size = others}});
}

static void test_what_is_outside_is_split_by_whose_it_is(void **state)
{
	struct vs_device_state then;
	struct vs_reconcile where;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	make_holes(&script);
	add_sample(&script, 0, 830, 10);
	script_fail(&script, 400, 80, 1000);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	add_sample(&script, VS_MEMORY_INFO_FAILURE, 30, 85);
	script_set_time(&script, 500000000);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	add_sample(&script, VS_MEMORY_INFO_FAILURE, 130, 1); /* of another failure */
	look(&script, &analysis, &then, VS_AT_DEFAULT, 0);
	where = then.where;
	assert_int_equal(where.outside_bytes, 120);
	assert_true(where.outside.is_known && where.outside.has_list);
	assert_int_equal(where.outside.context_bytes, 30);
	assert_int_equal(where.outside.others_bytes, 85);
	assert_int_equal(where.outside.unexplained_bytes, 5);
	assert_int_equal(vs_device_state_get_memory(&then)->nr_holders, 1);
	assert_int_equal(vs_device_state_get_memory(&then)->holders[0].size, 85);
	vs_device_state_fini(&then);
	/* Without a failure: what NVML said before, with what was booked since. */
	assert_int_equal(vs_device_state_init(&then, &analysis, script_get_device(analysis.replay),
					      VS_AT_TIME, 1000 * 6),
			 0);
	where = then.where;
	assert_true(where.is_free_known);
	assert_int_equal(where.outside_bytes, 40);
	assert_int_equal(where.outside.context_bytes, 30);
	assert_int_equal(where.outside.others_bytes, 10);
	assert_int_equal(where.not_taken_bytes, 160);
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_a_sample_long_after_a_failure_is_not_of_it(void **state)
{
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	make_holes(&script);
	script_fail(&script, 400, 80, 1000);
	script_set_time(&script, UINT64_C(5000000000));
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	add_sample(&script, VS_MEMORY_INFO_FAILURE, 30, 85);
	look(&script, &analysis, &then, VS_AT_DEFAULT, 0);
	assert_false(vs_device_state_get_memory(&then)->is_known);
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
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);     /* 1000 ns */
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 20); /* 2000 */
	script_free(&script, VS_MEMORY_DEVICE, BASE);          /* 3000 */
	script_fail(&script, 999, 0, 1000);                    /* 4000 */
	script_alloc(&script, VS_MEMORY_DEVICE, 3 * BASE, 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		look(&script, &analysis, &then, cases[i].at, cases[i].at_ns);
		assert_int_equal(then.map.live_bytes, cases[i].live);
		/* Only who looks at the failure is told of it. */
		assert_int_equal(then.oom != NULL,
				 cases[i].at == VS_AT_DEFAULT || cases[i].at == VS_AT_OOM);
		vs_device_state_fini(&then);
		vs_analysis_fini(&analysis);
	}
	script_fini(&script);
}

static void test_asking_for_an_out_of_memory_that_is_not_there_is_invalid(void **state)
{
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_device_state_init(&then, &analysis, script_get_device(analysis.replay),
					      VS_AT_OOM, 0),
			 -VS_ERR_INVALID);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_without_the_drivers_word_the_rest_is_not_divided(void **state)
{
	struct vs_device_state then;
	struct vs_reconcile where;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	make_holes(&script);
	look(&script, &analysis, &then, VS_AT_DEFAULT, 0);
	assert_null(then.oom);
	where = then.where;
	assert_false(where.is_free_known);
	assert_int_equal(where.not_seen_bytes, 200);
	assert_int_equal(where.outside_bytes + where.not_taken_bytes + where.excess_bytes, 0);
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_more_reserved_than_there_is_is_an_excess(void **state)
{
	struct vs_device_state then;
	struct vs_reconcile where;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_MANAGED, BASE, 1300);
	look(&script, &analysis, &then, VS_AT_END, 0);
	where = then.where;
	assert_int_equal(where.excess_bytes, 300);
	assert_int_equal(where.not_seen_bytes, 0);
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_device_before_its_first_record_is_empty(void **state)
{
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init(&script);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 2 * BASE, 5); /* 1000 ns */
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 10);
	look(&script, &analysis, &then, VS_AT_TIME, 1500);
	assert_int_equal(then.map.nr_entries, 0);
	assert_int_equal(then.map.live_bytes, 0);
	assert_ptr_equal(then.map.device, script_get_device(analysis.replay));
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whereabouts_add_up_to_the_device),
		cmocka_unit_test(test_what_is_outside_is_split_by_whose_it_is),
		cmocka_unit_test(test_a_sample_long_after_a_failure_is_not_of_it),
		cmocka_unit_test(test_at_names_the_instant),
		cmocka_unit_test(test_asking_for_an_out_of_memory_that_is_not_there_is_invalid),
		cmocka_unit_test(test_without_the_drivers_word_the_rest_is_not_divided),
		cmocka_unit_test(test_more_reserved_than_there_is_is_an_excess),
		cmocka_unit_test(test_device_before_its_first_record_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
