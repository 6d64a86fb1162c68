#include "draw_line.h"

#include <math.h>
#include <stddef.h>

/* Sets up the pen; returns where its middle must be to cover whole pixels. */
static double take_pen(const struct vs_draw *draw, const struct vs_draw_pen *pen, double at)
{
	double width = fmax(1, round(pen->width * draw->unit));
	double dashes[] = {pen->dash * draw->unit, 3.5 * draw->unit};

	vs_draw_text_set_color(draw, pen->color);
	vs_draw_cairo.set_line_width(draw->cr, width);
	vs_draw_cairo.set_dash(draw->cr, dashes, pen->dash > 0 ? 2 : 0, 0);
	return fmod(width, 2) == 1 ? floor(at) + 0.5 : round(at);
}

static void stroke(const struct vs_draw *draw)
{
	vs_draw_cairo.stroke(draw->cr);
	vs_draw_cairo.set_dash(draw->cr, NULL, 0, 0);
}

void vs_draw_line_put_vertical(const struct vs_draw *draw, const struct vs_draw_pen *pen, double x,
			       double from_y, double to_y)
{
	x = take_pen(draw, pen, x);
	vs_draw_cairo.move_to(draw->cr, x, from_y);
	vs_draw_cairo.line_to(draw->cr, x, to_y);
	stroke(draw);
}

void vs_draw_line_put_horizontal(const struct vs_draw *draw, const struct vs_draw_pen *pen,
				 double y, double from_x, double to_x)
{
	y = take_pen(draw, pen, y);
	vs_draw_cairo.move_to(draw->cr, from_x, y);
	vs_draw_cairo.line_to(draw->cr, to_x, y);
	stroke(draw);
}
