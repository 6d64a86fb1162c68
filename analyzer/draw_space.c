#include "draw_space.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_heatmap.h"
#include "draw_page.h"
#include "units.h"

#define LEGEND_IN_LINE 4
#define ROW_UNITS      34 /* height of a row, with its marks */
#define MIN_ROWS       6
#define PLACE          0.5 /* units: what is narrower is drawn with its neighbours */

/* What a piece looks like: its group, or one of these. */
enum {
	LOOK_HOLE = VS_SPACE_GROUPS,
	LOOK_RELEASABLE,
	NR_LOOKS
};

/* What vs_draw_page_write hands through. */
struct job {
	const struct vs_space *space;
	bool is_dark;
};

/* The legend: groups, holes, free segments, marks. */
static size_t count_legend(const struct vs_space *space)
{
	return space->nr_groups + 3;
}

void vs_draw_space_lay_out(struct vs_draw_rows *rows, const struct vs_space *space, int width,
			   int height)
{
	double unit = fmax(0.75, fmin(fmin(width / 1200.0, height / 800.0), 6));
	size_t lines = (count_legend(space) + LEGEND_IN_LINE - 1) / LEGEND_IN_LINE;
	double top = floor((66 + 17 * (double)lines) * unit);
	double left = floor(92 * unit);

	*rows = (struct vs_draw_rows){
		.unit = unit,
		.box = {left, top, floor(width - 24 * unit) - left,
			floor(height - 16 * unit) - top},
	};
	rows->nr_rows = (size_t)(rows->box.height / (ROW_UNITS * unit));
	if (rows->nr_rows < MIN_ROWS)
		rows->nr_rows = MIN_ROWS;
	rows->row_height = floor(rows->box.height / (double)rows->nr_rows);
	rows->bar_height = floor(rows->row_height * 0.66);
	rows->row_bytes = space->total_bytes / rows->nr_rows + 1;
}

/* ---- Words ---------------------------------------------------------------------------------- */

static void put_titles(const struct vs_draw *draw, const struct vs_space *space)
{
	double x = 24 * draw->unit, width = draw->width - 2 * x;
	char text[512], live[VS_UNITS_MAX], reserved[VS_UNITS_MAX], holes[VS_UNITS_MAX];
	char largest[VS_UNITS_MAX], time[VS_UNITS_MAX], asked[VS_UNITS_MAX + 32] = "";
	char size[VS_UNITS_MAX];

	if (space->requested)
		snprintf(asked, sizeof(asked), ", out of memory: %s asked",
			 vs_units_put_bytes(size, space->requested));
	snprintf(text, sizeof(text), "%s  \xc2\xb7  addresses at %s%s",
		 space->program ? space->program : "memory of a program",
		 vs_units_put_time(time, space->time_ns), asked);
	vs_draw_text_put_cut(draw, x, 19 * draw->unit, width, 1.2, draw->palette->text, text);
	snprintf(text, sizeof(text),
		 "GPU %" PRIu32
		 "%s%s%s%s  \xc2\xb7  %s live in %s reserved  \xc2\xb7  %s in holes, the "
		 "largest %s",
		 space->device, space->device_name ? " " : "",
		 space->device_name ? space->device_name : "", space->part ? "  \xc2\xb7  " : "",
		 space->part ? space->part : "", vs_units_put_bytes(live, space->live_bytes),
		 vs_units_put_bytes(reserved, space->reserved_bytes),
		 vs_units_put_bytes(holes, space->hole_bytes),
		 vs_units_put_bytes(largest, space->largest_hole));
	vs_draw_text_put_cut(draw, x, 39 * draw->unit, width, 0.92, draw->palette->faint, text);
}

/* ---- Pieces --------------------------------------------------------------------------------- */

static void fill_box(const struct vs_draw *draw, const struct vs_box *box, struct vs_color color)
{
	vs_draw_cairo.rectangle(draw->cr, box->x, box->y, box->width, box->height);
	vs_draw_text_set_color(draw, color);
	vs_draw_cairo.fill(draw->cr);
}

static void hatch_box(const struct vs_draw *draw, const struct vs_box *box, struct vs_color ground,
		      struct vs_color line)
{
	double step = 6 * draw->unit;

	fill_box(draw, box, ground);
	vs_draw_cairo.save(draw->cr);
	vs_draw_cairo.rectangle(draw->cr, box->x, box->y, box->width, box->height);
	vs_draw_cairo.clip(draw->cr);
	/* Aligned to the page, so that neighbours go on in each other. */
	for (double x = floor((box->x - box->height) / step) * step; x < box->x + box->width;
	     x += step) {
		vs_draw_cairo.move_to(draw->cr, x, box->y + box->height);
		vs_draw_cairo.line_to(draw->cr, x + box->height, box->y);
	}
	vs_draw_text_set_color(draw, line);
	vs_draw_cairo.set_line_width(draw->cr, draw->unit);
	vs_draw_cairo.stroke(draw->cr);
	vs_draw_cairo.restore(draw->cr);
}

static void put_mark(const struct vs_draw *draw, double x, double y)
{
	double size = 3.5 * draw->unit;

	vs_draw_cairo.move_to(draw->cr, x, y);
	vs_draw_cairo.line_to(draw->cr, x - size, y + 1.5 * size);
	vs_draw_cairo.line_to(draw->cr, x + size, y + 1.5 * size);
	vs_draw_cairo.close_path(draw->cr);
	vs_draw_text_set_color(draw, draw->palette->failure);
	vs_draw_cairo.fill(draw->cr);
}

static void put_size(const struct vs_draw *draw, const struct vs_box *box, uint64_t bytes,
		     struct vs_color ground)
{
	double light = 0.3 * ground.red + 0.59 * ground.green + 0.11 * ground.blue;
	struct vs_color ink = light > 0.5 ? (struct vs_color){0, 0, 0} : (struct vs_color){1, 1, 1};
	char text[VS_UNITS_MAX];
	double width;

	vs_units_put_bytes(text, bytes);
	width = vs_draw_text_get_width(draw, 0.8, text);
	if (width + 8 * draw->unit > box->width)
		return;
	fill_box(draw,
		 &(struct vs_box){box->x + 2 * draw->unit, box->y + box->height * 0.2,
				  width + 4 * draw->unit, box->height * 0.6},
		 ground);
	vs_draw_text_put(draw, box->x + 4 * draw->unit, box->y + box->height / 2, VS_DRAW_LEFT, 0.8,
			 ink, text);
}

static void put_box(const struct vs_draw *draw, const struct vs_space *space,
		    const struct vs_space_piece *piece, const struct vs_box *box, bool is_first)
{
	const struct vs_palette *palette = draw->palette;
	struct vs_color color = palette->free;

	if (piece->type == VS_SPACE_LIVE) {
		color = vs_draw_palette_get_group(palette, piece->group, space->nr_groups, false);
		fill_box(draw, box, color);
	} else if (piece->type == VS_SPACE_HOLE) {
		hatch_box(draw, box, palette->free, palette->hatch);
	} else {
		color = palette->plot;
		hatch_box(draw, box, palette->plot, palette->grid);
	}
	if (is_first)
		put_size(draw, box, piece->size, color);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* Part of a row. */
struct stretch {
	uint64_t from, to; /* offsets; the same: nothing */
	size_t look;
};

/*
 * Draws pieces in the order of their offsets. Those that are too narrow to be told apart are drawn
 * together, as what most of their bytes are: a picture has so many places, and no more, however
 * many pieces there are.
 */
struct brush {
	const struct vs_draw *draw;
	const struct vs_space *space;
	const struct vs_draw_rows *rows;
	struct stretch crowd; /* of narrow pieces, not yet as wide as a place */
	uint64_t crowd_bytes[NR_LOOKS];
	struct stretch waiting; /* crowds that look alike, not yet drawn */
	double mark_x, mark_y;  /* the last mark */
};

static size_t get_look(const struct vs_space_piece *piece)
{
	if (piece->type == VS_SPACE_LIVE)
		return piece->group;
	return piece->type == VS_SPACE_HOLE ? LOOK_HOLE : LOOK_RELEASABLE;
}

static uint64_t get_row(const struct brush *brush, uint64_t offset)
{
	return offset / brush->rows->row_bytes;
}

static double get_width(const struct brush *brush, uint64_t bytes)
{
	return (double)bytes * brush->rows->box.width / (double)brush->rows->row_bytes;
}

/* Both ends are in one row. */
static struct vs_box get_box(const struct brush *brush, uint64_t from, uint64_t to)
{
	const struct vs_draw_rows *rows = brush->rows;
	uint64_t row = get_row(brush, from);

	return (struct vs_box){
		.x = rows->box.x + get_width(brush, from - row * rows->row_bytes),
		.y = rows->box.y + (double)row * rows->row_height,
		.width = get_width(brush, to - from),
		.height = rows->bar_height,
	};
}

static void draw_waiting(struct brush *brush)
{
	const struct vs_palette *palette = brush->draw->palette;
	struct stretch *stretch = &brush->waiting;
	struct vs_box box = get_box(brush, stretch->from, stretch->to);

	if (stretch->from == stretch->to)
		return;
	if (stretch->look == LOOK_HOLE)
		hatch_box(brush->draw, &box, palette->free, palette->hatch);
	else if (stretch->look == LOOK_RELEASABLE)
		hatch_box(brush->draw, &box, palette->plot, palette->grid);
	else
		fill_box(brush->draw, &box,
			 vs_draw_palette_get_group(palette, stretch->look, brush->space->nr_groups,
						   false));
	stretch->from = stretch->to;
}

static void end_crowd(struct brush *brush)
{
	struct stretch *crowd = &brush->crowd, *waiting = &brush->waiting;

	if (crowd->from == crowd->to)
		return;
	crowd->look = 0;
	for (size_t i = 1; i < NR_LOOKS; i++)
		if (brush->crowd_bytes[i] > brush->crowd_bytes[crowd->look])
			crowd->look = i;
	if (waiting->from < waiting->to && waiting->to == crowd->from &&
	    waiting->look == crowd->look &&
	    get_row(brush, waiting->from) == get_row(brush, crowd->from)) {
		waiting->to = crowd->to;
	} else {
		draw_waiting(brush);
		*waiting = *crowd;
	}
	crowd->from = crowd->to;
	memset(brush->crowd_bytes, 0, sizeof(brush->crowd_bytes));
}

static void add_to_crowd(struct brush *brush, const struct vs_space_piece *piece, uint64_t from,
			 uint64_t to)
{
	struct stretch *crowd = &brush->crowd;

	if (crowd->from < crowd->to && get_row(brush, crowd->from) != get_row(brush, from))
		end_crowd(brush);
	if (crowd->from == crowd->to)
		crowd->from = from;
	crowd->to = to;
	brush->crowd_bytes[get_look(piece)] += to - from;
	if (get_width(brush, to - crowd->from) >= PLACE * brush->draw->unit)
		end_crowd(brush);
}

/* Where there is one already nobody would see another. */
static void add_mark(struct brush *brush, const struct vs_box *box)
{
	double unit = brush->draw->unit, x = box->x + box->width / 2;
	double y = box->y + box->height + unit;

	if (y == brush->mark_y && x < brush->mark_x + unit)
		return;
	put_mark(brush->draw, x, y);
	brush->mark_x = x;
	brush->mark_y = y;
}

/* A piece may go on in the next row. is_apart: the segment that it begins gets a line there. */
static void put_piece(struct brush *brush, const struct vs_space_piece *piece, bool is_apart)
{
	const struct vs_draw *draw = brush->draw;
	uint64_t row_bytes = brush->rows->row_bytes, end = piece->offset + piece->size, to;

	for (uint64_t from = piece->offset; from < end; from = to) {
		struct vs_box box;

		to = (get_row(brush, from) + 1) * row_bytes;
		to = to < end ? to : end;
		box = get_box(brush, from, to);
		if (box.width < PLACE * draw->unit) {
			add_to_crowd(brush, piece, from, to);
		} else {
			end_crowd(brush);
			draw_waiting(brush);
			if (box.width > 2.5 * draw->unit)
				box.width -= 0.75 * draw->unit;
			put_box(draw, brush->space, piece, &box, from == piece->offset);
		}
		if (from != piece->offset)
			continue;
		if (piece->is_pinning)
			add_mark(brush, &box);
		if (is_apart)
			fill_box(draw,
				 &(struct vs_box){box.x - draw->unit, box.y - 2 * draw->unit,
						  2 * draw->unit, box.height + 4 * draw->unit},
				 draw->palette->text);
	}
}

/* Whether a segment begins with this piece that is wide enough to be told from its neighbours. */
static bool begins_wide_segment(const struct brush *brush, size_t piece)
{
	const struct vs_space *space = brush->space;
	uint64_t bytes = space->pieces[piece].size;

	if (!space->pieces[piece].begins_segment)
		return false;
	for (size_t i = piece + 1; i < space->nr_pieces && !space->pieces[i].begins_segment; i++)
		bytes += space->pieces[i].size;
	return get_width(brush, bytes) >= 4 * brush->draw->unit;
}

static void put_pieces(const struct vs_draw *draw, const struct vs_space *space,
		       const struct vs_draw_rows *rows)
{
	struct brush brush = {.draw = draw, .space = space, .rows = rows};

	for (size_t i = 0; i < space->nr_pieces; i++)
		put_piece(&brush, &space->pieces[i], begins_wide_segment(&brush, i));
	end_crowd(&brush);
	draw_waiting(&brush);
}

static void put_axis(const struct vs_draw *draw, const struct vs_space *space,
		     const struct vs_draw_rows *rows)
{
	char text[VS_UNITS_MAX];

	for (size_t row = 0; row < rows->nr_rows && row * rows->row_bytes < space->total_bytes;
	     row++) {
		vs_units_put_bytes(text, row * rows->row_bytes);
		vs_draw_text_put(draw, rows->box.x - 8 * draw->unit,
				 rows->box.y + (double)row * rows->row_height +
					 rows->bar_height / 2,
				 VS_DRAW_RIGHT, 0.85, draw->palette->faint, row ? text : "0");
	}
}

/* ---- Legend --------------------------------------------------------------------------------- */

struct legend {
	const struct vs_draw *draw;
	double y;
	size_t nr; /* so far */
};

/* Where the next sign is; its text is put beside it. */
static struct vs_box add_sign(struct legend *legend, const char *text)
{
	const struct vs_draw *draw = legend->draw;
	double left = 24 * draw->unit, size = 11 * draw->unit;
	double width = (draw->width - 2 * left) / LEGEND_IN_LINE;
	double x = left + (double)(legend->nr % LEGEND_IN_LINE) * width;
	double y = legend->y + (double)(legend->nr / LEGEND_IN_LINE) * 17 * draw->unit;

	legend->nr++;
	vs_draw_text_put_cut(draw, x + size + 5 * draw->unit, y, width - size - 18 * draw->unit,
			     0.85, draw->palette->text, text);
	return (struct vs_box){x, y - size / 2, size, size};
}

static bool is_used(const struct vs_space *space, size_t group)
{
	for (size_t i = 0; i < space->nr_pieces; i++)
		if (space->pieces[i].type == VS_SPACE_LIVE && space->pieces[i].group == group)
			return true;
	return false;
}

static void put_legend(const struct vs_draw *draw, const struct vs_space *space)
{
	struct legend legend = {draw, 59 * draw->unit, 0};
	struct vs_box box;

	for (size_t i = 0; i < space->nr_groups; i++) {
		if (!is_used(space, i))
			continue;
		box = add_sign(&legend, space->group_names[i]);
		fill_box(draw, &box,
			 vs_draw_palette_get_group(draw->palette, i, space->nr_groups, false));
	}
	box = add_sign(&legend, "hole: free, but cannot be given back");
	hatch_box(draw, &box, draw->palette->free, draw->palette->hatch);
	box = add_sign(&legend, "free segment: could be given back");
	hatch_box(draw, &box, draw->palette->plot, draw->palette->grid);
	box = add_sign(&legend, "block next to a hole");
	put_mark(draw, box.x + box.width / 2, box.y + 2 * draw->unit);
}

/* ---- The page ------------------------------------------------------------------------------- */

static void draw_page(cairo_t *cr, int width, int height, int scale, const void *data)
{
	const struct job *job = data;
	const struct vs_space *space = job->space;
	struct vs_draw_rows rows;
	struct vs_draw draw = {
		.cr = cr,
		.palette = vs_draw_palette_get(job->is_dark),
		.width = width,
		.height = height,
	};

	(void)scale;
	vs_draw_space_lay_out(&rows, space, width, height);
	draw.unit = rows.unit;
	vs_draw_text_set_color(&draw, draw.palette->page);
	vs_draw_cairo.paint(cr);
	put_titles(&draw, space);
	put_legend(&draw, space);
	if (!space->nr_pieces)
		vs_draw_text_put(&draw, width / 2.0, height / 2.0, VS_DRAW_CENTER, 1,
				 draw.palette->faint, "no memory with an address is held");
	put_axis(&draw, space, &rows);
	put_pieces(&draw, space, &rows);
}

int vs_draw_space_write(const struct vs_space *space, const char *path, int width, int height,
			bool is_dark)
{
	struct job job = {.space = space, .is_dark = is_dark};

	if (width < VS_DRAW_HEATMAP_MIN_WIDTH || height < VS_DRAW_HEATMAP_MIN_HEIGHT ||
	    width > VS_DRAW_HEATMAP_MAX || height > VS_DRAW_HEATMAP_MAX)
		return -VS_ERR_INVALID;
	return vs_draw_page_write(path, width, height, draw_page, &job);
}
