#ifndef VS_DRAW_SPACE_H
#define VS_DRAW_SPACE_H

/*
 * The picture of an address space at one instant: rows of addresses, blocks by the colour of their
 * group, holes hatched, and a mark below each block that keeps a hole from its neighbour.
 */
#include <stdbool.h>

#include "address_space.h"
#include "draw_text.h"
#include "error.h"

/* Where the rows are. */
struct vs_draw_rows {
	double unit;
	struct vs_box box; /* all of them */
	double row_height; /* from one to the next */
	double bar_height; /* of a row's bar; the rest is for marks */
	size_t nr_rows;
	uint64_t row_bytes;
};

void vs_draw_space_lay_out(struct vs_draw_rows *rows, const struct vs_space *space, int width,
			   int height);

/* Sizes as of a heatmap (draw_heatmap.h). Errors: vs_draw_page_write. */
VS_MUST_CHECK int vs_draw_space_write(const struct vs_space *space, const char *path, int width,
				      int height, bool is_dark);

#endif
