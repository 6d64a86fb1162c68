/* The lower part of the picture, on a page of its own. Texts are not looked at. */
#include "draw_strip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "canvas.h"

static const struct vs_box strip = {100, 20, 400, 100};

static void test_strip_ends_at_the_capacity_unless_hardly_used(void **state)
{
	struct vs_heatmap map = {.capacity = 8 * GIB, .peak_reserved = 4 * GIB};

	(void)state;
	assert_int_equal(vs_draw_strip_get_top(&map), 8 * GIB);
	map.peak_reserved = GIB;
	assert_in_range(vs_draw_strip_get_top(&map), GIB + 1, 2 * GIB);
	map.peak_reserved = 9 * GIB;
	assert_in_range(vs_draw_strip_get_top(&map), 9 * GIB + 1, 12 * GIB);
	map = (struct vs_heatmap){0};
	assert_int_equal(vs_draw_strip_get_top(&map), 1);
}

static void test_top_of_numbers_at_their_limit_is_above_them(void **state)
{
	struct vs_heatmap map = {.peak_reserved = UINT64_MAX};

	(void)state;
	assert_true(vs_draw_strip_get_top(&map) == UINT64_MAX);
	map.peak_reserved = 0xf000000000000000;
	assert_true(vs_draw_strip_get_top(&map) >= map.peak_reserved);
	map = (struct vs_heatmap){.peak_live = 5, .peak_reserved = 3};
	assert_in_range(vs_draw_strip_get_top(&map), 6, 10);
}

/* Bottom up: the shares of a column of the strip that are live and reserved, in percent. */
static void assert_column(const struct canvas *canvas, double seconds, int live, int reserved)
{
	const struct vs_palette *palette = canvas->draw.palette;
	struct vs_box column = {canvas_at(&strip, seconds), strip.y, 1, strip.height};

	assert_in_range(canvas_count(canvas, column, palette->ramp[VS_PALETTE_STOPS - 1]),
			live ? live - 3 : 0, live + 1);
	/* The marks of the peak and of the capacity may lie over it. */
	assert_in_range(canvas_count(canvas, column, palette->ramp[0]),
			reserved - live > 3 ? reserved - live - 3 : 0, reserved - live + 1);
}

static void test_levels_have_their_heights(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 600, 180, false);
	canvas_make_heatmap(&map, 100, 10, false);
	vs_draw_strip_put(&canvas.draw, &map, &strip);
	/* Of 8 GiB: percent and pixels are the same. */
	assert_column(&canvas, 10, 0, 25);
	assert_column(&canvas, 30, 25, 50);
	assert_column(&canvas, 70, 38, 50);
	assert_column(&canvas, 90, 13, 25);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_fragmentation_has_its_height(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;

	(void)state;
	canvas_make_heatmap(&map, 100, 100, false);
	for (size_t i = 50; i < map.nr_columns; i++)
		map.levels[i].fragmentation = 0.5;
	canvas_init(&canvas, 600, 180, false);
	vs_draw_strip_put_holes(&canvas.draw, &map, &strip);
	assert_int_equal(
		canvas_count(&canvas,
			     (struct vs_box){canvas_at(&strip, 20), strip.y, 1, strip.height},
			     canvas.draw.palette->ramp[1]),
		0);
	assert_in_range(
		canvas_count(&canvas,
			     (struct vs_box){canvas_at(&strip, 80), strip.y, 1, strip.height},
			     canvas.draw.palette->ramp[1]),
		(int)(strip.height / 2) - 1, (int)(strip.height / 2) + 1);
	canvas_fini(&canvas);
	vs_heatmap_fini(&map);
}

static void test_peak_is_a_ring_at_its_place(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;
	struct vs_box around = {canvas_at(&strip, 60) - 9, canvas_up(&strip, 3. / 8) - 9, 18, 18};

	(void)state;
	canvas_init(&canvas, 600, 180, false);
	canvas.draw.unit = 2; /* wide enough for whole pixels */
	canvas_make_heatmap(&map, 100, 10, false);
	vs_draw_strip_put(&canvas.draw, &map, &strip);
	assert_true(canvas_count(&canvas, around, canvas.draw.palette->mark) >= 8);
	assert_true(canvas_count(&canvas, around, canvas.draw.palette->halo) >= 8);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

/* Pixels of a line at the top of the strip, where the capacity is if it can be seen. */
static int count_capacity_pixels(uint64_t capacity)
{
	struct vs_box top = {strip.x, strip.y - 2, strip.width, 4};
	struct vs_heatmap map;
	struct canvas canvas;
	int nr;

	canvas_init(&canvas, 600, 180, false);
	canvas_make_heatmap(&map, 100, 10, false);
	map.capacity = capacity;
	vs_draw_strip_put(&canvas.draw, &map, &strip);
	nr = canvas_count(&canvas, top, canvas.draw.palette->text);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
	return nr;
}

static void test_capacity_is_a_dashed_line_if_it_is_in_sight(void **state)
{
	(void)state;
	assert_in_range(count_capacity_pixels(8 * GIB), 200, 3 * 390);
	assert_int_equal(count_capacity_pixels(100 * GIB), 0); /* far above */
	assert_int_equal(count_capacity_pixels(0), 0);         /* not known */
}

static void test_empty_heatmap_has_an_empty_strip_with_its_axes(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 600, 180, false);
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_finish(&map);
	vs_draw_strip_put(&canvas.draw, &map, &strip);
	assert_int_equal(canvas_count(&canvas, strip, canvas.draw.palette->ramp[0]), 0);
	assert_true(canvas_count(&canvas, strip, canvas.draw.palette->plot) > 30000);
	/* Ticks of the time axis, below. */
	assert_in_range(canvas_count(&canvas, (struct vs_box){100, 122, 402, 1},
				     canvas.draw.palette->faint),
			3, 20);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_time_axis_begins_with_the_first_round_time_of_the_window(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 600, 180, false);
	vs_heatmap_init(&map, 95 * SEC, 195 * SEC);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_finish(&map);
	vs_draw_strip_put(&canvas.draw, &map, &strip);
	cairo_surface_flush(canvas.image);
	/* 400 pixels have room for 6 ticks: every 30 s. 120 s is 25 % of the way. */
	assert_int_equal(canvas_get_pixel(canvas.image, 200, 122),
			 canvas_to_pixel(canvas.draw.palette->faint));
	assert_int_equal(
		canvas_count(&canvas, (struct vs_box){90, 122, 420, 1}, canvas.draw.palette->faint),
		3);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strip_ends_at_the_capacity_unless_hardly_used),
		cmocka_unit_test(test_top_of_numbers_at_their_limit_is_above_them),
		cmocka_unit_test(test_levels_have_their_heights),
		cmocka_unit_test(test_fragmentation_has_its_height),
		cmocka_unit_test(test_peak_is_a_ring_at_its_place),
		cmocka_unit_test(test_capacity_is_a_dashed_line_if_it_is_in_sight),
		cmocka_unit_test(test_empty_heatmap_has_an_empty_strip_with_its_axes),
		cmocka_unit_test(test_time_axis_begins_with_the_first_round_time_of_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
