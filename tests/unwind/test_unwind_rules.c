#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake_stack.h"
#include "unwind_asm.h"
#include "unwind_rules.h"

#define NR_THREADS 4

static struct fake_stack stack;

static int begin(void **state)
{
	(void)state;
	fake_stack_init(&stack);
	vs_unwind_rules_init(true);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fake_stack_fini(&stack);
	vs_unwind_rules_forget();
	return 0;
}

static uint64_t by_slots(unsigned nr_slots)
{
	return vs_unwind_rule_make(VS_UNWIND_SP, (int32_t)(8 * nr_slots + 8), VS_UNWIND_BP_KEPT, 0);
}

static void test_code_of_libraries_goes_by_what_they_say(void **state)
{
	uint64_t function = (uint64_t)(uintptr_t)unwind_asm_switch;

	(void)state;
	/* Behind its first push, by its own address plus one; before it. */
	assert_int_equal(vs_unwind_rules_get(function + 1 + 1),
			 vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_AT_CFA, -16));
	assert_int_equal(vs_unwind_rules_get(function + 1),
			 vs_unwind_rule_make(VS_UNWIND_SP, 8, VS_UNWIND_BP_KEPT, 0));
	/* Where it has set up rbp. */
	assert_int_equal(vs_unwind_rules_get(function + 4 + 1),
			 vs_unwind_rule_make(VS_UNWIND_BP, 16, VS_UNWIND_BP_AT_CFA, -16));
	assert_int_equal(vs_unwind_rule_kind(vs_unwind_rules_get(
				 (uint64_t)(uintptr_t)unwind_asm_by_expression + 6)),
			 VS_UNWIND_FOREIGN);
	assert_int_equal(
		vs_unwind_rule_kind(vs_unwind_rules_get((uint64_t)(uintptr_t)unwind_asm_bare + 6)),
		VS_UNWIND_BARE);
}

static void test_a_return_address_belongs_to_the_call_before_it(void **state)
{
	uint64_t function = (uint64_t)(uintptr_t)unwind_asm_by_register;

	(void)state;
	/* The function in front of it is not described, but this one begins here. */
	assert_int_equal(vs_unwind_rule_kind(vs_unwind_rules_get(function)), VS_UNWIND_END);
	assert_int_equal(vs_unwind_rule_kind(vs_unwind_rules_get(function + 1)), VS_UNWIND_SP);
}

static void test_code_without_a_library(void **state)
{
	(void)state;
	assert_int_equal(vs_unwind_rules_get(fake_stack_return_by_slots(&stack, 1, 3)),
			 by_slots(3));
	assert_int_equal(vs_unwind_rules_get(fake_stack_return_with_bp(&stack, 1)),
			 vs_unwind_rule_make(VS_UNWIND_SP, 16, VS_UNWIND_BP_AT_CFA, -16));
	assert_int_equal(vs_unwind_rules_get(fake_stack_return_to_nowhere(&stack)),
			 vs_unwind_rule_bare(VS_UNWIND_BARE));
	/* No code at all, nothing at all. */
	assert_int_equal(vs_unwind_rules_get((uint64_t)(uintptr_t)stack.words - 100),
			 vs_unwind_rule_bare(VS_UNWIND_BARE));
	assert_int_equal(vs_unwind_rules_get(0), vs_unwind_rule_bare(VS_UNWIND_BARE));
	assert_int_equal(vs_unwind_rules_get(1), vs_unwind_rule_bare(VS_UNWIND_BARE));
	assert_int_equal(vs_unwind_rules_get(UINT64_MAX), vs_unwind_rule_bare(VS_UNWIND_BARE));
	assert_int_equal(vs_unwind_rules_get(0xdeadbeefdeadbeef),
			 vs_unwind_rule_bare(VS_UNWIND_BARE));
}

static void test_rules_are_kept_until_code_is_unloaded(void **state)
{
	uint64_t address = fake_stack_return_by_slots(&stack, 5, 1);

	(void)state;
	assert_int_equal(vs_unwind_rules_get(address), by_slots(1));
	for (unsigned i = 2; i < 10; i++) {
		fake_stack_return_by_slots(&stack, 5, i);
		assert_int_equal(vs_unwind_rules_get(address), by_slots(i - 1));
		vs_unwind_rules_forget();
		assert_int_equal(vs_unwind_rules_get(address), by_slots(i));
	}
}

/* More addresses than the table has room for, so that each pushes others out. */
static void test_what_falls_out_of_the_table_is_found_again(void **state)
{
	uint64_t start = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "vfprintf");
	uint64_t nr = 3u << VS_UNWIND_RULES_SET_BITS;
	uint64_t *rules = malloc(nr * sizeof(*rules));

	(void)state;
	assert_non_null(rules);
	for (uint64_t i = 0; i < nr; i++)
		rules[i] = vs_unwind_rules_get(start + i);
	for (uint64_t i = nr; i-- > 0;)
		assert_int_equal(vs_unwind_rules_get(start + i), rules[i]);
	vs_unwind_rules_forget();
	for (uint64_t i = 0; i < nr; i += 7)
		assert_int_equal(vs_unwind_rules_get(start + i), rules[i]);
	free(rules);
}

/* ---- Threads --------------------------------------------------------------------------------- */

#define NR_ADDRESSES 20000u
#define NR_ROUNDS    10u

static uint64_t threads_start;
static uint64_t expected[NR_ADDRESSES];
static _Atomic uint32_t nr_wrong;
static atomic_bool is_over;

static void *ask(void *argument)
{
	uint64_t at = (uintptr_t)argument * 977;

	for (unsigned i = 0; i < NR_ROUNDS * NR_ADDRESSES; i++) {
		at = (at + 7919) % NR_ADDRESSES;
		if (vs_unwind_rules_get(threads_start + at) != expected[at])
			nr_wrong++;
	}
	return NULL;
}

static void *forget(void *argument)
{
	while (!is_over)
		vs_unwind_rules_forget();
	return argument;
}

/* They write to the same places all the time: no mixture of two rules may ever be taken for one. */
static void test_all_threads_get_the_same_rules(void **state)
{
	pthread_t threads[NR_THREADS], forgetful;

	(void)state;
	threads_start = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "vfprintf");
	for (unsigned i = 0; i < NR_ADDRESSES; i++)
		expected[i] = vs_unwind_rules_get(threads_start + i);
	is_over = false;
	assert_int_equal(pthread_create(&forgetful, NULL, forget, NULL), 0);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, (void *)i), 0);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	is_over = true;
	pthread_join(forgetful, NULL);
	assert_int_equal(nr_wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_code_of_libraries_goes_by_what_they_say),
		TEST(test_a_return_address_belongs_to_the_call_before_it),
		TEST(test_code_without_a_library),
		TEST(test_rules_are_kept_until_code_is_unloaded),
		TEST(test_what_falls_out_of_the_table_is_found_again),
		TEST(test_all_threads_get_the_same_rules),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
