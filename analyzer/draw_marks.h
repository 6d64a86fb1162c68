#ifndef VS_DRAW_MARKS_H
#define VS_DRAW_MARKS_H

/* Lines over plot and strip: failed allocations, and the peak. */
#include "draw_heatmap.h"

void vs_draw_marks_put(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_draw_layout *layout);

/* The samples of the marks that the legend shows, at x, centred on y. Returns where they end. */
double vs_draw_marks_put_legend(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
				double x, double y);

#endif
