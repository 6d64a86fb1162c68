#include "draw_heatmap.h"

#include <math.h>
#include <stdio.h>

#include "draw_marks.h"
#include "draw_page.h"
#include "draw_plot.h"
#include "draw_strip.h"
#include "units.h"

#define GROUPS_IN_LINE 4
#define GROUP_LINE     17 /* units from one line of the legend to the next */

/* What vs_draw_page_write hands through. */
struct job {
	const struct vs_heatmap *heatmap;
	bool is_dark;
};

/* Type grows with the picture, but neither below what can be read nor without end. */
static double choose_unit(int width, int height)
{
	double unit = fmin(width / 1200.0, height / 800.0);

	return fmax(0.75, fmin(unit, 6));
}

void vs_draw_heatmap_lay_out(struct vs_draw_layout *layout, int width, int height, bool has_phases,
			     size_t nr_groups)
{
	double unit = choose_unit(width, height);
	double left = floor(86 * unit);
	double right = floor(width - 96 * unit);
	size_t lines = (nr_groups + GROUPS_IN_LINE - 1) / GROUPS_IN_LINE;
	double top = floor((78 + (double)lines * GROUP_LINE) * unit);
	double bottom = floor(height - 44 * unit);
	double band = has_phases ? floor(16 * unit) : 0;
	double strip = floor((bottom - top) * 0.2);
	double gap = floor(14 * unit);
	double holes = floor((bottom - top) * 0.06);

	*layout = (struct vs_draw_layout){
		.unit = unit,
		.header = {left, floor(10 * unit), right - left, top - floor(10 * unit)},
		.phases = {left, top, right - left, band},
		.plot = {left, top + band, right - left,
			 bottom - top - band - strip - holes - 2 * gap},
		.holes = {left, bottom - strip - gap - holes, right - left, holes},
		.strip = {left, bottom - strip, right - left, strip},
	};
}

static void put_titles(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box)
{
	double width = draw->width - 10 * draw->unit - box->x;
	char text[512];
	char live[VS_UNITS_MAX];
	char reserved[VS_UNITS_MAX];
	char capacity[VS_UNITS_MAX];
	char time[VS_UNITS_MAX];

	vs_draw_text_put_cut(draw, box->x, box->y + 9 * draw->unit, width, 1.2, draw->palette->text,
			     heatmap->program ? heatmap->program : "memory of a program");
	vs_units_put_bytes(capacity, heatmap->capacity);
	snprintf(text, sizeof(text),
		 "GPU %u%s%s%s%s%s%s%s  \xc2\xb7  peak %s live at %s, %s reserved at most",
		 heatmap->device, heatmap->device_name ? " " : "",
		 heatmap->device_name ? heatmap->device_name : "", heatmap->capacity ? " " : "",
		 heatmap->capacity ? capacity : "", heatmap->is_simulated ? " (simulated)" : "",
		 heatmap->part ? "  \xc2\xb7  " : "", heatmap->part ? heatmap->part : "",
		 vs_units_put_bytes(live, heatmap->peak_live),
		 vs_units_put_time(time, heatmap->peak_ns),
		 vs_units_put_bytes(reserved, heatmap->peak_reserved));
	vs_draw_text_put_cut(draw, box->x, box->y + 29 * draw->unit, width, 0.92,
			     draw->palette->faint, text);
}

static double put_swatch(const struct vs_draw *draw, double x, double y, struct vs_color color,
			 const char *text)
{
	double size = 11 * draw->unit;

	vs_draw_cairo.rectangle(draw->cr, x, y - size / 2, size, size);
	vs_draw_text_set_color(draw, color);
	vs_draw_cairo.fill_preserve(draw->cr);
	vs_draw_text_set_color(draw, draw->palette->faint);
	vs_draw_cairo.set_line_width(draw->cr, 0.75 * draw->unit);
	vs_draw_cairo.stroke(draw->cr);
	x += size + 5 * draw->unit;
	vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, 0.85, draw->palette->text, text);
	return x + vs_draw_text_get_width(draw, 0.85, text) + 14 * draw->unit;
}

static double put_ramp(const struct vs_draw *draw, double x, double y)
{
	double width = 90 * draw->unit;
	double height = 11 * draw->unit;
	cairo_pattern_t *ramp;

	vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, 0.85, draw->palette->text, "held, free");
	x += vs_draw_text_get_width(draw, 0.85, "held, free") + 6 * draw->unit;
	ramp = vs_draw_cairo.pattern_create_linear(x, 0, x + width, 0);
	for (int i = 0; i < VS_PALETTE_STOPS; i++)
		vs_draw_cairo.pattern_add_color_stop_rgb(
			ramp, (double)i / (VS_PALETTE_STOPS - 1), draw->palette->ramp[i].red,
			draw->palette->ramp[i].green, draw->palette->ramp[i].blue);
	vs_draw_cairo.set_source(draw->cr, ramp);
	vs_draw_cairo.rectangle(draw->cr, x, y - height / 2, width, height);
	vs_draw_cairo.fill(draw->cr);
	vs_draw_cairo.pattern_destroy(ramp);
	x += width + 6 * draw->unit;
	vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, 0.85, draw->palette->text, "live");
	return x + vs_draw_text_get_width(draw, 0.85, "live") + 16 * draw->unit;
}

static bool is_used(const struct vs_heatmap *heatmap, size_t group)
{
	for (size_t cell = 0; cell < heatmap->nr_columns * heatmap->nr_rows; cell++)
		if (heatmap->groups[group][cell])
			return true;
	return false;
}

/* In lines; names are cut so that four fit into one. */
static void put_groups(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box, double y)
{
	double width = (draw->width - 10 * draw->unit - box->x) / GROUPS_IN_LINE;
	double size = 11 * draw->unit;
	size_t nr = 0;

	for (size_t i = 0; i < heatmap->nr_groups; i++) {
		double x = box->x + (double)(nr % GROUPS_IN_LINE) * width;
		double line = y + (double)(nr / GROUPS_IN_LINE) * GROUP_LINE * draw->unit;

		if (!is_used(heatmap, i))
			continue;
		nr++;
		vs_draw_cairo.rectangle(draw->cr, x, line - size / 2, size, size);
		vs_draw_text_set_color(draw, vs_draw_palette_get_group(draw->palette, i,
								       heatmap->nr_groups,
								       heatmap->is_ordered));
		vs_draw_cairo.fill(draw->cr);
		vs_draw_text_put_cut(draw, x + size + 5 * draw->unit, line,
				     width - size - 18 * draw->unit, 0.85, draw->palette->text,
				     heatmap->group_names[i]);
	}
}

static void put_legend(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *box)
{
	double y = box->y + 51 * draw->unit;
	double x = put_swatch(draw, box->x, y, draw->palette->plot, "not held");

	if (heatmap->nr_groups) {
		x = put_swatch(draw, x, y, draw->palette->free, "held, free");
		/* The curves below have the colours that they always have. */
		x = put_swatch(draw, x, y, draw->palette->ramp[VS_PALETTE_STOPS - 1], "live");
		x = put_swatch(draw, x, y, draw->palette->ramp[0], "reserved");
		put_groups(draw, heatmap, box, y + 19 * draw->unit);
	} else {
		x = put_ramp(draw, x, y);
	}
	vs_draw_marks_put_legend(draw, heatmap, x, y);
}

static void put_axis_titles(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			    const struct vs_draw_layout *layout)
{
	char text[64] = "addresses";

	if (heatmap->nr_ranges > 1)
		snprintf(text, sizeof(text), "addresses: %zu ranges, gaps folded",
			 heatmap->nr_ranges);
	vs_draw_cairo.save(draw->cr);
	vs_draw_cairo.translate(draw->cr, 10 * draw->unit,
				layout->plot.y + layout->plot.height / 2);
	vs_draw_cairo.rotate(draw->cr, -M_PI / 2);
	vs_draw_text_put(draw, 0, 0, VS_DRAW_CENTER, 0.85, draw->palette->faint, text);
	vs_draw_cairo.restore(draw->cr);
}

static void draw_page(cairo_t *cr, int width, int height, int scale, const void *data)
{
	const struct job *job = data;
	const struct vs_heatmap *heatmap = job->heatmap;
	struct vs_draw_layout layout;
	struct vs_draw draw = {
		.cr = cr,
		.palette = vs_draw_palette_get(job->is_dark),
		.width = width,
		.height = height,
	};

	vs_draw_heatmap_lay_out(&layout, width, height, heatmap->nr_phases || heatmap->nr_steps,
				heatmap->nr_groups);
	draw.unit = layout.unit;
	vs_draw_text_set_color(&draw, draw.palette->page);
	vs_draw_cairo.paint(cr);
	put_titles(&draw, heatmap, &layout.header);
	put_legend(&draw, heatmap, &layout.header);
	put_axis_titles(&draw, heatmap, &layout);
	vs_draw_plot_put_phases(&draw, heatmap, &layout.phases);
	vs_draw_plot_put_cells(&draw, heatmap, &layout.plot, scale);
	vs_draw_plot_put_addresses(&draw, heatmap, &layout.plot);
	vs_draw_strip_put_holes(&draw, heatmap, &layout.holes);
	vs_draw_strip_put(&draw, heatmap, &layout.strip);
	vs_draw_marks_put(&draw, heatmap, &layout);
}

int vs_draw_heatmap_write(const struct vs_heatmap *heatmap, const char *path, int width, int height,
			  bool is_dark)
{
	struct job job = {.heatmap = heatmap, .is_dark = is_dark};

	if (width < VS_DRAW_HEATMAP_MIN_WIDTH || height < VS_DRAW_HEATMAP_MIN_HEIGHT ||
	    width > VS_DRAW_HEATMAP_MAX || height > VS_DRAW_HEATMAP_MAX)
		return -VS_ERR_INVALID;
	return vs_draw_page_write(path, width, height, draw_page, &job);
}
