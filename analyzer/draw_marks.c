#include "draw_marks.h"

#include <math.h>
#include <stdio.h>

#include "draw_line.h"
#include "draw_plot.h"
#include "units.h"

#define LABELS_MAX 3 /* the latest ones: more would cover the picture */

enum mark {
	MARK_OOM,
	MARK_FAILED,
	MARK_PEAK,
};

/* A halo keeps the line visible on every colour of the ramp. */
static void put_line(const struct vs_draw *draw, enum mark mark, double x, double y1, double y2)
{
	struct vs_draw_pen halo = {draw->palette->halo, mark == MARK_OOM ? 5 : 3, 0};
	struct vs_draw_pen line = {draw->palette->failure, mark == MARK_OOM ? 3 : 1, 0};

	if (mark == MARK_PEAK)
		line.color = draw->palette->mark;
	if (mark != MARK_OOM)
		line.dash = mark == MARK_PEAK ? 1.5 : 5;
	vs_draw_line_put_vertical(draw, &halo, x, y1, y2);
	vs_draw_line_put_vertical(draw, &line, x, y1, y2);
}

static void describe(const struct vs_heatmap_failure *failure, char *text, size_t size)
{
	char asked[VS_UNITS_MAX];
	char hole[VS_UNITS_MAX];

	vs_units_put_bytes(asked, failure->size);
	if (failure->largest_hole)
		snprintf(text, size, "%s asked, largest hole %s", asked,
			 vs_units_put_bytes(hole, failure->largest_hole));
	else
		snprintf(text, size, "%s asked", asked);
}

static void put_label(const struct vs_draw *draw, const struct vs_box *plot, double x, double y,
		      const char *text)
{
	double pad = 5 * draw->unit;
	double height = vs_draw_text_get_line(draw);
	double width = vs_draw_text_get_width(draw, 0.92, text) + 2 * pad;

	/* On the side with more room, within the plot if it can be. */
	if (x > plot->x + plot->width / 2)
		x -= width;
	if (x < plot->x)
		x = plot->x;
	vs_draw_text_set_color(draw, draw->palette->failure);
	vs_draw_cairo.rectangle(draw->cr, x, y, width, height);
	vs_draw_cairo.fill(draw->cr);
	vs_draw_text_put(draw, x + pad, y + height / 2, VS_DRAW_LEFT, 0.92,
			 draw->palette->on_failure, text);
}

static bool is_in_window(const struct vs_heatmap *heatmap, const struct vs_heatmap_failure *failure)
{
	return failure->time_ns >= heatmap->from_ns && failure->time_ns <= heatmap->to_ns;
}

static void put_labels(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_box *plot)
{
	double y = plot->y + 4 * draw->unit;
	int nr_labels = 0;
	char text[160];

	for (size_t i = heatmap->nr_failures; i-- > 0 && nr_labels < LABELS_MAX;) {
		const struct vs_heatmap_failure *failure = &heatmap->failures[i];

		if (!failure->is_final || !is_in_window(heatmap, failure))
			continue;
		describe(failure, text, sizeof(text));
		put_label(draw, plot, vs_draw_plot_get_x(heatmap, plot, failure->time_ns), y, text);
		y += vs_draw_text_get_line(draw) + 3 * draw->unit;
		nr_labels++;
	}
}

/* A failure on the way to an out-of-memory is no line of its own. */
static bool is_near_oom(const struct vs_heatmap *heatmap, const struct vs_heatmap_failure *failure)
{
	uint64_t near = (heatmap->to_ns - heatmap->from_ns) / 200;

	for (size_t i = 0; i < heatmap->nr_failures; i++) {
		const struct vs_heatmap_failure *other = &heatmap->failures[i];

		if (other->is_final && other->time_ns + near >= failure->time_ns &&
		    failure->time_ns + near >= other->time_ns)
			return true;
	}
	return false;
}

static void put_failures(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
			 const struct vs_draw_layout *layout, bool is_final)
{
	const struct vs_box *plot = &layout->plot;
	double bottom = layout->strip.y + layout->strip.height;
	double line_at = -INFINITY;

	for (size_t i = 0; i < heatmap->nr_failures; i++) {
		const struct vs_heatmap_failure *failure = &heatmap->failures[i];
		double x = vs_draw_plot_get_x(heatmap, plot, failure->time_ns);

		if (failure->is_final != is_final || !is_in_window(heatmap, failure) ||
		    fabs(x - line_at) < 5 * draw->unit)
			continue;
		if (!is_final && is_near_oom(heatmap, failure))
			continue;
		line_at = x;
		put_line(draw, is_final ? MARK_OOM : MARK_FAILED, x, plot->y, bottom);
	}
}

void vs_draw_marks_put(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
		       const struct vs_draw_layout *layout)
{
	const struct vs_box *plot = &layout->plot;

	if (heatmap->peak_live)
		put_line(draw, MARK_PEAK, vs_draw_plot_get_x(heatmap, plot, heatmap->peak_ns),
			 plot->y, plot->y + plot->height);
	put_failures(draw, heatmap, layout, false);
	put_failures(draw, heatmap, layout, true);
	put_labels(draw, heatmap, plot);
}

/* Where the picture is too narrow for it, it is left out rather than cut. */
static double put_sample(const struct vs_draw *draw, enum mark mark, const char *text, double x,
			 double y)
{
	double width = vs_draw_text_get_width(draw, 0.85, text);

	if (x + 11 * draw->unit + width > draw->width)
		return x;
	put_line(draw, mark, x + 4 * draw->unit, y - 7 * draw->unit, y + 7 * draw->unit);
	x += 11 * draw->unit;
	vs_draw_text_put(draw, x, y, VS_DRAW_LEFT, 0.85, draw->palette->text, text);
	return x + width + 14 * draw->unit;
}

double vs_draw_marks_put_legend(const struct vs_draw *draw, const struct vs_heatmap *heatmap,
				double x, double y)
{
	bool has_final = false;
	bool has_failed = false;

	for (size_t i = 0; i < heatmap->nr_failures; i++) {
		has_final |= heatmap->failures[i].is_final;
		has_failed |= !heatmap->failures[i].is_final &&
			      !is_near_oom(heatmap, &heatmap->failures[i]);
	}
	if (has_final)
		x = put_sample(draw, MARK_OOM, "out of memory", x, y);
	if (heatmap->peak_live)
		x = put_sample(draw, MARK_PEAK, "peak", x, y);
	if (has_failed)
		x = put_sample(draw, MARK_FAILED, "failed", x, y);
	return x;
}
