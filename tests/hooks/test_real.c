/* Which driver is behind the hooks, on a loader on paper. */
#include "real.h"

#include <pthread.h>
#include <string.h>

#include "hooks_cmocka.h"
#include "paper_loader.h"

#define DRIVER "libcuda.so.1"

/* A driver that is older than cuMemAllocAsync. */
static void *find_in_older(const char *name)
{
	return strcmp(name, "cuMemAllocAsync") == 0 ? NULL : (void *)0x4711;
}

static int unload_all(void **state)
{
	(void)state;
	vs_paper_loader_unload_all();
	vs_real_check();
	return 0;
}

/* Must be the first: afterwards there was a driver. */
static void test_without_a_driver_there_is_none(void **state)
{
	(void)state;
	assert_null(vs_real_get());
	(void)vs_paper_loader_load("libcudart.so.13", NULL);
	assert_null(vs_real_get());
	(void)vs_paper_loader_load("libcuda.so.10", NULL);
	assert_null(vs_real_get());
	assert_int_equal(vs_real_get_error(NULL), CUDA_ERROR_NO_DEVICE);
}

static void test_only_one_name_is_a_driver(void **state)
{
	struct vs_loaded_object driver = vs_paper_loader_load(DRIVER, NULL);
	struct vs_loaded_object newer = vs_paper_loader_load("libcuda.so.10", NULL);
	struct vs_loaded_object runtime = vs_paper_loader_load("libcudart.so.1", NULL);
	struct vs_loaded_object nameless = vs_paper_loader_load("", NULL);

	(void)state;
	assert_true(vs_real_is_driver(&driver));
	assert_false(vs_real_is_driver(&newer));
	assert_false(vs_real_is_driver(&runtime));
	assert_false(vs_real_is_driver(&nameless));
}

static void test_driver_that_is_loaded_is_found_and_stays(void **state)
{
	struct vs_loaded_object driver = vs_paper_loader_load(DRIVER, NULL);
	const struct vs_real *real = vs_real_get();

	(void)state;
	assert_non_null(real);
	assert_ptr_equal(real->object.map, driver.map);
	assert_ptr_equal(real->cuMemAlloc_v2,
			 vs_loaded_object_get_function(&driver, "cuMemAlloc_v2"));
	assert_ptr_equal(real->cuMemGetInfo_v2,
			 vs_loaded_object_get_function(&driver, "cuMemGetInfo_v2"));
	assert_ptr_equal(vs_real_get(), real);
	assert_ptr_equal(vs_real_adopt(&driver), real);
}

static void test_function_that_the_driver_lacks_is_null(void **state)
{
	struct vs_loaded_object driver = vs_paper_loader_load(DRIVER, find_in_older);
	const struct vs_real *real = vs_real_adopt(&driver);

	(void)state;
	assert_non_null(real);
	assert_null(real->cuMemAllocAsync);
	assert_ptr_equal(real->cuMemFreeAsync, (void *)0x4711);
	assert_int_equal(vs_real_get_error(real), CUDA_ERROR_NOT_FOUND);
}

static void test_second_driver_is_left_alone_while_the_first_is_there(void **state)
{
	struct vs_loaded_object first = vs_paper_loader_load(DRIVER, NULL);
	struct vs_loaded_object second = vs_paper_loader_load(DRIVER, NULL);
	const struct vs_real *real = vs_real_adopt(&first);

	(void)state;
	assert_non_null(real);
	assert_null(vs_real_adopt(&second));
	assert_ptr_equal(vs_real_get(), real);
	vs_paper_loader_unload(&first);
	real = vs_real_adopt(&second);
	assert_non_null(real);
	assert_ptr_equal(real->object.map, second.map);
	assert_ptr_equal(vs_real_get(), real);
}

/* Who was linked with the next one looks nothing up. */
static void test_driver_that_is_gone_is_not_called(void **state)
{
	struct vs_loaded_object first = vs_paper_loader_load(DRIVER, NULL), second;
	const struct vs_real *real = vs_real_get();

	(void)state;
	assert_ptr_equal(real->object.map, first.map);
	vs_real_check(); /* it was another library */
	assert_ptr_equal(vs_real_get(), real);
	vs_paper_loader_unload(&first);
	vs_real_check();
	assert_null(vs_real_get());
	vs_real_check();
	second = vs_paper_loader_load(DRIVER, NULL);
	assert_non_null(vs_real_get());
	assert_ptr_equal(vs_real_get()->object.map, second.map);
}

/* ---- Threads ---- */

static pthread_barrier_t barrier;

static void *get_at_once(void *argument)
{
	(void)argument;
	pthread_barrier_wait(&barrier);
	return (void *)vs_real_get();
}

static void test_threads_that_ask_first_all_get_the_same(void **state)
{
	struct vs_loaded_object driver = vs_paper_loader_load(DRIVER, NULL);
	pthread_t threads[2];
	void *real[2];

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_at_once, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], &real[i]), 0);
	pthread_barrier_destroy(&barrier);
	assert_non_null(real[0]);
	assert_ptr_equal(real[0], real[1]);
	assert_ptr_equal(((const struct vs_real *)real[0])->object.map, driver.map);
}

/* Last: there is room for a few only. */
static void test_driver_after_too_many_is_refused(void **state)
{
	const struct vs_real *real;
	unsigned nr_adopted = 0;

	(void)state;
	do {
		struct vs_loaded_object driver = vs_paper_loader_load(DRIVER, NULL);

		real = vs_real_adopt(&driver);
		vs_paper_loader_unload(&driver);
		vs_real_check();
		assert_true(nr_adopted++ < 20);
	} while (real);
	for (int i = 0; i < 3; i++) {
		struct vs_loaded_object driver = vs_paper_loader_load(DRIVER, NULL);

		assert_null(vs_real_adopt(&driver));
		assert_null(vs_real_get());
		vs_paper_loader_unload(&driver);
	}
}

#define TEST(test) cmocka_unit_test_setup(test, unload_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_driver_there_is_none),
		TEST(test_only_one_name_is_a_driver),
		TEST(test_driver_that_is_loaded_is_found_and_stays),
		TEST(test_function_that_the_driver_lacks_is_null),
		TEST(test_second_driver_is_left_alone_while_the_first_is_there),
		TEST(test_driver_that_is_gone_is_not_called),
		TEST(test_threads_that_ask_first_all_get_the_same),
		TEST(test_driver_after_too_many_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
