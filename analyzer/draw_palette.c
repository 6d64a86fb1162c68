#include "draw_palette.h"

#include <stddef.h>

#define RGB(r, g, b)                                  \
	{                                             \
		(r) / 255.0, (g) / 255.0, (b) / 255.0 \
	}

/* Lightness falls from free to live: amber, coral, plum, violet, navy. */
static const struct vs_palette light = {
	.page = RGB(255, 255, 255),
	.plot = RGB(241, 242, 245),
	.text = RGB(28, 30, 36),
	.faint = RGB(110, 114, 124),
	.grid = RGB(214, 217, 223),
	.failure = RGB(196, 18, 48),
	.on_failure = RGB(255, 255, 255),
	.mark = RGB(20, 20, 24),
	.halo = RGB(255, 255, 255),
	.phase = {RGB(205, 214, 224), RGB(171, 186, 203)},
	.ramp = {RGB(250, 184, 62), RGB(236, 122, 84), RGB(192, 72, 124), RGB(118, 48, 140),
		 RGB(42, 28, 104)},
	.free = RGB(255, 226, 164),
	.hatch = RGB(222, 158, 40),
	.group = {RGB(51, 81, 143), RGB(127, 184, 222), RGB(27, 127, 110), RGB(214, 112, 20),
		  RGB(166, 61, 90), RGB(138, 143, 47), RGB(109, 63, 140), RGB(227, 154, 134),
		  RGB(95, 179, 156), RGB(176, 111, 176), RGB(94, 58, 36)},
	.other = RGB(160, 166, 174),
};

/* On a dark page it rises: rust, rose, lilac, sky, ice. */
static const struct vs_palette dark = {
	.page = RGB(20, 22, 27),
	.plot = RGB(33, 36, 43),
	.text = RGB(232, 234, 238),
	.faint = RGB(152, 157, 168),
	.grid = RGB(58, 62, 71),
	.failure = RGB(255, 92, 92),
	.on_failure = RGB(24, 8, 8),
	.mark = RGB(255, 255, 255),
	.halo = RGB(16, 18, 22),
	.phase = {RGB(58, 66, 78), RGB(84, 95, 111)},
	.ramp = {RGB(150, 46, 10), RGB(178, 80, 100), RGB(164, 138, 206), RGB(136, 190, 240),
		 RGB(202, 240, 252)},
	.free = RGB(74, 56, 20),
	.hatch = RGB(176, 132, 48),
	.group = {RGB(127, 159, 224), RGB(47, 111, 158), RGB(87, 194, 172), RGB(168, 146, 58),
		  RGB(226, 128, 154), RGB(201, 207, 107), RGB(154, 111, 192), RGB(168, 95, 75),
		  RGB(47, 127, 107), RGB(219, 163, 219), RGB(214, 188, 160)},
	.other = RGB(112, 120, 131),
};

const struct vs_palette *vs_draw_palette_get(bool is_dark)
{
	return is_dark ? &dark : &light;
}

static struct vs_color mix(struct vs_color a, struct vs_color b, double share_of_b)
{
	return (struct vs_color){
		.red = a.red + (b.red - a.red) * share_of_b,
		.green = a.green + (b.green - a.green) * share_of_b,
		.blue = a.blue + (b.blue - a.blue) * share_of_b,
	};
}

struct vs_color vs_draw_palette_get_ramp(const struct vs_palette *palette, double place)
{
	double at = place * (VS_PALETTE_STOPS - 1);
	size_t stop;

	if (at <= 0)
		return palette->ramp[0];
	if (at >= VS_PALETTE_STOPS - 1)
		return palette->ramp[VS_PALETTE_STOPS - 1];
	stop = (size_t)at;
	return mix(palette->ramp[stop], palette->ramp[stop + 1], at - (double)stop);
}

static uint32_t to_byte(double value)
{
	return (uint32_t)(value * 255.0 + 0.5);
}

uint32_t vs_draw_palette_get_cell(const struct vs_palette *palette, double held, double live)
{
	struct vs_color color = palette->plot;

	if (held > 0)
		color = mix(color, vs_draw_palette_get_ramp(palette, live / held), held);
	return to_byte(color.red) << 16 | to_byte(color.green) << 8 | to_byte(color.blue);
}

struct vs_color vs_draw_palette_get_group(const struct vs_palette *palette, size_t group,
					  size_t nr_groups, bool is_ordered)
{
	if (is_ordered)
		/* Not from its very beginning, which is the colour of what is free. */
		return vs_draw_palette_get_ramp(
			palette,
			nr_groups > 1 ? 0.25 + 0.75 * (double)group / (double)(nr_groups - 1) : 1);
	return group + 1 >= nr_groups ? palette->other : palette->group[group % VS_PALETTE_GROUPS];
}

uint32_t vs_draw_palette_get_group_cell(const struct vs_palette *palette, double held, double live,
					struct vs_color color)
{
	struct vs_color cell = palette->plot;

	if (held > 0)
		cell = mix(cell, mix(palette->free, color, live / held), held);
	return to_byte(cell.red) << 16 | to_byte(cell.green) << 8 | to_byte(cell.blue);
}
