#ifndef VS_DRAW_PLOT_H
#define VS_DRAW_PLOT_H

/* The upper part of the picture: cells, addresses, marks. */
#include "draw_heatmap.h"

/* Where a time of the window is. */
double vs_draw_plot_get_x(const struct vs_heatmap *heatmap, const struct vs_box *box,
			  uint64_t time_ns);

/* `scale`: pixels of the cells' image to each unit of the page. */
void vs_draw_plot_put_cells(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			    const struct vs_box *box, int scale);

/* Tick marks and texts on the left, starts of ranges on the right, gaps between ranges. */
void vs_draw_plot_put_addresses(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
				const struct vs_box *box);

/* A band of phases, or of the numbers of steps. */
void vs_draw_plot_put_phases(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			     const struct vs_box *band);

#endif
