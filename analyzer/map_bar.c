#include "map_bar.h"

#include "map_text.h"
#include "units.h"

#define GUTTER 10 /* columns for the offset of a row */

static void add_hole(struct vs_map_sums *sums, uint64_t size)
{
	if (!size)
		return;
	sums->nr_holes++;
	sums->hole_bytes += size;
	if (size > sums->largest_hole)
		sums->largest_hole = size;
}

void vs_map_bar_add_sums(const struct vs_map_state *state, const struct vs_map_segment *segment,
			 struct vs_map_sums *sums)
{
	uint64_t end = segment->address;

	sums->size += segment->size;
	if (!segment->is_owned) {
		sums->live += segment->size;
		return;
	}
	if (!segment->nr_blocks) {
		sums->releasable += segment->size;
		return;
	}
	for (size_t i = 0; i < segment->nr_blocks; i++) {
		const struct vs_map_block *block = &state->blocks[segment->first_block + i];

		add_hole(sums, block->address - end);
		sums->live += block->size;
		sums->nr_blocks++;
		end = block->address + block->size;
	}
	add_hole(sums, segment->address + segment->size - end);
}

unsigned int vs_map_bar_get_cells(const struct vs_text_style *style)
{
	return (unsigned int)style->width - GUTTER - 2; /* and a bar on each side */
}

const char *vs_map_bar_get_sign(uint64_t live, uint64_t size, const struct vs_text_style *style)
{
	static const char *const eighths[] = {
		"\xc2\xb7",     "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
	};
	double share = (double)live / (double)size;

	/* Only what is wholly free or wholly live may look so. */
	if (style->is_ascii)
		return live == 0 ? "." : live >= size ? "#" : share >= 0.5 ? "+" : "-";
	if (live == 0 || live >= size)
		return eighths[live ? 8 : 0];
	return eighths[1 + (int)(share * 6.999)];
}

/* Live bytes of [start, end), blocks from *next on; *next moves to the first that reaches beyond.
 */
static uint64_t sum_live(const struct vs_map_state *state, const struct vs_map_segment *segment,
			 uint64_t start, uint64_t end, size_t *next)
{
	uint64_t live = 0;

	if (!segment->is_owned)
		return end - start;
	for (; *next < segment->nr_blocks; ++*next) {
		const struct vs_map_block *block = &state->blocks[segment->first_block + *next];
		uint64_t low = block->address > start ? block->address : start;
		uint64_t high = block->address + block->size;

		if (low >= end)
			break;
		if (high > end) {
			live += end - low;
			break;
		}
		if (high > low)
			live += high - low;
	}
	return live;
}

/* How far into the segment a row begins; nothing before the first. */
static void put_gutter(uint64_t offset, const struct vs_text_style *style)
{
	char size[VS_UNITS_MAX];
	char text[VS_UNITS_MAX + 1] = "";

	if (offset)
		snprintf(text, sizeof(text), "+%s", vs_units_put_bytes(size, offset));
	fprintf(style->file, "%*s%s", GUTTER, text, style->is_ascii ? "|" : "\xe2\x94\x82");
}

void vs_map_bar_begin_group(size_t each, const struct vs_text_style *style)
{
	char text[32];

	/* The more there are, the fewer words have room before the bar. */
	if (snprintf(text, sizeof(text), "%zu a sign", each) > GUTTER &&
	    snprintf(text, sizeof(text), "%zu each", each) > GUTTER)
		snprintf(text, sizeof(text), "%zu", each);
	fprintf(style->file, "%*s%s", GUTTER, text, style->is_ascii ? "|" : "\xe2\x94\x82");
}

void vs_map_bar_put_cell(uint64_t live, uint64_t size, const struct vs_text_style *style)
{
	if (style->has_color)
		fputs(live ? "\033[34m" : "\033[33m", style->file);
	fputs(vs_map_bar_get_sign(live, size, style), style->file);
}

void vs_map_bar_end_row(bool is_cut, const struct vs_text_style *style)
{
	if (style->has_color)
		fputs("\033[0m", style->file);
	if (is_cut)
		fputs(style->is_ascii ? ">\n" : "\xc2\xbb\n", style->file);
	else
		fputs(style->is_ascii ? "|\n" : "\xe2\x94\x82\n", style->file);
}

void vs_map_bar_put(const struct vs_map_state *state, const struct vs_map_segment *segment,
		    uint64_t cell, const struct vs_text_style *style)
{
	unsigned int nr_cells = vs_map_bar_get_cells(style);
	uint64_t end = segment->address + segment->size;
	uint64_t at = segment->address;
	size_t next = 0;

	while (at < end) {
		put_gutter(at - segment->address, style);
		for (unsigned int i = 0; i < nr_cells && at < end; i++) {
			uint64_t stop = end - at > cell ? at + cell : end;

			vs_map_bar_put_cell(sum_live(state, segment, at, stop, &next), stop - at,
					    style);
			at = stop;
		}
		vs_map_bar_end_row(!segment->is_owned && at < end, style);
		if (!segment->is_owned)
			break;
	}
}
