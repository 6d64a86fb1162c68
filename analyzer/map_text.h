#ifndef VS_MAP_TEXT_H
#define VS_MAP_TEXT_H

/* The words of the map. No line is wider than the style says. */
#include "map.h"
#include "map_bar.h"

void vs_map_text_put_legend(uint64_t cell, const struct vs_text_style *style);
void vs_map_text_put_segment(const struct vs_map_segment *segment, const struct vs_map_sums *sums,
			     const struct vs_text_style *style);
void vs_map_text_put_group(const char *label, size_t nr_segments, const struct vs_map_sums *sums,
			   const struct vs_text_style *style);
void vs_map_text_put_totals(const struct vs_map_state *state, const struct vs_map_sums *sums,
			    const struct vs_text_style *style);

#endif
