#include "draw_page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "grow.h"
#include "interrupt.h"

struct bytes {
	unsigned char *data;
	size_t size;
	size_t capacity;
};

enum vs_page_format vs_draw_page_get_format(const char *path)
{
	static const struct {
		const char *end;
		enum vs_page_format format;
	} formats[] = {
		{".png", VS_PAGE_PNG},
		{".svg", VS_PAGE_SVG},
		{".pdf", VS_PAGE_PDF},
		{".csv", VS_PAGE_CSV},
	};
	size_t size = strlen(path);

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (size > 4 && strcasecmp(path + size - 4, formats[i].end) == 0)
			return formats[i].format;
	return VS_PAGE_UNKNOWN;
}

static cairo_status_t append(void *closure, const unsigned char *data, unsigned int size)
{
	struct bytes *bytes = closure;

	if (VS_GROW(bytes->data, bytes->capacity, bytes->size + size))
		return CAIRO_STATUS_NO_MEMORY;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *create_surface(enum vs_page_format format, int width, int height,
				       struct bytes *bytes)
{
	cairo_surface_t *surface;

	switch (format) {
	case VS_PAGE_SVG:
		surface = vs_draw_cairo.svg_surface_create_for_stream(append, bytes, width, height);
		vs_draw_cairo.svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
		return surface;
	case VS_PAGE_PDF:
		return vs_draw_cairo.pdf_surface_create_for_stream(append, bytes, width, height);
	default:
		return vs_draw_cairo.image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	}
}

static int make_picture(enum vs_page_format format, int width, int height, vs_draw_page_fn draw,
			const void *data, struct bytes *bytes)
{
	cairo_surface_t *surface = create_surface(format, width, height, bytes);
	cairo_t *cr = vs_draw_cairo.create(surface);
	cairo_status_t status;

	draw(cr, width, height, format == VS_PAGE_PNG ? 1 : 2, data);
	status = vs_draw_cairo.status(cr);
	vs_draw_cairo.destroy(cr);
	if (!status && format == VS_PAGE_PNG)
		status = vs_draw_cairo.surface_write_to_png_stream(surface, append, bytes);
	vs_draw_cairo.surface_finish(surface);
	if (!status)
		status = vs_draw_cairo.surface_status(surface);
	vs_draw_cairo.surface_destroy(surface);
	if (status == CAIRO_STATUS_INVALID_SIZE)
		return -VS_ERR_INVALID;
	return status ? -VS_ERR_NO_MEMORY : 0;
}

static int write_file(const char *path, const struct bytes *bytes)
{
	FILE *file = fopen(path, "we");
	bool is_written, is_closed;
	int saved;

	if (!file)
		return -VS_ERR_IO;
	vs_interrupt_guard_file(path);
	is_written = fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
	saved = errno;
	is_closed = fclose(file) == 0;
	vs_interrupt_release_file();
	if (is_closed && is_written)
		return 0;
	if (!is_written)
		errno = saved;
	return -VS_ERR_IO;
}

int vs_draw_page_write(const char *path, int width, int height, vs_draw_page_fn draw,
		       const void *data)
{
	enum vs_page_format format = vs_draw_page_get_format(path);
	struct bytes bytes = {0};
	int err;

	if (format == VS_PAGE_UNKNOWN || format == VS_PAGE_CSV || width < 1 || height < 1)
		return -VS_ERR_INVALID;
	err = vs_draw_cairo_load();
	if (!err)
		err = make_picture(format, width, height, draw, data, &bytes);
	if (!err)
		err = write_file(path, &bytes);
	free(bytes.data);
	return err;
}
