#include "heatmap_csv.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEADER "start_ns,end_ns,first_address,end_address,held,live\n"

/* The heatmap is ended. */
static void assert_csv(struct vs_heatmap *map, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	vs_heatmap_finish(map);
	assert_int_equal(vs_heatmap_csv_put(map, file), 0);
	fclose(file);
	assert_string_equal(text, expected);
	free(text);
	vs_heatmap_fini(map);
}

static void test_csv_has_a_line_for_each_cell_that_holds_something(void **state)
{
	/* 4 x 2 cells of 25 ns x 64 bytes; two ranges far apart. */
	static const struct vs_lifetime lifetimes[] = {
		{0x1000, 64, 0, 100, true, false, 0}, /* a segment of a pool */
		{0x1000, 32, 25, 75, false, true, 0}, /* half of it live, half of the time */
		{0x9000, 64, 60, 100, true, true, 0}, /* a segment of its own */
	};
	static const char expected[] = HEADER "0,25,0x1000,0x1040,1.000000,0.000000\n"
					      "25,50,0x1000,0x1040,1.000000,0.500000\n"
					      "50,75,0x1000,0x1040,1.000000,0.500000\n"
					      "50,75,0x9000,0x9040,0.600000,0.600000\n"
					      "75,100,0x1000,0x1040,1.000000,0.000000\n"
					      "75,100,0x9000,0x9040,1.000000,1.000000\n";
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 64), 0);
	assert_int_equal(vs_heatmap_add_range(&map, 0x9000, 64), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 4, 2), 0);
	for (size_t i = 0; i < sizeof(lifetimes) / sizeof(*lifetimes); i++)
		vs_heatmap_add_lifetime(&map, &lifetimes[i]);
	assert_csv(&map, expected);
}

static void test_nothing_held_is_a_header_alone(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_make_cells(&map, 4, 2), 0);
	assert_csv(&map, HEADER);
}

static void test_last_cells_end_where_window_and_memory_end(void **state)
{
	static const struct vs_lifetime all = {0x1000, 100, 0, 1000, true, true, 0};
	struct vs_heatmap map;

	(void)state;
	/* 100 ns and 100 bytes in threes: 34, 34, 32. */
	vs_heatmap_init(&map, 5, 105);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 100), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 3, 3), 0);
	vs_heatmap_add_lifetime(&map, &all);
	assert_csv(&map, HEADER "5,39,0x1000,0x1022,1.000000,1.000000\n"
				"5,39,0x1022,0x1044,1.000000,1.000000\n"
				"5,39,0x1044,0x1064,1.000000,1.000000\n"
				"39,73,0x1000,0x1022,1.000000,1.000000\n"
				"39,73,0x1022,0x1044,1.000000,1.000000\n"
				"39,73,0x1044,0x1064,1.000000,1.000000\n"
				"73,105,0x1000,0x1022,1.000000,1.000000\n"
				"73,105,0x1022,0x1044,1.000000,1.000000\n"
				"73,105,0x1044,0x1064,1.000000,1.000000\n");
}

static void test_row_over_a_fold_names_both_its_ends(void **state)
{
	static const struct vs_lifetime lifetimes[] = {{0x1000, 32, 0, 100, true, false, 0},
						       {0x9000, 32, 0, 100, true, true, 0}};
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 32), 0);
	assert_int_equal(vs_heatmap_add_range(&map, 0x9000, 32), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 1, 1), 0);
	vs_heatmap_add_lifetime(&map, &lifetimes[0]);
	vs_heatmap_add_lifetime(&map, &lifetimes[1]);
	assert_csv(&map, HEADER "0,100,0x1000,0x9020,1.000000,0.500000\n");
}

static void test_times_of_coarse_ticks_are_nanoseconds(void **state)
{
	static const struct vs_lifetime all = {0x1000, 1ull << 40, 0, 1ull << 60, true, true, 0};
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 1ull << 60);
	assert_int_equal(vs_heatmap_add_range(&map, 0x1000, 1ull << 40), 0);
	assert_int_equal(vs_heatmap_make_cells(&map, 2, 1), 0);
	assert_int_not_equal(map.tick_shift, 0);
	vs_heatmap_add_lifetime(&map, &all);
	assert_csv(&map,
		   HEADER "0,576460752303423488,0x1000,0x10000001000,1.000000,1.000000\n"
			  "576460752303423488,1152921504606846976,0x1000,0x10000001000,1.000000,"
			  "1.000000\n");
}

static void test_file_has_what_is_put(void **state)
{
	char path[] = P_tmpdir "/test_heatmap_csv-XXXXXX", text[256] = "";
	struct vs_heatmap map;
	int fd = mkstemp(path);
	FILE *file;

	(void)state;
	assert_true(fd >= 0);
	assert_true(write(fd, "what was there before, and longer than a header", 47) == 47);
	close(fd);
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_make_cells(&map, 4, 2), 0);
	vs_heatmap_finish(&map);
	assert_int_equal(vs_heatmap_csv_write(&map, path), 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	unlink(path);
	assert_string_equal(text, HEADER);
	vs_heatmap_fini(&map);
}

static void test_csv_that_cannot_be_written_is_an_error_with_its_reason(void **state)
{
	struct vs_heatmap map;

	(void)state;
	vs_heatmap_init(&map, 0, 100);
	assert_int_equal(vs_heatmap_make_cells(&map, 4, 2), 0);
	vs_heatmap_finish(&map);
	assert_int_equal(vs_heatmap_csv_write(&map, "/nonexistent/cells.csv"), -VS_ERR_IO);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(vs_heatmap_csv_write(&map, "/dev/full"), -VS_ERR_IO);
	assert_int_equal(errno, ENOSPC);
	vs_heatmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csv_has_a_line_for_each_cell_that_holds_something),
		cmocka_unit_test(test_nothing_held_is_a_header_alone),
		cmocka_unit_test(test_last_cells_end_where_window_and_memory_end),
		cmocka_unit_test(test_row_over_a_fold_names_both_its_ends),
		cmocka_unit_test(test_times_of_coarse_ticks_are_nanoseconds),
		cmocka_unit_test(test_file_has_what_is_put),
		cmocka_unit_test(test_csv_that_cannot_be_written_is_an_error_with_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
