#include "canvas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void canvas_init(struct canvas *canvas, int width, int height, bool is_dark)
{
	const struct vs_palette *palette = vs_draw_palette_get(is_dark);

	assert_int_equal(vs_draw_cairo_load(), 0);
	canvas->image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	canvas->draw = (struct vs_draw){
		.cr = cairo_create(canvas->image),
		.palette = palette,
		.width = width,
		.height = height,
		.unit = 1,
	};
	vs_draw_text_set_color(&canvas->draw, palette->page);
	cairo_paint(canvas->draw.cr);
}

void canvas_fini(struct canvas *canvas)
{
	assert_int_equal(cairo_status(canvas->draw.cr), CAIRO_STATUS_SUCCESS);
	cairo_destroy(canvas->draw.cr);
	cairo_surface_destroy(canvas->image);
}

uint32_t canvas_get_pixel(cairo_surface_t *image, double x, double y)
{
	const unsigned char *data = cairo_image_surface_get_data(image);
	int stride = cairo_image_surface_get_stride(image);
	uint32_t pixel;

	memcpy(&pixel, data + (ptrdiff_t)y * stride + (ptrdiff_t)x * 4, sizeof(pixel));
	return pixel & 0xffffff;
}

uint32_t canvas_to_pixel(struct vs_color color)
{
	return (uint32_t)(color.red * 255 + 0.5) << 16 | (uint32_t)(color.green * 255 + 0.5) << 8 |
	       (uint32_t)(color.blue * 255 + 0.5);
}

int canvas_count(const struct canvas *canvas, struct vs_box box, struct vs_color color)
{
	int nr = 0;

	cairo_surface_flush(canvas->image);
	for (double y = box.y; y < box.y + box.height; y++)
		for (double x = box.x; x < box.x + box.width; x++)
			nr += canvas_get_pixel(canvas->image, x, y) == canvas_to_pixel(color);
	return nr;
}

struct vs_box canvas_get_ink(const struct canvas *canvas)
{
	uint32_t page = canvas_to_pixel(canvas->draw.palette->page);
	double left = canvas->draw.width, top = canvas->draw.height, right = 0, bottom = 0;

	cairo_surface_flush(canvas->image);
	for (double y = 0; y < canvas->draw.height; y++) {
		for (double x = 0; x < canvas->draw.width; x++) {
			if (canvas_get_pixel(canvas->image, x, y) == page)
				continue;
			left = x < left ? x : left;
			right = x + 1 > right ? x + 1 : right;
			top = y < top ? y : top;
			bottom = y + 1;
		}
	}
	if (right <= left)
		return (struct vs_box){0};
	return (struct vs_box){left, top, right - left, bottom - top};
}

void canvas_make_heatmap(struct vs_heatmap *map, size_t columns, size_t rows, bool has_failures)
{
	static const struct vs_lifetime lifetimes[] = {
		{0x100000000, 2 * GIB, 0, 100 * SEC, true, false, 0},
		{0x100000000, GIB, 50 * SEC, 100 * SEC, false, true, 0},
		{0x900000000, 2 * GIB, 20 * SEC, 80 * SEC, true, true, 0},
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

double canvas_at(const struct vs_box *box, double seconds)
{
	return box->x + box->width * seconds / 100;
}

double canvas_up(const struct vs_box *box, double share)
{
	return box->y + box->height * (1 - share);
}
