/* Cells against a model that looks at every cell of every lifetime. */
#include "heatmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LIFETIMES 300
#define NR_GROUPS 4

static uint64_t seed;

/* splitmix64 */
static uint64_t draw_number(uint64_t below)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

static uint64_t overlap(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t low = a > c ? a : c;
	uint64_t high = b < d ? b : d;

	return high > low ? high - low : 0;
}

static uint64_t to_tick(const struct vs_heatmap *map, uint64_t time)
{
	if (time < map->from_ns)
		return 0;
	return time >= map->to_ns ? map->nr_ticks : (time - map->from_ns) >> map->tick_shift;
}

/* Bytes of a lifetime that lie in a row: those of each range, put at its place. */
static uint64_t bytes_in_row(const struct vs_heatmap *map, const struct vs_lifetime *lifetime,
			     size_t row)
{
	uint64_t low = row * map->row_bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < map->nr_ranges; i++) {
		const struct vs_heatmap_range *range = &map->ranges[i];
		uint64_t from =
			lifetime->address > range->address ? lifetime->address : range->address;
		uint64_t to = from + overlap(lifetime->address, lifetime->address + lifetime->size,
					     range->address, range->address + range->size);

		sum += overlap(range->offset + (from - range->address),
			       range->offset + (to - range->address), low, low + map->row_bytes);
	}
	return sum;
}

static void compare_groups(const struct vs_heatmap *map, size_t cell, const uint64_t *groups)
{
	size_t most = NR_GROUPS;

	for (size_t i = 0; i < NR_GROUPS; i++) {
		assert_int_equal(map->groups[i][cell], groups[i]);
		if (groups[i] && (most == NR_GROUPS || groups[i] > groups[most]))
			most = i;
	}
	assert_int_equal(vs_heatmap_get_group(map, cell), most);
}

static void compare_with_model(const struct vs_heatmap *map, const struct vs_lifetime *lifetimes,
			       size_t nr_lifetimes)
{
	for (size_t row = 0; row < map->nr_rows; row++) {
		for (size_t column = 0; column < map->nr_columns; column++) {
			uint64_t from = column * map->column_ticks;
			uint64_t held = 0;
			uint64_t live = 0;
			uint64_t groups[NR_GROUPS] = {0};

			for (size_t i = 0; i < nr_lifetimes; i++) {
				uint64_t ticks = overlap(to_tick(map, lifetimes[i].start_ns),
							 to_tick(map, lifetimes[i].end_ns), from,
							 from + map->column_ticks);
				uint64_t area = ticks * bytes_in_row(map, &lifetimes[i], row);

				held += lifetimes[i].is_held ? area : 0;
				live += lifetimes[i].is_live ? area : 0;
				/* What is in no group counts to the last. */
				groups[lifetimes[i].group < NR_GROUPS ? lifetimes[i].group
								      : NR_GROUPS - 1] +=
					lifetimes[i].is_live ? area : 0;
			}
			assert_int_equal(map->held[row * map->nr_columns + column], held);
			assert_int_equal(map->live[row * map->nr_columns + column], live);
			compare_groups(map, row * map->nr_columns + column, groups);
		}
	}
}

static void make_random(struct vs_heatmap *map, struct vs_lifetime *lifetimes, uint64_t space,
			uint64_t time)
{
	uint64_t at = 1 + draw_number(space);

	for (int i = 0; i < 6; i++) {
		uint64_t size = 1 + draw_number(space / 4);

		assert_int_equal(vs_heatmap_add_range(map, at, size), 0);
		/* Now and then next to each other. */
		at += size + (i % 3 ? draw_number(space / 4) : 0);
	}
	for (size_t i = 0; i < LIFETIMES; i++) {
		uint64_t start = draw_number(time + time / 4);

		lifetimes[i] = (struct vs_lifetime){
			.address = draw_number(at + space / 8),
			.size = 1 + draw_number(i % 5 ? space / 64 : space / 2),
			.start_ns = start,
			.end_ns = start + draw_number(i % 7 ? time / 16 : time),
			.is_held = draw_number(2),
			.is_live = draw_number(2),
			.group = (uint32_t)draw_number(NR_GROUPS + 1),
		};
	}
}

static void check_random(uint64_t space, uint64_t time, size_t columns, size_t rows)
{
	struct vs_lifetime lifetimes[LIFETIMES];
	struct vs_heatmap map;
	uint64_t from = draw_number(time / 4);

	vs_heatmap_init(&map, from, from + 1 + draw_number(time - from));
	make_random(&map, lifetimes, space, time);
	for (size_t i = 0; i < NR_GROUPS; i++)
		assert_int_equal(vs_heatmap_add_group(&map, "group"), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, columns, rows), 0);
	assert_in_range(map.nr_columns, 1, columns);
	assert_in_range(map.nr_rows, 1, rows);
	for (size_t i = 0; i < LIFETIMES; i++)
		vs_heatmap_add_lifetime(&map, &lifetimes[i]);
	vs_heatmap_finish(&map);
	compare_with_model(&map, lifetimes, LIFETIMES);
	vs_heatmap_fini(&map);
}

static void test_cells_are_those_of_the_naive_model(void **state)
{
	(void)state;
	for (seed = 1; seed < 12; seed += 1) {
		uint64_t kept = seed;

		check_random(1000, 1000, 1 + draw_number(60), 1 + draw_number(40));
		check_random(1ull << 36, 1ull << 38, 40, 30);
		seed = kept;
	}
}

static void test_very_long_traces_are_counted_in_coarser_ticks(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 1ull << 60);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 1ull << 40), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 16, 16), 0);
	assert_int_not_equal(map.tick_shift, 0);
	assert_true(vs_heatmap_get_area(&map, 0, 0) < 1ull << 63);
	vs_heatmap_fini(&map);

	seed = 7;
	check_random(1ull << 44, 1ull << 58, 20, 20);
}

static void test_full_cells_are_full(void **state)
{
	struct vs_lifetime all = {0x1000, 1000, 5, 1005, true, true, 0};
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 5, 1005);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 1000), 0);
	/* Neither 1000 / 7 nor 1000 / 9 is whole: the last ones are smaller. */
	assert_int_equal(vs_heatmap_make_cells(&map, 7, 9), 0);
	vs_heatmap_add_lifetime(&map, &all);
	vs_heatmap_finish(&map);
	for (size_t row = 0; row < map.nr_rows; row++)
		for (size_t column = 0; column < map.nr_columns; column++)
			assert_int_equal(map.live[row * map.nr_columns + column],
					 vs_heatmap_get_area(&map, column, row));
	vs_heatmap_fini(&map);
}

static void test_gaps_are_folded_and_touching_ranges_are_one(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 10);
	assert_int_equal(vs_heatmap_add_range(&map, 0x9000, 0x100), 0);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 0x100), 0);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1100, 0x100), 0);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1080, 0x100), 0);
	assert_int_equal(vs_heatmap_add_range(&map, 0x5000, 0), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	assert_int_equal(map.nr_ranges, 2);
	assert_int_equal(map.total_bytes, 0x300);
	assert_int_equal(vs_heatmap_unfold(&map, 0), 0x1000);
	assert_int_equal(vs_heatmap_unfold(&map, 0x1ff), 0x11ff);
	assert_int_equal(vs_heatmap_unfold(&map, 0x200), 0x9000);
	vs_heatmap_fini(&map);
}

static void test_many_equal_ranges_take_little_room(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 10);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(vs_heatmap_add_range(&map, 0x1000u * (uint64_t)(1 + i % 5), 0x800),
				 0);
	assert_in_range(map.ranges_capacity, 5, 64);
	vs_heatmap_fini(&map);
}

static void test_nothing_held_has_no_rows(void **state)
{
	struct vs_lifetime lifetime = {0x1000, 10, 0, 5, true, true, 0};
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 10);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	assert_int_equal(map.nr_rows, 0);
	vs_heatmap_add_lifetime(&map, &lifetime);
	vs_heatmap_finish(&map);
	vs_heatmap_fini(&map);
}

static void test_fragmentation_is_the_largest_of_each_column(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 100, 200);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_set_fragmentation(&map, 0.25);
	vs_heatmap_add_level(&map, 110, 1, 1);
	vs_heatmap_set_fragmentation(&map, 0.75); /* for no time at all */
	vs_heatmap_add_level(&map, 125, 1, 1);
	vs_heatmap_set_fragmentation(&map, 0.5);
	vs_heatmap_add_level(&map, 125, 1, 1);
	vs_heatmap_finish(&map);
	assert_true(map.levels[0].fragmentation == 0);
	assert_true(map.levels[1].fragmentation == 0.25);
	assert_true(map.levels[2].fragmentation == 0.75);
	assert_true(map.levels[3].fragmentation == 0.5);
	assert_true(map.levels[9].fragmentation == 0.5);
	vs_heatmap_fini(&map);
}

static void test_levels_are_the_largest_of_each_column(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 100, 200);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_add_level(&map, 50, 7, 70);  /* before the window: holds into it */
	vs_heatmap_add_level(&map, 110, 3, 30); /* on the edge: the second column */
	vs_heatmap_add_level(&map, 125, 9, 90); /* for no time at all */
	vs_heatmap_add_level(&map, 125, 1, 10);
	vs_heatmap_add_level(&map, 190, 2, 200);
	vs_heatmap_add_level(&map, 200, 50, 500); /* behind the window */
	vs_heatmap_finish(&map);
	assert_int_equal(map.levels[0].live, 7);
	assert_int_equal(map.levels[0].reserved, 70);
	assert_int_equal(map.levels[1].live, 3);
	assert_int_equal(map.levels[2].live, 9);
	assert_int_equal(map.levels[3].live, 1);
	assert_int_equal(map.levels[8].reserved, 10);
	assert_int_equal(map.levels[9].reserved, 200);
	assert_int_equal(map.peak_live, 9);
	assert_int_equal(map.peak_ns, 125);
	assert_int_equal(map.peak_reserved, 200);
	vs_heatmap_fini(&map);
}

static void test_peak_before_the_window_counts_only_while_it_lasts(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 100, 200);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_add_level(&map, 50, 99, 99);
	vs_heatmap_add_level(&map, 99, 5, 6);
	vs_heatmap_finish(&map);
	assert_int_equal(map.peak_live, 5);
	assert_int_equal(map.peak_ns, 100);
	assert_int_equal(map.levels[9].live, 5);
	vs_heatmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_are_those_of_the_naive_model),
		cmocka_unit_test(test_very_long_traces_are_counted_in_coarser_ticks),
		cmocka_unit_test(test_full_cells_are_full),
		cmocka_unit_test(test_gaps_are_folded_and_touching_ranges_are_one),
		cmocka_unit_test(test_many_equal_ranges_take_little_room),
		cmocka_unit_test(test_nothing_held_has_no_rows),
		cmocka_unit_test(test_fragmentation_is_the_largest_of_each_column),
		cmocka_unit_test(test_levels_are_the_largest_of_each_column),
		cmocka_unit_test(test_peak_before_the_window_counts_only_while_it_lasts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
