/*
 * cuda_api.def against what is not ours: the symbols of a driver and a runtime, and the versions in
 * NVIDIA's headers, from which softgpu's cuGetProcAddress is generated. Not preloaded.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cuda_headers.h"
#include "hooks_cmocka.h"

struct row {
	const char *name;
	int abi;
	const char *symbol;
};

static const struct row rows[] = {
#define VS_HOOK(name, abi, symbol) {name, abi, #symbol},
#include "cuda_api.def"
};

static const struct row others[] = {
#define VS_OTHER_ABI(name, abi) {name, abi, NULL},
#include "cuda_api.def"
};

static const char *const called[] = {
#define VS_DRIVER_CALL(symbol) #symbol,
#include "cuda_api.def"
};

static const char *const runtime_symbols[] = {
#define VS_RUNTIME_HOOK(symbol) #symbol,
#include "cuda_api.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void *driver, *runtime;

static bool is_per_thread(const char *symbol)
{
	size_t size = strlen(symbol);

	return size > 5 && !strcmp(symbol + size - 5, "_ptsz");
}

/* What is newer than the headers softgpu is made from is for ./dev test-matrix to see. */
static bool is_newer(const struct row *row)
{
	return row->abi > CUDA_VERSION;
}

static bool has_symbol(const char *symbol)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!strcmp(rows[i].symbol, symbol))
			return true;
	return false;
}

static void test_no_symbol_has_two_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rows[i].symbol, rows[j].symbol);
	for (size_t i = 0; i < COUNT(called); i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(called[i], called[j]);
		assert_false(has_symbol(called[i]));
	}
	for (size_t i = 0; i < COUNT(runtime_symbols); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(runtime_symbols[i], runtime_symbols[j]);
}

static void test_every_symbol_is_exported_by_driver_and_runtime(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!is_newer(&rows[i]) && !dlsym(driver, rows[i].symbol))
			fail_msg("the driver has no %s", rows[i].symbol);
	for (size_t i = 0; i < COUNT(called); i++)
		if (!dlsym(driver, called[i]))
			fail_msg("the driver has no %s", called[i]);
	for (size_t i = 0; i < COUNT(runtime_symbols); i++)
		if (!dlsym(runtime, runtime_symbols[i]))
			fail_msg("the runtime has no %s", runtime_symbols[i]);
}

static void *ask(const char *name, int version, bool per_thread)
{
	CUresult (*get)(const char *, void **, int, cuuint64_t, void *) =
		(CUresult(*)(const char *, void **, int, cuuint64_t, void *))dlsym(
			driver, "cuGetProcAddress_v2");
	void *function = NULL;

	(void)get(name, &function, version, per_thread ? 2 : 0, NULL);
	return function;
}

static void test_every_version_is_that_of_the_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool per_thread = is_per_thread(rows[i].symbol);
		void *function = dlsym(driver, rows[i].symbol);

		if (is_newer(&rows[i]))
			continue;
		if (ask(rows[i].name, rows[i].abi, per_thread) != function)
			fail_msg("%s %d is not %s", rows[i].name, rows[i].abi, rows[i].symbol);
		if (ask(rows[i].name, rows[i].abi - 1, per_thread) == function)
			fail_msg("%s is older than %d", rows[i].symbol, rows[i].abi);
	}
}

/* The newest answer to a name in the table is in the table, or the table says that it is not. */
static void test_no_newer_form_of_a_name_is_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool per_thread = is_per_thread(rows[i].symbol), is_known = false;
		void *newest = ask(rows[i].name, CUDA_VERSION, per_thread);

		for (size_t j = 0; j < COUNT(rows) && !is_known; j++)
			is_known = !is_newer(&rows[j]) && dlsym(driver, rows[j].symbol) == newest;
		for (size_t j = 0; j < COUNT(others) && !is_known; j++)
			is_known = !strcmp(others[j].name, rows[i].name);
		if (!is_known)
			fail_msg("%s has a newer form", rows[i].name);
	}
}

static void test_every_variant_for_per_thread_streams_has_a_row(void **state)
{
	char twin[128];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(twin, sizeof(twin), "%s_ptsz", rows[i].symbol);
		if (dlsym(driver, twin) && !has_symbol(twin))
			fail_msg("%s has no row", twin);
	}
	for (size_t i = 0; i < COUNT(runtime_symbols); i++) {
		bool has_row = false;

		snprintf(twin, sizeof(twin), "%s_ptsz", runtime_symbols[i]);
		for (size_t j = 0; j < COUNT(runtime_symbols); j++)
			has_row |= !strcmp(runtime_symbols[j], twin);
		if (dlsym(runtime, twin) && !has_row)
			fail_msg("%s has no row", twin);
	}
}

static int open_libraries(void **state)
{
	(void)state;
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	runtime = dlopen("libcudart.so.13", RTLD_NOW);
	return driver && runtime ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_symbol_has_two_rows),
		cmocka_unit_test(test_every_symbol_is_exported_by_driver_and_runtime),
		cmocka_unit_test(test_every_version_is_that_of_the_headers),
		cmocka_unit_test(test_no_newer_form_of_a_name_is_missing),
		cmocka_unit_test(test_every_variant_for_per_thread_streams_has_a_row),
	};

	return cmocka_run_group_tests(tests, open_libraries, NULL);
}
