#include "draw_axis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GIB (1ull << 30)
#define SEC 1000000000ull

static void expect_bytes(uint64_t bytes, uint64_t step, const char *expected)
{
	char text[VS_AXIS_TEXT_MAX];

	vs_draw_axis_put_bytes(text, bytes, step);
	assert_string_equal(text, expected);
}

static void test_byte_ticks_are_round_and_short(void **state)
{
	(void)state;
	assert_int_equal(vs_draw_axis_choose_bytes(8 * GIB, 8), GIB);
	assert_int_equal(vs_draw_axis_choose_bytes(8 * GIB, 7), 2 * GIB);
	assert_int_equal(vs_draw_axis_choose_bytes(100, 10), 16);
	assert_int_equal(vs_draw_axis_choose_bytes(0, 10), 1);
	expect_bytes(0, GIB, "0");
	expect_bytes(3 * GIB, GIB, "3 GiB");
	expect_bytes(3 * GIB / 2, GIB / 2, "1.5 GiB");
	expect_bytes(5 * GIB / 4, GIB / 4, "1.25 GiB");
	expect_bytes(2 * GIB, GIB / 2, "2 GiB");
	expect_bytes(512ull << 20, GIB / 2, "512 MiB");
	expect_bytes(100, 16, "100 B");
}

static void expect_ns(uint64_t time_ns, uint64_t step, const char *expected)
{
	char text[VS_AXIS_TEXT_MAX];

	vs_draw_axis_put_ns(text, time_ns, step);
	assert_string_equal(text, expected);
}

static void test_time_ticks_are_those_of_a_clock(void **state)
{
	(void)state;
	assert_int_equal(vs_draw_axis_choose_ns(252 * SEC, 12), 30 * SEC);
	assert_int_equal(vs_draw_axis_choose_ns(10 * SEC, 10), SEC);
	assert_int_equal(vs_draw_axis_choose_ns(SEC, 6), SEC / 5);
	assert_int_equal(vs_draw_axis_choose_ns(1000, 10), 100);
	assert_int_equal(vs_draw_axis_choose_ns(7200 * SEC, 10), 900 * SEC);
	assert_int_equal(vs_draw_axis_choose_ns(86400 * 100 * SEC, 10), 86400 * 16 * SEC);
	expect_ns(0, SEC, "0");
	expect_ns(90 * SEC, 30 * SEC, "1m 30s");
	expect_ns(120 * SEC, 60 * SEC, "2m");
	expect_ns(7260 * SEC, 60 * SEC, "2h 01m");
	expect_ns(12 * SEC, SEC, "12 s");
	expect_ns(12 * SEC + SEC / 2, SEC / 2, "12.5 s");
	expect_ns(SEC / 5, SEC / 5, "200 ms");
	expect_ns(1500, 500, "1.5 \xc2\xb5s");
}

static void test_times_of_every_size_have_a_text(void **state)
{
	(void)state;
	expect_ns(1, 1, "0.001 \xc2\xb5s");
	expect_ns(999, 1, "0.999 \xc2\xb5s");
	expect_ns(250000, 50000, "250 \xc2\xb5s");
	expect_ns(1500000, 500000, "1.5 ms");
	expect_ns(1500 * 1000000ull, 500 * 1000000ull, "1.5 s");
	expect_ns(59 * SEC, SEC, "59 s");
	expect_ns(60 * SEC, SEC, "1m 00s");
	expect_ns(3599 * SEC, SEC, "59m 59s");
	expect_ns(3600 * SEC, 60 * SEC, "1h 00m");
	expect_ns(3661 * SEC, SEC, "61m 01s"); /* as exact as the ticks are */
	expect_ns(100 * 3600 * SEC, 3600 * SEC, "100h 00m");
	expect_ns(UINT64_MAX, UINT64_MAX, "5124095h 34m");
}

static void test_bytes_of_every_size_have_a_text(void **state)
{
	(void)state;
	expect_bytes(1, 1, "1 B");
	expect_bytes(1023, 1, "1023 B");
	expect_bytes(1024, 1024, "1 KiB");
	expect_bytes(1536, 512, "1.5 KiB");
	expect_bytes(1ull << 60, 1ull << 60, "1 EiB");
	expect_bytes(3ull << 59, 1ull << 59, "1.5 EiB");
	expect_bytes(UINT64_MAX, 1ull << 62, "16 EiB");
}

/* Whatever is shown, two ticks beside each other never look the same. */
static void test_neighbouring_ticks_have_different_texts(void **state)
{
	char before[VS_AXIS_TEXT_MAX], now[VS_AXIS_TEXT_MAX];

	(void)state;
	for (uint64_t range = 3; range < UINT64_MAX / 3; range += range / 2 + 1) {
		uint64_t step = vs_draw_axis_choose_bytes(range, 12);

		vs_draw_axis_put_bytes(before, 0, step);
		for (uint64_t at = step; at <= range; at += step) {
			vs_draw_axis_put_bytes(now, at, step);
			assert_string_not_equal(now, before);
			memcpy(before, now, sizeof(before));
		}
		step = vs_draw_axis_choose_ns(range, 12);
		vs_draw_axis_put_ns(before, 0, step);
		for (uint64_t at = step; at <= range; at += step) {
			vs_draw_axis_put_ns(now, at, step);
			assert_string_not_equal(now, before);
			memcpy(before, now, sizeof(before));
		}
	}
}

static void test_range_has_no_more_ticks_than_asked_and_some(void **state)
{
	(void)state;
	for (unsigned int max = 1; max < 40; max += 3) {
		for (uint64_t range = 1; range < UINT64_MAX / 3; range += range / 2 + 1) {
			assert_in_range(range / vs_draw_axis_choose_bytes(range, max),
					range < max ? range : max / 2, max);
			assert_in_range(range / vs_draw_axis_choose_ns(range, max),
					range < max ? range : max / 3, max);
		}
		assert_in_range(UINT64_MAX / vs_draw_axis_choose_ns(UINT64_MAX, max), 0, max);
	}
}

static void test_ticks_end_where_the_axis_ends(void **state)
{
	uint64_t tick = 0;

	(void)state;
	assert_true(vs_draw_axis_next(&tick, 10, 25));
	assert_true(vs_draw_axis_next(&tick, 10, 25));
	assert_int_equal(tick, 20);
	assert_false(vs_draw_axis_next(&tick, 10, 25));
	assert_true(vs_draw_axis_next(&tick, 5, 25)); /* its end is on it */
	assert_false(vs_draw_axis_next(&tick, 5, 25));
	assert_false(vs_draw_axis_next(&tick, 5, 3));
	/* Numbers that do not get any larger end it, too. */
	tick = UINT64_MAX - 3;
	assert_false(vs_draw_axis_next(&tick, 5, UINT64_MAX));
	assert_true(vs_draw_axis_next(&tick, 3, UINT64_MAX));
	assert_false(vs_draw_axis_next(&tick, 1, UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_byte_ticks_are_round_and_short),
		cmocka_unit_test(test_time_ticks_are_those_of_a_clock),
		cmocka_unit_test(test_times_of_every_size_have_a_text),
		cmocka_unit_test(test_bytes_of_every_size_have_a_text),
		cmocka_unit_test(test_neighbouring_ticks_have_different_texts),
		cmocka_unit_test(test_range_has_no_more_ticks_than_asked_and_some),
		cmocka_unit_test(test_ticks_end_where_the_axis_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
