#ifndef VS_DRAW_PAGE_H
#define VS_DRAW_PAGE_H

/* A file to draw into: PNG, SVG or PDF, by the end of its name. */
#include "draw_cairo.h"
#include "error.h"

enum vs_page_format {
	VS_PAGE_UNKNOWN,
	VS_PAGE_PNG,
	VS_PAGE_SVG,
	VS_PAGE_PDF,
	VS_PAGE_CSV, /* not drawn: heatmap_csv.h */
};

enum vs_page_format vs_draw_page_get_format(const char *path);

/* Draws a page of the given size, `scale` device pixels to each of its units. */
typedef void (*vs_draw_page_fn)(cairo_t *cr, int width, int height, int scale, const void *data);

/*
 * Makes the whole picture in memory, then the file. -VS_ERR_IO (see errno), -VS_ERR_NO_MEMORY,
 * -VS_ERR_INVALID for a name that tells no format or a size that cannot be.
 */
VS_MUST_CHECK int vs_draw_page_write(const char *path, int width, int height, vs_draw_page_fn draw,
				     const void *data);

#endif
