#include "cause.h"

#include "device_state.h"
#include "script.h"

#define BASE ((uint64_t)0x10000000)

/* A device of 1000 bytes and a pool. */
static void setup(struct script *script, uint64_t limit_size)
{
	script_init(script);
	script_device(script, 0, 1000);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, limit_size, "pool");
}

/* The cause of the last out-of-memory; its pool is not valid any more. Ends the script. */
static struct vs_cause find_cause(struct script *script)
{
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct vs_cause cause;

	script_analyse(script, &analysis);
	assert_int_equal(vs_device_state_init(&then, &analysis, script_get_device(analysis.replay),
					      VS_AT_DEFAULT, 0),
			 0);
	assert_non_null(then.oom);
	cause = then.cause;
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(script);
	return cause;
}

static void assert_cause(struct script *script, enum vs_cause_kind kind)
{
	assert_string_equal(vs_cause_name(find_cause(script).kind), vs_cause_name(kind));
}

/* 800 held; 4 x 50 in blocks, 4 x 150 free between them. */
static void make_holes(struct script *script)
{
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 800);
	for (uint64_t i = 0; i < 4; i++)
		script_block(script, 1, BASE + i * 200, 50);
}

/* ---- Fragmentation -------------------------------------------------------------------------- */

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

static void test_evidence_of_fragmentation_is_the_holes(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	make_holes(&script);
	script_fail(&script, 400, 80, 900);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_FRAGMENTATION);
	assert_int_equal(cause.requested, 400);
	assert_int_equal(cause.hole_bytes, 600);
	assert_int_equal(cause.largest_hole, 150);
	assert_true(cause.is_free_known);
	assert_int_equal(cause.free_size, 80);
	assert_int_equal(cause.total_size, 900); /* the driver knows best */
	assert_int_equal(cause.lacking, 0);
}

/* 600 bytes in holes of 150, 80 not taken. */
static void assert_cause_of_request(uint64_t size, enum vs_cause_kind kind)
{
	struct script script;

	setup(&script, 0);
	make_holes(&script);
	script_fail(&script, size, 80, 1000);
	assert_cause(&script, kind);
}

static void test_hole_that_is_large_enough_proves_no_fragmentation(void **state)
{
	(void)state;
	assert_cause_of_request(151, VS_CAUSE_FRAGMENTATION);
	assert_cause_of_request(150, VS_CAUSE_CAPACITY);
	assert_cause_of_request(600, VS_CAUSE_FRAGMENTATION);
	assert_cause_of_request(601, VS_CAUSE_CAPACITY);
	assert_cause_of_request(
		80, VS_CAUSE_UNKNOWN); /* there was room: the driver had other reasons */
}

static void test_holes_of_another_pool_are_no_evidence(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "other");
	make_holes(&script);
	script_fail(&script, 400, 80, 1000);
	script_block_fail(&script, 2, 400); /* has nothing at all */
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_null(cause.pool);
	assert_int_equal(cause.hole_bytes, 0);
	assert_int_equal(cause.lacking, 320);
}

/* ---- Limit ---------------------------------------------------------------------------------- */

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

/* 100 in blocks, in a segment of 300 that has one hole of 200. */
static void assert_cause_with_limit(uint64_t limit, uint64_t size, enum vs_cause_kind kind)
{
	struct script script;

	setup(&script, limit);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 300);
	script_block(&script, 1, BASE, 100);
	script_block_fail(&script, 1, size);
	assert_cause(&script, kind);
}

static void test_limit_counts_the_smaller_of_blocks_and_segments(void **state)
{
	(void)state;
	assert_cause_with_limit(350, 251, VS_CAUSE_LIMIT); /* 100 in blocks + 251 */
	assert_cause_with_limit(350, 250, VS_CAUSE_LIMIT); /* it may not take another segment */
	assert_cause_with_limit(550, 250, VS_CAUSE_LIMIT); /* might, but did not though it could */
	assert_cause_with_limit(50, 10, VS_CAUSE_LIMIT);   /* beyond it already */
	assert_cause_with_limit(350, 200, VS_CAUSE_UNKNOWN); /* its hole is large enough */
	assert_cause_with_limit(UINT64_MAX, 250, VS_CAUSE_LIMIT);
	assert_cause_with_limit(0, UINT64_MAX, VS_CAUSE_CAPACITY);
}

/* A pool of 800 without holes is asked for 40; the device has 80 left. */
static struct vs_cause find_cause_of_growing(uint64_t segment_size)
{
	struct script script;

	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_block(&script, 1, BASE, 800);
	if (segment_size)
		script_fail(&script, segment_size, 80, 1000);
	script_block_fail(&script, 1, 40);
	return find_cause(&script);
}

static void test_pool_needs_what_it_asks_of_the_driver(void **state)
{
	struct vs_cause cause = find_cause_of_growing(200);

	(void)state;
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_int_equal(cause.requested, 40);
	assert_int_equal(cause.lacking, 120);
	/* The driver was not asked, or for less than there was: it is the pool that would not. */
	assert_int_equal(find_cause_of_growing(0).kind, VS_CAUSE_LIMIT);
	assert_int_equal(find_cause_of_growing(80).kind, VS_CAUSE_LIMIT);
}

static void test_limit_of_a_pool_is_not_that_of_the_driver(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 300);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 300);
	script_block(&script, 1, BASE, 300);
	script_fail(&script, 900, 600, 1000); /* nobody's pool asked */
	assert_cause(&script, VS_CAUSE_CAPACITY);
}

/* ---- Capacity and retention ----------------------------------------------------------------- */

static void test_more_than_is_free_in_all_is_capacity(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_fail(&script, 400, 150, 1000);
	assert_cause(&script, VS_CAUSE_CAPACITY);
}

static void test_what_lacks_is_what_all_free_memory_does_not_give(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 10);
	script_block_free(&script, 1, BASE); /* 100 that could be given back */
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 600);
	script_fail(&script, 500, 150, 1000);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_int_equal(cause.lacking, 500 - 150 - 100);
	assert_int_equal(cause.cached_bytes, 100);
}

static void test_without_the_drivers_word_what_was_not_reserved_counts_as_free(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 700);
	script_fail(&script, 301, 0, 0);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_int_equal(cause.lacking, 1);
	assert_false(cause.is_free_known);
	assert_int_equal(cause.total_size, 1000);
}

static void test_device_of_unknown_size_proves_nothing(void **state)
{
	struct script script;

	(void)state;
	script_init(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 700);
	script_fail(&script, 301, 0, 0);
	assert_cause(&script, VS_CAUSE_UNKNOWN);
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

/* A site that keeps 100 bytes in each of 8 steps: 700 since the first; `free_size` are left. */
static void assert_cause_of_growth(uint64_t size, uint64_t free_size, enum vs_cause_kind kind)
{
	struct script script;

	setup(&script, 0);
	for (uint64_t i = 0; i < 8; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 100);
	}
	script_fail(&script, size, free_size, 1000);
	assert_cause(&script, kind);
}

static void test_growth_that_took_less_than_is_missing_is_not_the_cause(void **state)
{
	(void)state;
	assert_cause_of_growth(900, 200, VS_CAUSE_RETENTION);
	assert_cause_of_growth(901, 200, VS_CAUSE_CAPACITY);
}

/* ---- Pool and the rest ---------------------------------------------------------------------- */

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

static void test_what_a_pool_should_have_given_back_is_what_the_device_lacks(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_block(&script, 1, BASE, 10);
	script_block_free(&script, 1, BASE);
	script_fail(&script, 950, 150, 1000); /* exactly all there is */
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_POOL);
	assert_int_equal(cause.lacking, 800);
}

/* Driver pool 2 took `held` for a block of the same size, which it freed but for `used`. */
static void hoard(struct script *script, uint64_t held, uint64_t used)
{
	script_pool(script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc_async(script, 2, 5 * BASE, held);
	script_pool_state(script, 2, held);
	script_free(script, VS_MEMORY_ASYNC, 5 * BASE);
	if (used)
		script_alloc_async(script, 2, 5 * BASE, used);
}

static void test_memory_that_a_driver_pool_does_not_use_is_the_pools_fault(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail(&script, 500, 150, 1000);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_POOL);
	assert_int_equal(cause.lacking, 350);
	assert_int_equal(cause.releasable_bytes, 700);
	assert_non_null(cause.driver_pool);
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail(&script, 851, 150, 1000); /* one more than all there is */
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_int_equal(cause.lacking, 1);
}

static void test_pool_may_hoard_beside_the_one_that_failed(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_fail(&script, 500, 150, 1000);
	script_block_fail(&script, 1, 500);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_POOL);
	assert_int_equal(cause.releasable_bytes, 800);
}

/* It gives out what it has: whatever it lacked, it was not that somebody kept it. */
static void test_driver_pool_that_was_asked_is_not_to_blame_for_what_it_holds(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail_async(&script, 2, 500, 150, 1000);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_UNKNOWN); /* 700 in pieces, perhaps */
	assert_int_equal(cause.releasable_bytes, 0);
	assert_null(cause.driver_pool);
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail_async(&script, 2, 900, 150, 1000);
	assert_cause(&script, VS_CAUSE_CAPACITY);
	/* Another one could have given it back. */
	setup(&script, 0);
	script_pool(&script, 3, VS_POOL_DRIVER, 0, 0, "");
	hoard(&script, 800, 100);
	script_fail_async(&script, 3, 500, 150, 1000);
	assert_cause(&script, VS_CAUSE_POOL);
	/* Asked through a pool that stands on it: the same. */
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail_async(&script, 2, 500, 150, 1000);
	script_block_fail(&script, 1, 400);
	assert_cause(&script, VS_CAUSE_UNKNOWN);
}

/* The driver tells nobody when a pool gives back: a sample may be of long ago. */
static void test_what_cannot_be_there_is_nobodys_fault(void **state)
{
	struct vs_cause cause;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 850);
	script_fail(&script, 500, 140, 1000);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_int_equal(cause.releasable_bytes, 10); /* 1000 - 140 - 850: no more can be */
	assert_int_equal(cause.lacking, 350);
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 850);
	script_fail(&script, 500, 150, 1000);
	cause = find_cause(&script);
	assert_int_equal(cause.kind, VS_CAUSE_CAPACITY);
	assert_null(cause.driver_pool);
	/* Managed memory may be on the host, and beside it the pool can be as full as it says. */
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_alloc(&script, VS_MEMORY_MANAGED, BASE, 850);
	script_fail(&script, 500, 140, 1000);
	assert_cause(&script, VS_CAUSE_POOL);
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

static void test_each_cause_has_its_name(void **state)
{
	(void)state;
	assert_string_equal(vs_cause_name(VS_CAUSE_UNKNOWN), "unknown");
	assert_string_equal(vs_cause_name(VS_CAUSE_FRAGMENTATION), "fragmentation");
	assert_string_equal(vs_cause_name(VS_CAUSE_LIMIT), "limit");
	assert_string_equal(vs_cause_name(VS_CAUSE_RETENTION), "retention");
	assert_string_equal(vs_cause_name(VS_CAUSE_CAPACITY), "capacity");
	assert_string_equal(vs_cause_name(VS_CAUSE_POOL), "pool");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_in_holes_but_none_large_enough_is_fragmentation),
		cmocka_unit_test(test_fixed_arena_is_fragmented_whatever_room_the_device_has),
		cmocka_unit_test(test_evidence_of_fragmentation_is_the_holes),
		cmocka_unit_test(test_hole_that_is_large_enough_proves_no_fragmentation),
		cmocka_unit_test(test_holes_of_another_pool_are_no_evidence),
		cmocka_unit_test(test_full_pool_at_its_limit_is_a_limit),
		cmocka_unit_test(test_limit_counts_the_smaller_of_blocks_and_segments),
		cmocka_unit_test(test_pool_needs_what_it_asks_of_the_driver),
		cmocka_unit_test(test_limit_of_a_pool_is_not_that_of_the_driver),
		cmocka_unit_test(test_more_than_is_free_in_all_is_capacity),
		cmocka_unit_test(test_what_lacks_is_what_all_free_memory_does_not_give),
		cmocka_unit_test(
			test_without_the_drivers_word_what_was_not_reserved_counts_as_free),
		cmocka_unit_test(test_device_of_unknown_size_proves_nothing),
		cmocka_unit_test(test_growth_that_took_the_missing_bytes_is_retention),
		cmocka_unit_test(test_growth_that_took_less_than_is_missing_is_not_the_cause),
		cmocka_unit_test(test_memory_that_a_pool_does_not_use_is_the_pools_fault),
		cmocka_unit_test(test_what_a_pool_should_have_given_back_is_what_the_device_lacks),
		cmocka_unit_test(test_memory_that_a_driver_pool_does_not_use_is_the_pools_fault),
		cmocka_unit_test(test_pool_may_hoard_beside_the_one_that_failed),
		cmocka_unit_test(test_driver_pool_that_was_asked_is_not_to_blame_for_what_it_holds),
		cmocka_unit_test(test_what_cannot_be_there_is_nobodys_fault),
		cmocka_unit_test(test_failure_with_enough_free_is_unknown),
		cmocka_unit_test(test_each_cause_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
