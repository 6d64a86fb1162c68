#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile.h"

static void test_default_profile_is_there(void **state)
{
	const struct sg_profile *profile = sg_profile_find("softgpu");

	(void)state;
	assert_non_null(profile);
	assert_string_equal(profile->key, "softgpu");
	assert_string_equal(profile->name, "softgpu");
	assert_int_equal(profile->cc, 90);
	assert_int_equal(profile->nr_multiprocessors, 132);
}

static void test_columns_are_turned_into_base_units(void **state)
{
	const struct sg_profile *profile = sg_profile_find("softgpu");

	(void)state;
	assert_int_equal(profile->shared_per_multiprocessor, 228 * 1024);
	assert_int_equal(profile->shared_per_block_optin, 227 * 1024);
	assert_int_equal(profile->l2_size, 50 * 1024 * 1024);
	assert_int_equal(profile->clock_khz, 1980000);
	assert_int_equal(profile->memory_clock_khz, 2619000);
	assert_int_equal(profile->memory_size, (uint64_t)8 << 30);
	assert_int_equal(profile->context_size, (uint64_t)318 << 20);
}

static void test_unknown_key_is_not_found(void **state)
{
	(void)state;
	assert_null(sg_profile_find(""));
	assert_null(sg_profile_find("softgp"));
	assert_null(sg_profile_find("softgpu "));
	assert_null(sg_profile_find("SOFTGPU"));
}

/* Every row of profile.def, also those to come. */
static void test_every_profile_is_a_possible_card(void **state)
{
	static const char *const keys[] = {
#define SG_PROFILE(key, ...) key,
#include "profile.def"
#undef SG_PROFILE
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct sg_profile *profile = sg_profile_find(keys[i]);

		assert_non_null(profile);
		assert_in_range(profile->cc, 30, 129);
		assert_true(profile->nr_multiprocessors > 0);
		assert_true(profile->shared_per_block_optin <= profile->shared_per_multiprocessor);
		assert_int_equal(profile->threads_per_multiprocessor % 32, 0);
		assert_int_equal(profile->memory_size % ((uint64_t)2 << 20), 0);
		assert_int_equal(profile->context_size % ((uint64_t)2 << 20), 0);
		assert_true(profile->context_size < profile->memory_size);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(keys[j], keys[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_profile_is_there),
		cmocka_unit_test(test_columns_are_turned_into_base_units),
		cmocka_unit_test(test_unknown_key_is_not_found),
		cmocka_unit_test(test_every_profile_is_a_possible_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
