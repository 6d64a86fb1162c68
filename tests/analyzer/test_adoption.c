#include "adoption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct vs_pool make_pool(uint32_t id, const char *name)
{
	return (struct vs_pool){.id = id,
				.owner = VS_POOL_FRAMEWORK,
				.device = 3,
				.limit_size = 77,
				.name = {name, (uint32_t)strlen(name)}};
}

static void test_pool_is_kept_as_it_was_described(void **state)
{
	struct vs_adoption adoption = {0};
	const struct vs_pool *kept;
	char name[] = "torch";
	struct vs_pool pool = make_pool(5, name);

	(void)state;
	assert_int_equal(vs_adoption_add(&adoption, 1, &pool), 0);
	/* Records last until the next one is read. */
	memset(name, 'x', sizeof(name));
	memset(&pool, 0xff, sizeof(pool));
	kept = vs_adoption_get(&adoption, 1);
	assert_non_null(kept);
	assert_int_equal(kept->id, 5);
	assert_int_equal(kept->owner, VS_POOL_FRAMEWORK);
	assert_int_equal(kept->device, 3);
	assert_int_equal(kept->limit_size, 77);
	assert_int_equal(kept->name.size, 5);
	assert_memory_equal(kept->name.bytes, "torch", 5);
	vs_adoption_fini(&adoption);
}

static void test_first_pool_keeps_what_it_adopted(void **state)
{
	struct vs_pool first = make_pool(1, "first"), second = make_pool(2, "");
	struct vs_adoption adoption = {0};

	(void)state;
	assert_int_equal(vs_adoption_add(&adoption, 7, &first), 0);
	assert_int_equal(vs_adoption_add(&adoption, 7, &second), 0);
	assert_int_equal(vs_adoption_add(&adoption, 8, &second), 0);
	assert_int_equal(vs_adoption_get(&adoption, 7)->id, 1);
	assert_int_equal(vs_adoption_get(&adoption, 8)->id, 2);
	assert_int_equal(vs_adoption_get(&adoption, 8)->name.size, 0);
	vs_adoption_fini(&adoption);
}

static void test_items_and_reservations_of_one_number_are_told_apart(void **state)
{
	struct vs_pool pool = make_pool(1, "pool");
	struct vs_adoption adoption = {0};

	(void)state;
	assert_null(vs_adoption_get(&adoption, 7));
	assert_int_equal(vs_adoption_add(&adoption, 7 | VS_ADOPTION_RESERVATION, &pool), 0);
	assert_null(vs_adoption_get(&adoption, 7));
	assert_non_null(vs_adoption_get(&adoption, 7 | VS_ADOPTION_RESERVATION));
	vs_adoption_fini(&adoption);
}

static void test_pool_with_many_segments_is_kept_once(void **state)
{
	struct vs_pool pool = make_pool(1, "pool");
	struct vs_adoption adoption = {0};

	(void)state;
	for (uint64_t key = 0; key < 1000; key++)
		assert_int_equal(vs_adoption_add(&adoption, key, &pool), 0);
	for (uint64_t key = 1; key < 1000; key++)
		assert_ptr_equal(vs_adoption_get(&adoption, key), vs_adoption_get(&adoption, 0));
	vs_adoption_fini(&adoption);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_is_kept_as_it_was_described),
		cmocka_unit_test(test_first_pool_keeps_what_it_adopted),
		cmocka_unit_test(test_items_and_reservations_of_one_number_are_told_apart),
		cmocka_unit_test(test_pool_with_many_segments_is_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
