/* Whole pictures, read back. Texts are not looked at: fonts differ from machine to machine. */
#include "draw_heatmap.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "canvas.h"

static char *output(char *path, const char *name)
{
	const char *folder = getenv("VS_DRAW_OUT");

	mkdir(folder, 0777);
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	remove(path);
	return path;
}

static void draw_file(const char *path, int width, int height, bool is_dark, bool has_failures)
{
	struct vs_draw_layout layout;
	struct vs_heatmap map;

	vs_draw_heatmap_lay_out(&layout, width, height, false, 0);
	canvas_make_heatmap(&map, (size_t)layout.plot.width, (size_t)layout.plot.height,
			    has_failures);
	assert_int_equal(vs_draw_heatmap_write(&map, path, width, height, is_dark), 0);
	vs_heatmap_fini(&map);
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
	uint32_t hole = canvas_to_pixel(palette->ramp[0]);
	uint32_t live = canvas_to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]);
	uint32_t not_held = canvas_to_pixel(palette->plot);
	struct vs_draw_layout layout;
	char path[PATH_MAX];
	cairo_surface_t *image;

	draw_file(output(path, name), width, height, is_dark, false);
	image = open_png(path, width, height);
	vs_draw_heatmap_lay_out(&layout, width, height, false, 0);

	assert_int_equal(canvas_get_pixel(image, 1, 1), canvas_to_pixel(palette->page));
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 30), canvas_up(&layout.plot, 0.1)),
		hole);
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 70), canvas_up(&layout.plot, 0.1)),
		live);
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 70), canvas_up(&layout.plot, 0.4)),
		hole);
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 10), canvas_up(&layout.plot, 0.7)),
		not_held);
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 30), canvas_up(&layout.plot, 0.7)),
		live);
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 90), canvas_up(&layout.plot, 0.7)),
		not_held);

	/* 3 of 8 GiB are live, 4 reserved. */
	assert_int_equal(canvas_get_pixel(image, canvas_at(&layout.strip, 70),
					  canvas_up(&layout.strip, 0.34)),
			 live);
	assert_int_equal(canvas_get_pixel(image, canvas_at(&layout.strip, 70),
					  canvas_up(&layout.strip, 0.44)),
			 hole);
	assert_int_equal(canvas_get_pixel(image, canvas_at(&layout.strip, 70),
					  canvas_up(&layout.strip, 0.56)),
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
	vs_draw_heatmap_lay_out(&layout, 1200, 800, false, 0);
	for (int y = -5; y <= 5; y++)
		nr_gap += canvas_get_pixel(image, canvas_at(&layout.plot, 30),
					   canvas_up(&layout.plot, 0.5) + y) ==
			  canvas_to_pixel(palette->page);
	assert_in_range(nr_gap, 1, 3);
	cairo_surface_destroy(image);
}

/* Pixels of the colour of failures in a column of the lower half of the plot. */
static int count_failure_pixels(cairo_surface_t *image, const struct vs_box *plot, double seconds)
{
	uint32_t red = canvas_to_pixel(vs_draw_palette_get(false)->failure);
	int nr = 0;

	for (double y = plot->y + plot->height / 2; y < plot->y + plot->height; y++)
		nr += canvas_get_pixel(image, canvas_at(plot, seconds), y) == red;
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
	vs_draw_heatmap_lay_out(&layout, 1200, 800, false, 0);
	half = (int)layout.plot.height / 2;
	assert_in_range(count_failure_pixels(image, &layout.plot, 90), half, half + 1);
	/* Recovered: dashed. */
	assert_in_range(count_failure_pixels(image, &layout.plot, 40), half / 4, half * 3 / 4);
	assert_int_equal(count_failure_pixels(image, &layout.plot, 10), 0);
	assert_int_equal(count_failure_pixels(image, &layout.plot, 70), 0);
	/* A label of the same colour at the top, left of the line: it is in the right half. */
	assert_int_equal(
		canvas_get_pixel(image, canvas_at(&layout.plot, 90) - 4, layout.plot.y + 7),
		canvas_to_pixel(vs_draw_palette_get(false)->failure));
	cairo_surface_destroy(image);
}

static void test_peak_is_marked(void **state)
{
	uint32_t mark = canvas_to_pixel(vs_draw_palette_get(false)->mark);
	struct vs_draw_layout layout;
	char path[PATH_MAX];
	cairo_surface_t *image;
	int nr = 0;

	(void)state;
	draw_file(output(path, "peak.png"), 1200, 800, false, false);
	image = open_png(path, 1200, 800);
	vs_draw_heatmap_lay_out(&layout, 1200, 800, false, 0);

	/* Dots: many, but not all of it. */
	for (double y = layout.plot.y; y < layout.plot.y + layout.plot.height; y++)
		nr += canvas_get_pixel(image, canvas_at(&layout.plot, 60), y) == mark;
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
	canvas_make_heatmap(&map, 500, 200, true);
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

static void draw_named(const char *name, int width, int height)
{
	struct vs_heatmap map;
	char path[PATH_MAX];

	canvas_make_heatmap(&map, 200, 100, true);
	free(map.program);
	map.program = strdup(name);
	map.device_name = strdup(name);
	assert_int_equal(vs_heatmap_add_phase(&map, 0, 100 * SEC, name), 0);
	assert_int_equal(
		vs_draw_heatmap_write(&map, output(path, "named.png"), width, height, false), 0);
	vs_heatmap_fini(&map);
}

/* A program may be called anything, and its command line is cut anywhere. */
static void test_names_that_are_no_text_do_not_spoil_the_picture(void **state)
{
	char *name = malloc(2001);

	(void)state;
	assert_non_null(name);
	draw_named("caf\xe9 \xff\xfe", 600, 400);
	draw_named("", 600, 400);
	draw_named("a\tb\nc\033[31m", 600, 400);
	memset(name, 'x', 2000);
	name[2000] = '\0';
	draw_named(name, 600, 400);
	for (size_t at = 1000; at < 1010; at++) { /* cut within a character, at every place */
		memset(name, 'x', 2000);
		memcpy(name + at, "\xe8\xa8\x93\xe7\xb7\xb4", 6);
		name[at + 4] = '\0';
		draw_named(name, 3000, 400);
	}
	free(name);
}

/* As they come from a damaged trace. It must end, whatever it shows. */
static void test_numbers_at_their_limits_are_drawn(void **state)
{
	struct vs_heatmap_failure failure = {UINT64_MAX, UINT64_MAX, UINT64_MAX, true};
	struct vs_heatmap map;
	char path[PATH_MAX];

	(void)state;
	vs_heatmap_init(&map, 0, UINT64_MAX);
	map.capacity = UINT64_MAX;
	assert_int_equal(vs_heatmap_add_range(&map, 0, UINT64_MAX), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 100, 100), 0);
	vs_heatmap_add_level(&map, 5, UINT64_MAX, UINT64_MAX);
	assert_int_equal(vs_heatmap_add_failure(&map, &failure), 0);
	assert_int_equal(vs_heatmap_add_step(&map, UINT64_MAX - 1, UINT64_MAX), 0);
	assert_int_equal(vs_heatmap_add_phase(&map, 0, UINT64_MAX, "all"), 0);
	vs_heatmap_finish(&map);
	assert_int_equal(vs_draw_heatmap_write(&map, output(path, "limits.png"), 600, 400, false),
			 0);
	vs_heatmap_fini(&map);
	vs_heatmap_init(&map, UINT64_MAX - 1, UINT64_MAX);
	assert_int_equal(vs_heatmap_make_cells(&map, 100, 100), 0);
	vs_heatmap_add_level(&map, UINT64_MAX - 1, 0, 0xe000000000000000);
	vs_heatmap_finish(&map);
	assert_int_equal(vs_draw_heatmap_write(&map, output(path, "limits.png"), 600, 400, true),
			 0);
	vs_heatmap_fini(&map);
}

static void test_parts_of_the_page_do_not_overlap(void **state)
{
	static const int sizes[][2] = {{VS_DRAW_HEATMAP_MIN_WIDTH, VS_DRAW_HEATMAP_MIN_HEIGHT},
				       {1200, 800},
				       {4000, 300},
				       {400, 4000},
				       {VS_DRAW_HEATMAP_MAX, VS_DRAW_HEATMAP_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (int has_phases = 0; has_phases < 2; has_phases++) {
			struct vs_draw_layout at;

			vs_draw_heatmap_lay_out(&at, sizes[i][0], sizes[i][1], has_phases, 0);
			assert_true(at.header.y >= 0);
			assert_true(at.header.y + at.header.height <= at.phases.y);
			assert_true(at.phases.y + at.phases.height <= at.plot.y);
			assert_int_equal(at.phases.height > 0, has_phases);
			assert_true(at.plot.y + at.plot.height < at.strip.y);
			assert_true(at.strip.y + at.strip.height < sizes[i][1]);
			assert_true(at.plot.height >= 50 && at.plot.width >= 50);
			assert_true(at.strip.height >= 10);
			assert_true(at.plot.x > 0 && at.plot.x + at.plot.width < sizes[i][0]);
		}
	}
}

static void test_sizes_and_names_that_cannot_be_are_refused(void **state)
{
	struct vs_heatmap map;

	(void)state;
	canvas_make_heatmap(&map, 10, 10, false);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.png", 319, 800, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.png", 1200, 239, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.png", 1200, 99999, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "x.jpg", 1200, 800, false), -VS_ERR_INVALID);
	assert_int_equal(vs_draw_heatmap_write(&map, "/nonexistent/x.png", 600, 400, false),
			 -VS_ERR_IO);
	vs_heatmap_fini(&map);
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
		cmocka_unit_test(test_names_that_are_no_text_do_not_spoil_the_picture),
		cmocka_unit_test(test_numbers_at_their_limits_are_drawn),
		cmocka_unit_test(test_parts_of_the_page_do_not_overlap),
		cmocka_unit_test(test_sizes_and_names_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
