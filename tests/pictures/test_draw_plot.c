/* The upper part of the picture, on a page of its own. Texts are not looked at. */
#include "draw_plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "canvas.h"

static const struct vs_box plot = {100, 50, 200, 160};

static void test_times_are_placed_within_the_box(void **state)
{
	struct vs_heatmap map = {.from_ns = 1000, .to_ns = 3000};

	(void)state;
	assert_true(vs_draw_plot_get_x(&map, &plot, 1000) == 100);
	assert_true(vs_draw_plot_get_x(&map, &plot, 2000) == 200);
	assert_true(vs_draw_plot_get_x(&map, &plot, 3000) == 300);
	/* Outside the window: at its edges. */
	assert_true(vs_draw_plot_get_x(&map, &plot, 0) == 100);
	assert_true(vs_draw_plot_get_x(&map, &plot, UINT64_MAX) == 300);
}

/* Cells of the sample, at so many of them and so many pixels for each unit of the page. */
static void check_cells(size_t columns, size_t rows, int scale)
{
	const struct vs_palette *palette = vs_draw_palette_get(false);
	uint32_t hole = canvas_to_pixel(palette->ramp[0]);
	uint32_t live = canvas_to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]);
	uint32_t not_held = canvas_to_pixel(palette->plot);
	struct vs_heatmap map;
	struct canvas canvas;

	canvas_init(&canvas, 400, 260, false);
	canvas_make_heatmap(&map, columns, rows, false);
	vs_draw_plot_put_cells(&canvas.draw, &map, &plot, scale);
	cairo_surface_flush(canvas.image);
#define PIXEL(seconds, share) \
	canvas_get_pixel(canvas.image, canvas_at(&plot, seconds), canvas_up(&plot, share))
	assert_int_equal(PIXEL(30, 0.1), hole);
	assert_int_equal(PIXEL(70, 0.1), live);
	assert_int_equal(PIXEL(70, 0.4), hole);
	assert_int_equal(PIXEL(10, 0.7), not_held);
	assert_int_equal(PIXEL(30, 0.7), live);
	assert_int_equal(PIXEL(90, 0.7), not_held);
#undef PIXEL
	/* All of the box, and nothing but. */
	assert_true(canvas_get_ink(&canvas).x == plot.x);
	assert_true(canvas_get_ink(&canvas).y == plot.y);
	assert_true(canvas_get_ink(&canvas).width == plot.width);
	assert_true(canvas_get_ink(&canvas).height == plot.height);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_cells_fill_the_box_however_many_there_are(void **state)
{
	(void)state;
	check_cells(200, 160, 1);
	check_cells(20, 16, 1);
	check_cells(200, 160, 2);
	check_cells(10, 4, 3);
	check_cells(2000, 1000, 1); /* more than pixels */
}

static void test_cell_that_holds_more_than_it_can_is_full(void **state)
{
	static const struct vs_lifetime twice = {0x1000, 0x1000, 0, 100, true, true, 0};
	const struct vs_palette *palette = vs_draw_palette_get(false);
	struct vs_heatmap map;
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 400, 260, false);
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 0x1000), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_add_lifetime(&map, &twice);
	vs_heatmap_add_lifetime(&map, &twice);
	vs_heatmap_finish(&map);
	vs_draw_plot_put_cells(&canvas.draw, &map, &plot, 1);
	assert_int_equal(canvas_count(&canvas, plot, palette->ramp[VS_PALETTE_STOPS - 1]),
			 200 * 160);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_nothing_held_is_an_empty_plot_with_a_word(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;
	int empty;

	(void)state;
	canvas_init(&canvas, 400, 260, false);
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 10), 0);
	vs_heatmap_finish(&map);
	vs_draw_plot_put_cells(&canvas.draw, &map, &plot, 1);
	empty = canvas_count(&canvas, plot, canvas.draw.palette->plot);
	assert_int_equal(empty, 200 * 160);
	vs_draw_plot_put_addresses(&canvas.draw, &map, &plot);
	assert_true(canvas_count(&canvas, plot, canvas.draw.palette->plot) < empty);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

/* `nr` ranges of a page each, far apart; pixels of the lines between them in a column. */
static int count_gap_pixels(size_t nr)
{
	struct vs_heatmap map;
	struct canvas canvas;
	int nr_pixels;

	canvas_init(&canvas, 400, 260, false);
	vs_heatmap_init(&map, 0, 100);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(vs_heatmap_add_range(&map, 0x100000 * (i + 1), 0x1000), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 10, 1000), 0);
	vs_heatmap_finish(&map);
	vs_draw_plot_put_cells(&canvas.draw, &map, &plot, 1);
	vs_draw_plot_put_addresses(&canvas.draw, &map, &plot);
	nr_pixels =
		canvas_count(&canvas, (struct vs_box){200, 50, 1, 160}, canvas.draw.palette->page);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
	return nr_pixels;
}

static void test_gaps_between_few_ranges_are_lines_and_between_many_are_not(void **state)
{
	(void)state;
	assert_int_equal(count_gap_pixels(1), 0);
	assert_int_equal(count_gap_pixels(2), 2);
	assert_int_equal(count_gap_pixels(5), 8);
	assert_int_equal(count_gap_pixels(100), 0); /* they would hide what they separate */
}

static void test_left_axis_has_ticks_beside_the_plot(void **state)
{
	struct vs_heatmap map;
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 400, 260, false);
	canvas_make_heatmap(&map, 20, 16, false);
	vs_draw_plot_put_addresses(&canvas.draw, &map, &plot);
	/* 0, 1, 2, 3, 4 GiB: 160 pixels are four times 2.2 lines. */
	assert_int_equal(
		canvas_count(&canvas, (struct vs_box){97, 40, 1, 200}, canvas.draw.palette->faint),
		5);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

/* ---- Phases --------------------------------------------------------------------------------- */

static const struct vs_box band = {0, 0, 400, 16};

static void test_phases_alternate_their_colours(void **state)
{
	struct vs_heatmap map = {.to_ns = 400};
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 400, 20, false);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(vs_heatmap_add_phase(&map, i * 100, i * 100 + 90, ""), 0);
	vs_draw_plot_put_phases(&canvas.draw, &map, &band);
	cairo_surface_flush(canvas.image);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(canvas_get_pixel(canvas.image, i * 100 + 50, 2),
				 canvas_to_pixel(canvas.draw.palette->phase[i % 2]));
		assert_int_equal(canvas_get_pixel(canvas.image, i * 100 + 95, 2),
				 canvas_to_pixel(canvas.draw.palette->page));
	}
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_phases_beside_the_window_or_thinner_than_a_pixel_are_left_out(void **state)
{
	struct vs_heatmap map = {.from_ns = 1000, .to_ns = 2000};
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 400, 20, false);
	assert_int_equal(vs_heatmap_add_phase(&map, 0, 900, "before"), 0);
	assert_int_equal(vs_heatmap_add_phase(&map, 1500, 1501, "thin"), 0);
	assert_int_equal(vs_heatmap_add_phase(&map, 2100, 9000, "after"), 0);
	vs_draw_plot_put_phases(&canvas.draw, &map, &band);
	assert_true(canvas_get_ink(&canvas).width == 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_phases_that_lie_over_each_other_are_drawn_once(void **state)
{
	struct vs_heatmap map = {.to_ns = 400};
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 400, 20, false);
	assert_int_equal(vs_heatmap_add_phase(&map, 0, 200, ""), 0);
	assert_int_equal(vs_heatmap_add_phase(&map, 100, 300, ""), 0);
	vs_draw_plot_put_phases(&canvas.draw, &map, &band);
	assert_int_equal(
		canvas_count(&canvas, (struct vs_box){0, 2, 400, 1}, canvas.draw.palette->phase[0]),
		200);
	assert_int_equal(canvas_count(&canvas, band, canvas.draw.palette->phase[1]), 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_steps_stand_in_for_phases_nobody_could_read(void **state)
{
	struct vs_heatmap map = {.to_ns = 4000};
	struct canvas canvas;
	int nr_ticks;

	(void)state;
	canvas_init(&canvas, 400, 20, false);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(vs_heatmap_add_step(&map, i * 40, i), 0);
		assert_int_equal(vs_heatmap_add_phase(&map, i * 40, i * 40 + 40, "step"), 0);
	}
	vs_draw_plot_put_phases(&canvas.draw, &map, &band);
	assert_int_equal(canvas_count(&canvas, band, canvas.draw.palette->phase[0]), 0);
	/* Not every one: as many as their numbers have room. */
	nr_ticks =
		canvas_count(&canvas, (struct vs_box){0, 14, 400, 1}, canvas.draw.palette->faint);
	assert_in_range(nr_ticks, 3, 9);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_band_without_height_has_nothing_on_it(void **state)
{
	struct vs_heatmap map = {.to_ns = 400};
	struct vs_box none = {0, 0, 400, 0};
	struct canvas canvas;

	(void)state;
	canvas_init(&canvas, 400, 20, false);
	assert_int_equal(vs_heatmap_add_phase(&map, 0, 200, "all"), 0);
	vs_draw_plot_put_phases(&canvas.draw, &map, &none);
	assert_true(canvas_get_ink(&canvas).width == 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_are_placed_within_the_box),
		cmocka_unit_test(test_cells_fill_the_box_however_many_there_are),
		cmocka_unit_test(test_cell_that_holds_more_than_it_can_is_full),
		cmocka_unit_test(test_nothing_held_is_an_empty_plot_with_a_word),
		cmocka_unit_test(test_gaps_between_few_ranges_are_lines_and_between_many_are_not),
		cmocka_unit_test(test_left_axis_has_ticks_beside_the_plot),
		cmocka_unit_test(test_phases_alternate_their_colours),
		cmocka_unit_test(
			test_phases_beside_the_window_or_thinner_than_a_pixel_are_left_out),
		cmocka_unit_test(test_phases_that_lie_over_each_other_are_drawn_once),
		cmocka_unit_test(test_steps_stand_in_for_phases_nobody_could_read),
		cmocka_unit_test(test_band_without_height_has_nothing_on_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
