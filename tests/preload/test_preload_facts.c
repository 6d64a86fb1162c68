#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "facts.h"

/* The table is the process's: each test has facts of its own, and a recording that knows the rest.
 */
static uint32_t recording;

static void define_all(void)
{
	struct vs_fact fact;

	recording++;
	for (uint32_t i = 0; vs_facts_next_undefined(recording, &i, &fact); i++)
		vs_facts_set_defined(i, recording);
}

static void assert_fact(const struct vs_fact *fact, const char *key, const char *value)
{
	assert_int_equal(fact->key.size, strlen(key));
	assert_memory_equal(fact->key.bytes, key, strlen(key));
	assert_int_equal(fact->value.size, strlen(value));
	assert_memory_equal(fact->value.bytes, value, strlen(value));
}

static void test_a_fact_is_to_be_defined_once_in_each_recording(void **state)
{
	struct vs_fact fact;
	uint32_t i = 0;

	(void)state;
	define_all();
	assert_true(vs_facts_add("torch.version", "2.15.0"));
	assert_true(vs_facts_next_undefined(recording, &i, &fact));
	assert_fact(&fact, "torch.version", "2.15.0");
	vs_facts_set_defined(i, recording);
	i = 0;
	assert_false(vs_facts_next_undefined(recording, &i, &fact));
	i = 0;
	assert_true(vs_facts_next_undefined(recording + 100, &i, &fact)); /* a child's */
}

static void test_the_first_of_a_key_stays(void **state)
{
	struct vs_fact fact;
	uint32_t i = 0;

	(void)state;
	define_all();
	assert_true(vs_facts_add("key", "first"));
	assert_false(vs_facts_add("key", "second"));
	assert_true(vs_facts_add("key2", "other"));
	assert_true(vs_facts_next_undefined(recording, &i, &fact));
	assert_fact(&fact, "key", "first");
	i++;
	assert_true(vs_facts_next_undefined(recording, &i, &fact));
	assert_fact(&fact, "key2", "other");
}

static void test_what_is_too_long_is_cut(void **state)
{
	char key[100], value[1000];
	struct vs_fact fact;
	uint32_t i = 0;

	(void)state;
	define_all();
	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	key[sizeof(key) - 1] = value[sizeof(value) - 1] = '\0';
	assert_true(vs_facts_add(key, value));
	assert_false(vs_facts_add(key, "the same key, as far as it is kept"));
	assert_true(vs_facts_next_undefined(recording, &i, &fact));
	assert_int_equal(fact.key.size, VS_FACTS_KEY_MAX);
	assert_int_equal(fact.value.size, VS_FACTS_VALUE_MAX);
}

/* Last: it fills the table. */
static void test_a_full_table_drops_what_comes_later(void **state)
{
	char key[16];
	unsigned i, nr = 0;

	(void)state;
	for (i = 0; i < 2 * VS_FACTS_MAX; i++) {
		snprintf(key, sizeof(key), "fact %u", i);
		nr += vs_facts_add(key, "");
	}
	assert_in_range(nr, 1, VS_FACTS_MAX - 4);
	assert_false(vs_facts_add("one more", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_fact_is_to_be_defined_once_in_each_recording),
		cmocka_unit_test(test_the_first_of_a_key_stays),
		cmocka_unit_test(test_what_is_too_long_is_cut),
		cmocka_unit_test(test_a_full_table_drops_what_comes_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
