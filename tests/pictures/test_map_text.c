#include "map_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (1ull << 20)

static const struct vs_text_style wide = {.width = 120, .is_ascii = true};

static char *text;
static size_t text_size;

static struct vs_text_style begin(struct vs_text_style style)
{
	style.file = open_memstream(&text, &text_size);
	assert_non_null(style.file);
	return style;
}

static void end(const struct vs_text_style *style, const char *expected)
{
	fclose(style->file);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- Legend --------------------------------------------------------------------------------- */

static void test_legend_says_how_much_a_sign_is(void **state)
{
	struct vs_text_style style = begin(wide);

	(void)state;
	vs_map_text_put_legend(2 * MIB, &style);
	end(&style, "2.00 MiB a sign: # live, + - partly, . held but free\n"
		    "\n"
		    "       address       size    used  largest hole  what\n");
	style = begin((struct vs_text_style){.width = 120});
	vs_map_text_put_legend(2, &style);
	end(&style,
	    "2 B a sign: \xe2\x96\x88 live, \xe2\x96\x86 \xe2\x96\x82 partly, \xc2\xb7 held "
	    "but free\n"
	    "\n"
	    "       address       size    used  largest hole  what\n");
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static void assert_segment(struct vs_map_sums sums, const char *expected)
{
	static char label[] = "pool";
	const struct vs_map_segment segment = {
		.address = 0x7f0000000000, .size = sums.size, .label = label, .is_owned = true};
	struct vs_text_style style = begin(wide);

	vs_map_text_put_segment(&segment, &sums, &style);
	end(&style, expected);
}

/* Sizes as everywhere: three digits, IEC units, exact below 1000. */
static void test_sizes_are_written_as_in_every_report(void **state)
{
	(void)state;
	assert_segment((struct vs_map_sums){.size = 999, .live = 999},
		       "0x7f0000000000      999 B   100 %             -  pool\n");
	assert_segment((struct vs_map_sums){.size = 1000, .live = 1000},
		       "0x7f0000000000   0.98 KiB   100 %             -  pool\n");
	assert_segment((struct vs_map_sums){.size = 1023 * MIB, .live = 1023 * MIB},
		       "0x7f0000000000   1.00 GiB   100 %             -  pool\n");
	assert_segment((struct vs_map_sums){.size = 1161 * MIB, .live = 1161 * MIB},
		       "0x7f0000000000   1.13 GiB   100 %             -  pool\n");
}

static void test_row_tells_holes_from_wholly_free(void **state)
{
	(void)state;
	assert_segment((struct vs_map_sums){.size = 8 * MIB,
					    .live = 2 * MIB,
					    .nr_holes = 2,
					    .hole_bytes = 6 * MIB,
					    .largest_hole = 5 * MIB},
		       "0x7f0000000000   8.00 MiB    25 %      5.00 MiB  pool\n");
	assert_segment((struct vs_map_sums){.size = 8 * MIB, .releasable = 8 * MIB},
		       "0x7f0000000000   8.00 MiB     0 %      all free  pool\n");
}

static void test_only_all_is_a_hundred_percent_and_only_nothing_is_zero(void **state)
{
	(void)state;
	assert_segment((struct vs_map_sums){.size = 1000 * MIB, .live = 1000 * MIB - 1},
		       "0x7f0000000000   0.98 GiB   >99 %             -  pool\n");
	assert_segment((struct vs_map_sums){.size = 1000 * MIB, .live = 1},
		       "0x7f0000000000   0.98 GiB    <1 %             -  pool\n");
	assert_segment((struct vs_map_sums){.size = 100, .live = 10},
		       "0x7f0000000000      100 B    10 %             -  pool\n");
	assert_segment((struct vs_map_sums){0}, "0x7f0000000000        0 B     0 %             -  "
						"pool\n");
}

static void test_group_says_how_many_it_is(void **state)
{
	const struct vs_map_sums sums = {.size = 30, .live = 30};
	struct vs_text_style style = begin(wide);

	(void)state;
	vs_map_text_put_group("cudaMalloc", 1234, &sums, &style);
	end(&style, "     1234 more       30 B   100 %             -  cudaMalloc\n");
}

/* ---- Totals --------------------------------------------------------------------------------- */

static void assert_totals(const struct vs_map_state *map, const struct vs_map_sums *sums,
			  size_t width, const char *expected)
{
	struct vs_text_style style = begin((struct vs_text_style){.width = width});

	vs_map_text_put_totals(map, sums, &style);
	end(&style, expected);
}

static void test_totals_leave_out_what_there_is_not(void **state)
{
	struct vs_map_state map = {.live_bytes = 5, .reserved_bytes = 5};
	const struct vs_map_sums sums = {.size = 5, .live = 5};

	(void)state;
	assert_totals(&map, &sums, 80, "\nlive 5 B, reserved 5 B\n");
	/* All that is left belongs to the context. */
	map.outside_bytes = 7;
	assert_totals(&map, &sums, 80,
		      "\nlive 5 B, reserved 5 B, context and others 7 B, not taken 0 B\n");
}

static void test_totals_go_on_below_where_the_line_ends(void **state)
{
	const struct vs_map_state map = {
		.live_bytes = 400, .reserved_bytes = 900, .not_seen_bytes = 1000 * MIB};
	const struct vs_map_sums sums = {.size = 800,
					 .nr_holes = 3,
					 .hole_bytes = 300,
					 .largest_hole = 200,
					 .releasable = 100};

	(void)state;
	assert_totals(&map, &sums, 200,
		      "\nlive 400 B, reserved 900 B, holes 300 B in 3, largest 200 B, wholly free "
		      "segments 100 B, not on the map 100 B, free or not seen 0.98 GiB\n");
	assert_totals(&map, &sums, 40,
		      "\nlive 400 B, reserved 900 B,\n"
		      "holes 300 B in 3, largest 200 B,\n"
		      "wholly free segments 100 B,\n"
		      "not on the map 100 B,\n"
		      "free or not seen 0.98 GiB\n");
}

static void test_totals_fit_at_every_width(void **state)
{
	const struct vs_map_state map = {.live_bytes = UINT64_MAX / 2,
					 .reserved_bytes = UINT64_MAX - 9,
					 .outside_bytes = UINT64_MAX,
					 .not_taken_bytes = UINT64_MAX,
					 .not_seen_bytes = UINT64_MAX};
	const struct vs_map_sums sums = {.size = 5,
					 .nr_holes = UINT64_MAX,
					 .hole_bytes = 1,
					 .largest_hole = 1,
					 .releasable = UINT64_MAX};

	(void)state;
	for (size_t width = 40; width < 150; width++) {
		struct vs_text_style style = begin((struct vs_text_style){.width = width});

		vs_map_text_put_totals(&map, &sums, &style);
		fclose(style.file);
		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			assert_in_range(strcspn(line, "\n"), 0, width);
		assert_null(strstr(text, "...")); /* nothing is cut */
		assert_null(strstr(text, "\xe2\x80\xa6"));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_legend_says_how_much_a_sign_is),
		cmocka_unit_test(test_sizes_are_written_as_in_every_report),
		cmocka_unit_test(test_row_tells_holes_from_wholly_free),
		cmocka_unit_test(test_only_all_is_a_hundred_percent_and_only_nothing_is_zero),
		cmocka_unit_test(test_group_says_how_many_it_is),
		cmocka_unit_test(test_totals_leave_out_what_there_is_not),
		cmocka_unit_test(test_totals_go_on_below_where_the_line_ends),
		cmocka_unit_test(test_totals_fit_at_every_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
