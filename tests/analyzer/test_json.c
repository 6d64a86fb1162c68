#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "script.h"

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

/* A text as JSON, quotes included; the caller's to free. */
static char *put_text(const char *text)
{
	struct vs_json json;
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);

	vs_json_init(&json, file);
	vs_json_put_text(&json, NULL, text);
	fclose(file);
	assert_int_equal(out[size - 1], '\n');
	out[size - 1] = '\0';
	return out;
}

static void assert_text(const char *text, const char *expected)
{
	char *out = put_text(text);

	assert_string_equal(out, expected);
	free(out);
}

static void test_every_control_character_is_escaped(void **state)
{
	(void)state;
	for (int byte = 1; byte < 0x20; byte++) {
		char text[] = {(char)byte, 0};
		char expected[16];

		snprintf(expected, sizeof(expected), "\"\\u%04x\"", byte);
		if (byte == '\n' || byte == '\t')
			snprintf(expected, sizeof(expected), "\"\\%c\"", byte == '\n' ? 'n' : 't');
		assert_text(text, expected);
	}
	assert_text("\x7f", "\"\\u007f\"");
	/* Those of C1: a terminal may take them for the start of a command. */
	assert_text("\xc2\x80\xc2\x9b\xc2\x9f\u00a0", "\"\\u0080\\u009b\\u009f\u00a0\"");
}

static void test_quotes_and_backslashes_are_escaped_in_names_and_values(void **state)
{
	struct vs_json json;
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);

	(void)state;
	vs_json_init(&json, file);
	vs_json_begin_object(&json, NULL);
	vs_json_put_text(&json, "a\\\"\n", "C:\\x \"y\" \\");
	vs_json_begin_object(&json, "\xff");
	vs_json_end_object(&json);
	vs_json_end_object(&json);
	fclose(file);
	assert_string_equal(out, "{\n"
				 "  \"a\\\\\\\"\\n\": \"C:\\\\x \\\"y\\\" \\\\\",\n"
				 "  \"\\ufffd\": {}\n"
				 "}\n");
	free(out);
}

static void test_bytes_that_are_no_utf8_are_replaced_one_by_one(void **state)
{
	(void)state;
	assert_text("\xff", "\"\\ufffd\"");
	assert_text("a\x80z", "\"a\\ufffdz\"");
	assert_text("\xc3", "\"\\ufffd\"");                       /* cut */
	assert_text("\xe2\x82", "\"\\ufffd\\ufffd\"");            /* cut later */
	assert_text("\xc0\xaf", "\"\\ufffd\\ufffd\"");            /* longer than need be */
	assert_text("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
	assert_text("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* too far */
	assert_text("\u00e4\u20ac\U0001f600", "\"\u00e4\u20ac\U0001f600\"");
}

/* What a strict reader of RFC 8259 accepts between quotes; no more than the tests need. */
static void assert_well_formed(const char *text)
{
	size_t size;

	assert_int_equal(*text++, '"');
	for (; *text != '"'; text += size) {
		size = 1;
		if (*text == '\\') {
			size = text[1] == 'u' ? 6 : 2;
			assert_non_null(strchr("\"\\nt", text[1] == 'u' ? 'n' : text[1]));
			if (size == 6)
				assert_int_equal(strspn(text + 2, "0123456789abcdef") >= 4, 1);
		} else {
			assert_true((unsigned char)*text >= 0x20);
			if ((unsigned char)*text >= 0x80)
				size = (unsigned char)*text >= 0xf0   ? 4
				       : (unsigned char)*text >= 0xe0 ? 3
								      : 2;
			for (size_t i = 1; i < size; i++)
				assert_int_equal(text[i] & 0xc0, 0x80);
		}
	}
	assert_int_equal(text[1], 0);
}

static void test_whatever_bytes_come_in_the_text_is_well_formed(void **state)
{
	unsigned int seed = 3;
	char text[64];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)rand_r(&seed) % (sizeof(text) - 1);
		char *out;

		for (size_t i = 0; i < size; i++) /* mostly bytes of which UTF-8 is made */
			text[i] = (char)(rand_r(&seed) % 4 ? 0x80 + rand_r(&seed) % 128
							   : 1 + rand_r(&seed) % 127);
		text[size] = '\0';
		out = put_text(text);
		assert_well_formed(out);
		free(out);
	}
}

static void test_what_was_begun_last_is_ended_whatever_it_is(void **state)
{
	struct vs_json json;
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);

	(void)state;
	vs_json_init(&json, file);
	vs_json_begin_object(&json, NULL);
	vs_json_begin_array(&json, "a");
	vs_json_begin_array(&json, NULL);
	vs_json_put_number(&json, NULL, 1);
	vs_json_put_number(&json, NULL, 2);
	while (json.depth)
		vs_json_end(&json);
	fclose(file);
	assert_string_equal(out, "{\n"
				 "  \"a\": [\n"
				 "    [\n"
				 "      1,\n"
				 "      2\n"
				 "    ]\n"
				 "  ]\n"
				 "}\n");
	free(out);
}

static void test_full_disk_stays_in_the_files_error_flag(void **state)
{
	FILE *file = fopen("/dev/full", "w");
	struct vs_json json;

	(void)state;
	assert_non_null(file);
	setvbuf(file, NULL, _IONBF, 0);
	vs_json_init(&json, file);
	vs_json_put_text(&json, NULL, "text");
	assert_true(ferror(file));
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_is_escaped_and_exact),
		cmocka_unit_test(test_every_control_character_is_escaped),
		cmocka_unit_test(test_quotes_and_backslashes_are_escaped_in_names_and_values),
		cmocka_unit_test(test_bytes_that_are_no_utf8_are_replaced_one_by_one),
		cmocka_unit_test(test_whatever_bytes_come_in_the_text_is_well_formed),
		cmocka_unit_test(test_what_was_begun_last_is_ended_whatever_it_is),
		cmocka_unit_test(test_full_disk_stays_in_the_files_error_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
