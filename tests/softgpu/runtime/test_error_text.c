/* The one table of errors against the enumerations in the headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
	int number;
	const char *driver_name, *runtime_name, *text;
};

static const struct row rows[] = {
#define SG_ERROR(number, driver_name, runtime_name, text) {number, driver_name, runtime_name, text},
#include "error_text.def"
#undef SG_ERROR
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct row *find_row(int number)
{
	for (size_t i = 0; i < NR_ROWS; i++)
		if (rows[i].number == number)
			return &rows[i];
	return NULL;
}

/* Enumerators are one per line, "NAME = number" and perhaps a comma before or after. */
static size_t check_enumeration(const char *header, const char *first, bool driver)
{
	char path[4096], line[1024], name[128];
	size_t count = 0;
	bool inside = false;
	int number;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", CUDA_INCLUDE_DIR, header);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		const char *start = line + strspn(line, " \t,");

		if (sscanf(start, "%127[A-Za-z0-9_] = %d", name, &number) == 2) {
			const struct row *row = find_row(number);
			const char *known;

			inside |= !strcmp(name, first);
			if (!inside)
				continue;
			assert_non_null(row);
			known = driver ? row->driver_name : row->runtime_name;
			assert_non_null(known);
			assert_string_equal(known, name);
			count++;
		} else if (inside && *start == '}') {
			break;
		}
	}
	fclose(file);
	return count;
}

static size_t count_names(bool driver)
{
	size_t count = 0;

	for (size_t i = 0; i < NR_ROWS; i++)
		count += (driver ? rows[i].driver_name : rows[i].runtime_name) != NULL;
	return count;
}

static void test_every_driver_error_has_its_row_and_no_other(void **state)
{
	(void)state;
	assert_int_equal(check_enumeration("cuda.h", "CUDA_SUCCESS", true), count_names(true));
}

static void test_every_runtime_error_has_its_row_and_no_other(void **state)
{
	(void)state;
	assert_int_equal(check_enumeration("driver_types.h", "cudaSuccess", false),
			 count_names(false));
}

static void test_rows_ascend_so_that_none_is_double(void **state)
{
	(void)state;
	for (size_t i = 1; i < NR_ROWS; i++)
		assert_true(rows[i - 1].number < rows[i].number);
}

static void test_every_row_has_a_name_and_a_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_ROWS; i++) {
		assert_true(rows[i].driver_name || rows[i].runtime_name);
		assert_true(rows[i].text && *rows[i].text);
	}
}

static void test_texts_are_those_people_search_for(void **state)
{
	(void)state;
	assert_string_equal(find_row(2)->text, "out of memory");
	assert_string_equal(find_row(1)->text, "invalid argument");
	assert_string_equal(find_row(100)->text, "no CUDA-capable device is detected");
	assert_string_equal(find_row(801)->text, "operation not supported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_driver_error_has_its_row_and_no_other),
		cmocka_unit_test(test_every_runtime_error_has_its_row_and_no_other),
		cmocka_unit_test(test_rows_ascend_so_that_none_is_double),
		cmocka_unit_test(test_every_row_has_a_name_and_a_text),
		cmocka_unit_test(test_texts_are_those_people_search_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
