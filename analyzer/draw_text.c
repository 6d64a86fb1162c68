#include "draw_text.h"

#include <stdio.h>
#include <string.h>

#define CUT_MIN 4 /* bytes: fewer tell nothing */

double vs_draw_text_get_line(const struct vs_draw *draw)
{
	return 17 * draw->unit;
}

void vs_draw_text_set_color(const struct vs_draw *draw, struct vs_color color)
{
	cairo_set_source_rgb(draw->cr, color.red, color.green, color.blue);
}

static void set_font(const struct vs_draw *draw, double scale)
{
	cairo_select_font_face(draw->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       scale > 1 ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(draw->cr, 13 * draw->unit * scale);
}

double vs_draw_text_get_width(const struct vs_draw *draw, double scale, const char *text)
{
	cairo_text_extents_t extents;

	set_font(draw, scale);
	cairo_text_extents(draw->cr, text, &extents);
	return extents.x_advance;
}

void vs_draw_text_put(const struct vs_draw *draw, double x, double y, enum vs_draw_anchor anchor,
		      double scale, struct vs_color color, const char *text)
{
	double width = vs_draw_text_get_width(draw, scale, text);

	if (anchor == VS_DRAW_CENTER)
		x -= width / 2;
	else if (anchor == VS_DRAW_RIGHT)
		x -= width;
	vs_draw_text_set_color(draw, color);
	/* Digits and capitals are about 0.72 of the size high. */
	cairo_move_to(draw->cr, x, y + 13 * draw->unit * scale * 0.36);
	cairo_show_text(draw->cr, text);
	cairo_new_path(draw->cr);
}

void vs_draw_text_put_cut(const struct vs_draw *draw, double x, double y, double width,
			  double scale, struct vs_color color, const char *text)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	char cut[1024];
	size_t size = strnlen(text, sizeof(cut) - sizeof(ellipsis));

	if (vs_draw_text_get_width(draw, scale, text) <= width && strlen(text) == size) {
		vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, scale, color, text);
		return;
	}
	do {
		/* Never within a character of several bytes. */
		while (size > 0 && (text[--size] & 0xc0) == 0x80)
			;
		snprintf(cut, sizeof(cut), "%.*s%s", (int)size, text, ellipsis);
	} while (size > 0 && vs_draw_text_get_width(draw, scale, cut) > width);
	if (size >= CUT_MIN)
		vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, scale, color, cut);
}
