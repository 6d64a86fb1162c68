#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "coverage.h"
#include "pair_maker.h"

static struct vs_coverage *make(void)
{
	struct vs_coverage *coverage = calloc(1, sizeof(*coverage));

	assert_non_null(coverage);
	return coverage;
}

/* As a reader sees it. */
static uint64_t put(const struct vs_coverage *coverage, uint8_t **bytes, struct vs_wire *wire)
{
	size_t size;

	*bytes = malloc(VS_COVERAGE_BOUND);
	assert_non_null(*bytes);
	size = (size_t)(vs_coverage_put(*bytes, coverage) - *bytes);
	assert_true(size <= VS_COVERAGE_BOUND);
	vs_wire_init(wire, *bytes, size);
	return vs_wire_get_varint(wire);
}

static void test_rings_may_take_turns(void **state)
{
	struct vs_coverage *coverage = make();
	struct vs_pair_maker_random random = {1};
	uint64_t sequences[100] = {0};
	struct vs_wire wire;
	uint8_t *bytes;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		sequences[i] = (uint64_t)i << 56; /* some of ten bytes */
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t ring = (uint32_t)(vs_pair_maker_draw(&random) % 100);

		vs_coverage_add(coverage, ring, sequences[ring]++);
	}
	assert_int_equal(put(coverage, &bytes, &wire), 100);
	for (uint32_t i = 0; i < 100; i++) {
		struct vs_coverage_range range = vs_coverage_get(&wire);

		assert_true(range.first == (uint64_t)range.ring << 56);
		assert_true(range.first + range.count == sequences[range.ring]);
	}
	assert_int_equal(wire.error, 0);
	assert_int_equal(vs_wire_left(&wire), 0);
	free(bytes);
	free(coverage);
}

/* A damaged log is no reason to claim what is not there. */
static void test_gap_begins_another_range(void **state)
{
	struct vs_coverage *coverage = make();
	struct vs_coverage_range range;
	struct vs_wire wire;
	uint8_t *bytes;

	(void)state;
	vs_coverage_add(coverage, 3, 5);
	vs_coverage_add(coverage, 3, 6);
	vs_coverage_add(coverage, 3, 9);
	vs_coverage_add(coverage, 4, 0);
	vs_coverage_add(coverage, 3, 10);
	assert_int_equal(put(coverage, &bytes, &wire), 3);
	range = vs_coverage_get(&wire);
	assert_int_equal(range.first, 5);
	assert_int_equal(range.count, 2);
	range = vs_coverage_get(&wire);
	assert_int_equal(range.ring, 3);
	assert_int_equal(range.first, 9);
	assert_int_equal(range.count, 2);
	free(bytes);
	free(coverage);
}

static void test_records_in_a_row_count_as_if_they_came_one_by_one(void **state)
{
	struct vs_coverage *coverage = make();
	struct vs_coverage_range range;
	struct vs_wire wire;
	uint8_t *bytes;

	(void)state;
	vs_coverage_add_run(coverage, 3, 5, 10);
	vs_coverage_add(coverage, 3, 15);
	vs_coverage_add_run(coverage, 4, 0, 7);
	vs_coverage_add_run(coverage, 3, 16, 2);
	vs_coverage_add_run(coverage, 3, 20, 4);
	assert_int_equal(put(coverage, &bytes, &wire), 3);
	range = vs_coverage_get(&wire);
	assert_int_equal(range.ring, 3);
	assert_int_equal(range.first, 5);
	assert_int_equal(range.count, 13);
	range = vs_coverage_get(&wire);
	assert_int_equal(range.ring, 4);
	assert_int_equal(range.count, 7);
	range = vs_coverage_get(&wire);
	assert_int_equal(range.first, 20);
	assert_int_equal(range.count, 4);
	free(bytes);
	free(coverage);
}

static void test_full_one_is_empty_when_cleared(void **state)
{
	struct vs_coverage *coverage = make();
	struct vs_wire wire;
	uint8_t *bytes;

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < VS_COVERAGE_MAX; i++) {
			assert_false(vs_coverage_is_full(coverage));
			vs_coverage_add(coverage, UINT32_MAX - i * 3, UINT64_MAX - 1);
		}
		assert_true(vs_coverage_is_full(coverage));
		assert_int_equal(put(coverage, &bytes, &wire), VS_COVERAGE_MAX);
		free(bytes);
		vs_coverage_clear(coverage);
	}
	assert_int_equal(put(coverage, &bytes, &wire), 0);
	free(bytes);
	free(coverage);
}

static void test_range_that_cannot_be_is_corrupt(void **state)
{
	/* ring 1, first 2^64 - 1, count 1; and a ring of 33 bits */
	static const uint8_t overflow[] = "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1";
	static const uint8_t large[] = "\xff\xff\xff\xff\x1f\0\0";
	struct vs_wire wire;

	(void)state;
	vs_wire_init(&wire, overflow, sizeof(overflow) - 1);
	vs_coverage_get(&wire);
	assert_int_equal(wire.error, -VS_ERR_CORRUPT);
	vs_wire_init(&wire, large, sizeof(large) - 1);
	vs_coverage_get(&wire);
	assert_int_equal(wire.error, -VS_ERR_CORRUPT);
	vs_wire_init(&wire, overflow, 5);
	vs_coverage_get(&wire);
	assert_int_equal(wire.error, -VS_ERR_TRUNCATED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings_may_take_turns),
		cmocka_unit_test(test_gap_begins_another_range),
		cmocka_unit_test(test_records_in_a_row_count_as_if_they_came_one_by_one),
		cmocka_unit_test(test_full_one_is_empty_when_cleared),
		cmocka_unit_test(test_range_that_cannot_be_is_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
