/* What is registered before main(): many names, several threads, libraries that leave again. */
#include "runtime.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NR_KERNELS 24000
#define NR_THREADS 8

static char hosts[NR_THREADS][NR_KERNELS]; /* only their addresses matter */

static struct sg_rt_fatbin *register_many(char *host, size_t count)
{
	struct sg_rt_fatbin *fatbin = sg_rt_registry_add_fatbin(NULL);

	assert_non_null(fatbin);
	for (size_t i = 0; i < count; i++)
		assert_non_null(
			sg_rt_registry_add(fatbin, SG_RT_KERNEL, &host[i], "kernel", 0, false));
	return fatbin;
}

static void unregister(struct sg_rt_fatbin *fatbin)
{
	CUlibrary library;

	assert_true(sg_rt_registry_remove_fatbin(fatbin, &library));
	assert_null(library);
}

static void test_every_registered_kernel_is_found_again(void **state)
{
	struct sg_rt_fatbin *fatbin = register_many(hosts[0], NR_KERNELS);

	(void)state;
	assert_int_equal(sg_rt_registry_count(), NR_KERNELS);
	for (size_t i = 0; i < NR_KERNELS; i++) {
		struct sg_rt_entry *entry = sg_rt_registry_find(SG_RT_KERNEL, &hosts[0][i]);

		assert_non_null(entry);
		assert_ptr_equal(entry->host, &hosts[0][i]);
		assert_ptr_equal(entry->fatbin, fatbin);
	}
	assert_null(sg_rt_registry_find(SG_RT_KERNEL, &hosts[1][0]));
	unregister(fatbin);
}

static void test_unregistering_leaves_nothing_of_that_binary_and_all_of_others(void **state)
{
	struct sg_rt_fatbin *first = register_many(hosts[0], 1000);
	struct sg_rt_fatbin *second = register_many(hosts[1], 1000);

	(void)state;
	unregister(first);
	assert_int_equal(sg_rt_registry_count(), 1000);
	for (size_t i = 0; i < 1000; i++) {
		assert_null(sg_rt_registry_find(SG_RT_KERNEL, &hosts[0][i]));
		assert_non_null(sg_rt_registry_find(SG_RT_KERNEL, &hosts[1][i]));
	}
	unregister(second);
	assert_int_equal(sg_rt_registry_count(), 0);
}

static void test_of_two_binaries_with_one_address_the_later_answers(void **state)
{
	struct sg_rt_fatbin *first = register_many(hosts[0], 1);
	struct sg_rt_fatbin *second = register_many(hosts[0], 1);
	struct sg_rt_fatbin *crowd;

	(void)state;
	assert_ptr_equal(sg_rt_registry_find(SG_RT_KERNEL, &hosts[0][0])->fatbin, second);
	/* Also after the table has grown. */
	crowd = register_many(hosts[1], NR_KERNELS);
	assert_ptr_equal(sg_rt_registry_find(SG_RT_KERNEL, &hosts[0][0])->fatbin, second);
	unregister(second);
	assert_ptr_equal(sg_rt_registry_find(SG_RT_KERNEL, &hosts[0][0])->fatbin, first);
	unregister(crowd);
	unregister(first);
}

static void test_kernels_and_variables_of_one_address_are_apart(void **state)
{
	struct sg_rt_fatbin *fatbin = sg_rt_registry_add_fatbin(NULL);
	struct sg_rt_entry *entry;

	(void)state;
	sg_rt_registry_add(fatbin, SG_RT_KERNEL, hosts[0], "kernel", 0, false);
	sg_rt_registry_add(fatbin, SG_RT_VARIABLE, hosts[0], "variable", 12, true);
	entry = sg_rt_registry_find(SG_RT_VARIABLE, hosts[0]);
	assert_string_equal(entry->name, "variable");
	assert_int_equal(entry->size, 12);
	assert_true(entry->constant);
	assert_string_equal(sg_rt_registry_find(SG_RT_KERNEL, hosts[0])->name, "kernel");
	assert_null(sg_rt_registry_find(SG_RT_MANAGED, hosts[0]));
	unregister(fatbin);
}

static bool count_up_to_ten(struct sg_rt_entry *entry, void *data)
{
	size_t *count = data;

	assert_ptr_equal(entry->host, &hosts[0][*count]);
	return ++*count < 10;
}

static void test_a_visit_goes_in_order_and_stops_when_told(void **state)
{
	struct sg_rt_fatbin *fatbin = register_many(hosts[0], 100);
	size_t count = 0;

	(void)state;
	sg_rt_registry_visit(fatbin, count_up_to_ten, &count);
	assert_int_equal(count, 10);
	unregister(fatbin);
}

static void test_nonsense_is_not_registered(void **state)
{
	struct sg_rt_fatbin *fatbin = sg_rt_registry_add_fatbin(NULL);
	CUlibrary library;

	(void)state;
	assert_null(sg_rt_registry_add(NULL, SG_RT_KERNEL, hosts[0], "kernel", 0, false));
	assert_null(sg_rt_registry_add(fatbin, SG_RT_KERNEL, NULL, "kernel", 0, false));
	assert_null(sg_rt_registry_add(fatbin, SG_RT_KERNEL, hosts[0], NULL, 0, false));
	assert_false(sg_rt_registry_remove_fatbin((struct sg_rt_fatbin *)hosts, &library));
	assert_int_equal(sg_rt_registry_count(), 0);
	unregister(fatbin);
}

static unsigned nr_loads;

static cudaError_t fail_first(struct sg_rt_fatbin *fatbin, CUlibrary *library)
{
	if (!nr_loads++)
		return cudaErrorMemoryAllocation;
	*library = (CUlibrary)fatbin;
	return cudaSuccess;
}

static void test_a_library_is_loaded_until_it_succeeds_and_then_kept(void **state)
{
	struct sg_rt_fatbin *fatbin = sg_rt_registry_add_fatbin(NULL);
	CUlibrary library;

	(void)state;
	nr_loads = 0;
	assert_int_equal(sg_rt_registry_library(fatbin, fail_first, &library),
			 cudaErrorMemoryAllocation);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sg_rt_registry_library(fatbin, fail_first, &library), cudaSuccess);
		assert_ptr_equal(library, fatbin);
	}
	assert_int_equal(nr_loads, 2);
	assert_true(sg_rt_registry_remove_fatbin(fatbin, &library));
	assert_non_null(library);
}

/* cmocka's asserts are for its own thread: this one counts. */
static void *churn(void *data)
{
	char *host = data;
	size_t wrong = 0;

	for (int round = 0; round < 20; round++) {
		struct sg_rt_fatbin *fatbin = sg_rt_registry_add_fatbin(NULL);
		CUlibrary library;

		for (size_t i = 0; i < 500; i++)
			wrong += !sg_rt_registry_add(fatbin, SG_RT_KERNEL, &host[i], "kernel", 0,
						     false);
		for (size_t i = 0; i < 500; i++) {
			struct sg_rt_entry *entry = sg_rt_registry_find(SG_RT_KERNEL, &host[i]);

			wrong += !entry || entry->fatbin != fatbin;
		}
		wrong += !sg_rt_registry_remove_fatbin(fatbin, &library);
	}
	return (void *)wrong;
}

static void test_threads_register_and_leave_at_the_same_time(void **state)
{
	pthread_t threads[NR_THREADS];
	void *wrong;

	(void)state;
	for (size_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, hosts[i]), 0);
	for (size_t i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	assert_int_equal(sg_rt_registry_count(), 0);
}

static _Atomic bool stop;

static void *churn_until_stopped(void *data)
{
	while (!stop)
		churn(data);
	return NULL;
}

/* A fork while other threads hold the lock: the child must be able to register all the same. */
static void test_a_child_can_register_whatever_other_threads_did(void **state)
{
	pthread_t thread;
	int status;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, churn_until_stopped, hosts[0]), 0);
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			alarm(60); /* a deadlock ends here */
			_exit(churn(hosts[1]) != NULL);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_registered_kernel_is_found_again),
		cmocka_unit_test(
			test_unregistering_leaves_nothing_of_that_binary_and_all_of_others),
		cmocka_unit_test(test_of_two_binaries_with_one_address_the_later_answers),
		cmocka_unit_test(test_kernels_and_variables_of_one_address_are_apart),
		cmocka_unit_test(test_a_visit_goes_in_order_and_stops_when_told),
		cmocka_unit_test(test_nonsense_is_not_registered),
		cmocka_unit_test(test_a_library_is_loaded_until_it_succeeds_and_then_kept),
		cmocka_unit_test(test_threads_register_and_leave_at_the_same_time),
		cmocka_unit_test(test_a_child_can_register_whatever_other_threads_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
