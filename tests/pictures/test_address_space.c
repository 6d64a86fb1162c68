/* The address space of an instant as pieces of a picture. */
#include "address_space.h"

#include "script.h"

#define BASE ((uint64_t)0x7f0000000000)

static const struct vs_heatmap_part all = {.type = VS_HEATMAP_DEVICE};

/* A segment of 10 MiB with blocks at 1 (1 MiB), 2 (2 MiB) and 9 (1 MiB); one that is free; one of
 * no pool. */
static void make_space(struct vs_space *space, struct script *script,
		       const struct vs_heatmap_part *part)
{
	struct vs_device_state state;
	struct vs_site_names *names;
	struct vs_analysis analysis;

	script_init_usual(script);
	script_alloc(script, VS_MEMORY_DEVICE, BASE, 10 * MIB);
	script_alloc(script, VS_MEMORY_DEVICE, BASE + 100 * MIB, 4 * MIB);
	script_set_stack(script, 2);
	script_alloc(script, VS_MEMORY_DEVICE, BASE + 200 * MIB, 8 * MIB);
	script_set_stack(script, 3);
	script_block(script, 1, BASE + MIB, MIB);
	script_block(script, 1, BASE + 2 * MIB, 2 * MIB);
	script_block(script, 1, BASE + 9 * MIB, MIB);
	script_block(script, 1, BASE + 100 * MIB, MIB);
	script_block_free(script, 1, BASE + 100 * MIB);
	script_analyse(script, &analysis);
	assert_int_equal(vs_site_names_create(&names, &analysis.replay->definitions), 0);
	assert_int_equal(vs_device_state_init(&state, &analysis, script_get_device(analysis.replay),
					      VS_AT_END, 0),
			 0);
	assert_int_equal(vs_address_space_init(space, &state, part, names, NULL), 0);
	vs_device_state_fini(&state);
	vs_site_names_destroy(names);
	vs_analysis_fini(&analysis);
}

static void test_pieces_cover_the_folded_space(void **state)
{
	static const struct vs_space_piece expected[] = {
		{VS_SPACE_HOLE, 0, MIB, 0, false, true},
		{VS_SPACE_LIVE, MIB, MIB, 1, true, false},
		{VS_SPACE_LIVE, 2 * MIB, 2 * MIB, 1, true, false},
		{VS_SPACE_HOLE, 4 * MIB, 5 * MIB, 0, false, false},
		{VS_SPACE_LIVE, 9 * MIB, MIB, 1, true, false},
		{VS_SPACE_RELEASABLE, 10 * MIB, 4 * MIB, 0, false, true},
		{VS_SPACE_LIVE, 14 * MIB, 8 * MIB, 0, false, true},
	};
	struct vs_space space;
	struct script script;

	(void)state;
	make_space(&space, &script, &all);
	assert_int_equal(space.nr_pieces, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < space.nr_pieces; i++) {
		assert_int_equal(space.pieces[i].type, expected[i].type);
		assert_int_equal(space.pieces[i].offset, expected[i].offset);
		assert_int_equal(space.pieces[i].size, expected[i].size);
		assert_int_equal(space.pieces[i].is_pinning, expected[i].is_pinning);
		assert_int_equal(space.pieces[i].begins_segment, expected[i].begins_segment);
		if (expected[i].type == VS_SPACE_LIVE)
			assert_int_equal(space.pieces[i].group, expected[i].group);
	}
	assert_int_equal(space.total_bytes, 22 * MIB);
	assert_int_equal(space.nr_segments, 3);
	assert_int_equal(space.nr_pinning, 3);
	vs_address_space_fini(&space);
	script_fini(&script);
}

static void test_facts_are_those_of_the_address_map(void **state)
{
	struct vs_space space;
	struct script script;

	(void)state;
	make_space(&space, &script, &all);
	assert_int_equal(space.live_bytes, 12 * MIB);
	assert_int_equal(space.reserved_bytes, 22 * MIB);
	assert_int_equal(space.hole_bytes, 6 * MIB);
	assert_int_equal(space.largest_hole, 5 * MIB);
	assert_int_equal(space.requested, 0);
	/* The site with most comes first. */
	assert_int_equal(space.nr_groups, 3);
	assert_string_equal(space.group_names[2], "all others");
	vs_address_space_fini(&space);
	script_fini(&script);
}

static void test_a_part_is_a_pool_or_a_segment(void **state)
{
	struct vs_heatmap_part part = {.type = VS_HEATMAP_POOL, .pool = "pool"};
	struct script script;
	struct vs_space space;

	(void)state;
	make_space(&space, &script, &part);
	assert_string_equal(space.part, "pool pool");
	assert_int_equal(space.nr_segments, 2);
	assert_int_equal(space.total_bytes, 14 * MIB);
	assert_int_equal(space.reserved_bytes, 14 * MIB);
	assert_int_equal(space.live_bytes, 4 * MIB);
	assert_int_equal(space.hole_bytes, 6 * MIB); /* what is wholly free is none */
	assert_int_equal(space.largest_hole, 5 * MIB);
	vs_address_space_fini(&space);
	script_fini(&script);

	part = (struct vs_heatmap_part){.type = VS_HEATMAP_SEGMENT, .address = BASE + 207 * MIB};
	make_space(&space, &script, &part);
	assert_int_equal(space.nr_segments, 1);
	assert_int_equal(space.nr_pieces, 1);
	assert_int_equal(space.pieces[0].offset, 0);
	assert_int_equal(space.live_bytes, 8 * MIB);
	vs_address_space_fini(&space);
	script_fini(&script);

	part.address = BASE + 208 * MIB; /* behind its end */
	make_space(&space, &script, &part);
	assert_int_equal(space.nr_segments, 0);
	vs_address_space_fini(&space);
	script_fini(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part_is_a_pool_or_a_segment),
		cmocka_unit_test(test_pieces_cover_the_folded_space),
		cmocka_unit_test(test_facts_are_those_of_the_address_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
