/* Pictures, read back. Texts are not looked at: fonts differ from machine to machine. */
#include "draw_heatmap.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "draw_axis.h"
#include "draw_page.h"
#include "draw_plot.h"
#include "draw_strip.h"

#define GIB (1ull << 30)
#define SEC 1000000000ull

static char *output(char *path, const char *name)
{
	const char *folder = getenv("VS_DRAW_OUT");

	mkdir(folder, 0777);
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	remove(path);
	return path;
}

/*
 * 100 s. 0x100000000: 2 GiB of a pool from the start, the lower half live from 50 s on.
 * 0x900000000: 2 GiB without a pool, from 20 to 80 s. A failure at 90 s, one that was recovered at
 * 40 s. The peak is at 60 s.
 */
static void make_heatmap(struct vs_heatmap *map, size_t columns, size_t rows, bool has_failures)
{
	static const struct vs_lifetime lifetimes[] = {
		{0x100000000, 2 * GIB, 0, 100 * SEC, true, false},
		{0x100000000, GIB, 50 * SEC, 100 * SEC, false, true},
		{0x900000000, 2 * GIB, 20 * SEC, 80 * SEC, true, true},
	};
	struct vs_heatmap_failure failure = {90 * SEC, 3 * GIB, GIB, true};
	struct vs_heatmap_failure recovered = {40 * SEC, GIB, GIB / 2, false};

	vs_heatmap_init(map, 0, 100 * SEC);
	map->program = strdup("pictures <&> \"test\" \xc3\xa4");
	map->capacity = 8 * GIB;
	assert_int_equal(vs_heatmap_add_range(map, 0x100000000, 2 * GIB), 0);
	assert_int_equal(vs_heatmap_add_range(map, 0x900000000, 2 * GIB), 0);
	assert_int_equal(vs_heatmap_make_cells(map, columns, rows), 0);
	for (size_t i = 0; i < sizeof(lifetimes) / sizeof(*lifetimes); i++)
		vs_heatmap_add_lifetime(map, &lifetimes[i]);
	vs_heatmap_add_level(map, 0, 0, 2 * GIB);
	vs_heatmap_add_level(map, 20 * SEC, 2 * GIB, 4 * GIB);
	vs_heatmap_add_level(map, 60 * SEC, 3 * GIB, 4 * GIB);
	vs_heatmap_add_level(map, 80 * SEC, GIB, 2 * GIB);
	if (has_failures) {
		assert_int_equal(vs_heatmap_add_failure(map, &recovered), 0);
		assert_int_equal(vs_heatmap_add_failure(map, &failure), 0);
	}
	vs_heatmap_finish(map);
}

static void draw_file(const char *path, int width, int height, bool is_dark, bool has_failures)
{
	struct vs_draw_layout layout;
	struct vs_heatmap map;

	vs_draw_heatmap_lay_out(&layout, width, height, false);
	make_heatmap(&map, (size_t)layout.plot.width, (size_t)layout.plot.height, has_failures);
	assert_int_equal(vs_draw_heatmap_write(&map, path, width, height, is_dark), 0);
	vs_heatmap_fini(&map);
}

/* ---- Reading back --------------------------------------------------------------------------- */

static uint32_t get_pixel(cairo_surface_t *image, double x, double y)
{
	const unsigned char *data = cairo_image_surface_get_data(image);
	int stride = cairo_image_surface_get_stride(image);
	uint32_t pixel;

	memcpy(&pixel, data + (ptrdiff_t)y * stride + (ptrdiff_t)x * 4, sizeof(pixel));
	return pixel & 0xffffff;
}

static uint32_t to_pixel(struct vs_color color)
{
	return (uint32_t)(color.red * 255 + 0.5) << 16 | (uint32_t)(color.green * 255 + 0.5) << 8 |
	       (uint32_t)(color.blue * 255 + 0.5);
}

static double at(const struct vs_box *box, double seconds)
{
	return box->x + box->width * seconds / 100;
}

/* share: 0 at the bottom of the box, 1 at its top */
static double up(const struct vs_box *box, double share)
{
	return box->y + box->height * (1 - share);
}

static cairo_surface_t *open_png(const char *path, int width, int height)
{
	cairo_surface_t *image = cairo_image_surface_create_from_png(path);

	assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
	assert_int_equal(cairo_image_surface_get_width(image), width);
	assert_int_equal(cairo_image_surface_get_height(image), height);
	return image;
}

static void check_cells(const char *name, int width, int height, bool is_dark)
{
	const struct vs_palette *palette = vs_draw_palette_get(is_dark);
	uint32_t hole = to_pixel(palette->ramp[0]);
	uint32_t live = to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]);
	uint32_t not_held = to_pixel(palette->plot);
	struct vs_draw_layout layout;
	char path[PATH_MAX];
	cairo_surface_t *image;

	draw_file(output(path, name), width, height, is_dark, false);
	image = open_png(path, width, height);
	vs_draw_heatmap_lay_out(&layout, width, height, false);

	assert_int_equal(get_pixel(image, 1, 1), to_pixel(palette->page));
	assert_int_equal(get_pixel(image, at(&layout.plot, 30), up(&layout.plot, 0.1)), hole);
	assert_int_equal(get_pixel(image, at(&layout.plot, 70), up(&layout.plot, 0.1)), live);
	assert_int_equal(get_pixel(image, at(&layout.plot, 70), up(&layout.plot, 0.4)), hole);
	assert_int_equal(get_pixel(image, at(&layout.plot, 10), up(&layout.plot, 0.7)), not_held);
	assert_int_equal(get_pixel(image, at(&layout.plot, 30), up(&layout.plot, 0.7)), live);
	assert_int_equal(get_pixel(image, at(&layout.plot, 90), up(&layout.plot, 0.7)), not_held);

	/* 3 of 8 GiB are live, 4 reserved. */
	assert_int_equal(get_pixel(image, at(&layout.strip, 70), up(&layout.strip, 0.34)), live);
	assert_int_equal(get_pixel(image, at(&layout.strip, 70), up(&layout.strip, 0.44)), hole);
	assert_int_equal(get_pixel(image, at(&layout.strip, 70), up(&layout.strip, 0.56)),
			 not_held);
	cairo_surface_destroy(image);
}

static void test_cells_are_where_they_belong_at_every_size(void **state)
{
	(void)state;
	check_cells("plain.png", 1200, 800, false);
	check_cells("small.png", 600, 400, false);
	check_cells("least.png", VS_DRAW_HEATMAP_MIN_WIDTH, VS_DRAW_HEATMAP_MIN_HEIGHT, false);
	check_cells("large.png", 3000, 2000, false);
	check_cells("wide.png", 2000, 500, false);
	check_cells("dark.png", 1200, 800, true);
}

static void test_gap_between_ranges_is_a_thin_line(void **state)
{
	const struct vs_palette *palette = vs_draw_palette_get(false);
	struct vs_draw_layout layout;
	char path[PATH_MAX];
	cairo_surface_t *image;
	int nr_gap = 0;

	(void)state;
	draw_file(output(path, "gap.png"), 1200, 800, false, false);
	image = open_png(path, 1200, 800);
	vs_draw_heatmap_lay_out(&layout, 1200, 800, false);
	for (int y = -5; y <= 5; y++)
		nr_gap += get_pixel(image, at(&layout.plot, 30), up(&layout.plot, 0.5) + y) ==
			  to_pixel(palette->page);
	assert_in_range(nr_gap, 1, 3);
	cairo_surface_destroy(image);
}

/* Pixels of the colour of failures in a column of the lower half of the plot. */
static int count_failure_pixels(cairo_surface_t *image, const struct vs_box *plot, double seconds)
{
	uint32_t red = to_pixel(vs_draw_palette_get(false)->failure);
	int nr = 0;

	for (double y = plot->y + plot->height / 2; y < plot->y + plot->height; y++)
		nr += get_pixel(image, at(plot, seconds), y) == red;
	return nr;
}

static void test_failures_are_lines_at_their_times(void **state)
{
	struct vs_draw_layout layout;
	char path[PATH_MAX];
	cairo_surface_t *image;
	int half;

	(void)state;
	draw_file(output(path, "failures.png"), 1200, 800, false, true);
	image = open_png(path, 1200, 800);
	vs_draw_heatmap_lay_out(&layout, 1200, 800, false);
	half = (int)layout.plot.height / 2;
	assert_in_range(count_failure_pixels(image, &layout.plot, 90), half, half + 1);
	/* Recovered: dashed. */
	assert_in_range(count_failure_pixels(image, &layout.plot, 40), half / 4, half * 3 / 4);
	assert_int_equal(count_failure_pixels(image, &layout.plot, 10), 0);
	assert_int_equal(count_failure_pixels(image, &layout.plot, 70), 0);
	/* A label of the same colour at the top, left of the line: it is in the right half. */
	assert_int_equal(get_pixel(image, at(&layout.plot, 90) - 4, layout.plot.y + 7),
			 to_pixel(vs_draw_palette_get(false)->failure));
	cairo_surface_destroy(image);
}

static void test_peak_is_marked(void **state)
{
	uint32_t mark = to_pixel(vs_draw_palette_get(false)->mark);
	struct vs_draw_layout layout;
	char path[PATH_MAX];
	cairo_surface_t *image;
	int nr = 0;

	(void)state;
	draw_file(output(path, "peak.png"), 1200, 800, false, false);
	image = open_png(path, 1200, 800);
	vs_draw_heatmap_lay_out(&layout, 1200, 800, false);

	/* Dots: many, but not all of it. */
	for (double y = layout.plot.y; y < layout.plot.y + layout.plot.height; y++)
		nr += get_pixel(image, at(&layout.plot, 60), y) == mark;
	assert_in_range(nr, 20, (int)layout.plot.height / 2);
	cairo_surface_destroy(image);
}

static void test_svg_is_well_formed_and_has_the_size(void **state)
{
	static const char check[] =
		"import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot(); "
		"sys.exit(not (r.tag.endswith('svg') and r.get('width', '').startswith('1200') "
		"and r.get('height', '').startswith('800') and r.findall('.//{*}image')))";
	char path[PATH_MAX];
	char command[PATH_MAX + 1024];

	(void)state;
	draw_file(output(path, "plain.svg"), 1200, 800, false, true);
	snprintf(command, sizeof(command), "'%s' -c \"%s\" '%s'", getenv("VS_PYTHON"), check, path);
	assert_int_equal(system(command), 0);
}

static void test_pdf_is_one(void **state)
{
	char path[PATH_MAX];
	char start[5] = "";
	FILE *file;

	(void)state;
	draw_file(output(path, "plain.PDF"), 1200, 800, false, true);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(start, 1, 4, file), 4);
	fclose(file);
	assert_string_equal(start, "%PDF");
}

static void test_empty_heatmap_is_drawn(void **state)
{
	struct vs_heatmap map;
	char path[PATH_MAX];
	cairo_surface_t *image;

	(void)state;
	vs_heatmap_init(&map, 0, 1);
	assert_int_equal(vs_heatmap_make_cells(&map, 1000, 500), 0);
	vs_heatmap_finish(&map);
	assert_int_equal(vs_draw_heatmap_write(&map, output(path, "empty.png"), 600, 400, false),
			 0);
	image = open_png(path, 600, 400);
	cairo_surface_destroy(image);
	vs_heatmap_fini(&map);
}

/* Every phase and step there can be, and text that has to be cut. */
static void test_crowded_marks_are_drawn(void **state)
{
	struct vs_heatmap map;
	char path[PATH_MAX];

	(void)state;
	make_heatmap(&map, 500, 200, true);
	free(map.program);
	map.program = malloc(5000);
	assert_non_null(map.program);
	memset(map.program, 'x', 4999);
	map.program[4999] = 0;
	for (uint64_t i = 0; i < 2000; i++) {
		assert_int_equal(vs_heatmap_add_step(&map, i * SEC / 20, i), 0);
		assert_int_equal(vs_heatmap_add_phase(&map, i * SEC / 20, (i + 1) * SEC / 20,
						      "f\xc3\xb6rw\xc3\xa4rts"),
				 0);
	}
	assert_int_equal(vs_draw_heatmap_write(&map, output(path, "crowd.png"), 600, 400, false),
			 0);
	vs_heatmap_fini(&map);
}

static void test_sizes_and_names_that_cannot_be_are_refused(void **state)
{
	struct vs_heatmap map;

	(void)state;
	make_heatmap(&map, 10, 10, false);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.png", 319, 800, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.png", 1200, 239, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.png", 1200, 99999, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.jpg", 1200, 800, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "/nonexistent/x.png", 600, 400, false),
			 -VS_ERR_IO);
	vs_heatmap_fini(&map);
}

static void test_format_is_told_by_the_end_of_the_name(void **state)
{
	(void)state;
	assert_int_equal(vs_draw_page_get_format("a.png"), VS_PAGE_PNG);
	assert_int_equal(vs_draw_page_get_format("a.b/c.SVG"), VS_PAGE_SVG);
	assert_int_equal(vs_draw_page_get_format("a.pdf"), VS_PAGE_PDF);
	assert_int_equal(vs_draw_page_get_format("a.csv"), VS_PAGE_CSV);
	assert_int_equal(vs_draw_page_get_format(".png"), VS_PAGE_UNKNOWN);
	assert_int_equal(vs_draw_page_get_format("png"), VS_PAGE_UNKNOWN);
	assert_int_equal(vs_draw_page_get_format("a.png.gz"), VS_PAGE_UNKNOWN);
}

/* ---- Palette and axes ----------------------------------------------------------------------- */

static double get_lightness(struct vs_color color)
{
	return 0.2126 * color.red * color.red + 0.7152 * color.green * color.green +
	       0.0722 * color.blue * color.blue;
}

static void test_ramps_change_lightness_in_one_direction(void **state)
{
	(void)state;
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		const struct vs_palette *palette = vs_draw_palette_get(is_dark);
		double before = get_lightness(vs_draw_palette_get_ramp(palette, 0));

		for (int i = 1; i <= 100; i++) {
			double now = get_lightness(vs_draw_palette_get_ramp(palette, i / 100.0));

			assert_true(is_dark ? now > before : now < before);
			before = now;
		}
	}
}

static void test_cell_mixes_what_is_not_held_into_its_colour(void **state)
{
	const struct vs_palette *palette = vs_draw_palette_get(false);

	(void)state;
	assert_int_equal(vs_draw_palette_get_cell(palette, 0, 0), to_pixel(palette->plot));
	assert_int_equal(vs_draw_palette_get_cell(palette, 1, 0), to_pixel(palette->ramp[0]));
	assert_int_equal(vs_draw_palette_get_cell(palette, 1, 1),
			 to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]));
	assert_int_equal(vs_draw_palette_get_cell(palette, 1, 0.5), to_pixel(palette->ramp[2]));
	assert_int_not_equal(vs_draw_palette_get_cell(palette, 0.5, 0), to_pixel(palette->ramp[0]));
}

static void expect_bytes(uint64_t bytes, uint64_t step, const char *expected)
{
	char text[VS_AXIS_TEXT_MAX];

	vs_draw_axis_put_bytes(text, bytes, step);
	assert_string_equal(text, expected);
}

static void test_byte_ticks_are_round_and_short(void **state)
{
	(void)state;
	assert_int_equal(vs_draw_axis_choose_bytes(8 * GIB, 8), GIB);
	assert_int_equal(vs_draw_axis_choose_bytes(8 * GIB, 7), 2 * GIB);
	assert_int_equal(vs_draw_axis_choose_bytes(100, 10), 16);
	assert_int_equal(vs_draw_axis_choose_bytes(0, 10), 1);
	expect_bytes(0, GIB, "0");
	expect_bytes(3 * GIB, GIB, "3 GiB");
	expect_bytes(3 * GIB / 2, GIB / 2, "1.5 GiB");
	expect_bytes(5 * GIB / 4, GIB / 4, "1.25 GiB");
	expect_bytes(2 * GIB, GIB / 2, "2 GiB");
	expect_bytes(512ull << 20, GIB / 2, "512 MiB");
	expect_bytes(100, 16, "100 B");
}

static void expect_ns(uint64_t time_ns, uint64_t step, const char *expected)
{
	char text[VS_AXIS_TEXT_MAX];

	vs_draw_axis_put_ns(text, time_ns, step);
	assert_string_equal(text, expected);
}

static void test_time_ticks_are_those_of_a_clock(void **state)
{
	(void)state;
	assert_int_equal(vs_draw_axis_choose_ns(252 * SEC, 12), 30 * SEC);
	assert_int_equal(vs_draw_axis_choose_ns(10 * SEC, 10), SEC);
	assert_int_equal(vs_draw_axis_choose_ns(SEC, 6), SEC / 5);
	assert_int_equal(vs_draw_axis_choose_ns(7200 * SEC, 10), 900 * SEC);
	assert_int_equal(vs_draw_axis_choose_ns(86400 * 100 * SEC, 10), 86400 * 16 * SEC);
	expect_ns(0, SEC, "0");
	expect_ns(90 * SEC, 30 * SEC, "1m 30s");
	expect_ns(120 * SEC, 60 * SEC, "2m");
	expect_ns(7260 * SEC, 60 * SEC, "2h 01m");
	expect_ns(12 * SEC, SEC, "12 s");
	expect_ns(12 * SEC + SEC / 2, SEC / 2, "12.5 s");
	expect_ns(SEC / 5, SEC / 5, "200 ms");
	expect_ns(1500, 500, "1.5 \xc2\xb5s");
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_are_where_they_belong_at_every_size),
		cmocka_unit_test(test_gap_between_ranges_is_a_thin_line),
		cmocka_unit_test(test_failures_are_lines_at_their_times),
		cmocka_unit_test(test_peak_is_marked),
		cmocka_unit_test(test_svg_is_well_formed_and_has_the_size),
		cmocka_unit_test(test_pdf_is_one),
		cmocka_unit_test(test_empty_heatmap_is_drawn),
		cmocka_unit_test(test_crowded_marks_are_drawn),
		cmocka_unit_test(test_sizes_and_names_that_cannot_be_are_refused),
		cmocka_unit_test(test_format_is_told_by_the_end_of_the_name),
		cmocka_unit_test(test_ramps_change_lightness_in_one_direction),
		cmocka_unit_test(test_cell_mixes_what_is_not_held_into_its_colour),
		cmocka_unit_test(test_byte_ticks_are_round_and_short),
		cmocka_unit_test(test_time_ticks_are_those_of_a_clock),
		cmocka_unit_test(test_strip_ends_at_the_capacity_unless_hardly_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
