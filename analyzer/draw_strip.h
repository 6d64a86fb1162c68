#ifndef VS_DRAW_STRIP_H
#define VS_DRAW_STRIP_H

/* The lower part of the picture: live and reserved bytes over time, and the time axis. */
#include "draw_heatmap.h"

/* How much of what is free is outside the largest hole, 0 to 1. */
void vs_draw_strip_put_holes(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			     const struct vs_box *box);

void vs_draw_strip_put(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box);

/* The number at the top of the strip's axis. */
uint64_t vs_draw_strip_get_top(const struct vs_heatmap *heatmap);

#endif
