#include "failures.h"

#include "script.h"

static const uint64_t frames[][1] = {{0x100}, {0x200}, {0x300}};

static void setup(struct script *script)
{
	script_init(script);
	script_device(script, 0, 8 * GIB);
	script_device(script, 1, 8 * GIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	for (uint32_t i = 0; i < 3; i++)
		script_stack(script, i + 1, frames[i], 1);
	script_set_stack(script, 1);
}

/* Out-of-memories of device 0, and requests that were recovered, all sites together. */
static void assert_failures(struct script *script, uint64_t ooms, uint64_t recovered)
{
	struct vs_analysis analysis;
	uint64_t sum = 0;

	script_analyse(script, &analysis);
	for (size_t i = 0; i < analysis.failures.nr_groups; i++)
		sum += analysis.failures.groups[i]->nr_recovered;
	assert_int_equal(
		vs_failures_count_device(&analysis.failures, script_get_device(analysis.replay)),
		ooms);
	assert_int_equal(sum, recovered);
	vs_analysis_fini(&analysis);
}

static void test_failure_at_the_end_is_final(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_fail(&script, 100, 50, 1000);
	assert_failures(&script, 1, 0);
	script_fini(&script);
}

static void test_same_size_served_next_is_recovered(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_fail(&script, 100, 50, 1000);
	script_free(&script, VS_MEMORY_DEVICE, 0x1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000, 100);
	assert_failures(&script, 0, 1);
	script_fini(&script);
}

static void test_repeats_of_one_size_are_one_out_of_memory(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_fail(&script, 100, 50, 1000);
	script_fail(&script, 100, 60, 1000);
	script_fail(&script, 100, 70, 1000);
	assert_failures(&script, 1, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000, 100);
	assert_failures(&script, 0, 1);
	script_fini(&script);
}

static void test_another_size_next_makes_the_failure_final(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_fail(&script, 100, 50, 1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000, 40);
	assert_failures(&script, 1, 0);
	script_fail(&script, 200, 50, 1000);
	script_fail(&script, 300, 50, 1000);
	assert_failures(&script, 3, 0);
	script_fini(&script);
}

static void test_other_threads_and_kinds_decide_nothing(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_fail(&script, 100, 50, 1000);
	script_alloc(&script, VS_MEMORY_MANAGED, 0x5000, 100);
	script_set_thread(&script, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x6000, 100);
	script_set_thread(&script, 1);
	script_alloc_on(&script, 1, VS_MEMORY_DEVICE, 0x7000, 100);
	assert_failures(&script, 1, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x8000, 100);
	assert_failures(&script, 0, 1);
	script_fini(&script);
}

static void test_only_lack_of_device_memory_is_an_out_of_memory(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_fail_error(&script, VS_MEMORY_DEVICE, 0, 1); /* invalid value */
	script_fail_error(&script, VS_MEMORY_PINNED, 1000, 2);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_failures_count_device(&analysis.failures, script_get_device(analysis.replay)),
		0);
	assert_int_equal(vs_measure_counts_get_kind(&analysis.counts,
						    script_get_device(analysis.replay),
						    VS_MEMORY_DEVICE)
				 ->failed_allocs,
			 1);
	assert_int_equal(vs_measure_counts_get_kind(&analysis.counts,
						    script_get_device(analysis.replay),
						    VS_MEMORY_PINNED)
				 ->failed_allocs,
			 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_pools_report_and_the_failures_under_it_are_one(void **state)
{
	const struct vs_failure_group *last;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_fail(&script, 4096, 700, 1000); /* the pool backs off: another size */
	script_fail(&script, 2048, 800, 1000);
	script_set_stack(&script, 2);
	script_block_fail(&script, 1, 1500);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_failures_count_device(&analysis.failures, script_get_device(analysis.replay)),
		1);
	last = vs_failures_get_last(&analysis.failures, NULL);
	assert_string_equal(last->pool->name, "pool");
	assert_int_equal(last->last_oom.size, 1500);
	assert_int_equal(last->last_oom.free_size, 800); /* what the driver told last */
	assert_int_equal(last->last_oom.driver_size, 2048);
	assert_int_equal(vs_failures_count_pool(&analysis.failures, analysis.replay->pools[0]), 1);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_failure_before_an_earlier_pool_request_is_not_under_it(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x100000, 4096);
	script_fail(&script, 100, 0, 1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x200000, 50); /* decides it */
	script_block(&script, 1, 0x100000, 10);
	script_block_fail(&script, 1, 5000);
	assert_failures(&script, 2, 0);
	script_fini(&script);
}

static void test_pool_that_fails_the_same_request_again_is_one_out_of_memory(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_block_fail(&script, 1, 500);
	script_block_fail(&script, 1, 500);
	assert_failures(&script, 1, 0);
	script_block_fail(&script, 1, 400);
	assert_failures(&script, 2, 0);
	script_fini(&script);
}

/* Expandable segments take page by page: the first one of the second try proves nothing. */
static void test_page_that_was_had_is_part_of_a_request_that_failed(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x1000, 100);
	script_fail(&script, 100, 50, 1000);
	script_free(&script, VS_MEMORY_DEVICE, 0x1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x1000, 100);
	assert_failures(&script, 0, 1);
	script_fail(&script, 100, 50, 1000);
	script_block_fail(&script, 1, 200);
	assert_failures(&script, 1, 0);
	/* A later request that is served takes nothing back. */
	script_fail(&script, 300, 50, 1000);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000, 300);
	script_block(&script, 1, 0x5000, 300);
	script_block_fail(&script, 1, 900);
	assert_failures(&script, 2, 1);
	script_fini(&script);
}

/* Its state is that of the report: what was free at the refused page is not. */
static void test_pages_given_back_before_the_report_are_free_again(void **state)
{
	const struct vs_failure_group *group;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	script_init_usual(&script);
	for (uint64_t i = 0; i < 4; i++)
		script_alloc(&script, VS_MEMORY_VMM, 50 + i, 20 * MIB);
	script_fail(&script, 20 * MIB, 5 * MIB, 1000 * MIB);
	for (uint64_t i = 1; i < 4; i++)
		script_free(&script, VS_MEMORY_VMM, 50 + i);
	script_block_fail(&script, 1, 200 * MIB);
	script_analyse(&script, &analysis);
	group = vs_failures_get_last(&analysis.failures, NULL);
	assert_non_null(group);
	assert_int_equal(group->last_oom.free_size, 65 * MIB);
	assert_int_equal(group->last_oom.total_size, 1000 * MIB);
	assert_int_equal(group->last_oom.driver_size, 20 * MIB);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_what_the_pool_said_belongs_to_its_failure(void **state)
{
	const struct vs_record words = {.type = VS_RECORD_BLOCK_FAILED_TEXT,
					.block_failed_text = {1, 7}};
	struct vs_record later = words;
	const struct vs_failure_group *group;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_add(&script, words); /* behind no failure */
	script_block_fail(&script, 1, 200);
	script_add(&script, words);
	script_set_thread(&script, 2);
	later.block_failed_text.name = 8;
	script_add(&script, later); /* nothing failed on this thread */
	script_set_thread(&script, 1);
	script_block_fail(&script, 1, 300);
	later.block_failed_text.name = 9;
	script_add(&script, later);
	script_block(&script, 1, 0x1000, 64);
	later.block_failed_text.name = 10;
	script_add(&script, later); /* too late */
	script_analyse(&script, &analysis);
	group = vs_failures_get_last(&analysis.failures, NULL);
	assert_int_equal(group->nr_ooms, 2);
	assert_int_equal(group->first_oom.text, 7);
	assert_int_equal(group->last_oom.text, 9);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_failures_of_one_site_are_one_group(void **state)
{
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	for (int i = 0; i < 1000; i++)
		script_fail(&script, 100 + (uint64_t)i, 50, 1000);
	script_set_stack(&script, 2);
	script_fail(&script, 7, 50, 1000);
	script_analyse(&script, &analysis);
	assert_int_equal(analysis.failures.nr_groups, 2);
	assert_int_equal(analysis.failures.groups[0]->nr_ooms, 1000);
	assert_int_equal(analysis.failures.groups[0]->first_oom.size, 100);
	assert_int_equal(analysis.failures.groups[0]->last_oom.size, 1099);
	assert_int_equal(vs_failures_get_last(&analysis.failures, NULL)->last_oom.size, 7);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_failures_of_a_driver_pool_count_for_it(void **state)
{
	const struct vs_failure_group *group;
	struct vs_analysis analysis;
	struct script script;

	(void)state;
	setup(&script);
	script_pool(&script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_pool(&script, 3, VS_POOL_DRIVER, 1, 0, "");
	script_fail_async(&script, 2, 100, 50, 1000);
	script_fail_async(&script, 1, 101, 50, 1000); /* no driver pool: of the driver */
	script_fail_async(&script, 3, 102, 50, 1000); /* says device 0, its stream's */
	script_analyse(&script, &analysis);
	for (uint32_t i = 2; i <= 3; i++)
		assert_int_equal(vs_failures_count_pool(&analysis.failures,
							vs_replay_get_pool(analysis.replay, i)),
				 1);
	assert_int_equal(
		vs_failures_count_pool(&analysis.failures, vs_replay_get_pool(analysis.replay, 1)),
		0);
	assert_int_equal(
		vs_failures_count_device(&analysis.failures, script_get_device(analysis.replay)),
		2);
	/* It was the pool's device that ran out, and what is free there nobody told. */
	group = vs_failures_get_last(&analysis.failures, NULL);
	assert_int_equal(group->device->ordinal, 1);
	assert_null(group->pool);
	assert_int_equal(group->driver_pool->id, 3);
	assert_int_equal(group->last_oom.total_size, 0);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_driver_pool_that_serves_the_next_request_is_recovered(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_pool(&script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_fail_async(&script, 2, 100, 50, 1000);
	script_fail_async(&script, 2, 100, 50, 1000);
	script_alloc_async(&script, 2, 0x5000, 100);
	assert_failures(&script, 0, 1);
	script_fini(&script);
}

/* The framework's pool 2 asks the driver, in the middle of a request. */
static void fail_for_pool(struct script *script, uint64_t size)
{
	script_add(script, (struct vs_record){.type = VS_RECORD_ALLOC_FAILED,
					      .alloc_failed = {.kind = VS_MEMORY_DEVICE,
							       .size = size,
							       .error = 2,
							       .free_size = 10,
							       .total_size = 1000,
							       .pool = 2}});
}

static void test_pool_that_asks_for_less_and_gets_it_has_recovered(void **state)
{
	struct script script;

	(void)state;
	setup(&script);
	script_pool(&script, 2, VS_POOL_FRAMEWORK, 0, 0, "BFC");
	fail_for_pool(&script, 1000);
	fail_for_pool(&script, 900);
	assert_failures(&script, 0, 2);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x10000, 810);
	script_block(&script, 2, 0x10000, 100);
	assert_failures(&script, 0, 2);
	/* Another request, which fails: what was before it stays recovered. */
	fail_for_pool(&script, 500);
	script_block_fail(&script, 2, 450);
	assert_failures(&script, 1, 2);
	script_fini(&script);
}

/* ---- JAX ------------------------------------------------------------------------------------ */

/* Stack 9 leads through JAX's plugin. */
static void setup_jax(struct script *script)
{
	static const uint64_t plugin[] = {0x9100};

	setup(script);
	script_module(script, 1, 0x9000, 0xa000, "/venv/jax_plugins/xla_cuda12/xla_cuda_plugin.so");
	script_stack(script, 9, plugin, 1);
	script_set_stack(script, 9);
}

/* Nine tenths each time, `nr` times refused. Returns what it would ask for next. */
static uint64_t back_off(struct script *script, uint64_t size, int nr, bool is_rounded)
{
	for (int i = 0; i < nr; i++) {
		uint64_t asked = is_rounded ? (size + 2 * MIB - 1) / (2 * MIB) * 2 * MIB : size;

		script_fail(script, asked, 50 * MIB, 8 * GIB);
		size = (size - size / 10 + 255) / 256 * 256;
	}
	return size;
}

static void test_jax_that_gets_less_has_recovered(void **state)
{
	(void)state;
	for (int is_rounded = 0; is_rounded < 2; is_rounded++) {
		struct script script;
		uint64_t size;

		setup_jax(&script);
		size = back_off(&script, 254 * MIB, 6, is_rounded);
		script_alloc(&script, VS_MEMORY_DEVICE, 0x5000000, size);
		assert_failures(&script, 0, 1);
		script_fini(&script);
	}
}

static void test_jax_that_is_refused_to_the_last_is_one_out_of_memory(void **state)
{
	struct script script;

	(void)state;
	setup_jax(&script);
	back_off(&script, 254 * MIB, 6, false);
	assert_failures(&script, 1, 0);
	/* It waits, and begins again: still the same. */
	back_off(&script, 254 * MIB, 6, false);
	assert_failures(&script, 1, 0);
	/* It was served something meanwhile: another one. */
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000000, MIB);
	back_off(&script, 254 * MIB, 6, false);
	assert_failures(&script, 2, 0);
	script_fini(&script);
}

static void test_others_that_get_less_have_not_recovered(void **state)
{
	struct script script;
	uint64_t size;

	(void)state;
	setup_jax(&script);
	script_set_stack(&script, 1);
	size = back_off(&script, 254 * MIB, 3, false);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000000, size);
	assert_failures(&script, 3, 0);
	script_fini(&script);
	/* Half of it is not what JAX's allocator asks for. */
	setup_jax(&script);
	script_fail(&script, 254 * MIB, 50 * MIB, 8 * GIB);
	script_alloc(&script, VS_MEMORY_DEVICE, 0x5000000, 127 * MIB);
	assert_failures(&script, 1, 0);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jax_that_gets_less_has_recovered),
		cmocka_unit_test(test_jax_that_is_refused_to_the_last_is_one_out_of_memory),
		cmocka_unit_test(test_others_that_get_less_have_not_recovered),
		cmocka_unit_test(test_failure_at_the_end_is_final),
		cmocka_unit_test(test_same_size_served_next_is_recovered),
		cmocka_unit_test(test_repeats_of_one_size_are_one_out_of_memory),
		cmocka_unit_test(test_another_size_next_makes_the_failure_final),
		cmocka_unit_test(test_other_threads_and_kinds_decide_nothing),
		cmocka_unit_test(test_only_lack_of_device_memory_is_an_out_of_memory),
		cmocka_unit_test(test_pools_report_and_the_failures_under_it_are_one),
		cmocka_unit_test(test_failure_before_an_earlier_pool_request_is_not_under_it),
		cmocka_unit_test(test_pool_that_fails_the_same_request_again_is_one_out_of_memory),
		cmocka_unit_test(test_page_that_was_had_is_part_of_a_request_that_failed),
		cmocka_unit_test(test_pages_given_back_before_the_report_are_free_again),
		cmocka_unit_test(test_what_the_pool_said_belongs_to_its_failure),
		cmocka_unit_test(test_failures_of_one_site_are_one_group),
		cmocka_unit_test(test_failures_of_a_driver_pool_count_for_it),
		cmocka_unit_test(test_driver_pool_that_serves_the_next_request_is_recovered),
		cmocka_unit_test(test_pool_that_asks_for_less_and_gets_it_has_recovered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
