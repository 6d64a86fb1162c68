#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "modules.h"

static int set_up(void **state)
{
	(void)state;
	vs_modules_init("/the/program");
	vs_modules_clear();
	return 0;
}

static uint64_t address_of_main(void);

static void test_the_program_is_described_with_its_build_id(void **state)
{
	struct vs_module module;
	char path[PATH_MAX];

	(void)state;
	assert_true(vs_modules_describe(address_of_main(), &module, path, sizeof(path)));
	assert_int_equal(module.id, 1);
	assert_in_range(address_of_main(), module.start, module.end - 1);
	assert_int_equal(module.path.size, strlen("/the/program"));
	assert_memory_equal(module.path.bytes, "/the/program", module.path.size);
	assert_true(module.build_id_size == 0 || module.build_id_size >= 8);
}

static void test_a_library_is_described_by_its_file(void **state)
{
	struct vs_module module;
	uint64_t address;
	char path[PATH_MAX];

	(void)state;
	/* Of libc, and nobody puts one in front of it. */
	address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	assert_true(vs_modules_describe(address, &module, path, sizeof(path)));
	assert_non_null(memmem(module.path.bytes, module.path.size, "/libc", 5));
	assert_int_equal(module.path.bytes[0], '/');
	assert_true(module.build_id_size >= 8);
	assert_in_range(address, module.start, module.end - 1);
}

static void test_a_module_is_known_once_it_is_added(void **state)
{
	uint64_t of_libc = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	struct vs_modules_span span = {0};
	struct vs_module module;
	char path[PATH_MAX];

	(void)state;
	assert_false(vs_modules_is_known(address_of_main(), &span));
	assert_true(vs_modules_describe(address_of_main(), &module, path, sizeof(path)));
	assert_false(vs_modules_is_known(address_of_main(), &span));
	vs_modules_add(&module);
	/* Another one in between, which is not known, and one that is none. */
	for (int i = 0; i < 3; i++) {
		assert_true(vs_modules_is_known(address_of_main() + (uint64_t)i, &span));
		assert_true(vs_modules_is_known(address_of_main(), &span));
		assert_true(vs_modules_is_known(module.start, &span));
		assert_false(vs_modules_is_known(module.start - 1, &span));
		assert_false(vs_modules_is_known(module.end, &span));
		assert_false(vs_modules_is_known(of_libc, &span));
		assert_false(vs_modules_is_known(0, &span));
	}
	assert_true(vs_modules_describe(of_libc, &module, path, sizeof(path)));
	vs_modules_add(&module);
	assert_true(vs_modules_is_known(of_libc, &span));
	assert_true(vs_modules_is_known(address_of_main(), &span));
}

static void test_a_module_is_described_until_it_is_added(void **state)
{
	struct vs_module module, again;
	char path[PATH_MAX];

	(void)state;
	assert_true(vs_modules_describe(address_of_main(), &module, path, sizeof(path)));
	vs_modules_give_back(&module);
	assert_true(vs_modules_describe(address_of_main(), &again, path, sizeof(path)));
	assert_int_equal(again.id, module.id);
	vs_modules_add(&again);
	assert_false(vs_modules_describe(address_of_main(), &module, path, sizeof(path)));
	assert_int_equal(vs_modules_take_unloaded(), VS_NO_ID);
}

static void test_an_address_in_no_module_is_not_described(void **state)
{
	struct vs_module module;
	char path[PATH_MAX];
	void *heap = malloc(16);

	(void)state;
	assert_false(vs_modules_describe(0, &module, path, sizeof(path)));
	assert_false(vs_modules_describe((uint64_t)(uintptr_t)heap, &module, path, sizeof(path)));
	free(heap);
}

static void test_a_path_that_is_too_long_is_cut(void **state)
{
	struct vs_module module;
	char path[8];

	(void)state;
	assert_true(vs_modules_describe(address_of_main(), &module, path, sizeof(path)));
	assert_int_equal(module.path.size, 7);
	assert_memory_equal(module.path.bytes, "/the/pr", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_program_is_described_with_its_build_id, set_up),
		cmocka_unit_test_setup(test_a_library_is_described_by_its_file, set_up),
		cmocka_unit_test_setup(test_a_module_is_known_once_it_is_added, set_up),
		cmocka_unit_test_setup(test_a_module_is_described_until_it_is_added, set_up),
		cmocka_unit_test_setup(test_an_address_in_no_module_is_not_described, set_up),
		cmocka_unit_test_setup(test_a_path_that_is_too_long_is_cut, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

static uint64_t address_of_main(void)
{
	return (uint64_t)(uintptr_t)main;
}
