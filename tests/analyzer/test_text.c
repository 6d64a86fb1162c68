#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

static char *put_line(size_t width, bool is_ascii, bool has_color, const char *heading,
		      const char *rest)
{
	struct vs_text_style style = {NULL, width, is_ascii, has_color};
	struct vs_text_line line = {0};
	size_t size;
	char *out;

	style.file = open_memstream(&out, &size);
	vs_text_add(&line, "%s", heading);
	vs_text_mark(&line, VS_TEXT_STRONG);
	vs_text_add(&line, "%s", rest);
	vs_text_put(&style, &line);
	fclose(style.file);
	return out;
}

static void assert_line(size_t width, bool is_ascii, const char *text, const char *expected)
{
	char *out = put_line(width, is_ascii, false, "", text);

	assert_string_equal(out, expected);
	free(out);
}

static void test_lines_are_cut_to_the_width(void **state)
{
	(void)state;
	assert_line(10, false, "0123456789", "0123456789\n");
	assert_line(10, false, "0123456789a", "012345678\u2026\n");
	assert_line(10, true, "0123456789a", "0123456...\n");
	assert_line(4, false, "\u00e4\u00f6\u00fc\u00df", "\u00e4\u00f6\u00fc\u00df\n");
	assert_line(3, false, "\u00e4\u00f6\u00fc\u00df", "\u00e4\u00f6\u2026\n");
	assert_line(10, false, "blank   ", "blank\n");
}

static void test_wide_characters_take_two_columns(void **state)
{
	(void)state;
	assert_int_equal(vs_text_get_width("\u8a13\u7df4"), 4);
	assert_int_equal(vs_text_get_width("\U0001f680!"), 3);
	assert_line(4, false, "\u8a13\u7df4", "\u8a13\u7df4\n");
	assert_line(3, false, "\u8a13\u7df4", "\u8a13\u2026\n");
	assert_line(4, false, "a\u8a13\u7df4", "a\u8a13\u2026\n");
	/* Half a character has no room: the line ends a column early. */
	assert_line(5, false, "\u8a13\u7df4\u6e08", "\u8a13\u7df4\u2026\n");
	assert_line(4, false, "\u8a13\u7df4\u6e08", "\u8a13\u2026\n");
}

static void test_bytes_of_a_trace_cannot_play_with_the_terminal(void **state)
{
	(void)state;
	assert_line(40, false, "a\033[2Jb\tc\x7f", "a?[2Jb?c?\n");
	assert_line(40, false, "bad \xff\xc3-",
		    "bad ?"
		    "?-\n");
	assert_line(40, false, "c1 \xc2\x9b", "c1 ?\n");
}

static void test_text_cannot_turn_or_end_the_line_it_is_in(void **state)
{
	(void)state;
	assert_line(40, false, "a\u202eb\u2066c\u200fd", "a?b?c?d\n");
	assert_line(40, false, "a\u2028b\u2029c\ufeff", "a?b?c?\n");
	/* Control characters in more bytes than need be are no UTF-8. */
	assert_line(40, false, "\xe0\x80\x9b[2J", "???[2J\n");
	assert_line(40, false, "\xc0\x9b", "??\n");
}

static void test_ascii_means_ascii(void **state)
{
	(void)state;
	assert_line(40, true, "a \u00b7 48\u202f210 \u00e4", "a - 48 210 ?\n");
}

static void test_colour_ends_where_the_heading_ends(void **state)
{
	char *out = put_line(40, false, true, "PEAK", " 5 B");

	(void)state;
	assert_string_equal(out, "\033[1mPEAK\033[0m 5 B\n");
	free(out);
	out = put_line(3, false, true, "PEAKS", "");
	assert_string_equal(out, "\033[1mPE\033[0m\u2026\n");
	free(out);
}

static void test_line_that_is_too_long_to_be_kept_is_cut(void **state)
{
	struct vs_text_line line = {0};
	char *long_text = malloc(10000);

	(void)state;
	assert_non_null(long_text);
	memset(long_text, 'x', 9999);
	long_text[9999] = '\0';
	vs_text_add(&line, "ab");
	vs_text_add(&line, "%s", long_text);
	vs_text_add(&line, "%s", long_text);
	assert_int_equal(line.size, VS_TEXT_LINE_MAX - 1);
	assert_int_equal(strlen(line.bytes), VS_TEXT_LINE_MAX - 1);
	free(long_text);
}

static void assert_name(const char *name, size_t columns, const char *expected)
{
	struct vs_text_line line = {0};

	vs_text_add(&line, "in ");
	vs_text_add_name(&line, name, columns);
	vs_text_add(&line, ":");
	assert_string_equal(line.bytes, expected);
}

static void test_long_names_leave_room_for_the_sentence(void **state)
{
	(void)state;
	assert_name("0123456789", 10, "in 0123456789:");
	assert_name("0123456789a", 10, "in 0123456...:");
	assert_name("", 10, "in :");
	assert_name("\u8a13\u7df4\u6e08\u307f", 8, "in \u8a13\u7df4\u6e08\u307f:");
	assert_name("\u8a13\u7df4\u6e08\u307f", 7, "in \u8a13\u7df4...:");
	assert_name("\u8a13\u7df4\u6e08\u307f", 6, "in \u8a13...:"); /* half of one has no room */
}

static void test_blanks_fill_up_to_a_column(void **state)
{
	struct vs_text_line line = {0};

	(void)state;
	vs_text_add(&line, "\u00e4b");
	vs_text_fill(&line, 5);
	vs_text_add(&line, "c");
	vs_text_fill(&line, 5); /* it is behind that already: one blank */
	vs_text_add(&line, "d");
	assert_string_equal(line.bytes, "\u00e4b   c d");
}

static void assert_whole(size_t width, size_t indent, const char *text, const char *expected)
{
	struct vs_text_style style = {.width = width};
	struct vs_text_line line = {0};
	size_t size;
	char *out;

	style.file = open_memstream(&out, &size);
	vs_text_add(&line, "%s", text);
	vs_text_put_whole(&style, &line, indent);
	fclose(style.file);
	assert_string_equal(out, expected);
	free(out);
	assert_int_equal(line.size, 0);
}

static void test_sentences_go_on_below(void **state)
{
	(void)state;
	assert_whole(20, 4, "one two three", "one two three\n");
	assert_whole(10, 2, "one two three four", "one two\n  three\n  four\n");
	/* Two blanks divide better than one, in the second half. */
	assert_whole(20, 2, "aa bb cc dd  ee ff gg", "aa bb cc dd\n  ee ff gg\n");
	assert_whole(11, 2, "\u8a13\u7df4 \u6e08\u307f abc", "\u8a13\u7df4 \u6e08\u307f\n  abc\n");
}

static void test_word_that_is_wider_than_the_terminal_is_cut(void **state)
{
	(void)state;
	assert_whole(8, 2, "abcdefghijkl", "abcdefg\u2026\n");
	assert_whole(8, 2, "abc abcdefghijkl", "abc\n  abcde\u2026\n");
	/* Before the indent, and in it, there is no place to divide. */
	assert_whole(8, 4, "a bcdefghijkl", "a bcdef\u2026\n");
	assert_whole(8, 4, "    abcdefghijkl", "    abc\u2026\n");
}

static void test_tail_of_a_long_path_is_kept(void **state)
{
	char text[] = "/very/long/path/to/train.py";

	(void)state;
	vs_text_keep_tail(text, 100, false);
	assert_string_equal(text, "/very/long/path/to/train.py");
	vs_text_keep_tail(text, 10, true);
	assert_string_equal(text, "...rain.py");
}

static void assert_tail(const char *text, size_t width, bool is_ascii, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	vs_text_keep_tail(copy, width, is_ascii);
	assert_string_equal(copy, expected);
}

static void test_tail_fits_its_width(void **state)
{
	(void)state;
	assert_tail("0123456789", 10, false, "0123456789");
	/* The dots take three bytes, though one column. */
	assert_tail("0123456789a", 10, false, "\u20263456789a");
	assert_tail("0123456789abc", 10, false, "\u2026456789abc");
	assert_tail("0123456789a", 10, true, "...456789a");
	assert_tail("\u8a13\u7df4\u6e08", 5, false, "\u2026\u7df4\u6e08");
	assert_tail("\u8a13\u7df4\u6e08", 4, false, "\u2026\u6e08");
	assert_tail("abc", 1, false, "abc"); /* no room for anything but dots */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_cut_to_the_width),
		cmocka_unit_test(test_wide_characters_take_two_columns),
		cmocka_unit_test(test_bytes_of_a_trace_cannot_play_with_the_terminal),
		cmocka_unit_test(test_text_cannot_turn_or_end_the_line_it_is_in),
		cmocka_unit_test(test_ascii_means_ascii),
		cmocka_unit_test(test_colour_ends_where_the_heading_ends),
		cmocka_unit_test(test_line_that_is_too_long_to_be_kept_is_cut),
		cmocka_unit_test(test_long_names_leave_room_for_the_sentence),
		cmocka_unit_test(test_blanks_fill_up_to_a_column),
		cmocka_unit_test(test_sentences_go_on_below),
		cmocka_unit_test(test_word_that_is_wider_than_the_terminal_is_cut),
		cmocka_unit_test(test_tail_of_a_long_path_is_kept),
		cmocka_unit_test(test_tail_fits_its_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
