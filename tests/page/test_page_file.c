#include "page_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_json(const char *json, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	vs_page_file_put_json(file, json, strlen(json));
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
}

static void test_blanks_go_but_not_those_of_texts(void **state)
{
	(void)state;
	assert_json("{\n  \"a b\": [\n    1,\n    2\n  ]\n}\n", "{\"a b\":[1,2]}");
	assert_json("\"quote \\\" and \\\\\" ", "\"quote \\\" and \\\\\"");
	assert_json("\"\\\\\"  , \" x\"", "\"\\\\\",\" x\"");
}

static void test_no_text_can_end_the_element(void **state)
{
	(void)state;
	assert_json("\"</script><!--\"", "\"\\u003c/script>\\u003c!--\"");
	assert_json("\"\\\\<\"", "\"\\\\\\u003c\"");
}

static void test_page_has_its_parts_in_order(void **state)
{
	char path[] = "/tmp/test_page_file.XXXXXX", *text = NULL;
	FILE *parts = tmpfile(), *page;
	size_t capacity = 0;

	(void)state;
	assert_non_null(parts);
	fputs("<script class=part>x</script>", parts);
	close(mkstemp(path));
	assert_int_equal(vs_page_file_write(path, "{ \"a\": 1 }", 10, parts), 0);
	page = fopen(path, "r");
	assert_non_null(page);
	assert_true(getdelim(&text, &capacity, EOF, page) > 0);
	assert_memory_equal(text, "<!DOCTYPE html>", 15);
	assert_true(strstr(text, "id=\"story\">{\"a\":1}</script>") <
		    strstr(text, "<script class=part>"));
	assert_non_null(strstr(strstr(text, "<script class=part>"), "</html>"));
	fclose(page);
	fclose(parts);
	free(text);
	unlink(path);
}

static void test_folder_that_is_not_there_is_an_error(void **state)
{
	FILE *parts = tmpfile();

	(void)state;
	assert_non_null(parts);
	errno = 0;
	assert_int_equal(vs_page_file_write("/nowhere/x.html", "{}", 2, parts), -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	fclose(parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blanks_go_but_not_those_of_texts),
		cmocka_unit_test(test_no_text_can_end_the_element),
		cmocka_unit_test(test_page_has_its_parts_in_order),
		cmocka_unit_test(test_folder_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
