#include "draw_text.h"

#include <stdio.h>
#include <string.h>

#include "utf8.h"

#define CUT_MIN  4    /* bytes: fewer tell nothing */
#define TEXT_MAX 1024 /* more than any page has room for */

double vs_draw_text_get_line(const struct vs_draw *draw)
{
	return 17 * draw->unit;
}

void vs_draw_text_set_color(const struct vs_draw *draw, struct vs_color color)
{
	vs_draw_cairo.set_source_rgb(draw->cr, color.red, color.green, color.blue);
}

static void set_font(const struct vs_draw *draw, double scale)
{
	vs_draw_cairo.select_font_face(draw->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
				       scale > 1 ? CAIRO_FONT_WEIGHT_BOLD
						 : CAIRO_FONT_WEIGHT_NORMAL);
	vs_draw_cairo.set_font_size(draw->cr, 13 * draw->unit * scale);
}

/*
 * The longest part of a text that cairo takes, in out: it wants UTF-8, and after anything else
 * draws nothing more on the whole page. Returns its size, without the end.
 */
static size_t make_valid(char out[TEXT_MAX], const char *text)
{
	size_t used = 0, size;

	for (; *text && used + 4 < TEXT_MAX; text += size ? size : 1) {
		size = vs_utf8_get_size(text);
		if (size)
			memcpy(out + used, text, size);
		else
			out[used] = '?';
		used += size ? size : 1;
	}
	out[used] = '\0';
	return used;
}

static double get_width(const struct vs_draw *draw, double scale, const char *valid)
{
	cairo_text_extents_t extents;

	set_font(draw, scale);
	vs_draw_cairo.text_extents(draw->cr, valid, &extents);
	return extents.x_advance;
}

double vs_draw_text_get_width(const struct vs_draw *draw, double scale, const char *text)
{
	char valid[TEXT_MAX];

	make_valid(valid, text);
	return get_width(draw, scale, valid);
}

void vs_draw_text_put(const struct vs_draw *draw, double x, double y, enum vs_draw_anchor anchor,
		      double scale, struct vs_color color, const char *text)
{
	char valid[TEXT_MAX];
	double width;

	make_valid(valid, text);
	width = get_width(draw, scale, valid);
	if (anchor == VS_DRAW_CENTER)
		x -= width / 2;
	else if (anchor == VS_DRAW_RIGHT)
		x -= width;
	vs_draw_text_set_color(draw, color);
	/* Digits and capitals are about 0.72 of the size high. */
	vs_draw_cairo.move_to(draw->cr, x, y + 13 * draw->unit * scale * 0.36);
	vs_draw_cairo.show_text(draw->cr, valid);
	vs_draw_cairo.new_path(draw->cr);
}

void vs_draw_text_put_cut(const struct vs_draw *draw, double x, double y, double width,
			  double scale, struct vs_color color, const char *text)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	char valid[TEXT_MAX], cut[TEXT_MAX + sizeof(ellipsis)];
	size_t size = make_valid(valid, text);

	if (get_width(draw, scale, valid) <= width && strlen(text) == size) {
		vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, scale, color, valid);
		return;
	}
	do {
		/* Never within a character of several bytes. */
		while (size > 0 && (valid[--size] & 0xc0) == 0x80)
			;
		snprintf(cut, sizeof(cut), "%.*s%s", (int)size, valid, ellipsis);
	} while (size > 0 && get_width(draw, scale, cut) > width);
	if (size >= CUT_MIN)
		vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, scale, color, cut);
}
