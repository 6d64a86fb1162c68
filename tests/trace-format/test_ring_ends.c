#include "cmocka_all.h"
#include "pair_maker.h"
#include "ring_ends.h"

static void test_ends_only_rise(void **state)
{
	struct vs_ring_ends ends = {0};

	(void)state;
	assert_int_equal(vs_ring_ends_get(&ends, 7), 0);
	assert_int_equal(vs_ring_ends_raise(&ends, 7, 10), 0);
	assert_int_equal(vs_ring_ends_raise(&ends, 7, 4), 0);
	assert_int_equal(vs_ring_ends_get(&ends, 7), 10);
	assert_int_equal(vs_ring_ends_raise(&ends, 7, UINT64_MAX), 0);
	assert_true(vs_ring_ends_get(&ends, 7) == UINT64_MAX);
	assert_int_equal(vs_ring_ends_raise(&ends, 0, 3), 0);
	assert_int_equal(vs_ring_ends_get(&ends, 0), 3);
	vs_ring_ends_clear(&ends);
	assert_int_equal(vs_ring_ends_get(&ends, 7), 0);
	vs_ring_ends_fini(&ends);
}

static void test_many_rings_keep_their_ends(void **state)
{
	struct vs_ring_ends ends = {0};

	(void)state;
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(vs_ring_ends_raise(&ends, i * 64, i + 1), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		assert_int_equal(vs_ring_ends_get(&ends, i * 64), i + 1);
		assert_int_equal(vs_ring_ends_get(&ends, i * 64 + 1), 0);
	}
	vs_ring_ends_fini(&ends);
}

static struct vs_ring_ends_change take(struct vs_ring_ends *ends, const char *bytes, size_t size)
{
	struct vs_ring_ends_change change;
	struct vs_wire wire;

	vs_wire_init(&wire, bytes, size);
	assert_int_equal(vs_ring_ends_take(ends, &wire, &change), 0);
	assert_int_equal(vs_wire_left(&wire), 0);
	return change;
}

static void test_coverage_is_new_known_or_has_a_gap(void **state)
{
	struct vs_ring_ends ends = {0};
	struct vs_ring_ends_change change;

	(void)state;
	change = take(&ends, "\2\1\0\5\2\0\3", 7);
	assert_int_equal(change.nr_records, 8);
	assert_false(change.is_known);
	assert_false(change.has_gap);
	change = take(&ends, "\2\1\0\5\2\0\3", 7); /* the same again */
	assert_true(change.is_known);
	assert_false(change.has_gap);
	change = take(&ends, "\2\1\0\5\2\3\1", 7); /* half of it */
	assert_false(change.is_known);
	assert_false(change.has_gap);
	assert_int_equal(vs_ring_ends_get(&ends, 2), 4);
	change = take(&ends, "\1\1\6\1", 4); /* 5 is missing */
	assert_true(change.has_gap);
	change = take(&ends, "\1\3\1\1", 4); /* 0 of a new ring is missing */
	assert_true(change.has_gap);
	change = take(&ends, "\2\3\2\1\3\3\1", 7); /* twice the same ring */
	assert_false(change.has_gap);
	change = take(&ends, "\0", 1); /* events that are from no log */
	assert_false(change.is_known);
	assert_false(change.has_gap);
	vs_ring_ends_fini(&ends);
}

static void test_coverage_that_cannot_be_read_is_corrupt(void **state)
{
	struct vs_ring_ends ends = {0};
	struct vs_ring_ends_change change = {.nr_records = 77};
	struct vs_wire wire;

	(void)state;
	for (size_t cut = 0; cut < 7; cut++) {
		vs_wire_init(&wire, "\2\1\0\5\2\0\3", cut);
		assert_int_equal(vs_ring_ends_take(&ends, &wire, &change), -VS_ERR_CORRUPT);
	}
	vs_wire_init(&wire, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\1\1", 13);
	assert_int_equal(vs_ring_ends_take(&ends, &wire, &change), -VS_ERR_CORRUPT);
	assert_int_equal(change.nr_records, 77);
	vs_ring_ends_fini(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_only_rise),
		cmocka_unit_test(test_many_rings_keep_their_ends),
		cmocka_unit_test(test_coverage_is_new_known_or_has_a_gap),
		cmocka_unit_test(test_coverage_that_cannot_be_read_is_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
