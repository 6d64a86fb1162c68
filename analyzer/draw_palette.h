#ifndef VS_DRAW_PALETTE_H
#define VS_DRAW_PALETTE_H

/*
 * The colours of pictures. Two things differ in lightness before they differ in hue, so that they
 * stay apart for everybody and on paper.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vs_color {
	double red; /* 0 to 1 */
	double green;
	double blue;
};

#define VS_PALETTE_STOPS  5
#define VS_PALETTE_GROUPS 11

struct vs_palette {
	struct vs_color page;
	struct vs_color plot; /* not held */
	struct vs_color text;
	struct vs_color faint;   /* axes, less important text */
	struct vs_color grid;    /* lines across a plot */
	struct vs_color failure; /* a label's ground */
	struct vs_color on_failure;
	struct vs_color mark;                   /* lines over cells */
	struct vs_color halo;                   /* around them */
	struct vs_color phase[2];               /* in turns */
	struct vs_color ramp[VS_PALETTE_STOPS]; /* held and free, to all live */
	struct vs_color free;                   /* held and free, where groups have the colours */
	struct vs_color hatch;                  /* lines over that */
	struct vs_color group[VS_PALETTE_GROUPS];
	struct vs_color other; /* the last group */
};

const struct vs_palette *vs_draw_palette_get(bool is_dark);

/* The ramp at a place from 0 (free) to 1 (live). */
struct vs_color vs_draw_palette_get_ramp(const struct vs_palette *palette, double place);

/* The colour of one of so many groups; is_ordered: steps along the ramp. */
struct vs_color vs_draw_palette_get_group(const struct vs_palette *palette, size_t group,
					  size_t nr_groups, bool is_ordered);

/* The same as below with a colour of one's own for what is live. */
uint32_t vs_draw_palette_get_group_cell(const struct vs_palette *palette, double held, double live,
					struct vs_color color);

/* A cell as 0xRRGGBB, from the shares of it that are held and live; live <= held <= 1. */
uint32_t vs_draw_palette_get_cell(const struct vs_palette *palette, double held, double live);

#endif
