#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"

static void test_ticks_never_go_back(void **state)
{
	uint64_t last;

	(void)state;
	vs_clock_init();
	last = vs_clock_ticks();
	for (int i = 0; i < 100000; i++) {
		uint64_t now = vs_clock_ticks();

		assert_true(now >= last);
		last = now;
	}
}

static void test_without_the_counter_ticks_are_nanoseconds(void **state)
{
	bool was_tsc;
	uint64_t before, ticks;

	(void)state;
	vs_clock_init();
	was_tsc = vs_clock_is_tsc;
	vs_clock_is_tsc = false;
	before = vs_clock_now_ns();
	ticks = vs_clock_ticks();
	assert_in_range(ticks, before, vs_clock_now_ns());
	assert_string_equal(vs_clock_name(), "monotonic");
	vs_clock_is_tsc = was_tsc;
}

static void test_the_choice_keeps_errno(void **state)
{
	(void)state;
	errno = EXDEV;
	vs_clock_init();
	assert_int_equal(errno, EXDEV);
	assert_string_equal(vs_clock_name(), vs_clock_is_tsc ? "tsc" : "monotonic");
}

/* A tick between two anchors has a time between their times, whichever clock it is. */
static void assert_line(bool is_tsc)
{
	struct vs_clock_instant start, end;
	struct vs_live_anchor first, second;
	uint64_t ticks, middle;

	vs_clock_is_tsc = is_tsc;
	vs_clock_get_instant(&start);
	usleep(2000);
	ticks = vs_clock_ticks();
	usleep(2000);
	vs_clock_get_instant(&end);
	first = vs_clock_anchor(&start, &start);
	second = vs_clock_anchor(&end, &start);
	assert_int_equal(first.ns, 0);
	assert_int_equal(second.ns, end.ns - start.ns);
	middle = vs_live_time_ns(&first, &second, ticks);
	assert_in_range(middle, 2000000, second.ns - 1000000);
}

static void test_anchors_make_times_of_ticks(void **state)
{
	bool is_tsc;

	(void)state;
	vs_clock_init();
	is_tsc = vs_clock_is_tsc;
	assert_line(false);
	if (is_tsc)
		assert_line(true);
	vs_clock_is_tsc = is_tsc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_never_go_back),
		cmocka_unit_test(test_without_the_counter_ticks_are_nanoseconds),
		cmocka_unit_test(test_the_choice_keeps_errno),
		cmocka_unit_test(test_anchors_make_times_of_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
