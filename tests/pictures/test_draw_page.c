#include "draw_page.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What the page was when it was drawn. */
struct seen {
	int width;
	int height;
	int scale;
	int nr_drawn;
	bool is_broken; /* leaves cairo in an error */
};

static void draw_red(cairo_t *cr, int width, int height, int scale, const void *data)
{
	struct seen *seen = *(struct seen *const *)data;

	seen->width = width;
	seen->height = height;
	seen->scale = scale;
	seen->nr_drawn++;
	cairo_set_source_rgb(cr, 1, 0, 0);
	cairo_rectangle(cr, 0, 0, width / 2, height);
	cairo_fill(cr);
	if (seen->is_broken)
		cairo_restore(cr); /* of nothing */
}

static int write_page(const char *path, int width, int height, struct seen *seen)
{
	return vs_draw_page_write(path, width, height, draw_red, &seen);
}

static void assert_starts(const char *path, const char *start)
{
	char bytes[16] = "";
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	assert_true(fread(bytes, 1, sizeof(bytes), file) > 0);
	fclose(file);
	assert_memory_equal(bytes, start, strlen(start));
}

static void test_each_format_is_written(void **state)
{
	struct seen seen = {0};
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(write_page(output(path, "page.png"), 40, 30, &seen), 0);
	assert_starts(path, "\x89PNG");
	assert_int_equal(seen.scale, 1);
	assert_int_equal(write_page(output(path, "page.svg"), 40, 30, &seen), 0);
	assert_starts(path, "<?xml");
	assert_int_equal(seen.scale, 2); /* its images may be looked at closely */
	assert_int_equal(write_page(output(path, "page.PdF"), 40, 30, &seen), 0);
	assert_starts(path, "%PDF");
	assert_int_equal(seen.width, 40);
	assert_int_equal(seen.height, 30);
	assert_int_equal(seen.nr_drawn, 3);
}

static void test_what_was_drawn_is_in_the_file(void **state)
{
	struct seen seen = {0};
	char path[PATH_MAX];
	cairo_surface_t *image;

	(void)state;
	assert_int_equal(write_page(output(path, "red.png"), 40, 30, &seen), 0);
	image = cairo_image_surface_create_from_png(path);
	assert_int_equal(cairo_image_surface_get_width(image), 40);
	assert_int_equal(canvas_get_pixel(image, 19, 29), 0xff0000);
	assert_int_equal(canvas_get_pixel(image, 20, 0), 0);
	cairo_surface_destroy(image);
}

static void test_file_that_was_there_is_replaced(void **state)
{
	struct seen seen = {0};
	struct stat before, after;
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(write_page(output(path, "again.png"), 400, 300, &seen), 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(write_page(path, 4, 3, &seen), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_true(after.st_size < before.st_size);
}

static void test_what_tells_no_format_or_cannot_be_is_invalid(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_int_equal(write_page("page.jpg", 40, 30, &seen), -VS_ERR_INVALID);
	assert_int_equal(write_page("page.csv", 40, 30, &seen), -VS_ERR_INVALID);
	assert_int_equal(write_page("page.png", 0, 30, &seen), -VS_ERR_INVALID);
	assert_int_equal(write_page("page.png", 40, -1, &seen), -VS_ERR_INVALID);
	assert_int_equal(write_page("page.png", 1000000, 1, &seen), -VS_ERR_INVALID);
	assert_int_not_equal(access("page.png", F_OK), 0);
}

static void test_file_that_cannot_be_written_is_an_error_with_its_reason(void **state)
{
	struct seen seen = {0};
	char path[PATH_MAX];

	(void)state;
	errno = 0;
	assert_int_equal(write_page("/nonexistent/page.png", 40, 30, &seen), -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	remove(output(path, "full.png"));
	assert_int_equal(symlink("/dev/full", path), 0);
	assert_int_equal(write_page(path, 40, 30, &seen), -VS_ERR_IO);
	assert_int_equal(errno, ENOSPC);
	remove(path);
}

static void test_picture_that_went_wrong_leaves_no_file(void **state)
{
	struct seen seen = {.is_broken = true};
	char path[PATH_MAX];

	(void)state;
	assert_int_not_equal(write_page(output(path, "broken.png"), 40, 30, &seen), 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_is_told_by_the_end_of_the_name),
		cmocka_unit_test(test_each_format_is_written),
		cmocka_unit_test(test_what_was_drawn_is_in_the_file),
		cmocka_unit_test(test_file_that_was_there_is_replaced),
		cmocka_unit_test(test_what_tells_no_format_or_cannot_be_is_invalid),
		cmocka_unit_test(test_file_that_cannot_be_written_is_an_error_with_its_reason),
		cmocka_unit_test(test_picture_that_went_wrong_leaves_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
