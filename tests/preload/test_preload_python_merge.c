#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "python_merge.h"

/* Stacks as texts: # is the evaluator, small letters are native; Python's are capitals. */
#define MAX 64

struct shape {
	const char *native;
	const char *python; /* '|' ends a call of the evaluator, '-' is one without a frame */
	bool is_native_cut;
	bool is_python_cut;
};

static const char *merge_into(const struct shape *shape, uint32_t max, uint32_t *nr)
{
	static char text[MAX + 1];
	uint64_t native[MAX], python[MAX], out[MAX] = {0};
	bool is_evaluator[MAX], ends_call[MAX] = {false};
	struct vs_python_merge merge = {.native = native,
					.is_evaluator = is_evaluator,
					.is_whole = !shape->is_native_cut,
					.python = python,
					.ends_call = ends_call,
					.is_whole_python = !shape->is_python_cut};
	uint32_t i;

	for (const char *p = shape->native; *p; p++) {
		is_evaluator[merge.nr_native] = *p == '#';
		native[merge.nr_native++] = (uint64_t)*p;
	}
	for (const char *p = shape->python; *p; p++) {
		if (*p == '|')
			ends_call[merge.nr_python - 1] = true;
		else
			python[merge.nr_python++] = *p == '-' ? 0 : (uint64_t)*p;
	}
	*nr = vs_python_merge(&merge, out, max);
	for (i = 0; i < *nr && i < max; i++)
		text[i] = (char)out[i];
	text[i] = '\0';
	return text;
}

static void expect(const struct shape *shape, const char *merged)
{
	uint32_t nr;

	assert_string_equal(merge_into(shape, MAX, &nr), merged);
	assert_int_equal(nr, strlen(merged));
}

static void test_each_evaluator_gets_the_frames_of_its_call(void **state)
{
	(void)state;
	expect(&(struct shape){.native = "ab#c#d", .python = "X|Y|"}, "abX#cY#d");
	expect(&(struct shape){.native = "ab#c#d", .python = "XY|Z|"}, "abXY#cZ#d");
	expect(&(struct shape){.native = "#", .python = "XYZ|"}, "XYZ#");
	expect(&(struct shape){.native = "##", .python = "X|Y|"}, "X#Y#");
}

static void test_a_stack_without_python_stays_as_it_is(void **state)
{
	(void)state;
	expect(&(struct shape){.native = "abc", .python = ""}, "abc");
	expect(&(struct shape){.native = "a#b", .python = ""}, "a#b");
	expect(&(struct shape){.native = "", .python = ""}, "");
}

static void test_an_evaluator_that_has_left_its_frame_has_none(void **state)
{
	(void)state;
	expect(&(struct shape){.native = "a#b#c#d", .python = "X|-|Y|"}, "aX#b#cY#d");
	expect(&(struct shape){.native = "a#b#c", .python = "-|Y|"}, "a#bY#c");
}

static void test_native_frames_that_are_missing_outside_do_not_disturb(void **state)
{
	(void)state;
	expect(&(struct shape){.native = "a#b", .python = "X|Y|Z|", .is_native_cut = true},
	       "aX#bYZ");
	expect(&(struct shape){.native = "ab", .python = "X|Y|", .is_native_cut = true}, "abXY");
	/* More evaluators than Python has calls: they are not what they seem to be. */
	expect(&(struct shape){.native = "a#b#c", .python = "X|", .is_native_cut = true}, "aX#b#c");
}

static void test_python_frames_that_are_missing_outside_do_not_disturb(void **state)
{
	(void)state;
	expect(&(struct shape){.native = "a#b#c#d", .python = "X|YZ", .is_python_cut = true},
	       "aX#bYZ#c#d");
	expect(&(struct shape){.native = "a#b#c", .python = "X|Y|", .is_python_cut = true},
	       "aX#bY#c");
	expect(&(struct shape){.native = "a#b#c",
			       .python = "X|YZ|W",
			       .is_native_cut = true,
			       .is_python_cut = true},
	       "aX#bYZ#cW");
	/* More calls than evaluators, though no native frame is missing. */
	expect(&(struct shape){.native = "a#b", .python = "X|Y|Z", .is_python_cut = true},
	       "aXYZ#b");
}

static void test_counts_that_differ_put_all_before_the_innermost_evaluator(void **state)
{
	(void)state;
	expect(&(struct shape){.native = "a#b#c", .python = "XYZ|"}, "aXYZ#b#c");
	expect(&(struct shape){.native = "a#b", .python = "X|Y|"}, "aXY#b");
	expect(&(struct shape){.native = "abc", .python = "X|Y|"}, "abcXY");
}

static void test_what_has_no_room_is_counted_and_not_written(void **state)
{
	struct shape shape = {.native = "ab#c#d", .python = "XY|Z|"};
	uint32_t nr;

	(void)state;
	assert_string_equal(merge_into(&shape, 5, &nr), "abXY#");
	assert_int_equal(nr, 9);
	assert_string_equal(merge_into(&shape, 0, &nr), "");
	assert_int_equal(nr, 9);
	assert_string_equal(merge_into(&shape, 9, &nr), "abXY#cZ#d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_evaluator_gets_the_frames_of_its_call),
		cmocka_unit_test(test_a_stack_without_python_stays_as_it_is),
		cmocka_unit_test(test_an_evaluator_that_has_left_its_frame_has_none),
		cmocka_unit_test(test_native_frames_that_are_missing_outside_do_not_disturb),
		cmocka_unit_test(test_python_frames_that_are_missing_outside_do_not_disturb),
		cmocka_unit_test(test_counts_that_differ_put_all_before_the_innermost_evaluator),
		cmocka_unit_test(test_what_has_no_room_is_counted_and_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
