#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "suggest.h"

static void test_distance_counts_slips(void **state)
{
	(void)state;
	assert_int_equal(vs_suggest_distance("report", "report"), 0);
	assert_int_equal(vs_suggest_distance("reprot", "report"), 1); /* swapped */
	assert_int_equal(vs_suggest_distance("repor", "report"), 1);
	assert_int_equal(vs_suggest_distance("reportt", "report"), 1);
	assert_int_equal(vs_suggest_distance("repart", "report"), 1);
	assert_int_equal(vs_suggest_distance("", "peak"), 4);
	assert_int_equal(vs_suggest_distance("kitten", "sitting"), 3);
}

static void test_very_long_words_are_far_from_everything(void **state)
{
	char word[200];

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_true(vs_suggest_distance(word, "peak") == SIZE_MAX);
	assert_true(vs_suggest_distance("peak", word) == SIZE_MAX);
	assert_false(vs_suggest_is_slip(word, "peak"));
}

static void test_slips_and_other_lengths_of_a_word_are_recognised(void **state)
{
	(void)state;
	assert_true(vs_suggest_is_slip("reprot", "report"));
	assert_true(vs_suggest_is_slip("heat", "heatmap"));
	assert_true(vs_suggest_is_slip("fragmentation", "frag"));
	assert_true(vs_suggest_is_slip("peek", "peak"));
	assert_true(vs_suggest_is_slip("retaind", "retained"));
}

static void test_other_words_are_not_taken_for_slips(void **state)
{
	(void)state;
	assert_false(vs_suggest_is_slip("", "map"));
	assert_false(vs_suggest_is_slip("heat", "help"));
	assert_false(vs_suggest_is_slip("r", "run"));
	assert_false(vs_suggest_is_slip("xyzzy", "sites"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance_counts_slips),
		cmocka_unit_test(test_very_long_words_are_far_from_everything),
		cmocka_unit_test(test_slips_and_other_lengths_of_a_word_are_recognised),
		cmocka_unit_test(test_other_words_are_not_taken_for_slips),
	};

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
