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

static void test_rows_are_in_the_order_of_the_table(void **state)
{
	(void)state;
	assert_ptr_equal(sg_profile_get(0), sg_profile_find("softgpu"));
	assert_ptr_equal(sg_profile_get(1), sg_profile_find("t4"));
	assert_ptr_equal(sg_profile_get(12), sg_profile_find("b200"));
	assert_null(sg_profile_get(13));
	assert_null(sg_profile_get(SIZE_MAX));
}

/* What nvidia-smi shows, to the MiB: NVML's total is what CUDA sees and what the driver keeps. */
static void test_totals_are_those_of_nvidia_smi(void **state)
{
	static const struct {
		const char *key;
		uint64_t mib;
	} totals[] = {
		{"t4", 15360},       {"v100-32g", 32768}, {"a10", 23028},   {"a100-40g", 40960},
		{"a100-80g", 81920}, {"l4", 23034},       {"l40s", 46068},  {"rtx3090", 24576},
		{"rtx4090", 24564},  {"h100-80g", 81559}, {"h200", 143771}, {"b200", 183359},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		const struct sg_profile *p = sg_profile_find(totals[i].key);

		assert_non_null(p);
		assert_int_equal(p->memory_size + p->reserved_size, totals[i].mib << 20);
	}
}

/* "CUDA C++ Programming Guide", technical specifications per compute capability. */
static void test_limits_are_those_of_the_compute_capability(void **state)
{
	static const struct {
		int cc, threads, blocks, shared, optin;
	} limits[] = {
		{70, 2048, 32, 96, 96},    {75, 1024, 16, 64, 64},  {80, 2048, 32, 164, 163},
		{86, 1536, 16, 100, 99},   {89, 1536, 24, 100, 99}, {90, 2048, 32, 228, 227},
		{100, 2048, 32, 228, 227},
	};
	const struct sg_profile *p;

	(void)state;
	for (size_t i = 0; (p = sg_profile_get(i)); i++) {
		int nr_found = 0;

		for (size_t n = 0; n < sizeof(limits) / sizeof(limits[0]); n++) {
			if (limits[n].cc != p->cc)
				continue;
			nr_found++;
			assert_int_equal(p->threads_per_multiprocessor, limits[n].threads);
			assert_int_equal(p->blocks_per_multiprocessor, limits[n].blocks);
			assert_int_equal(p->shared_per_multiprocessor, limits[n].shared * 1024);
			assert_int_equal(p->shared_per_block_optin, limits[n].optin * 1024);
		}
		assert_int_equal(nr_found, 1);
	}
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
		assert_true(profile->shared_per_block <= profile->shared_per_block_optin);
		assert_true(profile->shared_per_block_optin <= profile->shared_per_multiprocessor);
		assert_in_range(profile->blocks_per_multiprocessor, 16, 32);
		assert_int_equal(profile->registers_per_block, 65536);
		assert_int_equal(profile->registers_per_multiprocessor, 65536);
		assert_in_range(profile->l2_size, 4 << 20, 128 << 20);
		assert_in_range(profile->clock_khz, 1000000, 3000000);
		assert_in_range(profile->memory_clock_khz, 800000, 11000000);
		assert_in_range(profile->bus_width, 192, 8192);
		assert_in_range(profile->nr_copy_engines, 1, 8);
		assert_in_range(profile->power_limit, 70, 1000);
		assert_in_range(profile->pcie_generation, 3, 6);
		assert_true(profile->has_oversubscription); /* all of them, on Linux */
		assert_int_equal(profile->addresses, SG_ADDRESSES_CHUNKS);
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
		cmocka_unit_test(test_rows_are_in_the_order_of_the_table),
		cmocka_unit_test(test_totals_are_those_of_nvidia_smi),
		cmocka_unit_test(test_limits_are_those_of_the_compute_capability),
		cmocka_unit_test(test_every_profile_is_a_possible_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
