/*
 * A plugin goes, and the driver it was linked with goes with it; then it comes again, and the
 * driver lies elsewhere. Nobody looks a function up on the way. Linked with no CUDA; started with
 * libvramscope.so, whose dlclose is part of it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>

#include "cuda_headers.h"
#include "hooks_cmocka.h"

/* Where the driver was: the next one cannot lie there. */
static void occupy(void *address)
{
	uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;

	assert_ptr_equal(mmap((void *)page, 4096, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 (void *)page);
}

static void test_plugin_that_comes_again_reaches_its_driver(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		void *plugin = dlopen(DRIVER_PLUGIN, RTLD_NOW | RTLD_LOCAL);
		void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
		CUresult (*allocate)(CUdeviceptr *);
		CUdeviceptr address = 0;
		void *in_driver;

		assert_non_null(plugin);
		assert_non_null(driver);
		/* A name that is not hooked, so that nothing of ours takes notice. */
		in_driver = dlsym(driver, "cuCtxGetDevice");
		assert_int_equal(dlclose(driver), 0);
		allocate = (CUresult(*)(CUdeviceptr *))dlsym(plugin, "driver_plugin_allocate");
		assert_int_equal(allocate(&address), CUDA_SUCCESS);
		assert_int_equal(address, 0x1010);
		assert_int_equal(dlclose(plugin), 0);
		occupy(in_driver);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plugin_that_comes_again_reaches_its_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
