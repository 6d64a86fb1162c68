#include "map_bar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (1ull << 20)

/* ---- Sums ----------------------------------------------------------------------------------- */

static void test_sums_tell_holes_from_what_can_be_released(void **state)
{
	struct vs_map_sums sums = {0};
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 1000, "pool", true), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000, 100), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000 + 300, 50), 0); /* 200 free before it */
	assert_int_equal(vs_map_add_block(&map, 0x1000 + 350, 50), 0); /* nothing */
	assert_int_equal(vs_map_add_segment(&map, 0x9000, 70, "pool", true), 0);
	assert_int_equal(vs_map_add_segment(&map, 0xa000, 5, "cudaMalloc", false), 0);
	for (size_t i = 0; i < map.nr_segments; i++)
		vs_map_bar_add_sums(&map, &map.segments[i], &sums);
	assert_int_equal(sums.size, 1075);
	assert_int_equal(sums.live, 200 + 5);
	assert_int_equal(sums.nr_blocks, 3);
	assert_int_equal(sums.nr_holes, 2);
	assert_int_equal(sums.hole_bytes, 200 + 600);
	assert_int_equal(sums.largest_hole, 600);
	assert_int_equal(sums.releasable, 70);
	vs_map_fini(&map);
}

static void test_full_segment_has_no_hole(void **state)
{
	struct vs_map_sums sums = {0};
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 100, "pool", true), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000, 100), 0);
	vs_map_bar_add_sums(&map, &map.segments[0], &sums);
	assert_int_equal(sums.nr_holes, 0);
	assert_int_equal(sums.live, 100);
	vs_map_fini(&map);
}

/* ---- Signs ---------------------------------------------------------------------------------- */

static void test_only_full_and_empty_cells_look_so(void **state)
{
	struct vs_text_style ascii = {.width = 80, .is_ascii = true};
	struct vs_text_style plain = {.width = 80};

	(void)state;
	assert_string_equal(vs_map_bar_get_sign(0, 1000, &ascii), ".");
	assert_string_equal(vs_map_bar_get_sign(1, 1000, &ascii), "-");
	assert_string_equal(vs_map_bar_get_sign(500, 1000, &ascii), "+");
	assert_string_equal(vs_map_bar_get_sign(999, 1000, &ascii), "+");
	assert_string_equal(vs_map_bar_get_sign(1000, 1000, &ascii), "#");
	assert_string_equal(vs_map_bar_get_sign(0, 1000, &plain), "\xc2\xb7");
	assert_string_equal(vs_map_bar_get_sign(1, 1000, &plain), "\xe2\x96\x81");
	assert_string_equal(vs_map_bar_get_sign(999, 1000, &plain), "\xe2\x96\x87");
	assert_string_equal(vs_map_bar_get_sign(1000, 1000, &plain), "\xe2\x96\x88");
}

static void test_sign_of_a_fuller_cell_is_never_lower(void **state)
{
	struct vs_text_style styles[] = {{.width = 80}, {.width = 80, .is_ascii = true}};
	static const char *const orders[] = {
		"\xc2\xb7\xe2\x96\x81\xe2\x96\x82\xe2\x96\x83\xe2\x96\x84\xe2\x96\x85\xe2\x96\x86"
		"\xe2\x96\x87\xe2\x96\x88",
		".-+#"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *before = orders[i];

		for (uint64_t live = 0; live <= 1000; live++) {
			const char *now =
				strstr(before, vs_map_bar_get_sign(live, 1000, &styles[i]));

			assert_non_null(now); /* the same, or further on */
			before = now;
		}
		assert_string_equal(before, vs_map_bar_get_sign(1, 1, &styles[i]));
	}
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static void assert_bar(const struct vs_map_state *map, uint64_t cell, struct vs_text_style style,
		       const char *expected)
{
	char *text = NULL;
	size_t size;

	style.file = open_memstream(&text, &size);
	vs_map_bar_put(map, &map->segments[0], cell, &style);
	fclose(style.file);
	assert_string_equal(text, expected);
	free(text);
}

static const struct vs_text_style narrow = {.width = 22, .is_ascii = true}; /* 10 cells */

static void test_row_has_room_for_the_offset_and_its_borders(void **state)
{
	struct vs_text_style style = {.width = 80};

	(void)state;
	assert_int_equal(vs_map_bar_get_cells(&style), 68);
	style.width = 40;
	assert_int_equal(vs_map_bar_get_cells(&style), 28);
}

static void test_bar_of_a_pool_goes_on_in_further_rows(void **state)
{
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 25 * MIB, "pool", true), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000 + MIB, 10 * MIB), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000 + 13 * MIB + MIB / 4, MIB / 4), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000 + 13 * MIB + 3 * MIB / 4, 2 * MIB), 0);
	assert_bar(&map, MIB, narrow,
		   "          |.#########|\n"
		   " +10.0 MiB|#..+#+....|\n"
		   " +20.0 MiB|.....|\n");
	vs_map_fini(&map);
}

static void test_last_cell_is_as_large_as_the_rest(void **state)
{
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 2 * MIB + 10, "pool", true), 0);
	assert_int_equal(vs_map_add_block(&map, 0x1000 + 2 * MIB, 10), 0);
	assert_bar(&map, MIB, narrow, "          |..#|\n"); /* full, small as it is */
	vs_map_fini(&map);
}

static void test_segment_without_pool_has_one_row_and_an_arrow(void **state)
{
	struct vs_text_style plain = {.width = 22};
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 25 * MIB, "cudaMalloc", false), 0);
	assert_bar(&map, MIB, narrow, "          |##########>\n");
	assert_bar(&map, 3 * MIB, narrow, "          |#########|\n");
	assert_bar(&map, 9 * MIB, plain,
		   "          \xe2\x94\x82\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x94\x82\n");
	vs_map_fini(&map);
}

static void test_segment_smaller_than_a_cell_has_one(void **state)
{
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 512, "cudaMalloc", false), 0);
	assert_bar(&map, MIB, narrow, "          |#|\n");
	vs_map_fini(&map);
}

static void test_segment_of_nothing_has_no_row(void **state)
{
	struct vs_map_state map;

	(void)state;
	vs_map_init(&map);
	assert_int_equal(vs_map_add_segment(&map, 0x1000, 0, "cudaMalloc", false), 0);
	assert_bar(&map, MIB, narrow, "");
	vs_map_fini(&map);
}

static void assert_group(size_t each, const char *expected)
{
	struct vs_text_style style = narrow;
	char *text = NULL;
	size_t size;

	style.file = open_memstream(&text, &size);
	vs_map_bar_begin_group(each, &style);
	vs_map_bar_put_cell(0, 100, &style);
	vs_map_bar_put_cell(100, 100, &style);
	vs_map_bar_end_row(false, &style);
	fclose(style.file);
	assert_string_equal(text, expected);
	free(text);
}

static void test_row_of_a_group_says_what_a_sign_stands_for(void **state)
{
	(void)state;
	assert_group(3, "  3 a sign|.#|\n");
	assert_group(999, "999 a sign|.#|\n");
	/* No wider than any other row, however many there are. */
	assert_group(1000, " 1000 each|.#|\n");
	assert_group(99999, "99999 each|.#|\n");
	assert_group(123456789, " 123456789|.#|\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_tell_holes_from_what_can_be_released),
		cmocka_unit_test(test_full_segment_has_no_hole),
		cmocka_unit_test(test_only_full_and_empty_cells_look_so),
		cmocka_unit_test(test_sign_of_a_fuller_cell_is_never_lower),
		cmocka_unit_test(test_row_has_room_for_the_offset_and_its_borders),
		cmocka_unit_test(test_bar_of_a_pool_goes_on_in_further_rows),
		cmocka_unit_test(test_last_cell_is_as_large_as_the_rest),
		cmocka_unit_test(test_segment_without_pool_has_one_row_and_an_arrow),
		cmocka_unit_test(test_segment_smaller_than_a_cell_has_one),
		cmocka_unit_test(test_segment_of_nothing_has_no_row),
		cmocka_unit_test(test_row_of_a_group_says_what_a_sign_stands_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
