#include "why.h"

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
static struct vs_why find_why(struct script *script)
{
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct vs_why why;

	script_analyse(script, &analysis);
	assert_int_equal(vs_device_state_init(&then, &analysis, script_get_device(analysis.replay),
					      VS_AT_DEFAULT, 0),
			 0);
	assert_non_null(then.oom);
	why = then.why;
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(script);
	return why;
}

static void assert_why(struct script *script, enum vs_why_kind kind)
{
	assert_string_equal(vs_why_get_name(find_why(script).kind), vs_why_get_name(kind));
}

/* 800 held in one segment; 4 x 50 in blocks, 4 x 150 free between them. */
static void make_holes(struct script *script)
{
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 800);
	for (uint64_t i = 0; i < 4; i++)
		script_block(script, 1, BASE + i * 200, 50);
}

/* The same in segments of 200 each: none is a large part of the device. */
static void make_holes_apart(struct script *script)
{
	for (uint64_t i = 1; i <= 4; i++) {
		script_alloc(script, VS_MEMORY_DEVICE, i * BASE, 200);
		script_block(script, 1, i * BASE, 50);
	}
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
	assert_why(&script, VS_WHY_FRAGMENTATION);
}

static void test_fixed_arena_is_fragmented_whatever_room_the_device_has(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 800);
	make_holes(&script);
	script_block_fail(&script, 1, 200);
	assert_why(&script, VS_WHY_FRAGMENTATION);
}

static void test_evidence_of_fragmentation_is_the_holes(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	make_holes_apart(&script);
	script_fail(&script, 400, 80, 900);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_FRAGMENTATION);
	assert_int_equal(why.requested, 400);
	assert_int_equal(why.hole_bytes, 600);
	assert_int_equal(why.largest_hole, 150);
	assert_true(why.is_free_known);
	assert_int_equal(why.free_size, 80);
	assert_int_equal(why.total_size, 900); /* the driver knows best */
	assert_int_equal(why.lacking, 320);
}

/* 600 bytes in holes of 150, 80 not taken. */
static void assert_why_of_request(uint64_t size, enum vs_why_kind kind)
{
	struct script script;

	setup(&script, 0);
	make_holes_apart(&script);
	script_fail(&script, size, 80, 1000);
	assert_why(&script, kind);
}

static void test_hole_that_is_large_enough_proves_no_fragmentation(void **state)
{
	(void)state;
	assert_why_of_request(151, VS_WHY_FRAGMENTATION);
	assert_why_of_request(150, VS_WHY_POOL); /* but not for who asks the driver */
	assert_why_of_request(680, VS_WHY_FRAGMENTATION);
	assert_why_of_request(681, VS_WHY_CAPACITY);
	assert_why_of_request(80,
			      VS_WHY_UNKNOWN); /* there was room: the driver had other reasons */
}

/* A pool without holes is asked, another has 600 in them. */
static struct vs_why find_why_beside_holes(uint64_t size)
{
	struct script script;

	setup(&script, 0);
	script_pool(&script, 2, VS_POOL_PROGRAM, 0, 0, "other");
	make_holes_apart(&script);
	script_fail(&script, size, 80, 1000);
	script_block_fail(&script, 2, size); /* has nothing at all */
	return find_why(&script);
}

static void test_holes_of_another_pool_are_no_fragmentation(void **state)
{
	struct vs_why why = find_why_beside_holes(400);

	(void)state;
	assert_int_equal(why.kind, VS_WHY_POOL);
	assert_null(why.pool);
	assert_int_equal(why.hole_bytes, 0);
	assert_int_equal(why.lacking, 320);
	assert_int_equal(why.guesses[VS_WHY_POOL].gives, 600);
	assert_int_equal(find_why_beside_holes(680).kind, VS_WHY_POOL);
	assert_int_equal(find_why_beside_holes(681).kind, VS_WHY_CAPACITY);
}

/* 1000 held; 10 x 95 in blocks; the rest of 50 is free, or less by `more`. */
static enum vs_why_kind find_kind_of_small_holes(uint64_t more)
{
	struct script script;

	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 1000);
	for (uint64_t i = 0; i < 10; i++)
		script_block(&script, 1, BASE + i * 100, 95 + (i ? 0 : more));
	script_fail(&script, 20, 0, 1000);
	script_block_fail(&script, 1, 20);
	return find_why(&script).kind;
}

static void test_holes_that_no_allocator_does_without_are_no_cause(void **state)
{
	(void)state;
	assert_int_equal(find_kind_of_small_holes(0), VS_WHY_FRAGMENTATION);
	assert_int_equal(find_kind_of_small_holes(1), VS_WHY_CAPACITY);
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
	assert_why(&script, VS_WHY_LIMIT);
}

/* 100 in blocks, in a segment of 300 that has one hole of 200. */
static void assert_why_with_limit(uint64_t limit, uint64_t size, enum vs_why_kind kind)
{
	struct script script;

	setup(&script, limit);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 300);
	script_block(&script, 1, BASE, 100);
	script_block_fail(&script, 1, size);
	assert_why(&script, kind);
}

static void test_limit_counts_the_smaller_of_blocks_and_segments(void **state)
{
	(void)state;
	assert_why_with_limit(350, 251, VS_WHY_LIMIT);   /* 100 in blocks + 251 */
	assert_why_with_limit(350, 250, VS_WHY_LIMIT);   /* it may not take another segment */
	assert_why_with_limit(550, 250, VS_WHY_LIMIT);   /* might, but did not though it could */
	assert_why_with_limit(50, 10, VS_WHY_LIMIT);     /* beyond it already */
	assert_why_with_limit(350, 200, VS_WHY_UNKNOWN); /* its hole is large enough */
	assert_why_with_limit(UINT64_MAX, 250, VS_WHY_LIMIT);
	assert_why_with_limit(0, UINT64_MAX, VS_WHY_CAPACITY);
}

/* A pool of 800 without holes is asked for 40; the device has 80 left. */
static struct vs_why find_why_of_growing(uint64_t segment_size)
{
	struct script script;

	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_block(&script, 1, BASE, 800);
	if (segment_size)
		script_fail(&script, segment_size, 80, 1000);
	script_block_fail(&script, 1, 40);
	return find_why(&script);
}

static void test_pool_needs_what_it_asks_of_the_driver(void **state)
{
	struct vs_why why = find_why_of_growing(200);

	(void)state;
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_int_equal(why.requested, 40);
	assert_int_equal(why.lacking, 120);
	/* The driver was not asked, or for less than there was: it is the pool that would not. */
	assert_int_equal(find_why_of_growing(0).kind, VS_WHY_LIMIT);
	assert_int_equal(find_why_of_growing(80).kind, VS_WHY_LIMIT);
}

static void test_limit_of_a_pool_is_not_that_of_the_driver(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 300);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 300);
	script_block(&script, 1, BASE, 300);
	script_fail(&script, 900, 600, 1000); /* nobody's pool asked */
	assert_why(&script, VS_WHY_CAPACITY);
}

/* ---- Capacity and retention ----------------------------------------------------------------- */

static void test_more_than_is_free_in_all_is_capacity(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_fail(&script, 400, 150, 1000);
	assert_why(&script, VS_WHY_CAPACITY);
}

static void test_what_lacks_is_what_all_free_memory_does_not_give(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_block(&script, 1, BASE, 10);
	script_block_free(&script, 1, BASE); /* 100 that could be given back */
	script_alloc(&script, VS_MEMORY_DEVICE, 2 * BASE, 600);
	script_fail(&script, 500, 150, 1000);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_int_equal(why.lacking, 500 - 150 - 100);
	assert_int_equal(why.cached_bytes, 100);
}

static void test_without_the_drivers_word_what_was_not_reserved_counts_as_free(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 700);
	script_fail(&script, 301, 0, 0);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_int_equal(why.lacking, 1);
	assert_false(why.is_free_known);
	assert_int_equal(why.total_size, 1000);
}

static void test_device_of_unknown_size_proves_nothing(void **state)
{
	struct script script;

	(void)state;
	script_init(&script);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 700);
	script_fail(&script, 301, 0, 0);
	assert_why(&script, VS_WHY_UNKNOWN);
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
	assert_why(&script, VS_WHY_RETENTION);
}

/* A site that keeps 100 bytes in each of 8 steps: 700 since the first; `free_size` are left. */
static void assert_why_of_growth(uint64_t size, uint64_t free_size, enum vs_why_kind kind)
{
	struct script script;

	setup(&script, 0);
	for (uint64_t i = 0; i < 8; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 100);
	}
	script_fail(&script, size, free_size, 1000);
	assert_why(&script, kind);
}

static void test_growth_that_took_less_than_is_missing_is_not_the_cause(void **state)
{
	(void)state;
	assert_why_of_growth(900, 200, VS_WHY_RETENTION);
	assert_why_of_growth(901, 200, VS_WHY_CAPACITY);
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
	assert_why(&script, VS_WHY_POOL);
}

static void test_what_a_pool_should_have_given_back_is_what_the_device_lacks(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 800);
	script_block(&script, 1, BASE, 10);
	script_block_free(&script, 1, BASE);
	script_fail(&script, 950, 150, 1000); /* exactly all there is */
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_POOL);
	assert_int_equal(why.lacking, 800);
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
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail(&script, 500, 150, 1000);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_POOL);
	assert_int_equal(why.lacking, 350);
	assert_int_equal(why.releasable_bytes, 700);
	assert_non_null(why.holder);
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail(&script, 851, 150, 1000); /* one more than all there is */
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_int_equal(why.lacking, 1);
}

static void test_pool_may_hoard_beside_the_one_that_failed(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_fail(&script, 500, 150, 1000);
	script_block_fail(&script, 1, 500);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_POOL);
	assert_int_equal(why.releasable_bytes, 800);
}

/* It gives out what it has: whatever it lacked, it was not that somebody kept it. */
static void test_driver_pool_that_was_asked_is_not_to_blame_for_what_it_holds(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail_async(&script, 2, 500, 150, 1000);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_UNKNOWN); /* 700 in pieces, perhaps */
	assert_int_equal(why.releasable_bytes, 0);
	assert_null(why.holder);
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail_async(&script, 2, 900, 150, 1000);
	assert_why(&script, VS_WHY_CAPACITY);
	/* Another one could have given it back. */
	setup(&script, 0);
	script_pool(&script, 3, VS_POOL_DRIVER, 0, 0, "");
	hoard(&script, 800, 100);
	script_fail_async(&script, 3, 500, 150, 1000);
	assert_why(&script, VS_WHY_POOL);
	/* Asked through a pool that stands on it: the same. */
	setup(&script, 0);
	hoard(&script, 800, 100);
	script_fail_async(&script, 2, 500, 150, 1000);
	script_block_fail(&script, 1, 400);
	assert_why(&script, VS_WHY_UNKNOWN);
}

/* The driver tells nobody when a pool gives back: a sample may be of long ago. */
static void test_what_cannot_be_there_is_nobodys_fault(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 850);
	script_fail(&script, 500, 140, 1000);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_int_equal(why.releasable_bytes, 10); /* 1000 - 140 - 850: no more can be */
	assert_int_equal(why.lacking, 350);
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 850);
	script_fail(&script, 500, 150, 1000);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_null(why.holder);
	/* Managed memory may be on the host, and beside it the pool can be as full as it says. */
	setup(&script, 0);
	hoard(&script, 800, 0);
	script_alloc(&script, VS_MEMORY_MANAGED, BASE, 850);
	script_fail(&script, 500, 140, 1000);
	assert_why(&script, VS_WHY_POOL);
}

static void test_failure_with_enough_free_is_unknown(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 100);
	script_fail(&script, 400, 900, 1000);
	assert_why(&script, VS_WHY_UNKNOWN);
}

static void test_leak_behind_a_limit_is_retention(void **state)
{
	struct script script;

	(void)state;
	/* It kept 30 a step, up to a limit of 300: a higher one would be reached as well. */
	setup(&script, 300);
	for (uint64_t i = 0; i < 10; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 30);
		script_block(&script, 1, (i + 1) * BASE, 30);
	}
	script_block_fail(&script, 1, 30);
	assert_why(&script, VS_WHY_RETENTION);
	/* Most was there before: the limit is too low for that. */
	setup(&script, 600);
	script_set_stack(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, 99 * BASE, 310);
	script_block(&script, 1, 99 * BASE, 310);
	for (uint64_t i = 0; i < 9; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 30);
		script_block(&script, 1, (i + 1) * BASE, 30);
	}
	script_block_fail(&script, 1, 30);
	assert_why(&script, VS_WHY_LIMIT);
}

/* ---- Taken in advance ----------------------------------------------------------------------- */

/* A pool took `held` in one segment and needs 10; the driver has 100 left. */
static struct vs_why find_why_beside_arena(uint64_t held, uint64_t size)
{
	struct script script;

	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, held);
	script_block(&script, 1, BASE, 10);
	script_alloc(&script, VS_MEMORY_DEVICE, 5 * BASE, 900 - held);
	script_fail(&script, size, 100, 1000);
	return find_why(&script);
}

static void test_unused_part_of_a_large_segment_was_taken_in_advance(void **state)
{
	struct vs_why why = find_why_beside_arena(250, 300);

	(void)state;
	assert_int_equal(why.kind, VS_WHY_PREALLOCATION);
	assert_int_equal(why.grabbed_bytes, 240);
	assert_int_equal(find_why_beside_arena(250, 340).kind, VS_WHY_PREALLOCATION);
	assert_int_equal(find_why_beside_arena(250, 341).kind, VS_WHY_CAPACITY);
	/* Less than a quarter of the device: that is a pool as others are. */
	assert_int_equal(find_why_beside_arena(249, 230).kind, VS_WHY_POOL);
}

static void test_arena_that_runs_out_itself_took_nothing_from_itself(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 900);
	script_block(&script, 1, BASE, 850);
	script_fail(&script, 60, 20, 1000);
	script_block_fail(&script, 1, 60);
	assert_why(&script, VS_WHY_CAPACITY);
}

/* ---- Other processes ------------------------------------------------------------------------ */

static struct vs_why judge_measured(uint64_t size, uint64_t others, bool has_list)
{
	const struct vs_reconcile where = {.outside = {.is_known = true,
						       .has_list = has_list,
						       .context_bytes = 300 * MIB,
						       .others_bytes = others}};
	const struct vs_retained retained = {0};
	const struct vs_failure_group *group;
	struct vs_address_map map;
	struct vs_analysis analysis;
	struct script script;
	struct vs_why why;

	script_init(&script);
	script_device(&script, 0, 8 * GIB);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, GIB);
	script_fail(&script, size, 8 * GIB - GIB - 300 * MIB - others, 8 * GIB);
	script_analyse(&script, &analysis);
	group = analysis.failures.groups[0];
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	vs_why_judge(&why, group, &group->last_oom, &map, &retained, &where);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
	return why;
}

static void test_bytes_of_other_processes_are_what_was_lacking(void **state)
{
	uint64_t room = 8 * GIB - GIB - 300 * MIB - 4 * GIB;

	(void)state;
	assert_int_equal(judge_measured(room + MIB, 4 * GIB, true).kind, VS_WHY_OTHER_PROCESS);
	assert_int_equal(judge_measured(room + 4 * GIB, 4 * GIB, true).kind, VS_WHY_OTHER_PROCESS);
	assert_int_equal(judge_measured(room + 4 * GIB + 1, 4 * GIB, true).kind, VS_WHY_CAPACITY);
	assert_int_equal(judge_measured(room + 4 * GIB + 1, 4 * GIB, true).runner_up,
			 VS_WHY_OTHER_PROCESS);
	/* Somebody has it, but NVML does not list us: it may be ours as well. */
	assert_int_equal(judge_measured(room + MIB, 4 * GIB, false).kind, VS_WHY_UNKNOWN);
	assert_int_equal(judge_measured(room + MIB, 4 * GIB, false).runner_up,
			 VS_WHY_OTHER_PROCESS);
}

/* Of 8 GiB 1 is ours and `outside` is neither that nor free; 1 MiB was lacking. */
static struct vs_why find_why_outside(uint64_t outside)
{
	uint64_t room = 7 * GIB - outside;
	struct script script;

	script_init(&script);
	script_device(&script, 0, 8 * GIB);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, GIB);
	script_fail(&script, room + MIB, room, 8 * GIB);
	return find_why(&script);
}

static void test_memory_that_nobody_measured_is_blamed_on_nobody(void **state)
{
	(void)state;
	/* A context may be as large as that. */
	assert_int_equal(find_why_outside(GIB + 512 * MIB).kind, VS_WHY_CAPACITY);
	assert_int_equal(find_why_outside(GIB + 513 * MIB).kind, VS_WHY_UNKNOWN);
	assert_int_equal(find_why_outside(GIB + 513 * MIB).runner_up, VS_WHY_OTHER_PROCESS);
}

/* ---- PyTorch -------------------------------------------------------------------------------- */

/* A segment of PyTorch's with a hole of 1 MiB - 512, and a request that may or may not use it. */
static enum vs_why_kind find_kind_of_torch(uint64_t segment, uint64_t size)
{
	struct script script;

	script_init(&script);
	script_device(&script, 0, GIB);
	script_pool(&script, 1, VS_POOL_FRAMEWORK, 0, 0, "PyTorch");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, segment);
	script_block(&script, 1, BASE, segment - size);
	script_fail(&script, 20 * MIB, 0, GIB);
	script_block_fail(&script, 1, size);
	return find_why(&script).kind;
}

static void test_holes_in_segments_for_small_blocks_serve_no_large_one(void **state)
{
	(void)state;
	/* Large enough and of the right sort: of another stream, perhaps. */
	assert_int_equal(find_kind_of_torch(20 * MIB, 2 * MIB), VS_WHY_UNKNOWN);
	assert_int_equal(find_kind_of_torch(2 * MIB, MIB), VS_WHY_UNKNOWN);
	/* Of the wrong sort. */
	assert_int_equal(find_kind_of_torch(2 * MIB, MIB + 512), VS_WHY_CAPACITY);
	assert_int_equal(find_kind_of_torch(20 * MIB, MIB), VS_WHY_CAPACITY);
}

/* ---- Where nothing failed ------------------------------------------------------------------- */

static struct vs_why judge_end(struct script *script, enum vs_why_occasion occasion)
{
	struct vs_device_state then;
	struct vs_analysis analysis;
	struct vs_why why;

	script_analyse(script, &analysis);
	assert_int_equal(vs_device_state_init_end(&then, &analysis,
						  script_get_device(analysis.replay), occasion),
			 0);
	why = then.why;
	vs_device_state_fini(&then);
	vs_analysis_fini(&analysis);
	script_fini(script);
	return why;
}

static struct vs_why judge_full(uint64_t reserved, uint64_t used)
{
	struct script script;

	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, reserved);
	script_block(&script, 1, BASE, used);
	return judge_end(&script, VS_WHY_NEAR_FULL);
}

static void test_full_card_that_is_not_used_was_taken_in_advance(void **state)
{
	(void)state;
	assert_int_equal(judge_full(850, 600).kind, VS_WHY_PREALLOCATION); /* 250 of 1000 */
	assert_int_equal(judge_full(850, 601).kind, VS_WHY_CAPACITY);
	assert_int_equal(judge_full(744, 100).kind, VS_WHY_PREALLOCATION); /* of 875 */
	assert_int_equal(judge_full(743, 100).kind, VS_WHY_UNKNOWN);       /* is not full */
}

static void test_program_that_was_killed_with_an_empty_card_had_other_reasons(void **state)
{
	struct script script;
	struct vs_why why;

	(void)state;
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 300);
	why = judge_end(&script, VS_WHY_KILLED);
	assert_int_equal(why.kind, VS_WHY_UNKNOWN);
	assert_int_equal(why.occasion, VS_WHY_KILLED);
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 900);
	assert_int_equal(judge_end(&script, VS_WHY_KILLED).kind, VS_WHY_CAPACITY);
}

static void test_full_card_that_filled_step_by_step_is_retention(void **state)
{
	struct script script;

	(void)state;
	setup(&script, 0);
	for (uint64_t i = 0; i < 9; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, 100);
	}
	assert_int_equal(judge_end(&script, VS_WHY_KILLED).kind, VS_WHY_RETENTION);
}

/* ---- Two that hold -------------------------------------------------------------------------- */

/* A site keeps `kept` a step in 8 steps; a pool has 4 holes of 25 in segments of 30; it is asked
 * for 90, and takes 300. */
static struct vs_why find_why_of_both(uint64_t kept)
{
	struct script script;

	setup(&script, 0);
	script_set_stack(&script, 0);
	for (uint64_t i = 0; i < 4; i++) {
		script_alloc(&script, VS_MEMORY_DEVICE, (50 + i) * BASE, 30);
		script_block(&script, 1, (50 + i) * BASE, 5);
	}
	for (uint64_t i = 0; i < 8; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (i + 1) * BASE, kept);
	}
	script_fail(&script, 300, 150, 1000);
	script_block_fail(&script, 1, 90);
	return find_why(&script);
}

static void test_growth_has_to_be_far_more_than_holes_that_would_do(void **state)
{
	struct vs_why why = find_why_of_both(58); /* 406 kept, 100 in holes */

	(void)state;
	assert_int_equal(why.kind, VS_WHY_RETENTION);
	assert_int_equal(why.runner_up, VS_WHY_FRAGMENTATION);
	assert_true(why.guesses[VS_WHY_FRAGMENTATION].holds);
	why = find_why_of_both(57); /* 399 */
	assert_int_equal(why.kind, VS_WHY_FRAGMENTATION);
	assert_int_equal(why.runner_up, VS_WHY_RETENTION);
	why = find_why_of_both(21); /* 147: less than the 150 that were lacking */
	assert_int_equal(why.kind, VS_WHY_FRAGMENTATION);
	assert_false(why.guesses[VS_WHY_RETENTION].holds);
}

/* A pool that a site fills, which keeps `kept` a step in 8 steps, with a hole of 25 behind each; it
 * is asked for 90, and takes 300. */
static enum vs_why_kind judge_filled_pool(uint64_t kept)
{
	struct script script;

	setup(&script, 0);
	script_set_stack(&script, 0);
	for (uint64_t i = 0; i < 8; i++) {
		script_step(&script, i);
		script_alloc(&script, VS_MEMORY_DEVICE, (50 + i) * BASE, kept + 25);
		script_block(&script, 1, (50 + i) * BASE, kept);
	}
	script_fail(&script, 300, 150, 1000);
	script_block_fail(&script, 1, 90);
	return find_why(&script).kind;
}

/* Without the 200 in holes it would have run out as well, a little later. */
static void test_pool_that_is_full_of_what_is_kept_is_not_fragmented(void **state)
{
	(void)state;
	assert_int_equal(judge_filled_pool(60), VS_WHY_RETENTION);     /* 420 kept */
	assert_int_equal(judge_filled_pool(58), VS_WHY_RETENTION);     /* 406 */
	assert_int_equal(judge_filled_pool(57), VS_WHY_FRAGMENTATION); /* 399 */
}

/* Two pools keep memory from who asks the driver: one in a large segment, one in a free one. */
static void test_of_two_that_hold_the_one_that_takes_most_wins(void **state)
{
	for (uint64_t used = 10; used <= 30; used += 20) {
		struct script script;
		struct vs_why why;

		(void)state;
		setup(&script, 0);
		script_alloc(&script, VS_MEMORY_DEVICE, BASE, 320);
		script_block(&script, 1, BASE, used);
		hoard(&script, 300, 0);
		script_fail(&script, 200, 100, 1000);
		why = find_why(&script);
		assert_int_equal(why.kind, used == 10 ? VS_WHY_PREALLOCATION : VS_WHY_POOL);
		assert_int_equal(why.runner_up, used == 10 ? VS_WHY_POOL : VS_WHY_PREALLOCATION);
	}
}

static void test_runner_up_is_the_one_that_came_nearest(void **state)
{
	struct vs_why why;
	struct script script;

	(void)state;
	setup(&script, 0);
	hoard(&script, 300, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 600);
	script_fail(&script, 450, 100, 1000);
	why = find_why(&script);
	assert_int_equal(why.kind, VS_WHY_CAPACITY);
	assert_int_equal(why.runner_up, VS_WHY_POOL); /* 300 of 350 */
	setup(&script, 0);
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 900);
	script_fail(&script, 450, 100, 1000);
	assert_int_equal(find_why(&script).runner_up, VS_WHY_UNKNOWN);
}

static void test_each_cause_has_its_name(void **state)
{
	(void)state;
	assert_string_equal(vs_why_get_name(VS_WHY_UNKNOWN), "unknown");
	assert_string_equal(vs_why_get_name(VS_WHY_FRAGMENTATION), "fragmentation");
	assert_string_equal(vs_why_get_name(VS_WHY_LIMIT), "limit");
	assert_string_equal(vs_why_get_name(VS_WHY_RETENTION), "retention");
	assert_string_equal(vs_why_get_name(VS_WHY_CAPACITY), "capacity");
	assert_string_equal(vs_why_get_name(VS_WHY_POOL), "pool");
	assert_string_equal(vs_why_get_name(VS_WHY_OTHER_PROCESS), "other-process");
	assert_string_equal(vs_why_get_name(VS_WHY_PREALLOCATION), "preallocation");
	assert_string_equal(vs_why_get_occasion(VS_WHY_NEAR_FULL), "near-full");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_in_holes_but_none_large_enough_is_fragmentation),
		cmocka_unit_test(test_fixed_arena_is_fragmented_whatever_room_the_device_has),
		cmocka_unit_test(test_evidence_of_fragmentation_is_the_holes),
		cmocka_unit_test(test_hole_that_is_large_enough_proves_no_fragmentation),
		cmocka_unit_test(test_holes_of_another_pool_are_no_fragmentation),
		cmocka_unit_test(test_holes_that_no_allocator_does_without_are_no_cause),
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
		cmocka_unit_test(test_leak_behind_a_limit_is_retention),
		cmocka_unit_test(test_unused_part_of_a_large_segment_was_taken_in_advance),
		cmocka_unit_test(test_arena_that_runs_out_itself_took_nothing_from_itself),
		cmocka_unit_test(test_bytes_of_other_processes_are_what_was_lacking),
		cmocka_unit_test(test_memory_that_nobody_measured_is_blamed_on_nobody),
		cmocka_unit_test(test_holes_in_segments_for_small_blocks_serve_no_large_one),
		cmocka_unit_test(test_full_card_that_is_not_used_was_taken_in_advance),
		cmocka_unit_test(test_program_that_was_killed_with_an_empty_card_had_other_reasons),
		cmocka_unit_test(test_full_card_that_filled_step_by_step_is_retention),
		cmocka_unit_test(test_growth_has_to_be_far_more_than_holes_that_would_do),
		cmocka_unit_test(test_pool_that_is_full_of_what_is_kept_is_not_fragmented),
		cmocka_unit_test(test_of_two_that_hold_the_one_that_takes_most_wins),
		cmocka_unit_test(test_runner_up_is_the_one_that_came_nearest),
		cmocka_unit_test(test_each_cause_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
