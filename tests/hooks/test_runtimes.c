/* Which runtime a call means, on a loader on paper. */
#include "runtimes.h"

#include <pthread.h>

#include "hooks_cmocka.h"
#include "paper_loader.h"

#define RUNTIME "libcudart.so.13"

static int unload_all(void **state)
{
	(void)state;
	vs_paper_loader_unload_all();
	return 0;
}

static const struct vs_runtime *get_for(const struct vs_loaded_object *caller)
{
	return vs_runtimes_get(vs_paper_loader_get_code(caller));
}

static void assert_is(const struct vs_runtime *runtime, const struct vs_loaded_object *object)
{
	assert_non_null(runtime);
	assert_ptr_equal(runtime->object.map, object->map);
	assert_ptr_equal(runtime->cudaMalloc, vs_loaded_object_get_function(object, "cudaMalloc"));
	assert_ptr_equal(runtime->cudaFree, vs_loaded_object_get_function(object, "cudaFree"));
}

static void test_without_a_runtime_there_is_none(void **state)
{
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);

	(void)state;
	assert_null(get_for(&caller));
	assert_null(vs_runtimes_get((const void *)&caller)); /* code of no object */
}

static void test_runtimes_are_known_by_the_start_of_their_name(void **state)
{
	struct vs_loaded_object plain = vs_paper_loader_load("libcudart.so.12", NULL);
	struct vs_loaded_object renamed = vs_paper_loader_load("libcudart-d0da41ae.so.11", NULL);
	struct vs_loaded_object driver = vs_paper_loader_load("libcuda.so.1", NULL);
	struct vs_loaded_object nameless = vs_paper_loader_load("", NULL);

	(void)state;
	assert_true(vs_runtimes_is_runtime(&plain));
	assert_true(vs_runtimes_is_runtime(&renamed));
	assert_false(vs_runtimes_is_runtime(&driver));
	assert_false(vs_runtimes_is_runtime(&nameless));
}

static void test_each_caller_means_the_runtime_it_was_linked_with(void **state)
{
	struct vs_loaded_object first = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object second = vs_paper_loader_load("libcudart.so.12", NULL);
	struct vs_loaded_object one = vs_paper_loader_load("one", NULL);
	struct vs_loaded_object other = vs_paper_loader_load("other", NULL);

	(void)state;
	vs_paper_loader_link(&one, &first);
	vs_paper_loader_link(&other, &second);
	vs_paper_loader_show(&first);
	assert_is(get_for(&one), &first);
	assert_is(get_for(&other), &second);
}

static void test_caller_is_looked_up_once(void **state)
{
	struct vs_loaded_object runtime = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);
	unsigned long before;

	(void)state;
	vs_paper_loader_link(&caller, &runtime);
	assert_is(get_for(&caller), &runtime);
	before = vs_paper_loader_get_nr_lookups();
	for (int i = 0; i < 10; i++)
		assert_is(get_for(&caller), &runtime);
	assert_int_equal(vs_paper_loader_get_nr_lookups(), before);
}

static void test_caller_without_one_means_the_one_everybody_sees(void **state)
{
	struct vs_loaded_object hidden = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object shown = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);
	struct vs_loaded_object another = vs_paper_loader_load("another", NULL);

	(void)state;
	vs_paper_loader_show(&shown);
	assert_is(get_for(&caller), &shown);
	/* A pointer that travelled: any is better than none. */
	vs_paper_loader_show(NULL);
	assert_is(get_for(&another), &hidden);
}

/* A program's own cudaMalloc, or a library's that is none of CUDA's. */
static void test_function_of_somebody_else_is_no_runtime(void **state)
{
	struct vs_loaded_object fake = vs_paper_loader_load("libfake.so", NULL);
	struct vs_loaded_object runtime = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);

	(void)state;
	vs_paper_loader_link(&caller, &fake);
	vs_paper_loader_show(&fake);
	assert_is(get_for(&caller), &runtime);
}

static void test_code_made_at_run_time_means_the_first_runtime(void **state)
{
	struct vs_loaded_object runtime = vs_paper_loader_load(RUNTIME, NULL);

	(void)state;
	assert_is(vs_runtimes_get((const void *)&runtime), &runtime);
}

static void test_runtime_that_is_gone_is_not_called(void **state)
{
	struct vs_loaded_object first = vs_paper_loader_load(RUNTIME, NULL), second;
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);

	(void)state;
	vs_paper_loader_link(&caller, &first);
	assert_is(get_for(&caller), &first);
	vs_paper_loader_unload(&first);
	vs_paper_loader_unload(&caller);
	/* The next library comes to lie where the caller was. */
	second = vs_paper_loader_load(RUNTIME, NULL);
	vs_paper_loader_load_again(&caller, "another");
	vs_paper_loader_link(&caller, &second);
	assert_is(get_for(&caller), &second);
	vs_paper_loader_unload(&second);
	assert_null(get_for(&caller));
}

/* ---- Wrappers for those who look functions up ---- */

static void test_only_runtime_may_be_wrapped(void **state)
{
	struct vs_loaded_object runtime = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);

	(void)state;
	assert_true(vs_runtimes_offer(&runtime));
	assert_true(vs_runtimes_offer(&runtime));
	/* Whoever calls the wrapper without a runtime of its own got it there. */
	assert_is(get_for(&caller), &runtime);
}

static void test_one_of_two_runtimes_is_not_wrapped(void **state)
{
	struct vs_loaded_object first = vs_paper_loader_load(RUNTIME, NULL);
	struct vs_loaded_object second = vs_paper_loader_load(RUNTIME, NULL);

	(void)state;
	assert_false(vs_runtimes_offer(&first));
	assert_false(vs_runtimes_offer(&second));
}

static void test_runtime_looked_up_wins_over_a_later_one(void **state)
{
	struct vs_loaded_object first = vs_paper_loader_load(RUNTIME, NULL), second;
	struct vs_loaded_object caller = vs_paper_loader_load("caller", NULL);
	struct vs_loaded_object another = vs_paper_loader_load("another", NULL);

	(void)state;
	assert_true(vs_runtimes_offer(&first));
	second = vs_paper_loader_load("libcudart.so.12", NULL);
	vs_paper_loader_show(&second);
	assert_is(get_for(&caller), &first);
	assert_false(vs_runtimes_offer(&second));
	/* Until it is gone. */
	vs_paper_loader_unload(&first);
	assert_is(get_for(&another), &second);
	assert_true(vs_runtimes_offer(&second));
}

/* ---- Threads ---- */

#define NR_THREADS 4

static struct vs_loaded_object callers[40], libraries[2];

static void *get_all(void *argument)
{
	uintptr_t nr_wrong = 0;

	(void)argument;
	for (int i = 0; i < 40; i++) {
		const struct vs_runtime *runtime = get_for(&callers[i]);

		nr_wrong += !runtime || runtime->object.map != libraries[i % 2].map ||
			    !runtime->cudaMalloc;
	}
	return (void *)nr_wrong;
}

static void test_threads_get_the_runtime_of_each_caller(void **state)
{
	pthread_t threads[NR_THREADS];
	void *nr_wrong;

	(void)state;
	for (int i = 0; i < 2; i++)
		libraries[i] = vs_paper_loader_load(RUNTIME, NULL);
	for (int i = 0; i < 40; i++) {
		callers[i] = vs_paper_loader_load("caller", NULL);
		vs_paper_loader_link(&callers[i], &libraries[i % 2]);
	}
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_all, NULL), 0);
	for (int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &nr_wrong), 0);
		assert_null(nr_wrong);
	}
}

/* Last: the tables stay full. A program that loads runtimes for ever still gets its own. */
static void test_without_room_calls_still_reach_their_runtime(void **state)
{
	struct vs_loaded_object one = vs_paper_loader_load("one", NULL);
	struct vs_loaded_object other = vs_paper_loader_load("other", NULL);
	struct vs_loaded_object first, second;

	(void)state;
	for (int i = 0; i < 20; i++) {
		first = vs_paper_loader_load(RUNTIME, NULL);
		second = vs_paper_loader_load(RUNTIME, NULL);
		vs_paper_loader_link(&one, &first);
		vs_paper_loader_link(&other, &second);
		for (int j = 0; j < 2; j++) {
			assert_is(get_for(&one), &first);
			assert_is(get_for(&other), &second);
		}
		vs_paper_loader_unload(&first);
		vs_paper_loader_unload(&second);
	}
	/* A pointer could not tell which one it means. */
	first = vs_paper_loader_load(RUNTIME, NULL);
	assert_false(vs_runtimes_offer(&first));
}

#define TEST(test) cmocka_unit_test_setup(test, unload_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_runtime_there_is_none),
		TEST(test_runtimes_are_known_by_the_start_of_their_name),
		TEST(test_each_caller_means_the_runtime_it_was_linked_with),
		TEST(test_caller_is_looked_up_once),
		TEST(test_caller_without_one_means_the_one_everybody_sees),
		TEST(test_function_of_somebody_else_is_no_runtime),
		TEST(test_code_made_at_run_time_means_the_first_runtime),
		TEST(test_runtime_that_is_gone_is_not_called),
		TEST(test_only_runtime_may_be_wrapped),
		TEST(test_one_of_two_runtimes_is_not_wrapped),
		TEST(test_runtime_looked_up_wins_over_a_later_one),
		TEST(test_threads_get_the_runtime_of_each_caller),
		TEST(test_without_room_calls_still_reach_their_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
