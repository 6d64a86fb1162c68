/* text.c and json.c */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "script.h"
#include "text.h"

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

static void test_bytes_of_a_trace_cannot_play_with_the_terminal(void **state)
{
	(void)state;
	assert_line(40, false, "a\033[2Jb\tc\x7f", "a?[2Jb?c?\n");
	assert_line(40, false, "bad \xff\xc3-",
		    "bad ?"
		    "?-\n");
	assert_line(40, false, "c1 \xc2\x9b", "c1 ?\n");
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

static void test_tail_of_a_long_path_is_kept(void **state)
{
	char text[] = "/very/long/path/to/train.py";

	(void)state;
	vs_text_keep_tail(text, 100, false);
	assert_string_equal(text, "/very/long/path/to/train.py");
	vs_text_keep_tail(text, 10, true);
	assert_string_equal(text, "...rain.py");
}

static void test_json_is_escaped_and_exact(void **state)
{
	struct vs_json json;
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);

	(void)state;
	vs_json_init(&json, file);
	vs_json_begin_object(&json, NULL);
	vs_json_put_text(&json, "t\"", "a\\b\n\x01\xff\u00e4\xed\xa0\x80");
	vs_json_put_number(&json, "n", UINT64_MAX);
	vs_json_put_signed(&json, "s", INT64_MIN);
	vs_json_put_real(&json, "r", 0.5);
	vs_json_put_real(&json, "x", 1.0 / 0.0);
	vs_json_put_text(&json, "z", NULL);
	vs_json_begin_array(&json, "a");
	vs_json_put_bool(&json, NULL, true);
	vs_json_begin_object(&json, NULL);
	vs_json_end_object(&json);
	vs_json_end_array(&json);
	vs_json_end_object(&json);
	fclose(file);
	assert_string_equal(out, "{\n"
				 "  \"t\\\"\": \"a\\\\b\\n\\u0001\\ufffd\u00e4"
				 "\\ufffd\\ufffd\\ufffd\",\n"
				 "  \"n\": 18446744073709551615,\n"
				 "  \"s\": -9223372036854775808,\n"
				 "  \"r\": 0.5,\n"
				 "  \"x\": null,\n"
				 "  \"z\": null,\n"
				 "  \"a\": [\n"
				 "    true,\n"
				 "    {}\n"
				 "  ]\n"
				 "}\n");
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_cut_to_the_width),
		cmocka_unit_test(test_bytes_of_a_trace_cannot_play_with_the_terminal),
		cmocka_unit_test(test_ascii_means_ascii),
		cmocka_unit_test(test_colour_ends_where_the_heading_ends),
		cmocka_unit_test(test_tail_of_a_long_path_is_kept),
		cmocka_unit_test(test_json_is_escaped_and_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
