#include "draw_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "canvas.h"

#define WIDTH  60
#define HEIGHT 40

static const struct vs_color black = {0, 0, 0};

/* Pixels across the line that have exactly its colour, and those that are in between. */
static void count_across(const struct canvas *canvas, int *nr_full, int *nr_grey)
{
	*nr_full = *nr_grey = 0;
	cairo_surface_flush(canvas->image);
	for (int x = 0; x < WIDTH; x++) {
		uint32_t pixel = canvas_get_pixel(canvas->image, x, HEIGHT / 2);

		*nr_full += pixel == 0;
		*nr_grey += pixel != 0 && pixel != 0xffffff;
	}
}

static void assert_vertical(double x, double width, double unit, int expected)
{
	struct vs_draw_pen pen = {black, width, 0};
	struct canvas canvas;
	int nr_full, nr_grey;

	canvas_init(&canvas, WIDTH, HEIGHT, false);
	canvas.draw.unit = unit;
	vs_draw_line_put_vertical(&canvas.draw, &pen, x, 0, HEIGHT);
	count_across(&canvas, &nr_full, &nr_grey);
	assert_int_equal(nr_full, expected);
	assert_int_equal(nr_grey, 0);
	canvas_fini(&canvas);
}

static void test_lines_fill_whole_pixels_wherever_they_are(void **state)
{
	(void)state;
	for (double x = 20; x < 22; x += 0.1) {
		assert_vertical(x, 1, 1, 1);
		assert_vertical(x, 2, 1, 2);
		assert_vertical(x, 3, 1, 3);
		assert_vertical(x, 1.5, 2, 3);
	}
}

static void test_thinnest_line_is_a_pixel(void **state)
{
	(void)state;
	assert_vertical(20, 0.1, 1, 1);
	assert_vertical(20, 1, 0.3, 1);
	assert_vertical(20, 0, 1, 1);
}

static void test_horizontal_lines_are_like_vertical_ones(void **state)
{
	struct vs_draw_pen pen = {black, 3, 0};
	struct canvas canvas;
	struct vs_box ink;

	(void)state;
	canvas_init(&canvas, WIDTH, HEIGHT, false);
	vs_draw_line_put_horizontal(&canvas.draw, &pen, 20.7, 10, 50);
	ink = canvas_get_ink(&canvas);
	assert_int_equal(ink.x, 10);
	assert_int_equal(ink.width, 40);
	assert_int_equal(ink.y, 19);
	assert_int_equal(ink.height, 3);
	assert_int_equal(canvas_count(&canvas, ink, black), 120);
	canvas_fini(&canvas);
}

static void test_dashes_leave_gaps_and_the_next_line_has_none(void **state)
{
	struct vs_box all = {0, 0, WIDTH, HEIGHT};
	struct vs_draw_pen pen = {black, 1, 5};
	struct canvas canvas;
	int nr_dashed;

	(void)state;
	canvas_init(&canvas, WIDTH, HEIGHT, false);
	vs_draw_line_put_vertical(&canvas.draw, &pen, 10, 0, HEIGHT);
	nr_dashed = canvas_count(&canvas, all, black);
	assert_in_range(nr_dashed, HEIGHT / 3, HEIGHT * 3 / 4);
	cairo_move_to(canvas.draw.cr, 30.5, 0); /* with whatever dashes are set */
	cairo_line_to(canvas.draw.cr, 30.5, HEIGHT);
	cairo_stroke(canvas.draw.cr);
	assert_int_equal(canvas_count(&canvas, all, black), nr_dashed + HEIGHT);
	canvas_fini(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_fill_whole_pixels_wherever_they_are),
		cmocka_unit_test(test_thinnest_line_is_a_pixel),
		cmocka_unit_test(test_horizontal_lines_are_like_vertical_ones),
		cmocka_unit_test(test_dashes_leave_gaps_and_the_next_line_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
