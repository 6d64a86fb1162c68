#ifndef VS_MAP_BAR_H
#define VS_MAP_BAR_H

/* The rows of cells that stand for a segment, and sums over it. */
#include "map.h"

struct vs_map_sums {
	uint64_t size;
	uint64_t live;
	uint64_t nr_blocks;
	uint64_t hole_bytes;
	uint64_t nr_holes;
	uint64_t largest_hole;
	uint64_t releasable; /* bytes of segments without any block: held, but no holes */
};

void vs_map_bar_add_sums(const struct vs_map_state *state, const struct vs_map_segment *segment,
			 struct vs_map_sums *sums);

/* How many cells a row has. */
unsigned int vs_map_bar_get_cells(const struct vs_text_style *style);

/*
 * `cell`: bytes of a cell. A segment smaller than one has a cell all the same; one without a pool,
 * live all over, has one row and an arrow where it goes on.
 */
void vs_map_bar_put(const struct vs_map_state *state, const struct vs_map_segment *segment,
		    uint64_t cell, const struct vs_text_style *style);

/* The pieces of a row in which each sign stands for `each` segments. */
void vs_map_bar_begin_group(size_t each, const struct vs_text_style *style);
void vs_map_bar_put_cell(uint64_t live, uint64_t size, const struct vs_text_style *style);
void vs_map_bar_end_row(bool is_cut, const struct vs_text_style *style);

/* The sign for a cell of which `live` of `size` bytes are live. */
const char *vs_map_bar_get_sign(uint64_t live, uint64_t size, const struct vs_text_style *style);

#endif
