#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "imports.h"

static pid_t say_4711(void)
{
	return 4711;
}

struct plugin {
	void *handle;
	long (*ask_pid)(void);
	long (*ask_parent)(void);
};

static void open_plugin(struct plugin *plugin, const char *path)
{
	plugin->handle = dlopen(path, RTLD_NOW);
	assert_non_null(plugin->handle);
	*(void **)(void *)&plugin->ask_pid = dlsym(plugin->handle, "plugin_ask_pid");
	*(void **)(void *)&plugin->ask_parent = dlsym(plugin->handle, "plugin_ask_parent");
	assert_int_equal(plugin->ask_pid(), getpid());
}

static bool replace(const struct plugin *plugin, const char *name)
{
	return vs_imports_replace(plugin->handle, name, (void *)(uintptr_t)say_4711);
}

static void check_replaced(const char *path, const char *other_path)
{
	struct plugin plugin, other;

	open_plugin(&plugin, path);
	open_plugin(&other, other_path);
	assert_true(replace(&plugin, "getpid"));
	assert_int_equal(plugin.ask_pid(), 4711);
	/* Nothing else, and nobody else. */
	assert_int_equal(plugin.ask_parent(), getppid());
	assert_int_equal(other.ask_pid(), getpid());
	assert_int_not_equal(getpid(), 4711);
	dlclose(plugin.handle);
	dlclose(other.handle);
}

static void test_the_calls_of_one_library_are_led_elsewhere(void **state)
{
	(void)state;
	check_replaced(PLUGIN_GNU_LAZY, PLUGIN_SYSV_NOW);
}

static void test_a_table_that_the_loader_made_read_only_is_no_obstacle(void **state)
{
	(void)state;
	check_replaced(PLUGIN_SYSV_NOW, PLUGIN_GNU_LAZY);
}

static void test_a_function_that_is_not_called_cannot_be_replaced(void **state)
{
	struct plugin plugin;

	(void)state;
	open_plugin(&plugin, PLUGIN_GNU_LAZY);
	assert_false(replace(&plugin, "getuid"));
	assert_false(replace(&plugin, "plugin_ask_pid")); /* its own */
	assert_false(replace(&plugin, "getpi"));
	assert_false(replace(&plugin, "getpid_"));
	assert_false(replace(&plugin, ""));
	assert_int_equal(plugin.ask_pid(), getpid());
	assert_int_equal(plugin.ask_parent(), getppid());
	dlclose(plugin.handle);
}

static void test_a_library_that_calls_nobody_has_nothing_to_replace(void **state)
{
	void *handle = dlopen(PLUGIN, RTLD_NOW);

	(void)state;
	assert_non_null(handle);
	assert_false(vs_imports_replace(handle, "getpid", (void *)(uintptr_t)say_4711));
	dlclose(handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_calls_of_one_library_are_led_elsewhere),
		cmocka_unit_test(test_a_table_that_the_loader_made_read_only_is_no_obstacle),
		cmocka_unit_test(test_a_function_that_is_not_called_cannot_be_replaced),
		cmocka_unit_test(test_a_library_that_calls_nobody_has_nothing_to_replace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
