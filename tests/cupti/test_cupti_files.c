#include "cupti_files.h"

#include <string.h>

#include "cmocka_all.h"

static void check_first(int driver_version, const char *first, const char *second)
{
	unsigned at = 0;

	assert_string_equal(vs_cupti_files_next(driver_version, &at), first);
	assert_string_equal(vs_cupti_files_next(driver_version, &at), second);
}

static void test_release_of_the_driver_comes_first(void **state)
{
	(void)state;
	check_first(13000, "libcupti.so.13", "libcupti.so.12");
	check_first(12090, "libcupti.so.12", "libcupti.so.11.8");
	check_first(11080, "libcupti.so.11.8", "libcupti.so.11.7");
	/* Not known, or newer than anything here. */
	check_first(0, "libcupti.so.13", "libcupti.so.12");
	check_first(14000, "libcupti.so.13", "libcupti.so.12");
}

static void test_every_release_that_a_driver_serves_comes_once(void **state)
{
	static const int versions[] = {0, 10020, 11040, 12000, 13030, 14000};
	static const unsigned wanted[] = {11, 0, 9, 10, 11, 11};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		unsigned at = 0, nr = 0, nr_13 = 0;
		const char *name;

		while ((name = vs_cupti_files_next(versions[i], &at))) {
			nr++;
			nr_13 += !strcmp(name, "libcupti.so.13");
		}
		assert_int_equal(nr, wanted[i]);
		assert_int_equal(nr_13, wanted[i] == 11);
	}
}

static void test_folders_are_beside_the_runtime(void **state)
{
	static const char *const wanted[] = {
		"/x/nvidia/cuda_runtime/lib",
		"/x/nvidia/cuda_runtime/lib/../extras/CUPTI/lib64",
		"/x/nvidia/cuda_runtime/lib/../../../extras/CUPTI/lib64",
		"/x/nvidia/cuda_runtime/lib/../../cuda_cupti/lib",
	};
	const char *runtime = "/x/nvidia/cuda_runtime/lib/libcudart.so.12";
	unsigned at = 0;
	char folder[256];

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(vs_cupti_files_next_folder(runtime, &at, folder, sizeof(folder)));
		assert_string_equal(folder, wanted[i]);
	}
	assert_false(vs_cupti_files_next_folder(runtime, &at, folder, sizeof(folder)));
}

static void test_folder_that_does_not_fit_is_none(void **state)
{
	unsigned at = 1;
	char folder[8];

	(void)state;
	assert_false(
		vs_cupti_files_next_folder("/a/b/libcudart.so.12", &at, folder, sizeof(folder)));
	at = 0;
	assert_false(vs_cupti_files_next_folder("libcudart.so.12", &at, folder, sizeof(folder)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release_of_the_driver_comes_first),
		cmocka_unit_test(test_every_release_that_a_driver_serves_comes_once),
		cmocka_unit_test(test_folders_are_beside_the_runtime),
		cmocka_unit_test(test_folder_that_does_not_fit_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
