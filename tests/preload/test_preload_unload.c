#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lifecycle.h"
#include "loaded_object.h"
#include "real.h"
#include "recorder.h"

/* unload.c is part of this program: whoever calls dlclose in here calls ours. */

static _Atomic uint32_t mark;
_Atomic uint32_t *vs_lifecycle_mark = &mark;
static bool has_log;
static struct vs_live_log the_log;

static unsigned nr_checks, nr_driver_checks;
static struct vs_loaded_object plugin;
static bool was_gone; /* the plugin, by then */

struct vs_live_log *vs_lifecycle_peek_log(void)
{
	return has_log ? &the_log : NULL;
}

void vs_recorder_check_modules(void)
{
	nr_checks++;
	was_gone = !vs_loaded_object_is_alive(&plugin);
}

void vs_real_check(void)
{
	nr_driver_checks++;
}

static void *open_plugin(void)
{
	void *handle = dlopen(PLUGIN, RTLD_NOW);

	assert_non_null(handle);
	assert_true(vs_loaded_object_at(dlsym(handle, "plugin_call"), &plugin));
	return handle;
}

/* A program that records, and knows of everything that was unloaded so far. */
static int set_up(void **state)
{
	(void)state;
	mark = 1;
	has_log = true;
	dlclose(dlopen(NULL, RTLD_NOW));
	nr_checks = nr_driver_checks = 0;
	return 0;
}

static void test_a_library_that_goes_is_told_afterwards(void **state)
{
	void *handle = open_plugin();

	(void)state;
	assert_int_equal(dlclose(handle), 0);
	assert_int_equal(nr_checks, 1);
	assert_true(was_gone);
}

static void test_closing_one_of_two_handles_tells_nothing(void **state)
{
	void *first = open_plugin(), *second = open_plugin();

	(void)state;
	assert_int_equal(dlclose(first), 0);
	assert_int_equal(nr_checks, 0);
	assert_int_equal(dlclose(second), 0);
	assert_int_equal(nr_checks, 1);
}

static void test_without_a_log_there_is_nobody_to_tell(void **state)
{
	void *handle = open_plugin();

	(void)state;
	has_log = false;
	assert_int_equal(dlclose(handle), 0);
	assert_int_equal(nr_checks, 0);
	assert_false(vs_loaded_object_is_alive(&plugin));
	/* The hooks want to know all the same. */
	assert_int_equal(nr_driver_checks, 1);
}

static void test_a_child_that_has_not_begun_tells_nothing(void **state)
{
	void *handle = open_plugin();

	(void)state;
	mark = 0;
	assert_int_equal(dlclose(handle), 0);
	assert_int_equal(nr_checks, 0);
	assert_false(vs_loaded_object_is_alive(&plugin));
}

static void test_what_went_unseen_is_told_by_the_next_one(void **state)
{
	void *handle = open_plugin();

	(void)state;
	has_log = false;
	dlclose(handle);
	has_log = true;
	dlclose(dlopen(NULL, RTLD_NOW)); /* unloads nothing by itself */
	assert_int_equal(nr_checks, 1);
}

static void test_a_failure_is_the_caller_s(void **state)
{
	struct vs_loaded_object libc;

	(void)state;
	/* Never opened, so it cannot be closed. glibc's handles are its maps. */
	assert_true(vs_loaded_object_at((const void *)(uintptr_t)gnu_get_libc_version, &libc));
	assert_int_not_equal(dlclose((void *)(uintptr_t)libc.map), 0);
	assert_non_null(dlerror());
	assert_int_equal(nr_checks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_library_that_goes_is_told_afterwards, set_up),
		cmocka_unit_test_setup(test_closing_one_of_two_handles_tells_nothing, set_up),
		cmocka_unit_test_setup(test_without_a_log_there_is_nobody_to_tell, set_up),
		cmocka_unit_test_setup(test_a_child_that_has_not_begun_tells_nothing, set_up),
		cmocka_unit_test_setup(test_what_went_unseen_is_told_by_the_next_one, set_up),
		cmocka_unit_test_setup(test_a_failure_is_the_caller_s, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
