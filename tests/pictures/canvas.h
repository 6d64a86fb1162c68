#ifndef VS_CANVAS_H
#define VS_CANVAS_H

/* A page in memory to draw on, and the pixels that were drawn. */
#include <stdbool.h>
#include <stdint.h>

#include "draw_text.h"
#include "heatmap.h"

#define GIB (1ull << 30)
#define SEC 1000000000ull

struct canvas {
	cairo_surface_t *image;
	struct vs_draw draw; /* its unit is a pixel */
};

/* The page has the colour of the palette's. */
void canvas_init(struct canvas *canvas, int width, int height, bool is_dark);
/* Fails the test if something that was drawn was an error. */
void canvas_fini(struct canvas *canvas);

/* 0xRRGGBB */
uint32_t canvas_get_pixel(cairo_surface_t *image, double x, double y);
uint32_t canvas_to_pixel(struct vs_color color);

/* Pixels of a colour in a part of the page. */
int canvas_count(const struct canvas *canvas, struct vs_box box, struct vs_color color);

/* The smallest box around everything that has not the page's colour; width 0: there is nothing. */
struct vs_box canvas_get_ink(const struct canvas *canvas);

/*
 * 100 s. 0x100000000: 2 GiB of a pool from the start, the lower half live from 50 s on.
 * 0x900000000: 2 GiB without a pool, from 20 to 80 s. The peak, 3 GiB, is at 60 s. With failures:
 * an out-of-memory at 90 s, and one that was recovered at 40 s. The caller's to fini.
 */
void canvas_make_heatmap(struct vs_heatmap *heatmap, size_t columns, size_t rows,
			 bool has_failures);

/* The x of a time of that heatmap, and the y of a share: 0 at the bottom of the box, 1 at its top.
 */
double canvas_at(const struct vs_box *box, double seconds);
double canvas_up(const struct vs_box *box, double share);

#endif
