/*
 * Whether the colours can be told apart, by everybody and on paper. Eyes are simulated with the
 * matrices of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
 * Color Vision Deficiency" (2009), for the whole loss of a kind of cone; distances are those of
 * CIELAB (1976), in which about 2 can just be seen.
 */
#include "draw_palette.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "canvas.h"

struct lab {
	double l; /* lightness: what is left on a grey print */
	double a;
	double b;
};

/* To light as it is, not as it is stored: sRGB, IEC 61966-2-1. */
static double to_linear(double value)
{
	return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

enum eyes {
	NORMAL,
	PROTANOPE,
	DEUTERANOPE,
	TRITANOPE,
	NR_EYES,
};

static const double seen_by[NR_EYES][3][3] = {
	[NORMAL] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	[PROTANOPE] = {{0.152286, 1.052583, -0.204868},
		       {0.114503, 0.786281, 0.099216},
		       {-0.003882, -0.048116, 1.051998}},
	[DEUTERANOPE] = {{0.367322, 0.860646, -0.227968},
			 {0.280085, 0.672501, 0.047413},
			 {-0.011820, 0.042940, 0.968881}},
	[TRITANOPE] = {{1.255528, -0.076749, -0.178779},
		       {-0.078411, 0.930809, 0.147602},
		       {0.004733, 0.691367, 0.303900}},
};

static double bend(double value)
{
	return value > 216.0 / 24389 ? cbrt(value) : (24389.0 / 27 * value + 16) / 116;
}

static struct lab look(struct vs_color color, enum eyes eyes)
{
	const double light[] = {to_linear(color.red), to_linear(color.green),
				to_linear(color.blue)};
	double seen[3], x, y, z;

	for (int i = 0; i < 3; i++) {
		const double *row = seen_by[eyes][i];

		seen[i] = row[0] * light[0] + row[1] * light[1] + row[2] * light[2];
		seen[i] = fmin(1, fmax(0, seen[i]));
	}
	/* To XYZ, of the white of daylight (D65). */
	x = (0.4124564 * seen[0] + 0.3575761 * seen[1] + 0.1804375 * seen[2]) / 0.95047;
	y = 0.2126729 * seen[0] + 0.7151522 * seen[1] + 0.0721750 * seen[2];
	z = (0.0193339 * seen[0] + 0.1191920 * seen[1] + 0.9503041 * seen[2]) / 1.08883;
	return (struct lab){116 * bend(y) - 16, 500 * (bend(x) - bend(y)),
			    200 * (bend(y) - bend(z))};
}

static double get_distance(struct vs_color one, struct vs_color other, enum eyes eyes)
{
	struct lab p = look(one, eyes), q = look(other, eyes);

	return sqrt((p.l - q.l) * (p.l - q.l) + (p.a - q.a) * (p.a - q.a) +
		    (p.b - q.b) * (p.b - q.b));
}

static double get_contrast(struct vs_color one, struct vs_color other, enum eyes eyes)
{
	return fabs(look(one, eyes).l - look(other, eyes).l);
}

static void assert_apart(struct vs_color one, struct vs_color other, double distance,
			 double contrast)
{
	for (enum eyes eyes = NORMAL; eyes < NR_EYES; eyes++) {
		double is_apart = get_distance(one, other, eyes);
		double is_lighter = get_contrast(one, other, eyes);

		if (is_apart < distance || is_lighter < contrast)
			fail_msg("%06x and %06x are only %.1f apart (lightness %.1f) for eyes %d",
				 canvas_to_pixel(one), canvas_to_pixel(other), is_apart, is_lighter,
				 eyes);
	}
}

static void test_ruler_itself_is_right(void **state)
{
	static const struct vs_color white = {1, 1, 1}, grey = {0.5, 0.5, 0.5}, red = {1, 0, 0};
	static const struct vs_color green = {0, 0.5, 0};

	(void)state;
	/* Published values: red is (53.2, 80.1, 67.2); white is 100. */
	assert_true(fabs(look(red, NORMAL).l - 53.2) < 0.1);
	assert_true(fabs(look(red, NORMAL).a - 80.1) < 0.1);
	assert_true(fabs(look(red, NORMAL).b - 67.2) < 0.1);
	for (enum eyes eyes = NORMAL; eyes < NR_EYES; eyes++) {
		assert_true(fabs(look(white, eyes).l - 100) < 0.1);
		/* Grey is grey for everybody. */
		assert_true(hypot(look(grey, eyes).a, look(grey, eyes).b) < 0.2);
	}
	/* What they are famous for. */
	assert_true(get_distance(red, green, NORMAL) > 100);
	assert_true(get_distance(red, green, PROTANOPE) < 40);
	assert_true(get_distance(red, green, DEUTERANOPE) < 40);
	assert_true(get_distance(red, green, TRITANOPE) > 80);
}

static void test_not_held_free_and_live_are_worlds_apart(void **state)
{
	(void)state;
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		const struct vs_palette *palette = vs_draw_palette_get(is_dark);
		struct vs_color live = palette->ramp[VS_PALETTE_STOPS - 1];

		assert_apart(palette->plot, palette->ramp[0], 40, 12);
		assert_apart(palette->plot, live, 60, 50);
		assert_apart(palette->ramp[0], live, 60, 40);
	}
}

static void test_steps_of_the_ramp_can_be_told_apart(void **state)
{
	(void)state;
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		const struct vs_palette *palette = vs_draw_palette_get(is_dark);

		for (int i = 0; i + 1 < VS_PALETTE_STOPS; i++)
			assert_apart(palette->ramp[i], palette->ramp[i + 1], 10, 10);
	}
}

static void test_ramps_change_lightness_in_one_direction(void **state)
{
	(void)state;
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		const struct vs_palette *palette = vs_draw_palette_get(is_dark);

		for (enum eyes eyes = NORMAL; eyes < NR_EYES; eyes++) {
			double before = look(vs_draw_palette_get_ramp(palette, 0), eyes).l;

			for (int i = 1; i <= 100; i++) {
				double now =
					look(vs_draw_palette_get_ramp(palette, i / 100.0), eyes).l;

				assert_true(is_dark ? now > before : now < before);
				before = now;
			}
		}
	}
}

static void test_marks_stand_out_from_their_halo_and_from_each_other(void **state)
{
	(void)state;
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		const struct vs_palette *palette = vs_draw_palette_get(is_dark);

		assert_apart(palette->failure, palette->halo, 50, 40);
		assert_apart(palette->mark, palette->halo, 50, 70);
		assert_apart(palette->failure, palette->mark, 25, 25);
		/* A line over cells: it is its halo that parts it from the ramp. */
		assert_apart(palette->phase[0], palette->phase[1], 9, 9);
		assert_apart(palette->phase[0], palette->page, 9, 9);
	}
}

/* Relative luminances, WCAG 2.1: 4.5 for text, 3 for what is only looked at. */
static double get_ratio(struct vs_color one, struct vs_color other)
{
	const struct vs_color colors[] = {one, other};
	double y[2];

	for (int i = 0; i < 2; i++)
		y[i] = 0.2126 * to_linear(colors[i].red) + 0.7152 * to_linear(colors[i].green) +
		       0.0722 * to_linear(colors[i].blue) + 0.05;
	return y[0] > y[1] ? y[0] / y[1] : y[1] / y[0];
}

static void test_text_can_be_read_on_every_ground_it_has(void **state)
{
	(void)state;
	for (int is_dark = 0; is_dark < 2; is_dark++) {
		const struct vs_palette *palette = vs_draw_palette_get(is_dark);

		assert_true(get_ratio(palette->text, palette->page) >= 7);
		assert_true(get_ratio(palette->faint, palette->page) >= 4.5);
		assert_true(get_ratio(palette->text, palette->phase[0]) >= 4.5);
		assert_true(get_ratio(palette->text, palette->phase[1]) >= 4.5);
		assert_true(get_ratio(palette->on_failure, palette->failure) >= 4.5);
	}
}

static void test_cell_mixes_what_is_not_held_into_its_colour(void **state)
{
	const struct vs_palette *palette = vs_draw_palette_get(false);

	(void)state;
	assert_int_equal(vs_draw_palette_get_cell(palette, 0, 0), canvas_to_pixel(palette->plot));
	assert_int_equal(vs_draw_palette_get_cell(palette, 1, 0),
			 canvas_to_pixel(palette->ramp[0]));
	assert_int_equal(vs_draw_palette_get_cell(palette, 1, 1),
			 canvas_to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]));
	assert_int_equal(vs_draw_palette_get_cell(palette, 1, 0.5),
			 canvas_to_pixel(palette->ramp[2]));
	/* Half held, and live wherever it is held: half of the way to live. */
	assert_int_equal(vs_draw_palette_get_cell(palette, 0.5, 0.5) >> 16,
			 (canvas_to_pixel(palette->plot) >> 16) / 2 +
				 (canvas_to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]) >> 16) / 2 +
				 1);
	assert_int_not_equal(vs_draw_palette_get_cell(palette, 0.5, 0),
			     canvas_to_pixel(palette->ramp[0]));
}

static void test_places_beyond_the_ramp_are_its_ends(void **state)
{
	const struct vs_palette *palette = vs_draw_palette_get(false);

	(void)state;
	assert_int_equal(canvas_to_pixel(vs_draw_palette_get_ramp(palette, -1)),
			 canvas_to_pixel(palette->ramp[0]));
	assert_int_equal(canvas_to_pixel(vs_draw_palette_get_ramp(palette, 1.1)),
			 canvas_to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]));
	assert_int_equal(canvas_to_pixel(vs_draw_palette_get_ramp(palette, 2)),
			 canvas_to_pixel(palette->ramp[VS_PALETTE_STOPS - 1]));
	assert_int_equal(canvas_to_pixel(vs_draw_palette_get_ramp(palette, 0.25)),
			 canvas_to_pixel(palette->ramp[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ruler_itself_is_right),
		cmocka_unit_test(test_not_held_free_and_live_are_worlds_apart),
		cmocka_unit_test(test_steps_of_the_ramp_can_be_told_apart),
		cmocka_unit_test(test_ramps_change_lightness_in_one_direction),
		cmocka_unit_test(test_marks_stand_out_from_their_halo_and_from_each_other),
		cmocka_unit_test(test_text_can_be_read_on_every_ground_it_has),
		cmocka_unit_test(test_cell_mixes_what_is_not_held_into_its_colour),
		cmocka_unit_test(test_places_beyond_the_ramp_are_its_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
