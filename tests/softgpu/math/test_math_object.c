#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math_object.h"

static void test_living_object_is_found_by_its_kind_or_any(void **state)
{
	void *object = sg_math_object_create(SG_MATH_OTHER, 8);

	(void)state;
	assert_non_null(object);
	assert_ptr_equal(sg_math_object_get(SG_MATH_OTHER, object), object);
	assert_ptr_equal(sg_math_object_get(SG_MATH_ANY, object), object);
	assert_null(sg_math_object_get(SG_MATH_LIBRARY, object));
	assert_true(sg_math_object_destroy(SG_MATH_OTHER, object));
}

static void test_destroyed_object_is_none(void **state)
{
	void *object = sg_math_object_create(SG_MATH_LIBRARY, 8);

	(void)state;
	assert_true(sg_math_object_destroy(SG_MATH_LIBRARY, object));
	assert_null(sg_math_object_get(SG_MATH_ANY, object));
	assert_false(sg_math_object_destroy(SG_MATH_ANY, object));
}

static void test_what_was_never_given_out_is_none(void **state)
{
	char strange[64];

	(void)state;
	assert_null(sg_math_object_get(SG_MATH_ANY, NULL));
	assert_null(sg_math_object_get(SG_MATH_ANY, strange));
	assert_null(sg_math_object_get(SG_MATH_ANY, (void *)(uintptr_t)1));
	assert_false(sg_math_object_destroy(SG_MATH_ANY, strange));
}

static void test_object_is_not_destroyed_as_another_kind(void **state)
{
	void *object = sg_math_object_create(SG_MATH_LIBRARY, 8);

	(void)state;
	assert_false(sg_math_object_destroy(SG_MATH_OTHER, object));
	assert_non_null(sg_math_object_get(SG_MATH_LIBRARY, object));
	assert_true(sg_math_object_destroy(SG_MATH_ANY, object));
}

#define MANY 1000

static void test_many_objects_come_and_go(void **state)
{
	static void *objects[MANY];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			objects[i] = sg_math_object_create(SG_MATH_OTHER, 8);
		for (int i = 0; i < MANY; i += 2)
			assert_true(sg_math_object_destroy(SG_MATH_OTHER, objects[i]));
		for (int i = 1; i < MANY; i += 2)
			assert_ptr_equal(sg_math_object_get(SG_MATH_OTHER, objects[i]), objects[i]);
		for (int i = 1; i < MANY; i += 2)
			assert_true(sg_math_object_destroy(SG_MATH_OTHER, objects[i]));
	}
}

static void *create_and_destroy(void *argument)
{
	(void)argument;
	for (int i = 0; i < MANY; i++) {
		void *object = sg_math_object_create(SG_MATH_OTHER, 8);

		if (sg_math_object_get(SG_MATH_OTHER, object) != object ||
		    !sg_math_object_destroy(SG_MATH_OTHER, object))
			return object;
	}
	return NULL;
}

static void test_threads_do_not_disturb_each_other(void **state)
{
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, create_and_destroy, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living_object_is_found_by_its_kind_or_any),
		cmocka_unit_test(test_destroyed_object_is_none),
		cmocka_unit_test(test_what_was_never_given_out_is_none),
		cmocka_unit_test(test_object_is_not_destroyed_as_another_kind),
		cmocka_unit_test(test_many_objects_come_and_go),
		cmocka_unit_test(test_threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
