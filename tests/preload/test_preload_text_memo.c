#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_memo.h"

static struct vs_text_memo memo;

static int begin(void **state)
{
	(void)state;
	memset(&memo, 0, sizeof(memo));
	return 0;
}

static void test_what_was_added_is_found(void **state)
{
	static const char text[] = "MatMul";

	(void)state;
	assert_int_equal(vs_text_memo_find(&memo, text, 6), 0);
	vs_text_memo_add(&memo, text, 6, 42);
	assert_int_equal(vs_text_memo_find(&memo, text, 6), 42);
	assert_int_equal(vs_text_memo_find(&memo, text, 3), 0);
}

/* Memory of a text that is freed becomes that of another one. */
static void test_another_text_at_the_same_address_is_not_it(void **state)
{
	char text[8] = "Relu";

	(void)state;
	vs_text_memo_add(&memo, text, 4, 42);
	strcpy(text, "Tanh");
	assert_int_equal(vs_text_memo_find(&memo, text, 4), 0);
	vs_text_memo_add(&memo, text, 4, 43);
	assert_int_equal(vs_text_memo_find(&memo, text, 4), 43);
	strcpy(text, "Relu");
	assert_int_equal(vs_text_memo_find(&memo, text, 4), 0);
}

static void test_one_other_byte_makes_it_another_text(void **state)
{
	char text[VS_TEXT_MEMO_MAX];

	(void)state;
	for (unsigned size = 1; size <= VS_TEXT_MEMO_MAX; size++) {
		memset(text, 'x', sizeof(text));
		vs_text_memo_add(&memo, text, size, 42);
		for (unsigned i = 0; i < VS_TEXT_MEMO_MAX; i++) {
			text[i] = 'y';
			assert_int_equal(vs_text_memo_find(&memo, text, size), i < size ? 0 : 42);
			text[i] = 'x';
		}
	}
}

static void test_a_long_text_is_not_kept(void **state)
{
	char text[VS_TEXT_MEMO_MAX + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	vs_text_memo_add(&memo, text, VS_TEXT_MEMO_MAX + 1, 42);
	assert_int_equal(vs_text_memo_find(&memo, text, VS_TEXT_MEMO_MAX + 1), 0);
	vs_text_memo_add(&memo, text, VS_TEXT_MEMO_MAX, 42);
	assert_int_equal(vs_text_memo_find(&memo, text, VS_TEXT_MEMO_MAX), 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_what_was_added_is_found, begin),
		cmocka_unit_test_setup(test_another_text_at_the_same_address_is_not_it, begin),
		cmocka_unit_test_setup(test_one_other_byte_makes_it_another_text, begin),
		cmocka_unit_test_setup(test_a_long_text_is_not_kept, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
