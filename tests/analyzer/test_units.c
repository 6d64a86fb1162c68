#include "units.h"

#include <string.h>

#include "script.h"

static void assert_bytes(uint64_t bytes, const char *expected)
{
	char out[VS_UNITS_MAX];

	assert_string_equal(vs_units_put_bytes(out, bytes), expected);
}

static void test_bytes_have_three_digits(void **state)
{
	(void)state;
	assert_bytes(0, "0 B");
	assert_bytes(999, "999 B");
	assert_bytes(1000, "0.98 KiB");
	assert_bytes(1024, "1.00 KiB");
	assert_bytes(12 * MIB + 400 * KIB, "12.4 MiB");
	assert_bytes(999 * MIB, "999 MiB");
	assert_bytes(1023 * MIB, "1.00 GiB");
	assert_bytes(8 * GIB, "8.00 GiB");
	assert_bytes(UINT64_MAX, "16.0 EiB");
}

static void test_changes_have_a_sign(void **state)
{
	char out[VS_UNITS_MAX];

	(void)state;
	assert_string_equal(vs_units_put_change(out, (int64_t)(2 * MIB)), "+2.00 MiB");
	assert_string_equal(vs_units_put_change(out, 0), "+0 B");
	assert_string_equal(vs_units_put_change(out, -1), "-1 B");
	assert_string_equal(vs_units_put_change(out, INT64_MIN), "-8.00 EiB");
}

static void assert_time(uint64_t time_ns, const char *expected)
{
	char out[VS_UNITS_MAX];

	assert_string_equal(vs_units_put_time(out, time_ns), expected);
}

static void test_times_take_the_unit_that_fits(void **state)
{
	(void)state;
	assert_time(0, "0 s");
	assert_time(90, "90 ns");
	assert_time(7250, "7.25 us");
	assert_time(250000000, "250 ms");
	assert_time(999600000, "1.00 s");
	assert_time(12500000000, "12.5 s");
	assert_time(59940000000, "59.9 s");
	assert_time(59960000000, "1m 00s");
	assert_time(252000000000, "4m 12s");
	assert_time(3599600000000, "1h 00m");
	assert_time(7384000000000, "2h 03m");
}

static void test_numbers_are_grouped(void **state)
{
	char out[VS_UNITS_MAX];

	(void)state;
	assert_string_equal(vs_units_put_number(out, 48210, true), "48 210");
	assert_string_equal(vs_units_put_number(out, 48210, false), "48\u202f210");
	assert_string_equal(vs_units_put_number(out, 999, true), "999");
	assert_string_equal(vs_units_put_number(out, UINT64_MAX, true),
			    "18 446 744 073 709 551 615");
	assert_true(strlen(vs_units_put_number(out, UINT64_MAX, false)) < VS_UNITS_MAX);
}

static void test_shares_are_never_rounded_to_nothing(void **state)
{
	char out[VS_UNITS_MAX];

	(void)state;
	assert_string_equal(vs_units_put_share(out, 1, 3), "33 %");
	assert_string_equal(vs_units_put_share(out, 1, 1000), "<1 %");
	assert_string_equal(vs_units_put_share(out, 0, 1000), "0 %");
	assert_string_equal(vs_units_put_share(out, 0, 0), "0 %");
	assert_string_equal(vs_units_put_share(out, 5, 5), "100 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_have_three_digits),
		cmocka_unit_test(test_changes_have_a_sign),
		cmocka_unit_test(test_times_take_the_unit_that_fits),
		cmocka_unit_test(test_numbers_are_grouped),
		cmocka_unit_test(test_shares_are_never_rounded_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
