#include "draw_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_axis.h"
#include "draw_line.h"

double vs_draw_plot_get_x(const struct vs_heatmap *heatmap, const struct vs_box *box,
			  uint64_t time_ns)
{
	double window = (double)(heatmap->to_ns - heatmap->from_ns);

	if (time_ns <= heatmap->from_ns)
		return box->x;
	if (time_ns >= heatmap->to_ns)
		return box->x + box->width;
	return box->x + (double)(time_ns - heatmap->from_ns) / window * box->width;
}

static double get_y(const struct vs_heatmap *heatmap, const struct vs_box *box, uint64_t offset)
{
	return box->y + box->height - (double)offset / (double)heatmap->total_bytes * box->height;
}

/* ---- Cells ---------------------------------------------------------------------------------- */

/* The cell of each pixel of a line: the same scale as the axis, whatever the last cell's size. */
static size_t to_cell(int pixel, int nr_pixels, uint64_t range, uint64_t cell_size)
{
	double at = ((double)pixel + 0.5) / nr_pixels * (double)range;

	return (size_t)((uint64_t)at / cell_size);
}

/* By how full it is; or by the group that has most of what is live in it. */
static uint32_t get_pixel(const struct vs_heatmap *heatmap, const struct vs_palette *palette,
			  size_t cell, double held, double live)
{
	size_t group = heatmap->nr_groups ? vs_heatmap_get_group(heatmap, cell) : 0;

	if (!heatmap->nr_groups)
		return vs_draw_palette_get_cell(palette, held, live);
	return vs_draw_palette_get_group_cell(
		palette, held, live,
		vs_draw_palette_get_group(palette, group, heatmap->nr_groups, heatmap->is_ordered));
}

static void fill_line(const struct vs_heatmap *heatmap, const struct vs_palette *palette,
		      size_t row, uint32_t *pixels, int width)
{
	for (int x = 0; x < width; x++) {
		size_t column = to_cell(x, width, heatmap->nr_ticks, heatmap->column_ticks);
		size_t cell = row * heatmap->nr_columns + column;
		double area = (double)vs_heatmap_get_area(heatmap, column, row);
		double held = (double)heatmap->held[cell] / area;
		double live = (double)heatmap->live[cell] / area;

		/* A block that outlives its segment, after lost events, is no more than full. */
		held = held > 1 ? 1 : held;
		live = live > held ? held : live;
		pixels[x] = get_pixel(heatmap, palette, cell, held, live);
	}
}

/* Rows of cells that repeat over several lines are filled once. */
static void fill_image(const struct vs_heatmap *heatmap, const struct vs_palette *palette,
		       cairo_surface_t *image, int width, int height)
{
	unsigned char *data = vs_draw_cairo.image_surface_get_data(image);
	size_t stride = (size_t)vs_draw_cairo.image_surface_get_stride(image);
	size_t latest = SIZE_MAX;

	for (int y = 0; y < height; y++) {
		unsigned char *line = data + (size_t)y * stride;
		size_t row =
			to_cell(height - 1 - y, height, heatmap->total_bytes, heatmap->row_bytes);

		if (row == latest)
			memcpy(line, line - stride, stride);
		else
			fill_line(heatmap, palette, row, (uint32_t *)(void *)line, width);
		latest = row;
	}
}

void vs_draw_plot_put_cells(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			    const struct vs_box *box, int scale)
{
	int width = (int)box->width * scale;
	int height = (int)box->height * scale;
	cairo_surface_t *image;

	vs_draw_text_set_color(draw, draw->palette->plot);
	vs_draw_cairo.rectangle(draw->cr, box->x, box->y, box->width, box->height);
	vs_draw_cairo.fill(draw->cr);
	if (!heatmap->nr_rows)
		return;
	image = vs_draw_cairo.image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	if (vs_draw_cairo.surface_status(image) == CAIRO_STATUS_SUCCESS) {
		vs_draw_cairo.surface_flush(image);
		fill_image(heatmap, draw->palette, image, width, height);
		vs_draw_cairo.surface_mark_dirty(image);
	}
	vs_draw_cairo.save(draw->cr);
	vs_draw_cairo.translate(draw->cr, box->x, box->y);
	vs_draw_cairo.scale(draw->cr, 1.0 / scale, 1.0 / scale);
	vs_draw_cairo.set_source_surface(draw->cr, image, 0, 0);
	vs_draw_cairo.pattern_set_filter(vs_draw_cairo.get_source(draw->cr), CAIRO_FILTER_NEAREST);
	vs_draw_cairo.paint(draw->cr);
	vs_draw_cairo.restore(draw->cr);
	vs_draw_cairo.surface_destroy(image);
}

/* ---- Addresses ------------------------------------------------------------------------------ */

static void put_left_axis(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			  const struct vs_box *box)
{
	double line = vs_draw_text_get_line(draw);
	unsigned int max = (unsigned int)(box->height / (2.2 * line));
	uint64_t step = vs_draw_axis_choose_bytes(heatmap->total_bytes, max ? max : 1);
	struct vs_draw_pen pen = {draw->palette->faint, 1, 0};
	char text[VS_AXIS_TEXT_MAX];
	uint64_t offset = 0;

	do {
		double y = get_y(heatmap, box, offset);

		vs_draw_line_put_horizontal(draw, &pen, y, box->x - 5 * draw->unit, box->x);
		vs_draw_axis_put_bytes(text, offset, step);
		vs_draw_text_put(draw, box->x - 8 * draw->unit, y, VS_DRAW_RIGHT, 0.92,
				 draw->palette->text, text);
	} while (vs_draw_axis_next(&offset, step, heatmap->total_bytes));
}

/* Where there are many ranges, lines between them would hide what they separate. */
static void put_ranges(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box)
{
	struct vs_draw_pen pen = {draw->palette->page, 2, 0};
	double line = vs_draw_text_get_line(draw);
	bool has_lines = (double)heatmap->nr_ranges * 20 * draw->unit < box->height;
	double text_at = INFINITY;
	char text[VS_AXIS_TEXT_MAX];

	for (size_t i = 0; i < heatmap->nr_ranges; i++) {
		const struct vs_heatmap_range *range = &heatmap->ranges[i];
		double y = get_y(heatmap, box, range->offset);

		if (i > 0 && has_lines)
			vs_draw_line_put_horizontal(draw, &pen, y, box->x,
						    box->x + box->width + 4 * draw->unit);
		if (text_at - y >= (has_lines ? 1 : 3) * line) {
			text_at = y;
			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)range->address);
			vs_draw_text_put(draw, box->x + box->width + 6 * draw->unit, y - 0.4 * line,
					 VS_DRAW_LEFT, 0.75, draw->palette->faint, text);
		}
	}
}

void vs_draw_plot_put_addresses(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
				const struct vs_box *box)
{
	if (!heatmap->nr_rows) {
		vs_draw_text_put(draw, box->x + box->width / 2, box->y + box->height / 2,
				 VS_DRAW_CENTER, 1, draw->palette->faint,
				 "no memory with an address was held");
		return;
	}
	put_left_axis(draw, heatmap, box);
	put_ranges(draw, heatmap, box);
}

/* ---- Phases and steps ----------------------------------------------------------------------- */

/* Every how many steps one gets its number: 1, 2, 5, 10, ... */
static uint64_t choose_stride(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			      double width)
{
	double fitting = width / (44 * draw->unit);
	uint64_t stride = 1;

	for (int i = 0; (double)heatmap->nr_steps / (double)stride > fitting; i++)
		stride = i % 3 == 1 ? stride / 2 * 5 : stride * 2;
	return stride;
}

static void put_steps(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		      const struct vs_box *band)
{
	struct vs_draw_pen pen = {draw->palette->faint, 1, 0};
	double bottom = band->y + band->height;
	uint64_t stride = choose_stride(draw, heatmap, band->width);
	double text_end = -INFINITY;
	char text[VS_AXIS_TEXT_MAX];

	for (size_t i = 0; i < heatmap->nr_steps; i++) {
		const struct vs_heatmap_step *step = &heatmap->steps[i];
		double x = vs_draw_plot_get_x(heatmap, band, step->time_ns);
		double width;

		if (step->time_ns < heatmap->from_ns || step->time_ns >= heatmap->to_ns ||
		    step->number % stride != 0)
			continue;
		snprintf(text, sizeof(text), isinf(text_end) ? "step %llu" : "%llu",
			 (unsigned long long)step->number);
		width = vs_draw_text_get_width(draw, 0.75, text);
		if (x < text_end || x + width > band->x + band->width)
			continue;
		vs_draw_line_put_vertical(draw, &pen, x, bottom - 4 * draw->unit, bottom);
		vs_draw_text_put(draw, x, band->y + 5 * draw->unit, VS_DRAW_LEFT, 0.75,
				 draw->palette->faint, text);
		text_end = x + width + 8 * draw->unit;
	}
}

/* Whether one of the phases is wide enough for some of its name. */
static bool has_wide_phase(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			   const struct vs_box *band)
{
	for (size_t i = 0; i < heatmap->nr_phases; i++)
		if (vs_draw_plot_get_x(heatmap, band, heatmap->phases[i].end_ns) -
			    vs_draw_plot_get_x(heatmap, band, heatmap->phases[i].start_ns) >
		    45 * draw->unit)
			return true;
	return false;
}

static void put_phases(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *band)
{
	double drawn_to = -INFINITY;
	int turn = 0;

	for (size_t i = 0; i < heatmap->nr_phases; i++) {
		const struct vs_heatmap_phase *phase = &heatmap->phases[i];
		double start = vs_draw_plot_get_x(heatmap, band, phase->start_ns);
		double end = vs_draw_plot_get_x(heatmap, band, phase->end_ns);

		/* Thinner than a pixel, or beside the window. */
		if (end - start < 0.5 || start < drawn_to)
			continue;
		drawn_to = end;
		vs_draw_text_set_color(draw, draw->palette->phase[turn++ % 2]);
		vs_draw_cairo.rectangle(draw->cr, start, band->y, end - start,
					band->height - 3 * draw->unit);
		vs_draw_cairo.fill(draw->cr);
		vs_draw_text_put_cut(draw, start + 3 * draw->unit, band->y + band->height * 0.42,
				     end - start - 6 * draw->unit, 0.75, draw->palette->text,
				     phase->name);
	}
}

void vs_draw_plot_put_phases(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			     const struct vs_box *band)
{
	if (band->height <= 0)
		return;
	/* The numbers of steps tell more than phases nobody can read. */
	if (!heatmap->nr_steps || has_wide_phase(draw, heatmap, band))
		put_phases(draw, heatmap, band);
	else
		put_steps(draw, heatmap, band);
}
