#ifndef VS_DRAW_TEXT_H
#define VS_DRAW_TEXT_H

/* What every picture needs of cairo: a page with a palette and a size of type, and text on it. */
#include "draw_cairo.h"
#include "draw_palette.h"

struct vs_box {
	double x;
	double y; /* of the upper edge */
	double width;
	double height;
};

struct vs_draw {
	cairo_t *cr;
	const struct vs_palette *palette;
	double width;
	double height;
	double unit; /* a line's width; type has 13 units */
};

enum vs_draw_anchor {
	VS_DRAW_LEFT,
	VS_DRAW_CENTER,
	VS_DRAW_RIGHT,
};

/* Height of a line of text. */
double vs_draw_text_get_line(const struct vs_draw *draw);

double vs_draw_text_get_width(const struct vs_draw *draw, double scale, const char *text);

/* y is the middle of the line; scale 1 is the size of a label. */
void vs_draw_text_put(const struct vs_draw *draw, double x, double y, enum vs_draw_anchor anchor,
		      double scale, struct vs_color color, const char *text);

/* Cut to a width, with an ellipsis at the end; nothing if hardly a letter has room. */
void vs_draw_text_put_cut(const struct vs_draw *draw, double x, double y, double width,
			  double scale, struct vs_color color, const char *text);

void vs_draw_text_set_color(const struct vs_draw *draw, struct vs_color color);

#endif
