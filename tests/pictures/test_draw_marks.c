/* Lines over plot and strip, on a page of their own. Texts are not looked at. */
#include "draw_marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "canvas.h"

/* 1000 ns are 500 pixels, from x = 50. */
static const struct vs_draw_layout layout = {
	.unit = 1,
	.plot = {50, 20, 500, 100},
	.strip = {50, 130, 500, 50},
};

static void add_failure(struct vs_heatmap *map, uint64_t time_ns, bool is_final)
{
	const struct vs_heatmap_failure failure = {time_ns, GIB, 0, is_final};

	assert_int_equal(vs_heatmap_add_failure(map, &failure), 0);
}

static void put(struct canvas *canvas, const struct vs_heatmap *map)
{
	canvas_init(canvas, 600, 200, false);
	vs_draw_marks_put(&canvas->draw, map, &layout);
}

/* Pixels of a colour in the lower half of the plot at a time; three beside each other count. */
static int count_at(const struct canvas *canvas, uint64_t time_ns, struct vs_color color)
{
	struct vs_box box = {50 + (double)time_ns / 2 - 1, 70, 3, 50};

	return canvas_count(canvas, box, color);
}

static void test_nothing_to_mark_leaves_the_page_empty(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;

	(void)state;
	put(&canvas, &map);
	assert_true(canvas_get_ink(&canvas).width == 0);
	canvas_fini(&canvas);
}

static void test_out_of_memory_is_a_solid_line_from_plot_to_strip(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;

	(void)state;
	add_failure(&map, 400, true);
	put(&canvas, &map);
	assert_int_equal(count_at(&canvas, 400, canvas.draw.palette->failure), 3 * 50);
	/* Through the strip, too, and no further. */
	assert_int_equal(canvas_count(&canvas, (struct vs_box){249, 130, 3, 70},
				      canvas.draw.palette->failure),
			 3 * 50);
	/* Its label is on the right of it: there is more room. */
	assert_true(canvas_count(&canvas, (struct vs_box){260, 20, 290, 30},
				 canvas.draw.palette->failure) > 100);
	assert_int_equal(canvas_count(&canvas, (struct vs_box){0, 20, 245, 30},
				      canvas.draw.palette->failure),
			 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_failure_that_was_recovered_is_dashed_and_has_no_label(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;
	int nr;

	(void)state;
	add_failure(&map, 400, false);
	put(&canvas, &map);
	nr = count_at(&canvas, 400, canvas.draw.palette->failure);
	assert_in_range(nr, 50 / 3, 50 * 3 / 4);
	assert_int_equal(canvas_count(&canvas, (struct vs_box){260, 20, 290, 30},
				      canvas.draw.palette->failure),
			 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

/* On a wide page, where the line would not be hidden by the other one. */
static void test_failure_on_the_way_to_an_out_of_memory_is_no_line(void **state)
{
	const struct vs_draw_layout broad = {
		.unit = 1, .plot = {50, 20, 5000, 100}, .strip = {50, 130, 5000, 50}};
	struct vs_box left = {3400, 110, 140, 10}; /* of the out-of-memory, at 3550 */
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;

	(void)state;
	add_failure(&map, 696, false);
	add_failure(&map, 700, true);
	canvas_init(&canvas, 5200, 200, false);
	vs_draw_marks_put(&canvas.draw, &map, &broad);
	assert_int_equal(canvas_count(&canvas, left, canvas.draw.palette->failure), 0);
	canvas_fini(&canvas);
	add_failure(&map, 690, false); /* far enough */
	canvas_init(&canvas, 5200, 200, false);
	vs_draw_marks_put(&canvas.draw, &map, &broad);
	assert_true(canvas_count(&canvas, left, canvas.draw.palette->failure) > 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_lines_too_close_to_each_other_are_one(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		add_failure(&map, 800 + i, true); /* 4 pixels */
	put(&canvas, &map);
	assert_int_equal(canvas_count(&canvas, (struct vs_box){400, 115, 150, 1},
				      canvas.draw.palette->failure),
			 3);
	/* The first of them. */
	assert_int_equal(canvas_get_pixel(canvas.image, 450, 115),
			 canvas_to_pixel(canvas.draw.palette->failure));
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

/* A label ends at its line, 4 units below the top of the plot or below the label before. */
static bool has_label(const struct canvas *canvas, uint64_t time_ns, int nr_above)
{
	struct vs_box corner = {50 + (double)time_ns / 2 - 5, 24 + 20 * nr_above, 4, 17};

	return canvas_count(canvas, corner, canvas->draw.palette->failure) == 4 * 17;
}

static void test_only_the_latest_have_labels_below_each_other(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		add_failure(&map, 600 + 20 * i, true);
	put(&canvas, &map);
	assert_true(has_label(&canvas, 700, 0));
	assert_true(has_label(&canvas, 680, 1));
	assert_true(has_label(&canvas, 660, 2));
	assert_false(has_label(&canvas, 640, 3));
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_label_of_an_early_failure_stays_in_the_plot(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	struct canvas canvas;

	(void)state;
	add_failure(&map, 0, true);
	add_failure(&map, 1000, true);
	put(&canvas, &map);
	assert_true(canvas_get_ink(&canvas).x >= 50 - 3);
	assert_true(canvas_get_ink(&canvas).x + canvas_get_ink(&canvas).width <= 550 + 3);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_failures_outside_the_window_are_not_drawn(void **state)
{
	struct vs_heatmap map = {.from_ns = 1000, .to_ns = 2000};
	struct canvas canvas;

	(void)state;
	add_failure(&map, 500, true);
	add_failure(&map, 2500, true);
	put(&canvas, &map);
	assert_true(canvas_get_ink(&canvas).width == 0);
	vs_heatmap_fini(&map);
	canvas_fini(&canvas);
}

static void test_peak_is_dotted_in_the_plot_alone(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000, .peak_live = GIB, .peak_ns = 300};
	struct canvas canvas;

	(void)state;
	put(&canvas, &map);
	assert_in_range(
		canvas_count(&canvas, (struct vs_box){199, 20, 3, 100}, canvas.draw.palette->mark),
		10, 60);
	assert_int_equal(canvas_count(&canvas, layout.strip, canvas.draw.palette->mark), 0);
	canvas_fini(&canvas);
}

static double put_legend(const struct vs_heatmap *map)
{
	struct canvas canvas;
	double end;

	canvas_init(&canvas, 600, 40, false);
	end = vs_draw_marks_put_legend(&canvas.draw, map, 10, 20);
	canvas_fini(&canvas);
	return end;
}

static void test_legend_explains_what_there_is_and_nothing_else(void **state)
{
	struct vs_heatmap map = {.to_ns = 1000};
	double before = 10, now;

	(void)state;
	assert_true(put_legend(&map) == before);
	map.peak_live = 1;
	now = put_legend(&map);
	assert_true(now > before);
	before = now;
	add_failure(&map, 100, true);
	now = put_legend(&map);
	assert_true(now > before);
	before = now;
	add_failure(&map, 101, false); /* has no line of its own */
	assert_true(put_legend(&map) == before);
	add_failure(&map, 500, false);
	assert_true(put_legend(&map) > before);
	vs_heatmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_mark_leaves_the_page_empty),
		cmocka_unit_test(test_out_of_memory_is_a_solid_line_from_plot_to_strip),
		cmocka_unit_test(test_failure_that_was_recovered_is_dashed_and_has_no_label),
		cmocka_unit_test(test_failure_on_the_way_to_an_out_of_memory_is_no_line),
		cmocka_unit_test(test_lines_too_close_to_each_other_are_one),
		cmocka_unit_test(test_only_the_latest_have_labels_below_each_other),
		cmocka_unit_test(test_label_of_an_early_failure_stays_in_the_plot),
		cmocka_unit_test(test_failures_outside_the_window_are_not_drawn),
		cmocka_unit_test(test_peak_is_dotted_in_the_plot_alone),
		cmocka_unit_test(test_legend_explains_what_there_is_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
