#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object.h"

/* The size of an object is that of its type for good, so each test that differs has its own type.
 */
struct thing {
	void *self;
	char room[40];
};

static struct thing *create(enum sg_object_type type)
{
	struct thing *thing = sg_object_create(type, sizeof(*thing));

	assert_non_null(thing);
	assert_null(thing->self); /* zeroed, also when used before */
	thing->self = thing;
	memset(thing->room, 0xff, sizeof(thing->room));
	return thing;
}

static void test_handle_is_valid_from_creation_to_destruction(void **state)
{
	struct thing *thing = create(SG_OBJECT_STREAM);

	(void)state;
	assert_ptr_equal(sg_object_get(SG_OBJECT_STREAM, thing), thing);
	sg_object_destroy(SG_OBJECT_STREAM, thing);
	assert_null(sg_object_get(SG_OBJECT_STREAM, thing));
	sg_object_destroy(SG_OBJECT_STREAM, thing); /* once more does no harm */
	assert_null(sg_object_get(SG_OBJECT_STREAM, thing));
}

static void test_what_was_never_given_out_is_no_handle(void **state)
{
	struct thing *thing = create(SG_OBJECT_STREAM);
	long stranger[8];

	(void)state;
	assert_null(sg_object_get(SG_OBJECT_STREAM, NULL));
	assert_null(sg_object_get(SG_OBJECT_STREAM, (void *)1));
	assert_null(sg_object_get(SG_OBJECT_STREAM, (void *)UINTPTR_MAX));
	assert_null(sg_object_get(SG_OBJECT_STREAM, stranger));
	assert_null(sg_object_get(SG_OBJECT_STREAM, (char *)thing + 8));
	assert_null(sg_object_get(SG_OBJECT_STREAM, (char *)thing - 16));
	assert_null(sg_object_get(SG_OBJECT_EVENT, thing)); /* of another type */
	sg_object_destroy(SG_OBJECT_EVENT, thing);
	assert_non_null(sg_object_get(SG_OBJECT_STREAM, thing));
	sg_object_destroy(SG_OBJECT_STREAM, thing);
}

static void test_slots_are_reused_oldest_first(void **state)
{
	struct thing *first = create(SG_OBJECT_EVENT), *thing;
	int distance = 0;

	(void)state;
	sg_object_destroy(SG_OBJECT_EVENT, first);
	do {
		thing = create(SG_OBJECT_EVENT);
		sg_object_destroy(SG_OBJECT_EVENT, thing);
		distance++;
	} while (thing != first);
	assert_true(distance >= 64); /* a stale handle stays stale for long */
}

static void test_objects_are_aligned_and_stay_where_they_are(void **state)
{
	enum {
		NR = 5000
	};
	struct thing **things = calloc(NR, sizeof(*things));

	(void)state;
	for (int i = 0; i < NR; i++) {
		things[i] = create(SG_OBJECT_MODULE);
		assert_int_equal((uintptr_t)things[i] % 16, 0);
	}
	for (int i = 0; i < NR; i++) {
		assert_ptr_equal(things[i]->self, things[i]);
		assert_ptr_equal(sg_object_get(SG_OBJECT_MODULE, things[i]), things[i]);
		sg_object_destroy(SG_OBJECT_MODULE, things[i]);
	}
	free(things);
}

static void count_and_destroy(void *object, void *argument)
{
	struct thing *thing = object;

	assert_ptr_equal(thing->self, thing);
	++*(int *)argument;
	sg_object_destroy(SG_OBJECT_KERNEL, object);
}

static void test_each_living_object_is_visited_and_may_be_destroyed(void **state)
{
	struct thing *gone;
	int count = 0;

	(void)state;
	for (int i = 0; i < 200; i++)
		create(SG_OBJECT_KERNEL);
	gone = create(SG_OBJECT_KERNEL);
	sg_object_destroy(SG_OBJECT_KERNEL, gone);
	sg_object_for_each(SG_OBJECT_KERNEL, count_and_destroy, &count);
	assert_int_equal(count, 200);
	sg_object_for_each(SG_OBJECT_KERNEL, count_and_destroy, &count);
	assert_int_equal(count, 200);
}

static void *make_and_break(void *argument)
{
	struct thing *things[50];

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 50; i++) {
			things[i] = sg_object_create(SG_OBJECT_POOL, sizeof(struct thing));
			if (!things[i] || things[i]->self)
				return "not fresh";
			things[i]->self = &things[i];
		}
		for (int i = 0; i < 50; i++) {
			if (sg_object_get(SG_OBJECT_POOL, things[i]) != things[i])
				return "not found";
			if (things[i]->self != &things[i])
				return "given out twice";
			sg_object_destroy(SG_OBJECT_POOL, things[i]);
		}
	}
	return argument;
}

static void test_threads_do_not_get_each_others_objects(void **state)
{
	pthread_t threads[8];
	void *error;

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_and_break, NULL), 0);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(pthread_join(threads[i], &error), 0);
		assert_null(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handle_is_valid_from_creation_to_destruction),
		cmocka_unit_test(test_what_was_never_given_out_is_no_handle),
		cmocka_unit_test(test_slots_are_reused_oldest_first),
		cmocka_unit_test(test_objects_are_aligned_and_stay_where_they_are),
		cmocka_unit_test(test_each_living_object_is_visited_and_may_be_destroyed),
		cmocka_unit_test(test_threads_do_not_get_each_others_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
