#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "rig.h"

#define ANY_DRIVER 99999

/* The table once more, as data. Addresses come from the library, by name. */
static const struct row {
	const char *name;
	int version;
	bool is_per_thread;
	const char *symbol;
} rows[] = {
#define SG_ENTRY(name, version, per_thread, symbol) {name, version, per_thread, #symbol},
#include "driver_table.inc"
#undef SG_ENTRY
};
#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Not through cuda.h: it renames them. */
#define SG_ENTRY(name, version, per_thread, symbol) void symbol##_address(void) __asm__(#symbol);
#include "driver_table.inc"
#undef SG_ENTRY

static void (*const addresses[])(void) = {
#define SG_ENTRY(name, version, per_thread, symbol) symbol##_address,
#include "driver_table.inc"
#undef SG_ENTRY
};

static void *address_of(size_t row)
{
	return (void *)(uintptr_t)addresses[row];
}

static void *address_of_symbol(const char *symbol)
{
	for (size_t i = 0; i < NR_ROWS; i++)
		if (!strcmp(rows[i].symbol, symbol))
			return address_of(i);
	fail_msg("%s is not in the table", symbol);
	return NULL;
}

/* The rule, by looking at every row: the row that is to be found, or NR_ROWS. */
static size_t expect_row(const char *name, int version, int driver_version, bool wants_per_thread)
{
	size_t best = NR_ROWS;

	for (size_t i = 0; i < NR_ROWS; i++) {
		if (strcmp(rows[i].name, name) != 0 || rows[i].version > version ||
		    rows[i].version > driver_version ||
		    (rows[i].is_per_thread && !wants_per_thread))
			continue;
		if (best == NR_ROWS || (rows[i].is_per_thread && !rows[best].is_per_thread) ||
		    (rows[i].is_per_thread == rows[best].is_per_thread &&
		     rows[i].version > rows[best].version))
			best = i;
	}
	return best;
}

static void check_question(const char *name, int version, bool wants_per_thread)
{
	size_t expected = expect_row(name, version, ANY_DRIVER, wants_per_thread);
	void *function = &function;
	enum sg_entry_status status =
		sg_entry_find(name, version, ANY_DRIVER, wants_per_thread, &function);

	if (expected == NR_ROWS) {
		assert_int_equal(status, SG_ENTRY_TOO_NEW);
		assert_null(function);
		return;
	}
	assert_int_equal(status, SG_ENTRY_FOUND);
	assert_ptr_equal(function, address_of(expected));
}

static void test_every_row_gives_the_newest_version_not_above_the_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_ROWS; i++) {
		for (int d = -1; d <= 1; d++) {
			check_question(rows[i].name, rows[i].version + d, false);
			check_question(rows[i].name, rows[i].version + d, true);
		}
		check_question(rows[i].name, ANY_DRIVER, false);
		check_question(rows[i].name, ANY_DRIVER, true);
	}
}

static void test_every_row_gives_its_own_function_at_its_own_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_ROWS; i++) {
		void *function;

		/* A plain one can be had with either flag only if there is none per thread. */
		assert_int_equal(sg_entry_find(rows[i].name, rows[i].version, ANY_DRIVER,
					       rows[i].is_per_thread, &function),
				 SG_ENTRY_FOUND);
		assert_ptr_equal(function, address_of(i));
	}
}

static void test_table_knows_the_functions_programs_ask_for(void **state)
{
	static const struct {
		const char *name;
		int version;
		const char *symbol;
	} known[] = {
		{"cuMemCreate", 12000, "cuMemCreate"},
		{"cuMemCreate", 10020, "cuMemCreate"},
		{"cuMemAlloc", 2000, "cuMemAlloc"},
		{"cuMemAlloc", 3020, "cuMemAlloc_v2"},
		{"cuMemAlloc", 13000, "cuMemAlloc_v2"},
		{"cuCtxCreate", 3020, "cuCtxCreate_v2"},
		{"cuCtxCreate", 11040, "cuCtxCreate_v3"},
		{"cuCtxCreate", 12050, "cuCtxCreate_v4"},
		{"cuGetProcAddress", 11030, "cuGetProcAddress"},
		{"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
		{"cuMemGetInfo", 13000, "cuMemGetInfo_v2"},
		{"cuDevicePrimaryCtxReset", 13000, "cuDevicePrimaryCtxReset_v2"},
		{"cuMemAllocAsync", 13000, "cuMemAllocAsync"},
		{"cuInit", 2000, "cuInit"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		void *function;

		assert_int_equal(
			sg_entry_find(known[i].name, known[i].version, 13000, 0, &function),
			SG_ENTRY_FOUND);
		assert_ptr_equal(function, address_of_symbol(known[i].symbol));
	}
}

static void test_names_with_suffixes_are_unknown(void **state)
{
	static const char *const names[] = {
		"cuMemAlloc_v2",
		"cuCtxCreate_v3",
		"cuMemcpyAsync_ptsz",
		"cuMemcpy_ptds",
		"cuGetProcAddress_v2",
		"cumemalloc",
		"cuMemAlloc ",
		"cuMemAllo",
		"cuMemAllocX",
		"cudaMalloc",
		"",
		"zzz",
		"softgpuIdentif",
		"sg_entry_find",
		"malloc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *function = &function;

		assert_int_equal(sg_entry_find(names[i], 13000, 13000, 0, &function),
				 SG_ENTRY_UNKNOWN);
		assert_null(function);
		assert_int_equal(sg_entry_find(names[i], 13000, 13000, 1, &function),
				 SG_ENTRY_UNKNOWN);
	}
}

static void test_driver_does_not_know_what_is_newer_than_itself(void **state)
{
	void *function;

	(void)state;
	/* 12.5 brought the fourth; an older driver has the third and nothing else */
	assert_int_equal(sg_entry_find("cuCtxCreate", 13000, 12040, 0, &function), SG_ENTRY_FOUND);
	assert_ptr_equal(function, address_of_symbol("cuCtxCreate_v3"));
	/* of 11.2: a driver of 11.0 has never heard of it */
	assert_int_equal(sg_entry_find("cuMemAllocAsync", 11000, 11000, 0, &function),
			 SG_ENTRY_UNKNOWN);
	for (size_t i = 0; i < NR_ROWS; i++) {
		enum sg_entry_status status =
			sg_entry_find(rows[i].name, 11000, 11000, 0, &function);
		size_t expected = expect_row(rows[i].name, 11000, 11000, false);

		if (expected == NR_ROWS)
			assert_int_not_equal(status, SG_ENTRY_FOUND);
		else
			assert_ptr_equal(function, address_of(expected));
	}
}

static void test_per_thread_variant_comes_only_when_wanted(void **state)
{
	void *plain, *per_thread;

	(void)state;
	assert_int_equal(sg_entry_find("cuMemcpyAsync", 13000, 13000, 0, &plain), SG_ENTRY_FOUND);
	assert_int_equal(sg_entry_find("cuMemcpyAsync", 13000, 13000, 1, &per_thread),
			 SG_ENTRY_FOUND);
	assert_ptr_equal(plain, address_of_symbol("cuMemcpyAsync"));
	assert_ptr_equal(per_thread, address_of_symbol("cuMemcpyAsync_ptsz"));
	/* cuMemAlloc has no stream, so both are the same */
	assert_int_equal(sg_entry_find("cuMemAlloc", 13000, 13000, 1, &per_thread), SG_ENTRY_FOUND);
	assert_ptr_equal(per_thread, address_of_symbol("cuMemAlloc_v2"));
}

static void test_proc_address_takes_flags_0_1_and_2(void **state)
{
	CUdriverProcAddressQueryResult status;
	void *plain, *legacy, *per_thread;

	(void)state;
	assert_ok(cuGetProcAddress("cuMemcpyAsync", &plain, 13000, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	assert_ok(cuGetProcAddress("cuMemcpyAsync", &legacy, 13000,
				   CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
	assert_ok(cuGetProcAddress("cuMemcpyAsync", &per_thread, 13000,
				   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	assert_ptr_equal(plain, legacy);
	assert_ptr_equal(plain, address_of_symbol("cuMemcpyAsync"));
	assert_ptr_equal(per_thread, address_of_symbol("cuMemcpyAsync_ptsz"));
	assert_invalid(cuGetProcAddress("cuMemcpyAsync", &plain, 13000, 3, NULL));
	assert_invalid(cuGetProcAddress("cuMemcpyAsync", &plain, 13000, 4, NULL));
}

static void test_proc_address_of_unknown_name_succeeds_with_null(void **state)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *function = &function;

	(void)state;
	assert_ok(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(function);
	assert_ok(cuGetProcAddress("", &function, 13000, 0, NULL));
	assert_null(function);
}

static void test_proc_address_of_too_new_name_says_so(void **state)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *function = &function;

	(void)state;
	assert_ok(cuGetProcAddress("cuMemCreate", &function, 10010, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(function);
}

static void test_proc_address_above_the_driver_version_is_invalid(void **state)
{
	void *function;

	(void)state;
	assert_invalid(cuGetProcAddress("cuMemAlloc", &function, 13010, 0, NULL));
	assert_invalid(cuGetProcAddress(NULL, &function, 13000, 0, NULL));
	assert_invalid(cuGetProcAddress("cuMemAlloc", NULL, 13000, 0, NULL));
}

/* The form of 11.3, which has no status. */
static void test_older_proc_address_answers_not_found(void **state)
{
	CUresult (*older)(const char *, void **, int, cuuint64_t);
	void *function;

	(void)state;
	assert_ok(cuGetProcAddress("cuGetProcAddress", &function, 11030, 0, NULL));
	older = (CUresult(*)(const char *, void **, int, cuuint64_t))function;
	assert_ok(older("cuMemAlloc", &function, 13000, 0));
	assert_ptr_equal(function, address_of_symbol("cuMemAlloc_v2"));
	assert_result(older("cuNoSuchThing", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
	assert_null(function);
	assert_result(older("cuMemCreate", &function, 10010, 0), CUDA_ERROR_NOT_FOUND);
}

static void play_older_driver(void **state)
{
	void *function;
	int version;

	(void)state;
	assert_ok(cuDriverGetVersion(&version));
	assert_int_equal(version, 12040);
	assert_ok(cuGetProcAddress("cuCtxCreate", &function, 12040, 0, NULL));
	assert_ptr_equal(function, address_of_symbol("cuCtxCreate_v3"));
	assert_invalid(cuGetProcAddress("cuCtxCreate", &function, 12050, 0, NULL));
}

static void test_version_of_the_driver_can_be_set(void **state)
{
	(void)state;
	SG_RIG_RUN("older_driver", "SOFTGPU_DRIVER_VERSION=12040", NULL);
}

int main(int argc, char **argv)
{
	static const struct sg_rig_scene scenes[] = {{"older_driver", play_older_driver}};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_gives_the_newest_version_not_above_the_asked),
		cmocka_unit_test(test_every_row_gives_its_own_function_at_its_own_version),
		cmocka_unit_test(test_table_knows_the_functions_programs_ask_for),
		cmocka_unit_test(test_names_with_suffixes_are_unknown),
		cmocka_unit_test(test_driver_does_not_know_what_is_newer_than_itself),
		cmocka_unit_test(test_per_thread_variant_comes_only_when_wanted),
		cmocka_unit_test(test_proc_address_takes_flags_0_1_and_2),
		cmocka_unit_test(test_proc_address_of_unknown_name_succeeds_with_null),
		cmocka_unit_test(test_proc_address_of_too_new_name_says_so),
		cmocka_unit_test(test_proc_address_above_the_driver_version_is_invalid),
		cmocka_unit_test(test_older_proc_address_answers_not_found),
		cmocka_unit_test(test_version_of_the_driver_can_be_set),
	};
	int played = SG_RIG_PLAY(argc, argv, scenes);

	if (played >= 0)
		return played;
	SG_RIG_SET_ENVIRONMENT(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
