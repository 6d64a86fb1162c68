#include "draw_strip.h"

#include <math.h>
#include <stdio.h>

#include "draw_axis.h"
#include "draw_line.h"
#include "draw_plot.h"
#include "units.h"

/* The card's capacity, unless what was reserved would be a thin line at the bottom. */
uint64_t vs_draw_strip_get_top(const struct vs_heatmap *heatmap)
{
	uint64_t most = heatmap->peak_reserved > heatmap->peak_live ? heatmap->peak_reserved
								    : heatmap->peak_live;

	if (heatmap->capacity && most <= heatmap->capacity && most >= heatmap->capacity / 4)
		return heatmap->capacity;
	if (most > UINT64_MAX - most / 8 - 1)
		return UINT64_MAX;
	return most ? most + most / 8 + 1 : 1;
}

static double get_y(const struct vs_box *box, uint64_t bytes, uint64_t top)
{
	double share = bytes < top ? (double)bytes / (double)top : 1;

	return box->y + box->height - share * box->height;
}

static void fill_level(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box, bool is_live, struct vs_color color)
{
	uint64_t top = vs_draw_strip_get_top(heatmap);
	double bottom = box->y + box->height;

	vs_draw_cairo.move_to(draw->cr, box->x, bottom);
	for (size_t i = 0; i < heatmap->nr_columns; i++) {
		const struct vs_heatmap_level *level = &heatmap->levels[i];
		double scale = box->width / (double)heatmap->nr_ticks;
		double left = box->x + (double)(i * heatmap->column_ticks) * scale;
		double right = left + (double)heatmap->column_ticks * scale;
		double y = get_y(box, is_live ? level->live : level->reserved, top);

		if (right > box->x + box->width)
			right = box->x + box->width;
		vs_draw_cairo.line_to(draw->cr, left, y);
		vs_draw_cairo.line_to(draw->cr, right, y);
	}
	vs_draw_cairo.line_to(draw->cr, box->x + box->width, bottom);
	vs_draw_cairo.close_path(draw->cr);
	vs_draw_text_set_color(draw, color);
	vs_draw_cairo.fill(draw->cr);
}

static void put_byte_axis(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			  const struct vs_box *box)
{
	uint64_t top = vs_draw_strip_get_top(heatmap);
	unsigned int max = (unsigned int)(box->height / (1.6 * vs_draw_text_get_line(draw)));
	uint64_t step = vs_draw_axis_choose_bytes(top, max ? max : 1);
	struct vs_draw_pen pen = {draw->palette->grid, 1, 0};
	char text[VS_AXIS_TEXT_MAX];
	uint64_t bytes = 0;

	do {
		double y = get_y(box, bytes, top);

		vs_draw_line_put_horizontal(draw, &pen, y, box->x - 5 * draw->unit,
					    box->x + box->width);
		vs_draw_axis_put_bytes(text, bytes, step);
		vs_draw_text_put(draw, box->x - 8 * draw->unit, y, VS_DRAW_RIGHT, 0.92,
				 draw->palette->text, text);
	} while (vs_draw_axis_next(&bytes, step, top));
}

static void put_time_axis(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			  const struct vs_box *box)
{
	double line = vs_draw_text_get_line(draw);
	double bottom = box->y + box->height;
	uint64_t step = vs_draw_axis_choose_ns(heatmap->to_ns - heatmap->from_ns,
					       (unsigned int)(box->width / (5 * line)) + 1);
	uint64_t time_ns = heatmap->from_ns / step * step;
	bool is_in =
		time_ns == heatmap->from_ns || vs_draw_axis_next(&time_ns, step, heatmap->to_ns);
	struct vs_draw_pen pen = {draw->palette->faint, 1, 0};
	char text[VS_AXIS_TEXT_MAX];

	for (; is_in; is_in = vs_draw_axis_next(&time_ns, step, heatmap->to_ns)) {
		double x = vs_draw_plot_get_x(heatmap, box, time_ns);

		vs_draw_line_put_vertical(draw, &pen, x, bottom, bottom + 5 * draw->unit);
		vs_draw_axis_put_ns(text, time_ns, step);
		vs_draw_text_put(draw, x, bottom + 14 * draw->unit, VS_DRAW_CENTER, 0.92,
				 draw->palette->text, text);
	}
	vs_draw_text_put(draw, box->x + box->width / 2, bottom + 14 * draw->unit + 0.95 * line,
			 VS_DRAW_CENTER, 0.85, draw->palette->faint, "time since the start");
}

/* Out of sight if little of the card was used: the title has the number. */
static void put_capacity(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			 const struct vs_box *box)
{
	struct vs_draw_pen pen = {draw->palette->text, 1.5, 6};
	uint64_t top = vs_draw_strip_get_top(heatmap);
	double right = box->x + box->width;
	double y = get_y(box, heatmap->capacity, top);
	char size[VS_UNITS_MAX];

	if (!heatmap->capacity || heatmap->capacity > top)
		return;
	vs_draw_line_put_horizontal(draw, &pen, y, box->x, right);
	vs_draw_text_put(draw, right + 6 * draw->unit, y, VS_DRAW_LEFT, 0.75, draw->palette->text,
			 "capacity");
	vs_units_put_bytes(size, heatmap->capacity);
	vs_draw_text_put(draw, right + 6 * draw->unit, y + 11 * draw->unit, VS_DRAW_LEFT, 0.75,
			 draw->palette->text, size);
}

static void put_peak(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		     const struct vs_box *box)
{
	double x = vs_draw_plot_get_x(heatmap, box, heatmap->peak_ns);
	double y = get_y(box, heatmap->peak_live, vs_draw_strip_get_top(heatmap));

	if (!heatmap->peak_live)
		return;
	vs_draw_cairo.arc(draw->cr, x, y, 3.5 * draw->unit, 0, 7);
	vs_draw_text_set_color(draw, draw->palette->halo);
	vs_draw_cairo.fill_preserve(draw->cr);
	vs_draw_text_set_color(draw, draw->palette->mark);
	vs_draw_cairo.set_line_width(draw->cr, 1.5 * draw->unit);
	vs_draw_cairo.stroke(draw->cr);
}

void vs_draw_strip_put_holes(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			     const struct vs_box *box)
{
	double scale = box->width / (double)heatmap->nr_ticks, bottom = box->y + box->height;

	vs_draw_text_set_color(draw, draw->palette->plot);
	vs_draw_cairo.rectangle(draw->cr, box->x, box->y, box->width, box->height);
	vs_draw_cairo.fill(draw->cr);
	for (size_t i = 0; i < heatmap->nr_columns; i++) {
		double left = box->x + (double)(i * heatmap->column_ticks) * scale;
		double right =
			fmin(left + (double)heatmap->column_ticks * scale, box->x + box->width);
		double height = heatmap->levels[i].fragmentation * box->height;

		vs_draw_cairo.rectangle(draw->cr, left, bottom - height, right - left, height);
	}
	vs_draw_text_set_color(draw, draw->palette->ramp[1]);
	vs_draw_cairo.fill(draw->cr);
	vs_draw_text_put(draw, box->x - 8 * draw->unit, box->y + 4 * draw->unit, VS_DRAW_RIGHT,
			 0.75, draw->palette->faint, "1");
	vs_draw_text_put(draw, box->x + box->width + 6 * draw->unit, box->y + box->height / 2,
			 VS_DRAW_LEFT, 0.75, draw->palette->faint, "fragmentation");
}

void vs_draw_strip_put(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box)
{
	vs_draw_text_set_color(draw, draw->palette->plot);
	vs_draw_cairo.rectangle(draw->cr, box->x, box->y, box->width, box->height);
	vs_draw_cairo.fill(draw->cr);
	put_byte_axis(draw, heatmap, box);
	fill_level(draw, heatmap, box, false, draw->palette->ramp[0]);
	fill_level(draw, heatmap, box, true, draw->palette->ramp[VS_PALETTE_STOPS - 1]);
	put_capacity(draw, heatmap, box);
	put_peak(draw, heatmap, box);
	put_time_axis(draw, heatmap, box);
}
