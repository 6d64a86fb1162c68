/* Only where text is, never what it looks like: fonts differ. */
#include "draw_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "canvas.h"

#define WIDTH  400
#define HEIGHT 60

static const struct vs_color black = {0, 0, 0};

static void test_wider_text_is_wider_and_type_grows_with_the_unit(void **state)
{
	struct canvas canvas;
	double once, twice;

	(void)state;
	canvas_init(&canvas, WIDTH, HEIGHT, false);
	once = vs_draw_text_get_width(&canvas.draw, 1, "memory");
	assert_true(once > 20);
	assert_true(vs_draw_text_get_width(&canvas.draw, 1, "memory memory") > 2 * once);
	assert_true(vs_draw_text_get_width(&canvas.draw, 1, "") == 0);
	canvas.draw.unit = 2;
	twice = vs_draw_text_get_width(&canvas.draw, 1, "memory");
	assert_in_range((int)(twice / once * 100), 180, 220);
	assert_true(vs_draw_text_get_line(&canvas.draw) > 13 * 2);
	canvas_fini(&canvas);
}

static struct vs_box put(enum vs_draw_anchor anchor, const char *text)
{
	struct canvas canvas;
	struct vs_box ink;

	canvas_init(&canvas, WIDTH, HEIGHT, false);
	vs_draw_text_put(&canvas.draw, 200, 30, anchor, 1, black, text);
	ink = canvas_get_ink(&canvas);
	canvas_fini(&canvas);
	return ink;
}

static void test_text_is_left_of_right_of_or_around_its_place(void **state)
{
	struct vs_box left = put(VS_DRAW_LEFT, "HOLE"), right = put(VS_DRAW_RIGHT, "HOLE");
	struct vs_box center = put(VS_DRAW_CENTER, "HOLE");

	(void)state;
	assert_true(left.x >= 199 && left.x < 205);
	assert_true(right.x + right.width <= 201 && right.x + right.width > 195);
	assert_true(center.x < 195 && center.x + center.width > 205);
	/* Its middle is at y: within a pixel or two, as fonts go. */
	assert_in_range((int)(left.y + left.height / 2), 28, 32);
}

static struct vs_box put_cut(const char *text, double width)
{
	struct canvas canvas;
	struct vs_box ink;

	canvas_init(&canvas, WIDTH, HEIGHT, false);
	vs_draw_text_put_cut(&canvas.draw, 10, 30, width, 1, black, text);
	ink = canvas_get_ink(&canvas);
	canvas_fini(&canvas);
	return ink;
}

static void test_text_is_cut_to_its_width(void **state)
{
	static const char text[] = "a sentence that is far too long for this picture of mine";

	(void)state;
	for (double width = 60; width < 300; width += 20) {
		struct vs_box ink = put_cut(text, width);

		assert_true(ink.width > 0);
		assert_true(ink.x + ink.width <= 10 + width + 1);
	}
	/* Short text stays as it is. */
	assert_true(put_cut("short", 300).width == put_cut("short", 100).width);
}

static void test_nothing_is_written_where_hardly_a_letter_has_room(void **state)
{
	(void)state;
	assert_true(put_cut("forward", 10).width == 0);
	assert_true(put_cut("forward", 0).width == 0);
	assert_true(put_cut("forward", -5).width == 0);
	assert_true(put_cut("", 100).width == 0);
}

/* cairo takes no other text, and never draws anything again after an error: canvas_fini. */
static void assert_drawn(const char *text)
{
	struct canvas canvas;

	canvas_init(&canvas, WIDTH, HEIGHT, false);
	vs_draw_text_put(&canvas.draw, 10, 30, VS_DRAW_CENTER, 1, black, text);
	for (double width = 0; width < 400; width += 7)
		vs_draw_text_put_cut(&canvas.draw, 10, 30, width, 1, black, text);
	assert_true(vs_draw_text_get_width(&canvas.draw, 1, text) > 0);
	canvas_fini(&canvas);
}

static void test_bytes_that_are_no_utf8_are_drawn_as_something(void **state)
{
	(void)state;
	assert_drawn("caf\xe9");
	assert_drawn("\xff\xfe\xfd");
	assert_drawn("cut \xe8\xa8");
	assert_drawn("\xed\xa0\x80 surrogate");
	assert_drawn("\x80 start");
	assert_drawn("\xe8\xa8\x93\xe7\xb7\xb4 wide");
	assert_drawn("\033[31m\t\n");
}

static void test_very_long_text_is_cut_between_characters(void **state)
{
	char *text = malloc(5001);

	(void)state;
	assert_non_null(text);
	for (size_t start = 0; start < 3; start++) {
		for (size_t i = 0; i + 3 <= 5000 - start; i += 3)
			memcpy(text + start + i, "\xe8\xa8\x93", 3);
		memset(text, 'x', start);
		text[start + (5000 - start) / 3 * 3] = '\0';
		assert_drawn(text);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wider_text_is_wider_and_type_grows_with_the_unit),
		cmocka_unit_test(test_text_is_left_of_right_of_or_around_its_place),
		cmocka_unit_test(test_text_is_cut_to_its_width),
		cmocka_unit_test(test_nothing_is_written_where_hardly_a_letter_has_room),
		cmocka_unit_test(test_bytes_that_are_no_utf8_are_drawn_as_something),
		cmocka_unit_test(test_very_long_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
