#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "loaded_object.h"

static int some_data = 1;

static void find_libc(struct vs_loaded_object *object)
{
	assert_true(vs_loaded_object_at((const void *)(uintptr_t)gnu_get_libc_version, object));
}

/* A library that was opened, and the object of it. */
static void *open_plugin(const char *path, struct vs_loaded_object *object)
{
	void *handle = dlopen(path, RTLD_NOW);

	assert_non_null(handle);
	assert_true(vs_loaded_object_at(dlsym(handle, "plugin_ask_pid"), object));
	return handle;
}

/* ---- Which object ---------------------------------------------------------------------------- */

static void test_code_and_data_of_the_program_are_one_object(void **state)
{
	struct vs_loaded_object code, data;

	(void)state;
	assert_true(vs_loaded_object_at((const void *)(uintptr_t)find_libc, &code));
	assert_true(vs_loaded_object_at(&some_data, &data));
	assert_ptr_equal(code.map, data.map);
	assert_int_equal(code.start, data.start);
	assert_true(code.start <= (uintptr_t)find_libc && code.start <= (uintptr_t)&some_data);
	assert_string_equal(vs_loaded_object_get_soname(&code), "");
}

static void test_a_library_is_told_from_the_program_by_its_soname(void **state)
{
	struct vs_loaded_object program, libc;

	(void)state;
	find_libc(&libc);
	assert_true(vs_loaded_object_at(&some_data, &program));
	assert_ptr_not_equal(libc.map, program.map);
	assert_string_equal(vs_loaded_object_get_soname(&libc), "libc.so.6");
}

static void test_memory_that_is_no_object_s_is_told(void **state)
{
	struct vs_loaded_object object, untouched;
	void *heap = malloc(16);

	(void)state;
	memset(&object, 0x55, sizeof(object));
	untouched = object;
	assert_false(vs_loaded_object_at(NULL, &object));
	assert_false(vs_loaded_object_at(heap, &object));
	assert_false(vs_loaded_object_at(&heap, &object));
	assert_false(vs_loaded_object_at((const void *)UINTPTR_MAX, &object));
	assert_memory_equal(&object, &untouched, sizeof(object));
	free(heap);
}

static void test_an_object_is_alive_until_it_is_closed(void **state)
{
	struct vs_loaded_object object, libc;
	void *handle = open_plugin(PLUGIN_GNU_LAZY, &object);
	void *again = dlopen(PLUGIN_GNU_LAZY, RTLD_NOW);

	(void)state;
	assert_true(vs_loaded_object_is_alive(&object));
	dlclose(handle);
	assert_true(vs_loaded_object_is_alive(&object));
	dlclose(again);
	assert_false(vs_loaded_object_is_alive(&object));
	find_libc(&libc);
	assert_true(vs_loaded_object_is_alive(&libc));
}

/* A library that lies where another one was. */
static void test_an_object_at_the_same_place_is_not_the_same(void **state)
{
	struct vs_loaded_object object, other;

	(void)state;
	find_libc(&object);
	assert_true(vs_loaded_object_at(&some_data, &other));
	object.map = other.map;
	assert_false(vs_loaded_object_is_alive(&object));
	find_libc(&object);
	object.start += 0x1000;
	assert_false(vs_loaded_object_is_alive(&object));
}

static void test_objects_are_found_by_the_start_of_their_soname(void **state)
{
	struct vs_loaded_object object, libc;

	(void)state;
	find_libc(&libc);
	assert_int_equal(vs_loaded_object_find("libc.so.6", &object), 1);
	assert_ptr_equal(object.map, libc.map);
	assert_int_equal(object.start, libc.start);
	assert_int_equal(vs_loaded_object_find("libc.so", &object), 1);
	assert_int_equal(vs_loaded_object_find("libc.so.6.", &object), 0);
	assert_int_equal(vs_loaded_object_find("no-such-library", &object), 0);
	assert_ptr_equal(object.map, libc.map);
}

static void test_of_several_objects_the_first_one_is_given(void **state)
{
	struct vs_loaded_object first, second, object;
	void *handle = open_plugin(PLUGIN_SYSV_NOW, &first);
	void *other = open_plugin(PLUGIN_GNU_LAZY, &second);

	(void)state;
	assert_int_equal(vs_loaded_object_find("import_plugin_", &object), 2);
	assert_ptr_equal(object.map, first.map);
	assert_int_equal(vs_loaded_object_find("import_plugin_lazy", &object), 1);
	assert_ptr_equal(object.map, second.map);
	dlclose(handle);
	dlclose(other);
	assert_int_equal(vs_loaded_object_find("import_plugin_", &object), 0);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void test_a_function_is_found_where_dlsym_finds_it(void **state)
{
	static const char *const names[] = {"gnu_get_libc_version", "qsort", "abort", "getenv"};
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct vs_loaded_object libc;

	(void)state;
	assert_non_null(handle);
	find_libc(&libc);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *function = vs_loaded_object_get_function(&libc, names[i]);

		assert_non_null(function);
		assert_ptr_equal(function, dlsym(handle, names[i]));
	}
	dlclose(handle);
}

static void test_of_two_versions_the_default_one_is_meant(void **state)
{
	/* Which of the two comes first in libc's table is left to chance. */
	static const char *const names[] = {"posix_spawn",
					    "posix_spawnp",
					    "pthread_cond_wait",
					    "pthread_cond_signal",
					    "pthread_cond_destroy",
					    "pthread_cond_broadcast",
					    "regexec",
					    "nftw",
					    "sched_getaffinity",
					    "fmemopen",
					    "quick_exit",
					    "glob"};
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct vs_loaded_object libc;
	unsigned nr_pairs = 0;

	(void)state;
	find_libc(&libc);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *first = dlvsym(handle, names[i], "GLIBC_2.2.5");
		void *function = dlsym(handle, names[i]);

		nr_pairs += first && first != function;
		assert_ptr_equal(vs_loaded_object_get_function(&libc, names[i]), function);
	}
	dlclose(handle);
	if (!nr_pairs) {
		print_message("a libc without a past\n");
		skip();
	}
}

static void check_plugin(const char *path)
{
	static const char *const names[] = {"plugin_ask_pid", "plugin_ask_parent", "plugin_a",
					    "plugin_b", "plugin_c"};
	struct vs_loaded_object object;
	void *handle = open_plugin(path, &object);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_non_null(dlsym(handle, names[i]));
		assert_ptr_equal(vs_loaded_object_get_function(&object, names[i]),
				 dlsym(handle, names[i]));
	}
	assert_null(vs_loaded_object_get_function(&object, "getpid"));        /* another's */
	assert_null(vs_loaded_object_get_function(&object, "plugin_number")); /* no function */
	assert_null(vs_loaded_object_get_function(&object, "plugin_ask"));
	assert_null(vs_loaded_object_get_function(&object, "plugin_ask_pid_"));
	assert_null(vs_loaded_object_get_function(&object, "no_such_function"));
	assert_null(vs_loaded_object_get_function(&object, ""));
	dlclose(handle);
}

static void test_functions_are_found_by_the_table_of_today(void **state)
{
	(void)state;
	check_plugin(PLUGIN_GNU_LAZY);
}

static void test_functions_are_found_by_the_table_of_old(void **state)
{
	(void)state;
	check_plugin(PLUGIN_SYSV_NOW);
}

static void expect_symbols(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct vs_loaded_object object;
	size_t size = 0;

	assert_non_null(handle);
	assert_true(vs_loaded_object_at(dlsym(handle, "plugin_number"), &object));
	assert_ptr_equal(vs_loaded_object_get_symbol(&object, "plugin_number", &size),
			 dlsym(handle, "plugin_number"));
	assert_int_equal(size, sizeof(int));
	assert_ptr_equal(vs_loaded_object_get_symbol(&object, "plugin_number", NULL),
			 dlsym(handle, "plugin_number"));
	assert_ptr_equal(vs_loaded_object_get_symbol(&object, "plugin_ask_pid", &size),
			 dlsym(handle, "plugin_ask_pid"));
	assert_in_range(size, 1, 4096);
	/* Data is no function, and what it imports is not its own. */
	assert_null(vs_loaded_object_get_function(&object, "plugin_number"));
	assert_null(vs_loaded_object_get_symbol(&object, "getpid", &size));
	assert_null(vs_loaded_object_get_symbol(&object, "plugin_none", &size));
	assert_in_range(size, 1, 4096);
	dlclose(handle);
}

static void test_any_symbol_is_found_with_its_size(void **state)
{
	(void)state;
	expect_symbols(PLUGIN_GNU_LAZY);
	expect_symbols(PLUGIN_SYSV_NOW);
}

static void test_an_object_without_functions_has_none(void **state)
{
	struct vs_loaded_object program;

	(void)state;
	/* Nothing of the test is exported. */
	assert_true(vs_loaded_object_at(&some_data, &program));
	assert_null(vs_loaded_object_get_function(&program, "main"));
	assert_null(vs_loaded_object_get_function(&program, "dlsym"));
}

/* It has no file, and its tables hold addresses that nobody relocated. */
static void test_the_vdso_is_an_object_like_any_other(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	struct vs_loaded_object object;
	void *function;

	(void)state;
	if (!start || !vs_loaded_object_find("linux-vdso.so.1", &object)) {
		print_message("a kernel without a vdso\n");
		skip();
	}
	assert_int_equal(object.start, start);
	function = vs_loaded_object_get_function(&object, "__vdso_clock_gettime");
	if (function)
		assert_in_range((uintptr_t)function, start, start + 0x10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_and_data_of_the_program_are_one_object),
		cmocka_unit_test(test_a_library_is_told_from_the_program_by_its_soname),
		cmocka_unit_test(test_memory_that_is_no_object_s_is_told),
		cmocka_unit_test(test_an_object_is_alive_until_it_is_closed),
		cmocka_unit_test(test_an_object_at_the_same_place_is_not_the_same),
		cmocka_unit_test(test_objects_are_found_by_the_start_of_their_soname),
		cmocka_unit_test(test_of_several_objects_the_first_one_is_given),
		cmocka_unit_test(test_a_function_is_found_where_dlsym_finds_it),
		cmocka_unit_test(test_of_two_versions_the_default_one_is_meant),
		cmocka_unit_test(test_functions_are_found_by_the_table_of_today),
		cmocka_unit_test(test_functions_are_found_by_the_table_of_old),
		cmocka_unit_test(test_any_symbol_is_found_with_its_size),
		cmocka_unit_test(test_an_object_without_functions_has_none),
		cmocka_unit_test(test_the_vdso_is_an_object_like_any_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
