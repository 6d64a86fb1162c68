#include "page_columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What was written, as text. */
struct sheet {
	char *text;
	size_t size;
	FILE *file;
};

static void open_sheet(struct sheet *sheet)
{
	*sheet = (struct sheet){0};
	sheet->file = open_memstream(&sheet->text, &sheet->size);
	assert_non_null(sheet->file);
}

static size_t count_parts(struct sheet *sheet)
{
	size_t nr = 0;

	fflush(sheet->file);
	for (const char *at = sheet->text; (at = strstr(at, "data-kind=\"changes\"")); at++)
		nr++;
	return nr;
}

static void close_sheet(struct sheet *sheet)
{
	fclose(sheet->file);
	free(sheet->text);
}

static void test_part_is_an_element_with_base64_of_a_zlib_stream(void **state)
{
	static const char element[] = "<script type=\"text/plain\" class=\"part\" data-trace=\"7\" "
				      "data-kind=\"tables\">e";
	struct sheet sheet;

	(void)state;
	open_sheet(&sheet);
	assert_int_equal(vs_page_columns_put_part(sheet.file, 7, "tables", "aaaaaaaaaa", 10), 0);
	fflush(sheet.file);
	/* base64.b64encode(zlib.compress(b"a" * 10)), without what the level changes. */
	assert_int_equal(strncmp(sheet.text, element, strlen(element)), 0);
	assert_non_null(strstr(sheet.text, "TIQBABThA8s=</script>\n"));
	close_sheet(&sheet);
}

static void test_numbers_count_items_and_changes(void **state)
{
	const struct vs_page_birth birth = {.address = 4096, .size = 512};
	const uint64_t fields[] = {3};
	struct vs_page_columns columns;
	struct sheet sheet;
	uint64_t number = 99;

	(void)state;
	open_sheet(&sheet);
	vs_page_columns_init(&columns, sheet.file, 0);
	assert_int_equal(vs_page_columns_add_birth(&columns, 10, &birth, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(vs_page_columns_add_birth(&columns, 20, &birth, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(vs_page_columns_add_item(&columns, VS_PAGE_DIED, 30, 0), 0);
	assert_int_equal(vs_page_columns_add(&columns, VS_PAGE_STEP, 30, fields, 1), 0);
	assert_int_equal(columns.nr_changes, 4);
	assert_int_equal(columns.nr_items, 2);
	assert_int_equal(count_parts(&sheet), 0);
	assert_int_equal(vs_page_columns_finish(&columns), 0);
	assert_int_equal(count_parts(&sheet), 1);
	vs_page_columns_fini(&columns);
	close_sheet(&sheet);
}

static void test_many_changes_become_several_parts(void **state)
{
	const struct vs_page_birth birth = {.address = 4096, .size = 512};
	struct vs_page_columns columns;
	struct sheet sheet;
	uint64_t number;

	(void)state;
	open_sheet(&sheet);
	vs_page_columns_init(&columns, sheet.file, 0);
	for (uint64_t i = 0; i < 2 * 262144 + 1; i++)
		assert_int_equal(vs_page_columns_add_birth(&columns, i, &birth, &number), 0);
	assert_int_equal(count_parts(&sheet), 2);
	assert_int_equal(vs_page_columns_finish(&columns), 0);
	assert_int_equal(count_parts(&sheet), 3);
	/* Nothing is left to write. */
	assert_int_equal(vs_page_columns_finish(&columns), 0);
	assert_int_equal(count_parts(&sheet), 3);
	vs_page_columns_fini(&columns);
	close_sheet(&sheet);
}

static void test_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(vs_page_columns_put_part(full, 0, "tables", "x", 1), -VS_ERR_IO);
	fclose(full);
}

static void test_signs_fold_into_small_numbers(void **state)
{
	(void)state;
	assert_int_equal(vs_page_columns_fold(0), 0);
	assert_int_equal(vs_page_columns_fold(-1), 1);
	assert_int_equal(vs_page_columns_fold(1), 2);
	assert_true(vs_page_columns_fold(INT64_MIN) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_part_is_an_element_with_base64_of_a_zlib_stream),
		cmocka_unit_test(test_numbers_count_items_and_changes),
		cmocka_unit_test(test_many_changes_become_several_parts),
		cmocka_unit_test(test_full_disk_is_an_error),
		cmocka_unit_test(test_signs_fold_into_small_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
