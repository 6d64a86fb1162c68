#include "analysis.h"

#include "script.h"

#define BASE ((uint64_t)0x10000000)

static const struct vs_window everything = {0, UINT64_MAX};

/* ---- Sources that break --------------------------------------------------------------------- */

struct broken_source {
	struct script *script;
	size_t nr_good; /* records before next() fails */
	int nr_rewinds; /* that go well before one fails */
	struct vs_source source;
};

static int next_record(void *context, struct vs_record *record)
{
	struct broken_source *broken = context;

	if (broken->script->next == broken->nr_good)
		return -VS_ERR_IO;
	return broken->script->source.next(broken->script, record);
}

static int rewind_records(void *context)
{
	struct broken_source *broken = context;

	if (!broken->nr_rewinds--)
		return -VS_ERR_CORRUPT;
	return broken->script->source.rewind(broken->script);
}

static void break_source(struct broken_source *broken, struct script *script, size_t nr_good,
			 int nr_rewinds)
{
	*broken = (struct broken_source){script, nr_good, nr_rewinds, {0}};
	broken->source = (struct vs_source){
		.next = next_record, .rewind = rewind_records, .context = broken};
}

static void make_few(struct script *script)
{
	script_init_usual(script);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 1000); /* 1000 ns */
	script_block(script, 1, BASE, 10);                  /* 2000 */
	script_block(script, 1, BASE + 500, 20);            /* 3000 */
	script_fail(script, 5000, 0, 0);                    /* 4000 */
	script_block_free(script, 1, BASE);                 /* 5000 */
}

static void test_error_of_the_source_ends_the_analysis(void **state)
{
	struct broken_source broken;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_few(&script);
	for (size_t i = 0; i < script.nr_records; i++) {
		break_source(&broken, &script, i, 100);
		assert_int_equal(vs_analysis_init(&analysis, &broken.source, &everything),
				 -VS_ERR_IO);
	}
	script_fini(&script);
}

static void test_source_that_cannot_go_back_ends_the_analysis(void **state)
{
	struct broken_source broken;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_few(&script);
	for (int i = 0; i < 2; i++) { /* the first pass, the second one */
		break_source(&broken, &script, SIZE_MAX, i);
		assert_int_equal(vs_analysis_init(&analysis, &broken.source, &everything),
				 -VS_ERR_CORRUPT);
	}
	script_fini(&script);
}

static void test_error_on_the_way_to_an_instant_leaves_no_replay(void **state)
{
	struct vs_replay *replay = NULL;
	struct broken_source broken;
	struct vs_analysis analysis;
	struct vs_instant instant;
	struct script script;

	(void)state;
	make_few(&script);
	break_source(&broken, &script, SIZE_MAX, 2);
	assert_int_equal(vs_analysis_init(&analysis, &broken.source, &everything), 0);
	assert_int_equal(vs_analysis_find_instant(&analysis, script_get_device(analysis.replay),
						  VS_AT_END, 0, &instant),
			 0);
	assert_int_equal(vs_analysis_go_to(&analysis, &instant, &replay), -VS_ERR_CORRUPT);
	break_source(&broken, &script, 3, 100);
	assert_int_equal(vs_analysis_go_to(&analysis, &instant, &replay), -VS_ERR_IO);
	assert_null(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static int fail_record(struct vs_observer *self, const struct vs_replay *replay,
		       const struct vs_record *record)
{
	(void)self;
	(void)replay;
	return record->type == VS_RECORD_BLOCK_FREE ? -VS_ERR_NO_MEMORY : 0;
}

static int fail_end(struct vs_observer *self, const struct vs_replay *replay)
{
	(void)self;
	(void)replay;
	return -VS_ERR_INVALID;
}

static int pass_observed(struct script *script, struct vs_observer *observer, uint64_t to_ns)
{
	struct vs_window window = {0, to_ns};
	struct vs_replay *replay;
	int err;

	assert_int_equal(vs_replay_create(&replay), 0);
	vs_replay_add_observer(replay, observer);
	err = vs_analysis_pass(&script->source, &window, replay);
	vs_replay_destroy(replay);
	return err;
}

static void test_error_of_an_observer_ends_the_pass(void **state)
{
	struct vs_observer on_record = {.on_record = fail_record};
	struct vs_observer on_end = {.on_end = fail_end};
	struct script script;

	(void)state;
	make_few(&script);
	assert_int_equal(pass_observed(&script, &on_record, UINT64_MAX), -VS_ERR_NO_MEMORY);
	assert_int_equal(pass_observed(&script, &on_record, 4999), 0); /* it is not reached */
	assert_int_equal(pass_observed(&script, &on_end, UINT64_MAX), -VS_ERR_INVALID);
	script_fini(&script);
}

/* ---- Window --------------------------------------------------------------------------------- */

static void test_duration_is_the_time_of_the_last_event_looked_at(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_few(&script);
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.duration_ns, 5000);
	vs_analysis_fini(&analysis);
	script_analyse_window(&script, &analysis, 0, 3500);
	assert_int_equal(analysis.duration_ns, 3000);
	assert_int_equal(script_get_device(analysis.replay)->live_bytes, 30);
	vs_analysis_fini(&analysis);
	script_analyse_window(&script, &analysis, 0, 3000); /* its own end is in it */
	assert_int_equal(analysis.duration_ns, 3000);
	vs_analysis_fini(&analysis);
	script_analyse_window(&script, &analysis, 0, 0);
	assert_int_equal(analysis.duration_ns, 0);
	assert_int_equal(analysis.replay->counters.nr_events, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_empty_trace_has_an_analysis(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init(&script);
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.duration_ns, 0);
	assert_int_equal(analysis.replay->nr_devices, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void assert_unit(struct script *script, enum vs_boundary_unit unit)
{
	struct vs_analysis analysis;

	script_analyse(script, &analysis);
	assert_int_equal(analysis.retained.unit, unit);
	vs_analysis_fini(&analysis);
}

static void test_boundaries_are_the_best_that_there_are_two_of(void **state)
{
	struct script script;

	(void)state;
	make_few(&script);
	assert_unit(&script, VS_BOUNDARY_INTERVALS);
	script_push(&script, 1);
	script_step(&script, 1);
	assert_unit(&script, VS_BOUNDARY_INTERVALS);
	script_push(&script, 2);
	assert_unit(&script, VS_BOUNDARY_PHASES);
	script_step(&script, 2);
	assert_unit(&script, VS_BOUNDARY_STEPS);
	script_fini(&script);
}

/* ---- Instants ------------------------------------------------------------------------------- */

static uint64_t get_time_of(const struct vs_analysis *analysis, enum vs_at at)
{
	struct vs_instant instant;

	assert_int_equal(vs_analysis_find_instant(analysis, script_get_device(analysis->replay), at,
						  77, &instant),
			 0);
	return instant.time_ns;
}

static void test_instants_are_those_of_the_device(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_few(&script);
	script_device(&script, 1, MIB);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 9 * BASE, 5000); /* 6000 ns */
	script_analyse(&script, &analysis);
	assert_int_equal(get_time_of(&analysis, VS_AT_TIME), 77);
	assert_int_equal(get_time_of(&analysis, VS_AT_PEAK), 3000);
	assert_int_equal(get_time_of(&analysis, VS_AT_OOM), 4000);
	assert_int_equal(get_time_of(&analysis, VS_AT_DEFAULT), 4000);
	assert_int_equal(get_time_of(&analysis, VS_AT_END), 6000);
	vs_analysis_fini(&analysis);
	/* Without the failure: the reserved peak, at its fullest. */
	script_analyse_window(&script, &analysis, 0, 3500);
	assert_int_equal(get_time_of(&analysis, VS_AT_DEFAULT), 3000);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_instant_that_cannot_be_is_invalid_and_leaves_the_answer_alone(void **state)
{
	struct vs_instant instant = {.time_ns = 123};
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_few(&script);
	script_analyse_window(&script, &analysis, 0, 3500);
	assert_int_equal(vs_analysis_find_instant(&analysis, script_get_device(analysis.replay),
						  VS_AT_OOM, 0, &instant),
			 -VS_ERR_INVALID);
	assert_int_equal(vs_analysis_find_instant(&analysis, script_get_device(analysis.replay),
						  (enum vs_at)99, 0, &instant),
			 -VS_ERR_INVALID);
	assert_int_equal(instant.time_ns, 123);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static uint64_t get_live_at(const struct vs_analysis *analysis, struct vs_instant instant)
{
	const struct vs_replay_device *device;
	struct vs_replay *replay;
	uint64_t live;

	assert_int_equal(vs_analysis_go_to(analysis, &instant, &replay), 0);
	device = vs_replay_get_device(replay, 0);
	live = device ? device->live_bytes : 0;
	vs_replay_destroy(replay);
	return live;
}

static void test_record_tells_instants_of_one_time_apart(void **state)
{
	struct vs_analysis analysis;
	struct script script;
	uint64_t first;

	(void)state;
	script_init_usual(&script);
	first = script.nr_records + 1;
	for (uint64_t i = 0; i < 3; i++) {
		script_set_time(&script, 1000);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 10);
	}
	script_analyse(&script, &analysis);
	assert_int_equal(get_live_at(&analysis, (struct vs_instant){first, 1000, 0, 0, NULL}), 10);
	assert_int_equal(get_live_at(&analysis, (struct vs_instant){first + 1, 1000, 0, 0, NULL}),
			 20);
	/* By time: all that happened then has happened. */
	assert_int_equal(get_live_at(&analysis, (struct vs_instant){0, 1000, 0, 0, NULL}), 30);
	assert_int_equal(get_live_at(&analysis, (struct vs_instant){0, 999, 0, 0, NULL}), 0);
	/* Behind the last one there is the end. */
	assert_int_equal(get_live_at(&analysis, (struct vs_instant){9999, 0, 0, 0, NULL}), 30);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_segment_is_its_pools_at_every_instant(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	make_few(&script);
	script_analyse(&script, &analysis);
	/* Before its first block, too. */
	assert_int_equal(get_live_at(&analysis, (struct vs_instant){.time_ns = 1000}), 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_numbers_are_the_same_in_every_pass(void **state)
{
	struct vs_instant end = {.time_ns = UINT64_MAX};
	struct vs_analysis analysis;
	struct vs_replay *replay;
	struct script script;

	(void)state;
	make_few(&script);
	script_set_stack(&script, 3);
	script_alloc(&script, VS_MEMORY_PINNED, 7 * BASE, 1);
	script_analyse(&script, &analysis);
	assert_int_equal(vs_analysis_go_to(&analysis, &end, &replay), 0);
	assert_int_equal(replay->nr_accounts, analysis.replay->nr_accounts);
	assert_int_equal(replay->nr_pools, analysis.replay->nr_pools);
	assert_int_equal(replay->last_id, analysis.replay->last_id);
	for (size_t i = 0; i < replay->nr_accounts; i++) {
		assert_int_equal(replay->accounts[i]->site->index,
				 analysis.replay->accounts[i]->site->index);
		assert_int_equal(replay->accounts[i]->live_bytes,
				 analysis.replay->accounts[i]->live_bytes);
	}
	vs_replay_destroy(replay);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

/* ---- Devices -------------------------------------------------------------------------------- */

static void test_device_counts_as_used_if_anything_happened_on_it(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init(&script);
	for (uint32_t i = 0; i < 5; i++)
		script_device(&script, i, MIB);
	script_pool(&script, 4, VS_POOL_DRIVER, 4, 0, "");
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, BASE, 1);
	script_free(&script, VS_MEMORY_DEVICE, BASE);
	script_alloc_on(&script, 2, VS_MEMORY_PINNED, BASE, 1);
	script_add(&script, (struct vs_record){.type = VS_RECORD_ALLOC_FAILED,
					       .alloc_failed = {.kind = VS_MEMORY_DEVICE,
								.device = 3,
								.size = 1,
								.error = 2}});
	script_pool_state(&script, 4, 4096);
	script_analyse(&script, &analysis);
	assert_false(vs_analysis_has_device(&analysis, vs_replay_get_device(analysis.replay, 0)));
	for (uint32_t i = 1; i < 5; i++)
		assert_true(vs_analysis_has_device(&analysis,
						   vs_replay_get_device(analysis.replay, i)));
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_of_the_source_ends_the_analysis),
		cmocka_unit_test(test_source_that_cannot_go_back_ends_the_analysis),
		cmocka_unit_test(test_error_on_the_way_to_an_instant_leaves_no_replay),
		cmocka_unit_test(test_error_of_an_observer_ends_the_pass),
		cmocka_unit_test(test_duration_is_the_time_of_the_last_event_looked_at),
		cmocka_unit_test(test_empty_trace_has_an_analysis),
		cmocka_unit_test(test_boundaries_are_the_best_that_there_are_two_of),
		cmocka_unit_test(test_instants_are_those_of_the_device),
		cmocka_unit_test(
			test_instant_that_cannot_be_is_invalid_and_leaves_the_answer_alone),
		cmocka_unit_test(test_record_tells_instants_of_one_time_apart),
		cmocka_unit_test(test_segment_is_its_pools_at_every_instant),
		cmocka_unit_test(test_numbers_are_the_same_in_every_pass),
		cmocka_unit_test(test_device_counts_as_used_if_anything_happened_on_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
