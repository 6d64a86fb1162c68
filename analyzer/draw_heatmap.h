#ifndef VS_DRAW_HEATMAP_H
#define VS_DRAW_HEATMAP_H

/*
 * The picture of a heatmap: cells over addresses and time, failures, peak, steps and phases marked,
 * and below it, on the same time axis, what was live and reserved.
 */
#include <stdbool.h>

#include "draw_text.h"
#include "error.h"
#include "heatmap.h"

#define VS_DRAW_HEATMAP_MIN_WIDTH  320
#define VS_DRAW_HEATMAP_MIN_HEIGHT 240
#define VS_DRAW_HEATMAP_MAX        16384

/* Where the parts of a page of that size are; cells need no more columns and rows than `plot`. */
struct vs_draw_layout {
	double unit;
	struct vs_box header;
	struct vs_box phases; /* a band above the plot; height 0 where there are none */
	struct vs_box plot;
	struct vs_box holes; /* how fragmented it is */
	struct vs_box strip;
};

/* nr_groups: of the heatmap; its legend is as many lines higher. */
void vs_draw_heatmap_lay_out(struct vs_draw_layout *layout, int width, int height, bool has_phases,
			     size_t nr_groups);

/* heatmap is finished. Errors: vs_draw_page_write. */
VS_MUST_CHECK int vs_draw_heatmap_write(const struct vs_heatmap *heatmap, const char *path,
					int width, int height, bool is_dark);

#endif
