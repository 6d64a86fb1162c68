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

static void test_the_longest_words_that_are_compared_have_63_letters(void **state)
{
	char word[65], other[65];

	(void)state;
	memset(word, 'a', sizeof(word));
	memset(other, 'a', sizeof(other));
	word[63] = other[63] = '\0';
	other[62] = 'b';
	assert_int_equal(vs_suggest_distance(word, other), 1);
	assert_int_equal(vs_suggest_distance(word, ""), 63);
	word[63] = 'a';
	word[64] = '\0';
	assert_true(vs_suggest_distance(word, other) == SIZE_MAX);
}

static void test_distance_is_the_same_both_ways(void **state)
{
	static const char *const words[] = {"",    "a",   "ab",     "ba",
					    "abc", "cab", "report", "retained"};
	const size_t nr = sizeof(words) / sizeof(words[0]);

	(void)state;
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < nr; j++)
			assert_int_equal(vs_suggest_distance(words[i], words[j]),
					 vs_suggest_distance(words[j], words[i]));
	assert_int_equal(vs_suggest_distance("", ""), 0);
	assert_int_equal(vs_suggest_distance("ab", "ba"), 1);
	/* A letter is swapped or changed, not both. */
	assert_int_equal(vs_suggest_distance("ca", "abc"), 3);
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

/* In a short word one slip is much, in a long one two are not. */
static void test_long_words_may_have_two_slips(void **state)
{
	(void)state;
	assert_true(vs_suggest_is_slip("maps", "map"));
	assert_false(vs_suggest_is_slip("mops", "map"));
	assert_true(vs_suggest_is_slip("rpeort", "report"));
	assert_true(vs_suggest_is_slip("rapart", "report"));
	assert_false(vs_suggest_is_slip("rapaxt", "report"));
}

static void test_the_beginning_of_a_word_takes_three_letters(void **state)
{
	(void)state;
	assert_true(vs_suggest_is_slip("hea", "heatmap"));
	assert_false(vs_suggest_is_slip("he", "heatmap"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance_counts_slips),
		cmocka_unit_test(test_the_longest_words_that_are_compared_have_63_letters),
		cmocka_unit_test(test_distance_is_the_same_both_ways),
		cmocka_unit_test(test_very_long_words_are_far_from_everything),
		cmocka_unit_test(test_slips_and_other_lengths_of_a_word_are_recognised),
		cmocka_unit_test(test_other_words_are_not_taken_for_slips),
		cmocka_unit_test(test_long_words_may_have_two_slips),
		cmocka_unit_test(test_the_beginning_of_a_word_takes_three_letters),
	};

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
