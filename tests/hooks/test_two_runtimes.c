/* Two runtimes in one process, each seen only by the library that was linked with it. Preloaded. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "cuda_headers.h"
#include "event_lines.h"
#include "hooks_cmocka.h"

struct plugin {
	void *handle;
	int (*reaches_its_own)(void);
	cudaError_t (*allocate)(void **, size_t);
	cudaError_t (*release)(void *);
};

static struct plugin first, second;

static int open_plugin(struct plugin *plugin, const char *path)
{
	plugin->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin->handle) {
		print_error("%s\n", dlerror());
		return -1;
	}
	plugin->reaches_its_own =
		(int (*)(void))dlsym(plugin->handle, "runtime_plugin_reaches_its_own");
	plugin->allocate =
		(cudaError_t(*)(void **, size_t))dlsym(plugin->handle, "runtime_plugin_allocate");
	plugin->release = (cudaError_t(*)(void *))dlsym(plugin->handle, "runtime_plugin_free");
	return 0;
}

static int open_both(void **state)
{
	(void)state;
	return open_plugin(&first, FIRST_PLUGIN) || open_plugin(&second, SECOND_PLUGIN) ? -1 : 0;
}

static void test_each_call_reaches_the_runtime_of_its_caller(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(first.reaches_its_own(), 1);
		assert_int_equal(second.reaches_its_own(), 1);
	}
}

static void test_both_are_recorded_once_and_by_name(void **state)
{
	void *a, *b;

	(void)state;
	assert_int_equal(first.allocate(&a, 100), cudaSuccess);
	assert_int_equal(second.allocate(&b, 200), cudaSuccess);
	vs_event_lines_skip();
	assert_int_equal(first.release(b), cudaSuccess);
	vs_event_lines_expect("free device %lx cudaFree", (unsigned long)b);
	assert_int_equal(second.release(a), cudaSuccess);
	vs_event_lines_expect("free device %lx cudaFree", (unsigned long)a);
	vs_event_lines_expect_none();
	assert_int_equal(second.allocate(&b, 200), cudaSuccess);
	vs_event_lines_expect("alloc device 0 %lx 200 pool=0 context=1 cudaMalloc",
			      (unsigned long)b);
	assert_int_equal(second.release(b), cudaSuccess);
}

/* A pointer from dlsym does not tell whose it is: such a call must go straight to its runtime. */
static void test_pointers_looked_up_in_either_are_its_own(void **state)
{
	const char *const names[] = {"libcudart.so.13", "libcudart.so.12"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		void *runtime = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
		void *function;
		Dl_info info;

		assert_non_null(runtime);
		function = dlsym(runtime, "cudaMalloc");
		assert_int_not_equal(dladdr(function, &info), 0);
		assert_non_null(strstr(info.dli_fname, names[i]));
		dlclose(runtime);
	}
}

static void *ask_both(void *argument)
{
	(void)argument;
	return (void *)(uintptr_t)(first.reaches_its_own() + second.reaches_its_own());
}

static void test_every_thread_finds_the_same(void **state)
{
	pthread_t threads[4];
	void *nr_right;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_both, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &nr_right), 0);
		assert_ptr_equal(nr_right, 2);
	}
}

/* Last: closing and opening again must not leave a pointer into what is gone. */
static void test_plugin_that_is_opened_again_reaches_its_runtime_again(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(dlclose(second.handle), 0);
		assert_int_equal(open_plugin(&second, SECOND_PLUGIN), 0);
		assert_int_equal(second.reaches_its_own(), 1);
		assert_int_equal(first.reaches_its_own(), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_call_reaches_the_runtime_of_its_caller),
		cmocka_unit_test(test_both_are_recorded_once_and_by_name),
		cmocka_unit_test(test_pointers_looked_up_in_either_are_its_own),
		cmocka_unit_test(test_every_thread_finds_the_same),
		cmocka_unit_test(test_plugin_that_is_opened_again_reaches_its_runtime_again),
	};

	return cmocka_run_group_tests(tests, open_both, NULL);
}
