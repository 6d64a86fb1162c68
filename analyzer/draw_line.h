#ifndef VS_DRAW_LINE_H
#define VS_DRAW_LINE_H

/* Straight lines that fill whole pixels, so that thin ones are not grey. */
#include "draw_text.h"

struct vs_draw_pen {
	struct vs_color color;
	double width; /* in units; at least a pixel is drawn */
	double dash;  /* in units; 0: one line */
};

void vs_draw_line_put_vertical(const struct vs_draw *draw, const struct vs_draw_pen *pen, double x,
			       double from_y, double to_y);
void vs_draw_line_put_horizontal(const struct vs_draw *draw, const struct vs_draw_pen *pen,
				 double y, double from_x, double to_x);

#endif
