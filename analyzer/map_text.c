#include "map_text.h"

#include <inttypes.h>

#include "units.h"

/* Columns from which on a row has blanks between its numbers, and from which on all of these. */
#define WIDE   62
#define MIDDLE 54

void vs_map_text_put_legend(uint64_t cell, const struct vs_text_style *style)
{
	struct vs_text_line line = {0};
	char size[VS_UNITS_MAX];

	vs_text_add(&line, "%s a sign: ", vs_units_put_bytes(size, cell));
	if (style->width < MIDDLE)
		vs_text_add(&line, "%s live, %s free", style->is_ascii ? "#" : "\xe2\x96\x88",
			    style->is_ascii ? "." : "\xc2\xb7");
	else if (style->is_ascii)
		vs_text_add(&line, "# live, + - partly, . held but free");
	else
		vs_text_add(&line, "\xe2\x96\x88 live, \xe2\x96\x86 \xe2\x96\x82 partly, \xc2\xb7 "
				   "held but free");
	vs_text_put(style, &line);
	vs_text_put(style, &line);
	if (style->width < MIDDLE)
		vs_text_add(&line, "       address     size  used what");
	else if (style->width < WIDE)
		vs_text_add(&line, "       address     size  used      hole what");
	else
		vs_text_add(&line, "       address       size    used  largest hole  what");
	vs_text_put(style, &line);
}

/* 100 only for all of it; units see to 0. */
static void put_used(char out[VS_UNITS_MAX], const struct vs_map_sums *sums)
{
	vs_units_put_share(out, sums->live, sums->size);
	if (sums->live < sums->size && sums->live * 2 > sums->size && out[0] == '1')
		snprintf(out, VS_UNITS_MAX, ">99 %%");
}

static void put_row(const char *what, const char *label, const struct vs_map_sums *sums,
		    const struct vs_text_style *style)
{
	struct vs_text_line line = {0};
	char size[VS_UNITS_MAX];
	char used[VS_UNITS_MAX];
	char hole[VS_UNITS_MAX] = "-";

	put_used(used, sums);
	if (sums->nr_holes)
		vs_units_put_bytes(hole, sums->largest_hole);
	else if (sums->releasable)
		snprintf(hole, sizeof(hole), "all free");
	vs_units_put_bytes(size, sums->size);
	if (style->width < MIDDLE)
		vs_text_add(&line, "%14s %8s %5s %s", what, size, used, label);
	else if (style->width < WIDE)
		vs_text_add(&line, "%14s %8s %5s %9s %s", what, size, used, hole, label);
	else
		vs_text_add(&line, "%14s  %9s  %6s  %12s  %s", what, size, used, hole, label);
	vs_text_put(style, &line);
}

void vs_map_text_put_segment(const struct vs_map_segment *segment, const struct vs_map_sums *sums,
			     const struct vs_text_style *style)
{
	char what[32];

	snprintf(what, sizeof(what), "0x%" PRIx64, segment->address);
	put_row(what, segment->label, sums, style);
}

void vs_map_text_put_group(const char *label, size_t nr_segments, const struct vs_map_sums *sums,
			   const struct vs_text_style *style)
{
	char what[32];

	snprintf(what, sizeof(what), "%zu more", nr_segments);
	put_row(what, label, sums, style);
}

/* ---- Totals --------------------------------------------------------------------------------- */

/* Adds an item to the line; begins the next one when it does not fit. */
static void add_item(struct vs_text_line *line, const struct vs_text_style *style, const char *text)
{
	size_t width = vs_text_get_width(line->bytes);

	if (width)
		vs_text_add(line, ",");
	if (width && width + 3 + vs_text_get_width(text) > style->width)
		vs_text_put(style, line);
	else if (width)
		vs_text_add(line, " ");
	vs_text_add(line, "%s", text);
}

static void add_size(struct vs_text_line *line, const struct vs_text_style *style, const char *what,
		     uint64_t bytes)
{
	char size[VS_UNITS_MAX];
	char text[128];

	snprintf(text, sizeof(text), "%s %s", what, vs_units_put_bytes(size, bytes));
	add_item(line, style, text);
}

void vs_map_text_put_totals(const struct vs_map_state *state, const struct vs_map_sums *sums,
			    const struct vs_text_style *style)
{
	struct vs_text_line line = {0};
	char size[VS_UNITS_MAX];
	char text[128];

	vs_text_put(style, &line);
	add_size(&line, style, "live", state->live_bytes);
	add_size(&line, style, "reserved", state->reserved_bytes);
	if (sums->nr_holes) {
		snprintf(text, sizeof(text), "holes %s in %" PRIu64,
			 vs_units_put_bytes(size, sums->hole_bytes), sums->nr_holes);
		add_item(&line, style, text);
		add_size(&line, style, "largest", sums->largest_hole);
	}
	if (sums->releasable)
		add_size(&line, style, "wholly free segments", sums->releasable);
	if (state->reserved_bytes > sums->size)
		add_size(&line, style, "not on the map", state->reserved_bytes - sums->size);
	if (state->outside_bytes)
		add_size(&line, style, "context and others", state->outside_bytes);
	if (state->outside_bytes || state->not_taken_bytes)
		add_size(&line, style, "not taken", state->not_taken_bytes);
	if (state->not_seen_bytes)
		add_size(&line, style, "free or not seen", state->not_seen_bytes);
	vs_text_put(style, &line);
}
