/* The picture of an address space: colours at known places, in every format. */
#include "draw_space.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "canvas.h"
#include "draw_heatmap.h"

/* Eight rows' worth: two blocks, a hole between them, a free segment. */
static struct vs_space_piece pieces[] = {
	{VS_SPACE_LIVE, 0, 2000, 0, true, true},
	{VS_SPACE_HOLE, 2000, 2000, 0, false, false},
	{VS_SPACE_LIVE, 4000, 2000, 1, true, false},
	{VS_SPACE_RELEASABLE, 6000, 2000, 0, false, true},
};

static struct vs_space make_space(void)
{
	static char names[][16] = {"first", "second", "all others"};

	return (struct vs_space){.pieces = pieces,
				 .nr_pieces = 4,
				 .total_bytes = 8000,
				 .nr_segments = 2,
				 .group_names = {names[0], names[1], names[2]},
				 .nr_groups = 3};
}

static const char *output(char path[PATH_MAX], const char *name)
{
	const char *folder = getenv("VS_DRAW_OUT");

	assert_non_null(folder);
	mkdir(folder, 0777);
	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	remove(path);
	return path;
}

/* The colour in the middle of a row's bar, at an address; a little right of it, where no line is.
 */
static uint32_t get_pixel(cairo_surface_t *image, const struct vs_draw_rows *rows, uint64_t offset)
{
	uint64_t row = offset / rows->row_bytes;
	double x = rows->box.x + (double)(offset - row * rows->row_bytes) /
					 (double)rows->row_bytes * rows->box.width;

	return canvas_get_pixel(image, x, rows->box.y + (double)row * rows->row_height + 3);
}

static void check_colors(bool is_dark)
{
	const struct vs_palette *palette = vs_draw_palette_get(is_dark);
	struct vs_space space = make_space();
	struct vs_draw_rows rows;
	cairo_surface_t *image;
	char path[PATH_MAX];
	uint32_t hole;

	assert_int_equal(vs_draw_space_write(&space, output(path, "space.png"), 1200, 800, is_dark),
			 0);
	image = cairo_image_surface_create_from_png(path);
	assert_int_equal(cairo_image_surface_get_width(image), 1200);
	vs_draw_space_lay_out(&rows, &space, 1200, 800);
	assert_int_equal(get_pixel(image, &rows, 700), canvas_to_pixel(palette->group[0]));
	assert_int_equal(get_pixel(image, &rows, 1700), canvas_to_pixel(palette->group[0]));
	assert_int_equal(get_pixel(image, &rows, 4700), canvas_to_pixel(palette->group[1]));
	hole = get_pixel(image, &rows, 3100);
	assert_int_not_equal(hole, canvas_to_pixel(palette->group[0]));
	assert_int_not_equal(hole, canvas_to_pixel(palette->page));
	assert_int_not_equal(get_pixel(image, &rows, 7100), hole);
	cairo_surface_destroy(image);
}

static void test_pieces_have_their_colours(void **state)
{
	(void)state;
	check_colors(false);
	check_colors(true);
}

/*
 * Segments of four pages, far too many to be seen one by one: in the first half a block in each, of
 * one group or (every fifth) the other, in the second half holes for the most part.
 */
#define NR_CROWDED 200000u

static struct vs_space make_crowd(void)
{
	struct vs_space space = make_space();

	space.pieces = calloc(2u * NR_CROWDED, sizeof(*space.pieces));
	assert_non_null(space.pieces);
	for (uint64_t i = 0; i < NR_CROWDED; i++) {
		bool is_hole = i >= NR_CROWDED / 2;

		space.pieces[2 * i] = (struct vs_space_piece){
			VS_SPACE_LIVE, 4 * i, is_hole ? 1 : 3, i % 5 == 0, is_hole, true};
		space.pieces[2 * i + 1] =
			(struct vs_space_piece){is_hole ? VS_SPACE_HOLE : VS_SPACE_LIVE,
						4 * i + (is_hole ? 1 : 3),
						is_hole ? 3 : 1,
						1,
						false,
						false};
	}
	space.nr_pieces = (size_t)2 * NR_CROWDED;
	space.total_bytes = (uint64_t)4 * NR_CROWDED;
	space.nr_segments = NR_CROWDED;
	return space;
}

static void test_a_crowd_looks_like_most_of_it(void **state)
{
	const struct vs_palette *palette = vs_draw_palette_get(false);
	struct vs_space space = make_crowd();
	struct vs_draw_rows rows;
	cairo_surface_t *image;
	char path[PATH_MAX];
	uint32_t pixel;

	(void)state;
	assert_int_equal(vs_draw_space_write(&space, output(path, "crowd.png"), 1200, 800, false),
			 0);
	image = cairo_image_surface_create_from_png(path);
	vs_draw_space_lay_out(&rows, &space, 1200, 800);
	for (uint64_t i = 1; i < 9; i++)
		assert_int_equal(get_pixel(image, &rows, i * space.total_bytes / 20 + 700),
				 canvas_to_pixel(palette->group[0]));
	pixel = get_pixel(image, &rows, space.total_bytes / 4 * 3);
	cairo_surface_destroy(image);
	/* Hatched. */
	assert_int_not_equal(pixel, canvas_to_pixel(palette->group[0]));
	assert_int_not_equal(pixel, canvas_to_pixel(palette->group[1]));
	assert_int_not_equal(pixel, canvas_to_pixel(palette->text));
	free(space.pieces);
}

static void test_a_crowd_takes_no_more_room_than_there_are_places(void **state)
{
	struct vs_space space = make_crowd();
	char path[PATH_MAX];
	struct stat found;

	(void)state;
	assert_int_equal(vs_draw_space_write(&space, output(path, "crowd.svg"), 1200, 800, false),
			 0);
	assert_int_equal(stat(path, &found), 0);
	assert_true(found.st_size < 4 << 20);
	free(space.pieces);
}

static void test_rows_hold_all_addresses_at_any_size(void **state)
{
	struct vs_space space = make_space();
	struct vs_draw_rows rows;

	(void)state;
	for (int width = 320; width < 4000; width += 517)
		for (int height = 240; height < 4000; height += 613) {
			vs_draw_space_lay_out(&rows, &space, width, height);
			assert_true(rows.nr_rows * rows.row_bytes >= space.total_bytes);
			assert_true(rows.box.x + rows.box.width <= width);
			assert_true(rows.bar_height <= rows.row_height);
		}
}

static void test_every_format_is_written(void **state)
{
	static const char *const names[] = {"space.png", "space.svg", "space.pdf"};
	struct vs_space space = make_space();
	struct vs_space empty = {0};
	char path[PATH_MAX];
	struct stat found;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
			vs_draw_space_write(&space, output(path, names[i]), 640, 480, false), 0);
		assert_int_equal(stat(path, &found), 0);
		assert_true(found.st_size > 1000);
		assert_int_equal(
			vs_draw_space_write(&empty, output(path, names[i]), 640, 480, false), 0);
	}
	assert_int_equal(
		vs_draw_space_write(&space, path, VS_DRAW_HEATMAP_MIN_WIDTH - 1, 480, false),
		-VS_ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_have_their_colours),
		cmocka_unit_test(test_a_crowd_looks_like_most_of_it),
		cmocka_unit_test(test_a_crowd_takes_no_more_room_than_there_are_places),
		cmocka_unit_test(test_rows_hold_all_addresses_at_any_size),
		cmocka_unit_test(test_every_format_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
