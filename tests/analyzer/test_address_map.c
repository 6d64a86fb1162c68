#include "address_map.h"

#include <stdlib.h>

#include "script.h"

#define BASE ((uint64_t)0x10000000)

/*
 * Pool 1: a segment of 1000 with blocks at 100..200, 200..250 and 900..1000, and an empty one; a
 * plain segment; a driver pool that holds more than it gave out.
 */
static void make(struct script *script, struct vs_analysis *analysis)
{
	script_init(script);
	script_device(script, 0, 8 * GIB);
	script_pool(script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_pool(script, 2, VS_POOL_DRIVER, 0, 0, "");
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 1000);
	script_alloc(script, VS_MEMORY_DEVICE, 2 * BASE, 500);
	script_alloc(script, VS_MEMORY_DEVICE, 3 * BASE, 70);
	script_alloc_async(script, 2, 4 * BASE, 30);
	script_pool_state(script, 2, 40);
	script_step(script, 0);
	script_block(script, 1, BASE + 100, 100);
	script_block(script, 1, BASE + 200, 50);
	script_step(script, 1);
	script_block(script, 1, BASE + 900, 100);
	script_block(script, 1, 2 * BASE, 500);
	script_block_free(script, 1, 2 * BASE);
	script_analyse(script, analysis);
}

static void test_map_lists_segments_blocks_and_holes_by_address(void **state)
{
	static const struct {
		enum vs_address_type type;
		uint32_t depth;
		uint64_t base, size;
	} expected[] = {
		{VS_ADDRESS_SEGMENT, 0, BASE, 1000},    {VS_ADDRESS_HOLE, 1, BASE, 100},
		{VS_ADDRESS_BLOCK, 1, BASE + 100, 100}, {VS_ADDRESS_BLOCK, 1, BASE + 200, 50},
		{VS_ADDRESS_HOLE, 1, BASE + 250, 650},  {VS_ADDRESS_BLOCK, 1, BASE + 900, 100},
		{VS_ADDRESS_SEGMENT, 0, 2 * BASE, 500}, {VS_ADDRESS_HOLE, 1, 2 * BASE, 500},
		{VS_ADDRESS_SEGMENT, 0, 3 * BASE, 70},  {VS_ADDRESS_SEGMENT, 0, 4 * BASE, 30},
	};
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct script script;
	size_t i;

	(void)state;
	make(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(map.nr_entries, sizeof(expected) / sizeof(expected[0]));
	for (i = 0; i < map.nr_entries; i++) {
		assert_int_equal(map.entries[i].type, expected[i].type);
		assert_int_equal(map.entries[i].depth, expected[i].depth);
		assert_int_equal(map.entries[i].base, expected[i].base);
		assert_int_equal(map.entries[i].size, expected[i].size);
	}
	assert_false(map.entries[1].is_releasable);
	assert_true(map.entries[7].is_releasable);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_live_holes_and_cached_add_up_to_reserved(void **state)
{
	const struct vs_address_pool *pool;
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct script script;

	(void)state;
	make(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(map.reserved_bytes, 1000 + 500 + 70 + 40);
	assert_int_equal(map.live_bytes, 250 + 70 + 30);
	assert_int_equal(map.hole_bytes, 750);
	assert_int_equal(map.releasable_bytes, 510); /* and ten that the driver pool keeps */
	assert_int_equal(map.cached_bytes, 510);
	pool = vs_address_map_get_worst(&map);
	assert_non_null(pool);
	assert_int_equal(vs_hole_set_get_largest(&pool->holes), 650);
	assert_int_equal(pool->segment_bytes, 1500);
	assert_int_equal(pool->block_bytes, 250);
	assert_int_equal(pool->nr_segments, 2);
	assert_int_equal(pool->nr_blocks, 3);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_driver_pools_stand_behind_the_others_with_what_they_do_not_use(void **state)
{
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct script script;

	(void)state;
	make(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(map.nr_pools, 2);
	assert_int_equal(map.pools[0].pool->owner, VS_POOL_PROGRAM);
	assert_int_equal(map.pools[1].pool->owner, VS_POOL_DRIVER);
	assert_int_equal(map.pools[1].segment_bytes, 40);
	assert_int_equal(map.pools[1].block_bytes, 30);
	assert_int_equal(map.pools[1].nr_blocks, 1);
	assert_int_equal(map.pools[1].releasable_bytes, 10);
	assert_int_equal(map.pools[1].holes.nr_holes, 0); /* where they are is not known */
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	/* A pool that holds nothing is no news. */
	script_free(&script, VS_MEMORY_ASYNC, 4 * BASE);
	script_pool_state(&script, 2, 0);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(map.nr_pools, 1);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_neighbours_are_the_blocks_that_touch_a_hole(void **state)
{
	struct vs_address_neighbour *neighbours;
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct script script;
	size_t nr;

	(void)state;
	make(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(vs_address_map_find_neighbours(&map, map.pools[0].pool, &neighbours, &nr),
			 0);
	assert_int_equal(nr, 1); /* one site */
	assert_int_equal(neighbours[0].nr_blocks, 3);
	assert_int_equal(neighbours[0].bytes, 250);
	assert_int_equal(neighbours[0].nr_births, 2);
	free(neighbours);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

static void test_block_between_two_others_is_no_neighbour_of_a_hole(void **state)
{
	struct vs_address_neighbour *neighbours;
	struct vs_analysis analysis;
	struct vs_address_map map;
	struct script script;
	size_t nr;

	(void)state;
	script_init(&script);
	script_pool(&script, 1, VS_POOL_PROGRAM, 0, 0, "pool");
	script_alloc(&script, VS_MEMORY_DEVICE, BASE, 400);
	script_block(&script, 1, BASE, 100);
	script_block(&script, 1, BASE + 100, 100);
	script_block(&script, 1, BASE + 200, 100);
	script_analyse(&script, &analysis);
	assert_int_equal(
		vs_address_map_init(&map, analysis.replay, script_get_device(analysis.replay)), 0);
	assert_int_equal(vs_address_map_find_neighbours(&map, map.pools[0].pool, &neighbours, &nr),
			 0);
	assert_int_equal(neighbours[0].nr_blocks, 1);
	free(neighbours);
	vs_address_map_fini(&map);
	vs_analysis_fini(&analysis);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_lists_segments_blocks_and_holes_by_address),
		cmocka_unit_test(test_live_holes_and_cached_add_up_to_reserved),
		cmocka_unit_test(
			test_driver_pools_stand_behind_the_others_with_what_they_do_not_use),
		cmocka_unit_test(test_neighbours_are_the_blocks_that_touch_a_hole),
		cmocka_unit_test(test_block_between_two_others_is_no_neighbour_of_a_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
